# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""DLPack capsules, read and written in place: no copy, and no library but Python's own."""
from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, Optional

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13


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
    """(device type, index) of an object with __dlpack_device__(), else None. Raises what that method raises."""
    method = getattr(type(array), "__dlpack_device__", None)
    if method is None:
        return None
    kind, index = method(array)
    return int(kind), int(index)
