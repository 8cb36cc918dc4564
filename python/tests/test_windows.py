"""Grids of windows and their fields, sub-pixel positions by a Gaussian, and the sample of both, on the CPU."""
import copy
import csv
import dataclasses
import importlib.util
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import cudatracking as ct
from scenes import texture


def particles(shift, seed=1, shape=(128, 160)):
    """An image of particles of 2.5 pixels, moved by (x, y)."""
    random = np.random.default_rng(seed)
    count = (shape[0] + 16) * (shape[1] + 16) // 20
    x, y = random.uniform(-8, shape[1] + 8, count) + shift[0], random.uniform(-8, shape[0] + 8, count) + shift[1]
    rows, columns = np.arange(shape[0])[:, None, None], np.arange(shape[1])[:, None]
    light = random.uniform(100, 200, count)
    image = np.einsum("rp,cp->rc", np.exp(-8 * (rows[:, 0] - y)**2 / 6.25) * light, np.exp(-8 * (columns - x)**2 / 6.25))
    return np.clip(np.rint(image), 0, 255).astype(np.uint8)


def matcher(**named):
    return ct.FragmentMatcher("zncc", subpixel=True, subpixel_fit="gaussian", device="cpu", **named)


REPLACES = """import numpy as np
def replace_outliers(u, v, wrong, **_):
    print(f"replaced {wrong.sum()} of {u.shape[0]} x {u.shape[1]}")
    assert np.isfinite(u[~wrong]).all()
    return np.where(wrong, 4, u), np.where(wrong, -3, v), None
"""


class WindowsTest(unittest.TestCase):
    def test_regions_and_areas(self):
        grid = ct.windows((50, 70, 3), (16, 8), (10, 9), (3, 2))
        self.assertEqual((grid.shape, grid.frame, grid.size, grid.step), ((5, 6), (70, 50), (16, 8), (10, 9)))
        wanted = [(10 * column, 9 * row, 16, 8) for row in range(5) for column in range(6)]
        np.testing.assert_array_equal(grid.regions, wanted)
        np.testing.assert_array_equal(grid.areas, [(x - 3, y - 2, 22, 12) for x, y, _, _ in wanted])
        self.assertEqual((grid.regions.dtype, grid.areas.dtype), (np.int32, np.int32))

    def test_offset_is_stretched_and_rounded(self):
        u, v = np.array([[.5, 1.5, -7.6]], np.float32), np.array([[0, np.nan, 2]], np.float32)
        for value in (np.inf, -np.inf):
            u[0, 1], v[0, 1] = value, 1.
            np.testing.assert_array_equal(ct.windows((16, 96), 16, 16, 4, (u, v)).areas[2:4], np.zeros((2, 4)))
        u[0, 1], v[0, 1] = 1.5, np.nan
        for offset in ((u, v), [u.tolist(), v.tolist()], (u.astype(float), v), ct.Field(u, v, u, u, u)):
            grid = ct.windows((16, 96), 16, 16, 4, offset)
            x = np.arange(6) * 16 - 4
            np.testing.assert_array_equal(grid.areas[[0, 1, 4, 5]], [(x[0], -4, 24, 24), (x[1], -4, 24, 24), (x[4] - 8, -2, 24, 24), (x[5] - 8, -2, 24, 24)])
            np.testing.assert_array_equal(grid.areas[2:4], np.zeros((2, 4)))
        masked = np.ma.masked_invalid(v)
        for offset in ((np.ma.masked_array(u), masked), (u, masked.astype(float))):
            np.testing.assert_array_equal(ct.windows((16, 96), 16, 16, 4, offset).areas, grid.areas)
        out = np.empty((6, 4), np.int32)
        self.assertIs(ct.windows((16, 96), 16, 16, 4, (u, v), out=out).areas, out)
        np.testing.assert_array_equal(out, grid.areas)

    def test_field_of_matches(self):
        before, after = particles((0, 0)), particles((3.3, -2.4))
        grid = ct.windows(before.shape, 32, 16, 8)
        finder = matcher(peaks=3)
        finder.cut(before, grid.regions)
        found = finder.match(after, grid.areas)
        field = found.field(grid)
        self.assertEqual({part.shape for part in field}, {grid.shape})
        self.assertEqual([part.dtype for part in field], [np.float32] * 4 + [np.bool_])
        np.testing.assert_array_equal(field.u, found.refined[:, 0, 0].reshape(grid.shape) - grid.regions[:, 0].reshape(grid.shape))
        np.testing.assert_array_equal(field.v, found.refined[:, 0, 1].reshape(grid.shape) - grid.regions[:, 1].reshape(grid.shape))
        np.testing.assert_array_equal(field.score, found.scores[:, 0].reshape(grid.shape))
        np.testing.assert_array_equal(field.confidence, found.confidence.reshape(grid.shape))
        inner = np.s_[1:-1, 1:-1]
        self.assertTrue(field.valid[inner].all() and np.isfinite(field.u).all())
        np.testing.assert_allclose(np.median(field.u[inner]), 3.3, atol=.02)
        np.testing.assert_allclose(np.median(field.v[inner]), -2.4, atol=.02)
        for valid in (np.uint8, np.bool_):
            out = [*(np.empty_like(part) for part in field[:-1]), np.empty(grid.shape, valid)]
            again = found.field(grid, out=out)
            for given, ours, theirs in zip(out, again, field):
                self.assertIs(ours, given)
                np.testing.assert_array_equal(ours, theirs)
        self.assertIs(found.field(grid, out=field).valid, field.valid)

    def test_windows_without_a_match(self):
        flat = particles((0, 0))
        flat[:40, :40] = 9
        grid = ct.windows(flat.shape, 32, 32, 4)
        finder = matcher()
        finder.cut(flat, grid.regions)
        field = finder.match(flat, grid.areas).field(grid)
        self.assertFalse(field.valid[0, 0])
        self.assertTrue(np.isnan(field.u[0, 0]) and np.isnan(field.v[0, 0]))
        self.assertEqual(np.count_nonzero(np.isnan(field.u)), 1)
        second = ct.windows(flat.shape, 32, 32, 1, field)
        field = finder.match(flat, second.areas).field(second)
        self.assertFalse(field.valid[0, 0])
        self.assertEqual((field.score[0, 0], field.confidence[0, 0]), (0, -1))

    def test_vectors_at_the_limit(self):
        """They are whole, of any score, and not valid; areas may be edited, and those of reach 0 have no limit."""
        before, after = particles((0, 0), 4), particles((6.3, 0), 4)
        inner = np.s_[1:-1, 1:-2]  # further windows leave the frame
        finder = matcher()
        for reach, limits in (((9, 4), False), ((6, 4), True), ((9, 0), False), ((6, 0), True)):
            grid = ct.windows(before.shape, 32, 16, reach)
            finder.cut(before, grid.regions)
            field = finder.match(after, grid.areas).field(grid)
            self.assertEqual((set(field.valid[inner].ravel().tolist()), np.isfinite(field.u).all()), ({not limits}, True), reach)
            self.assertEqual((field.u[inner] == reach[0]).all(), limits)
            self.assertEqual(field.valid[[0, -1], 1:-2].any(), not limits and reach[1] == 0)  # v is 0, where the frame ends
        grid = ct.windows(before.shape, 32, 16, 9)
        row, column = 2, 3
        grid.areas[row * grid.shape[1] + column] += (0, 0, -3, 0)  # ends where the match is
        field = finder.match(after, grid.areas).field(grid)
        self.assertEqual((field.valid[row, column], field.valid[inner].sum()), (False, field.valid[inner].size - 1))
        with self.assertRaisesRegex(ct.ArgumentError, "areas: 3 x 1 elements"):
            finder.match(after, grid.areas).field(dataclasses.replace(grid, areas=grid.areas[:3]))

    def test_two_passes(self):
        before, after = particles((0, 0), 2), particles((9.3, 4.6), 2)
        coarse = ct.windows(before.shape, 32, 16, 12)
        finder = matcher()
        finder.cut(before, coarse.regions)
        motion = finder.match(after, coarse.areas).field(coarse)
        fine = ct.windows(before.shape, 16, 8, 2, motion)
        finder.cut(before, fine.regions)
        field = finder.match(after, fine.areas).field(fine)
        inner = np.s_[:-3, :-3]
        self.assertLess(np.median(np.abs(field.u[inner] - 9.3)), .03)
        self.assertLess(np.median(np.abs(field.v[inner] - 4.6)), .03)

    def test_results_can_be_copied(self):
        grid = ct.windows((40, 40), 16, 8, 2)
        finder = matcher()
        finder.cut(texture((40, 40), 1), grid.regions)
        found = finder.match(texture((40, 40), 1), grid.areas)
        field = found.field(grid)
        self.assertEqual(repr(ct.windows(np.array([40, 40, 3]), 16, 8, 2)), repr(ct.windows((40, 40), 16, 8, 2)))
        for made in (grid, found):  # compared as objects: members are arrays
            self.assertTrue(made == made and made != copy.deepcopy(made) and len({made, made}) == 1)
        for made in (grid, field):
            for again in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
                self.assertEqual((type(again), repr(again)), (type(made), repr(made)))

    def test_wrong_arguments(self):
        good = np.zeros((2, 2), np.float32)
        for words, arguments in (("^size: 41 x 16: 1 x 1 to 40 x 30", ((30, 40), (41, 16), 8, 2)), ("^size: 0 x 0", ((30, 40), 0, 8, 2)), ("step: 0 x 0", ((30, 40), 16, 0, 2)),
                                 ("reach: -1 x -1", ((30, 40), 16, 8, -1)), ("windows, but there can be at most 100000", ((1000, 1000), 1, 1, 1)),
                                 (r"^shape\[1\]: 0: 1 to 32767", ((30, 0), 1, 1, 1)), (r"^shape\[0\]: 32768", ((32768, 9), 1, 1, 1)), (r"offset.v: shape \(2, 3\)", ((30, 40), 16, 8, 2, (good, np.zeros((2, 3), np.float32)))),
                                 (r"offset.u: shape \(0, 2\)", ((30, 40), 16, 8, 2, (good[:0], good[:0])))):
            with self.assertRaisesRegex(ct.ArgumentError, words):
                ct.windows(*arguments)
        for words, arguments in (("^shape: ndarray", (good, 16, 8, 2)), ("^shape: 3:", (3, 16, 8, 2)), (r"^shape: \(60,\)", ((60,), 16, 8, 2)), ("^size: None: a number, or", ((30, 40), None, 8, 2)), ("offset: float", ((30, 40), 16, 8, 2, 1.5)),
                                 ("offset.u: elements", ((30, 40), 16, 8, 2, (np.zeros((2, 2), complex), good)))):
            with self.assertRaisesRegex(TypeError, words):
                ct.windows(*arguments)
        grid, finder = ct.windows((40, 40), 16, 8, 2), matcher()
        finder.cut(texture((40, 40), 1), grid.regions[:3])
        found = finder.match(texture((40, 40), 1), grid.areas[:3])
        with self.assertRaisesRegex(ct.ArgumentError, "grid: 4 x 4 windows, but there are 3 matches"):
            found.field(grid)
        with self.assertRaisesRegex(TypeError, "grid: tuple"):
            found.field((4, 4))

    def test_refused_edits_keep_the_regions(self):
        """Fragments that are refused leave the old ones, and with them the regions that field() compares."""
        image = particles((0, 0))
        grid = ct.windows(image.shape, 32, 16, 8)
        other = dataclasses.replace(ct.windows(image.shape, 32, 15, 8), shape=grid.shape)
        finder = matcher()
        finder.cut(image, grid.regions)
        for edit in (lambda: finder.cut(image, [(0, 0, 500, 500)]), lambda: finder.set([image[:16, :16], np.zeros((4, 4), np.uint16)]),
                     lambda: finder.add(np.zeros((4, 4), np.uint16)), lambda: finder.update(999, image), lambda: finder.remove(999)):
            with self.assertRaises(ct.error):
                edit()
            with self.assertRaisesRegex(ct.ArgumentError, "^grid: .*was cut from"):
                finder.match(image, grid.areas).field(other)
        finder.update(0, image[:32, :32])
        self.assertEqual(finder.match(image, grid.areas).field(other).u.shape, grid.shape)

    def test_field_of_another_grid(self):
        """A grid of as many windows in other places is refused where the fragments were cut."""
        image = texture((48, 80), 1)
        grid, tall, step = (ct.windows(*arguments, 2) for arguments in (((48, 80), 16, 16), ((80, 48), 16, 16), ((48, 80), 16, (15, 16))))
        self.assertEqual((grid.shape, tall.shape, step.shape), ((3, 5), (5, 3), (3, 5)))
        finder = matcher()
        finder.cut(image, grid.regions)
        found = finder.match(image, grid.areas)
        for matches in (found, found.numpy(), copy.deepcopy(found), pickle.loads(pickle.dumps(found)), finder.match(image[:0], grid.areas)):
            matches.field(grid)
            with self.assertRaisesRegex(ct.ArgumentError, r"^grid: window 3 of 5 x 3 is \[0, 16, 16, 16\], but fragment 3 was cut from \[48, 0, 16, 16\]$"):
                matches.field(tall)
            with self.assertRaisesRegex(ct.ArgumentError, r"^grid: window 1 of 3 x 5 is \[15, 0, 16, 16\]"):
                matches.field(step)
        for edit in (lambda: finder.set([image[:16, :16]] * 15), lambda: finder.update(3, image[:16, :16]), lambda: (finder.remove(0), finder.add(image[:16, :16]))):
            finder.cut(image, grid.regions)
            edit()
            finder.match(image, tall.areas).field(tall)

    def test_gaussian_is_for_zncc(self):
        for metric in ("sad", "ssd"):
            with self.assertRaisesRegex(ct.ArgumentError, "subpixel_fit: 'gaussian' needs the metric \"zncc\""):
                ct.FragmentMatcher(metric, subpixel_fit="gaussian")
        with self.assertRaisesRegex(ct.ArgumentError, "subpixel_fit: 'x'"):
            ct.FragmentMatcher(subpixel_fit="x")

    def test_sample(self):
        sample = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "samples", "motion.py")
        with tempfile.TemporaryDirectory() as folder:
            path = lambda *names: os.path.join(folder, *names)

            def run(*arguments, code=0):
                paths = os.pathsep.join([folder, *filter(None, [os.environ.get("PYTHONPATH")])])
                done = subprocess.run([sys.executable, sample, "--device=cpu", *arguments], capture_output=True, text=True, timeout=300,
                                      env={**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"})
                self.assertEqual(done.returncode, code, (arguments, done.stderr))
                self.assertEqual(bool(code), "error: " in done.stderr, done.stderr)
                self.assertNotIn("Traceback", done.stderr)
                return done

            before, after = particles((0, 0), 3), particles((4.3, -2.6), 3)
            after[:, 120:] = particles((0, 0), 9)[:, 120:]  # other particles
            for name, image in (("a.png", before), ("b.png", after), ("flat.png", np.full_like(before, 7)), ("small.png", before[:20, :20]), ("wide.png", before[:, 1:])):
                ct.cv2.imwrite(path(name), image)
            files = path("a.png"), path("b.png"), path("out.png"), path("out.csv")
            done = run("--min-score=0.5", "--arrow=1", "--pixel=0.5", "--dt=0.02", *files)
            self.assertRegex(done.stdout, r"^15 x 19 vectors, \d+ good, median motion \(4\.\d\d, -2\.\d\d\) px; wrote .*out\.png and .*out\.csv\n$")
            with open(path("out.csv"), newline="") as file:
                rows = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
            self.assertEqual([(row["x"], row["y"]) for row in rows], [(8. * x + 8, 8. * y + 8) for y in range(15) for x in range(19)])
            for row in rows:
                at_limit = row["u"] % 1 == 0 or row["v"] % 1 == 0
                self.assertEqual(row["good"], row["score"] >= .5 and not at_limit)
                np.testing.assert_allclose((row["vx"], row["vy"]), (row["u"] * 25, row["v"] * 25), rtol=1e-4)
                if 16 <= row["x"] <= 96 and 24 <= row["y"] <= 112:
                    self.assertEqual(row["good"], 1)
                    np.testing.assert_allclose((row["u"], row["v"]), (4.3, -2.6), atol=.3)
                if row["x"] > 130:
                    self.assertEqual(row["good"], 0)
            drawn = ct.cv2.imread(path("out.png"))
            self.assertEqual(drawn.shape, (9 * 128, 9 * 160, 3))
            green, red = (drawn[..., one] > drawn[..., other] + 60. for one, other in ((1, 2), (2, 1)))  # the image is gray
            self.assertTrue(green[:, :900].any() and not red[300:900, :900].any() and red[:, 1300:].any() and not green[:, 1300:].any())

            # The same pixels with 16 bits, and in TIFF, give the same table; two least scores are those of pass 1 and of pass 2.
            with open(path("out.csv")) as file:
                table = file.read()
            deep = [path("a16.png"), path("b16.png")]
            for name, image in zip(deep, (before, after)):
                ct.cv2.imwrite(name, image.astype(np.uint16))
            run("--min-score=0.5", "--arrow=1", "--pixel=0.5", "--dt=0.02", *deep, *files[2:])
            with open(path("out.csv")) as file:
                self.assertEqual(file.read(), table)
            self.assertGreater(ct.cv2.imread(files[2]).max(), 100)
            tiff = [path("a.tif"), path("b.tiff")]
            if importlib.util.find_spec("PIL"):
                from PIL import Image
                Image.fromarray(before).convert("RGB").save(tiff[0])
                Image.frombytes("I;16B", after.shape[::-1], after.astype(">u2").tobytes()).save(tiff[1])
                for one, other in ((tiff[0], files[1]), (deep[0], tiff[1])):
                    run("--min-score=1,0.5", "--arrow=1", "--pixel=0.5", "--dt=0.02", one, other, *files[2:])
                    with open(path("out.csv")) as file:
                        self.assertEqual(file.read(), table)
            os.mkdir(path("PIL"))
            with open(path("PIL", "__init__.py"), "w"), open(tiff[0], "ab"):
                self.assertIn("a.tif: TIFF needs the package Pillow", run(tiff[0], *files[1:], code=1).stderr)
            shutil.rmtree(path("PIL"))
            self.assertRegex(run("--min-score=0.5,1", *files).stdout, r" vectors, 0 good,")
            self.assertIn("b16.png: 128 rows x 160, uint16; ", run(files[0], deep[1], *files[2:], code=1).stderr)

            self.assertIn(", 0 good, median motion (nan, nan) px;", run(path("flat.png"), *files[1:]).stdout)
            for option in ("--size=20", "--reach=-1", "--reach=32768", "--reach=1.5", "--min-score=nan", "--min-score=1.1", "--min-score=0,1.1", "--min-score=0,0,0", "--min-score=,", "--arrow=-1", "--arrow=inf", "--arrow=x", "--rel", "--pixel=0", "--dt=-1", "--dt=nan"):
                run(option, *files, code=2)
            run(code=2)
            for one, other, image, table in ((path("no.png"), *files[1:]), (path("wide.png"), *files[1:]), (path("small.png"), path("small.png"), *files[2:]),
                                             (*files[:2], path("no", "x.png"), files[3]), (*files[:2], path("out.xyz"), files[3]), (*files[:3], path("no", "x.csv"))):
                run(one, other, image, table, code=1)
            # OpenPIV's part by a stand-in that writes what it is given: wrong vectors are replaced after each pass.
            os.mkdir(path("openpiv"))
            for name, text in (("__init__", ""), ("validation", "import numpy as np\ndef local_norm_median_val(u, *_, **__):\n    return np.zeros(u.shape, bool)"), ("filters", REPLACES)):
                with open(path("openpiv", name + ".py"), "w") as file:
                    file.write(text)
            done = run("--min-score=0.5", "--openpiv", *files)
            self.assertRegex(done.stdout, r"(?s)^replaced [1-9]\d* of 7 x 9\nreplaced [1-9]\d* of 15 x 19\n15 x 19 vectors")
            with open(path("out.csv"), newline="") as file:
                replaced = [row for row in csv.DictReader(file) if row["good"] == "0"]
            self.assertGreater(len(replaced), 40)
            self.assertEqual({(row["u"], row["v"]) for row in replaced}, {("4", "-3")})
            self.assertRegex(run("--min-score=1,0.5", "--openpiv", *files).stdout, r"^replaced 63 of 7 x 9\nreplaced (?!285)\d+ of 15 x 19\n")
            shutil.rmtree(path("openpiv"))
            self.assertEqual(sorted(set(os.listdir(folder)) - {"a.tif", "b.tiff"}),
                             ["a.png", "a16.png", "b.png", "b16.png", "flat.png", "out.csv", "out.png", "small.png", "wide.png"])


if __name__ == "__main__":
    unittest.main()
