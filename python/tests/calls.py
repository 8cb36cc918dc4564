"""Every method of every class that works on arrays, for tests of what all of them promise."""
from scenes import box, frame, texture

import numpy as np

import cudatracking as ct

REGIONS, AREAS = [(30, 50, 17, 17), (100, 20, 16, 24)], [(20, 40, 50, 50), (90, 10, 40, 40)]

# Methods that do no work on arrays of a device, or drop a model, which frees memory.
OTHERS = {
    "FragmentMatcher": {"remove", "clear", "size", "warp", "metric", "peaks", "device", "workspace_bytes"},
    "TemplateFinder": {"size", "device"},
    "QuickShift": {"for_superpixels", "sigma", "max_dist", "device", "workspace_bytes"},
    "CascadeClassifier": {"clone", "scales", "load", "empty", "getOriginalWindowSize", "getFeatureType", "isOldFormatCascade", "name",
                          "window_size", "feature_type", "stages", "scale_factor", "min_neighbors", "min_size", "max_size", "find_largest",
                          "max_objects", "max_candidates", "device", "workspace_bytes"},
    "Tracker": {"init", "save", "load", "learning", "params", "device", "workspace_bytes"},
    "MultiTracker": {"add", "add_from_file", "remove", "save", "save_object", "load", "clear", "ids", "learning", "params", "device", "workspace_bytes"},
    "Detector": {"init", "save", "load", "clear", "empty", "params", "device", "workspace_bytes"},
}


class Calls:
    """Objects of all classes on frames that `put` places, and functions that call their methods.

    Attributes:
        waiting: name -> function for methods that return something to Python, and wait for their stream.
        queued: name -> function for methods that do not wait; those with results take `out`.
        results: names of those with results.
    """

    def __init__(self, put, **named):
        self.put = put
        self.frames, self.changed = [put(frame(step)) for step in range(4)], put(frame(2))
        self.areas = put(np.array(AREAS, np.int32))
        self.template, self.weights = put(np.ascontiguousarray(frame(0)[50:67, 30:47])), put(np.ones((17, 17), np.uint8) * 255)
        self.mask = put((texture((144, 192), 9) > 40).astype(np.uint8))
        self.matcher = ct.FragmentMatcher("zncc", subpixel=True, max_search_area=60, **named)
        self.matcher.cut(self.frames[0], REGIONS)
        self.starts = put(np.array([area[:2] for area in AREAS], np.int32))
        self.other = ct.FragmentMatcher(search="three_step", max_search_area=60, **named)
        self.other.cut(self.frames[0], REGIONS)
        self.finder = ct.TemplateFinder(self.template, self.weights, **named)
        self.shift = ct.QuickShift(3, 8, **named).compute(self.frames[0])
        self.faces = ct.CascadeClassifier("frontalface_alt", min_neighbors=0, max_objects=64, **named)
        self.tracker, self.many, self.detector = ct.Tracker(**named), ct.MultiTracker(**named), ct.Detector(**named)
        self.tracker.init(self.frames[0], box(0))
        self.many.add(self.frames[0], box(0))
        self.many.add(self.frames[0], (60, 60, 40, 40))
        self.detector.init(self.frames[0], box(0))
        self.found = self.matcher.match(self.frames[1], self.areas).locations
        self.results = {name: function for name, function in self._with_results().items()}
        self.queued = {**self.results, **self._without_results()}
        self.waiting = self._waiting()

    def _with_results(self):
        image = self.frames[1]
        return {
            "FragmentMatcher.match": lambda **out: self.matcher.match(image, self.areas, **out),
            "FragmentMatcher.match, predictions": lambda **out: self.other.match(image, self.areas, predictions=self.starts, **out),
            "FragmentMatcher.score_map": lambda **out: self.matcher.score_map(0, image, (20, 40, 50, 50), **out),
            "FragmentMatcher.predict_areas": lambda **out: self.matcher.predict_areas(self.found, 5, (192, 144), **out),
            "QuickShift.labels": lambda **out: self.shift.labels(**out),
            "QuickShift.density": lambda **out: self.shift.density(**out),
            "QuickShift.parents": lambda **out: self.shift.parents(**out),
            "QuickShift.distances": lambda **out: self.shift.distances(**out),
            "QuickShift.segment": lambda **out: self.shift.segment(5, **out),
            "QuickShift.contours": lambda **out: self.shift.contours(**out),
            "QuickShift.mean_color": lambda **out: self.shift.mean_color(image, **out),
            "CascadeClassifier.detect_async": lambda **out: self.faces.detect_async([image, self.changed], masks=[self.mask, self.mask], **out),
            "Tracker.update_async": lambda **out: self.tracker.update_async(image, **out),
            "MultiTracker.update_async": lambda **out: self.many.update_async(image, **out),
            "Detector.detect_async": lambda **out: self.detector.detect_async(image, **out),
        }

    def _without_results(self):
        return {
            "FragmentMatcher.set": lambda: self.other.set([self.template, self.template], [self.weights, self.weights]),
            "FragmentMatcher.cut": lambda: self.other.cut(self.frames[0], REGIONS),
            "FragmentMatcher.update": lambda: self.other.update(0, self.template, self.weights),
            "QuickShift.compute": lambda: self.shift.compute(self.frames[1], mask=self.mask),
            "QuickShift.apply_tau": lambda: self.shift.apply_tau(7.),
            "Detector.learn": lambda: self.detector.learn(self.frames[1], box(1)),
        }

    def _waiting(self):
        image = self.frames[1]
        return {
            "FragmentMatcher.add": lambda: (self.other.add(self.template), self.other.remove(len(self.other) - 1)),
            "TemplateFinder.find": lambda: self.finder.find(image),
            "QuickShift.number": lambda: self.shift.number,
            "QuickShift.count": lambda: self.shift.count(4),
            "QuickShift.tau_for": lambda: self.shift.tau_for(9),
            "QuickShift.merge_heights": lambda: self.shift.merge_heights(),
            "QuickShift.statistics": lambda: self.shift.statistics(image),
            "QuickShift.adjacency": lambda: self.shift.adjacency(),
            "QuickShift.enforce_connectivity": lambda: self.shift.enforce_connectivity(3),
            "QuickShift.apply_number": lambda: self.shift.apply_number(30),
            "CascadeClassifier.detect": lambda: self.faces.detect(image, mask=self.mask),
            "CascadeClassifier.detectMultiScale": lambda: self.faces.detectMultiScale(image),
            "CascadeClassifier.detectMultiScale2": lambda: self.faces.detectMultiScale2(image),
            "CascadeClassifier.detectMultiScale3": lambda: self.faces.detectMultiScale3(image, outputRejectLevels=True),
            "CascadeClassifier.detect_batch": lambda: self.faces.detect_batch([image]),
            "Tracker.update": lambda: self.tracker.update(image),
            "Tracker.state": lambda: self.tracker.state,
            "Tracker.event": lambda: self.tracker.event,
            "Tracker.score": lambda: self.tracker.score,
            "Tracker.box": lambda: self.tracker.box,
            "Tracker.reset_to": lambda: self.tracker.reset_to(box(1)),
            "Tracker.detections": lambda: self.tracker.detections(),
            "Tracker.templates": lambda: self.tracker.templates(),
            "MultiTracker.update": lambda: self.many.update(image, [box(1)]),
            "MultiTracker.reset_to": lambda: self.many.reset_to(0, box(1)),
            "MultiTracker.detections": lambda: self.many.detections(0),
            "MultiTracker.templates": lambda: self.many.templates(0),
            "Detector.detect": lambda: self.detector.detect(image),
            "Detector.templates": lambda: self.detector.templates(),
        }

    def members(self):
        """Results as a dictionary of arrays by name."""
        return {name: dict(parts(name, function())) for name, function in self.results.items()}


def parts(name, result):
    """(name of an argument, array) of all arrays of a result."""
    if isinstance(result, ct.Matches):
        return [(f"out.{part}", getattr(result, part)) for part in ("locations", "scores", "confidence", "status", "refined")]
    if isinstance(result, tuple):
        return [(f"out.{part}", getattr(result, part)) for part in result._fields]
    return [("out", result)]
