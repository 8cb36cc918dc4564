# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""Object detection with boosted cascades."""
from __future__ import annotations

import functools
import os
from typing import Any, NamedTuple, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from . import _arrays
from ._arrays import Array, ImageLike, Kind
from ._errors import ArgumentError, call, error, shown
from ._native import cv2
from ._results import Form, table
from ._work import Work, Worker

_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cascades")


def _name_of(path: str) -> str:
    """The name in cascades() of a file in the package."""
    stem = os.path.basename(path)[:-len(".xml")]
    return stem[len("haarcascade_"):] if stem.startswith("haarcascade_") else "lbp_" + stem[len("lbpcascade_"):]


def cascades() -> list[str]:
    """Returns the names of the cascades in the package, for CascadeClassifier(name).

    The files are OpenCV's: "frontalface_alt" is haarcascade_frontalface_alt.xml, "lbp_frontalface" is lbpcascade_frontalface.xml.
    """
    return sorted(_name_of(name) for name in os.listdir(_FOLDER) if name.endswith(".xml"))


def cascade_file(name: str) -> str:
    """Returns the path of a cascade file in the package, for other programs. Raises ArgumentError for an unknown name.

    Args:
        name: one of cascades(), or OpenCV's file name with or without ".xml".
    """
    if not isinstance(name, str):
        raise TypeError(f"name: {shown(name)}: a string is needed")
    stem = name[:-len(".xml")] if name.endswith(".xml") else name
    for entry in os.listdir(_FOLDER):
        if entry.endswith(".xml") and stem in (entry[:-len(".xml")], _name_of(entry)):
            return os.path.join(_FOLDER, entry)
    raise ArgumentError(f"name: {shown(name)} is none of cudatracking.cascades(): {', '.join(cascades())}", "name", name)


def _built_in(path: str) -> Optional[str]:
    """The file of the package with the name of this path's last part; None if there is none."""
    try:
        return cascade_file(os.path.basename(path.replace("\\", "/")))
    except ArgumentError:
        return None


class Detections(NamedTuple):
    """Detected objects of one image.

    Attributes:
        boxes: n x 4 int32: x, y, width, height in pixels.
        neighbors: n int32: number of candidates (windows that pass all stages) grouped to each object; 1 without grouping.
        weights: n float64: largest last-stage sum among the candidates of each object; larger is more certain.
    """

    boxes: npt.NDArray[np.int32]
    neighbors: npt.NDArray[np.int32]
    weights: npt.NDArray[np.float64]


class Tables(NamedTuple):
    """Results of CascadeClassifier.detect_async(): one row per image, in device memory if the images are there.

    Attributes:
        objects: images x (1 + max_objects) x 4 int32. objects[i, 0] is (n, found, candidates, overflow): n boxes follow; `found` is larger
            than n when max_objects was too small; overflow 1: more than max_candidates candidates, n and found are 0 then.
        neighbors: images x max_objects int32: number of candidates grouped to each object, 1 without grouping.
        weights: images x max_objects float64: largest last-stage sum among the candidates of each object.
    """

    objects: Array
    neighbors: Array
    weights: Array


_OUTS = tuple(f"out.{name}" for name in Tables._fields)
_IMAGE = Kind(("u1",), (1, 3, 4))


class CascadeClassifier(Worker):
    """Detects objects, such as faces, with a boosted cascade: reads every Haar and LBP cascade of OpenCV, and returns the boxes of
    cv2.CascadeClassifier, with three exceptions (doc/cascade.md, "Equivalence with cv::CascadeClassifier").

        >>> faces = ct.CascadeClassifier("frontalface_default", device="cpu")
        >>> faces.detect(image)  # doc/pics/astronaut.jpg
        array([[177,  66,  95,  95]], dtype=int32)

    Args:
        cascade: a name of cascades(), a path (str or pathlib.Path) of an XML file in the old or the new format, or the
            bytes of such a file. A str is first looked up as a name; a pathlib.Path is always a path. Where the path of a str has no
            file, but the package has a cascade of that file's name, that one is read: cv2.data.haarcascades +
            "haarcascade_eye.xml" works also where the installed cv2 has no such folder. None (default): no cascade until load() reads one.
        device: where the work is done. "auto" (default): on the device of the image; for images on the host, on the first CUDA
            device, or on the CPU if there is none; "cpu"; "cuda"; "cuda:<number>". The boxes are the same everywhere.
        scale_factor: ratio of one scale to the one before, above 1. Default 1.1.
        min_neighbors: a group of more candidates (windows that pass all stages) than this is an object; 0: all candidates, not grouped. Default 3.
        min_size, max_size: (width, height) in pixels, or one number for both; 0: no limit. Default 0.
        find_largest: keep only the object of largest area. Default False.
        max_objects: capacity of the results of detect_async(), in objects per image, 1 to 65536. Default 256.
        max_candidates: largest number of candidates per image that detect_async() and detect_batch() can group, 1 to 65536; with more,
            detect_batch() raises error and detect_async() reports an overflow. Default 8192.

    Images are uint8: height x width (gray), x 3 (BGR) or x 4 (BGRA), sides up to 65535. Results are the same on the CPU and on every GPU.
    Calls of several threads on one object are made one after the other; clone() makes objects that work at the same time. Files are checked
    completely, so they may come from untrusted sources. Wrong arguments raise ArgumentError (a ValueError) or TypeError, other failures raise error (a RuntimeError); the message names the argument.

    Semantics: doc/cascade.md. Sources: Viola and Jones 2001, Lienhart and Maydt 2002, Liao et al. 2007.
    """

    _instead_of_pickle = "pass the name, the path or the bytes of the cascade, and make it in the other process"

    def __init__(self, cascade: Union[str, "os.PathLike[str]", bytes, None] = None, *, device: str = "auto", scale_factor: float = 1.1, min_neighbors: int = 3,
                 min_size: Union[int, Sequence[int]] = 0, max_size: Union[int, Sequence[int]] = 0, find_largest: bool = False, max_objects: int = 256,
                 max_candidates: int = 8192) -> None:
        super().__init__(device)
        self._native = call(cv2.cuda.CascadeClassifierEx.create)
        self._name = "" if cascade is None else self._read(cascade)
        self.scale_factor = scale_factor
        self.min_neighbors = min_neighbors
        self.min_size = min_size
        self.max_size = max_size
        self.find_largest = find_largest
        self.max_objects = max_objects
        self.max_candidates = max_candidates

    def _read(self, cascade: Any) -> str:
        if isinstance(cascade, (bytes, bytearray, memoryview)):
            if not len(cascade):
                raise ArgumentError("cascade: no bytes; the contents of a cascade file are needed", "cascade", b"")
            call(self._native.loadBuffer, np.frombuffer(cascade, np.uint8))
            return f"{len(cascade)} bytes"
        path = _arrays.file_name(cascade, "cascade")
        name = str(cascade)
        built_in = _built_in(path)
        if isinstance(cascade, str) and built_in and (os.path.basename(path) == path or not os.path.exists(path)):
            name = cascade if os.path.basename(path) == path else _name_of(built_in)
            path = built_in
        if isinstance(cascade, str) and not os.path.exists(path):
            raise ArgumentError(f"cascade: {shown(cascade)} is neither a file nor a name of cudatracking.cascades(): {', '.join(cascades())}", "cascade", cascade)
        if built_in and not os.path.exists(path):
            raise ArgumentError(f"cascade: there is no file {shown(path)}; the package has a cascade of this name: {_name_of(built_in)!r}", "cascade", cascade)
        _arrays.check_file(path, "cascade")
        call(self._native.load, path)
        return name

    @property
    def name(self) -> str:
        """Name or path that the cascade was read from; "" if there is no cascade."""
        return self._name

    @property
    def window_size(self) -> tuple[int, int]:
        """(width, height) of the objects that the cascade was trained on, in pixels; (0, 0) if there is no cascade."""
        width, height = self._native.getOriginalWindowSize()
        return int(width), int(height)

    @property
    def feature_type(self) -> str:
        """"haar" or "lbp"."""
        return "lbp" if self._native.getFeatureType() == 1 else "haar"

    @property
    def stages(self) -> int:
        """Number of stages."""
        return int(self._native.getNumberOfStages())

    @property
    def scale_factor(self) -> float:
        """Ratio of one scale to the one before, above 1."""
        return float(self._native.getScaleFactor())

    @scale_factor.setter
    def scale_factor(self, value: float) -> None:
        call(self._native.setScaleFactor, _arrays.number(value, "scale_factor"))

    @property
    def min_neighbors(self) -> int:
        """Threshold of grouping: a group of more candidates than this is an object; 0: all candidates, not grouped."""
        return int(self._native.getMinNeighbors())

    @min_neighbors.setter
    def min_neighbors(self, value: int) -> None:
        call(self._native.setMinNeighbors, _arrays.number(value, "min_neighbors", whole=True))

    @property
    def min_size(self) -> tuple[int, int]:
        """Smallest (width, height) of objects in pixels; 0: no limit. One number sets both."""
        width, height = self._native.getMinObjectSize()
        return int(width), int(height)

    @min_size.setter
    def min_size(self, value: Union[int, Sequence[int]]) -> None:
        call(self._native.setMinObjectSize, _arrays.size(value, "min_size"))

    @property
    def max_size(self) -> tuple[int, int]:
        """Largest (width, height) of objects in pixels; 0: no limit. One number sets both."""
        width, height = self._native.getMaxObjectSize()
        return int(width), int(height)

    @max_size.setter
    def max_size(self, value: Union[int, Sequence[int]]) -> None:
        call(self._native.setMaxObjectSize, _arrays.size(value, "max_size"))

    @property
    def find_largest(self) -> bool:
        """True if only the object of the largest area is kept."""
        return bool(self._native.getFindLargestObject())

    @find_largest.setter
    def find_largest(self, value: bool) -> None:
        call(self._native.setFindLargestObject, _arrays.flag(value, "find_largest"))

    @property
    def max_objects(self) -> int:
        """Capacity of the results of detect_async(), in objects per image."""
        return int(self._native.getMaxObjects())

    @max_objects.setter
    def max_objects(self, value: int) -> None:
        call(self._native.setMaxObjects, _arrays.number(value, "max_objects", whole=True))

    @property
    def max_candidates(self) -> int:
        """Largest number of candidates per image that detect_async() and detect_batch() can group."""
        return int(self._native.getMaxCandidates())

    @max_candidates.setter
    def max_candidates(self, value: int) -> None:
        call(self._native.setMaxCandidates, _arrays.number(value, "max_candidates", whole=True))

    def detect(self, image: ImageLike, scale_factor: Optional[float] = None, min_neighbors: Optional[int] = None, *,
               min_size: Union[int, Sequence[int], None] = None, max_size: Union[int, Sequence[int], None] = None,
               mask: Optional[ImageLike] = None, stream: Any = None) -> npt.NDArray[np.int32]:
        """Detects the objects in an image. Returns n x 4 int32 on the host, (x, y, width, height) in pixels, and waits for them.

        Args:
            image: uint8, height x width, x 3 (BGR) or x 4 (BGRA), on the host or a device. Empty: no objects.
            scale_factor, min_neighbors, min_size, max_size: values for this call; None (default): those of this object. find_largest is
                always that of this object; max_objects does not matter here.
            mask: bool or uint8, height x width. Candidates whose centre is at a 0 are ignored. Default: none.
            stream: for images on a device, that of the work: of torch, CuPy or OpenCV, or its address. Default: that of torch or CuPy, else the null one.
        """
        found = self._detect(self._native.detectMultiScale, image, (scale_factor, min_neighbors, min_size, max_size), mask, stream)
        return np.asarray(found, np.int32).reshape(-1, 4)

    def _detect(self, method: Any, image: ImageLike, settings: tuple[Any, Any, Any, Any], mask: Optional[ImageLike] = None, stream: Any = None,
                names: Sequence[str] = ("scale_factor", "min_neighbors", "min_size", "max_size"), **options: Any) -> Any:
        """Calls a method with settings for this call: scale factor, neighbours, smallest and largest size; None: those of this object."""
        scale_factor, min_neighbors, min_size, max_size = settings
        native = self._native
        arguments = (
            native.getScaleFactor() if scale_factor is None else _arrays.number(scale_factor, names[0]),
            native.getMinNeighbors() if min_neighbors is None else _arrays.number(min_neighbors, names[1], whole=True),
            0,
            native.getMinObjectSize() if min_size is None else _arrays.size(min_size, names[2]),
            native.getMaxObjectSize() if max_size is None else _arrays.size(max_size, names[3]),
        )
        return self._run(method, image, _IMAGE, *arguments, mask=mask, stream=stream, **options)

    def load(self, filename: Union[str, "os.PathLike[str]", bytes]) -> bool:
        """Reads another cascade, as cv2.CascadeClassifier.load() does. Returns False, and has no cascade then, if there is no valid one.

        Args:
            filename: a name, a path or the bytes of a file, as the constructor takes it; the constructor says what is wrong with a file.
        """
        try:
            self._name = self._read(filename)
        except (ArgumentError, error):
            self._native.clear()
            self._name = ""
        return not self.empty()

    def empty(self) -> bool:
        """Returns True if there is no cascade."""
        return bool(self._native.empty())

    def getOriginalWindowSize(self) -> tuple[int, int]:
        """Returns window_size, as cv2.CascadeClassifier does."""
        return self.window_size

    def getFeatureType(self) -> int:
        """Returns 0 for a Haar cascade and 1 for an LBP cascade, as cv2.CascadeClassifier does; see feature_type."""
        return int(self._native.getFeatureType())

    def isOldFormatCascade(self) -> bool:
        """Returns True if the cascade was read from a file in the old format (opencv-haar-classifier)."""
        return bool(self._native.isOldFormatCascade())

    def detectMultiScale(self, image: ImageLike, scaleFactor: Optional[float] = None, minNeighbors: Optional[int] = None, flags: Optional[int] = 0,
                         minSize: Union[int, Sequence[int], None] = None, maxSize: Union[int, Sequence[int], None] = None) -> Any:
        """detect() with the arguments and the result of cv2.CascadeClassifier.detectMultiScale(): n x 4 int32, or () if there is no object.

        Args:
            image: uint8, height x width, x 3 (BGR) or x 4 (BGRA), on the host or a device. Empty: no objects.
            scaleFactor, minNeighbors, minSize, maxSize: scale_factor, min_neighbors, min_size, max_size of detect().
            flags: not used, like that of cv2.
        """
        _check_flags(flags)
        return self._detect(self._native.detectMultiScale, image, (scaleFactor, minNeighbors, minSize, maxSize), names=_CV2_NAMES)

    def detectMultiScale2(self, image: ImageLike, scaleFactor: Optional[float] = None, minNeighbors: Optional[int] = None, flags: Optional[int] = 0,
                          minSize: Union[int, Sequence[int], None] = None, maxSize: Union[int, Sequence[int], None] = None) -> tuple[Any, Any]:
        """detectMultiScale() that returns (objects, numDetections), as in cv2: also the number of candidates grouped to each object."""
        _check_flags(flags)
        objects, counts = self._detect(self._native.detectMultiScale2, image, (scaleFactor, minNeighbors, minSize, maxSize), names=_CV2_NAMES)
        return objects, counts

    def detectMultiScale3(self, image: ImageLike, scaleFactor: Optional[float] = None, minNeighbors: Optional[int] = None, flags: Optional[int] = 0,
                          minSize: Union[int, Sequence[int], None] = None, maxSize: Union[int, Sequence[int], None] = None,
                          outputRejectLevels: Optional[int] = False) -> tuple[Any, Any, Any]:
        """detectMultiScale() that returns (objects, rejectLevels, levelWeights), as in cv2. With outputRejectLevels=True, or a number
        other than 0, rejectLevels are the numbers of stages, and levelWeights the largest sum of the last stage, of each object."""
        _check_flags(flags)
        objects, levels, weights = self._detect(self._native.detectMultiScale3, image, (scaleFactor, minNeighbors, minSize, maxSize), names=_CV2_NAMES,
                                                outputRejectLevels=_truth(outputRejectLevels, "outputRejectLevels"))
        return objects, levels, weights

    def detect_batch(self, images: Sequence[ImageLike], *, masks: Optional[Sequence[ImageLike]] = None, stream: Any = None) -> list[Detections]:
        """Detects the objects in several images of any sizes in one pass. Returns their group sizes and weights, too. Waits for them.

        Raises error when an image has more than max_candidates candidates; max_objects does not matter here.

        Args:
            images: list of images, uint8, height x width, x 3 (BGR) or x 4 (BGRA), all on the host or all on one device.
            masks: one mask per image, bool or uint8, of its height x width: candidates whose centre is at a 0 are ignored. Default: none.
            stream: for images on a device, that of the work: of torch, CuPy or OpenCV, or its address. Default: that of torch or CuPy, else the null one.
        """
        limit = self.max_objects
        try:
            while True:
                objects, neighbors, weights = (
                    table.numpy() if isinstance(table, _arrays.DeviceArray) else table
                    for table in self.detect_async(images, masks=masks, stream=stream))
                if not len(objects):
                    return []
                most = int(objects[:, 0, 1].max())
                if most <= self.max_objects:
                    break
                self.max_objects = min(most, 65536)
        finally:
            self.max_objects = limit
        over = np.flatnonzero(objects[:, 0, 3])
        if len(over):
            count = int(objects[over[0], 0, 2])
            raise error(f"images[{over[0]}]: {count} windows to group, and max_candidates is {self.max_candidates}", "images", count)
        return [Detections(row[1:1 + row[0, 0]].copy(), groups[:row[0, 0]].copy(), sums[:row[0, 0]].copy())
                for row, groups, sums in zip(objects, neighbors, weights)]

    def detect_async(self, images: Sequence[ImageLike], *, masks: Optional[Sequence[ImageLike]] = None, stream: Any = None,
                     out: Optional[Sequence[Any]] = None) -> Tables:
        """Detects the objects in several images. Returns Tables, arrays of fixed size; for images on a device they are on that device, and
        the call does not wait.

        Args:
            images: list of images, uint8, height x width, x 3 (BGR) or x 4 (BGRA), all on the host or all on one device.
            masks: one mask per image, bool or uint8, of its height x width: candidates whose centre is at a 0 are ignored. Default: none.
            stream: for images on a device, that of the work: of torch, CuPy or OpenCV, or its address. Default: that of torch or CuPy, else the null one.
            out: Tables of an earlier call, or three arrays in the order of its members, for new results; on the device of the images, or numpy
                arrays if they are on the host. Default: new ones.
        """
        sources = _listed(images, "images")
        if out is not None and (not isinstance(out, (list, tuple)) or len(out) != len(Tables._fields)):
            raise TypeError(f"out: {type(out).__name__}: Tables, or a list of {', '.join(Tables._fields)}, is needed")
        place = self._place if masks is None and stream is None else None
        fitting = [] if place is None else [_IMAGE.at(place, value) for value in sources]
        if place is not None and fitting and all(pixels is not None for pixels in fitting):
            forms = _forms(len(fitting), self._native.getMaxObjects())
            results = self._results_at(place, self._native.detectAsync, fitting, held=sources, forms=forms, out=out)
            if results is not None:
                return Tables(*results)
        pixel_arrays = [_arrays.image(value, f"images[{i}]", ("u1",)) for i, value in enumerate(sources)]
        covers = None if masks is None else _masks(masks, pixel_arrays)
        if not pixel_arrays:
            empty = (np.zeros((0, 1 + self.max_objects, 4), np.int32), np.zeros((0, self.max_objects), np.int32), np.zeros((0, self.max_objects)))
            return Tables(*map(_arrays.either, empty))
        for array in pixel_arrays + (covers or []):
            if (array.device is None) != (pixel_arrays[0].device is None):
                raise ArgumentError(f"{array.name}: images and masks must all lie on the host or all on one device", array.name)
        with Work(self, pixel_arrays + (covers or []), stream) as work:
            # Images of the host have a place on the device each, which later calls use again.
            pixels = [work.array(array, slot=array.name) for array in pixel_arrays]
            masked = {"masks": [work.array(array, slot=array.name) for array in covers]} if covers is not None else {}
            forms = _forms(len(pixels), self._native.getMaxObjects())
            return Tables(*work.call(self._native.detectAsync, pixels, forms=forms, out=out, names=_OUTS, **masked))

    def scales(self, image_size: Sequence[int]) -> npt.NDArray[np.float64]:
        """Returns the scales at which an image is searched, ascending float64: factors on window_size.

        Args:
            image_size: (width, height) of the image in pixels, up to 65535.
        """
        factors, _ = call(self._native.getScales, _arrays.size(image_size, "image_size"))
        return np.asarray(factors, np.float64).reshape(-1)

    def clone(self) -> CascadeClassifier:
        """Returns an object with the same parameters, device among them, for another thread or stream. It shares the cascade."""
        made = type(self).__new__(type(self))
        Worker.__init__(made, self.device)
        made._native = call(self._native.clone)
        made._name = self._name
        return made

    def __copy__(self) -> CascadeClassifier:
        return self.clone()

    @property
    def workspace_bytes(self) -> int:
        """Device and pinned host memory held by this object, in bytes; 0 if it has worked on the CPU only."""
        return int(self._native.workspaceBytes())

    def __repr__(self) -> str:
        if self.empty():
            return f"<cudatracking.CascadeClassifier without a cascade, device {self.device!r}>"
        width, height = self.window_size
        return (f"<cudatracking.CascadeClassifier {self._name!r}: {self.feature_type}, {self.stages} stages, {width} x {height} pixels, "
                f"device {self.device!r}>")


@functools.lru_cache(maxsize=64)
def _forms(count: int, most: int) -> tuple[Form, ...]:
    """Results of detect_async()."""
    return table(count, 1 + most, "i4", 4), table(count, most, "i4"), table(count, most, "f8")


def _masks(masks: Any, images: Sequence[_arrays.Given]) -> list[_arrays.Given]:
    """One mask for each image."""
    values = _listed(masks, "masks")
    if len(values) != len(images):
        raise ArgumentError(f"masks: {len(values)} given, one for each of {len(images)} images is needed", "masks", len(values))
    return [_arrays.mask(value, f"masks[{i}]", image.shape[:2]) for i, (value, image) in enumerate(zip(values, images))]


_CV2_NAMES = ("scaleFactor", "minNeighbors", "minSize", "maxSize")


def _check_flags(value: Any) -> None:
    if value is not None:
        _arrays.number(value, "flags", whole=True)


def _truth(value: Any, name: str) -> bool:
    """A truth value as cv2 takes it: also a number, or None."""
    if value is not None and not isinstance(value, (bool, int, np.bool_, np.integer)):
        raise TypeError(f"{name}: {type(value).__name__}: True, False or a whole number is needed")
    return bool(value)


def _listed(values: Any, name: str) -> list[Any]:
    if isinstance(values, (list, tuple)):
        return list(values)
    raise TypeError(f"{name}: {type(values).__name__}: a list of arrays is needed")
