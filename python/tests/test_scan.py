"""Scans of many videos: one table whatever the workers and kills; what is damaged is named and the rest goes on."""
import collections
import contextlib
import csv
import ctypes
import fractions
import functools
import hashlib
import importlib.util
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import types
import unittest
from unittest import mock

import numpy as np

import cudatracking as ct
from cudatracking._command import main
from cudatracking.scan import scan
from command_case import SIGNALS
from scenes import box, frame

HAVE = {name: importlib.util.find_spec(name) is not None for name in ("av", "pyarrow", "ray")}
FORMAT = "parquet" if HAVE["pyarrow"] else "csv"
KILLS = 20
BOX = ",".join(map(str, box(0)))
JOBS = {
    "detect": (["--cascade=lbp_frontalface", "--min-neighbors=0"], {"cascade": ["lbp_frontalface"], "min_neighbors": 0}),
    "superpixels": (["--sigma=2", "--max-dist=4"], {"sigma": 2., "max_dist": 4.}),
    "track": ([f"--box={BOX}", "--seed=3"], {"seed": 3}),
}


def needs(name, what):
    return unittest.skipUnless(HAVE[name], f"{what} is not installed")


@functools.lru_cache(maxsize=None)
def why_ray_does_not_start():
    """Why Ray's own programs do not run on this machine, such as for want of shared memory; empty when they do."""
    os.environ.setdefault("RAY_raylet_start_wait_time_s", "120")  # on a busy machine
    code = "import ray; ray.init(address='local', num_cpus=1, include_dashboard=False, log_to_driver=False); ray.shutdown()"
    try:
        done = subprocess.run([sys.executable, "-c", code], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240)
    except subprocess.TimeoutExpired:
        return "ray.init() takes more than 240 s"
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]


def needs_ray(test):
    @needs("ray", "Ray")
    @functools.wraps(test)
    def checked(self):
        if why_ray_does_not_start():
            self.skipTest(f"Ray does not start here: {why_ray_does_not_start()}")
        test(self)
    return checked


def write_video(path, count, frames=frame, codec="", key_frames=10):
    """A video of 10 frames a second; H.264 with frames before the key frame that refer to the key frame, where there is an encoder."""
    import av
    codec = codec or ("libx264" if "libx264" in av.codecs_available else "mpeg4")
    height, width = frames(0).shape[:2]
    with av.open(path, "w") as container:
        stream = container.add_stream(codec, rate=10)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuvj420p" if codec == "mjpeg" else "yuv420p"
        stream.options = {} if codec == "mjpeg" else {"g": str(key_frames), "bf": "2"}
        if codec == "libx264":
            stream.options["x264-params"] = f"open-gop=1:keyint={key_frames}:min-keyint={key_frames}:scenecut=0:threads=1"
        for step in range(count):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frames(step % 30), format="bgr24")))
        container.mux(stream.encode(None))


def damage(path, seed, places=4):
    """Overwrites some bytes in the middle of a file."""
    rng = np.random.RandomState(seed)
    with open(path, "rb") as file:
        data = bytearray(file.read())
    for at in rng.randint(len(data) // 5, len(data) * 9 // 10, places):
        data[at:at + 4] = rng.bytes(4)
    with open(path, "wb") as file:
        file.write(data)


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def children(pid):
    """Worker processes of a scan."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as file:
                    parent = int(file.read().rsplit(")", 1)[1].split()[1])
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    line = file.read()
            except OSError:
                continue
            if parent == pid and b"spawn_main" in line:
                found.append(int(name))
    return sorted(found)


def has_done(journal):
    """Whether a scan has done a video: its journal has more than the head."""
    try:
        with open(journal, "rb") as file:
            return file.read().count(b"\n") > 1
    except OSError:
        return False


def runs(pid):
    """Whether a process has not ended; one that nobody has asked for its exit code yet has."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def ray_workers(folder):
    """Processes of actors that have this folder's scan; their title names the class."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    line = file.read()
                with open(f"/proc/{name}/environ", "rb") as file:
                    mine = f"CUDATRACKING_TEST={folder}\0".encode() in file.read()
            except OSError:
                continue
            if mine and line.startswith(b"ray::Worker"):
                found.append(int(name))
    return found


@needs("av", "PyAV")
class ScanTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.videos = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.videos)
        for name, count in (("v10.mp4", 40), ("v9.mkv", 25), ("deep/v1.ts", 30)):
            os.makedirs(os.path.dirname(os.path.join(cls.videos, name)), exist_ok=True)
            write_video(os.path.join(cls.videos, name), count)
        cls.single = {}

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = lambda *names: os.path.join(folder.name, *names)

    def command(self, *arguments, executor="processes", **named):
        return subprocess.Popen([sys.executable, "-m", "cudatracking", "scan", *arguments, f"--executor={executor}"], cwd=self.folder, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "CUDATRACKING_TEST": self.folder}, **named)

    def run_command(self, *arguments, code=0, **named):
        running = self.command(*arguments, **named)
        output, errors = running.communicate(timeout=300)
        self.assertEqual(running.returncode, code, f"{arguments}\n{output}\n{errors}")
        self.assertNotIn("Traceback", errors)
        return errors

    def call_command(self, *arguments, code=0):
        """The command in this process, which is quicker, from the folder of the test."""
        errors, before = io.StringIO(), os.getcwd()
        handlers = {number: signal.getsignal(number) for number in SIGNALS}
        os.chdir(self.folder)
        try:
            with contextlib.redirect_stderr(errors):
                try:
                    done = main(["scan", *arguments, "--executor=processes"])
                except SystemExit as ended:
                    done = ended.code
        finally:
            os.chdir(before)
            for number, handler in handlers.items():
                signal.signal(number, handler)
        self.assertEqual(done, code, f"{arguments}\n{errors.getvalue()}")
        return errors.getvalue()

    def expected(self, job):
        """The SHA-256 of the table of a single pass with one worker."""
        if job not in self.single:
            with tempfile.TemporaryDirectory() as folder:
                done = scan([self.videos], folder, job, JOBS[job][1], boxes={"*": [[0, *box(0)]]} if job == "track" else None, workers="cpu:1",
                            executor="processes", format=FORMAT)
                self.assertEqual((done.videos, done.failures), (3, []))
                self.assertGreater(done.rows, 90)
                self.single[job] = digest(done.table)
        return self.single[job]

    def table(self, name="out"):
        return digest(self.path(name, f"table.{FORMAT}"))

    def options(self, job, workers="cpu:2", out="out"):
        return [self.videos, f"--job={job}", f"--out={out}", f"--workers={workers}", f"--format={FORMAT}", *JOBS[job][0]]


class EqualTest(ScanTest):
    def test_workers(self):
        for job in JOBS:
            with self.subTest(job):
                self.run_command(*self.options(job), "--audit=.2", "--quiet")
                self.assertEqual(self.table(), self.expected(job))
                with open(self.path("out", "manifest.json")) as file:
                    manifest = json.load(file)
                self.assertEqual((manifest["state"], manifest["table"]["sha256"]), ("done", self.expected(job)))
                self.assertEqual([(video["name"][len(self.videos) + 1:], video["length"]) for video in manifest["videos"]],
                                 [("deep/v1.ts", 30), ("v9.mkv", 25), ("v10.mp4", 40)])
                self.assertGreaterEqual(manifest["audit"]["videos"], 1)
                self.assertEqual(manifest["audit"]["different"], 0)
                self.assertEqual({digest(self.path("out", "parts", name)) for name in os.listdir(self.path("out", "parts"))}, {video["part"] for video in manifest["videos"]})
                for video in manifest["videos"]:
                    self.assertEqual(digest(video["name"]), video["sha256"])
                shutil.rmtree(self.path("out"))

    def test_decoders(self):
        """As many threads as a worker with a GPU has give the same frames."""
        from cudatracking.scan._video import Frames
        for name in ("v10.mp4", "v9.mkv", "deep/v1.ts"):
            for color in (False, True):
                one, four = ([(number, seconds, pixels.tolist()) for batch in Frames(os.path.join(self.videos, name), color, threads).batches(5)
                              for number, seconds, pixels in batch] for threads in (1, 4))
                self.assertEqual(one, four)

    def test_csv(self):
        video = os.path.join(self.videos, "v10.mp4")
        errors = self.run_command(video, "--job=track", f"--box={BOX}", "--out=out", "--format=csv", "--workers=cpu:2")
        self.assertRegex(errors, r"1 video, 1 of them now; 40 frames in [0-9.]+ s, [0-9.]+ per second")
        with open(self.path("out", "table.csv"), newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([(row["video"], row["frame"], float(row["time"]), row["id"]) for row in rows], [(video, str(i), i / 10, "0") for i in range(1, 40)])
        self.assertLess(abs(float(rows[10]["x"]) - box(11)[0]), 3)
        # The tracker sees what the command `track` sees but for the colors, which it leaves out anyway.
        with open(self.path("boxes.csv"), "w") as file:
            file.write(f"video,frame,x,y,width,height\n{video},7,{','.join(map(str, box(7)))}\n")
        self.run_command(video, "--job=track", "--boxes=boxes.csv", "--out=late", "--format=csv", "--workers=cpu:1", "--quiet")
        with open(self.path("late", "table.csv"), newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([row["frame"] for row in rows], [str(i) for i in range(8, 40)])
        self.assertLess(abs(float(rows[0]["x"]) - box(8)[0]), 3)

    @needs("pyarrow", "pyarrow")
    def test_parquet(self):
        import pyarrow.parquet as parquet
        video = os.path.join(self.videos, "v9.mkv")
        for kind in ("csv", "parquet"):
            self.call_command(video, "--job=superpixels", "--out", kind, "--format", kind, "--workers=cpu:1", "--quiet")
        rows = parquet.read_table(self.path("parquet", "table.parquet")).to_pylist()
        with open(self.path("csv", "table.csv"), newline="") as file:
            texts = list(csv.DictReader(file))
        self.assertEqual([{name: str(value) for name, value in row.items()} for row in rows], texts)

    def test_audit_finds_other_bytes(self):
        self.run_command(*self.options("detect"), "--quiet")
        # A part with another byte, and a journal that vouches for it, as a faulty worker would leave them.
        with open(self.path("out", "journal.jsonl")) as file:
            records = [json.loads(line) for line in file]
        parts = {digest(self.path("out", "parts", name)): self.path("out", "parts", name) for name in os.listdir(self.path("out", "parts"))}
        path = parts[records[1]["part"]]
        with open(path, "rb") as file:
            data = file.read()
        with open(path, "wb") as file:
            file.write(data.replace(b"lbp_frontalface", b"Lbp_frontalface", 1))
        records[1]["part"] = digest(path)
        with open(self.path("out", "journal.jsonl"), "w") as file:
            file.writelines(json.dumps(record) + "\n" for record in records)
        errors = self.run_command(*self.options("detect"), "--resume", "--audit=1", code=1)
        self.assertEqual(errors.count("audit: the CPU computes other bytes"), 1, errors)
        self.assertNotEqual(self.table(), self.expected("detect"))
        self.run_command(*self.options("detect"), "--resume", "--quiet")  # what was wrong is done again
        self.assertEqual(self.table(), self.expected("detect"))

    def test_audit_later(self):
        """The results of a finished scan are audited, also where a video is damaged."""
        damaged = self.path("damaged.mp4")
        write_video(damaged, 40)
        with open(damaged, "rb") as file:
            data = bytearray(file.read())
        at = len(data) // 3
        data[at:at + 16] = bytes(16)
        with open(damaged, "wb") as file:
            file.write(data)
        options = [damaged, *self.options("track")]
        self.run_command(*options, "--quiet", code=1)  # missing frames are failures
        errors = self.run_command(*options, "--resume", "--audit=1", "--quiet", code=1)
        self.assertRegex(errors, r"damaged.mp4: (frames \d+ to \d+|\d+ frames missing \(.*\)): ")
        self.assertNotIn("audit", errors)
        with open(self.path("out", "manifest.json")) as file:
            self.assertEqual(json.load(file)["audit"], {"part": 1., "videos": 4, "different": 0})

    def test_audit_finds_another_file(self):
        """Other contents of a video behind the same size and time of modification."""
        write_video(self.path("a.mkv"), 20)
        write_video(self.path("b.mkv"), 20, lambda step: frame(29 - step))
        options = ["a.mkv", *self.options("superpixels")[1:], "--quiet"]
        with open(self.path("a.mkv"), "ab") as one, open(self.path("b.mkv"), "ab") as other:
            size = max(one.tell(), other.tell())
            for file in (one, other):
                file.write(bytes(size - file.tell()))
        os.utime(self.path("a.mkv"), (1e9, 1e9))
        self.call_command(*options)
        shutil.copy(self.path("b.mkv"), self.path("a.mkv"))
        os.utime(self.path("a.mkv"), (1e9, 1e9))
        self.call_command(*options, "--resume")
        self.assertIn("audit: the CPU computes other bytes", self.call_command(*options, "--resume", "--audit=.001", code=1))

    @unittest.skipUnless(ct.devices(), "no CUDA device")
    def test_devices(self):
        for job in JOBS:
            self.run_command(*self.options(job, "gpu:1", out=job), "--per-gpu=2", "--audit=.2", "--quiet")
            self.assertEqual(self.table(job), self.expected(job), job)


    @unittest.skipUnless(ct.devices() and importlib.util.find_spec("PyNvVideoCodec"), "no CUDA device, or no PyNvVideoCodec")
    def test_decoded_on_devices(self):
        """The GPU's own decoder is used for all videos in H.264, and the table has the same bytes."""
        import av
        if "libx264" not in av.codecs_available:
            self.skipTest("this PyAV has no encoder for H.264")
        for job in ("detect", "track"):
            errors = self.run_command(*self.options(job, "gpu:1", out=job), "--per-gpu=2", "--decode=device")
            self.assertEqual(self.table(job), self.expected(job), job)
            self.assertNotIn("decoded on the host", errors)


class KillTest(ScanTest):
    def test_killed_at_random(self):
        self.kill_at_random("cpu:2")

    @unittest.skipUnless(ct.devices(), "no CUDA device")
    def test_killed_at_random_on_devices(self):
        self.kill_at_random(f"gpu:{len(ct.devices())}")

    def kill_at_random(self, workers):
        """The driver or a worker is killed 20 times; each time the scan goes on and ends with the table of a single pass."""
        rng = random.Random(20)
        kills, resumed, number = {"driver": 0, "worker": 0}, 0, 0

        def lines(out):
            try:
                with open(self.path(out, "journal.jsonl"), "rb") as file:
                    return file.read().count(b"\n")
            except OSError:
                return 0

        while sum(kills.values()) < KILLS:
            job, out = ("track", "superpixels", "detect")[number % 3], f"out{number}"
            before, wanted = lines(out), rng.randrange(4)
            running = self.command(*self.options(job, workers, out=out), "--resume", "--quiet")
            # At a random moment of the start, or after a random number of videos.
            while running.poll() is None and lines(out) < before + wanted:
                time.sleep(.005)
            time.sleep(rng.uniform(0, .5 if not wanted else .05))
            victim = rng.choice(("driver", "worker"))
            pids = children(running.pid)
            if running.poll() is None and (victim == "driver" or pids):
                with contextlib.suppress(ProcessLookupError):  # it has ended by itself
                    os.kill(running.pid if victim == "driver" else rng.choice(pids), signal.SIGKILL)
                    kills[victim] += 1
                    resumed += lines(out) > 1
            errors = running.communicate(timeout=300)[1]
            if running.returncode == 0:
                self.assertEqual(self.table(out), self.expected(job))
                number += 1
            else:
                self.assertEqual(running.returncode, -signal.SIGKILL, errors)
        job, out = ("track", "superpixels", "detect")[number % 3], f"out{number}"
        self.run_command(*self.options(job, workers, out=out), "--resume", "--quiet")
        self.assertEqual(self.table(out), self.expected(job))
        self.assertGreater(min(kills.values()), 3)
        self.assertGreater(resumed, 5, "too few kills came in the middle")
        self.assertEqual([name for name in os.listdir(self.path(out, "parts")) if name.startswith(".")], [])
        print(f"{workers}: killed {kills}, {resumed} times with videos done, {number + 1} scans finished", file=sys.stderr)

    def test_workers_end_with_the_driver(self):
        running = self.command(*self.options("superpixels"), "--quiet")
        workers = []
        while len(workers) < 2 and running.poll() is None:
            workers = children(running.pid)
            time.sleep(.05)
        running.kill()
        running.communicate(timeout=300)
        self.assertEqual(len(workers), 2)
        end = time.monotonic() + 20
        while any(map(runs, workers)) and time.monotonic() < end:
            time.sleep(.05)
        self.assertFalse([pid for pid in workers if runs(pid)])

    def test_worker_that_dies_again_and_again(self):
        """The first task is given up after three tries and named; all others are done, and a resumed scan does it too."""
        running = self.command(*self.options("superpixels", "cpu:1"))
        killed = set()
        while len(killed) < 3 and running.poll() is None:
            for pid in children(running.pid):
                if pid not in killed:
                    os.kill(pid, signal.SIGKILL)
                    killed.add(pid)
            time.sleep(.02)
        errors = running.communicate(timeout=300)[1]
        self.assertEqual((running.returncode, len(killed)), (1, 3), errors)
        self.assertRegex(errors, r"(?m)^error: .*deep/v1.ts: given up after 3 tries: the worker ended by signal 9$")
        with open(self.path("out", "manifest.json")) as file:
            manifest = json.load(file)
        self.assertEqual((manifest["state"], len(manifest["failures"]), [video["rows"] is not None for video in manifest["videos"]]),
                         ("failed", 1, [False, True, True]))
        self.run_command(*self.options("superpixels"), "--resume", "--quiet")
        self.assertEqual(self.table(), self.expected("superpixels"))

    def test_signals(self):
        slow = self.command(os.path.join(self.videos, "v9.mkv"), "--job=superpixels", "--sigma=100", "--out=slow", f"--format={FORMAT}", "--workers=cpu:1")
        line = slow.stderr.readline()  # progress after a second
        slow.send_signal(signal.SIGINT)
        rest = slow.communicate(timeout=300)[1]
        self.assertRegex(line, r"video \d+ of \d+, [0-9.]+ frames per second")
        self.assertEqual(slow.returncode, 130, rest)
        self.assertIn("stopped; --resume goes on", rest)
        for _ in range(5):  # a run may end before the signal: then there is another
            shutil.rmtree(self.path("out"), ignore_errors=True)
            journal = self.path("out", "journal.jsonl")
            running = self.command(*self.options("superpixels", "cpu:1"))
            while running.poll() is None and not has_done(journal):
                time.sleep(.005)
            running.send_signal(signal.SIGTERM)
            said = running.communicate(timeout=300)[1]
            if running.returncode != 0:
                break
        self.assertIn("stopped; --resume goes on", said)
        self.assertEqual(running.returncode, 130)
        self.run_command(*self.options("superpixels"), "--resume", "--quiet")
        self.assertEqual(self.table(), self.expected("superpixels"))

    def killed_in_ray(self, victim, options):
        """Runs a scan from its beginning with actors of Ray and kills the victim after the first part. Returns whether it was killed."""
        shutil.rmtree(self.path("out"), ignore_errors=True)
        running = self.command(*options, executor="ray")
        journal, killed = self.path("out", "journal.jsonl"), False
        while running.poll() is None and not killed:
            workers = ray_workers(self.folder)
            if workers and has_done(journal):
                with contextlib.suppress(ProcessLookupError):  # it has ended by itself
                    os.kill(running.pid if victim == "driver" else workers[0], signal.SIGKILL)
                    killed = True
            time.sleep(.02)
        errors = running.communicate(timeout=300)[1]
        if victim == "driver":
            killed = running.returncode == -signal.SIGKILL
        self.assertEqual(running.returncode, -signal.SIGKILL if killed and victim == "driver" else 0, errors)
        if not killed or victim == "worker":
            self.assertEqual(self.table(), self.expected("track"))
        return killed

    @needs_ray
    def test_ray(self):
        """Actors of Ray give the same table, also when one of them and the driver are killed."""
        options = [*self.options("track", "cpu:2"), "--resume", "--quiet"]
        for victim in ("worker", "driver"):
            # A run may end before a part of it is seen: then there is another.
            self.assertTrue(any(self.killed_in_ray(victim, options) for _ in range(5)), f"no {victim} was killed in five runs")
            if victim == "worker":
                shutil.rmtree(self.path("out"))
        self.run_command(*options, executor="ray")
        self.assertEqual(self.table(), self.expected("track"))


    def test_a_folder_named_ray_is_not_ray(self):
        os.mkdir(self.path("ray"))
        code = "from cudatracking.scan._executors import have_ray; print(have_ray())"
        done = subprocess.run([sys.executable, "-c", code], cwd=self.folder, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.stdout, f"{HAVE['ray']}\n", done.stderr)


class InputTest(ScanTest):
    def test_damaged_videos(self):
        import av
        good = self.path("good.mp4")
        write_video(good, 30)
        for name, codec in (("flipped.mp4", ""), ("flipped.mkv", ""), ("flipped.ts", ""), ("flipped_4.avi", "mpeg4"), ("flipped_j.avi", "mjpeg")):
            write_video(self.path(name), 40, codec=codec)
            damage(self.path(name), 1)
        with open(good, "rb") as file:
            data = file.read()
        with av.open(good) as source, av.open(self.path("whole.mp4"), "w", options={"movflags": "faststart"}) as target:
            stream = target.add_stream_from_template(source.streams.video[0])
            for packet in source.demux(source.streams.video[0]):
                if packet.size:
                    packet.stream = stream
                    target.mux(packet)
        with open(self.path("whole.mp4"), "rb") as file:
            whole = file.read()
        for name, contents in (("cut.mp4", whole[:len(whole) * 6 // 10]), ("head.mp4", data[:len(data) // 2]), ("noise.mkv", np.random.RandomState(2).bytes(9999)),
                               ("empty.mkv", b""), ("text.avi", b"no video"), ("sizes.ts", b"")):
            with open(self.path(name), "wb") as file:
                file.write(contents)
        write_video(self.path("large.ts"), 20)
        write_video(self.path("small.ts"), 20, lambda step: frame(step)[:96, :128].copy())
        with open(self.path("sizes.ts"), "wb") as target:
            for name in ("large.ts", "small.ts"):
                with open(self.path(name), "rb") as source:
                    target.write(source.read())
        os.remove(self.path("whole.mp4"))
        os.mkdir(self.path("secret.mp4"))
        with open(self.path("list.txt"), "w") as file:
            file.write("# some of them\n" + "".join(f"{name}\n" for name in sorted(os.listdir(self.folder)) if name != "list.txt") + "gone.mp4\n")
        runs = []
        for out, workers in (("a", "cpu:2"), ("b", "cpu:1")):
            errors = self.run_command("list.txt", "--job=superpixels", *JOBS["superpixels"][0], f"--out={out}", f"--workers={workers}",
                                      f"--format={FORMAT}", "--quiet", code=1)
            runs.append((sorted(errors.splitlines()), self.table(out)))
        self.assertEqual(*runs)
        failures = "\n".join(runs[0][0])
        for words in (r"cut.mp4: has \d+ frames, 30 by its head: it may be cut off", "head.mp4: PyAV cannot open it", "noise.mkv: PyAV cannot open it", "empty.mkv: PyAV cannot open it",
                      "text.avi: PyAV cannot open it", "gone.mp4: cannot be read: No such file", r"flipped.mp4: (frames \d+ to \d+|\d+ frames missing \(.*\)): ", r"flipped_j.avi: (frames? \d+.*|\d+ frames missing \(.*\)): ",
                      "secret.mp4: cannot be read: Is a directory"):
            self.assertRegex(failures, rf"(?m)^error: {words}")
        self.assertNotRegex(failures, "good.mp4|sizes.ts")
        with open(self.path("a", "manifest.json")) as file:
            frames = {video["name"]: video["frames"] for video in json.load(file)["videos"]}
        self.assertEqual((frames["good.mp4"], frames["sizes.ts"]), (30, 40))
        self.assertGreaterEqual(min(frames[name] for name in frames if name.startswith(("flipped", "cut"))), 5)

    def test_size_that_changes_while_tracking(self):
        write_video(self.path("large.ts"), 20)
        write_video(self.path("small.ts"), 20, lambda step: frame(step)[:96, :128].copy())
        with open(self.path("sizes.ts"), "wb") as target:
            for name in ("large.ts", "small.ts"):
                with open(self.path(name), "rb") as source:
                    target.write(source.read())
        errors = self.run_command("sizes.ts", "large.ts", "--job=track", f"--box={BOX}", "--out=out", "--format=csv", "--workers=cpu:2", "--quiet", code=1)
        self.assertRegex(errors, r"(?m)^error: sizes.ts: .*128")
        with open(self.path("out", "table.csv")) as file:
            self.assertEqual({row["video"] for row in csv.DictReader(file)}, {"large.ts"})

    def test_lists_and_boxes_with_byte_order_mark(self):
        """Editors and spreadsheets begin UTF-8 files with one."""
        video = os.path.join(self.videos, "v9.mkv")
        for name, text in (("list.txt", f"{video}\r\n"), ("boxes.csv", f"video,x,y,width,height\r\n{video},{BOX}\r\n")):
            with open(self.path(name), "w", encoding="utf-8-sig", newline="") as file:
                file.write(text)
        self.call_command("list.txt", "--job=track", "--boxes=boxes.csv", "--out=out", f"--format={FORMAT}", "--workers=cpu:1", "--quiet")

    def test_more_than_8_bits(self):
        """The gray image is the upper 8 bits of the luma plane, in its own range."""
        import av

        from cudatracking._frames import luma
        image = np.arange(64 * 48, dtype=np.uint16).reshape(48, 64)
        for name, shift in (("gray10le", 2), ("gray12le", 4), ("gray16le", 8), ("yuv420p10le", 2), ("yuv422p12le", 4), ("p010le", 8)):
            with self.subTest(name):
                made = av.VideoFrame(64, 48, name)
                plane = made.planes[0]
                words = np.zeros((48, plane.line_size // 2), "<u2")
                words[:, :64] = image.astype(int) * (64 if name == "p010le" else 1) % 2**(8 + shift)
                plane.update(words.tobytes())
                self.assertEqual(luma(made).tolist(), (words[:, :64] >> shift).tolist())

    def test_all_frames(self):
        """Every container gives all frames, in order."""
        import zlib

        from cudatracking.scan._video import Frames
        for name, codec in (("a.mp4", ""), ("a.mkv", ""), ("a.ts", ""), ("a.avi", "mjpeg"), ("b.avi", "mpeg4"), ("b.mpg", "mpeg2video")):
            with self.subTest(name):
                write_video(self.path(name), 33, codec=codec)
                for threads in (1, 3):
                    frames = Frames(self.path(name), False, threads)
                    found = [(number, zlib.crc32(np.ascontiguousarray(pixels))) for batch in frames.batches(4) for number, _, pixels in batch]
                    self.assertEqual(([number for number, _ in found], frames.gaps, frames.note, frames.length), (list(range(33)), [], "", 33))
                    self.assertGreater(len({check for _, check in found}), 25)

    def test_input_that_changes(self):
        write_video(self.path("a.mp4"), 20)
        write_video(self.path("b.mp4"), 20)
        options = ["a.mp4", "b.mp4", "--job=superpixels", "--out=out", f"--format={FORMAT}", "--workers=cpu:1"]
        self.call_command(*options)
        write_video(self.path("b.mp4"), 20, lambda step: frame(29 - step))
        errors = self.call_command(*options, "--resume")
        self.assertIn("b.mp4: is another file than before, and is scanned anew", errors)
        self.assertIn("2 videos, 1 of them now", errors)
        os.utime(self.path("b.mp4"))  # the same contents
        self.assertIn("2 videos, 0 of them now", self.call_command(*options, "--resume"))
        changed = self.table()
        self.call_command(*options[:3], "--out=fresh", *options[4:])
        self.assertEqual(self.table("fresh"), changed)

    def test_other_parameters(self):
        video = os.path.join(self.videos, "v9.mkv")
        options = [video, "--job=superpixels", "--out=out", f"--format={FORMAT}", "--workers=cpu:1"]
        self.call_command(*options, "--quiet")
        old = self.table()
        errors = self.call_command(*options, "--sigma=3", code=1)
        self.assertIn("has a scan already; --resume goes on with it", errors)
        self.assertEqual(self.table(), old)
        errors = self.call_command(*options, "--sigma=3", "--resume")
        self.assertRegex(errors, "the scan starts anew, .*: parameters.sigma is 3.0, was 6.0")
        self.assertNotEqual(self.table(), old)
        self.assertIn("1 video, 0 of them now", self.call_command(*options, "--sigma=3", "--resume"))
        self.assertIn("1 video, 0 of them now", self.call_command(*options, "--resume"))  # the parts of the first one are there
        self.assertEqual(self.table(), old)
        with open(self.path("out", "journal.jsonl"), "w") as file:
            file.write("{")
        self.assertIn("is no journal of a scan", self.call_command(*options, "--resume", code=1))

    def test_lost_parts(self):
        """A part that is gone, or is not what it was, is computed again; a line of the journal that was cut off does not count."""
        self.run_command(*self.options("track"), "--quiet")
        parts = sorted(os.listdir(self.path("out", "parts")))
        os.remove(self.path("out", "parts", parts[0]))
        with open(self.path("out", "parts", parts[1]), "r+b") as file:
            file.truncate(10)
        with open(self.path("out", "journal.jsonl"), "r+b") as file:
            file.truncate(os.path.getsize(file.name) - 7)
        self.run_command(*self.options("track"), "--resume", "--quiet")
        self.assertEqual(self.table(), self.expected("track"))

    def test_boxes_that_cannot_begin(self):
        """They are named, and other objects of the video are followed."""
        video = os.path.join(self.videos, "v10.mp4")
        with open(self.path("boxes.csv"), "w") as file:
            file.write(f"video,frame,x,y,width,height\n{video},0,{BOX}\n{video},0,400,10,40,40\n{video},17,5,5,5,5\n{video},17,{','.join(map(str, box(17)))}\n{video},99,{BOX}\n")
        errors = self.run_command(video, "--job=track", "--boxes=boxes.csv", "--out=out", f"--format={FORMAT}", "--workers=cpu:2", "--quiet", code=1)
        self.assertEqual(len(errors.splitlines()), 3, errors)
        self.assertRegex(errors, r"v10.mp4: frame 0: .*400, 10, 40 x 40 is not inside")
        self.assertRegex(errors, r"v10.mp4: frame 17: .*5 x 5 pixels, sides must be at least")
        self.assertIn("v10.mp4: frame 99: an object begins there, and there is no such frame", errors)
        with open(self.path("out", "manifest.json")) as file:
            self.assertEqual(json.load(file)["table"]["rows"], 39 + 22)
        again = self.run_command(video, "--job=track", "--boxes=boxes.csv", "--out=out", f"--format={FORMAT}", "--resume", "--audit=1", "--quiet", code=1)
        self.assertEqual(again, errors)

    def test_avi_with_reordered_frames(self):
        """AVI has no time stamps, so the frames are counted."""
        import av
        if "libx264" not in av.codecs_available:
            self.skipTest("this PyAV has no encoder of H.264")
        write_video(self.path("b.avi"), 30)
        self.run_command(self.path("b.avi"), "--job=superpixels", *JOBS["superpixels"][0], "--out=out", f"--format={FORMAT}", "--workers=cpu:2", "--quiet")
        with open(self.path("out", "manifest.json")) as file:
            self.assertEqual([video["frames"] for video in json.load(file)["videos"]], [30])

    def test_refused_workers_leave_no_scan(self):
        options = [os.path.join(self.videos, "v9.mkv"), "--job=superpixels", "--out=out", f"--format={FORMAT}", "--quiet"]
        for wrong in (["--workers=cpu:0"], ["--workers=gpu:99"], ["--workers=cpu", "--decode=device"], ["--address=auto"], ["--workers="], ["--address="]):
            self.assertIn(wrong[-1][2:].split("=")[0], self.call_command(*options, *wrong, code=1 if wrong == ["--workers=gpu:99"] else 2), wrong)
            self.assertTrue(not os.path.exists(self.path("out")) or os.listdir(self.path("out")) == [".lock"], wrong)
        self.call_command(*options, "--workers=cpu:1")
        # What was there before stays.
        with open(self.path("out", "journal.jsonl")) as file:
            lines = file.read()
        self.call_command(*options, "--workers=cpu:0", code=2)
        with open(self.path("out", "journal.jsonl")) as file:
            self.assertEqual(file.read(), lines)
        self.assertGreater(len(os.listdir(self.path("out", "parts"))), 0)

    def test_closed_streams(self):
        line = " ".join([sys.executable, "-m cudatracking scan", os.path.join(self.videos, "v9.mkv"), "--job=superpixels --executor=processes --workers=cpu:1", f"--format={FORMAT}"])
        for streams in (">&-", "2>&-", ">&- 2>&- <&-"):
            done = subprocess.run(["sh", "-c", f"{line} --out='{streams}' {streams}"], cwd=self.folder, capture_output=True, text=True, timeout=300)
            self.assertEqual((done.returncode, done.stdout, "Traceback" in done.stderr), (0, "", False), done.stderr)
            self.assertTrue(os.path.exists(self.path(streams, f"table.{FORMAT}")))

    def test_wrong_arguments_of_the_function(self):
        video = os.path.join(self.videos, "v9.mkv")
        good = {"sources": [video], "out": self.path("out"), "job": "superpixels", "executor": "processes", "workers": "cpu:1", "format": FORMAT}
        for name, values in {"sources": (video, [], [""], [None], b"x"), "out": ("", None), "audit": (-.1, 1.1, None, "x"), "per_gpu": (0, 1.5, None), "workers": ("", "cpu:0", 2, "tpu"), "address": ("",),
                             "decode": ("", None), "executor": ("x",), "format": ("x",), "job": ("x",), "boxes": ({"*": [[0, 1, 2, 30, 30]]},)}.items():
            for value in values:
                with self.subTest(name, value=value):
                    with self.assertRaisesRegex((ct.error, TypeError), name):
                        scan(**{**good, name: value})
        for entry in (None, 5, [1, 2, 30, 30], [0, 1, 2, 30, "x"], [0, 1.5, 2, 30, 30], [-1, 1, 2, 30, 30], [0, 1, 2, 0, 30], [0, 1, 2, 30, -1]):
            with self.subTest("boxes", entry=entry), self.assertRaisesRegex((ct.error, TypeError), "boxes"):
                scan(**{**good, "job": "track", "boxes": {"*": [entry]}})
        self.assertFalse(os.path.exists(self.path("out", "manifest.json")))
        done = scan(**{**good, "job": "detect", "parameters": {"cascade": "lbp_frontalface"}})
        self.assertEqual(done.failures, [])

    def test_resuming_reads_the_journal_once(self):
        """Not once for each video, which takes hours where there are hundreds of thousands."""
        from cudatracking.scan import _run

        class Records(list):
            reads = 0

            def __iter__(self):
                Records.reads += 1
                return super().__iter__()

        class Journal(_run.Journal):
            def __init__(self, *arguments):
                super().__init__(*arguments)
                self.records = Records(self.records)

        named = {"job": "superpixels", "executor": "processes", "workers": "cpu:1", "format": FORMAT}
        reads = []
        for count in (1, 4):
            sources = [shutil.copy(os.path.join(self.videos, "v9.mkv"), self.path(f"{count}{i}.mkv")) for i in range(count)]
            scan(sources, self.path(f"out{count}"), **named)
            Records.reads = 0
            with mock.patch.object(_run, "Journal", Journal):
                self.assertEqual(scan(sources, self.path(f"out{count}"), resume=True, **named).computed, 0)
            reads.append(Records.reads)
        self.assertEqual(reads[0], reads[1])

    def test_progress_while_a_scan_is_read_again(self):
        """What is done is checked before anything is computed: how far that is shows; sizes for the time that is left are asked for once; the scan can be stopped."""
        from cudatracking.scan import _run
        sources = [shutil.copy(os.path.join(self.videos, "v9.mkv"), self.path(f"{i}.mkv")) for i in range(6)]
        named = {"job": "superpixels", "executor": "processes", "workers": "cpu:1", "format": FORMAT}
        scan(sources, self.path("out"), **named)
        shown, asked, getsize = [], collections.Counter(), os.path.getsize

        def show(progress, done, known, bytes_left):
            shown.append((done, known, bytes_left))

        def counting(path):
            asked[path] += 1
            return getsize(path)

        with mock.patch.object(_run._Progress, "due", lambda progress: True), mock.patch.object(_run._Progress, "show", show), \
                mock.patch.object(_run.os.path, "getsize", counting):
            self.assertEqual(scan(sources, self.path("out"), resume=True, **named).computed, 0)
        size = getsize(sources[0])
        self.assertEqual(shown[:6], [(i, 6, (6 - i) * size) for i in range(6)])
        self.assertEqual([asked[path] for path in sources], [1] * 6)
        answers = iter([False] * 3)
        done = scan(sources, self.path("out"), resume=True, stopped=lambda: next(answers, True), **named)
        self.assertTrue(done.stopped)
        self.assertLess(done.videos, 6)
        done = scan(sources, self.path("out"), resume=True, **named)
        self.assertEqual((done.stopped, done.videos, done.computed), (False, 6, 0))

    def test_lines_that_are_no_records(self):
        """They are left out of the journal, and nothing else is; a table that was half written when the driver was killed is removed."""
        options = [os.path.join(self.videos, "v9.mkv"), *self.options("superpixels", "cpu:1")[1:]]
        self.call_command(*options, "--quiet")
        table = self.table()
        with open(self.path("out", "journal.jsonl")) as file:
            lines = file.readlines()
        with open(self.path("out", "journal.jsonl"), "w") as file:
            file.writelines(["5\n", lines[0], "{}\n", '{"kind": "video"}\n', *lines[1:], "null\n", "cut"])
        with open(self.path("out", f".table.{FORMAT}.x"), "w") as file:
            file.write("half")
        self.assertIn("1 video, 0 of them now", self.call_command(*options, "--resume"))
        with open(self.path("out", "journal.jsonl")) as file:
            self.assertEqual(file.readlines(), lines)
        self.assertEqual(self.table(), table)
        self.assertEqual([name for name in os.listdir(self.path("out")) if name.startswith(".")], [".lock"])

    def test_full_disk(self):
        """On a file system that is too small the scan ends with a message; when there is space, it goes on and nothing is lost."""
        def script(size):
            return f"mkdir -p disk && mount -t tmpfs -o size={size} none disk"
        probe = subprocess.run(["unshare", "-rm", "sh", "-c", script("64k")], cwd=self.folder, capture_output=True) if shutil.which("unshare") else None
        if not probe or probe.returncode:
            self.skipTest("this user may not mount a tmpfs")
        line = " ".join([sys.executable, "-m cudatracking scan", *self.options("superpixels", out="disk/out"), "--executor=processes --quiet --resume"])
        done = subprocess.run(["unshare", "-rm", "sh", "-c", f"{script('224k' if FORMAT == 'parquet' else '1100k')}; {line}; echo first $?; wc -l <disk/out/journal.jsonl; mount -o remount,size=32m disk; {line}; "
                               f"echo second $?; sha256sum disk/out/table.{FORMAT}"], cwd=self.folder, capture_output=True, text=True, timeout=300)
        self.assertRegex(done.stdout, r'\Afirst 1\n[2-9]\nsecond 0\n' + self.expected("superpixels"), done.stderr)
        self.assertRegex(done.stderr, r"\Aerror: .*disk/out/.*: No space left on device; what is done stays, and --resume goes on from there\n\Z")

    def test_wrong_use(self):
        os.mkdir(self.path("none"))
        with open(self.path("empty.txt"), "w") as file:
            file.write("# nothing\n")
        with open(self.path("boxes.csv"), "w") as file:
            file.write("video,x,y\n")
        with open(self.path("huge.csv"), "w") as file:
            file.write(f"video,x,y,width,height\nv9.mkv,0,0,20,{2**31}\n")
        for name, values in (("five.csv", "0,0,20,20"), ("seven.csv", "0,0,20,20,0,9")):
            with open(self.path(name), "w") as file:
                file.write(f"video,x,y,width,height,frame\nv9.mkv,{values}\n")
        for name, data in (("latin.txt", b"\xe9.mp4\n"), ("null.txt", b"a\0.mp4\n")):
            with open(self.path(name), "wb") as file:
                file.write(data)
        os.mkfifo(self.path("pipe.mp4"))
        ct.cv2.imwrite(self.path("a.png"), frame(0))
        bad_name = os.fsdecode(b"\xe9.mkv")
        shutil.copy(os.path.join(self.videos, "v9.mkv"), self.path(bad_name))
        video = os.path.join(self.videos, "v9.mkv")
        base = ["--out=out", f"--format={FORMAT}"]
        for arguments, code, words in (
                ([video, "--job=find", *base], 2, "'find'"), ([video, "--job=detect"], 2, "--out"), ([video, *base], 2, "--job"), (["--job=detect", *base], 2, "source"),
                ([video, "--job=detect", "--audit=2", *base], 2, "--audit: 2"),
                ([video, "--job=detect", "--bogus", *base], 2, "--bogus"), (["none", "--job=detect", *base], 1, "none: the folder has no video"),
                (["gone", "--job=detect", *base], 1, "gone: there is no such"), (["empty.txt", "--job=detect", *base], 1, "empty.txt: the list names no video"),
                ([video, video, "--job=detect", *base], 1, "is given 2 times"), ([video, "--job=detect", "--sigma=3", *base], 2, "--sigma: the job detect has no such parameter"),
                ([video, "--job=track", *base], 2, "boxes: the job track needs"), ([video, "--job=detect", f"--box={BOX}", *base], 2, "--boxes: "),
                ([video, "--job=track", "--boxes=boxes.csv", *base], 2, "boxes.csv: has no column width, height"),
                ([video, "--job=track", "--boxes=five.csv", *base], 2, "five.csv:2: v9.mkv,0,0,20,20: 6 values are needed"),
                ([video, "--job=track", "--boxes=seven.csv", *base], 2, "seven.csv:2: v9.mkv,0,0,20,20,0,9: 6 values are needed"),
                ([video, "--job=detect", "--cascade=frontalfase", *base], 2, "'frontalfase'"), ([video, "--job=detect", "--workers=tpu", *base], 2, "workers: 'tpu'"),
                ([video, "--job=detect", "--workers=gpu:99", *base], 1, "workers: 'gpu:99'"), ([video, "--job=detect", "--address=auto", *base], 2, "address: "),
                ([video, "--job=detect", "--out=/proc/none", f"--format={FORMAT}"], 1, "/proc/none"),
                ([video, "--job=detect", "--out="], 2, "--out: ''"), ([video, "--job=detect", "--min-size=90", "--max-size=50", *base], 2, "--max-size: 50"),
                ([video, "--job=detect", "--scale-factor=1", *base], 2, "--scale-factor: 1: more than 1 "), ([video, "--job=superpixels", "--sigma=0", *base], 2, "--sigma: 0"),
                ([video, "--job=superpixels", f"--min-area={2**31}", *base], 2, f"--min-area: {2**31}"), (["latin.txt", "--job=detect", *base], 1, "latin.txt: is no list"),
                (["null.txt", "--job=detect", *base], 1, "null.txt: is no list"), ([video, "--job=track", "--boxes=huge.csv", *base], 2, f"boxes: 'v9.mkv': {2**31}: "),
                (["a.png", "--job=detect", *base], 1, "a.png: is an image"), ([video, os.path.join(self.videos, ".", "v9.mkv"), "--job=detect", *base], 1, "is given 2 times"),
                ([video, "--job=detect", "--workers=cpu:0", *base], 2, "workers: 'cpu:0'"), ([video, "--job=detect", "--decode=disk", *base], 2, "--decode: "),
                ([video, "--job=detect", "--executor=processes", "--address=auto", *base], 2, "address: "),
                ([video, "--job=detect", "--workers=cpu", "--decode=device", *base], 2, "decode: 'device'"),
                ([video, "--job=detect", "--workers=cpu:2", "--per-gpu=2", *base], 2, "--per-gpu: 2: workers on the CPU"),
                (["pipe.mp4", "--job=detect", *base], 1, "pipe.mp4: cannot be read: is no regular file"),
                ([bad_name, "--job=detect", *base], 1, "its name is not UTF-8")):
            with self.subTest(" ".join(arguments)):
                shutil.rmtree(self.path("out"), ignore_errors=True)
                self.assertIn(words, self.call_command(*arguments, code=code))
                self.assertTrue(code == 1 or not os.path.exists(self.path("out")), "wrong options leave a folder")
        shutil.rmtree(self.path("out"), ignore_errors=True)
        errors = self.call_command(video, "--job=track", "--box=180,100,40,40", *base, "--quiet", code=1)
        self.assertRegex(errors, r"(?m)^error: .*v9.mkv: frame 0: .*box")

    def test_two_scans_in_one_folder(self):
        running = self.command(*self.options("superpixels", "cpu:1"), "--quiet")
        while not os.path.exists(self.path("out", "journal.jsonl")) and running.poll() is None:
            time.sleep(.02)
        errors = self.run_command(*self.options("superpixels", "cpu:1"), "--resume", code=1)
        self.assertIn("another scan works in this folder", errors)
        running.communicate(timeout=300)
        self.assertEqual((running.returncode, self.table()), (0, self.expected("superpixels")))


class FakeDecoder:
    """A decoder of PyNvVideoCodec made of FFmpeg's. The next call uses the memory of the frames again, and after a packet without data another
    stream may follow. `fault` may change or drop frames."""

    def __init__(self, codec, fault):
        import av
        self._decoder, self._fault, self._count = av.CodecContext.create(codec, "r"), fault, 0
        self._memory = []

    def Decode(self, given):
        import av
        packet, frames = None, []
        if given.bsl:
            packet = av.Packet(ctypes.string_at(given.bsl_data, given.bsl))
            packet.pts = given.pts
        for place, shot in enumerate(self._decoder.decode(packet)):
            rows = np.frombuffer(shot.planes[0], np.uint8).reshape(shot.height, -1)[:, :shot.width]
            if place == len(self._memory):
                self._memory.append(None)
            if np.shape(self._memory[place]) != rows.shape:
                self._memory[place] = np.empty(rows.shape, np.uint8)
            self._memory[place][...] = rows
            self._count += 1
            if self._fault(self._count - 1, self._memory[place]):
                frames.append(types.SimpleNamespace(cuda=lambda place=place: [self._memory[place]], getPTS=lambda pts=shot.pts: pts))
        if packet is None:
            self._decoder.flush_buffers()
        return frames


@needs("av", "PyAV")
class DeviceDecodeTest(ScanTest):
    """The decoder of the device is a fake, and its memory is the host's; everything else is what a worker with a GPU does."""

    def setUp(self):
        super().setUp()
        import av

        from cudatracking.scan import _device_video, _worker
        if "libx264" not in av.codecs_available:
            self.skipTest("this PyAV has no encoder for H.264")
        self.fault = lambda count, pixels: True
        codec = types.ModuleType("PyNvVideoCodec")
        codec.PacketData = lambda: types.SimpleNamespace(bsl=0)
        codec.cudaVideoCodec = types.SimpleNamespace(H264="h264", HEVC="hevc")
        self.decoders = 0
        codec.CreateDecoder = self.create
        make_job = _worker.make_job
        stream = types.SimpleNamespace(cudaPtr=lambda: 2, waitForCompletion=lambda: None)
        self.copied = _device_video.copied
        for patch in (mock.patch.dict(sys.modules, {"PyNvVideoCodec": codec}), mock.patch.object(_device_video, "copied", lambda view, into, stream: (np.array(view), view.shape)),
                      mock.patch.object(_device_video, "downloaded", lambda pixels, stream: np.array(pixels)),
                      mock.patch.object(_device_video, "new_stream", lambda: (stream, 1)),
                      mock.patch.object(_worker, "make_job", lambda job, settings, device, boxes: make_job(job, settings, "cpu", boxes))):
            patch.start()
            self.addCleanup(patch.stop)

    def create(self, gpuid, codec, cudacontext, cudastream, usedevicememory):
        self.decoders += 1
        return FakeDecoder(codec, lambda count, pixels: self.fault(count, pixels))

    def answer(self, video, decode, job="detect", worker=None):
        from cudatracking._jobs import settings_of
        from cudatracking.scan import _worker
        out = self.path(decode)
        os.makedirs(out, exist_ok=True)
        with open(os.path.join(out, "journal.jsonl"), "w"):
            pass
        self.worker = worker or _worker.Worker(_worker.Setup(out, job, settings_of(job, JOBS[job][1]), "csv", {}, "cuda:0", 1, decode))
        task = {"path": video, "video": "v", "boxes": [[5, *box(5)]] if job == "track" else [], "known": "", "audit": False, "part": os.path.join(out, "part")}
        answer = self.worker.call(task)
        while answer["kind"] == "more":
            answer = self.worker.call(None)
        return answer

    def test_equal(self):
        for name in ("v10.mp4", "v9.mkv", "deep/v1.ts"):
            for job in ("detect", "track"):
                with self.subTest(f"{name} {job}"):
                    answers = [self.answer(os.path.join(self.videos, name), decode, job) for decode in ("host", "device")]
                    self.assertEqual([answer.pop("on_device") for answer in answers], [False, True], answers)
                    for answer in answers:
                        del answer["progress"], answer["seconds"]
                    self.assertGreater(answers[0]["rows"], 5)
                    self.assertEqual(answers[0], answers[1])

    def test_falls_back_to_the_host(self):
        """When a frame is missing, has other pixels than on the host, or the decoder fails, the video is decoded on the host."""
        def other_pixels(count, pixels):
            pixels[5, 5] ^= 1
            return True

        def failing(count, pixels):
            raise RuntimeError("no decoder")

        video = os.path.join(self.videos, "v10.mp4")
        expected = self.answer(video, "host")["part"]
        for fault in (other_pixels, failing, lambda count, pixels: count != 14, lambda count, pixels: count < 20):
            self.fault = fault
            answer = self.answer(video, "device")
            self.assertEqual((answer["kind"], answer["on_device"], answer["part"]), ("ok", False, expected))
        self.fault = failing
        write_video(self.path("m.avi"), 25, codec="mpeg4")
        self.assertEqual(self.answer(self.path("m.avi"), "device")["on_device"], False)
        self.assertEqual(self.answer(video, "device", "superpixels")["on_device"], False)

    def test_another_size_midway(self):
        """Objects of both parts are found, by the host: the decoder of the device may scale or cut what comes later."""
        import av
        path = self.path("sizes.ts")
        with av.open(path, "w") as container:
            stream = container.add_stream("libx264", rate=10)
            stream.width, stream.height, stream.pix_fmt = 192, 144, "yuv420p"
            for part, (height, width) in enumerate(((144, 192), (96, 128))):
                encoder = av.CodecContext.create("libx264", "w")
                encoder.width, encoder.height, encoder.pix_fmt, encoder.options = width, height, "yuv420p", {"bf": "0", "tune": "zerolatency"}
                encoder.framerate, encoder.time_base = 10, fractions.Fraction(1, 10)
                shots = [av.VideoFrame.from_ndarray(np.ascontiguousarray(frame(step)[:height, :width]), format="bgr24") for step in range(10)]
                for step, shot in enumerate([*shots, None]):
                    if shot:
                        shot.pts = 10 * part + step
                    for packet in encoder.encode(shot):
                        packet.stream = stream
                        container.mux(packet)
        expected = self.answer(path, "host")
        answer = self.answer(path, "device")
        self.assertEqual((expected["frames"], answer["on_device"], answer["part"]), (20, False, expected["part"]))
        self.assertEqual(answer["not_on_device"], "frame 10 has another size than those before: 128 x 96 pixels")

    def test_copies_are_what_the_binding_returns(self):
        """OpenCV's binding returns new memory, and leaves an argument that has no memory, or too little, as it is."""
        from cudatracking.scan import _device_video
        given = []
        mat = types.SimpleNamespace(copyTo=lambda *arguments: given.append(arguments) or "returned")
        plane = types.SimpleNamespace(producer=2, shape=(3, 4), mat=lambda stream, channels_last: (mat, None))
        with mock.patch.object(_device_video._arrays, "image", lambda *arguments: plane):
            self.assertEqual([self.copied("view", into, "stream") for into in (None, "memory")], [("returned", (3, 4))] * 2)
        self.assertEqual((given, plane.producer), ([("stream",), ("stream", "memory")], None))

    def test_decoder_is_kept(self):
        """A worker has one decoder for all videos with the same parameters, and a new one after a fault."""
        v10, v9, other = (os.path.join(self.videos, name) for name in ("v10.mp4", "v9.mkv", "deep/v1.ts"))
        expected, worker = self.answer(v10, "host")["part"], None
        for _ in range(3):
            answer = self.answer(v10, "device", worker=worker)
            worker = self.worker
            self.assertEqual((answer["on_device"], answer["part"]), (True, expected))
        self.assertEqual(self.decoders, 1)

        self.fault = lambda count, pixels: False
        self.assertFalse(self.answer(v10, "device", worker=worker)["on_device"])
        self.fault = lambda count, pixels: True
        self.assertTrue(self.answer(v10, "device", worker=worker)["on_device"])
        self.assertEqual(self.decoders, 2)
        for video in (v9, other):
            self.assertEqual(self.answer(video, "device", worker=worker)["part"], self.answer(video, "host")["part"])

        write_video(self.path("small.mp4"), 20, lambda step: frame(step)[:96, :128].copy())
        before = self.decoders
        self.assertTrue(self.answer(self.path("small.mp4"), "device", worker=worker)["on_device"])
        self.assertEqual(self.decoders, before + 1)

    def test_without_the_decoder(self):
        video = os.path.join(self.videos, "v10.mp4")
        with mock.patch.dict(sys.modules, {"PyNvVideoCodec": None}):
            answer = self.answer(video, "device")
        self.assertEqual(answer["kind"], "fatal")
        self.assertIn("decoding on the device needs PyNvVideoCodec", answer["reason"])
        self.assertIn("decode: 'device'", self.call_command(video, "--job=detect", "--decode=device", "--workers=cpu:1", "--out=x", f"--format={FORMAT}", code=2))


class EnvironmentTest(unittest.TestCase):
    def test_a_worker_sees_its_gpu_alone(self):
        from cudatracking.scan import _executors
        for visible, gpu, expected in ((None, 1, "1"), ("2,5", 1, "5"), ("GPU-a, GPU-b", 1, "GPU-b"), ("3", None, "3"), (None, None, None)):
            with mock.patch.dict(os.environ), mock.patch.object(_executors, "Worker"), mock.patch.object(_executors, "threading"), \
                    mock.patch.object(_executors, "multiprocessing"), mock.patch.object(_executors.os, "dup2"):
                os.environ.pop("CUDA_VISIBLE_DEVICES", None)
                if visible is not None:
                    os.environ["CUDA_VISIBLE_DEVICES"] = visible
                _executors._begin(None, gpu, os.devnull)
                self.assertEqual(os.environ.get("CUDA_VISIBLE_DEVICES"), expected, (visible, gpu))


class MissingTest(unittest.TestCase):
    def test_without_packages(self):
        if HAVE["av"] and HAVE["pyarrow"]:
            self.skipTest("PyAV and pyarrow are installed")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.mp4")
            with open(path, "wb") as file:
                file.write(b"x")
            with self.assertRaisesRegex(ct.error, r"pip install 'cudatracking\[scan\]'"):
                scan([path], os.path.join(folder, "out"), "detect")


if __name__ == "__main__":
    unittest.main()
