"""Stages of pipelines: results are those of the classes they work with, in batches, after pickling, and in Ray Data."""
import importlib.util
import os
import pickle
import re
import tempfile
import threading
import unittest

import numpy as np

import cudatracking as ct
from scenes import box, frame
from test_scan import needs_ray

HERE = os.path.dirname(os.path.abspath(__file__))
IMAGES = [frame(0), frame(5), frame(9)[:100, :120]]
AREA = (10, 12, 40, 30)
TEMPLATES = [np.ascontiguousarray(IMAGES[0][20:36, 30:46]), np.ascontiguousarray(IMAGES[0][40:60, 50:66])]
DETECT = {"cascade": "lbp_frontalface", "min_neighbors": 0}
MATCH = {"templates": [template[:, :, ::-1] for template in TEMPLATES], "metric": "zncc", "peaks": 3}
SEGMENT = {"min_size": 8, "sigma": 2., "max_dist": 4.}
FRAMES = [frame(step) for step in range(6)]


def rgb(images):
    return [image[:, :, ::-1] for image in images]


def listed(name, value):
    """A value of a row as numbers and lists, which can be compared. Tracker.score has single precision."""
    return np.asarray(value, np.float32 if name == "score" else None).tolist()


def rows_of(batch):
    return [{name: listed(name, values[i]) for name, values in batch.items() if name != "image"} for i in range(len(batch["image"]))]


def detected(images):
    return [{"boxes": one.boxes.tolist(), "neighbors": one.neighbors.tolist(), "weights": one.weights.tolist()}
            for one in ct.CascadeClassifier("lbp_frontalface", min_neighbors=0, max_candidates=65536).detect_batch(images)]


def matched(images, areas=None):
    matcher = ct.FragmentMatcher("zncc", peaks=3)
    matcher.set(TEMPLATES)
    found = [matcher.match(image, areas).numpy() for image in images]
    return [{name: getattr(one, name).tolist() for name in ("locations", "scores", "confidence", "status")} for one in found]


def segmented(images):
    rows = []
    for image in images:
        superpixels = ct.QuickShift(2., 4.).compute(image)
        number = superpixels.enforce_connectivity(8)
        rows.append({"labels": np.asarray(superpixels.labels()).tolist(), "superpixels": number})
    return rows


def tracked(images, start):
    tracker = ct.Tracker(seed=3)
    tracker.init(images[0], start)
    rows = [{"box": [float(value) for value in start], "located": True, "state": "TRACKING", "score": 1.}]
    for image in images[1:]:
        located, _ = tracker.update(image)
        rows.append({"box": list(tracker.box), "located": located, "state": tracker.state.name, "score": tracker.score})
    return rows


class BatchesTest(unittest.TestCase):
    def check(self, stage, wanted, images, **columns):
        for made in (stage, pickle.loads(pickle.dumps(stage))):
            self.assertEqual(rows_of(made({"image": images, **columns})), wanted)

    def test_detect(self):
        wanted = detected(IMAGES)
        self.assertTrue(all(row["boxes"] for row in wanted[:2]))
        self.check(ct.ray.Detect(**DETECT), wanted, rgb(IMAGES))
        self.check(ct.ray.Detect(**DETECT), [{**row, "name": "a"} for row in wanted[:2]], np.stack(rgb(IMAGES[:2])), name=np.array(["a", "a"]))
        self.check(ct.ray.Detect(**DETECT, rgb=False), wanted, IMAGES)
        luma = [np.ascontiguousarray(image[:, :, 1]) for image in IMAGES]
        found = ct.ray.Detect(**DETECT, column="luma")({"luma": luma, "image": luma})
        self.assertEqual([{name: row[name] for name in ("boxes", "neighbors", "weights")} for row in rows_of(found)], detected(luma))

    def test_match(self):
        self.check(ct.ray.Match(**MATCH), matched(IMAGES), rgb(IMAGES))
        self.check(ct.ray.Match(**{**MATCH, "templates": TEMPLATES}, rgb=False), matched(IMAGES), IMAGES)
        areas = [(20, 10, 60, 50), (30, 30, 60, 60)]
        wanted = matched(IMAGES, areas)
        self.assertNotEqual(wanted, matched(IMAGES))
        self.check(ct.ray.Match(**MATCH, areas=areas), wanted, rgb(IMAGES))

    def test_segment(self):
        self.check(ct.ray.Segment(**SEGMENT), segmented(IMAGES), rgb(IMAGES))
        plain = ct.QuickShift(2., 4.).compute(IMAGES[0])
        found = ct.ray.Segment(sigma=2., max_dist=4.)({"image": rgb(IMAGES[:1])})
        self.assertEqual(int(found["superpixels"][0]), plain.number)
        self.assertNotEqual(plain.number, segmented(IMAGES[:1])[0]["superpixels"])

    def test_track(self):
        wanted = [{**row, "frame": number} for number, row in enumerate(tracked(FRAMES, box(0)))]
        self.assertTrue(wanted[-1]["located"])
        mixed = [4, 0, 3, 5, 1, 2]
        shuffled, numbers = rgb([FRAMES[i] for i in mixed]), np.array(mixed)
        self.check(ct.ray.Track(seed=3, box=box(0)), wanted, shuffled, frame=numbers)
        boxes = [None] * len(mixed)
        boxes[mixed.index(0)] = box(0)
        self.check(ct.ray.Track(seed=3), wanted, np.stack(shuffled), frame=numbers, box=boxes)
        self.check(ct.ray.Track(ct.TLDParams(seed=3), start="given"), [{**row, "given": list(box(0))} for row in wanted], shuffled, frame=numbers,
                   given=np.array([box(0)] * len(mixed)))
        stage = ct.ray.Track(seed=3, box=box(0))  # each group is a video of its own
        self.assertEqual(*[rows_of(stage({"image": rgb(FRAMES), "frame": np.arange(6)})) for _ in range(2)])

    def test_empty_batches(self):
        for stage in (ct.ray.Detect(), ct.ray.Match(**MATCH), ct.ray.Segment(), ct.ray.Track(box=box(0))):
            made = stage({"image": np.zeros((0, 9, 9, 3), np.uint8), "frame": np.zeros(0, int)})
            self.assertEqual({len(values) for values in made.values()}, {0})

    def test_threads(self):
        """A call does not get the results of another thread's: images differ in size and content."""
        stage = ct.ray.Segment(min_size=4, sigma=2., device="cpu")
        images = [np.ascontiguousarray(frame(i)[:40 + i, :60]) for i in range(8)]
        wanted = [rows_of(stage({"image": [image]})) for image in images]
        found = [[] for _ in images]
        together = threading.Barrier(len(images))

        def work(i):
            together.wait()
            found[i] = [rows_of(stage({"image": [images[i]]})) for _ in range(4)]

        threads = [threading.Thread(target=work, args=(i,)) for i in range(len(images))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertTrue(all(found[i] == [wanted[i]] * 4 for i in range(len(images))))

    def refuse(self, kind, words, call):
        with self.subTest(words), self.assertRaisesRegex(kind, words):
            call()

    def test_wrong_arguments(self):
        """They are refused when the stage is made."""
        for kind, words, make in (
                (ct.error, "trees", lambda: ct.ray.Track(trees=0)), (ct.error, "sigma", lambda: ct.ray.Segment(sigma=-1)),
                (ct.error, "metric", lambda: ct.ray.Match(TEMPLATES, metric="ncc")), (ct.error, "no_such", lambda: ct.ray.Detect("no_such")),
                (TypeError, "^cascade: None", lambda: ct.ray.Detect(None)), (TypeError, "^templates: None", lambda: ct.ray.Match(None)),
                (TypeError, r"^templates\[1\]: None", lambda: ct.ray.Match([TEMPLATES[0], None])),
                (ValueError, "^areas: 1 given, one for each of 2 fragments", lambda: ct.ray.Match(TEMPLATES, [AREA])),
                (ValueError, r"^areas\[1\]: size -3 x 9 is negative", lambda: ct.ray.Match(TEMPLATES, [AREA, (1, 1, -3, 9)])),
                (ValueError, "^min_size: -1: at least 0", lambda: ct.ray.Segment(-1)), (TypeError, "^min_size: 2.5", lambda: ct.ray.Segment(2.5)),
                (TypeError, "^min_size: True", lambda: ct.ray.Segment(True)), (TypeError, "^min_size: None", lambda: ct.ray.Segment(None)),
                (TypeError, "^rgb: 'no'", lambda: ct.ray.Segment(rgb="no")), (TypeError, "^rgb: 1", lambda: ct.ray.Detect(rgb=1)),
                (TypeError, "^column: None", lambda: ct.ray.Match(TEMPLATES, column=None)), (TypeError, "^frame: 5", lambda: ct.ray.Track(frame=5)),
                (TypeError, "^start: None", lambda: ct.ray.Track(start=None)), (ValueError, r"^box: shape \(\): four numbers", lambda: ct.ray.Track(box=5)),
                (TypeError, "^box: 'abcd'", lambda: ct.ray.Track(box="abcd")), (TypeError, r"^box: \(1, 2, 3, None\)", lambda: ct.ray.Track(box=(1, 2, 3, None))),
                (ValueError, r"^box: shape \(3,\)", lambda: ct.ray.Track(box=(1, 2, 3))), (ValueError, "^box.*nan", lambda: ct.ray.Track(box=(1, 2, 3, float("nan")))),
                (ValueError, "^seed: 4: is a member of params", lambda: ct.ray.Track(ct.TLDParams(seed=3), seed=4))):
            self.refuse(kind, words, make)

    def test_wrong_columns(self):
        images, numbers = rgb(FRAMES), np.arange(6)
        for stage in (ct.ray.Detect(), ct.ray.Match(**MATCH), ct.ray.Segment(), ct.ray.Track(box=box(0))):
            self.refuse(ValueError, r"^batch: has no column 'image'; its columns are \['pixels', 'frame'\]", lambda: stage({"pixels": images, "frame": numbers}))
            for name in ("frame", "name"):
                for count in (4, 9):
                    columns = {"image": images, "frame": numbers, name: np.arange(count)}
                    self.refuse(ValueError, rf"^batch\['{name}'\]: has {count} rows, 'image' has 6", lambda: stage(columns))
            self.refuse(TypeError, r"^batch\['name'\]: 3: a list", lambda: stage({"image": images, "frame": numbers, "name": 3}))
            for wrong, words in ((None, "None: an image is needed; a file that cannot be read"), (np.zeros((9, 9, 9, 3), np.uint8), "shape"),
                                 (np.zeros((9, 9), complex), "elements are complex128")):
                self.refuse((TypeError, ValueError), rf"^image\[1\]: {words}", lambda: stage({"image": [images[0], wrong], "frame": [0, 1]}))
        for stage in (ct.ray.Match(**{**MATCH, "templates": TEMPLATES}), ct.ray.Track(box=box(0))):
            self.refuse(ct.error, r"^image\[1\]: ", lambda: stage({"image": [images[0], images[1][:, :, 0]], "frame": [0, 1]}))

    def test_wrong_frames(self):
        images, stage = rgb(FRAMES[:3]), ct.ray.Track(box=box(0))
        self.refuse(ValueError, "^batch: has no column 'frame'", lambda: stage({"image": images}))
        for kind, words, numbers in ((ValueError, r"^frame\[1\]: nan", [0, float("nan"), 2]), (ValueError, r"^frame\[2\]: 4: is the number of row 0, too", [4, 1, 4]),
                                     (TypeError, r"^frame\[0\]: '10'", ["10", "8", "9"]), (TypeError, r"^frame\[2\]: None", [1, 0, None])):
            for values in (numbers, np.array(numbers)):
                self.refuse(kind, words, lambda: stage({"image": images, "frame": values}))
        stamps = 1732600000000000000 + np.arange(3)  # nanoseconds, which are no float64
        self.assertEqual(stage({"image": images, "frame": stamps[::-1]})["frame"].tolist(), stamps.tolist())

    def test_wrong_boxes(self):
        images = rgb(FRAMES[:3])
        self.refuse(ValueError, "^box: there is none, and no column 'box'", lambda: ct.ray.Track()({"image": images, "frame": np.arange(3)}))
        for kind, words, value in ((TypeError, r"^box\[1\]: None: four numbers", None), (ValueError, r"^box\[1\]: shape \(\): four numbers", 5),
                                   (ValueError, r"^box\[1\]: shape \(3,\)", (1, 2, 3)), (ct.error, r"^image\[1\]: ", (0, 0, 5000, 5000))):
            self.refuse(kind, words, lambda: ct.ray.Track()({"image": images, "frame": [1, 0, 2], "box": [box(0), value, box(0)]}))


class RayDataTest(unittest.TestCase):
    @needs_ray
    def test_datasets(self):
        try:
            import ray.data
        except ImportError as missing:
            self.skipTest(f"Ray Data needs more: {missing}")
        ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        self.addCleanup(ray.shutdown)
        ray.data.DataContext.get_current().enable_progress_bars = False
        images = ray.data.from_items([{"number": i, "image": image} for i, image in enumerate(rgb(IMAGES))])
        for stage, named, wanted in ((ct.ray.Detect, DETECT, detected(IMAGES)), (ct.ray.Match, MATCH, matched(IMAGES)), (ct.ray.Segment, SEGMENT, segmented(IMAGES))):
            with self.subTest(stage.__name__):
                found = images.map_batches(stage, fn_constructor_kwargs=named, concurrency=1, batch_size=2).take_all()
                found.sort(key=lambda row: row["number"])
                self.assertEqual([{name: listed(name, row[name]) for name in wanted[0]} for row in found], wanted)
        frames = ray.data.from_items([{"video": video, "frame": i, "image": image, "box": list(box(0))} for video in "ab" for i, image in enumerate(rgb(FRAMES))])
        found = frames.random_shuffle(seed=1).groupby("video").map_groups(ct.ray.Track, fn_constructor_kwargs={"seed": 3}, concurrency=1).take_all()
        found.sort(key=lambda row: (row["video"], row["frame"]))
        wanted = tracked(FRAMES, box(0))
        self.assertEqual([{name: listed(name, row[name]) for name in wanted[0]} for row in found], wanted * 2)


    @needs_ray
    def test_videos(self):
        """The example of doc/pipelines.md."""
        if importlib.util.find_spec("decord") is None or importlib.util.find_spec("av") is None:
            self.skipTest("ray.data.read_videos() needs decord, and the test PyAV: pip install decord av")
        import ray.data
        from test_command_videos import write
        ray.init(address="local", num_cpus=4, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        self.addCleanup(ray.shutdown)
        ray.data.DataContext.get_current().enable_progress_bars = False
        with open(os.path.join(HERE, "..", "..", "doc", "pipelines.md"), encoding="utf-8") as page:
            program = next(part for part in re.findall(r"```python notest\n(.*?)```", page.read(), re.DOTALL) if "read_videos" in part)
        with tempfile.TemporaryDirectory() as folder:
            for name in ("a", "b"):
                write(os.path.join(folder, f"{name}.mp4"), 6)
            names = {"ray": ray, "ct": ct}
            exec(program.replace('"videos"', repr(folder)).replace("(20, 120, 85, 80)", repr(box(0))), names)
            self.assertEqual(sorted(row["frame_index"] for row in names["found"].select_columns(["frame_index", "boxes"]).take_all()), sorted(2 * [*range(6)]))
            rows = names["tracked"].select_columns(["path", "frame_index", "located"]).take_all()
        self.assertEqual(sorted((os.path.basename(row["path"]), row["frame_index"]) for row in rows), [(name, i) for name in ("a.mp4", "b.mp4") for i in range(6)])
        self.assertTrue(all(row["located"] for row in rows))


if __name__ == "__main__":
    unittest.main()
