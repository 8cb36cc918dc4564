# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""Superpixels by quick shift."""
from __future__ import annotations

import sys
import warnings
from typing import Any, Literal, NamedTuple, Optional, Sequence, Union, overload

import numpy as np
import numpy.typing as npt

from . import _arrays
from ._arrays import Array, DeviceArray, ImageLike, Kind, torch_stream
from ._errors import ArgumentError, call, error, shown
from ._native import cv2
from ._results import column, table
from ._work import Work, Worker

_PIXELS = ("u1", "u2", "f4")
_CHANNELS = tuple(range(1, 17))
_IMAGE = Kind(_PIXELS, _CHANNELS)
_COLOR_SCALES = {"b1": 32., "u1": 32. / 255., "i1": 32. / 255., "u2": 32. / 65535., "i2": 32. / 65535., "f2": 32., "f4": 32., "f8": 32.}
_EXACT = {"b1": "u1", "i1": "f4", "i2": "f4", "i4": "f4", "u4": "f4", "i8": "f4", "u8": "f4"}  # types of numpy arrays, and what they become
Rng = Union[int, np.random.Generator, None]


class Statistics(NamedTuple):
    """Statistics of the superpixels, one row per superpixel in the order of labels.

    Attributes:
        areas: n int32, areas in pixels.
        means: n x channels float32, mean colours in the given image; n x 0 without an image.
        centroids: n x 2 float32, centroids (x, y) in pixels.
        boxes: n x 4 int32, bounding boxes (x, y, width, height) in pixels.
    """

    areas: npt.NDArray[np.int32]
    means: npt.NDArray[np.float32]
    centroids: npt.NDArray[np.float32]
    boxes: npt.NDArray[np.int32]


class QuickShift(Worker):
    """Quick-shift superpixels: regions of similar colour that follow borders.

    compute() links each pixel to its parent, the nearest pixel of higher density in position and colour; a pixel without one within max_dist is
    a root. All pixels whose links end at the same root are a superpixel. Then the other methods give the results:

        >>> superpixels = ct.QuickShift(device="cpu").compute(image)  # doc/pics/astronaut.jpg, 512 x 512 BGR
        >>> labels = superpixels.labels()
        >>> labels.shape, labels.dtype, superpixels.number
        ((512, 512), dtype('int32'), 203)
        >>> areas, means, centroids, boxes = superpixels.statistics(image)  # one row per label
        >>> print(areas[0], means[0].round(), centroids[0].round(), boxes[0])
        186 [179. 180. 186.] [4. 9.] [ 0  0 13 24]

    Args:
        sigma: bandwidth of the Gaussian kernel in pixels; a colour difference of 1 / color_scale counts as one pixel. Above 0, at most 341. Time grows with its square. Default 6.
        max_dist: largest distance of a link (tau), in the same unit; above 0, at most 32767. A larger one gives fewer superpixels. Default 10.
        color_scale: factor on the values of all channels, 0 to 1e9, or a sequence of up to 16 numbers, one per channel; fewer than four are
            filled up with 0, so that further channels have no effect. A larger one gives more superpixels. Default None, by the type of the
            image: 32/255 for 8 bits, 32/65535 for 16 bits, 32 for floats and bool. Give 32 / range for values that do not fill the range of
            their type, such as reflectance of 0 to 10,000, and for whole numbers of 32 and 64 bits.
        search_radius: how far a parent is searched along x and along y: "max_dist" (default), which misses no link; "window", ceil(3 sigma),
            the radius of scikit-image; or 1 to 32767 pixels.
        tie_rule: order of two pixels of equal density. "index" (default): the one with the lower row-major index counts as denser, so that
            a flat area is one superpixel. "strict": neither is denser, the rule of VLFeat and scikit-image.
        normalize_density: True divides each density by (w-1)(h-1), w x h being the square over which it is summed, clipped at the image border.
            Default False.
        device: where the work is done. "auto" (default): on the device of the image; for images on the host, on the first CUDA
            device, or on the CPU if there is none; "cpu"; "cuda"; "cuda:<number>".

    Images: uint8, uint16 or float32 (float16 and float64 become float32), height x width with 1 to 16 channels. Numpy arrays of bool become
    uint8, those of other whole numbers float32 if all values are within 2^24. After compute() the other methods
    return its results: numpy arrays for images on the host; DeviceArray, without waiting, for images on a device. Before compute() they
    raise error. The CPU and every GPU give the same bits. Calls of several threads on one object are made one after the other, and share
    its results: use one object per thread. Wrong arguments raise ArgumentError (a ValueError) or TypeError, other failures raise error (a RuntimeError); the message names the argument.

    Definitions and accuracy: doc/quick_shift.md. Sources: Vedaldi and Soatto 2008, Fulkerson and Soatto 2010.
    """

    _instead_of_copy = "make another one with the same arguments; what labels() and other methods return can be copied"
    _instead_of_pickle = "make it in the other process; what labels() and other methods return can be pickled"

    def __init__(self, sigma: float = 6., max_dist: float = 10., color_scale: Union[float, Sequence[float], None] = None, *,
                 search_radius: Union[str, int] = "max_dist", tie_rule: str = "index", normalize_density: bool = False, device: str = "auto") -> None:
        super().__init__(device)
        sigma, max_dist = _arrays.number(sigma, "sigma"), _arrays.number(max_dist, "max_dist")
        self._native = call(cv2.cuda.QuickShift.create, sigma, max_dist)
        if isinstance(color_scale, (list, tuple, np.ndarray)):
            scales = [_arrays.number(value, f"color_scale[{i}]") for i, value in enumerate(color_scale)]
            if not 1 <= len(scales) <= 16:
                raise ArgumentError(f"color_scale: {len(scales)} numbers; 1 to 16 are possible", "color_scale", color_scale)
            for i, scale in enumerate(scales):
                if not 0. <= scale <= 1e9:
                    raise ArgumentError(f"color_scale[{i}]: {scale:g}, but it must be 0 to 1e9", "color_scale", scale)
            call(self._native.setScales, scales)
        elif color_scale is not None:
            call(self._native.setColorScale, _arrays.number(color_scale, "color_scale"))
        self._scale_of: Optional[str] = None if color_scale is None else ""  # type whose default is set; "": a factor was given
        named = {"max_dist": 0, "window": -1}
        if isinstance(search_radius, str) and search_radius not in named:
            raise ArgumentError(f'search_radius: {shown(search_radius)}: "max_dist", "window" or pixels are possible', "search_radius", search_radius)
        radius = named[search_radius] if isinstance(search_radius, str) else _arrays.number(search_radius, "search_radius", whole=True)
        if not isinstance(search_radius, str) and not 1 <= radius <= 32767:
            raise ArgumentError(f"search_radius: {radius}: 1 to 32767 pixels are possible", "search_radius", radius)
        call(self._native.setSearchRadius, radius)
        call(self._native.setTieRule, _choice(tie_rule, "tie_rule", ("index", "strict")))
        call(self._native.setNormalizeDensity, _arrays.flag(normalize_density, "normalize_density"))
        self._host = True
        self._size: Optional[tuple[int, int]] = None  # rows and columns of the image of compute()

    @classmethod
    def for_superpixels(cls, device: str = "auto") -> QuickShift:
        """Makes an object with the parameters of superpixels(): compute() takes Lab images of 8 bits, as cv2.cvtColor() with
        COLOR_BGR2Lab makes them of uint8, and apply_number() makes the wanted number of superpixels. For many images: it keeps its memory.

        Args:
            device: where the work is done, as for QuickShift(). Default "auto".
        """
        made = cls(device=device)
        made._native, made._scale_of = call(cv2.cuda.QuickShift.forSuperpixels), ""
        return made

    @property
    def sigma(self) -> float:
        """Bandwidth of the Gaussian kernel, in pixels."""
        return float(self._native.getSigma())

    @property
    def max_dist(self) -> float:
        """Largest distance of a link, in position and colour."""
        return float(self._native.getMaxDist())

    def compute(self, image: ImageLike, *, mask: Optional[ImageLike] = None, noise: Optional[npt.ArrayLike] = None, stream: Any = None) -> QuickShift:
        """Computes densities, links and labels of an image. Does not wait with an image on a device. Returns the object itself.

        Args:
            image: uint8, uint16 or float32 (float16 and float64 become float32), height x width, or with 1 to 16 channels. Pixels that are NaN are masked.
            mask: bool or uint8, height x width. Pixels at a 0 belong to no superpixel (label -1). Default: none.
            noise: height x width numbers, added to the densities in double precision before pixels are linked; scikit-image adds normal noise
                of standard deviation 1e-5. Only for objects with device="cpu". Default: none.
            stream: for images on a device, that of the work: of torch, CuPy or OpenCV, or its address. Default: that of torch or CuPy, else the null one.
        """
        place = self._place if mask is None and noise is None and stream is None else None
        pixels = None if place is None else _IMAGE.at(place, image)
        if place is not None and pixels is not None:
            self._set_scale(_arrays._type_of(image.dtype, "image"), image)  # type: ignore[union-attr]
            self._at(place, self._native.compute, pixels, held=(image,))
            shape: Any = image.shape  # type: ignore[union-attr]
            self._host, self._size = False, (shape[0], shape[1])
            return self
        source, kind = _source(image)
        self._set_scale(kind, source.host)
        over = _arrays.mask(mask, "mask", source.shape[:2]) if mask is not None else None
        added = None if noise is None else _arrays.reals(noise, "noise", source.shape[:2])
        if added is not None and self.device != "cpu":
            raise ArgumentError('noise: is added on the CPU; make the object with device="cpu"', "noise")
        with Work(self, (source, over), stream) as work:
            pixels = work.array(source, slot="image")
            masked = {"mask": work.array(over, slot="mask")} if over is not None else {}
            if added is None:
                call(self._native.compute, pixels, **masked, **work.named)
            else:
                call(self._native.computeNoisy, pixels, added, **masked)
            self._host, self._size = work.from_host, (source.shape[0], source.shape[1])
            if work.device is None:
                self._last = None
        return self

    def _set_scale(self, kind: str, host: Any) -> None:
        """Sets the default of color_scale for an image of this type, if none was given."""
        if self._scale_of == "":
            return
        if kind != self._scale_of:
            call(self._native.setColorScale, color_scale_of(kind))
            self._scale_of = kind
        if kind[0] == "f" and isinstance(host, np.ndarray) and host.size:
            most = float(np.nanmax(np.where(np.isfinite(host), np.abs(host), 0)))
            if most > 2.:
                warnings.warn(f"image: floats up to {most:g}, and the default of color_scale, 32, is for 0 to 1; give color_scale, such as {32. / most:.3g}",
                              RuntimeWarning, stacklevel=4)  # of the caller of compute(), which is locked

    def _computed(self, stream: Any) -> Work:
        """A call about results of compute(): on its device, and on its stream unless another is given."""
        if self._size is None:
            raise error("there are no results yet; call compute() first")
        return Work(self, [], stream, *(self._last or (None, None)))

    def _get(self, method: Any, *args: Any, dtype: str, stream: Any, out: Any, **named: Any) -> Array:
        place = self._place if stream is None else None
        if place is not None and self._size is not None and torch_stream(sys.modules["torch"], place.device) == place.stream:
            forms = (table(*self._size, dtype),)
            results = self._results_at(place, method, *args, held=(), forms=forms, out=None if out is None else [out], **named)
            if results is not None:
                return results[0]
        with self._computed(stream) as work:
            assert self._size is not None
            work.from_host = self._host
            return work.call(method, *args, forms=(table(*self._size, dtype),), out=None if out is None else [out], **named)[0]

    @property
    def number(self) -> int:
        """Number of superpixels. Waits."""
        with self._computed(None):
            return int(call(self._native.getNumberOfSuperpixels))

    def labels(self, *, stream: Any = None, out: Any = None) -> Array:
        """Returns the label of each pixel: height x width int32, 0 .. number - 1 in raster order of the roots; -1 where masked.

        Args:
            stream: of torch, CuPy or OpenCV, or its address. Default: that of compute().
            out: array for the result, of its shape and type, where the image is. Default: a new one.
        """
        return self._get(self._native.getLabels, dtype="i4", stream=stream, out=out)

    def density(self, *, stream: Any = None, out: Any = None) -> Array:
        """Returns the density of each pixel, the sum of the Gaussian weights of the pixels around it: height x width float32; 0 where masked.

        Args:
            stream: of torch, CuPy or OpenCV, or its address. Default: that of compute().
            out: array for the result, of its shape and type, where the image is. Default: a new one.
        """
        return self._get(self._native.getDensity, dtype="f4", stream=stream, out=out)

    def parents(self, *, stream: Any = None, out: Any = None) -> Array:
        """Returns the parent of each pixel: height x width int32, y * width + x; the pixel itself for a root; -1 where masked.

        Args:
            stream: of torch, CuPy or OpenCV, or its address. Default: that of compute().
            out: array for the result, of its shape and type, where the image is. Default: a new one.
        """
        return self._get(self._native.getParents, dtype="i4", stream=stream, out=out)

    def distances(self, *, stream: Any = None, out: Any = None) -> Array:
        """Returns the distance of each pixel to its parent in position and colour, as max_dist has it: height x width float32; infinite for roots
        and where masked.

        Args:
            stream: of torch, CuPy or OpenCV, or its address. Default: that of compute().
            out: array for the result, of its shape and type, where the image is. Default: a new one.
        """
        return self._get(self._native.getDistances, dtype="f4", stream=stream, out=out)

    def apply_number(self, number: int, min_size: int = 0, *, stream: Any = None) -> int:
        """Makes 4-connected superpixels of about a given number the current ones: those of enforce_connectivity() after apply_tau(), with
        the first tau found that comes within 2 %, or else the nearest that was found. Returns their number. It can be further away: flat areas
        cannot be divided, max_dist limits how far superpixels can be merged, and the number changes in steps. Waits.

        Args:
            number: wanted number of superpixels, at least 1.
            min_size: smallest size of a component in pixels. Default 0: a twelfth of the mean area of the wanted superpixels.
            stream: of torch, CuPy or OpenCV, or its address. Default: that of compute().
        """
        with self._computed(stream) as work:
            return int(call(self._native.applyNumber, _arrays.number(number, "number", whole=True),
                            _arrays.number(min_size, "min_size", whole=True), **work.named))

    def segment(self, tau: float, *, stream: Any = None, out: Any = None) -> Array:
        """Returns the labels for a smaller max_dist, by removing longer links. Computes nothing again, and changes no other result.

        Args:
            tau: the smaller max_dist; above 0, at most max_dist.
            stream: of torch, CuPy or OpenCV, or its address. Default: that of compute().
            out: array for the result, of its shape and type, where the image is. Default: a new one.
        """
        return self._get(self._native.segment, _arrays.number(tau, "tau"), dtype="i4", stream=stream, out=out)

    def apply_tau(self, tau: float, *, stream: Any = None) -> None:
        """Makes the labels of segment(tau) the current ones: all methods that depend on labels then refer to them. Does not wait. With
        tau = max_dist it restores the labels of compute().

        Args:
            tau: the smaller max_dist; above 0, at most max_dist.
            stream: of torch, CuPy or OpenCV, or its address. Default: that of compute().
        """
        with self._computed(stream) as work:
            call(self._native.applyTau, _arrays.number(tau, "tau"), **work.named)

    def count(self, tau: float, *, stream: Any = None) -> int:
        """Returns the number of superpixels of segment(tau). Waits.

        Args:
            tau: the smaller max_dist; above 0, at most max_dist.
            stream: of torch, CuPy or OpenCV, or its address. Default: that of compute().
        """
        with self._computed(stream) as work:
            return int(call(self._native.countSuperpixels, _arrays.number(tau, "tau"), **work.named))

    def tau_for(self, number: int, *, stream: Any = None) -> float:
        """Returns the smallest tau with at most `number` superpixels, for segment() and apply_tau(); max_dist if even that leaves more or if no
        pixel has a parent. `number` is at least 1. Waits."""
        with self._computed(stream) as work:
            return float(call(self._native.tauForSuperpixels, _arrays.number(number, "number", whole=True), **work.named))

    def merge_heights(self, *, stream: Any = None) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int32]]:
        """Returns all values of tau at which the number of superpixels changes, ascending (n float32), and these numbers (n int32). Waits."""
        with self._computed(stream) as work:
            heights, counts = call(self._native.getMergeHeights, **work.named)
        return _column(heights, np.float32), _column(counts, np.int32)

    def contours(self, *, thick: bool = True, stream: Any = None, out: Any = None) -> Array:
        """Returns the borders of the superpixels: height x width uint8, 255 on a border, else 0.

        Args:
            thick: True (default): pixels with more than one 8-neighbour of another label; False: thin lines.
            stream: of torch, CuPy or OpenCV, or its address. Default: that of compute().
            out: array for the result, of its shape and type, where the image is. Default: a new one.
        """
        return self._get(self._native.getLabelContourMask, dtype="u1", stream=stream, out=out, thickLine=_arrays.flag(thick, "thick"))

    def mean_color(self, image: ImageLike, *, stream: Any = None, out: Any = None) -> Array:
        """Returns the image with each pixel replaced by the mean colour of its superpixel, 0 where masked.

        Args:
            image: image of the size and on the device of the one given to compute(); it may be another one. Means of float32 are in steps of
                2^-30 of the least power of two above the finite magnitudes of all pixels that are not masked.
            stream: of torch, CuPy or OpenCV, or its address, for images on a device. Default: the current stream of torch or CuPy for their
                arrays, else the null stream.
            out: array for the result, of shape and type of the image and on its device; not the image itself. Default: a new one.
        """
        source = _source(image)[0]
        with self._about(source, stream) as work:
            pixels = work.array(source, slot="colors")
            channels = source.shape[2] if len(source.shape) == 3 else 1
            form = table(source.shape[0], source.shape[1], source.dtype, channels)
            return work.call(self._native.getMeanColor, pixels, forms=(form,), out=None if out is None else [out])[0]

    def statistics(self, image: Optional[ImageLike] = None, *, stream: Any = None) -> Statistics:
        """Returns areas, mean colours, centroids and boxes of the superpixels on the host. Waits.

        Args:
            image: image for the means, which are those of mean_color() before rounding, of the size and on the device of the one given to
                compute(). Default: none, so that `means` has no columns.
            stream: of torch, CuPy or OpenCV, or its address. Default: with an image of torch or CuPy their current stream, without an image
                that of compute().
        """
        if image is None:
            with self._computed(stream) as work:
                areas, means, centroids, boxes = call(self._native.getStatistics, None, **work.named)
        else:
            source = _source(image)[0]
            if 0 in source.shape:
                raise ArgumentError(f"image: shape {source.shape}: has no pixels; None is for statistics without means", "image", source.shape)
            with self._about(source, stream) as work:
                number = int(call(self._native.getNumberOfSuperpixels))
                forms = (column(number, "i4"), column(number, "f4", source.shape[2] if len(source.shape) == 3 else 1), column(number, "f4", 2),
                         column(number, "i4", 4))
                results = work.call(self._native.getStatistics, work.array(source, slot="colors"), forms=forms)
                areas, means, centroids, boxes = (part.numpy() if isinstance(part, DeviceArray) else part for part in results)
        areas = _column(areas, np.int32)
        count = len(areas)
        means = np.zeros((count, 0), np.float32) if means is None or not np.size(means) else np.asarray(means, np.float32).reshape(count, -1)
        return Statistics(areas, means, _table(centroids, count, 2, np.float32), _table(boxes, count, 4, np.int32))

    def _about(self, source: _arrays.Given, stream: Any) -> Work:
        results = self._computed(stream)
        if self._last is None and source.device is None:  # results of the CPU
            return results
        if (source.device is None) != self._host:
            raise ArgumentError(f"image: lies on {'the host' if source.device is None else 'a device'}, the one of compute() did not", "image")
        return Work(self, (source,), stream)

    def adjacency(self, *, stream: Any = None) -> npt.NDArray[np.int32]:
        """Returns the pairs of superpixels with 4-adjacent pixels: n x 2 int32, labels a < b, ascending. Waits."""
        with self._computed(stream) as work:
            pairs = call(self._native.getAdjacency, **work.named)
        return np.zeros((0, 2), np.int32) if pairs is None or not np.size(pairs) else np.asarray(pairs, np.int32).reshape(-1, 2)

    def enforce_connectivity(self, min_size: int = 1, *, stream: Any = None) -> int:
        """Splits superpixels into 4-connected components and merges components of fewer than min_size pixels into their largest adjacent
        one. Smaller ones remain only where no other is adjacent, as with a mask. Returns the new number of superpixels. Waits.

        Args:
            min_size: smallest size of a component in pixels, at least 1. Default 1: nothing is merged.
            stream: of torch, CuPy or OpenCV, or its address. Default: that of compute().
        """
        with self._computed(stream) as work:
            return int(call(self._native.enforceConnectivity, _arrays.number(min_size, "min_size", whole=True), **work.named))

    @property
    def workspace_bytes(self) -> int:
        """Device and pinned host memory held by this object, in bytes; 0 if it has worked on the CPU only."""
        return int(self._native.workspaceBytes())

    def __repr__(self) -> str:
        return f"<cudatracking.QuickShift sigma {self.sigma:g}, max_dist {self.max_dist:g}, device {self.device!r}>"


def color_scale_of(kind: str) -> float:
    """Returns the default of color_scale for images of a type, such as u1."""
    if kind in _EXACT and kind not in _COLOR_SCALES:
        raise ArgumentError(f"color_scale: has no default for {np.dtype(kind)}; give one, such as 32 / the range of the values", "color_scale", None)
    return _COLOR_SCALES.get(kind, 32.)  # images of other types are refused


def _source(value: Any) -> tuple[_arrays.Given, str]:
    """An image, and the type that its caller gave."""
    kind = value.dtype.str.lstrip("|<=>") if isinstance(value, np.ndarray) else ""
    if kind not in _EXACT or isinstance(value, np.ma.MaskedArray):
        source = _arrays.image(value, "image", _PIXELS, _CHANNELS)
        return source, source.dtype
    least, most = (int(value.min()), int(value.max())) if value.size else (0, 0)
    if not -2**24 <= least <= most <= 2**24:
        raise ArgumentError(f"image: {value.dtype} values from {least} to {most}; -2^24 to 2^24, which float32 holds exactly, are possible", "image")
    return _arrays.image(value.astype(_EXACT[kind]), "image", _PIXELS, _CHANNELS), kind


def _column(values: Any, dtype: Any) -> Any:
    return np.zeros(0, dtype) if values is None else np.asarray(values, dtype).reshape(-1)


def _table(values: Any, rows: int, columns: int, dtype: Any) -> Any:
    return np.zeros((0, columns), dtype) if not rows else np.asarray(values, dtype).reshape(rows, columns)


def _choice(value: Any, name: str, names: Sequence[str]) -> int:
    if not isinstance(value, str):
        raise TypeError(f"{name}: {shown(value)}: one of {', '.join(map(repr, names))} is needed")
    if value not in names:
        raise ArgumentError(f"{name}: {shown(value)}: one of {', '.join(map(repr, names))} is needed", name, value)
    return names.index(value)


def superpixels(image: ImageLike, number: int, *, convert2lab: bool = True, mask: Optional[ImageLike] = None, device: str = "auto",
                stream: Any = None) -> Array:
    """Returns about `number` connected superpixels of an image as labels, height x width int32, from 0. They follow borders, and their sizes
    differ: a flat area needs few.

        >>> labels = ct.superpixels(image, 200)  # doc/pics/astronaut.jpg, 512 x 512 BGR
        >>> labels.shape, int(labels.max()) + 1
        ((512, 512), 197)

    The number is usually reached within 2 %. Where none within 5 % is found, as in flat images, a RuntimeWarning says how many there are.
    Equals QuickShift.for_superpixels(), compute() of the image in Lab and apply_number(number). The parameters were chosen on validation
    images of BSDS500; doc/quick_shift.md has the study. The CPU and every GPU give the same labels.

    Args:
        image: uint8, BGR or gray, on the host or a device. With convert2lab also uint16 of 0 to 65535 and floats of 0 to 1, which become uint8;
            pixels that are NaN or infinite are masked.
        number: wanted number of superpixels, at least 1.
        convert2lab: True converts BGR or gray to Lab first, for images on the host only. Default True; give False for images in Lab, as
            cv2.cvtColor() with COLOR_BGR2Lab makes them of uint8, and for images on a device.
        mask: bool or uint8, height x width: pixels where it is 0 get label -1. Default: none.
        device: "auto" (default): on the device of the image; for images on the host, on the first CUDA device, or on the CPU if there is none;
            "cpu"; "cuda"; "cuda:<number>". On a device each call allocates and frees memory; use QuickShift.for_superpixels() in a loop.
        stream: for images on a device, the stream that the work is queued on: of torch, CuPy or OpenCV, or its address. Default: the current
            stream of torch or CuPy for their arrays, else the null stream. Waits.

    Raises:
        ArgumentError: an argument is out of its range, or needs another one (the message says which).
        TypeError: an argument is of another type.
    """
    number, lab = _arrays.number(number, "number", whole=True), _arrays.flag(convert2lab, "convert2lab")
    if number < 1:
        raise ArgumentError(f"number: {number}: at least 1 is needed", "number", number)
    source = _arrays.image(image, "image", _PIXELS if lab else ("u1",), (1, 3) if lab else (3,))
    if not lab and len(source.shape) != 3:
        raise ArgumentError(f"image: shape {source.shape}: height x width x 3, Lab, is needed without convert2lab", "image", source.shape)
    value: Any = image
    if lab:
        if source.host is None:
            raise ArgumentError("image: lies on a device, and convert2lab works on the host; give Lab values and convert2lab=False", "convert2lab", True)
        pixels, holes = _of_8_bits(source.host)
        if holes is not None and holes.any():
            mask = ~holes if mask is None else ~holes & (np.asarray(_arrays.mask(mask, "mask", holes.shape).host) != 0)
        value = lab_of(pixels)
    shift = QuickShift.for_superpixels(device).compute(value, mask=mask, stream=stream)
    made = shift.apply_number(number)
    if missed(number, made):
        warnings.warn(f"number: {number}: the nearest that was found is {made}", RuntimeWarning, stacklevel=2)
    return shift.labels()


def _of_8_bits(pixels: npt.NDArray[Any]) -> tuple[npt.NDArray[np.uint8], Optional[npt.NDArray[np.bool_]]]:
    """An image of uint16 or of floats as one of 8 bits, and where floats are not finite."""
    if pixels.dtype.kind == "u":
        return pixels if pixels.dtype == np.uint8 else ((pixels.astype(np.uint32) + 128) // 257).astype(np.uint8), None
    finite = np.isfinite(pixels)
    values = np.where(finite, pixels, 0)
    if values.size and not 0 <= values.min() <= values.max() <= 1:
        raise ArgumentError(f"image: floats from {values.min():g} to {values.max():g}; 0 to 1 is possible", "image")
    return np.rint(values * np.float32(255)).astype(np.uint8), ~(finite if pixels.ndim == 2 else finite.all(axis=2))


def lab_of(pixels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """BGR or gray of 8 bits in Lab, for QuickShift.for_superpixels(). OpenCV computes it in integers, so that it is the same everywhere."""
    if not pixels.size:
        return pixels
    whole = np.ascontiguousarray(pixels)
    if whole.ndim == 2 or whole.shape[2] == 1:
        whole = call(cv2.cvtColor, whole, cv2.COLOR_GRAY2BGR)
    return np.asarray(call(cv2.cvtColor, whole, cv2.COLOR_BGR2Lab))


def missed(wanted: int, made: int) -> bool:
    """True if a number of superpixels is more than 5 % away from the wanted one."""
    return abs(made - wanted) * 20 > wanted


@overload
def quickshift(image: ImageLike, ratio: float = ..., kernel_size: float = ..., max_dist: float = ..., return_tree: Literal[False] = ...,
               sigma: float = ..., convert2lab: bool = ..., rng: Rng = ..., *, channel_axis: int = ..., mask: Optional[ImageLike] = ...,
               tie_rule: str = ..., device: str = ..., stream: Any = ...) -> Array: ...


@overload
def quickshift(image: ImageLike, ratio: float, kernel_size: float, max_dist: float, return_tree: Literal[True],
               sigma: float = ..., convert2lab: bool = ..., rng: Rng = ..., *, channel_axis: int = ..., mask: Optional[ImageLike] = ...,
               tie_rule: str = ..., device: str = ..., stream: Any = ...) -> tuple[Array, Array, Array]: ...


@overload
def quickshift(image: ImageLike, ratio: float = ..., kernel_size: float = ..., max_dist: float = ..., *, return_tree: Literal[True],
               sigma: float = ..., convert2lab: bool = ..., rng: Rng = ..., channel_axis: int = ..., mask: Optional[ImageLike] = ...,
               tie_rule: str = ..., device: str = ..., stream: Any = ...) -> tuple[Array, Array, Array]: ...


def quickshift(image: ImageLike, ratio: float = 1.0, kernel_size: float = 5, max_dist: float = 10, return_tree: bool = False, sigma: float = 0,
               convert2lab: bool = True, rng: Rng = 42, *, channel_axis: int = -1, mask: Optional[ImageLike] = None, tie_rule: str = "strict",
               device: str = "auto", stream: Any = None) -> Union[Array, tuple[Array, Array, Array]]:
    """Returns the superpixels of an image as labels, height x width int32, from 0. Parameters have the names of skimage.segmentation.quickshift.

    The result is that of QuickShift(sigma=kernel_size, max_dist=max_dist, color_scale=ratio, search_radius="window", tie_rule="strict"). The
    image is taken as floats of [0, 1], or with convert2lab as Lab (L 0 to 100). The noise is scikit-image's; it links the pixels of flat
    areas, in which all densities are equal.

    Differences from scikit-image: scikit-image sums doubles (for float32 images: floats), this function integers,
    weights of 23 bits. So pixels have another parent where two densities are nearly equal: up to 50 of 10,000 in colour photographs in Lab
    (doc/from_opencv.md has a table), hundreds of 10,000 in gray images, and more in flat drawings that are smoothed or given as float32. Its labels are int64. Its rng=None is noise that differs from
    call to call. Distances of return_tree are infinite for roots, where scikit-image returns the distance to a parent that is too far away.

        >>> labels = ct.quickshift(image[..., ::-1], kernel_size=3, max_dist=6, ratio=.5)  # RGB
        >>> labels.shape, int(labels.min())
        ((512, 512), 0)

    Args:
        image: RGB or, without convert2lab, 1 to 16 channels in the last axis: uint8, uint16 or float32 (float16 and float64 become float32), on the host
            or a device; numpy arrays also of bool, 0 and 1, and of other whole numbers, whose range becomes -1 to 1, or 0 to 1 if unsigned.
        ratio: weight of colours, 0 to 1e9. Default 1.
        kernel_size: bandwidth of the Gaussian kernel, 1 to 341. Default 5.
        max_dist: largest distance of a link; above 0, at most 32767. Default 10.
        return_tree: True returns (labels, parents, distances): also parents (int32) and distances (float32) of all pixels. Default False.
        sigma: width of a Gaussian that smooths the image first, pixels, 0 to 100. Default 0: none.
        convert2lab: True converts RGB to Lab first, for images on the host only. Default True; give False for images on a device or in Lab.
        rng: seed, or a numpy.random.Generator, of the noise. Default 42, as in scikit-image. The noise is added on the CPU; give None for images on
            a device and for device="cuda". None: no noise, so that pixels of equal density are ordered by tie_rule.
        channel_axis: -1 or 2, the last one.
        mask: bool or uint8, height x width: pixels where it is 0 get label -1. Default: none.
        tie_rule: order of pixels of equal density, for rng=None. "strict" (default): each pixel of a flat area can become a superpixel of its
            own; "index": a flat area is one superpixel.
        device: "auto" (default): on the device of the image; for images on the host and rng=None, on the first CUDA device, or on the CPU if
            there is none; "cpu"; "cuda"; "cuda:<number>". On a device each call allocates and frees memory, which waits for all its streams;
            use QuickShift in a loop.
        stream: for images on a device, the stream that the work is queued on: of torch, CuPy or OpenCV, or its address. Default: the current
            stream of torch or CuPy for their arrays, else the null stream.

    Raises:
        ArgumentError: an argument is out of its range, or needs another one (the message says which).
        TypeError: an argument is of another type.
    """
    ratio, smooth = _arrays.number(ratio, "ratio"), _arrays.number(sigma, "sigma")
    kernel_size, max_dist = _arrays.number(kernel_size, "kernel_size"), _arrays.number(max_dist, "max_dist")
    return_tree, lab = _arrays.flag(return_tree, "return_tree"), _arrays.flag(convert2lab, "convert2lab")
    if channel_axis not in (-1, 2) or isinstance(channel_axis, bool):
        raise ArgumentError(f"channel_axis: {shown(channel_axis)}: -1 and 2, the last axis, are possible", "channel_axis", channel_axis)
    for name, factor, least, most in (("ratio", ratio, 0., 1e9), ("sigma", smooth, 0., 100.), ("kernel_size", kernel_size, 1., 341.),
                                      ("max_dist", max_dist, 1e-300, 32767.)):
        if not least <= factor <= most:
            raise ArgumentError(f"{name}: {factor:g}: {'above 0' if 0. < least < 1. else f'{least:g}'} to {most:g} is possible", name, factor)
    if isinstance(image, np.ndarray) and not isinstance(image, np.ma.MaskedArray) and image.dtype.str.lstrip("|<=>") in _EXACT:
        image = _as_floats(image)
    source = _arrays.image(image, "image", _PIXELS, _CHANNELS)
    scale = {"u1": ratio / 255., "u2": ratio / 65535., "f4": ratio}[source.dtype]
    value: Any = image if source.host is None else source.host
    if source.host is None and (lab or smooth or rng is not None):
        raise ArgumentError("image: lies on a device, and convert2lab, sigma and rng work on the host; give convert2lab=False, sigma=0 and rng=None, "
                            "and Lab values if Lab is wanted", "convert2lab" if lab else "sigma" if smooth else "rng",
                            convert2lab if lab else sigma if smooth else rng)
    if lab or smooth:
        assert source.host is not None
        value, scale = _prepared(source.host, lab, smooth), ratio
    made = QuickShift(kernel_size, max_dist, scale, search_radius="window", tie_rule=tie_rule, device=device)
    if rng is None:
        made.compute(value, mask=mask, stream=stream)
    elif device in ("auto", "cpu"):
        made = QuickShift(kernel_size, max_dist, scale, search_radius="window", tie_rule=tie_rule, device="cpu")
        made.compute(value, mask=mask, noise=_noise(rng, source.shape[:2]), stream=stream)
    else:
        raise ArgumentError(f"device: {shown(device)}: the noise of rng is added on the CPU; give rng=None", "device", device)
    if return_tree:
        return made.labels(), made.parents(), made.distances()
    return made.labels()


def _as_floats(image: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Whole numbers as floats, as scikit-image converts them."""
    return np.maximum(image / (1. if image.dtype == np.bool_ else float(np.iinfo(image.dtype).max)), -1.)


def _noise(rng: Any, shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
    """The numbers that scikit-image adds to densities."""
    if isinstance(rng, (bool, np.bool_)) or not isinstance(rng, (int, np.integer, np.random.Generator)):
        raise TypeError(f"rng: {shown(rng)}: a whole number, a numpy.random.Generator or None is needed")
    if not isinstance(rng, np.random.Generator) and rng < 0:
        raise ArgumentError(f"rng: {rng}: a seed of at least 0 is needed", "rng", rng)
    return np.random.default_rng(rng).normal(scale=1e-5, size=shape)


# Linear red, green and blue to X, Y, Z over those of white (D65), as scikit-image has them.
_XYZ = np.array([[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]]) / np.array([[0.95047], [1.], [1.08883]])


def _linear(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """sRGB of [0, 1] without its gamma."""
    return np.where(values > 0.04045, ((values + 0.055) / 1.055) ** 2.4, values / 12.92)


def _lab(linear: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    """Lab of linear RGB, computed in double."""
    parts = linear @ _XYZ.T
    x, y, z = np.moveaxis(np.where(parts > 0.008856, np.cbrt(parts), 7.787 * parts + 16. / 116.), -1, 0)
    return np.stack([116. * y - 16., 500. * (x - y), 200. * (y - z)], axis=-1).astype(np.float32)


def _prepared(image: npt.NDArray[Any], lab: bool, smooth: float) -> npt.NDArray[Any]:
    """Floats of [0, 1], in Lab if asked for, smoothed as scikit-image does."""
    if lab and (image.ndim != 3 or image.shape[2] != 3):
        raise ArgumentError(f"image: shape {image.shape}: convert2lab needs three channels; give convert2lab=False for others", "image", image.shape)
    if not image.size:
        return image
    most = {"u1": 255, "u2": 65535}.get(image.dtype.str[1:])
    with np.errstate(invalid="ignore", over="ignore"):  # pixels that are not finite are masked
        return _floats(image, lab, smooth, most)


def _floats(image: npt.NDArray[Any], lab: bool, smooth: float, most: Optional[int]) -> npt.NDArray[Any]:
    if not lab:
        pixels: npt.NDArray[Any] = np.ascontiguousarray(image, np.float32) / np.float32(most or 1)
    elif most:
        pixels = _lab(_linear(np.arange(most + 1) / most)[image])
    else:
        pixels = _lab(_linear(image.astype(np.float64)))
    if smooth:
        side = 2 * int(4. * smooth + .5) + 1
        pixels = call(cv2.GaussianBlur, pixels, (side, side), smooth, None, smooth, cv2.BORDER_REFLECT)
    return np.asarray(pixels)
