"""NewAlgorithm through cv2: numpy arrays on the CPU backend."""
import unittest

import cv2
import numpy as np


class CpuTest(unittest.TestCase):
    def test_compute(self):
        image = np.arange(256, dtype=np.uint8).reshape(8, 32)
        result = cv2.cuda.NewAlgorithm.create().compute(image)
        self.assertTrue(np.array_equal(result, 255 - image))


if __name__ == "__main__":
    unittest.main()
