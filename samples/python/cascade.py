#!/usr/bin/env python3
"""Finds faces, and eyes inside of them, and draws both.

    cascade.py [--engine=auto|cpu|cuda] FOLDER_OF_CASCADES picture.jpg out.jpg

FOLDER_OF_CASCADES is OpenCV's data folder. Runs on CUDA when there is a GPU, else on the CPU, with the same boxes, unless
an engine is named. Needs a cv2 with the module cudatracking.
"""
import argparse
import sys

import cv2


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=("auto", "cpu", "cuda"), default="auto", help="default: cuda where there is a device")
    parser.add_argument("folder", help="OpenCV's data folder")
    parser.add_argument("source", help="picture to look at")
    parser.add_argument("target", help="picture to write")
    options = parser.parse_args()
    folder, source, target = options.folder, options.source, options.target
    cuda = options.engine == "cuda" or (options.engine == "auto" and cv2.cuda.getCudaEnabledDeviceCount() > 0)
    picture = cv2.imread(source)
    if picture is None:
        sys.exit(f"error: cannot read {source}")
    faces = cv2.cuda.CascadeClassifierEx.create(f"{folder}/haarcascades/haarcascade_frontalface_alt.xml")
    eyes = cv2.cuda.CascadeClassifierEx.create(f"{folder}/haarcascades/haarcascade_eye_tree_eyeglasses.xml")
    image = picture
    if cuda:
        image = cv2.cuda.GpuMat()
        image.upload(picture)
    found = faces.detectMultiScale(image, scaleFactor=1.1, minNeighbors=3)
    drawn = picture.copy()
    for x, y, w, h in found:
        cv2.rectangle(drawn, (x, y, w, h), (60, 220, 60), 2)
        # A region is a picture of its own: boxes count from its corner. The upper part of a face has the eyes.
        upper = cv2.cuda.GpuMat(image, (x, y, w, 6 * h // 10)) if cuda else image[y:y + 6 * h // 10, x:x + w]
        for ex, ey, ew, eh in eyes.detectMultiScale(upper):
            cv2.rectangle(drawn, (x + ex, y + ey, ew, eh), (220, 160, 40), 2)
    if not cv2.imwrite(target, drawn):
        sys.exit(f"error: cannot write {target}")
    print(f"{len(found)} faces on the {'CUDA' if cuda else 'CPU'} engine, wrote {target}")


if __name__ == "__main__":
    try:
        main()
    except cv2.error as error:
        sys.exit(f"error: {error}")
