# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""Exceptions of the package."""
from __future__ import annotations

import importlib
import re
import reprlib
from typing import Any, Callable, Optional

import numpy as np

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


_SHORT = reprlib.Repr()
_SHORT.maxstring, _SHORT.maxother = 300, 120  # characters


def shown(value: Any) -> str:
    """repr() of a value for a message, which does not repeat a whole file or array."""
    if isinstance(value, np.ndarray):
        return f"{type(value).__name__} of shape {value.shape}"
    return _SHORT.repr(value)


# Error::StsBadArg, StsBadSize, StsUnmatchedFormats, StsUnmatchedSizes, StsUnsupportedFormat, StsOutOfRange
_ABOUT_ARGUMENTS = {-5, -201, -205, -209, -210, -211}


def _plain(text: str) -> str:
    """One line of an OpenCV message, which spreads a check over several that begin with '>'."""
    lines = [line.strip().lstrip(">").strip() for line in text.strip().splitlines()]
    return re.sub(r"\s+", " ", " ".join(line for line in lines if line))


# What C++ says, in the words of this package; in this order.
_WORDS = (
    (r"; for the part that is, give box & Rect\(.*?\)", ""),
    (r"(?<=UC3, but the fragments are CV_8UC4)", "; of templates with alpha, give png[..., :3] and weights=[png[..., 3]]"),
    (r"^setPredictions: locations", "predictions"),
    (r"\bin Mat\b", "on the host"),
    (r"\bin GpuMat\b", "on a device"),
    (r"\ba Mat\b", "an array on the host"),
    (r"\ba GpuMat\b", "an array on a device"),
    (r"^Params::", ""),
    (r"\bMultiTrackerTLD\b", "MultiTracker"),
    (r"\bTrackerTLD\b", "Tracker"),
    (r"\bTLDDetector\b", "Detector"),
    (r"\bCascadeClassifierEx\b", "CascadeClassifier"),
    (r"(?<=[a-z])::(?=[a-z])", "."),
)
# Names that are not the same words in snake_case.
_NAMES = {"setFragments": "set", "cutFragments": "cut", "addFragment": "add", "updateFragment": "update", "removeFragment": "remove", "warpFragment": "warp",
          "write": "save", "getDetections": "detections", "getTemplates": "templates", "getAdjacency": "adjacency", "detectMultiScale": "detect",
          "templ": "template", "searchAreas": "areas", "filename": "path", "boundingBox": "box", "minObjectSize": "min_size", "maxObjectSize": "max_size",
          "firstAngle": "angles", "lastAngle": "angles", "firstScale": "scales", "lastScale": "scales"}
_ELEMENTS = {"8U": "uint8", "8S": "int8", "16U": "uint16", "16S": "int16", "32S": "int32", "32F": "float32", "64F": "float64", "16F": "float16"}
_PARSE_ERROR = -212  # Error::StsParseError: the message quotes a file, whose words are C++'s


def _name(found: re.Match[str]) -> str:
    word = found.group()
    return _NAMES.get(word) or re.sub(r"(?<=[a-z0-9])[A-Z]", lambda capital: "_" + capital.group().lower(), word)


def _elements(found: re.Match[str]) -> str:
    kind, channels = _ELEMENTS[found.group(1)], found.group(2) or found.group(3) or "1"
    return kind if channels == "1" else f"{kind} with {channels} channels"


def _translated(text: str, code: Optional[int]) -> str:
    for theirs, ours in _WORDS:
        text = re.sub(theirs, ours, text)
    text = re.sub(r"\bCV_(\d+[USF])(?:C(?:(\d+)|\((\d+)\)))?", _elements, text)
    text = re.sub(r"\b(?:[a-z]+(?:[A-Z][a-z]*)+|write)(?=\(\))", _name, text)
    if code == _PARSE_ERROR:
        return text
    return re.sub(r"(?<![\w./-])(?:[a-z]+(?:[A-Z][a-z0-9]*)+|templ|filename)(?![\w/-]|\.\w)", _name, text)  # no parts of paths


def _pythonic(text: str, code: Optional[int]) -> tuple[str, Optional[str], Any]:
    """The text in the words of this package, the name of the argument that it is about, and the number that is its value.

    Messages of the module begin with 'Class: argument: ...', 'Params::argument: ...', 'Class: argument must be ..., this is value' or
    'Class: argument value is ...'; those of OpenCV have '... 'argument' is ...'.
    """
    text = _translated(text, code)
    found = re.search(r"where '(\w+)[^']*' is", text) or re.search(r"^(?:[A-Z]\w*: )?([a-z]\w*)(?:\[\d+\])?(?=:| must| -?\d[\d.e+-]* (?:is|makes))", text)
    if not found:
        return text, None, None
    value: Any = None
    number = re.search(r"^:? (-?\d+(?:\.\d+)?(?:e[+-]\d+)?)(?:, but | is | makes )|, this is (-?\d+(?:\.\d+)?(?:e[+-]\d+)?)$", text[found.end(1):])
    if number:
        value = float(number.group(1) or number.group(2))
        value = int(value) if value.is_integer() else value
    return text, found.group(1), value


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
    text, about, value = _pythonic(text, code)
    raise kind(re.sub(r": '[^']*',? where '\w+' is ", "; it is ", text), about, value, code) from None
