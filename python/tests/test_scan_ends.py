"""How a scan ends: workers that can never work, errors, signals, folders that are no scan's, and tables whose parts are not what they should be."""
import json
import os
import shutil
import signal
import sys
import unittest
from unittest import mock

import cudatracking as ct
from cudatracking.scan import _executors, _run, scan
from test_scan import FORMAT, JOBS, ScanTest, digest, write_video

DYING = ("import cudatracking.scan._worker as worker, os; "
         "worker.Worker.{method} = lambda self, task, real=worker.Worker.{method}: {condition} and (os.write(2, b'malloc of size 4 failed\\n'), os.kill(os.getpid(), 11)) "
         "or real(self, task); ")


class EndsTest(ScanTest):
    def state(self, out="out"):
        with open(self.path(out, "manifest.json")) as file:
            manifest = json.load(file)
        return manifest["state"], manifest

    def options(self, job="superpixels", workers="cpu:1", segment=1, out="out"):
        return super().options(job, workers, segment, out)

    def scan(self, workers="cpu:1", **named):
        return scan([self.videos], self.path("out"), "superpixels", JOBS["superpixels"][1], workers=workers, executor="processes", segment=1., format=FORMAT, **named)

    def one(self, *options):
        return [os.path.join(self.videos, "v9.mkv"), *self.options()[1:], "--quiet", *options]


class WorkersTest(EndsTest):
    def dying_workers(self, method, condition="True"):
        """Workers that end by signal 11 in a method, if the condition on the task holds. Returns the file with a line for each that was started."""
        program, count = self.path("worker"), self.path("started")
        with open(program, "w") as file:
            file.write(f"#!{sys.executable}\nimport sys\nopen({count!r}, 'a').write('x\\n')\ncode = sys.argv[2]\n"
                       f"exec(code.replace('from cudatracking', {DYING.format(method=method, condition=condition)!r} + 'from cudatracking', 1))\n")
        os.chmod(program, 0o755)
        patch = mock.patch.object(sys, "executable", program)
        patch.start()
        self.addCleanup(patch.stop)
        return count

    def test_workers_that_can_never_work(self):
        """The scan ends after a few tries, whatever the number of videos and segments, with the workers' own last words."""
        for method in ("_index", "_segment"):
            with self.subTest(method):
                count = self.dying_workers(method)
                with self.assertRaisesRegex(ct.error, r"\Ano worker can work: each died in all of 3 tries on [34] tasks \(.*v1.ts.*\); the last time "
                                                      r"the worker ended by signal 11: .*malloc of size 4 failed\Z"):
                    self.scan()
                with open(count) as file:
                    self.assertLessEqual(len(file.readlines()), 3 * 4 + 1)
                state, manifest = self.state()
                self.assertEqual((state, manifest["error"][:14]), ("failed", "no worker can "))
                mock.patch.stopall()
                shutil.rmtree(self.path("out"))
                os.remove(count)

    def test_one_video_that_kills_workers(self):
        """It is given up without a try of each of its segments; the others are done, and a resumed scan does it too."""
        self.dying_workers("_segment", "'v1.ts' in task['video']")
        with mock.patch.object(_run, "HOPELESS", 2):
            done = self.scan()
        reasons = [failure.reason for failure in done.failures]
        self.assertEqual([failure.video[-5:] for failure in done.failures], ["v1.ts"] * 3)
        self.assertEqual(reasons[2], "its other segments were not tried, after 2 were given up")
        self.assertRegex(reasons[0], r"\Agiven up after 3 tries: the worker ended by signal 11: .*malloc of size 4 failed\Z")
        self.assertEqual((self.state()[0], done.segments), ("failed", 7))
        mock.patch.stopall()
        self.assertEqual(digest(self.scan(resume=True).table), self.expected("superpixels"))

    def test_worker_that_cannot_start(self):
        program = self.path("worker")
        with open(program, "w") as file:
            file.write("#!/bin/sh\necho 'ImportError: libssl.so.3: failed to map segment' >&2\nexit 1\n")
        os.chmod(program, 0o755)
        with mock.patch.object(sys, "executable", program):
            with self.assertRaisesRegex(ct.error, "no worker can work: .*the worker ended with exit code 1: ImportError: libssl.so.3: failed to map segment"):
                self.scan()

    def test_words_of_ray(self):
        died = ("The actor died unexpectedly before finishing this task.\n\tclass_name: Worker\n\tactor_id: 3\nThe actor is dead because its worker process has died. "
                "Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of file. Some common causes include: (1) x")
        traceback = "\x1b[36mray::Worker.call()\x1b[39m (pid=3, ip=1)\n  File \"x.py\", line 3, in call\n    raise MemoryError(1)\nMemoryError: too large\n"
        for text, words in ((died, "the worker ended: Worker unexpectedly exits with a connection error code 2. End of file. Its own words are in Ray's logs"),
                            (traceback, "MemoryError: too large"), ("plain\nmore", "plain"), ("", "Exception")):
            self.assertEqual(_executors._essence(Exception(text)), words)


class PlanTest(EndsTest):
    def with_answers(self, change, **named):
        """A scan; change(real, task, answer) is called for each answer in the place of real(task, answer)."""
        real = _run.Scan._ended
        with mock.patch.object(_run.Scan, "_ended", lambda scan, task, answer: change(lambda task, answer: real(scan, task, answer), task, answer)):
            return self.scan("cpu:2", **named)

    def test_answers_of_a_plan_that_was_replaced(self):
        """A video is planned anew while its segments are at work; what becomes of these has no effect."""
        for name, stale in (("failed", {"kind": "failed", "reason": "x"}), ("died", _executors.WorkerDied("x")), ("inexact", {"kind": "inexact"})):
            for tries in (0, _run.TRIES - 1):
                with self.subTest(name, tries=tries):
                    seen = []

                    def change(real, task, answer):
                        if task.segment is not None and not seen:
                            seen.append(task)
                            real(task._replace(segment=0), {"kind": "inexact"})
                            for segment in (0, 1):
                                real(task._replace(segment=segment, tries=tries), stale)
                        else:
                            real(task, answer)

                    done = self.with_answers(change)
                    self.assertEqual((done.failures, digest(done.table)), ([], self.expected("superpixels")))
                    shutil.rmtree(self.path("out"))

    def test_audit_that_is_inexact(self):
        """It says nothing of the bytes: the segment is decoded once more in order."""
        again = []

        def change(real, task, answer):
            if task.audit:
                again.append(task.whole)
            real(task, {"kind": "inexact"} if task.audit and not task.whole else answer)

        done = self.with_answers(change, audit=1.)
        self.assertEqual((done.failures, sorted(again)), ([], sorted([False, True] * done.segments)))


class ErrorsTest(EndsTest):
    def test_state_after_an_error(self):
        """Whatever ends a scan, its manifest does not say that it runs."""
        def full(*_given):
            raise _run.StorageError("x: No space left on device")

        def broken(*_given):
            raise KeyError("a fault")

        def interrupted(*_given):
            raise KeyboardInterrupt

        for state, method, ends in (("failed", "_keep", full), ("failed", "_keep", broken), ("stopped", "_keep", interrupted), ("failed", "_merge", full), ("failed", "_finish", full)):
            with self.subTest(f"{state} {method} {ends.__name__}"):
                with mock.patch.object(_run.Scan, method, ends), self.assertRaises((ct.error, KeyError, KeyboardInterrupt)) as raised:
                    self.scan(resume=True)
                if ends is full:
                    self.assertIn("what is done stays, and --resume goes on from there", str(raised.exception))
                found, manifest = self.state()
                self.assertEqual((found, bool(manifest["error"]), len(manifest["videos"])), (state, True, 3))
                # As on a disk without space for another manifest.
                whole = _run.Scan._manifest
                with mock.patch.object(_run.Scan, method, ends), self.assertRaises((ct.error, KeyError, KeyboardInterrupt)), \
                        mock.patch.object(_run.Scan, "_manifest", lambda self, contents: whole(self, contents) if contents["state"] == "running" else full()):
                    self.scan(resume=True)
                found, manifest = self.state()
                self.assertEqual((found, "error" in manifest), (state, False))
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
            if os.path.exists(self.path("out", "journal.jsonl")) and os.path.getsize(self.path("out", "journal.jsonl")):
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
        for name in ("table.csv", "table.parquet", "journal.jsonl", "parts/data.bin", "parts/.hidden", "states/x"):
            os.makedirs(os.path.dirname(self.path("out", name)), exist_ok=True)
            with open(self.path("out", name), "w") as file:
                file.write("mine\n")
            for more in ((), ("--resume",)):
                self.assertIn(f"{name.split('/')[0]}, but no manifest of a scan", self.call_command(*self.one(*more), code=1))
            with open(self.path("out", name)) as file:
                self.assertEqual(file.read(), "mine\n")
            shutil.rmtree(self.path("out"))
        for name in ("index/.hidden", ".git/config", "index/.git/config"):
            os.makedirs(os.path.dirname(self.path("out", name)), exist_ok=True)
            with open(self.path("out", name), "w") as file:
                file.write("mine\n")
        self.call_command(*self.one())
        for name in ("index/.hidden", ".git/config", "index/.git/config"):
            self.assertTrue(os.path.isfile(self.path("out", name)), name)

    def test_folder_that_cannot_be_read(self):
        """An error of the operating system is said with the name of the file, and without its number."""
        self.call_command(*self.one())
        with mock.patch.object(_run.os, "rename", lambda one, two: os.open(self.path("none", "x"), os.O_RDONLY)):
            errors = self.call_command(*self.one("--resume", "--sigma=3"), code=1)
        self.assertEqual(errors, f"error: {self.path('none', 'x')}: No such file or directory\n")

    def test_manifest_without_settings(self):
        self.call_command(*self.one())
        for settings in (5, None, "x", []):
            manifest = self.state()[1]
            with open(self.path("out", "manifest.json"), "w") as file:
                json.dump({**manifest, "settings": settings}, file)
            self.assertIn("cannot be read as a manifest", self.call_command(*self.one("--resume"), code=1))
            self.assertEqual(self.state()[1]["settings"], settings)

    def test_parts_of_other_segments(self):
        """Parts that are exchanged in the journal are noticed when they are merged, and the next --resume computes them again."""
        for kind in ("csv", *(["parquet"] if FORMAT == "parquet" else [])):
            for exchange in ((0, 1), (0, -1)):  # of one video, and of two
                with self.subTest(f"{kind} {exchange}"):
                    shutil.rmtree(self.path(kind), ignore_errors=True)
                    options = [option for option in self.options(out=kind) if not option.startswith("--format")] + [f"--format={kind}", "--quiet", "--resume"]
                    self.call_command(*options)
                    right = digest(self.path(kind, f"table.{kind}"))
                    with open(self.path(kind, "journal.jsonl")) as file:
                        records = [json.loads(line) for line in file]
                    records.sort(key=lambda record: (record["video"], record["first"]))
                    one, two = (records[i] for i in exchange)
                    one["part"], two["part"] = two["part"], one["part"]
                    with open(self.path(kind, "journal.jsonl"), "w") as file:
                        file.writelines(json.dumps(record) + "\n" for record in records)
                    errors = self.call_command(*options, code=1)
                    self.assertRegex(errors, r"has not the rows of .*, frames \d+ to \d+, as the journal says; 2 such segments to be computed again")
                    self.assertEqual(digest(self.path(kind, f"table.{kind}")), right)  # the old table stays
                    self.call_command(*options)
                    self.assertEqual(digest(self.path(kind, f"table.{kind}")), right)


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
        errors = self.call_command("in.avi", "--job=superpixels", "--out=out", "--format=csv", "--workers=cpu:1", "--segment=.5", "--quiet", code=1)
        self.assertRegex(errors, r"\Aerror: in.avi: 4 frames missing \(3, 6, 9 to 10\): [^\n]*\n\Z")
        self.assertEqual([(failure["first"], failure["last"]) for failure in self.state()[1]["failures"]][0], (3, 4))

    def test_lines_of_failures(self):
        gap = lambda first, last, video="a", reason="is damaged": _run.Failure(video, first, last, reason, True)
        self.assertEqual(_run.lines_of([gap(3, 4)]), ["a: frame 3: is damaged"])
        self.assertEqual(_run.lines_of([gap(3, 5)]), ["a: frames 3 to 4: is damaged"])
        self.assertEqual(_run.lines_of([gap(3, 5), gap(5, 9)]), ["a: frames 3 to 8: is damaged"])
        self.assertEqual(_run.lines_of([gap(i, i + 1) for i in range(3, 270, 3)]), ["a: 89 frames missing (3, 6, 9 ...): is damaged"])
        self.assertEqual(_run.lines_of([gap(1, 2), gap(5, 6, "b"), _run.Failure("a", None, None, "x"), gap(4, 6), gap(8, 9, reason="y")]),
                         ["a: 3 frames missing (1, 4 to 5): is damaged", "b: frame 5: is damaged", "a: x", "a: frame 8: y"])
        self.assertEqual(_run.lines_of([_run.Failure("a", i, i + 1, "audit: x") for i in range(2)]), ["a: frame 0: audit: x", "a: frame 1: audit: x"])


if __name__ == "__main__":
    unittest.main()
