"""TLDDetector, TrackerTLD and MultiTrackerTLD through cv2, on videos made here."""
import os
import tempfile
import unittest

import cv2
import numpy as np

TLDDetector, TrackerTLD, MultiTrackerTLD = cv2.cuda.TLDDetector, cv2.cuda.TrackerTLD, cv2.cuda.MultiTrackerTLD
LOST, UNCERTAIN, TRACKING = cv2.cuda.TrackerTLD_LOST, cv2.cuda.TrackerTLD_UNCERTAIN, cv2.cuda.TrackerTLD_TRACKING


def texture(seed, width, height, sigma):
    noise = np.random.RandomState(seed).randint(0, 256, (height, width)).astype(np.float32)
    smooth = cv2.GaussianBlur(noise, (0, 0), sigma) + 2 * cv2.GaussianBlur(noise[::-1], (0, 0), 3 * sigma)
    return cv2.normalize(smooth, None, 0, 255, cv2.NORM_MINMAX).astype(np.uint8)


BACKGROUND, OBJECTS = texture(1, 240, 180, 3.), [texture(2, 40, 34, 2.), texture(3, 32, 32, 2.)]


def box(t, which=0):
    return (50 + 2 * t, 60 + t, 40, 34) if which == 0 else (180 - t, 110, 32, 32)


def frame(t, objects=(0, 1)):
    image = BACKGROUND.copy()
    for which in objects:
        x, y, w, h = box(t, which)
        image[y:y + h, x:x + w] = OBJECTS[which]
    return image


def overlap(a, b):
    w = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    h = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    both = max(w, 0) * max(h, 0)
    return both / (a[2] * a[3] + b[2] * b[3] - both)


class TLDTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = lambda name: os.path.join(folder.name, name)

    def test_parameters(self):
        params = cv2.cuda.TLDParams()
        self.assertEqual((params.seed, params.trees, params.features, params.flowWindow), (1, 10, 13, 9))
        params.seed, params.learning, params.minReplyScore = 7, False, 0.5
        for made in (TLDDetector.create(params), TrackerTLD.create(params), MultiTrackerTLD.create(params)):
            kept = made.getParams()
            self.assertEqual((kept.seed, kept.learning, kept.minReplyScore), (7, False, 0.5))
        params.trees = 99
        with self.assertRaisesRegex(cv2.error, "trees"):
            TrackerTLD.create(params)

    def test_tracker(self):
        tracker = TrackerTLD.create()
        self.assertEqual(tracker.getState(), LOST)
        tracker.init(frame(0), box(0))
        for t in range(1, 15):
            located, found = tracker.update(frame(t))
            self.assertTrue(located)
            self.assertGreater(overlap(found, box(t)), 0.5)
            self.assertGreater(overlap(tracker.getBox(), box(t)), 0.5)
            self.assertTrue(0. <= tracker.getTrackingScore() <= 1.)
        self.assertEqual(tracker.getState(), TRACKING)
        for t in range(15, 25):
            located, _ = tracker.update(frame(t, (1,)))
        self.assertFalse(located)
        self.assertEqual(tracker.getState(), LOST)
        for t in range(20, 26):
            located, found = tracker.update(frame(t))
        self.assertTrue(located)
        self.assertGreater(overlap(found, box(25)), 0.5)

    def test_results_and_templates(self):
        tracker, same = TrackerTLD.create(), TrackerTLD.create()
        tracker.init(frame(0), box(0))
        same.init(frame(0), box(0))
        for t in range(1, 6):
            result = tracker.updateAsync(frame(t))
            self.assertEqual((result.shape, result.dtype), ((1, cv2.cuda.TrackerTLD_RESULT_COLUMNS), np.float64))
            located, found = same.update(frame(t))
            self.assertEqual(bool(result[0, cv2.cuda.TrackerTLD_RESULT_LOCATED]), located)
            self.assertEqual(tuple(result[0, :4]), same.getBox())
        for positive in (True, False):
            templates = tracker.getTemplates(positive)
            self.assertEqual((templates.shape[1], templates.dtype), (15, np.uint8))
            self.assertEqual(templates.shape[0] % 15, 0)
        boxes, scores = TLDDetector.convertDetections(tracker.getDetections())
        self.assertEqual(len(boxes), len(scores))
        self.assertGreater(max(overlap(found, box(5)) for found in boxes), 0.5)
        tracker.setLearning(False)
        self.assertFalse(tracker.getLearning())
        tracker.resetTo(box(5))
        self.assertEqual(tracker.getBox(), tuple(float(v) for v in box(5)))

    def test_detector(self):
        detector = TLDDetector.create()
        self.assertTrue(detector.empty())
        detector.init(frame(0), box(0))
        self.assertFalse(detector.empty())
        self.assertEqual(detector.getDefaultName(), "TLDDetector")
        table = detector.detect(frame(0))
        self.assertEqual(table.shape, (101, cv2.cuda.TLDDetector_DETECTION_COLUMNS))
        stored, windows, with_variance, passed, accepted_windows = (
            table[0, getattr(cv2.cuda, f"TLDDetector_COUNT_{name}")] for name in ("STORED", "WINDOWS", "WITH_VARIANCE", "PASSED", "ACCEPTED"))
        self.assertTrue(windows >= with_variance >= passed >= accepted_windows > 0)
        accepted, _ = TLDDetector.convertDetections(table)
        every, _ = TLDDetector.convertDetections(table, True)
        self.assertEqual((len(accepted), len(every)), (accepted_windows, stored))
        detector.learn(frame(3), box(3))
        self.assertFalse(np.array_equal(table, detector.detect(frame(0))))

    def test_saved_in_the_middle(self):
        tracker, second = TrackerTLD.create(), TrackerTLD.create()
        tracker.init(frame(0), box(0))
        for t in range(1, 8):
            tracker.update(frame(t))
        tracker.save(self.path("object.xml"))
        second.load(self.path("object.xml"))
        for t in range(8, 14):
            self.assertEqual(tracker.update(frame(t)), second.update(frame(t)))
            self.assertEqual(tracker.getBox(), second.getBox())
        with self.assertRaisesRegex(cv2.error, "nowhere.xml"):
            tracker.load(self.path("nowhere.xml"))

    def test_names_of_cv2_trackers(self):
        tracker, other = TrackerTLD.create(), TrackerTLD.create()
        tracker.init(frame(0), boundingBox=box(0))
        other.init(frame(0), box(0))
        tracker.resetTo(boundingBox=box(0))
        other.resetTo(box(0))
        self.assertEqual(tracker.update(frame(1)), other.update(frame(1)))

    def test_boxes_of_fractions(self):
        x, y, width, height = box(0)
        detected = np.array([x + 0.3, y - 0.4, width + 0.1, height + 0.2], np.float32)
        tracker, other = TrackerTLD.create(), TrackerTLD.create()
        tracker.init(frame(0), detected)
        other.init(frame(0), box(0))
        self.assertEqual(tracker.getBox(), tuple(float(side) for side in box(0)))
        tracker.resetTo((x + 2.4, y + 0.0, width, height))
        other.resetTo((x + 2, y, width, height))
        self.assertEqual(tracker.update(frame(1)), other.update(frame(1)))
        several, detector = MultiTrackerTLD.create(), TLDDetector.create()
        several.resetTo(several.add(frame(0), detected), tuple(detected))
        detector.init(frame(0), detected)
        detector.learn(frame(1), detected)
        for wrong in ((x, y, float("nan"), 20.), (1e300, 0., 20., 20.), (-3.5, 0., 20., 20.)):
            with self.assertRaisesRegex(cv2.error, "box: .*is not inside"):
                tracker.init(frame(0), wrong)

    def test_edges_of_boxes_are_rounded(self):
        x, y, width, height = box(0)
        given, whole = (x + 0.4, y + 0.4, width + 0.4, height + 0.4), (x, y, width + 1, height + 1)
        tracker, several, detector = TrackerTLD.create(), MultiTrackerTLD.create(), TLDDetector.create()
        tracker.init(frame(0), given)
        self.assertEqual(tracker.getBox(), tuple(float(side) for side in whole))
        tracker.resetTo(given)
        self.assertEqual(tracker.getBox(), tuple(float(side) for side in whole))
        several.resetTo(several.add(frame(0), given), given)
        expected = MultiTrackerTLD.create()
        expected.resetTo(expected.add(frame(0), whole), whole)
        np.testing.assert_array_equal(several.update(frame(1)), expected.update(frame(1)))
        image = frame(0)
        for call, *first in ((detector.init, image), (detector.learn, image), (tracker.init, image), (tracker.resetTo,),
                             (several.add, image), (several.resetTo, 0)):
            for wrong, says in ((float("nan"), "nan"), (float("inf"), "inf"), (2.0 ** 32 + 100, "4.29497e"), (2 ** 32 + 100, "4.29497e")):
                with self.assertRaisesRegex(cv2.error, says):
                    call(*first, (wrong, y, width, height))

    def test_box_partly_outside_says_what_to_do(self):
        with self.assertRaisesRegex(cv2.error, r"box & Rect\(0, 0, 240, 180\)"):
            TrackerTLD.create().init(frame(0), (230, 10, 40, 40))

    def test_detector_is_loaded(self):
        detector, other = TLDDetector.create(), TLDDetector.create()
        detector.init(frame(0), box(0))
        detector.save(self.path("detector.xml"))
        other.load(self.path("detector.xml"))
        np.testing.assert_array_equal(detector.detect(frame(1)), other.detect(frame(1)))
        with self.assertRaisesRegex(cv2.error, "nowhere.xml"):
            other.load(self.path("nowhere.xml"))
        with self.assertRaisesRegex(cv2.error, "missing.*cannot be written"):
            detector.save(self.path("missing/detector.xml"))

    def test_several_saved_as_a_whole(self):
        tracker, other = MultiTrackerTLD.create(), MultiTrackerTLD.create()
        for which in (0, 1):
            tracker.add(frame(0), box(0, which))
        tracker.update(frame(1))
        tracker.remove(0)
        tracker.save(self.path("all.xml"))
        other.load(self.path("all.xml"))
        self.assertEqual(list(other.getIds()), [1])
        self.assertEqual(tracker.add(frame(2), box(2, 0)), 2)  # the next frame, before update() has it
        self.assertEqual(other.add(frame(2), box(2, 0)), 2)
        for t in range(2, 6):
            np.testing.assert_array_equal(tracker.update(frame(t)), other.update(frame(t)))
        with self.assertRaisesRegex(cv2.error, "object"):
            other.addFromFile(frame(5), self.path("all.xml"))

    def test_several_objects(self):
        tracker = MultiTrackerTLD.create()
        self.assertTrue(tracker.empty())
        ids = [tracker.add(frame(0), box(0, which)) for which in (0, 1)]
        self.assertEqual(ids, [0, 1])
        for t in range(1, 10):
            results = tracker.update(frame(t))
            self.assertEqual(results.shape, (2, 12))
            for which in (0, 1):
                self.assertGreater(overlap(results[which, :4], box(t, which)), 0.5)
        tracker.saveObject(1, self.path("second.xml"))
        tracker.remove(0)
        self.assertEqual(tracker.addFromFile(frame(9), self.path("second.xml")), 2)
        self.assertEqual(list(tracker.getIds()), [1, 2])
        with self.assertRaisesRegex(cv2.error, "id"):
            tracker.getDetections(0)

    def test_boxes_of_a_detector_as_python_has_them(self):
        """Lists and tuples of numbers, and integers of any width, are what int32 arrays are. None is an empty list."""
        params = cv2.cuda.TLDParams()
        params.startFromBoxes, params.endAfterMisses = True, 1
        boxes = [box(0, 0), box(0, 1)]
        truth = MultiTrackerTLD.create(params).updateWithBoxes(frame(0), np.array(boxes, np.int32))
        self.assertEqual((truth.shape, truth.dtype), ((2, 12), np.float64))
        columns = [0, 1, 2, 3, cv2.cuda.TrackerTLD_RESULT_ID, cv2.cuda.TrackerTLD_RESULT_BOX]
        np.testing.assert_array_equal(truth[:, columns], [[*given, i, i] for i, given in enumerate(boxes)])
        forms = [list, tuple, lambda a: [list(t) for t in a], lambda a: [np.array(t) for t in a], lambda a: np.array(a).reshape(2, 1, 4)]
        forms += [lambda a, dtype=dtype: np.array(a, dtype) for dtype in (np.int64, np.uint32, np.int16, np.uint8)]
        for form in forms:
            tracker = MultiTrackerTLD.create(params)
            np.testing.assert_array_equal(truth, tracker.updateWithBoxes(frame(0), form(boxes)))
            self.assertEqual(len(tracker.update(frame(1))), 2)
            for empty in ([], (), np.zeros((0, 4), np.int32), None):
                self.assertIsNone(tracker.updateWithBoxes(frame(2), empty))
        tracker = MultiTrackerTLD.create(params)
        for value in (2 ** 32 + 3, -2 ** 31 - 1):
            for wrong in ([box(0), (value, 60, 40, 34)], np.array([box(0), (value, 60, 40, 34)])):
                with self.assertRaisesRegex(cv2.error, f"boxes: {value} in row 1, but integers of 32 bits"):
                    tracker.updateWithBoxes(frame(0), wrong)
        for wrong in ([(1., 2., 3., 4.)] * 65, np.full((65, 4), np.nan), [(1, 2, 3)], "box", box(0), np.array(box(0))):
            with self.assertRaisesRegex(cv2.error, "boxes(: .* CV_32SC4|: 4 numbers are given| is not)"):
                tracker.updateWithBoxes(frame(0), wrong)
        with self.assertRaisesRegex(cv2.error, "boxes: 257, but at most 256"):
            tracker.updateWithBoxes(frame(0), [box(0)] * 257)
        self.assertTrue(tracker.empty())

    def test_errors(self):
        tracker = TrackerTLD.create()
        with self.assertRaises(cv2.error):
            tracker.update(frame(0))
        with self.assertRaisesRegex(cv2.error, "box"):
            tracker.init(frame(0), (230, 10, 40, 40))
        with self.assertRaisesRegex(cv2.error, "box"):
            tracker.init(np.full((100, 100), 7, np.uint8), (10, 10, 40, 40))
        with self.assertRaisesRegex(cv2.error, "image"):
            tracker.init(frame(0).astype(np.float32), box(0))
        tracker.init(frame(0), box(0))
        with self.assertRaisesRegex(cv2.error, "image"):
            tracker.update(frame(0)[:100])
        self.assertTrue(tracker.update(frame(1))[0])

    def test_cuda_is_cpu(self):
        if cv2.cuda.getCudaEnabledDeviceCount() <= 0:
            self.skipTest("no CUDA device")
        cpu, gpu = MultiTrackerTLD.create(), MultiTrackerTLD.create()
        device = cv2.cuda.GpuMat()
        for which in (0, 1):
            device.upload(frame(0))
            cpu.add(frame(0), box(0, which))
            gpu.add(device, box(0, which))
        for t in range(1, 10):
            device.upload(frame(t))
            np.testing.assert_array_equal(cpu.update(frame(t)), gpu.update(device).download())


if __name__ == "__main__":
    unittest.main()
