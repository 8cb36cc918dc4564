"""FragmentMatcher through cv2: numpy arrays on the CPU backend; GpuMat where there is a device."""
import math
import subprocess
import sys
import unittest

import cv2
import numpy as np

FragmentMatcher = cv2.cuda.FragmentMatcher


def image(shape, seed, channels=3):
    noise = np.random.RandomState(seed).randint(0, 256, shape + (channels,), dtype=np.uint8)
    return cv2.blur(noise, (3, 3)).reshape(shape + (channels,))


def crop(image, x, y, width, height):
    return np.ascontiguousarray(image[y:y + height, x:x + width])


def areas_array(areas):
    """Areas as match() takes them: int32, N x 1 x 4, which is CV_32SC4 with N rows."""
    return np.array(areas, dtype=np.int32).reshape(-1, 1, 4)


def wrong_windows():
    """Calls all methods of WindowGrid with wrong arguments, and prints the number of calls. All raise cv2.error or TypeError with a message,
    or, for numbers that OpenCV converts, return."""
    right = {"create": [(64, 48), (16, 16), (8, 8)], "areas": [(3, 2), np.zeros((2, 3), np.float32), np.zeros((2, 3), np.float32)],
             "field": [np.zeros((35, 1, 4), np.int32), np.zeros((35, 2, 2), np.float32), np.zeros((35, 2), np.float32), np.zeros((35, 1), np.float32), np.zeros((35, 1), np.uint8)], "regions": []}
    pair = lambda *numbers: [numbers, list(numbers), np.array(numbers)]
    wrong = [True, -1, 3, 2**40, 1.5, math.nan, "x", b"x", {}, object(), [], [[]], (1,), (1, 2, 3), ("a", "b"), (None, None), (1.5, 2), (math.nan, 1), (1e300, 1), (2**31, 1),
             (2**70, 1), (-2**31, -2**31), (2**31 - 1, 2**31 - 1), *pair(0, 5), *pair(5, 0), *pair(-3, 5), *pair(32768, 5), *pair(5, 10**6), np.zeros(0), np.zeros((0, 0), np.float32),
             np.zeros((2, 3)), np.full((2, 3), 1e30), np.zeros((2, 3), np.uint8), np.zeros((2, 3), complex), np.zeros((2, 3), object), np.zeros((2, 2, 2, 2), np.float32),
             np.zeros((35, 1, 2), np.float64), np.zeros((34, 2, 2), np.float32), np.zeros((35, 3), np.int32), np.zeros((36, 1), np.uint8), np.zeros((1, 2**20), np.float32)]
    good = cv2.cuda.WindowGrid.create(*right["create"])
    empty = cv2.cuda.WindowGrid()
    calls, refused = 0, 0
    assert good.areas(*right["areas"]).shape == (35, 1, 4) and good.field(*right["field"])[0].shape == (5, 7)
    for name, arguments in right.items():
        attempts = [[*arguments[:i], value, *arguments[i + 1:]] for i in range(len(arguments)) for value in wrong]
        attempts += [arguments[:i] for i in range(len(arguments))] + [[*arguments, value, value, value] for value in wrong]
        for grid in (good, empty) if name != "create" else (cv2.cuda.WindowGrid,):
            for attempt in attempts:
                calls += 1
                try:
                    getattr(grid, name)(*attempt)
                    assert grid is not empty, (name, attempt)
                except (cv2.error, TypeError) as raised:
                    refused += 1
                    assert str(raised).strip(), (name, attempt)
                except SystemError as raised:  # all functions of OpenCV that take arrays do this
                    refused += 1
                    assert isinstance(raised.__cause__, OverflowError), (name, attempt, raised)
    for value in wrong:  # members
        calls += 1
        try:
            good.step = value
            good.regions()
        except (cv2.error, TypeError) as raised:
            refused += 1
            assert str(raised).strip(), value
    assert refused > .8 * calls, (refused, calls)
    print(calls)


def params(**values):
    result = cv2.cuda.FragmentMatcher.Params()
    for name, value in values.items():
        setattr(result, name, value)
    return result


class CpuTest(unittest.TestCase):
    def setUp(self):
        self.frame = image((90, 120), 1)
        self.places = [(10, 20, 16, 12), (70, 40, 9, 21), (100, 70, 15, 15)]
        self.templates = [crop(self.frame, *place) for place in self.places]

    def test_params(self):
        default = FragmentMatcher.create().getParams()
        self.assertEqual((default.metric, default.exclusion, default.peaks), (0, 0, 2))
        self.assertEqual((default.exclusionDistance, default.subpixel, default.subpixelFit, default.search), (0, False, 0, 0))
        self.assertEqual(tuple(default.maxSearchArea), (0, 0))
        matcher = FragmentMatcher.create(params(metric=cv2.cuda.FragmentMatcher_ZNCC, peaks=5, subpixel=True))
        self.assertEqual(matcher.getParams().metric, cv2.cuda.FragmentMatcher_ZNCC)
        self.assertEqual(matcher.getParams().peaks, 5)
        self.assertTrue(matcher.getParams().subpixel)
        matcher.setParams(params(maxSearchArea=(64, 48)))
        self.assertEqual(tuple(matcher.getParams().maxSearchArea), (64, 48))

    def test_windows(self):
        grid = cv2.cuda.WindowGrid.create((120, 90), (16, 12), (8, 6))
        self.assertEqual((tuple(grid.size()), tuple(grid.frame), tuple(grid.window), tuple(grid.step)), ((14, 14), (120, 90), (16, 12), (8, 6)))
        windows, areas = grid.regions(), grid.areas((3, 2), None, None)
        self.assertEqual((windows.reshape(-1, 4)[15].tolist(), areas.reshape(-1, 4)[15].tolist()), ([8, 6, 16, 12], [5, 4, 22, 16]))
        matcher = FragmentMatcher.create(params(metric=cv2.cuda.FragmentMatcher_ZNCC, subpixel=True, subpixelFit=cv2.cuda.FragmentMatcher_GAUSSIAN))
        matcher.cutFragments(self.frame, [tuple(window) for window in windows.reshape(-1, 4).tolist()])
        locations, scores, confidence, status, refined = matcher.match(self.frame, areas)
        u, v, score, confidence, valid = grid.field(areas, refined, scores, confidence, status)
        # Windows at the border of the frame are at the limit of their areas.
        self.assertEqual((u.shape, valid.tolist()), ((14, 14), [[0] * 14] + [[0] + [1] * 12 + [0]] * 12 + [[0] * 14]))
        np.testing.assert_array_equal(score, np.ones((14, 14), np.float32))
        np.testing.assert_array_equal(u, refined[:, 0, 0].reshape(14, 14) - windows.reshape(-1, 4)[:, 0].reshape(14, 14))
        moved = grid.areas((3, 2), u + 5, v - 4).reshape(-1, 4)
        np.testing.assert_array_equal(moved, areas.reshape(-1, 4) + [5, -4, 0, 0])
        with self.assertRaisesRegex(cv2.error, "subpixelFit: 1 .GAUSSIAN., which is for ZNCC"):
            FragmentMatcher.create(params(subpixelFit=cv2.cuda.FragmentMatcher_GAUSSIAN))

    def test_windows_with_wrong_arguments(self):
        """In a process of its own, as it could crash."""
        done = subprocess.run([sys.executable, __file__, "wrong windows"], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertGreater(int(done.stdout), 500)

    def test_find(self):
        for metric, perfect in ((cv2.cuda.FragmentMatcher_SAD, 0.), (cv2.cuda.FragmentMatcher_SSD, 0.),
                                (cv2.cuda.FragmentMatcher_ZNCC, 1.)):
            matcher = FragmentMatcher.create(params(metric=metric))
            matcher.setFragments(self.templates)
            self.assertEqual(matcher.getFragmentCount(), 3)
            self.assertEqual(tuple(matcher.getFragmentSize(1)), (9, 21))
            matches = matcher.find(self.frame, None)
            self.assertEqual(len(matches), 3)
            for match, place in zip(matches, self.places):
                self.assertEqual(tuple(match.locations[0]), place[:2])
                self.assertEqual(match.scores[0], perfect)
                self.assertEqual(match.confidence, math.inf)
                self.assertEqual(match.status, cv2.cuda.FragmentMatcher_FOUND)

    def test_match_is_a_brute_force_search(self):
        template, weights = self.templates[0].astype(np.int64), np.arange(192, dtype=np.uint8).reshape(12, 16)
        noisy = cv2.add(self.frame, np.random.RandomState(2).randint(0, 20, self.frame.shape, dtype=np.uint8))
        area = (5, 9, 40, 35)
        matcher = FragmentMatcher.create()
        matcher.setFragments([self.templates[0]], [weights])
        locations, scores, confidence, status, refined = matcher.match(noisy, areas_array([area]))
        sums = {}
        for y in range(area[1], area[1] + area[3] - 12 + 1):
            for x in range(area[0], area[0] + area[2] - 16 + 1):
                difference = np.abs(noisy[y:y + 12, x:x + 16].astype(np.int64) - template).sum(axis=2)
                sums[(y, x)] = int((difference * weights).sum())
        (y, x), best = min(sums.items(), key=lambda item: (item[1], item[0]))
        (v, u), second = min(((at, s) for at, s in sums.items() if max(abs(at[0] - y), abs(at[1] - x)) >= 6),
                             key=lambda item: (item[1], item[0]))
        self.assertEqual(locations.tolist(), [[[x, y], [u, v]]])
        total = int(weights.sum())
        self.assertEqual(scores.tolist(), [[np.float32(best / total), np.float32(second / total)]])
        self.assertEqual(confidence.item(), np.float32(second / best))
        self.assertEqual(status.item(), 0)
        np.testing.assert_array_equal(refined, locations.astype(np.float32))

    def test_sixteen_bits(self):
        rng = np.random.RandomState(16)
        frame = rng.randint(0, 65536, (60, 80, 3)).astype(np.uint16)
        places = [(10, 20, 16, 12), (50, 30, 9, 21)]
        for metric, perfect in ((cv2.cuda.FragmentMatcher_SSD, 0.), (cv2.cuda.FragmentMatcher_ZNCC, 1.)):
            matcher = FragmentMatcher.create(params(metric=metric))
            matcher.cutFragments(frame, places)
            for match, place in zip(matcher.find(frame, None), places):
                self.assertEqual(tuple(match.locations[0]), place[:2])
                self.assertEqual(match.scores[0], perfect)
            with self.assertRaisesRegex(cv2.error, "frame: type CV_8UC3, but the fragments are CV_16UC3"):
                matcher.find(self.frame, None)
        x, y, width, height = places[0]
        apart = frame[:height, :width].astype(np.int64) - crop(frame, x, y, width, height)
        matcher.setParams(params(metric=cv2.cuda.FragmentMatcher_SSD))
        scores = matcher.scoreMap(0, frame, (0, 0, 0, 0))
        self.assertEqual(scores[0, 0], np.float32((apart ** 2).sum() / (width * height)))
        matcher.setParams(params(metric=cv2.cuda.FragmentMatcher_SAD))
        with self.assertRaisesRegex(cv2.error, "frame: type CV_16UC3, but SAD takes 8 bits only"):
            matcher.find(frame, None)
        warped, weights = FragmentMatcher.warpFragment(crop(frame, *places[0]), None, 30, 1.)
        self.assertEqual((warped.dtype, weights.dtype), (np.uint16, np.uint8))

    def test_float_weights_equal_bytes(self):
        weights = np.random.RandomState(3).randint(0, 256, (12, 16), dtype=np.uint8)
        results = []
        for given in (weights, weights.astype(np.float32) / np.float32(255)):
            matcher = FragmentMatcher.create(params(metric=cv2.cuda.FragmentMatcher_SSD))
            matcher.setFragments([self.templates[0]], [given])
            results.append(matcher.scoreMap(0, self.frame, (0, 0, 0, 0), depth=cv2.CV_64F))
        np.testing.assert_array_equal(*results)

    def test_edits_and_cuts(self):
        matcher = FragmentMatcher.create()
        self.assertTrue(matcher.empty())
        matcher.cutFragments(self.frame, self.places[:2])
        self.assertEqual(matcher.addFragment(self.templates[2]), 2)
        matcher.updateFragment(0, self.templates[1])
        matcher.removeFragment(1)
        found = [tuple(match.locations[0]) for match in matcher.find(self.frame, None)]
        self.assertEqual(found, [self.places[1][:2], self.places[2][:2]])
        matcher.clear()
        self.assertTrue(matcher.empty())

    def test_maps(self):
        matcher = FragmentMatcher.create()
        matcher.setFragments(self.templates)
        whole = matcher.scoreMap(1, self.frame, (0, 0, 0, 0))
        self.assertEqual((whole.shape, whole.dtype), ((90 - 21 + 1, 120 - 9 + 1), np.float32))
        self.assertEqual(np.unravel_index(whole.argmin(), whole.shape), (40, 70))
        buffer, offsets = matcher.scoreMaps(self.frame, areas_array([(0, 0, 20, 20), (0, 0, 0, 0), (0, 0, 15, 15)]))
        self.assertEqual(list(offsets), [0, 45, 45, 46])
        self.assertEqual(buffer.shape, (1, 46))

    def test_tracking_loop(self):
        matcher = FragmentMatcher.create()
        world = image((150, 200), 4)
        matcher.cutFragments(world[:90, :120], self.places)
        areas = areas_array(self.places)
        for step in range(1, 6):
            frame = np.ascontiguousarray(world[3 * step:3 * step + 90, step:step + 120])
            areas = matcher.predictAreas(areas[:, :, :2].copy() if step == 1 else locations, 5, (120, 90))
            locations = matcher.match(frame, areas)[0]
        expected = [[x - 5, y - 15] for x, y, _, _ in self.places]
        self.assertEqual(locations[:, 0].tolist(), expected)

    def test_convert(self):
        matcher = FragmentMatcher.create()
        matcher.setFragments(self.templates)
        matches = matcher.convert(*matcher.match(self.frame, None))
        self.assertEqual([tuple(match.locations[0]) for match in matches], [place[:2] for place in self.places])

    def test_rows_of_four_and_two(self):
        """N x 4 rectangles and N x 2 points, as np.array() makes them of lists, are taken like N x 1 x 4 and N x 1 x 2."""
        areas = np.array([(x - 4, y - 6, w + 9, h + 8) for x, y, w, h in self.places], np.int32)
        starts = np.array([(x + 1, y - 1) for x, y, _, _ in self.places], np.int32)
        for search in (cv2.cuda.FragmentMatcher_FULL, cv2.cuda.FragmentMatcher_THREE_STEP):
            results = []
            for shape in ((-1,), (-1, 1)):
                matcher = FragmentMatcher.create(params(search=search, peaks=1))
                matcher.cutFragments(self.frame, np.array(self.places, np.int32))
                matcher.setPredictions(starts.reshape(shape + (2,)))
                given = areas.reshape(shape + (4,))
                results.append(list(matcher.match(self.frame, given)) + [matcher.scoreMaps(self.frame, given)[0]] +
                               [matcher.predictAreas(starts.reshape(shape + (2,)), 3, (120, 90))])
                self.assertEqual([tuple(match.locations[0]) for match in matcher.find(self.frame, given)],
                                 [place[:2] for place in self.places])
            for a, b in zip(*results):
                np.testing.assert_array_equal(a, b)
        matches = matcher.convert(starts, None, None, None, None)
        self.assertEqual([tuple(match.locations[0]) for match in matches], [tuple(start) for start in starts.tolist()])

    def test_warp(self):
        template = self.templates[0]
        warped, weights = FragmentMatcher.warpFragment(template, None, 90, 1)
        self.assertEqual(warped.shape, (16, 12, 3))
        self.assertLessEqual(np.abs(warped.astype(int) - np.rot90(template).astype(int)).max(), 1)
        self.assertGreaterEqual(weights.min(), 254)

    def test_one_image_is_one_fragment(self):
        """Not as many as it has rows, which an image as a sequence would be."""
        for template in (self.templates[0], np.ascontiguousarray(self.templates[0][:, :, 0])):
            frame = self.frame if template.ndim == 3 else np.ascontiguousarray(self.frame[:, :, 0])
            matcher = FragmentMatcher.create()
            matcher.setFragments(template, np.full(template.shape[:2], 255, np.uint8))
            self.assertEqual(matcher.getFragmentCount(), 1)
            self.assertEqual(tuple(matcher.find(frame, None)[0].locations[0]), self.places[0][:2])
        matcher.setFragments([self.templates[0]])
        self.assertEqual(matcher.getFragmentCount(), 1)

    def test_poses_of_warped_fragments(self):
        """Fragments are found in the order in which they were set, so a list beside them says how each was warped."""
        (x, y, width, height), angle, scale = self.places[1], 20., 1.25
        template, centre = self.templates[1], (x + (width - 1) / 2, y + (height - 1) / 2)
        frame = cv2.warpAffine(self.frame, cv2.getRotationMatrix2D(centre, angle, scale), (120, 90))
        poses = [(a, s) for a in (0., 10., 20., 30.) for s in (0.8, 1., 1.25)]
        copies = [FragmentMatcher.warpFragment(template, None, a, s) for a, s in poses]
        matcher = FragmentMatcher.create(params(metric=cv2.cuda.FragmentMatcher_ZNCC))
        matcher.setFragments([copy for copy, _ in copies], [weights for _, weights in copies])
        matches = matcher.find(frame, None)
        best = max(range(len(poses)), key=lambda i: matches[i].scores[0])
        self.assertEqual(poses[best], (angle, scale))
        (x, y), (height, width) = matches[best].locations[0], copies[best][0].shape[:2]
        self.assertLessEqual(abs(x + (width - 1) / 2 - centre[0]), 1.)
        self.assertLessEqual(abs(y + (height - 1) / 2 - centre[1]), 1.)

    def test_areas_as_python_has_them(self):
        """Lists and tuples of numbers, and integers of any width, are what int32 arrays are."""
        areas = [(x - 4, y - 6, w + 9, h + 8) for x, y, w, h in self.places]
        starts = [(x + 1, y - 1) for x, y, _, _ in self.places]
        matcher = FragmentMatcher.create(params(search=cv2.cuda.FragmentMatcher_THREE_STEP, peaks=1))
        matcher.cutFragments(self.frame, self.places)
        matcher.setPredictions(np.array(starts, np.int32))
        truth, maps = matcher.match(self.frame, areas_array(areas)), matcher.scoreMaps(self.frame, areas_array(areas))
        following = matcher.predictAreas(np.array(starts, np.int32), 3, (120, 90))
        forms = [list, tuple, lambda a: [list(t) for t in a], lambda a: [np.array(t) for t in a],
                 lambda a: [tuple(np.int32(v) for v in t) for t in a]]
        forms += [lambda a, dtype=dtype: np.array(a, dtype) for dtype in
                  (np.int64, np.uint64, np.int32, np.uint32, np.int16, np.uint16, np.uint8, ">i4")]
        forms += [lambda a: np.array(a, np.int64).reshape(3, 1, -1), lambda a: np.array(a)[::-1][::-1]]
        for form in forms:
            matcher.setPredictions(form(starts))
            for a, b in zip(truth, matcher.match(self.frame, form(areas))):
                np.testing.assert_array_equal(a, b)
            for a, b in zip(maps, matcher.scoreMaps(self.frame, form(areas))):
                np.testing.assert_array_equal(a, b)
            np.testing.assert_array_equal(following, matcher.predictAreas(form(starts), 3, (120, 90)))
            self.assertEqual([tuple(match.locations[0]) for match in matcher.find(self.frame, form(areas))],
                             [place[:2] for place in self.places])
            matches = matcher.convert(form(starts), None, None, None, None)
            self.assertEqual([tuple(match.locations[0]) for match in matches], starts)

    def test_areas_beyond_32_bits(self):
        """Refused by value, where a plain conversion would cut bits off: 2^32 + 3 to 3."""
        matcher = FragmentMatcher.create()
        matcher.setFragments(self.templates)
        for value in (2 ** 32 + 3, 2 ** 31, -2 ** 31 - 1, -2 ** 40):
            areas = [(0, 0, 120, 90), (0, 0, 120, 90), (value, 0, 120, 90)]
            for given in (areas, np.array(areas, np.int64), np.array(areas, np.int64).reshape(3, 1, 4)):
                with self.assertRaisesRegex(cv2.error, f"searchAreas: {value} in row 2, but integers of 32 bits"):
                    matcher.find(self.frame, given)
            with self.assertRaisesRegex(cv2.error, f"locations: {value} in row 0, but integers of 32 bits"):
                matcher.predictAreas([(1, value), (2, 3), (4, 5)], 1, (120, 90))
        for wrong in ([(0, 0, 9)] * 3, [(0, 0, 9, 9)] * 2, [(0., 0., 9., 9.)] * 3, [], (0, 0, 9, 9), [(0, 0, 9, 9), (0, 0)]):
            with self.assertRaises(cv2.error):
                matcher.find(self.frame, wrong)
        with self.assertRaisesRegex(cv2.error, "searchAreas: 2 x 4 elements|searchAreas: 2 x 1 elements"):
            matcher.find(self.frame, [(0, 0, 9, 9)] * 2)

    def test_numbers_in_place_of_a_list(self):
        """Refused by a sentence that says what is given, where OpenCV would make an array of doubles of it."""
        matcher = FragmentMatcher.create()
        matcher.cutFragments(self.frame, self.places[:1])
        calls = {"searchAreas": [lambda given: matcher.find(self.frame, given), lambda given: matcher.scoreMaps(self.frame, given)],
                 "locations": [lambda given: matcher.setPredictions(given), lambda given: matcher.predictAreas(given, 3, (120, 90)),
                               lambda given: matcher.convert(given, None, None, None, None)]}
        for name, one in (("searchAreas", "x, y, width, height"), ("locations", "x, y")):
            for call in calls[name]:
                for given in (True, False, 7, 7.):
                    with self.assertRaisesRegex(cv2.error, f"{name}: {type(given).__name__} is given, but an array or a list of tuples"):
                        call(given)
                for given in ((0, 0, 50, 40), [0, 0, 50, 40], np.array((0, 0, 50, 40)), np.array((0., 0., 50., 40.))):
                    with self.assertRaisesRegex(cv2.error, rf"{name}: 4 numbers are given, .* one element is \[\({one}\)\]"):
                        call(given)
        self.assertEqual(len(matcher.find(self.frame, [(0, 0, 50, 40)])), 1)

    def test_other_kinds_of_arguments(self):
        """The texts are OpenCV's, whose bindings convert these arguments; doc/troubleshooting.md explains the first kind."""
        matcher = FragmentMatcher.create()
        matcher.cutFragments(self.frame, self.places)
        for given in (True, (1, 2, 3)):
            with self.assertRaisesRegex(cv2.error, "frame: type CV_64FC1"):
                matcher.find(given, None)
        for given in (True, (1, 2, 3), (1, 2, 3, "4")):
            with self.assertRaisesRegex(cv2.error, "searchArea"):
                matcher.scoreMap(0, self.frame, given)
            with self.assertRaisesRegex(cv2.error, "regions"):
                matcher.cutFragments(self.frame, given)
            with self.assertRaisesRegex(cv2.error, "frameSize"):
                matcher.predictAreas([(1, 2)] * 3, 3, given)
        self.assertEqual(matcher.getFragmentCount(), 3)

    def test_convert_without_status(self):
        """A fragment without a peak was not found."""
        matches = FragmentMatcher.convert([(3, 4), (-1, -1)], None, None, None, None)
        self.assertEqual([match.status for match in matches],
                         [cv2.cuda.FragmentMatcher_FOUND, cv2.cuda.FragmentMatcher_NO_POSITION])

    def test_empty_frame(self):
        """No error, whatever the areas are, and without fragments too."""
        matcher = FragmentMatcher.create()
        for _ in range(2):
            self.assertEqual(len(matcher.find(np.zeros((0, 0), np.uint8), [(0, 0, 9, 9)] * 5)), 0)
            matcher.cutFragments(self.frame, self.places)

    def test_a_match_says_what_it_is(self):
        matcher = FragmentMatcher.create()
        matcher.cutFragments(self.frame, self.places)
        flat = np.zeros((9, 9, 3), np.uint8)
        for match, place in zip(matcher.find(self.frame, None), self.places):
            self.assertRegex(repr(match), r"^FragmentMatch\(locations=\[\(%d, %d\), \(\d+, \d+\)\], scores=\[0, [\d.]+\], "
                             r"confidence=inf, status=0\)$" % place[:2])
            self.assertEqual(str(match), repr(match))
        self.assertEqual(repr(matcher.find(flat, None)[0]),
                         "FragmentMatch(locations=[], scores=[], confidence=-1, status=1)")
        self.assertEqual(repr(cv2.cuda.FragmentMatch()), "FragmentMatch(locations=[], scores=[], confidence=-1, status=0)")

    def test_bool_weights(self):
        """Refused by a sentence that says bool; 255 * weights.astype(np.uint8) is meant."""
        matcher, weights = FragmentMatcher.create(), np.ones((12, 16), bool)
        with self.assertRaisesRegex(cv2.error, "weights data type = bool is not supported|weights.*[Bb]ool"):
            matcher.setFragments(self.templates[0], weights)
        with self.assertRaisesRegex(cv2.error, r"weights\[1\](: type CV_BoolC1| is of numpy's bool), but (CV_8UC1|uint8 is needed: 255 \* x.astype)"):
            matcher.setFragments([self.templates[0]] * 2, [255 * weights.astype(np.uint8), weights])

    def test_bare_template_where_a_list_is_wanted(self):
        """With weights in a list, OpenCV takes one array for the list of its rows."""
        matcher, colour = FragmentMatcher.create(), self.templates[0]
        gray = colour[:, :, 0].copy()
        for one in (gray, colour, gray.T, gray[::-1], colour[:, :, ::-1], colour[:, :, :2], colour[2:9, 3:9]):
            for weights in ([], [np.ones(one.shape[:2], np.uint8)]):
                with self.assertRaisesRegex(cv2.error, "templates: one array, but a list is needed"):
                    matcher.setFragments(one, weights)
        self.assertTrue(matcher.empty())
        for lists in ([colour, colour], [gray[:, :3], gray[:, 3:6]], np.stack([gray, gray])):
            matcher.setFragments(lists, [])
            self.assertEqual(matcher.getFragmentCount(), 2)
        narrow = [np.ones((12, 3), np.uint8) for _ in range(3)]
        matcher.setFragments(narrow, [])
        matcher.setFragments(np.stack(narrow), narrow)
        self.assertEqual(matcher.getFragmentSize(2), (3, 12))

    def test_bad_arguments(self):
        matcher = FragmentMatcher.create()
        with self.assertRaisesRegex(cv2.error, "peaks"):
            FragmentMatcher.create(params(peaks=17))
        with self.assertRaisesRegex(cv2.error, "template"):
            matcher.setFragments([np.zeros((5, 5), np.float32)])
        with self.assertRaisesRegex(cv2.error, "weights"):
            matcher.setFragments([self.templates[0]], [np.full((12, 16), np.nan, np.float32)])
        matcher.setFragments(self.templates)
        with self.assertRaisesRegex(cv2.error, "frame"):
            matcher.find(self.frame[:, :, 0].copy(), None)
        with self.assertRaisesRegex(cv2.error, "searchAreas"):
            matcher.find(self.frame, areas_array([(0, 0, 50, 50)]))
        for columns in (3, 5):
            with self.assertRaisesRegex(cv2.error, f"searchAreas: 3 x {columns} elements of CV_32SC1"):
                matcher.find(self.frame, np.zeros((3, columns), np.int32))
        with self.assertRaisesRegex(cv2.error, "searchAreas: 3 x 4 elements of CV_32FC1"):
            matcher.find(self.frame, np.zeros((3, 4), np.float32))
        with self.assertRaisesRegex(cv2.error, "locations: 3 x 3 elements of CV_32SC1"):
            matcher.predictAreas(np.zeros((3, 3), np.int32), 1, (9, 9))
        with self.assertRaisesRegex(cv2.error, "regions: 0 given"):
            matcher.cutFragments(self.frame, [])
        with self.assertRaisesRegex(cv2.error, "templates: 0 given"):
            matcher.setFragments([])
        self.assertEqual(matcher.getFragmentCount(), 3)


class CudaTest(unittest.TestCase):
    def setUp(self):
        if cv2.cuda.getCudaEnabledDeviceCount() <= 0:
            self.skipTest("no CUDA device, or cv2 is built without CUDA")
        self.frame = image((90, 120), 1)
        self.places = [(10, 20, 16, 12), (70, 40, 9, 21), (100, 70, 15, 15)]

    @staticmethod
    def upload(array):
        mat = cv2.cuda.GpuMat()
        mat.upload(array)
        return mat

    def test_equals_the_cpu(self):
        for metric in (cv2.cuda.FragmentMatcher_SAD, cv2.cuda.FragmentMatcher_SSD, cv2.cuda.FragmentMatcher_ZNCC):
            noisy = cv2.add(self.frame, np.random.RandomState(5).randint(0, 30, self.frame.shape, dtype=np.uint8))
            matcher = FragmentMatcher.create(params(metric=metric, peaks=3, subpixel=True))
            matcher.setFragments([crop(self.frame, *place) for place in self.places])
            expected = matcher.match(noisy, None)
            for wanted, got in zip(expected, matcher.match(self.upload(noisy), None)):
                got = got.download() if isinstance(got, cv2.cuda.GpuMat) else got
                np.testing.assert_array_equal(wanted, got)

    def test_fragments_and_areas_on_the_device(self):
        matcher = FragmentMatcher.create()
        frame = self.upload(self.frame)
        matcher.setFragments([self.upload(crop(self.frame, *place)) for place in self.places])
        areas = [(x - 9, y - 9, w + 18, h + 18) for x, y, w, h in self.places]
        for given in (areas_array(areas), np.array(areas, np.int32)):
            matches = matcher.find(frame, self.upload(given), stream=cv2.cuda.Stream())
            self.assertEqual([tuple(match.locations[0]) for match in matches], [place[:2] for place in self.places])
        with self.assertRaisesRegex(cv2.error, "Expected Ptr<cv::cuda::GpuMat> for argument 'searchAreas'"):
            matcher.find(frame, areas)


if __name__ == "__main__":
    wrong_windows() if sys.argv[1:] == ["wrong windows"] else unittest.main()
