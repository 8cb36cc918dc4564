# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""One call of the extension: where it runs, on which stream, what becomes of its arrays."""
from __future__ import annotations

from types import TracebackType
from typing import Any, Callable, Optional, Sequence, Type

import numpy as np

from ._arrays import Array, DeviceArray, Given, either, order, own_stream, wrapped
from ._devices import Placement, native_stream, on_device, stream_pointer
from ._errors import ArgumentError, call
from ._native import cv2


class Worker:
    """Base of the classes: the device, uploaded images that are used again, and the arrays of the last call, kept until the next."""

    def __init__(self, device: str) -> None:
        self._placement = Placement(device)
        self._uploads: dict[str, Any] = {}
        self._held: list[Any] = []
        self._last: Optional[tuple[int, Optional[int]]] = None  # device and stream of the last call on a device

    @property
    def device(self) -> str:
        """What was given as `device`."""
        return self._placement.name

    def _ask(self, method: Callable[..., Any], *args: Any) -> Any:
        """Calls a method that takes no image, with the device of the last call on a device as the current one."""
        with on_device(self._last[0] if self._last else None):
            return call(method, *args)

    def _work(self, arrays: Sequence[Optional[Given]], stream: Any) -> Work:
        return Work(self, [array for array in arrays if array is not None], stream)

    def _results(self, stream: Any) -> Work:
        """A call about results of the last one: on its device, and on its stream unless another is given."""
        return Work(self, [], stream, self._last[0] if self._last else None, self._last[1] if self._last else None)


class Work:
    """`with worker._work(arrays, stream) as work:` makes the device current and gives arrays and stream to the extension."""

    def __init__(self, worker: Worker, arrays: Sequence[Given], stream: Any, device: Optional[int] = None, default: Optional[int] = None) -> None:
        self.worker = worker
        pointer = stream_pointer(stream)
        devices = [array for array in arrays if array.device is not None]
        for array in devices[1:]:
            if array.device != devices[0].device:
                raise ArgumentError(f"{array.name}: lies on CUDA device {array.device}, {devices[0].name} on {devices[0].device}", array.name)
        first = devices[0] if devices else None
        if arrays:
            device = worker._placement.of(first.device if first else None, (first or arrays[0]).name)
        self.device = device
        self.from_host = first is None
        self.stream: Optional[int] = None
        if device is not None:
            self.stream = pointer if pointer is not None else (own_stream(first.source) if first else default)
            if pointer is None and first is not None and self.stream is None:
                self.stream = first.producer
            if self.stream in (0, 1):
                self.stream = None
        self._context = on_device(device)
        self._keep: list[Any] = []
        self._producers: set[Optional[int]] = set()

    def __enter__(self) -> Work:
        self._context.__enter__()
        if self.device is not None:
            last = self.worker._last
            if last is not None and last[0] == self.device and last[1] != self.stream:
                order(self.device, last[1], self.stream)
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        try:
            if self.device is not None:
                # Who gives its memory to somebody else does so on its own stream: that waits, on the device, for this call.
                for producer in self._producers:
                    if producer is not None and (producer or 1) != (self.stream or 1) and kind is None:
                        order(self.device, self.stream, producer)
                self.worker._last = (self.device, self.stream)
                self.worker._held = self._keep
        finally:
            self._context.__exit__(kind, value, trace)

    @property
    def named(self) -> dict[str, Any]:
        """The keyword argument `stream` for the extension; the CPU takes none."""
        return {} if self.device is None or self.stream is None else {"stream": native_stream(self.stream)}

    def array(self, array: Given, channels_last: bool = True, slot: Optional[str] = None) -> Any:
        """numpy array for the CPU; GpuMat for a device, uploaded where it lies on the host."""
        if self.device is None:
            assert array.host is not None
            return array.host
        if array.host is None:
            mat, keep = array.mat(self.stream, channels_last)
            self._keep += [keep, array.source, mat]
            self._producers.add(own_stream(array.source))
            return mat
        mat = self.worker._uploads.setdefault(slot, call(cv2.cuda.GpuMat)) if slot else call(cv2.cuda.GpuMat)
        if array.host.size == 0:
            return call(cv2.cuda.GpuMat)
        host = np.ascontiguousarray(array.host)
        if not channels_last:
            host = host.reshape(host.shape[0], -1)
        call(mat.upload, host, *self.named.values())
        return mat

    def empty(self) -> list[Any]:
        """The argument that asks for a result in device memory: one GpuMat, or none where results are to be on the host."""
        return [] if self.device is None or self.from_host else [call(cv2.cuda.GpuMat)]

    def result(self, value: Any, shape: Optional[tuple[int, ...]] = None) -> Array:
        """A result where the image was: numpy from numpy, DeviceArray from a device. `shape`: (-1,) or (-1, n) of one column."""
        if not isinstance(value, cv2.cuda.GpuMat):
            host = np.zeros(0) if value is None else np.asarray(value)
            return either(host.reshape(shape) if shape is not None else host)
        assert self.device is not None
        made: DeviceArray = wrapped(value, self.device, self.stream, shape)
        return either(made.numpy().reshape(shape or made.shape) if self.from_host else made)
