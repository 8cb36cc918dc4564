# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""Long-term tracking by tracking-learning-detection (TLD)."""
from __future__ import annotations

import dataclasses
import enum
import os
import textwrap
from dataclasses import dataclass
from typing import Any, Callable, NamedTuple, Optional, Union

import numpy as np
import numpy.typing as npt

from . import _arrays
from ._arrays import Array, Box, BoxLike, DeviceArray, ImageLike, Kind
from ._errors import ArgumentError, call, error, shown
from ._native import cv2
from ._results import Form, row, table
from ._work import Work, Worker


class State(enum.IntEnum):
    """State of an object after a frame.

    A box is valid while the tracker trusts it. It is supported in a frame if the detector or the filter finds at least weak evidence of
    the object there (doc/tld.md, "States").

    In every state update() returns False while the score is below TLDParams.min_reply_score, which is 0 by default.

    LOST: there is no box.
    UNCERTAIN: there is a box that is not valid or not supported, so it may be wrong. update() returns False if it is not supported.
    TRACKING: there is a box that is valid and supported; the detector may learn from it.
    """

    LOST = 0
    UNCERTAIN = 1
    TRACKING = 2


class Event(enum.IntEnum):
    """Where the box of an object in a frame comes from. Without a box BECAME_LOST or NO_EVENT; else JUMPED or FOUND_AGAIN, if one applies;
    else CONFIRMED or RECOGNIZED; else one of the others.

    NO_EVENT: nothing: the object was lost before the frame and still is.
    STARTED: init(), add(), reset_to() or a box given to update() has set it; no frame was processed since.
    FLOWED: optical flow from the last frame.
    CORRECTED: optical flow, and then a correction: the mean of the box and the detected windows around it.
    RETRIED: flow from an earlier frame, after flow had failed.
    JUMPED: the box left its place for one elsewhere that is more similar to the object: perhaps another object that looks alike.
    FOUND_AGAIN: the object was lost, and the learned detector has found it: perhaps another object that looks alike.
    BECAME_LOST: there is no box any more; the object had one after the last frame.
    CONFIRMED: a box given to update() is associated with the object. With correct_by_boxes the object has taken it over, otherwise its own
        box comes from flow.
    RECOGNIZED: the object was lost, and has taken over a box given to update() that is similar to it.
    FILTERED: the box is that of the correlation filter, as optical flow had failed or was not sure. Only with TLDParams.filter.
    """

    NO_EVENT = 0
    STARTED = 1
    FLOWED = 2
    CORRECTED = 3
    RETRIED = 4
    JUMPED = 5
    FOUND_AGAIN = 6
    BECAME_LOST = 7
    CONFIRMED = 8
    RECOGNIZED = 9
    FILTERED = 12


def _switch(default: Any, text: str) -> Any:
    """Returns a field of TLDParams: a switch. Its text says what it is and its range."""
    return dataclasses.field(default=default, metadata={"text": text, "tunes": False})


def _tuning(default: Any, text: str) -> Any:
    """Returns a field of TLDParams that tunes the algorithm."""
    return dataclasses.field(default=default, metadata={"text": text, "tunes": True})


@dataclass
class TLDParams:
    """Parameters of Tracker, MultiTracker and Detector. Making one of these three checks the ranges.

    Start with seed, learning, mirror and min_reply_score; clip_boxes and the parameters of boxes switch features on, filter=False one off; the others
    tune the algorithm. doc/glossary.md has the terms: relative and conservative similarity, ferns, posterior, cluster.
    """

    seed: int = _switch(1, "seed of all random choices, 0 or more. Equal seeds give equal runs.")
    learning: bool = _switch(True, "True lets trackers update ferns and templates after init(); the filter is trained with False, too.")
    mirror: bool = _switch(False, "True trains the ferns on mirror images of the object, too.")
    min_reply_score: float = _switch(0.,
        "score (see Tracker.score) below which an object is not located: update() returns False, `located` is False; state, box and learning are not "
        "affected. 0 to 1; 0: not used.")
    clip_boxes: bool = _switch(False, "True clips reported boxes to the image; tracking is the same.")
    filter: bool = _switch(True,
        "True follows each object by a correlation filter, too, whose box is taken where optical flow fails or its box is not similar to the object: "
        "for objects that bend, turn or have little texture. False takes less time; doc/tld.md says where it is better. A Detector does not use it.")
    # Windows.
    min_window: int = _tuning(0, "smallest side of a window in pixels, 12 to 16384; 0: the shorter side of the object / 1.44, at least 12 and at most 24.")
    scale_factor: float = _tuning(1.2, "ratio of window sizes of successive scales, 1.01 to 2.")
    scales: int = _tuning(10, "number of scales below and also above the initial size of the object, 0 to 20.")
    step_percent: int = _tuning(10, "step between windows in percent: x, of their shorter side; y, of their height. 1 to 100.")
    # Ferns.
    trees: int = _tuning(10, "number of ferns, 1 to 16.")
    features: int = _tuning(13, "pixel comparisons per fern, 1 to 16; trees * features is at most 164.")
    fern_threshold: float = _tuning(0.5,
        "initial threshold on the mean posterior of the ferns; windows above it reach the nearest-neighbour stage. 0 to 1.")
    max_detections: int = _tuning(100,
        "largest number of windows that reach the nearest-neighbour stage, those with the highest posteriors. 1 to 128.")
    # Nearest neighbours.
    nn_threshold: float = _tuning(0.65,
        "threshold on the relative similarity above which a window is accepted; the first training may raise it. 0 to 1.")
    valid_threshold: float = _tuning(0.7,
        "threshold on the conservative similarity above which a box is valid, so that the detector may learn from it; the first training may raise "
        "it. 0 to 1.")
    max_positives: int = _tuning(200, "largest number of templates of the object; beyond it, a random one is dropped, never the first. 2 to 1024.")
    max_negatives: int = _tuning(400, "largest number of templates of the background; beyond it, a random one is dropped. 2 to 2048.")
    # Learning.
    init_windows: int = _tuning(20, "number of windows around the first box to train the ferns on, best overlap first, 1 to 32.")
    init_warps: int = _tuning(19, "number of warped images per such window, 0 to 32.")
    update_windows: int = _tuning(10, "number of windows around the box to train on in each later frame, best overlap first, 1 to 32.")
    update_warps: int = _tuning(9, "number of warped images per such window, 0 to 32.")
    init_angle: float = _tuning(10., "largest rotation of warps in the first frame, +- degrees, 0 to 45.")
    update_angle: float = _tuning(5., "largest rotation of warps in later frames, +- degrees, 0 to 45.")
    warp_scale: float = _tuning(0.01, "largest change of scale of warps, +- fraction of the size, 0 to 0.5.")
    warp_shift: float = _tuning(0.01, "largest shift of warps, +- fraction of the windows' bounding box, 0 to 0.5.")
    warp_noise: float = _tuning(5., "standard deviation of the noise added to warps, in gray levels, 0 to 64.")
    init_negatives: int = _tuning(100, "number of background templates in the first frame, half of which set thresholds. 2 to 128.")
    # Optical flow.
    flow_window: int = _tuning(9, "side of the optical flow window in pixels, odd, 3 to 11.")
    flow_levels: int = _tuning(5, "number of pyramid levels above full resolution; fewer for small images. 0 to 6.")
    flow_iterations: int = _tuning(20, "largest number of iterations per pyramid level, 1 to 100.")
    flow_epsilon: float = _tuning(0.03, "step in pixels below which the optical flow has converged, 0 to 16.")
    max_flow_error: float = _tuning(10.,
        "median forward-backward error in pixels above which most points of a box are wrong, 0 to 16384. The optical flow has failed then, unless "
        "ten or more points have an error of at most 2 pixels and the box that they give is similar to the object.")
    retry_frames: int = _tuning(3, "number of frames after a failure in which optical flow is tried again, 0 to 3.")
    # States.
    max_unsupported: int = _tuning(3,
        "number of consecutive frames in which the box is not supported (see State), after which the object is lost; 0: no limit.")
    max_probation: int = _tuning(100,
        "after so many successive frames in which neither similarity nor a cluster of detections confirms the box, the first unsupported frame (see "
        "State) ends in LOST; 0: no limit.")
    jump_margin: float = _tuning(0.1,
        "margin by which a cluster of detections elsewhere must exceed the box to replace it: in similarity and, if it does not touch the box, also "
        "in score. 0 to 1.")
    first_jump_margin: float = _tuning(0.2, "jump_margin while there are fewer than five templates of the object. 0 to 1.")
    # Boxes given to MultiTracker.update().
    box_overlap: float = _switch(0.3,
        "smallest overlap of a box given to MultiTracker.update() with the object that it is associated with. 0.01 to 1.")
    verify_boxes: bool = _switch(False,
        "True lets boxes only propose places: a box counts only if it is similar to the object, and keeps no object that the tracker itself does "
        "not see. For sources that report boxes also where the object is not.")
    correct_by_boxes: bool = _switch(False, "True replaces the box of an object by the given box that is associated with it.")
    find_by_boxes: bool = _switch(False, "True lets lost objects begin at given boxes that are similar to them.")
    start_from_boxes: bool = _switch(False,
        "True starts an object from each given box that is associated with none and overlaps none by box_overlap or more.")
    end_after_misses: int = _switch(0,
        "number of successive calls with boxes in which none is associated with an object, after which the object is removed; calls without boxes do "
        "not count. 0: never.")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in type(self).__dataclass_fields__:
            raise AttributeError(f"{name}: TLDParams has no such member")
        super().__setattr__(name, value)


def _entries(tunes: bool) -> str:
    """Returns the lines of TLDParams' text about its switches, or about what tunes the algorithm."""
    of = [field for field in dataclasses.fields(TLDParams) if field.metadata["tunes"] == tunes]
    lines = [f"{field.name}: {field.metadata['text']} Default {field.default:{'' if isinstance(field.default, bool) else 'g'}}." for field in of]
    return "\n".join(textwrap.fill(line, 150, initial_indent=" " * 8, subsequent_indent=" " * 12) for line in lines)


TLDParams.__doc__ = f"""{TLDParams.__doc__}
    Attributes:
{_entries(False)}

    Attributes that tune the algorithm:
{_entries(True)}
    """


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def _native_params(params: Optional[TLDParams], members: dict[str, Any]) -> Any:
    if params is not None and not isinstance(params, TLDParams):
        raise TypeError(f"params: {type(params).__name__}: cudatracking.TLDParams is needed")
    known = {field.name: field for field in dataclasses.fields(TLDParams)}
    for name in members:
        if name not in known:
            raise TypeError(f"{name}: TLDParams has no such member; it has {', '.join(known)}")
    given = dataclasses.replace(params or TLDParams(), **members)
    native = call(cv2.cuda.TLDParams)
    for name, field in known.items():
        value = getattr(given, name)
        if field.type in ("bool", bool):
            value = _arrays.flag(value, name)
        else:
            value = _arrays.number(value, name, whole=field.type in ("int", int))
        setattr(native, _camel(name), value)
    return native


def _params_of(native: Any) -> TLDParams:
    kinds = {"bool": bool, "int": int, "float": float, bool: bool, int: int, float: float}
    made = {field.name: kinds[field.type](getattr(native, _camel(field.name))) for field in dataclasses.fields(TLDParams)}
    made["min_reply_score"] = float(np.float32(made["min_reply_score"]).astype(str))  # a float32: 0.3, not 0.30000001192
    return TLDParams(**made)


_IMAGE = Kind(("u1",), (1, 3, 4))


class _Frames(Worker):
    """Images of trackers: uint8, of one size and type."""

    _native: Any
    _instead_of_copy = "save() it to a file, and load() that into another one"
    _instead_of_pickle = "save() it to a file, and load() that in the other process"

    def _call(self, method: Callable[..., Any], image: Any, *args: Any, stream: Any = None) -> Any:
        return self._run(method, image, _IMAGE, *args, stream=stream)

    @staticmethod
    def _box(image: Any, box: BoxLike, clip: Any) -> Box:
        """A box of an image, with `clip` the part of it inside of the image."""
        x, y, width, height = given = _arrays.box(box, "box")
        if not _arrays.flag(clip, "clip"):
            return given
        rows, columns = _arrays.image(image, "image", ("u1",)).shape[:2]
        left, top, right, bottom = max(x, 0), max(y, 0), min(x + width, columns), min(y + height, rows)
        if right <= left or bottom <= top:
            raise ArgumentError(f"box: {given}: nothing of it is inside of an image of {columns} x {rows} pixels", "box", given)
        return left, top, right - left, bottom - top

    def _table(self, method: Callable[..., Any], image: Any, form: Form, stream: Any, out: Any) -> Array:
        """Calls a method whose result has a form."""
        results: list[Array] = self._run(method, image, _IMAGE, stream=stream, forms=(form,), out=None if out is None else [out])
        return results[0]

    def _save(self, path: str, write: Callable[[str], Any]) -> None:
        """Calls what writes a file; it does so whole or not at all."""
        folder = os.path.dirname(os.path.abspath(path))
        if not os.path.isdir(folder):
            raise ArgumentError(f"path: there is no folder {shown(folder)}", "path", path)
        device = path.startswith("/dev/") or (os.path.exists(path) and not os.path.isfile(path))
        if not device and os.path.splitext(path)[1].lower() != ".xml":
            raise ArgumentError(f"path: {shown(path)}: must end with .xml: files are written as XML", "path", path)
        self._ask(write, path)

    def _read(self, path: str) -> None:
        _arrays.check_file(path, "path")
        if not hasattr(self._native, "load"):
            raise error(f"path: {shown(path)}: this build cannot read it back", "path", path)
        self._ask(self._native.load, path)

    @property
    def params(self) -> TLDParams:
        """Copy of the parameters that the object was made with, or that were read from a file."""
        return _params_of(self._ask(self._native.getParams))

    @property
    def workspace_bytes(self) -> int:
        """Device and pinned host memory held by this object, in bytes; 0 if it has worked on the CPU only."""
        return int(self._ask(self._native.workspaceBytes))


class Found(NamedTuple):
    """Windows that a detector found.

    Attributes:
        boxes: n x 4 int32: x, y, width, height in pixels.
        scores: n float32: conservative similarity (doc/glossary.md) of each, 0 to 1; another number than Tracker.score.
    """

    boxes: npt.NDArray[np.int32]
    scores: npt.NDArray[np.float32]


def _found(table: Any, everything: bool) -> Found:
    if isinstance(table, cv2.cuda.GpuMat):
        table = call(table.download)
    if table is None or not np.size(table):
        return Found(np.zeros((0, 4), np.int32), np.zeros(0, np.float32))
    boxes, scores = call(cv2.cuda.TLDDetector.convertDetections, table, everything)
    return Found(np.asarray(boxes, np.int32).reshape(-1, 4), np.asarray(scores, np.float32).reshape(-1))


def _templates(images: Any) -> npt.NDArray[np.uint8]:
    return np.zeros((0, 15, 15), np.uint8) if images is None or not np.size(images) else np.asarray(images, np.uint8).reshape(-1, 15, 15)


class Tracker(_Frames):
    """Tracks one object in a video: learns its appearance, reports when it is lost, and finds it again.

    Give init() a frame and the box of the object, then update() each further frame:

        >>> rng = np.random.default_rng(1)
        >>> def texture(rows, columns):
        ...     return ct.cv2.resize(rng.integers(0, 256, (rows, columns), np.uint8), (8 * columns, 8 * rows))
        >>> ground, target = texture(30, 40), texture(8, 8)
        >>> def frame(x):
        ...     image = ground.copy()
        ...     image[80:144, x:x + 64] = target
        ...     return image
        >>> tracker = ct.Tracker(seed=1, device="cpu")
        >>> tracker.init(frame(100), (100, 80, 64, 64))
        >>> for image in (frame(102), frame(104), ground):
        ...     located, box = tracker.update(image)
        ...     print(located, box, tracker.state.name)
        True (102, 80, 64, 64) TRACKING
        True (104, 80, 64, 64) TRACKING
        False (0, 0, 0, 0) LOST

    In state UNCERTAIN the box may be wrong, also if update() returns True. After the events JUMPED and FOUND_AGAIN (class Event) it may be on
    another object that looks alike.

    Args:
        params: a TLDParams. Default: TLDParams().
        device: "auto" (default): where the first image is, for host images the first CUDA device or else the CPU; "cpu"; "cuda";
            "cuda:<number>". The boxes are the same everywhere.
        members: members of TLDParams by name, such as seed=3. Those from box_overlap to end_after_misses have no effect: MultiTracker takes boxes.

    Images are uint8: height x width (gray), x 3 (BGR) or x 4 (BGRA), sides 16 to 16384, all of one size and type. Equal parameters, seed
    included, and equal images give the same bits on the CPU and on every GPU. Calls of several threads on one object are made one after the
    other. Wrong arguments raise ArgumentError (a ValueError) or TypeError, other failures raise error (a RuntimeError); the message names the argument.

    Rules of states and learning: doc/tld.md. Source: Kalal, Mikolajczyk and Matas, Tracking-Learning-Detection, 2012.
    """

    def __init__(self, params: Optional[TLDParams] = None, *, device: str = "auto", **members: Any) -> None:
        super().__init__(device)
        self._native = call(cv2.cuda.TrackerTLD.create, _native_params(params, members))

    def init(self, image: ImageLike, box: BoxLike, *, clip: bool = False) -> None:
        """Learns an object from a box in an image, in place of an older one. Waits.

        Args:
            image: frame that contains the object.
            box: (x, y, width, height) in pixels, inside the image, sides at least 12 and at least min_window; its edges are rounded. What is
                in it must not be of one gray value.
            clip: True takes the part of the box inside the image.
        """
        self._call(self._native.init, image, self._box(image, box, clip), stream=0)

    def update(self, image: ImageLike) -> tuple[bool, Box]:
        """Tracks in the next frame. Returns (True, (x, y, width, height)), or (False, (0, 0, 0, 0)) if the object was not located. Waits. The box
        is in pixels and may lie partly outside of the image, unless clip_boxes is set.

        Args:
            image: frame, of the size and type of the first one.
        """
        located, box = self._call(self._native.update, image, stream=0)
        if not located:
            return False, (0, 0, 0, 0)
        x, y, width, height = (int(value) for value in box)
        return True, (x, y, width, height)

    def update_async(self, image: ImageLike, *, stream: Any = None, out: Any = None) -> Array:
        """Tracks in the next frame. Does not wait with an image on a device.

        Args:
            image: frame, of the size and type of the first one.
            stream: for images on a device, that of the work: of torch, CuPy or OpenCV, or its address. Default: that of torch or CuPy, else the null one.
            out: array for the result, of its shape and type, where the image is. Default: a new one.

        Returns 12 float64: x, y, width, height, score (that of Tracker.score before it is rounded), State, located (1 or 0), learned (1 or 0), Event, id, -1,
        confidence of the filter (0 without TLDParams.filter).
        """
        return self._table(self._native.updateAsync, image, row(len(_COLUMNS), "f8"), stream, out)

    @property
    def state(self) -> State:
        """State after the last frame. Waits."""
        return State(self._ask(self._native.getState))

    @property
    def event(self) -> Event:
        """Where the box of the last frame comes from: an Event. Waits."""
        return Event(self._ask(self._native.getEvent))

    @property
    def score(self) -> float:
        """Score of the box, 0 to 1: how sure the detector is that the object is there. Waits.

        It is the largest mean posterior (doc/glossary.md) of the windows that support the box. It is 0 if there is none or the object is lost, and 1 directly after
        init() and reset_to(). Rounded to float32, so that it can be less than a min_reply_score that the score itself reaches.
        """
        return float(self._ask(self._native.getTrackingScore))

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Internal box with sub-pixel position, available while update() returns False, too; zeros if the object is lost. Waits."""
        x, y, width, height = (float(value) for value in self._ask(self._native.getBox))
        return x, y, width, height

    @property
    def learning(self) -> bool:
        """Whether the model is updated after init()."""
        return bool(self._ask(self._native.getLearning))

    @learning.setter
    def learning(self, value: bool) -> None:
        self._ask(self._native.setLearning, _arrays.flag(value, "learning"))

    def reset_to(self, box: BoxLike) -> None:
        """Sets the box in the last frame and keeps the learned model.

        Args:
            box: (x, y, width, height) in pixels, inside the image, sides at least 12 and at least min_window; its edges are rounded.
        """
        self._ask(self._native.resetTo, _arrays.box(box, "box"))

    def detections(self, *, everything: bool = False) -> Found:
        """Returns the detections in the last frame. Waits.

        Args:
            everything: True includes windows that passed the ferns but not the nearest-neighbour stage. Default False.
        """
        return _found(self._ask(self._native.getDetections), _arrays.flag(everything, "everything"))

    def templates(self, positive: bool = True) -> npt.NDArray[np.uint8]:
        """Returns the learned templates, n x 15 x 15 uint8: of the object, or of the background with positive=False. Waits.

        The first template learned of the object comes first; each later one is inserted after the one that it resembled most.
        """
        return _templates(self._ask(self._native.getTemplates, _arrays.flag(positive, "positive")))

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes parameters, learned model and position. A tracker that loads the file continues with the next frame, with identical results.

        Args:
            path: a name that ends with .xml. The file is written
                completely, or the old one is unchanged.
        """
        self._save(_arrays.file_name(path, "path"), self._native.save)

    def load(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Reads a file written by Tracker.save(), Detector.save() or MultiTracker.save_object(), of at most 64 MiB. The object of a Detector is
        LOST until it is detected. The parameters of the file replace those of this tracker. The file is checked completely, so it may come from
        an untrusted source; if it is refused, nothing changes.

        Args:
            path: path of the file.
        """
        self._read(_arrays.file_name(path, "path"))

    def __repr__(self) -> str:
        try:
            state = self.state.name.lower()
        except (error, ValueError):
            state = "without an object"
        return f"<cudatracking.Tracker {state}, device {self.device!r}>"


TRACKS = np.dtype([("id", np.int32), ("x", np.float64), ("y", np.float64), ("width", np.float64), ("height", np.float64), ("score", np.float64),
                   ("state", np.int32), ("located", np.bool_), ("learned", np.bool_), ("event", np.int32), ("box", np.int32), ("confidence", np.float64)])
_COLUMNS: dict[str, int] = {name: getattr(cv2.cuda, f"TrackerTLD_RESULT_{name.upper()}") for name in TRACKS.fields or ()}


class MultiTracker(_Frames):
    """Tracks up to 1024 objects in one video, each like Tracker, and can take boxes of a detector of yours. Work that does not depend on the
    object is done once per frame.

        >>> rng = np.random.default_rng(1)
        >>> image = np.kron(rng.integers(0, 256, (20, 30)), np.ones((12, 12))).astype(np.uint8)
        >>> tracker = ct.MultiTracker(device="cpu")
        >>> [tracker.add(image, box) for box in ((48, 48, 72, 72), (200, 100, 60, 84))]  # ids
        [0, 1]
        >>> for track in tracker.update(np.roll(image, 2, axis=1)):
        ...     print(track["id"], track["x"].round(), ct.State(track["state"]).name)
        0 50.0 TRACKING
        1 202.0 TRACKING

    Args:
        params: a TLDParams, for all objects. Default: TLDParams().
        device: "auto" (default): where the first image is, for host images the first CUDA device or else the CPU; "cpu"; "cuda";
            "cuda:<number>". The boxes are the same everywhere.
        members: members of TLDParams by name, such as seed=3.

    Images are uint8: height x width (gray), x 3 (BGR) or x 4 (BGRA), sides 16 to 16384, all of one size and type. Equal parameters, seed
    included, and equal images give the same bits on the CPU and on every GPU. Calls of several threads on one object are made one after the
    other. Wrong arguments raise ArgumentError (a ValueError) or TypeError, other failures raise error (a RuntimeError); the message names the argument.
    """

    def __init__(self, params: Optional[TLDParams] = None, *, device: str = "auto", **members: Any) -> None:
        super().__init__(device)
        self._native = call(cv2.cuda.MultiTrackerTLD.create, _native_params(params, members))

    def add(self, image: ImageLike, box: BoxLike, *, clip: bool = False, stream: Any = None) -> int:
        """Adds an object and returns its id: 0, 1, 2 and so on. Waits.

        Args:
            image: the frame in which the object starts: the one that update() got last, or the one that it gets next.
            box: (x, y, width, height) in pixels, inside the image, sides at least 12 and at least min_window; its edges are rounded. What is
                in it must not be of one gray value.
            clip: True takes the part of the box inside the image.
            stream: for images on a device, that of the work: of torch, CuPy or OpenCV, or its address. Default: that of torch or CuPy, else the null one.
        """
        made = self._call(self._native.add, image, self._box(image, box, clip), stream=stream)
        return int(made)

    def remove(self, id: int) -> None:
        """Removes the object of this id; ids of others do not change."""
        self._ask(self._native.remove, _arrays.number(id, "id", whole=True))

    def update(self, image: ImageLike, boxes: Optional[Any] = None, *, stream: Any = None) -> npt.NDArray[Any]:
        """Tracks all objects in the next frame. Waits.

        Args:
            image: frame, of the size and type of the first one.
            boxes: n x 4, what a detector has found in this frame, at most 256: x, y, width, height in pixels, edges rounded. Each
                box is associated with at most one object, by overlap, and confirms it; the parameters box_overlap, verify_boxes,
                correct_by_boxes, find_by_boxes, start_from_boxes and end_after_misses say what else boxes do. An empty list: the detector has found
                nothing. Default None: it did not run.
            stream: for images on a device, that of the work: of torch, CuPy or OpenCV, or its address. Default: that of torch or CuPy, else the null one.

        Returns a structured array of the type ct.TRACKS, one element per object in the order of `ids`: id, x, y, width, height, score, state,
        located, learned, event, box (index in `boxes` of the one that is associated with the object or has started it, or -1), confidence (of the
        filter, see TLDParams.filter, or 0); update_async() has them in another order. Objects that ended in this call have no element; those
        that started have one.
        """
        table = self.update_async(image, boxes, stream=stream)
        rows = table.numpy() if isinstance(table, DeviceArray) else table
        tracks = np.zeros(len(rows), TRACKS)
        for name, column in _COLUMNS.items() if len(rows) else ():
            tracks[name] = rows[:, column]
        return tracks

    def update_async(self, image: ImageLike, boxes: Optional[Any] = None, *, stream: Any = None, out: Any = None) -> Array:
        """Tracks all objects in the next frame. With an image on a device it waits only if boxes are given, and are on a device or
        start_from_boxes or end_after_misses is set.

        Args:
            image: frame, of the size and type of the first one.
            boxes: n x 4, what a detector has found in this frame, at most 256: x, y, width, height in pixels. An empty list: it has found
                nothing. Default None: it did not run.
            stream: for images on a device, that of the work: of torch, CuPy or OpenCV, or its address. Default: that of torch or CuPy, else the null one.
            out: array for the result, of its shape and type, on the device of the image, or a numpy array for images on the host. Not possible
                if boxes are given and start_from_boxes or end_after_misses is set. Default: a new one.

        Returns objects x 12 float64: x, y, width, height, score, State, located (1 or 0), learned (1 or 0), Event, id, box, confidence. In update() the id
        comes first.
        """
        form = table(len(self._ask(self._native.getIds)), len(_COLUMNS), "f8")
        if boxes is None:
            return self._table(self._native.update, image, form, stream, out)
        frame = _arrays.image(image, "image", ("u1",))
        given = _arrays.integers(boxes, "boxes", 4)
        with Work(self, (frame,), stream) as work:
            pixels = work.array(frame, slot="image")
            target = None if out is None else [out]
            params = self._native.getParams()
            if out is not None and (params.startFromBoxes or params.endAfterMisses):
                raise ArgumentError("out: not possible with boxes and start_from_boxes or end_after_misses: the number of objects can change", "out")
            return work.call(self._native.updateWithBoxes, pixels, self._list_of(given, work), forms=(form,), out=target)[0]

    @staticmethod
    def _list_of(boxes: npt.NDArray[np.int32], work: Work) -> Any:
        """Boxes where the image is; on a device their number comes first."""
        if work.device is None:
            return boxes
        if len(boxes) > 256:
            raise ArgumentError(f"boxes: {len(boxes)}; at most 256 are taken", "boxes", len(boxes))
        table = np.zeros((1, 1 + len(boxes), 4), np.int32)
        table[0, 0, 0] = len(boxes)
        table[0, 1:] = boxes
        return work.array(_arrays.given(table, "boxes"), slot="boxes")

    @property
    def ids(self) -> list[int]:
        """Ids of the objects, ascending."""
        return [int(value) for value in self._ask(self._native.getIds)]

    @property
    def learning(self) -> bool:
        """Whether the models are updated after add()."""
        return bool(self._ask(self._native.getLearning))

    @learning.setter
    def learning(self, value: bool) -> None:
        self._ask(self._native.setLearning, _arrays.flag(value, "learning"))

    def reset_to(self, id: int, box: BoxLike) -> None:
        """Sets the box of an object in the newest image given to update() or add(), and keeps its learned model.

        Args:
            id: id that add() has returned.
            box: (x, y, width, height) in pixels, inside the image, sides at least 12 and at least min_window; its edges are rounded.
        """
        self._ask(self._native.resetTo, _arrays.number(id, "id", whole=True), _arrays.box(box, "box"))

    def detections(self, id: int, *, everything: bool = False) -> Found:
        """Returns the detections of an object in the last frame. Waits.

        Args:
            id: id that add() has returned.
            everything: True includes windows that passed the ferns but not the nearest-neighbour stage. Default False.
        """
        return _found(self._ask(self._native.getDetections, _arrays.number(id, "id", whole=True)), _arrays.flag(everything, "everything"))

    def templates(self, id: int, positive: bool = True) -> npt.NDArray[np.uint8]:
        """Returns the learned templates of an object, n x 15 x 15 uint8: of the object, or of the background with positive=False. Waits."""
        return _templates(self._ask(self._native.getTemplates, _arrays.number(id, "id", whole=True), _arrays.flag(positive, "positive")))

    def save_object(self, id: int, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes parameters, learned model and position of one object, for Tracker.load() and add_from_file(). Waits.

        Args:
            id: id that add() has returned.
            path: a name that ends with .xml. The file is written completely,
                or the old one is unchanged.
        """
        number = _arrays.number(id, "id", whole=True)
        self._save(_arrays.file_name(path, "path"), lambda name: self._native.saveObject(number, name))

    def add_from_file(self, image: ImageLike, path: Union[str, "os.PathLike[str]"], *, stream: Any = None) -> int:
        """Adds an object from a file of save_object(), Tracker.save() or Detector.save(), and returns its id; it is LOST until detected.

        Args:
            image: the frame that update() got last, or the one that it gets next; of the size of the images that the model was learned from.
            path: path of the file, of at most 64 MiB. It is checked completely, so it may come from an untrusted source.
            stream: for images on a device, that of the work: of torch, CuPy or OpenCV, or its address. Default: that of torch or CuPy, else the null one.
        """
        name = _arrays.file_name(path, "path")
        _arrays.check_file(name, "path")
        made = self._call(self._native.addFromFile, image, name, stream=stream)
        return int(made)

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes all objects. A tracker that loads the file continues with identical results. Waits.

        Args:
            path: a name that ends with .xml. The file is written completely,
                or the old one is unchanged.
        """
        self._save(_arrays.file_name(path, "path"), self._native.save)

    def load(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Reads a file written by save(), of at most 512 MiB, and replaces all objects and all parameters, those about boxes such as verify_boxes, too.
        It is checked completely, so it may come from an untrusted source; if it is refused, nothing changes."""
        self._read(_arrays.file_name(path, "path"))

    def clear(self) -> None:
        """Removes all objects; the next add() may give images of another size."""
        self._ask(self._native.clear)

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"<cudatracking.MultiTracker {len(self)} objects, device {self.device!r}>"


class Detector(_Frames):
    """Finds in single images an object that it has learned from one box in one image. For videos use Tracker.

        >>> rng = np.random.default_rng(1)
        >>> image = np.kron(rng.integers(0, 256, (20, 30)), np.ones((12, 12))).astype(np.uint8)
        >>> detector = ct.Detector(device="cpu")
        >>> detector.init(image, (60, 60, 60, 60))
        >>> boxes, scores = detector.detect(np.roll(image, 36, axis=1))
        >>> boxes[scores.argmax()]
        array([96, 60, 60, 60], dtype=int32)

    It evaluates windows on a grid over the image in three stages: variance, ferns (small classifiers by comparisons of pixels) and the
    similarity to learned templates (nearest neighbours).

    Args:
        params: a TLDParams. Default: TLDParams().
        device: "auto" (default): where the first image is, for host images the first CUDA device or else the CPU; "cpu"; "cuda";
            "cuda:<number>". The results are the same everywhere.
        members: members of TLDParams by name, such as seed=3.

    Images are uint8: height x width (gray), x 3 (BGR) or x 4 (BGRA), sides 16 to 16384, all of one size and type. Calls of several threads
    on one object are made one after the other. Wrong arguments raise ArgumentError (a ValueError) or TypeError, other failures raise error (a RuntimeError); the message names the argument.
    """

    def __init__(self, params: Optional[TLDParams] = None, *, device: str = "auto", **members: Any) -> None:
        super().__init__(device)
        self._native = call(cv2.cuda.TLDDetector.create, _native_params(params, members))

    def init(self, image: ImageLike, box: BoxLike, *, clip: bool = False, stream: Any = None) -> None:
        """Learns an object, in place of an older one. Waits.

        Args:
            image: image that contains the object.
            box: (x, y, width, height) in pixels, inside the image, sides at least 12 and at least min_window; its edges are rounded. What is
                in it must not be of one gray value.
            clip: True takes the part of the box inside the image.
            stream: for images on a device, that of the work: of torch, CuPy or OpenCV, or its address. Default: that of torch or CuPy, else the null one.
        """
        self._call(self._native.init, image, self._box(image, box, clip), stream=stream)

    def detect(self, image: ImageLike, *, everything: bool = False, stream: Any = None) -> Found:
        """Detects the object in an image. Waits.

        Args:
            image: image of the size and type of the one in init().
            everything: True includes windows that passed the ferns but not the nearest-neighbour stage. Default False.
            stream: for images on a device, that of the work: of torch, CuPy or OpenCV, or its address. Default: that of torch or CuPy, else the null one.
        """
        everything = _arrays.flag(everything, "everything")
        table = self.detect_async(image, stream=stream)
        return _found(table.numpy() if isinstance(table, DeviceArray) else table, everything)

    def detect_async(self, image: ImageLike, *, stream: Any = None, out: Any = None) -> Array:
        """Detects the object in an image. Does not wait with an image on a device.

        Args:
            image: image of the size and type of the one in init().
            stream: for images on a device, that of the work: of torch, CuPy or OpenCV, or its address. Default: that of torch or CuPy, else the null one.
            out: array for the result, of its shape and type, where the image is. Default: a new one.

        Returns (1 + max_detections) x 8 float64. Row 0: n, then numbers of windows: all, with enough variance, passed by the ferns,
        accepted; then n rows (terms: doc/glossary.md): x, y, width, height, conservative similarity, relative similarity, mean posterior, accepted (1 or 0).
        """
        return self._table(self._native.detect, image, table(1 + int(self._native.getParams().maxDetections), 8, "f8"), stream, out)

    def learn(self, image: ImageLike, box: BoxLike, *, clip: bool = False, stream: Any = None) -> None:
        """Learns one more appearance of the object, without checking that it resembles the object. Does not wait with an image on a device.

        Args:
            image: image of the size and type of the one in init().
            box: (x, y, width, height) of the object in pixels, inside the image, sides at least 12 and at least min_window; its edges are
                rounded.
            clip: True takes the part of the box inside the image.
            stream: for images on a device, that of the work: of torch, CuPy or OpenCV, or its address. Default: that of torch or CuPy, else the null one.
        """
        self._call(self._native.learn, image, self._box(image, box, clip), stream=stream)

    def templates(self, positive: bool = True) -> npt.NDArray[np.uint8]:
        """Returns the learned templates, n x 15 x 15 uint8: of the object, or of the background with positive=False. Waits."""
        return _templates(self._ask(self._native.getTemplates, _arrays.flag(positive, "positive")))

    @property
    def empty(self) -> bool:
        """True before init()."""
        return bool(self._ask(self._native.empty))

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes parameters and learned model. Waits.

        Args:
            path: a name that ends with .xml. The file is written completely,
                or the old one is unchanged.
        """
        self._save(_arrays.file_name(path, "path"), self._native.save)

    def load(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Reads a file written by Detector.save(), Tracker.save() or MultiTracker.save_object(), of at most 64 MiB. It is checked completely, so it
        may come from an untrusted source; if it is refused, nothing changes."""
        self._read(_arrays.file_name(path, "path"))

    def clear(self) -> None:
        """Removes the learned model; parameters are kept."""
        self._ask(self._native.clear)

    def __repr__(self) -> str:
        return f"<cudatracking.Detector {'without' if self.empty else 'with'} an object, device {self.device!r}>"
