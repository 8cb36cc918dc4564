# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""One call of the extension: where it runs, on which stream, what becomes of its arrays."""
from __future__ import annotations

import functools
import threading
from types import FunctionType, TracebackType
from typing import Any, Callable, NoReturn, Optional, Sequence, Type, Union

import numpy as np
import numpy.typing as npt

from . import _arrays, _memory
from ._arrays import Array, DeviceArray, Given, Kind, Place, order, order_back, wrapped
from ._devices import Placement, enter, leave, native_stream, new_event, on_device, stream_pointer
from ._errors import ArgumentError, call
from ._native import cv2
from ._results import Form, Memory, places, taken, views


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
        self._place: Optional[Place] = None  # of the last call, where one more needs no Work: on the stream on which torch works

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

    def _run(self, method: Callable[..., Any], image: Any, kind: Kind, *args: Any, mask: Any = None, stream: Any = None, forms: Optional[tuple[Form, ...]] = None,
             out: Optional[Sequence[Any]] = None, **named: Any) -> Any:
        """Calls a method with an image. Returns what it returns, or what Work.call() returns if the method has results of these forms. stream=0 is also for
        methods without a stream."""
        place = self._place if mask is None and (stream is None or (type(stream) is int and stream == 0)) else None
        pixels = None if place is None or (stream == 0 and place.stream) else kind.at(place, image)
        if place is not None and pixels is not None:
            if forms is None:
                return self._at(place, method, pixels, *args, held=(image,), **named)
            results = self._results_at(place, method, pixels, *args, held=(image,), forms=forms, out=out, **named)
            if results is not None:
                return results
        source = _arrays.image(image, "image", kind.dtypes, kind.channels)
        over = None if mask is None else _arrays.mask(mask, "mask", source.shape[:2])
        with Work(self, (source, over), stream) as work:
            pixels = work.array(source, slot="image")
            if over is not None:
                named["mask"] = work.array(over, slot="mask")
            if forms is not None:
                return work.call(method, pixels, *args, forms=forms, out=out, **named)
            return call(method, pixels, *args, **named, **work.named)

    def _at(self, place: Place, method: Callable[..., Any], *args: Any, held: Sequence[Any], **named: Any) -> Any:
        """Calls a method with arrays of Kind.at(), at the place of the last call. `held` keeps their memory until the next one."""
        self._held = [held]
        if place.stream:
            named["stream"] = native_stream(place.stream)
        before = enter(place.device)
        try:
            return call(method, *args, **named)
        finally:
            leave(place.device, before)

    def _results_at(self, place: Place, method: Callable[..., Any], *args: Any, held: Sequence[Any], forms: tuple[Form, ...],
                    out: Optional[Sequence[Any]], **named: Any) -> Optional[list[Array]]:
        """As _at(), for a method that has results, with what Work.call() returns. None, and nothing was called, where that is needed for `out`."""
        stream = place.stream or None
        results: list[Any]
        if out is None:
            mats, results, _ = _made("torch", forms, place.device, stream, stream, place)
        else:
            inside = self._inside_at(place, out, forms)
            if inside is None:
                return None
            mats, results = [array._mat for array in inside], inside
        values = self._at(place, method, *args, *mats, held=(held, out), **named)
        return _written(values, mats, results, forms, place.device, stream)

    @staticmethod
    def _inside_at(place: Place, out: Sequence[Any], forms: tuple[Form, ...]) -> Optional[list[Any]]:
        """Results of a call before that a call at a place can write to as they are; None for all else."""
        for array, form in zip(out, forms):
            if type(array) is not DeviceArray or array._form is not form or array._place != place:
                return None
        return list(out)


class Work:
    """`with worker._work(arrays, stream) as work:` makes the device current and gives arrays and stream to the extension."""

    def __init__(self, worker: Worker, arrays: Sequence[Optional[Given]], stream: Any, device: Optional[int] = None, default: Optional[int] = None) -> None:
        pointer = None if stream is None else stream_pointer(stream)
        first = None
        self.worker = worker
        self._place = None if arrays else worker._place  # that of the worker after this call
        for array in arrays:
            if array is None or array.device is None:
                continue
            if first is None:
                first = array
            elif array.device != first.device:
                raise ArgumentError(f"{array.name}: lies on CUDA device {array.device}, {first.name} on {first.device}", array.name)
        if first is not None:
            device = worker._placement.of(first.device, first.name)
        elif arrays:
            device = worker._placement.of(None, "")
        self.device = device
        self.from_host = first is None
        self.stream: Optional[int] = None
        self._uploaded: Any = None  # event behind the last upload
        if device is None:
            return
        self._given_stream = stream  # kept as long as results are, which name it
        self._keep: list[Any] = []
        self._producers: set[Optional[int]] = set()
        self._memories: list[Memory] = []
        self._home: Optional[int] = None  # current stream of the library of the first array
        self.stream = default if pointer is None else pointer
        if first is not None:
            worker._library = first.library
            self._home = first.own if first.library else None
            if pointer is None:
                self.stream = first.own if first.own is not None else first.producer
        if self.stream in (0, 1):
            self.stream = None
        place = Place(device, self.stream or 0)
        # Tensors tell their address to the extension from torch 2.10 on; results of this package lie in memory of torch, too.
        if first is not None and first.library == "torch" and (worker._place == place or hasattr(type(first.source), "__dlpack_c_exchange_api__")):
            self._place = place
        elif self._place != place:
            self._place = None

    def __enter__(self) -> Work:
        if self.device is not None:
            self._before = enter(self.device)
            last = self.worker._last
            if last is not None and last[0] == self.device and last[1] != self.stream:
                order(self.device, last[1], self.stream)
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.worker._place = self._place if kind is None else None
        if self.device is None:
            return
        try:
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
            if self._uploaded is not None:  # what the caller writes to its arrays of the host after the call does not count
                with _memory.not_captured():
                    call(self._uploaded.waitForCompletion)
        finally:
            leave(self.device, self._before)

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
            self._borrow(array, keep, array.source)
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
        if self.stream is not None:  # from page-locked memory the copy is made when the stream gets there
            self._uploaded = new_event()
            call(self._uploaded.record, native_stream(self.stream))
        return mat

    def _borrow(self, array: Given, *keep: Any) -> None:
        """Memory of an array is used until the stream has executed this call."""
        self._keep += keep
        if not self._uses(array.source):
            self._producers.add(array.own)

    def _uses(self, source: Any) -> bool:
        """Whether an array is one of results, whose memory this call then uses."""
        memory = source._memory if isinstance(source, DeviceArray) else None
        if not isinstance(memory, Memory):
            return False
        if memory not in self._memories:
            self._memories.append(memory)
        return True

    def call(self, method: Callable[..., Any], *args: Any, forms: tuple[Form, ...], out: Optional[Sequence[Any]] = None, names: Sequence[str] = ("out",),
             **named: Any) -> list[Array]:
        """Calls a method that has results, and returns them: on the host as numpy arrays, on a device as DeviceArray, in `out` if that is given."""
        targets: Optional[list[Any]] = None if out is None else [self._target(value, name, form) for value, name, form in zip(out, names, forms)]
        results: list[Any]
        if self.device is None or (self.from_host and not any(isinstance(value, (cv2.cuda.GpuMat, list)) for value in args)):
            results = on_host(call(method, *args, **named, **self.named), forms)
        else:
            mats, results = self._new(forms) if targets is None or self.from_host else self._inside(targets, forms)
            results = _written(call(method, *args, *mats, **named, **self.named), mats, results, forms, self.device, self.stream)
            if self.from_host:
                results = [array.numpy() for array in results]
        if targets is not None and self.from_host:
            results = [_copied(array, target) for array, target in zip(results, targets)]
        return results

    def _target(self, value: Any, name: str, form: Form) -> Union[Given, DeviceArray]:
        """An array of the caller for a result; a result of such a call itself."""
        if isinstance(value, DeviceArray) and value._form is form and value._device == self.device and not self.from_host:
            return value
        target = _checked(value, name, form)
        if (target.host is not None) != self.from_host:
            raise ArgumentError(f"{name}: lies on {'the host' if target.host is not None else 'a device'}, but the results lie on "
                                f"{'the host' if self.from_host else 'a device'}", name)
        if target.host is None and target.device != self.device:
            raise ArgumentError(f"{name}: lies on CUDA device {target.device}, and the results on {self.device}", name)
        return target

    def _new(self, forms: tuple[Form, ...]) -> tuple[Sequence[Any], list[Any]]:
        """GpuMats for results in one new piece of memory, and the arrays on them."""
        assert self.device is not None
        mats, results, memory = _made(None if self.from_host else self.worker._library, forms, self.device, self.stream, self._home, self._place)
        if memory is not None:
            memory.keep = self._given_stream
            self._memories.append(memory)
        return mats, results

    def _inside(self, targets: Sequence[Union[Given, DeviceArray]], forms: tuple[Form, ...]) -> tuple[Sequence[Any], list[Any]]:
        """GpuMats for results in memory of the caller, and the arrays on them."""
        assert self.device is not None
        mats, arrays = [], []
        for target, form in zip(targets, forms):
            if isinstance(target, DeviceArray):
                mat, array = target._mat, target
                order(self.device, target._stream, self.stream)
                self._keep.append(target)
                self._uses(target)
            else:
                mat, keep = target.mat_of(self.stream, form.rows, form.columns, form.channels)
                self._borrow(target, keep)
                array = target.source if isinstance(target.source, DeviceArray) else DeviceArray(
                    mat, self.device, self.stream, form.shape, _strides(mat, form), target.source, form.kind)
            if array._stream != self.stream:
                array._stream, array._place = self.stream, None
            array._largest = None
            mats.append(mat)
            arrays.append(array)
        return mats, arrays


def _made(library: Optional[str], forms: tuple[Form, ...], device: int, stream: Optional[int], home: Optional[int],
          place: Optional[Place]) -> tuple[Sequence[Any], list[Any], Optional[Memory]]:
    """GpuMats for results in one new piece of memory, the arrays on them, and the memory if there is any."""
    size = places(forms)[1]
    memory = taken(library, size, device, stream, home) if size else None
    mats = views(forms, memory.pointer if memory else 0)
    if memory is None or (memory.home or 1) != (stream or 1):
        place = None
    return mats, [DeviceArray(mat, device, stream, form.shape, form.strides, memory, form.kind, form, place) for mat, form in zip(mats, forms)], memory


def _written(values: Any, mats: Sequence[Any], results: list[Any], forms: tuple[Form, ...], device: int, stream: Optional[int]) -> list[Any]:
    """Results of a call that was given GpuMats. Where the extension has made arrays of its own, as the number of all results of a method can change
    in a call, these."""
    values = (values,) if len(forms) == 1 else values
    if values[0].cudaPtr() == mats[0].cudaPtr():
        return results
    return [wrapped(value, device, stream) if value.cudaPtr() else DeviceArray(value, device, stream, (0, *form.shape[1:]), form.strides, None, form.kind)
            for value, form in zip(values, forms)]


def on_host(values: Any, forms: tuple[Form, ...]) -> list[Any]:
    """Results of a call on the CPU, or with an image of the host."""
    return [value if value is not None and value.shape == form.shape else _of_form(value, form)
            for value, form in zip((values,) if len(forms) == 1 else values, forms)]


def _of_form(value: Any, form: Form) -> npt.NDArray[Any]:
    """A result of the CPU, whose number of rows can differ."""
    if value is None or not value.size:
        return np.zeros((0, *form.shape[1:]) if form.size else form.shape, form.kind)
    made: npt.NDArray[Any] = value.reshape(form.shape if value.nbytes == form.size else (-1, *form.shape[1:]))
    return made


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
    if array.read_only or (array.host is not None and (array.host is not value or not array.host.flags.writeable)):
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
