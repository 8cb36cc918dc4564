#!/usr/bin/env python3
"""Inverts an image.

    new_algorithm.py home.jpg output_folder

Needs a cv2 with the module cudatracking.
"""
import os

import common

import cv2


def main():
    parser = common.make_parser(__doc__)
    parser.add_argument("image", help="any image that cv2.imread() takes")
    parser.add_argument("folder", help="where inverse.png goes; is made where it is missing")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    gray = cv2.cvtColor(common.read_image(options.image), cv2.COLOR_BGR2GRAY)
    path = os.path.join(options.folder, "inverse.png")
    common.write_image(path, cv2.cuda.NewAlgorithm.create().compute(gray))
    print("wrote", path)


if __name__ == "__main__":
    main()
