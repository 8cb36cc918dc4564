# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""Frames of a segment, decoded by the GPU's own decoder beside the work: PyAV reads packets, PyNvVideoCodec decodes them, and the luma planes
stay in device memory. Numbers of frames come from the index, as for frames that are decoded on the host. A worker sees one GPU, number 0."""
from __future__ import annotations

import concurrent.futures
import contextlib
import ctypes
import importlib
import itertools
import queue
import threading
import time
import zlib
from typing import Any, Generator, Iterator, Optional

import numpy as np

from .. import _arrays, _memory
from .._errors import call, error, import_optional
from .._native import cv2
from ._video import Gap, Index, decode, luma, open_video, starts

# Standards with exact arithmetic: each decoder gives the same pixels for a stream without damage. With the filters that make packets of files
# such as MP4 into a stream that such decoders read, and that put the parameters of the stream before each key frame.
CODECS = {"h264": ("H264", "h264_mp4toannexb,dump_extra"), "hevc": ("HEVC", "hevc_mp4toannexb,dump_extra")}
LUMA_OF_NV12 = ("yuv420p", "yuvj420p")
CHECKED = 3  # frames at the begin of a segment that the host decodes too
AHEAD = 2  # batches that are decoded while the job has another one
_NON_BLOCKING = 1  # cudaStreamNonBlocking: neither waits for the null stream, on which the job works, nor makes it wait


class NotOnDevice(Exception):
    """A segment that has to be decoded on the host."""


def codec_module() -> Any:
    """Returns the module PyNvVideoCodec. Raises error when it cannot be used."""
    return import_optional("PyNvVideoCodec", "decoding on the device needs PyNvVideoCodec: pip install PyNvVideoCodec")


def new_stream() -> tuple[Any, int]:
    """Returns a stream, and the address of the context that it belongs to."""
    stream = call(cv2.cuda.Stream, _NON_BLOCKING)
    context = ctypes.c_void_p()
    if _memory._function("cuCtxGetCurrent", ctypes.POINTER(ctypes.c_void_p))(ctypes.byref(context)) or not context.value:
        raise error("the CUDA driver does not tell the context of this thread")
    return stream, context.value


def copied(view: Any, into: Any, stream: Any) -> tuple[Any, tuple[int, ...]]:
    """Copies a plane of a decoder, whose memory is used again, on the decoder's stream. Returns the copy, which is in `into` if that has its size,
    and the shape."""
    plane = _arrays.image(view, "frame", ("u1",))
    plane.producer = None  # this stream
    mat, _ = plane.mat(None, True)
    return call(mat.copyTo, stream) if into is None else call(mat.copyTo, stream, into), plane.shape


def downloaded(pixels: Any, stream: Any) -> Any:
    """Returns a copy of a frame on the host. Waits for the stream."""
    host = call(pixels.download, stream)
    call(stream.waitForCompletion)
    return host


class Decoder:
    """A decoder of the GPU for streams with the same parameters, with a stream of CUDA and memory for copies of frames.

    Attributes:
        parameters: of the streams: codec, format of pixels, width, height, extradata. With others it may have too few surfaces.
        stream: on which the decoder works and frames are copied.
        memory: lists of places for frames, one for each batch; those of places that nothing was copied to are None.
    """

    def __init__(self, parameters: Any, most: int) -> None:
        try:
            self._module = codec_module()
        except error as raised:
            raise NotOnDevice(str(raised)) from None
        stream, context = new_stream()
        codec = getattr(self._module.cudaVideoCodec, CODECS[parameters[0]][0])
        # Attributes end in this order: the decoder before the stream that it uses.
        self._decoder = self._module.CreateDecoder(gpuid=0, codec=codec, cudacontext=context, cudastream=stream.cudaPtr(), usedevicememory=True)
        self.stream, self.parameters = stream, parameters
        self.memory: list[list[Any]] = [[None] * most for _ in range(AHEAD + 1)]

    def decode(self, packet: Any) -> Iterator[tuple[int, Any]]:
        """Yields (time stamp, frame) of frames that are complete with this packet, or without one of all that are left; after that another stream
        with the same parameters may follow. A frame is valid until the next call."""
        given = self._module.PacketData()
        if packet is not None:
            data = np.frombuffer(packet, np.uint8)
            given.bsl_data, given.bsl, given.pts, given.key = data.ctypes.data, data.size, packet.pts, packet.is_keyframe
        for frame in self._decoder.Decode(given):
            yield int(frame.getPTS()), frame


class KeptDecoder:
    """The decoder of a worker between two segments. To make one takes as long as to decode hundreds of frames, and while one process makes or
    removes one all others of the host that do so wait, also those of other GPUs."""

    def __init__(self) -> None:
        self._decoder: Optional[Decoder] = None

    def take(self, parameters: Any, most: int) -> Decoder:
        """Returns a decoder for streams with these parameters, which is not kept any more."""
        decoder, self._decoder = self._decoder, None
        return decoder if decoder is not None and decoder.parameters == parameters else Decoder(parameters, most)

    def keep(self, decoder: Decoder) -> None:
        """Keeps a decoder that has done a segment rightly. Takes the frames out of it that come behind the segment."""
        with contextlib.suppress(Exception):  # PyNvVideoCodec's many kinds: the next segment gets a new one
            for _ in decoder.decode(None):
                pass
            self._decoder = decoder


class DeviceFrames:
    """Frames of a segment in device memory, decoded by a thread beside the work. Attributes as those of Frames."""

    def __init__(self, path: str, index: Index, first: int, last: int, probe: int, kept: KeptDecoder) -> None:
        self.gaps: list[Gap] = []
        self.heads: dict[int, int] = {}
        self.tails: dict[int, int] = {}
        self.seconds = 0.
        self._path, self._index, self._first, self._last = path, index, first, last
        self._end = min(last + probe, index.frames)
        self._probe = probe
        self._kept = kept
        self._decoder: Optional[Decoder] = None
        self._shape: Optional[tuple[int, ...]] = None  # of all frames
        self._to_compare: dict[int, Any] = {}  # frames on the host that its decoder makes too
        self._free: queue.Queue[list[Any]] = queue.Queue()  # memory for a batch
        self._ready: queue.Queue[Any] = queue.Queue()  # batches with their memory; an exception; None at the end
        self._stop = threading.Event()

    def batches(self, most: int) -> Iterator[list[tuple[int, Any]]]:
        """Yields lists of up to `most` frames in order, which are valid until the next list. Raises NotOnDevice when the decoder does not give
        what the host's does."""
        if not len(self._index.pts):
            raise NotOnDevice("there are no time stamps")
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            pool.submit(self._run, most, pool.submit(self._on_host))
            try:
                for entry in iter(self._ready.get, None):
                    if isinstance(entry, BaseException):
                        raise entry
                    batch, memory = entry
                    yield batch
                    self._free.put(memory)
            finally:
                self._stop.set()
                self._free.put([])  # the thread may wait for it
        assert self._decoder is not None
        self._kept.keep(self._decoder)

    def _run(self, most: int, host: Any) -> None:
        try:
            self._fill(most, host)
            self._ready.put(None)
        except BaseException as raised:
            self._ready.put(raised)

    def _fill(self, most: int, host: Any) -> None:
        """Decodes all frames into batches. `host` will have the result of _on_host()."""
        batch: list[tuple[int, Any]] = []
        memory: list[Any] = []
        begin = time.perf_counter()
        with contextlib.closing(self._numbered(most)) as numbered:
            for number, view in numbered:
                assert self._decoder is not None
                if not memory:
                    waiting = time.perf_counter()
                    memory = self._free.get()
                    begin += time.perf_counter() - waiting
                if self._stop.is_set():
                    return
                place = len(batch)
                pixels, shape = copied(view, memory[place], self._decoder.stream)
                memory[place] = pixels
                if self._shape not in (None, shape):  # the host compares the first frames only
                    raise NotOnDevice(f"frame {number} has another size than those before: {shape[1]} x {shape[0]} pixels")
                self._shape = shape
                self._note(number, pixels, self._decoder.stream)
                if number < self._last:
                    batch.append((number, pixels))
                if len(batch) == most or (batch and number == self._last - 1):
                    call(self._decoder.stream.waitForCompletion)
                    if host.done():
                        self._compare(host.result())
                    self._ready.put((batch, memory))
                    batch, memory = [], []
        self._compare(host.result())
        self.seconds += time.perf_counter() - begin

    def _on_host(self) -> dict[int, Any]:
        """Returns the first frames as the host decodes them."""
        gaps: list[Gap] = []
        frames = decode(self._path, self._index, self._first, min(self._first + CHECKED, self._end), gaps)
        host = {number: luma(frame).copy() for number, frame in frames}
        if gaps:
            raise NotOnDevice(f"frame {gaps[0].first} is missing on the host")
        return host

    def _compare(self, host: dict[int, Any]) -> None:
        while self._to_compare:
            number, pixels = self._to_compare.popitem()
            if not np.array_equal(host[number], pixels):
                raise NotOnDevice(f"frame {number} has other pixels than on the host")

    def _note(self, number: int, pixels: Any, stream: Any) -> None:
        """Keeps what is compared of a frame: its pixels with the host's, its check sum with that of the segment before or after."""
        begins, probed = number < self._first + CHECKED, number < self._first + self._probe or number >= self._last
        if begins or probed:
            on_host = np.ascontiguousarray(downloaded(pixels, stream))
            if begins:
                self._to_compare[number] = on_host
            if probed:
                (self.heads if number < self._last else self.tails)[number] = zlib.crc32(on_host.data)

    def _numbered(self, most: int) -> Generator[tuple[int, Any], None, None]:
        """Yields (number, luma plane of the decoder) of each frame in order; a plane is valid until the next one is asked for."""
        index, expected = self._index, self._first
        with contextlib.closing(self._decoded(most)) as decoded:
            for pts, frame in decoded:
                number = int(np.searchsorted(index.pts, pts))
                if number < expected and number < self._first:
                    continue  # the seek came out before the segment
                if number != expected or number >= index.frames or index.pts[number] != pts:
                    break
                yield number, frame.cuda()[0]
                expected += 1
                if expected >= self._end:
                    return
        raise NotOnDevice(f"frame {expected} is not delivered")

    def _decoded(self, most: int) -> Generator[tuple[int, Any], None, None]:
        """Yields (time stamp, frame of the decoder) in the order of display; a frame is valid until the next one is asked for."""
        for start in starts(self._index, self._first):
            container, stream = open_video(self._path)
            with container:
                context = stream.codec_context
                name, pixels = context.name, context.pix_fmt
                if name not in CODECS or pixels not in LUMA_OF_NV12:
                    raise NotOnDevice(f"the device is not asked for {name} with {pixels}")
                parameters = (name, pixels, context.width, context.height, context.extradata)
                try:
                    packets = self._packets(container, stream, start)
                    first = next(packets, None)
                    if first is None or first.pts > self._index.pts[self._first]:
                        continue  # the seek came out behind the segment
                    if self._decoder is None:
                        self._decoder = self._kept.take(parameters, most)
                        for memory in self._decoder.memory:
                            self._free.put(memory)
                    for packet in itertools.chain([first], packets, (None,)):
                        yield from self._decoder.decode(packet)
                    return
                except (NotOnDevice, GeneratorExit, MemoryError, error):
                    raise
                except Exception as raised:  # PyNvVideoCodec's and PyAV's many kinds
                    raise NotOnDevice((str(raised).strip() or type(raised).__name__).splitlines()[0]) from None
        raise NotOnDevice("no key frame can be reached")

    @staticmethod
    def _wanted(packet: Any) -> bool:
        return bool(packet.size) and packet.pts is not None

    def _packets(self, container: Any, stream: Any, start: int) -> Iterator[Any]:
        """Yields packets from the first key frame on that the seek comes to."""
        names = CODECS[stream.codec_context.name][1]
        filters = importlib.import_module("av.bitstream").BitStreamFilterContext(names, in_stream=stream) if stream.codec_context.extradata else None
        if start:
            container.seek(int(self._index.pts[start]), stream=stream)
        packets = filter(self._wanted, container.demux(stream))
        for packet in itertools.dropwhile(lambda packet: not packet.is_keyframe, packets):
            yield from filters.filter(packet) if filters else [packet]
