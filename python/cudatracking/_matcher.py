# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""Exact search of many fragments."""
from __future__ import annotations

import enum
import operator
from dataclasses import dataclass
from typing import Any, Iterator, NamedTuple, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from . import _arrays
from ._arrays import Array, BoxesLike, BoxLike, DeviceArray, Given, ImageLike
from ._errors import ArgumentError, call
from ._native import cv2
from ._quickshift import _choice
from ._work import Work, Worker

_METRICS = ("sad", "ssd", "zncc")
_EXCLUSIONS = ("square", "cross")
_SEARCHES = ("full", "three_step")


class Status(enum.IntEnum):
    """How the search of a fragment ended."""

    FOUND = 0
    """There is a position."""
    NO_POSITION = 1
    """The fragment does not fit into its area."""
    FLAT_FRAGMENT = 2
    """ZNCC of a fragment without contrast: every score is 0."""
    AREA_TOO_LARGE = 3
    """An area in device memory exceeds max_search_area; reported like NO_POSITION."""


class Match(NamedTuple):
    """What was found for one fragment, peaks from the best on.

    Attributes:
        locations: peaks x 2 int32, (x, y) of the top-left corner in the frame.
        refined: peaks x 2 float32, the same with sub-pixel offset.
        scores: peaks float32.
        confidence: how far the best stands out; -1: there is no other position.
        status: Status.
    """

    locations: npt.NDArray[np.int32]
    refined: npt.NDArray[np.float32]
    scores: npt.NDArray[np.float32]
    confidence: float
    status: Status


@dataclass(frozen=True)
class Matches:
    """What was found for n fragments with k peaks each: numpy arrays, or DeviceArray when the frame is on a device.

    Attributes:
        locations: n x k x 2 int32, (x, y) of the top-left corner in the frame, best first; (-1, -1): there is no such peak.
        scores: n x k float32: SAD and SSD 0 is perfect, ZNCC 1; 0 where there is no peak.
        confidence: n float32: alternative / best (ZNCC: (1 - alternative) / (1 - best)); larger is surer; infinite: only the best
            is perfect; -1: there is no alternative.
        status: n uint8, Status.
        refined: n x k x 2 float32: locations with sub-pixel offset in [-0.5, 0.5]; locations themselves without subpixel=True.

    matches[i] is the Match of fragment i, on the host and without peaks that are not there; iteration gives all of them.
    """

    locations: Array
    scores: Array
    confidence: Array
    status: Array
    refined: Array

    def numpy(self) -> Matches:
        """The same on the host; itself if it is there. Waits."""
        parts = (self.locations, self.scores, self.confidence, self.status, self.refined)
        if not any(isinstance(part, DeviceArray) for part in parts):
            return self
        return Matches(*(_arrays.either(part.numpy()) if isinstance(part, DeviceArray) else part for part in parts))

    def __len__(self) -> int:
        return len(self.status)

    def __getitem__(self, index: int) -> Match:
        index = operator.index(index)
        host = self.numpy()
        locations, refined = np.asarray(host.locations)[index], np.asarray(host.refined)[index]
        count = int((locations != -1).any(axis=1).sum())
        return Match(locations[:count], refined[:count], np.asarray(host.scores)[index][:count], float(np.asarray(host.confidence)[index]),
                     Status(int(np.asarray(host.status)[index])))

    def __iter__(self) -> Iterator[Match]:
        host = self.numpy()
        return (host[i] for i in range(len(host)))


class FragmentMatcher(Worker):
    """Finds many fragments (templates), each in its own area of a frame: every position is looked at, and nothing is approximated.

    Args:
        metric: "sad" (default), "ssd", weighted sum of absolute or squared differences over the sum of weights, 0 is perfect; "zncc",
            weighted zero-mean normalised cross-correlation, 1 is perfect, fragments up to 53824 pixels.
        subpixel: refine peaks from their direct neighbours. Default False.
        peaks: the number of positions that are reported, 1 to 16. Default 2: the best and an alternative.
        exclusion: how far peaks keep apart: "square" (default), max(|dx|, |dy|) >= d; "cross", min(|dx|, |dy|) >= d.
        exclusion_distance: d in pixels, 1 to 32767; 0 (default): half of the fragment's smaller side, at least 1.
        search: "full" (default), every position; "three_step", an approximate best by a coarse-to-fine walk.
        max_search_area: (width, height) that no area in device memory exceeds; 0 (default): the frame's. Bounds memory and work.
        device: "auto" (default): where the frame is, for host frames the first CUDA device or else the CPU; "cpu"; "cuda"; "cuda:<number>".

    Frames and fragments are uint8: height x width (gray), x 3 (BGR) or x 4 (the fourth is ignored), all alike.
    """

    def __init__(self, metric: str = "sad", *, subpixel: bool = False, peaks: int = 2, exclusion: str = "square", exclusion_distance: int = 0,
                 search: str = "full", max_search_area: Union[int, Sequence[int]] = 0, device: str = "auto") -> None:
        super().__init__(device)
        params = call(cv2.cuda.FragmentMatcher.Params)
        params.metric = _choice(metric, "metric", _METRICS)
        params.subpixel = _arrays.flag(subpixel, "subpixel")
        params.peaks = _arrays.number(peaks, "peaks", whole=True)
        params.exclusion = _choice(exclusion, "exclusion", _EXCLUSIONS)
        params.exclusionDistance = _arrays.number(exclusion_distance, "exclusion_distance", whole=True)
        params.search = _choice(search, "search", _SEARCHES)
        params.maxSearchArea = _arrays.size(max_search_area, "max_search_area")
        self._native = call(cv2.cuda.FragmentMatcher.create, params)
        self._limit = _arrays.size(max_search_area, "max_search_area")
        self._areas = self._limit

    @property
    def metric(self) -> str:
        """"sad", "ssd" or "zncc"."""
        return _METRICS[self._native.getParams().metric]

    @property
    def peaks(self) -> int:
        """The number of positions that are reported for each fragment."""
        return int(self._native.getParams().peaks)

    def _weights(self, weights: Any, count: int) -> Optional[list[Given]]:
        if weights is None:
            return None
        if not isinstance(weights, (list, tuple)):
            raise TypeError(f"weights: {type(weights).__name__}: a list of arrays is needed, one for each fragment")
        if len(weights) != count:
            raise ArgumentError(f"weights: {len(weights)} given, one for each of {count} fragments is needed", "weights", len(weights))
        return [_arrays.weights(value, f"weights[{i}]") for i, value in enumerate(weights)]

    def set(self, templates: Sequence[ImageLike], weights: Optional[Sequence[ImageLike]] = None, *, stream: Any = None) -> None:
        """Replaces all fragments by images.

        Args:
            templates: list of 1 to 100000 images; sides 1 to 32767 may differ. Those in device memory serve frames in device memory only.
            weights: one for each template, of its size: bool, uint8 (255 counts fully) or float of 0 to 1. Default: all pixels count. On the
                host, other values and weights of sum 0 are refused; on a device other values count as 0.
            stream: of images on a device: a stream of torch, CuPy or OpenCV, or its address. Default: the stream on which torch
                or CuPy work now if the image is theirs, else the null stream.
        """
        if not isinstance(templates, (list, tuple)):
            raise TypeError(f"templates: {type(templates).__name__}: a list of images is needed")
        images = [_arrays.image(value, f"templates[{i}]", ("u1",)) for i, value in enumerate(templates)]
        covers = self._weights(weights, len(images))
        self._edit(self._native.setFragments, images, covers, stream)

    def _edit(self, method: Any, images: list[Given], covers: Optional[list[Given]], stream: Any, *before: Any, many: bool = True) -> Any:
        """Fragments on the host are given to the extension as they are: it uploads them when a frame on a device comes."""
        arrays = images + (covers or [])
        for array in arrays:
            if (array.device is None) != (images[0].device is None):
                raise ArgumentError(f"{array.name}: fragments and weights must all lie on the host or all on one device", array.name)
        if not images or images[0].device is None:
            pixels: Any = [np.ascontiguousarray(array.host) for array in images]
            weights: Any = None if covers is None else [np.ascontiguousarray(array.host) for array in covers]
            return call(method, *before, pixels if many else pixels[0], weights if many or weights is None else weights[0])
        with self._work(arrays, stream) as work:
            pixels = [work.array(array) for array in images]
            weights = [work.array(array) for array in covers] if covers is not None else None
            named = dict(work.named)
            if weights is not None:
                named["weights"] = weights if many else weights[0]
            return call(method, *before, pixels if many else pixels[0], **named)

    def cut(self, frame: ImageLike, regions: BoxesLike, weights: Optional[Sequence[ImageLike]] = None, *, stream: Any = None) -> None:
        """Replaces all fragments by regions of a frame.

        Args:
            frame: image to cut from, on the host or a device.
            regions: n boxes x, y, width, height inside of the frame: a list of tuples or an n x 4 array; fractions are rounded.
            weights, stream: as in set().
        """
        image = _arrays.image(frame, "frame", ("u1",))
        boxes = [tuple(int(value) for value in row) for row in _arrays.integers(regions, "regions", 4)]
        covers = self._weights(weights, len(boxes))
        if image.device is None:
            for array in covers or []:
                if array.device is not None:
                    raise ArgumentError(f"{array.name}: lies on CUDA device {array.device}, and frame on the host", array.name)
            host = np.ascontiguousarray(image.host)
            call(self._native.cutFragments, host, boxes, None if covers is None else [np.ascontiguousarray(array.host) for array in covers])
            return
        with self._work([image] + (covers or []), stream) as work:
            named = dict(work.named)
            if covers is not None:
                named["weights"] = [work.array(array) for array in covers]
            call(self._native.cutFragments, work.array(image), boxes, **named)

    def add(self, template: ImageLike, weights: Optional[ImageLike] = None, *, stream: Any = None) -> int:
        """Appends one fragment and returns its index. Args as one of set()."""
        image = _arrays.image(template, "template", ("u1",))
        covers = None if weights is None else [_arrays.weights(weights, "weights")]
        return int(self._edit(self._native.addFragment, [image], covers, stream, many=False))

    def update(self, index: int, template: ImageLike, weights: Optional[ImageLike] = None, *, stream: Any = None) -> None:
        """Replaces one fragment; its size may change. Args as one of set()."""
        index = _arrays.number(index, "index", whole=True)
        image = _arrays.image(template, "template", ("u1",))
        covers = None if weights is None else [_arrays.weights(weights, "weights")]
        self._edit(self._native.updateFragment, [image], covers, stream, index, many=False)

    def remove(self, index: int) -> None:
        """Removes one fragment; later ones move down by one."""
        call(self._native.removeFragment, _arrays.number(index, "index", whole=True))

    def clear(self) -> None:
        """Removes all fragments."""
        call(self._native.clear)

    def size(self, index: int) -> tuple[int, int]:
        """(width, height) of a fragment in pixels."""
        width, height = call(self._native.getFragmentSize, _arrays.number(index, "index", whole=True))
        return int(width), int(height)

    def __len__(self) -> int:
        return int(self._native.getFragmentCount())

    def match(self, frame: ImageLike, areas: Optional[BoxesLike] = None, *, predictions: Optional[BoxesLike] = None, stream: Any = None) -> Matches:
        """Finds all fragments in a frame. With a frame on a device the results are there, and it does not wait unless areas or predictions
        come from the host.

        Args:
            frame: image to search, like the fragments.
            areas: a box x, y, width, height for each fragment, in which the whole fragment must lie; intersected with the frame. A list of
                tuples or an n x 4 array of any number type on the host, where a negative size is refused, or n x 4 int32 on the frame's
                device, where it has no position. Default: the whole frame.
            predictions: where search="three_step" starts: n x 2 numbers x, y, one for each fragment. Those on a device are fetched. Default:
                the middle of the area.
            stream: as in set().
        """
        image = _arrays.image(frame, "frame", ("u1",))
        where = None if areas is None else _areas(areas, len(self))
        starts = None if predictions is None else _arrays.integers(predictions, "predictions", 2)
        if starts is not None and len(starts) != len(self):
            raise ArgumentError(f"predictions: {len(starts)} given, one for each of {len(self)} fragments is needed", "predictions", len(starts))
        with self._work([image] + ([where] if where is not None and where.device is not None else []), stream) as work:
            pixels = work.array(image, slot="frame")
            if work.device is not None:
                self._bound(where)
                given = call(cv2.cuda.GpuMat) if where is None else work.array(where, channels_last=False, slot="areas")
            else:
                given = None if where is None else where.host
            call(self._native.setPredictions, starts if starts is None or work.device is None else work.array(
                Given("predictions", starts.shape, "i4", host=starts), channels_last=False, slot="predictions"))
            results = call(self._native.match, pixels, given, **work.named)
            return self._matches(work, results)

    def _bound(self, where: Optional[Given]) -> None:
        """Areas that the host knows bound the work of a device, which cannot see them, as max_search_area does."""
        if where is not None and where.host is not None and self._limit == (0, 0):
            most = where.host[:, 2:].max(axis=0, initial=1) if self._areas == (0, 0) else np.maximum(where.host[:, 2:].max(axis=0, initial=1), self._areas)
            wanted = (int(most[0]), int(most[1]))
            if min(wanted) < 1 or max(wanted) > 32767:
                wanted = (0, 0)
        else:
            wanted = self._limit
        if wanted != self._areas:
            params = self._native.getParams()
            params.maxSearchArea = wanted
            call(self._native.setParams, params)
            self._areas = wanted

    def _matches(self, work: Work, results: Any) -> Matches:
        locations, scores, confidence, status, refined = results
        count, peaks = len(self), self.peaks
        if locations is None or (not isinstance(locations, cv2.cuda.GpuMat) and not np.size(locations)) or (
                isinstance(locations, cv2.cuda.GpuMat) and locations.empty()):
            empty = (np.zeros((0, peaks, 2), np.int32), np.zeros((0, peaks), np.float32), np.zeros(0, np.float32), np.zeros(0, np.uint8),
                     np.zeros((0, peaks, 2), np.float32))
            return Matches(*map(_arrays.either, empty))
        pairs = [work.result(part) for part in (locations, refined)]
        shaped = [part if isinstance(part, DeviceArray) else part.reshape(count, peaks, 2) for part in pairs]
        table = work.result(scores)
        parts = (shaped[0], table if isinstance(table, DeviceArray) else table.reshape(count, peaks), work.result(confidence, (-1,)),
                 work.result(status, (-1,)), shaped[1])
        return Matches(*map(_arrays.either, parts))

    def score_map(self, index: int, frame: ImageLike, area: Optional[BoxLike] = None, *, stream: Any = None) -> Array:
        """Scores of every position of one fragment: (area height - fragment height + 1) x (area width - fragment width + 1) float32.

        Args:
            index: of the fragment.
            frame, stream: as in match().
            area: x, y, width, height; default: the whole frame.
        """
        index = _arrays.number(index, "index", whole=True)
        image = _arrays.image(frame, "frame", ("u1",))
        box = (0, 0, 0, 0) if area is None else _arrays.box(area, "area")
        with self._work([image], stream) as work:
            made = work.result(call(self._native.scoreMap, index, work.array(image, slot="frame"), box, *work.empty(), **work.named))
            return made if isinstance(made, DeviceArray) or made.ndim == 2 else _arrays.either(np.zeros((0, 0), np.float32))

    def predict_areas(self, locations: Array, radius: int, frame_size: Sequence[int], *, stream: Any = None) -> Array:
        """Areas for the next frame from locations of match(), on the device if they are there: n x 4 int32, for areas of match().

        Args:
            locations: of match(); the first peak counts; or n x 2 numbers x, y.
            radius: pixels by which a fragment may move in each direction; at least 0.
            frame_size: (width, height), with which areas are intersected.
            stream: as in set(); default: that of match().
        """
        radius, limits = _arrays.number(radius, "radius", whole=True), _arrays.size(frame_size, "frame_size")
        if isinstance(locations, DeviceArray):
            if locations._mat.type() != cv2.CV_32SC2:
                raise TypeError(f"locations: {locations!r}: those of match() are needed")
            with self._work([_arrays.given(locations, "locations")], stream) as work:
                assert work.device is not None
                _arrays.order(work.device, locations._stream, work.stream)
                areas = call(self._native.predictAreas, locations._mat, radius, limits, *work.empty(), **work.named)
                return work.result(areas, (-1, 4))
        array = _arrays.given(locations, "locations")
        host = array.host if array.host is not None else array.fetched()
        first = _arrays.integers(host[:, 0] if host.ndim == 3 and host.shape[2] == 2 else host, "locations", 2)
        return _arrays.either(np.asarray(call(self._native.predictAreas, first, radius, limits), np.int32).reshape(-1, 4))

    @staticmethod
    def warp(template: ImageLike, angle: float, scale: float, weights: Optional[ImageLike] = None) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
        """A rotated and scaled copy of a host image and its weights, bilinear, for add().

        Args:
            template, weights: as one of set(), on the host.
            angle: degrees, counter-clockwise.
            scale: factor, above 0.
        """
        image = _arrays.image(template, "template", ("u1",))
        cover = None if weights is None else _arrays.weights(weights, "weights")
        for array in (image, cover):
            if array is not None and array.host is None:
                raise ArgumentError(f"{array.name}: lies on a device; warp() works on the host", array.name)
        made, made_weights = call(cv2.cuda.FragmentMatcher.warpFragment, np.ascontiguousarray(image.host), None if cover is None else np.ascontiguousarray(cover.host),
                                  _arrays.number(angle, "angle"), _arrays.number(scale, "scale"))
        return np.asarray(made), np.asarray(made_weights)

    @property
    def workspace_bytes(self) -> int:
        """Device memory of this object; 0 as long as it worked on the CPU only."""
        return int(self._native.workspaceBytes())

    def __repr__(self) -> str:
        return f"<cudatracking.FragmentMatcher {self.metric}, {len(self)} fragments, {self.peaks} peaks, device {self.device!r}>"


def _areas(areas: Any, count: int) -> Given:
    given = _arrays.given(areas, "areas")
    if given.device is None:
        given = Given("areas", (), "i4", host=_arrays.integers(areas, "areas", 4))
        assert given.host is not None
        given.shape = given.host.shape
        negative = np.flatnonzero((given.host[:, 2:] < 0).any(axis=1))
        if len(negative):
            row = [int(value) for value in given.host[negative[0]]]
            raise ArgumentError(f"areas[{negative[0]}]: size {row[2]} x {row[3]} is negative", "areas", row)
    elif given.dtype != "i4" or len(given.shape) != 2 or given.shape[1] != 4:
        raise ArgumentError(f"areas: {given.dtype} of shape {given.shape} on a device; n x 4 int32 is needed", "areas", given.shape)
    if given.shape[0] != count:
        raise ArgumentError(f"areas: {given.shape[0]} given, one for each of {count} fragments is needed", "areas", given.shape[0])
    return given
