# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""The work on frames: detect, track, superpixels. A job turns frames into columns of a table."""
from __future__ import annotations

import hashlib
from typing import Any, Optional, Sequence

import numpy as np
import numpy.typing as npt

from ._cascade import CascadeClassifier, cascade_file, cascades
from ._errors import ArgumentError, error, shown
from ._quickshift import QuickShift, lab_of
from ._tracking import MultiTracker, State

DEFAULT_CASCADE = "frontalface_default"
Pixels = npt.NDArray[np.uint8]
Columns = list[Any]
"""One array for each column of a job, all of one length: the rows of one frame."""


class Job:
    """Base of the jobs.

    Attributes:
        COLUMNS: (name, kind) of each column after video, frame and time; kind is "int", "float" or "text".
        DEFAULTS: parameters and their defaults.
        ORDERED: whether each frame needs the one before it.
        COLOR: whether frames are BGR; else they are gray, the luma plane of the video.
    """

    COLUMNS: Sequence[tuple[str, str]] = ()
    DEFAULTS: dict[str, Any] = {}
    ORDERED = False
    COLOR = False

    def __init__(self, parameters: dict[str, Any], device: str) -> None:
        raise NotImplementedError

    def refused(self) -> list[tuple[int, str]]:
        """Returns (frame, reason) of boxes in which no object began, after the last frame."""
        return []

    def work(self, frames: Sequence[tuple[int, Pixels]]) -> list[Columns]:
        """Returns the columns of each of these frames, (number, pixels)."""
        raise NotImplementedError


class Detect(Job):
    """Finds objects with cascades."""

    COLUMNS = (("object", "int"), ("cascade", "text"), ("x", "int"), ("y", "int"), ("width", "int"), ("height", "int"), ("neighbors", "int"), ("weight", "float"))
    DEFAULTS = {"cascade": [DEFAULT_CASCADE], "scale_factor": 1.1, "min_neighbors": 3, "min_size": 0, "max_size": 0}

    def __init__(self, parameters: dict[str, Any], device: str) -> None:
        named = dict(parameters)
        self.classifiers = [CascadeClassifier(name, device=device, max_candidates=65536, **named) for name in named.pop("cascade")]

    def work(self, frames: Sequence[tuple[int, Pixels]]) -> list[Columns]:
        images = [pixels for _, pixels in frames]
        found = [(classifier.name, classifier.detect_batch(images)) for classifier in self.classifiers]
        made = []
        for i in range(len(frames)):
            boxes = np.concatenate([objects[i].boxes for _, objects in found])
            names = np.concatenate([np.full(len(objects[i].boxes), name, object) for name, objects in found])
            made.append([np.arange(len(boxes)), names, *boxes.T, np.concatenate([objects[i].neighbors for _, objects in found]),
                         np.concatenate([objects[i].weights for _, objects in found])])
        return made


class Superpixels(Job):
    """Cuts frames into superpixels by quick shift."""

    COLUMNS = (("label", "int"), ("area", "int"), ("x", "int"), ("y", "int"), ("width", "int"), ("height", "int"), ("center_x", "float"),
               ("center_y", "float"), ("blue", "float"), ("green", "float"), ("red", "float"))
    DEFAULTS = {"sigma": 6., "max_dist": 10., "color_scale": None, "number": None, "min_area": None}
    COLOR = True

    def __init__(self, parameters: dict[str, Any], device: str) -> None:
        self._number, self._min_area = parameters["number"], parameters["min_area"]
        self.shift = (QuickShift.for_superpixels(device) if self._number else
                      QuickShift(parameters["sigma"], parameters["max_dist"], parameters["color_scale"], device=device))

    def cut(self, pixels: npt.NDArray[Any], mask: Optional[Pixels] = None) -> int:
        """Computes the superpixels of a frame. Returns their number."""
        if self._number:
            return self.shift.compute(lab_of(pixels), mask=mask).apply_number(self._number, self._min_area)
        self.shift.compute(pixels, mask=mask)
        return self.shift.enforce_connectivity(self._min_area) if self._min_area else self.shift.number

    def work(self, frames: Sequence[tuple[int, Pixels]]) -> list[Columns]:
        made = []
        for _, pixels in frames:
            self.cut(pixels)
            rows = self.shift.statistics(pixels)
            made.append([np.arange(len(rows.areas)), rows.areas, *rows.boxes.T, *rows.centroids.T, *rows.means.T])
        return made


class Track(Job):
    """Follows objects from the boxes in which they begin."""

    COLUMNS = (("id", "int"), ("x", "float"), ("y", "float"), ("width", "float"), ("height", "float"), ("score", "float"), ("state", "text"),
               ("located", "int"), ("learned", "int"))
    DEFAULTS = {"boxes": [], "seed": 1}
    ORDERED = True

    def __init__(self, parameters: dict[str, Any], device: str) -> None:
        self._tracker = MultiTracker(device=device, seed=parameters["seed"])
        self._refused: list[tuple[int, str]] = []
        self._boxes: dict[int, list[Any]] = {}
        for number, *box in parameters["boxes"]:
            self._boxes.setdefault(number, []).append(box)

    def work(self, frames: Sequence[tuple[int, Pixels]]) -> list[Columns]:
        made = []
        for number, pixels in frames:
            made.append(self._rows(pixels))
            for box in self._boxes.pop(number, ()):
                try:
                    self._tracker.add(pixels, box)
                except ArgumentError as raised:  # the others are followed
                    self._refused.append((number, str(raised)))
        return made

    def refused(self) -> list[tuple[int, str]]:
        """Returns (frame, reason) of boxes in which no object began, after the last frame."""
        return sorted([*self._refused, *((number, "an object begins there, and there is no such frame, or it is missing") for number in self._boxes)])

    def _rows(self, pixels: Pixels) -> Columns:
        if not len(self._tracker):
            return [np.zeros(0, object if kind == "text" else float) for _, kind in self.COLUMNS]
        tracks = self._tracker.update(pixels)
        states = np.array([State(value).name.lower() for value in tracks["state"]], object)
        return [tracks["id"], *(tracks[name] for name in ("x", "y", "width", "height", "score")), states, tracks["located"].astype(int),
                tracks["learned"].astype(int)]


JOBS: dict[str, type[Job]] = {"detect": Detect, "track": Track, "superpixels": Superpixels}


def settings_of(job: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Returns all parameters of a job, and what they refer to by its content. Raises error for what the job does not take."""
    if job not in JOBS:
        raise ArgumentError(f"job: {shown(job)}: {', '.join(JOBS)} are possible", "job", job)
    kind = JOBS[job]
    for name in parameters:
        if name not in kind.DEFAULTS:
            raise ArgumentError(f"{name}: the job {job} has no such parameter; it has {', '.join(kind.DEFAULTS)}", name)
    made = {**kind.DEFAULTS, **parameters}
    if kind is Superpixels:
        for name in ("sigma", "max_dist", "color_scale"):
            if made["number"] and name in parameters:
                raise ArgumentError(f"{name}: {shown(parameters[name])}: number has parameters of its own; give one or the other", name, parameters[name])
        if made["min_area"] is None:
            made["min_area"] = 0 if made["number"] else 20
    if kind is Detect and isinstance(made["cascade"], str):
        made["cascade"] = [made["cascade"]]
    settings = dict(made)
    if kind is Detect:
        sides = made["min_size"], made["max_size"]
        if all(isinstance(side, int) for side in sides) and 0 < sides[1] < sides[0]:
            raise ArgumentError(f"max_size: {made['max_size']}: min_size is {made['min_size']}, so no object would be left", "max_size", made["max_size"])
        if not made["cascade"]:
            raise ArgumentError("cascade: at least one is needed", "cascade", made["cascade"])
        settings["cascade_sha256"] = [_content(name) for name in made["cascade"]]
    kind({**made, "boxes": []} if kind is Track else made, "cpu")  # checks all values
    return settings


def _content(name: str) -> str:
    path = cascade_file(name) if name in cascades() else name
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except OSError:
        CascadeClassifier(name)  # says what is possible
        raise error(f"cascade: {shown(name)} cannot be read", "cascade", name) from None


def make_job(job: str, settings: dict[str, Any], device: str, boxes: Sequence[Any]) -> Job:
    """Makes a job from settings_of(), for a video with these boxes: (frame, x, y, width, height)."""
    parameters = {name: settings[name] for name in JOBS[job].DEFAULTS}
    if "boxes" in parameters:
        parameters["boxes"] = boxes
    return JOBS[job](parameters, device)
