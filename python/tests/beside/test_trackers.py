"""Trackers of the installed cv2 as a source of boxes that only propose: python/samples/opencv_boxes.py and follow.py --propose.

CUDATRACKING_NANO: a folder with nanotrack_backbone_sim.onnx and nanotrack_head_sim.onnx; without it Nano is skipped.
"""
import csv
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np

SAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "samples")
NANO = os.environ.get("CUDATRACKING_NANO", "")
SIDE, GONE, BACK, FRAMES = 56, 25, 45, 60


def box(number):
    """The object's box, or None: it leaves the image, and comes back at another place."""
    if GONE <= number < BACK:
        return None
    return (20 + 4 * number, 60, SIDE, SIDE) if number < GONE else (220 - 4 * (number - BACK), 150, SIDE, SIDE)


@unittest.skipUnless(importlib.util.find_spec("cv2"), "there is no cv2 in this environment")
class TrackersTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = lambda name: os.path.join(folder.name, name)

    def run_sample(self, name, *arguments, given=None):
        return subprocess.run([sys.executable, os.path.join(SAMPLES, name), *arguments], input=given, capture_output=True, text=True, timeout=300)

    def write_video(self):
        import cv2
        numbers = np.random.RandomState(1)
        background, target = (cv2.GaussianBlur(numbers.randint(0, 256, (*shape, 3), dtype=np.uint8), (0, 0), 3.) for shape in ((240, 320), (SIDE, SIDE)))
        writer = cv2.VideoWriter(self.path("in.avi"), cv2.VideoWriter_fourcc(*"MJPG"), 25, (320, 240))
        for number in range(FRAMES):
            image = background.copy()
            if box(number):
                x, y, _, _ = box(number)
                image[y:y + SIDE, x:x + SIDE] = target
            writer.write(image)
        writer.release()

    def check(self, *tracker):
        """The source has a box in every frame; reported is none where the object is absent, and the right one elsewhere."""
        self.write_video()
        done = self.run_sample("opencv_boxes.py", *tracker, "--box=" + ",".join(map(str, box(0))), self.path("in.avi"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        boxes = [line.split(",") for line in done.stdout.splitlines()]
        self.assertEqual([int(line[0]) for line in boxes], list(range(FRAMES)))
        self.assertEqual(sum(len(line) == 5 for line in boxes[GONE:BACK]), BACK - GONE)
        done = self.run_sample("follow.py", "--device=cpu", "--boxes=-", "--propose", self.path("in.avi"), self.path("out.avi"), self.path("out.csv"),
                               given=done.stdout)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(self.path("out.csv"), newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([(int(row["frame"]), row["id"]) for row in rows], [(number, "0") for number in range(FRAMES)])
        for number, row in enumerate(rows):
            if box(number) is None:
                self.assertTrue(number < GONE + 3 or row["located"] == "False", row)  # flow holds on to the place for up to three frames
            elif number < GONE or number > BACK + 3:
                self.assertEqual(row["located"], "True", row)
                self.assertLess(abs(float(row["x"]) - box(number)[0]) + abs(float(row["y"]) - box(number)[1]), SIDE / 3, row)

    def test_mil(self):
        self.check("--tracker=MIL")

    def test_nano(self):
        models = [os.path.join(NANO, f"nanotrack_{part}_sim.onnx") for part in ("backbone", "head")]
        if not all(map(os.path.isfile, models)):
            self.skipTest(f"CUDATRACKING_NANO={NANO!r}: there are no models of TrackerNano")
        self.check("--tracker=Nano", f"--backbone={models[0]}", f"--head={models[1]}")

    def test_wrong_arguments(self):
        self.write_video()
        first = "--box=20,60,56,56"
        for arguments, code, words in (
                ((first, "x.avi"), 1, "x.avi: there is no frame"), (("x.avi",), 2, "--box"), (("--box=1,2,3", "x.avi"), 2, "'1,2,3': x,y,width,height is needed"),
                (("--box=1,2,0,4", "x.avi"), 2, "'1,2,0,4': x,y,width,height"), (("--tracker=Kalman", first, "x.avi"), 2, "'Kalman'"),
                (("--tracker=Nano", first, "x.avi"), 2, "--tracker=Nano needs"), (("--backbone=b", "--head=h", first, "x.avi"), 2, "--tracker=Nano needs"),
                (("--backbone=b", first, "x.avi"), 2, "--tracker=Nano needs"), (("--box=1,2,7,8", "x.avi"), 2, "of 8 pixels at least"),
                (("--box=-1,2,9,9", self.path("in.avi")), 1, "--box=-1,2,9,9: is not inside of the first frame, which has"),
                (("--tracker=Nano", "--backbone=" + __file__, "--head=" + __file__, first, self.path("in.avi")), 1, __file__),
                (("--tracker=Nano", "--backbone=none.onnx", "--head=h", first, "x.avi"), 1, "none.onnx: there is no such file")):
            done = self.run_sample("opencv_boxes.py", *arguments)
            with self.subTest(arguments):
                self.assertEqual((done.returncode, done.stdout), (code, ""))
                self.assertIn(words, done.stderr)
                self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    unittest.main()
