# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""Where workers live: in processes of this machine or in actors of Ray."""
from __future__ import annotations

import concurrent.futures
import contextlib
import importlib.util
import logging
import multiprocessing
import multiprocessing.context
import os
import signal
import tempfile
import threading
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from typing import Any, Callable, Optional

from .._errors import error, import_optional
from ._worker import Setup, Worker


class WorkerDied(Exception):
    """The worker ended, or failed, while it did a task."""


class Executor:
    """Slots, each for one worker with one task at a time. A worker that dies is replaced, and its task comes back as WorkerDied. `make` makes the
    worker of a slot; `end` is called when all have ended."""

    def __init__(self, count: int, make: Callable[[int], Any], end: Callable[[], Any] = lambda: None) -> None:
        self._make, self._end = make, end
        self._workers: list[Any] = [None] * count
        self._tasks: dict[Future[Any], int] = {}

    def free(self) -> list[int]:
        """Returns the slots without a task."""
        return sorted({*range(len(self._workers))} - {*self._tasks.values()})

    def submit(self, slot: int, task: Optional[dict[str, Any]]) -> None:
        """Gives a task to a free slot, or lets its worker go on with the one that it has begun."""
        try:
            self._workers[slot] = self._workers[slot] or self._make(slot)
            future = self._workers[slot].send(task)
        except BrokenExecutor as raised:  # the worker ended while it had nothing to do
            future = Future()
            future.set_exception(raised)
        self._tasks[future] = slot

    def wait(self, seconds: float) -> list[tuple[int, Any]]:
        """Waits up to so many seconds for tasks: (slot, answer or WorkerDied) of those that ended."""
        ended, _ = concurrent.futures.wait(self._tasks, seconds, concurrent.futures.FIRST_COMPLETED)
        done: list[tuple[int, Any]] = []
        for future in ended:
            slot = self._tasks.pop(future)
            try:
                answer: Any = future.result()
            except Exception as raised:
                answer = WorkerDied(self._workers[slot].last_words(raised))
                self._drop(slot)
            done.append((slot, answer))
        return done

    def _drop(self, slot: int) -> None:
        if self._workers[slot]:
            self._workers[slot].kill()
        self._workers[slot] = None

    def close(self) -> None:
        """Ends all workers at once; what they were about to write is not there then."""
        for slot in range(len(self._workers)):
            self._drop(slot)
        self._end()


_worker: Optional[Worker] = None  # of this process


def _begin(setup: Setup, gpu: Optional[int], log: str) -> None:
    """Makes a process a worker, which writes its last words to a file and ends with the driver, also in the middle of a task."""
    global _worker
    handle = os.open(log, os.O_WRONLY | os.O_APPEND)
    os.dup2(handle, 2)
    os.close(handle)
    driver: Any = multiprocessing.parent_process()
    threading.Thread(target=lambda: (driver.join(), os._exit(1)), daemon=True).start()
    if gpu is not None:  # a process that sees several GPUs has memory on more than the one it works on
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        os.environ["CUDA_VISIBLE_DEVICES"] = str(gpu) if visible is None else visible.split(",")[gpu].strip()
    _worker = Worker(setup)


def _call(task: Optional[dict[str, Any]]) -> Any:
    return _worker and _worker.call(task)


class _Context(multiprocessing.context.SpawnContext):
    """Keeps the process that a pool begins, to end it and to tell how it ended."""

    process: Any = None

    def Process(self, *args: Any, **named: Any) -> Any:  # type: ignore[override]
        self.process = multiprocessing.context.SpawnProcess(*args, **named)
        return self.process


class ProcessWorker:
    """A worker as a process of this machine, in a pool of its own: one that dies takes no other with it. `gpu`: its number, None for the CPU."""

    def __init__(self, setup: Setup, gpu: Optional[int]) -> None:
        self._log, context = tempfile.NamedTemporaryFile(), _Context()
        self._pool = ProcessPoolExecutor(1, context, _begin, (setup, gpu, self._log.name))
        # The process begins with the signals of a terminal blocked, and never sees them: the driver decides.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGHUP))
        try:
            self._pool.submit(int)  # which starts it
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        self._process: Any = context.process

    def send(self, task: Optional[dict[str, Any]]) -> Future[Any]:
        """Gives the worker a task, or without one lets it go on."""
        return self._pool.submit(_call, task)

    def kill(self) -> None:
        """Ends the worker at once."""
        self._process.kill()
        self._pool.shutdown()
        self._log.close()

    def last_words(self, raised: Exception) -> str:
        """Returns why the worker did not do its task: how its process ended, and the last lines of its standard error."""
        if not isinstance(raised, BrokenExecutor):
            return f"{type(raised).__name__}: {raised}"
        self._process.join(5)
        code = self._process.exitcode or 0
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        lines = [line.strip() for line in self._log.read().decode(errors="replace").splitlines() if line.strip()]
        return f"the worker ended {how}" + (f": {'; '.join(lines[-3:])[-500:]}" if lines else "")


def have_ray() -> bool:
    """Returns whether Ray is installed: a folder of its name beside the program is a namespace package, which has no origin."""
    found = importlib.util.find_spec("ray")
    return found is not None and found.origin is not None


def connected_ray(address: Optional[str]) -> tuple[Any, Callable[[], Any]]:
    """Returns the module, connected to a cluster, and what ends the connection."""
    ray: Any = import_optional("ray", "Ray is not installed: pip install 'cudatracking[ray]'")
    if ray.is_initialized():
        return ray, lambda: None
    where = address or os.environ.get("RAY_ADDRESS") or "local"
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        ray.init(address=where, log_to_driver=False, logging_level=logging.ERROR, **({"include_dashboard": False} if where == "local" else {}))
    except Exception as raised:
        raise error(f"Ray at {where}: {raised}") from None
    if threading.current_thread() is threading.main_thread():
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return ray, ray.shutdown


class RayWorker:
    """A worker as an actor of Ray, with so many CPUs and GPUs, or parts of one."""

    def __init__(self, ray: Any, setup: Setup, cpus: float, gpus: float) -> None:
        self._ray, self._actor = ray, ray.remote(Worker).options(num_cpus=cpus, num_gpus=gpus, max_restarts=0).remote(setup)

    def send(self, task: Optional[dict[str, Any]]) -> Any:
        """Gives the worker a task, or without one lets it go on."""
        return self._actor.call.remote(task).future()

    def kill(self) -> None:
        """Ends the worker at once."""
        with contextlib.suppress(Exception):  # it is gone already
            self._ray.kill(self._actor)

    def last_words(self, raised: Exception) -> str:
        """Returns why the worker did not do its task: how its process has ended, or the last line of a traceback, which is the exception."""
        lines = [line.strip() for line in str(raised).splitlines() if line.strip()] or [type(raised).__name__]
        for line in lines:
            detail = line.partition("Worker exit detail: ")[2].partition(" Some common causes")[0]
            if detail:
                return f"the worker ended: {detail} Its own words are in Ray's logs"
        return lines[-1] if any(line.startswith("File ") for line in lines) else lines[0]
