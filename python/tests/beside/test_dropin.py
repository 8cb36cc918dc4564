"""Programs written for cv2.CascadeClassifier, after a change of one import: patterns of calls that are common in public programs."""
import importlib.util
import os
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
