#!/usr/bin/env python3
"""Prints the boxes of one of OpenCV's trackers, a line FRAME,X,Y,WIDTH,HEIGHT each, for follow.py.

    opencv_boxes.py [--tracker=MIL] --box=X,Y,WIDTH,HEIGHT video > boxes.csv
    opencv_boxes.py --tracker=Nano --backbone=FILE --head=FILE --box=X,Y,WIDTH,HEIGHT video | follow.py --boxes=- --propose video out.avi out.csv

These trackers report boxes also while the object is absent. With --propose they only say where to look, and the module says whether the object is
there. Needs a cv2 of any origin: opencv-python has MIL and Nano, opencv-contrib-python also CSRT and KCF. Nano needs two models that do not come
with OpenCV: nanotrack_backbone_sim.onnx and nanotrack_head_sim.onnx of NanoTrack.
"""
import argparse
import os
import sys

try:
    import cv2
except ImportError:
    sys.exit("error: cv2 cannot be imported: pip install opencv-contrib-python")

TRACKERS = ("MIL", "CSRT", "KCF", "Nano")
LEAST_SIDE = 8  # MIL never ends with boxes of a pixel


def box_of(text):
    try:
        box = tuple(int(part) for part in text.split(","))
    except ValueError:
        box = ()
    if len(box) != 4 or min(box[2:]) < LEAST_SIDE:
        raise argparse.ArgumentTypeError(f"{text!r}: x,y,width,height is needed, width and height of {LEAST_SIDE} pixels at least")
    return box


def tracker_of(options):
    make = getattr(cv2, f"Tracker{options.tracker}_create", None)
    if make is None:
        raise ValueError(f"--tracker={options.tracker}: this cv2 ({cv2.__version__}) does not have it")
    if options.tracker != "Nano":
        return make()
    for name in (options.backbone, options.head):
        if not os.path.isfile(name):
            raise ValueError(f"{name}: there is no such file")
    models = cv2.TrackerNano_Params()
    models.backbone, models.neckhead = options.backbone, options.head
    try:
        return make(models)
    except cv2.error as error:
        raise ValueError(f"{options.backbone}, {options.head}: {error.err}") from None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("--tracker", choices=TRACKERS, default="MIL", help="default: MIL")
    parser.add_argument("--backbone", help="model of Nano")
    parser.add_argument("--head", help="model of Nano")
    parser.add_argument("--box", type=box_of, required=True, help="X,Y,WIDTH,HEIGHT in the first frame")
    parser.add_argument("video", help="video of any format that this cv2 reads")
    options = parser.parse_args()
    if (bool(options.backbone), bool(options.head)) != (options.tracker == "Nano",) * 2:
        parser.error("--tracker=Nano needs --backbone and --head, other trackers take none")
    tracker, source = tracker_of(options), cv2.VideoCapture(options.video)
    there, image = source.read()
    if not there:
        raise ValueError(f"{options.video}: there is no frame")
    x, y, width, height = options.box
    if x < 0 or y < 0 or x + width > image.shape[1] or y + height > image.shape[0]:
        raise ValueError(f"--box={x},{y},{width},{height}: is not inside of the first frame, which has {image.shape[1]} x {image.shape[0]} pixels")
    tracker.init(image, options.box)
    found, box, number = True, options.box, 0
    while there:
        print(",".join(str(value) for value in ((number, *box) if found else (number,))), flush=True)
        there, image = source.read()
        number += 1
        if there:
            found, box = tracker.update(image)


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:  # the reader has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    except (cv2.error, OSError, ValueError) as error:
        sys.exit(f"error: {error}")
