# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""The driver of a scan: which segment is done where, what is kept of it, and the merged table."""
from __future__ import annotations

import collections
import contextlib
import json
import os
import re
import sys
import time
from typing import Any, Callable, NamedTuple, Optional, Sequence

from .. import _arrays
from .._devices import devices
from .._errors import ArgumentError, error, shown
from .._frames import IMAGES, VIDEOS, natural
from .._outputs import counted, refuse_inputs_in
from .._outputs import say as say_plainly
from ._executors import Processes, RayActors, WorkerDied, have_ray
from ._files import Journal, Lock, StorageError, make_folder, records_of, remove_temporaries, sha256_of, sha256_of_file, write_bytes, write_whole
from ._jobs import JOBS, settings_of
from ._tables import FORMATS, HEAD, Part, merge
from ._video import Index, VideoError, load_index, stat_of
from ._worker import Setup, versions

LISTS = (".txt", ".lst")
TRIES = 3  # that a task gets when its worker dies
HOPELESS = 3  # tasks that were given up, and none of their kind was ever finished: the inputs are not the cause
MANIFEST_FORMAT = 1
RUNNING = b'"state": "running"'


class Failure(NamedTuple):
    """A part of the work that a scan could not do.

    Attributes:
        video: name of the video.
        first, last: frames first .. last - 1; None for the video as a whole.
        reason: cause of the failure, as text.
        missing: whether the decoder left these frames out, so that the table has no rows of them.
    """

    video: str
    first: Optional[int]
    last: Optional[int]
    reason: str
    missing: bool = False

    def __str__(self) -> str:
        if self.first is None or self.last is None:
            return f"{self.video}: {self.reason}"
        return f"{self.video}: {_range(self.first, self.last, 'frame ', 'frames ')}: {self.reason}"


def _range(first: int, last: int, one: str = "", several: str = "") -> str:
    return f"{one}{first}" if last == first + 1 else f"{several}{first} to {last - 1}"


def lines_of(failures: Sequence[Failure]) -> list[str]:
    """Returns a line for each failure, and one for all frames that are missing in a video for the same reason."""
    alike: dict[Any, list[Failure]] = {}
    for number, failure in enumerate(failures):
        alike.setdefault((failure.video, failure.reason) if failure.missing else number, []).append(failure)
    lines = []
    for some in alike.values():
        if not some[0].missing:
            lines.append(str(some[0]))
            continue
        ranges: list[tuple[int, int]] = []
        for first, last in sorted((failure.first or 0, failure.last or 0) for failure in some):
            begin = ranges.pop()[0] if ranges and ranges[-1][1] == first else first
            ranges.append((begin, last))
        if len(ranges) == 1:
            lines.append(str(some[0]._replace(first=ranges[0][0], last=ranges[0][1])))
            continue
        listed = ", ".join(_range(*one) for one in ranges[:3]) + (" ..." if len(ranges) > 3 else "")
        lines.append(f"{some[0].video}: {counted(sum(last - first for first, last in ranges), 'frame')} missing ({listed}): {some[0].reason}")
    return lines


class Summary(NamedTuple):
    """Result of a scan.

    Attributes:
        table: path of the merged table; None when the scan was stopped before.
        videos, segments, frames, rows: numbers in the whole table.
        computed: segments that this run did; the others were there.
        audited: segments that were computed again on the CPU.
        failures: what could not be done; empty when all is well.
        stopped: whether the scan was stopped before its end.
    """

    table: Optional[str]
    videos: int
    segments: int
    frames: int
    rows: int
    computed: int
    audited: int
    failures: list[Failure]
    stopped: bool


def _raise_unreadable(raised: OSError) -> None:
    raise error(f"{raised.filename}: cannot be read: {raised.strerror}")


def videos_of(sources: Sequence[str]) -> list[str]:
    """Returns the videos of files, folders (in natural order, with the folders in them, but not those behind links) and lists (.txt: a path on
    each line)."""
    if isinstance(sources, (str, bytes)) or not sources or not all(isinstance(source, str) and source for source in sources):
        raise ArgumentError(f"sources: {shown(sources)}: a list of names of videos, folders and lists is needed", "sources", sources)
    found: list[str] = []
    for source in sources:
        if os.path.isdir(source):
            names = [os.path.join(folder, name) for folder, _, files in os.walk(source, onerror=_raise_unreadable) for name in files
                     if name.lower().endswith(VIDEOS) and not name.startswith(".")]
            if not names:
                raise error(f"{source}: the folder has no video ({' '.join(VIDEOS)})")
            found += sorted(names, key=natural)
        elif not os.path.exists(source):
            raise error(f"{source}: there is no such file or folder")
        elif source.lower().endswith(LISTS):
            try:
                with open(source, encoding="utf-8-sig") as file:
                    lines = [line.strip() for line in file]
            except OSError as raised:
                raise error(f"{source}: cannot be read: {raised.strerror}") from None
            except UnicodeDecodeError:
                raise error(f"{source}: is no list of paths: it is not UTF-8") from None
            if any("\0" in line for line in lines):
                raise error(f"{source}: is no list of paths: it has a null byte")
            listed = [line for line in lines if line and not line.startswith("#")]
            if not listed:
                raise error(f"{source}: the list names no video")
            found += listed
        else:
            found.append(source)
    for name in found:
        if name.lower().endswith(IMAGES):
            raise error(f"{name}: is an image; videos are scanned")
    for name, count in collections.Counter(map(os.path.normpath, found)).items():
        if count > 1:
            raise error(f"{name}: is given {count} times")
    return found


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
    """One video: its index, its segments, and what is known of each.

    Attributes:
        done: record of each segment that is done, by its number.
        whole: whether it is done in one segment, since decoding from a key frame gives other pixels than decoding from the begin.
        chain: number of segments at the begin that are done, for jobs whose frames need those before.
        failures: what went wrong, apart from missing frames, which the records have.
        bytes: size of the file once it is opened.
        bytes_unopened: its size before, for the time that is left; None: not asked for yet.
    """

    def __init__(self, name: str, index_file: str, boxes: list[Any]) -> None:
        self.name, self.path, self.index_file, self.boxes = name, os.path.abspath(name), index_file, boxes
        self.index: Optional[Index] = None
        self.segments: list[tuple[int, int]] = []
        self.done: dict[int, dict[str, Any]] = {}
        self.whole = False
        self.failures: list[Failure] = []
        self.bytes = 0
        self.bytes_unopened: Optional[int] = None

    @property
    def chain(self) -> int:
        return next((i for i in range(len(self.segments)) if i not in self.done), len(self.segments))

    def bytes_of(self, segment: int) -> float:
        first, last = self.segments[segment]
        return self.bytes * (last - first) / self.index.frames if self.index else 0.


def _is_record(record: Any) -> bool:
    """Returns whether a line of the journal has all that is asked of it."""
    if not isinstance(record, dict) or any(not isinstance(record.get(name), str) for name in ("key", "video", "sha256")):
        return False
    if record.get("kind") in ("whole", "wrong"):
        return True
    return (record.get("kind") == "segment" and isinstance(record.get("part"), str)
            and all(isinstance(record.get(name, 0), (str, type(None))) for name in ("state", "state_sha256"))
            and all(isinstance(record.get(name), (int, float)) for name in ("first", "last", "tries", "rows", "frames", "seconds"))
            and all(isinstance(record.get(name), list) and all(isinstance(entry, list) and len(entry) == size for entry in record[name])
                    for name, size in (("gaps", 3), ("boxes", 2), ("heads", 2), ("tails", 2))))


class _Task(NamedTuple):
    video: _Video
    segment: Optional[int]  # None: make the index
    whole: bool = False
    audit: bool = False
    tries: int = 0


class _Progress:
    """A line on the standard error each second, or each ten seconds if it is no terminal, the first after one second: segments, rate, what
    workers spend their time on, remaining time."""

    def __init__(self, quiet: bool) -> None:
        self._quiet, self._terminal = quiet, sys.stderr.isatty()
        self._start = self._last = time.monotonic()
        self._pause = 1.
        self.frames, self.work, self.decode, self.seconds, self.bytes = 0, 0., 0., 0., 0.

    def add(self, answer: dict[str, Any], size: float) -> None:
        self.frames += answer["frames"]
        self.work += answer["work"]
        self.decode += answer["decode"]
        self.seconds += answer["seconds"]
        self.bytes += size

    def due(self) -> bool:
        return not self._quiet and time.monotonic() - self._last >= self._pause

    def show(self, done: int, known: int, more: bool, bytes_left: float) -> None:
        self._last = time.monotonic()
        self._pause = 1. if self._terminal else 10.
        seconds = self._last - self._start
        text = f"segment {done} of {known}{' or more' if more else ''}, {self.frames / seconds:.1f} frames per second"
        if self.seconds:
            text += f", of the workers' time {100 * self.work / self.seconds:.0f} % in the job, {100 * self.decode / self.seconds:.0f} % in decoders beside it"
        if self.bytes:
            text += f", {bytes_left * seconds / self.bytes:.0f} s left"
        say_plainly(f"\r{text}\033[K" if self._terminal else text + "\n")

    def say(self, text: str, always: bool = False) -> None:
        if always or not self._quiet:
            say_plainly(("\r\033[K" if self._terminal else "") + text + "\n")

    def finish(self, text: str) -> None:
        seconds = max(time.monotonic() - self._start, 1e-9)
        self.say(f"{text}; {counted(self.frames, 'frame')} in {seconds:.1f} s, {self.frames / seconds:.1f} per second")


class Scan:
    """A scan in a folder, which it owns while it works."""

    def __init__(self, sources: Sequence[str], out: str, job: str, parameters: Optional[dict[str, Any]] = None, *, boxes: Optional[dict[str, list[Any]]] = None,
                 segment: float = 60., format: str = "parquet", resume: bool = False, quiet: bool = True) -> None:
        if format not in FORMATS:
            raise ArgumentError(f"format: {shown(format)}: {', '.join(FORMATS)} are possible", "format", format)
        if not _arrays.number(segment, "segment") > 0:
            raise ArgumentError(f"segment: {segment}: more than 0 seconds are possible", "segment", segment)
        if not out:
            raise ArgumentError(f"out: {shown(out)}: the name of a folder is needed", "out", out)
        names = videos_of(sources)
        boxes = {name: [_checked(box, name) for box in some] for name, some in (boxes or {}).items()}
        if boxes and job != "track":
            raise ArgumentError(f"boxes: only the job track takes them, and this is {job}", "boxes", boxes)
        if job == "track" and not boxes:
            raise ArgumentError("boxes: the job track needs the boxes in which objects begin (--box or --boxes)", "boxes")
        for name in boxes:
            if name != "*" and name not in names:
                raise ArgumentError(f"boxes: {shown(name)} is none of the videos", "boxes", name)
        refuse_inputs_in("out", out, [*sources, *names])
        self.out, self._job, self._format = os.path.abspath(out), job, format
        self._settings: dict[str, Any] = {"job": job, "parameters": settings_of(job, parameters or {}), "segment": float(segment), "format": format, "versions": versions(format)}
        self._run = sha256_of(self._settings)[:16]
        self._progress = _Progress(quiet)
        if os.path.exists(self.out) and not os.path.isdir(self.out):
            raise error(f"out: {out}: is a file; a folder is needed", "out", out)
        make_folder(self.out)
        self._lock = Lock(self.out)
        try:
            self._fresh = not os.path.exists(self._path("manifest.json"))
            if self._fresh:
                self._refuse_foreign()
            self._open(resume)
            for folder in ("parts", "states", "index"):
                make_folder(os.path.join(self.out, folder))
                remove_temporaries(os.path.join(self.out, folder), r"[0-9a-f]{32,64}\.\w+")
            self._manifest({"state": "running"})
            remove_temporaries(self.out, r"table\.\w+|manifest\.json|journal\.jsonl")
            self._journal = Journal(os.path.join(self.out, "journal.jsonl"), _is_record)
        except BaseException:
            self._lock.release()
            raise
        self._known: dict[str, dict[str, Any]] = {}
        self._contents_before: dict[str, set[str]] = {}  # of each video: SHA-256 of the files that records are about
        for record in self._journal.records:
            self._contents_before.setdefault(record["video"], set()).add(record["sha256"])
            if record["kind"] == "wrong":
                self._known.pop(record["key"], None)
            else:
                self._known[record["key"]] = record
        self._videos = [_Video(name, os.path.join(self.out, "index", f"{sha256_of([os.path.abspath(name)])[:32]}.npz"),
                               sorted(boxes.get("*", []) + boxes.get(name, []))) for name in names]
        self._ready: collections.deque[_Task] = collections.deque()
        self._unopened = collections.deque(self._videos)
        self._slots: dict[int, _Task] = {}
        self._stopped: Callable[[], bool] = lambda: False
        self._audit = self._asked = 0.
        self._computed = self._on_device = 0
        self._not_on_device: collections.Counter[str] = collections.Counter()  # segments by the reason
        self._different: list[tuple[_Video, int]] = []
        self._finished: set[bool] = set()  # kinds of tasks that a worker has finished: False for an index, True for a segment
        self._given_up: list[_Task] = []

    # --- the folder

    def _refuse_foreign(self) -> None:
        """Refuses a folder with files that this scan would change, and that no scan has left there; a scan's journal vouches for them."""
        if os.path.isfile(self._path("journal.jsonl")) and records_of(self._path("journal.jsonl"), _is_record)[0]:
            return
        tables = [f"table.{kind}" for kind in FORMATS]
        mine = [name for name in ("journal.jsonl", *tables) if os.path.exists(self._path(name)) and os.path.getsize(self._path(name))]
        mine += [name for name in ("parts", "states") if os.path.isdir(self._path(name)) and os.listdir(self._path(name))]
        if mine:
            raise error(f"{self.out}: has {' and '.join(mine)}, but no manifest of a scan; move that away, or name another folder")

    def _path(self, *names: str) -> str:
        return os.path.join(self.out, *names)

    def _open(self, resume: bool) -> None:
        path = self._path("manifest.json")
        if not os.path.exists(path):
            return
        if not resume:
            raise error(f"{self.out}: has a scan already; --resume goes on with it, or name another folder")
        try:
            with open(path, encoding="utf-8") as file:
                old = json.load(file)["settings"]
            if not isinstance(old, dict):
                raise TypeError
        except (OSError, ValueError, KeyError, TypeError):
            raise error(f"{path}: cannot be read as a manifest, so this scan cannot go on; name another folder") from None
        changes = _differences(old, json.loads(json.dumps(self._settings)))
        if changes:
            aside = next(name for name in (f"before-{i}" for i in range(1, 1 << 30)) if not os.path.exists(self._path(name)))
            os.mkdir(self._path(aside))
            # Another FFmpeg may see other time stamps and key frames.
            index = ["index"] if any(change.startswith("versions.") for change in changes) else []
            for name in (*index, "parts", "states", "journal.jsonl", *(f"table.{kind}" for kind in FORMATS), "manifest.json"):
                if os.path.exists(self._path(name)):
                    os.rename(self._path(name), self._path(aside, name))
            self._progress.say(f"the scan starts anew, as it differs from the one in {self.out}, which is kept in {aside}: {'; '.join(changes)}", always=True)

    def _manifest(self, contents: dict[str, Any]) -> None:
        data = {"format": MANIFEST_FORMAT, "run": self._run, "settings": self._settings, **contents}
        write_bytes(self._path("manifest.json"), (json.dumps(data, indent=1) + "\n").encode())

    def _end_manifest(self, state: str, reason: str) -> None:
        """Notes that the scan has ended without a result. On a full disk the state alone is changed, in its place, which needs no space."""
        with contextlib.suppress(StorageError):
            self._manifest({"state": state, "error": reason, **self._contents()})
            return
        with contextlib.suppress(OSError):
            with open(self._path("manifest.json"), "r+b") as file:
                at = file.read().find(RUNNING)
                if at >= 0:
                    file.seek(at)
                    file.write(RUNNING.replace(b'"running"', f'"{state}"'.encode()).ljust(len(RUNNING)))

    def close(self) -> None:
        """Gives the folder back."""
        self._journal.close()
        self._lock.release()

    # --- videos and segments

    def _key(self, video: _Video, segment: int) -> str:
        assert video.index is not None
        return sha256_of([self._run, video.name, video.index.sha256, video.boxes, video.segments[segment], video.whole])

    def _whole_key(self, video: _Video) -> str:
        assert video.index is not None
        return sha256_of([self._run, video.index.sha256, "whole"])

    def _opened(self, video: _Video) -> None:
        """Plans a video whose index is there."""
        index = video.index
        assert index is not None
        try:
            video.name.encode()
        except UnicodeEncodeError:
            video.failures.append(Failure(video.name, None, None, "its name is not UTF-8, as names in tables have to be"))
            return
        if index.note:
            video.failures.append(Failure(video.name, None, None, index.note))
        for number, *_ in video.boxes:
            if number >= index.frames:
                video.failures.append(Failure(video.name, None, None, f"a box is given for frame {number}, and there are {index.frames} frames"))
        if self._job == "track" and not video.boxes:
            video.failures.append(Failure(video.name, None, None, "no box is given for this video"))
            return
        if self._contents_before.get(video.name, set()) - {index.sha256}:
            self._progress.say(f"{video.name}: is another file than before, and is scanned anew")
        self._plan(video, self._whole_key(video) in self._known)

    def _plan(self, video: _Video, whole: bool) -> None:
        assert video.index is not None
        video.whole = whole
        video.segments = [(0, video.index.frames)] if whole else video.index.segments(self._settings["segment"])
        video.done = {}
        for i in range(len(video.segments)):
            record = self._known.get(self._key(video, i))
            if record and self._is_there(record):
                video.done[i] = record
        if not JOBS[self._job].ORDERED:
            self._ready.extend(_Task(video, i, whole) for i in range(len(video.segments)) if i not in video.done)
        else:
            # The chain goes on behind the last segment of which everything is there.
            begin = video.chain
            while 0 < begin < len(video.segments) and not self._has_state(video.done[begin - 1]):
                begin -= 1
            video.done = {i: record for i, record in video.done.items() if i < begin}
            if begin < len(video.segments):
                self._ready.append(_Task(video, begin, whole))
        for i in list(video.done):
            self._compare(video, i)

    def _is_there(self, record: dict[str, Any]) -> bool:
        try:
            return sha256_of_file(self._part(record)) == str(record["part"])
        except OSError:
            return False

    def _part(self, record: dict[str, Any]) -> str:
        return self._path("parts", f"{record['part']}.{self._format}")

    def _has_state(self, record: dict[str, Any]) -> bool:
        """Returns whether the state after a segment is there as its worker wrote it."""
        if record["state"] is None:
            return True
        try:
            return sha256_of_file(self._path("states", record["state"])) == str(record["state_sha256"])
        except OSError:
            return False

    def _compare(self, video: _Video, segment: int) -> None:
        """Lets a video be done in one segment when two segments disagree about the frames where they meet."""
        record = video.done.get(segment)
        for i, other in ((segment - 1, video.done.get(segment - 1)), (segment + 1, video.done.get(segment + 1))):
            if record and other:
                before, after = (other, record) if i < segment else (record, other)
                heads = dict(map(tuple, after["heads"]))
                if any(heads.get(number, check) != check for number, check in before["tails"]):
                    self._make_whole(video)
                    return

    def _make_whole(self, video: _Video) -> None:
        if video.whole:
            return
        assert video.index is not None
        self._progress.say(f"{video.name}: decoding cannot begin at its key frames exactly; it is done in one segment")
        self._journal.add({"kind": "whole", "key": self._whole_key(video), "video": video.name, "sha256": video.index.sha256})
        self._known[self._whole_key(video)] = self._journal.records[-1]
        self._ready = collections.deque(task for task in self._ready if task.video is not video)
        self._plan(video, True)

    # --- tasks

    def _next(self) -> Optional[_Task]:
        if self._ready:
            return self._ready.popleft()
        while self._unopened and not self._stopped():
            self._show()  # what a scan before has done is read and checked here, which takes long where it is much
            video = self._unopened.popleft()
            try:
                status = stat_of(video.path)
            except VideoError as raised:
                video.failures.append(Failure(video.name, None, None, str(raised)))
                continue
            video.bytes = status[0]
            video.index = load_index(video.index_file)
            if video.index is None or (video.index.size, video.index.modified) != status:
                video.index = None
                return _Task(video, None)
            self._opened(video)
            if self._ready:
                return self._ready.popleft()
        return None

    def _message(self, task: _Task) -> tuple[str, dict[str, Any]]:
        video = task.video
        if task.segment is None:
            return "index", {"path": video.path, "index": video.index_file}
        first, last = video.segments[task.segment]
        message = {"path": video.path, "video": video.name, "index": video.index_file, "boxes": video.boxes, "first": first, "last": last, "begin": first,
                   "state": None, "whole": task.whole, "audit": task.audit, "state_after": f"{self._key(video, task.segment)[:32]}.xml"}
        if JOBS[self._job].ORDERED and task.segment:
            before = video.done[task.segment - 1]
            if self._has_state(before):
                message["state"] = before["state"]
            else:
                message["begin"] = 0
        return "segment", message

    def _ended(self, task: _Task, answer: Any) -> None:
        video = task.video
        if not isinstance(answer, WorkerDied):
            self._finished.add(task.segment is not None)
        if task.segment is not None and not task.audit and task.whole != video.whole:
            return  # planned anew meanwhile; its segments are no more
        if isinstance(answer, WorkerDied):
            if task.tries + 1 < TRIES:
                self._ready.appendleft(task._replace(tries=task.tries + 1))
            else:
                self._give_up(task, answer)
            return
        if answer["kind"] == "fatal":
            raise StorageError(answer["reason"])
        if answer["kind"] == "failed":
            self._fail(task, answer["reason"])
        elif task.segment is None:
            video.index = load_index(video.index_file)
            if video.index is None:
                raise StorageError(f"{video.index_file}: cannot be read; is the folder on storage that all hosts share?")
            self._opened(video)
        elif task.audit:
            if answer["kind"] == "inexact":  # a GPU has decoded the segment from its begin
                self._ready.appendleft(task._replace(whole=True))
            elif any(answer.get(name) != video.done[task.segment][name] for name in ("part", "rows", "frames", "gaps", "boxes", "state_sha256")):
                self._distrust(video, task.segment)
        elif answer["kind"] == "inexact":
            self._make_whole(video)
        else:
            self._keep(task, answer)

    def _give_up(self, task: _Task, answer: WorkerDied) -> None:
        """Fails a task whose workers have died, and ends the scan when none of this kind was ever finished: each takes long to fail."""
        self._fail(task, f"given up after {TRIES} tries: {answer}")
        self._given_up.append(task)
        alike = [other for other in self._given_up if (other.segment is None) == (task.segment is None)]
        if (task.segment is not None) in self._finished or len(alike) < HOPELESS:
            return
        names = list(dict.fromkeys(other.video.name for other in alike))
        if len(names) > 1 or len(self._videos) == 1:
            raise error(f"no worker can work: each died in all of {TRIES} tries on {len(alike)} tasks ({', '.join(names[:3])}); the last time {answer}")
        # It may be this video, with however many segments; the others will show.
        kept = [other for other in self._ready if other.video is not task.video]
        if len(kept) < len(self._ready):
            self._ready = collections.deque(kept)
            task.video.failures.append(Failure(task.video.name, None, None, f"its other segments were not tried, after {len(alike)} were given up"))

    def _fail(self, task: _Task, reason: str) -> None:
        video = task.video
        if task.segment is None:
            failure = Failure(video.name, None, None, reason)
        else:
            first, last = video.segments[task.segment]
            if JOBS[self._job].ORDERED and not task.audit:
                last = video.segments[-1][1]  # what comes behind needs it
            failure = Failure(video.name, first, last, f"audit: {reason}" if task.audit else reason)
        video.failures.append(failure)
        self._progress.say(f"failed: {failure}")

    def _distrust(self, video: _Video, segment: int) -> None:
        """Notes that the bytes of a segment are not what the CPU computes."""
        self._different.append((video, segment))
        self._forget(video, segment)

    def _forget(self, video: _Video, segment: int) -> None:
        """Lets --resume do a segment again, and what it was the begin of."""
        assert video.index is not None
        for i in range(segment, len(video.segments) if JOBS[self._job].ORDERED else segment + 1):
            if self._known.pop(self._key(video, i), None):
                self._journal.add({"kind": "wrong", "key": self._key(video, i), "video": video.name, "sha256": video.index.sha256})

    def _keep(self, task: _Task, answer: dict[str, Any]) -> None:
        video, segment = task.video, task.segment
        assert segment is not None and video.index is not None
        first, last = video.segments[segment]
        record = {"kind": "segment", "key": self._key(video, segment), "video": video.name, "sha256": video.index.sha256, "first": first, "last": last,
                  "tries": task.tries + 1, **{name: answer[name] for name in ("part", "rows", "frames", "gaps", "boxes", "state", "state_sha256", "heads", "tails", "seconds")}}
        self._journal.add(record)
        self._known[record["key"]] = record
        video.done[segment] = record
        self._computed += 1
        self._on_device += answer["on_device"]
        if answer["not_on_device"]:
            self._not_on_device[answer["not_on_device"]] += 1
        self._progress.add(answer, video.bytes_of(segment))
        self._compare(video, segment)
        if JOBS[self._job].ORDERED and video.whole == task.whole:
            if segment + 1 < len(video.segments):
                self._ready.append(_Task(video, segment + 1, task.whole))
            self._drop_state(video, segment)

    def _drop_state(self, video: _Video, segment: int) -> None:
        """Removes the state that a segment began with, unless its audit begins with it too."""
        state = video.done[segment - 1]["state"] if segment else None
        if state and not self._is_audited(video, segment):
            try:
                os.unlink(self._path("states", state))
            except OSError:
                pass

    def _is_audited(self, video: _Video, segment: int) -> bool:
        # The choice depends on the contents alone: nobody can choose what is audited, and a resumed scan chooses the same.
        return int(self._key(video, segment)[:8], 16) < self._audit * 2**32

    def _show(self) -> None:
        if not self._progress.due():
            return
        for video in self._unopened:
            if video.bytes_unopened is None:
                video.bytes_unopened = 0  # of a file that is gone
                with contextlib.suppress(OSError):
                    video.bytes_unopened = os.path.getsize(video.path)
        opened = [video for video in self._videos if video.index]
        left = float(sum(video.bytes_unopened or 0 for video in self._unopened))
        left += sum(video.bytes_of(i) for video in opened for i in range(len(video.segments)) if i not in video.done)
        self._progress.show(sum(len(video.done) for video in opened), sum(len(video.segments) for video in opened), bool(self._unopened), left)

    def _loop(self, executor: Any, next_task: Callable[[], Optional[_Task]]) -> bool:
        """Does all tasks. @return whether none is left; else the scan was stopped."""
        while not self._stopped():
            for slot in executor.free():
                task = next_task()
                if task is None:
                    break
                executor.submit(slot, *self._message(task))
                self._slots[slot] = task
            if not self._slots:
                return not self._unopened
            for slot, answer in executor.wait(.2):
                self._ended(self._slots.pop(slot), answer)
            self._show()
        return False

    def run(self, workers: Optional[str] = None, *, per_gpu: int = 1, decoders: Optional[int] = None, decode: str = "host", executor: str = "auto",
            address: Optional[str] = None, audit: float = 0., stopped: Callable[[], bool] = lambda: False) -> Summary:
        """Does what is missing, and merges all parts. Arguments as those of scan(), checked."""
        self._stopped = stopped
        try:
            self._audit = self._asked = audit
            pool = self._executor(workers, per_gpu, decoders, decode, executor, address)
        except BaseException:
            self._withdraw()
            raise
        try:
            try:
                complete = self._loop(pool, self._next)
                table, audited = None, 0
                if complete:
                    table = self._merge()
                    chosen = self._chosen()
                    complete = self._loop(pool, lambda: self._ready.popleft() if self._ready else (chosen.pop() if chosen else None))
                    audited = sum(1 for video in self._videos for i in video.done if self._is_audited(video, i)) if complete and audit else 0
            finally:
                pool.close()
            return self._finish(table, audited, not complete)
        except StorageError as raised:
            told = self._told(raised)
            self._end_manifest("stopped" if stopped() else "failed", str(told))
            raise told from None
        except BaseException as raised:
            self._end_manifest("stopped" if isinstance(raised, KeyboardInterrupt) else "failed", str(raised) or type(raised).__name__)
            raise

    def _told(self, raised: StorageError) -> StorageError:
        """Returns the error with what it means for the results."""
        if not os.path.exists(self._path("manifest.json")):
            return StorageError(f"{self.out}: was removed or moved while the scan worked in it ({raised})")
        return StorageError(f"{raised}; what is done stays, and --resume goes on from there")

    def _withdraw(self) -> None:
        """Removes a scan that has done nothing, so that the same command with other workers is not refused."""
        if self._fresh and not self._journal.records:
            for name in ("journal.jsonl", "manifest.json"):
                os.unlink(self._path(name))
            for name in ("parts", "states", "index"):
                with contextlib.suppress(OSError):  # what is in them is not this scan's
                    os.rmdir(self._path(name))

    def _chosen(self) -> list[_Task]:
        if not self._audit:
            return []
        done = [(video, i) for video in self._videos for i in video.done]
        chosen = [_Task(video, i, video.whole, True) for video, i in done if self._is_audited(video, i)]
        if not chosen and done:
            # A small part of few segments is one of them.
            video, i = min(done, key=lambda entry: self._key(*entry))
            self._audit = (int(self._key(video, i)[:8], 16) + 1) / 2**32
            chosen = [_Task(video, i, video.whole, True)]
        return chosen

    def _executor(self, workers: Optional[str], per_gpu: int, decoders: Optional[int], decode: str, executor: str, address: Optional[str]) -> Any:
        setup = Setup(self.out, self._run, self._job, self._settings["parameters"], self._format, self._settings["versions"], "cpu", 1, 1, decode)
        actors = RayActors(setup, address) if executor == "ray" or address is not None or (executor == "auto" and have_ray()) else None
        try:
            cores = float(len(os.sched_getaffinity(0)))
            gpus = float(len(devices()))
            if actors:
                resources = actors.resources()
                cores, gpus = max(resources.get("CPU", 1.), 1.), resources.get("GPU", 0.)
            asked, _, number = (workers or "").partition(":")
            kind, wanted = (asked, number) if workers else ("gpu" if gpus >= 1 else "cpu", None)
            if kind == "gpu" and gpus < int(wanted or 1):
                raise error(f"workers: {shown(workers)}: there are {gpus:g} GPUs that can be used", "workers", workers)
            if kind == "cpu":  # perhaps because there is no GPU
                _check_cpu(per_gpu, decode)
            count = int(wanted or gpus) * per_gpu if kind == "gpu" else int(wanted or cores)
            share = max(int(cores // count), 1)
            # Each worker sees its own GPU alone, as number 0.
            setup = setup._replace(threads=share, decoders=decoders or (share if kind == "gpu" else 1), device="cuda:0" if kind == "gpu" else "cpu")
            if actors:
                actors.start(setup, count, min(1., cores / count), 1 / per_gpu if kind == "gpu" else 0.)
                return actors
            return Processes(setup, [i // per_gpu if kind == "gpu" else None for i in range(count)])
        except BaseException:
            if actors:
                actors.close()
            raise

    # --- results

    def _merge(self) -> str:
        table = self._path(f"table.{self._format}")
        schema = [*HEAD[1:], *JOBS[self._job].COLUMNS]
        segments = [(video, i, Part(self._part(video.done[i]), video.done[i]["part"], video.name, *video.segments[i]))
                    for video in self._videos for i in sorted(video.done)]

        def write(temporary: str) -> None:
            wrong = merge(self._format, schema, (part for _, _, part in segments), temporary)
            for video, i, part in segments:
                if part in wrong:
                    self._forget(video, i)
            if wrong:
                raise StorageError(f"{wrong[0].path}: has not the rows of {wrong[0].video}, frames {_range(wrong[0].first, wrong[0].last)}, as the journal says; "
                                   f"{counted(len(wrong), 'such segment')} to be computed again")
        write_whole(table, write)
        return table

    def _failures(self) -> list[Failure]:
        found: list[Failure] = []
        for video in self._videos:
            found += video.failures
            for i in sorted(video.done):
                for first, last, reason in video.done[i]["gaps"]:
                    found.append(Failure(video.name, first, last, reason, True))
                    for number, *_ in video.boxes:
                        if first <= number < last:
                            found.append(Failure(video.name, number, number + 1, "an object begins there, and the frame is missing"))
                found += [Failure(video.name, number, number + 1, reason) for number, reason in video.done[i]["boxes"]]
        found += [Failure(video.name, *video.segments[i], "audit: the CPU computes other bytes") for video, i in self._different]
        return found

    def _contents(self, table: Optional[str] = None, audited: int = 0) -> dict[str, Any]:
        """Returns what the manifest says of the results so far."""
        return {
            "table": {"file": os.path.basename(table), "rows": sum(record["rows"] for record in self._records()), "sha256": sha256_of_file(table)} if table else None,
            "failures": [failure._asdict() for failure in self._failures()],
            "audit": {"part": self._asked, "segments": audited, "different": len(self._different)},
            "videos": [{"name": video.name, "sha256": video.index.sha256 if video.index else None, "bytes": video.bytes,
                        "frames": video.index.frames if video.index else None, "segments": [
                            {name: video.done[i][name] for name in ("first", "last", "frames", "rows", "part", "seconds", "tries")} for i in sorted(video.done)]}
                       for video in self._videos],
        }

    def _records(self) -> list[dict[str, Any]]:
        return [video.done[i] for video in self._videos for i in sorted(video.done)]

    def _finish(self, table: Optional[str], audited: int, stopped: bool) -> Summary:
        failures, records = self._failures(), self._records()
        summary = Summary(table, sum(1 for video in self._videos if video.done), len(records), sum(record["frames"] for record in records),
                          sum(record["rows"] for record in records), self._computed, audited, failures, stopped)
        self._manifest({"state": "stopped" if stopped else "failed" if failures else "done", **self._contents(table, audited)})
        words = f"{counted(summary.segments, 'segment')} of {counted(summary.videos, 'video')}, {self._computed} of them now"
        words += f" ({self._on_device} decoded on devices)" if self._on_device else ""
        if self._not_on_device:
            reason, count = self._not_on_device.most_common(1)[0]
            self._progress.say(f"{counted(sum(self._not_on_device.values()), 'segment')} decoded on the host, {count} of them because {reason}")
        words += f", {audited} audited" if audited else ""
        words += f", {counted(len(failures), 'failure')}" if failures else ""
        self._progress.finish(words + (", stopped; --resume goes on" if stopped else ""))
        return summary


def _differences(old: Any, new: Any, name: str = "") -> list[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        return [text for key in sorted({*old, *new}) for text in _differences(old.get(key), new.get(key), f"{name}.{key}" if name else key)]
    return [] if old == new else [f"{name} is {new}, was {old}"]


def _check_cpu(per_gpu: int, decode: str) -> None:
    """Refuses arguments of run() that are not for workers on the CPU."""
    if decode == "device":
        raise ArgumentError("decode: 'device': workers on the CPU have none; --workers gpu is needed", "decode", decode)
    if per_gpu > 1:
        raise ArgumentError(f"per_gpu: {per_gpu}: workers on the CPU share no GPU; --workers gpu is needed", "per_gpu", per_gpu)


def _check_run(job: str, workers: Optional[str], per_gpu: int, decoders: Optional[int], decode: str, executor: str, address: Optional[str], audit: float) -> None:
    """Refuses arguments of run() that are wrong on every machine, before anything is written."""
    if not 0 <= _arrays.number(audit, "audit") <= 1:
        raise ArgumentError(f"audit: {audit}: 0 to 1 are possible", "audit", audit)
    if decode not in ("host", "device", "auto"):
        raise ArgumentError(f"decode: {shown(decode)}: host, device or auto are possible", "decode", decode)
    if executor not in ("auto", "ray", "processes"):
        raise ArgumentError(f"executor: {shown(executor)}: auto, ray or processes are possible", "executor", executor)
    if address is not None and (not address or executor == "processes"):
        raise ArgumentError(f"address: {shown(address)}: {'processes of this machine have none' if address else 'an address of Ray is needed'}", "address", address)
    for name, value in (("per_gpu", per_gpu), ("decoders", 1 if decoders is None else decoders)):
        if _arrays.number(value, name, whole=True) < 1:
            raise ArgumentError(f"{name}: {value}: 1 or more is possible", name, value)
    if workers is not None and not re.fullmatch(r"(gpu|cpu)(:[1-9]\d{0,4})?", str(workers)):
        raise ArgumentError(f"workers: {shown(workers)}: gpu, gpu:N, cpu or cpu:N is needed", "workers", workers)
    if decoders is not None and job in JOBS and JOBS[job].ORDERED:
        raise ArgumentError(f"decoders: {decoders}: is not for the job {job}, which decodes one frame after the other", "decoders", decoders)
    if workers is not None and workers.startswith("cpu"):
        _check_cpu(per_gpu, decode)


def scan(sources: Sequence[str], out: str, job: str, parameters: Optional[dict[str, Any]] = None, *, boxes: Optional[dict[str, list[Any]]] = None,
         workers: Optional[str] = None, per_gpu: int = 1, decoders: Optional[int] = None, decode: str = "host", executor: str = "auto", address: Optional[str] = None,
         segment: float = 60., format: str = "parquet", resume: bool = False, audit: float = 0., quiet: bool = True,
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
        decoders: threads of each worker that decode; not for track. Default: the worker's share of the cores with GPUs, else 1.
        decode: where H.264 and HEVC are decoded for detect and track with GPUs: "host" (default); "device", which needs PyNvVideoCodec; "auto":
            the device if PyNvVideoCodec can be used.
        executor: "ray", "processes" (of this machine) or "auto" (default): Ray if it is installed.
        address: of a Ray cluster. Default: the environment's RAY_ADDRESS, or Ray on this machine alone.
        segment: least length of a segment in seconds. Default 60.
        format: "parquet" (default) or "csv".
        resume: True continues the scan in the folder; without it a folder that has a scan is refused. Default False.
        audit: part of the segments that is computed again on the CPU and compared, 0 to 1; if above 0, at least one segment. Default 0.
        quiet: no progress on the standard error. Default True.
        stopped: is asked several times a second; True ends the scan, which can be resumed. Default: never.

    Returns a Summary. Raises error if the scan as a whole cannot continue, for example because the disk is full; finished parts stay. Videos that
    cannot be read do not stop it: they are listed in Summary.failures.
    """
    _check_run(job, workers, per_gpu, decoders, decode, executor, address, audit)
    made = Scan(sources, out, job, parameters, boxes=boxes, segment=segment, format=format, resume=resume, quiet=quiet)
    try:
        return made.run(workers, per_gpu=per_gpu, decoders=decoders, decode=decode, executor=executor, address=address, audit=audit, stopped=stopped)
    finally:
        made.close()
