"""The command's outputs: none takes the place of an input, and a full disk, a pipe or a closed terminal are said in plain words."""
import argparse
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import unittest
from typing import Any

import numpy as np

import cudatracking as ct
from cudatracking import _command
from cudatracking._frames import Source
from command_case import CommandCase, frames_of, needs_av, rows_of, write_video
from scenes import box, frame

GARBAGE = b"this is read by nobody"
BOX = ",".join(map(str, box(0)))


def commands():
    """The parser of each subcommand, by name."""
    found = next(action for action in _command._parser()._actions if isinstance(action, argparse._SubParsersAction))
    return dict(found.choices)


def file_options(parser):
    """Options that name a file or a folder, by what they are called in the options."""
    return {action.dest: action for action in parser._actions if action.option_strings and action.metavar in ("FILE", "DIR")}


def needed(parser, without):
    """Values for the options that a command cannot do without."""
    made = []
    for action in parser._actions:
        if action.required and action.option_strings and action.dest != without:
            made += [action.option_strings[0], {"box": BOX, "out": "elsewhere"}.get(action.dest) or action.choices[0]]
    return made


def further(parser):
    """Names for the arguments after the first that a command cannot do without."""
    arguments = [action for action in parser._actions if not action.option_strings and action.nargs is None]
    return [f"{action.dest}.png" for action in arguments[1:]]


def without_rights():
    """What starts a program as a user who may not write everywhere; None if there is no way."""
    if os.getuid():
        return []
    without = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search"]
    return without if shutil.which("setpriv") and not subprocess.run([*without, "true"], capture_output=True).returncode else None


class InputsTest(CommandCase):
    def put(self, name, data=GARBAGE):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as file:
            file.write(data)

    def contents(self):
        found = {}
        for folder, _, names in os.walk(self.folder):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    found[os.path.join(folder, name)] = file.read()
        return found

    def test_all_options_are_known(self):
        """An option that names a file is an input or an output: a new one is not forgotten."""
        count = 0
        for name, parser in commands().items():
            known = {*parser.get_default("inputs"), *parser.get_default("outputs")}
            options = file_options(parser)
            self.assertLessEqual(set(options), known, name)
            count += len(set(options) & set(parser.get_default("outputs")))
        self.assertEqual(count, 12)  # --table and --draw of five commands, --labels of superpixels, --out of scan

    def test_outputs_that_are_inputs(self):
        """Each output of each command, by each name that a file can have; the inputs cannot be read, and nobody tries."""
        for name in ("in.avi", "in.png", "folder/1.png", "folder/2.png", "cascade.xml", "deep/real.avi"):
            self.put(name)
        os.symlink("in.avi", self.path("link.avi"))
        os.link(self.path("in.avi"), self.path("hard.avi"))
        os.symlink("folder", self.path("other"))
        os.symlink("real.avi", self.path("deep/link.avi"))
        before, count = self.contents(), 0
        pairs = [("in.avi", "in.avi"), ("in.avi", "./in.avi"), ("in.avi", self.path("in.avi")), ("in.avi", "link.avi"), ("link.avi", "in.avi"), ("in.avi", "hard.avi"),
                 ("in.png", "in.png"), ("folder", "folder/2.png"), ("other", "folder/1.png"), ("folder", "folder"), ("deep/link.avi", "deep/real.avi")]
        for name, parser in commands().items():
            for dest in set(file_options(parser)) & set(parser.get_default("outputs")) - {"out"}:
                for source, output in pairs:
                    with self.subTest(f"{name} --{dest} {source} {output}"):
                        printed, errors = self.call_command(name, source, *further(parser), f"--{dest}", output, *needed(parser, dest), code=2)
                        self.assertEqual(printed, "")
                        self.assertRegex(errors, rf"\Aerror: --{dest}: {re.escape(output)}: is the input ")
                        self.assertEqual(self.contents(), before)
                        count += 1
        self.assertEqual(count, 11 * len(pairs))
        errors = self.call_command("detect", "in.avi", "--cascade", "cascade.xml", "--table", "cascade.xml", code=2)[1]
        self.assertIn("--table: cascade.xml: is the input cascade.xml", errors)
        self.assertEqual(self.contents(), before)

    def test_folders_with_inputs(self):
        """--out of scan: no folder that is an input, or has one in it."""
        for name in ("videos/a.avi", "videos/deep/b.avi", "boxes.csv"):
            self.put(name)
        self.put("list.txt", b"videos/a.avi\n")
        os.symlink("videos", self.path("link"))
        os.makedirs(self.path("links"))
        os.symlink("../videos/a.avi", self.path("links/a.avi"))
        before = self.contents()
        for sources, out in ((["videos"], "videos"), (["videos"], "link"), (["link"], "videos"), (["videos"], "."), (["videos/a.avi"], "videos"), (["videos/deep/b.avi"], "videos"),
                             (["links/a.avi"], "videos"), (["links"], "videos"), (["videos/a.avi"], "videos/a.avi"), (["list.txt"], "videos"), (["list.txt"], "."),
                             (["list.txt"], self.folder)):
            with self.subTest(f"{sources} {out}"):
                errors = self.call_command("scan", *sources, "--job=superpixels", "--out", out, "--format=csv", "--executor=processes", code=2)[1]
                self.assertRegex(errors, rf"\Aerror: (--)?out: {re.escape(out)}: (in it )?is the input ")
                self.assertEqual(self.contents(), before)
        errors = self.call_command("scan", "videos", "--job=track", "--boxes=boxes.csv", "--out=boxes.csv", code=2)[1]
        self.assertIn("--out: boxes.csv: is the input boxes.csv", errors)

    @needs_av
    def test_folder_beside_inputs(self):
        """As everybody has it: it is none with an input."""
        self.put("videos/a.avi")
        self.assertIn("a.avi", self.call_command("scan", "videos", "--job=superpixels", "--out=videos/out", "--format=csv", "--executor=processes", code=1)[1])

    def test_one_output_of_two_options(self):
        write_video(self.path("in.avi"), 2)
        os.mkdir(self.path("d"))
        os.symlink("d", self.path("e"))
        errors = self.call_command("superpixels", "in.avi", "--table=d/x.avi", "--draw=e/x.avi", code=2)[1]
        self.assertIn("is the output of --", errors)
        self.assertEqual(os.listdir(self.path("d")), [])


class OutputsTest(CommandCase):
    def test_pipe_stays_a_pipe(self):
        """A device or a pipe is written, and no file is put into its place."""
        write_video(self.path("in.avi"), 2)
        os.mkfifo(self.path("pipe"))
        reader = os.open(self.path("pipe"), os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        self.call_command("superpixels", "in.avi", "--table=pipe", "--quiet", "--max-dist=4")
        self.assertRegex(os.read(reader, 1 << 16).decode(), r"\Aframe,time,file,label,area,")
        self.assertEqual(sorted(os.listdir(self.folder)), ["in.avi", "pipe"])
        self.assertFalse(os.path.isfile(self.path("pipe")))

    def test_older_file(self):
        """Its permissions are kept, and a link to it; one that is read-only is refused."""
        image = frame(0)
        ct.cv2.imwrite(self.path("in.png"), image)
        os.mkdir(self.path("deep"))
        without = without_rights()
        for option, name in (("table", "t.csv"), ("draw", "d.png"), ("labels", "l.npy"), *((("labels", "l.tif"),) if importlib.util.find_spec("rasterio") else ())):
            with self.subTest(name):
                self.call_command("superpixels", "in.png", f"--{option}=new-{name}", "--quiet")
                with open(self.path(f"new-{name}"), "rb") as file:
                    new = file.read()
                for mode in (0o640, 0o600, 0o666):
                    with open(self.path(f"deep/{name}"), "w") as file:
                        file.write("old")
                    os.chmod(self.path(f"deep/{name}"), mode)
                    if mode == 0o600:
                        os.symlink(f"deep/{name}", self.path(name))
                    output = name if os.path.islink(self.path(name)) else f"deep/{name}"
                    self.call_command("superpixels", "in.png", f"--{option}={output}", "--quiet")
                    with open(self.path(f"deep/{name}"), "rb") as file:
                        self.assertEqual(file.read(), new)
                    self.assertEqual(os.stat(self.path(f"deep/{name}")).st_mode & 0o777, mode)
                self.assertEqual(os.readlink(self.path(name)), f"deep/{name}")
                os.unlink(self.path(f"deep/{name}"))
                self.call_command("superpixels", "in.png", f"--{option}={name}", "--quiet")  # the link leads to nothing as yet
                self.assertEqual((os.path.islink(self.path(name)), os.path.isfile(self.path(f"deep/{name}"))), (True, True))
                if without is not None:
                    os.chmod(self.path(f"deep/{name}"), 0o444)
                    done = subprocess.run([*without, sys.executable, "-m", "cudatracking", "superpixels", "in.png", f"--{option}={name}"], cwd=self.folder, capture_output=True, text=True,
                                          timeout=300)
                    self.assertEqual((done.returncode, done.stderr), (1, f"error: {name}: cannot be written: Permission denied\n"))
        os.symlink("deep/plain", self.path("link.png"))  # its own name says what is written, not that of the file that it leads to
        self.call_command("superpixels", "in.png", "--draw=link.png", "--quiet")
        with open(self.path("deep/plain"), "rb") as written, open(self.path("new-d.png"), "rb") as expected:
            self.assertEqual(written.read(), expected.read())
        self.assertEqual([name for name in (*os.listdir(self.folder), *os.listdir(self.path("deep"))) if name.startswith(".")], [])

    def test_full_disk(self):
        """One message of the command's own, and nothing of the files stays."""
        write_video(self.path("in.avi"), 60, lambda step: frame(step % 30))
        for name, options in (("superpixels", "--draw=disk/t.avi"), ("superpixels", "--table=disk/t.csv"), ("superpixels", "--table=disk/t.csv --draw=disk/t.avi")):
            done = self.disk(f"{sys.executable} -m cudatracking {name} in.avi --quiet {options} --max-dist=3; echo code $?; ls -A disk")
            self.assertEqual(done.stdout, "code 1\n", f"{options}\n{done.stderr}")
            self.assertRegex(done.stderr, r"\Aerror: disk/t\.(avi|csv): cannot be written[^\n]*\n\Z", options)

    def test_full_disk_images(self):
        ct.cv2.imwrite(self.path("in.png"), np.random.RandomState(1).randint(0, 256, (200, 200, 3), np.uint8))
        for suffix in ("png", "jpg", "bmp"):
            done = self.disk(f"{sys.executable} -m cudatracking superpixels in.png --quiet --borders --draw=disk/t.{suffix}; echo code $?; ls -A disk")
            self.assertEqual((done.stdout, done.stderr), ("code 1\n", f"error: disk/t.{suffix}: cannot be written\n"))

    @needs_av
    def test_full_disk_mp4(self):
        write_video(self.path("in.avi"), 60, lambda step: np.random.RandomState(step).randint(0, 256, (144, 192, 3), np.uint8))
        done = self.disk(f"{sys.executable} -m cudatracking superpixels in.avi --quiet --draw=disk/t.mp4 --max-dist=1; echo code $?; ls -A disk")
        self.assertEqual(done.stdout, "code 1\n", done.stderr)
        self.assertRegex(done.stderr, r"\Aerror: disk/t\.mp4: cannot be written[^\n]*\n\Z")

    def test_folder_without_rights(self):
        """The folder is named, nothing is written, and nothing that is there is lost."""
        write_video(self.path("in.avi"), 2)
        os.mkdir(self.path("closed"))
        with open(self.path("closed/old.csv"), "w") as file:
            file.write("old")
        os.chmod(self.path("closed"), 0o555)
        self.addCleanup(os.chmod, self.path("closed"), 0o755)
        without = without_rights()
        if without is None:
            self.skipTest("this user may write everywhere")
        for arguments, words in ((["superpixels", "in.avi", "--table=closed/old.csv"], "closed/old.csv: cannot be written: Permission denied"),
                                 (["superpixels", "in.avi", "--draw=closed/x.avi"], "closed/x.avi: cannot be written: Permission denied")):
            done = subprocess.run([*without, sys.executable, "-m", "cudatracking", *arguments], cwd=self.folder, capture_output=True, text=True, timeout=300)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", f"error: {words}\n"))
        self.assertEqual(os.listdir(self.path("closed")), ["old.csv"])
        with open(self.path("closed/old.csv")) as file:
            self.assertEqual(file.read(), "old")

    def test_two_commands_with_one_output(self):
        """The table is that of one of them."""
        write_video(self.path("in.avi"), 40, lambda step: frame(step % 30))
        both = [subprocess.Popen([sys.executable, "-m", "cudatracking", "superpixels", "in.avi", "--table=t.csv", "--quiet", f"--frames={count}"], cwd=self.folder) for count in (30, 40)]
        self.assertEqual([one.wait(300) for one in both], [0, 0])
        self.assertIn({int(row["frame"]) for row in rows_of(self.path("t.csv"))}, (set(range(30)), set(range(40))))
        self.assertEqual(sorted(os.listdir(self.folder)), ["in.avi", "t.csv"])

    def test_smallest_video(self):
        """One pixel can be drawn."""
        write_video(self.path("one.avi"), 3, lambda step: np.full((1, 1, 3), 90 * step, np.uint8))
        self.run_command("superpixels", "one.avi", "--draw=t.avi", "--min-area=0", "--quiet")
        self.assertEqual(frames_of(self.path("t.avi")), 3)

    @needs_av
    def test_smallest_video_mp4(self):
        write_video(self.path("one.avi"), 3, lambda step: np.full((1, 1, 3), 90 * step, np.uint8))
        self.run_command("superpixels", "one.avi", "--draw=t.mp4", "--min-area=0", "--quiet")
        self.assertEqual([made.pixels.shape for made in Source(self.path("t.mp4"))], [(2, 2, 3)] * 3)

    @needs_av
    def test_odd_sizes_mp4(self):
        """No row and no column is lost: the last ones, white on black, are there, twice."""
        pixels = np.zeros((61, 97, 3), np.uint8)
        pixels[-1] = pixels[:, -1] = 255
        write_video(self.path("in.avi"), 2, lambda step: pixels)
        self.run_command("detect", "in.avi", "--draw=t.mp4", "--quiet")
        for made in Source(self.path("t.mp4")):
            self.assertEqual(made.pixels.shape, (62, 98, 3))
            edges = made.pixels[-2:, :80], made.pixels[:40, -2:]
            self.assertTrue(min(int(edge.min()) for edge in edges) > 128 > int(made.pixels[:50, :80].max()))

    def test_closed_streams(self):
        """No file of the command takes the number of a standard stream, to which libraries write; rows that would go nowhere are refused."""
        ct.cv2.imwrite(self.path("in.png"), frame(0))
        with open(self.path("bad.png"), "wb") as file:  # libpng writes about it to the standard error
            with open(self.path("in.png"), "rb") as good:
                file.write(good.read()[:400])

        def run(line):
            done = subprocess.run(["sh", "-c", f"{sys.executable} -m cudatracking {line}"], cwd=self.folder, capture_output=True, text=True, timeout=300)
            return done.returncode, done.stdout, done.stderr

        self.assertEqual(run("superpixels in.png --quiet --table=open.csv"), (0, "", ""))
        for streams in ("2>&-", "<&- 2>&-", "<&- >&- 2>&-", "<&-"):
            with self.subTest(streams):
                self.assertEqual(run(f"superpixels in.png --quiet --table=t.csv --draw=t.png {streams}"), (0, "", ""))
                for name in ("open.csv", "t.csv"):
                    with open(self.path(name)) as file:
                        self.assertEqual(file.readline(), "frame,time,file,label,area,x,y,width,height,center_x,center_y,blue,green,red\n")
                        self.assertEqual(len(file.readlines()), len(rows_of(self.path("open.csv"))))
                self.assertEqual(run(f"superpixels in.png --quiet --labels=l.npy {streams}"), (0, "", ""))
                self.assertEqual(np.load(self.path("l.npy")).shape, frame(0).shape[:2])
                self.assertEqual(run(f"superpixels bad.png --table=t.csv {streams}")[:2], (1, ""))
        self.assertEqual(run("superpixels in.png --quiet >&-"), (1, "", "error: the standard output is closed; --table FILE writes the rows to a file\n"))
        self.assertEqual(run("info >&-"), (1, "", "error: the standard output is closed\n"))
        self.assertEqual(run("superpixels in.png --quiet --draw=o.png >&-"), (0, "", ""))

    def test_video_to_a_pipe(self):
        """It is refused before the first frame; an image can be drawn to one."""
        write_video(self.path("in.avi"), 2)
        ct.cv2.imwrite(self.path("in.png"), frame(0))
        for name in ("p.avi", "p.mp4", "p.png"):
            os.mkfifo(self.path(name))
        for name in ("p.avi", "p.mp4"):
            self.assertEqual(self.call_command("superpixels", "in.avi", f"--draw={name}", "--quiet", code=2),
                             ("", f"error: --draw: {name}: is a device or a pipe; a video needs a file, as its head is written last\n"))
        reader = subprocess.Popen(["cat", "p.png"], cwd=self.folder, stdout=subprocess.PIPE)
        self.call_command("superpixels", "in.png", "--draw=p.png", "--quiet")
        self.assertEqual(ct.cv2.imdecode(np.frombuffer(reader.communicate()[0], np.uint8), 1).shape, frame(0).shape)

    def test_closed_terminal(self):
        """SIGHUP ends the command as SIGTERM does, though nobody reads its messages any more; where it is ignored, and with nohup, the
        command goes on, and ends as if they were read."""
        write_video(self.path("in.avi"), 3000, lambda step: frame(step % 30))

        def on_closed_terminal(hangup: Any, *options: str) -> Any:
            mine, other = os.openpty()
            running = subprocess.Popen([sys.executable, "-m", "cudatracking", "superpixels", "in.avi", "--sigma=20", "--device=cpu", *options], cwd=self.folder,
                                       stderr=other, preexec_fn=lambda: signal.signal(signal.SIGHUP, hangup))
            os.close(other)
            os.read(mine, 100)  # progress after a second
            os.close(mine)
            running.send_signal(signal.SIGHUP)
            return running

        self.assertEqual(on_closed_terminal(signal.SIG_IGN, "--frames=150", "--table=i.csv").wait(300), 0)
        self.assertEqual({int(row["frame"]) for row in rows_of(self.path("i.csv"))}, set(range(150)))
        self.assertEqual(on_closed_terminal(signal.SIG_DFL, "--table=t.csv").wait(300), 130)
        frames = {int(row["frame"]) for row in rows_of(self.path("t.csv"))}
        self.assertEqual(frames, set(range(len(frames))))
        self.assertLess(len(frames), 3000)
        ignored = subprocess.Popen(["nohup", sys.executable, "-m", "cudatracking", "superpixels", "in.avi", "--sigma=20", "--device=cpu", "--table=n.csv"], cwd=self.folder,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while "per second" not in ignored.stderr.readline():
            pass
        ignored.send_signal(signal.SIGHUP)
        self.assertIn("per second", ignored.stderr.readline())  # it goes on
        ignored.terminate()
        self.assertIn("ended by a signal", ignored.communicate(timeout=300)[1])


if __name__ == "__main__":
    unittest.main()
