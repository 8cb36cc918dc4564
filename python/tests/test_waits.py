"""In a loop no call allocates or frees device memory, waits for other streams, or leaves what a CUDA graph can capture. Results are written to `out`."""
import gc
import importlib
import sys
import threading
import unittest
from unittest import mock

import numpy as np

import cudatracking as ct
import fake_device
from calls import AREAS, OTHERS, Calls, parts
from cudatracking import _devices, _results
from fake_device import BUSY, CAPTURING, COUNTS, LOG, CupyArray, DeviceArray, Interface, Mat, Tensor
from scenes import OnDevice, box, frame, needs_device


def placed(put, name, array):
    """An array for a result; a GpuMat has two axes at least."""
    if put is not Mat and not isinstance(getattr(put, "__self__", None), Mats):
        return put(array)
    rows = {"Tracker.update_async": (1, -1), "FragmentMatcher.predict_areas": (len(array), 1, -1)}.get(name, (len(array), -1) if array.ndim == 1 else array.shape)
    return put(array.reshape(rows))


def arrays(result):
    return [array for _, array in parts("", result)]


class CoverageTest(unittest.TestCase):
    def test_all_methods_are_known(self):
        """A new method is in calls.py, or one of those that do not work on arrays of a device."""
        made = Calls(np.array, device="cpu")
        for name, others in OTHERS.items():
            public = {member for member in dir(getattr(ct, name)) if not member.startswith("_")}
            known = {call.partition(".")[2].partition(",")[0] for call in (*made.queued, *made.waiting) if call.partition(".")[0] == name}
            self.assertEqual(public, others | known)
            self.assertEqual(others & known, set())


@unittest.skipIf(int(np.__version__.split(".")[0]) < 2, "capsules of numpy 1, which play those of a device, have no strides")
class FakeWaitsTest(unittest.TestCase):
    """With host memory in place of a device's."""

    KINDS = (DeviceArray, Tensor, CupyArray, Interface, Mat)

    def setUp(self):
        for patch in [*fake_device.patched(), mock.patch.dict(sys.modules, {"torch": fake_device.TORCH, "cupy": fake_device.CUPY})]:
            patch.start()
            self.addCleanup(patch.stop)
        self.addCleanup(_devices.native_stream.cache_clear)
        fake_device.without_collector(self)
        DeviceArray.now = 0

    def test_nothing_is_allocated_or_freed_in_a_loop(self):
        for kind in (*self.KINDS, np.array):
            made = Calls(kind, **({"device": "cuda"} if kind is np.array else {}))
            for name, function in {**made.queued, **made.waiting}.items():
                with self.subTest(kind=kind.__name__, call=name):
                    for _ in range(2):
                        function()
                    gc.collect()
                    COUNTS.clear()
                    for _ in range(3):
                        function()
                    gc.collect()
                    self.assertEqual(dict(COUNTS), {})

    def test_a_loop_that_keeps_results_for_a_while(self):
        """Three results are alive at a time; memory of the first is used again."""
        for kind in self.KINDS:
            made = Calls(kind)
            for name, function in made.results.items():
                held = [function(), function(), function()]
                COUNTS.clear()
                for _ in range(4):
                    held.pop(0)
                    held.append(function())
                self.assertEqual(dict(COUNTS), {}, (kind, name))
                pointers = [array.pointer for result in held for array in arrays(result)]
                self.assertEqual(len(set(pointers)), len(pointers))

    def test_results_come_from_the_library_of_the_image(self):
        for kind, allocation in ((DeviceArray, "torch.empty"), (Tensor, "torch.empty"), (CupyArray, "cupy.alloc"), (Interface, None), (Mat, None)):
            made = Calls(kind)
            for name, function in made.results.items():
                LOG.clear()
                result = function()
                self.assertEqual([entry[0] for entry in LOG if entry[0] in ("torch.empty", "cupy.alloc")], [allocation] * bool(allocation), (kind, name))
                self.assertTrue(all(isinstance(array, ct.DeviceArray) for array in arrays(result)))

    def test_results_are_those_of_the_host(self):
        expected = Calls(np.array, device="cpu").members()
        for kind in self.KINDS:
            for name, ours in Calls(kind).members().items():
                for part, theirs in expected[name].items():
                    self.assertEqual((ours[part].shape, ours[part].dtype, ours[part].strides), (theirs.shape, theirs.dtype, np.array(theirs).strides), (name, part))
                    np.testing.assert_array_equal(ours[part].numpy(), theirs, f"{name} {part}")

    def test_memory_is_used_again_in_order(self):
        """On the same stream at once; on another one when the device has executed what was queued. The stream waits on the device in any case."""
        shift = ct.QuickShift(3, 8).compute(Interface(frame(0)), stream=4096)
        first = shift.labels().pointer
        self.assertEqual(shift.labels().pointer, first)
        BUSY.add(4096)
        LOG.clear()
        self.assertEqual(shift.labels().pointer, first)
        self.assertIn(("wait", 4096, 4096, 0), LOG)
        self.assertNotEqual(shift.labels(stream=8192).pointer, first)
        BUSY.clear()
        shift.labels()
        self.assertIn(shift.labels(stream=12288).pointer, (first, shift.labels(stream=8192).pointer))

    def test_memory_that_another_library_uses(self):
        """It is used again when that library's stream is done, too: the one that asked for the capsule."""
        shift = ct.QuickShift(3, 8).compute(Interface(frame(0)))
        labels = shift.labels()
        pointer = labels.pointer
        capsule = labels.__dlpack__(stream=4096)
        BUSY.add(4096)
        del labels, capsule
        self.assertNotEqual(shift.labels().pointer, pointer)
        BUSY.clear()
        others = shift.labels()
        self.assertEqual({others.pointer, shift.labels().pointer} & {pointer}, {pointer})
        del others
        DeviceArray.now = 4096
        labels = shift.labels()
        pointer = labels.pointer
        labels.__cuda_array_interface__
        BUSY.add(4096)
        del labels
        self.assertNotEqual(shift.labels().pointer, pointer)

    def test_a_result_that_is_read_on_another_stream(self):
        """By this package: the stream that has its memory waits for the reader."""
        image = Interface(frame(0))
        shift = ct.QuickShift(3, 8).compute(image, stream=4096)
        mean = shift.mean_color(image, stream=4096)
        LOG.clear()
        ct.QuickShift(3, 8).compute(mean, stream=8192)
        self.assertEqual([entry for entry in LOG if entry[0] in ("wait", "compute")], [("wait", 8192, 4096, 0), ("compute", 8192, 0), ("wait", 4096, 8192, 0)])

    def test_another_stream_than_the_library(self):
        """Memory of torch and CuPy is ordered after their work before, and they wait, on the device, before they use it again."""
        for kind in (Tensor, CupyArray):
            shift = ct.QuickShift(3, 8).compute(kind(frame(0)), stream=8192)
            LOG.clear()
            labels = shift.labels(stream=8192)
            self.assertEqual([entry for entry in LOG if entry[0] in ("wait", "getLabels")], [("wait", 8192, 0, 0), ("getLabels", 8192, 0), ("wait", 0, 8192, 0)])
            LOG.clear()
            capsule = labels.__dlpack__(stream=12288)
            del labels, capsule
            self.assertEqual([entry for entry in LOG if entry[0] == "wait"][0], ("wait", 12288, 8192, 0))
            self.assertIn(("record_stream", 12288, 0) if kind is Tensor else ("wait", 0, 12288, 0), LOG)

    def test_memory_that_runs_out(self):
        """What is kept for later calls is given back, and the call tried again."""
        shift = ct.QuickShift(3, 8).compute(Interface(frame(0)))
        shift.labels()
        real, failures = Mat.create, [True]

        def create(mat, shape, dtype):
            if failures:
                failures.pop()
                raise ct.cv2.error("out of memory")
            return real(mat, shape, dtype)
        with mock.patch.object(Mat, "create", create):
            COUNTS.clear()
            made = shift.mean_color(Interface(frame(0)))
        self.assertEqual(made.shape, (144, 192, 3))
        self.assertEqual(dict(COUNTS), {"cudaFree": 1, "cudaMalloc": 1})

    def test_reset_of_the_device(self):
        """Memory from before is not used again, neither what was kept nor what is released later."""
        shift = ct.QuickShift(3, 8).compute(Interface(frame(0)))
        before = shift.density()
        pointers = {before.pointer, shift.labels().pointer}
        _results._POOL.drop()
        del before
        self.assertEqual({array.pointer for array in (shift.labels(), shift.density(), shift.parents())} & pointers, set())

    def test_threads_share_the_pool(self):
        expected = ct.QuickShift(3, 8, device="cpu").compute(frame(0)).labels()
        wrong = []

        def work():
            shift = ct.QuickShift(3, 8).compute(Interface(frame(0)))
            for _ in range(50):
                wrong.extend([] if np.array_equal(shift.labels().numpy(), expected) else ["wrong"])
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_captures(self):
        """What is captured does not wait for what is not; memory comes from the library, or the caller gives it."""
        for kind in (Tensor, CupyArray):
            made = Calls(kind)
            CAPTURING.add(4096)
            DeviceArray.now = fake_device.CupyStream.present.ptr = 4096
            for name, function in {"QuickShift.compute": made.queued["QuickShift.compute"], **made.queued}.items():
                LOG.clear()
                COUNTS.clear()
                function()
                self.assertEqual([entry for entry in LOG if entry[0] in ("wait", "query", "complete", "upload", "download")], [], name)
                self.assertEqual(dict(COUNTS), {}, name)
            CAPTURING.clear()
            DeviceArray.now = fake_device.CupyStream.present.ptr = 0
        made = Calls(Tensor)
        CAPTURING.add(4096)
        DeviceArray.now = 4096
        host, wide = np.array(AREAS), Tensor(np.array([(3., 4.), (5., 6.)]))
        for name, function in (("areas", lambda: made.matcher.match(made.frames[1], host)), ("predictions", lambda: made.other.match(made.frames[1], predictions=host[:, :2])),
                               ("predictions", lambda: made.other.match(made.frames[1], predictions=wide)), ("boxes", lambda: made.many.update_async(made.frames[1], [box(1)]))):
            LOG.clear()
            with self.assertRaisesRegex(ct.ArgumentError, f"^{name}: .*host"):
                function()
            self.assertEqual([entry for entry in LOG if entry[0] in ("wait", "upload", "download")], [])
        CAPTURING.clear()
        DeviceArray.now = 0
        made = Calls(Interface)
        held = {name: function() for name, function in made.results.items()}
        CAPTURING.update((None, 0))
        for name, function in made.results.items():
            with self.assertRaisesRegex(ct.ArgumentError, "^out: is needed while a CUDA graph captures"):
                function()
            function(out=held[name])
        CAPTURING.clear()
        pointers = {array.pointer for result in held.values() for array in arrays(result)}
        held.clear()
        for function in made.results.values():  # replays of the graph may still write to the old ones
            self.assertEqual({array.pointer for array in arrays(function())} & pointers, set())

    def outs(self, name, result, change):
        """`out` of a call, with one array changed after the other."""
        members = parts(name, result)
        for i, (part, array) in enumerate(members):
            whole = [np.array(other) for _, other in members]
            whole[i] = change(whole[i])
            yield part, whole

    def test_out(self):
        expected = Calls(np.array, device="cpu")
        wanted = expected.members()
        for kind in self.KINDS:
            made = Calls(kind)
            for name, function in made.results.items():
                mine = [placed(kind, name, np.zeros(part.shape, part.dtype)) for part in wanted[name].values()]
                given = mine if len(mine) > 1 else mine[0]
                LOG.clear()
                result = function(out=given)
                self.assertEqual([entry for entry in LOG if entry[0] in ("torch.empty", "cupy.alloc")], [])
                for (part, array), own in zip(parts(name, result), mine):
                    self.assertIsInstance(array, ct.DeviceArray)
                    self.assertEqual(array.pointer, own.array.ctypes.data)
                    np.testing.assert_array_equal(array.numpy(), wanted[name][part], f"{kind} {name} {part}")
                    np.testing.assert_array_equal(np.array(own.array).reshape(array.shape), array.numpy())
                self.assertTrue(all(ours is theirs for ours, theirs in zip(arrays(function(out=result)), arrays(result))))
        for name, function in expected.results.items():
            mine = [np.full(part.shape, 7, part.dtype) for part in wanted[name].values()]
            result = function(out=mine if len(mine) > 1 else mine[0])
            self.assertTrue(all(ours is theirs for ours, theirs in zip(arrays(result), mine)), name)

    def test_wrong_out_is_refused_by_name(self):
        makers = {kind.__name__: (Calls(kind), kind) for kind in self.KINDS}
        makers["host"] = (Calls(np.array, device="cpu"), np.array)
        for kind, (made, put) in makers.items():
            for name, function in made.results.items():
                result = function()
                cases = [(lambda array: placed(put, name, np.zeros((array.shape[0] + 1, *array.shape[1:]), array.dtype)), "shape .* is needed", ValueError),
                         (lambda array: placed(put, name, np.zeros(array.shape, np.int16)), "elements are int16; .* is needed", TypeError),
                         (lambda array: "x", "str", TypeError)]
                if kind == "host":
                    cases += [(Tensor, "lies on a device, but the results lie on the host", ValueError)]
                else:
                    cases += [(np.array, "lies on the host, but the results lie on a device", ValueError)]
                if kind in ("DeviceArray", "Tensor", "CupyArray", "Interface"):
                    cases += [(lambda array: put(array, device=1), "lies on CUDA device 1, and the results on 0", ValueError)]
                for change, words, error in cases:
                    for part, whole in self.outs(name, result, change):
                        given = [array if this == part else placed(put, name, array) for (this, _), array in zip(parts(name, result), whole)]
                        with self.subTest(kind=kind, call=name, part=part, words=words), self.assertRaisesRegex(error, f"^{part}: .*{words}"):
                            function(out=given if len(given) > 1 else given[0])
        made = makers["Tensor"][0]
        for name in ("FragmentMatcher.match", "CascadeClassifier.detect_async"):
            for out in (5, [], "xy", made.shift.labels()):
                with self.assertRaisesRegex(TypeError, "^out: .* is needed"):
                    made.results[name](out=out)
        locked = Interface(np.zeros((144, 192), np.int32))
        locked.__cuda_array_interface__["data"] = (locked.array.ctypes.data, True)
        with self.assertRaisesRegex(ValueError, "^out: Interface: an array that can be written"):
            made.shift.labels(out=locked)
        host = np.zeros((144, 192), np.int32)
        host.flags.writeable = False
        with self.assertRaisesRegex(ValueError, "^out: ndarray: an array that can be written"):
            makers["host"][0].shift.labels(out=host)
        many = ct.MultiTracker(end_after_misses=3)
        many.add(Tensor(frame(0)), box(0))
        out = many.update_async(Tensor(frame(1)))
        many.update_async(Tensor(frame(1)), out=out)
        with self.assertRaisesRegex(ValueError, "^out: not possible with boxes"):
            many.update_async(Tensor(frame(2)), [box(2)], out=out)

    def test_rows_of_out_may_lie_apart(self):
        wide = np.zeros((144, 256), np.int32)
        shift = ct.QuickShift(3, 8).compute(Tensor(frame(0)))
        labels = shift.labels(out=Tensor(wide[:, 32:224]))
        self.assertEqual(labels.strides, (1024, 4))
        np.testing.assert_array_equal(wide[:, 32:224], ct.QuickShift(3, 8, device="cpu").compute(frame(0)).labels())
        self.assertFalse(wide[:, :32].any() or wide[:, 224:].any())
        with self.assertRaisesRegex(ValueError, "^out: shape .* a contiguous copy does"):
            shift.labels(out=Tensor(np.zeros((144, 384), np.int32)[:, ::2]))


class CapsuleTest(unittest.TestCase):
    """What is taken from a result keeps its memory, and gives it back."""

    def test_a_capsule_keeps_the_memory(self):
        cuda, memory, back = ct.cv2.cuda, np.arange(12, dtype=np.int32).reshape(3, 4), []

        class Owner:
            home = None

            def lend(self, stream):
                back.append(("lent", stream))

            def __del__(self):
                back.append("back")
        made = ct.DeviceArray(cuda.createGpuMatFromCudaMemory(3, 4, ct.cv2.CV_32SC1, memory.ctypes.data, 16), 0, 4096, (3, 4), (16, 4), Owner())
        capsule = made.__dlpack__(stream=4096)
        del made
        gc.collect()
        self.assertEqual(back, [("lent", 4096)])
        self.assertEqual(ct._memory.read(capsule).pointer, memory.ctypes.data)
        del capsule
        gc.collect()
        self.assertEqual(back, [("lent", 4096), "back"])


_CYCLES = 4 * 10**8


class Torch:
    def __init__(self):
        self.torch = importlib.import_module("torch")
        if not self.torch.cuda.is_available():
            raise ImportError("torch sees no CUDA device")

    def put(self, array):
        return self.torch.from_numpy(np.array(array)).cuda()

    def spin(self):
        """Keeps another stream busy for about 0.2 s, on one multiprocessor. Returns a function that tells whether it still is."""
        stream = self.torch.cuda.Stream()
        with self.torch.cuda.stream(stream):
            self.torch.cuda._sleep(_CYCLES)
            event = self.torch.cuda.Event()
            event.record()
        return lambda: not event.query()

    def synchronize(self):
        self.torch.cuda.synchronize()


class Cupy:
    def __init__(self):
        self.cupy = importlib.import_module("cupy")
        self.kernel = self.cupy.RawKernel("extern \"C\" __global__ void spin(long long n) { long long start = clock64(); while (clock64() - start < n) {} }", "spin")
        try:
            self.kernel.compile()
        except Exception as raised:  # many kinds
            raise ImportError(f"CuPy compiles no kernel: {raised}") from None

    def put(self, array):
        return self.cupy.asarray(np.array(array))

    def spin(self):
        stream = self.cupy.cuda.Stream(non_blocking=True)
        with stream:
            self.kernel((1,), (1,), (_CYCLES,))
            event = stream.record()
        return lambda: not event.done

    def synchronize(self):
        self.cupy.cuda.Device().synchronize()


class Described(Cupy):
    """Arrays with nothing but __cuda_array_interface__: results lie in the memory of this package."""

    class Plain:
        def __init__(self, array):
            self.array = array
            self.__cuda_array_interface__ = dict(array.__cuda_array_interface__, stream=1)

    def put(self, array):
        made = super().put(array)
        self.synchronize()
        return self.Plain(made)


class Mats(Cupy):
    """GpuMats of this package."""

    def put(self, array):
        mat = ct.cv2.cuda.GpuMat()
        mat.upload(np.array(array))
        return mat


class DeviceWaits(OnDevice):
    """The tests on a device, once for each kind of array."""

    def returns_while_another_stream_is_busy(self, calls):
        for name, function in calls.items():
            with self.subTest(call=name):
                for _ in range(3):
                    function()
                self.on.synchronize()
                busy = self.on.spin()
                self.assertTrue(busy(), "the other stream was not busy")
                for _ in range(3):
                    function()
                still = busy()
                self.on.synchronize()
                self.assertTrue(still, "the call returned only when another stream had no more work")

    def test_calls_that_do_not_wait(self):
        self.returns_while_another_stream_is_busy(Calls(self.on.put).queued)

    def test_calls_that_wait_do_so_for_their_own_stream(self):
        self.returns_while_another_stream_is_busy(Calls(self.on.put).waiting)

    def test_nothing_is_allocated_in_a_loop(self):
        made = Calls(self.on.put)
        for name, function in {**made.queued, **made.waiting}.items():
            for _ in range(3):
                function()
            with self.subTest(call=name), mock.patch.object(_results.Pool, "_made", side_effect=AssertionError("the pool has allocated memory")):
                before = self.allocations()
                for _ in range(5):
                    function()
                self.assertEqual(self.allocations(), before)

    def allocations(self):
        """Allocations that the library has made on the device, where it tells."""
        return None

    def test_out_and_results(self):
        expected = Calls(np.array, device="cpu").members()
        made, again = Calls(self.on.put), Calls(self.on.put)
        for name, function in made.results.items():
            ours = dict(parts(name, function()))
            mine = [placed(self.on.put, name, np.zeros(part.shape, part.dtype)) for part in expected[name].values()]
            written = dict(parts(name, again.results[name](out=mine if len(mine) > 1 else mine[0])))
            for part, theirs in expected[name].items():
                np.testing.assert_array_equal(ours[part].numpy(), theirs, f"{name} {part}")
                np.testing.assert_array_equal(written[part].numpy(), theirs, f"{name} {part}, out")

    def test_many_results_at_once(self):
        """Results that are alive keep their values, whatever the calls after them write."""
        made = Calls(self.on.put)
        images = [self.on.put(frame(step)) for step in range(8)]
        expected = [ct.QuickShift(3, 8, device="cpu").compute(frame(step)).labels() for step in range(8)]
        for _ in range(3):
            labels = [made.shift.compute(image).labels() for image in images]
            for i in (1, 4, 5):
                labels[i] = None
            more = [made.shift.compute(image).labels() for image in images]
            for i, wanted in enumerate(expected):
                np.testing.assert_array_equal(more[i].numpy(), wanted)
                if labels[i] is not None:
                    np.testing.assert_array_equal(labels[i].numpy(), wanted)


class TorchWaitsTest(DeviceWaits, unittest.TestCase):
    library = Torch

    def allocations(self):
        stats = self.on.torch.cuda.memory_stats()
        return [stats.get(name) for name in ("num_device_alloc", "num_device_free", "segment.all.allocated", "segment.all.freed")]

    def captured(self, function):
        """A graph of a call, and its result. CUDA ends a capture with an error at each cudaMalloc(), cudaFree() and wait."""
        torch = self.on.torch
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                function()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = function()
        return graph, result

    def test_graphs(self):
        """A replay with another image gives what a call with it gives."""
        torch = self.on.torch
        for name in Calls(self.on.put).results:
            if name.startswith("Tracker") or name.startswith("MultiTracker"):
                continue
            with self.subTest(call=name):
                made, other = Calls(self.on.put), Calls(self.on.put)
                whole = (lambda: (made.shift.compute(made.frames[1]), made.results[name]())[1]) if name.startswith("QuickShift") else made.results[name]
                graph, result = self.captured(whole)
                taken = [torch.from_dlpack(array) for array in arrays(result)]
                for step in (2, 3, 1):
                    made.frames[1].copy_(made.frames[step] if step != 1 else self.on.put(frame(1)))
                    graph.replay()
                    torch.cuda.synchronize()
                    other.frames[1].copy_(made.frames[1])
                    if name.startswith("QuickShift"):
                        other.shift.compute(other.frames[1])
                    for ours, again, theirs in zip(arrays(result), taken, arrays(other.results[name]())):
                        np.testing.assert_array_equal(ours.numpy(), theirs.numpy(), f"{name} {step}")
                        np.testing.assert_array_equal(again.cpu().numpy(), theirs.numpy(), f"{name} {step}")

    def test_graphs_of_trackers(self):
        """Each replay is the next frame."""
        torch = self.on.torch
        for kind in (ct.Tracker, ct.MultiTracker):
            cpu, gpu, image = kind(device="cpu"), kind(), self.on.put(frame(0))
            for tracker, first in ((cpu, frame(0)), (gpu, image)):
                (tracker.init if kind is ct.Tracker else tracker.add)(first, box(0))
            image.copy_(self.on.put(frame(1)))
            np.testing.assert_array_equal(gpu.update_async(image).numpy(), cpu.update_async(frame(1)))
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                result = gpu.update_async(image)
            for step in (2, 3, 4):
                image.copy_(self.on.put(frame(step)))
                graph.replay()
                torch.cuda.synchronize()
                np.testing.assert_array_equal(result.numpy(), cpu.update_async(frame(step)), f"{kind.__name__} {step}")

    def test_graphs_with_out(self):
        """For arrays that are not of torch or CuPy `out` is needed, and does."""
        torch = self.on.torch
        image = ct.cv2.cuda.GpuMat()
        image.upload(frame(0))
        shift, stream = ct.QuickShift(3, 8), torch.cuda.Stream()
        labels = shift.compute(image, stream=stream).labels()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            shift.compute(image, stream=stream)
            with self.assertRaisesRegex(ct.ArgumentError, "^out: is needed while a CUDA graph captures"):
                shift.labels()
            shift.labels(out=labels)
        image.upload(frame(3))
        graph.replay()
        torch.cuda.synchronize()
        np.testing.assert_array_equal(labels.numpy(), ct.QuickShift(3, 8, device="cpu").compute(frame(3)).labels())

    def test_streams_of_a_pipeline(self):
        """Memory of results that were released is not written while another stream still reads it."""
        torch = self.on.torch
        main, side, reader = torch.cuda.default_stream(), torch.cuda.Stream(), torch.cuda.Stream()
        expected = torch.from_numpy(ct.QuickShift(3, 8, device="cpu").compute(frame(0)).labels()).cuda()
        mat = ct.cv2.cuda.GpuMat()
        mat.upload(frame(0))
        for image in (self.on.put(frame(0)), mat):
            shift = ct.QuickShift(3, 8).compute(image)
            torch.cuda.synchronize()
            right = []
            for _ in range(20):
                with torch.cuda.stream(side):
                    labels = shift.labels(stream=main)
                with torch.cuda.stream(reader):
                    taken = torch.from_dlpack(labels)
                    torch.cuda._sleep(5 * 10**6)
                    right.append((taken == expected).all())
                del labels, taken
                with torch.cuda.stream(side):
                    for _ in range(4):
                        shift.density(stream=main)
            torch.cuda.synchronize()
            self.assertTrue(all(bool(flag) for flag in right))


class CupyWaitsTest(DeviceWaits, unittest.TestCase):
    library = Cupy

    def allocations(self):
        return self.on.cupy.get_default_memory_pool().total_bytes()

    def test_graphs(self):
        image, stream, shift = self.on.put(frame(0)), self.on.cupy.cuda.Stream(non_blocking=True), ct.QuickShift(3, 8)
        self.on.synchronize()
        with stream:
            for _ in range(3):
                shift.compute(image).labels()
            stream.begin_capture()
            labels = shift.compute(image).labels()
            graph = stream.end_capture()
            for step in (3, 1):
                image[...] = self.on.put(frame(step))
                graph.launch(stream)
                np.testing.assert_array_equal(labels.numpy(), ct.QuickShift(3, 8, device="cpu").compute(frame(step)).labels())


class DescribedWaitsTest(DeviceWaits, unittest.TestCase):
    library = Described


@needs_device
class MatWaitsTest(DeviceWaits, unittest.TestCase):
    library = Mats

    def test_host_images(self):
        made = Calls(np.array, device="cuda")
        self.returns_while_another_stream_is_busy({**made.queued, **made.waiting})


if __name__ == "__main__":
    unittest.main()
