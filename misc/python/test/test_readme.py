"""README's examples, as they stand there: its shell lines make the folder, its CMake lines find the build, all programs run, and
what README prints below them comes out. Also the plugin for videos, as such a program finds it.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import cv2

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
BUILD = os.environ.get("CUDATRACKING_BUILD_DIR", "")
DATA, CASCADES = os.environ.get("CUDATRACKING_SAMPLES_DATA", ""), os.environ.get("CUDATRACKING_CASCADES", "")
VIDEO_PROGRAM = """#include "opencv2/videoio.hpp"
#include <iostream>
int main(int, char** argv)
{
    cv::VideoCapture video(argv[1]);
    cv::Mat frame;
    for (int i = 0; i < 5; ++i)
        std::cout << video.read(frame);
    std::cout << " " << (video.isOpened() ? video.getBackendName() : "none") << std::endl;
}
"""


def blocks(language):
    """Code of this language in README, each with what README says that it prints, or None."""
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as readme:
        text = readme.read()
    found = []
    for match in re.finditer(rf"^```{language}\n(.*?)^```\n", text, flags=re.S | re.M):
        printed = re.match(r"\n(?:The Python program prints|Both programs print)\n\n((?: {4}.*\n)+)", text[match.end():])
        found.append((match.group(1), printed and re.sub(r"^ {4}", "", printed.group(1), flags=re.M)))
    return found


def indented(line):
    """The block of commands that follows this line of README."""
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as readme:
        block = re.search(rf"^{re.escape(line)}\n\n((?: {{4}}.*\n)+)", readme.read(), flags=re.M).group(1)
    return [command.strip() for command in block.splitlines()]


def run(command, **options):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600, **options)
    return done.returncode, done.stdout, done.stderr


class ReadmeTest(unittest.TestCase):
    why = None  # all tests are skipped

    def setUp(self):
        if self.why:
            self.skipTest(self.why)

    @classmethod
    def setUpClass(cls):
        for file in (os.path.join(BUILD, "OpenCVConfig.cmake"), os.path.join(DATA, "home.jpg"),
                     os.path.join(CASCADES, "haarcascades", "haarcascade_frontalface_default.xml")):
            if not os.path.isabs(file) or not os.path.exists(file):
                cls.why = f"CUDATRACKING_BUILD_DIR, _SAMPLES_DATA or _CASCADES is not set, or there is no {file}"
                return
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder, cls.built = os.path.join(folder.name, "try"), None
        (shell, _), = blocks("bash")
        script = "set -e\n" + shell.replace("build/try", cls.folder) + '[ -x "$PYTHON" ] && [ -n "$CV2_DIR" ] && [ -n "$BIN_DIR" ]'
        status, _, err = run(["bash", "-c", script], cwd=ROOT, env={**os.environ, "CUDATRACKING_BUILD_ROOT": os.path.dirname(BUILD)})
        assert status == 0, err

    @classmethod
    def programs(cls):
        """Builds README's C++ examples and the program above by README's lines for CMake, once. Returns their folder."""
        if cls.built:
            return cls.built
        if not shutil.which("cmake") or not shutil.which("ninja"):
            raise unittest.SkipTest("there is no cmake or no ninja")
        sources = os.path.join(os.path.dirname(cls.folder), "sources")
        os.mkdir(sources)
        (lists, _), = blocks("cmake")
        head = [line for line in lists.split("\n") if not re.match(r"add_executable|target_link", line)]
        each = [line for line in lists.split("\n") if re.match(r"add_executable|target_link", line)]
        assert len(each) == 2, lists
        codes = [code for code, _ in blocks("cpp")] + [VIDEO_PROGRAM]
        for i, code in enumerate(codes):
            with open(os.path.join(sources, f"example{i}.cpp"), "w") as file:
                file.write(code)
            head += [line.replace("example", f"example{i}") for line in each]
        with open(os.path.join(sources, "CMakeLists.txt"), "w") as file:
            file.write("\n".join(head) + "\n")
        out = os.path.join(sources, "out")
        # README's commands; compiled without optimisation, which takes long.
        commands = indented("and these commands:")
        assert commands[-1] == "out/example", commands
        commands[0] += " -DCMAKE_CXX_FLAGS_RELEASE=-O0"
        status, said, err = run(["bash", "-ec", "\n".join(commands[:-1])], cwd=sources, env={**os.environ, "BUILD_DIR": BUILD})
        assert status == 0, said + err
        cls.built = out
        return out

    def test_python_examples(self):
        # Those of the package cudatracking are tested with the wheel (python/tests/test_docs.py).
        examples = [example for example in blocks("python") if "import cudatracking" not in example[0]]
        self.assertGreaterEqual(len(examples), 5)
        self.assertGreaterEqual(sum(printed is not None for _, printed in examples), 3)
        for code, printed in examples:
            with self.subTest(code.strip().split("\n")[-1]):
                status, out, err = run([sys.executable, "-c", code], cwd=self.folder)
                self.assertEqual((status, err), (0, ""))
                self.assertNotEqual(out, "")
                if printed is not None:
                    self.assertEqual(out, printed)

    def test_cpp_examples(self):
        out, examples = self.programs(), blocks("cpp")
        self.assertGreaterEqual(len(examples), 5)
        for i in range(len(examples)):
            with self.subTest(f"example {i}"):
                status, said, err = run([os.path.join(out, f"example{i}")], cwd=self.folder)
                self.assertEqual(status, 0, err)
                self.assertNotEqual(said, "")
        self.assertIn("LOST", said)  # by the last one, the tracker's; README gives its output with the Python program
        self.assertEqual(said, blocks("python")[-1][1])

    def test_own_program_reads_videos_by_ffmpeg(self):
        if not os.path.exists(os.path.join(BUILD, "lib", "libopencv_videoio_ffmpeg.so")):
            self.skipTest("this build has no FFmpeg")
        video = os.path.join(DATA, "vtest.avi")  # MPEG-4
        self.assertFalse(cv2.VideoCapture(video, cv2.CAP_OPENCV_MJPEG).isOpened())
        out = self.programs()
        program = f"example{len(blocks('cpp'))}"
        clean = {name: value for name, value in os.environ.items() if not name.startswith("OPENCV_VIDEOIO")}
        for command, folder in (([os.path.join(out, program)], "/"), (["./" + program], out), (["../out/" + program], out)):
            with self.subTest(command[0]):
                status, said, err = run([*command, video], cwd=folder, env=clean)
                self.assertEqual((status, said), (0, "11111 FFMPEG\n"), err)


if __name__ == "__main__":
    unittest.main()
