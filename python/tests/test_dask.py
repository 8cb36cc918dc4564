"""Superpixels of dask arrays, and of GeoTIFFs by windows: the labels of one call on the whole image."""
import importlib.util
import os
import pathlib
import pickle
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

    def test_small_and_uneven_chunks(self):
        image = texture((60, 70, 3), 5)
        whole = ct.QuickShift(2., 9., .25, device="cpu").compute(image).labels()
        for chunks in ((7, 9, -1), ((1, 30, 29), (50, 20), (1, 2)), (60, 1, -1)):
            labels = ct.dask.quickshift(self.wrap(image, chunks=chunks), 2., 9., .25, device="cpu")
            self.assertEqual(labels.chunksize, tuple(max(sides) for sides in self.wrap(image, chunks=chunks).chunks[:2]))
            np.testing.assert_array_equal(labels.compute(scheduler="sync"), whole)

    def test_each_chunk_is_made_once(self):
        image, made = texture((80, 80, 3), 3)[:, :, 0].copy(), []

        def make(block):
            made.append(block.shape)
            return block

        array = self.wrap(image, chunks=10).map_blocks(make, dtype=np.uint8, meta=np.empty((0, 0), np.uint8))
        for pixels, mask in ((array, None), (array, array >= 0), (array.astype(np.float32) / 4, array >= 0)):
            made.clear()
            labels = ct.dask.quickshift(pixels, 1., 4., .25, mask=mask, device="cpu")
            self.assertEqual(made, [])
            labels.compute(scheduler="threads", num_workers=4)
            self.assertEqual(made, [(10, 10)] * 64)

    def test_refused(self):
        array = self.wrap(texture((60, 70, 3), 3), chunks=(30, 30, -1))
        first = self.wrap(np.zeros((20, 60, 70), np.uint8))
        masked = np.ma.masked_less(texture((60, 70, 3), 3), 9)
        unknown = array[array[..., 0].sum(axis=1) > 0]
        half = self.wrap(np.zeros((60, 70), np.float32))
        for call, words in ((lambda: ct.dask.quickshift(array, 400), "^sigma: 400"), (lambda: ct.dask.quickshift(array[..., None]), "^array: shape"),
                            (lambda: ct.dask.quickshift(array, mask=np.ones((60, 60), bool)), r"^mask: shape \(60, 60\)"),
                            (lambda: ct.dask.quickshift(array, color_scale=[1] * 17), "^color_scale: 17"),
                            (lambda: ct.dask.quickshift(self.wrap(np.zeros((9, 9, 6), np.uint8)), color_scale=[1, 2]), "^image: 6 channels, but there are factors"),
                            (lambda: ct.dask.quickshift(array.astype(np.int16)), "^array: elements are int16"),
                            (lambda: ct.dask.quickshift(array > 3), "^array: elements are bool"),
                            (lambda: ct.dask.quickshift(first), r"^array: shape \(20, 60, 70\).*dask.array.moveaxis\(array, 0, -1\)"),
                            (lambda: ct.dask.quickshift(array[..., :0]), r"^array: shape \(60, 70, 0\)"),
                            (lambda: ct.dask.quickshift(array, mask=half), "^mask: elements are float32"),
                            (lambda: ct.dask.quickshift(array, mask=[[1]]), "^mask: list: a dask or numpy array"),
                            (lambda: ct.dask.quickshift(array, mask="no"), "^mask: str: a dask or numpy array"),
                            (lambda: ct.dask.quickshift(array, mask=np.full((60, 70), "a")), "^mask: elements are <U1"),
                            (lambda: ct.dask.quickshift(np.zeros((9, 9), np.uint8)), "^array: ndarray: a dask array is needed"),
                            (lambda: ct.dask.quickshift(None), "^array: NoneType: a dask array is needed"),
                            (lambda: ct.dask.quickshift(unknown), r"^array: shape \(nan, 70, 3\).*array.compute_chunk_sizes\(\)"),
                            (lambda: ct.dask.quickshift(array, mask=np.ma.masked_all((60, 70), np.uint8)), "^mask: a masked array"),
                            (lambda: ct.dask.quickshift(self.wrap(masked)), "^array: a masked array"),
                            (lambda: ct.dask.quickshift(array, mask=self.wrap(masked[..., 0])), "^mask: a masked array"),
                            (lambda: ct.dask.quickshift(array.map_blocks(np.ma.masked_less, 9, meta=np.empty((0, 0, 0), np.uint8))).compute(),
                             "^array: a masked array"),
                            (lambda: ct.dask.quickshift(array.map_blocks(lambda block: block.astype(np.int32), dtype=np.uint8)).compute(),
                             "image: elements are int32")):
            with self.subTest(words), self.assertRaisesRegex((ct.ArgumentError, TypeError), words):
                call()

    def test_other_processes_are_refused(self):
        labels = ct.dask.quickshift(self.wrap(texture((60, 70, 3), 3), chunks=(30, 30, -1)), device="cpu")
        with self.assertRaisesRegex(ct.error, "joined in the memory of one process.*\"threads\""):
            labels.compute(scheduler="processes", num_workers=2)
        run = ct.dask._Run({"device": "cpu"}, (70, 60), (30, 30))
        self.assertIs(pickle.loads(pickle.dumps(run)), run)


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
            with self.assertRaisesRegex(ValueError, "is the source"):
                names["segment"](source, os.path.join(folder, ".", "scene.tif"), ct.cv2.cuda.QuickShift.create())
            points = [rasterio.control.GroundControlPoint(row, column, 5e5 + 10 * column, 5e6 - 10 * row) for row, column in ((0, 0), (0, 9), (9, 0))]
            with rasterio.open(source, "w", driver="GTiff", width=20, height=10, count=1, dtype="uint8") as out:
                out.gcps = points, rasterio.crs.CRS.from_epsg(32633)
                out.write(image[:10, :20, 0], 1)
            names["segment"](pathlib.Path(source), pathlib.Path(target), ct.cv2.cuda.QuickShift.create())
            with rasterio.open(target) as read:
                self.assertEqual([(point.row, point.col, point.x) for point in read.gcps[0]], [(point.row, point.col, point.x) for point in points])
                self.assertEqual(read.gcps[1].to_epsg(), 32633)
            self.assertTrue((whole[40:60, 70:90] == -1).all())


if __name__ == "__main__":
    unittest.main()
