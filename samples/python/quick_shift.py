#!/usr/bin/env python3
"""Cuts an image into superpixels: their borders, mean colours and a table, and coarser to finer cuts of the same trees.

    quick_shift.py home.jpg output_folder

Runs on a CUDA device where there is one. Needs a cv2 with the module cudatracking.
"""
import csv
import os

import common

import cv2
import numpy as np


def arguments():
    parser = common.make_parser(__doc__)
    parser.add_argument("image", help="any image that cv2.imread() takes")
    parser.add_argument("folder", help="where <image>_borders.png, _mean.png, _cuts.png and .csv go; is made where it is missing")
    parser.add_argument("--number", type=common.number(int, 1, common.INT_MAX), help="about this many connected superpixels, with parameters for photographs; the options below do not count then")
    parser.add_argument("--sigma", type=common.number(float, 0.01, 341), default=6., help="kernel bandwidth, pixels (default %(default)s)")
    parser.add_argument("--max-dist", type=common.number(float, 0.01, 32767), default=10., help="largest distance to a parent (default %(default)s)")
    parser.add_argument("--scale", type=common.number(float, 0, 1e9), default=32 / 255, help="factor on the colours (default 32/255, the paper's)")
    parser.add_argument("--min-area", type=common.number(int, 1, common.INT_MAX), default=20, help="merge connected components of fewer pixels (default %(default)s)")
    options = parser.parse_args()
    options.stem = os.path.join(options.folder, os.path.splitext(os.path.basename(options.image))[0])
    common.refuse_overwriting(parser, options.image, *(options.stem + end for end in ("_borders.png", "_mean.png", "_cuts.png", ".csv")))
    return options


def downloaded(array):
    return array.download() if isinstance(array, cv2.cuda.GpuMat) else array


def mean_colours(image, labels):
    """Each pixel replaced by the mean of its superpixel; for labels of a cut, which getMeanColor() does not know."""
    flat, areas = labels.ravel(), np.bincount(labels.ravel())
    means = np.stack([np.bincount(flat, image[:, :, k].ravel()) / areas for k in range(3)], axis=1)
    return (means + 0.5).astype(np.uint8)[labels]


def write(path, image):
    common.write_image(path, image)
    print("wrote", path)


def main():
    options = arguments()
    image = common.read_image(options.image)
    os.makedirs(options.folder, exist_ok=True)
    cuda = common.use_cuda(options)

    def placed(pixels):
        """The pixels in the memory of the backend."""
        if not cuda:
            return pixels
        uploaded = cv2.cuda.GpuMat()
        uploaded.upload(pixels)
        return uploaded

    source = placed(image)
    if options.number:
        quick_shift = cv2.cuda.QuickShift.forSuperpixels()
        quick_shift.compute(placed(cv2.cvtColor(image, cv2.COLOR_BGR2Lab)))
    else:
        quick_shift = cv2.cuda.QuickShift.create(options.sigma, options.max_dist, options.scale)
        quick_shift.compute(source)
    print(f"{image.shape[1]} x {image.shape[0]} pixels on the {'CUDA' if cuda else 'CPU'} backend, "
          f"{quick_shift.getNumberOfSuperpixels()} superpixels")

    # Cuts: links longer than tau are cut, nothing is computed again. Merge heights say how many superpixels each tau gives.
    heights, counts = (downloaded(array) for array in quick_shift.getMergeHeights())
    if heights is None or len(heights) == 0:
        raise common.Failure("no pixel has a parent; try a larger --max-dist or a smaller --scale")
    cuts = []
    longest = quick_shift.getMaxDist()
    for tau in (longest, longest / 2, longest / 4):
        # The last height that is not above tau; below the first one each pixel is a superpixel.
        at = np.searchsorted(heights.ravel(), tau, side="right") - 1
        print(f"tau {tau:g}: {counts[at, 0] if at >= 0 else image.shape[0] * image.shape[1]} superpixels")
        cuts.append(mean_colours(image, downloaded(quick_shift.segment(tau))))
    write(options.stem + "_cuts.png", np.hstack(cuts))

    # 4-connected from here on: labels, borders, mean colours and statistics are those of the joined pieces.
    number = quick_shift.applyNumber(options.number) if options.number else quick_shift.enforceConnectivity(options.min_area)
    borders = image.copy()
    borders[downloaded(quick_shift.getLabelContourMask(thickLine=False)) == 255] = (0, 0, 255)
    write(options.stem + "_borders.png", borders)
    write(options.stem + "_mean.png", downloaded(quick_shift.getMeanColor(source)))
    areas, means, centroids, boxes = (downloaded(array).reshape(number, -1) for array in quick_shift.getStatistics(source))
    with common.written(options.stem + ".csv") as path, open(path, "w", newline="") as table:
        writer = csv.writer(table)
        writer.writerow("label,area,blue,green,red,centre_x,centre_y,box_x,box_y,box_width,box_height".split(","))
        for label in range(number):
            writer.writerow([label, areas[label, 0], *means[label], *centroids[label], *boxes[label]])
    print("wrote", options.stem + ".csv")
    print(f"{number} 4-connected superpixels of {areas.min()} to {areas.max()} pixels, median {np.median(areas):g}")


if __name__ == "__main__":
    common.run(main)
