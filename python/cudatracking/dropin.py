# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""The installed cv2 with the cascades that opencv-python 5 has no more, for programs that use them:

    import cudatracking.dropin as cv2  # instead of: import cv2

CascadeClassifier, groupRectangles, data.haarcascades, data.lbpcascades and the CASCADE_ flags are those of this package; every other name is the
installed cv2's.
"""
import logging
import os
from types import SimpleNamespace
from typing import Any, Optional

import cv2 as _installed
import numpy as np

from . import _arrays, _cascade
from ._errors import ArgumentError

__all__ = ["CASCADE_DO_CANNY_PRUNING", "CASCADE_DO_ROUGH_SEARCH", "CASCADE_FIND_BIGGEST_OBJECT", "CASCADE_SCALE_IMAGE", "CascadeClassifier", "data",
           "groupRectangles"]

CASCADE_DO_CANNY_PRUNING, CASCADE_SCALE_IMAGE, CASCADE_FIND_BIGGEST_OBJECT, CASCADE_DO_ROUGH_SEARCH = 1, 2, 4, 8
data = SimpleNamespace(haarcascades=os.path.join(_cascade._FOLDER, ""), lbpcascades=os.path.join(_cascade._FOLDER, ""))


class CascadeClassifier(_cascade.CascadeClassifier):
    """cudatracking.CascadeClassifier with the habits of cv2's: a file that does not exist makes an object without a cascade (see empty()) and a line in
    the log, images may be cv2.UMat, and None is an empty image."""

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
        return super()._detect(method, image.get() if isinstance(image, _installed.UMat) else image, *args, **named)


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
