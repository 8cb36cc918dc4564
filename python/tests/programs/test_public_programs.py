"""Public programs that find faces by cv2.CascadeClassifier, which opencv-python 5 has no more: as they are, and after a change of one import."""
import importlib.util
import os
import re
import tempfile
import types
import unittest

import numpy as np

IMAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "doc", "pics", "astronaut.jpg")
FACE = (177, 66, 95, 95)
NO_MORE = "no attribute '(CascadeClassifier|data)'"


def load(name, dropin):
    """A module of an installed package, compiled once more. @param dropin its import of cv2 is changed"""
    path = importlib.util.find_spec(name).origin
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if dropin:
        text, count = re.subn(r"(?m)^( *)import cv2\b", r"\1import cudatracking.dropin as cv2", text)
        assert count == 1, (path, count)
    module = types.ModuleType(name)
    module.__file__, module.__package__ = path, name.rpartition(".")[0]
    exec(compile(text, path, "exec"), module.__dict__)
    return module


def overlap(box):
    """Intersection over union with the face, of corners."""
    x, y, w, h = FACE
    width, height = min(box[2], x + w) - max(box[0], x), min(box[3], y + h) - max(box[1], y)
    common = max(width, 0) * max(height, 0)
    return common / (w * h + (box[2] - box[0]) * (box[3] - box[1]) - common)


@unittest.skipUnless(all(importlib.util.find_spec(name) for name in ("cv2", "willow", "thumbor", "abstergo_censor")),
                     "needs cv2, willow, thumbor and abstergo-censor")
class PublicPrograms(unittest.TestCase):
    def setUp(self):
        import cv2
        self.cv2 = cv2
        self.assertFalse(hasattr(cv2, "CascadeClassifier"), "this cv2 has the classifier")
        self.gray = cv2.imread(IMAGE, cv2.IMREAD_GRAYSCALE)
        self.size = self.gray.shape[::-1]

    def test_willow(self):
        """Wagtail's image library: the focal point of an image."""
        faces = lambda dropin: load("willow.plugins.opencv", dropin).OpenCVGrayscaleImage(self.gray, self.size).detect_faces()
        with self.assertRaisesRegex(AttributeError, NO_MORE):
            faces(False)
        self.assertTrue(any(overlap(box) > .6 for box in faces(True)))

    def test_thumbor(self):
        """A service that crops images: its face detector."""
        import thumbor.detectors.face_detector as detector
        engine = types.SimpleNamespace(convert_to_grayscale=lambda **options: self.gray, size=self.size)
        context = types.SimpleNamespace(modules=types.SimpleNamespace(engine=engine))

        def faces(dropin):
            class Detector(load("thumbor.detectors.local_detector", dropin).CascadeLoaderDetector):
                pass
            made = Detector(context, 0, [])
            made.load_cascade_file(detector.__file__, "haarcascade_frontalface_default.xml")
            return [box for box, _ in made.get_features()]
        with self.assertRaisesRegex(AttributeError, NO_MORE):
            faces(False)
        self.assertTrue(any(overlap((x, y, x + w, y + h)) > .6 for x, y, w, h in faces(True)))

    def test_abstergo_censor(self):
        """A command that blurs faces and number plates; its cascades are those of cv2.data."""
        with self.assertRaisesRegex(AttributeError, NO_MORE):
            load("abstergo_censor", False)
        x, y, w, h = FACE
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "out.png")
            load("abstergo_censor", True).process_image(IMAGE, out, use_plates=True)
            before, after = self.cv2.imread(IMAGE), self.cv2.imread(out)
        changed = (before != after).any(axis=2)
        self.assertGreater(np.mean(changed[y + 5:y + h - 5, x + 5:x + w - 5]), .9)
        self.assertLess(np.mean(changed), .2)


if __name__ == "__main__":
    unittest.main()
