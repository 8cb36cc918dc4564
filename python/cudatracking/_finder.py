# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""All places of a template in an image, at any angle and size."""
from __future__ import annotations

from typing import Any, NamedTuple, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from . import _arrays
from ._arrays import ImageLike
from ._errors import ArgumentError, call
from ._native import cv2
from ._work import Work, Worker

_PIXELS = ("u1", "u2")


class Pose(NamedTuple):
    """A place of a template in an image.

    Attributes:
        center: (x, y) of the template's centre in pixels; (0, 0) is the centre of the image's first pixel.
        angle: rotation in degrees, counter-clockwise, above -180, at most 180.
        scale: size in the image divided by that of the template.
        score: correlation with the image at full resolution, -1 to 1; 1 is perfect.
        corners: 4 x 2 float32, (x, y) of the corners of the template's outline: top-left, top-right, bottom-right, bottom-left.
    """

    center: tuple[float, float]
    angle: float
    scale: float
    score: float
    corners: npt.NDArray[np.float32]


def _range(value: Any, name: str) -> tuple[float, float]:
    """Two numbers, or one for both."""
    if isinstance(value, (tuple, list, np.ndarray)):
        if len(value) != 2:
            raise ArgumentError(f"{name}: {len(value)} numbers; (first, last), or one number, is needed", name, value)
        return _arrays.number(value[0], name), _arrays.number(value[1], name)
    return (_arrays.number(value, name),) * 2


class TemplateFinder(Worker):
    """Finds all places of a template in images, at any angle and in a range of sizes, with sub-pixel precision.

        >>> finder = ct.TemplateFinder(image[60:100, 100:160], device="cpu")  # doc/pics/astronaut.jpg
        >>> pose = finder.find(np.rot90(image).copy())[0]
        >>> round(pose.angle), [round(value, 1) for value in pose.center]
        (90, [79.5, 381.5])

    Args:
        template: uint8 or uint16, height x width (gray), x 3 (BGR) or x 4 (the fourth channel is ignored), sides up to 16384.
        weights: how much each pixel of the template counts, height x width: bool, uint8 (255 is full weight) or float from 0 to 1.
            Default: all pixels count alike.
        angles: (first, last) in degrees, counter-clockwise, at most 360 apart, or one number. Default: all angles, (-180, 180).
        scales: (first, last) size in the image divided by that of the template, 0.1 to 10, or one number. Default 1.
        threshold: lowest score of a pose, 0 to 1. Default 0.7.
        max_matches: largest number of poses, 1 to 10000. Default 1000.
        max_overlap: largest area that two poses share, divided by that of the smaller one, 0 to 1; of two that share more the better one
            stays. Default 0.3.
        coarsest_area: number of pixels of the smallest template at the coarsest resolution, within a factor of 2. More find templates of
            fine texture more surely, and take more time. Default 256.
        device: "auto" (default): on the device of the image; for images on the host, on the first CUDA device, or on the CPU if there is
            none; "cpu"; "cuda"; "cuda:<number>". The poses are the same everywhere.

    The whole template must lie in the image. Calls of several threads on one object are made one after the other. Wrong arguments raise
    ArgumentError (a ValueError) or TypeError, other failures raise error (a RuntimeError); the message names the argument.

    When to use it, how it works and what it can miss: doc/template_finder.md.
    """

    _instead_of_copy = "make another one with the same arguments"

    def __init__(self, template: ImageLike, weights: Optional[ImageLike] = None, *, angles: Union[float, Sequence[float]] = (-180, 180),
                 scales: Union[float, Sequence[float]] = 1, threshold: float = .7, max_matches: int = 1000, max_overlap: float = .3,
                 coarsest_area: int = 256, device: str = "auto") -> None:
        super().__init__(device)
        params = call(cv2.cuda.TemplateFinder.Params)
        params.firstAngle, params.lastAngle = _range(angles, "angles")
        params.firstScale, params.lastScale = _range(scales, "scales")
        params.threshold = _arrays.number(threshold, "threshold")
        params.maxMatches = _arrays.number(max_matches, "max_matches", whole=True)
        params.maxOverlap = _arrays.number(max_overlap, "max_overlap")
        params.coarsestArea = _arrays.number(coarsest_area, "coarsest_area", whole=True)
        self._native = call(cv2.cuda.TemplateFinder.create, params)
        image = _arrays.image(template, "template", _PIXELS)
        self._kind = image.dtype
        cover = None if weights is None else _arrays.weights(weights, "weights")
        arrays = [image] if cover is None else [image, cover]
        with Work(self, arrays, None) as work:
            call(self._native.setTemplate, *(work.array(array) for array in arrays), **work.named)

    @property
    def size(self) -> tuple[int, int]:
        """(width, height) of the template in pixels."""
        width, height = self._native.getTemplateSize()
        return int(width), int(height)

    def find(self, image: ImageLike, *, stream: Any = None) -> list[Pose]:
        """Finds all places of the template in an image, the best one first, and waits for them.

        Args:
            image: image of the template's type, on the host or a device. Empty: no places.
            stream: for images on a device, the stream that the work is queued on: of torch, CuPy or OpenCV, or its address. Default: the
                current stream of torch or CuPy for their arrays, else the null stream.
        """
        source = _arrays.image(image, "image", _PIXELS, wanted=self._kind)
        with Work(self, [source], stream) as work:
            found = call(self._native.find, work.array(source, slot="image"), **work.named)
        return [Pose((float(pose.center[0]), float(pose.center[1])), float(pose.angle), float(pose.scale), float(pose.score),
                     np.array(pose.corners, np.float32).reshape(4, 2)) for pose in found]

    def __repr__(self) -> str:
        width, height = self.size
        return f"<cudatracking.TemplateFinder {width} x {height}, device {self.device!r}>"


def find_template(image: ImageLike, template: ImageLike, weights: Optional[ImageLike] = None, *, angles: Union[float, Sequence[float]] = (-180, 180),
                  scales: Union[float, Sequence[float]] = 1, threshold: float = .7, max_matches: int = 1000, max_overlap: float = .3,
                  device: str = "auto") -> list[Pose]:
    """Returns all places of a template in an image, at any angle and in a range of sizes, the best one first: TemplateFinder in one call.
    For one template and several images make a TemplateFinder, which prepares the template once.

    Args:
        image, template: uint8 or uint16 images of one type: height x width (gray), x 3 (BGR) or x 4 (the fourth channel is ignored).
        weights, angles, scales, threshold, max_matches, max_overlap, device: those of TemplateFinder.
    """
    return TemplateFinder(template, weights, angles=angles, scales=scales, threshold=threshold, max_matches=max_matches, max_overlap=max_overlap,
                          device=device).find(image)
