"""What README, doc/build.md and the tutorials show, as it stands there: the shell lines make folders, the CMake lines find the build,
all programs run, and what the pages print below them comes out. Also the plugin for videos, as such a program finds it.
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
TUTORIALS = ("fragment_matcher", "quick_shift", "cascade", "tld", "template_finder")
CPP_TUTORIALS = (*TUTORIALS, "windows")  # this one's Python is a sample


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as page:
        return page.read()


def block(language, *path):
    """The one block of this language in a page."""
    (code,) = re.findall(rf"^```{language}\n(.*?)^```\n", read(*path), flags=re.S | re.M)
    return code


def tutorial(name):
    """The blocks of a tutorial as a C++ and a Python program, each with the texts that the tutorial says it prints."""
    code, printed = {"cpp": [], "py": []}, {"cpp": [], "py": []}
    text, end = read("tutorials", name + ".markdown"), 0
    for match in re.finditer(r"^@code\{\.(\w+)\}\n(.*?)^@endcode\n", text, flags=re.S | re.M):
        if match.group(1) == "txt":
            for language in code if "Both programs" in text[end:match.start()] else (last,):
                printed[language].append(match.group(2))
        else:
            last = match.group(1)
            code[last].append(match.group(2))
        end = match.end()
    includes, *body = code["cpp"]
    return ("".join([includes, "\nint main()\n{\n", *body, "}\n"]), printed["cpp"]), ("\n".join(code["py"]), printed["py"])


def commands_after(line):
    """The block of commands that follows this line of doc/build.md."""
    found = re.search(rf"^{re.escape(line)}\n\n((?: {{4}}.*\n)+)", read("doc", "build.md"), flags=re.M).group(1)
    return [command.strip() for command in found.splitlines()]


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
        cls.shell(block("bash", "doc", "build.md"), cls.folder, '[ -x "$PYTHON" ] && [ -n "$CV2_DIR" ] && [ -n "$BIN_DIR" ]')

    @staticmethod
    def shell(lines, folder, *more):
        """Runs lines of a page, which make the folder build/try, with another folder in its place; for the version of OpenCV that was built."""
        version = re.match(r"opencv-(\d[\d.]*\d)-", os.path.basename(BUILD))
        if version:
            lines = lines.replace("--print-paths", f"--opencv={version.group(1)} --print-paths")
        script = "\n".join(["set -e", lines.replace("build/try", folder).replace("../../doc", os.path.join(ROOT, "doc")), *more])
        status, _, err = run(["bash", "-c", script], cwd=ROOT, env={**os.environ, "CUDATRACKING_BUILD_ROOT": os.path.dirname(BUILD)})
        assert status == 0, err

    @classmethod
    def programs(cls):
        """Builds the programs of README, of the tutorials and the one above by doc/build.md's lines for CMake, once. Returns their folder."""
        if cls.built:
            return cls.built
        if not shutil.which("cmake") or not shutil.which("ninja"):
            raise unittest.SkipTest("there is no cmake or no ninja")
        sources = os.path.join(os.path.dirname(cls.folder), "sources")
        os.mkdir(sources)
        lists = block("cmake", "doc", "build.md")
        head = [line for line in lists.split("\n") if not re.match(r"add_executable|target_link", line)]
        each = [line for line in lists.split("\n") if re.match(r"add_executable|target_link", line)]
        assert len(each) == 2, lists
        codes = {**{name: tutorial(name)[0][0] for name in CPP_TUTORIALS}, "readme": block("cpp", "README.md"), "video": VIDEO_PROGRAM}
        for name, code in codes.items():
            with open(os.path.join(sources, name + ".cpp"), "w") as file:
                file.write(code)
            head += [line.replace("example", name) for line in each]
        with open(os.path.join(sources, "CMakeLists.txt"), "w") as file:
            file.write("\n".join(head) + "\n")
        out = os.path.join(sources, "out")
        # The page's commands; compiled without optimisation, which takes long.
        commands = commands_after("and these commands build and run the program:")
        assert commands[-1] == "out/example", commands
        commands[0] += " -DCMAKE_CXX_FLAGS_RELEASE=-O0"
        status, said, err = run(["bash", "-ec", "\n".join(commands[:-1])], cwd=sources, env={**os.environ, "BUILD_DIR": BUILD})
        assert status == 0, said + err
        cls.built = out
        return out

    def check_printed(self, out, printed):
        """All texts, in their order; there may be more between them."""
        self.assertNotEqual(printed, [])
        end = 0
        for text in printed:
            self.assertIn(text, out[end:])
            end = out.index(text, end) + len(text)

    def test_python_examples(self):
        for name in TUTORIALS:
            with self.subTest(name):
                code, printed = tutorial(name)[1]
                status, out, err = run([sys.executable, "-c", code], cwd=self.folder)
                self.assertEqual((status, err), (0, ""))
                self.check_printed(out, printed)

    def test_cpp_examples(self):
        out = self.programs()
        for name in CPP_TUTORIALS:
            with self.subTest(name):
                status, said, err = run([os.path.join(out, name)], cwd=self.folder)
                self.assertEqual(status, 0, err)
                self.check_printed(said, tutorial(name)[0][1])

    def test_cpp_example_of_readme(self):
        printed = re.search(r"^```cpp\n(?:(?!```).*\n)*```\n\n((?: {4}.*\n)+)", read("README.md"), flags=re.M).group(1)
        done = run([os.path.join(self.programs(), "readme")], cwd=self.folder)
        self.assertEqual(done, (0, re.sub("^ {4}", "", printed, flags=re.M), ""))

    def test_own_program_reads_videos_by_ffmpeg(self):
        if not os.path.exists(os.path.join(BUILD, "lib", "libopencv_videoio_ffmpeg.so")):
            self.skipTest("this build has no FFmpeg")
        video = os.path.join(DATA, "vtest.avi")  # MPEG-4
        self.assertFalse(cv2.VideoCapture(video, cv2.CAP_OPENCV_MJPEG).isOpened())
        out = self.programs()
        clean = {name: value for name, value in os.environ.items() if not name.startswith("OPENCV_VIDEOIO")}
        for command, folder in (([os.path.join(out, "video")], "/"), (["./video"], out), (["../out/video"], out)):
            with self.subTest(command[0]):
                status, said, err = run([*command, video], cwd=folder, env=clean)
                self.assertEqual((status, said), (0, "11111 FFMPEG\n"), err)


if __name__ == "__main__":
    unittest.main()
