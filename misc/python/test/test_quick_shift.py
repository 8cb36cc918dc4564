"""QuickShift through cv2: numpy arrays on the CPU backend, GpuMat where there is a device, scikit-image where installed."""
import os
import tempfile
import unittest
from unittest import mock

import cv2
import numpy as np

QuickShift = cv2.cuda.QuickShift


def random_image(height=60, width=80, seed=1, channels=3):
    noise = np.random.RandomState(seed).randint(0, 256, (height, width, channels), dtype=np.uint8)
    return cv2.GaussianBlur(noise, (0, 0), 2.).reshape(height, width, channels)


class CpuTest(unittest.TestCase):
    def test_saved_and_loaded(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "parameters.xml")
            made = QuickShift.create(2., 8., 0.5)
            made.save(path)
            self.assertEqual(os.listdir(folder), ["parameters.xml"])
            self.assertEqual(QuickShift.load(path).getSigma(), 2.)
            with self.assertRaisesRegex(cv2.error, "nowhere.xml"):
                QuickShift.load(os.path.join(folder, "nowhere.xml"))
            with self.assertRaisesRegex(cv2.error, "cannot be written"):
                made.save(os.path.join(folder, "missing", "parameters.xml"))

    def test_outputs(self):
        image = random_image()
        q = QuickShift.create(2., 8., 0.5)
        q.compute(image)
        labels, parents, distances = q.getLabels(), q.getParents(), q.getDistances()
        self.assertEqual(labels.shape, (60, 80))
        self.assertEqual(labels.dtype, np.int32)
        self.assertEqual(labels.max() + 1, q.getNumberOfSuperpixels())
        roots = parents.ravel() == np.arange(parents.size)
        self.assertEqual(int(roots.sum()), q.getNumberOfSuperpixels())
        np.testing.assert_array_equal(np.isinf(distances.ravel()), roots)
        self.assertTrue((q.getDensity() >= 1).all())
        self.assertEqual(set(np.unique(q.getLabelContourMask())), {0, 255})
        self.assertEqual(q.getMeanColor(image).shape, image.shape)
        areas, means, centroids, boxes = q.getStatistics(image)
        self.assertEqual(int(areas.sum()), labels.size)
        self.assertEqual(len(means), len(boxes))
        np.testing.assert_array_equal(areas.ravel(), np.bincount(labels.ravel()))
        heights, counts = q.getMergeHeights()
        self.assertTrue((np.diff(heights.ravel()) > 0).all())
        self.assertEqual(int(counts.ravel()[-1]), q.getNumberOfSuperpixels())
        self.assertEqual(q.segment(3.).max() + 1, q.countSuperpixels(3.))
        self.assertEqual(q.enforceConnectivity(10), q.getLabels().max() + 1)

    def test_mask_and_errors(self):
        image = random_image()
        mask = np.zeros((60, 80), np.uint8)
        mask[10:50, 5:70] = 1
        q = QuickShift.create(2., 8., 0.5)
        q.compute(image, mask)
        np.testing.assert_array_equal(q.getLabels() == -1, mask == 0)
        with self.assertRaisesRegex(cv2.error, "mask data type = bool is not supported|mask.*[Bb]ool"):
            q.compute(image, mask == 1)
        with self.assertRaises(cv2.error):
            QuickShift.create(-1.)
        with self.assertRaises(cv2.error):
            q.compute(image.astype(np.float64))

    def test_one_image_is_no_batch(self):
        """Not as many images as it has rows, which an array as a sequence would be."""
        q = QuickShift.create(2., 8., 0.5)
        q.compute(random_image(seed=9))
        before = q.getLabels()
        for image in (random_image(), random_image(channels=4), random_image(channels=5), random_image(channels=16), random_image(channels=1), random_image(channels=1)[:, :, 0],
                      random_image().astype(np.float32), random_image()[:, ::2], random_image()[::-1]):
            for given in ((image,), (image, None), (image, None, None)):
                with self.assertRaisesRegex(cv2.error, "images: one array, but a list is needed; compute"):
                    q.computeBatch(*given)
            with self.assertRaisesRegex(cv2.error, "images: one array, but a list is needed; compute"):
                q.computeBatch(images=image)
        images, mask = [random_image(seed=seed) for seed in (1, 2)], np.ones((60, 80), np.uint8)
        for given in (images, np.stack(images)):
            with self.assertRaisesRegex(cv2.error, "masks: 60 given for 2 images"):
                q.computeBatch(given, masks=mask)
            with self.assertRaisesRegex(cv2.error, r"masks\[1\](: type CV_BoolC1, but CV_8UC1| is of numpy's bool)"):
                q.computeBatch(given, masks=[mask, mask == 1])
        np.testing.assert_array_equal(q.getLabels(), before)

    def test_batch_in_a_stack(self):
        """What numpy.stack() makes of a list is the list."""
        for channels, width in ((3, 80), (1, 80), (4, 80), (1, 600), (3, 600), (1, 17), (8, 80), (16, 7)):
            images = [cv2.resize(random_image(seed=seed, channels=channels), (width, 60)).reshape(60, width, channels)
                      for seed in (1, 2, 3)]
            masks = [np.full((60, width), i > 0, np.uint8) for i in range(3)]
            masks[1][20:30] = 0
            q, listed = QuickShift.create(2., 8., 0.5), QuickShift.create(2., 8., 0.5)
            stack = np.stack(images)
            stacks = [stack, np.concatenate([stack, stack], 2)[:, :, :width], np.repeat(stack, 2, 1)[:, ::2],
                      np.concatenate([stack, stack], 3)[..., :channels]]
            if channels == 1:
                stacks.append(stack[..., 0])
            for given in stacks:
                for masked in (False, True):
                    truth = listed.computeBatch(images, masks=masks if masked else None)
                    for valid in ([masks, np.stack(masks)] if masked else [None]):
                        labels = q.computeBatch(given, masks=valid)
                        self.assertEqual(len(labels), 3)
                        for a, b in zip(labels, truth):
                            np.testing.assert_array_equal(a, b)
                        np.testing.assert_array_equal(q.getDensity(), listed.getDensity())
        for empty in ([], (), None, np.zeros((0, 60, 80, 3), np.uint8)):
            q.compute(random_image())
            q.computeBatch(empty)
            self.assertTrue(q.empty())
        with self.assertRaisesRegex(cv2.error, "images: an array of 4 dimensions and 17 channels"):
            q.computeBatch(np.zeros((2, 6, 8, 17), np.uint8))
        with self.assertRaisesRegex(cv2.error, "images: an array of 5 dimensions"):
            q.computeBatch(np.zeros((2, 2, 6, 8, 3), np.uint8))

    def test_bands(self):
        image = random_image(channels=7)
        q, scaled = QuickShift.create(2., 8., 0.25), QuickShift.create()
        q.compute(image)
        self.assertEqual(q.getMeanColor(image).shape, image.shape)
        self.assertEqual(q.getStatistics(image)[1].shape, (q.getNumberOfSuperpixels(), 1, 7))
        scaled.setSigma(2.)
        scaled.setMaxDist(8.)
        scaled.setScales([1.] * 7)
        scaled.compute(image.astype(np.float32) / 4)
        self.assertGreater((q.getParents() == scaled.getParents()).mean(), 0.99)
        self.assertEqual(np.ravel(scaled.getScales()).tolist(), [1.] * 7)
        scaled.setChannelScales((1., 2., 3., 4.))
        with self.assertRaisesRegex(cv2.error, "image: 7 channels, but there are factors for at most 4"):
            scaled.compute(image)
        with self.assertRaisesRegex(cv2.error, "scales: 17 values, but there must be 1 to 16"):
            scaled.setScales([1.] * 17)
        with self.assertRaisesRegex(cv2.error, "image: type CV_8UC17, but CV_8U, CV_16U or CV_32F with 1 to 16 channels"):
            q.compute(random_image(channels=17))

    def test_batch(self):
        images = [random_image(seed=seed) for seed in (1, 2, 3)]
        mask = np.ones((60, 80), np.uint8)
        mask[20:30, 10:70] = 0
        q, single = QuickShift.create(2., 8., 0.5), QuickShift.create(2., 8., 0.5)
        labels = q.computeBatch(images, masks=[mask, mask, np.array([])])
        q.enforceConnectivity(6)
        counts, pairs = q.getSuperpixelCounts().ravel(), q.getAdjacency().reshape(-1, 2)
        areas = q.getStatistics(None)[0].ravel()
        colours = q.getMeanColor(np.vstack(images))
        first = 0
        for i, image in enumerate(images):
            single.compute(image, mask if i < 2 else None)
            np.testing.assert_array_equal(labels[i], single.getLabels())
            self.assertEqual(single.enforceConnectivity(6), counts[i])
            np.testing.assert_array_equal(q.getLabels()[60 * i:60 * i + 60], single.getLabels())
            np.testing.assert_array_equal(colours[60 * i:60 * i + 60], single.getMeanColor(image))
            np.testing.assert_array_equal(areas[first:first + counts[i]], single.getStatistics(None)[0].ravel())
            own = pairs[(pairs[:, 0] >= first) & (pairs[:, 0] < first + counts[i])]
            np.testing.assert_array_equal(own - first, single.getAdjacency().reshape(-1, 2))
            first += counts[i]
        self.assertEqual(first, q.getNumberOfSuperpixels())


class ScikitImageTest(unittest.TestCase):
    """The same parents as skimage.segmentation.quickshift, whose random noise on densities is replaced by zeros."""

    def test_parents(self):
        try:
            from skimage.segmentation import quickshift
        except ImportError:
            self.skipTest("scikit-image is not installed")

        class Quiet(np.random.Generator):
            def normal(self, loc=0., scale=1., size=None):
                return np.zeros(size)

        for kernel_size, max_dist in ((2., 6.), (3., 8.)):
            features = random_image(70, 90, seed=2).astype(np.float64) / 4  # exact in float and double
            with mock.patch("numpy.random.default_rng", lambda *seed: Quiet(np.random.PCG64(0))):
                _, parents, distances = quickshift(features, ratio=1., kernel_size=kernel_size, max_dist=max_dist, sigma=0,
                                                   convert2lab=False, return_tree=True, rng=0)
            q = QuickShift.create(kernel_size, max_dist, 1.)
            q.setSearchRadius(cv2.cuda.QuickShift_SEARCH_WINDOW)
            q.setTieRule(cv2.cuda.QuickShift_STRICT)
            q.compute(features.astype(np.float32))
            theirs = np.asarray(parents).ravel()
            cut = np.asarray(distances).ravel() > max_dist  # its tree has the links that its labels cut
            theirs = np.where(cut, np.arange(theirs.size), theirs)
            same = (theirs == q.getParents().ravel()).mean()
            print('scikit-image, kernel_size %g, max_dist %g: %.3f %% same parents' % (kernel_size, max_dist, 100 * same))
            self.assertGreaterEqual(same, 0.997)


class CudaTest(unittest.TestCase):
    def setUp(self):
        if cv2.cuda.getCudaEnabledDeviceCount() <= 0:
            self.skipTest("no CUDA device on this machine")

    def test_same_as_cpu(self):
        image = random_image(200, 300)
        on_device = cv2.cuda.GpuMat()
        on_device.upload(image)
        cpu, cuda = QuickShift.create(2., 8., 0.5), QuickShift.create(2., 8., 0.5)
        cpu.compute(image)
        cuda.compute(on_device)
        np.testing.assert_array_equal(cpu.getLabels(), cuda.getLabels())
        np.testing.assert_array_equal(cpu.getDensity(), cuda.getDensity())


if __name__ == "__main__":
    unittest.main()
