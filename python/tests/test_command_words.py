"""What the command says: usage, version, messages in its own words, numbers and plurals."""
import inspect
import os
import re
import subprocess
import sys
import unittest
from unittest import mock

import numpy as np

import cudatracking as ct
from cudatracking._jobs import JOBS
from command_case import CommandCase, needs_av, rows_of, write_video
from scenes import DATA, frame, needs_data
from test_command_files import commands


class UsageTest(CommandCase):
    def test_version(self):
        for option in ("--version", "-V"):
            self.assertEqual(self.call_command(option), (f"cudatracking {ct.__version__}\n", ""))

    def test_without_a_command(self):
        """All commands are listed."""
        printed, errors = self.call_command(code=2)
        self.assertEqual(printed, "")
        self.assertTrue(errors.endswith("error: a COMMAND is needed\n"))
        for name in commands():
            self.assertRegex(errors, rf"(?m)^    {name} +[A-Z]")

    def test_usage_of_the_command(self):
        """What is wrong about a command comes with its own usage."""
        for name in commands():
            for wrong in (["--bogus"], ["x.avi", "y.avi", "--bogus=3"], ["x.avi", "--quiet=3"], ["--draw"]):
                errors = self.call_command(name, *wrong, code=2)[1]
                self.assertTrue(errors.startswith(f"usage: cudatracking {name} "), errors)
                self.assertRegex(errors, r"(?m)^error: (?!argument)")
        self.assertTrue(self.call_command("--bogus", code=2)[1].startswith("usage: cudatracking [-h] [-V]"))

    def test_example_names_what_it_needs(self):
        self.assertRegex(" ".join(self.call_command("track", "--help")[0].split()), r"Example: cudatracking track vtest.avi .* samples/data of OpenCV.* needs PyAV \(pip install av\)")

    @needs_av
    @needs_data
    def test_example_of_track(self):
        """The example of the help, as it stands there."""
        text = " ".join(self.call_command("track", "--help")[0].split())
        line = text[text.index("Example: cudatracking ") + 22:text.index(". The video")].split()
        os.symlink(os.path.join(DATA, "vtest.avi"), self.path("vtest.avi"))
        errors = self.call_command(*line, "--table=t.csv", "--frames=20")[1]
        self.assertIn("20 frames in ", errors)
        self.assertGreater(sum(row["state"] == "tracking" for row in rows_of(self.path("t.csv"))), 10)


class MessagesTest(CommandCase):
    def test_boxes_outside_of_the_image(self):
        """They are refused in the words of the command, before anything is printed."""
        write_video(self.path("in.avi"), 3)
        for name in ("track", "match"):
            for given in ("5000,0,50,50", "-1,10,40,40", "10,-1,40,40", "160,10,40,40", "10,120,40,40", "10,10,0,40", "10,10,40,-5", "999999999,999999999,999999999,999999999"):
                printed, errors = self.call_command(name, "in.avi", f"--box={given}", code=2)
                expected = "", f"error: --box: {given}: is not inside of the first frame, which has 192 x 144 pixels\n"
                self.assertEqual((printed, errors), expected)
                self.assertEqual(self.call_command(name, "in.avi", "--box", given, code=2), expected, "as a word of its own, which may begin with a minus")
        refused = self.call_command("track", "in.avi", "--box=10,10,40,40", "--box=10,10,5,5", code=2)
        self.assertEqual(refused, ("", "error: --box: 10,10,5,5: 5 x 5 pixels, sides must be at least 12\n"))

    def test_options_are_named_alike(self):
        """Wherever it is found out what is wrong about an option: when the command line is read, by the command, or by a class."""
        ct.cv2.imwrite(self.path("in.png"), frame(0))
        write_video(self.path("in.avi"), 3)
        for arguments, code in ((["detect", "in.png", "--scale-factor=1"], 2), (["detect", "in.png", "--device=gpu"], 2), (["detect", "in.png", "--cascade=x"], 2),
                                (["detect", "in.png", "--device=cuda:99"], 1), (["detect", "in.png", "--max-size=20", "--min-size=40"], 2), (["scan", "in.avi", "--job=detect", "--out=o", "--max-size=3", "--min-size=9"], 2),
                                (["track", "in.avi", "--box=500,0,9,9"], 2), (["superpixels", "in.png", "--labels=l.jpg"], 2), (["superpixels", "in.png", "--number=9", "--sigma=3"], 2),
                                (["scan", "in.avi", "--job=detect", "--out="], 2), (["scan", "in.avi", "--job=superpixels", "--out=o", "--number=9", "--sigma=3"], 2),
                                (["scan", "in.avi", "--job=detect", "--out=o", "--boxes=no.csv"], 2)):
            with self.subTest(arguments):
                self.assertRegex(self.call_command(*arguments, code=code)[1], r"(?m)^error: --[a-z-]+: ")

    @needs_av
    def test_options_of_scan_are_named_alike(self):
        ct.cv2.imwrite(self.path("in.png"), frame(0))
        write_video(self.path("in.avi"), 3)
        for arguments, code in ((["--job=detect", "--out=o", "--workers=x"], 2), (["--job=track", "--out=in.png", "--box=1,2,30,30"], 1)):
            with self.subTest(arguments):
                self.assertRegex(self.call_command("scan", "in.avi", "--format=csv", *arguments, code=code)[1], r"(?m)^error: --[a-z-]+: ")

    def test_sides_between_which_there_is_none(self):
        ct.cv2.imwrite(self.path("in.png"), frame(0))
        errors = self.call_command("detect", "in.png", "--max-size=20", "--min-size=21", code=2)[1]
        self.assertIn("\nerror: --max-size: 20: --min-size is 21, so no object would be left\n", errors)
        for sides in (("--max-size=20", "--min-size=20"), ("--min-size=20",), ("--max-size=0", "--min-size=20")):
            self.assertIn("1 image", self.call_command("detect", "in.png", *sides)[1])

    def test_images_of_16_bits(self):
        """Their upper bytes are used, which is said once."""
        deep = frame(0).astype(np.uint16) * 256 + 77
        os.mkdir(self.path("several"))
        for name in ("in.png", "several/0.png", "several/1.png"):
            ct.cv2.imwrite(self.path(name), deep)
        ct.cv2.imwrite(self.path("in.ppm"), deep)
        ct.cv2.imwrite(self.path("in8.png"), frame(0))
        ct.cv2.imwrite(self.path("in8.ppm"), frame(0))
        expected = self.call_command("superpixels", "in8.png", "--quiet")[0]
        for name, first in (("in.png", "in.png"), ("in.ppm", "in.ppm"), ("several", "several/0.png")):
            printed, errors = self.call_command("superpixels", name)
            self.assertRegex(errors, rf"\A{first}: has values of 16 bits, of which the upper 8 are used\n\d (?:image|frame)[^\n]+\n\Z")
            self.assertEqual(printed.replace("0.png", "").count("\n"), expected.count("\n") * (2 if name == "several" else 1) - (name == "several"))
            self.assertEqual(self.call_command("superpixels", name, "--quiet")[1], "")
        self.assertEqual(self.call_command("superpixels", "in.png", "--quiet")[0].replace("in.png", "in8.png"), expected)
        self.assertIn("has values of 16 bits", self.call_command("superpixels", "in.png", "--labels=l.npy")[1])
        for name in ("in8.png", "in8.ppm"):
            self.assertNotIn("16 bits", self.call_command("superpixels", name)[1])

    def test_videos_too_small_for_a_grid(self):
        for width, height in ((17, 16), (33, 571), (571, 47)):
            write_video(self.path("in.avi"), 3, lambda step: np.zeros((height, width, 3), np.uint8))
            printed, errors = self.call_command("match", "in.avi", code=1)
            self.assertEqual(printed, "")
            self.assertIn(f"frames of {width} x {height} pixels are too small for the grid of fragments, which needs 48 x 48", errors)
        write_video(self.path("in.avi"), 3, lambda step: frame(step)[:48, :48].copy())
        self.assertIn("of 2 fragments found", self.call_command("match", "in.avi")[1])

    def test_number_that_is_not_reached(self):
        ct.cv2.imwrite(self.path("in.png"), frame(0))
        write_video(self.path("in.avi"), 3)
        # Pieces of 2,000 pixels: 27,648 pixels have at most 13.
        wanted = "--number=200", "--min-area=2000"
        with open(self.path("x.csv"), "w") as file:
            file.write(self.call_command("superpixels", "in.png", *wanted)[0])
        count = len(rows_of(self.path("x.csv")))
        self.assertLess(count, 14)
        self.assertRegex(self.call_command("superpixels", "in.png", *wanted, "--draw=x.png")[1],
                         rf"\A--number 200: the nearest that was found is {count}\n1 image in [0-9.]+ s, [0-9.]+ per second, {count} superpixels\n\Z")
        self.assertRegex(self.call_command("superpixels", "in.avi", *wanted, "--draw=x.avi", "--quiet")[1],
                         r"\A--number 200: the nearest that was found is \d+ in frame 0, \d+ in frame 1, \d+ in frame 2 \(3 of 3 frames\)\n\Z")
        os.mkdir(self.path("several"))
        for i in range(12):
            ct.cv2.imwrite(self.path(f"several/{i}.png"), frame(i) if i < 11 else np.random.RandomState(1).randint(0, 256, (40, 50, 3), np.uint8))
        self.assertRegex(self.call_command("superpixels", "several", *wanted, "--draw=x.avi", "--quiet", "--frames=11")[1],
                         r"found is (\d+ in \d+.png, ){10}... \(11 of 11 frames\)\n\Z")
        self.assertNotIn("--number", self.call_command("superpixels", "in.png", "--number=200", "--draw=x.png")[1])
        self.assertEqual(self.call_command("superpixels", "in.png", "--number=200", "--draw=x.png", "--quiet")[1], "")
        for option in ("--sigma=3", "--max-dist=4", "--color-scale=1"):
            errors = self.call_command("superpixels", "in.png", "--number=200", option, code=2)[1]
            self.assertIn(f"\nerror: {option.partition('=')[0]}: not allowed with --number, which has parameters of its own", errors)

    def test_files_that_are_no_videos(self):
        """The message fits the file, and says whether PyAV is missing, broken, or cannot read it."""
        for name in ("script.py", "bad.avi", "bad.mkv", "noname"):
            with open(self.path(name), "w") as file:
                file.write("print('hello')\n" * 9)
        os.makedirs(self.path("broken/av"))
        with open(self.path("broken/av/__init__.py"), "w") as file:
            file.write("raise ImportError('libx264.so: cannot open shared object file')\n")
        missing = "it is no MJPEG video in .avi or has no frame, and other videos need PyAV, which is not installed: pip install av"
        for name in ("script.py", "bad.avi", "bad.mkv", "noname"):
            odd = "" if name.startswith("bad") else "is neither an image (.bmp .jpeg .jpg .pbm .pgm .png .ppm) nor a video that can be read: "
            with mock.patch.dict(sys.modules, {"av": None}):
                self.assertEqual(self.call_command("detect", name, code=1)[1], f"error: {name}: {odd}{missing}\n")
            done = subprocess.run([sys.executable, "-m", "cudatracking", "detect", name], cwd=self.folder, capture_output=True, text=True, timeout=300,
                                  env={**os.environ, "PYTHONPATH": self.path("broken") + os.pathsep + os.environ.get("PYTHONPATH", "")})
            self.assertEqual((done.returncode, done.stderr), (1, f"error: {name}: {odd}it is no MJPEG video in .avi or has no frame, and av cannot be imported: "
                                                                 "libx264.so: cannot open shared object file\n"))

    @needs_av
    def test_files_that_pyav_cannot_read(self):
        for name in ("script.py", "bad.avi"):
            with open(self.path(name), "w") as file:
                file.write("print('hello')\n" * 9)
            odd = "" if name.startswith("bad") else "is neither an image (.bmp .jpeg .jpg .pbm .pgm .png .ppm) nor a video that can be read: "
            self.assertEqual(self.run_command("detect", name, code=1).stderr, f"error: {name}: {odd}PyAV cannot open it: Invalid data found when processing input\n")

    def test_plurals(self):
        write_video(self.path("in.avi"), 2)
        ct.cv2.imwrite(self.path("in.png"), frame(0))
        for arguments, words in ((["superpixels", "in.avi", "--draw=x.avi", "--frames=1"], r"1 frame in [0-9.]+ s, [0-9.]+ per second, "),
                                 (["superpixels", "in.avi", "--draw=x.avi"], "2 frames in "), (["track", "in.avi", "--box=30,50,40,40"], r"objects located [01] of 1 time\n"),
                                 (["detect", "in.png", "--draw=x.png"], r"\A1 image in [0-9.]+ s, [0-9.]+ per second, 0 objects\n\Z"), (["match", "in.avi", "--box=30,50,40,40"], "1 of 1 fragment found"), (["detect", "in.avi", "--cascade=fullbody"], r"\d+ objects\n")):
            self.assertRegex(self.call_command(*arguments)[1], words)

    def test_digits(self):
        """A float32 has the digits of a float32, whatever it was turned into on its way."""
        ct.cv2.imwrite(self.path("in.png"), frame(0))
        self.call_command("superpixels", "in.png", "--table=s.csv")
        write_video(self.path("in.avi"), 4)
        self.call_command("match", "in.avi", "--table=m.csv")
        for name, columns in (("s.csv", ("center_x", "center_y", "blue", "green", "red")), ("m.csv", ("refined_x", "refined_y", "score", "confidence"))):
            rows = rows_of(self.path(name))
            self.assertGreater(len(rows), 2)
            for row in rows:
                for column in columns:
                    if row[column]:
                        self.assertLessEqual(len(row[column].strip("-").replace(".", "").lstrip("0").partition("e")[0]), 9, (name, column, row[column]))
        rows = rows_of(self.path("s.csv"))
        shift = ct.QuickShift(6., 10., 32. / 255)
        shift.compute(frame(0))
        shift.enforce_connectivity(20)
        centers = np.asarray(shift.statistics(frame(0)).centroids)
        self.assertEqual([np.float32(row["center_x"]) for row in rows], centers[:, 0].tolist())  # nothing is lost


class ProgramsTest(CommandCase):
    @needs_data
    def test_superpixels_as_the_sample(self):
        """The C++ sample, the command and the class have the same defaults."""
        program = os.path.join(os.environ.get("CUDATRACKING_PROGRAMS", ""), "cudatracking_quick_shift")
        image = os.path.join(DATA, "home.jpg")
        self.call_command("superpixels", image, "--table=command.csv", "--device=cpu")
        areas = [row["area"] for row in rows_of(self.path("command.csv"))]
        shift = ct.QuickShift(device="cpu").compute(ct.cv2.imread(image))
        shift.enforce_connectivity(20)
        self.assertEqual(areas, [str(area) for area in np.asarray(shift.statistics(ct.cv2.imread(image)).areas).ravel().tolist()])
        if not os.path.isfile(program):
            self.skipTest("CUDATRACKING_PROGRAMS does not name the folder of the C++ samples")
        done = subprocess.run([program, "--backend=cpu", "--output-dir=" + self.folder, image], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([row["area"] for row in rows_of(self.path("home_paper.csv"))], areas)
        options = subprocess.run([program, "--help"], capture_output=True, text=True, timeout=300).stdout
        self.assertRegex(options, r"--min-area=20|--min-area[^\n]*20")
        self.assertNotIn("--min-size", options)

    def test_default_cascade(self):
        """That of README's first example, in the command, in scans and in Ray pipelines."""
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "README.md"), encoding="utf-8") as file:
            name = re.search(r'ct\.CascadeClassifier\("(\w+)"\)', file.read()).group(1)
        ct.cv2.imwrite(self.path("in.png"), frame(0))
        for command in ("detect", "scan"):
            self.assertIn(f"(default: {name})", " ".join(self.call_command(command, "--help")[0].split()))
        self.assertEqual(JOBS["detect"].DEFAULTS["cascade"], [name])
        self.assertEqual(inspect.signature(ct.ray.Detect).parameters["cascade"].default, name)


if __name__ == "__main__":
    unittest.main()
