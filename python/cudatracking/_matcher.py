# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""Exact matching of many fragments (templates)."""
from __future__ import annotations

import dataclasses
import enum
import functools
import operator
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Iterator, NamedTuple, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from . import _arrays
from ._arrays import Array, BoxesLike, BoxLike, DeviceArray, Given, ImageLike, Place
from ._devices import enter, leave, native_stream, stream_pointer
from ._errors import ArgumentError, call
from ._native import cv2
from ._quickshift import _choice
from ._results import Form, Memory, column, places, table, taken, views
from ._windows import Field, Windows, field_of
from ._work import Work, Worker

_METRICS = ("sad", "ssd", "zncc")
_PIXELS = ("u1", "u2")
_EXCLUSIONS = ("square", "cross")
_SEARCHES = ("full", "three_step")
_FITS = ("parabola", "gaussian")
_PARTS = ("locations", "scores", "confidence", "status", "refined")
_parts_of = operator.attrgetter(*_PARTS)
_OUTS = tuple(f"out.{name}" for name in _PARTS)


class Status(enum.IntEnum):
    """Outcome of the search of a fragment.

    FOUND: there is at least one peak.
    NO_POSITION: there is no peak: the fragment does not fit into its search area, or its weights in device memory are all 0.
    FLAT_FRAGMENT: ZNCC only: the fragment is flat (of one value), so that all its scores are 0.
    AREA_TOO_LARGE: there is no peak: the search area is in device memory, and its part inside of the frame is larger than max_search_area.
    """

    FOUND = 0
    NO_POSITION = 1
    FLAT_FRAGMENT = 2
    AREA_TOO_LARGE = 3


class Match(NamedTuple):
    """Matches of one fragment, called peaks, best first (not with search="three_step").

    Attributes:
        locations: peaks x 2 int32, (x, y) of the top-left corner in the frame.
        refined: peaks x 2 float32, locations with sub-pixel offset.
        scores: peaks float32, one score per peak.
        confidence: second score / best score, for ZNCC (1 - second) / (1 - best): the larger, the more distinct; -1 without a second peak.
        status: Status of the search.
    """

    locations: npt.NDArray[np.int32]
    refined: npt.NDArray[np.float32]
    scores: npt.NDArray[np.float32]
    confidence: float
    status: Status


@dataclass(frozen=True, eq=False, init=False)  # == of arrays is no truth value
class Matches:
    """Matches of n fragments with k peaks each: numpy arrays, or DeviceArray if the frame is on a device.

    Attributes:
        locations: n x k x 2 int32, (x, y) of the top-left corner in the frame, best first (not with search="three_step"); (-1, -1) if there is no such peak.
        scores: n x k float32: a perfect match has 0 with SAD and SSD, 1 with ZNCC; 0 where there is no peak.
        confidence: n float32: second score / best score (ZNCC: (1 - second) / (1 - best)); larger is more distinct. Infinite if only the
            best match is perfect, 1 if both are, -1 if there is no second peak.
        status: n uint8, Status.
        refined: n x k x 2 float32: locations with sub-pixel offset in [-0.5, 0.5]; locations themselves without subpixel=True.

    matches[i] is the Match of fragment i, on the host, without missing peaks. Iterating yields one Match per fragment.
    """

    locations: Array
    scores: Array
    confidence: Array
    status: Array
    refined: Array
    _regions: Optional[npt.NDArray[np.int32]] = dataclasses.field(default=None, repr=False)  # that the fragments were cut from, if they were

    def __init__(self, locations: Array, scores: Array, confidence: Array, status: Array, refined: Array, *,
                 _regions: Optional[npt.NDArray[np.int32]] = None) -> None:
        # That of a frozen dataclass takes a fifteenth of the time of a call.
        vars(self).update(locations=locations, scores=scores, confidence=confidence, status=status, refined=refined, _regions=_regions)

    @classmethod
    def _on_device(cls, make: Callable[[int], DeviceArray], regions: Optional[npt.NDArray[np.int32]]) -> Matches:
        """Results of which each is made when it is asked for first, as few callers need all of them."""
        made = cls.__new__(cls)
        vars(made).update(_make=make, _regions=regions)
        return made

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            make = vars(self).get("_make")
            if make is None or name not in _PARTS:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            return vars(self).setdefault(name, make(_PARTS.index(name)))

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in (*_PARTS, "_regions")}

    def numpy(self) -> Matches:
        """Returns these results on the host; the object itself if they are there. Waits."""
        parts = [getattr(self, name) for name in _PARTS]
        if not any(isinstance(part, DeviceArray) for part in parts):
            return self
        host = (_arrays.either(part.numpy()) if isinstance(part, DeviceArray) else part for part in parts)
        return Matches(*host, _regions=self._regions)

    def field(self, grid: Windows, *, stream: Any = None, out: Optional[Sequence[Any]] = None) -> Field:
        """Returns the motion of the windows of a grid, from the best peak of each, as arrays of its rows x columns; where the matches are,
        without waiting if the areas are there, too.

        Args:
            grid: what windows() returned: its regions were the fragments, and its areas were searched. A grid of other regions than those of
                cut() is refused; fragments of set(), add() and update() can be of any grid with as many windows.
            stream: for matches on a device, the stream that the work is queued on: of torch, CuPy or OpenCV, or its address. Default: that of
                match().
            out: Field of an earlier call, or five arrays in the order of its members, for new results. Default: new ones.
        """
        parts = {name: getattr(self, name) for name in ("refined", "scores", "confidence", "status")}
        return field_of(parts, self._regions, grid, stream, out)

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
    """Locates many fragments (templates) in frames, each in its own search area. The search is exhaustive and exact by default.

    Give it fragments by cut(), set() or add(), then call match() for each frame:

        >>> frame = np.random.default_rng(1).integers(0, 256, (240, 320), np.uint8)
        >>> later = np.roll(frame, (3, 5), axis=(0, 1))  # everything moves by 5 in x and by 3 in y
        >>> matcher = ct.FragmentMatcher("zncc", device="cpu")
        >>> matcher.cut(frame, [(40, 30, 16, 16), (200, 100, 24, 24)])
        >>> for match in matcher.match(later, [(20, 10, 56, 56), (180, 80, 64, 64)]):
        ...     print(match.locations[0], match.scores[0], match.status.name)
        [45 33] 1.0 FOUND
        [205 103] 1.0 FOUND

    Args:
        metric: "sad" (default) or "ssd": absolute or squared difference, summed over channels and averaged over pixels with their weights; 0 is a
            perfect match. "zncc": weighted zero-mean normalised cross-correlation; 1 is a perfect match.
            Capital letters mean the same. Images of uint16 take "ssd" and "zncc".
        subpixel: True refines positions from the scores of neighbouring positions. Default False.
        subpixel_fit: curve through these scores: "parabola" (default; SAD: two lines); "gaussian", for "zncc" alone: less bias in images of
            particles.
        peaks: number of positions reported per fragment, 1 to 16. Default 2: the best and the second-best.
        exclusion: distance of any two reported peaks: "square" (default), max(|dx|, |dy|) >= d; "cross", min(|dx|, |dy|) >= d, so that the second
            peak of a long edge lies off the edge.
        exclusion_distance: d in pixels, 1 to 32767; 0 (default): half of the fragment's smaller side, at least 1.
        search: "full" (default): exhaustive search; "three_step": approximates the best position by a three-step search.
        max_search_area: largest (width, height) of search areas on a device (not on the host), clipped to the frame; bounds memory and work. 0 (default): the
            largest one of the areas, if they are on the host or come from predict_areas(). Needed for all others: those of torch or CuPy, and
            those of windows() on a device.
        device: where the work is done. "auto" (default): on the device of the frame; for frames on the host, on the first CUDA device,
            or on the CPU if there is none; "cpu"; "cuda"; "cuda:<number>".

    Frames and fragments are uint8 or uint16: height x width (gray), x 3 (BGR) or x 4 (the fourth channel, also alpha, is ignored), all of one type,
    sides 1 to 32767; whole numbers of other types on the host, also in floats, become the type of the fragments, or of new ones uint8, or uint16 if a
    value is above 255, where that holds all of them; fragments
    have up to 16843523 values (pixels times channels). Results are the same bits on the CPU and on every
    GPU, on every run. Calls of several threads on one object are made one after the other, and share its fragments. Wrong arguments raise
    ArgumentError (a ValueError) or TypeError, other failures raise error (a RuntimeError); the message names the argument.

    Definitions: doc/fragment_matcher_algorithm.md. Sources: Ladyzhensky and Sereda 2010 (weighted fragments, second best position), Ma, Yuan and Li
    2014 (ZNCC on CUDA).
    """

    _instead_of_copy = "make another one with the same arguments and give it the same fragments"
    _instead_of_pickle = "make it in the other process and give it the fragments there; what match() returns can be pickled"

    def __init__(self, metric: str = "sad", *, subpixel: bool = False, subpixel_fit: str = "parabola", peaks: int = 2, exclusion: str = "square",
                 exclusion_distance: int = 0, search: str = "full", max_search_area: Union[int, Sequence[int]] = 0, device: str = "auto") -> None:
        super().__init__(device)
        params = call(cv2.cuda.FragmentMatcher.Params)
        params.metric = _choice(metric.lower() if isinstance(metric, str) else metric, "metric", _METRICS)
        params.subpixel = _arrays.flag(subpixel, "subpixel")
        params.subpixelFit = _choice(subpixel_fit, "subpixel_fit", _FITS)
        if params.subpixelFit and params.metric != _METRICS.index("zncc"):
            raise ArgumentError(f"subpixel_fit: {subpixel_fit!r} needs the metric \"zncc\", which is {metric!r}", "subpixel_fit", subpixel_fit)
        params.peaks = _arrays.number(peaks, "peaks", whole=True)
        params.exclusion = _choice(exclusion, "exclusion", _EXCLUSIONS)
        params.exclusionDistance = _arrays.number(exclusion_distance, "exclusion_distance", whole=True)
        params.search = _choice(search, "search", _SEARCHES)
        params.maxSearchArea = _arrays.size(max_search_area, "max_search_area")
        self._native = call(cv2.cuda.FragmentMatcher.create, params)
        self._limit = _arrays.size(max_search_area, "max_search_area")
        self._peaks = int(self._native.getParams().peaks)
        self._areas = self._limit
        self._predicted = False  # the extension has predictions
        self._kind: Optional[str] = None  # type of the fragments
        self._regions: Optional[npt.NDArray[np.int32]] = None  # that all fragments were cut from, if they were
        self._largest: Optional[tuple[int, int]] = None  # width and height of which no fragment has more, if they are known

    @property
    def metric(self) -> str:
        """Metric: "sad", "ssd" or "zncc"."""
        return _METRICS[self._native.getParams().metric]

    @property
    def peaks(self) -> int:
        """Number of positions reported per fragment."""
        return self._peaks

    def _weights(self, weights: Any, count: int) -> Optional[list[Optional[Given]]]:
        if weights is None:
            return None
        if count == 1 and hasattr(weights, "shape"):
            weights = [weights]
        if not isinstance(weights, (list, tuple)):
            raise TypeError(f"weights: {type(weights).__name__}: a list of arrays is needed, one for each fragment")
        if len(weights) != count:
            raise ArgumentError(f"weights: {len(weights)} given, one for each of {count} fragments is needed", "weights", len(weights))
        if all(value is None for value in weights):
            return None
        return [None if value is None else _arrays.weights(value, f"weights[{i}]") for i, value in enumerate(weights)]

    def set(self, templates: Union[ImageLike, Sequence[ImageLike]], weights: Optional[Union[ImageLike, Sequence[Optional[ImageLike]]]] = None, *,
            stream: Any = None) -> None:
        """Replaces all fragments by images.

        Args:
            templates: list of 1 to 100000 images, or one image; sides 1 to 32767 may differ. Templates in device memory can be used with
                frames in device memory only.
            weights: one array per template, of its size: bool, uint8 (255 is full weight) or float from 0 to 1; None, also for one of them: full
                weight (default). Of a PNG with alpha: set([png[..., :3]], weights=[png[..., 3]]).
                On the host, other values and weights of sum 0 are refused; on a device, other values count as 0.
            stream: for images on a device, that of the work: of torch, CuPy or OpenCV, or its address. Default: that of torch or CuPy, else the null one.
        """
        several: Any = [templates] if hasattr(templates, "shape") else templates
        if not isinstance(several, (list, tuple)):
            raise TypeError(f"templates: {type(templates).__name__}: a list of images is needed")
        images = of_one_type(several, lambda value, name, wanted: _arrays.image(value, name, _PIXELS, wanted=wanted))
        covers = self._weights(weights, len(images))
        self._edit(self._native.setFragments, images, covers, stream)

    def _edit(self, method: Any, images: list[Given], some: Optional[Sequence[Optional[Given]]], stream: Any, *before: Any, many: bool = True) -> Any:
        """Fragments on the host are given to the extension as they are: it uploads them when a frame on a device comes."""
        stream_pointer(stream)  # refuses what is no stream, also where images on the host need none
        arrays = images + [array for array in some or [] if array is not None]
        for array in arrays:
            if (array.device is None) != (images[0].device is None):
                raise ArgumentError(f"{array.name}: fragments and weights must all lie on the host or all on one device", array.name)
        covers = None if some is None else [cover or _full(image.shape[0], image.shape[1]) for cover, image in zip(some, images)]
        if not images or images[0].device is None:
            pixels: Any = [np.ascontiguousarray(array.host) for array in images]
            weights: Any = None if covers is None else [np.ascontiguousarray(array.host) for array in covers]
            made = call(method, *before, pixels if many else pixels[0], weights if many or weights is None else weights[0])
        else:
            with Work(self, arrays, stream) as work:
                pixels = [work.array(array) for array in images]
                weights = [work.array(array) for array in covers] if covers is not None else None
                named = dict(work.named)
                if weights is not None:
                    named["weights"] = weights if many else weights[0]
                made = call(method, *before, pixels if many else pixels[0], **named)
        self._largest = self._regions = None  # not before: a refused call keeps the fragments
        self._kind = images[0].dtype
        return made

    def cut(self, frame: ImageLike, regions: BoxesLike, weights: Optional[Union[ImageLike, Sequence[Optional[ImageLike]]]] = None, *,
            stream: Any = None) -> None:
        """Replaces all fragments by regions of a frame.

        Args:
            frame: image to cut from, on the host or a device.
            regions: n boxes (x, y, width, height) inside the frame, as a list of tuples or an n x 4 array; edges are rounded.
            weights: one array per region, of its size, where the frame is: bool, uint8 (255 is full weight) or float from 0 to 1; None, also
                for one of them: full weight (default).
            stream: for images on a device, that of the work: of torch, CuPy or OpenCV, or its address. Default: that of torch or CuPy, else the null one.
        """
        image = _arrays.image(frame, "frame", _PIXELS)
        boxes = [tuple(int(value) for value in row) for row in _arrays.integers(regions, "regions", 4)]
        some = self._weights(weights, len(boxes))
        # Regions outside of the frame are refused by the extension.
        covers = None if some is None else [cover or _full(min(max(row[3], 1), image.shape[0]), min(max(row[2], 1), image.shape[1]))
                                            for cover, row in zip(some, boxes)]
        stream_pointer(stream)  # as in _edit()
        if image.device is None:
            for array in covers or []:
                if array.device is not None:
                    raise ArgumentError(f"{array.name}: lies on CUDA device {array.device}, and frame on the host", array.name)
            host = np.ascontiguousarray(image.host)
            call(self._native.cutFragments, host, boxes, None if covers is None else [np.ascontiguousarray(array.host) for array in covers])
        else:
            with Work(self, [image] + (covers or []), stream) as work:
                named = dict(work.named)
                if covers is not None:
                    named["weights"] = [work.array(array) for array in covers]
                call(self._native.cutFragments, work.array(image), boxes, **named)
        self._largest, self._regions, self._kind = None, np.array(boxes, np.int32), image.dtype

    def add(self, template: ImageLike, weights: Optional[ImageLike] = None, *, stream: Any = None) -> int:
        """Appends one fragment and returns its index.

        Args:
            template: image of the type of the other fragments, on the host or on their device.
            weights: array of its size: bool, uint8 (255 is full weight) or float from 0 to 1. Default: full weight.
            stream: for images on a device, that of the work: of torch, CuPy or OpenCV, or its address. Default: that of torch or CuPy, else the null one.
        """
        image = _arrays.image(template, "template", _PIXELS, wanted=self._kind)
        covers = None if weights is None else [_arrays.weights(weights, "weights")]
        return int(self._edit(self._native.addFragment, [image], covers, stream, many=False))

    def update(self, index: int, template: ImageLike, weights: Optional[ImageLike] = None, *, stream: Any = None) -> None:
        """Replaces one fragment; its size may change.

        Args:
            index: index of the fragment, from 0.
            template: image of the type of the other fragments, on the host or on their device.
            weights: array of its size: bool, uint8 (255 is full weight) or float from 0 to 1. Default: full weight.
            stream: for images on a device, that of the work: of torch, CuPy or OpenCV, or its address. Default: that of torch or CuPy, else the null one.
        """
        index = _arrays.number(index, "index", whole=True)
        image = _arrays.image(template, "template", _PIXELS, wanted=self._kind)
        covers = None if weights is None else [_arrays.weights(weights, "weights")]
        self._edit(self._native.updateFragment, [image], covers, stream, index, many=False)

    def remove(self, index: int) -> None:
        """Removes one fragment; the indices of later ones decrease by one."""
        call(self._native.removeFragment, _arrays.number(index, "index", whole=True))
        self._regions, self._kind = None, self._kind if len(self) else None

    def clear(self) -> None:
        """Removes all fragments."""
        call(self._native.clear)
        self._regions = self._kind = None

    def size(self, index: int) -> tuple[int, int]:
        """Returns (width, height) of a fragment in pixels."""
        width, height = call(self._native.getFragmentSize, _arrays.number(index, "index", whole=True))
        return int(width), int(height)

    def __len__(self) -> int:
        return int(self._native.getFragmentCount())

    def match(self, frame: ImageLike, areas: Optional[BoxesLike] = None, *, predictions: Optional[BoxesLike] = None, stream: Any = None,
              out: Optional[Union[Matches, Sequence[Any]]] = None) -> Matches:
        """Locates all fragments in a frame. Returns Matches: locations, scores, confidence, status and refined, one row per fragment. With a
        frame on a device they are on that device, and the call does not wait unless areas or predictions are on the host, or predictions
        on a device are not int32.

        Args:
            frame: image to search, of the type of the fragments.
            areas: one box (x, y, width, height) per fragment, in which the whole fragment must lie; intersected with the frame. A list of
                tuples or an n x 4 array of any number type on the host, where a negative size is refused, or n x 4 int32 on the frame's
                device, where an area of negative size has no position. Default: the whole frame.
            predictions: start positions of search="three_step": n x 2 numbers (x, y), one per fragment, or locations of match(), of which the
                first peak is used; each is moved to the nearest position in its area. On the frame's device int32; other types are copied to
                the host. Default: the centre of the area.
            stream: for arrays on a device, the stream that the work is queued on: of torch, CuPy or OpenCV, or its address. Default: the
                current stream of torch or CuPy for their arrays, else the null stream.
            out: Matches of an earlier call, or five arrays in the order of its members, for new results; on the frame's device, or numpy arrays
                if the frame is on the host; not in memory of frame, areas or predictions. Default: new ones.
        """
        if self._place is not None and stream is None and predictions is None and not self._predicted:
            matches = self._match_at(self._place, frame, areas, out)
            if matches is not None:
                return matches
        image = _arrays.image(frame, "frame", _PIXELS, wanted=self._kind)
        targets = None if out is None else _parts(out)
        count = self._native.getFragmentCount()
        where = None if areas is None else _areas(areas, count)
        starts = None if predictions is None else _predictions(predictions, count)
        if 0 in image.shape[:2]:
            if out is not None:
                raise ArgumentError("frame: is empty, so that there is nothing to write to out", "frame", image.shape)
            return self._without_positions()
        with Work(self, (image, where, starts), stream) as work:
            if work.device is not None:
                _check_sizes(where)
            pixels = work.array(image, slot="frame")
            if work.device is not None:
                largest = where.source._largest if where is not None and isinstance(where.source, DeviceArray) else None
                self._bound(None if where is None else where.host, largest)
                given = call(cv2.cuda.GpuMat) if where is None else work.array(where, channels_last=False, slot="areas")
            else:
                given = None if where is None else where.host
            if starts is not None:
                self._predicted = True
                call(self._native.setPredictions, starts.host if work.device is None else
                     work.array(starts, channels_last=starts.host is None, slot="predictions"))
            elif self._predicted:
                call(self._native.setPredictions, None)
                self._predicted = False
            found = work.call(self._native.match, pixels, given, forms=_forms(count, self._peaks), out=targets, names=_OUTS)
            return Matches(*found, _regions=self._regions)

    def _match_at(self, place: Place, frame: Any, areas: Any, out: Any) -> Optional[Matches]:
        """match() with tensors of torch, and areas of predict_areas(), that are on the device and used on the stream of the last call. None where it has
        to go the long way."""
        count = self._native.getFragmentCount()
        forms = _forms(count, self._peaks)
        if not count or _arrays.torch_stream(sys.modules["torch"], place.device) != place.stream:  # memory of results would be that of another stream
            return None
        where, largest, stream = areas, None, place.stream or None
        if areas is None:
            where = call(cv2.cuda.GpuMat)
        elif type(areas) is DeviceArray:
            if areas._place != place or areas._form is not column(count, "i4", 4):
                return None
            where, largest = areas._mat, areas._largest
        elif type(areas) in (np.ndarray, list, tuple):
            return None
        if out is None:
            memory = taken("torch", places(forms)[1], place.device, stream, stream)
            mats = views(forms, memory.pointer)
            matches = Matches._on_device(functools.partial(_part, mats, forms, memory, place), self._regions)
        else:
            results = self._inside_at(place, _parts(out), forms) if type(out) is Matches else None
            if results is None:
                return None
            mats = tuple([array._mat for array in results])
            matches = Matches(*results, _regions=self._regions)
        self._bound(None, largest)
        self._held = [frame, areas, out]
        before = enter(place.device)
        try:
            done = call(cv2.cuda.matchTensors, self._native, frame, where, mats, place.device, place.stream, native_stream(stream) if stream else None)
        finally:
            leave(place.device, before)
        return matches if done else None

    def _without_positions(self) -> Matches:
        """Results of an empty frame, which has no position for any fragment."""
        count, peaks = len(self), self.peaks
        parts = (np.full((count, peaks, 2), -1, np.int32), np.zeros((count, peaks), np.float32), np.full(count, -1, np.float32),
                 np.full(count, Status.NO_POSITION, np.uint8), np.full((count, peaks, 2), -1, np.float32))
        return Matches(*map(_arrays.either, parts), _regions=self._regions)

    def _bound(self, host: Optional[npt.NDArray[np.int32]], largest: Optional[tuple[int, int]]) -> None:
        """Areas of which the host knows the largest sides, as they lie there or come from predict_areas(), bound the work of a device, which cannot
        see them, as max_search_area does."""
        wanted = self._limit
        if host is not None and len(host):
            width, height = host[:, 2:].max(axis=0)
            largest = int(width), int(height)
        if largest is not None and 0 in wanted:  # a matcher refuses areas on a device without a limit; no frame is larger than 32767
            known = [max(1, min(side, 32767), before) for side, before in zip(largest, self._areas)]
            wanted = wanted[0] or known[0], wanted[1] or known[1]
        if wanted != self._areas:
            params = self._native.getParams()
            params.maxSearchArea = wanted
            call(self._native.setParams, params)
            self._areas = wanted

    def score_map(self, index: int, frame: ImageLike, area: Optional[BoxLike] = None, *, stream: Any = None, out: Any = None) -> Array:
        """Returns the scores of one fragment at every position: (area height - fragment height + 1) x (area width - fragment width + 1) float32.

        Args:
            index: index of the fragment, from 0.
            frame: image to search, of the type of the fragments, on the host or a device.
            area: search area (x, y, width, height), in which the whole fragment must lie; intersected with the frame. Default: the whole
                frame.
            stream: for images on a device, that of the work: of torch, CuPy or OpenCV, or its address. Default: that of torch or CuPy, else the null one.
            out: array for the result, of its shape and type, where the image is. Default: a new one.
        """
        index = _arrays.number(index, "index", whole=True)
        image = _arrays.image(frame, "frame", _PIXELS, wanted=self._kind)
        box = (0, 0, 0, 0) if area is None else _arrays.box(area, "area")
        with Work(self, [image], stream) as work:
            rows, columns = self._positions(index, image.shape, box)
            return work.call(self._native.scoreMap, index, work.array(image, slot="frame"), box, forms=(table(rows, columns, "f4"),),
                             out=None if out is None else [out])[0]

    def _positions(self, index: int, shape: tuple[int, ...], area: _arrays.Box) -> tuple[int, int]:
        """Rows and columns of the positions of a fragment in the part of an area that is in the frame."""
        x, y, width, height = area if any(area) else (0, 0, shape[1], shape[0])
        columns, rows = self.size(index)
        columns, rows = min(x + width, shape[1]) - max(x, 0) - columns + 1, min(y + height, shape[0]) - max(y, 0) - rows + 1
        return (rows, columns) if rows > 0 and columns > 0 else (0, 0)

    def predict_areas(self, locations: Union[Array, BoxesLike], radius: int, frame_size: Sequence[int], *, stream: Any = None, out: Any = None) -> Array:
        """Returns the search areas for the next frame, n x 4 int32, around the locations of match(); on the device if the locations are there,
        without waiting. That of a fragment without a match is empty, so that it is not found again.

        Args:
            locations: locations of match(), of which the first peak is used, or n x 2 numbers (x, y): int32 if they are on a device.
            radius: largest motion of a fragment in each direction, in pixels; at least 0.
            frame_size: (width, height) of the frame in pixels; areas are intersected with it.
            stream: for locations on a device, the stream that the work is queued on: of torch, CuPy or OpenCV, or its address. Default: the
                current stream of torch or CuPy for their arrays, else that of match().
            out: array for the result, of its shape and type, on the device of the locations or a numpy array. Default: a new one.
        """
        radius, limits = _arrays.number(radius, "radius", whole=True), _arrays.size(frame_size, "frame_size")
        array = _arrays.given(locations, "locations")
        if array.host is None:
            if array.dtype != "i4" or array.shape[-1:] != (2,) or len(array.shape) not in (2, 3):
                raise TypeError(f"locations: {np.dtype(array.dtype)} of shape {array.shape} on a device; those of match(), or n x 2 int32, are needed")
            points: Any = array
        else:
            points = _arrays.integers_of(_first_peaks(array, len(self)), 2)
        with Work(self, [array], stream) if array.host is None else Work(self, [], stream) as work:
            made = work.call(self._native.predictAreas, work.array(points) if array.host is None else points, radius, limits,
                             forms=(column(points.shape[0], "i4", 4),), out=None if out is None else [out])[0]
        if out is None and isinstance(made, DeviceArray):
            width, height = self._largest_sides()
            made._largest = width + 2 * radius, height + 2 * radius
        return made

    def _largest_sides(self) -> tuple[int, int]:
        """Largest width and largest height of the fragments."""
        if self._largest is None:
            sides = [self.size(index) for index in range(len(self))]
            self._largest = max((width for width, _ in sides), default=0), max((height for _, height in sides), default=0)
        return self._largest

    @staticmethod
    def warp(template: ImageLike, angle: float, scale: float, weights: Optional[ImageLike] = None) -> tuple[npt.NDArray[Any], npt.NDArray[np.uint8]]:
        """Returns a rotated and scaled copy of an image on the host and of its weights, for add(). Interpolation is bilinear.

        Args:
            template: uint8 or uint16 image on the host.
            angle: rotation in degrees, counter-clockwise.
            scale: scale factor, above 0.
            weights: array of its size on the host: bool, uint8 (255 is full weight) or float from 0 to 1. Default: full weight.
        """
        image = _arrays.image(template, "template", _PIXELS)
        cover = None if weights is None else _arrays.weights(weights, "weights")
        for array in (image, cover):
            if array is not None and array.host is None:
                raise ArgumentError(f"{array.name}: lies on a device; warp() works on the host", array.name)
        made, made_weights = call(cv2.cuda.FragmentMatcher.warpFragment, np.ascontiguousarray(image.host), None if cover is None else np.ascontiguousarray(cover.host),
                                  _arrays.number(angle, "angle"), _arrays.number(scale, "scale"))
        return np.asarray(made), np.asarray(made_weights)

    @property
    def workspace_bytes(self) -> int:
        """Device and pinned host memory held by this object, in bytes; 0 if it has worked on the CPU only."""
        return int(self._native.workspaceBytes())

    def __repr__(self) -> str:
        return f"<cudatracking.FragmentMatcher {self.metric}, {len(self)} fragments, {self.peaks} peaks, device {self.device!r}>"


def of_one_type(values: Sequence[Any], read: Callable[[Any, str, Optional[str]], Any]) -> list[Any]:
    """Templates as read(value, name, wanted) makes them; whole numbers of other types become those of uint16 where one of them needs it."""
    made = [read(value, f"templates[{i}]", None) for i, value in enumerate(values)]
    return made if len({one.dtype for one in made}) < 2 else [read(value, f"templates[{i}]", "u2") for i, value in enumerate(values)]


def _full(rows: int, columns: int) -> Given:
    """Full weight of all pixels of a fragment, where others of the list have weights."""
    return _arrays.weights(np.full((rows, columns), 255, np.uint8), "weights")


@functools.lru_cache(maxsize=64)
def _forms(count: int, peaks: int) -> tuple[Form, ...]:
    """Results of match()."""
    return (table(count, peaks, "i4", 2), table(count, peaks, "f4"), column(count, "f4"), column(count, "u1"), table(count, peaks, "f4", 2))


def _part(mats: Sequence[Any], forms: tuple[Form, ...], memory: Memory, place: Place, index: int) -> DeviceArray:
    """A result of match() in memory that holds all of them."""
    form = forms[index]
    return DeviceArray(mats[index], place.device, place.stream or None, form.shape, form.strides, memory, form.kind, form, place)


def _parts(out: Any) -> list[Any]:
    parts = _parts_of(out) if isinstance(out, Matches) else out
    if not isinstance(parts, (list, tuple)) or len(parts) != len(_PARTS):
        raise TypeError(f"out: {type(out).__name__}: Matches, or a list of {', '.join(_PARTS)}, is needed")
    return list(parts)


def _first_peaks(points: Given, count: int) -> Given:
    """Of locations of match() on the host, fragments x peaks x 2, the first peak; of several fragments 1 x n x 2 is a row of points."""
    host = points.host
    if host is None or host.ndim != 3 or host.shape[2] != 2 or (host.shape[0] == 1 and count != 1):
        return points
    return _arrays.given(host[:, 0], points.name)


def _predictions(predictions: Any, count: int) -> Given:
    given = _arrays.given(predictions, "predictions")
    if given.host is not None or given.dtype != "i4" or given.shape[-1:] != (2,) or len(given.shape) not in (2, 3):
        host = _arrays.integers_of(_first_peaks(given, count), 2)
        given = Given("predictions", host.shape, "i4", host=host)
    if given.shape[0] != count:
        raise ArgumentError(f"predictions: {given.shape[0]} given, one for each of {count} fragments is needed", "predictions", given.shape[0])
    return given


def _check_sizes(areas: Optional[Given]) -> None:
    """Refuses, as the extension does for a frame on the host, areas of negative size on the host, which the work of a device cannot refuse."""
    if areas is not None and areas.host is not None and areas.host.size and areas.host[:, 2:].min() < 0:
        index = int(np.flatnonzero((areas.host[:, 2:] < 0).any(axis=1))[0])
        row = areas.host[index].tolist()
        raise ArgumentError(f"areas[{index}]: size {row[2]} x {row[3]} is negative", "areas", row)


def _areas(areas: Any, count: int) -> Given:
    given = _arrays.given(areas, "areas")
    if given.device is None:
        host = _arrays.integers_of(given, 4)
        given = Given("areas", host.shape, "i4", host)
    elif given.dtype != "i4" or len(given.shape) != 2 or given.shape[1] != 4:
        raise ArgumentError(f"areas: {given.dtype} of shape {given.shape} on a device; n x 4 int32 is needed", "areas", given.shape)
    if given.shape[0] != count:
        raise ArgumentError(f"areas: {given.shape[0]} given, one for each of {count} fragments is needed", "areas", given.shape[0])
    return given
