"""The wheel on any machine, also on the one that built it: it names no folder of that machine, and loads no library from there."""
import glob
import importlib.metadata
import importlib.util
import os
import platform
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import unittest

import cudatracking as ct
from scenes import needs_data, DATA

BUILDS = os.environ.get("CUDATRACKING_BUILDS", "")  # the folder of scripts/build.sh, which has the folders opencv-*
SYSTEM = ("/dev/", "/etc/", "/proc/", "/sys/", "/tmp/", "/usr/", "/var/tmp")  # folders that every machine has
PLUGIN = "libopencv_videoio_ffmpeg.so"
FOREIGN = '#include <stdio.h>\n__attribute__((constructor)) static void begin(void) { puts("foreign code was loaded"); }\n'
OPEN = "import sys, cudatracking as ct; print(*[ct.cv2.VideoCapture(source).isOpened() for source in (sys.argv[1], 99)])"


def absolute_paths(data):
    """Those of two parts or more and at least twelve characters: packed data has none by chance."""
    found = re.findall(rb"(?<![\w.)/%:*>-])(?:/[\w.+-]{2,}){2,}", data)
    return sorted({path.decode() for path in found if len(path) >= 12})


class ShippedTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = lambda *names: os.path.join(folder.name, *names)

    def test_search(self):
        self.assertEqual(absolute_paths(b"\0/home/me/build\0../src/a.cpp\0opencv/src/b.cpp\0 /usr/lib/c.so) /a/b \0"),
                         ["/home/me/build", "/usr/lib/c.so"])

    def test_no_folder_of_the_machine_is_named(self):
        root = os.path.dirname(BUILDS)
        names = [os.fsencode(name) for name in (BUILDS + "/", f"{root}/src/", f"{root}/python/")] if BUILDS else []
        extensions = 0
        for file in importlib.metadata.files("cudatracking"):
            if file.name in ("direct_url.json", "RECORD") or file.suffix == ".pyc":  # written by pip and python
                continue
            data = file.locate().read_bytes()
            with self.subTest(str(file)):
                self.assertEqual([name for name in names if name in data], [])
                if file.suffix == ".so":
                    extensions += 1
                    self.assertEqual([path for path in absolute_paths(data) if not path.startswith(SYSTEM)], [])
        self.assertEqual(extensions, 1)

    def test_frozen_programs_have_the_extension_and_the_cascades(self):
        point, = [point for point in importlib.metadata.distribution("cudatracking").entry_points if point.group == "pyinstaller40"]
        self.assertEqual(point.name, "hook-dirs")
        folder, = point.load()()
        found = runpy.run_path(os.path.join(folder, "hook-cudatracking.py"))
        self.assertEqual([target for _, target in found["binaries"]], ["cudatracking/_extension"])
        self.assertEqual({target for _, target in found["datas"]}, {"cudatracking/cascades"})
        self.assertEqual(len(found["datas"]), len(ct.cascades()))
        for path, target in found["binaries"] + found["datas"]:
            self.assertTrue(os.path.isfile(path), path)
            self.assertEqual(os.path.dirname(path), os.path.join(os.path.dirname(os.path.dirname(ct.__file__)), *target.split("/")))

        shutil.copytree(os.path.dirname(ct.__file__), self.path("cudatracking"), ignore=shutil.ignore_patterns("_extension"))
        for code, says in (("", "no extension for this Python"), ("import sys; sys.frozen = True; ", "frozen without the extension")):
            done = subprocess.run([sys.executable, "-c", code + "import cudatracking"], cwd=self.path(), capture_output=True, text=True, timeout=300)
            self.assertIn(says, done.stderr)

    def test_program_frozen_by_pyinstaller(self):
        if not importlib.util.find_spec("PyInstaller"):
            self.skipTest("PyInstaller is not installed")
        with open(self.path("app.py"), "w", encoding="utf-8") as file:
            file.write("import cudatracking as ct\nprint(len(ct.cascades()), ct.CascadeClassifier('eye', device='cpu').stages)\n")
        made = subprocess.run([sys.executable, "-m", "PyInstaller", "-y", "--onedir", "--log-level", "ERROR", "app.py"], cwd=self.path(), capture_output=True,
                              text=True, timeout=600)
        self.assertEqual(made.returncode, 0, made.stderr)
        done = subprocess.run([self.path("dist", "app", "app")], capture_output=True, text=True, timeout=300)
        self.assertEqual((done.returncode, done.stdout), (0, f"{len(ct.cascades())} 24\n"), done.stderr)

    @needs_data
    def test_only_mjpeg_is_read(self):
        video = os.path.join(DATA, "vtest.avi")  # MPEG-4
        clean = {name: value for name, value in os.environ.items() if not name.startswith("OPENCV_")}
        done = subprocess.run([sys.executable, "-c", OPEN, video], env=clean, capture_output=True, text=True, timeout=300)
        self.assertEqual((done.returncode, done.stdout), (0, "False False\n"), done.stderr)

    def test_camera_that_is_missing(self):
        # FFmpeg's plugin had a word of its own.
        done = subprocess.run([sys.executable, "-m", "cudatracking", "detect", "99"], capture_output=True, text=True, timeout=300)
        self.assertEqual((done.returncode, done.stderr), (1, "error: camera 99: cannot be opened\n"))

    @needs_data
    def test_no_library_of_the_builder_is_loaded(self):
        folders = glob.glob(os.path.join(glob.escape(BUILDS), "opencv-*", "lib")) if BUILDS else []
        if not folders:
            self.skipTest("CUDATRACKING_BUILDS names no folder with a build")
        if not shutil.which("cc"):
            self.skipTest("there is no cc")
        machine = subprocess.run(["cc", "-dumpmachine"], capture_output=True, text=True, timeout=60).stdout
        if not machine.startswith(platform.machine()):
            self.skipTest(f"cc compiles for {machine.strip()}, not for this Python's machine")
        private = ["unshare", *(["--user", "--map-root-user"] if os.geteuid() else []), "--mount"]
        if not shutil.which("unshare") or subprocess.run([*private, "true"], capture_output=True, timeout=60).returncode:
            self.skipTest("this machine permits no private mounts")
        os.mkdir(self.path("lib"))
        with open(self.path("foreign.c"), "w") as file:
            file.write(FOREIGN)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", self.path("lib", PLUGIN), self.path("foreign.c")], check=True, timeout=60)
        script = 'lib=$1; shift; while [ "$1" != -- ]; do mount --bind "$lib" "$1" || exit 9; shift; done; shift; "$@"'

        def said(*command, **more):
            clean = {name: value for name, value in os.environ.items() if not name.startswith("OPENCV_")}
            done = subprocess.run([*private, "bash", "-c", script, "bash", self.path("lib"), *folders, "--", *command],
                                  env={**clean, **more}, capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout

        command = [sys.executable, "-c", OPEN, os.path.join(DATA, "vtest.avi")]
        # A library that is loaded is seen.
        self.assertIn("foreign code", said(*command, OPENCV_VIDEOIO_PLUGIN_PATH=folders[0]))
        self.assertEqual(said(*command), "False False\n")


if __name__ == "__main__":
    unittest.main()
