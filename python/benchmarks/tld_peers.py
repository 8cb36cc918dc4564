#!/usr/bin/env python3
"""Measures one tracker of a Python package of OpenCV on one sequence.

Called by scripts/tld_plots.sh --peers-python; writes what cudatracking_tld_benchmark --runs and --curves write, without the
measure of long-term tracking. Definitions: samples/tld_benchmark_quality.hpp.
"""
import argparse
import csv
import math
import os
import time

import cv2
from sequences import overlap, read

MAKERS = {"CSRT": lambda: cv2.TrackerCSRT_create(), "KCF": lambda: cv2.TrackerKCF_create(), "MIL": lambda: cv2.TrackerMIL_create(),
          "legacyTLD": lambda: cv2.legacy.TrackerTLD_create(), "MedianFlow": lambda: cv2.legacy.TrackerMedianFlow_create()}
RANDOM = ("MIL", "legacyTLD")
HEAD = ("sequence,tracker,seed,frames,threads,ms,processor_ms,precision,recall,f,precision50,recall50,f50,auc,precision20px,long_term,"
        "long_term_precision,long_term_recall,long_term_score,replies_absent,absent,failed").split(",")


def follow(name, seed, frames, first):
    """Boxes (None: not reported), milliseconds per frame on the clock and of all processors, and the frame of an exception."""
    cv2.setRNGSeed(seed)
    tracker, made, failed, clock, processor = MAKERS[name](), [first], "", 0., 0.
    tracker.init(frames[0], first)
    for frame in frames[1:]:
        began, used = time.perf_counter(), time.process_time()
        try:
            located, box = tracker.update(frame)
        except cv2.error:
            failed = len(made)
            break
        clock, processor = clock + time.perf_counter() - began, processor + time.process_time() - used
        made.append(tuple(box) if located and box[2] > 0 and box[3] > 0 else None)
    updates = max(1, len(made) - 1)
    return made + [None] * (len(frames) - len(made)), 1000 * clock / updates, 1000 * processor / updates, failed


def measure(given, truth):
    """A row's values from precision to precision20px, boxes reported in absent frames and these, and both curves."""
    first, target = given[0], truth[0]
    across, down, overlaps, distances = (target[0] - first[0]) / first[2], (target[1] - first[1]) / first[3], [], []
    for box, there in zip(given, truth):
        if box is None or there is None:
            continue
        x, y, w, h = box
        box = x + across * w, y + down * h, w * target[2] / first[2], h * target[3] / first[3]
        overlaps.append(overlap(box, there))
        distances.append(math.hypot(*(box[i] + box[i + 2] / 2 - there[i] - there[i + 2] / 2 for i in (0, 1))))
    reported, visible = sum(box is not None for box in given), sum(there is not None for there in truth)
    success = [sum(value > limit / 20 for value in overlaps) / visible for limit in range(21)]
    near = [sum(value <= limit for value in distances) / visible for limit in range(51)]
    values = []
    for limit in (.25, .5):
        right = sum(value > limit for value in overlaps)
        values += [right / max(1, reported), right / visible, 2 * right / (reported + visible)]
    return values + [sum(success) / 21, near[20]], reported - len(overlaps), len(truth) - visible, success, near


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sequence")
    parser.add_argument("--only", choices=MAKERS, required=True)
    parser.add_argument("--peer-seeds", type=int, default=3)
    parser.add_argument("--frames", type=int, default=0)
    parser.add_argument("--runs", required=True)
    parser.add_argument("--curves", required=True)
    options = parser.parse_args()
    cv2.setNumThreads(1)
    name = os.path.basename(os.path.normpath(options.sequence))
    frames, truth, first = read(cv2, options.sequence, options.frames)
    count, curves = options.peer_seeds if options.only in RANDOM else 1, []
    with open(options.runs, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(HEAD)
        for seed in range(1, count + 1):
            given, clock, processor, failed = follow(options.only, seed, frames, first)
            values, replies, absent, *both = measure(given, truth)
            curves.append(both)
            table.writerow([name, options.only, seed, len(frames), 1, clock, processor, *values, "", "", "", "", replies, absent, failed])
    with open(options.curves, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["sequence", "tracker", "runs", "curve", "limit", "share"])
        for i, (kind, unit) in enumerate((("success", 20), ("precision", 1))):
            for limit, shares in enumerate(zip(*(both[i] for both in curves))):
                table.writerow([name, options.only, count, kind, limit / unit, sum(shares) / count])
    print(f"{name} {options.only} frames={len(frames)} runs={count} F={values[2]:.3f} AUC={values[6]:.3f}")


main()
