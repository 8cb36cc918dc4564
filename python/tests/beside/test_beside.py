"""Beside an installed cv2, in either import order: both work, and the boxes are those of its cv2.CascadeClassifier where it has one."""
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np

DATA = os.environ.get("CUDATRACKING_SAMPLES_DATA", "")
DOC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "doc")

BOTH = """
import sys
{imports}
import numpy as np
assert sys.modules["cv2"] is cv2 and ct.cv2 is not cv2 and "cudatracking" not in cv2.__file__
assert all("cudatracking" not in (getattr(m, "__file__", None) or "") for n, m in sys.modules.items() if n.split(".")[0] == "cv2")
import cv2.typing  # a part of the installed one
noise = np.random.RandomState(1).randint(0, 256, (80, 90, 3), dtype=np.uint8)
image = cv2.GaussianBlur(noise, (0, 0), 2.)
assert np.array_equal(image, ct.cv2.GaussianBlur(noise, (0, 0), 2.))
assert ct.quickshift(image, .5, 3, 6).max() > 3
tracker = ct.Tracker(); tracker.init(image, (20, 20, 40, 40)); assert tracker.update(image)[0]
for module, error in ((cv2, cv2.error), (ct.cv2, ct.cv2.error)):
    try:
        module.cvtColor(image, -1)
        raise AssertionError("no error")
    except error as raised:
        assert raised.code
assert cv2.error is not ct.cv2.error
assert cv2.imencode(".png", image)[1].size > 99 and cv2.resize(image, (9, 9)).shape == (9, 9, 3)
print("both work", cv2.__version__)
"""


@unittest.skipUnless(importlib.util.find_spec("cv2"), "there is no cv2 in this environment")
class BesideTest(unittest.TestCase):
    def run_both(self, imports):
        done = subprocess.run([sys.executable, "-c", BOTH.format(imports=imports)], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("both work", done.stdout)

    def test_cv2_first(self):
        self.run_both("import cv2\nimport cudatracking as ct")

    def test_cv2_last(self):
        self.run_both("import cudatracking as ct\nimport cv2")

    def test_both_at_once(self):
        """An import of cv2 that begins while this package loads its own: neither sees the other's modules half way."""
        self.run_both("""
import importlib, importlib.machinery, threading, time
inside, found, real = threading.Event(), {}, importlib.machinery.ExtensionFileLoader.create_module
def slow(loader, spec):
    if "cudatracking" in loader.path:
        sys.setswitchinterval(.005)
        inside.set()
        time.sleep(1)
    return real(loader, spec)
importlib.machinery.ExtensionFileLoader.create_module = slow
def load(name):
    found[name] = importlib.import_module(name)
threads = [threading.Thread(target=load, args=(name,)) for name in ("cudatracking", "cv2")]
threads[0].start(); inside.wait(); threads[1].start(); [t.join() for t in threads]
cv2, ct = found["cv2"], found["cudatracking"]""")

    def test_threads(self):
        import cv2

        import cudatracking as ct
        images = [cv2.GaussianBlur(np.random.RandomState(i).randint(0, 256, (120, 160), dtype=np.uint8), (0, 0), 3.) for i in range(4)]
        expected = [ct.QuickShift(3, 8).compute(image).labels() for image in images]
        failed = []

        def work(i):
            for _ in range(5):
                if not np.array_equal(ct.QuickShift(3, 8).compute(images[i]).labels(), expected[i]) or cv2.blur(images[i], (5, 5)).shape != (120, 160):
                    failed.append(i)
        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])

    def test_boxes_of_the_installed_classifier(self):
        import cv2

        import cudatracking as ct
        if not hasattr(cv2, "CascadeClassifier"):
            self.skipTest(f"cv2 {cv2.__version__} of this environment has no CascadeClassifier")
        if not os.path.isdir(DATA):
            self.skipTest("CUDATRACKING_SAMPLES_DATA does not name OpenCV's samples/data")
        cv2.setNumThreads(1)  # with several its order varies
        compared = found = 0
        for name in ct.cascades():
            theirs, ours = cv2.CascadeClassifier(ct.cascade_file(name)), ct.CascadeClassifier(name, device="cpu")
            for file in ("lena.jpg", "basketball1.png", "messi5.jpg"):
                image = cv2.resize(cv2.imread(os.path.join(DATA, file)), None, fx=.5, fy=.5)
                for named in ({}, {"min_neighbors": 0}, {"scale_factor": 1.3, "min_neighbors": 1, "min_size": (30, 30), "max_size": (200, 150)}):
                    camel = {{"min_neighbors": "minNeighbors", "scale_factor": "scaleFactor", "min_size": "minSize", "max_size": "maxSize"}[k]: v
                             for k, v in named.items()}
                    expected = np.array(theirs.detectMultiScale(image, **camel), np.int32).reshape(-1, 4)
                    np.testing.assert_array_equal(ours.detect(image, **named), expected, f"{name}, {file}, {named}")
                    compared, found = compared + 1, found + len(expected)
        print(f"cv2 {cv2.__version__}: {compared} comparisons, {found} equal boxes in equal order")
        self.assertEqual(compared, 22 * 9)
        self.assertGreater(found, 800)

    def test_programs_before_and_after(self):
        """Those of doc/from_opencv.md, as far as this environment has what they use, print what the page says."""
        if not os.path.isdir(DATA):
            self.skipTest("CUDATRACKING_SAMPLES_DATA does not name OpenCV's samples/data")
        import cv2
        with open(os.path.join(DOC, "from_opencv.md"), encoding="utf-8") as page:
            programs = re.findall(r"^```python\n(.*?)^```\n(?:\n((?: {4}[^\n]*\n)+))?", page.read(), re.MULTILINE | re.DOTALL)
        ran = 0
        with tempfile.TemporaryDirectory() as folder:
            for file in (os.path.join(DATA, "home.jpg"), os.path.join(DATA, "rubberwhale1.png"), os.path.join(DATA, "rubberwhale2.png"),
                         os.path.join(DOC, "pics", "astronaut.jpg")):
                shutil.copy(file, folder)
            for code, printed in programs:
                names = re.findall(r"(?<![\w.])cv2\.(\w+)", code) if "import cv2\n" in code else []
                if ("skimage" in code and not importlib.util.find_spec("skimage")) or not all(hasattr(cv2, name) for name in names):
                    continue
                if "cv2.CascadeClassifier" in code and not os.path.exists(cv2.data.haarcascades + "haarcascade_frontalface_default.xml"):
                    continue
                with self.subTest(code):
                    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=120)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertEqual(done.stdout, re.sub("^ {4}", "", printed, flags=re.MULTILINE))
                ran += 1
        print(f"cv2 {cv2.__version__}: {ran} of {len(programs)} programs of doc/from_opencv.md ran")
        self.assertGreaterEqual(ran, 11)


if __name__ == "__main__":
    unittest.main()
