#!/usr/bin/env python3
"""Follows textured fragments from frame to frame of a video and draws their motion.

    fragment_matcher.py vtest.avi out.avi [frames]

Runs on a CUDA device where there is one. Needs a cv2 with the module cudatracking.
"""
import math
import sys

import cv2
import numpy as np

SIZE, RADIUS = 17, 14


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


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    video, limit = cv2.VideoCapture(sys.argv[1]), int(sys.argv[3]) if len(sys.argv) > 3 else 0
    cuda = cv2.cuda.getCudaEnabledDeviceCount() > 0
    params = cv2.cuda.FragmentMatcher.Params()
    params.subpixel = True
    matcher = cv2.cuda.FragmentMatcher.create(params)
    writer, previous, count = None, None, 0
    while limit == 0 or count < limit:
        ok, frame = video.read()
        if not ok:
            break
        picture = on_engine(frame, cuda)
        if previous is not None:
            regions = textured_regions(previous[0])
            matcher.cutFragments(previous[1], regions)
            # Areas are an N x 4 array of int32 (x, y, width, height), and lie where the frame lies.
            areas = np.array([(x - RADIUS, y - RADIUS, w + 2 * RADIUS, h + 2 * RADIUS) for x, y, w, h in regions], np.int32)
            matches = matcher.find(picture, on_engine(areas, cuda))
            canvas = (frame * 0.6).astype(np.uint8)
            for (x, y, w, h), match in zip(regions, matches):
                if len(match.locations) == 0 or match.confidence < 1.4:
                    continue
                (u, v), middle = match.refined[0], (x + w // 2, y + h // 2)
                end = (int(middle[0] + 4 * (u - x)), int(middle[1] + 4 * (v - y)))
                cv2.line(canvas, middle, end, colour(match.confidence), 2, cv2.LINE_AA)
            if writer is None:
                rate = video.get(cv2.CAP_PROP_FPS) or 25
                writer = cv2.VideoWriter(sys.argv[2], cv2.VideoWriter_fourcc(*"MJPG"), rate, frame.shape[1::-1])
            writer.write(canvas)
        previous, count = (frame, picture), count + 1
    if count < 2:
        sys.exit(f"fewer than two frames in {sys.argv[1]}")
    print(f"{count} frames on the {'CUDA' if cuda else 'CPU'} engine, wrote {sys.argv[2]}")


if __name__ == "__main__":
    main()
