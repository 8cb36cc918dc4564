# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""Labels of one image, which need not fit into memory: the command `superpixels` with --labels."""
from __future__ import annotations

import argparse
import contextlib
import errno
import math
import os
import re
import shutil
import tempfile
import urllib.parse
import warnings
from typing import Any, Iterator, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from ._errors import ArgumentError, call, error, import_optional
from ._frames import IMAGES, read_image
from ._jobs import Superpixels
from ._native import cv2
from ._outputs import Progress, counted, is_stream, refuse_inputs, say, silent_library, whole_file
from ._quickshift import _EXACT, QuickShift, color_scale_of, missed

ARRAY = ".npy"
GEOTIFFS = (".tif", ".tiff")
RASTERS = (*GEOTIFFS, ".jp2", ".vrt")
LABELS = (ARRAY, *GEOTIFFS)
SIDECARS = (".msk", ".aux.xml", ".ovr")  # what GDAL reads with a GeoTIFF of the same name: mask, statistics and more, overviews
WORLDS = (".tfw", ".TFW", ".tifw", ".TIFW", ".tiffw", ".TIFFW")  # coordinates that GDAL reads with a TIFF that has none, in place of its ending
LOOSE_WORLDS = (".wld", ".WLD")  # likewise with any image of that name
MEMORY = 4.  # GiB, default of --memory
SIDE, PIXELS = 65535, 2000000000  # largest image of one call
BLOCK = 256  # side of the blocks of a GeoTIFF, pixels; tiles are made of whole ones
Pixels = npt.NDArray[Any]
Mask = Optional[npt.NDArray[np.uint8]]
Labels = npt.NDArray[np.int32]
Box = tuple[int, int, int, int]
"""x, y, width, height."""


def suffix_of(path: str) -> str:
    """Returns the end of a file's name that says what it is."""
    return os.path.splitext(path)[1].lower()


def bytes_of(pixels: int, channels: int, itemsize: int) -> int:
    """Returns the memory in bytes that the superpixels of an image take with the image itself, connected components included, as measured."""
    return pixels * (76 + channels * (4 + itemsize))


@contextlib.contextmanager
def _about(path: str, what: str) -> Iterator[None]:
    """Puts the name of a file before what is wrong with it."""
    try:
        with silent_library():
            yield
    except Exception as raised:  # GDAL's many kinds
        raise error(f"{path}: {what}: {getattr(raised, 'strerror', None) or raised.__cause__ or raised}") from None


def _paths_in(name: str) -> Iterator[str]:
    """Yields what may be the path in a name of GDAL's, such as GTIFF_DIR:1:scene.tif, file:///data/scene.tif or vrt://scene.tif?bands=1."""
    yield name
    if name.startswith("file://"):
        yield urllib.parse.unquote(name[7:])
    ends = [found.start() for found in re.finditer(r"[:,?&=<>\"']|(?<=:/)/|$", name)]
    for i, start in enumerate(ends):
        yield from (name[start + 1:end] for end in ends[i + 1:][:8] + ends[-1:])
        yield name[:start]


class Image:
    """Source of pixels.

    Attributes:
        size: width and height, pixels.
        channels: number of channels without alpha.
        dtype: type of the values.
        notes: what is to be said about it.
    """

    size: tuple[int, int]
    channels: int
    dtype: np.dtype[Any]
    notes: Sequence[str] = ()

    @property
    def kind(self) -> str:
        """Type of the values, such as u1."""
        return self.dtype.str.lstrip("|<=>")

    @property
    def itemsize(self) -> int:
        """Bytes of a value, with those of the type that it becomes."""
        return self.dtype.itemsize + (np.dtype(_EXACT[self.kind]).itemsize if self.kind in _EXACT else 0)

    def read(self, box: Box) -> tuple[Pixels, Mask]:
        """Returns pixels, and 0 where there is no data."""
        raise NotImplementedError

    def place(self) -> dict[str, Any]:
        """Returns the coordinates for a GeoTIFF of labels."""
        return {}

    def placed(self) -> bool:
        """Returns whether it has coordinates."""
        return False

    def files(self) -> Iterator[str]:
        """Yields names, some of which may be no files, of what the pixels come from."""
        yield from ()

    def close(self) -> None:
        """Closes the file."""


class Photograph(Image):
    """Image file of BGR, decoded as a whole."""

    def __init__(self, path: str, quiet: bool) -> None:
        self._pixels = read_image(path, None if quiet else say)
        self.size, self.channels, self.dtype = (self._pixels.shape[1], self._pixels.shape[0]), 3, self._pixels.dtype

    def read(self, box: Box) -> tuple[Pixels, Mask]:
        x, y, width, height = box
        return self._pixels[y:y + height, x:x + width], None


class Array(Image):
    """numpy file, height x width or height x width x channels."""

    def __init__(self, path: str) -> None:
        self._path = path
        array = self._mapped()
        if array.ndim not in (2, 3):
            raise ArgumentError(f"{path}: shape {array.shape}; height x width, or height x width x channels, is possible")
        if not array.size:
            raise ArgumentError(f"{path}: shape {array.shape}; at least one pixel is needed")
        self.size, self.channels, self.dtype = (array.shape[1], array.shape[0]), array.size // (array.shape[0] * array.shape[1]), array.dtype

    def _mapped(self) -> Pixels:
        with _about(self._path, "cannot be read"):
            return np.asarray(np.load(self._path, mmap_mode="r"))

    def read(self, box: Box) -> tuple[Pixels, Mask]:
        x, y, width, height = box
        return self._mapped()[y:y + height, x:x + width].copy(), None  # mapped pages count as memory of this process until they are unmapped


class Raster(Image):
    """Image that GDAL reads: the bands that were asked for, or all but an alpha band that is a mask."""

    def __init__(self, path: str, rasterio: Any, options: argparse.Namespace) -> None:
        self._path, self._open, self._every = path, rasterio.open, options.no_data == "all"
        with _about(path, "cannot be read"):
            self._file = rasterio.open(path)
        asked, masks = options.bands or [], [options.mask_band] if options.mask_band else []
        for name, band in (*(("--bands", band) for band in asked), *(("--mask-band", band) for band in masks)):
            if band > self._file.count:
                raise ArgumentError(f"{name}: {band}: {path} has {counted(self._file.count, 'band')}")
        with _about(path, "cannot be read"):
            if options.mask_band is None:
                alpha = [band for band, kind in zip(self._file.indexes, self._file.colorinterp) if kind == rasterio.enums.ColorInterp.alpha and band not in asked]
                masks = [band for band in alpha if self._is_mask(band)]
                self.notes = [f"band {band} is alpha by what the file says, {'and is no channel' if band in masks else 'but has other values than those of a mask, and '}"
                              f"{'' if band in masks else f'is a channel; --mask-band {band} makes it the mask'}" for band in alpha if not asked or band in masks]
            self._masks, self._bands = masks, asked or [band for band in self._file.indexes if band not in masks]
            self.size, self.channels = (self._file.width, self._file.height), len(self._bands)
            self.dtype = np.dtype(self._file.dtypes[(self._bands or [1])[0] - 1])
            # Where GDAL says that a band has no data. It says so of all bands by alpha, which may be no mask.
            self._told = [rasterio.enums.MaskFlags.alpha not in self._file.mask_flag_enums[band - 1] for band in self._bands]

    def _is_mask(self, band: int) -> bool:
        """Returns whether a band has no other values than 0 and one more."""
        found: set[Any] = {0}
        for _, window in self._file.block_windows(band):
            found.update(np.unique(self._file.read(band, window=window)).tolist())
            if len(found) > 2:
                return False
        return True

    def read(self, box: Box) -> tuple[Pixels, Mask]:
        x, y, width, height = box
        window = (y, y + height), (x, x + width)
        with _about(self._path, "cannot be read"):
            pixels = self._file.read(self._bands, window=window)
            known = [self._file.read_masks(band, window=window) != 0 if told else np.ones((height, width), bool) for band, told in zip(self._bands, self._told)]
            masked = [self._file.read(band, window=window) != 0 for band in self._masks]
        if pixels.dtype.kind == "f":
            known = [there & ~np.isnan(values) for there, values in zip(known, pixels)]
        if self._every:
            for there, values in zip(known, pixels):
                values[~there] = 0
        mask = np.logical_and.reduce([np.logical_or.reduce(known) if self._every else np.logical_and.reduce(known), *masked])
        return np.ascontiguousarray(np.moveaxis(pixels, 0, -1)), mask.astype(np.uint8)

    def place(self) -> dict[str, Any]:
        points, system = self._file.gcps
        place = {"gcps": points, "crs": system} if points else {"crs": self._file.crs, "transform": self._file.transform}
        return {**place, "rpcs": self._file.rpcs} if self._file.rpcs else place

    def placed(self) -> bool:
        return bool(self._file.gcps[0]) or not self._file.transform.is_identity

    def files(self) -> Iterator[str]:
        known = {self._path}
        rest = [self._file.files]
        while rest:
            for name in set(rest.pop()) - known:
                known.add(name)
                yield from _paths_in(name)
                # GDAL names the sources of a virtual raster, but not the sources of those.
                with contextlib.suppress(Exception), silent_library(), self._open(name) as source:
                    rest.append(source.files)

    def close(self) -> None:
        self._file.close()


class ArrayOfLabels:
    """numpy file of labels, height x width int32."""

    def __init__(self, path: str, temporary: str, source: Image) -> None:
        self._temporary = temporary
        width, height = source.size
        length = np.lib.format.open_memmap(temporary, "w+", np.int32, (height, width)).offset + 4 * width * height
        with _about(path, "cannot be written"), open(temporary, "r+b") as file:
            os.posix_fallocate(file.fileno(), 0, length)  # a full disk ends a process that writes to mapped pages

    def write(self, box: Box, labels: Labels) -> None:
        """Writes the labels of a part of the image."""
        x, y, width, height = box
        np.load(self._temporary, mmap_mode="r+")[y:y + height, x:x + width] = labels

    def read(self, box: Box) -> Labels:
        """Returns labels that were written."""
        x, y, width, height = box
        return np.array(np.load(self._temporary, mmap_mode="r")[y:y + height, x:x + width])

    def close(self) -> None:
        """All is written."""


@contextlib.contextmanager
def _written(path: str, temporary: str) -> Iterator[None]:
    """Says what is wrong with a GeoTIFF that is written. GDAL does not say that the disk is full: another file in the folder does."""
    try:
        with _about(path, "cannot be written"):
            yield
    except error:
        try:
            with tempfile.TemporaryFile(dir=os.path.dirname(temporary)) as probe:
                os.posix_fallocate(probe.fileno(), 0, 4 * BLOCK**2)
        except OSError as raised:
            if raised.errno in (errno.ENOSPC, errno.EDQUOT):
                raise error(f"{path}: cannot be written: {raised.strerror}") from None
        raise


class GeoTiffOfLabels:
    """GeoTIFF of labels with the coordinates of the image; -1 is no data."""

    def __init__(self, path: str, temporary: str, source: Image, rasterio: Any) -> None:
        self._files = path, temporary
        with _written(*self._files):
            self._file = rasterio.open(temporary, "w+", driver="GTiff", width=source.size[0], height=source.size[1], count=1, dtype="int32", nodata=-1, tiled=True,
                                       blockxsize=BLOCK, blockysize=BLOCK, BIGTIFF="IF_SAFER", **source.place())

    def write(self, box: Box, labels: Labels) -> None:
        """Writes the labels of a part of the image."""
        x, y, width, height = box
        with _written(*self._files):
            self._file.write(labels, 1, window=((y, y + height), (x, x + width)))

    def read(self, box: Box) -> Labels:
        """Returns labels that were written."""
        x, y, width, height = box
        with _written(*self._files):
            labels: Labels = self._file.read(1, window=((y, y + height), (x, x + width)))
        return labels

    def close(self) -> None:
        """All is written."""
        with _written(*self._files):
            self._file.close()


Target = Union[ArrayOfLabels, GeoTiffOfLabels]


class Tiles:
    """The tiles of one image whose superpixels are computed tile by tile. Each thread at work has an object of QuickShift.

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


def _fits(source: Image, memory: float) -> bool:
    return bytes_of(source.size[0] * source.size[1], source.channels, source.itemsize) <= memory * 2**30


def _tiles_of(options: argparse.Namespace, settings: dict[str, Any], source: Image, memory: float) -> Tiles:
    """Returns the tiles of an image that is larger than the memory or than one call takes, with sides such that one takes half of the memory."""
    columns, rows = source.size
    large = (f"its superpixels take {bytes_of(columns * rows, source.channels, source.itemsize) / 2**30:.3g} GiB, and --memory is {memory:g}"
             if not _fits(source, memory) else f"one call takes images of at most {SIDE} x {SIDE} and {PIXELS} pixels, and this one has {columns} x {rows}")
    large = f"{options.source}: {large}: it is computed by tiles"
    if settings["number"]:
        raise ArgumentError(f"--number: {settings['number']}: {large}, where --number is not possible; --max-dist changes the number")
    if options.min_area:
        raise ArgumentError(f"--min-area: {options.min_area}: {large}, where only --min-area 0 is possible; rasterio.features.sieve() merges small ones in the labels")
    if settings["min_area"] and not options.quiet:
        say(f"{large}: --min-area is 0\n")
    named = {name: settings[name] for name in ("sigma", "max_dist", "color_scale")}
    named["device"] = options.device
    halo = Tiles(named, (1, 1), (1, 1)).halo
    side = (math.isqrt(min(int(memory * 2**29 / bytes_of(1, source.channels, source.itemsize)), PIXELS)) - 2 * halo) // BLOCK * BLOCK
    if side < BLOCK:
        least = bytes_of((BLOCK + 2 * halo)**2, source.channels, source.itemsize) * 2 / 2**30
        raise ArgumentError(f"--memory: {memory:g}: {large}, and one of {BLOCK} x {BLOCK} pixels with a halo of {halo} needs --memory {least + .005:.2f}")
    return Tiles(named, source.size, (side, side))


def _whole(source: Image, cutter: Superpixels, target: Target, progress: Progress, stop: Any) -> int:
    box = 0, 0, *source.size
    pixels, mask = source.read(box)
    number: int = stop.call(lambda: cutter.cut(pixels, mask))
    target.write(box, np.asarray(cutter.shift.labels()))
    progress.step()
    return number


def _by_tiles(source: Image, tiles: Tiles, target: Target, progress: Progress, stop: Any) -> int:
    for at in tiles.places:
        pixels, mask = source.read(tiles.source(at))
        target.write(tiles.tile(at), stop.call(lambda: tiles.add(at, pixels, mask)))
        progress.step()
    stop.call(tiles.join)
    for at in tiles.places:
        target.write(tiles.tile(at), tiles.relabel(at, target.read(tiles.tile(at))))
        stop.check()
    return tiles.number


def _copy(path: str, stream: str) -> None:
    """Writes a file to a device or a pipe."""
    try:
        with open(path, "rb") as file, open(stream, "wb") as out:
            shutil.copyfileobj(file, out, 1 << 20)
    except OSError as raised:
        raise error(f"{stream}: cannot be written: {raised.strerror}") from None


def write_labels(options: argparse.Namespace, settings: dict[str, Any], cutter: Superpixels, stop: Any) -> int:
    """Writes the labels of one image whole or not at all; returns the exit code.

    Args:
        options: of the command; used are source, labels, memory, device and quiet.
        settings: of the job.
        cutter: for images that fit into memory.
        stop: of the command, which ends the work when a signal comes.
    """
    kind, target_kind, memory = suffix_of(options.source), suffix_of(options.labels), options.memory or MEMORY
    if target_kind not in LABELS:
        raise ArgumentError(f"--labels: {options.labels}: the name must end with {' or '.join(LABELS)}")
    stream = is_stream(options.labels)
    if stream and target_kind != ARRAY:
        raise ArgumentError(f"--labels: {options.labels}: is a device or a pipe, to which {ARRAY} can be written; {target_kind} needs a file")
    if stream and not os.access(options.labels, os.W_OK):
        raise error(f"{options.labels}: cannot be written: Permission denied")
    if kind not in (*IMAGES, ARRAY, *RASTERS):
        raise ArgumentError(f"--labels: are those of one image ({' '.join((*IMAGES, ARRAY, *RASTERS))}), not of {options.source}")
    if settings["number"] and kind not in IMAGES:
        raise ArgumentError(f"--number: {settings['number']}: has parameters for photographs ({' '.join(IMAGES)}), not for {options.source}; --max-dist changes the number, "
                            "and in Python QuickShift.apply_number() makes one")
    for name in ("bands", "mask_band", "no_data"):
        if getattr(options, name) is not None and kind not in RASTERS:
            raise ArgumentError(f"--{name.replace('_', '-')}: is for rasters ({' '.join(RASTERS)}), not for {options.source}")
    with contextlib.ExitStack() as stack:
        rasterio: Any = None
        if kind in RASTERS or target_kind in GEOTIFFS:
            named = options.source if kind in RASTERS else options.labels
            rasterio = import_optional("rasterio", f"{named}: needs rasterio: pip install 'cudatracking[rasters]'")
            # Bytes. GDAL's default is a share of the machine's memory.
            stack.enter_context(rasterio.Env(GDAL_CACHEMAX=int(memory * 2**28)))
            stack.enter_context(warnings.catch_warnings())
            for usual in (rasterio.errors.NotGeoreferencedWarning, rasterio.errors.NodataShadowWarning):
                warnings.simplefilter("ignore", usual)
        source = Photograph(options.source, options.quiet) if kind in IMAGES else Array(options.source) if kind == ARRAY else Raster(options.source, rasterio, options)
        stack.callback(source.close)
        replaced = [options.labels]
        if target_kind in GEOTIFFS:
            for name in dict.fromkeys((options.labels, os.path.realpath(options.labels))):
                stem = os.path.splitext(name)[0]
                replaced += [name + end for end in SIDECARS] + [stem + end for end in WORLDS]
                for world in [stem + end for end in LOOSE_WORLDS if os.path.exists(stem + end) and not source.placed()]:
                    raise ArgumentError(f"--labels: {options.labels}: GDAL would read coordinates from {world}, and {options.source} has none; name another file")
        if any(map(os.path.exists, replaced)):
            refuse_inputs([("--labels", name) for name in replaced], source.files())
        for note in () if options.quiet else source.notes:
            say(f"{options.source}: {note}\n")
        if settings["color_scale"] is None and not settings["number"]:
            settings = {**settings, "color_scale": color_scale_of(source.kind)}
            cutter = Superpixels(settings, options.device)
            if source.itemsize > 1 and not options.quiet:
                say(f"{options.source}: --color-scale is {settings['color_scale']:.4g}, for the whole range of {source.dtype if source.kind[0] != 'f' else 'floats of 0 to 1'}; "
                    "32 / RANGE is for other values\n")
        one_call = _fits(source, memory) and max(source.size) <= SIDE and source.size[0] * source.size[1] <= PIXELS
        tiles = None if one_call else _tiles_of(options, settings, source, memory)
        progress = Progress(options.quiet, len(tiles.places), "tile") if tiles else Progress(options.quiet, 1, "image")
        number = 0

        def write(temporary: str) -> None:
            nonlocal number
            target = ArrayOfLabels(options.labels, temporary, source) if target_kind == ARRAY else GeoTiffOfLabels(options.labels, temporary, source, rasterio)
            try:
                number = _whole(source, cutter, target, progress, stop) if tiles is None else _by_tiles(source, tiles, target, progress, stop)
            except (ArgumentError, TypeError) as raised:  # about the pixels
                raise error(f"{options.source}: {raised}") from None
            finally:
                target.close()
            stop.check()

        if stream:
            with tempfile.NamedTemporaryFile(suffix=ARRAY) as file:
                write(file.name)
                stop.call(lambda: _copy(file.name, options.labels))
        else:
            with whole_file(options.labels) as temporary:
                write(temporary)
            for name in replaced[1:]:  # they are about an older file, and a mask would hide labels
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(name)
        if settings["number"] and missed(settings["number"], number):
            say(f"--number {settings['number']}: the nearest that was found is {number}\n")
        progress.finish(f", {counted(number, 'superpixel')}")
    return 0
