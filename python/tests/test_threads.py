"""One object on several threads: calls are made one after the other, results belong to their calls, nothing ends the process."""
import concurrent.futures
import inspect
import os
import subprocess
import sys
import unittest

import numpy as np

import cudatracking as ct
from scenes import box, frame, needs_data, read, texture

CHILD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "many_threads.py")


def classes():
    """The public classes whose objects work."""
    from cudatracking._work import Worker

    return [name for name in ct.__all__ if inspect.isclass(getattr(ct, name)) and issubclass(getattr(ct, name), Worker)]


def on_threads(function, values):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        return list(pool.map(function, values))


class ThreadsTest(unittest.TestCase):
    def test_every_method_of_every_class(self):
        self.assertGreaterEqual(len(classes()), 6)
        for name in classes():
            with self.subTest(name):
                done = subprocess.run([sys.executable, CHILD, name, "3"], capture_output=True, text=True, timeout=300)
                self.assertEqual(done.returncode, 0, f"{name}: exit code {done.returncode}\n{done.stdout}\n{done.stderr[-2000:]}")

    def test_every_public_member_is_locked(self):
        for name in classes():
            cls = getattr(ct, name)
            for member in dir(cls):
                attribute = inspect.getattr_static(cls, member)
                if (member.startswith("_") and member not in ("__len__", "__repr__")) or isinstance(attribute, (staticmethod, str)) or member == "device":
                    continue
                functions = [attribute.fget, attribute.fset] if isinstance(attribute, property) else [attribute]
                for function in functions:
                    if inspect.isfunction(function):
                        self.assertTrue(hasattr(function, "__wrapped__"), f"{name}.{member}")

    @needs_data
    def test_detections(self):
        image = read("lena.jpg")
        faces = ct.CascadeClassifier("frontalface_default")
        images = [image, image[:, ::-1], image[100:450, 100:450], image[::2, ::2]]
        expected = [faces.detect(one).tolist() for one in images]
        self.assertGreater(sum(map(len, expected)), 2)
        found = on_threads(lambda i: faces.detect(images[i % 4]).tolist(), range(100))
        for i, boxes in enumerate(found):
            self.assertEqual(boxes, expected[i % 4])

    def test_matches(self):
        matcher = ct.FragmentMatcher("zncc")
        matcher.cut(frame(0), [box(0), (100, 20, 16, 24)])
        expected = [matcher.match(frame(step)).locations.tolist() for step in range(4)]
        found = on_threads(lambda i: matcher.match(frame(i % 4)).locations.tolist(), range(40))
        for i, locations in enumerate(found):
            self.assertEqual(locations, expected[i % 4])

    def test_superpixels(self):
        image = texture((60, 90, 3), 3)
        shift = ct.QuickShift()
        expected = shift.compute(image).labels()
        for labels in on_threads(lambda i: shift.compute(image).labels(), range(100)):
            np.testing.assert_array_equal(labels, expected)

    def test_tracks(self):
        many = ct.MultiTracker(learning=False)
        many.add(frame(0), box(0))
        for tracks in on_threads(lambda i: many.update(frame(0)), range(24)):
            self.assertEqual(tracks["id"].tolist(), [0])

    def test_a_thread_calls_back(self):
        """An array that uses the object while the object reads it: the same thread must not wait for itself."""
        shift = ct.QuickShift()
        shift.compute(texture((30, 40), 1))

        class Curious:
            def __array__(self, *_args, **_named):
                shift.labels()
                return texture((30, 40), 2)

        self.assertEqual(shift.compute(Curious()).labels().shape, (30, 40))


if __name__ == "__main__":
    unittest.main()
