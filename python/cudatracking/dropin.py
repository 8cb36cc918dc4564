# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""The installed cv2 with the cascades that opencv-python 5 has no more, for programs that use them:

    import cudatracking.dropin as cv2  # instead of: import cv2

CascadeClassifier, data.haarcascades, data.lbpcascades and the CASCADE_ flags are those of this package; every other name is the installed cv2's.
"""
import os
from types import SimpleNamespace
from typing import Any

import cv2 as _installed

from ._cascade import _FOLDER, CascadeClassifier

__all__ = ["CASCADE_DO_CANNY_PRUNING", "CASCADE_DO_ROUGH_SEARCH", "CASCADE_FIND_BIGGEST_OBJECT", "CASCADE_SCALE_IMAGE", "CascadeClassifier", "data"]

CASCADE_DO_CANNY_PRUNING, CASCADE_SCALE_IMAGE, CASCADE_FIND_BIGGEST_OBJECT, CASCADE_DO_ROUGH_SEARCH = 1, 2, 4, 8
data = SimpleNamespace(haarcascades=os.path.join(_FOLDER, ""), lbpcascades=os.path.join(_FOLDER, ""))


def __getattr__(name: str) -> Any:
    return getattr(_installed, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *dir(_installed)})
