"""How a scan ends: workers that can never work, errors, signals, folders that are no scan's, and tables whose parts are not what they should be."""
import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
import unittest
from unittest import mock

import cudatracking as ct
from cudatracking.scan import _executors, _run, scan
from test_scan import FORMAT, JOBS, ScanTest, digest, has_done, write_video

DYING = """import os

from cudatracking.scan import _worker

real = _worker.Worker.call

def call(self, task):
    if {condition}:
        with open({count!r}, "a") as file:
            file.write("x\\n")
        os.write(2, b"malloc of size 4 failed\\n")
        os.kill(os.getpid(), 11)
    return real(self, task)

_worker.Worker.call = call
"""


class EndsTest(ScanTest):
    def state(self, out="out"):
        with open(self.path(out, "manifest.json")) as file:
            manifest = json.load(file)
        return manifest["state"], manifest

    def options(self, job="superpixels", workers="cpu:1", out="out"):
        return super().options(job, workers, out)

    def scan(self, workers="cpu:1", **named):
        return scan([self.videos], self.path("out"), "superpixels", JOBS["superpixels"][1], workers=workers, executor="processes", format=FORMAT, **named)

    def one(self, *options):
        return [os.path.join(self.videos, "v9.mkv"), *self.options()[1:], "--quiet", *options]


class WorkersTest(EndsTest):
    @contextlib.contextmanager
    def program_of_workers(self, program):
        """Each worker runs this program first."""
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "sitecustomize.py"), "w") as file:
                file.write("import sys\nif '--multiprocessing-fork' in sys.argv:\n" + "".join(f"    {line}\n" for line in program.splitlines()))
            with mock.patch.dict(os.environ, {"PYTHONPATH": folder + os.pathsep + os.environ.get("PYTHONPATH", "")}):
                yield

    def dying_workers(self, condition="True"):
        """Workers that end by signal 11 when they get a task for which the condition holds."""
        return self.program_of_workers(f"sys.path[:] = {sys.path!r}\n" + DYING.format(count=self.path("count"), condition=condition))

    def test_workers_that_can_never_work(self):
        """The scan ends after a few tries, whatever the number of videos, with the workers' own last words."""
        with self.dying_workers():
            with self.assertRaisesRegex(ct.error, r"\Ano worker can work: each died in all of 3 tries on 3 videos \(.*v1.ts.*\); the last time "
                                                  r"the worker ended by signal 11: .*malloc of size 4 failed\Z"):
                self.scan()
            with open(self.path("count")) as file:
                self.assertEqual(len(file.readlines()), 3 * 3)

    def test_one_video_that_kills_workers(self):
        """It is given up; the others are done, and a resumed scan does it too."""
        with self.dying_workers("task and 'v1.ts' in task['video']"):
            done = self.scan()
        self.assertEqual([failure.video[-5:] for failure in done.failures], ["v1.ts"])
        self.assertRegex(done.failures[0].reason, r"\Agiven up after 3 tries: the worker ended by signal 11: .*malloc of size 4 failed\Z")
        self.assertEqual((self.state()[0], done.videos), ("failed", 2))
        self.assertEqual(digest(self.scan(resume=True).table), self.expected("superpixels"))

    def test_worker_that_cannot_start(self):
        with self.program_of_workers("import os\nos._exit(1)"):
            with self.assertRaisesRegex(ct.error, "no worker can work: .*the worker ended with exit code 1"):
                self.scan()

    def test_words_of_ray(self):
        died = ("The actor died unexpectedly before finishing this task.\n\tclass_name: Worker\n\tactor_id: 3\nThe actor is dead because its worker process has died. "
                "Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of file. Some common causes include: (1) x")
        traceback = "\x1b[36mray::Worker.call()\x1b[39m (pid=3, ip=1)\n  File \"x.py\", line 3, in call\n    raise MemoryError(1)\nMemoryError: too large\n"
        for text, words in ((died, "the worker ended: Worker unexpectedly exits with a connection error code 2. End of file. Its own words are in Ray's logs"),
                            (traceback, "MemoryError: too large"), ("plain\nmore", "plain"), ("", "Exception")):
            self.assertEqual(_executors.RayWorker.last_words(mock.Mock(), Exception(text)), words)


class ErrorsTest(EndsTest):
    def test_state_after_an_error(self):
        """There is a manifest of scans that have come to an end only: none of an older one is left after an error."""
        def full(*_given):
            raise _run.StorageError("x: No space left on device")

        def broken(*_given):
            raise KeyError("a fault")

        def interrupted(*_given):
            raise KeyboardInterrupt

        self.scan()
        self.assertEqual(self.state()[0], "done")
        for name in os.listdir(self.path("out", "parts")):
            os.remove(self.path("out", "parts", name))
        for method, ends in (("_keep", full), ("_keep", broken), ("_keep", interrupted), ("_merge", full), ("_finish", full)):
            with self.subTest(f"{method} {ends.__name__}"):
                with mock.patch.object(_run.Scan, method, ends), self.assertRaises((ct.error, KeyError, KeyboardInterrupt)) as raised:
                    self.scan(resume=True)
                if ends is full:
                    self.assertIn("what is done stays, and --resume goes on from there", str(raised.exception))
                self.assertFalse(os.path.exists(self.path("out", "manifest.json")))
        self.scan(resume=True)
        self.assertEqual((self.state()[0], self.table()), ("done", self.expected("superpixels")))

    def test_hang_up(self):
        """SIGHUP, as from a terminal that is closed, ends a scan as SIGTERM does."""
        running = self.command(os.path.join(self.videos, "v9.mkv"), "--job=superpixels", "--sigma=100", "--out=out", f"--format={FORMAT}", "--workers=cpu:1")
        running.stderr.readline()  # progress after a second
        running.send_signal(signal.SIGHUP)
        errors = running.communicate(timeout=300)[1]
        self.assertEqual((running.returncode, self.state()[0]), (130, "stopped"), errors)
        self.assertIn("stopped; --resume goes on", errors)

    def test_folder_that_is_removed(self):
        def gone():
            if has_done(self.path("out", "journal.jsonl")):
                shutil.rmtree(self.path("out"), ignore_errors=True)
            return False

        with self.assertRaises(ct.error) as raised:
            self.scan(stopped=gone)
        self.assertIn("out: was removed or moved while the scan worked in it", str(raised.exception))
        self.assertNotIn("resume", str(raised.exception))

    def test_packages_that_are_broken(self):
        """A package that is installed and cannot be imported is not called missing."""
        write_video(self.path("in.mp4"), 3)
        for name, options in (("av", ["--format=csv", "--executor=processes"]), ("pyarrow", ["--format=parquet", "--executor=processes"]), ("ray", ["--format=csv", "--executor=ray"])):
            for text, words in (("raise ImportError('libssl.so.3: failed to map segment')", f"{name} cannot be imported: libssl.so.3: failed to map segment"),
                                ("import nothing_of_this_name", f"{name} cannot be imported: No module named 'nothing_of_this_name'")):
                folder = self.path(f"broken_{name}", name)
                os.makedirs(folder, exist_ok=True)
                with open(os.path.join(folder, "__init__.py"), "w") as file:
                    file.write(text + "\n")
                with mock.patch.dict(os.environ, {"PYTHONPATH": os.path.dirname(folder) + os.pathsep + os.environ.get("PYTHONPATH", "")}):
                    done = self.command("in.mp4", "--job=superpixels", f"--out={name}", *options[:1], executor=options[1][11:])
                errors = done.communicate(timeout=300)[1]
                self.assertEqual((done.returncode, errors), (1, f"error: {words}\n"))


class FoldersTest(EndsTest):
    def test_folder_that_is_a_file(self):
        with open(self.path("out"), "w") as file:
            file.write("mine")
        self.assertIn("out: out: is a file; a folder is needed", self.call_command(*self.one(), code=1))
        with open(self.path("out")) as file:
            self.assertEqual(file.read(), "mine")

    def test_folder_with_files_of_others(self):
        """Nothing that a scan has not made is changed or removed."""
        for name in ("table.csv", "table.parquet", "manifest.json", "journal.jsonl", "parts/data.bin", "parts/.hidden"):
            os.makedirs(os.path.dirname(self.path("out", name)), exist_ok=True)
            with open(self.path("out", name), "w") as file:
                file.write("mine\n")
            for more in ((), ("--resume",)):
                self.assertRegex(self.call_command(*self.one(*more), code=1), rf"{name.split('/')[0]}(, but|: is) no journal of a scan")
            with open(self.path("out", name)) as file:
                self.assertEqual(file.read(), "mine\n")
            shutil.rmtree(self.path("out"))
        for name in (".hidden", ".git/config", "mine/.hidden"):
            os.makedirs(os.path.dirname(self.path("out", name)), exist_ok=True)
            with open(self.path("out", name), "w") as file:
                file.write("mine\n")
        self.call_command(*self.one())
        for name in (".hidden", ".git/config", "mine/.hidden"):
            self.assertTrue(os.path.isfile(self.path("out", name)), name)

    def test_folder_that_cannot_be_read(self):
        """An error of the operating system is said with the name of the file, and without its number."""
        self.call_command(*self.one())
        with mock.patch.object(_run, "sha256_of_file", lambda path: os.open(self.path("none", "x"), os.O_RDONLY)), mock.patch.object(_run.Scan, "_open", lambda *_given: None):
            errors = self.call_command(*self.one("--resume"), code=1)
        self.assertEqual(errors, f"error: {self.path('none', 'x')}: No such file or directory\n")


class DamageTest(EndsTest):
    def test_many_damaged_frames(self):
        """One line for all of a video, and not one for each frame."""
        write_video(self.path("in.avi"), 12, codec="mjpeg")
        with open(self.path("in.avi"), "rb") as file:
            data = bytearray(file.read())
        at = data.find(b"movi")
        for number in range(12):
            at = data.find(b"00dc", at)
            size = int.from_bytes(data[at + 4:at + 8], "little")
            if number in (3, 6, 9, 10):
                data[at + 8:at + 8 + size] = bytes(size)
            at += 8 + size
        with open(self.path("in.avi"), "wb") as file:
            file.write(data)
        errors = self.call_command("in.avi", "--job=superpixels", "--out=out", "--format=csv", "--workers=cpu:1", "--quiet", code=1)
        self.assertRegex(errors, r"\Aerror: in.avi: 4 frames missing \(3, 6, 9 to 10\): [^\n]*\n\Z")
        self.assertEqual(self.state()[1]["failures"][0]["frames"], [[3, 4], [6, 7], [9, 11]])

    def test_lines_of_failures(self):
        for frames, line in (([(3, 4)], "a: frame 3: x"), ([(3, 5)], "a: frames 3 to 4: x"), ([(1, 2), (4, 6)], "a: 3 frames missing (1, 4 to 5): x"),
                             ([(i, i + 1) for i in range(3, 270, 3)], "a: 89 frames missing (3, 6, 9 ...): x"), ([], "a: x")):
            self.assertEqual(str(_run.Failure("a", frames, "x")), line)


if __name__ == "__main__":
    unittest.main()
