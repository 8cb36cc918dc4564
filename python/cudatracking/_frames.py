# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""Where the command's frames come from: an image, a folder of images, a video, a camera or a URL."""
from __future__ import annotations

import collections
import fractions
import importlib
import os
import re
import struct
from typing import Any, Callable, Iterator, NamedTuple, Optional, Sequence

import numpy as np
import numpy.typing as npt

from ._errors import ArgumentError, call, error, import_optional, shown
from ._native import cv2
from ._outputs import silent_library

IMAGES = (".bmp", ".jpeg", ".jpg", ".pbm", ".pgm", ".png", ".ppm")
VIDEOS = (".3gp", ".avi", ".flv", ".m2ts", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".mts", ".ogv", ".ts", ".webm", ".wmv")
LISTS = (".txt", ".lst")
# Formats whose first plane is an 8-bit gray image as it is.
LUMA = {"gray", "nv12", "nv16", "nv21", "yuv410p", "yuv411p", "yuv420p", "yuv422p", "yuv440p", "yuv444p", "yuva420p", "yuvj411p", "yuvj420p",
        "yuvj422p", "yuvj440p", "yuvj444p"}
# Formats whose first plane is a gray image of 9 to 16 bits in two bytes: the bits are the lower ones, but the upper ones in p010le and its kin.
DEEP_LUMA = re.compile(r"(?:gray|yuva?4\d\dp)(?P<low>9|10|12|14|16)le|p[024]1[026]le")
PATIENCE = 20.  # seconds that a server may take to answer, and for each part of its video


class Frame(NamedTuple):
    """One frame: `number` from 0, seconds from the beginning if known, file name of a folder's, pixels (BGR)."""

    number: int
    time: Optional[float]
    name: str
    pixels: npt.NDArray[np.uint8]


def natural(name: str) -> list[tuple[int, int, str]]:
    """Key that sorts frame_2 before frame_10."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"([0-9]+)", name)]


def has_16_bits(data: bytes) -> bool:
    """Returns whether an image file, PNG or PNM, has values of 16 bits."""
    if data.startswith(b"\x89PNG"):
        return data[24:25] == b"\x10"
    found = re.match(rb"P[2356](?:\s+(?:#[^\n]*\n)?)+\d+\s+\d+\s+(\d+)\s", data[:4096])
    return found is not None and int(found[1]) > 255


def read_image(path: str, note: Optional[Callable[[str], Any]] = None) -> npt.NDArray[np.uint8]:
    """An image file as BGR; `note` is told if it has more than that. Raises error when it cannot be read."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as raised:
        raise error(f"{path}: {raised.strerror}") from None
    pixels = call(cv2.imdecode, np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR) if data else None
    if pixels is None:
        raise error(f"{path}: is no image that can be read")
    if note and has_16_bits(data):
        note(f"{path}: has values of 16 bits, of which the upper 8 are used\n")
    return np.asarray(pixels)


def images_of(folder: str) -> list[str]:
    """Returns the paths of the images in a folder, in natural order; hidden ones are left out."""
    return [os.path.join(folder, entry) for entry in sorted(os.listdir(folder), key=natural)
            if entry.lower().endswith(IMAGES) and not entry.startswith(".")]


def _raise_unreadable(raised: OSError) -> None:
    raise error(f"{raised.filename}: cannot be read: {raised.strerror}")


def videos_of(sources: Sequence[str]) -> list[str]:
    """Returns the videos of files, folders (in natural order, with the folders in them, but not those behind links) and lists (.txt: a path on
    each line)."""
    if isinstance(sources, (str, bytes)) or not sources or not all(isinstance(source, str) and source for source in sources):
        raise ArgumentError(f"sources: {shown(sources)}: a list of names of videos, folders and lists is needed", "sources", sources)
    found: list[str] = []
    for source in sources:
        if os.path.isdir(source):
            names = [os.path.join(folder, name) for folder, _, files in os.walk(source, onerror=_raise_unreadable) for name in files
                     if name.lower().endswith(VIDEOS) and not name.startswith(".")]
            if not names:
                raise error(f"{source}: the folder has no video ({' '.join(VIDEOS)})")
            found += sorted(names, key=natural)
        elif not os.path.exists(source):
            raise error(f"{source}: there is no such file or folder")
        elif source.lower().endswith(LISTS):
            try:
                with open(source, encoding="utf-8-sig") as file:
                    listed = [line.strip() for line in file if line.strip() and not line.startswith("#")]
            except OSError as raised:
                raise error(f"{source}: cannot be read: {raised.strerror}") from None
            except UnicodeDecodeError:
                raise error(f"{source}: is no list of paths: it is not UTF-8") from None
            if any("\0" in line for line in listed):
                raise error(f"{source}: is no list of paths: it has a null byte")
            if not listed:
                raise error(f"{source}: the list names no video")
            found += listed
        else:
            found.append(source)
    for name in found:
        if name.lower().endswith(IMAGES):
            raise error(f"{name}: is an image; videos are scanned")
    for name, count in collections.Counter(map(os.path.normpath, found)).items():
        if count > 1:
            raise error(f"{name}: is given {count} times")
    return found


class NoDecoder(error):
    """PyAV cannot be used."""


class SourceError(error):
    """A source cannot be read any further."""


class LeftOut:
    """Counts the frames that the head of a container counts and its index leaves out: an edit list hides them, or an AVI has dropped them.

    Attributes:
        at_end: whether the frames that are missing at the end may have been dropped: an AVI file that is not cut off.
    """

    def __init__(self, container: Any) -> None:
        self._dropped = container.format.name == "avi"  # its packets are numbered; those of dropped frames do not come
        self._number = -1
        self.at_end = self._dropped and _has_all_chunks(container.name)

    def before(self, packet: Any) -> int:
        """Returns the number of them from the packet before up to this one."""
        count = int(packet.is_discard or (not packet.size and packet.dts is not None))
        if self._dropped and packet.dts is not None:
            count += max(packet.dts - self._number - 1, 0)
            self._number = packet.dts
        return count


def _has_all_chunks(path: str) -> bool:
    """Returns whether a RIFF file has as many bytes as its heads say."""
    try:
        with open(path, "rb") as file:
            end = 0
            while (head := file.read(8))[:4] == b"RIFF" and len(head) == 8:
                end = file.seek(int.from_bytes(head[4:], "little"), os.SEEK_CUR)
            return 0 < end <= os.fstat(file.fileno()).st_size
    except OSError:
        return False


def upright(pixels: npt.NDArray[np.uint8], frame: Any) -> tuple[npt.NDArray[np.uint8], bool]:
    """Turns and mirrors pixels as the display matrix of a frame says: phones write frames as the sensor has them. Returns whether rows became
    columns, too."""
    found = [entry for entry in frame.side_data.keys() if getattr(entry.type, "name", "") == "DISPLAYMATRIX"]
    if not found:
        return pixels, False
    a, b, _, c, d = struct.unpack("=5i", bytes(found[0])[:20])
    swapped = abs(b) + abs(c) > abs(a) + abs(d)
    if swapped:
        pixels, a, d = pixels.swapaxes(0, 1), c, b
    return np.ascontiguousarray(pixels[::-1 if d < 0 else 1, ::-1 if a < 0 else 1]), swapped


def luma(frame: Any) -> npt.NDArray[np.uint8]:
    """Returns a frame of PyAV as 8-bit gray: its luma plane as the decoder made it, without a copy, or the upper 8 bits of a deeper one. Formats without
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
    """Returns a frame of PyAV as BGR."""
    return _converted(frame, "bgr24")


def _converted(frame: Any, name: str) -> npt.NDArray[np.uint8]:
    """Converts by the arithmetic that FFmpeg has on every processor; its default differs between them."""
    kinds = importlib.import_module("av.video.reformatter").Interpolation
    try:
        exact = kinds.BILINEAR | kinds.ACCURATE_RND | kinds.BITEXACT | kinds.FULL_CHR_H_INT
    except AttributeError:
        raise error("this PyAV cannot convert colors in the same way on every processor; a newer one is needed: pip install --upgrade av") from None
    return np.asarray(frame.to_ndarray(format=name, interpolation=exact, threads=1))


class Source:
    """Frames of one source, one after the other.

    Attributes:
        count: number of frames, or None when nobody knows.
        rate: frames per second, or None.
        aspect: width of a pixel by its height, or None; of a frame as it is yielded, once there is one.
        still: whether it is a single image.
        unread: what is wrong with images of a folder or frames of a video that cannot be read. They are left out; frames keep their numbers.
        gaps: (first frame, frame after the last, reason) of frames of a video that cannot be read.
        cut_off: what is wrong with the end of a video, or "".
    """

    def __init__(self, name: str, note: Optional[Callable[[str], Any]] = None, pixels: Optional[Callable[[Any], Any]] = None, threads: int = 0) -> None:
        """pixels: makes the pixels of a frame of PyAV (default: BGR, upright). threads: that decode (default: as many as FFmpeg finds right)."""
        self.name, self._note, self._pixels, self._threads = name, note, pixels, threads
        self.gaps: list[tuple[int, int, str]] = []
        self.cut_off = ""
        self.count: Optional[int] = None
        self.rate: Optional[float] = None
        self.aspect: Optional[fractions.Fraction] = None
        self.still = False
        self.unread: list[str] = []
        self._reason = "is damaged"
        self._gap = 0  # frames left out since the last one
        self._open()

    def _open(self) -> None:
        name = self.name
        self._files: list[str] = []
        self._video: Any = None
        self._container: Any = None
        if re.fullmatch(r"\d{1,2}", name):
            with silent_library():
                self._video = call(cv2.VideoCapture, int(name))
            if not self._video.isOpened():
                raise error(f"camera {name}: cannot be opened")
        elif "://" in name:
            try:
                self._container = self._by_av()
            except NoDecoder as raised:
                raise error(f"{name}: is a URL, and {raised}") from None
        elif os.path.isdir(name):
            self._files = images_of(name)
            if not self._files:
                raise error(f"{name}: the folder has no image ({' '.join(IMAGES)})")
            self.count = len(self._files)
        elif not os.path.exists(name):
            raise error(f"{name}: there is no such file or folder")
        elif name.lower().endswith(IMAGES):
            self._files, self.count, self.still = [name], 1, True
        else:
            self._open_video()

    def _open_video(self) -> None:
        try:
            self._container = self._by_av()
            return
        except NoDecoder as raised:
            without = raised
        with silent_library():
            video = call(cv2.VideoCapture, self.name, cv2.CAP_OPENCV_MJPEG)
        if not video.isOpened():
            self._refuse(f"it is no MJPEG video in .avi or has no frame, and {without}")
        self._video = video
        self.count = int(video.get(cv2.CAP_PROP_FRAME_COUNT)) or None
        self.rate = float(video.get(cv2.CAP_PROP_FPS)) or None

    def _refuse(self, reason: str) -> None:
        """Says why a file cannot be read; also of one whose name is not that of a video."""
        usual = self.name.lower().endswith(VIDEOS) or "://" in self.name
        raise error(f"{self.name}: {'' if usual else 'is neither an image (' + ' '.join(IMAGES) + ') nor a video that can be read: '}{reason}")

    def _by_av(self) -> Any:
        try:
            av = import_optional("av", "other videos need PyAV, which is not installed: pip install av")
        except error as raised:
            raise NoDecoder(str(raised)) from None
        try:
            # Signals are handled between calls: one that waits for a server must end by itself.
            container = av.open(self.name, timeout=PATIENCE) if "://" in self.name else av.open(self.name)
            stream = container.streams.best("video")  # the picture of a cover is the last to be taken
            if stream is None:
                self._refuse("it has no video stream")
            stream.thread_type = "AUTO" if self._threads != 1 else "NONE"
            stream.codec_context.thread_count = self._threads
            stream.codec_context.flags |= av.codec.context.Flags.bitexact.value
            if stream.codec_context.codec.intra_only:  # as in scan: others mark a damaged frame
                stream.codec_context.options = {"err_detect": "explode"}
        except error:
            raise
        except Exception as raised:  # PyAV's many kinds
            self._refuse(f"PyAV cannot open it: {getattr(raised, 'strerror', None) or raised}")
        self.count = int(stream.frames) or None
        self.rate = float(stream.average_rate) if stream.average_rate else None
        self.aspect = stream.sample_aspect_ratio or None
        self._stream = stream
        return container

    def __iter__(self) -> Iterator[Frame]:
        if self._container is not None:
            yield from self._decoded()
        elif self._video is not None:
            index = 0
            while call(self._video.grab):
                _, pixels = call(self._video.retrieve)
                if pixels is None:
                    self.unread.append(f"{self.name}: frame {index}: is damaged")
                else:
                    yield Frame(index, index / self.rate if self.rate else None, "", np.asarray(pixels))
                index += 1
            if self.count is None:
                raise SourceError(f"camera {self.name}: has no further frame")
        else:
            def once(text: str) -> None:
                if self._note:
                    self._note(text)
                self._note = None

            for index, path in enumerate(self._files):
                try:
                    if not self.still and os.path.exists(path) and not os.path.isfile(path):  # a pipe would wait for its writer
                        raise error(f"{path}: is no regular file")
                    pixels = read_image(path, once)
                except error as raised:
                    if self.still:
                        raise
                    self.unread.append(str(raised))
                else:
                    yield Frame(index, None, os.path.basename(path), pixels)

    def _frames_of(self, decode: Callable[[], Any]) -> list[Any]:
        """Returns frames that a decoder makes; None stands for one that it cannot, and `_reason` says why."""
        try:
            return [None if frame.is_corrupt else frame for frame in decode()]
        except MemoryError:
            raise
        except Exception as raised:  # PyAV's many kinds
            self._reason = f"cannot be decoded: {getattr(raised, 'strerror', None) or raised}"
            return [None]

    def _delivered(self) -> Iterator[tuple[int, Any]]:
        """Yields frames, and None where one is damaged, each with the number of frames before it that are known to be missing."""
        ahead: list[int] = []  # time stamps of packets whose frames have not come
        left_out = self._left_out = LeftOut(self._container)
        failure: Optional[SourceError] = None
        packets = self._container.demux(self._stream)
        while failure is None:
            decode: Any
            try:
                packet = next(packets, None)
                if packet is None:
                    return
                decode = packet.decode
                self.count = self.count - left_out.before(packet) if self.count else None
                if not packet.size and packet.dts is not None:
                    continue
                if packet.size and not packet.is_discard and packet.pts is not None:
                    ahead.append(packet.pts)
            except Exception as raised:
                failure = SourceError(f"{self.name}: cannot be read to its end: {getattr(raised, 'strerror', None) or raised}")
                decode = lambda: self._stream.codec_context.decode(None)  # frames that wait in the decoder
            for frame in self._frames_of(decode):
                stamp = frame.pts if frame is not None else None
                before = sum(other < stamp for other in ahead) if stamp is not None else 0
                yield before, frame
                if frame is not None and not self._gap:
                    ahead = [other for other in ahead if stamp is not None and other > stamp]
        raise failure

    def _decoded(self) -> Iterator[Frame]:
        """Yields frames. What is damaged is left out up to the next key frame, as scan does: frames behind it are built on it."""
        index, begin = 0, None

        def end_gap() -> None:
            numbers = f"frame {index}" if self._gap == 1 else f"frames {index} to {index + self._gap - 1}"
            self.unread.append(f"{self.name}: {numbers}: {self._reason}")
            self.gaps.append((index, index + self._gap, self._reason))

        try:
            for before, frame in self._delivered():
                if frame is None and not index and "://" in self.name:
                    continue  # a stream is joined anywhere, and its first frames need others
                if frame is None or (self._gap and not frame.key_frame):
                    self._gap += 1
                    continue
                if self._gap:
                    self._gap = max(before, 1) if frame.pts is not None else self._gap
                    end_gap()
                    index, self._gap = index + self._gap, 0
                pixels, swapped = (self._pixels(frame), False) if self._pixels else upright(frame.to_ndarray(format="bgr24"), frame)
                if begin is None:
                    begin = frame.pts
                    self.aspect = 1 / self.aspect if self.aspect and swapped else self.aspect
                known = frame.pts is not None and begin is not None and frame.time_base is not None
                yield Frame(index, float((frame.pts - begin) * frame.time_base) if known else None, "", pixels)
                index += 1
        finally:
            if self._gap:
                end_gap()
        if self._left_out.at_end:
            self.count = index + self._gap
        elif self.count is not None and index + self._gap < self.count:
            self.cut_off = f"has {index + self._gap} frames, {self.count} by its head: it may be cut off"
            if self._note:
                self._note(f"note: {self.name}: {self.cut_off}\n")

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
