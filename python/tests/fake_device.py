"""Two CUDA devices played by host memory: the paths of device arrays run, and are looked at, where there is no GPU.

Addresses, steps, capsules, streams and events are real or noted; the extension's classes work on the CPU behind their back.
"""
import collections
import contextlib
import ctypes
import gc
import types
from unittest import mock

import numpy as np

import cudatracking as ct
from cudatracking import _arrays, _devices, _memory, _results, _work

CUDA = ct.cv2.cuda
DEPTHS = [np.uint8, np.int8, np.uint16, np.int16, np.int32, np.float32, np.float64]
REAL = {name: getattr(CUDA, name) for name in ("CascadeClassifierEx", "QuickShift", "TrackerTLD", "MultiTrackerTLD", "TLDDetector", "FragmentMatcher", "TemplateFinder", "WindowGrid", "QuickShiftTiles")}


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
    tensor = _memory._Tensor.from_buffer(managed)
    sides = (ctypes.c_int64 * len(shape))(*shape)
    tensor.data, tensor.byte_offset, tensor.shape, tensor.ndim = pointer, byte_offset, sides, len(shape) if ndim is None else ndim
    steps = None
    if strides is not None:
        steps = tensor.strides = (ctypes.c_int64 * len(strides))(*strides)
    tensor.device.type = _memory.CUDA
    tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes = code, bits, lanes
    CAPSULES.append((managed, sides, steps))
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(ctypes.addressof(managed), b"dltensor", None)


class Owned:
    """Memory of a GpuMat: it goes with the last reference, as that of the extension does, and not when Python looks for cycles."""

    __slots__ = ()

    def __del__(self):
        COUNTS["cudaFree"] += 1


class Mat:
    """GpuMat: rows x columns x channels of host memory. What a GpuMat would allocate and free is counted."""

    def __init__(self, array=None, columns=None, kind=None, known=True):
        self.array, self.owned = None if columns else array, None
        if columns:
            self.create((array, columns, kind // 8 + 1), DEPTHS[kind % 8])
        elif array is not None and array.size and known:
            allocated(array)

    def create(self, shape, dtype):
        """GpuMat::create(): takes new memory unless it has such an array."""
        shape = tuple(shape) if len(shape) == 3 else (*shape, 1)
        if self.array is not None and (self._shape(), self.array.dtype) == (shape, dtype):
            return
        COUNTS["cudaMalloc"] += 1
        self.array, self.owned = allocated(np.empty(shape, dtype)), Owned()
        OWN.append((self.array.ctypes.data, self.array.nbytes))

    def upload(self, array, stream=None):
        note("upload", stream)
        self.create(array.shape, array.dtype)
        self.array[...] = array.reshape(self.array.shape)

    def download(self, stream=None):
        note("download", stream)
        return np.zeros(0) if self.array is None else np.array(self.array if self.channels() > 1 else self.array.reshape(self._shape()[:2]))

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
        assert event.captured == (self.pointer in CAPTURING), "CUDA refuses events from within and without a capture"
        note("wait", self, event.stream.pointer)

    def waitForCompletion(self):
        note("complete", self)


class Event:
    def __init__(self, flags=0):
        assert flags == CUDA.EVENT_DISABLE_TIMING
        self.stream, self.captured = None, False

    def record(self, stream):
        self.stream, self.captured = stream, stream.pointer in CAPTURING

    def waitForCompletion(self):
        assert not self.captured and STATE["mode"] == 2
        note("reached", self.stream)

    def queryIfComplete(self):
        assert not self.captured and STATE["mode"] == 2
        note("query", self.stream)
        return self.stream is None or self.stream.pointer not in BUSY


LOG = []
COUNTS = collections.Counter()  # calls of functions that wait for the device
OWN = []  # memory that the package or a library has allocated for it
BUSY = set()  # streams whose work the device has not executed
CAPTURING = set()  # streams that a graph captures
STATE = {"device": 0, "queries": 0, "results": [], "mode": 0, "tensors": 0}  # results: those of the next calls of pointer_attributes(), then 0


def note(what, stream=None, *more):
    LOG.append((what, stream.pointer if stream else 0, *more, STATE["device"]))


def exchange_mode(mode):
    before, STATE["mode"] = STATE["mode"], mode
    return before


def set_device(index):
    STATE["device"] = index


def view(rows, columns, kind, pointer, step):
    """createGpuMatFromCudaMemory(): a view, no copy."""
    dtype, channels = np.dtype(DEPTHS[kind % 8]), kind // 8 + 1
    if not any(start <= pointer < start + size for start, size in OWN):  # memory for results
        note("view", None, pointer, step)
    buffer = (ctypes.c_uint8 * (max(rows - 1, 0) * step + columns * channels * dtype.itemsize)).from_address(pointer)
    return Mat(np.ndarray((rows, columns, channels), dtype, buffer, 0, (step, channels * dtype.itemsize, dtype.itemsize)), known=False)


def of_tensor(value, depths, channels, rows, columns, device, stream):
    """createGpuMatFromTensor(), for tensors of the torch that is played here."""
    if type(value) is not Tensor or value.device_index != device or stream != (0 if DeviceArray.now == 1 else DeviceArray.now):
        return None
    array = value.array if value.array.ndim != 2 else np.lib.stride_tricks.as_strided(value.array, (*value.array.shape, 1), (*value.array.strides, value.array.itemsize))
    if array.ndim != 3 or not array.size or array.dtype.kind not in "iu" or array.dtype not in DEPTHS[:5] or (value.array.ndim == 3 and not channels >> array.shape[2] & 1):
        return None
    depth = DEPTHS.index(array.dtype)
    if not depths >> depth & 1 or any(wanted not in (0, side) for wanted, side in zip((rows, columns), array.shape)):
        return None
    if array.strides[1:] != (array.shape[2] * array.itemsize, array.itemsize) or array.strides[0] < array.strides[1] * array.shape[1]:
        return None
    STATE["tensors"] += 1
    return view(array.shape[0], array.shape[1], depth + 8 * (array.shape[2] - 1), array.ctypes.data, array.strides[0])


def match_tensors(matcher, frame, areas, outputs, device, stream, queue):
    pixels = of_tensor(frame, 1 << 0 | 1 << 2, 1 << 1 | 1 << 3 | 1 << 4, 0, 0, device, stream)
    where = areas if isinstance(areas, Mat) else of_tensor(areas, 1 << 4, 0, matcher.getFragmentCount(), 4, device, stream)
    if pixels is None or where is None:
        return False
    matcher.match(pixels, where, *outputs, **({"stream": queue} if queue else {}))
    return True


def plain(value):
    if isinstance(value, Native):
        return value.real
    if isinstance(value, Mat):
        return None if value.empty() else np.array(value.array)
    return [plain(entry) for entry in value] if isinstance(value, list) and any(isinstance(entry, Mat) for entry in value) else value


# The first of the arguments for results in device memory.
OUTPUTS = {"match": 2, "field": 5, "areas": 3, "scoreMap": 3, "predictAreas": 3, "getLabels": 0, "getDensity": 0, "getParents": 0, "getDistances": 0, "getLabelContourMask": 0,
           "segment": 1, "getMeanColor": 1, "getStatistics": 1, "detectAsync": 1, "updateAsync": 1, "detect": 1, "update": 1, "updateWithBoxes": 2}


def filled(mat, value):
    """A result of the CPU in a GpuMat, whose memory is kept if the result fits."""
    if value is None:
        return mat
    value = np.asarray(value)
    if mat.array is None or mat.array.size != value.size or mat.array.dtype != value.dtype:
        mat.create(np.atleast_2d(value).shape if value.ndim < 3 else value.shape, value.dtype)
    mat.array[...] = value.reshape(mat.array.shape)
    return mat


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
            if mats or stream or any(isinstance(value, Native) for value in given):
                note(name, stream)
            args, outputs = (args[:OUTPUTS[name]], args[OUTPUTS[name]:]) if name in OUTPUTS else (args, ())
            if outputs and isinstance(outputs[-1], np.ndarray):  # in memory of the host
                args, outputs = args + outputs, ()
            if name == "getStatistics" and args[0] is None:  # the overload for arrays of the host
                outputs = ()
            result = function(*[plain(value) for value in args], **{key: plain(value) for key, value in named.items()})
            if name in ("detectMultiScale", "detectMultiScale2", "detectMultiScale3", "addFragment", "add", "init"):
                return result
            if outputs or (mats and name in OUTPUTS and len(args) == OUTPUTS[name] and not isinstance(result, tuple)) or (mats and name in ("match", "detectAsync")):
                several = result if isinstance(result, tuple) else (result,)
                made = tuple(filled(mat, value) for mat, value in zip(outputs or [Mat() for _ in several], several))
                return made if isinstance(result, tuple) else made[0]
            return result
        return method


def without_collector(test):
    """Until the end of a test: calls refer to themselves, and memory that the collector frees while others are counted would be theirs."""
    gc.collect()
    gc.disable()
    test.addCleanup(gc.enable)


def patched():
    """A context in which there are two devices."""
    LOG.clear()
    ALLOCATIONS.clear()
    KEPT.clear()
    STATE.update(device=0, queries=0, results=[], tensors=0)
    for known in (COUNTS, OWN, BUSY, CAPTURING):
        known.clear()
    _devices.native_stream.cache_clear()
    stack = [mock.patch.object(_memory, "_driver", lambda: pointer_attributes), mock.patch.object(_results, "_POOL", _results.Pool()),
             mock.patch.object(_memory, "_capture_status", lambda stream: int(stream in CAPTURING)), mock.patch.object(_memory, "_exchange_mode", exchange_mode),
             mock.patch.object(_arrays, "mat_at", _arrays.mat_at.__wrapped__), mock.patch.object(_work, "views", _results.views.__wrapped__)]  # each use is noted
    stack += [mock.patch.object(CUDA, name, value) for name, value in (
        ("getCudaEnabledDeviceCount", lambda: 2), ("getDevice", lambda: STATE["device"]), ("setDevice", set_device), ("GpuMat", Mat),
        ("wrapStream", Stream), ("Event", Event), ("createGpuMatFromCudaMemory", view),
        ("createGpuMatFromTensor", of_tensor), ("matchTensors", match_tensors))]
    for name, real in REAL.items():
        others = {key: getattr(real, key) for key in ("Params", "warpFragment", "convertDetections") if hasattr(real, key)}
        makers = {key: lambda *args, make=getattr(real, key): Native(make(*map(plain, args))) for key in ("create", "forSuperpixels") if hasattr(real, key)}
        stack.append(mock.patch.object(CUDA, name, types.SimpleNamespace(**others, **makers)))
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


class Tensor(DeviceArray):
    """A tensor as torch has it."""

    is_cuda, layout, requires_grad = True, "strided", False
    __dlpack_c_exchange_api__ = None

    def is_neg(self):
        return False

    is_conj = is_neg

    def data_ptr(self):
        return self.array.ctypes.data

    def get_device(self):
        return self.device_index

    def element_size(self):
        return self.array.itemsize

    def stride(self):
        return tuple(step // self.array.itemsize for step in self.array.strides)

    def record_stream(self, stream):
        note("record_stream", stream)


Tensor.__module__ = "torch"


def empty(size, dtype, device):
    """torch.empty(): its memory is torch's own, so that neither cudaMalloc() nor cudaFree() is called."""
    note("torch.empty")
    made = Tensor(np.full(size, 0xA5, dtype), device[1])
    OWN.append((made.data_ptr(), size))
    return made


TORCH = types.SimpleNamespace(
    Tensor=Tensor, strided="strided", uint8=np.uint8, empty=empty, device=lambda kind, index: (kind, index),
    cuda=types.SimpleNamespace(current_stream=lambda device: types.SimpleNamespace(cuda_stream=DeviceArray.now), is_initialized=lambda: True,
                               ExternalStream=lambda pointer, device: Stream(pointer), default_stream=lambda device: Stream(0)))


class CupyStream:
    """A stream of CuPy, which is destroyed with its object."""

    present = None

    def __init__(self, pointer):
        self.ptr = pointer


CupyStream.present = CupyStream(0)


class CupyMemory:
    def __init__(self, size):
        note("cupy.alloc")
        self.array = allocated(np.full(size, 0xA5, np.uint8))
        self.ptr = self.array.ctypes.data
        OWN.append((self.ptr, size))


class CupyArray(Tensor):
    """An array of CuPy."""

    @property
    def device(self):
        return types.SimpleNamespace(id=self.device_index)

    @property
    def data(self):
        return types.SimpleNamespace(ptr=self.data_ptr())

    @property
    def strides(self):
        return self.array.strides


CupyArray.__module__ = "cupy"
CUPY = types.SimpleNamespace(ndarray=CupyArray, cuda=types.SimpleNamespace(
    get_current_stream=lambda: CupyStream.present, alloc=CupyMemory, Device=lambda index: contextlib.nullcontext()))


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
