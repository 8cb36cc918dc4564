# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""Where workers live: processes of this machine, or actors of Ray. Both have slots, each for one worker with one task at a time; a worker
that dies is replaced, and its task comes back as WorkerDied."""
from __future__ import annotations

import collections
import contextlib
import importlib.util
import logging
import multiprocessing
import multiprocessing.connection
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any, Optional, Sequence

from .._errors import error, import_optional
from ._worker import Setup, Worker


class WorkerDied(Exception):
    """The worker ended, or failed, while it did a task."""


def serve(handle: int, driver: int) -> None:
    """Runs a worker process: answers what comes by a socket until its other end is closed or the driver, a process id, is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver decides
    tasks = multiprocessing.connection.Connection(handle)

    def watch() -> None:
        while os.getppid() == driver:
            time.sleep(.2)
        os._exit(1)  # also in the middle of a task: nobody waits for it any more

    threading.Thread(target=watch, daemon=True).start()
    try:
        worker = Worker(tasks.recv())
        while True:
            method, task = tasks.recv()
            try:
                answer: Any = worker.call(method, task)
            except BaseException as raised:
                answer = f"{type(raised).__name__}: {raised}"
            tasks.send(answer)
            if isinstance(answer, str):
                return
    except (EOFError, OSError):
        return


class LastWords:
    """The last lines that a worker has written to its standard error, which say more of its end than its exit code."""

    def __init__(self, pipe: Any) -> None:
        self._lines: collections.deque[str] = collections.deque(maxlen=3)
        self._thread = threading.Thread(target=self._read, args=(pipe,), daemon=True)
        self._thread.start()

    def _read(self, pipe: Any) -> None:
        with pipe:
            for line in iter(lambda: pipe.readline(4096), b""):
                if line.strip():
                    self._lines.append(line.decode(errors="replace").strip())

    def text(self) -> str:
        """Returns them when the worker has ended."""
        self._thread.join(1.)  # a process that the worker began may keep the pipe open
        return "; ".join(list(self._lines))[-500:]


def environment(gpu: Optional[int]) -> dict[str, str]:
    """Returns the environment of a worker that sees one GPU alone, as number 0; None: of one that works on the CPU. A process that sees
    several has memory on more than the one it works on."""
    made = dict(os.environ)
    if gpu is not None:
        visible = made.get("CUDA_VISIBLE_DEVICES")
        made["CUDA_VISIBLE_DEVICES"] = str(gpu) if visible is None else visible.split(",")[gpu].strip()
    return made


class Processes:
    """Workers as processes of this machine; `gpus` has one entry for each, None for one that works on the CPU.

    They are programs of their own and not children of multiprocessing, which would import the caller's main program in each of them.
    """

    def __init__(self, setup: Setup, gpus: Sequence[Optional[int]]) -> None:
        self._setup, self._gpus = setup, gpus
        self._workers: list[Optional[tuple[subprocess.Popen[bytes], Any, LastWords]]] = [None] * len(gpus)
        self._busy: set[int] = set()

    def free(self) -> list[int]:
        """Returns the slots without a task."""
        return [slot for slot in range(len(self._workers)) if slot not in self._busy]

    def submit(self, slot: int, method: str, task: dict[str, Any]) -> None:
        """Gives a task to a free slot."""
        worker = self._workers[slot]
        if worker is not None and worker[0].poll() is not None:  # it ended while it had nothing to do
            self._end(slot)
            worker = None
        worker = worker or self._started(slot)
        with contextlib.suppress(OSError):  # it has ended: wait() says so
            worker[1].send((method, task))
        self._busy.add(slot)

    def _started(self, slot: int) -> tuple[subprocess.Popen[bytes], Any, LastWords]:
        mine, other = multiprocessing.Pipe()
        handle = other.fileno()
        code = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import serve; serve({handle}, {os.getpid()})"
        process = subprocess.Popen([sys.executable, "-c", code], pass_fds=[handle], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   env=environment(self._gpus[slot]))
        other.close()
        worker = process, mine, LastWords(process.stderr)
        self._workers[slot] = worker
        with contextlib.suppress(OSError):
            mine.send(self._setup)
        return worker

    def _end(self, slot: int) -> None:
        worker = self._workers[slot]
        self._workers[slot] = None
        if worker is not None:
            worker[1].close()
            worker[0].kill()
            worker[0].wait()

    def wait(self, seconds: float) -> list[tuple[int, Any]]:
        """Waits up to so many seconds for tasks: (slot, answer or WorkerDied) of those that ended."""
        connections: dict[Any, int] = {worker[1]: slot for slot, worker in enumerate(self._workers) if worker and slot in self._busy}
        done: list[tuple[int, Any]] = []
        ready: list[Any] = multiprocessing.connection.wait(list(connections), seconds)
        for connection in ready:
            slot = connections[connection]
            self._busy.discard(slot)
            try:
                answer = connection.recv()
            except (EOFError, OSError):
                answer = self._how_it_ended(slot)
            if isinstance(answer, str):
                self._end(slot)
                answer = WorkerDied(answer)
            done.append((slot, answer))
        return done

    def _how_it_ended(self, slot: int) -> str:
        worker = self._workers[slot]
        assert worker is not None
        code, words = worker[0].wait(), worker[2].text()
        return f"the worker ended {f'by signal {-code}' if code < 0 else f'with exit code {code}'}" + (f": {words}" if words else "")

    def close(self) -> None:
        """Ends all workers at once; what they were about to write is not there then."""
        for slot in range(len(self._workers)):
            self._end(slot)


def have_ray() -> bool:
    """Returns whether Ray is installed: a folder of its name beside the program is a namespace package, which has no origin."""
    found = importlib.util.find_spec("ray")
    return found is not None and found.origin is not None


def _essence(raised: Exception) -> str:
    """Returns what says most of an exception of Ray: how an actor's process has ended, or the last line of a traceback, which is the exception."""
    lines = [line.strip() for line in str(raised).splitlines() if line.strip()] or [type(raised).__name__]
    for line in lines:
        detail = line.partition("Worker exit detail: ")[2].partition(" Some common causes")[0]
        if detail:
            return f"the worker ended: {detail} Its own words are in Ray's logs"
    return lines[-1] if any(line.startswith("File ") for line in lines) else lines[0]


class RayActors:
    """Workers as actors of Ray, on one host or many."""

    def __init__(self, setup: Setup, address: Optional[str]) -> None:
        ray: Any = import_optional("ray", "Ray is not installed: pip install 'cudatracking[ray]'")
        self._ray = ray
        self._setup = setup
        self._workers: list[Any] = []
        self._options: dict[str, Any] = {}
        self._running: dict[Any, int] = {}
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
        self._mine = not ray.is_initialized()
        if self._mine:
            where = address or os.environ.get("RAY_ADDRESS") or "local"
            options: dict[str, Any] = {"include_dashboard": False} if where == "local" else {}
            try:
                ray.init(address=where, log_to_driver=False, logging_level=logging.ERROR, **options)
            except Exception as raised:
                raise error(f"Ray at {where}: {raised}") from None
            if threading.current_thread() is threading.main_thread():
                for number, handler in handlers.items():
                    signal.signal(number, handler)

    def resources(self) -> dict[str, float]:
        """Returns what the cluster has, such as CPU and GPU."""
        return {str(name): float(value) for name, value in self._ray.cluster_resources().items()}

    def start(self, setup: Setup, count: int, cpus: float, gpus: float) -> None:
        """Begins `count` workers, each with so many CPUs and GPUs, or parts of one."""
        self._setup = setup
        self._options = {"num_cpus": cpus, "num_gpus": gpus, "max_restarts": 0}
        self._workers = [None] * count

    def free(self) -> list[int]:
        """Returns the slots without a task."""
        busy = set(self._running.values())
        return [slot for slot in range(len(self._workers)) if slot not in busy]

    def submit(self, slot: int, method: str, task: dict[str, Any]) -> None:
        """Gives a task to a free slot."""
        if self._workers[slot] is None:
            self._workers[slot] = self._ray.remote(Worker).options(**self._options).remote(self._setup)
        self._running[self._workers[slot].call.remote(method, task)] = slot

    def wait(self, seconds: float) -> list[tuple[int, Any]]:
        """Waits up to so many seconds for tasks: (slot, answer or WorkerDied) of those that ended."""
        ended, _ = self._ray.wait(list(self._running), num_returns=1, timeout=seconds)
        done: list[tuple[int, Any]] = []
        for reference in ended:
            slot = self._running.pop(reference)
            try:
                answer: Any = self._ray.get(reference)
            except Exception as raised:
                answer = WorkerDied(_essence(raised))
                try:
                    self._ray.kill(self._workers[slot])
                except Exception:  # it is gone already
                    pass
                self._workers[slot] = None
            done.append((slot, answer))
        return done

    def close(self) -> None:
        """Ends all workers at once, and Ray if it was begun here."""
        for worker in self._workers:
            if worker is not None:
                try:
                    self._ray.kill(worker)
                except Exception:
                    pass
        if self._mine:
            self._ray.shutdown()
