# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""What a worker does: it decodes a video, works on it, and writes its part of the table."""
from __future__ import annotations

import contextlib
import os
import socket
import tempfile
import time
from typing import Any, Generator, Iterator, NamedTuple, Optional

from .. import __version__
from .._errors import error
from .._jobs import JOBS, make_job
from .._native import cv2
from ._device_video import Decoder, DeviceFrames, NotOnDevice, codec_module
from ._files import StorageError, sha256_of_file, whole_file
from ._tables import HEAD, Part, format_versions
from ._video import Frames, VideoError, decoder_versions, stat_of

BATCH = 8  # frames that a device gets at once
STEP = 2.  # seconds after which a worker says how far it is
NOT_FROM_THE_INPUT = (-4, -217)  # Error::StsNoMem, GpuApiCallError: another worker may succeed


def versions(kind: str) -> dict[str, str]:
    """Returns the versions of all that decides the bytes of a part."""
    return {"cudatracking": __version__, "opencv": str(cv2.__version__), **decoder_versions(), **format_versions(kind)}


class _Failed(Exception):
    """This video cannot be used, for the reason that is the text."""


class Setup(NamedTuple):
    """What all workers of a scan have in common: folder of the results, the same on all hosts; job and settings as for make_job(); format of parts;
    versions that the driver has; "cpu", or "cuda:0", the GPU that a worker sees alone; threads of each worker, for decoding for a GPU, else for
    work on the CPU; whether videos are decoded on the "host" or the "device"."""

    out: str
    job: str
    settings: dict[str, Any]
    format: str
    versions: dict[str, str]
    device: str
    threads: int
    decode: str


class Worker:
    """Works on one task after the other. `call` does not raise for what is wrong with an input; other exceptions are faults of the worker."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)
        cv2.setNumThreads(setup.threads)
        self._jobs: dict[str, Any] = {}  # by device
        self._checked = False
        self._kept: list[Decoder] = []  # that of the device, between two videos
        self._steps: Iterator[dict[str, Any]] = iter(())

    def call(self, task: Optional[dict[str, Any]]) -> dict[str, Any]:
        """Begins a task, or without one goes on. "kind" of the answer: more (call again), ok, same (the video is the one that was done before),
        failed (the video cannot be used) or fatal (the scan cannot go on)."""
        try:
            if not self._checked:
                self._check()
            if task is not None:
                self._steps = self._work(task)
            return next(self._steps)
        except StorageError as raised:
            return {"kind": "fatal", "reason": str(raised)}
        except (_Failed, VideoError) as raised:
            return {"kind": "failed", "reason": str(raised)}

    def _check(self) -> None:
        mine, host = versions(self._setup.format), socket.gethostname()
        for name, version in self._setup.versions.items():
            if mine.get(name) != version:
                raise StorageError(f"host {host} has {name} {mine.get(name)}, the scan was begun with {version}")
        if not os.path.exists(os.path.join(self._setup.out, "journal.jsonl")):
            raise StorageError(f"host {host} does not see the folder {self._setup.out} of this scan; it must be on storage that all hosts share")
        if self._setup.decode == "device":
            try:
                codec_module()
            except error as raised:
                raise StorageError(f"host {host}: {raised}") from None
        self._checked = True

    def _job(self, device: str, boxes: Any) -> Any:
        setup = self._setup
        if JOBS[setup.job].ORDERED:
            return make_job(setup.job, setup.settings, device, boxes)
        if device not in self._jobs:
            self._jobs[device] = make_job(setup.job, setup.settings, device, ())
        return self._jobs[device]

    def _work(self, task: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Does a task, an answer at a time. One that is audited is done on the CPU, and its part is not kept."""
        size, modified = stat_of(task["path"])
        try:
            sha256 = sha256_of_file(task["path"])
        except OSError as raised:
            raise VideoError(f"cannot be read: {raised.strerror}") from None
        video = {"size": size, "modified": modified, "sha256": sha256}
        if task["known"] == sha256:
            yield {"kind": "same", **video}
            return
        with contextlib.ExitStack() as stack:
            path, device, threads = task["part"], self._setup.device, self._setup.threads
            if task["audit"]:
                path, device = os.path.join(stack.enter_context(tempfile.TemporaryDirectory()), "part"), "cpu"
            color = JOBS[self._setup.job].COLOR
            ways: list[Any] = [Frames(task["path"], color, 1)]
            if device != "cpu" and threads > 1:  # how threads of FFmpeg hide damage depends on their number, so that one of them has the last word
                ways.insert(0, Frames(task["path"], color, threads))
            if device != "cpu" and self._setup.decode == "device" and not color:
                ways.insert(0, DeviceFrames(task["path"], self._kept))
            not_on_device = ""
            for frames in ways:
                try:
                    done = yield from self._part(task, frames, device, path)
                except NotOnDevice as raised:
                    not_on_device = str(raised)
                    continue
                if not (frames.gaps or frames.note):
                    break
            yield {"kind": "ok", **video, **done, "part": sha256_of_file(path), "length": frames.length, "note": frames.note, "gaps": [list(gap) for gap in frames.gaps],
                   "on_device": isinstance(frames, DeviceFrames), "not_on_device": not_on_device}

    def _part(self, task: dict[str, Any], frames: Any, device: str, path: str) -> Generator[dict[str, Any], None, dict[str, Any]]:
        """Writes the rows of a video. Yields how far it is, and returns the numbers of rows and frames, the boxes that were refused, and the seconds."""
        job = self._job(device, task["boxes"])
        count, busy, start = 0, 0., time.perf_counter()
        told = {"frames": 0, "work": 0., "decode": 0., "seconds": 0.}

        def progress() -> dict[str, float]:
            nonlocal told
            before, told = told, {"frames": count, "work": busy, "decode": frames.seconds, "seconds": time.perf_counter() - start}
            return {name: told[name] - before[name] for name in told}

        with whole_file(path) as temporary:
            with contextlib.closing(Part(self._setup.format, [*HEAD, *JOBS[self._setup.job].COLUMNS], task["video"], temporary)) as table:
                for batch, rows, seconds in self._rows(job, frames, device):
                    busy += seconds
                    count += len(batch)
                    for (number, seconds, _), columns in zip(batch, rows):
                        table.add(number, seconds, columns)
                    if time.perf_counter() - start - told["seconds"] > STEP:
                        yield {"kind": "more", "progress": progress()}
        return {"rows": table.rows, "frames": count, "boxes": [list(entry) for entry in job.refused()], "seconds": time.perf_counter() - start, "progress": progress()}

    def _rows(self, job: Any, frames: Any, device: str) -> Iterator[tuple[Any, Any, float]]:
        """Yields batches of frames, the columns of each frame, and the seconds that the job took."""
        try:
            for batch in frames.batches(1 if job.ORDERED or device == "cpu" else BATCH):
                before = time.perf_counter()
                columns = job.work([(number, pixels) for number, _, pixels in batch])
                yield batch, columns, time.perf_counter() - before
        except (error, TypeError, ValueError) as raised:
            if getattr(raised, "code", None) in NOT_FROM_THE_INPUT:
                raise RuntimeError(str(raised)) from None
            raise _Failed(str(raised)) from None
