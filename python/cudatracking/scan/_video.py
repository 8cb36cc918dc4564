# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""Videos by frame numbers: an index of time stamps and key frames, and exact decoding from any key frame.

Frame numbers count the time stamps of a video in ascending order from 0. A frame that cannot be decoded is missing, and with it all
frames up to the next key frame: the same frames wherever decoding begins, so that results do not depend on how a video is cut.
"""
from __future__ import annotations

import fractions
import os
import re
import stat
from typing import Any, Iterator, NamedTuple, Optional

import numpy as np
import numpy.typing as npt

from .._errors import error, import_optional
from .._frames import LeftOut
from ._files import sha256_of_file, write_whole

# Formats whose first plane is an 8-bit gray image as it is.
LUMA = {"gray", "nv12", "nv16", "nv21", "yuv410p", "yuv411p", "yuv420p", "yuv422p", "yuv440p", "yuv444p", "yuva420p", "yuvj411p", "yuvj420p",
        "yuvj422p", "yuvj440p", "yuvj444p"}
# Formats whose first plane is a gray image of 9 to 16 bits in two bytes: the bits are the lower ones, but the upper ones in p010le and its kin.
DEEP_LUMA = re.compile(r"(?:gray|yuva?4\d\dp)(?P<low>9|10|12|14|16)le|p[024]1[026]le")
INDEX_FORMAT = 1
TRIES_BEFORE = 4  # key frames before the wanted one that are tried when a seek comes out behind it


class VideoError(error):
    """A video cannot be used: the scan reports it and goes on with the others."""


def _av() -> Any:
    return import_optional("av", "scan needs PyAV: pip install 'cudatracking[scan]'")


def decoder_versions() -> dict[str, str]:
    """Returns the versions of PyAV and of the FFmpeg libraries in it that decide which pixels a frame has."""
    av = _av()
    libraries = {name: ".".join(map(str, av.library_versions[name])) for name in ("libavcodec", "libavformat", "libswscale")}
    return {"av": str(av.__version__), **libraries}


class Index(NamedTuple):
    """What is known of a video without decoding it.

    Attributes:
        size, modified: bytes, and nanoseconds since 1970, of the file when the index was made.
        sha256: of the file.
        frames: number of frames.
        pts: time stamp of each frame in units of time_base, ascending; empty when the file has no usable ones: decoding then begins at
            the first frame only.
        keys: numbers of the frames at which decoding can begin, ascending; the first is 0.
        time_base: seconds.
        note: what is wrong with the file, or "".
    """

    size: int
    modified: int
    sha256: str
    frames: int
    pts: npt.NDArray[np.int64]
    keys: npt.NDArray[np.int64]
    time_base: fractions.Fraction
    note: str

    def time(self, number: int) -> float:
        """Returns the seconds from the first frame to a frame; NaN when they are not known."""
        return float(int(self.pts[number] - self.pts[0]) * self.time_base) if len(self.pts) else float("nan")

    def segments(self, seconds: float) -> list[tuple[int, int]]:
        """Returns (first frame, frame after the last) of each segment: each begins at the first key frame that is so many seconds after
        the begin of the segment before."""
        if not self.frames:
            return []
        starts = [0]
        for key in self.keys[1:].tolist():
            if self.time(key) - self.time(starts[-1]) >= seconds:
                starts.append(key)
        return list(zip(starts, starts[1:] + [self.frames]))


def open_video(path: str) -> tuple[Any, Any]:
    """Opens a video for one thread: (container, its video stream)."""
    av = _av()
    try:
        container = av.open(path)
    except Exception as raised:  # PyAV's many kinds
        raise VideoError(f"cannot be opened: {_plain(raised)}") from None
    try:
        stream = container.streams.best("video")
        if stream is None:
            raise VideoError("has no video stream")
        # One thread: errors show at their frame, and segments are decoded beside each other anyway.
        stream.thread_type = "NONE"
        stream.codec_context.thread_count = 1
        stream.codec_context.flags |= av.codec.context.Flags.bitexact.value
        if stream.codec_context.codec.intra_only:
            # Others mark a damaged frame; these leave in it what was in the memory before, unless told to refuse it.
            stream.codec_context.options = {"err_detect": "explode"}
        return container, stream
    except VideoError:
        container.close()
        raise
    except Exception as raised:  # a codec that is not known
        container.close()
        raise VideoError(f"cannot be opened: {_plain(raised)}") from None


def _plain(raised: BaseException) -> str:
    return str(getattr(raised, "strerror", None) or raised or type(raised).__name__)


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


def make_index(path: str) -> Index:
    """Reads a video once, without decoding it. Raises VideoError."""
    size, modified = stat_of(path)
    try:
        sha256 = sha256_of_file(path)
    except OSError as raised:
        raise VideoError(f"cannot be read: {raised.strerror}") from None
    container, stream = open_video(path)
    stamps: list[Optional[int]] = []
    keys: list[int] = []
    left_out, hidden = 0, LeftOut(container)
    note = ""
    with container:
        try:
            for packet in container.demux(stream):
                left_out += hidden.before(packet)
                if packet.size and not packet.is_discard:
                    if packet.is_keyframe and packet.pts is not None:
                        keys.append(packet.pts)
                    stamps.append(packet.pts)
        except Exception as raised:
            note = f"the file cannot be read to its end: {_plain(raised)}"
        declared, base = int(stream.frames) - left_out, fractions.Fraction(stream.time_base or 1)
        # AVI has no time stamps: the demuxer counts packets, which are not in the order of frames where frames are reordered.
        counted = container.format.name == "avi" and getattr(stream.codec_context, "has_b_frames", False)
    if not stamps:
        raise VideoError(note or "has no frames")
    if declared > len(stamps) and not note and not hidden.at_end:
        note = f"truncated: {len(stamps)} of {declared} frames are in the file"
    known = [stamp for stamp in stamps if stamp is not None]
    if counted and known == sorted(known):
        known = []
    pts = np.unique(np.array(known, np.int64))
    if len(pts) < len(stamps):  # none, or two frames of one time
        return Index(size, modified, sha256, len(stamps), np.zeros(0, np.int64), np.zeros(1, np.int64), base, note)
    numbers = np.union1d(np.zeros(1, np.int64), np.searchsorted(pts, np.array(keys, np.int64)))
    return Index(size, modified, sha256, len(pts), pts, numbers, base, note)


def save_index(index: Index, path: str) -> None:
    """Writes an index. Raises StorageError."""
    def write(temporary: str) -> None:
        with open(temporary, "wb") as file:
            np.savez_compressed(file, format=INDEX_FORMAT, size=index.size, modified=index.modified, sha256=index.sha256, frames=index.frames,
                                steps=np.diff(index.pts, prepend=0), keys=index.keys, note=index.note,
                                time_base=[index.time_base.numerator, index.time_base.denominator])
    write_whole(path, write)


def same_index(one: Index, other: Index) -> bool:
    """Returns whether two indexes say the same of a video."""
    pairs: Any = zip(one, other)
    return all(np.array_equal(a, b) for a, b in pairs)


def load_index(path: str) -> Optional[Index]:
    """Reads an index; None when there is none that can be read."""
    try:
        with np.load(path, allow_pickle=False) as file:
            if int(file["format"]) != INDEX_FORMAT:
                return None
            base = fractions.Fraction(int(file["time_base"][0]), int(file["time_base"][1]))
            return Index(int(file["size"]), int(file["modified"]), str(file["sha256"]), int(file["frames"]), np.cumsum(file["steps"], dtype=np.int64),
                         file["keys"].astype(np.int64), base, str(file["note"]))
    except Exception:  # numpy and zipfile raise many kinds for a damaged file, and it can be made again
        return None


class Gap(NamedTuple):
    """Frames that could not be decoded: from `first` up to the one before `last`."""

    first: int
    last: int
    reason: str


class _Undecodable(Exception):
    """A frame that cannot be decoded."""


def _decoded(path: str, index: Index, start: int) -> Iterator[tuple[int, Any]]:
    """Yields (number, frame) in order from a key frame on, or from a frame before it. Raises _Undecodable."""
    container, stream = open_video(path)
    count = 0

    def numbered(frames: Any) -> Iterator[tuple[int, Any]]:
        nonlocal count
        for frame in frames:
            if not len(index.pts):
                number = count
            else:
                number = int(np.searchsorted(index.pts, frame.pts)) if frame.pts is not None else index.frames
                if number >= index.frames or index.pts[number] != frame.pts:
                    continue
            if frame.is_corrupt:
                raise _Undecodable("is damaged")
            count += 1
            yield number, frame

    with container:
        failure = None
        try:
            if start:
                container.seek(int(index.pts[start]), stream=stream)
            for packet in container.demux(stream):
                decoded = packet.decode()
                yield from numbered(decoded)
        except _Undecodable:
            raise
        except (GeneratorExit, MemoryError):
            raise
        except Exception as raised:
            failure = f"cannot be decoded: {_plain(raised)}"
        if failure is not None:
            # Frames before the damaged one may still wait in the decoder for their turn.
            rest: list[Any] = []
            try:
                rest = stream.codec_context.decode(None)
            except Exception:
                pass
            yield from numbered(rest)
            raise _Undecodable(failure)


def starts(index: Index, position: int) -> Iterator[int]:
    """Yields key frames to begin at in order to reach a frame: the nearest one, then earlier ones, then the first frame."""
    at = int(np.searchsorted(index.keys, position, side="right")) - 1
    tried = [max(at - (2**step - 1), 0) for step in range(TRIES_BEFORE)] + [0]
    yield from (int(index.keys[number]) for number in dict.fromkeys(tried))


def decode(path: str, index: Index, first: int, last: int, gaps: list[Gap]) -> Iterator[tuple[int, Any]]:
    """Yields (number, PyAV frame) from `first`, a key frame, up to the frame before `last`, and adds to `gaps` what is missing.

    Raises VideoError when the file cannot be opened.
    """
    position = first
    while position < last:
        delivered, reason = False, ""
        for start in starts(index, position):
            try:
                for number, frame in _decoded(path, index, start):
                    if number < position:
                        continue
                    if number > position and not delivered and start > 0:
                        reason = "is not delivered by the decoder"
                        break  # the seek came out behind it, or the decoder needs more frames before
                    if number > position:
                        gaps.append(Gap(position, min(number, last), "is not delivered by the decoder"))
                    position = number
                    if position >= last:
                        return
                    delivered = True
                    yield number, frame
                    position += 1
                    if position >= last:
                        return
                else:
                    if not len(index.pts):
                        return  # packets without time stamps are not always frames
                    reason = "is missing at the end of the file"
            except _Undecodable as raised:
                reason = str(raised)
            if delivered:
                break
        if delivered and position in index.keys:
            continue
        after = index.keys[index.keys > position]
        end = min(int(after[0]) if len(after) else index.frames, last)
        gaps.append(Gap(position, end, reason))
        position = end


def luma(frame: Any) -> npt.NDArray[np.uint8]:
    """Returns a frame as 8-bit gray: its luma plane as the decoder made it, without a copy, or the upper 8 bits of a deeper one. Formats without
    a luma plane are converted."""
    if frame.format.name in LUMA:
        plane = frame.planes[0]
        rows = np.frombuffer(plane, np.uint8, plane.height * plane.line_size).reshape(plane.height, plane.line_size)
        return rows[:, :plane.width]
    deep = DEEP_LUMA.fullmatch(frame.format.name)
    if deep:
        # FFmpeg's conversion to gray would also stretch the range, which it does not for 8 bits.
        plane = frame.planes[0]
        words = np.frombuffer(plane, "<u2", plane.height * plane.line_size // 2).reshape(plane.height, plane.line_size // 2)
        return (words[:, :plane.width] >> (int(deep["low"] or 16) - 8)).astype(np.uint8)
    return _converted(frame, "gray")


def bgr(frame: Any) -> npt.NDArray[np.uint8]:
    """Returns a frame as BGR."""
    return _converted(frame, "bgr24")


def _converted(frame: Any, name: str) -> npt.NDArray[np.uint8]:
    """Converts by the arithmetic that FFmpeg has on every processor; its default differs between them."""
    kinds = _av().video.reformatter.Interpolation
    try:
        exact = kinds.BILINEAR | kinds.ACCURATE_RND | kinds.BITEXACT | kinds.FULL_CHR_H_INT
    except AttributeError:
        raise error("this PyAV cannot convert colors in the same way on every processor; a newer one is needed: pip install --upgrade av") from None
    return np.asarray(frame.to_ndarray(format=name, interpolation=exact, threads=1))
