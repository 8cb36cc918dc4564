# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""Arrays in and out: numpy and lists on the host, DLPack and __cuda_array_interface__ on the device, where nothing is copied."""
from __future__ import annotations

import contextlib
import functools
import math
import operator
import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Protocol, Sequence, Tuple, Union, cast

import numpy as np
import numpy.typing as npt

from . import _memory
from ._devices import native_stream, new_event, on_device, stream_pointer
from ._errors import ArgumentError, call, shown
from ._native import cv2

Box = Tuple[int, int, int, int]


class DLPackArray(Protocol):
    """An array of another library: torch, CuPy, JAX and others, on the host or on a device."""

    def __dlpack_device__(self) -> Any: ...


class CudaArray(Protocol):
    """An array in device memory: numba, PyNvVideoCodec and others."""

    @property
    def __cuda_array_interface__(self) -> Any: ...


class Place(NamedTuple):
    """Device and stream (0: the null stream) of a call."""

    device: int
    stream: int


class DeviceArray:
    """A result in device memory. torch.from_dlpack(), cupy.from_dlpack() and cupy.asarray() take it without a copy.

    numpy() copies it to the host. The work that fills it may still be running on the stream of the call that returned it. All
    these functions order the reader after that stream; only numpy() makes the host wait.
    """

    _largest: Optional[tuple[int, int]] = None  # of predict_areas(): no width and no height is larger, as long as nobody else has the address

    def __init__(self, mat: Any, device: int, stream: Optional[int], shape: tuple[int, ...], strides: tuple[int, ...], memory: Any = None,
                 dtype: Any = None, form: Any = None, place: Optional[Place] = None) -> None:
        self._mat = mat  # GpuMat, which owns the memory where there is no other owner
        self._memory = memory  # Memory of _results.py, or the array of a caller in which the result lies
        self._device = device
        self._stream = stream
        self._shape = shape
        self._strides = strides
        self._dtype: np.dtype[Any] = np.dtype(_DTYPES[mat.depth()]) if dtype is None else dtype
        self._form = form  # Form of _results.py that the GpuMat has, or None
        self._place = place  # of the calls for which nothing has to be ordered: memory of torch is only used on this stream

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes, as in numpy."""
        return self._shape

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element of each axis to the next."""
        return self._strides

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the elements."""
        return self._dtype

    @property
    def device(self) -> str:
        """Device of the memory, such as "cuda:0"."""
        return f"cuda:{self._device}"

    @property
    def pointer(self) -> int:
        """Address in device memory."""
        self._expose()
        return self._address()

    def _address(self) -> int:
        return int(self._mat.cudaPtr() or 0)

    def _expose(self) -> None:
        """From now on others can write to the memory."""
        self._largest = None

    def numpy(self) -> npt.NDArray[Any]:
        """Returns a copy on the host. Waits for the stream of the call that made this array."""
        if 0 in self._shape:
            return np.empty(self._shape, self.dtype)
        with on_device(self._device):
            stream = native_stream(self._stream)
            host = call(self._mat.download, stream)
            call(stream.waitForCompletion)
        return np.asarray(host).reshape(self._shape)

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> npt.NDArray[Any]:
        if copy is False:
            raise ValueError("copy=False: an array in device memory is always copied to the host")
        return self.numpy().astype(self.dtype if dtype is None else dtype, copy=False)

    def __len__(self) -> int:
        return self._shape[0]

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        self._expose()
        for stream in present_streams(self._device):  # who asks does not say on which stream it is used
            self._lend(stream)
        return {"shape": self._shape, "strides": self._strides, "typestr": self.dtype.str, "data": (self._address(), False),
                "version": 3, "stream": self._stream or 1}

    def __dlpack_device__(self) -> tuple[int, int]:
        return _memory.CUDA, self._device

    def __dlpack__(self, *, stream: Optional[int] = None, max_version: Optional[tuple[int, int]] = None,
                   dl_device: Optional[tuple[int, int]] = None, copy: Optional[bool] = None) -> Any:
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"dl_device: {dl_device}: this array lies on {self.device}; numpy() copies it to the host")
        if copy is not None and copy is not False:
            raise BufferError("copy=True: this array is handed on without a copy only")
        self._expose()
        if stream != -1:
            order(self._device, self._stream, stream_pointer(stream))
        for reader in present_streams(self._device) if stream == -1 else [stream_pointer(stream)]:
            self._lend(reader)
        capsule = call(self._mat.__dlpack__)
        return _memory.describe(capsule, self._mat, (self._mat, self._memory), self._device, self._shape, self._strides, self.dtype.itemsize)

    def _lend(self, stream: Optional[int]) -> None:
        """Another library uses the memory on a stream."""
        lend = getattr(self._memory, "lend", None)
        if lend is not None:
            lend(stream)

    def __copy__(self) -> Any:
        raise TypeError("DeviceArray: an array in device memory cannot be copied; numpy() copies it to the host")

    def __deepcopy__(self, _memo: Any) -> Any:
        return self.__copy__()

    def __reduce_ex__(self, _protocol: Any) -> Any:
        raise TypeError("DeviceArray: an array in device memory cannot be pickled; pickle its numpy()")

    def __repr__(self) -> str:
        return f"<cudatracking.DeviceArray {'x'.join(map(str, self._shape))} {self.dtype} on {self.device}>"


if TYPE_CHECKING:

    class Array(np.ndarray[Any, np.dtype[Any]]):
        """A result: a numpy array of an image on the host, a DeviceArray of one on a device. Which of both it is no type can tell, so
        that for type checkers it has the members of both."""

        def numpy(self) -> npt.NDArray[Any]: ...

        @property
        def pointer(self) -> int: ...

        @property
        def __cuda_array_interface__(self) -> dict[str, Any]: ...

else:
    Array = Union[npt.NDArray[Any], DeviceArray]


class Kind:
    """Images that a call takes: types of elements, and numbers of channels where there is a third axis."""

    def __init__(self, dtypes: tuple[str, ...], channels: tuple[int, ...]) -> None:
        self.dtypes, self.channels = dtypes, channels
        # The same for the extension, which takes integers of at most 32 bits.
        self.depths = sum(1 << DEPTHS[text] for text in dtypes if text[0] in "iu")
        self.channel_bits = sum(1 << number for number in channels)

    def at(self, place: Place, value: Any) -> Any:
        """A tensor on the device of a place as a GpuMat, if torch works on its stream now, so that nothing has to be ordered or refused. Else None."""
        return cv2.cuda.createGpuMatFromTensor(value, self.depths, self.channel_bits, 0, 0, place.device, place.stream)


def either(value: Any) -> Array:
    """A numpy array or DeviceArray as what type checkers are told."""
    return cast("Array", value)

ImageLike = Union[npt.ArrayLike, DLPackArray, CudaArray]
BoxLike = Union[Sequence[float], npt.NDArray[Any]]
BoxesLike = Union[Sequence[BoxLike], npt.NDArray[Any], DLPackArray, CudaArray]

_DTYPES = {0: np.uint8, 1: np.int8, 2: np.uint16, 3: np.int16, 4: np.int32, 5: np.float32, 6: np.float64}
_TYPES = {np.dtype(kind): np.dtype(kind).str.lstrip("|<=>") for kind in (*_DTYPES.values(), np.bool_)}
DEPTHS = {np.dtype(kind).str.lstrip("|<=>"): depth for depth, kind in _DTYPES.items()} | {"b1": 0}


def order(device: int, first: Optional[int], second: Optional[int]) -> None:
    """Lets what comes on the second stream wait on the device for what is on the first now; the host does not wait."""
    if (first or 1) == (second or 1) or (_memory.capturing(second) and not _memory.capturing(first)):
        return  # a graph cannot wait for what is not in it
    with on_device(device):
        event = new_event()
        call(event.record, native_stream(first))
        call(native_stream(second).waitEvent, event)


def order_back(device: int, stream: Optional[int], owner: Optional[int]) -> None:
    """As order(), after a call: the owner of memory uses it on a stream of its own. That stream does not become part of a graph that captures the call."""
    if (stream or 1) != (owner or 1) and not (_memory.capturing(stream) and not _memory.capturing(owner)):
        order(device, stream, owner)


class Given:
    """An array as a caller gave it: on the host (`host`), or a description of device memory."""

    pointer: Optional[int] = None   # None: DLPack is asked for address and strides
    strides: tuple[int, ...] = ()   # bytes
    producer: Optional[int] = None  # stream that fills the memory
    library: Optional[str] = None   # library_of(source)
    read_only = False               # device memory that must not be written

    def __init__(self, name: str, shape: tuple[int, ...], dtype: str, host: Optional[npt.NDArray[Any]] = None, device: Optional[int] = None,
                 source: Any = None) -> None:
        self.name = name
        self.shape = shape
        self.dtype = dtype    # such as u1, f4
        self.host = host
        self.device = device
        self.source = source  # the caller's object on a device; DLPack's is asked for the memory when the stream is known

    def be_on(self, stream: int) -> None:
        """The library of the array works on this stream now."""
        self.own, self.producer = stream, stream or 1

    @functools.cached_property
    def own(self) -> Optional[int]:
        """own_stream() of the caller's object."""
        return own_stream(self.source)

    def memory(self, stream: Optional[int]) -> tuple[int, tuple[int, ...], Any]:
        """Returns address and strides (bytes) of the elements, and an object that keeps them. Orders the stream after the one that fills them."""
        assert self.device is not None
        if self.pointer is None:
            capsule, contents = _dlpack_of(self.source, self.name, stream or 1)
            size = int(self.dtype[1:])
            if contents.shape != self.shape or int(contents.typestr[1:]) != size:
                raise ArgumentError(f"{self.name}: its capsule holds {contents.typestr} of shape {contents.shape}, but the array says {self.dtype} of shape "
                                    f"{self.shape}", self.name, contents.shape)
            # The device is the one that the library names: memory of another one may be mapped there.
            _memory.check(self.name, contents.pointer, contents.shape, contents.strides, size)
            return contents.pointer, contents.strides, capsule
        if self.producer is not None:
            order(self.device, self.producer, stream)
        return self.pointer, self.strides, self.source

    def mat(self, stream: Optional[int], channels_last: bool) -> Any:
        """The memory as a GpuMat, without a copy. The stream is ordered after the one that fills it."""
        shape = self.shape
        channels = shape[2] if channels_last and len(shape) == 3 else 1
        return self.mat_of(stream, shape[0], shape[1] if len(shape) > 1 else 1, channels)

    def mat_of(self, stream: Optional[int], rows: int, columns: int, channels: int) -> Any:
        """As mat(), for an array of one, two or three axes that the extension has as rows x columns x channels."""
        pointer, strides, keep = self.memory(stream)
        mat = mat_at(pointer, self.shape, strides, self.dtype, rows, columns, channels)
        if mat is None:
            raise ArgumentError(f"{self.name}: shape {self.shape} with strides of {strides} bytes: the elements of a row must lie one after the other; a "
                                "contiguous copy does", self.name, strides)
        return mat, keep

    def fetched(self) -> npt.NDArray[Any]:
        """Returns a copy of a small array on the host, of any type and strides. Waits for the null stream."""
        if 0 in self.shape:
            return np.empty(self.shape, np.dtype(self.dtype))
        if _memory.capturing(self.own or self.producer):
            raise ArgumentError(f"{self.name}: is copied to the host, which no CUDA graph can capture", self.name)
        with on_device(self.device):
            pointer, strides, keep = self.memory(None)
            length = _memory.span(self.shape, strides, int(self.dtype[1:]))
            if length > _MOST_FETCHED:
                raise ArgumentError(f"{self.name}: shape {self.shape} with strides of {strides} bytes: too large to be copied to the host", self.name, self.shape)
            data = np.ascontiguousarray(call(view(1, length, 0, pointer, length).download))
            del keep
        return np.ndarray(self.shape, np.dtype(self.dtype), data, 0, strides)


def view(rows: int, columns: int, kind: int, pointer: int, step: int) -> Any:
    """A GpuMat on memory that others own."""
    return call(cv2.cuda.createGpuMatFromCudaMemory, rows, columns, kind, pointer, step)


@functools.lru_cache(maxsize=1024)
def mat_at(pointer: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: str, rows: int, columns: int, channels: int) -> Any:
    """An array as a GpuMat; None where the elements of a row do not lie one after the other. The last ones are kept: a loop has the same places
    again and again, and making one takes longer."""
    size = int(dtype[1:])
    if rows == 1 and len(shape) == 1:
        shape, strides = (1, *shape), (0, *strides)
    packed, step = True, size
    for side, stride in zip(shape[:0:-1], strides[:0:-1]):
        packed = packed and (side == 1 or stride == step)
        step *= side
    if rows and columns and not (packed and (rows == 1 or (strides[0] >= step and strides[0] % size == 0))):
        return None
    return view(rows, columns, DEPTHS[dtype] + 8 * (channels - 1), pointer, strides[0] if rows > 1 else step)


_MOST_FETCHED = 2**28  # bytes of an array that is fetched, its gaps included; lists of boxes are far smaller


def _dlpack_of(source: Any, name: str, stream: int) -> tuple[Any, _memory.Contents]:
    try:
        capsule = source.__dlpack__(stream=stream)
    except Exception as raised:  # whatever another library raises
        raise TypeError(f"{name}: {type(source).__name__}.__dlpack__() failed: {raised}") from None
    try:
        return capsule, _memory.read(capsule)
    except Exception as raised:
        raise TypeError(f"{name}: what {type(source).__name__}.__dlpack__() returned cannot be read: {raised}") from None


def torch_stream(torch: Any, device: int) -> int:
    """The stream on which torch works now on a device."""
    raw = getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", None)  # as compiled code of torch asks: in a tenth of the time
    return int(torch.cuda.current_stream(device).cuda_stream if raw is None else raw(device))


def present_streams(device: int) -> list[Optional[int]]:
    """The streams on which torch and CuPy work now on a device; the null stream without them."""
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    streams: list[Optional[int]] = []
    if torch is not None and torch.cuda.is_initialized():
        streams.append(torch_stream(torch, device))
    if cupy is not None:
        streams.append(int(cupy.cuda.get_current_stream().ptr))
    return streams or [None]


def library_of(value: Any) -> Optional[str]:
    """Name of the library of an array, or of the memory of a result, if it can give memory; else None."""
    if isinstance(value, DeviceArray):
        memory = value._memory
        return memory.library if hasattr(memory, "lend") else library_of(memory)
    name = type(value).__module__.partition(".")[0]
    return name if name in ("torch", "cupy") and name in sys.modules else None


def own_stream(value: Any) -> Optional[int]:
    """The stream on which the library of an array, or of the memory of a result, works now, so that all stays in one order; None: not known."""
    if isinstance(value, DeviceArray):
        library = getattr(value._memory, "library", None)
        if library is None:
            return value._stream
        device: Any = value._device
    else:
        library = type(value).__module__.partition(".")[0]
        device = getattr(value, "device", None)
    module = sys.modules.get(library)
    try:
        if library == "torch" and module is not None:
            return int(module.cuda.current_stream(device).cuda_stream)
        if library == "cupy" and module is not None:
            return int(module.cuda.get_current_stream().ptr)
    except Exception:
        return None
    return None


def given(value: Any, name: str) -> Given:
    """Looks at an array of any kind, and copies nothing that is an array already. Raises TypeError for what is none."""
    if type(value) is np.ndarray:
        return _on_host(value, name)
    found = _known(value, name)
    if found is None and not isinstance(value, (list, tuple)):
        found = _of_object(value, name)
    if found is not None:
        return found
    if isinstance(value, (list, tuple)):
        for i, row in enumerate(value):
            if np.ma.is_masked(row):
                raise _masked(f"{name}[{i}]")
    try:
        array = np.asarray(value)
    except Exception as raised:
        raise TypeError(f"{name}: {type(value).__name__}: numpy makes no array of it: {raised}") from None
    if array.dtype.kind == "O" and array.size and all(isinstance(entry, int) for entry in array.flat):
        raise ArgumentError(f"{name}: {shown(value)}: whole numbers of 64 bits are the largest that are possible", name, value)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name}: {type(value).__name__}: an array of numbers is needed")
    return _on_host(array, name)


def _masked(name: str) -> TypeError:
    return TypeError(f"{name}: a masked array, whose mask would be lost; {name}.data and, where a mask is taken, mask=~numpy.ma.getmaskarray({name}) are possible")


def _of_object(value: Any, name: str) -> Optional[Given]:
    """What an object says about its memory; None for one that says nothing."""
    if isinstance(value, (str, bytes, bytearray, dict, set)) or value is None:
        raise TypeError(f"{name}: {type(value).__name__}: an array is needed")
    if isinstance(value, np.ma.MaskedArray):
        if np.ma.is_masked(value):
            raise _masked(name)
        value = value.data
    if type(value).__name__ == "UMat" and hasattr(value, "get"):  # of any cv2
        value = value.get()
    if isinstance(value, np.ndarray):
        return _on_host(value, name)
    try:
        where = _memory.device_of(value)
        interface = getattr(value, "__cuda_array_interface__", None) if where is None else None
    except Exception as raised:
        raise TypeError(f"{name}: {type(value).__name__} does not tell where it lies: {raised}") from None
    if where is not None and where[0] in (_memory.CUDA, _memory.CUDA_MANAGED):
        return _on_device(value, name, where[1])
    if where is not None and where[0] not in (_memory.CPU, _memory.CUDA_HOST):
        raise TypeError(f"{name}: lies on a device of DLPack's type {where[0]}; host and CUDA memory are possible")
    if where is not None:
        try:
            return _on_host(np.from_dlpack(value), name)
        except Exception as raised:
            raise TypeError(f"{name}: numpy cannot read this {type(value).__name__}: {raised}") from None
    return None if interface is None else _of_interface(value, interface, name)


def _on_host(array: npt.NDArray[Any], name: str) -> Given:
    text = _TYPES.get(array.dtype)
    if text is None:
        array = array.astype(array.dtype.newbyteorder("="), copy=False)
        text = array.dtype.str.lstrip("|<=>")
    return Given(name, array.shape, text, array)


def of_mat(mat: Any, name: str) -> DeviceArray:
    """Returns a GpuMat of the private cv2 as an array on the device of its memory."""
    made = wrapped(mat, 0, None)
    made._device = _memory.check(name, made._address(), made.shape, made.strides, made.dtype.itemsize)
    return made


def _known(value: Any, name: str) -> Optional[Given]:
    """Arrays of this package, torch and CuPy in device memory, which are believed: asking them through DLPack and checking the answer takes
    longer than a call. None for all others, and for tensors that DLPack would refuse."""
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    if torch is not None and type(value) is getattr(torch, "Tensor", None):
        if not value.is_cuda or value.layout is not torch.strided or value.requires_grad or value.is_neg() or value.is_conj():
            return None
        text, device = _type_of(value.dtype, name), value.get_device()
        made, size = Given(name, tuple(value.shape), text, None, device, value), int(text[1:])
        made.pointer, made.library = value.data_ptr(), "torch"
        made.strides = value.stride() if size == 1 else tuple([size * step for step in value.stride()])
        made.be_on(torch_stream(torch, device))
        return made
    if isinstance(value, cv2.cuda.GpuMat):
        value = of_mat(value, name)
    if isinstance(value, DeviceArray):
        made = Given(name, value._shape, _TYPES[value._dtype], None, value._device, value)
        made.pointer, made.strides, made.producer, made.library = value._address(), value._strides, value._stream or 1, library_of(value)
        return made
    if cupy is not None and type(value) is getattr(cupy, "ndarray", None):
        made = Given(name, value.shape, _type_of(value.dtype, name), None, value.device.id, value)
        made.pointer, made.strides, made.library = value.data.ptr, value.strides, "cupy"
        made.be_on(int(cupy.cuda.get_current_stream().ptr))
        return made
    return None


@functools.lru_cache(maxsize=64)
def _type_of(dtype: Any, name: str) -> str:
    """A type of elements, such as u1, of another library's: torch.uint8, dtype('uint8')."""
    text = str(dtype).rpartition(".")[2]
    try:
        return "b1" if text == "bool" else np.dtype(text).str.lstrip("|<=>")
    except TypeError:
        raise TypeError(f"{name}: elements of type {text} are not supported") from None


def _on_device(value: Any, name: str, device: int) -> Given:
    if not hasattr(value, "shape") or not hasattr(value, "dtype"):  # DLPack and no more, such as frames of decoders
        _, contents = _dlpack_of(value, name, 1)
        made = Given(name, contents.shape, contents.typestr, None, device, value)
    else:
        made = Given(name, tuple(int(side) for side in value.shape), _type_of(value.dtype, name), None, device, value)
    made.library = library_of(value)
    return made


def _of_interface(value: Any, interface: Any, name: str) -> Given:
    try:
        shape = tuple(operator.index(side) for side in interface["shape"])
        typestr = str(interface["typestr"])
        pointer = operator.index(interface["data"][0])
        size = int(typestr[2:])
        strides = interface.get("strides")
        if strides is None:
            strides, step = (), size
            for side in reversed(shape):
                strides, step = (step, *strides), step * side
        strides = tuple(operator.index(step) for step in strides)
        stream, read_only = interface.get("stream"), bool(interface["data"][1])
        if len(strides) != len(shape) or min(shape, default=0) < 0 or size < 1 or typestr[0] not in "|<=" or interface.get("mask") is not None:
            raise ValueError("shape, strides, type, byte order or mask")
    except Exception as raised:
        raise TypeError(f"{name}: __cuda_array_interface__ of {type(value).__name__} is not as its definition says: {raised}") from None
    device = _memory.check(name, pointer, shape, strides, size)
    made = Given(name, shape, typestr[1:], None, device, value)
    made.pointer, made.strides, made.producer = pointer, strides, int(stream) if isinstance(stream, int) else None
    made.library, made.read_only = library_of(value), read_only
    return made


def wrapped(mat: Any, device: int, stream: Optional[int]) -> DeviceArray:
    """A GpuMat as the array that numpy would have: rows x columns, x channels if there are several."""
    channels, size = mat.channels(), mat.elemSize1()
    columns, rows = mat.size()
    step = mat.step1() * size if rows else columns * channels * size
    if channels == 1:
        return DeviceArray(mat, device, stream, (rows, columns), (step, size))
    return DeviceArray(mat, device, stream, (rows, columns, channels), (step, channels * size, size))


def image(value: Any, name: str, dtypes: Sequence[str], channels: tuple[int, ...] = (1, 3, 4), wanted: Optional[str] = None) -> Given:
    """An image: height x width, or height x width x channels, of one of the types; a list of whole numbers becomes uint8.

    On the host whole numbers of other types, also in floats where float32 is none of the types, become the type that is `wanted`, else uint8 or else
    uint16, where these are possible and hold all values. float16 and float64 become float32 where that is one of the types.
    """
    array = None if type(value) is np.ndarray else _known(value, name)
    if array is not None and array.dtype in dtypes and _is_image(array.shape, channels):
        return array
    if value is None:
        raise TypeError(f"{name}: None: an image is needed; a file that cannot be read gives None, as does a video that has ended or was not opened")
    if isinstance(value, (bool, int, float, complex, np.generic)):
        raise TypeError(f"{name}: {shown(value)}: an image is needed")
    array = given(value, name)
    if array.host is not None and isinstance(value, (list, tuple)) and array.host.dtype.kind in "iu" and wanted in (None, "u1"):
        if array.host.size and not (0 <= array.host.min() and array.host.max() <= 255):
            raise ArgumentError(f"{name}: a list with values from {array.host.min()} to {array.host.max()}; 0 to 255 is possible", name)
        array = _on_host(array.host.astype(np.uint8), name)
    if array.dtype in dtypes and _is_image(array.shape, channels):
        return array
    if array.host is not None and array.dtype in ("f8", "f2") and "f4" in dtypes:
        with np.errstate(over="ignore"):
            array = _on_host(array.host.astype(np.float32), name)
    if array.host is not None and array.host.size and array.dtype not in dtypes and "f4" not in dtypes and _is_whole(array.host):
        least, most = int(array.host.min()), int(array.host.max())
        possible = dtypes if wanted is None else (wanted,)
        kind = next((kind for kind in possible if 0 <= least and most <= np.iinfo(kind).max), None)
        if kind is None:
            raise ArgumentError(f"{name}: {array.host.dtype} values from {least} to {most}; possible are those of "
                                f"{', '.join(str(np.dtype(kind)) for kind in possible)}{', as the fragments are' if wanted else ''}", name)
        array = _on_host(array.host.astype(kind), name)
    if array.dtype not in dtypes:
        through = ("" if array.dtype[0] != "f" or "f4" in dtypes else "; floats of 0 to 1: numpy.rint(65535 * image).astype(numpy.uint16)" if "u2" in dtypes else
                   "; floats of 0 to 1: numpy.rint(255 * image).astype(numpy.uint8)")
        wanted = ", ".join(str(np.dtype(kind)) for kind in [*dtypes, *(["f2", "f8"] if array.host is not None and "f4" in dtypes else [])])
        raise TypeError(f"{name}: elements are {np.dtype(array.dtype) if array.dtype != 'b1' else 'bool'}; possible: {wanted}{through}")
    if len(array.shape) not in (2, 3) or (len(array.shape) == 3 and array.shape[2] not in channels):
        raise ArgumentError(f"{name}: shape {array.shape}; height x width, or with {', '.join(map(str, channels))} channels in the end, is possible",
                            name, array.shape)
    if not _is_image(array.shape, channels):
        raise ArgumentError(f"{name}: shape {array.shape}: sides of less than 2^31 are possible", name, array.shape)
    return array


def _is_whole(host: npt.NDArray[Any]) -> bool:
    """Whether all elements are whole numbers."""
    return host.dtype.kind in "biu" or (host.dtype.kind == "f" and bool(np.isfinite(host).all()) and bool((host == np.rint(host)).all()))


@functools.lru_cache(maxsize=256)
def _is_image(shape: tuple[int, ...], channels: tuple[int, ...]) -> bool:
    return len(shape) in (2, 3) and shape[2:] in ((), *((number,) for number in channels)) and max(shape) < 2**31


def mask(value: Any, name: str, shape: tuple[int, ...]) -> Given:
    """A mask of bool or uint8 for an image of this height x width: what is not 0 counts."""
    array = given(value, name)
    if array.host is not None and (array.dtype == "b1" or isinstance(value, (list, tuple))):
        array = _on_host((array.host != 0).astype(np.uint8), name)
    if array.dtype not in ("u1", "b1"):
        raise TypeError(f"{name}: elements are {np.dtype(array.dtype)}; bool and uint8 are possible")
    if array.shape != shape:
        raise ArgumentError(f"{name}: shape {array.shape}; {shape}, that of the image, is needed", name, array.shape)
    return array


def weights(value: Any, name: str) -> Given:
    """Weights of pixels: bool, uint8 (255 counts fully) or float of 0 to 1."""
    array = given(value, name)
    if array.host is not None and array.dtype == "b1":
        array = _on_host(array.host.astype(np.uint8) * np.uint8(255), name)
    if array.host is not None and array.dtype in ("f8", "f2"):
        with np.errstate(over="ignore"):
            array = _on_host(array.host.astype(np.float32), name)
    if array.dtype not in ("u1", "b1", "f4"):
        raise TypeError(f"{name}: elements are {np.dtype(array.dtype)}; bool, uint8 and float are possible")
    if len(array.shape) != 2 or 0 in array.shape:
        raise ArgumentError(f"{name}: shape {array.shape}; height x width is needed", name, array.shape)
    if array.host is not None:
        _check_weights(array.host, name)
    return array


def _check_weights(host: npt.NDArray[Any], name: str) -> None:
    # In device memory the host cannot check them without a wait, and the CUDA backend counts wrong ones as 0.
    bad = ~((host >= 0) & (host <= 1)) if host.dtype.kind == "f" else np.zeros(host.shape, bool)  # NaN too
    if bad.any():
        y, x = (int(index) for index in np.argwhere(bad)[0])
        raise ArgumentError(f"{name}: value {host[y, x]:.9g} at ({x}, {y}) is not in [0, 1]", name, float(host[y, x]))
    quantised = np.rint(255. * host.astype(np.float64)) if host.dtype.kind == "f" else host
    if not quantised.any():
        raise ArgumentError(f"{name}: their sum is 0 when rounded to 0..255, so everything would match", name)


def reals(value: Any, name: str, shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
    """Finite numbers of any type, in an array of this shape on the host."""
    array = given(value, name)
    if array.host is None:
        raise ArgumentError(f"{name}: lies on CUDA device {array.device}, and is needed on the host", name)
    if array.shape != shape:
        raise ArgumentError(f"{name}: shape {array.shape}: {shape}, that of the image, is needed", name, array.shape)
    if array.host.dtype.kind not in "iuf" or not np.isfinite(array.host).all():
        raise ArgumentError(f"{name}: finite numbers are needed", name)
    return np.ascontiguousarray(array.host, np.float64)


def integers(value: Any, name: str, columns: int) -> npt.NDArray[np.int32]:
    """n x columns whole numbers from lists, tuples or arrays of any number type; fractions are rounded to the nearest, halves to even. Four columns are
    boxes, whose edges are rounded. An array that is as it should be is returned itself."""
    return integers_of(given(value, name), columns)


def integers_of(array: Given, columns: int, sides: Sequence[str] = ()) -> npt.NDArray[np.int32]:
    """integers() of an array that given() has returned. `sides` says what the numbers of a single row stand for."""
    name = array.name
    if array.host is None:
        array = _on_host(array.fetched(), name)
    assert array.host is not None
    host = array.host
    if array.dtype == "i4" and host.ndim == 2 and host.shape[1] == columns:
        return host
    if host.size == 0:
        return np.empty((0, columns), np.int32)
    if host.ndim == 3 and 1 in host.shape[:2]:
        host = host.reshape(-1, host.shape[2])
    if host.dtype.kind not in "iuf":
        raise TypeError(f"{name}: elements are {host.dtype}; numbers are needed")
    if host.ndim != 2 or host.shape[1] != columns:
        raise ArgumentError(f"{name}: shape {host.shape}; n x {columns} is needed", name, host.shape)
    with np.errstate(invalid="ignore") if host.dtype.kind == "f" else contextlib.nullcontext():
        whole = host
        if host.dtype.kind == "f":
            whole = np.rint(host)
            if columns == 4:
                whole[:, 2:] = np.rint(host[:, :2].astype(np.float64) + host[:, 2:]) - whole[:, :2]
        made = whole.astype(np.int32)
    bad = made != whole
    if bad.any():
        row, column = np.argwhere(bad)[0].tolist()
        where, side = (name, sides[column]) if sides else (f"{name}[{row}]", _SIDES[column])
        raise ArgumentError(f"{where}: {tuple(host[row].tolist())}: {side}: a whole number of 32 bits is needed", name, host[row].tolist())
    return made


_SIDES = ("x", "y", "width", "height")


def _row(value: Any, name: str, sides: Sequence[str]) -> list[int]:
    """One row of whole numbers, which stand for these."""
    array = given(value, name)
    host = array.host if array.host is not None else array.fetched()
    if host.size != len(sides):
        raise ArgumentError(f"{name}: shape {host.shape}: {'four' if len(sides) == 4 else 'two'} numbers {', '.join(sides)} are needed", name, host.shape)
    return [int(entry) for entry in integers_of(given(host.reshape(1, -1), name), len(sides), sides)[0]]


def box(value: Any, name: str) -> Box:
    """One box: x, y, width, height."""
    x, y, width, height = _row(value, name, _SIDES)
    return x, y, width, height


def size(value: Any, name: str) -> tuple[int, int]:
    """Width and height; one number stands for both."""
    if isinstance(value, (int, float, np.integer, np.floating)):
        side = number(value, name, whole=True)
        return side, side
    if value is None:
        raise TypeError(f"{name}: None: a number, or two numbers width, height, are needed")
    width, height = _row(value, name, _SIDES[2:])
    return width, height


def number(value: Any, name: str, whole: bool = False) -> Any:
    """A float, or an int of 32 bits; NaN, infinity and bool are refused by name."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name}: {shown(value)}: a number is needed")
    if not math.isfinite(value):
        raise ArgumentError(f"{name}: {shown(value)}: a finite number is needed", name, value)
    if not whole:
        return float(value)
    if int(value) != value:
        raise TypeError(f"{name}: {shown(value)}: a whole number is needed")
    if not -2**31 <= value < 2**31:
        raise ArgumentError(f"{name}: {shown(value)}: a whole number of 32 bits is needed", name, value)
    return int(value)


def flag(value: Any, name: str) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}: {shown(value)}: True or False is needed")
    return bool(value)


def file_name(value: Any, name: str) -> str:
    """A path as text."""
    try:
        path = os.fspath(value)
    except Exception:  # also what the object's own method raises
        raise TypeError(f"{name}: {type(value).__name__}: a path is needed") from None
    if not isinstance(path, str):
        path = os.fsdecode(path)
    if len(path) > 32767:
        raise ArgumentError(f"{name}: a text of {len(path)} characters, which begins with {path[:40]!r}, is no path; the contents of a file are bytes", name)
    if not path or "\0" in path:
        raise ArgumentError(f"{name}: {shown(path)} is no path", name, path)
    return path


def check_file(path: str, name: str) -> None:
    """Refuses a path from which nothing can be read; a pipe is read until its writer closes it."""
    if not os.path.exists(path):
        raise ArgumentError(f"{name}: there is no file {shown(path)}", name, path)
    if os.path.isdir(path):
        raise ArgumentError(f"{name}: {shown(path)} is a folder", name, path)
