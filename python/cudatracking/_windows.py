# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""Grids of windows, for the motion between two images."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from . import _arrays
from ._arrays import Array, DeviceArray, Given
from ._errors import ArgumentError, call, shown
from ._native import cv2
from ._results import column, table
from ._work import Work, Worker

_PARTS = ("u", "v", "score", "confidence", "valid")
_OUTS = tuple(f"out.{name}" for name in _PARTS)


class Field(NamedTuple):
    """Motion of the windows of a grid: arrays of its rows x columns, numpy or DeviceArray as the matches were.

    Attributes:
        u, v: float32, motion in pixels, to the right and down; NaN where there is no match.
        score: float32, score of the match; 0 where there is none.
        confidence: float32, confidence of the match; -1 where there is no second peak.
        valid: whether there is a match inside its area: bool, on a device uint8. Where it is False and u is not NaN, the vector is at the limit: its
            whole-pixel place is the first or last one of the area in x or y. It is not refined there, and the motion may be larger than
            the area allows, whatever the score. Axes of reach 0 have no limit. Not a validation: wrong vectors are valid, too.
    """

    u: Array
    v: Array
    score: Array
    confidence: Array
    valid: Array


@dataclass(frozen=True, eq=False)  # == of arrays is no truth value
class Windows:
    """Windows of a grid and their search areas, row by row.

    Attributes:
        regions: n x 4 int32, windows (x, y, width, height), for FragmentMatcher.cut().
        areas: n x 4 int32, search areas, for FragmentMatcher.match() and Matches.field(); on a device if the offset given to windows() was there.
            They may be edited; dataclasses.replace(grid, areas=...) makes a grid with others.
        shape: (rows, columns) of the grid.
        frame, size: (width, height) of the images and of a window; step: distance (x, y) from window to window; in pixels.
    """

    regions: npt.NDArray[np.int32]
    areas: Array
    shape: tuple[int, int]
    frame: tuple[int, int]
    size: tuple[int, int]
    step: tuple[int, int]


def windows(shape: Sequence[int], size: Union[int, Sequence[int]], step: Union[int, Sequence[int]], reach: Union[int, Sequence[int]],
            offset: Optional[Union[Field, Sequence[Any]]] = None, *, stream: Any = None, out: Any = None) -> Windows:
    """Returns equal windows that fill a frame from its top-left corner, and a search area for each.

        >>> first = np.random.default_rng(1).integers(0, 256, (96, 128), np.uint8)
        >>> second = np.roll(first, (2, 3), axis=(0, 1))  # everything moves by 3 in x and by 2 in y
        >>> grid = ct.windows(first.shape, 32, 16, reach=8)
        >>> matcher = ct.FragmentMatcher("zncc", subpixel=True, subpixel_fit="gaussian", device="cpu")
        >>> matcher.cut(first, grid.regions)
        >>> field = matcher.match(second, grid.areas).field(grid)
        >>> field.u.shape, field.u[2, 2].round(), field.v[2, 2].round()
        ((5, 7), np.float32(3.0), np.float32(2.0))

    Args:
        shape: shape of the images, height x width; a third number, of channels, is ignored. 1 to 32767 each.
        size: (width, height) of a window in pixels, or one number for both, at most the frame's.
        step: distance between neighbouring windows in pixels, (x, y) or one number, 1 to 32767. Half of the size is an overlap of 50 %. There can
            be 100000 windows.
        reach: largest motion beyond the offset in pixels, (x, y) or one number, 0 to 32767.
        offset: Field of an earlier pass, or two float32 arrays u and v of equal rows and columns: areas are moved by it, rounded to whole
            pixels. A field of another grid is stretched over this one by numbers: window i of n in a row takes vector floor((i + .5) m / n) of
            m, and the same in columns. NaN, infinity or a masked vector gives an empty area, so that the window has no match. Default: no motion.
        stream: for an offset on a device, the stream that the work is queued on: of torch, CuPy or OpenCV, or its address. Default: the current
            stream of torch or CuPy for their arrays, else that of match().
        out: n x 4 int32 array for the areas, where the offset is. Default: a new one.
    """
    height, width = _height_width(shape)
    frame, window, distance, most = (width, height), _arrays.size(size, "size"), _arrays.size(step, "step"), _arrays.size(reach, "reach")
    if not (1 <= window[0] <= width and 1 <= window[1] <= height):
        raise ArgumentError(f"size: {window[0]} x {window[1]}: 1 x 1 to {width} x {height}, that of the images, is possible", "size", window)
    grid = call(cv2.cuda.WindowGrid.create, frame, window, distance)
    columns, rows = call(grid.size)
    regions = _regions_of(grid)
    motion = [] if offset is None else _motion(offset)
    with Work(Worker("auto" if motion and motion[0].host is None else "cpu"), motion, stream) as work:
        # Two GpuMats or two numpy arrays; the extension takes None for no motion.
        given: Sequence[Any] = [work.array(array, channels_last=False) for array in motion] or (None, None)
        areas = work.call(grid.areas, most, *given, forms=(column(columns * rows, "i4", 4),), out=None if out is None else [out])[0]
    return Windows(regions, areas, (rows, columns), frame, window, distance)


def _regions_of(grid: Any) -> npt.NDArray[np.int32]:
    return np.asarray(call(grid.regions)).reshape(-1, 4)


def _height_width(shape: Any) -> tuple[int, int]:
    if not isinstance(shape, (tuple, list, np.ndarray)) or np.ndim(shape) != 1 or len(shape) not in (2, 3):
        raise TypeError(f"shape: {shown(shape)}: (height, width) of the images is needed")
    sides = _arrays.number(shape[0], "shape[0]", whole=True), _arrays.number(shape[1], "shape[1]", whole=True)
    for i, side in enumerate(sides):
        if not 1 <= side <= 32767:
            raise ArgumentError(f"shape[{i}]: {side}: 1 to 32767 is possible", "shape", side)
    return sides


def _motion(offset: Any) -> list[Given]:
    """u and v of a field, on the host or a device."""
    parts: Any = (offset.u, offset.v) if isinstance(offset, Field) else offset
    if not isinstance(parts, (tuple, list)) or len(parts) != 2:
        raise TypeError(f"offset: {type(offset).__name__}: a Field, or two arrays u and v, is needed")
    parts = [part.astype(np.float32).filled(np.nan) if np.ma.is_masked(part) and part.dtype.kind in "iuf" else part for part in parts]
    made = [_arrays.given(part, f"offset.{name}") for part, name in zip(parts, "uv")]
    for array in made:
        if len(array.shape) != 2 or 0 in array.shape or array.shape != made[0].shape:
            raise ArgumentError(f"{array.name}: shape {array.shape}: rows x columns, the same for u and v, is needed", array.name, array.shape)
        if array.host is None and array.dtype != "f4":
            raise TypeError(f"{array.name}: elements are {np.dtype(array.dtype)} on a device; float32 is needed")
        if array.host is not None:
            if array.host.dtype.kind not in "iuf":
                raise TypeError(f"{array.name}: elements are {array.host.dtype}; numbers are needed")
            array.host = np.ascontiguousarray(array.host, np.float32)
        if (array.host is None) != (made[0].host is None):
            raise ArgumentError(f"{array.name}: u and v must both lie on the host or both on one device", array.name)
    return made


def field_of(matches: dict[str, Array], regions: Optional[npt.NDArray[np.int32]], grid: Windows, stream: Any, out: Optional[Sequence[Any]]) -> Field:
    """Returns matches of the windows of a grid as a field.

    Args:
        matches: refined, scores, confidence and status, in this order, with their names.
        regions: regions that the fragments were cut from, or None.
    """
    if not isinstance(grid, Windows):
        raise TypeError(f"grid: {type(grid).__name__}: what windows() returns is needed")
    if out is not None and (not isinstance(out, (list, tuple)) or len(out) != len(_PARTS)):
        raise TypeError(f"out: {type(out).__name__}: a Field, or a list of {', '.join(_PARTS)}, is needed")
    valid: Any = out[-1] if out is not None else None
    if out is not None and isinstance(valid, np.ndarray) and valid.dtype == np.bool_:  # as fields on the host have it
        out = [*out[:-1], valid.view(np.uint8)]
    rows, columns = grid.shape
    count = len(matches["status"])
    if count != rows * columns:
        raise ArgumentError(f"grid: {rows} x {columns} windows, but there are {count} matches", "grid", grid.shape)
    native = call(cv2.cuda.WindowGrid.create, grid.frame, grid.size, grid.step)
    if regions is not None:
        places = _regions_of(native)
        other = np.flatnonzero((places != regions).any(axis=1))
        if len(other):
            i = int(other[0])
            raise ArgumentError(f"grid: window {i} of {rows} x {columns} is {places[i].tolist()}, but fragment {i} was cut from {regions[i].tolist()}",
                                "grid", grid.shape)
    areas = _arrays.given(grid.areas, "grid.areas")
    parts = [_arrays.given(array, name) for name, array in matches.items()]
    if areas.host is not None or parts[0].host is not None:  # only both together stay on a device
        host = _arrays.integers_of(areas, 4)
        areas = Given(areas.name, host.shape, "i4", host)
    with Work(Worker("cpu" if parts[0].host is not None else "auto"), [*parts, areas], stream) as work:
        forms = (table(rows, columns, "f4"),) * 4 + (table(rows, columns, "u1"),)
        arrays = [work.array(areas, channels_last=False), *[work.array(part) for part in parts]]
        field = Field(*work.call(native.field, *arrays, forms=forms, out=out, names=_OUTS))
    if out is not None:
        return field._replace(valid=valid)
    return field if isinstance(field.valid, DeviceArray) else field._replace(valid=_arrays.either(np.asarray(field.valid).view(np.bool_)))
