# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""What a worker does: it makes the index of a video, or the part of a segment, and writes it."""
from __future__ import annotations

import json
import os
import queue
import socket
import threading
import time
import zlib
from typing import Any, Callable, Iterator, NamedTuple, Optional

import numpy as np

from .. import __version__
from .._errors import error
from .._native import cv2
from ._device_video import DeviceFrames, KeptDecoder, NotOnDevice, codec_module
from ._files import StorageError, sha256_of, write_bytes
from ._jobs import JOBS, Pixels, make_job
from ._tables import HEAD, format_versions, part
from ._video import Gap, Index, VideoError, bgr, decode, decoder_versions, load_index, luma, make_index, same_index, save_index, stat_of

FRAMES_AHEAD = 8  # decoded frames that wait for each decoder of a worker
BATCH = 8  # frames that a device gets at once
PROBE = 3  # frames at the begin of a segment that the segment before decodes too, to compare
NOT_FROM_THE_INPUT = (-4, -217)  # Error::StsNoMem, GpuApiCallError: another worker may succeed


def versions(kind: str) -> dict[str, str]:
    """Returns the versions of all that decides the bytes of a part."""
    return {"cudatracking": __version__, "opencv": str(cv2.__version__), **decoder_versions(), **format_versions(kind)}


def run_of(out: str) -> Optional[str]:
    """Returns the id of the scan whose results a folder has; None when there is none."""
    try:
        with open(os.path.join(out, "manifest.json"), encoding="utf-8") as file:
            return str(json.load(file)["run"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


class Frames:
    """Frames of a segment, decoded by threads beside the work.

    Attributes:
        gaps: what could not be decoded; complete when all frames were taken.
        heads, tails: check sums of the first frames of a range that a thread decodes, and of those behind its end, by number.
        seconds: that threads spent decoding, in sum.
    """

    def __init__(self, path: str, index: Index, first: int, last: int, color: bool, decoders: int) -> None:
        self.gaps: list[Gap] = []
        self.heads: dict[int, int] = {}
        self.tails: dict[int, int] = {}
        self.seconds = 0.
        self._path, self._index, self._pixels = path, index, bgr if color else luma
        self._queue: queue.Queue[Any] = queue.Queue(FRAMES_AHEAD * decoders)
        self._stop = threading.Event()
        self._lock = threading.Lock()
        keys = [key for key in index.keys.tolist() if first < key < last]
        cuts = [first] + [keys[len(keys) * i // decoders] for i in range(1, decoders) if keys]
        ranges = sorted(set(cuts)) + [last]
        self._threads = [threading.Thread(target=self._run, args=cut, daemon=True) for cut in zip(ranges, ranges[1:])]

    def __enter__(self) -> Frames:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_raised: Any) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _put(self, entry: Any) -> None:
        while not self._stop.is_set():
            try:
                self._queue.put(entry, timeout=.1)
                return
            except queue.Full:
                pass

    def _run(self, first: int, last: int) -> None:
        gaps: list[Gap] = []
        seconds = 0.
        try:
            start = time.perf_counter()
            for number, frame in decode(self._path, self._index, first, min(last + PROBE, self._index.frames), gaps):
                pixels = self._pixels(frame)
                if number < first + PROBE or number >= last:
                    check = zlib.crc32(np.ascontiguousarray(pixels).data)
                    with self._lock:
                        (self.heads if number < last else self.tails)[number] = check
                seconds += time.perf_counter() - start
                if number < last:
                    self._put((number, pixels, frame))
                if self._stop.is_set():
                    return
                start = time.perf_counter()
        except BaseException as raised:
            self._put(raised)
        finally:
            with self._lock:
                self.gaps += [Gap(gap.first, min(gap.last, last), gap.reason) for gap in gaps if gap.first < last]
                self.seconds += seconds
        self._put(None)

    def batches(self, most: int) -> Iterator[list[tuple[int, Pixels]]]:
        """Yields lists of up to `most` frames, as they come; in order when there is one decoder."""
        running = len(self._threads)
        while running:
            entries = [self._queue.get()]
            while len(entries) < most:
                try:
                    entries.append(self._queue.get_nowait())
                except queue.Empty:
                    break
            for entry in entries:
                if isinstance(entry, BaseException):
                    raise entry
            running -= entries.count(None)
            # Pixels of gray frames are the decoder's own memory, which lives as long as the frame.
            frames = [entry for entry in entries if entry is not None]
            if frames:
                yield [(number, pixels) for number, pixels, _ in frames]


class Setup(NamedTuple):
    """What all workers of a scan have in common.

    Attributes:
        out: folder of the results, the same on all hosts.
        run: id of the scan, as in its manifest.
        job, settings: as for make_job().
        format: of parts.
        versions: that the driver has.
        device: "cpu", or "cuda:0": the GPU that a worker sees alone.
        decoders: threads of each worker that decode.
        threads: of each worker for work on the CPU.
        decode: "host", "device" or "auto".
    """

    out: str
    run: str
    job: str
    settings: dict[str, Any]
    format: str
    versions: dict[str, str]
    device: str
    decoders: int
    threads: int
    decode: str


class Worker:
    """Works on one task after the other. `call` never raises for what is wrong with an input; other exceptions are faults of the worker."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)
        cv2.setNumThreads(setup.threads)
        self._schema = [*HEAD[1:], *JOBS[setup.job].COLUMNS]
        self._made: dict[str, Any] = {}
        self._kept = KeptDecoder()

    def call(self, method: str, task: dict[str, Any]) -> dict[str, Any]:
        """Does a task; "kind" of the answer is ok, failed (this input cannot be used), inexact or fatal (the scan cannot go on)."""
        try:
            problem = self._problem()
            if problem:
                return {"kind": "fatal", "reason": problem}
            work: Callable[[dict[str, Any]], dict[str, Any]] = {"index": self._index, "segment": self._segment}[method]
            return work(task)
        except StorageError as raised:
            return {"kind": "fatal", "reason": str(raised)}
        except VideoError as raised:
            return {"kind": "failed", "reason": str(raised)}
        except error as raised:
            if raised.code in NOT_FROM_THE_INPUT:
                raise
            return {"kind": "failed", "reason": str(raised)}
        except (TypeError, ValueError) as raised:
            return {"kind": "failed", "reason": str(raised)}

    def _problem(self) -> str:
        if "checked" not in self._made:
            mine, host = versions(self._setup.format), socket.gethostname()
            for name, version in self._setup.versions.items():
                if mine.get(name) != version:
                    return f"host {host} has {name} {mine.get(name)}, the scan was begun with {version}"
            if run_of(self._setup.out) != self._setup.run:
                return f"host {host} does not see the folder {self._setup.out} of this scan; it must be on storage that all hosts share"
            if self._setup.decode == "device":
                try:
                    codec_module()
                except error as raised:
                    return f"host {host}: {raised}"
            self._made["checked"] = True
        return ""

    def _index(self, task: dict[str, Any]) -> dict[str, Any]:
        index = make_index(task["path"])
        save_index(index, task["index"])
        return {"kind": "ok"}

    def _job(self, device: str, task: dict[str, Any]) -> Any:
        setup = self._setup
        if JOBS[setup.job].ORDERED:
            return make_job(setup.job, setup.settings, device, task["boxes"])
        if device not in self._made:
            self._made[device] = make_job(setup.job, setup.settings, device, ())
        return self._made[device]

    def _begun(self, device: str, task: dict[str, Any]) -> Any:
        job = self._job(device, task)
        if task["state"]:
            job.read_state(os.path.join(self._setup.out, "states", task["state"]))
        return job

    def _rows(self, job: Any, frames: Any, device: str) -> tuple[list[tuple[int, Any]], float]:
        """Returns the rows of all frames, (number, columns), and the seconds that the job took."""
        rows: list[tuple[int, Any]] = []
        busy = 0.
        for batch in frames.batches(1 if job.ORDERED or device == "cpu" else BATCH):
            before = time.perf_counter()
            rows += zip((number for number, _ in batch), job.work(batch))
            busy += time.perf_counter() - before
        return rows, busy

    def _segment(self, task: dict[str, Any]) -> dict[str, Any]:
        """Makes the rows of frames first .. last - 1. An audited task is done on the CPU and writes nothing."""
        setup, first, last, audit = self._setup, task["first"], task["last"], task["audit"]
        device = "cpu" if audit else setup.device
        begin = task["begin"]  # before `first` only where the rows need frames before, and no state is kept
        index = load_index(task["index"])
        if index is None or (index.size, index.modified) != stat_of(task["path"]):
            raise VideoError("has changed since its index was made")
        if audit and not same_index(index, make_index(task["path"])):
            raise VideoError("its index is not that of the video; remove the folder index, so that --resume makes it again")
        start = time.perf_counter()
        done, not_on_device = None, ""
        if setup.decode != "host" and device != "cpu" and not JOBS[setup.job].COLOR:
            try:
                job = self._begun(device, task)
                frames: Any = DeviceFrames(task["path"], index, begin, last, PROBE, self._kept)
                done = self._rows(job, frames, device)
            except NotOnDevice as raised:
                not_on_device = str(raised)
        on_device = done is not None
        if done is None:
            job = self._begun(device, task)
            decoders = 1 if job.ORDERED or task["whole"] else setup.decoders
            with Frames(task["path"], index, begin, last, job.COLOR, decoders) as frames:
                done = self._rows(job, frames, device)
        rows, busy = done
        if any(frames.tails.get(number, check) != check for number, check in frames.heads.items()):
            return {"kind": "inexact"}
        # What is before the segment was only needed to get there: the answer is the same wherever the work began.
        rows = sorted((row for row in rows if row[0] >= first), key=lambda row: row[0])
        gaps = sorted([max(gap.first, first), gap.last, gap.reason] for gap in frames.gaps if gap.last > first)
        data, count = part(setup.format, self._schema, task["video"], ((number, index.time(number), columns) for number, columns in rows))
        state: Optional[bytes] = job.state() if job.ORDERED and last < index.frames else None
        answer: dict[str, Any] = {"kind": "ok", "part": sha256_of(data), "rows": count, "frames": len(rows), "state": None,
                  "state_sha256": sha256_of(state) if state is not None else None, "boxes": [list(entry) for entry in job.refused if entry[0] >= first], "work": busy, "decode": frames.seconds, "on_device": on_device, "not_on_device": not_on_device,
                  "gaps": gaps, "heads": sorted([number, check] for number, check in frames.heads.items() if number < first + PROBE),
                  "tails": sorted([number, check] for number, check in frames.tails.items() if number >= last)}
        if not audit:
            write_bytes(os.path.join(setup.out, "parts", f"{answer['part']}.{setup.format}"), data)
            if state is not None:
                answer["state"] = task["state_after"]
                write_bytes(os.path.join(setup.out, "states", answer["state"]), state)
        answer["seconds"] = time.perf_counter() - start
        return answer
