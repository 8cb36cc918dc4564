"""Superpixels of dask arrays, and of GeoTIFFs by windows: the labels of one call on the whole image."""
import importlib.util
import os
import re
import tempfile
import unittest

import numpy as np

import cudatracking as ct
from scenes import texture

PAGE = os.path.join(os.path.dirname(__file__), "..", "..", "doc", "rasters.md")


def needs(module):
    return unittest.skipUnless(importlib.util.find_spec(module), f"{module} is not installed")


def bands(rows, columns, seed=7):
    return np.dstack([texture((rows, columns, 3), seed + i) for i in range(2)])[:, :, :5].copy()


@needs("dask")
class DaskTest(unittest.TestCase):
    def setUp(self):
        import dask.array
        self.wrap = dask.array.from_array

    def expect(self, image, chunks, mask=None, **settings):
        whole = ct.QuickShift(2., 9., .25, device="cpu", **settings).compute(image, mask=mask).labels()
        array = self.wrap(image, chunks=chunks)
        labels = ct.dask.quickshift(array, 2., 9., .25, mask=mask, device="cpu", **settings)
        self.assertEqual((labels.shape, labels.dtype, labels.chunks), (image.shape[:2], np.int32, array.chunks[:2]))
        for _ in range(2):  # each computation joins tiles of its own
            np.testing.assert_array_equal(labels.compute(scheduler="threads", num_workers=4), whole)

    def test_labels_of_the_whole(self):
        mask = np.ones((120, 170), bool)
        mask[30:60, 20:90] = False
        for image in (texture((120, 170, 3), 3), bands(120, 170), texture((120, 170, 3), 4)[:, :, 0].copy(), bands(120, 170).astype(np.float32)):
            chunks = (50, 61, -1)[:image.ndim]
            self.expect(image, chunks)
            self.expect(image, chunks, mask, tie_rule="strict", search_radius="window")
        self.expect(bands(120, 170), (40, 40, 2))  # channels in chunks

    def test_refused(self):
        array = self.wrap(texture((60, 70, 3), 3), chunks=(30, 30, -1))
        for call, words in ((lambda: ct.dask.quickshift(array, 400), "sigma: 400"), (lambda: ct.dask.quickshift(array[..., None]), "array: shape"),
                            (lambda: ct.dask.quickshift(array, mask=np.ones((60, 60), bool)), r"mask: shape \(60, 60\)"),
                            (lambda: ct.dask.quickshift(array, color_scale=[1] * 17), "color_scale: 17"),
                            (lambda: ct.dask.quickshift(array.astype(np.int32)).compute(), "image: elements are int32")):
            with self.assertRaisesRegex((ValueError, TypeError), words):
                call()


@needs("rasterio")
class GeoTiffTest(unittest.TestCase):
    def test_recipe_of_the_page(self):
        import rasterio
        image, names = bands(150, 210), {}
        with open(PAGE, encoding="utf-8") as page:
            code, = re.findall(r"^```python notest\n(import os\n\nimport numpy.*?)^```$", page.read(), re.MULTILINE | re.DOTALL)
        exec(code, names)
        with tempfile.TemporaryDirectory() as folder:
            source, target = os.path.join(folder, "scene.tif"), os.path.join(folder, "labels.tif")
            where = rasterio.transform.from_origin(100., 200., 10., 10.)
            with rasterio.open(source, "w", driver="GTiff", width=210, height=150, count=5, dtype="uint8", transform=where, nodata=255) as out:
                image[40:60, 70:90] = 255
                out.write(np.moveaxis(image, -1, 0))
            shift = ct.QuickShift(2., 9., .25, device="cpu")
            number = names["segment"](source, target, ct.cv2.cuda.QuickShift.create(2., 9., .25), 64)
            self.assertEqual(os.listdir(folder).count("labels.tif"), 1)
            self.assertEqual(len(os.listdir(folder)), 2)
            with rasterio.open(source) as read:
                whole = shift.compute(image, mask=read.dataset_mask()).labels()
            with rasterio.open(target) as read:
                np.testing.assert_array_equal(read.read(1), whole)
                self.assertEqual((read.transform, read.nodata), (where, -1))
            self.assertEqual(number, shift.number)
            self.assertTrue((whole[40:60, 70:90] == -1).all())


if __name__ == "__main__":
    unittest.main()
