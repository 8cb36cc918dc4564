# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""One call of the extension: where it runs, on which stream, what becomes of its arrays."""
from __future__ import annotations

import functools
import threading
from types import FunctionType, TracebackType
from typing import Any, Callable, NamedTuple, NoReturn, Optional, Sequence, Type

import numpy as np
import numpy.typing as npt

from . import _arrays, _memory
from ._arrays import Array, DeviceArray, Given, either, order, order_back, wrapped
from ._devices import Placement, native_stream, on_device, stream_pointer
from ._errors import ArgumentError, call
from ._native import cv2
from ._results import Form, Memory, library_of, places, taken


def _serial(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method that waits until other threads have left the object."""
    @functools.wraps(method)
    def locked(self: Worker, *args: Any, **named: Any) -> Any:
        with self._lock:
            return method(self, *args, **named)
    return locked


class Worker:
    """Base of the classes: the device, uploaded images that are used again, and the arrays of the last call, kept until the next.

    Public methods and properties of the package's classes lock the object: calls of several threads are made one after the other.
    """

    _instead_of_copy = "make another object with the same arguments"
    _instead_of_pickle = "make it in the other process"

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        if not cls.__module__.startswith(f"{__package__}."):
            return  # a class of the user
        for name, member in list(vars(cls).items()):
            if name.startswith("_") and name not in ("__len__", "__repr__"):
                continue
            if isinstance(member, property):
                assert member.fget is not None
                setattr(cls, name, property(_serial(member.fget), _serial(member.fset) if member.fset else None, None, member.__doc__))
            elif isinstance(member, FunctionType):  # not static ones
                setattr(cls, name, _serial(member))

    def __init__(self, device: str) -> None:
        self._lock = threading.RLock()
        self._placement = Placement(device)
        self._uploads: dict[tuple[str, int], Any] = {}  # by slot and device
        self._held: list[Any] = []
        self._last: Optional[tuple[int, Optional[int]]] = None  # device and stream of the last call on a device
        self._library: Optional[str] = None  # that gave the arrays of the last call with arrays on a device

    @property
    def device(self) -> str:
        """What was given as `device`."""
        return self._placement.name

    def __copy__(self) -> Any:
        raise TypeError(f"{type(self).__name__}: an object cannot be copied; {self._instead_of_copy}")

    def __deepcopy__(self, _memo: Any) -> Any:
        return self.__copy__()

    def __reduce_ex__(self, _protocol: Any) -> NoReturn:
        raise TypeError(f"{type(self).__name__}: an object cannot be pickled, such as for another process; {self._instead_of_pickle}")

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
        self._home: Optional[int] = None  # current stream of the library of the first array
        if first is not None:
            worker._library = library_of(first.source)
            self._home = first.own if worker._library else None
        self.stream: Optional[int] = None
        self._given_stream = stream  # kept as long as results are, which name it
        if device is not None:
            self.stream = pointer if pointer is not None else (first.own if first else default)
            if pointer is None and first is not None and self.stream is None:
                self.stream = first.producer
            if self.stream in (0, 1):
                self.stream = None
        self._context = on_device(device)
        self._keep: list[Any] = []
        self._producers: set[Optional[int]] = set()
        self._memories: list[Memory] = []

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
                    if producer is not None and kind is None:
                        order_back(self.device, self.stream, producer)
                for memory in self._memories:
                    memory.finish(self.device, self.stream)
                last = self.worker._last
                if kind is None or last is None or last[0] == self.device:  # what is refused on another device changes nothing
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
            self._borrow(array, [keep, array.source, mat])
            return mat
        if _memory.capturing(self.stream):
            raise ArgumentError(f"{array.name}: lies on the host; a CUDA graph can capture calls with arrays on the device only", array.name)
        mat = self.worker._uploads.setdefault((slot, self.device), call(cv2.cuda.GpuMat)) if slot else call(cv2.cuda.GpuMat)
        if array.host.size == 0:
            return call(cv2.cuda.GpuMat)
        host = np.ascontiguousarray(array.host)
        if not channels_last:
            host = host.reshape(host.shape[0], -1)
        call(mat.upload, host, *self.named.values())
        return mat

    def _borrow(self, array: Given, keep: list[Any]) -> None:
        """Memory of an array is used until the stream has executed this call."""
        self._keep += keep
        memory = array.source._memory if isinstance(array.source, DeviceArray) else None
        if isinstance(memory, Memory):
            self._memories.append(memory)
        else:
            self._producers.add(array.own)

    def call(self, method: Callable[..., Any], *args: Any, forms: Sequence[Form], out: Optional[Sequence[Any]] = None, names: Sequence[str] = ("out",),
             **named: Any) -> list[Array]:
        """Calls a method that has results, and returns them: on the host as numpy arrays, on a device as DeviceArray, in `out` if that is given."""
        outs: list[Optional[Given]] = [None] * len(forms)
        if out is not None:
            outs = [_checked(value, name, form) for value, name, form in zip(out, names, forms)]
        on_host = self.device is None or self.from_host
        for target, name in zip(outs, names):
            if target is not None and (target.host is not None) != on_host:
                raise ArgumentError(f"{name}: lies on {'the host' if target.host is not None else 'a device'}, but the results lie on "
                                    f"{'the host' if on_host else 'a device'}", name)
            if target is not None and target.host is None and target.device != self.device:
                raise ArgumentError(f"{name}: lies on CUDA device {target.device}, and the results on {self.device}", name)
        made = self._places(forms, outs, any(isinstance(value, (cv2.cuda.GpuMat, list)) for value in args))
        values = call(method, *args, *[place.mat for place in made], **named, **self.named)
        values = values if isinstance(values, tuple) else (values,)
        return [self._result(*parts) for parts in zip(values, forms, outs, made or [_NOWHERE] * len(forms))]

    def _places(self, forms: Sequence[Form], outs: Sequence[Optional[Given]], takes_mats: bool) -> list[_Place]:
        """GpuMats for results; none where the extension gives results on the host."""
        if self.device is None or (self.from_host and not takes_mats):
            return []
        made: list[_Place] = []
        offsets, size = places(*[form for form, target in zip(forms, outs) if target is None])
        memory = None
        if size:
            memory = taken(None if self.from_host else self.worker._library, size, self.device, self.stream, self._home)
            memory.keep = self._given_stream
            self._memories.append(memory)
        free = iter(offsets)
        for form, target in zip(forms, outs):
            offset = next(free) if target is None else 0
            if target is not None and target.host is None:
                mat, keep = target.mat_of(self.stream, form.rows, form.columns, form.channels)
                self._borrow(target, [keep])
                made.append(_Place(mat, int(mat.cudaPtr()), target.source))
            elif form.size and memory is not None:
                pointer = memory.pointer + offset
                made.append(_Place(call(cv2.cuda.createGpuMatFromCudaMemory, form.rows, form.columns, form.type, pointer, form.size // form.rows), pointer, memory))
            else:
                made.append(_Place(call(cv2.cuda.GpuMat), 0, None))
        return made

    def _result(self, value: Any, form: Form, target: Optional[Given], place: _Place) -> Array:
        if not isinstance(value, cv2.cuda.GpuMat):
            host = np.zeros((0, *form.shape[1:]), form.kind) if value is None or not np.size(value) else np.asarray(value).reshape((-1, *form.shape[1:]))
            return either(_copied(host, target))
        assert self.device is not None
        pointer = value.cudaPtr()
        if not pointer:
            made: DeviceArray = DeviceArray(value, self.device, self.stream, form.shape, form.strides, None, form.kind)
        elif pointer != place.pointer:  # the extension has made its own: their number has changed in the call
            made = wrapped(value, self.device, self.stream)
        elif isinstance(place.owner, DeviceArray):
            made = place.owner
            made._stream = self.stream
        else:
            strides = form.strides if target is None or target.host is not None else _strides(value, form)
            made = DeviceArray(value, self.device, self.stream, form.shape, strides, place.owner, form.kind)
        return either(_copied(made.numpy(), target) if self.from_host else made)


class _Place(NamedTuple):
    """A GpuMat for a result, its address, and what owns the memory: Memory, or the array of a caller."""

    mat: Any
    pointer: int
    owner: Any


_NOWHERE = _Place(None, 0, None)


def _strides(mat: Any, form: Form) -> tuple[int, ...]:
    """Bytes from one element of each axis to the next, where rows may lie apart."""
    return (int(mat.step1()) * int(form.dtype[1:]), *form.strides[1:]) if form.rows > 1 else form.strides


def _checked(value: Any, name: str, form: Form) -> Given:
    """An array of the caller for a result."""
    array = _arrays.given(_of_mat(value, name, form) if isinstance(value, cv2.cuda.GpuMat) else value, name)
    if array.dtype != form.dtype:
        raise TypeError(f"{name}: elements are {np.dtype(array.dtype)}; {np.dtype(form.dtype)} is needed")
    if array.shape != form.shape:
        raise ArgumentError(f"{name}: shape {array.shape}; {form.shape} is needed", name, array.shape)
    if array.host is not None and array.host is not value or array.read_only:
        raise ArgumentError(f"{name}: {type(value).__name__}: an array that can be written is needed", name)
    return array


def _of_mat(mat: Any, name: str, form: Form) -> DeviceArray:
    """A GpuMat with the axes of a result, which has one axis less where it is a column or a row of the extension."""
    made = _arrays.of_mat(mat, name)
    if (*made.shape, 1)[:3] == (form.rows, form.columns, form.channels):
        made._shape, made._strides = form.shape, _strides(mat, form)
    return made


def _copied(host: npt.NDArray[Any], target: Optional[Given]) -> npt.NDArray[Any]:
    if target is None or target.host is None:
        return host
    np.copyto(target.host, host)
    return target.host
