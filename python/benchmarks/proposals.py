#!/usr/bin/env python3
"""Measures MultiTracker with boxes of sources that cannot be relied on, on the CPU.

    proposals.py [--seeds=10] [--first-seed=1] [--processes=N] [--filter=0|1] [--boxes=FOLDER] FOLDER

FOLDER has a folder per sequence, as cudatracking_tld_benchmark reads it. Sources: none; truth, the ground truth with noise of 5 % of its size in
place and in each side, in frames without the object the last box before; random, 20 boxes anywhere in each frame; and those of the files
SEQUENCE.SOURCE.csv in the folder of --boxes, lines FRAME,X,Y,WIDTH,HEIGHT as python/samples/opencv_boxes.py prints them. F asks for an overlap above
0.25 after the trajectory was moved and scaled so that its first box is that of the ground truth; absent boxes are those reported in frames without
the object.
"""
import argparse
import glob
import math
import multiprocessing
import os
import random
import statistics

import cudatracking as ct
from sequences import overlap, read

USES = [("overlap alone", {}), ("verify_boxes", {"verify_boxes": True}), ("verify_boxes, correct_by_boxes", {"verify_boxes": True, "correct_by_boxes": True})]
ALONE = "the boxes themselves"  # without a tracker
MODES = {"none": [("", {})], "truth": USES, "random": USES}
SEQUENCES, FILES, MORE = {}, {}, {}  # filled before the processes begin, which share them


def users(box, truth, first):
    """A box of the ground truth, moved and scaled to what the user means by the object."""
    across, down = first[2] / truth[2], first[3] / truth[3]
    return box[0] + (first[0] - truth[0]) * box[2] / truth[2], box[1] + (first[1] - truth[1]) * box[3] / truth[3], box[2] * across, box[3] * down


def lists(source, seed, frames, truth, first):
    """The boxes of each frame."""
    numbers, last, made = random.Random(seed), first, []
    height, width = frames[0].shape[:2]
    for box in truth:
        if source == "random":
            made.append([])
            for _ in range(20):
                scale = math.exp(numbers.gauss(0, .3))
                w, h = first[2] * scale, first[3] * scale
                made[-1].append((numbers.uniform(0, max(1, width - w)), numbers.uniform(0, max(1, height - h)), w, h))
            continue
        if box is not None:
            x, y, w, h = users(box, truth[0], first)
            wide, high = w * math.exp(numbers.gauss(0, .05)), h * math.exp(numbers.gauss(0, .05))
            last = x + w / 2 + numbers.gauss(0, .05) * w - wide / 2, y + h / 2 + numbers.gauss(0, .05) * h - high / 2, wide, high
        made.append([last])
    return made


def stored(file, frames):
    """The boxes of each frame that a file has."""
    made = [[] for _ in range(frames)]
    with open(file, encoding="utf-8") as lines:
        for line in lines:
            number, *box = (float(value) for value in line.split(","))
            if box and number < frames:
                made[int(number)].append(tuple(box))
    return made


def run(job):
    """F, and the number of absent boxes."""
    name, source, mode, seed = job
    frames, truth, first = SEQUENCES[name]
    given = None if source == "none" else FILES[name, source] if (name, source) in FILES else lists(source, seed, frames, truth, first)
    tracker = None
    if mode != ALONE:
        tracker = ct.MultiTracker(device="cpu", seed=seed, find_by_boxes=True, **MORE, **dict(MODES[source])[mode])
        tracker.add(frames[0], first)
    right = reported = visible = 1
    absent = 0
    for number in range(1, len(frames)):
        if tracker:
            track = tracker.update(frames[number], None if given is None else given[number])[0]
            located, box = bool(track["located"]), [float(track[key]) for key in ("x", "y", "width", "height")]
        else:
            located, box = bool(given[number]), (given[number] or [None])[0]
        there = truth[number] is not None
        visible += there
        reported += located
        absent += located and not there
        if there and located:
            right += overlap(users(box, first, truth[0]), truth[number]) > .25
    return 2 * right / (reported + visible), absent


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--filter", type=int, choices=(0, 1), help="default: that of the package")
    parser.add_argument("--boxes", help="folder of files with boxes of more sources")
    parser.add_argument("folder")
    options = parser.parse_args()
    ct.cv2.setNumThreads(1)
    for file in sorted(file for name in ("gt.txt", "groundtruth_rect.txt") for file in glob.glob(os.path.join(options.folder, "*", name))):
        name = os.path.basename(os.path.dirname(file))
        SEQUENCES[name] = read(ct.cv2, os.path.dirname(file))
        if not SEQUENCES[name][0]:
            parser.error(f"{name}: there are neither images nor a video that can be read")
    for file in sorted(glob.glob(os.path.join(options.boxes, "*.csv"))) if options.boxes else ():
        name, source, _ = os.path.basename(file).rsplit(".", 2)
        if name not in SEQUENCES:
            parser.error(f"{file}: there is no sequence {name} in {options.folder}")
        FILES[name, source] = stored(file, len(SEQUENCES[name][0]))
        MODES[source] = [(ALONE, {}), *USES]
    for source in {source for _, source in FILES}:
        if missing := [name for name in SEQUENCES if (name, source) not in FILES]:
            parser.error(f"{options.boxes}: source {source} has no boxes for {', '.join(missing)}")
    MORE.update({} if options.filter is None else {"filter": bool(options.filter)})
    jobs = [(name, source, mode, seed) for seed in range(options.first_seed, options.first_seed + options.seeds) for name in SEQUENCES
            for source, modes in MODES.items() for mode, _ in modes]
    with multiprocessing.get_context("fork").Pool(options.processes) as pool:
        results = dict(zip(jobs, pool.map(run, jobs, 1)))
    print("| source | boxes count | F | absent boxes |" + "".join(f" {name} |" for name in SEQUENCES) + "\n|---|---|--:|--:|" + "--:|" * len(SEQUENCES))
    for source, modes in MODES.items():
        for mode, _ in modes:
            own = {name: [value for job, value in results.items() if job[:3] == (name, source, mode)] for name in SEQUENCES}
            means = {name: [statistics.fmean(column) for column in zip(*values)] for name, values in own.items()}
            error = math.sqrt(sum(statistics.variance([f for f, _ in values]) / len(values) for values in own.values())) / len(own) if options.seeds > 1 else 0
            print(f"| {source} | {mode} | {statistics.fmean(f for f, _ in means.values()):.3f} +- {error:.3f} | {sum(n for _, n in means.values()):.1f} |"
                  + "".join(f" {f:.3f}, {n:.1f} |" for f, n in means.values()))


if __name__ == "__main__":
    main()
