"""The paths of device arrays with host memory in place of a device's: addresses, shapes, order of streams, choice of devices."""
import sys
import unittest
from unittest import mock

import numpy as np

import cudatracking as ct
import fake_device
from cudatracking import _devices
from fake_device import LOG, STATE, DeviceArray, Interface
from scenes import box, frame, texture


@unittest.skipIf(int(np.__version__.split(".")[0]) < 2, "capsules of numpy 1, which play those of a device, have no strides")
class FakeDeviceTest(unittest.TestCase):
    def setUp(self):
        for patch in [*fake_device.patched(), mock.patch.dict(sys.modules, {"torch": fake_device.TORCH})]:
            patch.start()
            self.addCleanup(patch.stop)
        self.addCleanup(_devices.native_stream.cache_clear)
        DeviceArray.now = 0

    def views(self):
        return [entry[2:4] for entry in LOG if entry[0] == "view"]

    def test_quickshift(self):
        image = texture((60, 90, 3), 1)
        expected = ct.QuickShift(3, 8, device="cpu").compute(image)
        surface = np.zeros((70, 128, 3), np.uint8)
        surface[5:65, 7:97] = image
        region = surface[5:65, 7:97]
        for given in (DeviceArray(image), DeviceArray(region), Interface(image), Interface(region)):
            LOG.clear()
            shift = ct.QuickShift(3, 8).compute(given)
            self.assertEqual(self.views(), [(given.array.ctypes.data, given.array.strides[0])])
            for name in ("labels", "density", "parents", "distances", "contours"):
                result = getattr(shift, name)()
                self.assertIsInstance(result, ct.DeviceArray)
                self.assertEqual((result.shape, result.dtype), (getattr(expected, name)().shape, getattr(expected, name)().dtype))
                np.testing.assert_array_equal(result.numpy(), getattr(expected, name)())
            np.testing.assert_array_equal(shift.segment(5).numpy(), expected.segment(5))
            np.testing.assert_array_equal(shift.mean_color(given).numpy(), expected.mean_color(image))
            for ours, theirs in zip(shift.statistics(given), expected.statistics(image)):
                np.testing.assert_array_equal(ours, theirs)
            self.assertEqual((shift.number, shift.count(4.), shift.tau_for(9)), (expected.number, expected.count(4.), expected.tau_for(9)))
            np.testing.assert_array_equal(shift.adjacency(), expected.adjacency())
            with self.assertRaisesRegex(ValueError, "image: lies on the host"):
                shift.mean_color(image)
        labels, parents, _ = ct.quickshift(DeviceArray(image), 20, 3, 6, True, convert2lab=False)
        np.testing.assert_array_equal(labels.numpy(), ct.quickshift(image, 20, 3, 6, convert2lab=False, device="cpu"))
        self.assertIsInstance(parents, ct.DeviceArray)
        with self.assertRaisesRegex(ValueError, "give convert2lab=False"):
            ct.quickshift(DeviceArray(image))

    def test_host_images(self):
        image = texture((60, 90), 2)
        shift = ct.QuickShift(3, 8).compute(image[::-1], mask=image > 9)
        self.assertEqual([entry[0] for entry in LOG[:2]], ["upload", "upload"])
        expected = ct.QuickShift(3, 8, device="cpu").compute(image[::-1], mask=image > 9)
        for name in ("labels", "density", "contours"):
            self.assertIsInstance(getattr(shift, name)(), np.ndarray)
            np.testing.assert_array_equal(getattr(shift, name)(), getattr(expected, name)())
        np.testing.assert_array_equal(shift.mean_color(image), expected.mean_color(image))

    def test_cascade(self):
        image = texture((200, 200), 1)
        expected = ct.CascadeClassifier("frontalface_alt", device="cpu", min_neighbors=0)
        made = ct.CascadeClassifier("frontalface_alt", min_neighbors=0)
        mask = np.zeros((200, 200), bool)
        mask[50:150] = True
        self.assertGreater(len(expected.detect(image)), 0)
        for given in (DeviceArray(image), image):
            np.testing.assert_array_equal(made.detect(given), expected.detect(image))
        for given in (DeviceArray(mask), DeviceArray(mask.astype(np.uint8))):
            np.testing.assert_array_equal(made.detect(DeviceArray(image), mask=given), expected.detect(image, mask=mask))
        tables, wanted = made.detect_async([DeviceArray(image), DeviceArray(image[:60, :60])]), expected.detect_async([image, image[:60, :60]])
        for ours, theirs in zip(tables, wanted):
            self.assertEqual(ours.shape, theirs.shape)
            np.testing.assert_array_equal(ours.numpy(), theirs)
        for ours, theirs in zip(made.detect_batch([DeviceArray(image)])[0], expected.detect_batch([image])[0]):
            np.testing.assert_array_equal(ours, theirs)

    def test_matcher(self):
        regions, areas = [(30, 50, 17, 17), (100, 20, 16, 24)], [(20, 40, 50, 50), (90, 10, 40, 40)]
        cpu = ct.FragmentMatcher("zncc", subpixel=True, device="cpu")
        cpu.cut(frame(0), regions)
        expected = cpu.match(frame(1), areas)
        gpu = ct.FragmentMatcher("zncc", subpixel=True)
        gpu.cut(DeviceArray(frame(0)), regions)
        for where in (areas, DeviceArray(np.array(areas, np.int32))):
            found = gpu.match(DeviceArray(frame(1)), where)
            for name in ("locations", "scores", "confidence", "status", "refined"):
                ours, theirs = getattr(found, name), getattr(expected, name)
                self.assertEqual((ours.shape, ours.dtype), (theirs.shape, theirs.dtype), name)
                np.testing.assert_array_equal(ours.numpy(), theirs)
        self.assertEqual(gpu._native.getParams().maxSearchArea, (0, 0))
        gpu.match(DeviceArray(frame(1)), areas)
        self.assertEqual(gpu._native.getParams().maxSearchArea, (50, 50))
        self.assertEqual(found[1].locations.tolist(), expected[1].locations.tolist())
        predicted = gpu.predict_areas(found.locations, 5, (192, 144))
        self.assertEqual(predicted.shape, (2, 4))
        np.testing.assert_array_equal(predicted.numpy(), cpu.predict_areas(expected.locations, 5, (192, 144)))
        np.testing.assert_array_equal(gpu.score_map(0, DeviceArray(frame(1))).numpy(), cpu.score_map(0, frame(1)))
        host = gpu.match(frame(1), areas)  # uploaded, and the results come back
        np.testing.assert_array_equal(host.refined, expected.refined)
        with self.assertRaisesRegex(ValueError, "areas: i8 of shape"):
            gpu.match(DeviceArray(frame(1)), DeviceArray(np.array(areas)))

    def test_trackers(self):
        cpu, gpu, many = ct.Tracker(device="cpu"), ct.Tracker(), ct.MultiTracker()
        cpu.init(frame(0), box(0))
        gpu.init(DeviceArray(frame(0)), box(0))
        many.add(DeviceArray(frame(0)), box(0))
        for step in range(1, 4):
            expected = cpu.update_async(frame(step))
            ours = gpu.update_async(DeviceArray(frame(step)))
            self.assertEqual((ours.shape, ours.strides), ((8,), (8,)))
            np.testing.assert_array_equal(ours.numpy(), expected)
            tracks = many.update(DeviceArray(frame(step)))
            self.assertEqual([tracks[0][name] for name in ("x", "y", "width", "height", "score")], expected[:5].tolist())
        self.assertEqual(gpu.update(frame(4)), cpu.update(frame(4)))

    def test_capsules_out(self):
        image = texture((60, 90, 3), 3)
        shift = ct.QuickShift(3, 8).compute(DeviceArray(image, 1))
        labels = shift.labels()
        self.assertEqual((labels.device, labels.__dlpack_device__()), ("cuda:1", (2, 1)))
        contents = ct._dlpack.read(labels.__dlpack__(stream=-1))
        self.assertEqual((contents.pointer, contents.device, contents.typestr, contents.shape, contents.strides), (labels.pointer, 1, "i4", (60, 90), (360, 4)))
        mean = shift.mean_color(DeviceArray(image, 1))
        contents = ct._dlpack.read(mean.__dlpack__(stream=1, max_version=(1, 0), dl_device=(2, 1), copy=False))
        self.assertEqual((contents.shape, contents.strides), ((60, 90, 3), (270, 3, 1)))
        for named in ({"dl_device": (1, 0)}, {"copy": True}):
            with self.assertRaises(BufferError):
                mean.__dlpack__(**named)
        interface = mean.__cuda_array_interface__
        self.assertEqual((interface["shape"], interface["typestr"], interface["data"], interface["version"], interface["stream"]), ((60, 90, 3), "|u1", (mean.pointer, False), 3, 1))
        again = ct.QuickShift(3, 8).compute(mean)  # from one object into the next
        self.assertEqual(again.labels().device, "cuda:1")
        np.testing.assert_array_equal(np.asarray(mean), mean.numpy())

    def test_stream_of_the_library(self):
        """Without a stream all goes to the one that the library works on: one order, no event."""
        DeviceArray.now = 4096
        shift = ct.QuickShift(3, 8).compute(DeviceArray(texture((20, 30), 1)))
        labels = shift.labels()
        self.assertEqual([entry for entry in LOG if entry[0] in ("produce", "compute", "getLabels", "wait")],
                         [("produce", 4096, 0), ("compute", 4096, 0), ("getLabels", 4096, 0)])
        LOG.clear()
        labels.__dlpack__(stream=4096)
        labels.__dlpack__(stream=-1)
        self.assertEqual(LOG, [])
        labels.__dlpack__(stream=8192)
        self.assertEqual(LOG, [("wait", 8192, 4096, 0)])

    def test_another_stream(self):
        """The image is asked for on the stream that is given, and its library waits, on the device, before its memory goes elsewhere."""
        DeviceArray.now = 4096
        shift = ct.QuickShift(3, 8).compute(DeviceArray(texture((20, 30), 1)), stream=8192)
        self.assertEqual([entry for entry in LOG if entry[0] in ("produce", "compute", "wait")],
                         [("produce", 8192, 0), ("compute", 8192, 0), ("wait", 4096, 8192, 0)])
        LOG.clear()
        shift.labels(stream=12288)
        self.assertEqual(LOG, [("wait", 12288, 8192, 0), ("getLabels", 12288, 0)])

    def test_streams_of_an_interface(self):
        ct.QuickShift(3, 8).compute(Interface(texture((20, 30), 1), stream=4096))
        self.assertEqual([entry for entry in LOG if entry[0] in ("compute", "wait")], [("compute", 4096, 0)])
        LOG.clear()
        ct.QuickShift(3, 8).compute(Interface(texture((20, 30), 1), stream=4096), stream=8192)
        self.assertEqual([entry for entry in LOG if entry[0] in ("compute", "wait")], [("wait", 8192, 4096, 0), ("compute", 8192, 0)])

    def test_methods_without_a_stream(self):
        """Tracker.init() and update() work on the null stream, whatever the library does: the image is asked for there."""
        DeviceArray.now = 4096
        tracker = ct.Tracker()
        tracker.init(DeviceArray(frame(0)), box(0))
        self.assertEqual([entry for entry in LOG if entry[0] in ("produce", "init", "wait")], [("produce", 1, 0), ("init", 0, 0), ("wait", 4096, 0, 0)])

    def test_kinds_of_streams(self):
        class Protocol:
            def __cuda_stream__(self):
                return 0, 4096

        class Torch:
            cuda_stream = 4096

        class Cupy:
            ptr = 4096

        class OpenCV:
            def cudaPtr(self):
                return 4096
        for stream in (4096, Protocol(), Torch(), Cupy(), OpenCV()):
            LOG.clear()
            ct.QuickShift(3, 8).compute(DeviceArray(texture((20, 30), 1)), stream=stream)
            self.assertIn(("compute", 4096, 0), LOG)
        for stream in ("x", True, 1.5, object(), -1):
            with self.assertRaisesRegex((TypeError, ValueError), "stream: "):
                ct.QuickShift(3, 8).compute(texture((20, 30), 1), stream=stream)

    def test_devices(self):
        image = texture((20, 30), 1)
        for given, device, words in ((DeviceArray(image, 1), "auto", None), (image, "cuda:1", None), (DeviceArray(image, 1), "cuda:1", None),
                                     (DeviceArray(image, 1), "cuda", "image: lies on CUDA device 1.*'cuda'"), (DeviceArray(image, 1), "cpu", "'cpu'"),
                                     (DeviceArray(image, 5), "auto", "image: lies on CUDA device 5, and there are 2")):
            LOG.clear()
            shift = ct.QuickShift(3, 8, device=device)
            if words:
                with self.assertRaisesRegex(ct.error, words):
                    shift.compute(given)
            else:
                shift.compute(given)
                self.assertEqual({entry[-1] for entry in LOG}, {1})
            self.assertEqual(STATE["device"], 0)
        with self.assertRaisesRegex(ValueError, "mask: lies on CUDA device 0, image on 1"):
            ct.QuickShift().compute(DeviceArray(image, 1), mask=DeviceArray(image, 0))
        with self.assertRaisesRegex(ct.error, "cuda:2.*2 CUDA devices"):
            ct.QuickShift(device="cuda:2")
        STATE["device"] = 1  # the caller's own choice stays
        ct.QuickShift(3, 8).compute(DeviceArray(image, 0))
        self.assertEqual(STATE["device"], 1)

    def test_strides_that_cannot_be_used(self):
        image = texture((20, 30, 3), 1)
        for given in (DeviceArray(image[:, ::2]), DeviceArray(image[:, :, ::-1]), Interface(image[::-1]), DeviceArray(image.transpose(1, 0, 2))):
            with self.assertRaisesRegex(ValueError, "a contiguous copy does"):
                ct.QuickShift().compute(given)

    def test_without_shape(self):
        class Bare:
            """A frame of a decoder: DLPack and no more."""

            def __init__(self, array):
                self.array = array

            def __dlpack_device__(self):
                return 2, 0

            def __dlpack__(self, stream=None):
                return self.array.__dlpack__()
        image = texture((20, 30), 1)
        np.testing.assert_array_equal(ct.QuickShift(3, 8).compute(Bare(image)).labels().numpy(), ct.QuickShift(3, 8, device="cpu").compute(image).labels())

    def test_a_failing_call_leaves_the_device_as_it_was(self):
        with self.assertRaises(ct.error):
            ct.Tracker().update(DeviceArray(frame(0), 1))
        self.assertEqual(STATE["device"], 0)


if __name__ == "__main__":
    unittest.main()
