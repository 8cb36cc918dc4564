#!/usr/bin/env python3
"""Tracks objects in a video and draws where they are, how sure the tracker is, and what it has learned.

    tld.py [--backend=auto|cpu|cuda] [--frames=N] video.avi out.avi x,y,width,height [x,y,width,height ...]

Boxes are those of the first frame. Runs on CUDA when there is a GPU, else on the CPU, with the same boxes, unless a backend
is named. Needs a cv2 with the module cudatracking.
"""
import argparse

import common

import cv2

X, HEIGHT, SCORE, STATE, LOCATED = (getattr(cv2.cuda, f"TrackerTLD_RESULT_{name}") for name in ("X", "HEIGHT", "SCORE", "STATE", "LOCATED"))
COLOURS = {cv2.cuda.TrackerTLD_UNCERTAIN: (30, 190, 250), cv2.cuda.TrackerTLD_TRACKING: (60, 220, 60)}


def box_of(text):
    parts = text.split(",")
    if len(parts) != 4:
        raise argparse.ArgumentTypeError(f"{text!r}: x,y,width,height is needed")
    place, side = common.number(int, -common.INT_MAX, common.INT_MAX), common.number(int, 1, common.INT_MAX)
    return tuple(kind(part) for kind, part in zip((place, place, side, side), parts))


def draw(image, tracker, results):
    for row, (object_id, result) in enumerate(zip(tracker.getIds(), results)):
        x, y, w, h = (round(v) for v in result[X:HEIGHT + 1])
        state = int(result[STATE])
        if state != cv2.cuda.TrackerTLD_LOST:
            cv2.rectangle(image, (x, y, w, h), COLOURS[state], 2 if result[LOCATED] else 1)
            common.draw_label(image, f"{object_id}: {result[SCORE]:.2f}", x, y - 6, COLOURS[state])
        # The newest templates, one object per row.
        templates = tracker.getTemplates(object_id, True)
        for column, first in enumerate(range(max(0, len(templates) - 5 * 15), len(templates), 15)):
            small = cv2.cvtColor(templates[first:first + 15], cv2.COLOR_GRAY2BGR)
            top, left = 2 + 17 * row, 2 + 17 * column
            if top + 15 <= image.shape[0] and left + 15 <= image.shape[1]:
                image[top:top + 15, left:left + 15] = small


def main():
    parser = common.make_parser(__doc__)
    parser.add_argument("--frames", type=common.number(int, 0, common.INT_MAX), default=0, help="stop after so many frames (default 0: all)")
    parser.add_argument("source", help=common.VIDEO_HELP)
    parser.add_argument("target", help="video to write: MJPEG in .avi, or .mp4 where there is FFmpeg")
    parser.add_argument("box", type=box_of, nargs="+", help="x,y,width,height in the first frame")
    options = parser.parse_args()
    common.refuse_overwriting(parser, options.source, options.target)
    cuda = common.use_cuda(options)
    video = common.Source(options.source)
    frame = video.read()
    if frame is None:
        raise common.NoFrames(f"cannot read a frame of {options.source}")
    device = cv2.cuda.GpuMat()

    def on_backend(image):
        if not cuda:
            return image
        device.upload(image)
        return device

    tracker = cv2.cuda.MultiTrackerTLD.create()
    for box in options.box:
        tracker.add(on_backend(frame), box)
    count, located = 0, 0
    progress = common.Progress(min(options.frames, video.count - 1) if options.frames and video.count else options.frames or max(video.count - 1, 0))
    with common.Video(options.target, video.rate) as out:
        while not options.frames or count < options.frames:
            frame = video.read()
            if frame is None:
                break
            results = tracker.update(on_backend(frame))
            if cuda:
                results = results.download()
            count += 1
            located += int(results[:, LOCATED].sum())
            draw(frame, tracker, results)
            out.write(frame)
            progress.step()
        if not count:
            raise common.NoFrames(f"{options.source} has one frame only")
    print(f"{count} frames on the {'CUDA' if cuda else 'CPU'} backend, objects located {located} of {count * len(options.box)} "
          f"times, wrote {options.target}")


if __name__ == "__main__":
    common.run(main)
