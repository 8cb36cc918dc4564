"""Two CUDA devices played by host memory: the paths of device arrays run, and are looked at, where there is no GPU.

Addresses, steps, capsules, streams and events are real or noted; the extension's classes work on the CPU behind their back.
"""
import ctypes
import types
from unittest import mock

import numpy as np

import cudatracking as ct
from cudatracking import _devices, _dlpack, _memory

CUDA = ct.cv2.cuda
DEPTHS = [np.uint8, np.int8, np.uint16, np.int16, np.int32, np.float32, np.float64]
REAL = {name: getattr(CUDA, name) for name in ("CascadeClassifierEx", "QuickShift", "TrackerTLD", "MultiTrackerTLD", "TLDDetector", "FragmentMatcher")}


ALLOCATIONS = []  # (memory type, device, address, bytes), the latest last; memory is never given back, so that addresses stay theirs
KEPT, CAPSULES = [], []


def allocated(array, device=None, kind=2):
    """Makes the memory of an array known to the driver that is played here; kinds are those of CUmemorytype."""
    whole = array
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    start, end = np.lib.array_utils.byte_bounds(whole)
    KEPT.append(whole)
    ALLOCATIONS.append((kind, STATE["device"] if device is None else device, start, end - start))
    return array


def pointer_attributes(count, names, values, address):
    """cuPointerGetAttributes(): zeros for an address that is not known, and no error."""
    STATE["queries"] += 1
    failure = STATE["results"].pop(0) if STATE["results"] else 0
    if failure:
        return failure
    known = [entry for entry in ALLOCATIONS if entry[2] <= address < entry[2] + entry[3]]
    kind, device, start, size = known[-1] if known else (0, -2, 0, 0)
    for name, value in zip(names[:count], values[:count]):
        what, wanted = {2: (ctypes.c_uint, kind), 9: (ctypes.c_int, device), 11: (ctypes.c_uint64, start), 12: (ctypes.c_size_t, size)}[name]
        what.from_address(value).value = wanted
    return 0


def capsule(pointer, shape, strides=None, code=1, bits=8, lanes=1, byte_offset=0, ndim=None):
    """A DLPack capsule for any address; strides are in elements. The structures it points to are never given back."""
    managed = (ctypes.c_uint8 * 256)()  # DLManagedTensor: the tensor, then null for its context and deleter
    tensor = _dlpack._Tensor.from_buffer(managed)
    sides = (ctypes.c_int64 * len(shape))(*shape)
    tensor.data, tensor.byte_offset, tensor.shape, tensor.ndim = pointer, byte_offset, sides, len(shape) if ndim is None else ndim
    steps = None
    if strides is not None:
        steps = tensor.strides = (ctypes.c_int64 * len(strides))(*strides)
    tensor.device.type = _dlpack.CUDA
    tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes = code, bits, lanes
    CAPSULES.append((managed, sides, steps))
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(ctypes.addressof(managed), b"dltensor", None)


class Mat:
    """GpuMat: rows x columns x channels of host memory."""

    def __init__(self, array=None, keep=None, known=True):
        self.array = array
        self.keep = keep
        if array is not None and array.size and known:
            allocated(array)

    def upload(self, array, stream=None):
        note("upload", stream)
        self.array = allocated(np.array(array))

    def download(self, stream=None):
        note("download", stream)
        return np.zeros(0) if self.array is None else np.array(self.array)

    def _shape(self):
        shape = (0, 0, 1) if self.array is None else self.array.shape
        return shape if len(shape) == 3 else (*shape, 1)

    def empty(self):
        return self.array is None or not self.array.size

    def size(self):
        return self._shape()[1], self._shape()[0]

    def channels(self):
        return self._shape()[2]

    def depth(self):
        return 0 if self.array is None else [np.dtype(kind) for kind in DEPTHS].index(self.array.dtype)

    def type(self):
        return self.depth() + 8 * (self.channels() - 1)

    def elemSize1(self):
        return 1 if self.array is None else self.array.itemsize

    def step1(self):
        return self.array.strides[0] // self.array.itemsize

    def cudaPtr(self):
        return 0 if self.array is None else self.array.ctypes.data

    def __dlpack__(self):
        array = np.zeros(self._shape(), np.uint8) if self.array is None else self.array.reshape(self._shape())
        return capsule(array.ctypes.data, array.shape, [step // array.itemsize for step in array.strides], "iuf".index(array.dtype.kind), 8 * array.itemsize)


class Stream:
    def __init__(self, pointer):
        self.pointer = pointer

    def waitEvent(self, event):
        note("wait", self, event.stream.pointer)

    def waitForCompletion(self):
        note("complete", self)


class Event:
    def record(self, stream):
        self.stream = stream


LOG = []
STATE = {"device": 0, "queries": 0, "results": []}  # results: those of the next calls of pointer_attributes(), then 0


def note(what, stream=None, *more):
    LOG.append((what, stream.pointer if stream else 0, *more, STATE["device"]))


def set_device(index):
    STATE["device"] = index


def view(rows, columns, kind, pointer, step):
    """createGpuMatFromCudaMemory(): a view, no copy."""
    dtype, channels = np.dtype(DEPTHS[kind % 8]), kind // 8 + 1
    note("view", None, pointer, step)
    buffer = (ctypes.c_uint8 * (max(rows - 1, 0) * step + columns * channels * dtype.itemsize)).from_address(pointer)
    return Mat(np.ndarray((rows, columns, channels), dtype, buffer, 0, (step, channels * dtype.itemsize, dtype.itemsize)), known=False)


def plain(value):
    if isinstance(value, Mat):
        return None if value.empty() else np.array(value.array)
    return [plain(entry) for entry in value] if isinstance(value, list) and any(isinstance(entry, Mat) for entry in value) else value


class Native:
    """An object of the extension; what it is given as Mat comes back as Mat."""

    def __init__(self, real):
        self.real = real

    def __getattr__(self, name):
        function = getattr(self.real, name)

        def method(*args, **named):
            stream = named.pop("stream", None)
            given = [*args, *named.values()]
            mats = any(isinstance(value, Mat) or (isinstance(value, list) and any(isinstance(entry, Mat) for entry in value)) for value in given)
            asked = [value for value in given if isinstance(value, Mat) and value.array is None]
            if mats or stream:
                note(name, stream)
            # An empty Mat asks for the result in device memory; the extension on the CPU makes its own.
            result = function(*[plain(value) for value in args], **{key: plain(value) for key, value in named.items()})
            if name in ("detectMultiScale", "addFragment", "add", "init"):
                return result
            wrap = lambda value: Mat(np.atleast_2d(value) if value.ndim < 2 else value) if isinstance(value, np.ndarray) and value.ndim else value  # noqa: E731
            if mats or asked:
                return tuple(wrap(value) for value in result) if isinstance(result, tuple) else wrap(result)
            return result
        return method


def patched():
    """A context in which there are two devices."""
    LOG.clear()
    ALLOCATIONS.clear()
    KEPT.clear()
    STATE.update(device=0, queries=0, results=[])
    _devices.native_stream.cache_clear()
    stack = [mock.patch.object(_memory, "_driver", lambda: pointer_attributes)]
    stack += [mock.patch.object(CUDA, name, value) for name, value in (
        ("getCudaEnabledDeviceCount", lambda: 2), ("getDevice", lambda: STATE["device"]), ("setDevice", set_device), ("GpuMat", Mat),
        ("wrapStream", Stream), ("Event", Event), ("createGpuMatFromCudaMemory", view))]
    for name, real in REAL.items():
        others = {key: getattr(real, key) for key in ("Params", "warpFragment", "convertDetections") if hasattr(real, key)}
        stack.append(mock.patch.object(CUDA, name, types.SimpleNamespace(
            **{**others, "create": lambda *args, real=real: Native(real.create(*args))})))
    return stack


class DeviceArray:
    """An array of another library in device memory; its library's present stream is `now`."""

    now = 0

    def __init__(self, array, device=0):
        self.array, self.device_index = array, device
        allocated(array, device)
        self.shape, self.dtype = array.shape, array.dtype

    @property
    def device(self):
        return f"cuda:{self.device_index}"

    def __dlpack_device__(self):
        return 2, self.device_index

    def __dlpack__(self, *, stream):
        LOG.append(("produce", stream, STATE["device"]))
        return self.array.__dlpack__()


DeviceArray.__module__ = "torch"
TORCH = types.SimpleNamespace(cuda=types.SimpleNamespace(current_stream=lambda device: types.SimpleNamespace(cuda_stream=DeviceArray.now)))


class Described:
    """Any __cuda_array_interface__."""

    def __init__(self, pointer, shape, typestr="|u1", strides=None):
        self.__cuda_array_interface__ = {"shape": shape, "strides": strides, "typestr": typestr, "data": (pointer, False), "version": 3}


class Interface:
    """An array with nothing but __cuda_array_interface__."""

    def __init__(self, array, stream=None, device=0):
        self.array = allocated(array, device)
        self.__cuda_array_interface__ = {"shape": array.shape, "strides": array.strides, "typestr": array.dtype.str, "data": (array.ctypes.data, False),
                                         "version": 3, "stream": stream}
