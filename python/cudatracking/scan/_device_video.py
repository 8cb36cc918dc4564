# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""Frames of a segment, decoded by the GPU's own decoder: PyAV reads packets, PyNvVideoCodec decodes them, and the luma planes stay in device
memory. Numbers of frames come from the index, as for frames that are decoded on the host."""
from __future__ import annotations

import importlib
import itertools
import zlib
from typing import Any, Iterator

import numpy as np

from .. import _arrays
from .._errors import call, error, import_optional
from .._native import cv2
from ._video import Gap, Index, decode, luma, open_video, starts

# Standards with exact arithmetic: each decoder gives the same pixels for a stream without damage. With the filters that make packets of files
# such as MP4 into a stream that such decoders read, and that put the parameters of the stream before each key frame.
CODECS = {"h264": ("H264", "h264_mp4toannexb,dump_extra"), "hevc": ("HEVC", "hevc_mp4toannexb,dump_extra")}
LUMA_OF_NV12 = ("yuv420p", "yuvj420p")
CHECKED = 3  # frames at the begin of a segment that the host decodes too


class NotOnDevice(Exception):
    """A segment that has to be decoded on the host."""


def codec_module() -> Any:
    """Returns the module PyNvVideoCodec. Raises error when it cannot be used."""
    return import_optional("PyNvVideoCodec", "decoding on the device needs PyNvVideoCodec: pip install PyNvVideoCodec")


def copied(view: Any, into: Any) -> Any:
    """Copies a plane of a decoder, whose memory is used again, into memory of ours on the same device. Returns that memory."""
    mat, keep = _arrays.image(view, "frame", ("u1",)).mat(None, True)
    into = call(cv2.cuda.GpuMat) if into is None else into
    call(mat.copyTo, into)
    del keep
    return into


def downloaded(pixels: Any) -> Any:
    """Returns a copy of a frame on the host."""
    return call(pixels.download)


class DeviceFrames:
    """Frames of a segment in device memory. A frame is valid until the next batch. Attributes as those of Frames."""

    def __init__(self, path: str, index: Index, first: int, last: int, gpu: int, probe: int) -> None:
        self.gaps: list[Gap] = []
        self.heads: dict[int, int] = {}
        self.tails: dict[int, int] = {}
        self.seconds = 0.
        self._path, self._index, self._first, self._last, self._gpu = path, index, first, last, gpu
        self._end = min(last + probe, index.frames)
        self._probe = probe
        self._memory: list[Any] = []

    def batches(self, most: int) -> Iterator[list[tuple[int, Any]]]:
        """Yields lists of up to `most` frames in order. Raises NotOnDevice when the decoder does not give what the host's does."""
        index, expected = self._index, self._first
        if not len(index.pts):
            raise NotOnDevice("there are no time stamps")
        gaps: list[Gap] = []
        checked = decode(self._path, index, self._first, min(self._first + CHECKED, self._end), gaps)
        host = {number: luma(frame).copy() for number, frame in checked}
        batch: list[tuple[int, Any]] = []
        self._memory += [None] * (most - len(self._memory))
        for pts, frame in self._decoded():
            number = int(np.searchsorted(index.pts, pts))
            if number < expected and number < self._first:
                continue  # the seek came out before the segment
            if number != expected or number >= index.frames or index.pts[number] != pts:
                raise NotOnDevice(f"frame {expected} is not delivered")
            place = len(batch)
            pixels = self._memory[place] = copied(frame.cuda()[0], self._memory[place])
            if number < self._first + max(self._probe, CHECKED) or number >= self._last:
                on_host = downloaded(pixels)
                if number in host and not np.array_equal(host[number], on_host):
                    raise NotOnDevice(f"frame {number} has other pixels than on the host")
                if number < self._first + self._probe or number >= self._last:
                    (self.heads if number < self._last else self.tails)[number] = zlib.crc32(np.ascontiguousarray(on_host).data)
            expected += 1
            if number < self._last:
                batch.append((number, pixels))
            if len(batch) == most:
                yield batch
                batch = []
            if expected >= self._end:
                break
        if expected < self._end or gaps:
            raise NotOnDevice(f"frame {expected} is not delivered")
        if batch:
            yield batch

    def _decoded(self) -> Iterator[tuple[int, Any]]:
        """Yields (time stamp, frame of the decoder) in the order of display; a frame is valid until the next one is asked for."""
        for start in starts(self._index, self._first):
            container, stream = open_video(self._path)
            with container:
                name, pixels = stream.codec_context.name, stream.codec_context.pix_fmt
                if name not in CODECS or pixels not in LUMA_OF_NV12:
                    raise NotOnDevice(f"{name} with {pixels} is decoded on the host")
                try:
                    packets = self._packets(container, stream, start)
                    first = next(packets, None)
                    if first is None or first.pts > self._index.pts[self._first]:
                        continue  # the seek came out behind the segment
                    yield from self._frames(name, itertools.chain([first], packets))
                    return
                except (NotOnDevice, GeneratorExit, MemoryError, error):
                    raise
                except Exception as raised:  # PyNvVideoCodec's and PyAV's many kinds
                    raise NotOnDevice((str(raised).strip() or type(raised).__name__).splitlines()[0]) from None
        raise NotOnDevice("no key frame can be reached")

    def _frames(self, name: str, packets: Iterator[Any]) -> Iterator[tuple[int, Any]]:
        try:
            module = codec_module()
        except error as raised:
            raise NotOnDevice(str(raised)) from None
        decoder = module.CreateDecoder(gpuid=self._gpu, codec=getattr(module.cudaVideoCodec, CODECS[name][0]), usedevicememory=True)
        for packet in itertools.chain(packets, (None,)):
            given = module.PacketData()
            if packet is not None:
                data = np.frombuffer(packet, np.uint8)
                given.bsl_data, given.bsl, given.pts, given.key = data.ctypes.data, data.size, packet.pts, packet.is_keyframe
            for frame in decoder.Decode(given):
                yield int(frame.getPTS()), frame

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
