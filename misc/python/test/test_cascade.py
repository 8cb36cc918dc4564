"""CascadeClassifierEx through cv2: a small cascade written here, and OpenCV's own where their folder is known."""
import gzip
import os
import unittest

import cv2
import numpy as np

CascadeClassifierEx = cv2.cuda.CascadeClassifierEx

# Passes where the right half of 4 x 4 pixels is brighter than the left one.
CASCADE = b"""<?xml version="1.0"?>
<opencv_storage>
<cascade>
  <stageType>BOOST</stageType>
  <featureType>HAAR</featureType>
  <height>8</height>
  <width>10</width>
  <featureParams>
    <maxCatCount>0</maxCatCount></featureParams>
  <stages>
    <_>
      <stageThreshold>0.5</stageThreshold>
      <weakClassifiers>
        <_>
          <internalNodes>0 -1 0 0.02</internalNodes>
          <leafValues>0. 1.</leafValues></_></weakClassifiers></_></stages>
  <features>
    <_>
      <rects>
        <_>0 0 4 4 -1.</_>
        <_>2 0 2 4 2.</_></rects></_></features></cascade>
</opencv_storage>
"""


def cascade():
    made = CascadeClassifierEx.create()
    made.loadBuffer(np.frombuffer(CASCADE, np.uint8))
    return made


def scene():
    noise = np.random.RandomState(3).randint(0, 256, (60, 80), dtype=np.uint8)
    return cv2.GaussianBlur(noise, (0, 0), 2.)


class CascadeTest(unittest.TestCase):
    def test_properties(self):
        made = CascadeClassifierEx.create()
        self.assertTrue(made.empty())
        made = cascade()
        self.assertFalse(made.empty())
        self.assertEqual(made.getOriginalWindowSize(), (10, 8))
        self.assertEqual(made.getFeatureType(), 0)
        self.assertEqual(made.getNumberOfStages(), 1)
        made.setMinObjectSize((20, 20))
        self.assertEqual(made.clone().getMinObjectSize(), (20, 20))
        self.assertEqual(made.getDefaultName(), "CascadeClassifierEx")

    def test_files_that_cannot_be_read(self):
        made = cascade()
        for data, says in ((gzip.compress(CASCADE), "is compressed"), (b"\xff\xd8\xff\xe0\0\x10JFIF", "is no XML"),
                           (CASCADE.replace(b"<leafValues>", b"<leafValues type_id='binary'>"), "binary data must be")):
            with self.assertRaisesRegex(cv2.error, says):
                made.loadBuffer(np.frombuffer(data, np.uint8))
            self.assertFalse(made.empty())

    def test_detection(self):
        made, image = cascade(), scene()
        raw = made.detectMultiScale(image, minNeighbors=0)
        self.assertGreater(len(raw), 10)
        objects, counts = made.detectMultiScale2(image, 1.1, 1)
        self.assertEqual(len(objects), len(counts))
        again, levels, weights = made.detectMultiScale3(image, 1.1, 1, outputRejectLevels=True)
        np.testing.assert_array_equal(objects, again)
        self.assertEqual(set(levels), {1})
        self.assertEqual(set(weights), {1.})

    def test_tables(self):
        made, image = cascade(), scene()
        made.setMinNeighbors(1)
        table, counts, weights = made.detectAsync([image, image[:50, :60]])
        self.assertEqual(table.shape, (2, 1 + made.getMaxObjects(), 4))
        self.assertEqual(weights.dtype, np.float64)
        for row, part in enumerate((image, image[:50, :60])):
            found, boxes = made.convertDetections(table, row)
            self.assertEqual(found, len(boxes))
            np.testing.assert_array_equal(boxes, made.detectMultiScale(part, 1.1, 1))

    def test_scales_and_counts(self):
        made, image = cascade(), scene()
        scales, sizes = made.getScales((80, 60))
        passes = made.countPasses(image)
        self.assertEqual(passes.shape, (len(scales), 4))
        self.assertEqual(tuple(sizes[0]), (80, 60))
        self.assertEqual(int(passes[:, 3].sum()), len(made.detectMultiScale(image, 1.1, 0)))

    def test_errors(self):
        made = cascade()
        with self.assertRaises(cv2.error):
            made.load("/nonexistent/cascade.xml")
        with self.assertRaises(cv2.error):
            made.detectMultiScale(scene(), 1.)
        with self.assertRaises(cv2.error):
            made.detectMultiScale(scene().astype(np.float32))
        with self.assertRaises(cv2.error):
            made.loadBuffer(np.frombuffer(CASCADE[:150], np.uint8))
        self.assertFalse(made.empty())

    def test_bare_image_where_a_list_is_wanted(self):
        made, image = cascade(), scene()
        colour = cv2.cvtColor(image, cv2.COLOR_GRAY2BGR)
        bgra = cv2.cvtColor(image, cv2.COLOR_GRAY2BGRA)
        for one in (image, image[:50, :60], colour, colour[5:, 5:], bgra, image[:2], colour[:2]):
            with self.assertRaisesRegex(cv2.error, r"\[image\]"):
                made.detectAsync(one)
            self.assertEqual(len(made.detectAsync([one])[0]), 1)
        views = {"reversed channels": colour[:, :, ::-1], "transposed": image.T, "upside down": image[::-1], "turned": np.rot90(image),
                 "mirrored": image[:, ::-1], "Fortran": np.asfortranarray(image), "Fortran, colour": np.asfortranarray(colour),
                 "two channels": bgra[..., :2], "three of four": bgra[..., :3], "broadcast": np.broadcast_to(image[0], (60, 80)),
                 "every second": image[::2, ::2]}
        for name, view in views.items():
            with self.subTest(name):
                with self.assertRaisesRegex(cv2.error, r"\[image\]"):
                    made.detectAsync(view)

    def test_stack_and_narrow_images(self):
        """One array of several images is a list, and so are images too narrow for any object."""
        made, image = cascade(), scene()
        colour = cv2.cvtColor(image, cv2.COLOR_GRAY2BGR)
        for stack in (np.stack([image, image[::-1]]), np.stack([colour, colour[::-1]]), np.stack([colour, colour])[..., ::-1]):
            np.testing.assert_array_equal(made.detectAsync(stack)[0], made.detectAsync(list(stack))[0])
        pixel = np.zeros((1, 1), np.uint8)
        for tiny in ([pixel] * 3, [image[0:1, x:x + 1] for x in range(4)], [np.zeros((50, 3), np.uint8) for _ in range(4)],
                     [image[:, 3 * x:3 * x + 3] for x in range(4)], [image[10 * y:10 * y + 10, :3] for y in range(4)]):
            self.assertFalse(made.detectAsync(tiny)[0].any())

    def test_gpu_arrays(self):
        if cv2.cuda.getCudaEnabledDeviceCount() <= 0:
            self.skipTest("no CUDA device")
        made, image = cascade(), scene()
        made.setMinNeighbors(1)
        frame = cv2.cuda.GpuMat()
        frame.upload(image)
        np.testing.assert_array_equal(made.detectMultiScale(frame, 1.1, 1), made.detectMultiScale(image, 1.1, 1))
        on_host = made.detectAsync([image, image[:50, :60].copy()])
        part = cv2.cuda.GpuMat(frame, (0, 0, 60, 50))
        stream = cv2.cuda.Stream()
        on_device = made.detectAsync([frame, part], stream=stream)
        stream.waitForCompletion()
        for expected, actual in zip(on_host, on_device):
            np.testing.assert_array_equal(expected, actual.download())
        for row in range(2):
            expected, actual = made.convertDetections(on_host[0], row), made.convertDetections(on_device[0], row)
            self.assertEqual(expected[0], actual[0])
            np.testing.assert_array_equal(expected[1], actual[1])
        np.testing.assert_array_equal(made.countPasses(frame).download(), made.countPasses(image))

    def test_faces(self):
        cascades, data = os.environ.get("CUDATRACKING_CASCADES"), os.environ.get("CUDATRACKING_SAMPLES_DATA")
        if not cascades or not data:
            self.skipTest("CUDATRACKING_CASCADES and CUDATRACKING_SAMPLES_DATA name no folders")
        faces = CascadeClassifierEx.create(cascades + "/haarcascades/haarcascade_frontalface_alt.xml")
        found = faces.detectMultiScale(cv2.imread(data + "/lena.jpg"))
        self.assertEqual(len(found), 1)
        x, y, w, h = found[0]
        self.assertTrue(x < 260 < x + w and y < 270 < y + h)


if __name__ == "__main__":
    unittest.main()
