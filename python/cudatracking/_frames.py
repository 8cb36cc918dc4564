# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""Where the command's frames come from: an image, a folder of images, a video, a camera or a URL."""
from __future__ import annotations

import os
import re
from typing import Any, Iterator, NamedTuple, Optional

import numpy as np
import numpy.typing as npt

from ._errors import ArgumentError, call, error
from ._native import cv2

IMAGES = (".bmp", ".jpeg", ".jpg", ".pbm", ".pgm", ".png", ".ppm")


class Frame(NamedTuple):
    """One frame: `number` from 0, seconds from the beginning if known, file name of a folder's, pixels (BGR)."""

    number: int
    time: Optional[float]
    name: str
    pixels: npt.NDArray[np.uint8]


def natural(name: str) -> list[tuple[int, int, str]]:
    """Key that sorts frame_2 before frame_10."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"([0-9]+)", name)]


def read_image(path: str) -> npt.NDArray[np.uint8]:
    """An image file as BGR. Raises error when it cannot be read."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as raised:
        raise error(f"{path}: {raised.strerror}") from None
    pixels = call(cv2.imdecode, np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR) if data else None
    if pixels is None:
        raise error(f"{path}: is no image that can be read")
    return np.asarray(pixels)


class Source:
    """Frames of one source, one after the other.

    Attributes:
        count: number of frames, or None when nobody knows.
        rate: frames per second, or None.
        still: whether it is a single image.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.count: Optional[int] = None
        self.rate: Optional[float] = None
        self.still = False
        self._open()

    def _open(self) -> None:
        name = self.name
        self._files: list[str] = []
        self._video: Any = None
        self._container: Any = None
        if re.fullmatch(r"\d{1,2}", name):
            self._video = call(cv2.VideoCapture, int(name))
            if not self._video.isOpened():
                raise error(f"camera {name}: cannot be opened")
        elif "://" in name:
            self._container = self._by_av()
        elif os.path.isdir(name):
            entries = sorted((entry for entry in os.listdir(name) if entry.lower().endswith(IMAGES)), key=natural)
            if not entries:
                raise error(f"{name}: the folder has no image ({' '.join(IMAGES)})")
            self._files = [os.path.join(name, entry) for entry in entries]
            self.count = len(entries)
        elif not os.path.exists(name):
            raise error(f"{name}: there is no such file or folder")
        elif name.lower().endswith(IMAGES):
            self._files, self.count, self.still = [name], 1, True
        else:
            self._open_video()

    def _open_video(self) -> None:
        self._container = self._by_av(required=False)
        if self._container is not None:
            return
        video = call(cv2.VideoCapture, self.name, cv2.CAP_OPENCV_MJPEG)
        if not video.isOpened():
            raise error(f"{self.name}: only MJPEG in .avi can be read without PyAV (pip install av), which reads other videos too")
        self._video = video
        self.count = int(video.get(cv2.CAP_PROP_FRAME_COUNT)) or None
        self.rate = float(video.get(cv2.CAP_PROP_FPS)) or None

    def _by_av(self, required: bool = True) -> Any:
        try:
            import av  # type: ignore[import-not-found,unused-ignore]
        except ImportError:
            if required:
                raise error(f"{self.name}: URLs need PyAV: pip install av") from None
            return None
        try:
            container = av.open(self.name)
            stream = container.streams.video[0]
            stream.thread_type = "AUTO"
        except Exception as raised:  # PyAV's many kinds, and no video stream
            raise error(f"{self.name}: cannot be opened: {raised}") from None
        self.count = int(stream.frames) or None
        self.rate = float(stream.average_rate) if stream.average_rate else None
        return container

    def __iter__(self) -> Iterator[Frame]:
        if self._container is not None:
            yield from self._decoded()
        elif self._video is not None:
            index = 0
            while True:
                ok, pixels = call(self._video.read)
                if not ok:
                    break
                yield Frame(index, index / self.rate if self.rate else None, "", np.asarray(pixels))
                index += 1
            if self.count is not None and index < self.count:
                raise error(f"{self.name}: frame {index} of {self.count} cannot be read")
        else:
            for index, path in enumerate(self._files):
                yield Frame(index, None, os.path.basename(path), read_image(path))

    def _decoded(self) -> Iterator[Frame]:
        index = 0
        frames = iter(self._container.decode(video=0))
        while True:
            try:
                frame = next(frames)
                pixels = frame.to_ndarray(format="bgr24")
            except StopIteration:
                return
            except Exception as raised:
                raise error(f"{self.name}: frame {index} cannot be decoded: {raised}") from None
            yield Frame(index, float(frame.time) if frame.time is not None else None, "", pixels)
            index += 1

    def close(self) -> None:
        """Gives files and cameras back."""
        if self._container is not None:
            self._container.close()
        if self._video is not None:
            self._video.release()


def box(text: str) -> tuple[int, int, int, int]:
    """x,y,width,height as on the command line."""
    if not re.fullmatch(r"-?\d{1,9}(,-?\d{1,9}){3}", text):
        raise ArgumentError(f"{text!r}: x,y,width,height, four whole numbers, are needed")
    x, y, width, height = map(int, text.split(","))
    return x, y, width, height
