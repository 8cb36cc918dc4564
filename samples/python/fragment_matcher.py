#!/usr/bin/env python3
"""Follows textured fragments from frame to frame of a video and draws their motion.

    fragment_matcher.py vtest.avi out.avi [frames]

Runs on a CUDA device where there is one. Needs a cv2 with the module cudatracking.
"""
import math

import common

import cv2
import numpy as np

SIZE, RADIUS = 17, 14


def arguments():
    parser = common.make_parser(__doc__)
    parser.add_argument("video", help=common.VIDEO_HELP)
    parser.add_argument("out", help="video to write: MJPEG in .avi, or .mp4 where there is FFmpeg")
    parser.add_argument("frames", type=common.number(int, 0, common.INT_MAX), nargs="?", default=0, help="stop after so many frames (default 0: all)")
    options = parser.parse_args()
    common.refuse_overwriting(parser, options.video, options.out)
    return options


def textured_regions(frame, count=600):
    """The most textured place of each cell of a grid of about so many cells, where there is texture at all."""
    texture = cv2.cornerMinEigenVal(cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY), 5)
    height, width = texture.shape
    cell, half = max(4, round(math.sqrt(width * height / count))), SIZE // 2
    least, regions = 0.1 * texture.mean(), []
    for y in range(half, height - half - cell + 1, cell):
        for x in range(half, width - half - cell + 1, cell):
            _, best, _, at = cv2.minMaxLoc(texture[y:y + cell, x:x + cell])
            left, top = x + at[0] - half, y + at[1] - half
            if best > least and left + SIZE <= width and top + SIZE <= height:
                regions.append((left, top, SIZE, SIZE))
    return regions


def colour(confidence):
    """Red (no surer than a guess) over yellow to green."""
    t = min(1., math.log(max(confidence, 1.)) / math.log(4.))
    return (40, 40 + 400 * min(t, 0.5), 240 - 400 * max(t - 0.5, 0.))


def on_backend(array, cuda):
    if not cuda:
        return array
    mat = cv2.cuda.GpuMat()
    mat.upload(array)
    return mat


def find_and_draw(matcher, previous, frame, image, cuda):
    """Motion of the previous frame's fragments, drawn on the frame."""
    canvas, regions = (frame * 0.6).astype(np.uint8), textured_regions(previous[0])
    if not regions:
        return canvas
    matcher.cutFragments(previous[1], regions)
    # Areas are an N x 4 array of int32 (x, y, width, height), and lie where the frame lies.
    areas = np.array([(x - RADIUS, y - RADIUS, w + 2 * RADIUS, h + 2 * RADIUS) for x, y, w, h in regions], np.int32)
    for (x, y, w, h), match in zip(regions, matcher.find(image, on_backend(areas, cuda))):
        if len(match.locations) == 0 or match.confidence < 1.4:
            continue
        (u, v), middle = match.refined[0], (x + w // 2, y + h // 2)
        end = (int(middle[0] + 4 * (u - x)), int(middle[1] + 4 * (v - y)))
        cv2.line(canvas, middle, end, colour(match.confidence), 2, cv2.LINE_AA)
    return canvas


def main():
    options = arguments()
    video = common.Source(options.video)
    cuda = common.use_cuda(options)
    params = cv2.cuda.FragmentMatcher.Params()
    params.subpixel = True
    # The host cannot see areas on the device: without a bound they are taken to be as large as the frame, which is slow.
    params.maxSearchArea = (SIZE + 2 * RADIUS, SIZE + 2 * RADIUS)
    matcher = cv2.cuda.FragmentMatcher.create(params)
    previous, count = None, 0
    progress = common.Progress(min(options.frames, video.count) or max(options.frames, video.count))
    with common.Video(options.out, video.rate) as out:
        while options.frames == 0 or count < options.frames:
            frame = video.read()
            if frame is None:
                break
            image = on_backend(frame, cuda)
            if previous is not None:
                out.write(find_and_draw(matcher, previous, frame, image, cuda))
            previous, count = (frame, image), count + 1
            progress.step()
        if count < 2:
            raise common.NoFrames(f"fewer than two frames in {options.video}")
    print(f"{count} frames on the {'CUDA' if cuda else 'CPU'} backend, wrote {options.out}")


if __name__ == "__main__":
    common.run(main)
