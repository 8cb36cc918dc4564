"""The classes and functions of the package on the CPU: what they take, what they give, what they say."""
import dataclasses
import inspect
import math
import os
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np

import cudatracking as ct
from cudatracking._jobs import settings_of
from cudatracking.scan import scan
from scenes import DATA, box, frame, needs_data, read, texture


class Foreign:
    """A host array of another library: DLPack alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **named):
        return self.array.__dlpack__(**named)


def forms(image):
    """One image in memory in many ways."""
    channels = image.ndim == 3
    wide = np.zeros((image.shape[0] + 3, image.shape[1] + 5) + image.shape[2:], image.dtype)
    wide[1:-2, 2:-3] = image
    read_only = image.copy()
    read_only.flags.writeable = False
    yield "as it is", image
    yield "a region", wide[1:-2, 2:-3]
    yield "flipped twice", np.ascontiguousarray(image[::-1, ::-1])[::-1, ::-1]
    yield "transposed twice", np.ascontiguousarray(image.swapaxes(0, 1)).swapaxes(0, 1)
    yield "every second", np.repeat(np.repeat(image, 2, 0), 2, 1)[::2, ::2]
    yield "planes", np.ascontiguousarray(image.transpose(2, 0, 1)).transpose(1, 2, 0) if channels else image[:, :, None]
    yield "read only", read_only
    yield "Fortran order", np.asfortranarray(image)
    yield "DLPack", Foreign(image)
    yield "a list", image.tolist()


class CascadeTest(unittest.TestCase):
    def test_names(self):
        names = ct.cascades()
        self.assertEqual(len(names), 22)
        self.assertIn("frontalface_alt", names)
        self.assertIn("lbp_frontalface", names)
        for name in names:
            made = ct.CascadeClassifier(name)
            self.assertEqual(made.feature_type, "lbp" if name.startswith("lbp_") else "haar")
            self.assertGreater(made.stages, 5)
            self.assertTrue(os.path.isfile(ct.cascade_file(name)))

    def test_all_sources_are_one(self):
        path = pathlib.Path(ct.cascade_file("frontalface_alt"))
        image = texture((200, 200), 1)
        expected = ct.CascadeClassifier("frontalface_alt").detect(image, min_neighbors=0)
        for source in ("haarcascade_frontalface_alt", "haarcascade_frontalface_alt.xml", str(path), path, path.read_bytes(), bytearray(path.read_bytes())):
            np.testing.assert_array_equal(ct.CascadeClassifier(source).detect(image, min_neighbors=0), expected)

    def test_unknown_name_lists_the_names(self):
        with self.assertRaisesRegex(ValueError, "frontalfase.*eye, eye_tree.*upperbody") as caught:
            ct.CascadeClassifier("frontalfase")
        self.assertIsInstance(caught.exception, ct.error)
        self.assertEqual((caught.exception.argument, caught.exception.value), ("cascade", "frontalfase"))
        with self.assertRaisesRegex(ct.error, "there is no file"):
            ct.CascadeClassifier(pathlib.Path("frontalface_alt"))
        with self.assertRaises(ct.error):
            ct.CascadeClassifier(b"\xff\xd8 no cascade")

    @needs_data
    def test_faces(self):
        image = read("lena.jpg")
        faces = ct.CascadeClassifier("frontalface_alt")
        for name, form in forms(image):
            with self.subTest(name):
                boxes = faces.detect(form)
                self.assertEqual((boxes.dtype, boxes.tolist()), (np.int32, [[213, 200, 178, 178]]))
        mask = np.ones(image.shape[:2], bool)
        self.assertEqual(len(faces.detect(image, mask=mask)), 1)
        mask[239:339, 252:352] = False  # around the centre
        self.assertEqual(faces.detect(image, mask=mask).shape, (0, 4))
        self.assertEqual(len(faces.detect(image, min_size=300)), 0)
        self.assertEqual(len(faces.detect(image, max_size=(100, 100))), 0)
        self.assertGreater(len(faces.detect(image, min_neighbors=0)), 20)
        self.assertEqual(faces.min_neighbors, 3)

    @needs_data
    def test_batch(self):
        image = read("lena.jpg")
        faces = ct.CascadeClassifier("frontalface_alt", min_neighbors=0, max_objects=2)
        whole, half, none = faces.detect_batch([image, image[::2, ::2], np.zeros((50, 50), np.uint8)])
        np.testing.assert_array_equal(whole.boxes, faces.detect(image))
        np.testing.assert_array_equal(half.boxes, faces.detect(image[::2, ::2]))
        self.assertEqual((len(none.boxes), len(none.neighbors), len(none.weights)), (0, 0, 0))
        self.assertEqual((whole.weights.shape, whole.neighbors.dtype), ((len(whole.boxes),), np.int32))
        self.assertEqual(faces.max_objects, 2)
        tables = faces.detect_async([image])
        self.assertEqual(tables.objects.shape, (1, 3, 4))
        self.assertEqual(tables.objects[0, 0, :3].tolist(), [2, len(whole.boxes), len(whole.boxes)])
        faces.max_candidates = 3
        with self.assertRaisesRegex(ct.error, r"images\[0\].*max_candidates is 3"):
            faces.detect_batch([image])
        self.assertEqual(faces.detect_batch([]), [])

    @needs_data
    def test_names_of_cv2(self):
        image = read("lena.jpg")
        faces = ct.CascadeClassifier("frontalface_default", min_size=30)
        native = ct.cv2.cuda.CascadeClassifierEx.create(ct.cascade_file("frontalface_default"))
        for given, named in (((1.2, 4), {}), ((), {"scaleFactor": 1.2, "minNeighbors": 2, "minSize": (50, 50), "maxSize": (300, 300)}), ((1.1, 3, 0, (40, 40), (400, 400)), {}),
                             ((1.1, 50), {})):
            expected = native.detectMultiScale(image, *given, **({"minSize": (30, 30)} if len(given) < 4 and "minSize" not in named else {}), **named)
            np.testing.assert_array_equal(faces.detectMultiScale(image, *given, **named), expected)
        np.testing.assert_array_equal(faces.detect(image, 1.2, 4), faces.detectMultiScale(image, 1.2, 4))
        boxes, counts = faces.detectMultiScale2(image, 1.2, minNeighbors=0)
        self.assertEqual((len(boxes), set(counts)), (len(counts), {1}))
        boxes, levels, weights = faces.detectMultiScale3(image, outputRejectLevels=True)
        whole, = faces.detect_batch([image])
        np.testing.assert_array_equal(boxes, whole.boxes)
        np.testing.assert_array_equal(weights, whole.weights)
        self.assertEqual(list(levels), [faces.stages] * len(boxes))
        for method in (faces.detectMultiScale, faces.detectMultiScale2, faces.detectMultiScale3):
            none = method(np.zeros((60, 60), np.uint8))
            self.assertEqual(none[0] if isinstance(none, tuple) and none else none, ())
            for named, words in (({"scaleFactor": "x"}, "scaleFactor: 'x'"), ({"minSize": "x"}, "minSize"), ({"flags": "x"}, "flags: 'x'")):
                with self.assertRaisesRegex(TypeError, words):
                    method(image, **named)

    def test_a_file_that_is_not_there_but_in_the_package(self):
        image = texture((200, 200), 1)
        expected = ct.CascadeClassifier("eye").detect(image, min_neighbors=0)
        for path in ("/nowhere/haarcascades/haarcascade_eye.xml", "C:\\data\\haarcascade_eye.xml", "/nowhere/eye"):
            made = ct.CascadeClassifier(path)
            self.assertEqual(made.detect(image, min_neighbors=0).tolist(), expected.tolist())
        self.assertEqual(ct.CascadeClassifier("/nowhere/haarcascade_eye.xml").name, "eye")
        with self.assertRaisesRegex(ct.ArgumentError, "/nowhere/haarcascade_eye.xml.*'eye'"):
            ct.CascadeClassifier(pathlib.Path("/nowhere/haarcascade_eye.xml"))
        with self.assertRaisesRegex(ct.ArgumentError, "neither a file nor a name"):
            ct.CascadeClassifier("/nowhere/haarcascade_eyes.xml")
        with tempfile.TemporaryDirectory() as folder:  # a file that is there is read, whatever its name
            path = os.path.join(folder, "haarcascade_eye.xml")
            with open(path, "wb") as file:
                file.write(pathlib.Path(ct.cascade_file("smile")).read_bytes())
            self.assertEqual(ct.CascadeClassifier(path).stages, ct.CascadeClassifier("smile").stages)

    def test_pipes_and_folders(self):
        with tempfile.TemporaryDirectory() as folder:
            pipe = os.path.join(folder, "pipe")
            os.mkfifo(pipe)
            writer = threading.Thread(target=lambda: pathlib.Path(pipe).write_bytes(pathlib.Path(ct.cascade_file("eye")).read_bytes()))
            writer.start()
            self.assertEqual(ct.CascadeClassifier(pipe).stages, ct.CascadeClassifier("eye").stages)
            writer.join()
            for read in (ct.CascadeClassifier, ct.Tracker().load):
                with self.assertRaisesRegex(ct.ArgumentError, f"{folder!r} is a folder"):
                    read(folder)

    def test_empty_image(self):
        self.assertEqual(ct.CascadeClassifier("eye").detect(np.zeros((0, 0), np.uint8)).shape, (0, 4))

    def test_clone(self):
        made = ct.CascadeClassifier("eye", scale_factor=1.3, min_size=(30, 40), find_largest=True)
        copy = made.clone()
        self.assertEqual((copy.scale_factor, copy.min_size, copy.find_largest, copy.name), (1.3, (30, 40), True, "eye"))
        copy.scale_factor = 2
        self.assertEqual(made.scale_factor, 1.3)

    def test_refused(self):
        made = ct.CascadeClassifier("eye")
        for wrong, words in ((1., "scale_?[fF]actor"), (float("nan"), "scale_factor: nan"), ("x", "scale_factor: 'x'")):
            with self.assertRaisesRegex((ValueError, TypeError), words):
                made.scale_factor = wrong
        with self.assertRaisesRegex(TypeError, "image: elements are float64; possible: uint8"):
            made.detect(np.full((9, 9), .5))
        with self.assertRaisesRegex(ValueError, r"image: shape \(9, 9, 2\)"):
            made.detect(np.zeros((9, 9, 2), np.uint8))
        with self.assertRaisesRegex(ValueError, "image: a list with values from 0 to 300"):
            made.detect([[0, 300]])
        with self.assertRaisesRegex(ct.error, "cuda:77.*0 CUDA devices" if not ct.devices() else "cuda:77"):
            ct.CascadeClassifier("eye", device="cuda:77")


class QuickShiftTest(unittest.TestCase):
    def test_forms(self):
        image = texture((40, 56, 3), 2)
        shift = ct.QuickShift(3, 8, .5)
        expected = shift.compute(image).labels()
        for name, form in forms(image):
            np.testing.assert_array_equal(shift.compute(form).labels(), expected, name)

    def test_float64_is_float32(self):
        image = texture((30, 40, 3), 3) / 255.
        for ratio in (.5, 20.):
            wide, narrow = (ct.quickshift(value, ratio, 3, 6, convert2lab=False, rng=None) for value in (image, image.astype(np.float32)))
            np.testing.assert_array_equal(wide, narrow)

    def test_names_of_scikit_image(self):
        image = texture((40, 50, 3), 4)
        labels, parents, distances = ct.quickshift(image, ratio=20, kernel_size=3, max_dist=6, return_tree=True, convert2lab=False, rng=None)
        shift = ct.QuickShift(3, 6, 20 / 255, search_radius="window", tie_rule="strict")
        np.testing.assert_array_equal(labels, shift.compute(image).labels())
        np.testing.assert_array_equal(parents, shift.parents())
        np.testing.assert_array_equal(distances, shift.distances())
        self.assertEqual((labels.dtype, labels.shape, labels.min()), (np.int32, (40, 50), 0))
        roots = np.flatnonzero(parents.reshape(-1) == np.arange(parents.size))
        self.assertEqual(len(roots), labels.max() + 1)
        self.assertTrue(np.isinf(distances.reshape(-1)[roots]).all())
        # uint8 as floats of [0, 1], and the Lab way
        close = ct.quickshift(image / 255., 20, 3, 6, convert2lab=False, rng=None)
        self.assertGreater((close == labels).mean(), .95)
        self.assertEqual(ct.quickshift(image[:, :, ::-1], .5, 3, 6, sigma=1.).shape, (40, 50))

    def test_bands(self):
        bands = np.dstack([texture((40, 50, 3), seed) for seed in range(3)])[:, :, :8].copy()
        labels = ct.quickshift(bands, .2, 3, 6, convert2lab=False)
        shift = ct.QuickShift(3, 6, [.2 / 255] * 8, search_radius="window", tie_rule="strict", device="cpu")
        noise = np.random.default_rng(42).normal(scale=1e-5, size=(40, 50))
        np.testing.assert_array_equal(shift.compute(bands, noise=noise).labels(), labels)
        self.assertEqual(shift.mean_color(bands).shape, bands.shape)
        self.assertEqual(shift.statistics(bands).means.shape, (shift.number, 8))
        with self.assertRaisesRegex(ct.ArgumentError, "color_scale: 17 numbers; 1 to 16 are possible"):
            ct.QuickShift(color_scale=[1.] * 17)
        with self.assertRaisesRegex(ct.ArgumentError, "^image: 8 channels, but there are factors for at most 5"):
            ct.QuickShift(color_scale=[1, 2, 3, 4, 5]).compute(bands)
        with self.assertRaisesRegex(ct.ArgumentError, "image: shape"):
            ct.QuickShift().compute(np.zeros((9, 9, 17), np.uint8))

    def test_refused(self):
        image = texture((20, 30, 3), 4)
        for named, words in (({"rng": -3}, "rng: -3"), ({"channel_axis": 0}, "channel_axis: 0"), ({"ratio": -1}, "ratio: -1"),
                             ({"kernel_size": 0}, "kernel_size: 0"), ({"max_dist": 1e9}, "max_dist: 1e"), ({"sigma": float("nan")}, "sigma: nan")):
            with self.assertRaisesRegex(ValueError, words):
                ct.quickshift(image, **named)
        with self.assertRaisesRegex(ValueError, r"sigma.*400") as caught:
            ct.QuickShift(400)
        self.assertEqual(caught.exception.argument, "sigma")
        with self.assertRaisesRegex(ValueError, "three channels"):
            ct.quickshift(image[:, :, 0])
        with self.assertRaisesRegex(TypeError, "image: elements are complex128"):
            ct.quickshift(image.astype(complex))

    def test_results(self):
        image = texture((48, 64, 3), 9)
        shift = ct.QuickShift()
        mask = np.ones((48, 64), bool)
        mask[:10] = False
        shift.compute(image, mask=mask)
        labels = shift.labels()
        self.assertTrue((labels[:10] == -1).all() and (labels[10:] >= 0).all())
        self.assertEqual(shift.number, labels.max() + 1)
        rows = shift.statistics(image)
        np.testing.assert_array_equal(rows.areas, np.bincount(labels[10:].reshape(-1)))
        np.testing.assert_allclose(rows.means[0], image[labels == 0].mean(axis=0), atol=1e-3)
        self.assertEqual(shift.statistics().means.shape, (shift.number, 0))
        with self.assertRaisesRegex(ct.ArgumentError, r"image: shape \(0, 5\)"):
            shift.statistics(np.zeros((0, 5), np.uint8))
        heights, counts = shift.merge_heights()
        self.assertEqual(shift.count(float(heights[0])), counts[0])
        tau = shift.tau_for(int(counts[0]) - 1)
        shift.apply_tau(tau)
        np.testing.assert_array_equal(shift.segment(tau), shift.labels())
        self.assertEqual(set(np.unique(shift.contours())), {0, 255})
        self.assertEqual(shift.mean_color(image).shape, image.shape)
        self.assertTrue((shift.adjacency()[:, 0] < shift.adjacency()[:, 1]).all())
        self.assertEqual(shift.enforce_connectivity(5), shift.number)
        self.assertEqual(shift.density().dtype, np.float32)


class TrackingTest(unittest.TestCase):
    def test_tracker(self):
        tracker = ct.Tracker(seed=3)
        tracker.init(frame(0), box(0))
        for step in range(1, 6):
            ok, (x, y, width, height) = tracker.update(frame(step))
            self.assertTrue(ok and abs(x - box(step)[0]) <= 2 and abs(y - 50) <= 2 and abs(width - 40) <= 2, (step, x, y, width, height))
        self.assertEqual((tracker.state, tracker.params.seed), (ct.State.TRACKING, 3))
        self.assertEqual(tracker.update(np.full_like(frame(0), 90)), (False, (0, 0, 0, 0)))

    def test_boxes_of_every_kind(self):
        expected = None
        for given in (box(0), list(box(0)), np.array(box(0)), np.array(box(0), np.uint8), np.array(box(0), float) + [.3, .3, -.4, .1], [np.float32(v) for v in box(0)], np.array([box(0)])):
            tracker = ct.Tracker()
            tracker.init(frame(0), given)
            result = tracker.update(frame(1))
            expected = expected or result
            self.assertEqual(result, expected, repr(given))
        for given, words in (((1, 2, 3), "four numbers"), ((1, 2, float("nan"), 4), "nan"), ((2**40, 0, 1, 1), "32 bits"), ("1,2,3,4", "an array is needed"),
                             ((180, 100, 40, 40), "box"), ((10, 10, 5, 5), "box"), (None, "box"),
                             ((1, float("inf"), 40, 40), r"^box: \(1\.0, inf, 40\.0, 40\.0\): y: a whole number of 32 bits is needed$"),
                             ([1, 2, 3, float("-inf")], r"^box: .*: height: "), (np.ma.masked_equal([1, 2, 3, 4], 2), "^box: a masked array")):
            with self.assertRaisesRegex((ValueError, TypeError), words):
                ct.Tracker().init(frame(0), given)

    def test_save_and_load(self):
        with tempfile.TemporaryDirectory() as folder:
            first = ct.Tracker()
            first.init(frame(0), box(0))
            first.update(frame(1))
            path = pathlib.Path(folder, "object.xml")
            first.save(path)
            second = ct.Tracker()
            second.load(path)
            for step in range(2, 6):
                np.testing.assert_array_equal(first.update_async(frame(step)), second.update_async(frame(step)))
            before = path.read_bytes()
            with self.assertRaisesRegex(ct.error, "must end with"):
                first.save(path.with_suffix(".txt"))
            first.save("/dev/null")  # devices have no ending
            with self.assertRaises(ct.error):
                ct.Tracker().save(path)  # there is no object
            self.assertEqual(path.read_bytes(), before)
            self.assertEqual(os.listdir(folder), ["object.xml"])
            many = ct.MultiTracker()
            many.add(frame(0), box(0))
            self.assertEqual(many.add_from_file(frame(0), path), 1)

    def test_multi_tracker(self):
        many, one = ct.MultiTracker(seed=5), ct.Tracker(seed=5)
        self.assertEqual(many.add(frame(0), box(0)), 0)
        one.init(frame(0), box(0))
        self.assertEqual(many.add(frame(0), (100, 20, 40, 30)), 1)
        for step in range(1, 4):
            tracks = many.update(frame(step))
            self.assertEqual((tracks.dtype, tracks["id"].tolist()), (ct.TRACKS, [0, 1]))
            expected = one.update_async(frame(step))
            self.assertEqual([tracks[0][name] for name in ("x", "y", "width", "height", "score")], expected[:5].tolist())
        many.remove(0)
        self.assertEqual((many.ids, len(many)), ([1], 1))
        many.clear()
        self.assertEqual(len(many.update(frame(0))), 0)

    def test_events(self):
        tracker = ct.Tracker()
        self.assertEqual(tracker.event, ct.Event.NO_EVENT)
        tracker.init(frame(0), box(0))
        self.assertEqual(tracker.event, ct.Event.STARTED)
        tracker.update(frame(1))
        self.assertIn(tracker.event, (ct.Event.FLOWED, ct.Event.CORRECTED))
        row = tracker.update_async(np.full_like(frame(0), 90))
        self.assertEqual((len(row), row[8], row[10], tracker.event), (12, ct.Event.BECAME_LOST, -1, ct.Event.BECAME_LOST))
        native = {name[11:]: getattr(ct.cv2.cuda, name) for name in dir(ct.cv2.cuda) if name.startswith("TrackerTLD_") and name[11:] in ct.Event.__members__}
        self.assertEqual(native, {event.name: event.value for event in ct.Event})

    def test_boxes_of_a_detector(self):
        many = ct.MultiTracker(correct_by_boxes=True, start_from_boxes=True, end_after_misses=2)
        self.assertEqual(len(many.update(frame(0), [])), 0)
        for given in ([box(0)], np.array([box(0)], float) + .2, [list(box(0))]):
            many.clear()
            started = many.update(frame(0), given)
            self.assertEqual((started["event"].tolist(), started["box"].tolist(), started["x"].tolist()), ([ct.Event.STARTED], [0], [30.]))
        number = many.ids[0]
        tracks = many.update(frame(1), [(150, 5, 30, 30), (35, 51, 40, 40)])
        self.assertEqual((tracks["id"].tolist(), tracks["box"].tolist()), ([number, number + 1], [1, 0]))
        self.assertEqual([tracks[0][name] for name in ("x", "y", "event")], [35, 51, ct.Event.CONFIRMED])
        self.assertEqual(many.update(frame(2))["box"].tolist(), [-1, -1])
        many.update(frame(3), boxes=[box(3)])
        self.assertEqual(many.update(frame(4), boxes=[box(4)])["id"].tolist(), [number])
        self.assertEqual(many.ids, [number])
        for wrong, words in (([(1, 2, 3)], "n x 4"), ([[1, 2, 3, float("nan")]], "32 bits"), ("1,2,3,4", "array"), (np.full((257, 4), 20), "256"), (5, "boxes")):
            with self.assertRaisesRegex((ValueError, TypeError), words):
                many.update(frame(5), wrong)
        with self.assertRaisesRegex(ValueError, "boxOverlap|box_overlap"):
            ct.MultiTracker(box_overlap=0)

    def test_boxes_that_propose(self):
        aside, right = [box(0)[0] + 16, *box(0)[1:]], box(0)
        for verifies in (False, True):
            many = ct.MultiTracker(verify_boxes=verifies)
            many.add(frame(0), box(0))
            self.assertEqual(many.update(frame(0), [aside])["box"].tolist(), [-1 if verifies else 0])
            self.assertEqual(many.update(frame(0), [aside, right])["box"].tolist(), [1])
            self.assertEqual(many.params.verify_boxes, verifies)

    def test_clipped_boxes(self):
        free, clipped = ct.Tracker(), ct.Tracker(clip_boxes=True)
        for tracker in (free, clipped):
            tracker.init(np.roll(frame(0), -25, axis=1), (5, 50, 40, 40))
        for step in range(1, 8):
            image = np.roll(frame(0), -25 - 3 * step, axis=1)
            image[:, -40:] = frame(0)[:, -40:]
            free.update(image)
            clipped.update(image)
        self.assertLess(free.box[0], 0)
        self.assertEqual(clipped.box[0], 0)

    def test_first_boxes_partly_outside(self):
        inside, half = (152, 104, 40, 40), (152.5, 104.5, 39.5, 39.5)  # to the corner of an image of 192 x 144
        image = frame(0)
        starts = (lambda box, **named: ct.Tracker(device="cpu").init(image, box, **named), lambda box, **named: ct.Detector(device="cpu").init(image, box, **named),
                  lambda box, **named: ct.MultiTracker(device="cpu").add(image, box, **named))
        for start in starts:
            for given in (inside, half):
                start(given)
            for given in ((160, 100, 40, 40), (-5, -5, 40, 40), (10, 130.5, 40, 40)):
                with self.assertRaisesRegex(ct.ArgumentError, "not inside of an image of 192 x 144"):
                    start(given)
            start((160, 100, 40, 40), clip=True)
            start((-5, -5, 40, 40), clip=True)
            with self.assertRaisesRegex(ct.ArgumentError, r"box: \(200, 10, 20, 20\): nothing of it is inside of an image of 192 x 144 pixels"):
                start((200, 10, 20, 20), clip=True)
            with self.assertRaisesRegex(ct.ArgumentError, "at least 12"):
                start((185, 100, 40, 40), clip=True)
            with self.assertRaisesRegex(TypeError, "clip"):
                start(inside, clip=1)
        for given, wanted in ((half, (152, 104, 40, 40)), ((-5, -5, 45.5, 45), (0, 0, 40, 40)), (inside, inside)):
            tracker = ct.Tracker(device="cpu")
            tracker.init(image, given, clip=True)
            self.assertEqual(tracker.box, wanted)
        detector = ct.Detector(device="cpu")
        detector.init(image, inside)
        detector.learn(image, (160, 100, 40, 40), clip=True)

    def test_detector(self):
        detector = ct.Detector()
        detector.init(frame(0), box(0))
        found = detector.detect(frame(0))
        self.assertGreater(len(found.boxes), 0)
        self.assertEqual((found.boxes.shape[1], found.scores.dtype), (4, np.float32))
        before = len(detector.templates())
        detector.learn(frame(5), (45, 50, 40, 40))
        self.assertGreaterEqual(len(detector.templates()), before)
        self.assertGreater(len(detector.detect(frame(0), everything=True).boxes), len(found.boxes) - 1)

    def test_ranges_of_parameters_are_true(self):
        steps = {"int": 1, "float": 1e-3}
        for field in dataclasses.fields(ct.TLDParams):
            ranges = re.findall(r"(?<![\w.])([\d.]*\d) (?:to ([\d.]*\d)|or more)", field.metadata["text"])
            if field.type == "bool" or not ranges:
                continue
            with self.subTest(name=field.name):
                lowest, highest = ranges[-1]
                step = steps[field.type]
                others = {"features": {"trees": 1}, "trees": {"features": 1}}.get(field.name, {})  # their product has a limit, too
                for limit, outside in ((lowest, -step), (highest, step)):
                    if limit:
                        value = type(step)(limit)
                        ct.Detector(**others, **{field.name: value})
                        with self.assertRaisesRegex(ValueError, field.name):
                            ct.Detector(**others, **{field.name: value + outside})

    def test_parameters(self):
        ours, native = ct.TLDParams(), ct.cv2.cuda.TLDParams()
        names = {"".join([part if i == 0 else part.capitalize() for i, part in enumerate(field.name.split("_"))]): field.name for field in dataclasses.fields(ours)}
        self.assertEqual(set(names), {name for name in dir(native) if not name.startswith("_")})
        for theirs, name in names.items():
            self.assertEqual(np.float32(getattr(native, theirs)), np.float32(getattr(ours, name)), name)
            self.assertRegex(ct.TLDParams.__doc__, rf"\n        {name}: .*", name)
        made = ct.Tracker(ct.TLDParams(scales=3), min_reply_score=.3)
        self.assertEqual((made.params.scales, made.params.min_reply_score), (3, .3))
        with self.assertRaisesRegex(ValueError, "trees"):
            ct.Tracker(trees=99)
        with self.assertRaisesRegex(TypeError, "tree: TLDParams has no such member"):
            ct.Tracker(tree=3)
        with self.assertRaisesRegex(TypeError, "trees: 3.5"):
            ct.Tracker(trees=3.5)


class MatcherTest(unittest.TestCase):
    regions = [(30, 50, 17, 17), (100, 20, 16, 24)]
    areas = [(20, 40, 50, 50), (90, 10, 40, 40)]

    def test_match(self):
        matcher = ct.FragmentMatcher(metric="zncc", subpixel=True, peaks=3)
        matcher.cut(frame(0), self.regions)
        found = matcher.match(frame(1), self.areas)
        self.assertEqual([part.shape for part in (found.locations, found.scores, found.confidence, found.status, found.refined)],
                         [(2, 3, 2), (2, 3), (2,), (2,), (2, 3, 2)])
        self.assertEqual(found.locations[:, 0].tolist(), [[33, 50], [100, 20]])
        self.assertEqual([one.status for one in found], [ct.Status.FOUND] * 2)
        self.assertEqual((len(found), found[0].scores[0], len(matcher), matcher.size(1)), (2, 1., 2, (16, 24)))

    def test_sixteen_bits(self):
        before, after = (frame(i).astype(np.uint16) * 257 for i in (0, 1))
        for metric, perfect in (("ssd", 0.), ("zncc", 1.)):
            matcher = ct.FragmentMatcher(metric)
            matcher.cut(before, self.regions)
            found = matcher.match(after, self.areas)
            self.assertEqual((found.locations[:, 0].tolist(), found.scores[0, 0]), ([[33, 50], [100, 20]], perfect))
            with self.assertRaisesRegex(ct.ArgumentError, "frame: type uint8 with 3 channels, but the fragments are uint16 with 3 channels"):
                matcher.match(frame(1), self.areas)
        matcher = ct.FragmentMatcher("sad")
        matcher.cut(before, self.regions)
        with self.assertRaisesRegex(ct.ArgumentError, "frame: type uint16 with 3 channels, but SAD takes 8 bits only"):
            matcher.match(after, self.areas)

    def test_areas_of_every_kind(self):
        matcher = ct.FragmentMatcher()
        matcher.cut(frame(0), np.array(self.regions, np.uint8))
        expected = matcher.match(frame(1), self.areas)
        kinds = [np.array(self.areas, kind) for kind in (np.int8, np.uint16, np.int64, np.uint64, np.float32, float)]
        for areas in [[list(area) for area in self.areas], tuple(self.areas), np.array(self.areas, float) + .2, Foreign(np.array(self.areas))] + kinds:
            np.testing.assert_array_equal(matcher.match(frame(1), areas).scores, expected.scores)
        for areas, words in (([(0, 0, 9)] * 2, r"areas: shape \(2, 3\)"), (self.areas[:1], "areas: 1 given, one for each of 2"), ("x", "areas"),
                             ([(0, 0, 2**31, 9)] * 2, r"areas\[0\].*32 bits"), ([(0, 0, 9, float("nan"))] * 2, r"areas\[0\].*nan"), ([(0, 0, -9, 9)] * 2, r"^areas\[0\]: size -9 x 9 is negative$")):
            with self.assertRaisesRegex((ValueError, TypeError), words):
                matcher.match(frame(1), areas)

    def test_weights(self):
        image, other = texture((60, 60), 1), texture((60, 60), 1)
        other[20:28, 20:40] = 0
        mask = np.ones((20, 20), bool)
        mask[:8] = False
        scores = []
        for weights in (mask, mask * np.uint8(255), mask.astype(float), mask.astype(np.float32)):
            matcher = ct.FragmentMatcher()
            self.assertEqual(matcher.add(image[20:40, 20:40], weights), 0)
            found = matcher.match(other)
            self.assertEqual((found.locations[0, 0].tolist(), found.scores[0, 0]), ([20, 20], 0.))
            scores.append(found.scores)
        np.testing.assert_array_equal(scores, [scores[0]] * 4)
        for empty in (np.zeros((0, 20), np.uint8), np.zeros((20, 0)), [[]]):
            with self.assertRaisesRegex(ct.ArgumentError, r"weights(\[0\])?: shape"):
                matcher.add(image[20:40, 20:40], empty)
        with self.assertRaisesRegex(ValueError, "weights: 1 given, one for each of 2"):
            matcher.set([image[:9, :9]] * 2, [mask])
        for value, words in ((1.5, r"weights\[0\]: value 1.5 at \(0, 0\)"), (-.1, r"weights\[0\]: value -0.1"), (float("nan"), r"weights\[0\]: value nan"),
                             (0., r"weights\[0\]: their sum is 0"), (.0019, r"weights\[0\]: their sum is 0")):
            with self.assertRaisesRegex(ct.ArgumentError, words):
                matcher.set([image[:9, :9]], [np.full((9, 9), value)])
        matcher.set([image[:9, :9]], [np.full((9, 9), .002)])  # 1 of 255

    def test_edit_and_maps(self):
        matcher = ct.FragmentMatcher("ssd", search="three_step")
        matcher.set([frame(0)[:9, :9], frame(0)[20:40, 30:60]])
        matcher.update(0, frame(0)[50:90, 30:70])
        self.assertEqual(matcher.size(0), (40, 40))
        self.assertEqual(matcher.score_map(0, frame(1)).shape, (105, 153))
        self.assertEqual(matcher.score_map(0, frame(1), (30, 40, 50, 60)).shape, (21, 11))
        found = matcher.match(frame(1), predictions=[(34, 51), (31, 21)])
        self.assertEqual(found.locations[0, 0].tolist(), [33, 50])
        np.testing.assert_array_equal(matcher.predict_areas(found.locations, 4, (192, 144))[0], (29, 46, 48, 48))
        for given in (found.locations, np.repeat(found.locations, 3, 1)):  # the first peak counts
            np.testing.assert_array_equal(matcher.match(frame(1), predictions=given).scores, matcher.match(frame(1), predictions=found.locations[:, 0]).scores)
            np.testing.assert_array_equal(matcher.predict_areas(given, 4, (192, 144)), matcher.predict_areas(found.locations[:, 0], 4, (192, 144)))
        row = found.locations[:, 0][None]  # a row of two points, as OpenCV has them
        np.testing.assert_array_equal(matcher.match(frame(1), predictions=row).scores, found.scores)
        np.testing.assert_array_equal(matcher.predict_areas(row, 4, (192, 144)), matcher.predict_areas(found.locations, 4, (192, 144)))
        for given in ([(34, 51)], np.zeros((1, 1, 2), np.int32)):
            with self.assertRaisesRegex(ct.ArgumentError, "predictions: 1 given, one for each of 2"):
                matcher.match(frame(1), predictions=given)
        for given in (True, 7, np.float32(1)):
            with self.assertRaisesRegex(TypeError, rf"frame: {re.escape(repr(given))}: an image is needed"):
                matcher.match(given)
        for given in (True, (0, 0, 50, 60)):
            with self.assertRaisesRegex((TypeError, ValueError), "areas: "):
                matcher.match(frame(1), given)
        for method, given in ((matcher.set, [[frame(0)]]), (matcher.add, [frame(0)]), (matcher.update, [0, frame(0)]), (matcher.cut, [frame(0), self.regions]),
                              (matcher.match, [frame(0)]), (matcher.score_map, [0, frame(0)]), (matcher.predict_areas, [found.locations, 4, (192, 144)])):
            with self.assertRaisesRegex(TypeError, "stream: str: a stream of"):
                method(*given, stream="abc")
        np.testing.assert_array_equal(matcher.match(frame(1), predictions=[(34, 51), (31, 21)]).scores, found.scores)
        self.assertEqual(len(matcher), 2)
        matcher.remove(0)
        self.assertEqual(len(matcher), 1)
        warped, weights = ct.FragmentMatcher.warp(frame(0)[:20, :20], 30., 1.2)
        self.assertEqual(warped.shape[:2], weights.shape)
        matcher.clear()
        with self.assertRaises(ct.error):
            matcher.match(frame(0))


class PackageTest(unittest.TestCase):
    def test_every_name_is_documented(self):
        for name in ct.__all__:
            value = getattr(ct, name)
            if name in ("cv2", "__version__", "TRACKS"):
                continue
            self.assertGreater(len(inspect.getdoc(value) or ""), 20, name)
            if isinstance(value, type):
                for member, function in vars(value).items():
                    if not member.startswith("_") and (callable(function) or isinstance(function, property)) and not issubclass(value, tuple):
                        self.assertTrue(inspect.getdoc(function), f"{name}.{member}")

    def test_every_object_says_what_it_is(self):
        for made in (ct.CascadeClassifier("eye"), ct.QuickShift(), ct.Tracker(), ct.MultiTracker(), ct.Detector(), ct.FragmentMatcher(), ct.TLDParams(), ct.build_info()):
            self.assertRegex(repr(made), r"^<cudatracking\.\w+ .*>$|^(TLDParams|BuildInfo)\(")

    def test_build_info(self):
        info = ct.build_info()
        self.assertEqual(info.version, ct.__version__)
        self.assertRegex(info.opencv, r"^\d+\.\d+")
        self.assertTrue(info.cuda is None or info.compute_capabilities)
        self.assertIn("SSE" if os.uname().machine == "x86_64" else "NEON", info.cpu)

    def test_errors(self):
        self.assertTrue(issubclass(ct.error, RuntimeError) and issubclass(ct.ArgumentError, (ct.error, ValueError)))
        for raised in (ct.error("x", "image", 3), ct.ArgumentError("x")):
            self.assertEqual(str(pickle.loads(pickle.dumps(raised))), "x")

    def test_unknown_parameters(self):
        """Those of another version, and misspelt ones, are refused wherever they are given."""
        for give in (lambda: ct.Tracker(cut_frames=60), lambda: ct.TLDParams(cut_frames=60), lambda: setattr(ct.TLDParams(), "cut_frames", 60),
                     lambda: setattr(ct.cv2.cuda.TLDParams(), "cutFrames", 60)):
            with self.assertRaisesRegex((TypeError, AttributeError), "cut_?[fF]rames"):
                give()

    def test_errors_name_python_arguments_and_values(self):
        for make, name, value in ((lambda: ct.FragmentMatcher(peaks=17), "peaks", 17),
                                  (lambda: ct.FragmentMatcher(exclusion_distance=-1), "exclusion_distance", -1),
                                  (lambda: ct.FragmentMatcher(max_search_area=(-1, 2)), "max_search_area", None),
                                  (lambda: ct.Tracker(max_probation=-1), "max_probation", -1),
                                  (lambda: ct.MultiTracker(box_overlap=1.75), "box_overlap", 1.75),
                                  (lambda: ct.Tracker(scale_factor=1e9), "scale_factor", 1e9),
                                  (lambda: ct.QuickShift(max_dist=-1), "max_dist", -1)):
            with self.assertRaisesRegex(ct.ArgumentError, rf"^(\w+: )?{name}\b") as caught:
                make()
            self.assertEqual((caught.exception.argument, caught.exception.value), (name, value))

    def test_messages_are_in_the_words_of_the_package(self):
        image, tracker, many, matcher = frame(0), ct.Tracker(), ct.MultiTracker(), ct.FragmentMatcher()
        tracker.init(image, box(0))
        full = ct.FragmentMatcher()
        full.cut(image, [box(0)])
        shift = ct.QuickShift(max_dist=10).compute(image)
        faces = ct.CascadeClassifier("eye")
        for make, kind, argument, words in (
                (lambda: many.add(image, (5000, 0, 50, 50)), ct.ArgumentError, "box", r"box: 5000, 0, 50 x 50 is not inside of an image of 192 x 144 pixels$"),
                (lambda: full.match(image[:, :, 0]), ct.ArgumentError, "frame", r"^frame: type uint8, but the fragments are uint8 with 3 channels$"),
                (lambda: matcher.match(image), ct.error, None, r"^no fragments: call set\(\), cut\(\) or add\(\) first$"),
                (lambda: shift.segment(20), ct.ArgumentError, "tau", r"^tau: 20, .* the max_dist of the last compute\(\)$"),
                (lambda: ct.Tracker().save(os.path.join(tempfile.gettempdir(), "x.xml")), ct.error, None, r"save\(\): there is no object yet"),
                (lambda: faces.detect(image, 1.0000001), ct.ArgumentError, "scale_factor", r"scale_factor 1\.0000001\d* is too near to 1$"),
                (lambda: tracker.update(None), TypeError, None, "^image: None: .*video that has ended or was not opened"),
                (lambda: faces.detect(image, min_size=2**70), ct.ArgumentError, "min_size", f"^min_size: {2**70}: "),
                (lambda: faces.detect(image, min_size=(2**70, 3)), ct.ArgumentError, "min_size", f"^min_size: .*{2**70}, 3.*: "),
                (lambda: faces.detect(image, min_size=float("nan")), ct.ArgumentError, "min_size", "^min_size: nan: a finite number"),
                (lambda: tracker.init(image, (2**70, 0, 20, 20)), ct.ArgumentError, "box", f"^box: .*{2**70}"),
                (lambda: ct.QuickShift(color_scale=[-1]), ct.ArgumentError, "color_scale", r"^color_scale\[0\]: -1, but it must be 0 to 1e9$"),
                (lambda: ct.QuickShift(search_radius=40000), ct.ArgumentError, "search_radius", "^search_radius: 40000"),
                (lambda: shift.compute(np.ma.masked_equal(np.zeros((5, 5), np.uint8), 0)), TypeError, None, "^image: a masked array, whose mask would be lost; image.data and"),
                (lambda: shift.compute(np.zeros((5, 5), np.uint8), mask=np.ma.masked_equal(np.ones((5, 5), np.uint8), 1)), TypeError, None, "^mask: a masked array"),
                (lambda: shift.compute(np.zeros((5, 5), np.uint8), noise=np.ma.masked_equal(np.zeros((5, 5)), 0)), TypeError, None, "^noise: a masked array"),
                (lambda: ct.MultiTracker().update(image, [(1, 2, 3, 4), np.ma.masked_equal([1, 2, 3, 4], 2)]), TypeError, None, r"^boxes\[1\]: a masked array"),
                (lambda: ct.MultiTracker().update(image, [(1, 2, 3, 4), (1, 2, math.inf, 4)]), ct.ArgumentError, "boxes", r"^boxes\[1\]: \(1\.0, 2\.0, inf, 4\.0\): width: a whole number"),
                (lambda: faces.detect(image, min_size=(3, math.nan)), ct.ArgumentError, "min_size", r"^min_size: \(3\.0, nan\): height: "),
                (lambda: ct.FragmentMatcher().set([np.ma.masked_equal(np.zeros((5, 5), np.uint8), 0)]), TypeError, None, r"^templates\[0\]: a masked array"),
                (lambda: shift.compute(np.zeros((5, 5), complex)), TypeError, None, "^image: elements are complex128; possible: uint8, uint16, float32, float16, float64$")):
            with self.assertRaisesRegex(kind, words) as caught:
                make()
            self.assertEqual(getattr(caught.exception, "argument", None), argument, words)
        self.assertEqual([ct.FragmentMatcher(name).metric for name in ("SAD", "SSD", "ZNCC", "Zncc")], ["sad", "ssd", "zncc", "zncc"])

    def test_images_of_other_kinds(self):
        """What holds an image exactly is taken; what does not says so."""
        image = frame(0)[..., 0].copy()
        half, place = image // 2, image[50:70, 30:60]
        matcher = ct.FragmentMatcher("ssd", device="cpu")
        for given in (half.astype(kind) for kind in (np.int8, np.int16, np.int32, np.uint32, np.int64)):
            matcher.cut(given, [(30, 50, 30, 20)])
            self.assertEqual(matcher.match(half).scores[0, 0], 0)
        for given in (np.ma.masked_array(image), ct.cv2.UMat(image)):
            matcher.cut(given, np.ma.masked_array([(30, 50, 30, 20)]))
            self.assertEqual(matcher.match(image)[0].locations[0].tolist(), [30, 50])
        wide = image.astype(np.int64) * 200
        matcher.cut(wide, [(30, 50, 30, 20)])
        self.assertEqual(matcher.match(wide.astype(np.uint16))[0].locations[0].tolist(), [30, 50])
        for given, kind, words in ((image - 300.5, TypeError, r"possible: uint8, uint16; floats of 0 to 1: numpy.rint\(65535 \* image\)"),
                                   (image - 300., ct.ArgumentError, "float64 values from -.*; possible are those of uint16, as the fragments are$"),
                                   (wide * 9, ct.ArgumentError, "int64 values from .*; possible are those of uint16, as the fragments are$"),
                                   (np.full((9, 9), -1, np.int8), ct.ArgumentError, "int8 values from -1 to -1;")):
            with self.assertRaisesRegex(kind, rf"^frame: .*{words}"):
                matcher.match(given)
        for given in (half.astype(kind) for kind in (np.int16, np.uint32, np.int64, np.float16, float)):  # of the type of the fragments, here uint16
            matcher.cut(half.astype(np.uint16), [(30, 50, 30, 20)])
            matcher.update(0, given[50:70, 30:60])
            self.assertEqual(matcher.add(given[5:25, 30:60]), 1)
            self.assertEqual([match.locations[0].tolist() for match in matcher.match(given)], [[30, 50], [30, 5]])
            self.assertEqual(matcher.score_map(0, given)[50, 30], 0)
        matcher.set([place.astype(int), place.astype(int) * 200])
        self.assertEqual(matcher.match(wide)[1].locations[0].tolist(), [30, 50])
        matcher.cut(image > 100, [(30, 50, 30, 20)])
        self.assertEqual(matcher.match((image > 100).astype(float)).scores[0, 0], 0)
        with self.assertRaisesRegex(ct.ArgumentError, "^frame: int64 values from .*; possible are those of uint8, as the fragments are$"):
            matcher.match(wide)
        faces = ct.CascadeClassifier("eye", device="cpu")
        for kind in (np.int16, np.uint32, np.int64, float):
            np.testing.assert_array_equal(faces.detect(image.astype(kind)), faces.detect(image))
        stage = ct.ray.Match([place.astype(int), place.astype(int) * 200], metric="ssd")
        self.assertEqual(stage({"image": [half.astype(int)]})["locations"][0].shape, (2, 2, 2))
        whole = np.full(place.shape, 255, np.uint8)
        for templates, weights in (([place, place], [None, whole]), ([place, place], [whole > 0, None]), ([place, place], [None, None]), (place, whole), (place, None)):
            matcher.set(templates, weights)
            self.assertEqual({tuple(match.locations[0]) for match in matcher.match(image)}, {(30, 50)})
        matcher.cut(image, [(30, 50, 30, 20), (9, 9, 8, 8)], [None, whole[:8, :8]])
        self.assertEqual([match.locations[0].tolist() for match in matcher.match(image)], [[30, 50], [9, 9]])
        matcher.set(np.dstack([frame(0), image]))
        with self.assertRaisesRegex(ct.ArgumentError, r"give png\[..., :3\] and weights=\[png\[..., 3\]\]$"):
            matcher.match(frame(0))

    def test_messages_repeat_no_file(self):
        image, text = frame(0), "<xml>" * 20000
        tracker = ct.Tracker(device="cpu")
        for make in (lambda: scan(text, "out", "detect"), lambda: scan([__file__], "out", text), lambda: scan([__file__], "out", "detect", format=text),
                     lambda: scan([__file__], "out", "detect", workers=text), lambda: scan([__file__], "out", "track", boxes={text: [image]}),
                     lambda: scan([__file__], "out", "detect", decode=text), lambda: scan([__file__], "out", "detect", executor=text),
                     lambda: settings_of("superpixels", {"number": 3, "sigma": text}), lambda: tracker.save(f"/nowhere/{text[:30000]}/t.yml"), lambda: tracker.save(text[:30000]),
                     lambda: ct.CascadeClassifier(text), lambda: ct.CascadeClassifier("eye").detect(image, text), lambda: ct.FragmentMatcher(text),
                     lambda: ct.FragmentMatcher(peaks=image), lambda: ct.windows(image, 8, 8, 1), lambda: ct.QuickShift(device=text),
                     lambda: ct.QuickShift(sigma=[image] * 100)):
            with self.assertRaises((TypeError, ct.ArgumentError)) as caught:
                make()
            self.assertLess(len(str(caught.exception)), 1000)

    def test_names_of_cpp(self):
        """Names of the C++ classes are answered with those of this package; other names are unknown as in any module."""
        for name, here in (("CascadeClassifierEx", "CascadeClassifier"), ("MultiTrackerTLD", "MultiTracker"), ("TLDDetector", "Detector"), ("TrackerTLD", "Tracker")):
            self.assertTrue(hasattr(ct, here) and hasattr(ct.cv2.cuda, name))
            with self.assertRaisesRegex(AttributeError, rf"'{name}': here the class is ct\.{here}, that of C\+\+ is ct\.cv2\.cuda\.{name}$"):
                getattr(ct, name)
        with self.assertRaisesRegex(AttributeError, "^module 'cudatracking' has no attribute 'tracker'$"):
            ct.tracker

    def test_low_level_classes_have_no_constructor(self):
        for cls in (ct.cv2.cuda.QuickShift, ct.cv2.cuda.TrackerTLD, ct.cv2.cuda.CascadeClassifierEx, ct.cv2.CLAHE, ct.cv2.TrackerMIL):
            for make in (cls, lambda: cls.__new__(cls), type("Derived", (cls,), {})):
                with self.assertRaisesRegex(TypeError, "has no constructor"):
                    make()
        self.assertEqual(ct.cv2.cuda.QuickShift.create().getSigma(), 6.)
        self.assertEqual(ct.cv2.cuda.TLDParams().seed, 1)

    def test_bytes_that_are_not_utf8(self):
        """Messages that quote them, and file names of them, in another process: OpenCV's own binding crashes there."""
        code = r"""
import os, sys, numpy as np, cudatracking as ct
head, tail = b'<?xml version="1.0"?>\n<opencv_storage>\n<cascade type_id="', b'"><a>1</a></cascade></opencv_storage>\n'
for text in (head + b"\xff" + tail, head + b"x" + "\u00e9".encode() * 100 + tail):
    for load in (ct.CascadeClassifier, lambda bytes: ct.cv2.cuda.CascadeClassifierEx.create().loadBuffer(np.frombuffer(bytes, np.uint8))):
        try: load(text)
        except (ct.error, ct.cv2.error) as raised: print("refused", "\\xff" in str(raised) or "\u00e9" in str(raised))
name = os.path.join(os.fsencode(sys.argv[1]), b"\xff")
path = os.fsdecode(name + b".xml")
with open(path, "wb") as file, open(ct.cascade_file("eye"), "rb") as source: file.write(source.read())
print(ct.CascadeClassifier(path).window_size, ct.cv2.cuda.CascadeClassifierEx.create().load(path))
image = np.random.RandomState(1).randint(0, 256, (60, 80), np.uint8)
tracker = ct.Tracker(device="cpu"); tracker.init(image, (20, 20, 24, 24))
for kind in (b".xml",):
    of = os.fsdecode(name + kind); tracker.save(of); again = ct.Tracker(device="cpu"); again.load(of); print(again.params == tracker.params)
for given in (os.fsdecode(name + b".png"), name + b".png", __import__("pathlib").Path(os.fsdecode(name + b".png"))):
    print(ct.cv2.imwrite(given, image), np.array_equal(ct.cv2.imread(given, 0), image))
for wrong in (lambda: ct.cv2.imread("\ud800"), lambda: ct.cv2.imread(3), lambda: ct.cv2.imread(None, 0), lambda: ct.CascadeClassifier(path + "x"), lambda: ct.cv2.imread(path, "1")):
    try: print(wrong() is None)
    except Exception as raised: print(type(raised).__name__)
"""
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, timeout=300, errors="replace")
        expected = ["refused True"] * 4 + ["(20, 20) True"] + ["True"] + ["True True"] * 3 + ["error", "error", "True", "ArgumentError", "error"]
        self.assertEqual((done.returncode, done.stdout.splitlines()), (0, expected), done.stderr)

    def test_low_level_functions_do_not_end_the_process(self):
        calls = ["Stream_Null()", "Stream.Null()", "wrapStream(0)", "GpuMat.defaultAllocator()", "GpuMat_getStdAllocator()", "Event()", "QuickShift()", "GpuMat(3, 4, 0)"]
        code = "import cudatracking as ct; c = ct.cv2.cuda\n" + "".join(
            f"try: c.{call}\nexcept (RuntimeError, TypeError, SystemError, ct.cv2.error): pass\n" for call in calls) + "print('alive')"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
        self.assertEqual((done.returncode, done.stdout), (0, "alive\n"), done.stderr)

    def test_nothing_of_cv2_is_left_in_sys_modules(self):
        done = subprocess.run([sys.executable, "-c", "import cudatracking, sys; print([n for n in sys.modules if n.split('.')[0] == 'cv2'])"],
                              capture_output=True, text=True, timeout=300)
        self.assertEqual(done.stdout, "[]\n", done.stderr)


if __name__ == "__main__":
    unittest.main()
