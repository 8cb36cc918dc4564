# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""Device memory: what the CUDA driver knows of its addresses, because a wrong one would end the process, and of captures of graphs; and DLPack capsules,
read and written in place: no copy, and no library but Python's own."""
from __future__ import annotations

import contextlib
import ctypes
import functools
from typing import Any, Iterator, NamedTuple, Optional

from ._devices import _count
from ._errors import ArgumentError, call, error
from ._native import cv2

# CUpointer_attribute, CUresult, CUstreamCaptureStatus and CUstreamCaptureMode of cuda.h.
_MEMORY_TYPE, _DEVICE_ORDINAL, _RANGE_START, _RANGE_SIZE = 2, 9, 11, 12
_SUCCESS, _INVALID_VALUE, _INVALID_CONTEXT = 0, 1, 201
_NO_CAPTURE, _CAPTURE_RELAXED = 0, 2
CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13  # DLPack's types of devices


class Allocation(NamedTuple):
    """Memory that CUDA knows: device, managed or page-locked host memory.

    Attributes:
        device: number of the device that it was allocated on or registered with.
        start: address of its first byte.
        size: bytes; 0 where the driver does not tell.
    """

    device: int
    start: int
    size: int


@functools.lru_cache(maxsize=1)
def _library() -> Any:
    """Returns the driver, which the extension has loaded when there is a device."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError as raised:
        raise error(f"the CUDA driver cannot be loaded: {raised}") from None
    result = int(library.cuInit(0))
    if result != _SUCCESS:
        raise error(f"cuInit() of the CUDA driver failed with {result}")
    return library


@functools.lru_cache(maxsize=None)
def _function(name: str, *kinds: Any) -> Any:
    """Returns a function of the driver with arguments of these types."""
    function = getattr(_library(), name)
    function.argtypes = kinds
    function.restype = ctypes.c_int
    return function


def _driver() -> Any:
    return _function("cuPointerGetAttributes", ctypes.c_uint, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_void_p), ctypes.c_uint64)


def _capture_status(stream: Optional[int]) -> int:
    status = ctypes.c_int(0)
    # Of the null stream it fails while another stream captures: that one does not.
    failed = _function("cuStreamIsCapturing", ctypes.c_void_p, ctypes.POINTER(ctypes.c_int))(stream, ctypes.byref(status))
    return 0 if failed else status.value


def _exchange_mode(mode: int) -> int:
    exchanged = ctypes.c_int(mode)
    _function("cuThreadExchangeStreamCaptureMode", ctypes.POINTER(ctypes.c_int))(ctypes.byref(exchanged))
    return exchanged.value


def capturing(stream: Optional[int]) -> bool:
    """Whether a CUDA graph captures what is queued on a stream."""
    return bool(_count()) and _capture_status(stream) != _NO_CAPTURE


@contextlib.contextmanager
def not_captured() -> Iterator[None]:
    """Meanwhile this thread may allocate memory and ask for events although another thread captures; that would end the capture."""
    before = _exchange_mode(_CAPTURE_RELAXED)
    try:
        yield
    finally:
        _exchange_mode(before)


def _query(address: int, first: int, first_value: Any, second: int, second_value: Any) -> bool:
    """Asks for two attributes of an address; returns whether the driver knows them."""
    names = (ctypes.c_int * 2)(first, second)
    values = (ctypes.c_void_p * 2)(ctypes.addressof(first_value), ctypes.addressof(second_value))
    result = int(_driver()(2, names, values, address))
    if result == _INVALID_CONTEXT:  # a thread that has not used CUDA has no context yet; setDevice() makes one current
        call(cv2.cuda.setDevice, call(cv2.cuda.getDevice))
        result = int(_driver()(2, names, values, address))
    if result not in (_SUCCESS, _INVALID_VALUE, _INVALID_CONTEXT):
        raise error(f"cuPointerGetAttributes() of the CUDA driver failed with {result}")
    return result == _SUCCESS


def allocation_at(address: int) -> Optional[Allocation]:
    """Returns the allocation in which an address lies; None if CUDA does not know the address."""
    if not 0 < address < 2**64:
        return None
    kind, device = ctypes.c_uint(0), ctypes.c_int(-1)
    if not _query(address, _MEMORY_TYPE, kind, _DEVICE_ORDINAL, device) or kind.value == 0 or device.value < 0:
        return None
    start, size = ctypes.c_uint64(0), ctypes.c_size_t(0)
    if not _query(address, _RANGE_START, start, _RANGE_SIZE, size):  # not known of all registered host memory
        return Allocation(device.value, address, 0)
    return Allocation(device.value, start.value, size.value)


def span(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> int:
    """Returns the bytes from the first element to the end of the last one, for strides (bytes) that are not negative."""
    return 0 if 0 in shape else itemsize + sum((side - 1) * stride for side, stride in zip(shape, strides))


def check(name: str, pointer: int, shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> int:
    """Returns the number of the device on which an array lies.

    Raises ArgumentError if its address is not that of memory that CUDA knows, if it is not a multiple of the size of an element, or if
    the array reaches beyond its allocation. The address of an array without elements is not used and not checked; such an array lies
    on the current device. Where no device can be used nothing is checked and the device is 0: calls for a device refuse the array.
    """
    if not _count():
        return 0
    if 0 in shape:
        return int(call(cv2.cuda.getDevice))
    if any(stride < 0 and side > 1 for side, stride in zip(shape, strides)):
        raise ArgumentError(f"{name}: shape {shape} with strides of {strides} bytes: strides must not be negative; a contiguous copy does", name, strides)
    found = allocation_at(pointer)
    if found is None:
        raise ArgumentError(f"{name}: address {pointer:#x} is not that of device memory, managed memory or page-locked host memory", name, pointer)
    if pointer % itemsize:
        raise ArgumentError(f"{name}: address {pointer:#x} is not a multiple of the {itemsize} bytes of an element", name, pointer)
    end = pointer + span(shape, strides, itemsize)
    if found.size and end > found.start + found.size:
        raise ArgumentError(f"{name}: shape {shape} with strides of {strides} bytes at address {pointer:#x} reaches {end - found.start - found.size} bytes "
                            f"beyond its allocation of {found.size} bytes at {found.start:#x}", name, pointer)
    return found.device


class _Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("index", ctypes.c_int32)]


class _DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", _Device), ("ndim", ctypes.c_int32), ("dtype", _DataType),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype = ctypes.c_void_p
_get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_KINDS = {0: "i", 1: "u", 2: "f", 6: "b"}
_MOST_AXES = 64  # those of numpy


class Contents(NamedTuple):
    """What a capsule describes; strides are in bytes."""

    pointer: int
    device_type: int
    device: int
    typestr: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def _tensor(capsule: Any) -> _Tensor:
    # The tensor is the first member of DLManagedTensor.
    return _Tensor.from_address(_get_pointer(capsule, b"dltensor"))


def read(capsule: Any) -> Contents:
    """Contents of a capsule, which stays as it is: whoever holds it keeps the memory, and dropping it gives the memory back.

    Raises ValueError when it is not an unused capsule or its elements are not plain numbers.
    """
    tensor = _tensor(capsule)
    if tensor.dtype.code not in _KINDS or tensor.dtype.lanes != 1 or tensor.dtype.bits not in (8, 16, 32, 64):
        raise ValueError(f"elements of DLPack's type code {tensor.dtype.code} with {tensor.dtype.bits} bits and {tensor.dtype.lanes} lanes")
    if not 0 <= tensor.ndim <= _MOST_AXES:
        raise ValueError(f"{tensor.ndim} axes; 0 to {_MOST_AXES} are possible")
    size = tensor.dtype.bits // 8
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    if any(side < 0 for side in shape):
        raise ValueError(f"shape {shape}")
    if tensor.strides:
        strides = tuple(tensor.strides[i] * size for i in range(tensor.ndim))
    else:
        strides, step = (), size
        for side in reversed(shape):
            strides, step = (step, *strides), step * side
    return Contents((tensor.data or 0) + tensor.byte_offset, tensor.device.type, tensor.device.index,
                    f"{_KINDS[tensor.dtype.code]}{size}", shape, strides)


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("owner", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


def describe(capsule: Any, mat: Any, keep: Any, device: int, shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> Any:
    """Makes a capsule that mat.__dlpack__() gave, of three dimensions on device 0, one of these; strides are in bytes. It keeps `keep`."""
    managed = _Managed.from_address(_get_pointer(capsule, b"dltensor"))
    tensor = managed.tensor
    assert len(shape) <= 3
    tensor.device.index = device
    tensor.ndim = len(shape)
    for i, (side, stride) in enumerate(zip(shape, strides)):
        tensor.shape[i], tensor.strides[i] = side, stride // itemsize
    # The capsule owns a reference to a Python object, so far to the GpuMat.
    assert managed.owner in (id(mat), None)
    if managed.owner == id(mat):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(keep))
        managed.owner = id(keep)
        ctypes.pythonapi.Py_DecRef(ctypes.py_object(mat))
    return capsule


def device_of(array: Any) -> Optional[tuple[int, int]]:
    """(device type, index) of an object with DLPack's methods, else None. Raises what they raise."""
    if not hasattr(type(array), "__dlpack_device__") or not hasattr(type(array), "__dlpack__"):
        return None
    kind, index = array.__dlpack_device__()
    return int(kind), int(index)
