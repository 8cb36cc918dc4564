"""Child of test_wrong_arguments.py: wrong_arguments.py --list | --crash | [--fake] NAME. Each call is named on stderr before it is made.

With --fake the devices are those of fake_device.py.
"""
import ctypes
import enum
import inspect
import os
import pathlib
import re
import sys
import tempfile
import warnings

import numpy as np

import cudatracking as ct
import fake_device

ALLOWED = (ct.error, ValueError, TypeError)
ALSO = {"__getitem__": IndexError, "__dlpack__": BufferError}  # as their protocols say
FAKE = "--fake" in sys.argv[1:2]
if FAKE:
    for patch in fake_device.patched():
        patch.start()
DEVICES = FAKE or bool(ct.devices())
# Types, classes, methods and arguments of C++, which nobody has written who uses the package. Paths are no names.
CPP = re.compile(r"\bCV_\w+|\b(?:Gpu)?Mat\b|\bCascadeClassifierEx\b|TrackerTLD\b|\bTLDDetector\b|\w::\w|\bRect\b|(?<![\w./'\"-])[a-z]+[A-Z]\w*|cv2\.cuda\.")
PARSE_ERROR = -212  # its messages quote files, which have names of C++
SKIPPED = {"cv2", "__version__", "TRACKS", "error", "ArgumentError"}  # low-level module, data, exceptions


def scene(step=0):
    """A smooth texture with a finer patch at (20 + step, 16)."""
    noise = np.random.RandomState(1).randint(0, 256, (72, 96), dtype=np.uint8)
    image = ct.cv2.normalize(ct.cv2.GaussianBlur(noise, (0, 0), 4.), None, 0, 255, ct.cv2.NORM_MINMAX)
    patch = ct.cv2.normalize(ct.cv2.GaussianBlur(noise[:32, :32].copy(), (0, 0), 1.5), None, 0, 255, ct.cv2.NORM_MINMAX)
    image[16:48, 20 + step:52 + step] = patch
    return image


IMAGE, BOX = scene(), (20, 16, 32, 32)
KEPT = []  # memory to which wrong values point


class Raises:
    def __array__(self, *_):
        raise RuntimeError("no")

    __dlpack_device__ = __len__ = __fspath__ = __array__


class Capsule:
    def __init__(self, device):
        self.device, self.shape, self.dtype = device, (72, 96), "uint8"

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **_):
        return object()


class HandMade(Capsule):
    """An object whose capsule holds what the object says, at any address."""

    def __init__(self, address, shape=(72, 96)):
        super().__init__((2, 0))
        self.address, self.shape = address, shape

    def __dlpack__(self, **_):
        return fake_device.capsule(self.address, self.shape)


class Interface:
    def __init__(self, value):
        self.__cuda_array_interface__ = value


def on_a_device():
    """Arrays that begin in device memory and reach beyond their allocation; none without a device."""
    if not DEVICES:
        return []
    mat = ct.cv2.cuda.GpuMat()
    mat.upload(IMAGE)
    KEPT.append(mat)
    far = {"shape": (2**20, 2**15), "typestr": "|u1", "data": (mat.cudaPtr(), False), "version": 3}
    return [Interface(far), Interface({**far, "shape": (72, 96), "strides": (2**40, 1)}), HandMade(mat.cudaPtr(), (2**20, 2**15)),
            Interface({**far, "shape": (9, 4), "typestr": "<f4", "data": (mat.cudaPtr() + 1, False)})]


def wrong_values():
    endless = []
    endless.append(endless)
    image = IMAGE
    read_only = image.copy()
    read_only.flags.writeable = False
    good = {"shape": (72, 96), "typestr": "|u1", "data": (4096, False), "version": 3}
    return [
        None, True, -1, 0, 1, 3, 2**31, 2**40, -2**70, 1.5, -0.5, 1e300, float("nan"), float("inf"), 1j, "", "x", "\0", b"", b"x", "frontalface", Ellipsis,
        [], [[]], [1, 2], [1, 2, 3, 4], [(1, 2, 3, 4)], [(1, 2, 3, float("nan"))], [(2**40, 0, 1, 1)], [1, [2]], endless, {}, {"a": 1}, {1}, (), (0, 0, 0, 0), (1, 2, -3, 4),
        (0, 0, 2**31 - 1, 2**31 - 1), (-2**31, -2**31, 40, 40), object(), lambda: 0, (i for i in range(3)), range(4), slice(1), type, np,
        Raises(), Interface(good), Interface({**good, "data": (0, False)}), Interface({**good, "data": (-1, False)}), Interface({**good, "data": (2**64, False)}),
        Interface({**good, "data": (image.ctypes.data, False)}), Interface({**good, "shape": (1, 4), "typestr": "<i4"}), HandMade(4096), HandMade(image.ctypes.data),
        *ON_A_DEVICE, Capsule((2, 0)), Capsule((99, 0)), Capsule((1, 0)), Capsule("no"), Capsule((2, 77)), Interface(None), Interface({}), Interface("x"),
        Interface({**good, "shape": (-1, 5)}), Interface({**good, "typestr": "<f8"}), Interface({**good, "strides": (1, 7)}), Interface({**good, "data": None}),
        np.zeros(()), np.zeros(0), np.zeros((0, 4)), np.zeros((0, 0), np.uint8), np.zeros((5, 0, 3), np.uint8), np.zeros((2, 2, 2, 2), np.uint8), np.zeros((72, 96, 2), np.uint8),
        np.zeros((72, 96, 5), np.uint8), np.zeros((72, 96), np.uint16), np.zeros((72, 96), np.int64), np.zeros((72, 96)), np.full((72, 96), np.nan), np.zeros((72, 96), complex),
        np.zeros((72, 96), object), np.zeros((72, 96), "S1"), np.zeros(4, [("a", int)]), np.zeros((72, 96), np.float16), np.zeros((72, 96), ">u2"), np.zeros((1, 1), np.uint8),
        np.zeros((72, 96), bool), image[::-1, ::-2], image.T, image[:, :1], read_only, np.broadcast_to(np.uint8(3), (72, 96)), np.zeros((3, 2**20), np.uint8),
        [image, image], [image, None], [image, 3], [image, image[:5]], (image, image.astype(float)), np.array([BOX, BOX]), np.array([[1e20, 0, 1, 1]]), np.array(BOX, np.uint64) + 2**63,
        np.datetime64("2020-01-01"), np.array(["2020"], "M8[Y]"), "auto", "cuda", "cuda:9", "cuda:-1", "cpu", "sad", "zncc", "full", "strict", pathlib.Path("/"), pathlib.Path("/nowhere/x.xml"),
        pathlib.Path("/dev/zero"), "/dev/zero", "/dev/stdin", os.path.join(tempfile.gettempdir(), "x.xml"), ct.State.LOST, ct.TLDParams(), np.ma.masked_array(image, image > 3),
        memoryview(b"abc"), bytearray(b"<?xml"), b"<opencv_storage>" * 3, ct.cv2.cuda.GpuMat(),
    ]


ON_A_DEVICE = on_a_device()

# Right values by the parameter's name, so that one wrong one is looked at alone.
RIGHT = {
    "image": IMAGE, "frame": IMAGE, "template": IMAGE[16:30, 20:34], "images": [IMAGE], "templates": [IMAGE[16:30, 20:34]], "box": BOX, "regions": [BOX], "area": (0, 0, 90, 70),
    "areas": [(0, 0, 90, 70)], "cascade": "lbp_silverware", "tau": 3., "number": 5, "index": 0, "id": 0, "value": 1, "path": "/nowhere/x.xml", "locations": np.array([[3, 4]]),
    "boxes": [BOX], "radius": 3, "frame_size": (96, 72), "angle": 10., "scale": 1.1, "name": "frontalface_alt", "image_size": (96, 72), "message": "x", "positive": True,
    "shape": (72, 96), "size": 16, "step": 8, "reach": 4, "grid": ct.windows((32, 32), 32, 1, 4),
}


def tracked(cls):
    made = cls(device="cpu")
    made.init(IMAGE, BOX)
    return made


def several():
    made = ct.MultiTracker(device="cpu")
    made.add(IMAGE, BOX)
    return made


def computed():
    return ct.QuickShift(3, 6, device="cpu").compute(IMAGE)


def matcher():
    made = ct.FragmentMatcher()
    made.cut(IMAGE, [BOX])
    return made


def matches():
    return matcher().match(scene(1))


def array():
    # In the public API it only comes from a device; here around an empty matrix.
    return ct.DeviceArray(ct.cv2.cuda.GpuMat(), 0, None, (0, 3), (3, 1))


INSTANCES = {
    "CascadeClassifier": [lambda: ct.CascadeClassifier("lbp_silverware")],
    "QuickShift": [ct.QuickShift, computed],
    "Tracker": [ct.Tracker, lambda: tracked(ct.Tracker)],
    "Detector": [ct.Detector, lambda: tracked(ct.Detector)],
    "MultiTracker": [ct.MultiTracker, several],
    "FragmentMatcher": [ct.FragmentMatcher, matcher],
    "TemplateFinder": [lambda: ct.TemplateFinder(IMAGE[16:30, 20:34], device="cpu")],
    "Matches": [matches],
    "Windows": [lambda: ct.windows((72, 96), 16, 8, 4)],
    "DeviceArray": [array],
    "TLDParams": [ct.TLDParams],
}


class Calls:
    def __init__(self):
        self.count, self.bad = 0, []

    def make(self, words, function):
        print(words, file=sys.stderr)
        self.count += 1
        try:
            function()
        except ALLOWED as raised:
            if not str(raised).strip():
                self.bad.append(f"{words}: no message")
            foreign = CPP.search(str(raised))
            if foreign and foreign.group() not in words and getattr(raised, "code", None) != PARSE_ERROR:
                self.bad.append(f"{words}: {foreign.group()!r} is C++'s: {raised}")
        except BaseException as raised:
            if isinstance(raised, tuple(kind for name, kind in ALSO.items() if name in words)):
                return
            self.bad.append(f"{words}: {type(raised).__name__}: {raised}")


def shown(value):
    try:
        return f"{type(value).__name__} {str(value)[:60]!r}"
    except Exception:
        return type(value).__name__


def parameters(function):
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p for p in found if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]


def attack(calls, words, fresh):
    """fresh() gives the function; each parameter gets each wrong value, the others right ones."""
    function = fresh()
    needed = [p for p in parameters(function) if p.default is p.empty]
    right = {p.name: RIGHT.get(p.name, 1) for p in needed}
    calls.make(f"{words}(right)", lambda: function(**right))
    for count in range(6):
        calls.make(f"{words}({count} None)", lambda: fresh()(*[None] * count))
    calls.make(f"{words}(unknown=1)", lambda: fresh()(**right, unknown_argument=1))
    for parameter in parameters(function):
        for value in wrong_values():
            if DEVICES and parameter.name == "stream" and isinstance(value, int) and value > 2:
                continue
            calls.make(f"{words}({parameter.name}={shown(value)})", lambda: fresh()(**{**right, parameter.name: value}))


def attack_instance(calls, name, make):
    cls = type(make())
    for member in sorted(set(dir(cls)) - set(dir(object)) | {"__repr__", "__str__"}):
        attribute = inspect.getattr_static(cls, member)
        words = f"{name}.{member}"
        if isinstance(attribute, property):
            calls.make(words, lambda: getattr(make(), member))
            if attribute.fset:
                for value in wrong_values():
                    calls.make(f"{words} = {shown(value)}", lambda: setattr(make(), member, value))
        elif member.startswith("_") and member not in ("__repr__", "__str__", "__len__", "__iter__", "__getitem__", "__array__", "__dlpack__", "__dlpack_device__"):
            continue
        elif callable(getattr(make(), member, None)):
            one = make()  # used again and again: calls in any order
            attack(calls, words, lambda: getattr(one, member))


def main():
    warnings.simplefilter("ignore")
    names = [name for name in ct.__all__ if name not in SKIPPED]
    if sys.argv[1] == "--list":
        print(*names)
        return
    if sys.argv[1] == "--crash":
        ctypes.string_at(0)
    calls, name = Calls(), sys.argv[-1]
    public = getattr(ct, name)
    sys.stdin.close()
    os.chdir(tempfile.mkdtemp())
    if not (isinstance(public, type) and (issubclass(public, (tuple, enum.Enum)) or name in ("DeviceArray", "Matches", "Windows", "Device", "BuildInfo", "TLDParams"))):
        attack(calls, name, lambda: public)
    if name == "TLDParams":
        for field in public.__dataclass_fields__:
            for value in wrong_values():
                calls.make(f"Tracker({field}={shown(value)})", lambda: ct.Tracker(**{field: value}))
    for make in INSTANCES.get(name, []):
        attack_instance(calls, name, make)
    for line in calls.bad[:40]:
        print(line)
    print(calls.count)
    sys.exit(1 if calls.bad else 0)


if __name__ == "__main__":
    main()
