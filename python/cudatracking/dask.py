# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""Superpixels of dask arrays, which need not fit into memory. dask itself is not needed to import this."""
from __future__ import annotations

from typing import Any

import numpy as np

from ._errors import ArgumentError, import_optional
from ._tiles import Tiles


def quickshift(array: Any, sigma: float = 6., max_dist: float = 10., color_scale: Any = 32. / 255., *, mask: Any = None, **settings: Any) -> Any:
    """Returns the superpixels of a dask array as a dask array of labels, height x width int32, with chunks of its largest one's size. Nothing is
    computed yet.

    The labels are those of QuickShift(sigma, max_dist, color_scale, **settings).compute(array).labels() on the whole image, bit for bit. Each
    chunk is computed with its halo, the pixels around it that matter, and the labels of all chunks are joined then. In memory are the chunks
    at work and the labels. Threads share the work, so it takes the scheduler "threads", dask's default for arrays.

        >>> labels = ct.dask.quickshift(dask.array.from_zarr("scene.zarr"), 2, 8, 1 / 64).compute()

    Args:
        array: dask array, height x width, or with 1 to 16 channels, of uint8, uint16 or float32. Chunks of 500 to 4000 pixels a side are good:
            small ones repeat much work in their halos.
        sigma, max_dist, color_scale: as for QuickShift(), as are further named arguments.
        mask: dask or numpy array of bool or uint8, height x width: pixels where it is 0 get label -1. Default: none.

    Raises:
        ArgumentError: an argument is out of its range. What depends on the pixels is raised when the labels are computed.
    """
    missing = "cudatracking.dask needs dask: pip install 'cudatracking[dask]'"
    delayed, arrays = import_optional("dask", missing).delayed, import_optional("dask.array", missing)
    if array.ndim not in (2, 3):
        raise ArgumentError(f"array: shape {array.shape}; height x width, or height x width x channels, is possible", "array", array.shape)
    if mask is not None and mask.shape != array.shape[:2]:
        raise ArgumentError(f"mask: shape {mask.shape} differs from {array.shape[:2]} of the array", "mask", mask.shape)
    settings.update(sigma=sigma, max_dist=max_dist, color_scale=color_scale)
    (rows, columns), (height, width) = array.shape[:2], array.chunksize[:2]
    tiles = Tiles(settings, (columns, rows), (width, height))  # tells of wrong arguments now, and of the halos
    run = delayed(Tiles, pure=False)(settings, (columns, rows), (width, height))
    add, join, relabel = (delayed(method, pure=False) for method in (Tiles.add, Tiles.join, Tiles.relabel))
    parts = {}
    for at in tiles.places:
        x, y, w, h = tiles.source(at)
        parts[at] = add(run, at, array[y:y + h, x:x + w], None if mask is None else mask[y:y + h, x:x + w])
    joined = join(run, *parts.values())
    made = {at: arrays.from_delayed(relabel(joined, at, parts[at]), tiles.tile(at)[:1:-1], np.int32) for at in tiles.places}
    across, down = tiles.places[-1]
    return arrays.block([[made[x, y] for x in range(across + 1)] for y in range(down + 1)])
