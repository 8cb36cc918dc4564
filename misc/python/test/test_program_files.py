"""Files that the sample programs write: never in the place of an input, and never so that something else is lost."""
import glob
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
import unittest

import cv2

from programs import BOX, CASCADE, CASCADES, CPP, SAMPLES, TABLES, VIDEOS, Programs, frames_of, rows_of

# Options with a text: where each program writes, and what it reads.
WRITES = {"video-file", "output-dir", "save", "csv", "runs", "curves", "video"}
READS = {"boxes", "cascade", "inside", "load", "left", "right", "disparity-gt", "nano-backbone", "nano-head", "vit"}
OTHERS = {"backend", "shard", "box", "preset", "pair", "metric", "weights", "only"}
# Images with names that follow from a number.
NUMBERED = {"follow": "frame_00000.jpg", "fragment_matcher": "motion_00003.png", "fragment_matcher_loop": "trails_00003.png", "tld": "templates_0.png"}


def content(path):
    with open(path, "rb") as file:
        return file.read()


class ProgramFilesTest(Programs):
    def setUp(self):
        super().setUp()
        os.mkdir(self.out("out"))

    def call(self, name, source, *options):
        """Arguments, with the folder for outputs; options of the test replace the usual ones."""
        given = {option.split("=")[0] for option in options}
        usual = [argument for argument in self.arguments(name, source, self.out("out")) if argument.split("=")[0] not in given]
        return [*options, *usual]

    def written_options(self, name):
        shown = set(re.findall(r"^  --([a-z-]+)=(?!-?[0-9])", self.run_program(name, "--help").out, re.M))
        self.assertLessEqual(shown, WRITES | READS | OTHERS, "is a new option of " + name + " for inputs or for outputs?")
        return sorted(shown & WRITES)

    # --- inputs stay -------------------------------------------------------------------------------------------------------

    def clashes(self, name, option):
        """Pairs of the file that would be lost, and the call."""
        out, video = self.out("out"), self.data("in.avi")
        if name == "tld_benchmark":
            sequence = self.out("sequence")
            shutil.copytree(self.data("sequence"), sequence)
            if option == "video":
                for image in glob.glob(os.path.join(sequence, "*.png")):
                    os.remove(image)
                shutil.copy(video, os.path.join(sequence, "sequence_TLD-CPU.avi"))
                return [(os.path.join(sequence, "sequence_TLD-CPU.avi"), self.call(name, sequence, "--video=" + sequence))]
            return [(os.path.join(sequence, file), self.call(name, sequence, f"--{option}=" + os.path.join(sequence, file)))
                    for file in ("gt.txt", "init.txt", "frame_7.png")]
        if option == "video-file":
            return [(os.path.join(out, "x.avi"), self.call(name, os.path.join(out, "x.avi"), "--video-file=x.avi")),
                    (os.path.join(out, "y_002.avi"), self.call(name, os.path.join(out, "y_002.avi"), "--video-file=y.avi"))]
        if option == "save":
            return [(os.path.join(out, "x3.xml"), self.call(name, video, "--save=x", "--load=" + os.path.join(out, "x3.xml")))]
        found = [(os.path.join(out, VIDEOS.get(name, "follow.avi")), self.call(name, os.path.join(out, VIDEOS.get(name, "follow.avi"))))]
        if name in NUMBERED:
            found.append((os.path.join(out, NUMBERED[name]), self.call(name, out)))
        else:  # images are called after the input's
            made = "objects_image.png" if name == "cascade" else "image_paper_mean.png"
            os.mkdir(self.out("images"))
            shutil.copy(self.data("image.png"), self.out("images", "image.png"))
            found.append((os.path.join(out, made), self.call(name, self.out("images"))))
            os.link(self.out("images", "image.png"), os.path.join(out, made))
        return found

    def test_an_output_that_is_the_input(self):
        """Each option for outputs of each program: the same name, a symbolic link, another hard link."""
        for name in CPP:
            for option in self.written_options(name):
                for link in (None, os.symlink, os.link):
                    for i in range(3):
                        shutil.rmtree(self.out())
                        os.makedirs(self.out("out"))
                        clashes = self.clashes(name, option)
                        if i >= len(clashes):
                            break
                        file, arguments = clashes[i]
                        with self.subTest(name, option=option, link=link, file=os.path.basename(file)):
                            self.expect_refused(name, "--" + option, file, arguments, link)

    def expect_refused(self, name, option, file, arguments, link):
        if not os.path.exists(file):
            shutil.copy(self.data("image.png" if file.endswith("png") or file.endswith("jpg") else "in.avi"), file)
        if link and os.stat(file).st_nlink == 1 and file in arguments:  # the input has another name
            other = self.out("input" + os.path.splitext(file)[1])
            os.rename(file, other)
            link(other, file)
            arguments = [other if argument == file else argument for argument in arguments]
        before = {path: content(path) for path in glob.glob(self.out("**"), recursive=True) if os.path.isfile(path)}
        done = self.run_program(name, *arguments)
        self.assert_fails(done, 2, f"error: {option}: ")
        self.assertRegex(done.err, re.escape(os.path.basename(file)) + " is the input .*, which would be lost")
        self.assertEqual(done.out, "")
        self.assertEqual({path: content(path) for path in glob.glob(self.out("**"), recursive=True) if os.path.isfile(path)}, before)

    def test_two_outputs_of_one_name(self):
        done = self.run_program("tld_benchmark", "--backend=cpu", "--csv=" + self.out("a.csv"), "--runs=" + self.out("out", "..", "a.csv"), self.data("sequence"))
        self.assert_fails(done, 2, "error: --runs: ")

    def test_a_cascade_is_no_place_for_a_table(self):
        self.command("cascade")  # skips the test where there is no cascade
        shutil.copy(CASCADE, self.out("out", "objects.csv"))
        done = self.run_program("cascade", *self.call("cascade", self.data("in.avi"), "--cascade=" + self.out("out", "objects.csv")))
        self.assert_fails(done, 2, "error: --output-dir: ")
        self.assertEqual(content(CASCADE), content(self.out("out", "objects.csv")))

    def test_second_run_in_one_folder(self):
        """What the first run left is no input of the second."""
        for name in ("cascade", "quick_shift"):
            with self.subTest(name):
                folder = self.out(name)
                os.mkdir(folder)
                for number in (1, 2):
                    cv2.imwrite(os.path.join(folder, f"photo{number}.png"), cv2.imread(self.data("folder", f"frame_{number}.png")))
                cv2.imwrite(os.path.join(folder, "objects_mine.png"), cv2.imread(self.data("image.png")))  # is the result of nothing that is there
                runs = []
                for _ in range(2):
                    done = self.run_program(name, *self.arguments(name, folder, folder))
                    self.assertEqual(done.returncode, 0, done.err)
                    runs.append(sorted(os.listdir(folder)))
                self.assertEqual(*runs)
                self.assertTrue(any("objects_mine" in file and file != "objects_mine.png" for file in runs[0]), runs[0])
                self.assertIn("left out, a result of an earlier run: ", done.err)
        for name in NUMBERED:
            with self.subTest(name):
                folder = self.out(name)
                shutil.copytree(self.data("folder"), folder)
                self.assertEqual(self.run_program(name, *self.arguments(name, folder, folder)).returncode, 0)
                before = sorted(os.listdir(folder))
                self.assert_fails(self.run_program(name, *self.arguments(name, folder, folder)), 2, "error: --output-dir: ")
                self.assertEqual(sorted(os.listdir(folder)), before)

    # --- where learned objects go ------------------------------------------------------------------------------------------

    def test_saved_objects_are_in_the_folder_for_outputs(self):
        done = self.run_program("tld", *self.call("tld", self.data("in.avi"), "--save=person"), cwd=self.out())
        self.assertEqual(done.returncode, 0, done.err)
        self.assertTrue(os.path.exists(self.out("out", "person0.xml")))
        self.assertEqual(os.listdir(self.out()), ["out"])
        save, load = (line for line in self.run_program("tld", "--help").out.splitlines() if "--save=person" in line or "--load=out" in line)
        self.assertIn("--output-dir=out", save)
        self.assertIn("--load=out/person0.xml", load)
        loaded = [argument for argument in self.arguments("tld", self.data("in.avi"), "later") if not argument.startswith("--box")]
        done = self.run_program("tld", "--load=out/person0.xml", *loaded, cwd=self.out())
        self.assertEqual(done.returncode, 0, done.err)
        self.assertEqual(frames_of(self.out("later", "tracks.avi")), 11)

    # --- other numbers and pairs -------------------------------------------------------------------------------------------

    def test_superpixels_by_default(self):
        """The class with its defaults, and components of fewer than 20 pixels merged."""
        image = cv2.imread(self.data("image.png"))
        shift = cv2.cuda.QuickShift.create()
        shift.compute(image)
        expected = shift.enforceConnectivity(20)
        done = self.run_program("quick_shift", "--backend=cpu", "--output-dir=" + self.out(), self.data("image.png"))
        self.assertEqual(done.returncode, 0, done.err)
        self.assertIn(f", {expected} superpixels, ", done.out)
        self.assertEqual(len(rows_of(self.out("image_paper.csv"))), expected)
        self.run_program("quick_shift.py", "--backend=cpu", self.data("image.png"), self.out("out"))
        self.assertEqual(len(rows_of(self.out("out", "image.csv"))), expected)
        for name in ("quick_shift", "quick_shift.py"):
            self.assertIn("--min-area", self.run_program(name, "--help").out)

    def test_pair_of_two_sizes(self):
        image = cv2.imread(self.data("image.png"))
        cv2.imwrite(self.out("small.png"), image[:, :-30])
        for options, second, motion in (((), "small.png", True), (("--pair=stereo",), "small.png", False), (("--pair=motion",), "image.png", True), ((), "image.png", False)):
            with self.subTest(options, second=second):
                out = self.out("out", str(motion) + second)
                second = self.out(second) if second == "small.png" else self.data(second)
                done = self.run_program("fragment_matcher", "--backend=cpu", "--max-disparity=20", "--output-dir=" + out, *options, self.data("image.png"), second)
                self.assertEqual(done.returncode, 0, done.err)
                self.assertEqual((os.path.exists(os.path.join(out, "motion.png")), os.path.exists(os.path.join(out, "disparity.png"))), (motion, not motion))
                self.assertEqual("taken as" in done.out, not options)

    def test_counted_things_have_a_plural(self):
        for name in TABLES:
            for frames in (1, 2):
                if frames == 1 and name.startswith("fragment_matcher"):  # needs two
                    continue
                with self.subTest(name, frames=frames):
                    done = self.run_program(name, f"--frames={frames}", *self.call(name, self.data("in.avi")))
                    self.assertEqual(done.returncode, 0, done.err)
                    self.assertRegex(done.out, r"(^|\n)1 frame,|2 frames,")
                    self.assertNotRegex(done.out, r"(?<![0-9.])1 (frames|objects|fragments|superpixels|rows)\b")
        done = self.run_program("fragment_matcher", "--fragments=1", "--backend=cpu", "--output-dir=" + self.out(), self.data("image.png"), self.data("image.png"))
        self.assertIn("1 fragment, ", done.out)

    # --- the benchmark -----------------------------------------------------------------------------------------------------

    def test_all_faults_of_sequences_at_once(self):
        def broken(name, **files):
            shutil.copytree(self.data("sequence"), self.out("set", name))
            for file, text in files.items():
                path = self.out("set", name, file.replace("__", "."))
                os.remove(path)
                if text is not None:
                    with open(path, "w") as made:
                        made.write(text)
        broken("a_good")
        broken("b_truth", gt__txt="1,2,3\n")
        broken("c_first", init__txt="nan,nan,nan,nan\n")
        broken("d_image", frame_7__png="no image")
        broken("e_empty", gt__txt="")
        os.mkdir(self.out("set", "f_frames"))
        shutil.copy(self.data("sequence", "gt.txt"), self.out("set", "f_frames"))
        os.mkdir(self.out("nothing"))
        done = self.run_program("tld_benchmark", "--backend=cpu", "--seeds=1", "--csv=" + self.out("boxes.csv"), ",".join((self.out("set"), self.out("missing"), self.out("nothing"))))
        self.assert_fails(done, 1, "nothing was measured")
        for word in ("b_truth/gt.txt: line 1 has 3 numbers", "c_first/init.txt: there is no box in the first frame", "d_image/frame_7.png: cannot be read",
                     "e_empty/gt.txt: there is no box", "neither images nor a video in " + self.out("set", "f_frames"), "there is no folder " + self.out("missing"),
                     self.out("nothing") + ": there is no sequence"):
            self.assertIn(word, done.err)
        self.assertNotIn("a_good", done.err + done.out)
        self.assertFalse(os.path.exists(self.out("boxes.csv")))

    # --- what cannot be replaced -------------------------------------------------------------------------------------------

    def tables(self):
        """A table of each program: its name, and the call that writes it."""
        for name in CPP:
            file = {**TABLES, "follow": "follow.csv", "tld_benchmark": "boxes.csv"}[name]
            yield name, self.out("out", file), self.arguments(name, self.source(name), self.out("out"))

    def test_redirected_standard_output(self):
        """A table that is /dev/stdout, also as a link, comes behind what the file has, and what follows comes behind it."""
        for name, file, arguments in self.tables():
            for mode in ("a", "w"):
                with self.subTest(name, mode=mode):
                    with open(self.out("all.txt"), "w") as old:
                        old.write("old\n")
                    if not os.path.islink(file):
                        os.symlink("/dev/stdout", file)
                    with open(self.out("all.txt"), mode) as stdout:
                        stdout.write("head\n")
                        stdout.flush()
                        done = self.run_program(name, *arguments, stdout=stdout)
                        self.assertEqual(done.returncode, 0, done.err)
                        os.write(stdout.fileno(), b"tail\n")
                    with open(self.out("all.txt")) as lines:
                        lines = lines.read().splitlines()
                    self.assertEqual(lines[:2] if mode == "a" else lines[:1], ["old", "head"] if mode == "a" else ["head"])
                    self.assertEqual(lines[-1], "tail")
                    self.assertEqual(len([line for line in lines if re.match("frame,|sequence,tracker,", line)]), 1)
                    rows = [line for line in lines if re.match("(sequence,TLD-CPU,)?[0-9]+,", line)]
                    self.assertEqual(len(rows), 0 if name == "follow" else 12 if name in ("cascade", "quick_shift", "tld_benchmark") else 11)
                    self.assertTrue(any("wrote" in line or "F=" in line for line in lines), lines)

    def test_pipe_and_descriptor(self):
        for table in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
            done = self.run_program("tld_benchmark", "--backend=cpu", "--seeds=1", "--csv=" + table, self.data("sequence"))
            self.assertEqual((done.returncode, len(re.findall("^sequence,TLD-CPU,1,", done.out, re.M))), (0, 12), done.err)
        with open(self.out("three.txt"), "w") as third:
            third.write("old\n")
            third.flush()
            done = self.run_program("tld_benchmark", "--backend=cpu", "--seeds=1", f"--csv=/dev/fd/{third.fileno()}", self.data("sequence"), pass_fds=(third.fileno(),))
        with open(self.out("three.txt")) as lines:
            self.assertEqual((done.returncode, len(lines.readlines())), (0, 14), done.err)

    def test_a_file_that_is_a_mount_point(self):
        if subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("this user may not mount")
        for name, file, arguments in self.tables():
            with self.subTest(name):
                with open(file, "w") as old:
                    old.write("old")
                inode = os.stat(file).st_ino
                self.command(name)
                done = self.start(["unshare", "-m", "bash", "-c", 'mount --bind "$0" "$0" && exec "$@"', file, *self.command(name, *arguments)])
                out, err = done.communicate(timeout=300)
                self.assertEqual(done.returncode, 0, err)
                self.assertEqual(os.stat(file).st_ino, inode)
                self.assertRegex(content(file).decode(), "^(frame|sequence),")
                self.assertEqual(glob.glob(self.out("out", "*.partial-*")), [])

    def test_a_folder_that_cannot_be_written(self):
        """Files in it that can be written are written over."""
        os.chmod(self.out(), 0o755)
        os.chmod(self.data(), 0o755)
        os.mkdir(self.out("tmp"))
        os.chmod(self.out("tmp"), 0o777)
        user = {"user": 65534, "group": 65534} if os.geteuid() == 0 else {}
        for name, file, arguments in self.tables():
            with self.subTest(name):
                try:
                    self.start(self.command(name, "--help"), **user).communicate()
                except PermissionError:
                    self.skipTest("nobody may not run the programs")
                os.chmod(self.out("out"), 0o755)
                self.assertEqual(self.run_program(name, *arguments).returncode, 0)
                for made in os.listdir(self.out("out")):
                    with open(self.out("out", made), "w") as old:
                        old.write("old")
                    os.chmod(self.out("out", made), 0o666)
                os.chmod(self.out("out"), 0o555)
                before = sorted(os.listdir(self.out("out")))
                done = self.run_program(name, *arguments, env={**os.environ, "TMPDIR": self.out("tmp")}, **user)
                self.assertEqual(done.returncode, 0, done.err)
                self.assertEqual((sorted(os.listdir(self.out("out"))), os.listdir(self.out("tmp"))), (before, []))
                self.assertEqual([made for made in before if content(self.out("out", made)) == b"old"], [])
                os.chmod(self.out("out"), 0o755)
                os.remove(file)  # a new one cannot be made
                os.chmod(self.out("out"), 0o555)
                done = self.run_program(name, *arguments, env={**os.environ, "TMPDIR": self.out("tmp")}, **user)
                self.assert_fails(done, 1, os.path.basename(file) + ": Permission denied")
                self.assertEqual(os.listdir(self.out("tmp")), [])
                os.chmod(self.out("out"), 0o755)
                shutil.rmtree(self.out("out"))
                os.mkdir(self.out("out"))

    def test_permissions_hold_from_the_first_byte_on(self):
        """Those of the old file. While the new one is empty, it may have fewer."""
        for name in TABLES:
            for mode in (0o600, 0o640):
                with self.subTest(name, mode=oct(mode)):
                    file = self.out("out", TABLES[name])
                    with open(file, "w") as old:
                        old.write("old")
                    os.chmod(file, mode)
                    partials = self.out("out", "{}.partial-*{}".format(*os.path.splitext(TABLES[name])))
                    process = self.start(self.command(name, *self.arguments(name, self.data("long", "f%05d.png"), self.out("out"))), stdout=subprocess.DEVNULL)
                    try:
                        begin, seen = time.monotonic(), None
                        while seen != mode:
                            self.assertIsNone(process.poll())
                            self.assertLess(time.monotonic(), begin + 100)
                            for partial in glob.glob(partials):
                                status = os.stat(partial)
                                seen = stat.S_IMODE(status.st_mode)
                                self.assertIn(seen, (mode, 0o600) if status.st_size == 0 else (mode,))
                        process.send_signal(signal.SIGINT)
                        process.communicate(timeout=200)
                        self.assertEqual(glob.glob(partials), [])
                    finally:
                        process.kill()
                        process.wait()
                        for partial in glob.glob(partials):
                            os.remove(partial)
                    self.assertEqual(stat.S_IMODE(os.stat(file).st_mode), mode)

    # --- the samples in Python ---------------------------------------------------------------------------------------------

    def test_an_output_that_is_the_input_in_python(self):
        for name, ending, before, after in (("cascade.py", ".png", [CASCADES], []), ("fragment_matcher.py", ".avi", [], []), ("tld.py", ".avi", [], [BOX]), ("quick_shift.py", ".png", [], None)):
            for link in (None, os.symlink, os.link):
                if not link and after is None:  # the output's name is never the input's
                    continue
                with self.subTest(name, link=link):
                    shutil.rmtree(self.out())
                    os.makedirs(self.out("out"))
                    source = self.out("image" + ending)
                    shutil.copy(self.data("image.png" if ending == ".png" else "in.avi"), source)
                    target = self.out("out", "image_mean.png") if after is None else self.out("out", "target" + ending) if link else source
                    if link:
                        link(source, target)
                    saved = content(source)
                    done = self.run_program(name, "--backend=cpu", *before, source, *([self.out("out")] if after is None else [target, *after]))
                    self.assert_fails(done, 2, f"{target} is the input {source}, which would be lost")
                    self.assertEqual(content(source), saved)

    def start_written(self, target, *command, **options):
        """Writes a file as the samples in Python do, and says what permissions it has meanwhile."""
        script = ("import os, sys\nsys.path.insert(0, sys.argv[1])\nimport common\nprint('head')\n"
                  "with common.written(sys.argv[2]) as path, open(path, 'w') as file:\n    file.write('new\\n')\n    mode = oct(os.stat(path).st_mode & 0o7777)\n"
                  "print('tail', mode)")
        return self.start([*command, sys.executable, "-c", script, SAMPLES, target], **options)

    def test_redirected_standard_output_in_python(self):
        os.symlink("/dev/stdout", self.out("link.csv"))
        for target in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", self.out("link.csv")):
            for mode in ("a", "w"):
                with self.subTest(target, mode=mode):
                    with open(self.out("all.txt"), "w") as old:
                        old.write("old\n")
                    with open(self.out("all.txt"), mode) as stdout:
                        process = self.start_written(target, stdout=stdout)
                        self.assertEqual(process.communicate(timeout=100)[1], "")
                        os.write(stdout.fileno(), b"end\n")
                    with open(self.out("all.txt")) as lines:
                        self.assertEqual(re.sub("tail .*", "tail", lines.read()), ("old\n" if mode == "a" else "") + "head\nnew\ntail\nend\n")
            self.assertEqual(re.sub("tail .*", "tail", self.start_written(target).communicate(timeout=100)[0]), "head\nnew\ntail\n")

    def test_a_file_that_cannot_be_replaced_in_python(self):
        if subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("this user may not mount")
        file = self.out("out", "a.csv")
        mount = ["unshare", "-m", "bash", "-c", 'mount --bind "$0" "$0" && exec "$@"', file]
        no_folder = ["unshare", "-m", "bash", "-c", 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && mount --bind "$1" "$2" && exec "${@:3}"', self.out("out"), self.out("a.csv"), file]
        for command, real in ((mount, file), (no_folder, self.out("a.csv"))):
            for path in (file, real):
                with open(path, "w") as old:
                    old.write("something that is longer")
            inode = os.stat(real).st_ino
            process = self.start_written(file, *command)
            out, err = process.communicate(timeout=100)
            self.assertEqual((process.returncode, err), (0, ""))
            self.assertEqual((content(real), os.stat(real).st_ino), (b"new\n", inode))
            self.assertEqual(os.listdir(self.out("out")), ["a.csv"])

    def test_permissions_in_python(self):
        for mode in (0o600, 0o640, 0o666):
            with open(self.out("a.csv"), "w") as old:
                old.write("old")
            os.chmod(self.out("a.csv"), mode)
            out, err = self.start_written(self.out("a.csv")).communicate(timeout=100)
            self.assertEqual((out.split()[-1], err), (oct(mode), ""))
            self.assertEqual((stat.S_IMODE(os.stat(self.out("a.csv")).st_mode), content(self.out("a.csv"))), (mode, b"new\n"))


if __name__ == "__main__":
    unittest.main()
