# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""The installed cv2 with the cascades that opencv-python 5 has no more, for programs that use them:

    import cudatracking.dropin as cv2  # instead of: import cv2

CascadeClassifier, groupRectangles, data.haarcascades, data.lbpcascades and the CASCADE_ flags are those of this package; every other name is the
installed cv2's. What they raise is also a cv2.error.
"""
import functools
import logging
import os
from types import SimpleNamespace
from typing import Any, Callable, NoReturn, Optional

import cv2 as _installed
import numpy as np

from . import _arrays, _cascade, _errors
from ._errors import ArgumentError

__all__ = ["CASCADE_DO_CANNY_PRUNING", "CASCADE_DO_ROUGH_SEARCH", "CASCADE_FIND_BIGGEST_OBJECT", "CASCADE_SCALE_IMAGE", "CascadeClassifier", "data",
           "groupRectangles"]

CASCADE_DO_CANNY_PRUNING, CASCADE_SCALE_IMAGE, CASCADE_FIND_BIGGEST_OBJECT, CASCADE_DO_ROUGH_SEARCH = 1, 2, 4, 8
data = SimpleNamespace(haarcascades=os.path.join(_cascade._FOLDER, ""), lbpcascades=os.path.join(_cascade._FOLDER, ""))


_KINDS: dict[type, Any] = {kind: type(kind.__name__, (kind, _installed.error), {}) for kind in (ArgumentError, _errors.error, TypeError)}


def _as_in_cv2(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose exceptions are cv2.error, too."""
    @functools.wraps(function)
    def raising(*args: Any, **named: Any) -> Any:
        try:
            return function(*args, **named)
        except _errors.error as raised:
            raise _KINDS.get(type(raised), type(raised))(str(raised), raised.argument, raised.value, raised.code) from None
        except TypeError as raised:
            raise _KINDS.get(type(raised), type(raised))(str(raised)) from None
    return raising


def _copied(node: Any, name: str, storage: Any) -> None:
    """Writes a node of a file, and all that is in it, to another file."""
    if node.isMap() or node.isSeq():
        storage.startWriteStruct(name, _installed.FILE_NODE_MAP if node.isMap() else _installed.FILE_NODE_SEQ)
        for key in node.keys() if node.isMap() else ():
            _copied(node.getNode(key), key, storage)
        for i in range(node.size()) if node.isSeq() else ():
            _copied(node.at(i), "", storage)
        storage.endWriteStruct()
    else:
        storage.write(name, node.string() if node.isString() else int(node.real()) if node.isInt() else node.real())


class CascadeClassifier(_cascade.CascadeClassifier):
    """cudatracking.CascadeClassifier with the habits of cv2's: a file that does not exist makes an object without a cascade (see empty()) and a line in
    the log, and None is an empty image."""

    def __init__(self, filename: Any = None, **settings: Any) -> None:
        try:
            super().__init__(filename, **settings)
        except ArgumentError as raised:
            if not isinstance(filename, (str, os.PathLike)) or not os.fspath(filename) or os.path.exists(filename):
                raise
            super().__init__(**settings)
            logging.getLogger("cudatracking").error("%s", raised)

    def _detect(self, method: Any, image: Any, *args: Any, **named: Any) -> Any:
        if image is None:
            image = np.empty((0, 0), np.uint8)
        return super()._detect(method, image, *args, **named)

    def read(self, node: Any) -> bool:
        """Reads a cascade of the new format from a cv2.FileNode, as cv2.CascadeClassifier.read() does. Returns False, and has no cascade then, if
        there is no valid one."""
        if not isinstance(node, _installed.FileNode):
            raise TypeError(f"node: {type(node).__name__}: a cv2.FileNode is needed")
        storage = _installed.FileStorage(".xml", _installed.FILE_STORAGE_WRITE | _installed.FILE_STORAGE_MEMORY)
        _copied(node, "cascade", storage)
        return self.load(storage.releaseAndGetString().encode())

    @staticmethod
    def convert(oldcascade: Any, newcascade: Any) -> NoReturn:
        """Is refused: files of the old format need no conversion."""
        raise _errors.error("convert(): files of the old format are not converted; load() reads them as they are")

    def _described(self, name: str) -> Any:
        if self.empty():
            raise _errors.error(f"{name}(): there is no cascade")
        return getattr(super(), name)()

    def getOriginalWindowSize(self) -> tuple[int, int]:
        size: tuple[int, int] = self._described("getOriginalWindowSize")
        return size

    def getFeatureType(self) -> int:
        return int(self._described("getFeatureType"))

    def isOldFormatCascade(self) -> bool:
        return bool(self._described("isOldFormatCascade"))


for _method in ("__init__", "load", "read", "detectMultiScale", "detectMultiScale2", "detectMultiScale3", "getOriginalWindowSize", "getFeatureType", "isOldFormatCascade"):
    setattr(CascadeClassifier, _method, _as_in_cv2(getattr(CascadeClassifier, _method)))
CascadeClassifier.convert = staticmethod(_as_in_cv2(CascadeClassifier.convert))  # type: ignore[method-assign]


@_as_in_cv2

def groupRectangles(rectList: Any, groupThreshold: Optional[int], eps: Optional[float] = .2) -> tuple[Any, Any]:
    """cv2.groupRectangles(): joins similar boxes. Returns (boxes, weights): the mean box of each group, n x 4 int32, and its number of boxes, n int32; or
    ((), ()) if there is no group.

    Args:
        rectList: boxes (x, y, width, height).
        groupThreshold: a group needs more boxes than this. 0, None or less: the boxes are returned as they are, with weights of 1.
        eps: the largest difference of sides within a group, as a part of their lengths.
    """
    boxes = _arrays.integers([] if rectList is None else rectList, "rectList", 4)
    least = 0 if groupThreshold is None else _arrays.number(groupThreshold, "groupThreshold", whole=True)
    part = .2 if eps is None else _arrays.number(eps, "eps")
    if not len(boxes):
        return (), ()
    if least <= 0:
        return boxes, np.ones(len(boxes), np.int32)

    corners, sizes = boxes.astype(np.int64), boxes[:, 2:].astype(np.int64)
    corners[:, 2:] += corners[:, :2]
    by_x = np.argsort(corners[:, 0], kind="stable")  # similar boxes have similar x
    ordered = corners[by_x, 0]
    free = np.ones(len(boxes), bool)  # in no group so far
    means, counts = [], []
    for first in range(len(boxes)):
        members = [first] if free[first] else []
        free[first] = False
        for i in members:  # grows
            reach = abs(part * sizes[i].sum() * .5)
            near = by_x[np.searchsorted(ordered, corners[i, 0] - reach):np.searchsorted(ordered, corners[i, 0] + reach, "right")]
            near = near[free[near]]
            near = near[np.abs(corners[near] - corners[i]).max(axis=1) <= part * np.minimum(sizes[near], sizes[i]).sum(axis=1) * .5]
            free[near] = False
            members.extend(near)
        if len(members) > least:
            total = boxes[members].sum(axis=0, dtype=np.int64).astype(np.float32)
            means.append(np.rint(total * (np.float32(1) / np.float32(len(members)))).astype(np.int64))
            counts.append(len(members))

    if not means:
        return (), ()
    found, numbers = np.array(means, np.int64), np.array(counts, np.int32)
    margins = np.rint(found[:, 2:] * part)
    low, high = found[:, :2] - margins, found[:, :2] + found[:, 2:] + margins
    parts = np.array([((numbers > max(3, number)) | (number < 3)) & (box[:2] >= low).all(axis=1) & (box[:2] + box[2:] <= high).all(axis=1)
                      for box, number in zip(found, numbers)])  # of another group
    np.fill_diagonal(parts, False)
    kept = ~parts.any(axis=1)
    return (found[kept].astype(np.int32), numbers[kept]) if kept.any() else ((), ())


def __getattr__(name: str) -> Any:
    return getattr(_installed, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *dir(_installed)})
