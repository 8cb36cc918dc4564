"""cudatracking.quickshift() gives what users of scikit-image have: its noise and all."""
import unittest
import warnings

import numpy as np

import cudatracking as ct
from scenes import needs_data

try:
    import skimage
except ImportError:
    skimage = None


@unittest.skipIf(skimage is None, "scikit-image is not installed")
class ScikitImageTest(unittest.TestCase):
    def expect(self, words, image, parents=.999, superpixels=.98, **named):
        from scikit_image import compared

        same, root, theirs, ours = compared(image, **named)
        print(f"scikit-image, {words}, {named}: {100 * same:.3f} % same parents, {100 * root:.2f} % same superpixels, {theirs} and {ours} superpixels")
        self.assertGreater(same, parents, words)
        self.assertGreater(root, superpixels, words)
        self.assertLessEqual(abs(theirs - ours), 1 + .005 * theirs, words)
        return same, root

    def test_astronaut(self):
        from skimage.data import astronaut

        image = astronaut()
        self.expect("astronaut", image)
        self.expect("astronaut", image, ratio=.5, kernel_size=3, max_dist=6)
        self.expect("astronaut", image[100:300, 100:300], rng=7)
        self.expect("astronaut, float", image[100:300, 100:300] / 255.)
        # Areas that are nearly flat, where densities differ by less than weights of 23 bits can tell.
        self.expect("astronaut, smoothed", image[100:300, 100:300], parents=.995, sigma=1.)
        self.expect("astronaut, no Lab", image[100:300, 100:300], parents=.995, convert2lab=False, ratio=20.)

    def test_whole_numbers(self):
        """Of all types, whose range becomes that of floats."""
        from skimage.data import astronaut

        gray = astronaut()[100:200, 100:230, 1]
        for image in (gray > 120, (gray // 2).astype(np.int8), gray.astype(np.int16) * 128 - 3000, gray.astype(np.uint32) * 2**24, gray.astype(np.int64) * 2**54):
            self.expect(str(image.dtype), image[..., None], parents=.9, superpixels=.6, convert2lab=False, ratio=10.)

    def test_flat_areas(self):
        from scikit_image import LIME, drawing

        self.expect("drawing on white", drawing())
        self.expect("drawing on white", drawing(), **LIME)
        self.expect("white", np.full((60, 50, 3), 255, np.uint8))

    @needs_data
    def test_every_sample_image(self):
        from scikit_image import LIME, pictures

        # Measured: at least 99.88 % same parents. One link decides to which of two large superpixels an area belongs: at least 91.15 %.
        shares = []
        for name, image in pictures():
            with self.subTest(name):
                shares.append(self.expect(name, image, parents=.998, superpixels=.85, **LIME))
        self.assertGreater(len(shares), 50)
        parents, superpixels = np.mean(shares, axis=0)
        self.assertGreater(parents, .9998)
        self.assertGreater(superpixels, .99)


class NoiseTest(unittest.TestCase):
    """Without scikit-image."""
    def test_seeds(self):
        image = np.full((40, 50, 3), 200, np.uint8)
        first = ct.quickshift(image)
        np.testing.assert_array_equal(ct.quickshift(image), first)
        for same in (42, np.int64(42), np.random.default_rng(42), np.random.Generator(np.random.PCG64(42))):
            np.testing.assert_array_equal(ct.quickshift(image, rng=same), first)
        self.assertTrue((ct.quickshift(image, rng=43) != first).any())
        self.assertLess(first.max() + 1, 20)
        generator = np.random.default_rng(1)
        self.assertTrue((ct.quickshift(image, rng=generator) != ct.quickshift(image, rng=generator)).any(), "a generator goes on")

    def test_noise_is_what_the_class_adds(self):
        image = np.full((40, 50, 3), 200, np.uint8)
        noise = np.random.default_rng(42).normal(scale=1e-5, size=(40, 50))
        shift = ct.QuickShift(5, 10, 1 / 255, search_radius="window", tie_rule="strict", device="cpu")
        labels, parents, distances = ct.quickshift(image, return_tree=True, convert2lab=False)
        np.testing.assert_array_equal(labels, shift.compute(image, noise=noise).labels())
        np.testing.assert_array_equal(parents, shift.parents())
        np.testing.assert_array_equal(distances, shift.distances())
        np.testing.assert_array_equal(shift.compute(image, noise=np.zeros((40, 50))).labels(), shift.compute(image).labels())

    def test_without_noise(self):
        image = np.full((40, 50, 3), 200, np.uint8)
        self.assertEqual(ct.quickshift(image, kernel_size=2, rng=None, tie_rule="index").max(), 0)
        self.assertGreater(ct.quickshift(image, kernel_size=2, rng=None).max(), 500)
        self.assertLess(ct.quickshift(image, kernel_size=2).max(), 50)

    def test_pixels_that_are_not_finite(self):
        """They are masked, without a warning of numpy's."""
        image = np.random.default_rng(1).random((40, 50, 3))
        image[10:12, 20:30, 1], image[30, 5, 0], image[31, 5] = np.inf, -np.inf, 1e300
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for named in ({}, {"convert2lab": False}):
                labels = ct.quickshift(image, **named)
                self.assertTrue((labels[10:12, 20:30] == -1).all())
            ct.quickshift(image, sigma=1)

    def test_refused(self):
        image = np.zeros((20, 30, 3), np.uint8)
        for rng, kind, words in ((-1, ValueError, "rng: -1"), (True, TypeError, "rng: True"), (1.5, TypeError, "rng: 1.5"), ("x", TypeError, "rng: 'x'")):
            with self.assertRaisesRegex(kind, words):
                ct.quickshift(image, rng=rng)
        for size in (0, .9):  # as scikit-image
            with self.assertRaisesRegex(ValueError, f"^kernel_size: {size}: 1 to 341 is possible"):
                ct.quickshift(image, kernel_size=size)
        shift = ct.QuickShift(device="cpu")
        for noise, kind, words in ((np.zeros((20, 29)), ValueError, r"noise: shape \(20, 29\)"), (np.full((20, 30), np.nan), ValueError, "noise: finite"),
                                   ("x", TypeError, "noise"), (1., ValueError, "noise: shape")):
            with self.assertRaisesRegex(kind, words):
                shift.compute(image, noise=noise)
        with self.assertRaisesRegex(ValueError, "noise: is added on the CPU"):
            ct.QuickShift().compute(image, noise=np.zeros((20, 30)))


if __name__ == "__main__":
    unittest.main()
