# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""Classes for Ray Data. Ray itself is not needed to import them."""
from __future__ import annotations

import os
from typing import Any, Union

import numpy as np

from ._cascade import CascadeClassifier


class Detect:
    """Finds objects in the images of batches: a callable class for ray.data.Dataset.map_batches().

        found = images.map_batches(ct.ray.Detect, fn_constructor_kwargs={"cascade": "frontalface_default"}, concurrency=2, num_gpus=1)

    Each row gets the columns `boxes`, lists of x, y, width, height in pixels, `neighbors` and `weights`: the members of
    cudatracking.Detections.

    Args:
        cascade: name of cudatracking.cascades(), path of a file, or its bytes, for CascadeClassifier.
        column: of the images, uint8: height x width (gray), x 3 or x 4. Their sizes may differ. Default "image".
        rgb: whether images of three or four channels are RGB, as those of ray.data.read_images(); else BGR. Default True.
        named: further arguments of CascadeClassifier, such as min_neighbors and device.
    """

    def __init__(self, cascade: Union[str, "os.PathLike[str]", bytes] = "frontalface_default", *, column: str = "image", rgb: bool = True, **named: Any) -> None:
        self._column, self._rgb = column, rgb
        self._classifier = CascadeClassifier(cascade, **{"max_candidates": 65536, **named})

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        images = [np.asarray(image) for image in batch[self._column]]
        if self._rgb:
            images = [image[..., [2, 1, 0, 3][:image.shape[2]]] if image.ndim == 3 and image.shape[2] in (3, 4) else image for image in images]
        found = self._classifier.detect_batch(images)
        columns = {"boxes": [one.boxes.tolist() for one in found], "neighbors": [one.neighbors.tolist() for one in found],
                   "weights": [one.weights.tolist() for one in found]}
        made = dict(batch)
        for name, values in columns.items():
            made[name] = np.empty(len(values), object)
            made[name][:] = values
        return made
