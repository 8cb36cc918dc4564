# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""Where workers live: processes of this machine, or actors of Ray. Both have slots, each for one worker with one task at a time; a worker
that dies is replaced, and its task comes back as WorkerDied."""
from __future__ import annotations

import importlib
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
from typing import Any, Optional

from .._errors import error
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


class Processes:
    """Workers as processes of this machine; `devices` has one entry for each.

    They are programs of their own and not children of multiprocessing, which would import the caller's main program in each of them.
    """

    def __init__(self, setup: Setup, devices: list[str]) -> None:
        self._setups = [setup._replace(device=device) for device in devices]
        self._workers: list[Optional[tuple[subprocess.Popen[bytes], Any]]] = [None] * len(devices)
        self._busy: set[int] = set()

    def free(self) -> list[int]:
        """Returns the slots without a task."""
        return [slot for slot in range(len(self._workers)) if slot not in self._busy]

    def submit(self, slot: int, method: str, task: dict[str, Any]) -> None:
        """Gives a task to a free slot."""
        for _ in range(2):
            worker = self._workers[slot] or self._started(slot)
            try:
                worker[1].send((method, task))
                break
            except OSError:  # it died while it had nothing to do
                self._end(slot)
        self._busy.add(slot)

    def _started(self, slot: int) -> tuple[subprocess.Popen[bytes], Any]:
        mine, other = multiprocessing.Pipe()
        handle = other.fileno()
        code = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import serve; serve({handle}, {os.getpid()})"
        process = subprocess.Popen([sys.executable, "-c", code], pass_fds=[handle], stdin=subprocess.DEVNULL)
        other.close()
        self._workers[slot] = (process, mine)
        mine.send(self._setups[slot])
        return process, mine

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
                worker = self._workers[slot]
                code = worker[0].wait() if worker else None
                answer = f"ended by signal {-code}" if code is not None and code < 0 else f"ended with exit code {code}"
            if isinstance(answer, str):
                self._end(slot)
                answer = WorkerDied(f"the worker {answer}" if answer.startswith("ended") else answer)
            done.append((slot, answer))
        return done

    def close(self) -> None:
        """Ends all workers at once; what they were about to write is not there then."""
        for slot in range(len(self._workers)):
            self._end(slot)


def have_ray() -> bool:
    """Returns whether Ray is installed."""
    return importlib.util.find_spec("ray") is not None


class RayActors:
    """Workers as actors of Ray, on one host or many."""

    def __init__(self, setup: Setup, address: Optional[str]) -> None:
        if not have_ray():
            raise error("Ray is not installed: pip install 'cudatracking[ray]'")
        ray: Any = importlib.import_module("ray")
        self._ray = ray
        self._setup = setup
        self._workers: list[Any] = []
        self._options: dict[str, Any] = {}
        self._running: dict[Any, int] = {}
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
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
                answer = WorkerDied(str(raised).strip().splitlines()[0])
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
