"""The command: what it writes, what it refuses, and that nothing is lost when it is stopped."""
import csv
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import unittest
from unittest import mock

import numpy as np

import cudatracking as ct
from command_case import HAVE_AV, SIGNALS, CommandCase, frames_of, rows_of, write_video
from scenes import box, frame, needs_data, DATA


class CommandTest(CommandCase):
    def test_info(self):
        done = self.run_command("info")
        self.assertIn(f"cudatracking {ct.__version__}, OpenCV", done.stdout)
        self.assertIn("frontalface_alt", done.stdout)

    def test_installed_command(self):
        program = os.path.join(os.path.dirname(sys.executable), "cudatracking")
        if not os.path.exists(program):
            self.skipTest("not installed as a wheel")
        self.assertEqual(subprocess.run([program, "info"], capture_output=True, timeout=300).returncode, 0)

    @needs_data
    def test_detect_image(self):
        lena = os.path.join(DATA, "lena.jpg")
        rows = list(csv.DictReader(self.run_command("detect", lena).stdout.splitlines()))
        self.assertEqual([rows[0][name] for name in ("cascade", "file")], ["frontalface_default", "lena.jpg"])
        self.assertEqual([[int(row[name]) for name in ("x", "y", "width", "height")] for row in rows], ct.CascadeClassifier("frontalface_default").detect(ct.cv2.imread(lena)).tolist())
        self.run_command("detect", lena, "--draw=out.png", "--table=out.jsonl", "--cascade=frontalface_alt", "--cascade=eye", "--min-neighbors=4")
        drawn = ct.cv2.imread(self.path("out.png"))
        self.assertTrue((drawn[200, 220:380] == (60, 220, 60)).all())
        with open(self.path("out.jsonl")) as file:
            found = [json.loads(line) for line in file]
        self.assertEqual({row["cascade"] for row in found}, {"frontalface_alt", "eye"})
        self.assertEqual((found[0]["x"], found[0]["time"]), (213, None))

    def test_track(self):
        write_video(self.path("in.avi"), 12)
        done = self.run_command("track", "in.avi", "--box", ",".join(map(str, box(0))), "--table=t.csv", "--draw=t.avi")
        rows = rows_of(self.path("t.csv"))
        self.assertEqual([row["frame"] for row in rows], [str(i) for i in range(1, 12)])
        self.assertEqual((float(rows[4]["time"]), rows[4]["state"], rows[4]["id"]), (.5, "tracking", "0"))
        self.assertLess(abs(float(rows[-1]["x"]) - box(11)[0]), 3)
        self.assertEqual(frames_of(self.path("t.avi")), 12)
        self.assertIn("objects located 11 of 11 times", done.stderr)
        self.assertRegex(done.stderr, r"12 frames in [0-9.]+ s, [0-9.]+ per second")

    def test_track_counts_uncertain_frames(self):
        """Two numbers: frames in which the object is located, and those of them in which this is uncertain."""
        write_video(self.path("in.avi"), 7)
        states = [(ct.State.TRACKING, True), (ct.State.UNCERTAIN, True), (ct.State.UNCERTAIN, False), (ct.State.LOST, False), (ct.State.UNCERTAIN, True), (ct.State.TRACKING, True)]

        class Tracker(ct.MultiTracker):
            def update(self, image):
                tracks = super().update(image)
                tracks["state"], tracks["located"] = states.pop(0)
                return tracks

        with mock.patch("cudatracking._command.MultiTracker", Tracker):
            errors = self.call_command("track", "in.avi", "--box", ",".join(map(str, box(0))), "--table=t.csv")[1]
        self.assertIn("objects located 4 of 6 times, 2 of these uncertain\n", errors)
        self.assertEqual(sum(row["state"] == "uncertain" and row["located"] == "1" for row in rows_of(self.path("t.csv"))), 2)

    def test_superpixels(self):
        ct.cv2.imwrite(self.path("in.png"), frame(0))
        self.run_command("superpixels", "in.png", "--table=s.csv", "--draw=s.png", "--min-area=30")
        rows = rows_of(self.path("s.csv"))
        areas = [int(row["area"]) for row in rows]
        self.assertEqual((sum(areas), min(areas) >= 30), (144 * 192, True))
        mean = ct.cv2.imread(self.path("s.png")).reshape(-1, 3)
        self.assertLessEqual(len(np.unique(mean, axis=0)), len(rows))
        self.run_command("superpixels", "in.png", "--draw=b.png", "--borders", "--number=9")
        self.assertTrue((ct.cv2.imread(self.path("b.png")) == (0, 0, 255)).all(axis=2).any())
        for number in (20, 60):
            done = self.run_command("superpixels", "in.png", f"--number={number}", "--quiet")
            self.assertEqual(len(done.stdout.splitlines()) - 1, ct.superpixels(frame(0), number).max() + 1)
            self.assertLessEqual(abs(len(done.stdout.splitlines()) - 1 - number), number / 20)
            self.assertEqual(done.stderr, "")

    def test_match_folder_in_natural_order(self):
        os.mkdir(self.path("frames"))
        for step in range(12):
            ct.cv2.imwrite(self.path(f"frames/frame_{step + 1}.png"), frame(step))
        self.run_command("match", "frames", "--box=34,54,30,30", "--table=m.csv", "--draw=m.avi")
        rows = rows_of(self.path("m.csv"))
        self.assertEqual([row["file"] for row in rows], [f"frame_{i}.png" for i in range(2, 13)])
        self.assertEqual([int(row["x"]) for row in rows], [34 + 3 * step for step in range(1, 12)])
        self.assertEqual({row["status"] for row in rows}, {"found"})
        self.run_command("match", "frames", "--radius=0", "--metric=sad", "--frames=3", "--table=g.csv")
        self.assertEqual({row["frame"] for row in rows_of(self.path("g.csv"))}, {"1", "2"})

    def test_folder_with_other_files(self):
        os.mkdir(self.path("frames"))
        for step in (1, 3, 5):
            ct.cv2.imwrite(self.path(f"frames/{step}.png"), frame(step))
        with open(self.path("frames/._1.png"), "wb") as file:  # hidden, as macOS makes them
            file.write(b"no image")
        alone = self.run_command("detect", "frames", "--cascade=eye", "--quiet").stdout
        with open(self.path("frames/2.png"), "wb"):
            pass
        os.mkfifo(self.path("frames/4.png"))
        os.mkdir(self.path("frames/6.png"))
        os.symlink("nowhere", self.path("frames/7.png"))
        self.run_command("match", "frames", "--box=37,56,30,30", "--table=m.csv", code=1)
        self.assertEqual([(row["frame"], row["file"], row["x"]) for row in rows_of(self.path("m.csv"))], [("2", "3.png", "43"), ("4", "5.png", "49")])
        done = self.run_command("superpixels", "frames", "--table=s.csv", "--draw=s.avi", code=1)
        self.assertEqual({row["file"] for row in rows_of(self.path("s.csv"))}, {"1.png", "3.png", "5.png"})
        self.assertEqual(frames_of(self.path("s.avi")), 3)
        self.assertRegex(done.stderr, "(?s)3 frames in .*left out: frames/2.png: is no image.*left out: frames/4.png: is no regular file\n"
                                      "left out: frames/6.png: is no regular file\nleft out: frames/7.png: No such file")
        done = self.run_command("detect", "frames", "--cascade=eye", "--quiet", code=1)
        self.assertEqual([line.split(",")[2:] for line in done.stdout.splitlines()], [line.split(",")[2:] for line in alone.splitlines()])
        self.run_command("detect", "frames", "--frames=1")
        os.truncate(self.path("frames/1.png"), 40)
        for name in ("track", "match"):  # their boxes are in the first image
            self.assertRegex(self.run_command(name, "frames", "--box=37,56,30,30", "--table=m.csv", code=1).stderr, "error: frames/1.png: is no image")

    def test_wrong_use(self):
        write_video(self.path("in.avi"), 3)
        for arguments, words in (([], "COMMAND"), (["find"], "find"), (["detect"], "source"), (["detect", "in.avi", "--bogus=3"], "--bogus"),
                                 (["detect", "in.avi", "--min-neigbors=9"], "--min-neigbors"), (["detect", "in.avi", "--min-neighbors=three"], "'three' is no whole number"),
                                 (["detect", "in.avi", "--min-size=-3"], "--min-size: -3"), (["detect", "in.avi", "second.avi"], "second.avi"),
                                 (["detect", "in.avi", "--frames=0"], "--frames: 0"),
                                 *(([name, "in.avi", f"--{option}="], f"\nerror: --{option}: the name of a file is empty\n")
                                   for name, option in (("detect", "table"), ("match", "draw"), ("superpixels", "labels"))), (["superpixels", "in.avi", "--sigma=abc"], "'abc' is no number"),
                                 (["superpixels", "in.avi", "--sigma=nan"], "--sigma: nan"), (["track", "in.avi"], "--box"), (["track", "in.avi", "--box=1,2,3"], "'1,2,3'"),
                                 (["superpixels", "in.avi", "--borders"], "--borders: needs --draw"), (["match", "in.avi", "--metric=ncc"], "'ncc'"), (["detect", "in.avi", "--cas=x"], "--cas")):
            done = self.run_command(*arguments, code=2)
            self.assertIn(words, done.stderr)
        for name in ((), ("detect",), ("info",)):
            self.assertIn("usage: cudatracking", self.run_command(*name, "--help").stdout)

    def test_failures(self):
        write_video(self.path("in.avi"), 3)
        ct.cv2.imwrite(self.path("one.png"), frame(0))
        write_video(self.path("none.avi"), 0)
        os.mkdir(self.path("empty"))
        os.mkdir(self.path("sizes"))
        ct.cv2.imwrite(self.path("sizes/a.png"), frame(0))
        ct.cv2.imwrite(self.path("sizes/b.png"), frame(1)[:60, :90])
        for name, data in (("bad.png", b"no image"), ("bad.avi", b"RIFF no video"), ("old.csv", b"old")):
            with open(self.path(name), "wb") as file:
                file.write(data)
        for arguments, words in ((["detect", "no.avi"], "no.avi: there is no such"), (["detect", "bad.png"], "bad.png: is no image"), (["detect", "bad.avi"], "bad.avi"),
                                 (["detect", "empty"], "has no image"), (["detect", "77"], "camera 77"), (["detect", "in.avi", "--cascade=x"], "frontalface_alt"),
                                 (["detect", "in.avi", "--table=/nodir/x.csv"], "/nodir/x.csv: cannot be written"), (["detect", "in.avi", "--draw=/nodir/x.avi"], "/nodir/x.avi: cannot be written"),
                                 (["detect", "in.avi", "--draw=x.mov"], "--draw: x.mov"),
                                 (["detect", "one.png", "--draw=x.avi"], "--draw: x.avi"), (["track", "sizes", "--box=30,50,40,40"], "sizes: b.png has 90 x 60 pixels, the first one has"), (["track", "one.png", "--box=30,50,40,40"], "one frame"),
                                 (["track", "one.png", "--box=30,50,40,40", "--frames=20"], "one frame"), (["match", "one.png", "--frames=20"], "one frame"),
                                 *(([name, "none.avi", *more], "none.avi: .*has no frame") for name, *more in
                                   (("detect", "--draw=x.avi"), ("track", "--box=900,50,40,40"), ("match",), ("match", "--frames=1"), ("superpixels",))),
                                 (["track", "in.avi", "--box=180,100,40,40", "--table=old.csv"], "box"), (["detect", "in.avi", "--table=empty"], "is a folder"),
                                 (["detect", "in.avi", "--device=gpu"], "--device: 'gpu'"), (["detect", "in.avi", "--device=cuda:99"], "cuda:99")):
            done = self.run_command(*arguments, code=2 if arguments[-1].startswith(("--cascade", "--device=gpu")) or words.startswith(("box", "--draw: x")) else 1)
            self.assertRegex(done.stderr, rf"(?m)^error: .*{words}")
        with open(self.path("old.csv")) as file:
            self.assertEqual(file.read(), "old")
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith(".")], [])

    def test_sources_that_fail_later(self):
        """What was done until then is there: the exit code is 1, and the last line says why."""
        os.mkdir(self.path("sizes"))
        for step in range(8):
            ct.cv2.imwrite(self.path(f"sizes/{step}.png"), frame(step) if step < 6 else frame(step)[:60, :90])
        for name, *options in (("track", f"--box={','.join(map(str, box(0)))}"), ("match", "--box=34,54,30,30"), ("detect",), ("superpixels",)):
            done = self.run_command(name, "sizes", *options, "--table=t.csv", "--draw=t.avi", code=1)
            self.assertRegex(done.stderr, r"(?s)6 frames in .*\nerror: sizes: 6.png has 90 x 60 pixels, the first one has 192 x 144; [a-z ]+ needs frames of one size\n\Z")
            self.assertEqual(frames_of(self.path("t.avi")), 6)
            self.assertLessEqual({int(row["frame"]) for row in rows_of(self.path("t.csv"))}, set(range(6)))
        self.run_command("superpixels", "sizes", "--table=t.csv")  # without a drawing any sizes will do
        self.assertEqual({row["frame"] for row in rows_of(self.path("t.csv"))}, set("01234567"))

    def test_full_disk(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        ct.cv2.imwrite(self.path("in.png"), frame(0))
        for arguments in (["superpixels", self.path("in.png")], ["info"], ["--help"], ["match", "--help"], ["--version"]):
            for unbuffered in ("", "1"):
                with open("/dev/full", "w") as full:
                    done = subprocess.run([sys.executable, "-m", "cudatracking", *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=300,
                                          env={**os.environ, "PYTHONUNBUFFERED": unbuffered})
                self.assertEqual(done.returncode, 1, arguments)
                self.assertRegex(done.stderr, r"\Aerror: .*No space left on device\n\Z")

    def test_signals(self):
        # On the CPU, as a GPU could reach the end of any video of reasonable length before the signal comes.
        write_video(self.path("in.avi"), 3000, lambda step: frame(step % 30))
        for number in SIGNALS:
            running = subprocess.Popen([sys.executable, "-m", "cudatracking", "superpixels", "in.avi", "--sigma=20", "--device=cpu", "--table=t.csv", "--draw=t.avi"],
                                       cwd=self.folder, stderr=subprocess.PIPE, text=True)
            line = running.stderr.readline()  # progress after a second
            said = re.fullmatch(r"\s*frame (\d+) of 3000, [0-9.]+ per second, \d+ s left\s*", line)
            self.assertTrue(said, line)
            running.send_signal(number)
            rest = running.communicate(timeout=300)[1]
            self.assertEqual(running.returncode, 130, rest)
            self.assertIn("ended by a signal", rest)
            rows, frames = rows_of(self.path("t.csv")), frames_of(self.path("t.avi"))
            self.assertGreaterEqual(frames, int(said.group(1)))
            self.assertLess(frames, 3000)
            self.assertEqual({int(row["frame"]) for row in rows}, set(range(frames)))
            self.assertEqual(sorted(os.listdir(self.folder)), ["in.avi", "t.avi", "t.csv"])

    def programs(self):
        """The command as a module, and as the script that pip makes for it."""
        with open(self.path("cudatracking"), "w") as script:
            script.write("import sys\nfrom cudatracking._command import main\nsys.exit(main())\n")
        return ["-m", "cudatracking"], [self.path("cudatracking")]

    def test_signals_during_imports(self):
        """The package's imports take long enough for a signal. What imports numpy gets one here."""
        os.mkdir(self.path("numpy"))
        with open(os.path.join(self.path("numpy"), "__init__.py"), "w") as stub:
            stub.write("import os, time\nos.kill(os.getpid(), int(os.environ['SIGNAL']))\ntime.sleep(9)\n")
        path = os.pathsep.join([self.folder, os.path.dirname(os.path.dirname(ct.__file__)), os.environ.get("PYTHONPATH", "")])
        module, script = self.programs() if sys.version_info >= (3, 10) else (None, self.programs()[1])
        for number in SIGNALS:
            for program in (module, script):
                if program:
                    done = subprocess.run([sys.executable, *program, "info"], capture_output=True, text=True, timeout=60, cwd="/",
                                          env={**os.environ, "PYTHONPATH": path, "SIGNAL": str(int(number))})
                    self.assertEqual((done.returncode, done.stderr, done.stdout), (130, "", ""), program)
        # A program that imports the package has its own handlers.
        done = subprocess.run([sys.executable, "-c", "import cudatracking"], capture_output=True, text=True, timeout=60, cwd="/",
                              env={**os.environ, "PYTHONPATH": path, "SIGNAL": str(int(signal.SIGINT))})
        self.assertEqual(done.returncode, -signal.SIGINT)
        self.assertIn("KeyboardInterrupt", done.stderr)

    def test_reader_that_goes_away(self):
        write_video(self.path("in.avi"), 30)
        running = subprocess.Popen([sys.executable, "-m", "cudatracking", "superpixels", self.path("in.avi"), "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        running.stdout.readline()
        running.stdout.close()
        error = running.stderr.read()
        running.stderr.close()
        self.assertEqual((running.wait(300), error), (1, b""))

    @unittest.skipUnless(HAVE_AV, "PyAV is not installed")
    def test_other_videos(self):
        write_video(self.path("in.avi"), 12)
        self.run_command("detect", "in.avi", "--draw=t.mp4")  # no faces there, so that nothing is drawn
        self.run_command("match", "t.mp4", "--box=34,54,30,30", "--table=m.csv", "--draw=m.avi")
        rows = rows_of(self.path("m.csv"))
        self.assertEqual([int(row["x"]) for row in rows], [34 + 3 * step for step in range(1, 12)])
        self.assertAlmostEqual(float(rows[4]["time"]), .5)
        self.assertEqual(frames_of(self.path("m.avi")), 12)
        with open(self.path("in.avi"), "rb") as file, open(self.path("cut.avi"), "wb") as target:
            target.write(file.read(os.path.getsize(self.path("in.avi")) // 2))
        self.assertRegex(self.run_command("detect", "cut.avi", code=1).stderr,
                         r"(?ms)^note: cut.avi: has [4-7] frames, 12 by its head.*^left out: cut.avi: frame [4-6]: cannot be decoded")
        self.assertNotIn("note:", self.run_command("detect", "in.avi").stderr)
        self.assertIn("NAME", self.run_command("detect", "--help").stdout)
        self.run_command("detect", "http://127.0.0.1:9/none.mp4", code=1)

    @unittest.skipUnless(HAVE_AV, "PyAV is not installed")
    def test_rotated_videos(self):
        """As phones write them: the file says how its frames are turned when they are shown."""
        from cudatracking._frames import Source
        write_video(self.path("in.avi"), 2)
        self.run_command("detect", "in.avi", "--draw=t.mp4")
        with open(self.path("t.mp4"), "rb") as file:
            data = file.read()
        at = data.index(b"tkhd") + 44
        straight = [frame.pixels for frame in Source(self.path("t.mp4"))]
        for matrix, code in (((0, 1, -1, 0), ct.cv2.ROTATE_90_CLOCKWISE), ((-1, 0, 0, -1), ct.cv2.ROTATE_180), ((0, -1, 1, 0), ct.cv2.ROTATE_90_COUNTERCLOCKWISE)):
            a, b, c, d = (value << 16 for value in matrix)
            with open(self.path("r.mp4"), "wb") as file:
                file.write(data[:at] + struct.pack(">9i", a, b, 0, c, d, 0, 0, 0, 1 << 30) + data[at + 36:])
            turned = [frame.pixels for frame in Source(self.path("r.mp4"))]
            self.assertTrue(len(turned) == 2 and all(np.array_equal(one, ct.cv2.rotate(other, code)) for one, other in zip(turned, straight)))

    @unittest.skipUnless(HAVE_AV, "PyAV is not installed")
    def test_server_that_does_not_answer(self):
        from cudatracking import _frames
        with socket.create_server(("127.0.0.1", 0)) as server, mock.patch.object(_frames, "PATIENCE", .5):
            with self.assertRaisesRegex(ct.error, "127.0.0.1.*PyAV cannot open it"):
                _frames.Source(f"http://127.0.0.1:{server.getsockname()[1]}/x.mp4")

    def test_names_that_are_not_utf8(self):
        os.mkdir(self.path("names"))
        ct.cv2.imwrite(os.fsdecode(os.path.join(os.fsencode(self.folder), b"names", b"\xff.png")), frame(0))
        for arguments in (("--table=t.csv",), ("--table=t.jsonl",), ()):
            done = self.run_command("detect", "names", "--cascade=eye", "--min-neighbors=0", *arguments)
            text = done.stdout
            if arguments:
                with open(self.path(arguments[0][8:]), encoding="utf-8") as file:
                    text = file.read()
            self.assertRegex(text, r"\\x?(udc)?ff\.png")

    @unittest.skipIf(HAVE_AV, "PyAV is installed")
    def test_other_videos_without_av(self):
        with open(self.path("in.mp4"), "wb") as file:
            file.write(b"x" * 99)
        self.assertIn("pip install av", self.run_command("detect", "in.mp4", code=1).stderr)
        write_video(self.path("in.avi"), 3)
        self.assertIn("pip install av", self.run_command("detect", "in.avi", "--draw=x.mp4", code=1).stderr)
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith(".")], [])


if __name__ == "__main__":
    unittest.main()
