#!/usr/bin/env python3
"""Tracks objects in a video and draws where they are, how sure the tracker is, and what it has learned.

    tld.py [--engine=auto|cpu|cuda] [--frames=N] video.avi out.avi x,y,width,height [x,y,width,height ...]

Boxes are those of the first frame. Runs on CUDA when there is a GPU, else on the CPU, with the same boxes, unless an engine
is named. Needs a cv2 with the module cudatracking.
"""
import argparse
import sys

import cv2

COLOURS = {cv2.cuda.TrackerTLD_UNCERTAIN: (30, 190, 250), cv2.cuda.TrackerTLD_TRACKING: (60, 220, 60)}


def box_of(text):
    box = tuple(int(part) for part in text.split(","))
    if len(box) != 4:
        raise ValueError
    return box


def draw(picture, tracker, results):
    for row, (object_id, result) in enumerate(zip(tracker.getIds(), results)):
        x, y, w, h = (round(v) for v in result[:4])
        state = int(result[5])
        if state != cv2.cuda.TrackerTLD_LOST:
            cv2.rectangle(picture, (x, y, w, h), COLOURS[state], 2 if result[6] else 1)
            cv2.putText(picture, f"{object_id}: {result[4]:.2f}", (x, max(y - 6, 12)), cv2.FONT_HERSHEY_SIMPLEX, 0.5, COLOURS[state])
        # The newest templates, one object a row.
        templates = tracker.getTemplates(object_id, True)
        for column, first in enumerate(range(max(0, len(templates) - 5 * 15), len(templates), 15)):
            small = cv2.cvtColor(templates[first:first + 15], cv2.COLOR_GRAY2BGR)
            top, left = 2 + 17 * row, 2 + 17 * column
            if top + 15 <= picture.shape[0] and left + 15 <= picture.shape[1]:
                picture[top:top + 15, left:left + 15] = small


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=("auto", "cpu", "cuda"), default="auto", help="default: cuda where there is a device")
    parser.add_argument("--frames", type=int, default=0, help="stop after so many frames")
    parser.add_argument("source", help="video to look at")
    parser.add_argument("target", help="video to write")
    parser.add_argument("box", type=box_of, nargs="+", help="x,y,width,height in the first frame")
    options = parser.parse_args()
    cuda = options.engine == "cuda" or (options.engine == "auto" and cv2.cuda.getCudaEnabledDeviceCount() > 0)
    video = cv2.VideoCapture(options.source)
    ok, frame = video.read()
    if not ok:
        sys.exit(f"error: cannot read {options.source}")
    device = cv2.cuda.GpuMat()

    def on_engine(picture):
        if not cuda:
            return picture
        device.upload(picture)
        return device

    tracker = cv2.cuda.MultiTrackerTLD.create()
    for box in options.box:
        tracker.add(on_engine(frame), box)
    writer = cv2.VideoWriter(options.target, cv2.CAP_OPENCV_MJPEG, cv2.VideoWriter_fourcc(*"MJPG"), 25, frame.shape[1::-1])
    if not writer.isOpened():
        sys.exit(f"error: cannot write {options.target}")
    count, located = 0, 0
    while not options.frames or count < options.frames:
        ok, frame = video.read()
        if not ok:
            break
        results = tracker.update(on_engine(frame))
        if cuda:
            results = results.download()
        count += 1
        located += int(results[:, 6].sum())
        draw(frame, tracker, results)
        writer.write(frame)
    writer.release()
    if not count:
        sys.exit(f"error: {options.source} has one frame only")
    print(f"{count} frames on the {'CUDA' if cuda else 'CPU'} engine, objects located {located} of {count * len(options.box)} "
          f"times, wrote {options.target}")


if __name__ == "__main__":
    try:
        main()
    except cv2.error as error:
        sys.exit(f"error: {error}")
