"""What all objects of the package do: copies, pickles, results before there are any, results of empty images."""
import copy
import inspect
import pickle
import unittest

import numpy as np

import cudatracking as ct
from scenes import box, frame
from test_threads import classes
from wrong_arguments import ALLOWED, RIGHT, parameters

MAKERS = {
    "CascadeClassifier": lambda: ct.CascadeClassifier("lbp_silverware"), "QuickShift": ct.QuickShift, "FragmentMatcher": ct.FragmentMatcher, "Tracker": ct.Tracker,
    "TemplateFinder": lambda: ct.TemplateFinder(frame(0)[50:67, 30:47]),
    "MultiTracker": ct.MultiTracker, "Detector": ct.Detector,
}

# What a new object can do; all else raises error, because there are no results yet.
ALWAYS = {"device", "params", "workspace_bytes", "init", "compute", "clear", "learning", "event", "empty", "ids", "add", "update_async", "metric", "peaks",
          "set", "cut", "warp", "sigma", "max_dist"}
FILES = {"save", "load", "save_object", "add_from_file"}
FRESH = {
    "CascadeClassifier": None,  # everything: it has its cascade
    "TemplateFinder": None,  # its template
    "QuickShift": ALWAYS | {"for_superpixels"}, "FragmentMatcher": ALWAYS, "Detector": ALWAYS,
    "Tracker": ALWAYS - {"update_async"} | {"state", "score", "box"},  # LOST, 0 and zeros: there is no object
    "MultiTracker": ALWAYS | {"update"},  # of no objects
}


class CopyTest(unittest.TestCase):
    def test_objects(self):
        hints = {"QuickShift": ("same arguments", "other process"), "FragmentMatcher": ("same fragments", "other process"), "TemplateFinder": ("same arguments", "other process"),
                 "CascadeClassifier": (None, "bytes of the cascade"),
                 "Tracker": (r"save\(\)", r"save\(\).*load\(\)"), "MultiTracker": (r"save\(\)", r"save\(\).*load\(\)"), "Detector": (r"save\(\)", r"save\(\).*load\(\)")}
        self.assertEqual(set(hints), set(classes()))
        for name, (copied, pickled) in hints.items():
            made = MAKERS[name]()
            for function in (copy.copy, copy.deepcopy):
                if copied:
                    with self.assertRaisesRegex(TypeError, f"^{name}: an object cannot be copied; .*{copied}"):
                        function(made)
            for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
                with self.assertRaisesRegex(TypeError, f"^{name}: an object cannot be pickled.*{pickled}"):
                    pickle.dumps(made, protocol)

    def test_a_copied_classifier_is_another_one(self):
        first = ct.CascadeClassifier("frontalface_alt", scale_factor=1.3)
        for second in (copy.copy(first), copy.deepcopy(first)):
            second.scale_factor = 2
            self.assertEqual((first.scale_factor, second.name), (1.3, "frontalface_alt"))

    def test_results_params_and_exceptions(self):
        matcher = ct.FragmentMatcher()
        matcher.cut(frame(0), [box(0)])
        detector = ct.Detector()
        detector.init(frame(0), box(0))
        shift = ct.QuickShift().compute(frame(0))
        faces = ct.CascadeClassifier("frontalface_alt", min_neighbors=0)
        results = [matcher.match(frame(1)), matcher.match(frame(1))[0], detector.detect(frame(0)), shift.statistics(frame(0)), faces.detect_batch([frame(0)])[0],
                   faces.detect_async([frame(0)]), ct.TLDParams(scales=3), ct.State.LOST, ct.Event.FLOWED, ct.Status.FOUND, ct.build_info(), ct.ArgumentError("x", "y", 3)]
        for made in results:
            for again in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
                self.assertIs(type(again), type(made))
                self.assertEqual(repr(again), repr(made))

    def test_device_arrays(self):
        made = ct.DeviceArray(ct.cv2.cuda.GpuMat(), 0, None, (0, 3), (3, 1))
        for function in (copy.copy, copy.deepcopy, pickle.dumps):
            with self.assertRaisesRegex(TypeError, r"^DeviceArray: .*numpy\(\)"):
                function(made)


class BeforeTest(unittest.TestCase):
    def test_every_method_without_results(self):
        self.assertEqual(set(FRESH), set(classes()))
        for name, works in FRESH.items():
            for member in dir(getattr(ct, name)):
                if works is None or member.startswith("_") or member in FILES:
                    continue
                with self.subTest(f"{name}.{member}"):
                    raised = self.raised(MAKERS[name](), member)
                    if member in works:
                        self.assertIsNone(raised)
                    else:
                        self.assertIsInstance(raised, ct.error)

    @staticmethod
    def raised(made, member):
        try:
            value = getattr(made, member)
            if callable(value):
                value(**{p.name: RIGHT.get(p.name, 1) for p in parameters(value) if p.default is p.empty})
        except ALLOWED as error:
            return error
        return None

    def test_forgotten_compute_is_named(self):
        with self.assertRaisesRegex(ct.error, r"call compute\(\) first"):
            ct.QuickShift().labels()


class EmptyTest(unittest.TestCase):
    def test_superpixels(self):
        image = np.zeros((0, 0, 3), np.uint8)
        shift = ct.QuickShift().compute(image)
        for name, kind in (("labels", np.int32), ("density", np.float32), ("parents", np.int32), ("distances", np.float32), ("contours", np.uint8)):
            made = getattr(shift, name)()
            self.assertEqual((made.shape, made.dtype), ((0, 0), kind), name)
        made = shift.segment(5)
        self.assertEqual((made.shape, made.dtype), ((0, 0), np.int32))
        self.assertEqual(shift.mean_color(image).shape, (0, 0, 3))
        self.assertEqual((shift.number, shift.count(5), len(shift.adjacency()), len(shift.statistics().areas)), (0, 0, 0, 0))
        for part, kind in zip(ct.quickshift(image, return_tree=True), (np.int32, np.int32, np.float32)):
            self.assertEqual((part.shape, part.dtype), ((0, 0), kind))

    def test_matches(self):
        for metric in ("sad", "zncc"):
            matcher = ct.FragmentMatcher(metric, peaks=3)
            matcher.cut(frame(0), [box(0), (100, 20, 16, 24)])
            found = matcher.match(np.zeros((0, 0, 3), np.uint8))
            small = matcher.match(np.zeros((5, 5, 3), np.uint8))  # as nothing fits in there
            self.assertEqual([match.status for match in found], [ct.Status.NO_POSITION] * 2)
            for part in ("locations", "scores", "confidence", "status", "refined"):
                ours, theirs = getattr(found, part), getattr(small, part)
                np.testing.assert_array_equal(ours, theirs, part)
                self.assertEqual((ours.shape, ours.dtype), (theirs.shape, theirs.dtype), part)

    def test_rest(self):
        none = np.zeros((0, 0), np.uint8)
        faces = ct.CascadeClassifier("frontalface_alt")
        self.assertEqual((faces.detect(none).shape, faces.detect(none).dtype), ((0, 4), np.int32))
        for made in (ct.Tracker(), ct.MultiTracker(), ct.Detector()):
            for method in ("init", "add", "learn"):
                if hasattr(made, method):
                    with self.assertRaises(ct.error):
                        getattr(made, method)(none, box(0))


if __name__ == "__main__":
    unittest.main()
