#!/usr/bin/env python3
"""Motion between two images in the windows of a grid: particles in a flow, ice, ground. Two passes; the output image shows vectors.

    motion.py [--size=32] [--reach=12] [--min-score=0] [--openpiv] [--pixel=1] [--dt=1] [--arrow=4] [--relative] [--device=auto]
              first second out.png out.csv

Pass 1 searches windows of SIZE pixels, which overlap by half, at most REACH pixels away. Pass 2 searches windows of half the size, at most 3
pixels from the motion of pass 1. Wrong vectors are those at the limit of their search area and those with a score below --min-score, which can
have a number for each pass, as in .2,.3. With --openpiv the package OpenPIV also finds those that differ from their neighbours, by the
normalised median test, and replaces wrong ones, after each pass. --device=cuda needs torch: both passes stay on the device, without --openpiv as
one CUDA graph. Images have 8 or 16 bits; color is turned into gray. TIFF is read by the package Pillow.

In the image arrows are ARROW times as long as the motion, with --relative as the motion minus its median; wrong ones are red. The table has
a row for each window of pass 2:
    x, y         centre of the window in the first image, pixels from the top-left corner
    u, v         motion from the first image to the second one, pixels, to the right and down; nan where there is none
    vx, vy       velocity, to the right and down: u and v times PIXEL / DT
    score        correlation of the match, -1 to 1; with replaced vectors that of the wrong match
    good         1; 0 for wrong vectors, which --openpiv has replaced
Needs the package cudatracking.
"""
import argparse
import csv
import dataclasses
import os
import sys

import numpy as np

import cudatracking as ct

FINE_REACH = 3


class TwoPasses:
    """Two passes over images of one size, on the host or on a device. `between` makes two arrays u and v, where the images are, of the field of
    pass 1; None: they are used as they are."""

    def __init__(self, shape, size, reach, device, between=None, to_device=lambda array: array):
        named = {"metric": "zncc", "subpixel": True, "subpixel_fit": "gaussian", "peaks": 1, "device": device}
        self.shape, self.size, self.between = shape, size, between
        coarse = ct.windows(shape, size, size // 2, reach)
        self.coarse = dataclasses.replace(coarse, areas=to_device(coarse.areas))
        self.first = ct.FragmentMatcher(max_search_area=size + 2 * reach, **named)
        self.second = ct.FragmentMatcher(max_search_area=size // 2 + 2 * FINE_REACH, **named)

    def run(self, before, after):
        """The windows of pass 2, and the motion in them."""
        self.first.cut(before, self.coarse.regions)
        motion = self.first.match(after, self.coarse.areas).field(self.coarse)
        fine = ct.windows(self.shape, self.size // 2, self.size // 4, FINE_REACH, offset=self.between(motion) if self.between else motion)
        self.second.cut(before, fine.regions)
        return fine, self.second.match(after, fine.areas).field(fine)


def on_device(before, after, size, reach, between):
    """Both passes on the device; if nothing is done between them as a graph of torch: for each further pair copy the images to `one` and
    `other`, and replay it."""
    import torch
    put = lambda array: torch.from_numpy(np.ascontiguousarray(array)).cuda()  # noqa: E731
    host = lambda field: ct.Field(*(part.numpy() for part in field))  # noqa: E731
    one, other = put(before), put(after)
    passes = TwoPasses(before.shape, size, reach, "cuda", between and (lambda motion: [put(part) for part in between(host(motion))]), put)
    grid, field = passes.run(one, other)  # the first call allocates memory
    if not between:
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            grid, field = passes.run(one, other)
        graph.replay()
        torch.cuda.synchronize()
    return grid, host(field)


def gray(name):
    """The image of a file with the depth that it has there; None if it cannot be read. The OpenCV of the package reads no TIFF."""
    image = ct.cv2.imread(name, ct.cv2.IMREAD_ANYDEPTH)
    if image is None and name.lower().endswith((".tif", ".tiff")) and os.path.exists(name):
        try:
            from PIL import Image
        except ImportError:
            sys.exit(f"error: {name}: TIFF needs the package Pillow")
        with Image.open(name) as file:
            image = np.asarray(file if file.mode[0] in "IF" else file.convert("L"))
        image = image.astype(image.dtype.newbyteorder("="))
    return image


def is_good(field, min_score):
    return field.valid.astype(bool) & (field.score >= min_score)


def validated(field, good):
    """The field with wrong vectors replaced by means of their neighbours, and a mask of right ones."""
    from openpiv import filters, validation
    u, v = np.where(good, field.u, np.nan), np.where(good, field.v, np.nan)
    wrong = ~good | validation.local_norm_median_val(u, v, .1, 2., size=1)
    u, v = filters.replace_outliers(u, v, wrong, method="localmean", max_iter=5, kernel_size=2)[:2]
    return np.asarray(u, np.float32), np.asarray(v, np.float32), ~wrong


def drawn(image, grid, u, v, good, arrow):
    if image.dtype != np.uint8:  # cameras seldom use all 16 bits
        image = ct.cv2.convertScaleAbs(image, alpha=255 / max(1, np.percentile(image, 99.5)))
    scale = max(1, round(1400 / image.shape[1]))
    made = ct.cv2.cvtColor(ct.cv2.resize(image, None, fx=scale, fy=scale, interpolation=ct.cv2.INTER_CUBIC), ct.cv2.COLOR_GRAY2BGR) // 2
    for (x, y, width, height), dx, dy, right in zip(grid.regions.tolist(), u.ravel(), v.ravel(), good.ravel()):
        if np.isfinite(dx) and np.isfinite(dy):
            start = np.array([x + width / 2, y + height / 2]) * scale
            end = start + np.array([dx, dy]) * scale * arrow
            color = (90, 255, 120) if right else (60, 60, 255)
            ct.cv2.arrowedLine(made, tuple(int(part) for part in start.round()), tuple(int(part) for part in end.round()), color, 1, ct.cv2.LINE_AA, tipLength=.3)
    return made


def write_table(name, grid, field, u, v, good, velocity):
    with open(name + ".part", "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(("x", "y", "u", "v", "vx", "vy", "score", "good"))
        for i, (x, y, width, height) in enumerate(grid.regions.tolist()):
            numbers = (part.flat[i] for part in (u, v, u * velocity, v * velocity, field.score))
            table.writerow((x + width / 2, y + height / 2, *(f"{number:.6g}" for number in numbers), int(good.flat[i])))
    os.replace(name + ".part", name)


def between(least, most, kind=float):
    def number(text):
        try:
            value = kind(text)
        except ValueError:
            value = least - 1
        if not least <= value <= most:  # NaN, too
            raise argparse.ArgumentTypeError(f"{text!r}: a {'whole ' if kind is int else ''}number from {least} to {most} is needed")
        return value
    return number


def of_passes(text):
    """One number for both passes, or one for each."""
    numbers = [between(-1, 1)(part) for part in text.split(",")]
    if len(numbers) > 2:
        raise argparse.ArgumentTypeError(f"{text!r}: one number or two are needed")
    return numbers[0], numbers[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("--size", type=int, default=32, choices=(16, 32, 64, 128), help="side of the windows of pass 1, pixels, default 32")
    parser.add_argument("--reach", type=between(0, 32767, int), default=12, help="largest motion, pixels, default 12")
    parser.add_argument("--min-score", type=of_passes, default=(0., 0.), help="least score of right vectors, -1 to 1, or two: of pass 1 and pass 2; default 0")
    parser.add_argument("--pixel", type=between(1e-30, 1e30), default=1., help="size of a pixel in the plane of the motion, in the unit of length "
                        "that velocities are to have, default 1")
    parser.add_argument("--dt", type=between(1e-30, 1e30), default=1., help="time from the first image to the second one, in the unit of time that velocities "
                        "are to have, default 1")
    parser.add_argument("--arrow", type=between(0, 1000), default=4., help="length of arrows, times the motion, default 4")
    parser.add_argument("--relative", action="store_true", help="draw the motion minus its median")
    parser.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"), help="default: auto")
    parser.add_argument("--openpiv", action="store_true", help="find vectors that differ from their neighbours, and replace wrong ones, by OpenPIV, "
                        "after each pass")
    for name, words in (("first", "image"), ("second", "image of the same size"), ("out_image", "image with vectors"), ("out_table", "CSV")):
        parser.add_argument(name, help=words)
    options = parser.parse_args()
    images = [gray(name) for name in (options.first, options.second)]
    for image, name in zip(images, (options.first, options.second)):
        if image is None:
            sys.exit(f"error: {name}: cannot be read")
        if (image.shape, image.dtype) != (images[0].shape, images[0].dtype):
            sys.exit(f"error: {name}: {image.shape[0]} rows x {image.shape[1]}, {image.dtype}; {options.first} has "
                     f"{images[0].shape[0]} x {images[0].shape[1]}, {images[0].dtype}")
    validation = (lambda motion: validated(motion, is_good(motion, options.min_score[0]))[:2]) if options.openpiv else None
    if options.device == "cuda":
        grid, field = on_device(*images, options.size, options.reach, validation)
    else:
        grid, field = TwoPasses(images[0].shape, options.size, options.reach, options.device, validation).run(*images)
    good = is_good(field, options.min_score[1])
    u, v, good = validated(field, good) if options.openpiv else (field.u, field.v, good)
    middle = (np.nanmedian(u), np.nanmedian(v)) if np.isfinite(u).any() else (np.nan, np.nan)
    shown = (u - middle[0], v - middle[1]) if options.relative else (u, v)
    if not ct.cv2.imwrite(options.out_image, drawn(images[0], grid, *shown, good, options.arrow)):
        sys.exit(f"error: cannot write {options.out_image}")
    write_table(options.out_table, grid, field, u, v, good, options.pixel / options.dt)
    print(f"{grid.shape[0]} x {grid.shape[1]} vectors, {int(np.count_nonzero(good))} good, median motion ({middle[0]:.2f}, {middle[1]:.2f}) px; "
          f"wrote {options.out_image} and {options.out_table}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
    except (ct.error, ct.cv2.error, OSError, ValueError, TypeError, ImportError) as error:
        sys.exit(f"error: {error}")
