"""Programs written for cv2.CascadeClassifier, after a change of one import: patterns of calls that are common in public programs."""
import importlib.util
import itertools
import logging
import os
import pathlib
import tempfile
import unittest

import numpy as np

import cudatracking as ct

if importlib.util.find_spec("cv2"):
    import cudatracking.dropin as cv2
    import cv2 as installed

IMAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "doc", "pics", "astronaut.jpg")
FACE = [177, 66, 95, 95]


@unittest.skipUnless(importlib.util.find_spec("cv2"), "there is no cv2 in this environment")
class DropinTest(unittest.TestCase):
    def setUp(self):
        self.image = cv2.imread(IMAGE)
        self.gray = cv2.cvtColor(self.image, cv2.COLOR_BGR2GRAY)

    def test_faces_by_position_are_drawn(self):
        faces = cv2.CascadeClassifier(cv2.data.haarcascades + "haarcascade_frontalface_default.xml")
        if faces.empty():
            raise OSError("no cascade")
        found = faces.detectMultiScale(self.gray, 1.1, 5)
        self.assertIn(FACE, found.tolist())
        for (x, y, w, h) in found:
            cv2.rectangle(self.image, (x, y), (x + w, y + h), (255, 0, 0), 2)
        self.assertEqual(self.image[66, 200].tolist(), [255, 0, 0])

    def test_flags_and_sizes_by_name(self):
        faces = cv2.CascadeClassifier("haarcascade_frontalface_default.xml")
        found = faces.detectMultiScale(cv2.equalizeHist(self.gray), scaleFactor=1.1, minNeighbors=5, minSize=(30, 30), maxSize=(300, 300),
                                       flags=cv2.CASCADE_SCALE_IMAGE | cv2.CASCADE_DO_CANNY_PRUNING)
        self.assertGreater(len(found), 0)
        largest = max(found, key=lambda box: box[2] * box[3])
        self.assertLess(abs(largest[0] - FACE[0]), 10)
        self.assertEqual(faces.detectMultiScale(self.gray, 1.1, 5, 0, (60, 60), (300, 300)).tolist(), [FACE])

    def test_a_classifier_that_loads_later_and_eyes_in_faces(self):
        faces, eyes = cv2.CascadeClassifier(), cv2.CascadeClassifier()
        self.assertTrue(faces.empty())
        with self.assertRaisesRegex(ct.error, "there is no cascade"):
            faces.detectMultiScale(self.gray)
        # The path of a cv2 that had the file, on this machine or on the author's.
        if not faces.load(cv2.__path__[0] + "/data/haarcascade_frontalface_default.xml") or not eyes.load(cv2.data.haarcascades + "haarcascade_eye.xml"):
            self.fail("a cascade was not loaded")
        self.assertFalse(faces.empty() or eyes.empty())
        boxes, counts = faces.detectMultiScale2(self.gray, minNeighbors=5, minSize=(60, 60))
        self.assertEqual((boxes.tolist(), len(counts)), ([FACE], 1))
        x, y, w, h = boxes[0]
        self.assertGreater(len(eyes.detectMultiScale(self.gray[y:y + h, x:x + w])), 0)
        boxes, levels, weights = faces.detectMultiScale3(self.gray, scaleFactor=1.1, minNeighbors=5, minSize=(60, 60), outputRejectLevels=True)
        self.assertEqual((boxes.tolist(), levels.tolist(), weights.shape), ([FACE], [faces.stages], (1,)))

    def test_properties_and_a_load_that_fails(self):
        faces = cv2.CascadeClassifier(cv2.data.lbpcascades + "lbpcascade_frontalface.xml")
        self.assertEqual((faces.getOriginalWindowSize(), faces.getFeatureType(), faces.isOldFormatCascade()), ((24, 24), 1, False))
        for wrong in ("/nowhere/cascade.xml", IMAGE, b"no cascade"):
            self.assertTrue(faces.load("eye"))
            self.assertEqual((faces.name, faces.getFeatureType()), ("eye", 0))
            self.assertFalse(faces.load(wrong))
            self.assertEqual((faces.empty(), faces.name, faces.window_size), (True, "", (0, 0)))
            self.assertIn("without a cascade", repr(faces))
        with self.assertRaisesRegex(TypeError, "cascade"):
            faces.load(3)

    def test_a_file_that_does_not_exist_gives_an_empty_object_as_in_cv2(self):
        for missing in ("/nowhere/other.xml", "haarcascade_none.xml", pathlib.Path("/nowhere/other.xml"), "x" * 5000):
            with self.assertLogs("cudatracking", logging.ERROR):
                faces = cv2.CascadeClassifier(missing)
            self.assertTrue(faces.empty())
            self.assertFalse(faces.load(missing))
            self.assertEqual((faces.scale_factor, faces.min_neighbors), (1.1, 3))
        self.assertTrue(faces.load("eye"))
        for wrong in (IMAGE, tempfile.gettempdir(), ""):
            with self.assertRaises(ct.error):
                cv2.CascadeClassifier(wrong)
        with self.assertRaises(TypeError):
            cv2.CascadeClassifier(3)

    def test_errors_are_those_of_cv2(self):
        empty, faces = cv2.CascadeClassifier(), cv2.CascadeClassifier("eye")
        for make, kind in ((lambda: empty.detectMultiScale(self.gray), ct.error), (empty.getOriginalWindowSize, ct.error), (empty.getFeatureType, ct.error),
                           (empty.isOldFormatCascade, ct.error), (lambda: faces.detectMultiScale(self.gray, .5), ct.ArgumentError), (lambda: faces.detectMultiScale2("x"), TypeError),
                           (lambda: faces.detectMultiScale3(self.gray.astype(complex)), TypeError), (lambda: cv2.CascadeClassifier(IMAGE), ct.error),
                           (lambda: faces.read("x"), TypeError), (lambda: cv2.CascadeClassifier.convert("a.xml", "b.xml"), ct.error),
                           (lambda: cv2.groupRectangles([[1, 2]], 1), ValueError)):
            for caught in (cv2.error, installed.error, kind):
                with self.assertRaises(caught):
                    make()

    def test_nodes(self):
        for name in ("haarcascade_frontalface_default", "haarcascade_eye_tree_eyeglasses", "lbpcascade_frontalface"):
            file = cv2.FileStorage(cv2.data.haarcascades + name + ".xml", cv2.FILE_STORAGE_READ)
            faces, wanted = cv2.CascadeClassifier(), cv2.CascadeClassifier(name + ".xml")
            self.assertTrue(faces.read(file.getFirstTopLevelNode()))
            self.assertEqual(faces.detectMultiScale3(self.gray, outputRejectLevels=True)[2].tolist(), wanted.detectMultiScale3(self.gray, outputRejectLevels=True)[2].tolist())
            self.assertFalse(faces.read(file.getNode("none")) or not faces.empty())

    def test_all_methods(self):
        if not hasattr(installed, "CascadeClassifier"):
            self.skipTest(f"cv2 {installed.__version__} has no CascadeClassifier to compare with")
        missing = [name for name in dir(installed.CascadeClassifier) if not name.startswith("_") and not hasattr(cv2.CascadeClassifier, name)]
        self.assertEqual(missing, [])

    def test_each_argument_in_each_form_of_cv2(self):
        if not hasattr(installed, "CascadeClassifier"):
            self.skipTest(f"cv2 {installed.__version__} has no CascadeClassifier to compare with")
        file = cv2.data.haarcascades + "haarcascade_frontalface_default.xml"
        for path in (file, pathlib.Path(file)):
            for make in (lambda module: module.CascadeClassifier(path), lambda module: module.CascadeClassifier(filename=path)):
                self.assertEqual([make(module).empty() for module in (installed, cv2)], [False, False])
            for load in (lambda faces: faces.load(path), lambda faces: faces.load(filename=path)):
                self.assertEqual([load(module.CascadeClassifier()) for module in (installed, cv2)], [True, True])
        self.addCleanup(installed.setNumThreads, installed.getNumThreads())
        installed.setNumThreads(1)  # with more the order of candidates changes
        pair = [module.CascadeClassifier(file) for module in (installed, cv2)]
        small = cv2.resize(self.gray, (256, 256))
        wide = np.zeros((256, 300), np.uint8)
        wide[:, 20:276] = small
        images = [small, cv2.resize(self.image, (256, 256)), small[..., None], small[::-1], wide[:, 20:276], np.asfortranarray(small),
                  cv2.cvtColor(cv2.resize(self.image, (256, 256)), cv2.COLOR_BGR2BGRA), cv2.UMat(small), cv2.UMat(cv2.resize(self.image, (256, 256))), None,
                  np.empty((0, 0), np.uint8), np.zeros((40, 40), np.uint8), np.zeros((5, 5), np.uint8)]
        forms = {"scaleFactor": [None, 1.2, 2, np.float32(1.2), np.float64(1.2), np.int64(2)],
                 "minNeighbors": [None, 5, 0, -1, np.int32(5), np.uint8(5)],
                 "flags": [None, 0, 15, -1, np.int32(2), cv2.CASCADE_SCALE_IMAGE],
                 "minSize": [None, (30, 30), [30, 30], np.array([30, 30]), np.array([30, 30], np.uint8), (np.int64(30), np.int32(30)), (0, 0), (-1, -1)],
                 "maxSize": [None, (90, 90), [90, 90], np.array([90, 90]), (0, 0)],
                 "outputRejectLevels": [True, 1, 10, -1, 2**70, np.True_, np.int64(1)]}
        calls = [((image,), {}) for image in images] + [((), {"image": small})]
        calls += [((small,), {name: value}) for name, values in forms.items() for value in values]
        calls += [((small, *(values[min(row, len(values) - 1)] for values in list(forms.values())[:count])), {}) for row in range(3) for count in range(1, 6)]
        calls += [((small, 1.1, 3), dict(named)) for named in itertools.permutations([("flags", None), ("minSize", (20, 20)), ("maxSize", None)])]
        plain = lambda value: (type(value), getattr(value, "dtype", None), np.asarray(value).tolist())
        for method in ("detectMultiScale", "detectMultiScale2", "detectMultiScale3"):
            for args, named in calls:
                if "outputRejectLevels" in named and method != "detectMultiScale3":
                    continue
                if method == "detectMultiScale3":  # without levels cv2 fails where there are objects
                    named = {"outputRejectLevels": True, **named}
                with self.subTest(method, args=[str(value)[:40] for value in args], named=[*named.items()]):
                    theirs, ours = (getattr(faces, method)(*args, **named) for faces in pair)
                    if method == "detectMultiScale":
                        theirs, ours = (theirs,), (ours,)
                    for a, b in zip(theirs, ours):
                        if method == "detectMultiScale3" and np.asarray(a).dtype.kind == "f":
                            np.testing.assert_allclose(b, a, rtol=1e-6)
                        else:
                            self.assertEqual(plain(b), plain(a))
        for value in ("x", 1.5, [1]):
            with self.assertRaisesRegex(TypeError, "outputRejectLevels"):
                pair[1].detectMultiScale3(small, outputRejectLevels=value)

    def test_rectangles_are_grouped_as_in_cv2(self):
        three = [[10, 20, 30, 40], [11, 20, 30, 40], [12, 22, 30, 41]]
        boxes, weights = cv2.groupRectangles(three, 1, .2)
        self.assertEqual((boxes.tolist(), boxes.dtype, weights.tolist(), weights.dtype), ([[11, 21, 30, 40]], np.int32, [3], np.int32))
        self.assertEqual(cv2.groupRectangles(three, 3), ((), ()))
        if not hasattr(installed, "groupRectangles"):
            self.skipTest(f"cv2 {installed.__version__} has no groupRectangles to compare with")
        plain = lambda found: [(type(value), getattr(value, "dtype", None), np.asarray(value).tolist()) for value in found]
        array = np.array(three)
        for args, named in [((three, 1), {}), ((array, 1), {}), ((array.astype(np.uint8), 1), {}), ((tuple(map(tuple, three)), 1), {"eps": .5}),
                            ((three, 0), {}), ((three, None, None), {}), ((three, np.int32(2)), {"eps": 1}), ((None, 1), {}), (([], 0), {}), (((), 1), {}),
                            ((np.zeros((0, 4), np.int32), 1), {}), ((), {"rectList": three, "groupThreshold": 1, "eps": np.float32(.2)})]:
            with self.subTest(args=args, named=named):
                self.assertEqual(plain(cv2.groupRectangles(*args, **named)), plain(installed.groupRectangles(*args, **named)))
        rng = np.random.default_rng(5)
        for _ in range(500):
            count = int(rng.integers(1, 60))
            centers = rng.integers(-50, 200, (max(1, count // 6), 4))
            centers[:, 2:] = rng.integers(0, 80, (len(centers), 2))
            some = centers[rng.integers(0, len(centers), count)] + rng.integers(-6, 7, (count, 4)) * rng.integers(0, 2)
            threshold, eps = int(rng.integers(-1, 5)), (.2, .1, .5, 1., 0., -.1)[rng.integers(0, 6)]
            self.assertEqual(plain(cv2.groupRectangles(some, threshold, eps)), plain(installed.groupRectangles(some, threshold, eps)), (some, threshold, eps))

    def test_everything_else_is_the_installed_cv2(self):
        self.assertIs(cv2.imread, installed.imread)
        self.assertIs(cv2.error, installed.error)
        self.assertEqual(cv2.__version__, installed.__version__)
        self.assertTrue({"CascadeClassifier", "VideoCapture", "data"} <= set(dir(cv2)))
        with self.assertRaises(AttributeError):
            cv2.no_such_name
        if hasattr(installed, "CASCADE_SCALE_IMAGE"):
            for name in ("CASCADE_DO_CANNY_PRUNING", "CASCADE_DO_ROUGH_SEARCH", "CASCADE_FIND_BIGGEST_OBJECT", "CASCADE_SCALE_IMAGE"):
                self.assertEqual(getattr(cv2, name), getattr(installed, name))
        np.testing.assert_array_equal(cv2.blur(self.gray, (3, 3)), installed.blur(self.gray, (3, 3)))


if __name__ == "__main__":
    unittest.main()
