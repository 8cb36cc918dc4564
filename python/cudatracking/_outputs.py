# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""Files that the command writes: whole or not at all, and never in the place of what it reads. And its progress."""
from __future__ import annotations

import contextlib
import csv
import fractions
import io
import json
import os
import sys
import tempfile
import time
from typing import Any, Callable, Iterable, Iterator, Optional, Sequence

import numpy as np
import numpy.typing as npt

from ._errors import ArgumentError, call, error, import_optional
from ._native import cv2


def counted(number: int, noun: str) -> str:
    """Returns "1 frame", "2 frames"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def say(text: str) -> None:
    """Writes to the standard error. That nobody can read it any more, as when a terminal was closed, is no reason to lose work."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()


@contextlib.contextmanager
def silent_library() -> Iterator[None]:
    """OpenCV's AVI code, libpng and GDAL print what they find wrong, whatever the level of logging; the command says it in its own words."""
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _identity(path: str) -> Optional[tuple[int, int]]:
    """Returns the device and inode of what a path leads to, through links; None when there is nothing."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def refuse_inputs(outputs: Iterable[tuple[str, str]], inputs: Iterable[str]) -> None:
    """Raises ArgumentError when an output, (option, path), is an input or the output of another option.

    What is compared is the file itself, so that other names and links do not hide it.
    """
    taken: dict[tuple[int, int], tuple[str, str]] = {}
    options: dict[str, str] = {}
    for option, path in outputs:
        other = options.setdefault(os.path.realpath(path), option)
        if other != option:
            raise ArgumentError(f"{option}: {path}: is the output of {other} too")
        found = _identity(path)
        if found and (os.path.isfile(path) or os.path.isdir(path)):  # nothing is lost in a device or a pipe
            taken[found] = option, path
    for name in inputs if taken else ():
        found = _identity(name)
        if found in taken:
            option, path = taken[found]
            raise ArgumentError(f"{option}: {path}: is the input {name}; a file of its own is needed")


def refuse_inputs_in(option: str, folder: str, inputs: Iterable[str]) -> None:
    """Raises ArgumentError when a folder of outputs is an input, or has one in it or in a folder below it."""
    own = _identity(folder)
    known: dict[str, bool] = {}

    def holds(path: str) -> bool:
        if path not in known:
            above = os.path.dirname(path)
            known[path] = _identity(path) == own or (above != path and holds(above))
        return known[path]

    for name in inputs if own else ():
        if os.path.exists(name) and holds(os.path.realpath(name)):
            where = "is the input" if _identity(name) == own else "in it is the input"
            raise ArgumentError(f"{option}: {folder}: {where} {name}; a folder of its own is needed")


def is_stream(path: str) -> bool:
    """Whether a path leads to a device or a pipe, or to what a process has open, as /dev/stdout does."""
    folder = os.path.dirname(os.path.abspath(path))
    return (os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)) or folder in ("/dev", "/dev/fd") or folder.startswith("/proc/")


class Beside:
    """A file that is written beside its place and moved there when it is complete; until then an older one stays.

    The new file has the permissions of the older one. A link stays, and what it leads to is replaced. A device or a pipe is written as it is.

    Attributes:
        direct: the path is a device or a pipe.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._place = os.path.realpath(path)
        folder, name = os.path.split(self._place)
        if os.path.isdir(path):
            raise error(f"{path}: is a folder; a file is needed")
        self.direct = is_stream(path)
        self._mode: Optional[int] = None
        if self.direct:
            self.temporary = path
            return
        try:
            if os.path.exists(path):
                self._mode = os.stat(path).st_mode & 0o777
                os.close(os.open(path, os.O_WRONLY))  # a new file would need the right to write into the folder only
            # The ending chooses the format: that of the name that was given, not that of what a link leads to.
            handle, self.temporary = tempfile.mkstemp(os.path.splitext(path)[1], f".{name}.", folder)
        except OSError as raised:
            raise error(f"{path}: cannot be written: {raised.strerror}") from None
        os.close(handle)

    def commit(self) -> None:
        """Puts the file into its place."""
        if self.direct:
            return
        mask = os.umask(0o022)
        os.umask(mask)
        try:
            os.chmod(self.temporary, 0o666 & ~mask if self._mode is None else self._mode)
            os.replace(self.temporary, self._place)
        except OSError as raised:
            raise error(f"{self.path}: cannot be written: {raised.strerror}") from None

    def drop(self) -> None:
        """Removes what was written."""
        if not self.direct and os.path.exists(self.temporary):
            os.unlink(self.temporary)


@contextlib.contextmanager
def whole_file(path: str) -> Iterator[str]:
    """Yields the name of a temporary file beside the path, which is moved there in the end, when its bytes are on the disk. Otherwise an older file
    stays."""
    beside = Beside(path)
    try:
        yield beside.temporary
        if not beside.direct:
            with open(beside.temporary, "rb+") as file:
                os.fsync(file.fileno())
        beside.commit()
    except BaseException:
        beside.drop()
        raise


def _plain(value: Any) -> Any:
    """Returns a number of numpy as Python's; one that is a float32, also in a wider type, with the digits of a float32."""
    if isinstance(value, (float, np.floating)) and abs(float(value)) < 1e38 and np.float32(value) == value:
        return float(str(np.float32(value)))
    return value.item() if isinstance(value, np.generic) else value


class Table:
    """Rows as CSV, or as JSON lines when the file's name ends with .jsonl; "-" is the standard output.

    The header is written with the first row or in the end, so that a command which is refused has printed nothing.
    """

    def __init__(self, path: str, columns: Sequence[str]) -> None:
        self._path = path
        self._columns = list(columns)
        self._beside = None if path == "-" else Beside(path)
        self._file = sys.stdout
        if self._beside:
            beside = self._beside
            self._guard(lambda: setattr(self, "_file", open(beside.temporary, "w", encoding="utf-8", errors="backslashreplace", newline="")))
        elif isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # names of files may have any bytes
        self._json = path.lower().endswith((".jsonl", ".ndjson"))
        self._writer: Any = None if self._json else csv.writer(self._file, lineterminator="\n")
        self._flushed = time.monotonic()
        self.rows = 0
        self._headed = False

    def _head(self) -> None:
        if self._writer and not self._headed:
            self._guard(lambda: self._writer.writerow(self._columns))
        self._headed = True

    def _guard(self, write: Callable[[], Any]) -> None:
        try:
            write()
        except BrokenPipeError:
            raise
        except OSError as raised:
            raise error(f"{self._path}: cannot be written: {raised.strerror}") from None

    def add(self, *values: Any) -> None:
        """Adds a row; None is an empty cell."""
        self._head()
        plain = [_plain(value) for value in values]
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
        self._head()
        self._guard(self._file.flush)
        if self._beside:
            def close() -> None:
                if os.path.isfile(self._file.name):
                    os.fsync(self._file.fileno())
                self._file.close()
            self._guard(close)
            self._beside.commit()

    def drop(self) -> None:
        """Removes the unfinished file."""
        if self._beside:
            with contextlib.suppress(OSError):  # what could not be written is not wanted any more
                self._file.close()
            self._beside.drop()


TICKS = 60000  # of a second, in time stamps of an .mp4; MPEG-4 has 16 bits for them


class Drawing:
    """Annotated frames: an image file of a single image, else a video: .avi (MJPEG), or .mp4 with PyAV.

    An .mp4 has the times of the frames and the shape of their pixels; an .avi has neither: its rate is constant. `source`: of the frames.
    """

    def __init__(self, path: str, source: Any) -> None:
        still, rate = source.still, source.rate
        suffix = os.path.splitext(path)[1].lower()
        possible = (".png", ".jpg", ".jpeg", ".bmp") if still else (".avi", ".mp4")
        if suffix not in possible:
            raise ArgumentError(f"draw: {path}: the name must end with {' or '.join(possible)} for this input", "draw", path)
        self._still, self._suffix, self._rate = still, suffix, rate if rate and 0 < rate < 1000 else 25.
        if not still and is_stream(path):
            raise ArgumentError(f"draw: {path}: is a device or a pipe; a video needs a file, as its head is written last", "draw", path)
        self._beside = Beside(path)
        self._path, self._source = path, source
        self._last, self._next = -1, 0  # time stamps: of the last frame; of one whose time is not known
        self._writer: Any = None
        self._av: Any = None
        self._container: Any = None
        self._stream: Any = None
        self._size: Optional[tuple[int, int]] = None
        if suffix == ".mp4":
            try:
                self._av = import_optional("av", f"{path}: .mp4 needs PyAV: pip install av; .avi can be written without")
            except BaseException:
                self._beside.drop()
                raise

    def add(self, pixels: npt.NDArray[np.uint8], time: Optional[float] = None) -> None:
        """Adds a frame. time: seconds after the first one, if known."""
        height, width = pixels.shape[:2]
        if self._size is None:
            self._size = (width, height)
            if not self._still:
                self._start(width, height)
        elif self._size != (width, height):
            raise error(f"{self._path}: a frame has {width} x {height} pixels, the first one had {self._size[0]} x {self._size[1]}")
        if self._still:
            with silent_library():
                written = call(cv2.imwrite, self._beside.temporary, pixels)
            if not written:
                raise error(f"{self._path}: cannot be written")
        elif self._writer is not None:
            call(self._writer.write, pixels)
        else:
            # Its colours have half the size: odd sides get their last row or column twice.
            self._guard(lambda: self._encode(np.pad(pixels, ((0, height % 2), (0, width % 2), (0, 0)), "edge"), time))

    def _guard(self, write: Callable[[], Any]) -> None:
        try:
            write()
        except error:
            raise
        except Exception as raised:  # PyAV's many kinds
            raise error(f"{self._path}: cannot be written: {raised}") from None

    def _encode(self, pixels: npt.NDArray[np.uint8], time: Optional[float]) -> None:
        frame = self._av.VideoFrame.from_ndarray(pixels, format="bgr24")
        stamp = self._next if time is None else round(time * TICKS)
        frame.pts, frame.time_base = max(stamp, self._last + 1), fractions.Fraction(1, TICKS)
        self._last = frame.pts
        self._next = frame.pts + round(TICKS / self._rate)
        self._container.mux(self._stream.encode(frame))

    def _start(self, width: int, height: int) -> None:
        if self._suffix == ".avi":
            self._writer = call(cv2.VideoWriter, self._beside.temporary, cv2.CAP_OPENCV_MJPEG, cv2.VideoWriter.fourcc(*"MJPG"), self._rate, (width, height))
            if not self._writer.isOpened():
                raise error(f"{self._path}: cannot be written")
        else:
            self._guard(lambda: self._start_mp4(width + width % 2, height + height % 2))

    def _start_mp4(self, width: int, height: int) -> None:
        self._container = self._av.open(self._beside.temporary, "w")
        for codec in ("libx264", "libopenh264", "mpeg4"):
            if codec in self._av.codecs_available:
                self._stream = self._container.add_stream(codec, rate=fractions.Fraction(self._rate).limit_denominator(1001))
                self._stream.width, self._stream.height, self._stream.pix_fmt = width, height, "yuv420p"
                self._stream.codec_context.time_base = fractions.Fraction(1, TICKS)
                if self._source.aspect:  # known with the first frame, which may be turned
                    self._stream.codec_context.sample_aspect_ratio = self._source.aspect
                return
        raise error(f"{self._path}: PyAV has no encoder for .mp4; .avi can be written")

    def finish(self) -> None:
        """All is written."""
        if self._size is None:
            self.drop()
            return
        if self._writer is not None:
            with silent_library():
                self._writer.release()
                # The extension does not say that the disk is full: a video that it cannot open again was not written.
                video = call(cv2.VideoCapture, self._beside.temporary, cv2.CAP_OPENCV_MJPEG)
                complete = video.isOpened()
                video.release()
            if not complete:
                raise error(f"{self._path}: cannot be written completely; is the disk full?")
        if self._container is not None:
            self._guard(lambda: self._container.mux(self._stream.encode(None)))
            self._guard(self._container.close)
        self._beside.commit()

    def drop(self) -> None:
        """Removes the unfinished file."""
        if self._writer is not None:
            with silent_library():
                self._writer.release()
        self._beside.drop()


class Progress:
    """A line on the standard error each second: frames, or what else is counted, rate, remaining time."""

    def __init__(self, quiet: bool, total: Optional[int], noun: str = "frame") -> None:
        self._quiet, self.total, self._noun = quiet, total, noun
        self._start = self._last = time.monotonic()
        self._terminal = sys.stderr.isatty()
        self.frames = 0

    def step(self) -> None:
        """One more frame is done."""
        self.frames += 1
        now = time.monotonic()
        if self._quiet or now - self._last < 1. or self.frames == self.total:  # the closing line follows
            return
        self._last = now
        rate = self.frames / (now - self._start)
        text = f"{self._noun} {self.frames}" + (f" of {self.total}" if self.total else "") + f", {rate:.1f} per second"
        if self.total and self.total > self.frames:
            text += f", {(self.total - self.frames) / rate:.0f} s left"
        say(f"\r{text}\033[K" if self._terminal else text + "\n")

    def finish(self, words: str) -> None:
        """The last line."""
        if self._quiet:
            return
        seconds = max(time.monotonic() - self._start, 1e-9)
        say(("\r\033[K" if self._terminal else "") + f"{counted(self.frames, self._noun)} in {seconds:.1f} s, {self.frames / seconds:.1f} per second{words}\n")
