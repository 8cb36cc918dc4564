"""What goes to other machines names no folder of the one that built it: the programs, cv2, and a copy made by cmake --install."""
import os
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
BUILD = os.environ.get("CUDATRACKING_BUILD_DIR", "")


def naming(folder, names):
    """Files below the folder that contain one of the names, each with the text around the first place."""
    found = []
    for parent, _, files in os.walk(folder):
        for file in sorted(files):
            path = os.path.join(parent, file)
            if os.path.islink(path):
                continue
            with open(path, "rb") as opened:
                data = opened.read()
            for place in (data.find(name) for name in names):
                if place >= 0:
                    found.append((os.path.relpath(path, folder), data[max(place - 40, 0):place + 160]))
                    break
    return found


class ShippedTest(unittest.TestCase):
    def setUp(self):
        if not os.path.exists(os.path.join(BUILD, "build.ninja")):
            self.skipTest("CUDATRACKING_BUILD_DIR does not name a build")
        # Not the repository's own folder, which may be as short as /src.
        self.names = [os.fsencode(path) for path in (os.path.dirname(BUILD) + "/", *(f"{ROOT}/{part}/" for part in ("src", "test", "perf", "samples")))]

    def test_search(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("a", b"of nobody"), ("b", b"\0" * 999 + self.names[0] + b"lib")):
                with open(os.path.join(folder, name), "wb") as file:
                    file.write(text)
            self.assertEqual([name for name, _ in naming(folder, self.names)], ["b"])

    def test_programs_and_cv2(self):
        for folder in ("bin", "lib/python3"):
            with self.subTest(folder):
                self.assertTrue(os.listdir(os.path.join(BUILD, folder)))
                self.assertEqual(naming(os.path.join(BUILD, folder), self.names), [])

    def test_installed_copy(self):
        if not shutil.which("cmake"):
            self.skipTest("there is no cmake")
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(["cmake", "--install", BUILD, "--prefix", folder], capture_output=True, text=True, timeout=600)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(os.listdir(os.path.join(folder, "lib")))
            self.assertEqual(naming(folder, self.names), [])


if __name__ == "__main__":
    unittest.main()
