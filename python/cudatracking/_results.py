# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""Memory for results on a device: from the library whose arrays came in, or from a pool. Neither allocates nor frees device memory in a
loop: cudaMalloc() may wait, and cudaFree() waits for all streams of the device."""
from __future__ import annotations

import collections
import functools
import sys
import threading
from typing import Any, Callable, Optional

import numpy as np

from . import _memory
from ._arrays import DEPTHS, order, order_back, torch_stream, view
from ._devices import native_stream, new_event, on_device
from ._errors import ArgumentError, call, error
from ._native import cv2

_ALIGNMENT = 256  # bytes, that of cudaMalloc()


class Form:
    """Shape and type of a result: `shape` for the caller, rows x columns x channels for the extension.

    Attributes:
        dtype: such as "i4"; kind: the same for numpy.
        type: type of the extension, such as CV_32SC2.
        size: bytes.
        strides: bytes from one element of each axis to the next; step: from one row of the extension to the next.
    """

    def __init__(self, shape: tuple[int, ...], dtype: str, rows: int, columns: int, channels: int = 1) -> None:
        self.shape, self.dtype, self.kind = shape, dtype, np.dtype(dtype)
        self.rows, self.columns, self.channels = rows, columns, channels
        self.type = DEPTHS[dtype] + 8 * (channels - 1)
        strides, step = [], int(dtype[1:])
        for side in reversed(shape):
            strides.append(step)
            step *= side
        self.strides, self.size = tuple(reversed(strides)), step
        self.step = step // rows if rows else 0


@functools.lru_cache(maxsize=256)
def table(rows: int, columns: int, dtype: str, channels: int = 1) -> Form:
    """rows x columns, x channels where there are several."""
    return Form((rows, columns) if channels == 1 else (rows, columns, channels), dtype, rows, columns, channels)


@functools.lru_cache(maxsize=256)
def column(rows: int, dtype: str, channels: int = 1) -> Form:
    """rows, x channels where there are several: one column of the extension."""
    return Form((rows,) if channels == 1 else (rows, channels), dtype, rows, 1, channels)


@functools.lru_cache(maxsize=256)
def row(columns: int, dtype: str) -> Form:
    """One row of the extension."""
    return Form((columns,), dtype, 1, columns)


@functools.lru_cache(maxsize=256)
def places(forms: tuple[Form, ...]) -> tuple[list[int], int]:
    """Offsets of results in one memory, and its size."""
    offsets, end = [], 0
    for form in forms:
        offsets.append(end)
        end += -(-form.size // _ALIGNMENT) * _ALIGNMENT
    return offsets, end


@functools.lru_cache(maxsize=256)
def views(forms: tuple[Form, ...], pointer: int) -> tuple[Any, ...]:
    """GpuMats for results in one memory. The last ones are kept, as those of mat_at()."""
    return tuple([view(form.rows, form.columns, form.type, pointer + offset, form.step) if form.size else call(cv2.cuda.GpuMat)
                  for form, offset in zip(forms, places(forms)[0])])


class Memory:
    """Memory of the results of one call. When the last array on it is gone, its source may use it again in work that is queued later on the
    stream `home`."""

    library: Optional[str] = None
    pointer: int
    home: Optional[int]
    keep: Any = None  # the caller's stream, which the results name

    def finish(self, device: int, stream: Optional[int]) -> None:
        """All work of a call that uses the memory is queued on a stream."""
        order_back(device, stream, self.home)

    def lend(self, stream: Optional[int]) -> None:
        """Another library uses the memory on a stream, which must exist as long as the array that it makes."""
        raise NotImplementedError


def _kept(stream: Optional[int]) -> Any:
    """CuPy's object of its present stream, if that is the one: CuPy destroys a stream with its object. torch keeps all streams."""
    cupy = sys.modules.get("cupy")
    present = cupy.cuda.get_current_stream() if stream and cupy is not None else None
    return present if present is not None and int(present.ptr) == stream else None


@functools.lru_cache(maxsize=64)
def _torch_device(make: Any, device: int) -> Any:
    return make("cuda", device)


class _OfTorch(Memory):
    library = "torch"

    def __init__(self, torch: Any, size: int, device: int, home: Optional[int]) -> None:
        self._tensor = torch.empty(size, dtype=torch.uint8, device=_torch_device(torch.device, device))
        self._streams: list[Any] = []  # dropped after the tensor
        self._torch, self._device = torch, device
        self.pointer = int(self._tensor.data_ptr())
        self.home = torch_stream(torch, device) if home is None else home

    def lend(self, stream: Optional[int]) -> None:
        if (stream or 1) != (self.home or 1):
            cuda = self._torch.cuda
            self._streams.append(_kept(stream))
            self._tensor.record_stream(cuda.ExternalStream(stream, device=self._device) if (stream or 1) != 1 else cuda.default_stream(self._device))


class _OfCupy(Memory):
    library = "cupy"

    def __init__(self, cupy: Any, size: int, device: int) -> None:
        self._device = device
        self._streams: list[tuple[Optional[int], Any]] = []
        with cupy.cuda.Device(device):
            self._memory = cupy.cuda.alloc(size)
            self._stream = cupy.cuda.get_current_stream()
        self.pointer, self.home = int(self._memory.ptr), int(self._stream.ptr)

    def lend(self, stream: Optional[int]) -> None:
        if (stream or 1) != (self.home or 1):
            self._streams.append((stream, _kept(stream)))

    def __del__(self) -> None:
        for stream, _ in [] if sys.is_finalizing() else self._streams:
            order(self._device, stream, self.home)


class _Block:
    """Memory of the pool, and events after all that was queued on it."""

    def __init__(self, mat: Any, size: int, device: int, generation: int) -> None:
        self.mat, self.size, self.device, self.generation = mat, size, device, generation
        self.events = [new_event()]
        self.stream: Optional[int] = None  # where the first event was recorded last
        self.captured = False  # a graph uses it

    def is_free(self) -> bool:
        return all(call(event.queryIfComplete) for event in self.events)


class _OfPool(Memory):
    def __init__(self, pool: Pool, block: _Block, home: Optional[int]) -> None:
        self._pool, self._block = pool, block
        self._streams: list[tuple[Optional[int], Any]] = []
        self.pointer, self.home = int(block.mat.cudaPtr()), home

    def finish(self, device: int, stream: Optional[int]) -> None:
        # What was queued on other streams before is ordered before this call.
        super().finish(device, stream)
        if _memory.capturing(stream):
            self._block.captured = True
            return
        call(self._block.events[0].record, native_stream(stream))
        self._block.stream = stream

    def lend(self, stream: Optional[int]) -> None:
        self._streams.append((stream, _kept(stream)))

    def __del__(self) -> None:
        if sys.is_finalizing():
            return
        if self._streams:
            with on_device(self._block.device):
                for stream, _ in self._streams:
                    event = new_event()
                    call(event.record, native_stream(stream))
                    self._block.events.append(event)
        self._pool.give_back(self._block)


class Pool:
    """Memory that is used again on the stream where it was used last, and on others when the device has executed all that was queued on it. It
    is kept until memory runs out."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._free: dict[tuple[int, int], list[_Block]] = {}
        self._returned: collections.deque[_Block] = collections.deque()  # appending needs no lock: a block may come back at any time
        self._generation = 0

    def give_back(self, block: _Block) -> None:
        """Takes a block of which no array is left, unless replays of a graph may still use it: freeing it waits for them."""
        if not block.captured:
            self._returned.append(block)

    def drop(self) -> None:
        """Frees what is kept, and keeps nothing that comes back later."""
        with self._lock:
            self._generation += 1
            self._returned.clear()
            self._free.clear()

    def _found(self, size: int, device: int, stream: Optional[int]) -> Optional[_Block]:
        with self._lock:
            while self._returned:
                block = self._returned.popleft()
                if block.generation != self._generation:
                    continue
                self._free.setdefault((block.device, block.size), []).append(block)
            blocks = self._free.get((device, size), [])
            found = next((block for block in blocks if len(block.events) == 1 and (block.stream or 1) == (stream or 1)), None)
            if found is None and blocks:
                with _memory.not_captured():
                    found = next((block for block in blocks if block.is_free()), None)
            if found is not None:
                blocks.remove(found)
            return found

    def _made(self, size: int, device: int) -> _Block:
        rows, columns = max(size // 2**20, 1), min(size, 2**20)
        with _memory.not_captured():
            try:
                mat = call(cv2.cuda.GpuMat, rows, columns, cv2.CV_8UC1)
            except error:
                with self._lock:
                    self._free.clear()
                mat = call(cv2.cuda.GpuMat, rows, columns, cv2.CV_8UC1)
            return _Block(mat, size, device, self._generation)

    def take(self, size: int, device: int, stream: Optional[int]) -> Memory:
        """Returns memory of at least so many bytes on the current device, for work on a stream."""
        step = max(2**max(size.bit_length() - 3, 0), 2**20 if size > 2**20 else 512)  # few sizes, so that blocks fit again
        size = -(-size // step) * step
        block = self._found(size, device, stream)
        if block is None:
            block = self._made(size, device)
        else:
            for event in block.events:  # also on the same stream: its handle may be that of an older one
                call(native_stream(stream).waitEvent, event)
            del block.events[1:]
        return _OfPool(self, block, stream)


_POOL = Pool()


def _reset_device(reset: Callable[[], None]) -> Callable[[], None]:
    def reset_device() -> None:
        _POOL.drop()
        reset()
    return reset_device


cv2.cuda.resetDevice = _reset_device(cv2.cuda.resetDevice)  # it frees all memory of the device


def taken(library: Optional[str], size: int, device: int, stream: Optional[int], home: Optional[int] = None) -> Memory:
    """Returns memory on the current device for results of work on a stream. `home`: the library's current stream, if it is known."""
    if library is None:
        if _memory.capturing(stream):
            raise ArgumentError("out: is needed while a CUDA graph captures, unless the image is an array of torch or CuPy", "out")
        return _POOL.take(size, device, stream)
    source = sys.modules[library]
    try:
        made: Memory = _OfTorch(source, size, device, home) if library == "torch" else _OfCupy(source, size, device)
    except Exception as raised:  # the library's own kinds
        raise error(f"{library} has no memory for {size} bytes of results: {raised}") from None
    order(device, made.home, stream)  # what the memory was used for before is queued there
    return made
