"""One object on many threads: calls are executed one after another, whatever the methods are, and the interpreter goes on.

test_threads.py CLASS calls all methods of a class in 8 threads, test_threads.py tensors calls cv2.cuda.matchTensors() beside match(); the tests run
it in processes of their own, as they could crash or hang.
"""
import os
import random
import subprocess
import sys
import tempfile
import threading
import unittest

import cv2
import numpy as np

from test_cascade import CASCADE
from test_help import CLASSES, parameters

THREADS, CALLS = 8, 300
WIDTH, HEIGHT = 96, 80
BOX = (20, 18, 28, 26)


def image(seed):
    noise = np.random.RandomState(seed).randint(0, 256, (HEIGHT, WIDTH)).astype(np.float32)
    return cv2.normalize(cv2.GaussianBlur(noise, (0, 0), 2.), None, 0, 255, cv2.NORM_MINMAX).astype(np.uint8)


def classes():
    """The classes with state; the others are plain data."""
    return [cls for cls in vars(cv2.cuda).values() if isinstance(cls, type) and "workspaceBytes" in vars(cls)]


def methods(cls):
    """(name, names of arguments, names of those that may be left out) of all methods, those of cv2.Algorithm included."""
    for name in dir(cls):
        member = getattr(cls, name)
        if not name.startswith("_") and callable(member) and not isinstance(member, type):
            yield name, *parameters(member.__doc__.partition("\n")[0])


class Arguments:
    """Values for the arguments of all methods, by their names."""

    def __init__(self, cls, folder):
        self.cls, self.folder = cls, folder
        self.frames, self.storages = [image(1), image(2)], []
        self.written = os.path.join(folder, f"{cls.__name__}.xml")
        with open(os.path.join(folder, "cascade.xml"), "wb") as file:
            file.write(CASCADE)
        self.computed = cv2.cuda.QuickShift.create(2., 6.)
        self.computed.compute(self.frames[0])
        self.labels = cv2.cuda.QuickShiftTiles.create(self.computed, (WIDTH, HEIGHT), (WIDTH, HEIGHT)).add((0, 0), self.computed)
        self.made = [self.make(), self.make()]
        if cls is cv2.cuda.CascadeClassifierEx:
            self.written = os.path.join(folder, "cascade.xml")
        elif cls is cv2.cuda.MultiTrackerTLD:
            self.object = os.path.join(folder, "object.xml")
            self.made[0].saveObject(0, self.object)
        if hasattr(cls, "save") and not os.path.exists(self.written):
            self.made[0].save(self.written)

    def params(self):
        if self.cls is cv2.cuda.FragmentMatcher:
            return self.cls.create().getParams()
        params = cv2.cuda.TLDParams()
        params.trees, params.features, params.scales, params.stepPercent, params.initNegatives = 3, 5, 2, 25, 10
        params.initWarps = params.updateWarps = 2
        params.startFromBoxes, params.endAfterMisses = True, 2
        return params

    def make(self, method=None):
        """An object in a state in which all methods succeed, or the one that is named."""
        if self.cls is cv2.cuda.CascadeClassifierEx:
            return self.cls.create(os.path.join(self.folder, "cascade.xml"))
        if self.cls is cv2.cuda.QuickShift:
            made = self.cls.create(2., 6.)
            made.compute(self.frames[0])
            return made
        if self.cls is cv2.cuda.QuickShiftTiles:
            made = self.cls.create(self.computed, (WIDTH, HEIGHT), (WIDTH, HEIGHT))
            if method != "add":
                made.add((0, 0), self.computed)
            if method == "relabel":
                made.join()
            return made
        made = self.cls.create(self.params())
        if self.cls is cv2.cuda.FragmentMatcher:
            made.cutFragments(self.frames[0], [BOX, (50, 40, 9, 9)])
        else:
            (made.add if self.cls is cv2.cuda.MultiTrackerTLD else made.init)(self.frames[0], BOX)
            if self.cls is cv2.cuda.TrackerTLD:
                made.update(self.frames[0])
        return made

    def value(self, method, name, thread):
        """The value of an argument; KeyError if there is none of this name."""
        frame, cls = self.frames[0], self.cls
        if name == "filename":
            if method.startswith("save"):
                return os.path.join(self.folder, f"{cls.__name__}{thread}.xml")
            return self.object if method == "addFromFile" else self.written
        if name == "fs":
            return cv2.FileStorage(".yml", cv2.FILE_STORAGE_WRITE | cv2.FILE_STORAGE_MEMORY)
        if name == "fn":
            self.storages.append(cv2.FileStorage(self.written, cv2.FILE_STORAGE_READ))  # nodes do not keep it
            return self.storages[-1].getFirstTopLevelNode()
        if name == "tile":
            return (0, 0) if cls is cv2.cuda.QuickShiftTiles else (40, 40)
        if name == "minSize":
            return 3 if cls is cv2.cuda.QuickShift else (20, 20)
        if name == "objects":
            if cls is cv2.cuda.CascadeClassifierEx:
                return np.array([[[1, 1, 0, 0], [2, 3, 20, 20]]], np.int32)
            return np.zeros((3, 8))
        return {
            "image": frame, "images": self.frames, "frame": frame, "templ": frame[10:19, 12:21].copy(), "templates": [frame[3:12, 3:12].copy()] * 2,
            "weights": None, "regions": [BOX, (3, 3, 9, 9)], "searchAreas": None, "searchArea": (5, 5, 60, 60), "index": 0, "depth": cv2.CV_32F,
            "radius": 4, "frameSize": (WIDTH, HEIGHT), "params": self.params(), "angle": 20., "scale": 1.,
            "locations": np.zeros((2, 1, 2), np.int32), "scores": None, "confidence": None, "status": None, "refined": None,
            "sigma": 2., "maxDist": 6., "colorScale": 0.1, "scales": (0.1, 0.1, 0.1, 0.1), "rule": 0, "normalize": True,
            "mask": None, "masks": None, "noise": np.zeros((HEIGHT, WIDTH)), "useCuda": False,
            "tau": 4., "number": 20, "thickLine": True, "quickShift": self.computed, "computed": self.computed, "tileSize": (40, 40),
            "labels": self.labels.copy(),
            "buffer": np.frombuffer(CASCADE, np.uint8), "cascades": self.made[::-1] if thread % 2 else self.made,
            "oldcascade": self.written, "newcascade": os.path.join(self.folder, f"new{thread}.xml"),
            "scaleFactor": 1.3, "minNeighbors": 1, "flags": 0, "maxSize": (60, 60), "outputRejectLevels": True, "row": 0,
            "factor": 1.3, "count": 5000, "size": (20, 20), "find": False, "imageSize": (WIDTH, HEIGHT),
            "box": BOX, "boundingBox": BOX, "boxes": [BOX, (50, 40, 24, 24)], "all": True, "positive": True, "learning": True, "id": 0, "name": "a",
        }[name]

    def call(self, target, method, thread, some):
        name, inputs, optional = method
        given = {argument: self.value(name, argument, thread) for argument in inputs
                 if argument != "stream" and (argument not in optional or some.random() < 0.5)}
        return getattr(target, name)(**given)


def stress(name):
    """Calls all methods of a class, each once on an object of its own and then at random by all threads on one object."""
    cls = getattr(cv2.cuda, name)
    cv2.setNumThreads(2)
    with tempfile.TemporaryDirectory() as folder:
        arguments, all_methods, wrong = Arguments(cls, folder), list(methods(cls)), []
        for method in all_methods:
            arguments.call(arguments.make(method[0]), method, 0, random.Random(1))
        shared, start = arguments.made[0], threading.Barrier(THREADS)

        def work(thread):
            some = random.Random(thread)
            start.wait()
            for _ in range(CALLS):
                method = some.choice(all_methods)
                try:
                    arguments.call(shared, method, thread, some)
                except (cv2.error, TypeError):
                    pass  # does not fit what another thread has left
                except BaseException as e:
                    wrong.append(f"{method[0]}: {e!r}")

        threads = [threading.Thread(target=work, args=(thread,)) for thread in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for method in all_methods:  # and it still works
            if method[0] in ("getDefaultName", "workspaceBytes"):
                arguments.call(shared, method, 0, random.Random(1))
        print(f"{len(all_methods)} methods", *wrong, sep="\n")
        return 1 if wrong else 0


def tensors():
    """One thread locks a matcher, and needs Python's lock for new outputs; the other one has Python's lock, and asks the matcher."""
    frame, stop, wrong = image(1), threading.Event(), []
    matcher = cv2.cuda.FragmentMatcher.create()
    matcher.cutFragments(frame, [(x, y, 8, 8) for x in range(0, 80, 4) for y in range(0, 64, 4)])
    outputs = tuple(cv2.cuda.GpuMat() for _ in range(5))

    def work():
        while not stop.is_set():
            if cv2.cuda.matchTensors(matcher, frame, frame, outputs, 0, 0, None):  # these are no tensors, so that nothing is matched
                wrong.append("numpy arrays were taken for tensors")

    thread = threading.Thread(target=work)
    thread.start()
    for _ in range(CALLS):
        matcher.match(frame, None)
    stop.set()
    thread.join()
    return wrong[0] if wrong else 0


class ThreadsTest(unittest.TestCase):
    def test_match_tensors_beside_match(self):
        subprocess.run([sys.executable, __file__, "tensors"], check=True, timeout=60, env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)))

    def test_every_method_of_every_class(self):
        self.assertEqual(set(classes()), set(CLASSES))
        for cls in classes():
            with self.subTest(cls=cls.__name__):
                done = subprocess.run([sys.executable, __file__, cls.__name__], capture_output=True, text=True, timeout=600,
                                      env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)))
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    if sys.argv[1:] == ["tensors"]:
        sys.exit(tensors())
    if len(sys.argv) == 2 and hasattr(cv2.cuda, sys.argv[1]):
        sys.exit(stress(sys.argv[1]))
    unittest.main()
