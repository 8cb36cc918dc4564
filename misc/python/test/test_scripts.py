"""Parts of the scripts that no build shows: which GPUs they see, the page of the demos, links of HTML pages, other configurations."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

import cv2
import numpy as np

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
NVCC = os.environ.get("CUDATRACKING_NVCC", "")
BUILD = os.environ.get("CUDATRACKING_BUILD_DIR", "")


class ScriptsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = lambda *names: os.path.join(folder.name, *names)
        os.mkdir(self.path("bin"))

    def tool(self, name, script):
        with open(self.path("bin", name), "w") as file:
            file.write("#!/bin/bash\n" + script + "\n")
        os.chmod(file.name, 0o755)
        return file.name

    def shell(self, command, *arguments):
        environment = {**os.environ, "PATH": self.path("bin") + ":" + os.environ["PATH"], "CUDATRACKING_BUILD_ROOT": self.path("build")}
        done = subprocess.run(["bash", "-c", f'source "{ROOT}/scripts/lib/common.sh"; {command}', "bash", *arguments],
                              env=environment, capture_output=True, text=True, timeout=300)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.split()

    def capabilities(self, *arguments):
        return self.shell('gpu_capabilities "$@"', *arguments)

    def fake_nvcc(self, name, probe):
        """Counts its calls, and makes a program that does what the probe does."""
        return self.tool(name, f'echo call >>"{self.path("calls")}"\n'
                               f'[ "$1" = -o ] && [[ $3 == *.cpp ]] && printf \'#!/bin/bash\\n{probe}\\n\' >"$2" && chmod +x "$2"')

    def test_nvidia_smi_knows(self):
        self.tool("nvidia-smi", "printf '9.0\\n12.0\\n9.0\\n8.6\\n'")
        nvcc = self.fake_nvcc("nvcc", "echo 5.0")
        self.assertEqual(self.capabilities(nvcc), ["8.6", "9.0", "12.0"])
        self.assertFalse(os.path.exists(self.path("calls")))

    def test_the_runtime_is_asked(self):
        nvcc = self.fake_nvcc("nvcc", "echo 8.7; echo 8.7")
        for answer in ("exit 127", "echo N/A", "echo '[N/A]'", "echo '[Not Supported]'", "echo 'NVIDIA-SMI has failed'; exit 9", "true"):
            with self.subTest(answer):
                self.tool("nvidia-smi", answer)
                self.assertEqual(self.capabilities(nvcc), ["8.7"])
        with open(self.path("calls")) as calls:
            self.assertEqual(len(calls.readlines()), 1)  # the program is kept
        self.assertEqual(self.capabilities(self.fake_nvcc("other", "echo 7.2")), ["7.2"])

    def test_no_gpu(self):
        self.tool("nvidia-smi", "exit 127")
        self.assertEqual(self.capabilities(), [])
        self.assertEqual(self.capabilities(self.tool("nvcc", "exit 1")), [])
        self.assertEqual(self.capabilities(self.fake_nvcc("other", "echo no driver; exit 1")), [])

    def test_the_probe_itself(self):
        if not os.path.exists(NVCC):
            self.skipTest("CUDATRACKING_NVCC does not name nvcc")
        self.tool("nvidia-smi", "exit 127")
        found = self.capabilities(NVCC)
        self.assertTrue(os.access(self.path("build", "gpu_probe"), os.X_OK))
        self.assertEqual(bool(found), cv2.cuda.getCudaEnabledDeviceCount() > 0)

    def python(self, program, *arguments):
        done = subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "lib", program), *arguments], capture_output=True, text=True, timeout=300)
        return done.returncode, done.stderr

    def test_page_of_demos(self):
        os.makedirs(self.path("demo", "tld"))
        os.mkdir(self.path("demo", "quick_shift"))
        with open(self.path("demo", "demos.tsv"), "w") as file:
            file.write("tld\tThree people & more\tcudatracking_tld --box=1,2,3,4 in.avi\nquick_shift\tFruits\tcudatracking_quick_shift\n")
        with open(self.path("demo", "tld", "report.txt"), "w") as file:
            file.write("frame 5/90, 4.0 per second\n90 frames, 3 objects, located in 79 % of the frames; 32.10 ms per frame on the CPU backend\nwrote tracks.avi\n")
        with open(self.path("demo", "quick_shift", "report.txt"), "w") as file:
            file.write("fruits, paper: 512 x 480, 167 superpixels, 202.27 ms\nfruits, lab: 512 x 480, 833 superpixels, 57.64 ms\n")
        image = np.zeros((48, 64, 3), np.uint8)
        for name in ("fruits_paper_contours.png", "fruits_paper_mean.png", "fruits_paper_labels.png"):
            cv2.imwrite(self.path("demo", "quick_shift", name), image)
        writer = cv2.VideoWriter(self.path("demo", "tld", "tracks.avi"), cv2.CAP_OPENCV_MJPEG, cv2.VideoWriter_fourcc(*"MJPG"), 10, (64, 48))
        for step in range(5):
            writer.write(cv2.circle(image.copy(), (10 + 5 * step, 20), 8, (0, 200, 0), -1))
        writer.release()
        self.assertEqual(self.python("demo_page.py", self.path("demo"), "CPU <name>"), (0, ""))
        self.assertEqual(self.python("check_links.py", self.path("demo"))[0], 0)
        with open(self.path("demo", "index.html")) as file:
            page = file.read()
        for text in ("CPU &lt;name&gt;", "Three people &amp; more", "<td>90 frames, 3 objects, located in 79 % of the frames<td class=\"time\">32.10 ms",
                     "167 superpixels<td class=\"time\">202.27 ms", "833 superpixels<td class=\"time\">57.64 ms", 'href="tld/tracks.avi"'):
            self.assertIn(text, page)
        self.assertNotIn("frame 5/90", page)
        self.assertNotIn('src="quick_shift/fruits_paper_labels.png"', page)
        self.assertEqual(re.findall("<figcaption>[^:]*: *</figcaption>", page), [])  # each says what to see
        self.assertGreaterEqual(page.count("<figure>"), 2)

    def test_links(self):
        for name, text in (("a.html", '<a href="b.html#place">1</a><a href="#here">2</a><p id="here"><a href="https://x.org/y#z">3</a><img src="c%20d.png">'),
                           ("b.html", '<a name="place"></a>'), ("c d.png", "")):
            with open(self.path(name), "w") as file:
                file.write(text)
        self.assertEqual(self.python("check_links.py", self.path()), (0, "2 pages, 3 links, 0 wrong\n"))
        with open(self.path("b.html"), "w") as file:
            file.write('<a href="a.html#there">1</a>\n<a href="e.html">2</a>')
        status, said = self.python("check_links.py", self.path())
        self.assertEqual((status, said.splitlines()), (1, ["a.html:1: b.html#place: the page has no such place", "b.html:1: a.html#there: the page has no such place",
                                                          "b.html:2: e.html: there is no such file", "2 pages, 5 links, 3 wrong"]))


class ConfigurationsTest(unittest.TestCase):
    """Configurations of OpenCV that the scripts do not build: only configured, and few files compiled."""
    def setUp(self):
        if not os.path.exists(os.path.join(BUILD, "build.ninja")):
            self.skipTest("CUDATRACKING_BUILD_DIR does not name a build")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_in(self, *command):
        done = subprocess.run(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:])
        return done.stdout

    def commands(self):
        """The command that compiles each source file of this module, by the end of its path."""
        lines = [line for line in self.run_in("ninja", "-C", "out", "-t", "commands").splitlines() if " -c " in line]
        paths = {re.search(r" -c (\S+)", line).group(1): line for line in lines}
        found = {path: line for path, line in paths.items() if path.startswith(ROOT + "/src/") or re.search(r"/(tld|cascade|quick_shift|fragment_matcher)/\w+\.avx2\.cpp$", path)}
        self.assertTrue(any(path.endswith("/src/tld/settings.cpp") for path in found))
        return found

    def check_files(self):
        for path, command in self.commands().items():
            words = command.split()
            with self.subTest(path):
                self.assertEqual([word for word in words if word.startswith("-std=")][-1], "-std=c++17")
                if "-ffast-math" in words:
                    self.assertLess(words.index("-ffast-math"), words.index("-fno-fast-math"))
                    self.assertLess(words.index("-fno-fast-math"), len(words) - words[::-1].index("-ffp-contract=off") - 1)
                self.assertIn("-ffp-contract=off", words)
                if path.endswith(("/src/tld/settings.cpp", "/tld/loops.avx2.cpp")):
                    self.run_in("sh", "-c", f"cd out && {command} -fsyntax-only")

    def configure(self, *options):
        with open(os.path.join(BUILD, "CMakeCache.txt")) as file:
            sources = re.search("^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$", file.read(), re.M).group(1)
        off = ("WITH_CUDA", "WITH_OPENCL", "WITH_IPP", "WITH_ITT", "WITH_ADE", "WITH_PROTOBUF", "WITH_LAPACK", "WITH_EIGEN", "BUILD_JAVA", "BUILD_TESTS", "BUILD_PERF_TESTS", "BUILD_opencv_apps",
               "BUILD_opencv_imgcodecs", "BUILD_opencv_highgui")  # a world takes these two by name, whatever the list says
        return self.run_in("cmake", "-S", sources, "-B", "out", "-GNinja", "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_LIST=core,imgproc,video,cudatracking",
                           f"-DOPENCV_EXTRA_MODULES_PATH={ROOT}", *(f"-D{name}=OFF" for name in off), *options)

    def test_world_static_fast_math(self):
        self.configure("-DBUILD_opencv_world=ON", "-DBUILD_SHARED_LIBS=OFF", "-DENABLE_FAST_MATH=ON")
        self.check_files()

    def test_shared_fast_math(self):
        self.configure("-DBUILD_SHARED_LIBS=ON", "-DENABLE_FAST_MATH=ON", "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -ffast-math")
        self.check_files()

    def test_add_subdirectory(self):
        if "cuda" in os.path.basename(BUILD):
            self.skipTest("CUDA's kernels would be configured for the installed OpenCV")
        with open(os.path.join(self.folder, "CMakeLists.txt"), "w") as file:
            file.write(f'cmake_minimum_required(VERSION 3.18)\nproject(plug CXX)\nadd_compile_options(-ffast-math)\nadd_subdirectory("{ROOT}" cudatracking)\n')
        self.run_in("cmake", "-S", ".", "-B", "out", "-GNinja", f"-DOpenCV_DIR={BUILD}")
        self.assertNotIn("cudatracking_tld:", self.run_in("ninja", "-C", "out", "-t", "targets", "all"))
        self.check_files()


if __name__ == "__main__":
    unittest.main()
