"""The Python samples on small inputs: what they write, and what they say when they cannot. See test_programs.py for their options."""
import csv
import os
import subprocess
import sys
import tempfile
import unittest

import cv2
import numpy as np

SAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "samples", "python")


class SamplesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = lambda name: os.path.join(folder.name, name)

    def run_sample(self, name, *arguments):
        command = [sys.executable, os.path.join(SAMPLES, name), *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=300)

    def assert_error(self, done, words):
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("error: ", done.stderr)
        self.assertIn(words, done.stderr)
        self.assertNotIn("Traceback", done.stderr)

    def write_video(self, path):
        """A texture that moves by (3, -2) pixels a frame."""
        noise = np.random.RandomState(1).randint(0, 256, (200, 240, 3), dtype=np.uint8)
        world = cv2.normalize(cv2.GaussianBlur(noise, (0, 0), 3.), None, 0, 255, cv2.NORM_MINMAX)
        writer = cv2.VideoWriter(path, cv2.CAP_OPENCV_MJPEG, cv2.VideoWriter_fourcc(*"MJPG"), 10, (192, 144))
        self.assertTrue(writer.isOpened())
        for step in range(4):
            writer.write(np.ascontiguousarray(world[20 + 2 * step:164 + 2 * step, 40 - 3 * step:232 - 3 * step]))
        writer.release()

    def test_fragment_matcher(self):
        self.write_video(self.path("in.avi"))
        done = self.run_sample("fragment_matcher.py", self.path("in.avi"), self.path("out.avi"), "3", "--backend=cpu")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("3 frames on the CPU backend", done.stdout)
        video, images = cv2.VideoCapture(self.path("out.avi"), cv2.CAP_OPENCV_MJPEG), []
        while True:
            ok, image = video.read()
            if not ok:
                break
            images.append(image.astype(int))
        self.assertEqual([image.shape for image in images], 2 * [(144, 192, 3)])
        for image in images:  # sure matches are drawn green, which gray noise, darkened, is not
            green = (image[:, :, 1] > 160) & (image[:, :, 2] < 120)
            self.assertGreater(green.sum(), 100)

    def test_fragment_matcher_errors(self):
        self.assert_error(self.run_sample("fragment_matcher.py", self.path("no.avi"), self.path("out.avi")), "no.avi")
        self.write_video(self.path("in.avi"))
        self.assert_error(self.run_sample("fragment_matcher.py", self.path("in.avi"), self.path("out.avi"), "1"),
                          "fewer than two frames")

    def test_quick_shift(self):
        noise = np.random.RandomState(2).randint(0, 256, (60, 80, 3), dtype=np.uint8)
        image = cv2.GaussianBlur(noise, (0, 0), 3.)
        cv2.imwrite(self.path("small.png"), image)
        done = self.run_sample("quick_shift.py", self.path("small.png"), self.path("."), "--backend=cpu", "--min-area=7",
                               "--sigma=2", "--max-dist=8", "--scale=.5")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("small.csv"), newline="") as table:
            rows = list(csv.DictReader(table))
        areas = [int(row["area"]) for row in rows]
        self.assertEqual(sum(areas), 60 * 80)
        self.assertGreaterEqual(min(areas), 7)
        self.assertIn(f"{len(rows)} 4-connected superpixels of {min(areas)} to {max(areas)} pixels", done.stdout)
        mean = cv2.imread(self.path("small_mean.png"))
        self.assertLessEqual(len(np.unique(mean.reshape(-1, 3), axis=0)), len(rows))
        self.assertLessEqual(np.abs(mean.mean(axis=(0, 1)) - image.mean(axis=(0, 1))).max(), 0.5)
        self.assertTrue((cv2.imread(self.path("small_borders.png")) == (0, 0, 255)).all(axis=2).any())
        self.assertEqual(cv2.imread(self.path("small_cuts.png")).shape, (60, 240, 3))

    def test_quick_shift_errors(self):
        self.assert_error(self.run_sample("quick_shift.py", self.path("no.png"), self.path(".")), "no.png")
        cv2.imwrite(self.path("flat.png"), np.zeros((5, 7, 3), np.uint8))
        self.assert_error(self.run_sample("quick_shift.py", self.path("flat.png"), self.path("flat.png")), "flat.png")
        self.assert_error(self.run_sample("quick_shift.py", self.path("flat.png"), self.path("."), "--sigma=-1"), "sigma")

    def test_cascade(self):
        cascades, data = os.environ.get("CUDATRACKING_CASCADES"), os.environ.get("CUDATRACKING_SAMPLES_DATA")
        if not cascades or not data:
            self.skipTest("CUDATRACKING_CASCADES and CUDATRACKING_SAMPLES_DATA do not name OpenCV's folders")
        lena = os.path.join(data, "lena.jpg")
        done = self.run_sample("cascade.py", cascades, lena, self.path("out.png"), "--backend=cpu")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 face on the CPU backend", done.stdout)
        frame = (cv2.imread(self.path("out.png")) == (60, 220, 60)).all(axis=2)
        self.assertFalse((cv2.imread(lena) == (60, 220, 60)).all(axis=2).any())
        self.assertTrue(frame[203, 219:388].all())  # the upper edge of the face's box

    def test_cascade_errors(self):
        self.assert_error(self.run_sample("cascade.py", self.path("."), self.path("no.png"), self.path("out.png")), "no.png")
        cv2.imwrite(self.path("flat.png"), np.zeros((5, 7, 3), np.uint8))
        self.assert_error(self.run_sample("cascade.py", self.path("."), self.path("flat.png"), self.path("out.png")),
                          "haarcascade_frontalface_default.xml")

    def test_tld(self):
        noise = np.random.RandomState(5).randint(0, 256, (144, 192, 3), dtype=np.uint8)
        ground = cv2.normalize(cv2.GaussianBlur(noise, (0, 0), 4.), None, 0, 255, cv2.NORM_MINMAX)
        thing = cv2.normalize(cv2.GaussianBlur(noise[::-1, :40], (0, 0), 2.), None, 0, 255, cv2.NORM_MINMAX)[:40]
        writer = cv2.VideoWriter(self.path("in.avi"), cv2.CAP_OPENCV_MJPEG, cv2.VideoWriter_fourcc(*"MJPG"), 10, (192, 144))
        for t in range(8):
            frame = ground.copy()
            frame[50:90, 30 + 3 * t:70 + 3 * t] = thing
            writer.write(frame)
        writer.release()
        done = self.run_sample("tld.py", self.path("in.avi"), self.path("out.avi"), "30,50,40,40", "--backend=cpu")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("7 frames on the CPU backend, objects located 7 of 7 times", done.stdout)
        video, count = cv2.VideoCapture(self.path("out.avi"), cv2.CAP_OPENCV_MJPEG), 0
        while video.read()[0]:
            count += 1
        self.assertEqual(count, 7)

    def test_tld_errors(self):
        self.assert_error(self.run_sample("tld.py", self.path("no.avi"), self.path("out.avi"), "1,2,30,40"), "no.avi")
        self.write_video(self.path("in.avi"))
        self.assert_error(self.run_sample("tld.py", self.path("in.avi"), self.path("out.avi"), "190,2,30,40"), "box")


if __name__ == "__main__":
    unittest.main()
