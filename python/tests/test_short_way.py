"""Calls that are like the one before take a short way: nothing is ordered, uploaded or asked. Whatever is different takes the long one."""
import copy
import ctypes
import pickle
import sys
import unittest
from unittest import mock

import numpy as np

import cudatracking as ct
import fake_device
from calls import AREAS, REGIONS, parts
from cudatracking import _devices, _memory, _work
from fake_device import COUNTS, LOG, STATE, Tensor
from scenes import box, frame, texture


class Objects:
    """Objects of all classes, and calls of them that can be short once they were made."""

    def __init__(self, put, **named):
        self.put, self.image, self.areas = put, put(frame(1)), put(np.array(AREAS, np.int32))
        self.matcher = ct.FragmentMatcher("zncc", max_search_area=60, **named)
        self.matcher.cut(put(frame(0)), REGIONS)
        self.shift = ct.QuickShift(3, 8, **named)
        self.faces = ct.CascadeClassifier("frontalface_alt", min_neighbors=0, max_objects=64, **named)
        self.tracker, self.many, self.detector = ct.Tracker(**named), ct.MultiTracker(**named), ct.Detector(**named)
        for tracker in (self.tracker, self.detector):
            tracker.init(put(frame(0)), box(0))
        self.many.add(put(frame(0)), box(0))
        self.predicted = self.matcher.predict_areas(self.matcher.match(self.image, self.areas).locations, 5, (192, 144))
        image = self.image
        self.results = {
            "match": lambda **out: self.matcher.match(image, self.areas, **out),
            "match, whole frame": lambda **out: self.matcher.match(image, **out),
            "match, predicted areas": lambda **out: self.matcher.match(image, self.predicted, **out),
            "detect_async": lambda **out: self.faces.detect_async([image, image], **out),
            "Tracker.update_async": lambda **out: self.tracker.update_async(image, **out),
            "MultiTracker.update_async": lambda **out: self.many.update_async(image, **out),
            "Detector.detect_async": lambda **out: self.detector.detect_async(image, **out),
        }
        self.others = {
            "compute": lambda: self.shift.compute(image).number,
            "detect": lambda: self.faces.detect(image),
            "detectMultiScale3": lambda: self.faces.detectMultiScale3(image, outputRejectLevels=True),
            "Tracker.update": lambda: self.tracker.update(image),
        }


def values(name, result):
    if name in ("compute", "detect", "detectMultiScale3", "Tracker.update"):
        return [np.asarray(part) for part in result] if name == "detectMultiScale3" else [np.asarray(result, dtype=object if name == "Tracker.update" else None)]
    return [array.numpy() if isinstance(array, ct.DeviceArray) else array for _, array in parts("", result)]


def locked(array):
    array.flags.writeable = False
    return array


def long_way_refused():
    """Fails calls that do not take the short way; that of QuickShift.number is another call."""
    def refuse(work, worker, arrays, *more):
        assert not arrays, "the long way"
        return REAL(work, worker, arrays, *more)
    return mock.patch.object(_work.Work, "__init__", refuse)


REAL = _work.Work.__init__


@unittest.skipIf(int(np.__version__.split(".")[0]) < 2, "capsules of numpy 1, which play those of a device, have no strides")
class ShortWayTest(unittest.TestCase):
    def setUp(self):
        for patch in [*fake_device.patched(), mock.patch.dict(sys.modules, {"torch": fake_device.TORCH, "cupy": fake_device.CUPY})]:
            patch.start()
            self.addCleanup(patch.stop)
        self.addCleanup(_devices.native_stream.cache_clear)
        fake_device.without_collector(self)
        fake_device.DeviceArray.now = 0

    def same(self, name, ours, theirs):
        for left, right in zip(values(name, ours), values(name, theirs)):
            np.testing.assert_array_equal(left, right, name)

    def test_calls_like_the_last_one(self):
        made, expected = Objects(Tensor), Objects(np.array, device="cpu")
        for name, function in {**made.results, **made.others}.items():
            wanted = {**expected.results, **expected.others}[name]
            with self.subTest(call=name):
                self.same(name, function(), wanted())
                LOG.clear()
                COUNTS.clear()
                with long_way_refused():
                    result = function()
                self.same(name, result, wanted())
                self.assertEqual(dict(COUNTS), {})
                self.assertEqual([entry for entry in LOG if entry[0] in ("wait", "upload", "query")], [])

    def test_out_of_a_call_before(self):
        made, expected = Objects(Tensor), Objects(np.array, device="cpu")
        for name, function in made.results.items():
            with self.subTest(call=name):
                out = function()
                self.same(name, out, expected.results[name]())
                with long_way_refused():
                    written = function(out=out)
                for ours, theirs in zip(parts("", out), parts("", written)):
                    self.assertIs(ours[1], theirs[1])
                self.same(name, written, expected.results[name]())

    def test_another_stream(self):
        """Of torch, and of the call: ordered as ever, and then short again."""
        made = Objects(Tensor)
        for name, function in made.results.items():
            if name == "match, predicted areas":  # which are read on the stream where they were made
                continue
            with self.subTest(call=name):
                out = function()
                fake_device.DeviceArray.now = 4096
                LOG.clear()
                function()
                self.assertIn(("wait", 4096, 0, 0), LOG)
                with long_way_refused():
                    LOG.clear()
                    function()
                called = [entry for entry in LOG if entry[0] not in ("view", "torch.empty")]
                self.assertEqual([entry[1] for entry in called], [4096])
                LOG.clear()
                function(out=out)  # written on the null stream before
                self.assertIn(("wait", 4096, 0, 0), LOG)
                fake_device.DeviceArray.now = 0
                LOG.clear()
                function()
                self.assertIn(("wait", 0, 4096, 0), LOG)
        LOG.clear()
        made.matcher.match(made.image, made.areas, stream=8192)
        made.matcher.match(made.image, made.areas)
        called = [entry for entry in LOG if entry[0] in ("wait", "match")]
        self.assertEqual(called[0], ("wait", 8192, 0, 0))
        self.assertEqual(called[-2:], [("wait", 0, 8192, 0), ("match", 0, 0)])

    def test_tracker_update_is_on_the_null_stream(self):
        made = Objects(Tensor)
        made.tracker.update(made.image)
        fake_device.DeviceArray.now = 4096
        for _ in range(2):
            LOG.clear()
            made.tracker.update(made.image)
            self.assertIn(("wait", 0, 4096, 0), LOG)
        made.tracker.update_async(made.image)
        LOG.clear()
        made.tracker.update(made.image)
        self.assertIn(("wait", 0, 4096, 0), LOG)
        self.assertIn(("update", 0, 0), [entry[:3] for entry in LOG])

    def test_results_on_another_stream_than_torch(self):
        """Memory of torch is used on the stream of compute(), and torch waits for that; also when a result is written once more."""
        made, wait = Objects(Tensor), [("wait", 0, 4096, 0), ("wait", 4096, 0, 0)]
        made.shift.compute(made.image)
        made.shift.labels()
        fake_device.DeviceArray.now = 4096
        LOG.clear()
        labels = made.shift.labels()
        self.assertEqual([entry for entry in LOG if entry[0] == "wait"], wait)
        fake_device.DeviceArray.now = 0
        made.shift.labels()
        LOG.clear()
        made.shift.labels(out=labels)
        self.assertIn(wait[1], LOG)
        made.shift.labels(stream=8192)
        LOG.clear()
        made.shift.compute(made.image)
        self.assertIn(("wait", 0, 8192, 0), LOG)

    def test_arrays_that_others_used_on_another_stream(self):
        made, other = Objects(Tensor), Objects(Tensor)
        for matcher in (made.matcher, other.matcher):
            matcher.match(made.image, made.areas)
        out = made.matcher.match(made.image, made.areas)
        out.locations
        fake_device.DeviceArray.now = 4096
        for _ in range(2):
            other.matcher.match(made.image, made.areas)
        LOG.clear()
        other.matcher.match(made.image, made.predicted)  # made on the null stream
        self.assertIn(("wait", 4096, 0, 0), LOG)
        other.matcher.match(made.image, made.areas, out=out)
        fake_device.DeviceArray.now = 0
        made.matcher.match(made.image, made.areas)
        LOG.clear()
        made.matcher.match(made.image, made.areas, out=out)
        self.assertIn(("wait", 0, 4096, 0), LOG)

    def test_masks_and_noise(self):
        """They take the long way, after calls without them, too."""
        image, mask, noise = texture((200, 200), 1), np.zeros((200, 200), np.uint8), np.random.default_rng(1).normal(0, .1, (200, 200))
        mask[:20, :20] = 1
        for put, named in ((Tensor, {}), (np.array, {"device": "cpu"})):
            made = Objects(put, **named)
            for name, function in (("detect", lambda made, put: made.faces.detect(put(image), mask=put(mask))),
                                   ("detect_async", lambda made, put: made.faces.detect_async([put(image)], masks=[put(mask)])),
                                   ("compute", lambda made, put: made.shift.compute(put(image), mask=put(mask)).number)):
                made.results.get(name, made.others.get(name))()
                self.same(name, function(made, put), function(Objects(np.array, device="cpu"), np.array))
        self.assertGreater(len(made.faces.detect(image)), len(made.faces.detect(image, mask=mask)))
        self.assertNotEqual(made.shift.compute(image, noise=noise).number, made.shift.compute(image).number)

    def test_another_device(self):
        """The device of the object is the current one during the call, and the one before after it."""
        made = Objects(lambda array: Tensor(array, 1))
        for name, function in {**made.results, **made.others}.items():
            with self.subTest(call=name):
                function()
                STATE["device"] = 0
                with long_way_refused():
                    LOG.clear()
                    function()
                self.assertEqual({entry[-1] for entry in LOG if entry[0] not in ("view", "torch.empty")}, {1})
                self.assertEqual(STATE["device"], 0)
        with self.assertRaisesRegex(ct.ArgumentError, "^areas: lies on CUDA device 0, frame on 1"):
            made.matcher.match(made.image, Tensor(np.array(AREAS, np.int32)))

    def test_what_is_refused_is_refused_in_the_same_words(self):
        short, long = Objects(Tensor), Objects(Tensor)
        wrong = [(texture((60, 90), 1).astype(np.float64), REGIONS), (np.zeros((4, 4, 2), np.uint8), AREAS), (frame(1), np.array(AREAS[:1], np.int32)),
                 (frame(1), np.array(AREAS, np.int64)[:, :3]), (frame(1), np.array(AREAS, np.int32).reshape(-1))]
        for image, areas in wrong:
            said = []
            for made, before in ((short, True), (long, False)):
                if before:
                    made.matcher.match(made.image, made.areas)
                else:
                    made.matcher._place = None
                with self.assertRaises((ct.ArgumentError, TypeError)) as caught:
                    made.matcher.match(Tensor(image), areas if isinstance(areas, list) else Tensor(areas))
                said.append((type(caught.exception), str(caught.exception)))
            self.assertEqual(said[0], said[1])
        with self.assertRaisesRegex(TypeError, "^out: int"):
            short.matcher.match(short.image, short.areas, out=5)
        with self.assertRaisesRegex(ct.ArgumentError, "^areas: 1 given, one for each of 2 fragments is needed"):
            short.matcher.match(short.image, Tensor(np.array(AREAS[:1], np.int32)), out=short.matcher.match(short.image, short.areas))
        for function in (short.faces.detect, lambda image: short.faces.detect_async([image]), short.tracker.update, short.tracker.update_async,
                         short.many.update_async, short.detector.detect_async, short.shift.compute):
            function(short.image)
            with self.assertRaisesRegex(TypeError, r"^image(s\[0\])?: elements are float64; possible: uint8"):
                function(Tensor(frame(1) + .5))

    def test_out_of_the_host(self):
        """Arrays that fit are written; all others are refused, and stay as they were."""
        made = Objects(np.array, device="cpu")
        for name, function in made.results.items():
            wanted = [array for _, array in parts("", function())]
            mine = [np.full(array.shape, 7, array.dtype) for array in wanted]
            result = function(out=mine if len(mine) > 1 else mine[0])
            for (_, ours), own in zip(parts("", result), mine):
                self.assertIs(ours, own)
            if "update" not in name:
                for own, theirs in zip(mine, wanted):
                    np.testing.assert_array_equal(own, theirs, name)
            for words, change in (("shape", lambda array: np.full((*array.shape, 1), 7, array.dtype)), ("elements", lambda array: np.full(array.shape, 7, np.int16)),
                                  ("written", locked)):
                function()
                given = [np.full(array.shape, 7, array.dtype) for array in wanted]
                given[-1] = change(given[-1])
                with self.assertRaisesRegex((ValueError, TypeError), f"^out.*{words}"):
                    function(out=given if len(given) > 1 else given[0])
                self.assertEqual({value for array in given for value in array.reshape(-1).tolist()}, {7})

    def test_out_of_match_on_the_host(self):
        """Arrays of a call before come back themselves, and arrays that are no C arrays take results, too."""
        made = Objects(np.array, device="cpu")
        wanted = [array.copy() for _, array in parts("", made.matcher.match(made.image, AREAS))]
        out = made.matcher.match(frame(0), AREAS)
        self.assertIs(made.matcher.match(made.image, AREAS, out=out).locations, out.locations)
        spread = [np.full((2 * len(array), *array.shape[1:]), 7, array.dtype) for array in wanted]
        made.matcher.match(made.image, AREAS, out=[array[::2] for array in spread])
        for (_, own), large, array in zip(parts("", out), spread, wanted):
            np.testing.assert_array_equal(own, array)
            np.testing.assert_array_equal(large[::2], array)
            self.assertEqual(set(large[1::2].reshape(-1).tolist()), {7})

    def test_results_are_made_when_they_are_asked_for(self):
        made = Objects(Tensor)
        made.matcher.match(made.image, made.areas)
        with long_way_refused():
            found = made.matcher.match(made.image, made.areas)
        self.assertIs(found.locations, found.locations)
        self.assertFalse(hasattr(found, "other"))
        with self.assertRaisesRegex(AttributeError, "'Matches' object has no attribute 'other'"):
            found.other
        self.assertEqual(found._regions.tolist(), [list(region) for region in REGIONS])
        self.assertEqual((len(found), found[0].locations.tolist(), found.numpy().scores.shape), (2, [[33, 50], [20, 62]], (2, 2)))
        self.assertIn("refined=<cudatracking.DeviceArray 2x2x2 float32 on cuda:0>", repr(found))
        for function in (copy.copy, pickle.dumps):
            with self.subTest(function=function.__name__):
                again = made.matcher.match(made.image, made.areas)
                if function is pickle.dumps:
                    with self.assertRaisesRegex(TypeError, r"cannot be pickled; pickle its numpy\(\)"):
                        function(again)
                else:
                    self.assertIs(function(again).scores, again.scores)
        host = pickle.loads(pickle.dumps(found.numpy()))
        np.testing.assert_array_equal(host.refined, found.refined.numpy())

    def test_arrays_of_others_after_tensors(self):
        """Results lie on the host for images of the host, and in memory of the library of the image."""
        made = Objects(Tensor)
        for image, kind in ((frame(2), np.ndarray), (fake_device.CupyArray(frame(2)), "cupy.alloc"), (fake_device.Interface(frame(2)), None)):
            made.shift.compute(made.image)
            made.shift.compute(image)
            LOG.clear()
            labels = made.shift.labels()
            if isinstance(kind, type):
                self.assertIsInstance(labels, kind)
            else:
                self.assertEqual([entry[0] for entry in LOG if entry[0] in ("torch.empty", "cupy.alloc")], [kind] * bool(kind))
            np.testing.assert_array_equal(np.asarray(labels), ct.QuickShift(3, 8, device="cpu").compute(frame(2)).labels())

    def test_a_call_that_fails(self):
        """The device that was current before it is current again, and the next call works."""
        made = Objects(Tensor)
        made.shift.compute(made.image)
        with mock.patch.object(made.shift, "_native", mock.Mock(compute=mock.Mock(side_effect=ct.cv2.error("no")))), self.assertRaises(ct.error):
            made.shift.compute(made.image)
        self.assertEqual(STATE["device"], 0)
        self.same("compute", made.others["compute"](), Objects(np.array, device="cpu").others["compute"]())

    def test_predictions_end(self):
        """Start positions of the call before are not used again."""
        image, corners = Tensor(frame(1)), np.array([(0, 0), (140, 100)], np.int32)
        matcher, cpu = (ct.FragmentMatcher(search="three_step", device=device) for device in ("auto", "cpu"))
        matcher.cut(Tensor(frame(0)), REGIONS)
        cpu.cut(frame(0), REGIONS)
        expected = cpu.match(frame(1))
        self.assertFalse(np.array_equal(cpu.match(frame(1), predictions=corners).locations, expected.locations))
        matcher.match(image, predictions=Tensor(corners))
        for _ in range(2):
            self.same("match", matcher.match(image), expected)

    def test_areas_that_bound_the_work(self):
        matcher = ct.FragmentMatcher()
        matcher.cut(Tensor(frame(0)), REGIONS)
        image, areas = Tensor(frame(1)), Tensor(np.array(AREAS, np.int32))
        for _ in range(2):
            found = matcher.match(image, areas)
            self.assertEqual(matcher._native.getParams().maxSearchArea, (0, 0))
        predicted = matcher.predict_areas(found.locations, 5, (192, 144))
        with long_way_refused():
            matcher.match(image, predicted)
        self.assertEqual(matcher._native.getParams().maxSearchArea, (27, 34))
        predicted.pointer  # others can write to it from now on
        with long_way_refused():
            matcher.match(image, predicted)
        self.assertEqual(matcher._native.getParams().maxSearchArea, (0, 0))


_DESCRIBE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)
_STREAM = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))


class _Header(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("older", ctypes.c_void_p), ("allocate", ctypes.c_void_p), ("lend", ctypes.c_void_p),
                ("take", ctypes.c_void_p), ("describe", _DESCRIBE), ("stream", _STREAM)]


class Lent:
    """An array that its library lends by DLPack's functions for C."""

    now = 0

    def __init__(self, pointer, shape, strides=None, code=1, bits=8, lanes=1, device=0, kind=_memory.CUDA, offset=0):
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        self.strides = None if strides is None else (ctypes.c_int64 * len(shape))(*strides)
        self.members = pointer, code, bits, lanes, device, kind, offset

    @staticmethod
    def describe(array, address):
        if array.members[0] is None:
            return -1
        tensor = _memory._Tensor.from_address(address)
        tensor.data, tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes, tensor.device.index, tensor.device.type, tensor.byte_offset = array.members
        tensor.ndim, tensor.shape = len(array.shape), array.shape
        ctypes.c_void_p.from_address(ctypes.addressof(tensor) + _memory._Tensor.strides.offset).value = array.strides and ctypes.addressof(array.strides)
        return 0

    @staticmethod
    def stream(kind, device, pointer):
        pointer[0] = Lent.now
        return 0 if Lent.now != 666 else -1


def lent_by(major=1):
    table = _Header(major, 3, None, None, None, None, _DESCRIBE(Lent.describe), _STREAM(Lent.stream))
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return table, new(ctypes.addressof(table), b"dlpack_exchange_api", None)


class FromTensorTest(unittest.TestCase):
    """createGpuMatFromTensor() of the extension, which looks at no memory."""

    UNSIGNED, ALL = 1 << 0 | 1 << 2, 1 << 0 | 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4

    def setUp(self):
        self.table, Lent.__dlpack_c_exchange_api__ = lent_by()
        self.addCleanup(delattr, Lent, "__dlpack_c_exchange_api__")
        Lent.now = 0

    def made(self, array, depths=ALL, channels=1 << 1 | 1 << 3 | 1 << 4, rows=0, columns=0, device=0, stream=0):
        return ct.cv2.cuda.createGpuMatFromTensor(array, depths, channels, rows, columns, device, stream)

    def test_described(self):
        for array, size, kind, step in (
                (Lent(4096, (60, 90, 3)), (90, 60), 16, 270), (Lent(4096, (60, 90)), (90, 60), 0, 90), (Lent(4096, (60, 90, 1), (128, 1, 1)), (90, 60), 0, 128),
                (Lent(4096, (60, 90, 3), (300, 3, 1)), (90, 60), 16, 300), (Lent(4000, (60, 90, 4), (400, 4, 1), bits=16, offset=96), (90, 60), 26, 800),
                (Lent(4096, (7, 4), code=0, bits=32), (4, 7), 4, 16), (Lent(4096, (1, 4), (999, 1), code=0, bits=32), (4, 1), 4, 16),
                (Lent(4096, (3, 4), code=0), (4, 3), 1, 4), (Lent(4096, (3, 4), code=0, bits=16), (4, 3), 3, 8)):
            mat = self.made(array)
            self.assertEqual((mat.cudaPtr(), mat.size(), mat.type(), mat.step1() * mat.elemSize1()), (4096, size, kind, step))

    def test_streams_and_devices(self):
        array = Lent(4096, (60, 90), device=1)
        for now, stream, fits in ((0, 0, True), (1, 0, True), (4096, 4096, True), (2**63 + 8, 2**63 + 8, True), (4096, 0, False), (0, 4096, False), (2, 0, False), (666, 666, False)):
            Lent.now = now
            self.assertEqual(self.made(array, device=1, stream=stream) is not None, fits, (now, stream))
        Lent.now = 0
        self.assertIsNone(self.made(array, device=0))

    def test_others(self):
        good = (4096, (60, 90, 3))
        for array in (Lent(4096, (60, 90, 2)), Lent(4096, (60,)), Lent(4096, (2, 60, 90, 3)), Lent(4096, (0, 90, 3)), Lent(4096, (60, 0, 3)), Lent(4096, (60, 90, 0)),
                      Lent(4096, (60, 90, 600)), Lent(4096, (60, 90, 33)), Lent(4096, (60, 90, 2**32 + 3)), Lent(4096, (2**31, 90)), Lent(4096, (60, 2**31)), Lent(4096, (-1, 90)), Lent(*good, (270, 3, 2)),
                      Lent(*good, (270, 4, 1)), Lent(*good, (269, 3, 1)), Lent(*good, (-270, 3, 1)), Lent(*good, code=2, bits=32), Lent(*good, code=6), Lent(*good, bits=32),
                      Lent(*good, bits=64), Lent(*good, code=0, bits=64), Lent(*good, bits=4), Lent(*good, lanes=2), Lent(*good, kind=_memory.CPU), Lent(*good, kind=_memory.CUDA_HOST),
                      Lent(None, (60, 90)), Lent(0, (60, 90)), np.zeros((60, 90), np.uint8), None, 5, object(), ct.cv2.cuda.GpuMat()):
            self.assertIsNone(self.made(array))
        self.assertIsNone(self.made(Lent(4096, (60, 90), code=0), self.UNSIGNED))
        self.assertIsNone(self.made(Lent(4096, (60, 90, 3)), channels=0))
        table = Lent(4096, (7, 4), code=0, bits=32)
        self.assertEqual([self.made(table, rows=rows, columns=columns) is not None for rows, columns in ((7, 4), (7, 0), (6, 4), (7, 5))], [True, True, False, False])
        for wrong in ((), (table,), (table, "x", 0, 0, 0, 0, 0)):
            with self.assertRaises(TypeError):
                ct.cv2.cuda.createGpuMatFromTensor(*wrong)

    def test_other_tables(self):
        array = Lent(4096, (60, 90))
        for wrong in (None, 5, lent_by(2)[1]):
            Lent.__dlpack_c_exchange_api__ = wrong
            self.assertIsNone(self.made(array))
        self.table.describe = _DESCRIBE()
        self.table, Lent.__dlpack_c_exchange_api__ = lent_by()
        self.assertIsNotNone(self.made(array))
        self.table.describe = _DESCRIBE()  # null
        self.assertIsNone(self.made(array))

    def test_match_tensors(self):
        """What does not fit is not searched; what is no argument at all is refused."""
        cuda = ct.cv2.cuda
        matcher, mats = ct.FragmentMatcher(device="cpu"), (cuda.GpuMat(),) * 5
        matcher.cut(frame(0), REGIONS)
        good, areas = Lent(4096, (144, 192, 3)), Lent(4096, (2, 4), code=0, bits=32)
        for image, where, device, stream in ((Lent(4096, (144, 192, 2)), areas, 0, 0), (good, Lent(4096, (3, 4), code=0, bits=32), 0, 0), (good, Lent(4096, (2, 4)), 0, 0),
                                             (good, Lent(4096, (2, 4, 1), code=0, bits=32), 0, 0), (good, areas, 1, 0), (good, areas, 0, 4096), (good, None, 0, 0), (None, areas, 0, 0),
                                             (None, cuda.GpuMat(), 0, 0)):
            self.assertIs(cuda.matchTensors(matcher._native, image, where, mats, device, stream, None), False)
        empty = ct.FragmentMatcher(device="cpu")
        self.assertIs(cuda.matchTensors(empty._native, good, Lent(4096, (0, 4), code=0, bits=32), mats, 0, 0, None), False)
        for wrong in ((None, good, areas, mats, 0, 0, None), (matcher._native, good, areas, mats[:4], 0, 0, None), (matcher._native, good, areas, list(mats), 0, 0, None),
                      (matcher._native, good, areas, (None, *mats[:4]), 0, 0, None), (matcher._native, good, areas, mats, 0, 0, 5), (matcher._native, good)):
            with self.assertRaises(TypeError):
                cuda.matchTensors(*wrong)


if __name__ == "__main__":
    unittest.main()
