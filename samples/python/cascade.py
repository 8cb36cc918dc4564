#!/usr/bin/env python3
"""Finds faces, and eyes inside of them, and draws both.

    cascade.py [--backend=auto|cpu|cuda] FOLDER_OF_CASCADES image.jpg out.jpg

FOLDER_OF_CASCADES is OpenCV's data folder. Runs on CUDA when there is a GPU, else on the CPU, with the same boxes, unless
a backend is named. Needs a cv2 with the module cudatracking.
"""
import os

import common

import cv2


def main():
    parser = common.make_parser(__doc__)
    parser.add_argument("folder", help="OpenCV's data folder, which has haarcascades in it")
    parser.add_argument("source", help="image")
    parser.add_argument("target", help="image to write")
    options = parser.parse_args()
    folder, source, target = options.folder, options.source, options.target
    common.refuse_overwriting(parser, source, target)
    cuda = common.use_cuda(options)
    host = common.read_image(source)
    faces, eyes = (cv2.cuda.CascadeClassifierEx.create(os.path.join(folder, "haarcascades", f"haarcascade_{name}.xml"))
                   for name in ("frontalface_default", "eye_tree_eyeglasses"))
    image = host
    if cuda:
        image = cv2.cuda.GpuMat()
        image.upload(host)
    found = faces.detectMultiScale(image, scaleFactor=1.1, minNeighbors=3)
    drawn = host.copy()
    for x, y, w, h in found:
        cv2.rectangle(drawn, (x, y, w, h), (60, 220, 60), 2)
        # A region is an image of its own: boxes count from its corner. The upper part of a face has the eyes.
        upper = cv2.cuda.GpuMat(image, (x, y, w, 6 * h // 10)) if cuda else image[y:y + 6 * h // 10, x:x + w]
        for ex, ey, ew, eh in eyes.detectMultiScale(upper):
            cv2.rectangle(drawn, (x + ex, y + ey, ew, eh), (220, 160, 40), 2)
    common.write_image(target, drawn)
    print(f"{len(found)} face{'' if len(found) == 1 else 's'} on the {'CUDA' if cuda else 'CPU'} backend, wrote {target}")


if __name__ == "__main__":
    common.run(main)
