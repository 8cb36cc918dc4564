"""The samples as a user meets them, in C++ and Python: usage, mistyped options, inputs and outputs that are not there, full disks,
signals. What the C++ programs compute is the business of other tests; the folder of the build is in CUDATRACKING_BUILD_DIR.
"""
import ctypes
import glob
import os
import pty
import re
import signal
import subprocess
import sys
import time
import unittest

import cv2
import numpy as np

from programs import BOX, CASCADE, CPP, HERE, PYTHON, SAMPLES, TABLES, VIDEOS, Programs, frames_of, rows_of, scene, write_avi

# Wrong values of each number: below its range and above it, where there is such a value.
ABOVE_INT = "2147483648"
RANGES = {
    "cascade": {"scale-factor": ("1", "1001"), "min-neighbors": ("-1", ABOVE_INT), "min-size": ("-1", "32769"), "frames": ("-1", ABOVE_INT),
                "device": ("-2", "1024")},
    "follow": {"every": ("0", ABOVE_INT), "scale-factor": ("1", "1001"), "min-neighbors": ("-1", ABOVE_INT), "min-size": ("11", "16385"),
               "overlap": ("0.009", "1.1"), "end-after": ("-1", ABOVE_INT), "min-score": ("-0.1", "1.1"), "pan": ("-1", ABOVE_INT),
               "frames": ("-1", ABOVE_INT), "seed": ("-1", ABOVE_INT), "image-every": ("-1", ABOVE_INT)},
    "fragment_matcher": {"gt-scale": ("0", "1001"), "max-disparity": ("-1", "32769"), "fragments": ("-1", "100001"), "size": ("2", "1025"),
                         "radius": ("-1", "32769"), "min-confidence": ("-1", "1e31"), "frames": ("-1", ABOVE_INT), "vector-scale": ("-1", "10001")},
    "fragment_matcher_loop": {"fragments": ("0", "100001"), "size": ("2", "1025"), "radius": ("0", "32769"), "renew": ("-1", ABOVE_INT),
                              "min-confidence": ("-1", "inf"), "frames": ("-1", ABOVE_INT), "trail": ("-1", "1048577")},
    "quick_shift": {"sigma": ("-0.1", "341.1"), "max-dist": ("-1", "32768"), "scale": ("-1", "2e9"), "min-area": ("-1", ABOVE_INT), "number": ("-1", ABOVE_INT),
                    "frames": ("-1", ABOVE_INT)},
    "tld": {"first-frame": ("-1", ABOVE_INT), "frames": ("-1", ABOVE_INT), "seed": ("-1", ABOVE_INT),
            "image-every": ("-1", ABOVE_INT)},
    "tld_benchmark": {"frames": ("-1", ABOVE_INT), "threads": ("-1", "65537"), "seeds": ("0", "1048577"), "first-seed": ("-1", "2146435072"),
                      "filter": ("-1", "2"), "peer-seeds": ("0", "1048577")},
    "quick_shift.py": {"sigma": ("0", "342"), "max-dist": ("0", "32768"), "scale": ("-1", "inf"), "min-area": ("0", ABOVE_INT, "1_0", " 7")},
    "tld.py": {"frames": ("-1", ABOVE_INT)},
}


class ProgramsTest(Programs):
    # --- usage -------------------------------------------------------------------------------------------------------------

    def test_without_arguments(self):
        for name in CPP + PYTHON:
            with self.subTest(name):
                done = self.run_program(name)
                self.assertEqual((done.returncode, done.out), (2, ""))
                self.assertIn("usage: ", done.err)
                if name in CPP:
                    *before, last = done.err.splitlines()
                    self.assertRegex(last, "^error: [A-Z]+ is missing: ")
                    self.assertLess(len(before), 3)

    def test_version(self):
        with open(os.path.join(HERE, "..", "..", "..", "python", "cudatracking", "_version.py")) as file:
            version = re.search('__version__ = "(.*)"', file.read())[1]
        for name in CPP:
            for option in ("--version", "-V"):
                with self.subTest(name, option=option):
                    done = self.run_program(name, option, "--bogus")
                    self.assertEqual((done.returncode, done.out, done.err), (0, f"cudatracking_{name} {version}, OpenCV {cv2.__version__}\n", ""))

    def test_all_samples_are_tested(self):
        files = {name for name in os.listdir(SAMPLES) if name.endswith(".py")} | {name[:-4] for name in os.listdir(os.path.join(SAMPLES, "..")) if name.endswith(".cpp")}
        self.assertEqual(files, {*CPP, *PYTHON, "common.py"})

    def test_help(self):
        for name in CPP + PYTHON:
            with self.subTest(name):
                done = self.run_program(name, "--help")
                self.assertEqual((done.returncode, done.err), (0, ""))
                self.assertIn("--backend", done.out)
                self.assertIn(name, done.out.split("usage: ")[1])
                if name in CPP:
                    self.assertIn("examples:\n  cudatracking_" + name, done.out)

    def test_unknown_option(self):
        for name in CPP + PYTHON:
            for option in ("--bogus=3", "--eng=cpu", "-x"):
                with self.subTest(name, option=option):
                    self.assert_fails(self.run_program(name, *self.arguments(name, self.source(name)), option), 2, option.split("=")[0])
        self.assertEqual(os.listdir(self.out()), [])

    def test_bad_values(self):
        bad = {"cascade": ("--min-neighbors=three", "--min-size=-3", "--scale-factor=1", "--shard=2/2", "--backend=gpu", "--frames=", "--window=1"),
               "follow": ("--every=0", "--min-size=11", "--overlap=0", "--min-score=2", "--end-after=-1", "--pan=x"),
               "fragment_matcher": ("--frames=x", "--size=2", "--min-confidence=nan", "--metric=sad", "--fragments=99999999999", "--pair=both"),
               "fragment_matcher_loop": ("--radius=0", "--trail=1e3", "--no-graph=yes"),
               "quick_shift": ("--sigma=abc", "--sigma=-1", "--min-area=1.5", "--preset=none"),
               "tld": ("--seed=1.5", "--frames= 3", "--image-every=0x10", "--load=a,,b"),
               "tld_benchmark": ("--seeds=0", "--first-seed=one"),
               "cascade.py": ("--backend=gpu",), "fragment_matcher.py": ("--backend=gpu",),
               "quick_shift.py": ("--sigma=abc", "--sigma=-1", "--scale=nan", "--min-area=1.5"), "tld.py": ("--frames=x", "--frames=-1")}
        for name in CPP + PYTHON:
            for option in bad[name]:
                valid = [argument for argument in self.arguments(name, self.source(name)) if argument.split("=")[0] != option.split("=")[0]]
                with self.subTest(name, option=option):
                    self.assert_fails(self.run_program(name, option, *valid), 2, option.split("=")[0])
        for box in ("1,2,3", "1,2,3,4,5", "a,2,3,4", "1,2,3,4;", "1, 2,3,4", "1,2,0,4", "1,2,3,-4", "4294967297,2,3,4"):
            with self.subTest(box=box):
                self.assert_fails(self.run_program("tld", "--backend=cpu", "--box=" + box, self.data("in.avi")), 2, "--box")
                if ";" not in box:
                    self.assert_fails(self.run_program("tld.py", self.data("in.avi"), self.out("out.avi"), box), 2, "argument box: ")
        for shard in ("2/2", "-1/2", "0/0", "1", "0/2/3", "0/4294967297"):
            with self.subTest(shard=shard):
                self.assert_fails(self.run_program("cascade", "--shard=" + shard, "--cascade=" + CASCADE, self.data("in.avi")), 2, f"--shard={shard}: ")
        self.assertEqual(os.listdir(self.out()), [])

    def test_numbers_out_of_range(self):
        """Of each number the next value below its range and one above it; the message has the option and the value."""
        for name in CPP:
            shown = re.findall(r"^  --([a-z-]+)=-?[0-9][0-9.e+-]* ", self.run_program(name, "--help").out, re.M)
            self.assertEqual(sorted(shown), sorted(RANGES[name]), name)
        for name in CPP + PYTHON:
            for option, values in RANGES.get(name, {}).items():
                for value in values:
                    given = [f"--{option}={value}", *self.arguments(name, self.source(name))]
                    words = f"--{option}={value}: " if name in CPP else f"argument --{option}: '{value}': "
                    with self.subTest(name, option=option, value=value):
                        done = self.run_program(name, *(a for i, a in enumerate(given) if i == 0 or not a.startswith(f"--{option}=")))
                        self.assert_fails(done, 2, words)
                        self.assertIn("number from ", done.err)
        for value in ("-1", "2147483648", "3.5"):
            done = self.run_program("fragment_matcher.py", *self.arguments("fragment_matcher.py", self.source("fragment_matcher.py")), value)
            self.assert_fails(done, 2, f"argument frames: '{value}': ")
        self.assertEqual(os.listdir(self.out()), [])

    def test_numbers_at_the_ends_of_their_ranges(self):
        """They are no wrong options; where the program does not run with them for ever, it does its work."""
        for name, option in (("tld", "--seed=0"), ("tld", "--seed=2147483647"), ("follow", "--seed=2147483647"), ("quick_shift", "--max-dist=32767"),
                             ("quick_shift", "--scale=1e9"), ("fragment_matcher", "--radius=32768"), ("fragment_matcher_loop", "--radius=32768"),
                             ("fragment_matcher_loop", "--trail=1048576"), ("fragment_matcher", "--vector-scale=1e4"),
                             ("tld_benchmark", "--first-seed=2146435071"), ("cascade", "--scale-factor=1000"), ("cascade", "--min-size=32768")):
            given = [a for a in self.arguments(name, self.source(name)) if a.split("=")[0] != option.split("=")[0]]
            with self.subTest(name, option=option):
                done = self.run_program(name, option, "--frames=3", *given)
                self.assertEqual(done.returncode, 0, done.err)

    def test_option_given_twice(self):
        for name in CPP + PYTHON:
            with self.subTest(name):
                self.assert_fails(self.run_program(name, *self.arguments(name, self.source(name)), "--backend=cpu"), 2, "--backend is given twice")

    def test_superfluous_arguments(self):
        for name in CPP:
            with self.subTest(name):
                self.assert_fails(self.run_program(name, *self.arguments(name, self.source(name)), "two", "three", "four"), 2,
                                  "superfluous argument 'two'", "superfluous argument 'four'")
        for name in ("cascade.py", "quick_shift.py"):
            with self.subTest(name):
                self.assert_fails(self.run_program(name, *self.arguments(name, self.source(name)), "two"), 2, "two")

    def test_value_after_a_blank(self):
        arguments = [a for a in self.arguments("tld", self.data("in.avi")) if "--box" not in a]
        done = self.run_program("tld", "--box", BOX, *arguments)
        self.assertEqual(done.returncode, 0, done.err)
        self.assert_fails(self.run_program("tld", *arguments, "--box"), 2, "--box needs a value")
        self.assert_fails(self.run_program("tld", "--box", *arguments), 2, "--box needs a value")

    def test_fragments_that_do_not_fit(self):
        for name in ("fragment_matcher", "fragment_matcher_loop"):  # frames of 192 x 144
            self.assert_fails(self.run_program(name, "--size=145", *self.arguments(name, self.source(name))), 2, "--size=145: ")
            done = self.run_program(name, "--fragments=1", *self.arguments(name, self.source(name)))
            self.assertEqual(done.returncode, 0, done.err)
            counts = [int(row["fragments"]) for row in rows_of(self.out("frames.csv"))]
            self.assertEqual(set(counts), {1}, name)

    def test_errors_do_not_name_places_in_the_sources(self):
        given = [argument.replace(BOX, "190,50,40,40") for argument in self.arguments("tld.py", self.source("tld.py"))]
        done = self.run_program("tld.py", *given)
        self.assert_fails(done, 1, "error: MultiTrackerTLD: box: 190, 50, 40 x 40 is not inside of an image of 192 x 144 pixels")
        self.assertNotIn(".cpp", done.err)

    def test_errors_have_the_words_of_the_program(self):
        given = [argument.replace(BOX, "190,50,40,40") for argument in self.arguments("tld", self.source("tld"))]
        done = self.run_program("tld", *given)
        self.assert_fails(done, 2, "error: --box=190,50,40,40: is not inside of the frame, which has 192 x 144 pixels")
        self.assertEqual(os.listdir(self.out()), [])

    def test_windows(self):
        """Builds without windows do not offer any."""
        if not re.search("GUI: +NONE", cv2.getBuildInformation()):
            self.skipTest("OpenCV was built with windows")
        for name in CPP:
            with self.subTest(name):
                self.assertNotRegex(self.run_program(name, "--help").out, "window|mouse|ESC")
                self.assert_fails(self.run_program(name, "--window", *self.arguments(name, self.source(name))), 2, "unknown option '--window'")
        done = self.run_program("tld", "--output-dir=" + self.out(), self.data("in.avi"))
        self.assert_fails(done, 2, "error: this build has no windows: give --box=x,y,width,height")
        self.assertEqual((done.out, os.listdir(self.out())), ("", []))

    def test_names_what_is_missing(self):
        for name in ("cascade", "follow"):
            self.assert_fails(self.run_program(name, self.data("in.avi"), cwd=self.out()), 1, "error: haarcascade_frontalface_default.xml: ")
        for name in ("fragment_matcher", "fragment_matcher_loop", "quick_shift", "tld"):
            self.assert_fails(self.run_program(name, "--backend=cpu"), 2, "INPUT is missing")
        self.assert_fails(self.run_program("tld_benchmark", "--backend=cpu"), 2, "SEQUENCES is missing")
        self.assert_fails(self.run_program("cascade", "--cascade=" + self.out("no.xml"), self.data("in.avi")), 1, "no.xml")

    # --- inputs ------------------------------------------------------------------------------------------------------------

    def test_missing_input(self):
        for name in CPP + PYTHON:
            with self.subTest(name):
                self.assert_fails(self.run_program(name, *self.arguments(name, self.data("no_such_file"))), 1, "no_such_file")
        self.assertEqual(os.listdir(self.out()), [])

    def test_camera_that_is_not_there(self):
        if os.path.exists("/dev/video99"):
            self.skipTest("this machine has a camera 99")
        for name in ("cascade", "follow", "fragment_matcher", "fragment_matcher_loop", "quick_shift", "tld", "fragment_matcher.py", "tld.py"):
            with self.subTest(name):
                self.assert_fails(self.run_program(name, *self.arguments(name, "99")), 1, "camera 99")

    def test_folder_without_images(self):
        os.mkdir(self.out("empty"))
        for name in ("cascade", "follow", "fragment_matcher", "quick_shift", "tld", "tld.py"):
            with self.subTest(name):
                self.assert_fails(self.run_program(name, *self.arguments(name, self.out("empty"))), 1, "empty")

    def test_url_that_is_not_there(self):
        self.assert_fails(self.run_program("tld", *self.arguments("tld", "file:///no/such/video.mp4")), 1, "file:///no/such/video.mp4")

    def test_follow_draws_no_wrong_box(self):
        """A face that moves, is covered, is gone, and comes back elsewhere: each located box is on it, and it keeps its id."""
        image = cv2.imread(os.path.join(HERE, "..", "..", "..", "doc", "pics", "astronaut.jpg"))
        found = cv2.cuda.CascadeClassifierEx.create(CASCADE).detectMultiScale(image) if os.path.exists(CASCADE) else []
        if len(found) != 1:
            self.skipTest("needs the cascade, and one face in the photograph")
        x, y, side, _ = (int(value) for value in found[0])
        margin = side // 4
        face = cv2.resize(image[y - margin:y + side + margin, x - margin:x + side + margin], (96, 96))
        noise = np.random.RandomState(9).randint(0, 256, (240, 320, 3), dtype=np.uint8)
        ground = cv2.normalize(cv2.GaussianBlur(noise, (0, 0), 9.), None, 60, 190, cv2.NORM_MINMAX)
        truth, frames = [], []
        for step in range(90):
            gone, left, top = 35 <= step < 55, 20 + 2 * step, int(70 + 40 * np.sin(step / 9.))
            frame = ground.copy()
            if not gone:
                frame[top:top + 96, left:left + 96] = face
            frames.append(frame)
            inner = 96 * margin / (side + 2 * margin)
            truth.append(None if gone else (left + inner, top + inner, 96 - 2 * inner))
        writer = cv2.VideoWriter(self.out("faces.avi"), cv2.CAP_OPENCV_MJPEG, cv2.VideoWriter_fourcc(*"MJPG"), 25, (320, 240))
        for frame in frames:
            writer.write(frame)
        writer.release()
        done = self.run_program("follow", "--backend=cpu", "--cascade=" + CASCADE, "--every=6", "--output-dir=" + self.out(), self.out("faces.avi"))
        self.assertEqual(done.returncode, 0, done.err)
        located = set()
        for row in rows_of(self.out("follow.csv")):
            if row["located"] != "1":
                continue
            number, (x, y, width, height) = int(row["frame"]), (float(row[name]) for name in ("x", "y", "width", "height"))
            self.assertIsNotNone(truth[number], row)
            left, top, side = truth[number]
            across, down = min(x + width, left + side) - max(x, left), min(y + height, top + side) - max(y, top)
            both = max(across, 0) * max(down, 0)
            self.assertGreater(both / (width * height + side * side - both), .4, row)
            self.assertEqual(row["id"], "0")
            located.add(number)
        self.assertGreater(len(located & set(range(35))), 25)
        self.assertGreater(len(located & set(range(55, 90))), 20)
        self.assertEqual(frames_of(self.out("follow.avi")), 90)

    def boxes_of_the_thing(self, name):
        """A video in which the thing of scene() is absent from frame 20 to 31 and comes back, and a file of its boxes, as a tracker reports them that
        never says that it is absent: in these frames the last box before. Every third frame has none."""
        ground = np.hstack([scene(20)[:, :80], scene(0)[:, 80:]])  # where the thing is not
        left = [30 + 2 * min(step, 59 - step) for step in range(50)]
        frames = []
        for step in range(50):
            frames.append(ground.copy())
            if not 20 <= step < 32:
                frames[-1][50:90, left[step]:left[step] + 40] = scene(0)[50:90, 30:70]
        write_avi(self.out("thing.avi"), frames)
        lines = [f"{step},{left[19] if 20 <= step < 32 else left[step]},50,40,40,0.9" for step in range(50) if step % 3 != 2]
        with open(self.out(name), "w") as file:
            file.write("frame,x,y,width,height,score\n" + "\n".join(lines) + "\n")
        return left

    def located_of_follow(self, *arguments, **options):
        """Rows of located objects, by their frame."""
        done = self.run_program("follow", "--backend=cpu", "--min-score=0", "--output-dir=" + self.out(), *arguments, self.out("thing.avi"), **options)
        self.assertEqual(done.returncode, 0, done.err)
        return {int(row["frame"]): row for row in rows_of(self.out("follow.csv")) if row["located"] == "1"}

    def test_follow_with_boxes_of_a_file(self):
        left = self.boxes_of_the_thing("boxes.csv")
        kept = self.located_of_follow("--boxes=" + self.out("boxes.csv"))
        self.assertEqual(kept[0]["event"], "1")
        self.assertGreater(len(set(range(22, 32)) & set(kept)), 5)  # boxes alone keep it
        for name in (self.out("boxes.csv"), "-"):
            with self.subTest(name), open(self.out("boxes.csv")) as standard:
                located = self.located_of_follow("--propose", "--boxes=" + name, stdin=standard)
                self.assertEqual(set(range(25, 32)) & set(located), set())
                self.assertGreater(len(set(range(20)) & set(located)), 17)
                self.assertGreater(len(set(range(32, 50)) & set(located)), 14)
                for number, row in located.items():
                    if not 20 <= number < 32:
                        self.assertLess(abs(float(row["x"]) - left[number]), 8, row)
                    self.assertEqual(row["id"], "0")

    def test_follow_frames_without_boxes(self):
        """A frame alone is a frame in which the detector found nothing, which ends objects; a frame without a line is not."""
        self.boxes_of_the_thing("boxes.csv")
        for line, rows in (("", 12), ("2\n3\n", 3)):
            with open(self.out("few.csv"), "w") as file:
                file.write("0,30,50,40,40\n1,32,50,40,40\n" + line)
            self.located_of_follow("--frames=12", "--end-after=2", "--boxes=" + self.out("few.csv"))
            self.assertEqual(len(rows_of(self.out("follow.csv"))), rows)

    def test_follow_refuses_wrong_boxes(self):
        self.boxes_of_the_thing("boxes.csv")
        for text, words in (("0,1,2,3\n", "line 1: FRAME"), ("1\n0\n", "line 2: frames must"), ("x,1\n1.5\n", "line 2: the frame"), ("-1\n", "line 1: the frame"),
                            ("0,1,2,3,x\n", "line 1: 'x'"), ("0,1,2,3,nan\n", "line 1: 'nan'"), ("0,1,2,3,1e10\n", "line 1: '1e10'"), ("0,1, ,3,4\n", "line 1: ' '")):
            with self.subTest(text), open(self.out("wrong.csv"), "w") as file:
                file.write(text)
                file.flush()
                self.assert_fails(self.run_program("follow", "--backend=cpu", "--output-dir=" + self.out(), "--boxes=" + self.out("wrong.csv"), self.out("thing.avi")), 1, words)
        for arguments, words in ((("--propose",), "--propose needs --boxes"), (("--boxes=x", "--every=2"), "--every exclude"),
                                 (("--boxes=x", "--propose", "--end-after=2"), "--end-after exclude")):
            with self.subTest(arguments):
                self.assert_fails(self.run_program("follow", "--output-dir=" + self.out(), *arguments, self.out("thing.avi")), 2, words)
        self.assert_fails(self.run_program("follow", "--output-dir=" + self.out(), "--boxes=" + self.out("none.csv"), self.out("thing.avi")), 1, "none.csv")

    def test_natural_order(self):
        done = self.run_program("cascade", *self.arguments("cascade", self.data("folder")))
        self.assertEqual(done.returncode, 0, done.err)
        self.assertEqual([row["name"] for row in rows_of(self.out("frames.csv"))], [f"frame_{n}.png" for n in range(1, 13)])
        self.assertTrue(os.path.exists(self.out("objects_frame_12.png")))
        done = self.run_program("tld", *self.arguments("tld", self.data("folder")))
        self.assertEqual(done.returncode, 0, done.err)
        self.assertEqual([round((float(row["x"]) - 30) / 3) for row in rows_of(self.out("tracks.csv"))], list(range(1, 12)))
        done = self.run_program("tld_benchmark", *self.arguments("tld_benchmark", self.data("sequence")))
        self.assertEqual(done.returncode, 0, done.err)
        self.assertIn("F=1.000", done.out)
        self.assertEqual([round((float(row["x"]) - 30) / 3) for row in rows_of(self.out("boxes.csv"))], list(range(12)))

    # --- the benchmark's protocol and peers --------------------------------------------------------------------------------

    def drifting_truth(self):
        """The thing's truth drifts away from it, by 26 pixels in the end, and is absent in one frame. The user's box is another."""
        os.mkdir(self.out("drift"))
        for step in range(12):
            os.symlink(self.data("sequence", f"frame_{step + 1}.png"), self.out("drift", f"frame_{step + 1}.png"))
        with open(self.out("drift", "init.txt"), "w") as init:
            init.write("31,50,71,90\n")
        with open(self.out("drift", "gt.txt"), "w") as truth:
            for step in range(12):
                x = 30 + 5.37 * step
                truth.write("nan,nan,nan,nan\n" if step == 7 else f"{x:.3f},52,{x + 40:.3f},88\n")
        return self.out("drift")

    def test_measures_of_the_benchmark(self):
        """Each measure, computed once more from the table of boxes."""
        files = {name: self.out(name + ".csv") for name in ("csv", "runs", "curves")}
        done = self.run_program("tld_benchmark", "--backend=cpu", "--seeds=1", "--peers", "--only=TLD-CPU,MIL", "--peer-seeds=1",
                                *(f"--{name}={file}" for name, file in files.items()), self.drifting_truth())
        self.assertEqual(done.returncode, 0, done.err)
        runs = rows_of(files["runs"])
        self.assertEqual([row["tracker"] for row in runs], ["TLD-CPU", "MIL"])
        for run in runs:
            rows = [row for row in rows_of(files["csv"]) if row["tracker"] == run["tracker"]]
            boxes, truth = (np.array([[float(row[prefix + key]) for key in ("x", "y", "width", "height")] for row in rows])
                            for prefix in ("", "truth_"))
            shift, scale = (truth[0, :2] - boxes[0, :2]) / boxes[0, 2:], truth[0, 2:] / boxes[0, 2:]
            boxes = np.hstack([boxes[:, :2] + shift * boxes[:, 2:], boxes[:, 2:] * scale])
            common = np.clip(np.minimum(boxes[:, :2] + boxes[:, 2:], truth[:, :2] + truth[:, 2:]) - np.maximum(boxes[:, :2], truth[:, :2]),
                             0, None).prod(axis=1)
            reported, visible = boxes[:, 2] > 0, truth[:, 2] > 0
            overlap = np.where(reported & visible, common / np.maximum(boxes[:, 2:].prod(axis=1) + truth[:, 2:].prod(axis=1) - common, 1), 0)
            distance = np.where(reported, np.linalg.norm(boxes[:, :2] + boxes[:, 2:] / 2 - truth[:, :2] - truth[:, 2:] / 2, axis=1), np.inf)
            expected = {"replies_absent": (reported & ~visible).sum(), "absent": 1, "frames": 12}
            for end, limit in (("", .25), ("50", .5)):
                right = (overlap > limit).sum()
                precision, recall = right / reported.sum(), right / visible.sum()
                expected.update({"precision" + end: precision, "recall" + end: recall, "f" + end: 2 * precision * recall / (precision + recall)})
            self.assertTrue(0 < expected["f50"] < expected["f"] < 1, expected)  # the limits make a difference here
            success = [(overlap[visible] > limit / 20).mean() for limit in range(21)]
            near = [(distance[visible] <= limit).mean() for limit in range(51)]
            scores, curves = np.array([float(row["score"]) for row in rows]), {"success": success, "precision": near}
            self.assertEqual(scores[0], 1)
            limits = sorted(set(scores[reported]), reverse=True)
            counted = [reported & (scores >= limit) for limit in limits]
            curves["long_term_precision"] = [overlap[some].mean() for some in counted]
            curves["long_term_recall"] = [overlap[some].sum() / visible.sum() for some in counted]
            harmonic = [2 * p * r / (p + r) for p, r in zip(curves["long_term_precision"], curves["long_term_recall"])]
            best = int(np.argmax(harmonic))
            expected.update({"auc": np.mean(success), "precision20px": near[20], "long_term": harmonic[best], "long_term_score": limits[best],
                             "long_term_precision": curves["long_term_precision"][best], "long_term_recall": curves["long_term_recall"][best]})
            for key, value in expected.items():
                self.assertAlmostEqual(float(run[key]), value, 5, f"{run['tracker']} {key}")
            for kind, curve in curves.items():
                drawn = [float(row["share"]) for row in rows_of(files["curves"]) if (row["tracker"], row["curve"]) == (run["tracker"], kind)]
                np.testing.assert_allclose(drawn, curve, atol=1e-5, err_msg=f"{run['tracker']} {kind}")

    def test_peers_of_the_benchmark(self):
        """Every peer is measured or named as absent; the boxes of those that cv2 has too are the same."""
        done = self.run_program("tld_benchmark", "--backend=cpu", "--seeds=1", "--peers", "--peer-seeds=1", "--threads=1", "--first-seed=7",
                                "--csv=" + self.out("boxes.csv"), self.data("sequence"))
        self.assertEqual(done.returncode, 0, done.err)
        measured = re.findall(r"^sequence/(\w+) frames=12 ", done.out, re.M)
        absent = re.findall(r"^not measured: (\w+): ", done.out, re.M)
        self.assertEqual(sorted(measured + absent), ["CSRT", "KCF", "MIL", "MedianFlow", "Nano", "Vit", "legacyTLD"])
        self.assertIn("MIL", measured)
        self.assertEqual(len({"CSRT", "KCF", "MedianFlow", "legacyTLD"} & set(measured)) % 4, 0)  # they are of one module
        threads = cv2.getNumThreads()
        self.addCleanup(cv2.setNumThreads, threads)
        cv2.setNumThreads(1)
        for name in {"MIL", "CSRT", "KCF"} & set(measured):
            if not hasattr(cv2, "Tracker" + name):
                continue
            ctypes.CDLL(None).srand(7)
            cv2.setRNGSeed(7)
            tracker = getattr(cv2, "Tracker" + name).create()
            boxes = [(30, 50, 40, 40)]
            tracker.init(cv2.imread(self.data("sequence", "frame_1.png")), boxes[0])
            for step in range(1, 12):
                located, box = tracker.update(cv2.imread(self.data("sequence", f"frame_{step + 1}.png")))
                boxes.append(box if located else (0, 0, 0, 0))
            written = [tuple(int(row[key]) for key in ("x", "y", "width", "height"))
                       for row in rows_of(self.out("boxes.csv")) if row["tracker"] == name]
            self.assertEqual(written, boxes, name)

    def test_model_files_of_the_benchmark(self):
        with open(self.out("model.onnx"), "w") as model:
            model.write("no model")
        for code, word, options in ((2, "--vit needs --peers", ["--vit=" + self.out("model.onnx")]),
                                    (2, "need each other", ["--peers", "--nano-head=" + self.out("model.onnx")]),
                                    (1, "no_such.onnx", ["--peers", "--vit=" + self.out("no_such.onnx")]),
                                    (1, "dnn", ["--peers", "--vit=" + self.out("model.onnx")]),
                                    (1, "dnn", ["--peers", "--nano-head=" + self.out("model.onnx"), "--nano-backbone=" + self.out("model.onnx")]),
                                    (1, "NoSuchTracker", ["--only=NoSuchTracker"])):
            with self.subTest(options):
                done = self.run_program("tld_benchmark", "--backend=cpu", "--seeds=1", *options, self.data("sequence"))
                self.assert_fails(done, code, word)

    def test_natural_order_in_python(self):
        sys.path.insert(0, SAMPLES)
        handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
        try:
            import common
        finally:
            sys.path.remove(SAMPLES)
            for number, handler in zip((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), handlers):
                signal.signal(number, handler)
        source, frames = common.Source(self.data("folder")), []
        while True:
            frame = source.read()
            if frame is None:
                break
            frames.append(frame)
        self.assertEqual(len(frames), 12)
        for step, frame in enumerate(frames):
            self.assertTrue((frame == scene(step)).all(), step)

    def test_sequence_of_images(self):
        for source in (self.data("folder", "frame_%d.png"), self.data("folder", "frame_1.png")):
            done = self.run_program("tld", *self.arguments("tld", source))
            self.assertEqual(done.returncode, 0, done.err)
            self.assertEqual([round((float(row["x"]) - 30) / 3) for row in rows_of(self.out("tracks.csv"))], list(range(1, 12)))

    # --- outputs -----------------------------------------------------------------------------------------------------------

    def test_video_has_a_row_for_each_frame(self):
        for name in TABLES:
            with self.subTest(name):
                done = self.run_program(name, *self.arguments(name, self.data("in.avi"), self.out(name, "new")))  # makes the folder
                self.assertEqual(done.returncode, 0, done.err)
                frames = [int(row["frame"]) for row in rows_of(self.out(name, "new", TABLES[name]))]
                self.assertEqual(len(frames), 12 if name in ("cascade", "quick_shift") else 11)
                self.assertEqual(frames, list(range(frames[0], frames[0] + len(frames))))
                self.assertEqual(frames_of(self.out(name, "new", VIDEOS[name])), len(frames))
                self.assertEqual(glob.glob(self.out(name, "new", "*.partial-*")), [])

    def test_unwritable_folder(self):
        with open(self.out("file"), "w"):
            pass
        for name in CPP + PYTHON:
            for folder in (self.out("file", "below"), "/proc", "/proc/none"):
                with self.subTest(name, folder=folder):
                    self.assert_fails(self.run_program(name, *self.arguments(name, self.source(name), folder)), 1, folder, "/proc")

    def test_full_device(self):
        """Links to a device that takes nothing: it must be named, and stay what it is."""
        for name, file in [(n, f) for n in TABLES for f in (TABLES[n], VIDEOS[n])] + [("follow", "follow.csv"), ("follow", "follow.avi"), ("tld_benchmark", "boxes.csv"), ("cascade.py", "out.png"),
                           ("fragment_matcher.py", "out.avi"), ("quick_shift.py", "image.csv"), ("quick_shift.py", "image_mean.png"), ("tld.py", "out.avi")]:
            with self.subTest(name, file=file):
                out = self.out(name + file)
                os.mkdir(out)
                os.symlink("/dev/full", os.path.join(out, file))
                self.assert_fails(self.run_program(name, *self.arguments(name, self.source(name), out)), 1, file, "/dev/full")
                self.assertEqual(glob.glob(os.path.join(out, "*.partial-*")), [])
        self.assertTrue(os.path.exists("/dev/full") and not os.path.isfile("/dev/full"))

    def test_full_standard_output(self):
        for name in ("tld", "quick_shift", "tld.py"):
            with self.subTest(name), open("/dev/full", "w") as full:
                self.assert_fails(self.run_program(name, *self.arguments(name, self.source(name)), stdout=full), 1, "standard output", "No space left")

    def test_nobody_reads_the_standard_output(self):
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "w") as pipe:
            self.assert_fails(self.run_program("tld", *self.arguments("tld", self.data("in.avi")), stdout=pipe), 1, "standard output")
        self.assertEqual(frames_of(self.out("tracks.avi")), 11)
        self.assertEqual(self.left_over(), [])

    def test_disk_full_in_mid_run(self):
        files = {**{name: (VIDEOS[name], TABLES[name]) for name in TABLES}, "follow": ("follow.avi", "follow.csv"), "tld_benchmark": ("boxes.csv",),
                 "cascade.py": ("out.png",), "fragment_matcher.py": ("out.avi",), "quick_shift.py": ("image_mean.png", "image.csv"), "tld.py": ("out.avi",)}
        limits = {"tld_benchmark": 200, "cascade.py": 10000, "quick_shift.py": 2000}
        for name in CPP + PYTHON:
            with self.subTest(name):
                out = self.out(name)
                os.mkdir(out)
                for file in files[name]:
                    with open(os.path.join(out, file), "w") as old:
                        old.write("old")
                done = self.run_program(name, *self.arguments(name, self.source(name), out), file_limit=limits.get(name, 30000))
                self.assert_fails(done, 1, ".avi", ".png", ".csv")
                self.assertIn("cannot write", done.err)
                self.assertEqual(glob.glob(os.path.join(out, "*.partial-*")), [])
                for file in files[name]:
                    with open(os.path.join(out, file)) as old:
                        self.assertEqual(old.read(), "old", file)

    def test_rows_are_kept_when_a_long_run_fails(self):
        with open(self.out("frames.csv"), "w") as old:
            old.write("old")
        done = self.run_program("quick_shift", *self.arguments("quick_shift", self.data("long", "f%05d.png")), file_limit=100000)
        self.assert_fails(done, 1, "contours.avi")
        kept, = self.left_over()
        self.assertIn("the rows until then are in " + kept, done.err)
        self.assertEqual([int(row["frame"]) for row in rows_of(kept)], list(range(len(rows_of(kept)))))
        self.assertTrue(0 < len(rows_of(kept)) < 19999)
        with open(self.out("frames.csv")) as old:
            self.assertEqual(old.read(), "old")

    def test_cut_off_video(self):
        with open(self.data("in.avi"), "rb") as whole:
            data = whole.read()
        with open(self.out("cut.avi"), "wb") as cut:
            cut.write(data[:[frame.start() for frame in re.finditer(b"00dc", data)][8]])
        done = self.run_program("quick_shift", *self.arguments("quick_shift", self.out("cut.avi")))
        if cv2.videoio_registry.hasBackend(cv2.CAP_FFMPEG):
            self.assertEqual((done.returncode, len(rows_of(self.out("frames.csv")))), (0, 8), done.err)
            self.assertIn("the input ended after 8 of the 12 frames that it announces", done.err)
        else:  # OpenCV's own reader wants the index, which is at the end
            self.assert_fails(done, 1, "cut.avi")

    def test_damaged_frames(self):
        """They are left out and said, other frames keep their numbers, and the outputs are whole."""
        with open(self.data("in.avi"), "rb") as whole:
            data = bytearray(whole.read())
        begin = [frame.start() for frame in re.finditer(b"00dc", data)][5] + 8
        data[begin:begin + 40] = bytes(40)
        with open(self.out("bad.avi"), "wb") as bad:
            bad.write(data)
        for name in [*TABLES, "follow", "fragment_matcher.py", "tld.py"]:
            with self.subTest(name):
                out = self.out("of_" + name)
                os.mkdir(out)
                # FFmpeg decodes what it can of a damaged frame, and does not say so; OpenCV's own reader does.
                own = {**os.environ, "OPENCV_VIDEOIO_PRIORITY_LIST": "CV_MJPEG"}
                done = self.run_program(name, *self.arguments(name, self.out("bad.avi"), out), env=own)
                self.assertEqual(done.returncode, 1, done.err)
                self.assertIn("left out, cannot be read: " + self.out("bad.avi") + ": frame 5", done.err)
                self.assertNotIn("error: ", done.err)
                if name in TABLES:
                    numbers = [int(row["frame"]) for row in rows_of(os.path.join(out, TABLES[name]))]
                    self.assertEqual(numbers, [number for number in range(numbers[0], 12) if number != 5])
                video = {"follow": "follow.avi"}.get(name, VIDEOS.get(name, "out.avi"))
                self.assertEqual(frames_of(os.path.join(out, video)), 11 if name in ("cascade", "follow", "quick_shift") else 10)
                self.assertEqual(glob.glob(os.path.join(out, "*.partial-*")), [])

    def test_sources_that_fail_later(self):
        """The outputs are whole up to there, and the reason is said."""
        for step in range(12):
            cv2.imwrite(self.out(f"size_{step:02}.png"), scene(step)[:, :192 - 32 * (step == 6)])
        source = self.out("size_%02d.png")
        for name in [*TABLES, "fragment_matcher.py", "tld.py"]:
            with self.subTest(name):
                out = self.out("of_" + name)
                os.mkdir(out)
                done = self.run_program(name, *self.arguments(name, source, out))
                self.assertEqual(done.returncode, 1, done.err)
                self.assertIn(f"error: {source}: frame 6 has 160 x 144 pixels, the first one has 192 x 144", done.err)
                frames = 6 if name in ("cascade", "quick_shift") else 5
                self.assertEqual(frames_of(os.path.join(out, VIDEOS.get(name, "out.avi"))), frames)
                if name in TABLES:
                    self.assertEqual(len(rows_of(os.path.join(out, TABLES[name]))), frames)

    def test_learned_objects_are_written_whole(self):
        arguments = self.arguments("tld", self.data("in.avi"))
        done = self.run_program("tld", "--save=" + self.out("object"), *arguments)
        self.assertEqual(done.returncode, 0, done.err)
        size = os.path.getsize(self.out("object0.xml"))
        with open(self.out("object0.xml"), "w") as old:
            old.write("old")
        self.assert_fails(self.run_program("tld", "--save=" + self.out("none", "object"), *arguments), 1, "none/object0.xml")
        # Larger than all else that this run writes, so that nothing else fails.
        done = self.run_program("tld", "--save=" + self.out("object"), "--frames=2", "--image-every=0", *arguments, file_limit=size // 2)
        self.assert_fails(done, 1, "object0")
        with open(self.out("object0.xml")) as old:
            self.assertEqual(old.read(), "old")
        self.assertEqual(self.left_over(), [])

    def test_link_keeps_leading_to_its_file(self):
        os.mkdir(self.out("kept"))
        with open(self.out("kept", "real.csv"), "w") as old:
            old.write("old")
        os.symlink(self.out("kept", "real.csv"), self.out("tracks.csv"))
        done = self.run_program("tld", *self.arguments("tld", self.data("in.avi")))
        self.assertEqual(done.returncode, 0, done.err)
        self.assertTrue(os.path.islink(self.out("tracks.csv")))
        self.assertEqual(len(rows_of(self.out("kept", "real.csv"))), 11)

    def test_long_videos_go_on_in_another_file(self):
        done = self.run_program("quick_shift", *self.arguments("quick_shift", self.data("in.avi")), env={**os.environ, "CUDATRACKING_AVI_BYTES": "40000"})
        self.assertEqual(done.returncode, 0, done.err)
        parts = sorted(glob.glob(self.out("contours*.avi")))
        self.assertGreater(len(parts), 1)
        self.assertIn(self.out("contours_002.avi"), parts)
        self.assertEqual(sum(frames_of(part) for part in parts), 12)

    def test_mp4(self):
        there = cv2.videoio_registry.hasBackend(cv2.CAP_FFMPEG)
        done = self.run_program("tld", "--video-file=tracks.mp4", *self.arguments("tld", self.data("in.avi")))
        other = self.run_program("tld.py", "--backend=cpu", self.data("in.avi"), self.out("out.mp4"), BOX)
        if not there:
            self.assert_fails(done, 1, "needs FFmpeg")
            self.assert_fails(other, 1, "needs FFmpeg")
            self.skipTest("FFmpeg was not found: only that the programs say so was tested")
        for run, file in ((done, "tracks.mp4"), (other, "out.mp4")):
            self.assertEqual(run.returncode, 0, run.err)
            self.assertEqual(frames_of(self.out(file), cv2.CAP_FFMPEG), 11)
        self.assert_fails(self.run_program("tld", "--video-file=tracks.mkv", *self.arguments("tld", self.data("in.avi"))), 1, "tracks.mkv")

    # --- signals and progress ------------------------------------------------------------------------------------------------

    def interrupt(self, name, number):
        """Sends the signal in mid-video. @return what the program said on stderr."""
        source = self.data("sequence") if name == "tld_benchmark" else self.data("long", "f%05d.png")
        arguments = [argument for argument in self.arguments(name, source, self.out(name)) if "--seeds" not in argument]
        if name == "tld_benchmark":
            arguments.append("--seeds=100000")
        if name == "tld":
            arguments.append("--save=" + self.out(name, "object"))
        os.mkdir(self.out(name))
        process = self.start(self.command(name, *arguments), stdout=subprocess.DEVNULL)
        try:
            begin = time.monotonic()
            while sum(os.path.getsize(file) for file in glob.glob(self.out(name, "*.partial-*"))) < 20000 and process.poll() is None:
                self.assertLess(time.monotonic(), begin + 200, "nothing is written")
                time.sleep(0.05)
            process.send_signal(number)
            err = process.communicate(timeout=200)[1]
        finally:
            process.kill()
            process.wait()
        self.assertEqual(process.returncode, 130, err)
        self.assertNotIn("Traceback", err)
        self.assertIn("interrupted", err)
        self.assertEqual(glob.glob(self.out(name, "*.partial-*")), [])

    def check_interrupted_video(self, name):
        frames = [int(row["frame"]) for row in rows_of(self.out(name, TABLES[name]))]
        self.assertEqual(frames, list(range(frames[0], frames[0] + len(frames))))
        self.assertTrue(0 < len(frames) < 19999)
        self.assertEqual(frames_of(self.out(name, VIDEOS[name])), len(frames))

    def test_interrupt(self):
        for name in TABLES:
            with self.subTest(name):
                self.interrupt(name, signal.SIGINT)
                self.check_interrupted_video(name)
        self.assertGreater(os.path.getsize(self.out("tld", "object0.xml")), 10000)
        for name in ("fragment_matcher.py", "tld.py"):
            with self.subTest(name):
                self.interrupt(name, signal.SIGINT)
                self.assertGreater(frames_of(self.out(name, "out.avi")), 0)

    def test_interrupted_follow(self):
        self.interrupt("follow", signal.SIGINT)
        self.assertGreater(frames_of(self.out("follow", "follow.avi")), 0)
        self.assertTrue(os.path.exists(self.out("follow", "follow.csv")))

    def test_interrupted_benchmark(self):
        self.interrupt("tld_benchmark", signal.SIGINT)
        rows = rows_of(self.out("tld_benchmark", "boxes.csv"))
        self.assertGreater(len(rows), 0)
        self.assertEqual(len(rows) % 12, 0)  # whole runs

    def test_terminate(self):
        self.interrupt("cascade", signal.SIGTERM)
        self.check_interrupted_video("cascade")
        self.interrupt("tld.py", signal.SIGTERM)
        self.assertGreater(frames_of(self.out("tld.py", "out.avi")), 0)

    def test_progress_on_a_terminal(self):
        for name in ("cascade", "fragment_matcher_loop", "quick_shift", "tld", "fragment_matcher.py"):
            try:
                master, slave = pty.openpty()
            except OSError as why:
                self.skipTest(f"this machine gives no terminals: {why}")
            with self.subTest(name), os.fdopen(master, "rb", 0) as terminal:
                process = self.start(self.command(name, *self.arguments(name, self.data("in.avi"))), stdout=subprocess.DEVNULL, stderr=slave)
                os.close(slave)
                said = b""
                while True:
                    try:
                        part = terminal.read(4096)
                    except OSError:  # how Linux says that the other end is closed
                        break
                    if not part:
                        break
                    said += part
                self.assertEqual(process.wait(300), 0)
                total = 11 if name == "tld" else 12
                self.assertRegex(said.decode(), f"frame {total}/{total}, [0-9.]+ per second")
            done = self.run_program(name, *self.arguments(name, self.data("in.avi")))
            self.assertFalse(re.search(r"\r|\x1b", done.err), done.err)

    def test_progress_in_a_pipe(self):
        """Lines, also of runs of a few seconds."""
        for name in TABLES:
            with self.subTest(name):
                process = self.start(self.command(name, *self.arguments(name, self.data("long", "f%05d.png"))), stdout=subprocess.DEVNULL)
                try:
                    begin = time.monotonic()
                    lines = [process.stderr.readline() for _ in range(2)]
                    self.assertLess(time.monotonic() - begin, 8)
                    for line in lines:
                        self.assertRegex(line, r"^frame [0-9]+(/[0-9]+)?, [0-9.]+ per second(, [0-9:]+ left)?\n$")
                    process.send_signal(signal.SIGINT)
                    process.communicate(timeout=200)
                finally:
                    process.kill()
                    process.wait()


if __name__ == "__main__":
    unittest.main()
