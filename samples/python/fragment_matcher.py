#!/usr/bin/env python3
"""Follows textured fragments from frame to frame of a video and draws their motion.

    fragment_matcher.py vtest.avi out.avi [frames]

Runs on a CUDA device where there is one. Needs a cv2 with the module cudatracking.
"""
import argparse
import math
import sys

import cv2
import numpy as np

SIZE, RADIUS = 17, 14


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("video", help="video that cv2.VideoCapture() takes")
    parser.add_argument("out", help="video to write, MJPEG in .avi")
    parser.add_argument("frames", type=int, nargs="?", default=0, help="stop after so many frames (default 0: all)")
    parser.add_argument("--engine", choices=("auto", "cpu", "cuda"), default="auto", help="default: cuda where there is a device")
    return parser.parse_args()


def textured_regions(frame, count=600):
    corners = cv2.goodFeaturesToTrack(cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY), count, 0.002, SIZE * 0.7)
    height, width = frame.shape[:2]
    regions = []
    for x, y in corners.reshape(-1, 2) if corners is not None else ():
        left, top = int(x) - SIZE // 2, int(y) - SIZE // 2
        if left >= 0 and top >= 0 and left + SIZE <= width and top + SIZE <= height:
            regions.append((left, top, SIZE, SIZE))
    return regions


def colour(confidence):
    """Red (no surer than a guess) over yellow to green."""
    t = min(1., math.log(max(confidence, 1.)) / math.log(4.))
    return (40, 40 + 400 * min(t, 0.5), 240 - 400 * max(t - 0.5, 0.))


def on_engine(array, cuda):
    if not cuda:
        return array
    mat = cv2.cuda.GpuMat()
    mat.upload(array)
    return mat


def find_and_draw(matcher, previous, frame, picture, cuda):
    """Motion of the previous frame's fragments, drawn on the frame."""
    canvas, regions = (frame * 0.6).astype(np.uint8), textured_regions(previous[0])
    if not regions:
        return canvas
    matcher.cutFragments(previous[1], regions)
    # Areas are an N x 4 array of int32 (x, y, width, height), and lie where the frame lies.
    areas = np.array([(x - RADIUS, y - RADIUS, w + 2 * RADIUS, h + 2 * RADIUS) for x, y, w, h in regions], np.int32)
    for (x, y, w, h), match in zip(regions, matcher.find(picture, on_engine(areas, cuda))):
        if len(match.locations) == 0 or match.confidence < 1.4:
            continue
        (u, v), middle = match.refined[0], (x + w // 2, y + h // 2)
        end = (int(middle[0] + 4 * (u - x)), int(middle[1] + 4 * (v - y)))
        cv2.line(canvas, middle, end, colour(match.confidence), 2, cv2.LINE_AA)
    return canvas


def main():
    options = arguments()
    video = cv2.VideoCapture(options.video)
    if not video.isOpened():
        sys.exit(f"error: cannot open the video {options.video}")
    cuda = options.engine == "cuda" or (options.engine == "auto" and cv2.cuda.getCudaEnabledDeviceCount() > 0)
    params = cv2.cuda.FragmentMatcher.Params()
    params.subpixel = True
    # The host cannot see areas on the device: without a bound they are taken to be as large as the frame, which is slow.
    params.maxSearchArea = (SIZE + 2 * RADIUS, SIZE + 2 * RADIUS)
    matcher = cv2.cuda.FragmentMatcher.create(params)
    writer, previous, count = None, None, 0
    while options.frames == 0 or count < options.frames:
        ok, frame = video.read()
        if not ok:
            break
        picture = on_engine(frame, cuda)
        if previous is not None:
            canvas = find_and_draw(matcher, previous, frame, picture, cuda)
            if writer is None:
                rate = video.get(cv2.CAP_PROP_FPS) or 25
                writer = cv2.VideoWriter(options.out, cv2.VideoWriter_fourcc(*"MJPG"), rate, frame.shape[1::-1])
                if not writer.isOpened():
                    sys.exit(f"error: cannot write {options.out}")
            writer.write(canvas)
        previous, count = (frame, picture), count + 1
    if count < 2:
        sys.exit(f"error: fewer than two frames in {options.video}")
    writer.release()
    print(f"{count} frames on the {'CUDA' if cuda else 'CPU'} engine, wrote {options.out}")


if __name__ == "__main__":
    try:
        main()
    except cv2.error as error:
        sys.exit(f"error: {error}")
