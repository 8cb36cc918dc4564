#!/usr/bin/env python3
"""Finds faces, and eyes inside of them, and draws both.

    cascade.py FOLDER_OF_CASCADES picture.jpg out.jpg

FOLDER_OF_CASCADES is OpenCV's data folder. Runs on the CPU engine. Needs a cv2 with the module cudatracking.
"""
import sys

import cv2


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    folder, source, target = sys.argv[1:]
    picture = cv2.imread(source)
    if picture is None:
        sys.exit(f"cannot read {source}")
    faces = cv2.cuda.CascadeClassifierEx.create(f"{folder}/haarcascades/haarcascade_frontalface_alt.xml")
    eyes = cv2.cuda.CascadeClassifierEx.create(f"{folder}/haarcascades/haarcascade_eye_tree_eyeglasses.xml")
    found = faces.detectMultiScale(picture, scaleFactor=1.1, minNeighbors=3)
    for x, y, w, h in found:
        cv2.rectangle(picture, (x, y, w, h), (60, 220, 60), 2)
        # A region is a picture of its own: boxes count from its corner. The upper part of a face has the eyes.
        for ex, ey, ew, eh in eyes.detectMultiScale(picture[y:y + 6 * h // 10, x:x + w]):
            cv2.rectangle(picture, (x + ex, y + ey, ew, eh), (220, 160, 40), 2)
    if not cv2.imwrite(target, picture):
        sys.exit(f"cannot write {target}")
    print(f"{len(found)} faces, wrote {target}")


if __name__ == "__main__":
    main()
