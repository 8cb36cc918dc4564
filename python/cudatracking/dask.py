# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""Superpixels of dask arrays, whose pixels need not fit into memory. dask itself is not needed to import this."""
from __future__ import annotations

import uuid
import weakref
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

from . import _arrays, _quickshift
from ._errors import ArgumentError, error, import_optional
from ._quickshift import QuickShift
from ._tiles import Tiles

Parts = list[list[npt.NDArray[Any]]]  # of neighbouring chunks, row by row


class _Run(Tiles):
    """The tiles of one computation of the graph, whose objects find each other again in this process only."""

    def __init__(self, settings: dict[str, Any], size: tuple[int, int], tile: tuple[int, int]) -> None:
        super().__init__(settings, size, tile)
        self._key = uuid.uuid4().hex
        _RUNS[self._key] = self

    def add_parts(self, at: tuple[int, int], pixels: Parts, mask: Optional[Parts]) -> npt.NDArray[np.int32]:
        return self.add(at, _joined(pixels, "array"), None if mask is None else _joined(mask, "mask"))

    def __reduce__(self) -> Any:
        return _found, (self._key,)


class _Elsewhere:
    """A _Run of another process. A scheduler shows what its methods raise; what unpickling raises it does not, or tries again and again."""

    def add_parts(self, *_: Any) -> Any:
        raise error("cudatracking.dask: the tiles are joined in the memory of one process, and this scheduler has several; take the scheduler \"threads\", "
                    "or a distributed one with one worker process")

    join = relabel = add_parts

    def __reduce__(self) -> Any:
        return _Elsewhere, ()


_RUNS: weakref.WeakValueDictionary[str, _Run] = weakref.WeakValueDictionary()  # of this process


def _found(key: str) -> Any:
    return _RUNS.get(key) or _Elsewhere()


def _joined(parts: Parts, name: str) -> npt.NDArray[Any]:
    for part in sum(parts, []):
        _arrays.given(part, name)  # refuses masked arrays, whose mask would be lost
    return np.concatenate([np.concatenate(row, axis=1) for row in parts])


def _check_types(array: Any, mask: Any, settings: dict[str, Any]) -> None:
    """Refuses by the first pixel what does not depend on values: types, channels, and factors of `color_scale` for them."""
    pixel = np.zeros((1, 1, *array.shape[2:]), array.dtype)
    try:
        _arrays.image(_like(array, pixel), "array", _quickshift._PIXELS, _quickshift._CHANNELS)
    except ArgumentError as raised:
        raise ArgumentError(f"array: shape {array.shape}: height x width, or with 1 to 16 channels in the end, is possible; bands that come first "
                            "dask.array.moveaxis(array, 0, -1) puts there", "array", array.shape) from raised
    if mask is not None:
        _arrays.mask(_like(mask, np.zeros((1, 1), mask.dtype)), "mask", (1, 1))
    QuickShift(**{**settings, "device": "cpu"}).compute(pixel)


def _like(array: Any, pixel: npt.NDArray[Any]) -> Any:
    """The pixel as a masked array where a dask array has such chunks, which is refused."""
    return np.ma.array(pixel) if isinstance(array._meta, np.ma.MaskedArray) else pixel


def quickshift(array: Any, sigma: float = 6., max_dist: float = 10., color_scale: Any = 32. / 255., *, mask: Any = None, **settings: Any) -> Any:
    """Returns the superpixels of a dask array as a dask array of labels, height x width int32, in chunks as large as its largest. Nothing is
    computed yet.

    The labels are those of QuickShift(sigma, max_dist, color_scale, **settings).compute(array).labels() on the whole image, bit for bit. Each
    chunk is computed with its halo, the pixels around it that matter, and the labels of all chunks are joined then. Each chunk of the array is
    made once. In memory are the chunks at work, those that are the halo of missing ones, and 4 bytes per pixel of all labels; a part of the labels takes
    as long as all of them, and each compute() begins anew. Threads of one process share the work: the schedulers "threads", dask's default for
    arrays, and "synchronous" can do it, and a distributed one with one worker process; others end in an error.

        >>> labels = ct.dask.quickshift(dask.array.from_zarr("scene.zarr"), 2, 8, 1 / 64).compute()

    Args:
        array: dask array, height x width, or with 1 to 16 channels in the end, of uint8, uint16 or float32 (float16 and float64 become float32). Each
            chunk is computed once, so that chunks share the pixels where they overlap. Sides of 500 to 4000 pixels are good: small chunks
            repeat much work in their halos.
        sigma, max_dist, color_scale: as for QuickShift(), as are further named arguments.
        mask: dask or numpy array of bool or uint8, height x width: pixels where it is 0 get label -1. Default: none.

    Raises:
        ArgumentError, TypeError: an argument is out of its range or of another kind. What depends on the pixels is raised when the labels are
            computed.
    """
    missing = "cudatracking.dask needs dask: pip install 'cudatracking[dask]'"
    delayed, arrays = import_optional("dask", missing).delayed, import_optional("dask.array", missing)
    if not isinstance(array, arrays.Array):
        raise TypeError(f"array: {type(array).__name__}: a dask array is needed; that of an xarray.DataArray is its .data, QuickShift takes arrays in memory")
    if isinstance(mask, np.ndarray):
        mask = arrays.from_array(_arrays.given(mask, "mask").host, name=False)  # without a name made of its pixels
    if mask is not None and not isinstance(mask, arrays.Array):
        raise TypeError(f"mask: {type(mask).__name__}: a dask or numpy array is needed")
    for name, given in (("array", array), ("mask", mask)):
        if given is not None and not all(map(np.isfinite, given.shape)):
            raise ArgumentError(f"{name}: shape {given.shape}: its chunks have unknown sizes; {name}.compute_chunk_sizes() finds them", name, given.shape)
    if array.ndim not in (2, 3):
        raise ArgumentError(f"array: shape {array.shape}; height x width, or height x width x channels, is possible", "array", array.shape)
    if mask is not None and mask.shape != array.shape[:2]:
        raise ArgumentError(f"mask: shape {mask.shape} differs from {array.shape[:2]} of the array", "mask", mask.shape)
    settings.update(sigma=sigma, max_dist=max_dist, color_scale=color_scale)
    (rows, columns), (height, width) = array.shape[:2], array.chunksize[:2]
    tiles = Tiles(settings, (columns, rows), (width, height))  # tells of wrong arguments now, and of the halos
    _check_types(array, mask, settings)
    run = delayed(_Run, pure=False)(settings, (columns, rows), (width, height))
    across, down = (last + 1 for last in tiles.places[-1])

    def chunks_of(whole: Any) -> Any:
        """A task for each chunk, which all tiles share that read from it. They are optimized with the rest, so that their sources are shared, too."""
        return whole.rechunk((height, width, -1)[:whole.ndim]).to_delayed(optimize_graph=False).reshape(down, across)

    def source_of(chunks: Any, at: tuple[int, int]) -> Any:
        """The pixels of a tile with its halo, as parts of chunks."""
        x, y, w, h = tiles.source(at)
        return [[chunks[j, i][max(y - j * height, 0):y + h - j * height, max(x - i * width, 0):x + w - i * width]
                 for i in range(x // width, (x + w - 1) // width + 1)] for j in range(y // height, (y + h - 1) // height + 1)]

    pixels, masked = chunks_of(array), None if mask is None else chunks_of(mask)
    parts = {at: run.add_parts(at, source_of(pixels, at), None if masked is None else source_of(masked, at)) for at in tiles.places}
    joined = run.join(*parts.values())
    made = {at: arrays.from_delayed(joined.relabel(at, parts[at]), tiles.tile(at)[:1:-1], np.int32) for at in tiles.places}
    return arrays.block([[made[x, y] for x in range(across)] for y in range(down)])
