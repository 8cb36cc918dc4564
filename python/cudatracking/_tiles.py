# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""Superpixels of an image that is computed tile by tile."""
from __future__ import annotations

from typing import Any, Optional

import numpy as np
import numpy.typing as npt

from ._errors import call
from ._native import cv2
from ._quickshift import QuickShift


class Tiles:
    """The tiles of one image. Each thread at work has an object of QuickShift.

    Attributes:
        number: number of superpixels, after join().
    """

    number = 0

    def __init__(self, settings: dict[str, Any], size: tuple[int, int], tile: tuple[int, int]) -> None:
        self._settings, self._spare = settings, [QuickShift(**settings)]
        self._native = call(cv2.cuda.QuickShiftTiles.create, self._spare[0]._native, size, tile)
        self.halo: int = self._native.getHalo()
        columns, rows = self._native.getGrid()
        self.places: list[tuple[int, int]] = [(x, y) for y in range(rows) for x in range(columns)]

    def tile(self, at: tuple[int, int]) -> tuple[int, int, int, int]:
        """Returns x, y, width and height of a tile."""
        x, y, width, height = self._native.getTile(at)
        return x, y, width, height

    def source(self, at: tuple[int, int]) -> tuple[int, int, int, int]:
        """Returns x, y, width and height of a tile with its halo."""
        x, y, width, height = self._native.getSource(at)
        return x, y, width, height

    def add(self, at: tuple[int, int], pixels: npt.NDArray[Any], mask: Optional[npt.NDArray[Any]]) -> npt.NDArray[np.int32]:
        """Computes a tile. Returns its labels, for relabel()."""
        try:
            shift = self._spare.pop()
        except IndexError:
            shift = QuickShift(**self._settings)
        shift.compute(np.ascontiguousarray(pixels), mask=mask)
        labels: npt.NDArray[np.int32] = shift._ask(self._native.add, at, shift._native)  # on the device of its results
        self._spare.append(shift)
        return labels

    def join(self, *_: Any) -> Tiles:
        """All tiles are added. Returns the object itself."""
        self._spare.clear()
        self.number = call(self._native.join)
        return self

    def relabel(self, at: tuple[int, int], labels: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """Returns the labels of the whole image for those of add()."""
        relabelled: npt.NDArray[np.int32] = call(self._native.relabel, at, labels.copy())
        return relabelled
