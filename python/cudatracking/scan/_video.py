# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""Frames of a video in order, decoded beside the work, and their pixels: the same on every machine."""
from __future__ import annotations

import os
import queue
import stat
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generator

from .._errors import error, import_optional
from .._frames import Source, SourceError, bgr, luma

AHEAD = 16  # decoded frames that wait for the work

Frame = tuple[int, float, Any]  # number from 0, seconds after the first frame (NaN: not known), pixels


class VideoError(error):
    """A video cannot be used: the scan reports it and goes on with the others."""


def decoder_versions() -> dict[str, str]:
    """Returns the versions of PyAV and of the FFmpeg libraries in it that decide which pixels a frame has."""
    av = import_optional("av", "scan needs PyAV: pip install 'cudatracking[scan]'")
    libraries = {name: ".".join(map(str, av.library_versions[name])) for name in ("libavcodec", "libavformat", "libswscale")}
    return {"av": str(av.__version__), **libraries}


def stat_of(path: str) -> tuple[int, int]:
    """Returns (size, time of modification in ns) of a file. Raises VideoError."""
    try:
        status = os.stat(path)
    except OSError as raised:
        raise VideoError(f"cannot be read: {raised.strerror}") from None
    if stat.S_ISDIR(status.st_mode):
        raise VideoError("cannot be read: Is a directory")
    if not stat.S_ISREG(status.st_mode):  # reading a pipe or a device may never end
        raise VideoError("cannot be read: is no regular file")
    return status.st_size, status.st_mtime_ns


class Frames:
    """Frames of a video, decoded on the host by a thread beside the work.

    Attributes, complete when all frames were taken:
        gaps: (first frame, frame after the last, reason) of frames that cannot be decoded. They end at a key frame.
        length: number of frames, with those.
        note: what is wrong with the file, or "".
        seconds: that the decoder spent.
    """

    def __init__(self, path: str, color: bool, threads: int) -> None:
        self.gaps: list[tuple[int, int, str]] = []
        self.length, self.note, self.seconds = 0, "", 0.
        self._path, self._pixels, self._threads = path, bgr if color else luma, threads
        self._queue: queue.Queue[Any] = queue.Queue(AHEAD)
        self._stop = threading.Event()

    def _put(self, entry: Any) -> None:
        while not self._stop.is_set():
            try:
                self._queue.put(entry, timeout=.1)
                return
            except queue.Full:
                pass

    def _decode(self) -> None:
        """Puts all frames into the queue."""
        try:
            source = Source(self._path, pixels=self._pixels, threads=self._threads)
        except error as raised:
            raise VideoError(str(raised)[len(self._path) + 2:]) from None
        try:
            start = time.perf_counter()
            for number, seconds, _, pixels in source:
                self.seconds += time.perf_counter() - start
                self._put((number, float("nan") if seconds is None else seconds, pixels))
                self.length = number + 1
                if self._stop.is_set():
                    return
                start = time.perf_counter()
            self.note = source.cut_off
        except SourceError as raised:
            self.note = str(raised)[len(self._path) + 2:]
        finally:
            source.close()
        self.gaps = source.gaps
        self.length = max([self.length, *(last for _, last, _ in source.gaps)])
        if not self.length:
            raise VideoError(self.note or "has no frames")

    def _run(self) -> None:
        try:
            self._decode()
            self._put(None)
        except OSError as raised:  # not of the files that the scan writes
            self._put(VideoError(f"cannot be decoded: {raised.strerror}"))
        except BaseException as raised:
            self._put(raised)

    def batches(self, most: int) -> Generator[list[Frame], None, None]:
        """Yields lists of up to `most` frames in order. Raises VideoError when there is none."""
        with ThreadPoolExecutor(1) as pool:
            try:
                pool.submit(self._run)
                entry: Any = ()
                while entry is not None:
                    batch: list[Frame] = []
                    while len(batch) < most and not (batch and self._queue.empty()):
                        entry = self._queue.get()
                        if isinstance(entry, BaseException):
                            raise entry
                        if entry is None:
                            break
                        batch.append(entry)
                    if batch:
                        yield batch
            finally:
                self._stop.set()
