# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""Exceptions of the package."""
from __future__ import annotations

import importlib
import re
from typing import Any, Callable, Optional

from ._native import cv2


class error(RuntimeError):
    """Raised for work that cannot be done: no device, a file that cannot be read, a failure of CUDA.

    Attributes:
        argument: name of the argument that the message refers to, or None.
        value: value of the argument, or None if it is not known.
        code: error code of OpenCV (negative), or None if the check was made in Python.
    """

    argument: Optional[str]
    value: Any
    code: Optional[int]

    def __init__(self, message: str, argument: Optional[str] = None, value: Any = None, code: Optional[int] = None) -> None:
        super().__init__(message)
        self.argument = argument
        self.value = value
        self.code = code


class ArgumentError(error, ValueError):
    """Raised for an argument that is out of its range or does not fit the others. It is an `error` and a ValueError."""


# Error::StsBadArg, StsBadSize, StsUnmatchedFormats, StsUnmatchedSizes, StsUnsupportedFormat, StsOutOfRange
_ABOUT_ARGUMENTS = {-5, -201, -205, -209, -210, -211}


def _plain(text: str) -> str:
    """One line of an OpenCV message, which spreads a check over several that begin with '>'."""
    lines = [line.strip().lstrip(">").strip() for line in text.strip().splitlines()]
    return re.sub(r"\s+", " ", " ".join(line for line in lines if line))


def _pythonic(text: str) -> tuple[str, Optional[str], Any]:
    """The text, with the name that this package has for an argument, that name, and the number that is its value.

    Messages of the module begin with 'Class: argument: ...', 'Params::argument: ...' or 'Class: argument must be ..., this is
    value'; those of OpenCV have '... 'argument' is ...'.
    """
    found = re.search(r"where '(\w+)[^']*' is", text) or re.search(r"^(?:\w+: |Params::)?([a-z]\w*)(?:\[\d+\])?(?::| must)", text)
    if not found:
        return text, None, None
    name = re.sub(r"(?<=[a-z0-9])[A-Z]", lambda capital: "_" + capital.group().lower(), found.group(1))
    number = re.search(r"^: (-?\d+(?:\.\d+)?(?:e[+-]\d+)?), but |, this is (-?\d+(?:\.\d+)?(?:e[+-]\d+)?)$", text[found.end(1):])
    value: Any = None
    if number:
        value = float(number.group(1) or number.group(2))
        value = int(value) if value.is_integer() else value
    return re.sub(r"^Params::", "", text[:found.start(1)]) + name + text[found.end(1):], name, value


def import_optional(name: str, missing: str) -> Any:
    """Imports a package that is not always there. Raises error: with `missing` when it is not installed, else with what is wrong with it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as raised:
        package = name.partition(".")[0]
        raise error(missing if raised.name in (package, name) else f"{package} cannot be imported: {raised}") from None
    except Exception as raised:  # ImportError of its libraries; packages raise others as well
        raise error(f"{name.partition('.')[0]} cannot be imported: {' '.join(str(raised).split()) or type(raised).__name__}") from None


def call(function: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """Calls the extension; its exceptions become those of this package."""
    try:
        return function(*args, **named)
    except cv2.error as raised:
        failure = raised
    except SystemError as raised:  # the extension returned a result although an exception was set
        cause = raised.__cause__
        if not isinstance(cause, cv2.error):
            raise error(_plain(str(cause or raised))) from None
        failure = cause
    code = getattr(failure, "code", None)
    text = _plain(getattr(failure, "err", None) or str(failure))
    # CV_Check() has no code of its own, but always says where which value is what.
    kind = ArgumentError if code in _ABOUT_ARGUMENTS or re.search(r"\bwhere '[^']+' is ", text) else error
    text, about, value = _pythonic(text)
    raise kind(re.sub(r": '[^']*',? where '\w+' is ", "; it is ", text), about, value, code) from None
