# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""Exceptions of the package."""
from __future__ import annotations

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


def _named(text: str) -> Optional[str]:
    """The argument a message of the module names: 'Class: argument: ...' or '... 'argument' is ...'."""
    found = re.search(r"where '(\w+)[^']*' is", text) or re.search(r"^(?:\w+: )?([a-z]\w*)(?:\[\d+\])?(?::| must)", text)
    return found.group(1) if found else None


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
    about = _named(text)
    raise kind(re.sub(r": '[^']*',? where '\w+' is ", "; it is ", text), about, None, code) from None
