"""What tests of the sample programs share: their names, small inputs, and how they are run."""
import csv
import glob
import os
import resource
import signal
import subprocess
import sys
import tempfile
import unittest

import cv2
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLES = os.path.join(HERE, "..", "..", "..", "samples", "python")
BIN = os.path.join(os.environ.get("CUDATRACKING_BUILD_DIR", ""), "bin")
CASCADES = os.environ.get("CUDATRACKING_CASCADES", "")
CASCADE = os.path.join(CASCADES, "lbpcascades", "lbpcascade_frontalface.xml")
CPP = ("cascade", "follow", "fragment_matcher", "fragment_matcher_loop", "quick_shift", "tld", "tld_benchmark")
PYTHON = ("cascade.py", "fragment_matcher.py", "quick_shift.py", "tld.py")
BOX = "30,50,40,40"
# Tables of the programs that write a video, and the column that has each frame of it.
TABLES = {"cascade": "frames.csv", "fragment_matcher": "frames.csv", "fragment_matcher_loop": "frames.csv", "quick_shift": "frames.csv", "tld": "tracks.csv"}
VIDEOS = {"cascade": "objects.avi", "fragment_matcher": "motion.avi", "fragment_matcher_loop": "trails.avi", "quick_shift": "contours.avi", "tld": "tracks.avi"}


def scene(step):
    """A textured thing that moves by 3 pixels per step over another texture."""
    noise = np.random.RandomState(5).randint(0, 256, (144, 192, 3), dtype=np.uint8)
    ground = cv2.normalize(cv2.GaussianBlur(noise, (0, 0), 4.), None, 0, 255, cv2.NORM_MINMAX)
    thing = cv2.normalize(cv2.GaussianBlur(noise[::-1, :40], (0, 0), 2.), None, 0, 255, cv2.NORM_MINMAX)[:40]
    ground[50:90, 30 + 3 * step:70 + 3 * step] = thing
    return ground


def write_avi(path, frames):
    writer = cv2.VideoWriter(path, cv2.CAP_OPENCV_MJPEG, cv2.VideoWriter_fourcc(*"MJPG"), 10, (192, 144))
    assert writer.isOpened()
    for frame in frames:
        writer.write(frame)
    writer.release()


def frames_of(path, api=cv2.CAP_OPENCV_MJPEG):
    video, count = cv2.VideoCapture(path, api), 0
    while video.read()[0]:
        count += 1
    return count


def rows_of(path):
    with open(path, newline="") as table:
        return list(csv.DictReader(table))


class Programs(unittest.TestCase):
    """Runs the sample programs; has no tests."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.data = staticmethod(lambda *names: os.path.join(folder.name, *names))
        frames = [scene(step) for step in range(12)]
        write_avi(cls.data("in.avi"), frames)
        cv2.imwrite(cls.data("image.png"), frames[0])
        for name in ("folder", "sequence", "long"):
            os.mkdir(cls.data(name))
        for step, frame in enumerate(frames):
            for name in ("folder", "sequence"):
                cv2.imwrite(cls.data(name, f"frame_{step + 1}.png"), frame)
        with open(cls.data("sequence", "init.txt"), "w") as init:
            init.write("30,50,70,90\n")
        with open(cls.data("sequence", "gt.txt"), "w") as truth:
            truth.writelines(f"{30 + 3 * step},50,{70 + 3 * step},90\n" for step in range(12))
        # There and back again, for longer than any test waits.
        for i in range(20000):
            os.symlink(os.path.join("..", "folder", f"frame_{1 + min(i % 22, 22 - i % 22)}.png"), cls.data("long", f"f{i:05}.png"))

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = lambda *names: os.path.join(folder.name, *names)

    def command(self, name, *arguments):
        if name in ("cascade", "cascade.py", "follow") and not os.path.exists(CASCADE):
            self.skipTest("CUDATRACKING_CASCADES does not name OpenCV's cascades")
        if name in PYTHON:
            return [sys.executable, os.path.join(SAMPLES, name), *arguments]
        program = os.path.join(BIN, "cudatracking_" + name)
        if not os.path.exists(program):
            self.skipTest("the C++ samples are not built, or CUDATRACKING_BUILD_DIR does not name the build")
        return [program, *arguments]

    def start(self, command, file_limit=None, **options):
        def prepare():  # whoever runs the tests may ignore signals
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            if file_limit:
                resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, file_limit))
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "errors": "replace", "preexec_fn": prepare, **options}
        return subprocess.Popen(command, **{"stdin": subprocess.DEVNULL, **options})

    def run_program(self, name, *arguments, **options):
        process = self.start(self.command(name, *arguments), **options)
        try:
            process.out, process.err = process.communicate(timeout=300)
        finally:
            process.kill()
            process.wait()
        self.assertNotIn("Traceback", process.err or "")
        return process

    def assert_fails(self, done, code, *words):
        """The code, and a message that has one of the words."""
        self.assertEqual(done.returncode, code, done.err)
        self.assertIn("error: ", done.err)
        self.assertTrue(any(word in done.err for word in words), f"{words} not in {done.err}")

    def arguments(self, name, source, out=None):
        """A call that works on a video, or on an image for those that take one."""
        out = out or self.out()
        target = os.path.join(out, "out.avi")
        return {
            "cascade": ["--backend=cpu", "--cascade=" + CASCADE, "--output-dir=" + out, source],
            "follow": ["--backend=cpu", "--cascade=" + CASCADE, "--output-dir=" + out, source],
            "fragment_matcher": ["--backend=cpu", "--output-dir=" + out, source],
            "fragment_matcher_loop": ["--backend=cpu", "--output-dir=" + out, source],
            "quick_shift": ["--backend=cpu", "--sigma=2", "--max-dist=6", "--output-dir=" + out, source],
            "tld": ["--backend=cpu", "--box=" + BOX, "--output-dir=" + out, source],
            "tld_benchmark": ["--backend=cpu", "--seeds=1", "--csv=" + os.path.join(out, "boxes.csv"), "--video=" + out, source],
            "cascade.py": ["--backend=cpu", CASCADES, source, os.path.join(out, "out.png")],
            "fragment_matcher.py": ["--backend=cpu", source, target],
            "quick_shift.py": ["--backend=cpu", source, out],
            "tld.py": ["--backend=cpu", source, target, BOX],
        }[name]

    def source(self, name):
        return self.data({"tld_benchmark": "sequence", "cascade.py": "image.png", "quick_shift.py": "image.png"}.get(name, "in.avi"))

    def left_over(self):
        return glob.glob(self.out("*.partial-*"))
