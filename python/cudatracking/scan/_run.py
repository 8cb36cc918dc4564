# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""The driver of a scan: which video is done where, what is kept of it, and the merged table."""
from __future__ import annotations

import collections
import contextlib
import glob
import json
import os
import re
import sys
import time
from typing import Any, Callable, NamedTuple, Optional, Sequence

from .. import _arrays
from .._devices import devices
from .._errors import ArgumentError, error, shown
from .._frames import videos_of
from .._jobs import JOBS, settings_of
from .._outputs import counted, refuse_inputs_in
from .._outputs import say as say_plainly
from ._executors import Executor, ProcessWorker, RayWorker, WorkerDied, connected_ray, have_ray
from ._files import FIELDS, Journal, Lock, StorageError, sha256_of, sha256_of_file, stored, whole_file, write_bytes
from ._tables import FORMATS, HEAD, merge
from ._video import VideoError, stat_of
from ._worker import Setup, versions

TRIES = 3  # that a task gets when its worker dies
HOPELESS = 3  # tasks that were given up, and none was ever finished: the inputs are not the cause


class Failure(NamedTuple):
    """A part of the work that a scan could not do: the name of the video; (first, last) of each range of frames first .. last - 1, none for the video
    as a whole; and the cause."""

    video: str
    frames: list[tuple[int, int]]
    reason: str

    def __str__(self) -> str:
        ranges = [str(first) if last == first + 1 else f"{first} to {last - 1}" for first, last in self.frames]
        where = "".join(f"{'frames' if 'to' in text else 'frame'} {text}: " for text in ranges)
        if len(ranges) > 1:
            count = sum(last - first for first, last in self.frames)
            where = f"{counted(count, 'frame')} missing ({', '.join(ranges[:3])}{' ...' if len(ranges) > 3 else ''}): "
        return f"{self.video}: {where}{self.reason}"


class Summary(NamedTuple):
    """Result of a scan: path of the merged table, None when the scan was stopped before; numbers of videos, frames and rows in it; videos that this run
    did, the others were there; videos that were computed again on the CPU; failures, none when all is well; whether the scan was stopped."""

    table: Optional[str]
    videos: int
    frames: int
    rows: int
    computed: int
    audited: int
    failures: list[Failure]
    stopped: bool


def _checked(box: Any, name: str) -> list[int]:
    """Returns a box of scan()'s argument `boxes` as a list of five integers."""
    try:
        values = list(box)
    except TypeError:
        values = []
    if len(values) != 5:
        raise ArgumentError(f"boxes: {shown(name)}: {shown(box)}: five whole numbers are needed: frame, x, y, width, height", "boxes", box)
    whole = [int(_arrays.number(value, f"boxes: {shown(name)}", whole=True)) for value in values]
    for value, what, least in ((whole[0], "frame", 0), (whole[3], "width", 1), (whole[4], "height", 1)):
        if value < least:
            raise ArgumentError(f"boxes: {shown(name)}: {shown(box)}: {what} {value}: {least} or more is needed", "boxes", box)
    return whole


class _Video:
    """One video, and what is known of it.

    Attributes:
        key: of the record of what it gives with these parameters and boxes.
        done: the record, once its part is there.
        failures: what went wrong, apart from what the record has.
        bytes: size of the file.
    """

    def __init__(self, name: str, boxes: list[Any], run: str) -> None:
        self.name, self.path, self.boxes = name, os.path.abspath(name), boxes
        self.key = sha256_of([run, name, boxes])
        self.done: Optional[dict[str, Any]] = None
        self.failures: list[Failure] = []
        self.bytes = 0
        with contextlib.suppress(OSError, ValueError):
            self.bytes = os.path.getsize(name)

    def fail(self, reason: str, *frames: tuple[int, int]) -> None:
        """Notes what went wrong."""
        self.failures.append(Failure(self.name, list(frames), reason))


class _Task(NamedTuple):
    video: _Video
    known: str = ""  # SHA-256 of the file that was done before
    audit: bool = False
    tries: int = 0


class _Progress:
    """A line on the standard error each second, or each ten seconds if it is no terminal, the first after one second: videos, rate, what
    workers spend their time on, remaining time."""

    def __init__(self, quiet: bool) -> None:
        self._quiet, self._terminal = quiet, sys.stderr.isatty()
        self._start = time.monotonic()
        self._next = self._start + 1.
        self.sums: collections.Counter[str] = collections.Counter()  # frames, bytes, and seconds in all, of work and of decoders

    def say(self, text: str, always: bool = False, end: str = "\n") -> None:
        """Writes a line, in the place of the last one that did not end."""
        if always or not self._quiet:
            say_plainly(("\r\033[K" if self._terminal else "") + text + end)

    def due(self) -> bool:
        """Returns whether it is time for the next line."""
        return not self._quiet and time.monotonic() >= self._next

    def rate(self) -> tuple[float, float]:
        """Returns the seconds so far, and the frames in each."""
        seconds = max(time.monotonic() - self._start, 1e-9)
        return seconds, self.sums["frames"] / seconds

    def show(self, done: int, known: int, bytes_left: float) -> None:
        """Writes the next line."""
        self._next, sums, (seconds, rate) = time.monotonic() + (1. if self._terminal else 10.), self.sums, self.rate()
        text = f"video {done} of {known}, {rate:.1f} frames per second"
        if sums["seconds"]:
            work, decode = (100 * sums[name] / sums["seconds"] for name in ("work", "decode"))
            text += f", of the workers' time {work:.0f} % in the job, {decode:.0f} % in decoders beside it"
        if sums["bytes"]:
            text += f", {bytes_left * seconds / sums['bytes']:.0f} s left"
        self.say(text, end="" if self._terminal else "\n")


class Scan:
    """A scan in a folder, which it owns while it works. `settings` decide what a video gives; `boxes` has a list for each video."""

    def __init__(self, out: str, settings: dict[str, Any], names: Sequence[str], boxes: dict[str, list[Any]], resume: bool, quiet: bool) -> None:
        self.out, self._settings, self._format = os.path.abspath(out), settings, settings["format"]
        self._progress = _Progress(quiet)
        if os.path.exists(self.out) and not os.path.isdir(self.out):
            raise error(f"out: {out}: is a file; a folder is needed", "out", out)
        with stored(self.out):
            os.makedirs(self.out, exist_ok=True)
        self._lock = Lock(self.out)
        try:
            self._journal = self._opened_journal(resume)
        except BaseException:
            self._lock.release()
            raise
        self._known: dict[str, dict[str, Any]] = {}
        for record in self._journal.records:
            self._note(record)
        run = sha256_of(settings)
        self._videos = [_Video(name, boxes[name], run) for name in names]
        self._ready: collections.deque[_Task] = collections.deque()
        self._unopened = collections.deque(self._videos)
        self._slots: dict[int, _Task] = {}
        self._audit, self._audited = 0., 0
        self._computed = self._different = 0
        self._finished = False  # whether a worker has ever answered
        self._given_up: list[str] = []

    # --- the folder

    def _path(self, *names: str) -> str:
        return os.path.join(self.out, *names)

    def _opened_journal(self, resume: bool) -> Journal:
        """Opens the journal of a scan that is there, or of a new one in a folder without files of its names."""
        path, head = self._path("journal.jsonl"), {"kind": "scan", "settings": self._settings}
        fresh = not os.path.exists(path)
        if fresh:
            mine = [name for name in ("manifest.json", *(f"table.{kind}" for kind in FORMATS), "parts") if os.path.exists(self._path(name))]
            if mine:
                raise error(f"{self.out}: has {' and '.join(mine)}, but no journal of a scan; move that away, or name another folder")
            write_bytes(path, (json.dumps(head, sort_keys=True) + "\n").encode())
        journal = Journal(path)
        if not (fresh or resume):
            journal.close()
            raise error(f"{self.out}: has a scan already; --resume goes on with it, or name another folder")
        old = [record["settings"] for record in journal.records if record["kind"] == "scan"][-1]
        changes = _differences(old, json.loads(json.dumps(self._settings)))
        if changes:
            journal.add(head)
            self._progress.say(f"the scan starts anew, as it differs from the one in {self.out}: {'; '.join(changes)}", always=True)
        with stored(self._path("parts")):
            os.makedirs(self._path("parts"), exist_ok=True)
            # What an interrupted run left half written, and what one before said of its end.
            for pattern in ("parts/.*", ".table.*", ".manifest.json.*", ".journal.jsonl.*", "manifest.json"):
                for name in filter(os.path.isfile, glob.glob(os.path.join(glob.escape(self.out), pattern))):
                    os.unlink(name)
        return journal

    def _note(self, record: dict[str, Any]) -> None:
        """Takes a record of the journal into account."""
        if record["kind"] == "wrong":
            self._known.pop(record["key"], None)
        elif record["kind"] == "video":
            self._known[record["key"]] = record

    def close(self) -> None:
        """Gives the folder back."""
        self._journal.close()
        self._lock.release()

    # --- tasks

    def _part(self, video: _Video) -> str:
        return self._path("parts", f"{video.key[:32]}.{self._format}")

    def _next(self) -> Optional[_Task]:
        while not self._ready and self._unopened and not self._stopped():
            self._show()  # what a scan before has done is read and checked here, which takes long where it is much
            self._open(self._unopened.popleft())
        return self._ready.popleft() if self._ready else None

    def _open(self, video: _Video) -> None:
        """Finds out what there is to do about a video."""
        try:
            status = stat_of(video.path)
            video.name.encode()
        except VideoError as raised:
            video.fail(str(raised))
        except UnicodeEncodeError:
            video.fail("its name is not UTF-8, as names in tables have to be")
        else:
            if JOBS[self._settings["job"]].ORDERED and not video.boxes:
                video.fail("no box is given for this video")
                return
            record, part = self._known.get(video.key), None
            with contextlib.suppress(OSError):
                part = sha256_of_file(self._part(video)) if record else None
            if record and part == record["part"] and (record["size"], record["modified"]) == status:
                video.done = record
            else:
                self._ready.append(_Task(video, record["sha256"] if record and part == record["part"] else ""))

    def _ended(self, slot: int, answer: Any, executor: Executor) -> None:
        task = self._slots[slot]
        video = task.video
        if isinstance(answer, WorkerDied):
            del self._slots[slot]
            self._died(task, answer)
            return
        self._finished = True
        if not task.audit:
            self._progress.sums.update(answer.get("progress", {}))
        if answer["kind"] == "more":
            executor.submit(slot, None)
            return
        del self._slots[slot]
        if answer["kind"] == "fatal":
            raise StorageError(answer["reason"])
        if answer["kind"] == "failed":
            self._fail(task, answer["reason"])
        elif not task.audit:
            self._keep(task, answer)
        elif any(answer[name] != (video.done or {}).get(name) for name in ("sha256", "part", "rows", "frames", "length", "note", "gaps", "boxes")):
            self._different += 1
            video.fail("audit: the CPU computes other bytes")
            self._journal.add({"kind": "wrong", "key": video.key})  # the next scan does it again

    def _died(self, task: _Task, answer: WorkerDied) -> None:
        """Tries a task once more, or gives it up; ends the scan when no worker has ever done anything."""
        if task.tries + 1 < TRIES:
            self._ready.appendleft(task._replace(tries=task.tries + 1))
            return
        self._fail(task, f"given up after {TRIES} tries: {answer}")
        self._given_up.append(task.video.name)
        if len(self._given_up) >= min(HOPELESS, len(self._videos)) and not self._finished:
            raise error(f"no worker can work: each died in all of {TRIES} tries on {counted(len(self._given_up), 'video')} "
                        f"({', '.join(self._given_up[:3])}); the last time {answer}")

    def _fail(self, task: _Task, reason: str) -> None:
        task.video.fail(f"audit: {reason}" if task.audit else reason)
        self._progress.say(f"failed: {task.video.failures[-1]}")

    def _keep(self, task: _Task, answer: dict[str, Any]) -> None:
        video = task.video
        record = self._known.get(video.key, {})
        if answer["kind"] != "same":
            if task.known:
                self._progress.say(f"{video.name}: is another file than before, and is scanned anew")
            self._computed += 1
            record = {"kind": "video", "key": video.key, "video": video.name, "tries": task.tries + 1}
            if answer["not_on_device"]:
                self._progress.say(f"{video.name}: decoded on the host, because {answer['not_on_device']}")
        record = {**record, **{name: value for name, value in answer.items() if name in FIELDS["video"]}}
        self._journal.add(record)
        self._note(record)
        video.done = record
        self._progress.sums["bytes"] += video.bytes

    def _show(self) -> None:
        if self._progress.due():
            left = sum(video.bytes for video in self._videos if not video.done and not video.failures)
            self._progress.show(sum(1 for video in self._videos if video.done), len(self._videos), left)

    def _loop(self, executor: Executor, next_task: Callable[[], Optional[_Task]]) -> bool:
        """Does all tasks. Returns whether none is left; else the scan was stopped."""
        while not self._stopped():
            for slot in executor.free():
                task = next_task()
                if task is None:
                    break
                video = task.video
                executor.submit(slot, {"path": video.path, "video": video.name, "boxes": video.boxes, "known": task.known, "audit": task.audit, "part": self._part(video)})
                self._slots[slot] = task
            if not self._slots:
                return not self._unopened
            for slot, answer in executor.wait(.2):
                self._ended(slot, answer, executor)
            self._show()
        return False

    def run(self, executor: Executor, audit: float, stopped: Callable[[], bool]) -> Summary:
        """Does what is missing, and merges all parts."""
        self._audit, self._stopped = audit, stopped
        table = None
        try:
            complete = self._loop(executor, self._next)
            if complete:
                table = self._merge()
                chosen = self._chosen()
                self._audited = len(chosen)
                complete = self._loop(executor, lambda: self._ready.popleft() if self._ready else chosen.pop() if chosen else None)
            return self._finish(table, not complete)
        except StorageError as raised:
            if not os.path.exists(self._path("journal.jsonl")):
                raise StorageError(f"{self.out}: was removed or moved while the scan worked in it ({raised})") from None
            raise StorageError(f"{raised}; what is done stays, and --resume goes on from there") from None

    def _chosen(self) -> list[_Task]:
        """Returns what is audited. The choice depends on the contents alone: nobody can make it, and a resumed scan makes the same."""
        def place(video: _Video) -> float:
            return int(sha256_of([video.key, video.done and video.done["sha256"]])[:8], 16) / 2**32

        done = sorted((video for video in self._videos if video.done and self._audit), key=place)
        return [_Task(video, audit=True) for i, video in enumerate(done) if place(video) < self._audit or not i]  # at least one

    # --- results

    def _merge(self) -> str:
        table = self._path(f"table.{self._format}")
        with whole_file(table) as temporary:
            merge(self._format, [*HEAD, *JOBS[self._settings["job"]].COLUMNS], [self._part(video) for video in self._videos if video.done], temporary)
        return table

    def _failures(self) -> list[Failure]:
        found: list[Failure] = []
        for video in self._videos:
            found += video.failures
            if not video.done:
                continue
            if video.done["note"]:
                found.append(Failure(video.name, [], video.done["note"]))
            missing: dict[str, list[tuple[int, int]]] = {}
            for first, last, reason in video.done["gaps"]:
                missing.setdefault(reason, []).append((first, last))
            found += [Failure(video.name, ranges, reason) for reason, ranges in missing.items()]
            found += [Failure(video.name, [(number, number + 1)], reason) for number, reason in video.done["boxes"]]
        return found

    def _finish(self, table: Optional[str], stopped: bool) -> Summary:
        failures, records = self._failures(), [video.done for video in self._videos if video.done]
        frames, rows = (sum(record[name] for record in records) for name in ("frames", "rows"))
        audited = 0 if stopped else self._audited
        manifest = {
            "state": "stopped" if stopped else "failed" if failures else "done", "settings": self._settings,
            "table": {"file": os.path.basename(table), "rows": rows, "sha256": sha256_of_file(table)} if table else None,
            "failures": [failure._asdict() for failure in failures], "audit": {"part": self._audit, "videos": audited, "different": self._different},
            "videos": [{"name": video.name, "bytes": video.bytes, **{name: (video.done or {}).get(name) for name in (
                "sha256", "length", "frames", "rows", "part", "seconds", "tries")}} for video in self._videos]}
        write_bytes(self._path("manifest.json"), (json.dumps(manifest, indent=1) + "\n").encode())
        words = f"{counted(len(records), 'video')}, {self._computed} of them now"
        words += f", {audited} audited" if audited else ""
        words += f", {counted(len(failures), 'failure')}" if failures else ""
        words += ", stopped; --resume goes on" if stopped else ""
        seconds, rate = self._progress.rate()
        self._progress.say(f"{words}; {counted(int(self._progress.sums['frames']), 'frame')} in {seconds:.1f} s, {rate:.1f} per second")
        return Summary(table, len(records), frames, rows, self._computed, audited, failures, stopped)


def _differences(old: Any, new: Any, name: str = "") -> list[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        return [text for key in sorted({*old, *new}) for text in _differences(old.get(key), new.get(key), f"{name}.{key}" if name else key)]
    return [] if old == new else [f"{name} is {new}, was {old}"]


def _refuse(ok: bool, name: str, value: Any, possible: str) -> None:
    if not ok:
        raise ArgumentError(f"{name}: {shown(value)}: {possible}", name, value)


def _executor(setup: Setup, workers: Optional[str], per_gpu: int, executor: str, address: Optional[str]) -> Executor:
    """Returns where workers live. Nothing is started yet but Ray."""
    def refuse_on_cpu(kind: str) -> None:
        if kind == "cpu":
            _refuse(setup.decode == "host", "decode", setup.decode, "workers on the CPU have none; --workers gpu is needed")
            _refuse(per_gpu == 1, "per_gpu", per_gpu, "workers on the CPU share no GPU; --workers gpu is needed")

    kind, _, wanted = (workers or "").partition(":")
    refuse_on_cpu(kind)
    ray, end = connected_ray(address) if executor == "ray" or address is not None or (executor == "auto" and have_ray()) else (None, lambda: None)
    try:
        resources = ray.cluster_resources() if ray else {"CPU": len(os.sched_getaffinity(0)), "GPU": len(devices())}
        cores, gpus = max(float(resources.get("CPU", 1)), 1.), float(resources.get("GPU", 0))
        kind = kind or ("gpu" if gpus >= 1 else "cpu")
        refuse_on_cpu(kind)
        if kind == "gpu" and gpus < int(wanted or 1):
            raise error(f"workers: {shown(workers)}: there are {gpus:g} GPUs that can be used", "workers", workers)
        count = int(wanted or gpus) * per_gpu if kind == "gpu" else int(wanted or cores)
        setup = setup._replace(threads=max(int(cores // count), 1), device="cuda:0" if kind == "gpu" else "cpu")
        if ray:
            return Executor(count, lambda slot: RayWorker(ray, setup, min(1., cores / count), 1 / per_gpu if kind == "gpu" else 0.), end)
        return Executor(count, lambda slot: ProcessWorker(setup, slot // per_gpu if kind == "gpu" else None))
    except BaseException:
        end()
        raise


def scan(sources: Sequence[str], out: str, job: str, parameters: Optional[dict[str, Any]] = None, *, boxes: Optional[dict[str, list[Any]]] = None,
         workers: Optional[str] = None, per_gpu: int = 1, decode: str = "host", executor: str = "auto", address: Optional[str] = None,
         format: str = "parquet", resume: bool = False, audit: float = 0., quiet: bool = True,
         stopped: Callable[[], bool] = lambda: False) -> Summary:
    """Runs a job on many videos and writes one table. It can be killed at any time: with `resume` it continues, and the table is the same.

    Args:
        sources: videos, folders of videos, and lists (.txt, a path on each line).
        out: folder of the results: the table, its parts, a manifest. It is made if it is not there.
        job: "detect", "track" or "superpixels".
        parameters: of the job, by name, such as {"cascade": ["eye"], "min_neighbors": 4}. Default: all defaults.
        boxes: for the job track, a list of (frame, x, y, width, height) for each video by its name, "*" for all. Default: none.
        workers: "gpu" or "gpu:N": for each GPU, or N of them; "cpu" or "cpu:N": for each core, or N. Default: "gpu" where there is one, else "cpu".
        per_gpu: workers that share a GPU. Default 1.
        decode: where H.264 and HEVC are decoded for detect and track with GPUs: "host" (default) or "device", which needs PyNvVideoCodec.
        executor: "ray", "processes" (of this machine) or "auto" (default): Ray if it is installed.
        address: of a Ray cluster. Default: the environment's RAY_ADDRESS, or Ray on this machine alone.
        format: "parquet" (default) or "csv".
        resume: True continues the scan in the folder; without it a folder that has a scan is refused. Default False.
        audit: part of the videos that is computed again on the CPU and compared, 0 to 1; if above 0, at least one video. Default 0.
        quiet: no progress on the standard error. Default True.
        stopped: is asked several times a second; True ends the scan, which can be resumed. Default: never.

    Returns a Summary. Raises error if the scan as a whole cannot continue, for example because the disk is full; finished parts stay. Videos that
    cannot be read do not stop it: they are listed in Summary.failures. Processes import the main program: a script calls scan() below
    `if __name__ == "__main__":`.
    """
    _refuse(0 <= _arrays.number(audit, "audit") <= 1, "audit", audit, "0 to 1 are possible")
    _refuse(_arrays.number(per_gpu, "per_gpu", whole=True) >= 1, "per_gpu", per_gpu, "1 or more is possible")
    for name, value, possible in (("decode", decode, ("host", "device")), ("executor", executor, ("auto", "ray", "processes")), ("format", format, FORMATS)):
        _refuse(value in possible, name, value, f"{', '.join(possible)} are possible")
    _refuse(address is None or (bool(address) and executor != "processes"), "address", address,
            "processes of this machine have none" if address else "an address of Ray is needed")
    _refuse(workers is None or bool(re.fullmatch(r"(gpu|cpu)(:[1-9]\d{0,4})?", str(workers))), "workers", workers, "gpu, gpu:N, cpu or cpu:N is needed")
    _refuse(bool(out), "out", out, "the name of a folder is needed")
    names = videos_of(sources)
    given = {name: [_checked(box, name) for box in some] for name, some in (boxes or {}).items()}
    _refuse(not given or job == "track", "boxes", boxes, f"only the job track takes them, and this is {job}")
    if job == "track" and not given:
        raise ArgumentError("boxes: the job track needs the boxes in which objects begin (--box or --boxes)", "boxes")
    for name in given:
        _refuse(name == "*" or name in names, "boxes", name, "is none of the videos")
    refuse_inputs_in("out", out, [*sources, *names])
    settings: dict[str, Any] = {"job": job, "parameters": settings_of(job, parameters or {}), "format": format, "versions": versions(format)}
    setup = Setup(os.path.abspath(out), job, settings["parameters"], format, settings["versions"], "cpu", 1, decode)
    pool = _executor(setup, workers, per_gpu, executor, address)
    try:
        made = Scan(out, settings, names, {name: sorted(given.get("*", []) + given.get(name, [])) for name in names}, resume, quiet)
    except BaseException:
        pool.close()
        raise
    with contextlib.closing(made), contextlib.closing(pool):
        return made.run(pool, audit, stopped)
