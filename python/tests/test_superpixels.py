"""superpixels(): about a wanted number of connected superpixels. And the scorer of benchmarks/superpixels.py, by scores known beforehand."""
import importlib.util
import os
import unittest
import warnings

import numpy as np

import cudatracking as ct
from scenes import GROUND, THING, frame, texture

BENCHMARK = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "benchmarks", "superpixels.py")


class SuperpixelsTest(unittest.TestCase):
    def test_number(self):
        image = frame(0)
        for number in (20, 60, 150, 600):
            labels = ct.superpixels(image, number)
            self.assertEqual((labels.shape, labels.dtype, labels.min()), (image.shape[:2], np.int32, 0))
            self.assertLessEqual(abs(int(labels.max()) + 1 - number), number / 50)
        with self.assertWarnsRegex(RuntimeWarning, "^number: 9: the nearest that was found is (8|10)$"):
            ct.superpixels(image, 9)  # no tau gives 9

    def test_connected(self):
        labels = ct.superpixels(GROUND, 30)
        for label in range(labels.max() + 1):
            self.assertEqual(ct.cv2.connectedComponents((labels == label).astype(np.uint8), connectivity=4)[0], 2, label)

    def test_what_it_is_made_of(self):
        image = frame(0)
        lab = ct.cv2.cvtColor(image, ct.cv2.COLOR_BGR2Lab)
        labels = ct.superpixels(image, 50)
        np.testing.assert_array_equal(ct.superpixels(lab, 50, convert2lab=False), labels)
        shift = ct.QuickShift.for_superpixels("cpu").compute(lab)
        self.assertEqual((shift.sigma, shift.max_dist, shift.device), (3, 60, "cpu"))
        self.assertEqual(shift.apply_number(50), labels.max() + 1)
        np.testing.assert_array_equal(shift.labels(), labels)
        self.assertEqual(shift.number, labels.max() + 1)
        shift.apply_number(50, 200)
        self.assertGreaterEqual(shift.statistics().areas.min(), 200)
        self.assertFalse(np.array_equal(ct.superpixels(image[:, :, ::-1], 50), labels), "BGR is not RGB")

    def test_gray(self):
        gray = texture((60, 90), 3)
        expected = ct.superpixels(np.dstack([gray] * 3), 20)
        np.testing.assert_array_equal(ct.superpixels(gray, 20), expected)
        np.testing.assert_array_equal(ct.superpixels(gray[:, :, None], 20), expected)

    def test_other_types(self):
        """Those of 16 bits and floats of 0 to 1 give the labels of 8 bits."""
        image = frame(0)
        expected = ct.superpixels(image, 60)
        for pixels in (image.astype(np.uint16) * 257, image / 255, (image / 255).astype(np.float32)):
            np.testing.assert_array_equal(ct.superpixels(pixels, 60), expected, str(pixels.dtype))
        pixels, mask = image / 255, np.ones(image.shape[:2], bool)
        pixels[10:20, 30:50, 1], mask[0], pixels[40, 40] = np.nan, False, np.inf
        labels = ct.superpixels(pixels, 60, mask=mask)
        mask[10:20, 30:50] = mask[40, 40] = False
        np.testing.assert_array_equal(labels < 0, ~mask)

    def test_default_color_scale(self):
        """It is by the type of the image, so that all types give the labels of 8 bits."""
        image = frame(0)
        shift = ct.QuickShift(device="cpu")
        expected = np.array(shift.compute(image).labels())
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            # Of the same values, with factors that are rounded elsewhere.
            for pixels in (image.astype(np.uint16) * 257, image / 255, (image / 255).astype(np.float32), (image.astype(np.int32) * 257 - 32768).astype(np.int16), image):
                labels = shift.compute(pixels).labels()
                self.assertGreater((labels == expected).mean() if labels.max() == expected.max() else 0, .9, pixels.dtype)
            fine = ct.QuickShift(color_scale=32 / 255, device="cpu").compute(image.astype(np.float32))  # as given
            np.testing.assert_array_equal(fine.labels(), expected)
        with self.assertWarnsRegex(RuntimeWarning, "^image: floats up to 255, and the default of color_scale, 32, is for 0 to 1; give color_scale, such as 0.125") as caught:
            shift.compute(np.minimum(image.astype(np.float32) * 9, 255))
        self.assertEqual(caught.filename, __file__)
        with self.assertRaisesRegex(ValueError, "^color_scale: has no default for int32; give one"):
            shift.compute(image.astype(np.int32))
        np.testing.assert_array_equal(shift.compute(image).labels(), expected)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            segment = ct.ray.Segment(rgb=False, device="cpu")
            self.assertEqual(segment({"image": [image.astype(np.uint16) * 257]})["superpixels"], expected.max() + 1)

    def test_whole_numbers_that_floats_hold(self):
        image = frame(0).astype(np.int64) - 100
        given = ct.QuickShift(color_scale=32 / 255, device="cpu")
        expected = np.array(given.compute(image.astype(np.float32)).labels())
        for kind in (np.int16, np.int32, np.int64, ">i2"):
            np.testing.assert_array_equal(given.compute(image.astype(kind)).labels(), expected, kind)
        np.testing.assert_array_equal(given.statistics(image).means, given.statistics(image.astype(np.float32)).means)
        self.assertEqual(given.mean_color(image).dtype, np.float32)
        high = (image + 100).astype(np.uint32)
        np.testing.assert_array_equal(given.compute(high).labels(), given.compute(frame(0)).labels())
        small = (image // 2).astype(np.int8)
        np.testing.assert_array_equal(given.compute(small).labels(), given.compute(small.astype(np.float32)).labels())
        halves = frame(0)[:, :, 0] > 120
        np.testing.assert_array_equal(ct.QuickShift(device="cpu").compute(halves).labels(), ct.QuickShift(color_scale=32, device="cpu").compute(halves.astype(np.uint8)).labels())
        for value in (2**24 + 1, -2**24 - 1):
            image[3, 4, 1] = value
            with self.assertRaisesRegex(ValueError, "^image: int64 values from .*; -2\\^24 to 2\\^24, which float32 holds exactly, are possible"):
                given.compute(image)

    def test_mask(self):
        mask = np.zeros(GROUND.shape[:2], bool)
        mask[20:90, 30:100] = True
        labels = ct.superpixels(GROUND, 12, mask=mask)
        np.testing.assert_array_equal(labels < 0, ~mask)
        self.assertEqual(labels.max(), 11)
        for wrong in (np.zeros((0, 0), bool), mask[:0], mask[:, :90], mask.T.copy()):
            for call in (lambda: ct.superpixels(GROUND, 12, mask=wrong), lambda: ct.quickshift(GROUND, mask=wrong),
                         lambda: ct.CascadeClassifier("eye", device="cpu").detect(GROUND, mask=wrong)):
                with self.assertRaisesRegex(ValueError, r"^mask: shape \(\d+, \d+\); \(144, 192\), that of the image, is needed"):
                    call()

    def test_empty_images(self):
        for shape in ((7, 0), (0, 7), (0, 0)):
            image = np.zeros((*shape, 3), np.uint8)
            shift = ct.QuickShift(device="cpu").compute(image)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for made in (ct.superpixels(image, 5), ct.quickshift(image), shift.labels(), shift.density(), shift.contours(), shift.mean_color(image)[..., 0]):
                    self.assertEqual(made.shape, shape)

    def test_noise(self):
        """The number of components falls where trees are so many that most are merged: some numbers are made there alone."""
        noise = np.random.default_rng(0).integers(0, 256, (40, 50, 3), np.uint8)
        for number in (20, 50):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                self.assertAlmostEqual(int(ct.superpixels(noise, number).max()) + 1, number, delta=number / 50)

    def test_number_that_is_not_possible(self):
        flat = np.full((50, 60, 3), 90, np.uint8)
        with self.assertWarnsRegex(RuntimeWarning, "^number: 7: the nearest that was found is ") as caught:
            labels = ct.superpixels(flat, 7)
        self.assertEqual(caught.filename, __file__)
        self.assertIn(f"found is {labels.max() + 1}", str(caught.warning))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertEqual(ct.superpixels(flat, 1).max(), 0)
            self.assertEqual(ct.superpixels(frame(0), 20).max(), 19)

    def test_refused(self):
        for image, named, kind, words in ((THING, {"number": 0}, ValueError, "number: 0: at least 1"), (THING, {"number": 2.5}, TypeError, "number: 2.5"),
                                          (THING, {"number": 5, "convert2lab": 1}, TypeError, "convert2lab: 1"),
                                          (THING.astype(np.float32), {"number": 5}, ValueError, "image: floats from 0 to 255; 0 to 1 is possible"),
                                          (THING.astype(np.int32), {"number": 5}, TypeError, "image: .*int32"),
                                          (THING / 255, {"number": 5, "convert2lab": False}, TypeError, "image: .*float64"),
                                          (THING[:, :, :2], {"number": 5}, ValueError, "image: "),
                                          (THING[:, :, 0], {"number": 5, "convert2lab": False}, ValueError, "image: "),
                                          (THING, {"number": 5, "mask": np.ones((3, 3), bool)}, ValueError, "mask: "),
                                          (THING, {"number": 5, "device": "gpu"}, ValueError, "device: 'gpu'")):
            with self.assertRaisesRegex(kind, words):
                ct.superpixels(image, **named)
        with self.assertRaisesRegex(ct.error, "number: 0, but it must be at least 1"):
            ct.QuickShift.for_superpixels("cpu").compute(THING).apply_number(0)
        with self.assertRaisesRegex(ct.error, "no results yet"):
            ct.QuickShift.for_superpixels("cpu").apply_number(3)


@unittest.skipUnless(importlib.util.find_spec("cv2"), "the benchmark needs opencv-contrib-python")
class ScorerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        spec = importlib.util.spec_from_file_location("benchmark_of_superpixels", BENCHMARK)
        cls.scorer = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(cls.scorer)

    @staticmethod
    def halves(rows, columns, first):
        """Two segments with a border left of column `first`."""
        return np.repeat([np.arange(columns) >= first], rows, axis=0).astype(np.int64)

    def test_overlaps(self):
        truth = self.halves(6, 8, 4)
        # One of the five columns of the second superpixel is in the first segment.
        shared = self.scorer.overlaps(self.halves(6, 8, 3), truth)
        np.testing.assert_array_equal(shared, [[18, 0], [6, 24]])
        self.assertAlmostEqual(self.scorer.underestimated(shared), (6 + 6) / 48)
        self.assertAlmostEqual(self.scorer.achievable(shared), 42 / 48)
        across = self.scorer.overlaps(self.halves(8, 6, 3).T.copy(), truth)
        self.assertAlmostEqual(self.scorer.underestimated(across), 1.)
        self.assertAlmostEqual(self.scorer.achievable(across), .5)

    def test_recall(self):
        reached = self.scorer.near(self.scorer.borders(self.halves(321, 481, 100)))
        # Columns 99 and 100 are the border, and 98 to 101 are within one pixel of it.
        for first, share in ((100, 1.), (101, 1.), (102, .5), (103, 0.), (99, 1.), (98, .5), (97, 0.)):
            self.assertAlmostEqual(self.scorer.recall(reached, self.halves(321, 481, first)), share)
        self.assertEqual(self.scorer.recall(reached, np.zeros((321, 481), int)), 0.)
        small = self.scorer.near(self.scorer.borders(self.halves(9, 9, 4)))  # no tolerance: a quarter of a percent of 12.7 pixels
        self.assertAlmostEqual(self.scorer.recall(small, self.halves(9, 9, 5)), .5)

    def test_explained(self):
        image = np.array([[0, 2, 4, 4]], np.uint8)
        self.assertAlmostEqual(self.scorer.explained(np.array([[0, 0, 1, 1]]), image), 9 / 11)
        self.assertAlmostEqual(self.scorer.explained(np.zeros((1, 4), int), image), 0.)
        self.assertAlmostEqual(self.scorer.explained(np.array([[0, 1, 2, 2]]), np.dstack([image] * 3)), 1.)
        self.assertEqual(self.scorer.explained(np.zeros((1, 4), int), image * 0), 1.)

    def test_compactness(self):
        self.assertAlmostEqual(self.scorer.compactness(np.zeros((5, 5), int)), np.pi / 4)
        self.assertAlmostEqual(self.scorer.compactness(np.zeros((1, 4), int)), 4 * np.pi * 4 / 100)
        self.assertAlmostEqual(self.scorer.compactness(np.array([[0, 0, 1]])), (2 * 4 * np.pi * 2 / 36 + 4 * np.pi / 16) / 3)

    def test_scores(self):
        labels = self.halves(6, 8, 3) * 7 + 2  # numbers have gaps
        image = np.random.RandomState(1).randint(0, 256, (6, 8, 3), np.uint8)
        truths = [self.halves(6, 8, 3), self.halves(6, 8, 4)]
        number, recall, error, accuracy, variation, compactness = self.scorer.scores(labels, image, truths)
        self.assertEqual(number, 2)
        self.assertAlmostEqual(recall, (1 + .5) / 2)
        self.assertAlmostEqual(error, (0 + 12 / 48) / 2)
        self.assertAlmostEqual(accuracy, (1 + 42 / 48) / 2)
        self.assertAlmostEqual(variation, self.scorer.explained(self.halves(6, 8, 3), image))
        self.assertAlmostEqual(compactness, self.scorer.compactness(self.halves(6, 8, 3)))

    def test_without_data(self):
        with self.assertRaisesRegex(SystemExit, "/nowhere: has no images/val; it must be the folder BSDS500/data"):
            self.scorer.check("/nowhere")


if __name__ == "__main__":
    unittest.main()
