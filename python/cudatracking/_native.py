# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""The private OpenCV extension, loaded beside any other cv2 of the process.

The extension calls itself `cv2` and writes `cv2` and `cv2.*` into sys.modules. These entries are taken out again, and those of
another cv2 put back, so that neither of both sees the other, whichever is imported first.
"""
from __future__ import annotations

import contextlib
import importlib._bootstrap
import importlib.machinery
import importlib.util
import os
import sys
import types
from typing import Any, Callable

import numpy  # noqa: F401  (the extension imports it: here, where nothing has to be quick)

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_extension")


def _created(spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
    """Makes the module, which also puts itself into sys.modules, and takes it out there before another thread can look."""
    # Who imports cv2 meanwhile waits for this lock. Who finds cv2 in sys.modules does not, so that no other thread should run
    # until it is out again; a second is more than that takes, and little enough should this thread have to wait for others.
    lock: Any = getattr(importlib._bootstrap, "_ModuleLockManager", None)
    with lock("cv2") if lock else contextlib.nullcontext():
        kept = {name: module for name, module in sys.modules.items() if name == "cv2" or name.startswith("cv2.")}
        for name in kept:
            del sys.modules[name]
        interval = sys.getswitchinterval()
        try:
            sys.setswitchinterval(1.)
            return importlib.util.module_from_spec(spec)
        finally:
            for name in [name for name in sys.modules if name == "cv2" or name.startswith("cv2.")]:
                del sys.modules[name]
            sys.modules.update(kept)
            sys.setswitchinterval(interval)


def _refuse(cls: type, *_args: object, **_named: object) -> Any:
    raise TypeError(f"{cls.__module__}.{cls.__qualname__} has no constructor; call its create(), or use the classes of cudatracking")


def _close_constructors(module: types.ModuleType, seen: set[int]) -> None:
    """Lets classes without a constructor refuse to be constructed.

    OpenCV's generator gives abstract classes one that returns an object without contents, and its methods end the process.
    """
    for value in list(vars(module).values()):
        if isinstance(value, types.ModuleType) and value.__name__.startswith("cv2") and id(value) not in seen:
            seen.add(id(value))
            _close_constructors(value, seen)
        elif isinstance(value, type) and value.__module__.startswith("cv2") and id(value) not in seen:
            seen.add(id(value))
            if not issubclass(value, BaseException) and value.__init__ is object.__init__:
                value.__new__ = _refuse  # type: ignore[method-assign]


def _guard(cuda: Any) -> None:
    """Functions that end the process: those that return a Stream do where there is no device, those that return an allocator always."""
    def checked(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*args: object, **named: object) -> Any:
            if cuda.getCudaEnabledDeviceCount() <= 0:
                raise RuntimeError(f"cv2.cuda.{name}: there is no CUDA device that can be used")
            return function(*args, **named)
        return guarded

    def refused(name: str) -> Callable[..., Any]:
        def refuse(*_args: object, **_named: object) -> Any:
            raise TypeError(f"cv2.cuda.{name} cannot be called from Python")
        return refuse

    for name in ("wrapStream", "Stream_Null"):
        setattr(cuda, name, checked(name, getattr(cuda, name)))
    cuda.Stream.Null = staticmethod(cuda.Stream_Null)
    for name in ("defaultAllocator", "getStdAllocator", "setDefaultAllocator"):
        setattr(cuda, f"GpuMat_{name}", refused(f"GpuMat.{name}"))
        setattr(cuda.GpuMat, name, staticmethod(refused(f"GpuMat.{name}")))


def _describe(cuda: Any) -> None:
    """Gives classes the text of their create(): OpenCV's generator carries the comments of methods, none of classes."""
    for value in list(vars(cuda).values()):
        if isinstance(value, type) and value.__doc__ is None and hasattr(value, "create"):
            value.__doc__ = value.create.__doc__


def _load() -> Any:
    names = [f"cv2{suffix}" for suffix in importlib.machinery.EXTENSION_SUFFIXES if os.path.isfile(os.path.join(FOLDER, f"cv2{suffix}"))]
    if not names and getattr(sys, "frozen", False):
        raise ImportError(f"cudatracking: this program was frozen without the extension: there is no {os.path.join(FOLDER, 'cv2*.so')}; PyInstaller "
                          "collects it by the hook of the installed wheel, for others name the folders _extension and cascades of the package")
    if not names:
        raise ImportError(f"cudatracking: there is no extension for this Python ({sys.version.split()[0]}) in {FOLDER}; "
                          "install the wheel that scripts/wheel.sh makes")
    spec = importlib.util.spec_from_file_location("cv2", os.path.join(FOLDER, names[0]))
    assert spec is not None and spec.loader is not None
    module = _created(spec)
    spec.loader.exec_module(module)
    _close_constructors(module, {id(module)})
    _guard(vars(module)["cuda"])
    _describe(vars(module)["cuda"])
    return module


cv2: Any = _load()
