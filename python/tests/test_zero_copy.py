"""Arrays in device memory: nothing is copied on the way in and out, results are those of the host, streams are in order.

Needs a CUDA device; with torch and with CuPy where they are installed.
"""
import contextlib
import importlib
import os
import tempfile
import unittest
from unittest import mock

import numpy as np

import cudatracking as ct
from cudatracking import _arrays
from scenes import DATA, OnDevice, box, frame, needs_device, read, texture


class Torch:
    def __init__(self):
        self.torch = importlib.import_module("torch")

    def put(self, array, device=0):
        return self.torch.from_numpy(np.ascontiguousarray(array)).to(f"cuda:{device}")

    def host(self, array):
        return array.cpu().numpy()

    def pointer(self, array):
        return array.data_ptr()

    def take(self, result):
        return self.torch.from_dlpack(result)

    def stream(self):
        made = self.torch.cuda.Stream()
        return made, self.torch.cuda.stream(made)

    def busy(self, array):
        """An image that is filled late on the current stream."""
        slow = self.torch.randn(6000, 6000, device="cuda")
        for _ in range(30):
            slow = slow @ slow
            slow = slow / slow.norm()
        return array.clone() + (slow.sum() * 0).to(array.dtype)

    def planes(self, array):
        return array.permute(2, 0, 1)

    def devices(self):
        return self.torch.cuda.device_count()

    def synchronize(self):
        self.torch.cuda.synchronize()


class Cupy:
    def __init__(self):
        self.cupy = importlib.import_module("cupy")

    def put(self, array, device=0):
        with self.cupy.cuda.Device(device):
            return self.cupy.asarray(np.ascontiguousarray(array))

    def host(self, array):
        return self.cupy.asnumpy(array)

    def pointer(self, array):
        return array.data.ptr

    def take(self, result):
        return self.cupy.from_dlpack(result)

    def stream(self):
        made = self.cupy.cuda.Stream(non_blocking=True)
        return made, made

    def busy(self, array):
        slow = self.cupy.random.randn(6000, 6000).astype("f4")
        for _ in range(30):
            slow = slow @ slow
            slow = slow / self.cupy.linalg.norm(slow)
        return array.copy() + (slow.sum() * 0).astype(array.dtype)

    def planes(self, array):
        return array.transpose(2, 0, 1)

    def devices(self):
        return self.cupy.cuda.runtime.getDeviceCount()

    def synchronize(self):
        self.cupy.cuda.Device().synchronize()


class Interface:
    """An array with nothing but __cuda_array_interface__, such as a plane of a decoder."""

    def __init__(self, pointer, shape, strides=None, typestr="|u1", keep=None):
        self.keep = keep
        self.__cuda_array_interface__ = {"shape": shape, "strides": strides, "typestr": typestr, "data": (pointer, False), "version": 3, "stream": 1}


class Cases(OnDevice):
    """The tests, once for each library."""

    def inputs_of(self, call):
        """Pointers and steps that the extension was given during a call, and how often something was uploaded."""
        seen = []
        real, of_tensor = ct.cv2.cuda.createGpuMatFromCudaMemory, ct.cv2.cuda.createGpuMatFromTensor

        def note(rows, columns, kind, pointer, step):
            seen.append((rows, columns, pointer, step))
            return real(rows, columns, kind, pointer, step)

        def note_tensor(*args):
            mat = of_tensor(*args)
            if mat is not None:
                seen.append((*mat.size()[::-1], mat.cudaPtr(), mat.step1() * mat.elemSize1()))
            return mat
        ct._arrays.mat_at.cache_clear()  # a view that is known is not made again
        with mock.patch.object(ct.cv2.cuda, "createGpuMatFromCudaMemory", note), mock.patch.object(ct.cv2.cuda, "createGpuMatFromTensor", note_tensor):
            result = call()
        return result, seen

    def test_pointers_in(self):
        image = texture((60, 90, 3), 1)
        given = self.on.put(image)
        shift = ct.QuickShift(3, 8)
        _, seen = self.inputs_of(lambda: shift.compute(given))
        self.assertEqual(seen, [(60, 90, self.on.pointer(given), 270)])
        region = given[10:50, 20:80]
        _, seen = self.inputs_of(lambda: shift.compute(region))
        self.assertEqual(seen, [(40, 60, self.on.pointer(given) + 10 * 270 + 20 * 3, 270)])
        np.testing.assert_array_equal(shift.labels().numpy(), ct.QuickShift(3, 8, device="cpu").compute(image[10:50, 20:80]).labels())

    def test_pointers_out(self):
        shift = ct.QuickShift(3, 8).compute(self.on.put(texture((60, 90, 3), 1)))
        for result in (shift.labels(), shift.density(), shift.contours(), shift.mean_color(self.on.put(texture((60, 90, 3), 1)))):
            taken = self.on.take(result)
            self.assertEqual(self.on.pointer(taken), result.pointer)
            self.assertEqual(tuple(taken.shape), result.shape)
            np.testing.assert_array_equal(self.on.host(taken), result.numpy())
        pointer = result.pointer
        values = result.numpy()
        del result  # what was taken keeps the memory
        shift.compute(self.on.put(texture((60, 90, 3), 2)))
        self.assertEqual(self.on.pointer(taken), pointer)
        np.testing.assert_array_equal(self.on.host(taken), values)

    def test_results_are_those_of_the_host(self):
        image = texture((80, 120, 3), 3)
        given = self.on.put(image)
        np.testing.assert_array_equal(ct.quickshift(given, 20, 3, 6, convert2lab=False, rng=None).numpy(),
                                          ct.quickshift(image, 20, 3, 6, convert2lab=False, rng=None, device="cpu"))
        faces = ct.CascadeClassifier("frontalface_alt", min_neighbors=0)
        np.testing.assert_array_equal(faces.detect(given), ct.CascadeClassifier("frontalface_alt", min_neighbors=0, device="cpu").detect(image))
        if DATA:
            lena = read("lena.jpg")
            self.assertEqual(ct.CascadeClassifier("frontalface_alt").detect(self.on.put(lena)).tolist(), [[213, 200, 178, 178]])
        tables = faces.detect_async([given, given[:60, :60]])
        np.testing.assert_array_equal(tables.objects.numpy(), ct.CascadeClassifier("frontalface_alt", min_neighbors=0, device="cpu").detect_async([image, image[:60, :60]]).objects)
        gpu, cpu = ct.FragmentMatcher("zncc", subpixel=True), ct.FragmentMatcher("zncc", subpixel=True, device="cpu")
        regions = [(30, 50, 17, 17), (100, 20, 16, 16)]
        gpu.cut(self.on.put(frame(0)), regions)
        cpu.cut(frame(0), regions)
        areas = [(20, 40, 50, 50), (90, 10, 40, 40)]
        expected = cpu.match(frame(1), areas)
        for where in (areas, self.on.put(np.array(areas, np.int32))):
            found = gpu.match(self.on.put(frame(1)), where)
            self.assertIsInstance(found.locations, ct.DeviceArray)
            for name in ("locations", "scores", "confidence", "status", "refined"):
                np.testing.assert_array_equal(getattr(found, name).numpy(), getattr(expected, name), name)
        self.assertEqual([one.locations.tolist() for one in found], [one.locations.tolist() for one in expected])
        predicted = gpu.predict_areas(found.locations, 5, (192, 144))
        np.testing.assert_array_equal(predicted.numpy(), cpu.predict_areas(expected.locations, 5, (192, 144)))
        gpu.match(self.on.put(frame(1)), predicted)
        np.testing.assert_array_equal(gpu.score_map(0, self.on.put(frame(1))).numpy(), cpu.score_map(0, frame(1)))

    def test_trackers(self):
        gpu, cpu = ct.MultiTracker(), ct.MultiTracker(device="cpu")
        one = ct.Tracker()
        gpu.add(self.on.put(frame(0)), box(0))
        cpu.add(frame(0), box(0))
        one.init(self.on.put(frame(0)), box(0))
        for step in range(1, 5):
            expected = cpu.update_async(frame(step))
            table = gpu.update_async(self.on.put(frame(step)))
            np.testing.assert_array_equal(table.numpy(), expected)
            np.testing.assert_array_equal(self.on.host(self.on.take(one.update_async(self.on.put(frame(step))))), expected[0])
        self.assertEqual(gpu.update(self.on.put(frame(5)))["located"].tolist(), cpu.update(frame(5))["located"].tolist())

    def test_streams_are_in_order(self):
        """On the library's own stream, on one given, and on another than the producer's: never a look too early."""
        image = texture((200, 300, 3), 4)
        expected = ct.QuickShift(3, 8, device="cpu").compute(image).labels()
        clean = self.on.put(image)
        self.on.synchronize()
        stream, current = self.on.stream()
        other, _ = self.on.stream()
        for chosen in (None, stream, other, 0):
            shift = ct.QuickShift(3, 8)
            with current:
                late = self.on.busy(clean)
                labels = shift.compute(late, stream=chosen).labels()
                taken = self.on.take(labels) + 0
                host = self.on.host(taken)
            np.testing.assert_array_equal(host, expected, f"stream {chosen}")
            np.testing.assert_array_equal(labels.numpy(), expected)

    def test_numpy_and_device_in_one_object(self):
        image = texture((60, 90, 3), 5)
        shift = ct.QuickShift(3, 8)
        first = shift.compute(image).labels()
        second = shift.compute(self.on.put(image)).labels()
        self.assertIsInstance(first, np.ndarray)
        np.testing.assert_array_equal(first, second.numpy())
        np.testing.assert_array_equal(np.asarray(second), first)

    def test_masks_and_weights(self):
        image, mask = texture((60, 90, 3), 6), np.zeros((60, 90), bool)
        mask[10:40, 20:80] = True
        expected = ct.QuickShift(3, 8, device="cpu").compute(image, mask=mask).labels()
        for kind in (bool, np.uint8):
            np.testing.assert_array_equal(ct.QuickShift(3, 8).compute(self.on.put(image), mask=self.on.put(mask.astype(kind))).labels().numpy(), expected)
        np.testing.assert_array_equal(ct.QuickShift(3, 8).compute(image, mask=mask).labels(), expected)
        with self.assertRaisesRegex(ValueError, "masks must all lie"):
            ct.CascadeClassifier("eye").detect_async([self.on.put(image)], masks=[mask])

    def test_pitched_planes(self):
        """The Y plane of a decoder's NV12 frame is a gray image with its pitch."""
        surface = self.on.put(texture((150, 256), 7))  # 100 rows of Y, 50 of UV; 192 of 256 columns are the image
        plane = surface[:100, :192]
        expected = ct.CascadeClassifier("frontalface_alt", min_neighbors=0, device="cpu").detect(texture((150, 256), 7)[:100, :192])
        faces = ct.CascadeClassifier("frontalface_alt", min_neighbors=0)
        np.testing.assert_array_equal(faces.detect(plane), expected)
        for shape, strides in (((100, 192), (256, 1)), ((100, 192, 1), (256, 1, 1))):
            np.testing.assert_array_equal(faces.detect(Interface(self.on.pointer(surface), shape, strides, keep=surface)), expected)

    def test_refused(self):
        given = self.on.put(texture((60, 90, 3), 8))
        with self.assertRaisesRegex(ValueError, "image: shape .* strides .* contiguous"):
            ct.QuickShift().compute(given[:, ::2])
        with self.assertRaisesRegex(ValueError, "channels"):
            ct.QuickShift().compute(self.on.planes(given))
        with self.assertRaisesRegex(TypeError, "image: elements are float64"):
            ct.CascadeClassifier("eye").detect(self.on.put(np.zeros((9, 9))))
        with self.assertRaisesRegex(ValueError, "image: lies on CUDA device 0.*'cpu'"):
            ct.QuickShift(device="cpu").compute(given)
        with self.assertRaisesRegex(ValueError, "convert2lab=False"):
            ct.quickshift(given)

    def test_two_devices(self):
        if self.on.devices() < 2 or len(ct.devices()) < 2:
            self.skipTest("one CUDA device only")
        image = texture((60, 90, 3), 9)
        expected = ct.QuickShift(3, 8, device="cpu").compute(image).labels()
        second = ct.QuickShift(3, 8).compute(self.on.put(image, 1)).labels()
        self.assertEqual((second.device, second.__dlpack_device__()), ("cuda:1", (2, 1)))
        np.testing.assert_array_equal(second.numpy(), expected)
        np.testing.assert_array_equal(self.on.host(self.on.take(second)), expected)
        np.testing.assert_array_equal(ct.QuickShift(3, 8, device="cuda:1").compute(image).labels(), expected)
        with self.assertRaisesRegex(ValueError, "mask: lies on CUDA device 0, image on 1"):
            ct.QuickShift().compute(self.on.put(image, 1), mask=self.on.put(np.ones((60, 90), np.uint8)))

    def test_trackers_on_the_second_device(self):
        """Methods without an image find the device of their object, whatever the current one is."""
        if len(ct.devices()) < 2:
            self.skipTest("one CUDA device only")
        image = texture((120, 160), 9)
        box = (40, 30, 40, 36)

        def used(device, folder):
            tracker, several, detector = ct.Tracker(device=device), ct.MultiTracker(device=device), ct.Detector(device=device)
            tracker.init(image, box)
            several.add(image, box)
            several.add(image, box)
            detector.init(image, box)
            for made in (tracker, several):
                made.update(image)
            seen = [tracker.state, tracker.score, tracker.box, tracker.event, tracker.templates().tolist(), several.ids, several.templates(1).tolist(),
                    detector.templates(False).tolist(), tracker.detections().boxes.tolist(), several.detections(0).boxes.tolist()]
            tracker.reset_to(box)
            several.reset_to(0, box)
            several.save_object(1, os.path.join(folder, "object.xml"))
            several.remove(1)
            for name, made in (("tracker.xml", tracker), ("several.xml", several), ("detector.xml", detector)):
                made.save(os.path.join(folder, name))
                made.load(os.path.join(folder, name))
            seen += [repr(tracker).split(",")[0], len(several), detector.empty]
            several.clear()
            detector.clear()
            return seen + [len(several), detector.empty]

        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(used("cuda:1", folder), used("cpu", folder))


class TorchTest(Cases, unittest.TestCase):
    library = Torch


    def test_the_second_call_takes_the_short_way(self):
        """With torch 2.10 and newer: no description of an array is made in Python. Results are those of the first call."""
        if not hasattr(self.on.torch.Tensor, "__dlpack_c_exchange_api__"):
            self.skipTest("torch is older than 2.10")
        image, areas = self.on.put(frame(1)), self.on.put(np.array([(20, 40, 50, 50), (90, 10, 40, 40)], np.int32))
        matcher = ct.FragmentMatcher("zncc", subpixel=True, max_search_area=60)
        matcher.cut(self.on.put(frame(0)), [(30, 50, 17, 17), (100, 20, 16, 24)])
        shift, faces, tracker = ct.QuickShift(3, 8), ct.CascadeClassifier("frontalface_alt", min_neighbors=0), ct.MultiTracker()
        tracker.add(self.on.put(frame(0)), box(0))
        calls = (lambda: [getattr(matcher.match(image, areas), name).numpy() for name in ("locations", "scores", "confidence", "status", "refined")],
                 lambda: [matcher.match(image).refined.numpy()], lambda: [shift.compute(image).labels().numpy()], lambda: [faces.detect(image)],
                 lambda: [table.numpy() for table in faces.detect_async([image])])
        stream, current = self.on.stream()
        for call in calls:
            expected = call()
            for context in (contextlib.nullcontext(), current):
                with context:
                    call()
                    self.on.synchronize()
                    with mock.patch.object(ct._arrays, "Given", side_effect=AssertionError("the long way")):
                        found = call()
                for ours, theirs in zip(found, expected):
                    np.testing.assert_array_equal(ours, theirs)
        tracker.update_async(image)
        with mock.patch.object(ct._arrays, "Given", side_effect=AssertionError("the long way")):
            tracker.update_async(image)


class CupyTest(Cases, unittest.TestCase):
    library = Cupy


@needs_device
class DeviceTest(unittest.TestCase):
    """Without another library: results in device memory, between calls of this one."""

    def test_interface_out_and_in(self):
        image = texture((60, 90, 3), 1)
        mat = ct.cv2.cuda.GpuMat()
        mat.upload(image)
        shift = ct.QuickShift(3, 8).compute(mat)
        labels = shift.labels()
        self.assertIsInstance(labels, ct.DeviceArray)
        self.assertEqual(labels.__cuda_array_interface__["data"], (labels.pointer, False))
        mean = shift.mean_color(mat)
        again = ct.QuickShift(3, 8).compute(mean).labels()
        np.testing.assert_array_equal(again.numpy(), ct.QuickShift(3, 8, device="cpu").compute(mean.numpy()).labels())
        self.assertEqual(_arrays.given(mean, "mean").shape, (60, 90, 3))

    def test_host_images_on_the_device(self):
        for made, wanted in ((ct.Tracker(device="cuda"), ct.Tracker(device="cpu")),):
            made.init(frame(0), box(0))
            wanted.init(frame(0), box(0))
            for step in range(1, 4):
                self.assertEqual(made.update(frame(step)), wanted.update(frame(step)))
            self.assertGreater(made.workspace_bytes, 0)
        matcher = ct.FragmentMatcher(device="cuda")
        matcher.cut(frame(0), [(30, 50, 17, 17)])
        found = matcher.match(frame(1), [(20, 40, 50, 50)])
        self.assertIsInstance(found.locations, np.ndarray)
        self.assertEqual(found.locations[0, 0].tolist(), [33, 50])

    def test_devices(self):
        for i, device in enumerate(ct.devices()):
            self.assertEqual(device.index, i)
            self.assertGreater(device.total_memory, device.free_memory)
            self.assertTrue(device.usable)


if __name__ == "__main__":
    unittest.main()
