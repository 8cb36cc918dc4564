"""What doc/python.md, doc/from_opencv.md, doc/quick_shift.md, doc/rasters.md, doc/windows.md and the docstrings show runs as written and
prints what stands below it;
mypy --strict is content.
"""
import contextlib
import csv
import doctest
import importlib.util
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np

import cudatracking as ct
from scenes import DATA, needs_data

DOC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "doc")


def snippets(page):
    """(number of line, code, expected output or None) of the Python blocks of a page that are not marked notest."""
    with open(os.path.join(DOC, page), encoding="utf-8") as file:
        text = file.read()
    # Other Python of README is that of a cv2 built with the module.
    for found in re.finditer(r"^```python( notest)?\n(.*?)^```\n(?:\n((?:    [^\n]*\n)+))?", text, re.MULTILINE | re.DOTALL):
        output = "".join(line[4:] + "\n" for line in found.group(3).splitlines()) if found.group(3) else None
        if "import cudatracking" not in found.group(2):
            continue
        yield text[:found.start()].count("\n") + 2, found.group(2), output, bool(found.group(1))


def pages():
    return [page for page in ("python.md", "python_gpu.md", "from_opencv.md", "quick_shift.md", "rasters.md", "windows.md", "fragment_matcher.md", "../README.md") if os.path.exists(os.path.join(DOC, page))]


class DocsTest(unittest.TestCase):
    def test_docstrings(self):
        """Each class that works has an example; and so have, from their create(), those of ct.cv2, whose comments OpenCV drops."""
        classes = (ct.CascadeClassifier, ct.Detector, ct.FragmentMatcher, ct.MultiTracker, ct.QuickShift, ct.Tracker)
        native = [getattr(ct.cv2.cuda, name) for name in ("CascadeClassifierEx", "FragmentMatcher", "MultiTrackerTLD", "QuickShift", "TLDDetector", "TrackerTLD")]
        names = {"ct": ct, "np": np, "cv2": ct.cv2, "cascade": ct.cascade_file("frontalface_default"),
                 "image": ct.cv2.imread(os.path.join(DOC, "pics", "astronaut.jpg"))}
        for documented in (*classes, ct.quickshift, ct.superpixels, *native):
            text = re.sub(r"^\.   | *@endcode.*", "", documented.__doc__, flags=re.M)
            example, said = doctest.DocTestParser().get_doctest(text, dict(names), documented.__name__, None, 0), []
            with self.subTest(documented.__module__ + "." + documented.__name__):
                self.assertGreater(len(example.examples), 1)
                self.assertEqual(doctest.DocTestRunner(verbose=False).run(example, out=said.append).failed, 0, "".join(said))

    @unittest.skipUnless(importlib.util.find_spec("openpiv"), "OpenPIV is not installed")
    def test_vectors_that_openpiv_replaces(self):
        """The example of windows.md: they are the offset of the next pass, where OpenPIV gives masked arrays as well."""
        with open(os.path.join(DOC, "windows.md"), encoding="utf-8") as file:
            code = re.search(r"^```python notest\n(import numpy[^`]*openpiv.*?)^```", file.read(), re.MULTILINE | re.DOTALL).group(1)
        first = np.random.default_rng(1).integers(0, 256, (160, 160), np.uint8)
        second = np.roll(first, (2, 3), axis=(0, 1))
        second[60:90, 60:90] = 9  # lost
        grid = ct.windows(first.shape, 16, 16, 6)
        matcher = ct.FragmentMatcher("zncc", subpixel=True, device="cpu")
        matcher.cut(first, grid.regions)
        names = {"motion": matcher.match(second, grid.areas).field(grid)}
        exec(code, names)
        self.assertTrue(names["wrong"].any() and not names["wrong"].all())
        grid = ct.windows(first.shape, 16, 16, 3, names["offset"])
        field = matcher.match(second, grid.areas).field(grid)
        self.assertLess(np.abs(np.array([field.u[2:8, 1:3] - 3, field.v[2:8, 1:3] - 2])).max(), .1)

    def test_members_of_enumerations_are_explained(self):
        for documented in (ct.Event, ct.State, ct.Status):
            for member in documented:
                self.assertRegex(documented.__doc__, rf"(?m)^    {member.name}: \w", documented)

    @needs_data
    def test_snippets(self):
        count = 0
        with tempfile.TemporaryDirectory() as folder:
            for name in ("home.jpg", "rubberwhale1.png", "rubberwhale2.png"):
                shutil.copy(os.path.join(DATA, name), folder)
            for place in (folder, os.path.join(folder, "doc", "pics")):  # README's first example runs in a clone
                os.makedirs(place, exist_ok=True)
                shutil.copy(os.path.join(DOC, "pics", "astronaut.jpg"), place)
            before = os.getcwd()
            os.chdir(folder)
            try:
                for page in pages():
                    for line, code, output, skipped in snippets(page):
                        if skipped or any(f"import {what}" in code and not importlib.util.find_spec(needed)
                                          for what, needed in (("cv2", "cv2"), ("cudatracking.dropin", "cv2"), ("av", "av"), ("rasterio", "rasterio"), ("skimage", "skimage"))):
                            continue
                        printed = io.StringIO()
                        with self.subTest(f"{page}:{line}"), contextlib.redirect_stdout(printed):
                            exec(compile(code, f"{page}:{line}", "exec"), {"__name__": "snippet"})
                        if output is not None:
                            self.assertEqual(printed.getvalue(), output, f"{page}:{line}")
                        count += 1
            finally:
                os.chdir(before)
        self.assertGreaterEqual(count, 6)

    def test_mypy(self):
        if not importlib.util.find_spec("mypy"):
            self.skipTest("mypy is not installed")
        with tempfile.TemporaryDirectory() as folder:
            for page in pages():
                for line, code, _, _ in snippets(page):
                    if "torch" in code or "cupy" in code or re.search("^import (cv2|av|rasterio|skimage)", code, re.MULTILINE):
                        continue
                    with open(os.path.join(folder, f"{re.sub(r'[./]', '_', page)}_{line}.py"), "w", encoding="utf-8") as file:
                        file.write(code)
            with open(os.path.join(folder, "types.py"), "w", encoding="utf-8") as file:
                file.write(TYPES)
            os.rename(os.path.join(folder, "types.py"), os.path.join(folder, "kinds.py"))
            for what in (["--package", "cudatracking"], sorted(os.path.join(folder, name) for name in os.listdir(folder))):
                done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.path.join(folder, ".cache"), *what], cwd=folder,
                                      capture_output=True, text=True, timeout=300)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            with open(os.path.join(folder, "wrong.py"), "w", encoding="utf-8") as file:
                file.write(WRONG)
            done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.path.join(folder, ".cache"), "wrong.py"], cwd=folder,
                                  capture_output=True, text=True, timeout=300)
            self.assertEqual(len(re.findall(r"wrong\.py:\d+: error", done.stdout)), WRONG.count("# wrong"), done.stdout)

    @needs_data
    def test_notebook(self):
        if not importlib.util.find_spec("nbclient") or not importlib.util.find_spec("ipykernel"):
            self.skipTest("nbclient and ipykernel are not installed")
        import nbclient
        import nbformat
        notebook = nbformat.read(os.path.join(DOC, "..", "samples", "notebooks", "cudatracking.ipynb"), 4)
        with tempfile.TemporaryDirectory() as folder:
            nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
        printed = "".join(output.get("text", "") for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs)
        self.assertIn("links up to 10: 159 superpixels", printed)
        self.assertRegex(printed, r"None -> not to be seen")
        self.assertEqual(len(re.findall(r"\) -> \(", printed)), printed.count(") -> "), printed)  # located wherever it is to be seen
        shown = sum("image/jpeg" in output.get("data", {}) for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs)
        self.assertEqual(shown, 3)

    def test_decoding_sample_without_decoder(self):
        if importlib.util.find_spec("PyNvVideoCodec"):
            self.skipTest("PyNvVideoCodec is installed")
        sample = os.path.join(DOC, "..", "python", "samples", "decode_on_gpu.py")
        done = subprocess.run([sys.executable, sample, "video.mp4"], capture_output=True, text=True, timeout=300)
        self.assertEqual((done.returncode, done.stderr), (1, "error: PyNvVideoCodec is not installed: pip install PyNvVideoCodec\n"))

    def test_wrong_numbers_of_samples(self):
        for name, arguments in (("decode_on_gpu.py", ("--frames=-1", "--frames=1_0", "--gpu=-1", "--gpu=1024", "--box=1,2,3", "--box=1,2,0,4", "--box=1,2,3,x")),
                                ("follow.py", ("--frames=0", "--every=0", "--every=2147483648", "--every=1.5"))):
            sample = os.path.join(DOC, "..", "python", "samples", name)
            for argument in arguments:
                files = ("video.avi",) if name == "decode_on_gpu.py" else ("video.avi", "out.avi", "out.csv")
                with self.subTest(name, argument=argument):
                    done = subprocess.run([sys.executable, sample, argument, *files], capture_output=True, text=True, timeout=300)
                    option, value = argument.split("=")
                    self.assertEqual(done.returncode, 2, done.stderr)
                    self.assertIn(f"argument {option}: '", done.stderr)
                    self.assertRegex(done.stderr, "a whole number from|x,y,width,height")

    def test_ctrl_c_in_samples(self):
        """No traceback; the video up to there can be played, and there is no half table."""
        code = "import argparse, cudatracking, runpy, sys\nsys.modules['cv2'] = cudatracking.cv2\n" \
               "def parse_args(self):\n    raise KeyboardInterrupt\nargparse.ArgumentParser.parse_args = parse_args\nrunpy.run_path(sys.argv[1], run_name='__main__')"
        samples = os.path.join(DOC, "..", "python", "samples")
        for name in sorted(os.listdir(samples)):
            if name.endswith(".py"):
                with self.subTest(name):
                    done = subprocess.run([sys.executable, "-c", code, os.path.join(samples, name)], capture_output=True, text=True, timeout=300)
                    self.assertEqual((done.returncode, done.stderr), (130, ""))
        with tempfile.TemporaryDirectory() as folder:
            video, out, table = (os.path.join(folder, name) for name in ("in.avi", "out.avi", "out.csv"))
            writer = ct.cv2.VideoWriter(video, ct.cv2.CAP_OPENCV_MJPEG, ct.cv2.VideoWriter_fourcc(*"MJPG"), 25, (320, 240))
            for step in range(5):
                writer.write(np.full((240, 320, 3), 40 * step, np.uint8))
            writer.release()
            running = subprocess.Popen([sys.executable, os.path.join(samples, "follow.py"), "--boxes=-", video, out, table], stdin=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
            running.stdin.write("0\n1\n2\n")  # it writes frames 0 and 1 and waits for the line after that of frame 2
            running.stdin.flush()
            while running.poll() is None and not os.path.exists(out):
                time.sleep(.02)
            time.sleep(.5)
            running.send_signal(signal.SIGINT)
            self.assertEqual((running.communicate(timeout=300)[1], running.returncode), ("", 130))
            self.assertTrue(ct.cv2.VideoCapture(out, ct.cv2.CAP_OPENCV_MJPEG).read()[0])
            self.assertEqual(sorted(os.listdir(folder)), ["in.avi", "out.avi"])

    def test_following_sample(self):
        sample = os.path.join(DOC, "..", "python", "samples", "follow.py")
        image = ct.cv2.imread(os.path.join(DOC, "pics", "astronaut.jpg"))
        with tempfile.TemporaryDirectory() as folder:
            video, out, table = (os.path.join(folder, name) for name in ("in.avi", "out.avi", "out.csv"))
            writer = ct.cv2.VideoWriter(video, ct.cv2.CAP_OPENCV_MJPEG, ct.cv2.VideoWriter_fourcc(*"MJPG"), 25, (320, 240))
            found = ct.CascadeClassifier("frontalface_alt").detect(image)
            x, y, side, _ = (int(value) for value in max(found, key=lambda box: box[2]))  # the face; a smaller one is none
            height, width = image.shape[:2]
            left, top = min(max(x - 80, 0), width - 350), min(max(y - 60, 0), height - 240)
            for step in range(15):
                writer.write(np.ascontiguousarray(image[top:top + 240, left + 2 * step:left + 2 * step + 320]))
            writer.release()
            done = subprocess.run([sys.executable, sample, video, out, table], capture_output=True, text=True, timeout=300)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            with open(table, newline="") as file:
                rows = list(csv.DictReader(file))
            self.assertEqual([(int(row["frame"]), row["id"]) for row in rows], [(step, "0") for step in range(15)])
            for step, row in enumerate(rows):
                self.assertEqual(row["located"], "True")
                self.assertLess(abs(float(row["x"]) - (x - left - 2 * step)), side / 4)
            self.assertEqual([int(row["event"]) for row in rows[::5]], [ct.Event.STARTED, ct.Event.CONFIRMED, ct.Event.CONFIRMED])
            self.assertTrue(ct.cv2.VideoCapture(out).isOpened())
            boxes = os.path.join(folder, "boxes.csv")
            with open(boxes, "w") as file:
                file.writelines(f"{step},{x - left - 2 * step},{y - top},{side},{side}\n" for step in range(0, 15, 2))
            for name, more in ((boxes, ()), ("-", ("--propose",))):  # a file, and a pipe of boxes that only propose
                with open(boxes) as standard:
                    done = subprocess.run([sys.executable, sample, "--boxes=" + name, *more, video, out, table], stdin=standard, capture_output=True, text=True,
                                          timeout=300)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                with open(table, newline="") as file:
                    rows = list(csv.DictReader(file))
                self.assertEqual([(int(row["frame"]), row["id"], row["located"]) for row in rows], [(step, "0", "True") for step in range(15)])
                self.assertEqual([row["box"] for row in rows], ["0", "-1"] * 7 + ["0"])
            for text, words in (("0,1,2\n", "line 1: FRAME"), ("frame,x\n1\n0\n", "line 3: frames"), ("0,1,2,3,x\n", "line 1: could not"), ("", "boxes.csv: there is no box"),
                                ("0,1,2,nan,9\n", "line 1: 1,2,nan,9: finite"), ("1\n0,1,2,-3,9\n", "line 2: 1,2,-3,9: finite"), ("\ufeff0,1,2,3\n", "line 1: FRAME")):
                with open(boxes, "w") as file:
                    file.write(text)
                done = subprocess.run([sys.executable, sample, "--boxes=" + boxes, video, out, table], capture_output=True, text=True, timeout=300)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn(words, done.stderr)
                self.assertNotIn("Traceback", done.stderr)
            for text in ("40,1,2,9,9\n", "0\n"):
                with open(boxes, "w") as file:
                    file.write(text)
                done = subprocess.run([sys.executable, sample, "--boxes=" + boxes, "--propose", video, out, table], capture_output=True, text=True, timeout=300)
                self.assertEqual((done.returncode, done.stderr), (1, f"error: --boxes={boxes}: no box of the frames that were read\n"))
            os.remove(boxes)
            for arguments, code in (((), 2), (("--propose", video, out, table), 2), (("--every=0", video, out, table), 2), (("--every=2", "--boxes=x", video, out, table), 2),
                                    ((video, video, table), 2), ((video, out, video), 2), ((video, out, out), 2), ((f"--boxes={out}", video, out, table), 2), ((video, out, folder), 2), (("--bogus", video, out, table), 2), ((video + "x", out, table), 1),
                                    (("--cascade=none", video, out, table), 1), ((video, out, os.path.join(folder, "no", "x.csv")), 1),
                                    ((video, os.path.join(folder, "no", "x.avi"), table), 1)):
                done = subprocess.run([sys.executable, sample, *arguments], capture_output=True, text=True, timeout=300)
                self.assertEqual(done.returncode, code, (arguments, done.stderr))
                self.assertIn("error: ", done.stderr)
                self.assertNotIn("Traceback", done.stderr)
            self.assertEqual(sorted(os.listdir(folder)), ["in.avi", "out.avi", "out.csv"])


TYPES = """
import numpy as np
import numpy.typing as npt
import numpy as np

import cudatracking as ct

boxes: npt.NDArray[np.int32] = ct.CascadeClassifier("eye").detect(np.zeros((9, 9), np.uint8))
located, box = ct.Tracker(seed=3).update([[1, 2], [3, 4]])
flag: bool = located
side: int = box[2]
labels, parents, distances = ct.quickshift(np.zeros((9, 9, 3)), return_tree=True)
scores: list[float] = [one.confidence for one in ct.FragmentMatcher().match(np.zeros((9, 9), np.uint8), [(1, 2, 3, 4)])]
names: list[str] = ct.cascades()
"""
WRONG = """
import numpy as np

import cudatracking as ct
ct.CascadeClassifier(3)  # wrong
ct.CascadeClassifier("eye", scalefactor=1.1)  # wrong
ct.QuickShift().labels().no_such_thing()  # wrong
number: str = ct.QuickShift().number  # wrong
ct.Tracker().init(object(), (1, 2, 3, 4))  # wrong
"""

if __name__ == "__main__":
    unittest.main()
