# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""TemplateFinder, find_template() and the command `find`, against a score in numpy."""
import math
import os
import unittest

import numpy as np

import cudatracking as ct
from command_case import CommandCase, rows_of

PLACES = ((60.3, 70.8, 33.7), (160.6, 60.2, -121.4))
SIZE = (44, 36)


def texture(seed, x, y):
    waves = np.random.default_rng(seed).uniform(-1, 1, (7, 3))
    return 128 + 110 * np.tanh(.5 * sum(np.sin(.45 * (a * x + b * y) + 7 * c) for a, b, c in waves))


def template():
    y, x = np.mgrid[:SIZE[1], :SIZE[0]]
    return np.rint(texture(1, x - (SIZE[0] - 1) / 2, y - (SIZE[1] - 1) / 2)).astype(np.uint8)


def scene():
    """Another texture, on which the template stands at PLACES."""
    y, x = np.mgrid[:130, :220]
    image = texture(2, x, y)
    for at_x, at_y, angle in PLACES:
        c, s = math.cos(math.radians(angle)), math.sin(math.radians(angle))
        u, v = c * (x - at_x) - s * (y - at_y), s * (x - at_x) + c * (y - at_y)
        inside = (abs(u) <= SIZE[0] / 2) & (abs(v) <= SIZE[1] / 2)
        image[inside] = texture(1, u, v)[inside]
    return np.rint(image).astype(np.uint8)


def score_of(image, part, pose):
    """Correlation of an image and a template at a pose, by bilinear interpolation between pixels of the template."""
    rows, columns = part.shape
    y, x = np.mgrid[:image.shape[0], :image.shape[1]]
    c, s = math.cos(math.radians(pose.angle)) / pose.scale, math.sin(math.radians(pose.angle)) / pose.scale
    u = c * (x - pose.center[0]) - s * (y - pose.center[1]) + (columns - 1) / 2
    v = s * (x - pose.center[0]) + c * (y - pose.center[1]) + (rows - 1) / 2
    weights, values = np.zeros(image.shape), np.zeros(image.shape)
    for dx in (0, 1):
        for dy in (0, 1):
            left, top = np.floor(u).astype(int) + dx, np.floor(v).astype(int) + dy
            share = (1 - abs(u - left)) * (1 - abs(v - top))
            values += share * part[np.clip(top, 0, rows - 1), np.clip(left, 0, columns - 1)]
            weights += share * ((left >= 0) & (left < columns) & (top >= 0) & (top < rows))
    q = weights > 1 - 1 / 64  # positions are rounded to 1 / 32 pixel
    q = q / q.sum()
    a, b = image - (q * image).sum(), values - (q * values).sum()
    return float((q * a * b).sum() / math.sqrt((q * a * a).sum() * (q * b * b).sum()))


class Finder(unittest.TestCase):
    def check(self, poses):
        self.assertEqual(len(poses), len(PLACES))
        for x, y, angle in PLACES:
            pose = min(poses, key=lambda pose: math.dist(pose.center, (x, y)))
            self.assertLess(math.dist(pose.center, (x, y)), .1)
            self.assertLess(abs(math.remainder(pose.angle - angle, 360)), .15)
            self.assertEqual(pose.scale, 1)

    def test_poses(self):
        image, part = scene(), template()
        poses = ct.find_template(image, part, threshold=.8, device="cpu")
        self.check(poses)
        for pose in poses:
            self.assertAlmostEqual(pose.score, score_of(image, part, pose), delta=.01)
            self.assertEqual((pose.corners.shape, pose.corners.dtype), ((4, 2), np.float32))
            self.assertLess(np.abs(pose.corners.mean(0) - pose.center).max(), 1e-3)
        self.assertGreaterEqual(poses[0].score, poses[1].score)

    def test_types(self):
        image, part = scene(), template()
        for convert in (lambda a: np.dstack([a] * 3), lambda a: np.dstack([a] * 4), lambda a: a.astype(np.uint16) * 200):
            finder = ct.TemplateFinder(convert(part), threshold=.8, device="cpu")
            self.assertEqual(finder.size, SIZE)
            self.check(finder.find(convert(image)))

    def test_arrays(self):
        image, part = scene(), template()
        truth = ct.find_template(image, part, threshold=.8, device="cpu")
        wide = np.zeros((260, 440, 3), np.uint8)
        wide[::2, ::2, 1] = image
        kept = image.copy()
        kept.flags.writeable = False
        turned = np.asfortranarray(image)
        larger = np.pad(image, 9, constant_values=255)
        for given in (wide[::2, ::2, 1], kept, turned, larger[9:-9, 9:-9], image[::-1][::-1], np.ma.masked_array(image), image.astype(np.int16)):
            found = ct.find_template(given, np.asfortranarray(part), threshold=.8, device="cpu")
            self.assertEqual([pose[:4] for pose in found], [pose[:4] for pose in truth])
        self.assertTrue((kept == scene()).all())

    def test_whole_numbers(self):
        """Those of other types become the template's type."""
        finder = ct.TemplateFinder(template().astype(np.uint16), threshold=.8, device="cpu")
        self.check(finder.find(scene().astype(np.int64)))

    def test_wrong_arrays(self):
        image, part = scene(), template()
        finder = ct.TemplateFinder(part, device="cpu")
        hidden = np.ma.masked_greater(image, 200)
        nan = np.full(part.shape, np.nan, np.float32)
        for call, words in ((lambda: finder.find(image / np.float32(255)), "^image: .*float32"), (lambda: finder.find(hidden), "^image: a masked array"),
                            (lambda: finder.find(image - np.int16(200)), "^image: int16 values from -"), (lambda: finder.find(image.astype(np.uint16)), "^image: .*uint16"),
                            (lambda: finder.find(None), "^image: "), (lambda: finder.find(image[0]), "^image: .*220"),
                            (lambda: finder.find(np.zeros((9, 9, 2), np.uint8)), "^image: .*2"),
                            (lambda: ct.TemplateFinder(part / 255, device="cpu"), "^template: .*float64"),
                            (lambda: ct.TemplateFinder(np.zeros((0, 5), np.uint8), device="cpu"), "^template: "),
                            (lambda: ct.TemplateFinder(np.zeros((1, 16385), np.uint8), device="cpu"), "^template: .*16385"),
                            (lambda: ct.TemplateFinder(part, nan, device="cpu"), "^weights.*nan"),
                            (lambda: ct.TemplateFinder(part, part * 0, device="cpu"), "^weights"),
                            (lambda: ct.TemplateFinder(part, part.astype(np.uint16), device="cpu"), "^weights: .*uint16")):
            with self.subTest(words), self.assertRaisesRegex((ct.ArgumentError, TypeError), words):
                call()
        self.check(ct.TemplateFinder(part, threshold=.8, device="cpu").find(image))

    def test_weights(self):
        weights = np.zeros(SIZE[::-1], bool)
        weights[4:-4, 5:-5] = True
        for given in (weights, weights * np.uint8(255), weights.astype(np.float32)):
            self.check(ct.find_template(scene(), template(), given, threshold=.8, device="cpu"))

    def test_ranges(self):
        for named, count in (({"angles": (0, 90)}, 1), ({"angles": 0}, 0), ({"max_matches": 1}, 1), ({"scales": (.9, 1.1)}, 2)):
            self.assertEqual(len(ct.find_template(scene(), template(), threshold=.85, device="cpu", **named)), count, named)

    def test_wrong_arguments(self):
        part = template()
        for named, words in (({"threshold": 2}, "threshold: 2"), ({"angles": (0, 400)}, "^angles: 400"), ({"scales": 20}, "^scales: 20"),
                             ({"angles": (1, 2, 3)}, "angles: 3 numbers"), ({"max_matches": 0}, "max_matches: 0")):
            with self.assertRaisesRegex(ct.ArgumentError, words):
                ct.TemplateFinder(part, device="cpu", **named)
        with self.assertRaisesRegex(ct.ArgumentError, "weights"):
            ct.TemplateFinder(part, np.zeros((3, 3), np.uint8), device="cpu")
        with self.assertRaisesRegex(ct.ArgumentError, "image: type uint8 with 3 channels, but the template is uint8"):
            ct.TemplateFinder(part, device="cpu").find(np.zeros((90, 90, 3), np.uint8))

    def test_empty(self):
        self.assertEqual(ct.TemplateFinder(template(), device="cpu").find(np.zeros((0, 0), np.uint8)), [])


class Command(CommandCase):
    def test_find(self):
        ct.cv2.imwrite(self.path("board.png"), scene())
        ct.cv2.imwrite(self.path("part.png"), template())
        self.call_command("find", "board.png", "part.png", "--threshold", ".8", "--angles", "-180,180", "--table", "found.csv", "--draw", "found.png",
                          "--device", "cpu")
        rows = rows_of(self.path("found.csv"))
        self.assertEqual(len(rows), len(PLACES))
        for x, y, angle in PLACES:
            self.assertTrue(any(math.dist((float(row["x"]), float(row["y"])), (x, y)) < .2 and abs(float(row["angle"]) - angle) < .3 for row in rows))
        self.assertEqual(ct.cv2.imread(self.path("found.png")).shape, (130, 220, 3))

    def test_wrong_use(self):
        ct.cv2.imwrite(self.path("board.png"), scene())
        for arguments, words in ((("--angles", "1,2,3"), "--angles: 1,2,3"), (("--scales", "0"), "--scales: 0"), (("--threshold", "2"), "--threshold: 2")):
            _, errors = self.call_command("find", "board.png", "board.png", *arguments, code=2)
            self.assertIn(words, errors)
        _, errors = self.call_command("find", "board.png", "missing.png", code=1)
        self.assertIn("missing.png", errors)
        os.mkdir(self.path("parts"))
        for name in ("parts/1.png", "parts/2.png"):
            ct.cv2.imwrite(self.path(name), template())
        _, errors = self.call_command("find", "board.png", "parts", code=1)
        self.assertIn("parts: has more than one image", errors)
        _, errors = self.call_command("find", "board.png", "board.png", "--draw", "board.png", code=2)
        self.assertTrue(os.path.getsize(self.path("board.png")))


if __name__ == "__main__":
    unittest.main()
