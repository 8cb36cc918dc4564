"""Images that the tests share."""
import os
import unittest

import numpy as np

import cudatracking as ct

DATA = os.environ.get("CUDATRACKING_SAMPLES_DATA", "")


def needs_data(test):
    return unittest.skipUnless(os.path.isdir(DATA), "CUDATRACKING_SAMPLES_DATA does not name OpenCV's samples/data")(test)


def needs_device(test):
    return unittest.skipUnless(ct.devices(), "no CUDA device")(test)


class OnDevice:
    """Base of tests with arrays of one library on a device; skipped without either."""

    library = None

    @classmethod
    def setUpClass(cls):
        if not ct.devices():
            raise unittest.SkipTest("no CUDA device")
        try:
            cls.on = cls.library()
        except ImportError as raised:
            raise unittest.SkipTest(str(raised))


def read(name, flags=1):
    image = ct.cv2.imread(os.path.join(DATA, name), flags)
    assert image is not None, name
    return image


def texture(shape, seed, sigma=4.):
    noise = np.random.RandomState(seed).randint(0, 256, shape, dtype=np.uint8)
    return ct.cv2.normalize(ct.cv2.GaussianBlur(noise, (0, 0), sigma), None, 0, 255, ct.cv2.NORM_MINMAX)


GROUND, THING = texture((144, 192, 3), 5), texture((40, 40, 3), 6, 2.)


def frame(step):
    """A patch of 40 x 40 pixels at (30 + 3 step, 50) on a smooth texture."""
    image = GROUND.copy()
    image[50:90, 30 + 3 * step:70 + 3 * step] = THING
    return image


def box(step):
    return 30 + 3 * step, 50, 40, 40
