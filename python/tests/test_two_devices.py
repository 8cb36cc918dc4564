"""Tensors on one device while another is current, streams of both, objects of both on threads: results lie where the image was.

Needs two CUDA devices and torch.
"""
import concurrent.futures
import unittest

import numpy as np

import cudatracking as ct
from scenes import box, frame, texture

try:
    import torch
except ImportError:
    torch = None

AREAS = [(20, 40, 60, 60), (0, 0, 192, 144)]
REGIONS = [(30, 50, 40, 40), (100, 20, 16, 16)]
STEPS = range(1, 6)


def matches(put, device, stream=None):
    matcher = ct.FragmentMatcher("zncc", subpixel=True, max_search_area=60, device=device)
    matcher.cut(put(frame(0)), REGIONS, stream=stream)
    for step in STEPS:
        found = matcher.match(put(frame(step)), put(np.array(AREAS, np.int32)), stream=stream)
        yield from (found.locations, found.scores, found.confidence, found.status, found.refined)
    yield matcher.score_map(1, put(frame(1)), stream=stream)
    yield matcher.predict_areas(found.locations, 5, (192, 144), stream=stream)


def superpixels(put, device, stream=None):
    shift = ct.QuickShift(3, 8, device=device)
    for step in STEPS:
        shift.compute(put(frame(step)), stream=stream)
        yield from (shift.labels(stream=stream), shift.density(stream=stream), shift.segment(5, stream=stream), shift.contours(stream=stream),
                    shift.mean_color(put(frame(step)), stream=stream))


def objects(put, device, stream=None):
    faces = ct.CascadeClassifier("frontalface_alt", min_neighbors=0, device=device)
    for step in STEPS:
        yield from faces.detect_async([put(frame(step)), put(texture((90, 120), step))], stream=stream)


def tracks(put, device, stream=None):
    several = ct.MultiTracker(device=device)
    several.add(put(frame(0)), box(0), stream=stream)
    detector = ct.Detector(device=device)
    detector.init(put(frame(0)), box(0), stream=stream)
    for step in STEPS:
        yield several.update_async(put(frame(step)), stream=stream)
        yield detector.detect_async(put(frame(step)), stream=stream)


JOBS = (matches, superpixels, objects, tracks)


@unittest.skipUnless(torch and len(ct.devices()) > 1 and torch.cuda.device_count() > 1, "needs two CUDA devices and torch")
class TwoDevicesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.expected = {job: [np.asarray(one) for one in job(lambda array: array, "cpu")] for job in JOBS}

    def put(self, array, device):
        return torch.from_numpy(np.ascontiguousarray(array)).to(f"cuda:{device}")

    def compare(self, job, device, **options):
        """Runs a job with tensors of one device, whatever the current one is; compares place and values with the host's."""
        results = list(job(lambda array: self.put(array, device), "auto", **options))
        self.assertEqual(len(results), len(self.expected[job]))
        for i, (result, expected) in enumerate(zip(results, self.expected[job])):
            if result is None:
                continue
            where = f"{job.__name__}, device {device}, result {i}"
            self.assertEqual((result.device, result.__dlpack_device__()), (f"cuda:{device}", (2, device)), where)
            np.testing.assert_array_equal(result.numpy(), expected, where)
            np.testing.assert_array_equal(torch.from_dlpack(result).cpu().numpy(), expected, where)

    def test_another_device_is_current(self):
        for current in (0, 1):
            for device in (0, 1):
                for job in JOBS:
                    with self.subTest(job=job.__name__, current=current, device=device), torch.cuda.device(current):
                        self.compare(job, device)
                        self.assertEqual(torch.cuda.current_device(), current)

    def test_streams_of_both(self):
        for device in (0, 1):
            stream = torch.cuda.Stream(device)
            for job in JOBS:
                with self.subTest(job=job.__name__, device=device), torch.cuda.device(1 - device):
                    self.compare(job, device, stream=stream)
                with self.subTest(job=job.__name__, device=device, current="stream"), torch.cuda.stream(stream):
                    self.compare(job, device)

    def test_a_stream_of_the_other_device_is_refused(self):
        with self.assertRaisesRegex(ValueError, "stream"):
            ct.QuickShift(3, 8).compute(self.put(frame(0), 1), stream=torch.cuda.Stream(0))
        self.compare(superpixels, 1)

    def test_arrays_of_two_devices_are_refused(self):
        matcher = ct.FragmentMatcher()
        matcher.cut(self.put(frame(0), 1), REGIONS)
        with self.assertRaisesRegex(ValueError, "areas: lies on CUDA device 0"):
            matcher.match(self.put(frame(1), 1), self.put(np.array(AREAS, np.int32), 0))
        with self.assertRaisesRegex((ValueError, ct.error), "device"):
            matcher.match(self.put(frame(1), 0), AREAS)
        self.assertEqual(matcher.match(self.put(frame(1), 1), AREAS).locations.numpy()[0, 0].tolist(), [33, 50])

    def test_refused_images_change_nothing(self):
        """Methods without an image find the device of their object after an image of another device was refused."""
        tracker = ct.Tracker()
        tracker.init(self.put(frame(0), 1), box(0))
        with self.assertRaisesRegex((ValueError, ct.error), "device"):
            tracker.update(self.put(frame(1), 0))
        self.assertEqual(tracker.box, tuple(map(float, box(0))))
        self.assertTrue(tracker.update(self.put(frame(1), 1))[0])

    def test_objects_of_both_on_threads(self):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for done in [pool.submit(self.compare, JOBS[i % 4], i // 4 % 2) for i in range(32)]:
                done.result()


if __name__ == "__main__":
    unittest.main()
