# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""Devices and streams: what `device=` and `stream=` mean, and what this build can do."""
from __future__ import annotations

import contextlib
import functools
import re
from dataclasses import dataclass
from typing import Any, Iterator, Optional

from ._errors import ArgumentError, call, error, shown
from ._native import cv2
from ._version import __version__


@dataclass(frozen=True)
class Device:
    """A CUDA device of this machine.

    Attributes:
        index: number of the device, for `device="cuda:<index>"`.
        compute_capability: (major, minor).
        multiprocessors: number of multiprocessors.
        total_memory, free_memory: device memory in bytes.
        usable: True if this build has code for the device.
    """

    index: int
    compute_capability: tuple[int, int]
    multiprocessors: int
    total_memory: int
    free_memory: int
    usable: bool


@dataclass(frozen=True)
class BuildInfo:
    """Versions and targets that the package was built with.

    Attributes:
        version: of the package.
        opencv: version of the private OpenCV.
        cuda: version of the CUDA toolkit, or None in a build for the CPU only.
        compute_capabilities: compute capabilities with compiled code, such as ("9.0",).
        ptx: compute capabilities with PTX code, from which the driver compiles for newer devices.
        cpu: compiled instruction sets, such as "SSE3 AVX2 AVX512_SKX".
    """

    version: str
    opencv: str
    cuda: Optional[str]
    compute_capabilities: tuple[str, ...]
    ptx: tuple[str, ...]
    cpu: str


def _count() -> int:
    # 0 without CUDA in the build, -1 without a driver.
    return max(int(cv2.cuda.getCudaEnabledDeviceCount()), 0)


def devices() -> list[Device]:
    """Returns the CUDA devices of this machine; an empty list without a driver, without a device, and in a build for the CPU only."""
    found = []
    for index in range(_count()):
        with on_device(index):
            info = call(cv2.cuda.DeviceInfo, index)
            found.append(Device(index, (info.majorVersion(), info.minorVersion()), info.multiProcessorCount(),
                                info.totalGlobalMem(), info.freeMemory(), bool(info.isCompatible())))
    return found


def build_info() -> BuildInfo:
    """Returns the versions, compute capabilities and instruction sets of this build."""
    text = cv2.getBuildInformation()

    def line(name: str) -> str:
        found = re.search(rf"^ *{re.escape(name)}: *(.*)$", text, re.MULTILINE)
        return found.group(1).strip() if found else ""

    def capabilities(name: str) -> tuple[str, ...]:
        return tuple(f"{part[:-1]}.{part[-1]}" for part in line(name).replace(".", "").split())

    cuda = re.search(r"YES.*?([0-9]+\.[0-9]+)", line("NVIDIA CUDA"))
    enabled = re.sub(r"\([^)]*\)", "", line("Baseline") + " " + line("Dispatched code generation"))
    return BuildInfo(__version__, cv2.__version__, cuda.group(1) if cuda else None, capabilities("NVIDIA GPU arch"),
                     capabilities("NVIDIA PTX archs"), " ".join(enabled.replace("requested", "").split()))


class Placement:
    """Where an object works: what `device=` says, looked up once.

    "auto": arrays on a device are worked on there; those on the host on the first CUDA device, or on the CPU if there is none.
    """

    def __init__(self, device: str) -> None:
        if not isinstance(device, str):
            raise TypeError(f'device: {shown(device)}: "auto", "cpu", "cuda" or "cuda:<number>" is needed')
        found = re.fullmatch(r"(auto|cpu|cuda)|cuda:(\d{1,4})", device)
        if not found:
            raise ArgumentError(f'device: {shown(device)}: "auto", "cpu", "cuda" or "cuda:<number>" is needed', "device", device)
        self.name = device
        self._auto = device == "auto"
        self._number: Optional[int] = None  # of devices, from the first call on
        self._index: Optional[int] = None if device in ("auto", "cpu") else int(found.group(2) or 0)
        if self._index is not None and self._index >= _count():
            raise error(f"device: {shown(device)}: this machine has {_count()} CUDA devices that can be used", "device", device)

    def of(self, given: Optional[int], name: str) -> Optional[int]:
        """The device for an array that lies on `given` (None: the host); None: the CPU."""
        if self._auto:
            if self._number is None:
                self._number = _count()
            if given is not None and given >= self._number:
                raise error(f"{name}: lies on CUDA device {given}, and there are {self._number} that can be used", name, given)
            return given if given is not None else (0 if self._number else None)
        if given is not None and given != self._index:
            raise ArgumentError(f"{name}: lies on CUDA device {given}, but this object works on {self.name!r}", name, given)
        return self._index

    def __str__(self) -> str:
        return self.name


@contextlib.contextmanager
def on_device(index: Optional[int]) -> Iterator[None]:
    """Makes a device the current one of this thread meanwhile; nothing for the CPU."""
    if index is None:
        yield
        return
    before = enter(index)
    try:
        yield
    finally:
        leave(index, before)


def enter(index: int) -> int:
    """Makes a device the current one of this thread, and returns the one before, for leave()."""
    before = int(call(cv2.cuda.getDevice))
    if before != index:
        call(cv2.cuda.setDevice, index)
    return before


def leave(index: int, before: int) -> None:
    if before != index:
        cv2.cuda.setDevice(before)


def stream_pointer(stream: Any) -> Optional[int]:
    """The CUDA handle of what a caller gives as `stream`; None when nothing was given.

    A number is taken as the handle itself and trusted; 0 and 1 are the null stream, 2 is the thread's own.
    """
    if stream is None:
        return None
    handle = stream
    if hasattr(type(stream), "__cuda_stream__"):
        handle = stream.__cuda_stream__()
        handle = handle[1] if isinstance(handle, tuple) and len(handle) == 2 else stream
    elif not isinstance(stream, int):
        for name in ("cuda_stream", "ptr", "handle", "cudaPtr"):  # torch, CuPy, numba and CUDA Python, OpenCV
            if hasattr(stream, name):
                handle = getattr(stream, name)
                handle = handle() if callable(handle) else handle
                break
    handle = getattr(handle, "value", handle)
    if isinstance(handle, bool) or not isinstance(handle, int):
        raise TypeError(f"stream: {type(stream).__name__}: a stream of torch, CuPy or OpenCV, or its address, is needed")
    if not 0 <= handle < 2**63:
        raise ArgumentError(f"stream: {handle} is no address", "stream", handle)
    return handle


def new_event() -> Any:
    """An event of the current device that orders streams."""
    return call(cv2.cuda.Event, cv2.cuda.EVENT_DISABLE_TIMING)


@functools.lru_cache(maxsize=64)
def native_stream(pointer: Optional[int]) -> Any:
    """Stream of the extension for a handle; the last ones are kept, as making one costs a call of the driver."""
    return call(cv2.cuda.wrapStream, 0 if pointer in (None, 1) else pointer)
