# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""Template matching, superpixels, cascade detection and long-term tracking, on the CPU and on CUDA with identical results.

    import cudatracking as ct

    faces = ct.CascadeClassifier("frontalface_default")  # every Haar and LBP cascade of OpenCV; ct.cascades() lists them
    boxes = faces.detect(image)                            # n x 4: x, y, width, height
    labels = ct.superpixels(image, 200)                    # height x width int32, about 200 of them
    labels = ct.quickshift(image[:, :, ::-1], ratio=.5, kernel_size=3, max_dist=6)  # takes RGB; all others take BGR
    tracker = ct.Tracker(); tracker.init(frame, (x, y, w, h)); ok, box = tracker.update(frame)
    matcher = ct.FragmentMatcher(metric="zncc"); matcher.cut(frame, regions); found = matcher.match(frame)
    poses = ct.find_template(image, part)                  # all places of an image in another one, at any angle

Images are numpy arrays, lists, or arrays in device memory (torch, CuPy and others), which are not copied. `device` is "auto", "cpu", "cuda"
or "cuda:<number>". ct.cv2 is the private OpenCV of this package; an installed opencv-python is not changed.
"""
from typing import NoReturn

from . import _early  # noqa: F401  (before all that takes time)
from . import ray
from ._arrays import DeviceArray
from ._cascade import CascadeClassifier, Detections, Tables, cascade_file, cascades
from ._devices import BuildInfo, Device, build_info, devices
from ._errors import ArgumentError, error
from ._finder import Pose, TemplateFinder, find_template
from ._matcher import FragmentMatcher, Match, Matches, Status
from ._native import cv2
from ._quickshift import QuickShift, Statistics, quickshift, superpixels
from ._tracking import TRACKS, Detector, Event, Found, MultiTracker, State, TLDParams, Tracker
from ._version import __version__
from ._windows import Field, Windows, windows

__all__ = [
    "ArgumentError", "BuildInfo", "CascadeClassifier", "Detections", "Detector", "Device", "DeviceArray", "Event", "Field", "Found", "FragmentMatcher",
    "Match", "Matches", "MultiTracker", "Pose", "QuickShift", "State", "Statistics", "Status", "TLDParams", "TRACKS", "Tables", "TemplateFinder", "Tracker",
    "Windows", "__version__", "build_info", "cascade_file", "cascades", "cv2", "devices", "error", "find_template", "quickshift", "ray", "superpixels",
    "windows",
]


_NAMES_OF_CPP = {"CascadeClassifierEx": "CascadeClassifier", "MultiTrackerTLD": "MultiTracker", "TLDDetector": "Detector", "TrackerTLD": "Tracker"}


def __getattr__(name: str) -> NoReturn:
    hint = f": here the class is ct.{_NAMES_OF_CPP[name]}, that of C++ is ct.cv2.cuda.{name}" if name in _NAMES_OF_CPP else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
