# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""Stages of pipelines: callable classes that take a batch, a dict of columns, and return it with more columns, as Ray Data's map_batches()
and map_groups() want them. Ray itself is not needed to import them; doc/pipelines.md shows them with Ray Data and torch.

A pickled stage is its arguments: the copy in another process makes its own object of the class it works with.
"""
from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Iterator, Sequence
from typing import Any, Optional, Union

import numpy as np
import numpy.typing as npt

from . import _arrays, _matcher, _quickshift
from ._arrays import ImageLike
from ._cascade import CascadeClassifier
from ._errors import ArgumentError, error, shown
from ._matcher import FragmentMatcher
from ._quickshift import QuickShift
from ._tracking import State, TLDParams, Tracker

Batch = dict[str, Any]


def _column(values: Sequence[Any]) -> npt.NDArray[Any]:
    """One Python object or array per row; numpy would join arrays of one size to one of more dimensions."""
    made = np.empty(len(values), object)
    for i, value in enumerate(values):
        made[i] = value
    return made


def _name(value: Any, name: str) -> str:
    """Name of a column."""
    if not isinstance(value, str):
        raise TypeError(f"{name}: {shown(value)}: the name of a column is needed")
    return value


def _length(values: Any, name: str) -> int:
    try:
        return len(values)
    except TypeError:
        raise TypeError(f"batch[{name!r}]: {shown(values)}: a list or an array is needed") from None


@contextlib.contextmanager
def _about(row: str) -> Iterator[None]:
    """Names the row in exceptions of the classes."""
    try:
        yield
    except (error, TypeError) as raised:
        raised.args = (f"{row}: {raised}",)
        raise


class _Stage:
    """Arguments and columns that all stages have, checked."""

    _made_by: Any
    _dtypes: Sequence[str] = ("u1",)
    _channels: tuple[int, ...] = (1, 3, 4)
    _wanted: Optional[str] = None  # type for whole numbers of others

    def __init__(self, column: str, rgb: bool, made_by: Any) -> None:
        self._column, self._rgb, self._made_by = _name(column, "column"), _arrays.flag(rgb, "rgb"), made_by

    def __reduce__(self) -> tuple[Any, tuple[()]]:
        return self._made_by, ()

    def _bgr(self, image: ImageLike, name: str, wanted: Optional[str] = None) -> npt.NDArray[Any]:
        given = _arrays.image(image, name, self._dtypes, self._channels, wanted)
        pixels = given.fetched() if given.host is None else given.host
        return pixels[..., [2, 1, 0, 3][:pixels.shape[2]]] if self._rgb and pixels.ndim == 3 and pixels.shape[2] in (3, 4) else pixels

    def _rows(self, batch: Batch, *further: str) -> list[tuple[str, npt.NDArray[Any]]]:
        """Name, for exceptions, and image of each row of a batch that has the further columns, too, and columns of one length."""
        for name in (self._column, *further):
            if name not in batch:
                raise ArgumentError(f"batch: has no column {name!r}; its columns are {list(batch)}", "batch", list(batch))
        count = _length(batch[self._column], self._column)
        for name, values in batch.items():
            if _length(values, name) != count:
                raise ArgumentError(f"batch[{name!r}]: has {len(values)} rows, {self._column!r} has {count}", "batch", len(values))
        names = [f"{self._column}[{i}]" for i in range(count)]
        return [(name, self._bgr(image, name, self._wanted)) for name, image in zip(names, batch[self._column])]


class Detect(_Stage):
    """Finds objects in images: a stage for ray.data.Dataset.map_batches().

        found = images.map_batches(ct.ray.Detect, fn_constructor_kwargs={"cascade": "frontalface_default"}, concurrency=2, num_gpus=1)

    Each row gets the columns `boxes`, lists of x, y, width, height in pixels, `neighbors` and `weights`: the members of
    cudatracking.Detections.

    Args:
        cascade: name of cudatracking.cascades(), path of a file, or its bytes, for CascadeClassifier.
        column: of the images, uint8: height x width (gray), x 3 or x 4. Their sizes may differ. Default "image".
        rgb: whether images of three or four channels are RGB, as those of ray.data.read_images(); else BGR. Default True.
        named: further arguments of CascadeClassifier, such as min_neighbors and device.
    """

    def __init__(self, cascade: Union[str, "os.PathLike[str]", bytes] = "frontalface_default", *, column: str = "image", rgb: bool = True, **named: Any) -> None:
        super().__init__(column, rgb, functools.partial(type(self), cascade, column=column, rgb=rgb, **named))
        if cascade is None:
            raise TypeError("cascade: None: a name, a path or the bytes of a file is needed")
        self._classifier = CascadeClassifier(cascade, **{"max_candidates": 65536, **named})

    def __call__(self, batch: Batch) -> Batch:
        found = self._classifier.detect_batch([image for _, image in self._rows(batch)])
        return {**batch, "boxes": _column([one.boxes.tolist() for one in found]), "neighbors": _column([one.neighbors.tolist() for one in found]),
                "weights": _column([one.weights.tolist() for one in found])}


class Match(_Stage):
    """Finds given templates in images: a stage for ray.data.Dataset.map_batches().

        found = images.map_batches(ct.ray.Match, fn_constructor_kwargs={"templates": logos, "metric": "zncc"}, concurrency=2, num_gpus=1)

    Each row gets the columns `locations`, `scores`, `confidence` and `status`, arrays of one row per template: the members of
    cudatracking.Matches.

    Args:
        templates: list of images, of the type and channels of those of the column.
        areas: a box (x, y, width, height) per template, in which it is searched. Default: the whole image.
        column: of the images, uint8 or uint16: height x width (gray), x 3 or x 4. Their sizes may differ. Default "image".
        rgb: whether images and templates of three or four channels are RGB, as those of ray.data.read_images(); else BGR. Default True.
        named: further arguments of FragmentMatcher, such as metric, peaks and device.
    """

    _dtypes = _matcher._PIXELS

    def __init__(self, templates: Sequence[ImageLike], areas: Optional[Any] = None, *, column: str = "image", rgb: bool = True, **named: Any) -> None:
        super().__init__(column, rgb, functools.partial(type(self), templates, areas, column=column, rgb=rgb, **named))
        if not isinstance(templates, (list, tuple, np.ndarray)):
            raise TypeError(f"templates: {shown(templates)}: a list of images is needed")
        if areas is not None:
            _matcher._check_sizes(_matcher._areas(areas, len(templates)))
        self._areas = areas
        self._matcher = FragmentMatcher(**named)
        self._matcher.set(_matcher.of_one_type(templates, self._bgr))
        self._wanted = self._matcher._kind

    def __call__(self, batch: Batch) -> Batch:
        found = []
        for name, image in self._rows(batch):
            with _about(name):
                found.append(self._matcher.match(image, self._areas))
        return {**batch, **{name: _column([getattr(one, name) for one in found]) for name in ("locations", "scores", "confidence", "status")}}


class Segment(_Stage):
    """Divides images into superpixels: a stage for ray.data.Dataset.map_batches().

        segmented = images.map_batches(ct.ray.Segment, fn_constructor_kwargs={"min_size": 20}, concurrency=2, num_gpus=1)

    Each row gets the columns `labels`, a height x width array of int32, and `superpixels`, their number.

    Args:
        min_size: 0: superpixels as quick shift gives them, which may consist of several parts. Otherwise QuickShift.enforce_connectivity()
            is called with it. Default 0.
        column: of the images, uint8, uint16 or float32, height x width with 1 to 16 channels. Their sizes may differ. Default "image".
        rgb: whether images of three or four channels are RGB, as those of ray.data.read_images(); else BGR. Default True.
        named: arguments of QuickShift, such as sigma, max_dist and device.
    """

    _dtypes = _quickshift._PIXELS
    _channels = _quickshift._CHANNELS

    def __init__(self, min_size: int = 0, *, column: str = "image", rgb: bool = True, **named: Any) -> None:
        super().__init__(column, rgb, functools.partial(type(self), min_size, column=column, rgb=rgb, **named))
        self._min_size = _arrays.number(min_size, "min_size", whole=True)
        if self._min_size < 0:
            raise ArgumentError(f"min_size: {min_size}: at least 0 is needed", "min_size", min_size)
        self._superpixels = QuickShift(**named)
        self._lock = threading.Lock()  # results are those of the last compute(), whichever thread called it

    def __call__(self, batch: Batch) -> Batch:
        labels, numbers = [], []
        for name, image in self._rows(batch):
            with self._lock, _about(name):
                self._superpixels.compute(image)
                if self._min_size:
                    self._superpixels.enforce_connectivity(self._min_size)
                labels.append(np.asarray(self._superpixels.labels()))
                numbers.append(self._superpixels.number)
        return {**batch, "labels": _column(labels), "superpixels": np.array(numbers, np.int32)}


class Track(_Stage):
    """Tracks one object through each video: a stage for ray.data.Dataset.groupby().map_groups(), where a group has all frames of a video.

        tracked = frames.groupby("video").map_groups(ct.ray.Track, fn_constructor_kwargs={"seed": 3}, concurrency=2, num_gpus=1)

    The group is sorted by the frame's number. Each row gets the columns `box`, that of Tracker.box, x, y, width, height as float64 in pixels,
    with sub-pixel position, zeros if the object is lost; `located`, what Tracker.update() returns, which can be False while there is a box;
    `state`, a name of cudatracking.State; and `score`, which Tracker.score rounds to float32. The first frame has the box that was given, a score of 1 and the state TRACKING.

    Args:
        params: a TLDParams. Default: TLDParams().
        box: (x, y, width, height) of the object in the first frame of every group. Default: that of the column `start`.
        column: of the images, uint8: height x width (gray), x 3 or x 4, all of a group of one size. Default "image".
        frame: column of the frames' numbers, finite and all different. Default "frame".
        start: column of the object's box, of which only that of the first frame is read. Default "box".
        rgb: whether images of three or four channels are RGB; else BGR. Default True.
        device: of the Tracker. Default "auto".
        members: members of TLDParams by name, such as seed=3; not with params.
    """

    def __init__(self, params: Optional[TLDParams] = None, *, box: Optional[Sequence[float]] = None, column: str = "image", frame: str = "frame", start: str = "box",
                 rgb: bool = True, device: str = "auto", **members: Any) -> None:
        super().__init__(column, rgb, functools.partial(type(self), params, box=box, column=column, frame=frame, start=start, rgb=rgb, device=device, **members))
        self._frame, self._start = _name(frame, "frame"), _name(start, "start")
        self._box = None if box is None else _start_of(box, "box")
        for name, value in members.items():
            if params is not None:
                raise ArgumentError(f"{name}: {shown(value)}: is a member of params; give one or the other", name, value)
        self._tracker = functools.partial(Tracker, params, device=device, **members)
        self._tracker()  # refuses wrong arguments

    def _order(self, numbers: Any) -> npt.NDArray[np.intp]:
        """Rows of a group, sorted by the frames' numbers."""
        values = numbers if isinstance(numbers, list) else np.asarray(numbers).tolist()
        rows: dict[Any, int] = {}
        for i, value in enumerate(values):
            _arrays.number(value, f"{self._frame}[{i}]")
            if rows.setdefault(value, i) != i:
                raise ArgumentError(f"{self._frame}[{i}]: {value}: is the number of row {rows[value]}, too", self._frame, value)
        return np.array([rows[value] for value in sorted(rows)], np.intp)

    def __call__(self, batch: Batch) -> Batch:
        if self._box is None and self._start not in batch:
            raise ArgumentError(f"box: there is none, and no column {self._start!r} that has it", "box")
        images = self._rows(batch, self._frame)
        order = self._order(batch[self._frame])
        made = {name: _column(values)[order] if isinstance(values, list) else np.asarray(values)[order] for name, values in batch.items()}
        rows: list[tuple[Any, bool, str, float]] = []
        tracker = self._tracker()
        for row in order:
            name, image = images[row]
            if not rows:
                box = _start_of(batch[self._start][row], f"{self._start}[{row}]") if self._box is None else self._box
                with _about(name):
                    tracker.init(image, box)
                rows.append((box, True, State.TRACKING.name, 1.))
            else:
                with _about(name):
                    x, y, width, height, score, state, located = np.asarray(tracker.update_async(image)).ravel()[:7]
                rows.append(([x, y, width, height], bool(located), State(int(state)).name, float(score)))
        boxes, located, states, scores = zip(*rows) if rows else ([], [], [], [])
        return {**made, "box": np.array(boxes, np.float64).reshape(-1, 4), "located": np.array(located, bool), "state": np.array(states, str),
                "score": np.array(scores, np.float64)}


def _start_of(value: Any, name: str) -> list[float]:
    """Box of the object in the first frame."""
    try:
        _arrays.box(value, name)
        return [float(number) for number in np.asarray(value, np.float64).ravel()]
    except TypeError:
        raise TypeError(f"{name}: {shown(value)}: four numbers x, y, width, height are needed") from None
