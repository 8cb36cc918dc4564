# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""Files that the command writes: whole or not at all. And its progress."""
from __future__ import annotations

import csv
import json
import os
import sys
import tempfile
import time
from typing import Any, Callable, Optional, Sequence

import numpy as np
import numpy.typing as npt

from ._errors import call, error
from ._native import cv2


class Beside:
    """A file that is written beside its place and moved there when it is complete; until then an older one stays."""

    def __init__(self, path: str) -> None:
        self.path = path
        folder, name = os.path.split(os.path.abspath(path))
        if os.path.isdir(path):
            raise error(f"{path}: is a folder; a file is needed")
        try:
            handle, self.temporary = tempfile.mkstemp(os.path.splitext(name)[1], f".{name}.", folder)
        except OSError as raised:
            raise error(f"{path}: cannot be written: {raised.strerror}") from None
        os.close(handle)

    def commit(self) -> None:
        """Puts the file into its place."""
        mask = os.umask(0o022)
        os.umask(mask)
        try:
            os.chmod(self.temporary, 0o666 & ~mask)
            os.replace(self.temporary, self.path)
        except OSError as raised:
            raise error(f"{self.path}: cannot be written: {raised.strerror}") from None

    def drop(self) -> None:
        """Removes what was written."""
        if os.path.exists(self.temporary):
            os.unlink(self.temporary)


class Table:
    """Rows as CSV, or as JSON lines when the file's name ends with .jsonl; "-" is the standard output."""

    def __init__(self, path: str, columns: Sequence[str]) -> None:
        self._path = path
        self._columns = list(columns)
        self._beside = None if path == "-" else Beside(path)
        self._file = open(self._beside.temporary, "w", encoding="utf-8", newline="") if self._beside else sys.stdout
        self._json = path.lower().endswith((".jsonl", ".ndjson"))
        self._writer: Any = None if self._json else csv.writer(self._file, lineterminator="\n")
        self._flushed = time.monotonic()
        self.rows = 0
        if self._writer:
            self._guard(lambda: self._writer.writerow(self._columns))

    def _guard(self, write: Callable[[], Any]) -> None:
        try:
            write()
        except BrokenPipeError:
            raise
        except OSError as raised:
            raise error(f"{self._path}: cannot be written: {raised.strerror}") from None

    def add(self, *values: Any) -> None:
        """Adds a row; None is an empty cell."""
        plain = [value.item() if isinstance(value, np.generic) else value for value in values]
        if self._json:
            # JSON has no infinity and no NaN: they become null, as in a browser.
            named = {name: None if isinstance(value, float) and not np.isfinite(value) else value for name, value in zip(self._columns, plain)}
            self._guard(lambda: self._file.write(json.dumps(named) + "\n"))
        else:
            self._guard(lambda: self._writer.writerow(["" if value is None else value for value in plain]))
        self.rows += 1
        if time.monotonic() - self._flushed > 1.:
            self._guard(self._file.flush)
            self._flushed = time.monotonic()

    def finish(self) -> None:
        """All is written."""
        self._guard(self._file.flush)
        if self._beside:
            def close() -> None:
                os.fsync(self._file.fileno())
                self._file.close()
            self._guard(close)
            self._beside.commit()

    def drop(self) -> None:
        """Removes the unfinished file."""
        if self._beside:
            self._file.close()
            self._beside.drop()


class Drawing:
    """Annotated frames: an image file of a single image, else a video: .avi (MJPEG), or .mp4 with PyAV."""

    def __init__(self, path: str, still: bool, rate: Optional[float]) -> None:
        suffix = os.path.splitext(path)[1].lower()
        possible = (".png", ".jpg", ".jpeg", ".bmp") if still else (".avi", ".mp4")
        if suffix not in possible:
            raise error(f"{path}: the name must end with {' or '.join(possible)} for this input")
        self._still, self._suffix, self._rate = still, suffix, rate if rate and 0 < rate < 1000 else 25.
        self._beside = Beside(path)
        self._path = path
        self._writer: Any = None
        self._container: Any = None
        self._stream: Any = None
        self._size: Optional[tuple[int, int]] = None
        if suffix == ".mp4":
            try:
                import av  # type: ignore[import-not-found,unused-ignore] # noqa: F401
            except ImportError:
                self._beside.drop()
                raise error(f"{path}: .mp4 needs PyAV: pip install av; .avi can be written without") from None

    def add(self, pixels: npt.NDArray[np.uint8]) -> None:
        """Adds a frame."""
        height, width = pixels.shape[:2]
        if self._size is None:
            self._size = (width, height)
            if not self._still:
                self._start(width, height)
        elif self._size != (width, height):
            raise error(f"{self._path}: a frame has {width} x {height} pixels, the first one had {self._size[0]} x {self._size[1]}")
        if self._still:
            if not call(cv2.imwrite, self._beside.temporary, pixels):
                raise error(f"{self._path}: cannot be written")
        elif self._writer is not None:
            call(self._writer.write, pixels)
        else:
            import av
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels[:height // 2 * 2, :width // 2 * 2]), format="bgr24")
            try:
                self._container.mux(self._stream.encode(frame))
            except Exception as raised:  # PyAV's many kinds
                raise error(f"{self._path}: cannot be written: {raised}") from None

    def _start(self, width: int, height: int) -> None:
        if self._suffix == ".avi":
            self._writer = call(cv2.VideoWriter, self._beside.temporary, cv2.CAP_OPENCV_MJPEG, cv2.VideoWriter.fourcc(*"MJPG"), self._rate, (width, height))
            if not self._writer.isOpened():
                raise error(f"{self._path}: cannot be written")
            return
        import fractions

        import av
        self._container = av.open(self._beside.temporary, "w")
        for codec in ("libx264", "libopenh264", "mpeg4"):
            if codec in av.codecs_available:
                self._stream = self._container.add_stream(codec, rate=fractions.Fraction(self._rate).limit_denominator(1001))
                self._stream.width, self._stream.height, self._stream.pix_fmt = width // 2 * 2, height // 2 * 2, "yuv420p"
                return
        raise error(f"{self._path}: PyAV has no encoder for .mp4; .avi can be written")

    def finish(self) -> None:
        """All is written."""
        if self._size is None:
            self.drop()
            return
        if self._writer is not None:
            self._writer.release()
            # The extension does not say that the disk is full: a video that it cannot open again was not written.
            video = call(cv2.VideoCapture, self._beside.temporary, cv2.CAP_OPENCV_MJPEG)
            if not video.isOpened():
                raise error(f"{self._path}: cannot be written completely; is the disk full?")
            video.release()
        if self._container is not None:
            try:
                self._container.mux(self._stream.encode(None))
                self._container.close()
            except Exception as raised:
                raise error(f"{self._path}: cannot be written: {raised}") from None
        self._beside.commit()

    def drop(self) -> None:
        """Removes the unfinished file."""
        if self._writer is not None:
            self._writer.release()
        self._beside.drop()


class Progress:
    """A line on the standard error each second: frames, rate, remaining time."""

    def __init__(self, quiet: bool, total: Optional[int]) -> None:
        self._quiet, self._total = quiet, total
        self._start = self._last = time.monotonic()
        self._terminal = sys.stderr.isatty()
        self.frames = 0

    def step(self) -> None:
        """One more frame is done."""
        self.frames += 1
        now = time.monotonic()
        if self._quiet or now - self._last < 1.:
            return
        self._last = now
        rate = self.frames / (now - self._start)
        text = f"frame {self.frames}" + (f" of {self._total}" if self._total else "") + f", {rate:.1f} per second"
        if self._total and self._total > self.frames:
            text += f", {(self._total - self.frames) / rate:.0f} s left"
        sys.stderr.write(f"\r{text}\033[K" if self._terminal else text + "\n")
        sys.stderr.flush()

    def finish(self, words: str) -> None:
        """The last line."""
        if self._quiet:
            return
        seconds = max(time.monotonic() - self._start, 1e-9)
        sys.stderr.write(("\r\033[K" if self._terminal else "") +
                         f"{self.frames} frames in {seconds:.1f} s, {self.frames / seconds:.1f} per second{words}\n")
        sys.stderr.flush()
