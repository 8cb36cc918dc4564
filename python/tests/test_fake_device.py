"""The paths of device arrays with host memory in place of a device's: addresses, shapes, order of streams, choice of devices."""
import dataclasses
import functools
import sys
import unittest
from unittest import mock

import numpy as np

import cudatracking as ct
import fake_device
from cudatracking import _arrays, _devices, _memory
from cudatracking._rasters import Tiles
from fake_device import ALLOCATIONS, LOG, STATE, Described, DeviceArray, Interface, allocated
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
        lab = ct.cv2.cvtColor(image, ct.cv2.COLOR_BGR2Lab)
        labels = ct.superpixels(DeviceArray(lab), 25, convert2lab=False)
        self.assertIsInstance(labels, ct.DeviceArray)
        np.testing.assert_array_equal(labels.numpy(), ct.superpixels(image, 25, device="cpu"))
        with self.assertRaisesRegex(ValueError, "image: lies on a device.* convert2lab=False"):
            ct.superpixels(DeviceArray(image), 25)
        labels, parents, _ = ct.quickshift(DeviceArray(image), 20, 3, 6, True, convert2lab=False, rng=None)
        np.testing.assert_array_equal(labels.numpy(), ct.quickshift(image, 20, 3, 6, convert2lab=False, rng=None, device="cpu"))
        self.assertIsInstance(parents, ct.DeviceArray)
        with self.assertRaisesRegex(ValueError, "give convert2lab=False"):
            ct.quickshift(DeviceArray(image))
        with self.assertRaisesRegex(ValueError, "image: lies on a device.* rng=None") as caught:
            ct.quickshift(DeviceArray(image), convert2lab=False)
        self.assertEqual(caught.exception.argument, "rng")
        with self.assertRaisesRegex(ValueError, "device: 'cuda': the noise of rng"):
            ct.quickshift(image, device="cuda")
        # The noise is added on the CPU, whatever devices there are.
        np.testing.assert_array_equal(ct.quickshift(image, 20, 3, 6), ct.quickshift(image, 20, 3, 6, device="cpu"))
        self.assertIsInstance(ct.quickshift(image, 20, 3, 6), np.ndarray)

    def test_host_images(self):
        image = texture((60, 90), 2)
        shift = ct.QuickShift(3, 8).compute(image[::-1], mask=image > 9)
        self.assertEqual([entry[0] for entry in LOG[:2]], ["upload", "upload"])
        expected = ct.QuickShift(3, 8, device="cpu").compute(image[::-1], mask=image > 9)
        for name in ("labels", "density", "contours"):
            self.assertIsInstance(getattr(shift, name)(), np.ndarray)
            np.testing.assert_array_equal(getattr(shift, name)(), getattr(expected, name)())
        np.testing.assert_array_equal(shift.mean_color(image), expected.mean_color(image))

    def test_uploads_end_before_the_call(self):
        """From page-locked memory CUDA copies when the stream gets there: what is written to an image or areas after the call does not count."""
        image = texture((60, 90), 2)
        ct.QuickShift(3, 8, device="cuda:0").compute(image, mask=image > 9, stream=4096)
        matcher = ct.FragmentMatcher()
        matcher.cut(DeviceArray(frame(0)), [(30, 50, 17, 17)])
        matcher.match(DeviceArray(frame(1)), [(20, 40, 50, 50)], stream=8192)
        self.assertEqual([entry[:2] for entry in LOG if entry[0] in ("upload", "compute", "match", "reached")],
                         [("upload", 4096), ("upload", 4096), ("compute", 4096), ("reached", 4096), ("upload", 8192), ("match", 8192), ("reached", 8192)])

    def test_tiles(self):
        """Results of a device are asked for with that device as the current one."""
        image = texture((60, 90), 1)
        tiles = Tiles({"sigma": 2, "max_dist": 4, "device": "cuda:1"}, (90, 60), (90, 60))
        labels = tiles.add((0, 0), image, None)
        self.assertEqual([entry for entry in LOG if entry[0] == "add"], [("add", 0, 1)])
        np.testing.assert_array_equal(tiles.join().relabel((0, 0), labels), ct.QuickShift(2, 4, device="cpu").compute(image).labels())

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
        grid, row = ct.windows((60, 90), 60, 30, 4), np.zeros((1, 2), np.float32)
        cpu.cut(frame(0), grid.regions)
        gpu.cut(DeviceArray(frame(0)), grid.regions)
        wanted, field = cpu.match(frame(1), grid.areas).field(grid), gpu.match(DeviceArray(frame(1)), grid.areas).field(grid)
        there = dataclasses.replace(grid, areas=DeviceArray(grid.areas))
        for made in (field, gpu.match(DeviceArray(frame(1)), there.areas).field(there)):
            for ours, theirs in zip(made, wanted):
                self.assertIsInstance(ours, ct.DeviceArray)
                np.testing.assert_array_equal(ours.numpy(), theirs)
        for ours, theirs in zip(cpu.match(frame(1), grid.areas).field(there), wanted):  # these areas come to the host
            np.testing.assert_array_equal(ours, theirs)
        with self.assertRaisesRegex(ct.ArgumentError, "^grid: window 1 of 2 x 1 is"):
            gpu.match(DeviceArray(frame(1)), there.areas).field(ct.windows((90, 60), 60, 30, 4))
        for offset in (field, (DeviceArray(row), DeviceArray(row))):
            areas = ct.windows((60, 90), 20, 10, 4, offset).areas
            self.assertIsInstance(areas, ct.DeviceArray)
            np.testing.assert_array_equal(areas.numpy(), ct.windows((60, 90), 20, 10, 4, wanted if offset is field else (row, row)).areas)
        with self.assertRaisesRegex(TypeError, "offset.u: elements are float64 on a device"):
            ct.windows((60, 90), 20, 10, 4, (DeviceArray(row.astype(float)),) * 2)
        with self.assertRaisesRegex(ct.ArgumentError, "offset.v: u and v must both lie"):
            ct.windows((60, 90), 20, 10, 4, (row, DeviceArray(row)))

    def test_predicted_areas_bound_the_work(self):
        """As max_search_area would, as long as nobody else can have changed them."""
        regions = [(30, 50, 17, 17), (100, 20, 16, 24)]
        cpu = ct.FragmentMatcher(device="cpu")
        cpu.cut(frame(0), regions)
        start = cpu.match(frame(0)).locations
        expected = cpu.match(frame(1), cpu.predict_areas(start, 5, (192, 144)))
        changes = {"nothing": lambda areas: None, "its address": lambda areas: areas.pointer, "a capsule": lambda areas: areas.__dlpack__(stream=1),
                   "an interface": lambda areas: areas.__cuda_array_interface__}
        for name, change in changes.items():
            gpu = ct.FragmentMatcher()
            gpu.cut(DeviceArray(frame(0)), regions)
            areas = gpu.predict_areas(DeviceArray(np.ascontiguousarray(start[:, 0])), 5, (192, 144))
            change(areas)
            found = gpu.match(DeviceArray(frame(1)), areas)
            np.testing.assert_array_equal(found.locations.numpy(), expected.locations)
            self.assertEqual(gpu._native.getParams().maxSearchArea, (27, 34) if name == "nothing" else (0, 0), name)
        areas = gpu.predict_areas(DeviceArray(np.ascontiguousarray(start[:, 0])), 5, (192, 144))
        gpu.match(DeviceArray(frame(1)), areas)
        self.assertEqual(gpu._native.getParams().maxSearchArea, (27, 34))
        own = DeviceArray(np.zeros((2, 4), np.int32))
        for out in (own, gpu.predict_areas(DeviceArray(np.ascontiguousarray(start[:, 0])), 5, (192, 144))):
            gpu.match(DeviceArray(frame(1)), gpu.predict_areas(DeviceArray(np.ascontiguousarray(start[:, 0])), 50, (192, 144), out=out))
            self.assertEqual(gpu._native.getParams().maxSearchArea, (0, 0))
        gpu.add(DeviceArray(frame(0)[:40, :50]))
        areas = gpu.predict_areas(DeviceArray(np.zeros((3, 2), np.int32)), 5, (192, 144))
        gpu.match(DeviceArray(frame(1)), areas)
        self.assertEqual(gpu._native.getParams().maxSearchArea, (60, 50))

    def test_areas_on_the_host_are_bound_whatever_their_size(self):
        """A matcher would refuse the uploaded areas if their size were not known."""
        for limit, sizes, wanted in ((0, (0, 0), (1, 1)), (0, (2**31 - 1, 40), (32767, 40)), ((60, 0), (50, 40), (60, 40)), ((0, 60), (50, 40), (50, 60))):
            gpu = ct.FragmentMatcher(max_search_area=limit)
            gpu.cut(DeviceArray(frame(0)), [(30, 50, 17, 17)])
            gpu.match(DeviceArray(frame(1)), [(20, 40, *sizes)])
            self.assertEqual(gpu._native.getParams().maxSearchArea, wanted)

    def test_views_are_kept(self):
        """A loop over the same places makes no GpuMat but the first time."""
        image = DeviceArray(frame(0))
        with mock.patch.object(_arrays, "mat_at", functools.lru_cache(_arrays.mat_at)):
            for step in range(3):
                LOG.clear()
                ct.QuickShift(3, 8).compute(image)
                self.assertEqual(len(self.views()), int(step == 0))
            LOG.clear()
            ct.QuickShift(3, 8).compute(DeviceArray(frame(0)))
            ct.QuickShift(3, 8).compute(DeviceArray(image.array[:100]))
            self.assertEqual(len(self.views()), 2)

    def test_trackers(self):
        cpu, gpu, many = ct.Tracker(device="cpu"), ct.Tracker(), ct.MultiTracker()
        cpu.init(frame(0), box(0))
        gpu.init(DeviceArray(frame(0)), box(0))
        many.add(DeviceArray(frame(0)), box(0))
        for step in range(1, 4):
            expected = cpu.update_async(frame(step))
            ours = gpu.update_async(DeviceArray(frame(step)))
            self.assertEqual((ours.shape, ours.strides), ((12,), (8,)))
            np.testing.assert_array_equal(ours.numpy(), expected)
            tracks = many.update(DeviceArray(frame(step)))
            self.assertEqual([tracks[0][name] for name in ("x", "y", "width", "height", "score")], expected[:5].tolist())
        self.assertEqual(gpu.update(frame(4)), cpu.update(frame(4)))

    def test_capsules_out(self):
        image = texture((60, 90, 3), 3)
        shift = ct.QuickShift(3, 8).compute(DeviceArray(image, 1))
        labels = shift.labels()
        self.assertEqual((labels.device, labels.__dlpack_device__()), ("cuda:1", (2, 1)))
        contents = ct._memory.read(labels.__dlpack__(stream=-1))
        self.assertEqual((contents.pointer, contents.device, contents.typestr, contents.shape, contents.strides), (labels.pointer, 1, "i4", (60, 90), (360, 4)))
        mean = shift.mean_color(DeviceArray(image, 1))
        contents = ct._memory.read(mean.__dlpack__(stream=1, max_version=(1, 0), dl_device=(2, 1), copy=False))
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
        self.assertEqual(LOG, [("wait", 8192, 4096, 0), ("record_stream", 8192, 0)])

    def test_another_stream(self):
        """The image is asked for on the stream that is given, and its library waits, on the device, before its memory goes elsewhere."""
        DeviceArray.now = 4096
        shift = ct.QuickShift(3, 8).compute(DeviceArray(texture((20, 30), 1)), stream=8192)
        self.assertEqual([entry for entry in LOG if entry[0] in ("produce", "compute", "wait")],
                         [("produce", 8192, 0), ("compute", 8192, 0), ("wait", 4096, 8192, 0)])
        LOG.clear()
        shift.labels(stream=12288)
        self.assertEqual([entry for entry in LOG if entry[0] in ("wait", "getLabels")],  # torch's memory: after its work, and before it has it again
                         [("wait", 12288, 8192, 0), ("wait", 12288, 4096, 0), ("getLabels", 12288, 0), ("wait", 4096, 12288, 0)])

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

    def test_a_device_that_is_refused(self):
        """Arrays of the host are uploaded to the device of each frame, and an object stays on its own if a call with another one fails."""
        matcher = ct.FragmentMatcher()
        matcher.cut(DeviceArray(frame(0), 1), [(30, 50, 17, 17)])
        areas, real = [(20, 40, 50, 50)], matcher._native.real
        refusing = mock.Mock(match=mock.Mock(side_effect=ct.cv2.error("another device")), getFragmentCount=real.getFragmentCount, getParams=real.getParams)
        with mock.patch.object(matcher._native, "real", refusing), self.assertRaises(ct.error):
            matcher.match(DeviceArray(frame(1), 0), areas)
        self.assertEqual(matcher._last[0], 1)
        matcher.match(DeviceArray(frame(1), 1), areas)
        self.assertEqual([entry[-1] for entry in LOG if entry[0] == "upload"], [0, 1])
        places = {device: _memory.allocation_at(mat.cudaPtr()).device for (slot, device), mat in matcher._uploads.items()}
        self.assertEqual(places, {0: 0, 1: 1})

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
        image = allocated(texture((20, 30), 1))
        np.testing.assert_array_equal(ct.QuickShift(3, 8).compute(Bare(image)).labels().numpy(), ct.QuickShift(3, 8, device="cpu").compute(image).labels())

    def test_gray_plane_of_a_decoder(self):
        """The Y plane of an NV12 surface, with its pitch, is a gray image for every class; nothing is copied."""
        surfaces = []
        for step in range(3):
            gray = ct.cv2.cvtColor(frame(step), ct.cv2.COLOR_BGR2GRAY)
            surface = np.full((216, 256), 128, np.uint8)  # 144 rows of Y, 72 of UV; 192 of 256 columns are the image
            surface[:144, :192] = gray
            surfaces.append((gray, allocated(surface)))
        for shape, strides in (((144, 192), (256, 1)), ((144, 192, 1), (256, 1, 1))):
            gray, planes = [pair[0] for pair in surfaces], [Described(pair[1].ctypes.data, shape, "|u1", strides) for pair in surfaces]
            cpu, gpu = ({"faces": ct.CascadeClassifier("frontalface_alt", min_neighbors=0, device=device), "shift": ct.QuickShift(3, 8, device=device),
                         "tracker": ct.Tracker(device=device), "matcher": ct.FragmentMatcher(device=device)} for device in ("cpu", "auto"))
            LOG.clear()
            results = []
            for made, images in ((cpu, gray), (gpu, planes)):
                made["tracker"].init(images[0], box(0))
                made["matcher"].cut(images[0], [(34, 54, 30, 30)])
                results.append([made["faces"].detect(images[1]), made["shift"].compute(images[1]).labels(), made["tracker"].update(images[1])[1],
                                made["tracker"].update(images[2])[1], made["matcher"].match(images[1]).locations])
            for ours, theirs in zip(*results):
                np.testing.assert_array_equal(np.asarray(theirs), np.asarray(ours))
            self.assertTrue(all(np.asarray(result).any() for result in results[1][1:]))  # there is no face
            starts = [pair[1].ctypes.data for pair in surfaces]
            self.assertEqual(self.views(), [(starts[i], 256) for i in (0, 0, 1, 1, 1, 2, 1)])
            self.assertEqual([entry for entry in LOG if entry[0] == "upload"], [])

    def test_a_failing_call_leaves_the_device_as_it_was(self):
        with self.assertRaises(ct.error):
            ct.Tracker().update(DeviceArray(frame(0), 1))
        self.assertEqual(STATE["device"], 0)

    def refused(self, words, function, kind=ct.ArgumentError):
        """The call raises, and nothing was given to the extension: no view was made and nothing uploaded."""
        LOG.clear()
        with self.assertRaisesRegex(kind, words) as caught:
            function()
        self.assertEqual([entry for entry in LOG if entry[0] in ("view", "upload")], [])
        self.assertEqual(STATE["device"], 0)
        return caught.exception

    def test_wrong_addresses(self):
        """Device, managed and page-locked host memory is taken; every other address is refused by name, in every argument."""
        image = texture((60, 90), 1)
        somewhere = image.ctypes.data  # memory of the host that CUDA does not know
        for address in (0, 1, -1, 4096, 2**63, 2**64, 2**70, somewhere):
            raised = self.refused(rf"^image: address {address:#x} is not that of device memory", lambda: ct.QuickShift().compute(Described(address, (60, 90))))
            self.assertEqual((raised.argument, raised.value), ("image", address))
        wrong = Described(4096, (60, 90))
        matcher = ct.FragmentMatcher()
        matcher.cut(DeviceArray(frame(0)), [(30, 50, 17, 17)])
        good = DeviceArray(image)
        for name, function in (
                ("mask", lambda: ct.QuickShift().compute(good, mask=wrong)), ("image", lambda: ct.CascadeClassifier("eye").detect(wrong)),
                ("mask", lambda: ct.CascadeClassifier("eye").detect(good, mask=wrong)), (r"images\[1\]", lambda: ct.CascadeClassifier("eye").detect_async([good, wrong])),
                (r"masks\[0\]", lambda: ct.CascadeClassifier("eye").detect_async([good], masks=[wrong])), ("image", lambda: ct.Tracker().init(wrong, box(0))),
                ("box", lambda: ct.Tracker().init(good, Described(4096, (4,), "<i4"))), ("image", lambda: ct.MultiTracker().add(wrong, box(0))),
                ("image", lambda: ct.Detector().init(wrong, box(0))), ("frame", lambda: matcher.match(wrong)), ("frame", lambda: matcher.cut(wrong, [box(0)])),
                ("regions", lambda: matcher.cut(good, Described(4096, (1, 4), "<i8"))), ("areas", lambda: matcher.match(good, Described(4096, (1, 4), "<i4"))),
                ("predictions", lambda: matcher.match(good, predictions=Described(4096, (1, 2), "<i4"))), (r"templates\[0\]", lambda: matcher.set([wrong])),
                (r"weights\[0\]", lambda: matcher.set([good], [Described(4096, (60, 90), "<f4")])), ("template", lambda: matcher.add(wrong)),
                ("weights", lambda: matcher.add(good, wrong)), ("locations", lambda: matcher.predict_areas(Described(4096, (1, 2), "<i4"), 3, (90, 60))),
                ("image", lambda: ct.QuickShift().compute(fake_device.Mat(np.zeros((4, 4), np.uint8), known=False)))):
            self.refused(f"^{name}: address 0x", function)
        for kind in (1, 2, 4):  # CU_MEMORYTYPE_HOST, DEVICE, UNIFIED
            ALLOCATIONS.clear()
            allocated(image, 0, kind)
            np.testing.assert_array_equal(ct.QuickShift(3, 8).compute(Described(somewhere, (60, 90))).labels().numpy(), ct.QuickShift(3, 8, device="cpu").compute(image).labels())

    def test_beyond_the_allocation(self):
        image = allocated(texture((60, 90), 1))
        start, end = image.ctypes.data, image.ctypes.data + image.size
        for pointer, shape, strides, beyond in ((start, (61, 90), None, 90), (start + 1, (60, 90), None, 1), (start, (2, 60), (5400, 1), 60), (end - 1, (1, 2), None, 1),
                                                (start, (2**20, 2**20), None, 2**40 - 5400)):
            self.refused(f"^image: shape .* reaches {beyond} bytes beyond its allocation of 5400 bytes", lambda: ct.QuickShift().compute(Described(pointer, shape, "|u1", strides)))
        ct.QuickShift(3, 8).compute(Described(start + 5, (60, 80), "|u1", (90, 1)))  # ends within the last row
        ct.QuickShift(3, 8).compute(Described(end - 1, (1, 1), "|u1", (2**40, 1)))   # one row: its stride is not used
        self.refused("^image: address .* is not a multiple of the 4 bytes", lambda: ct.QuickShift().compute(Described(start + 2, (4, 4), "<f4")))
        for shape, strides in (((-1, 5), None), ((3, -1), None), ((5, 5), (5,)), ((5, "x"), None), ((3.5, 5), None), ((3, 5), (5, 1.5))):
            self.refused("^image: __cuda_array_interface__", lambda: ct.QuickShift().compute(Described(start, shape, "|u1", strides)), TypeError)

    def test_arrays_without_elements(self):
        for pointer in (0, 4096):
            self.assertEqual(ct.CascadeClassifier("eye").detect(Described(pointer, (0, 0))).shape, (0, 4))
            self.assertEqual(ct.CascadeClassifier("eye").detect(Described(pointer, (0, 90))).shape, (0, 4))
            self.assertEqual(ct.QuickShift().compute(Described(pointer, (0, 90))).labels().shape[0], 0)
        self.assertEqual(STATE["queries"], 0)

    def test_the_driver_tells_the_device(self):
        """__cuda_array_interface__ does not; an attribute `device` of the object is not asked."""
        image = texture((20, 30), 1)
        given = Interface(image, device=1)
        given.device = 0
        LOG.clear()
        self.assertEqual(ct.QuickShift(3, 8).compute(given).labels().device, "cuda:1")
        self.assertEqual({entry[-1] for entry in LOG}, {1})
        with self.assertRaisesRegex(ct.ArgumentError, "image: lies on CUDA device 1.*'cuda:0'"):
            ct.QuickShift(device="cuda:0").compute(given)
        STATE["device"] = 1
        mat = fake_device.Mat(image.copy())
        STATE["device"] = 0
        self.assertEqual(ct.QuickShift(3, 8).compute(mat).labels().device, "cuda:1")

    def test_answers_of_the_driver(self):
        image = texture((20, 30), 1)
        given = Interface(image)
        for results in ([201], [0, 201], [201, 0, 201]):  # no context in this thread: one is made current, and the driver asked again
            STATE["results"] = list(results)
            ct.QuickShift(3, 8).compute(given)
        for results in ([1], [201, 201], [201, 1]):
            STATE["results"] = list(results)
            self.refused("image: address", lambda: ct.QuickShift(3, 8).compute(given))
        for results in ([700], [0, 4]):
            STATE["results"] = list(results)
            raised = self.refused(f"cuPointerGetAttributes.*failed with {results[-1]}", lambda: ct.QuickShift(3, 8).compute(given), ct.error)
            self.assertNotIsInstance(raised, ValueError)
        STATE["results"] = [0, 1]  # registered host memory of unknown extent
        self.assertEqual(_memory.allocation_at(image.ctypes.data), (0, image.ctypes.data, 0))

    def test_capsules_made_by_hand(self):
        image = allocated(texture((60, 90), 1))
        start = image.ctypes.data
        np.testing.assert_array_equal(ct.QuickShift(3, 8).compute(HandMade(start, (60, 90))).labels().numpy(), ct.QuickShift(3, 8, device="cpu").compute(image).labels())
        np.testing.assert_array_equal(ct.QuickShift(3, 8).compute(HandMade(start - 90, (60, 90), byte_offset=90)).labels().numpy(),
                                      ct.QuickShift(3, 8, device="cpu").compute(image).labels())
        compute = lambda given: lambda: ct.QuickShift(3, 8).compute(given)  # noqa: E731
        for address in (0, 4096, np.ones(6000).ctypes.data):
            raised = self.refused(f"^image: address {address:#x} is not that of device memory", compute(HandMade(address, (60, 90))))
            self.assertEqual((raised.argument, raised.value), ("image", address))
            self.refused("^image: address", compute(HandMade(address, (60, 90), said=None)))
        self.refused("^image: shape .* reaches 90 bytes beyond", compute(HandMade(start, (61, 90))))
        self.refused("^image: shape .* reaches 7 bytes beyond", compute(HandMade(start, (60, 90), byte_offset=7)))
        self.refused("^image: its capsule holds u1 of shape", compute(HandMade(start, (61, 90), said=(60, 90))))
        self.refused("^image: its capsule holds u2 of shape", compute(HandMade(start, (30, 90), bits=16, said=(30, 90))))
        for named in ({"ndim": -1}, {"ndim": 2**30}, {"shape": (-1, 90)}, {"bits": 4}, {"bits": 0}, {"lanes": 4}, {"code": 5}):
            self.refused("^image: what HandMade.__dlpack__.. returned cannot be read", compute(HandMade(start, **{"shape": (60, 90), **named}, said=(60, 90))), TypeError)
        for capsule in (None, object(), "x"):
            given = HandMade(start, (60, 90))
            given.capsule = capsule
            self.refused("^image: what HandMade.__dlpack__.. returned cannot be read", compute(given), TypeError)
        self.assertEqual(ct.CascadeClassifier("eye").detect(HandMade(0, (0, 0))).shape, (0, 4))

    def test_boxes_on_a_device(self):
        """Boxes of any type and strides are fetched, as those of the host are taken."""
        expected = ct.Tracker(device="cpu")
        expected.init(frame(0), box(0))
        wide = np.zeros((3, 8), np.int64)
        wide[1, ::2] = box(0)
        for given in [np.array(box(0), kind) for kind in (np.uint8, np.int32, np.int64, np.float32, float)] + [np.array([box(0)]), wide[1, ::2]]:
            tracker = ct.Tracker()
            for kind in (DeviceArray, Interface):
                tracker.init(DeviceArray(frame(0)), kind(given))
                self.assertEqual(tracker.box, expected.box)

    def test_host_values_are_checked_before_they_are_uploaded(self):
        """The same message on the CPU and on a device, for frames of the host and of a device."""
        regions, good = [(30, 50, 17, 17), (100, 20, 16, 24)], [(20, 40, 50, 50), (90, 10, 40, 40)]
        half = np.full((17, 17), .5, np.float32)
        other = np.full((24, 16), .5, np.float32)

        def changed(value, kind=np.float32):
            made = half.astype(kind)
            made[3, 5] = value
            return made
        cases = [("match", {"areas": [good[0], (0, 0, -9, 9)]}, r"^areas\[1\]: size -9 x 9 is negative$", "areas"),
                 ("match", {"areas": [(0, 0, 9, -2**31), good[1]]}, r"^areas\[0\]: size 9 x -2147483648 is negative$", "areas"),
                 ("match", {"areas": np.array([good[0], (0, 0, -9, -9)], float)}, r"^areas\[1\]: size -9 x -9 is negative$", "areas"),
                 ("match", {"areas": good[:1]}, "^areas: 1 given, one for each of 2", "areas"), ("match", {"areas": []}, "^areas: 0 given, one for each of 2", "areas"),
                 ("match", {"areas": [good[0], (0, 0, 2**31, 9)]}, r"^areas\[1\]: .* 32 bits", "areas"),
                 ("match", {"predictions": [(3, 4)]}, "^predictions: 1 given, one for each of 2", "predictions"),
                 ("match", {"predictions": [(3, 4), (float("nan"), 1)]}, r"^predictions\[1\]: .*nan", "predictions"),
                 ("cut", {"weights": [changed(1.5), other]}, r"^weights\[0\]: value 1.5 at \(5, 3\) is not in \[0, 1\]$", "weights[0]"),
                 ("cut", {"weights": [changed(float("nan")), other]}, r"^weights\[0\]: value nan at \(5, 3\)", "weights[0]"),
                 ("cut", {"weights": [changed(1e300, float), other]}, r"^weights\[0\]: value inf at \(5, 3\)", "weights[0]"),
                 ("cut", {"weights": [half, other * 0]}, r"^weights\[1\]: their sum is 0", "weights[1]"),
                 ("cut", {"weights": [half > 9, other]}, r"^weights\[0\]: their sum is 0", "weights[0]"),
                 ("cut", {"weights": [half * np.float32(.001), other]}, r"^weights\[0\]: their sum is 0", "weights[0]"),
                 ("cut", {"regions": [regions[0], (180, 130, 17, 17)]}, r"regions\[1\]: 17 x 17 at \(180, 130\) is not inside", "regions")]
        for method, named, words, argument in cases:
            said = set()
            for device, put in (("cpu", np.array), ("auto", np.array), ("auto", DeviceArray)):
                matcher = ct.FragmentMatcher(search="three_step", device=device)
                matcher.cut(put(frame(0)), regions)
                LOG.clear()
                with self.assertRaisesRegex(ct.ArgumentError, words) as caught:
                    getattr(matcher, method)(put(frame(1)), **({"regions": regions, **named} if method == "cut" else named))
                self.assertEqual(caught.exception.argument, argument)
                self.assertEqual([entry for entry in LOG if entry[0] == "upload"], [])
                said.add(str(caught.exception))
            self.assertEqual(len(said), 1, said)
        matcher = ct.FragmentMatcher()
        with self.assertRaisesRegex(ct.ArgumentError, r"weights\[0\]: lies on CUDA device 0, and frame on the host"):
            matcher.cut(frame(0), regions, [DeviceArray(half), DeviceArray(other)])

    def test_areas_on_a_device_are_not_fetched(self):
        matcher = ct.FragmentMatcher()
        matcher.cut(DeviceArray(frame(0)), [(30, 50, 17, 17)])
        LOG.clear()
        with self.assertRaisesRegex(ct.error, "negative"):  # from the CPU backend, which works behind the fake device
            matcher.match(DeviceArray(frame(1)), DeviceArray(np.array([(0, 0, -9, 9)], np.int32)))
        self.assertEqual([entry[0] for entry in LOG if entry[0] in ("download", "complete", "match")], ["match"])


class HandMade:
    """An object that says it lies on CUDA device 0, with a capsule for any address; `said` is the shape it says besides."""

    def __init__(self, pointer, shape, said=(), **named):
        self.capsule = fake_device.capsule(pointer, shape, **named)
        if said is not None:
            self.shape, self.dtype = said or shape, "uint8"

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, *, stream=None):
        return self.capsule


if __name__ == "__main__":
    unittest.main()
