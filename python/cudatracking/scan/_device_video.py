# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""Frames of a video, decoded by the GPU's own decoder beside the work: PyAV reads packets, PyNvVideoCodec decodes them, and the luma planes
stay in device memory. A worker sees one GPU, number 0."""
from __future__ import annotations

import concurrent.futures
import contextlib
import ctypes
import heapq
import importlib
import itertools
import queue
import threading
import time
from typing import Any, Generator, Iterator, Optional

import numpy as np

from .. import _arrays, _memory
from .._errors import call, error, import_optional
from .._frames import LeftOut, Source
from .._native import cv2
from ._video import Frame, Frames

# Standards with exact arithmetic: each decoder gives the same pixels for a stream without damage. With the filters that make packets of files
# such as MP4 into a stream that such decoders read, and that put the parameters of the stream before each key frame.
CODECS = {"h264": ("H264", "h264_mp4toannexb,dump_extra"), "hevc": ("HEVC", "hevc_mp4toannexb,dump_extra")}
LUMA_OF_NV12 = ("yuv420p", "yuvj420p")
CHECKED = 3  # frames at the begin of a video that the host decodes too
AHEAD = 2  # batches that are decoded while the job has another one


class NotOnDevice(Exception):
    """A video that has to be decoded on the host."""


def codec_module() -> Any:
    """Returns the module PyNvVideoCodec. Raises error when it cannot be used."""
    return import_optional("PyNvVideoCodec", "decoding on the device needs PyNvVideoCodec: pip install PyNvVideoCodec")


def new_stream() -> tuple[Any, int]:
    """Returns a stream, which neither waits for the null stream, on which the job works, nor makes it wait, and the address of its context."""
    stream, context = call(cv2.cuda.Stream, 1), ctypes.c_void_p()  # cudaStreamNonBlocking
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
    """A decoder of the GPU, with a stream of CUDA on which it works and copies frames, and memory for these: a list for each batch. A worker keeps
    it for its next video. To make one takes as long as to decode hundreds of frames, and while one process makes or removes one all others of the
    host that do so wait, also those of other GPUs. `parameters`: codec, format of pixels, width, height and extradata of the streams that it is for;
    with others it may have too few surfaces."""

    def __init__(self, parameters: Any, most: int) -> None:
        self._module = codec_module()
        stream, context = new_stream()
        codec = getattr(self._module.cudaVideoCodec, CODECS[parameters[0]][0])
        # Attributes end in this order: the decoder before the stream that it uses.
        self._decoder = self._module.CreateDecoder(gpuid=0, codec=codec, cudacontext=context, cudastream=stream.cudaPtr(), usedevicememory=True)
        self.stream, self.parameters = stream, parameters
        self.memory: list[list[Any]] = [[None] * most for _ in range(AHEAD + 1)]  # None until something is copied there

    def decode(self, packet: Any) -> Iterator[tuple[int, Any]]:
        """Yields (time stamp, frame) of frames that are complete with this packet, or without one of all that are left; then another stream may
        follow. A frame is valid until the next call."""
        given = self._module.PacketData()
        if packet is not None:
            data = np.frombuffer(packet, np.uint8)
            given.bsl_data, given.bsl, given.pts, given.key = data.ctypes.data, data.size, packet.pts, packet.is_keyframe
        for frame in self._decoder.Decode(given):
            yield int(frame.getPTS()), frame


class DeviceFrames:
    """Frames of a video in device memory, decoded by a thread beside the work. Attributes as those of Frames. `kept`: empty, or with the decoder that
    the worker keeps."""

    def __init__(self, path: str, kept: list[Decoder]) -> None:
        self.gaps: list[tuple[int, int, str]] = []
        self.length, self.note, self.seconds = 0, "", 0.
        self._path, self._kept = path, kept
        self._decoder: Optional[Decoder] = None
        self._first: dict[int, Any] = {}  # frames on the host that its decoder makes too
        self._free: queue.Queue[list[Any]] = queue.Queue()  # memory for a batch
        self._ready: queue.Queue[Any] = queue.Queue()  # batches with their memory; an exception; None at the end
        self._stop = threading.Event()

    def batches(self, most: int) -> Iterator[list[Frame]]:
        """Yields lists of up to `most` frames in order, which are valid until the next list. Raises NotOnDevice when the decoder does not give
        what the host's does."""
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
        if self._decoder:
            self._kept.append(self._decoder)

    def _run(self, most: int, host: Any) -> None:
        try:
            self._fill(most, host)
            self._ready.put(None)
        except BaseException as raised:
            self._ready.put(raised)

    def _fill(self, most: int, host: Any) -> None:
        """Decodes all frames into batches. `host` will have the result of _on_host()."""
        begin, last_shape = time.perf_counter(), None
        with contextlib.closing(self._decoded(most)) as decoded:
            ended = False
            while not ended:
                waiting = time.perf_counter()
                memory = self._free.get() if self._decoder else []
                begin += time.perf_counter() - waiting
                batch: list[Frame] = []
                for place, (seconds, view) in enumerate(itertools.islice(decoded, most)):
                    assert self._decoder is not None
                    if self._stop.is_set():
                        return
                    memory = memory or self._free.get()
                    memory[place], shape = copied(view, memory[place], self._decoder.stream)
                    if last_shape not in (None, shape):  # the host compares the first frames only
                        raise NotOnDevice(f"frame {self.length} has another size than those before: {shape[1]} x {shape[0]} pixels")
                    last_shape = shape
                    if self.length < CHECKED:
                        self._first[self.length] = downloaded(memory[place], self._decoder.stream)
                    batch.append((self.length, seconds, memory[place]))
                    self.length += 1
                ended = len(batch) < most
                if batch:
                    assert self._decoder is not None
                    call(self._decoder.stream.waitForCompletion)
                    if host.done():
                        self._compare(host.result())
                    self._ready.put((batch, memory))
        self._compare(host.result())
        self.seconds += time.perf_counter() - begin

    def _on_host(self) -> list[Any]:
        """Returns the first frames as the host decodes them."""
        host = Frames(self._path, False, 1)
        with contextlib.closing(host.batches(1)) as batches:
            return [batch[0][2].copy() for batch in itertools.islice(batches, CHECKED)]

    def _compare(self, host: list[Any]) -> None:
        while self._first:
            number, pixels = self._first.popitem()
            if number >= len(host) or not np.array_equal(host[number], pixels):
                raise NotOnDevice(f"frame {number} has other pixels than on the host")

    def _decoded(self, most: int) -> Generator[tuple[float, Any], None, None]:
        """Yields (seconds, luma plane of the decoder) of each frame in order; a plane is valid until the next one is asked for. Raises NotOnDevice
        when one is missing."""
        source = Source(self._path)
        container, stream = source._container, source._stream
        context, hidden, number = stream.codec_context, LeftOut(container), 0
        with container:
            if context.name not in CODECS or context.pix_fmt not in LUMA_OF_NV12:
                raise NotOnDevice(f"the device is not asked for {context.name} with {context.pix_fmt}")
            ahead: list[int] = []  # a heap of the time stamps of frames to come
            first, count, left_out = 0, 0, 0
            try:
                parameters = context.name, context.pix_fmt, context.width, context.height, context.extradata
                decoder = self._kept.pop() if self._kept else None
                decoder = self._decoder = decoder if decoder and decoder.parameters == parameters else Decoder(parameters, most)
                for memory in decoder.memory:
                    self._free.put(memory)
                names, filters = CODECS[context.name][1], None
                if context.extradata:
                    filters = importlib.import_module("av.bitstream").BitStreamFilterContext(names, in_stream=stream)
                for packet in container.demux(stream):
                    left_out += hidden.before(packet)
                    if packet.size and packet.pts is None:
                        raise NotOnDevice("there are no time stamps")
                    if packet.size and packet.is_discard:
                        raise NotOnDevice("an edit list hides frames")
                    if packet.size:
                        heapq.heappush(ahead, packet.pts)
                        count += 1
                    last = not packet.size and packet.dts is None
                    given = [None] if last else [] if not packet.size else filters.filter(packet) if filters else [packet]
                    for pts, frame in itertools.chain.from_iterable(map(decoder.decode, given)):
                        if not ahead or pts != heapq.heappop(ahead):
                            raise NotOnDevice(f"frame {number} is not delivered")
                        first = first if number else pts
                        yield float((pts - first) * stream.time_base), frame.cuda()[0]
                        number += 1
            except (NotOnDevice, GeneratorExit, MemoryError, error):
                raise
            except Exception as raised:  # PyNvVideoCodec's and PyAV's many kinds
                raise NotOnDevice((str(raised).strip() or type(raised).__name__).splitlines()[0]) from None
            if ahead or not count or (stream.frames - left_out > count and not hidden.at_end):
                raise NotOnDevice(f"frame {number} is not delivered")
