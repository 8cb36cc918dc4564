#!/usr/bin/env python3
"""Follows everything that a cascade finds: the cascade detects in one of several frames, MultiTracker tracks in between.

    follow.py [--cascade=NAME] [--every=N] [--frames=N] [--device=auto] video.avi out.avi out.csv
    follow.py --boxes=FILE [--propose] [--frames=N] [--device=auto] video.avi out.avi out.csv

Needs the package cudatracking, whose OpenCV reads and writes MJPEG videos (.avi). Draws ids and states into the video, and writes a row
for each object and frame. Ctrl-C leaves the video up to there, and no table.

--boxes: the boxes of any other program instead of a cascade's, a CSV file or - for standard input. Lines FRAME,X,Y,WIDTH,HEIGHT in the order of
frames, the first frame is 0; FRAME alone: it found nothing; a frame without a line: it did not run.
--propose: these boxes are not reliable. Those of the first frame that has any start all objects, later ones only propose places, which must be
similar to the object.
"""
import argparse
import csv
import math
import os
import sys

import cudatracking as ct

COLORS = ((60, 220, 60), (220, 160, 40), (40, 120, 250), (220, 60, 200), (60, 220, 220))
COLUMNS = ("id", "x", "y", "width", "height", "score", "state", "located", "learned", "event", "box")


def whole(text):
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) < 2**31:
        raise argparse.ArgumentTypeError(f"{text!r}: a whole number from 1 to {2**31 - 1} is needed")
    return int(text)


class BoxList:
    """Boxes of a file or of standard input, read as their frames come."""

    def __init__(self, name):
        self._lines = csv.reader(sys.stdin if name == "-" else open(name, newline="", encoding="utf-8-sig"))
        self._name = name
        self._next()
        if self._frame is None:  # what should have written it may have failed
            raise ValueError(f"{name}: there is no box")

    def _next(self):
        for line in self._lines:
            if not line or (self._lines.line_num == 1 and line[0][:1].isalpha()):
                continue
            try:
                if 1 < len(line) < 5:
                    raise ValueError("FRAME,X,Y,WIDTH,HEIGHT or FRAME is needed")
                self._frame, self._box = int(line[0]), [float(value) for value in line[1:5]]
                if not all(map(math.isfinite, self._box)) or min(self._box[2:], default=1) <= 0:
                    raise ValueError(f"{','.join(line[1:5])}: finite numbers and a size above 0 are needed")
            except ValueError as error:
                raise ValueError(f"{self._name}, line {self._lines.line_num}: {error}") from None
            return
        self._frame, self._box = None, []

    def of(self, frame):
        """Boxes of a frame, or None where there is no line; frames are asked for one after the other."""
        boxes = None
        while self._frame is not None and self._frame <= frame:
            if self._frame < frame:
                raise ValueError(f"{self._name}, line {self._lines.line_num}: frames must be in ascending order from 0 on")
            boxes = boxes or []
            if self._box:
                boxes.append(self._box)
            self._next()
        return boxes


def label(image, text, x, y, color):
    """Text on a dark ground, so that it can be read on any image."""
    font, scale = ct.cv2.FONT_HERSHEY_SIMPLEX, .45
    (width, height), base = ct.cv2.getTextSize(text, font, scale, 1)
    x, y = max(min(x, image.shape[1] - width - 1), 1), max(min(y, image.shape[0] - base), height + 2)
    ct.cv2.rectangle(image, (x - 1, y - height - 2), (x + width, y + base - 2), (20, 20, 20), ct.cv2.FILLED)
    ct.cv2.putText(image, text, (x, y), font, scale, color, 1, ct.cv2.LINE_AA)


def draw(image, tracks):
    """Draws located objects with a box; of the others, whose place is not certain, only the state, until they are lost."""
    line = 0
    for one in tracks:
        color = COLORS[int(one["id"]) % len(COLORS)]
        state, event = ct.State(one["state"]).name.lower(), ct.Event(one["event"]).name.lower().replace("_", " ")
        if one["located"]:
            x, y, width, height = (round(float(one[name])) for name in ("x", "y", "width", "height"))
            ct.cv2.rectangle(image, (x, y), (x + width, y + height), color, 2)
            label(image, str(one["id"]), x + 1, y + 12, color)
        if one["event"] != ct.Event.NO_EVENT:
            label(image, f"{one['id']}: {state}, {event}", 6, 16 + 16 * line, color)
            line += 1


def follow(source, boxes_of, tracker, options, part):
    """Writes the video and the table, the latter as `part`; returns the number of frames. boxes_of(image, number): boxes of a frame, or None."""
    rate = source.get(ct.cv2.CAP_PROP_FPS)
    writer, number = None, 0
    with open(part, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(("frame", *COLUMNS))
        try:
            while options.frames is None or number < options.frames:
                there, image = source.read()
                if not there:
                    break
                boxes = boxes_of(image, number)
                if options.propose and not tracker.ids:
                    for box in boxes or ():
                        tracker.add(image, box)
                tracks = tracker.update(image, boxes)
                table.writerows((number, *(one[name].item() for name in COLUMNS)) for one in tracks)
                draw(image, tracks)
                if writer is None:
                    height, width = image.shape[:2]
                    writer = ct.cv2.VideoWriter(options.out_video, ct.cv2.CAP_OPENCV_MJPEG, ct.cv2.VideoWriter_fourcc(*"MJPG"), rate if rate > 0 else 25., (width, height))
                    if not writer.isOpened():
                        sys.exit(f"error: cannot write {options.out_video}")
                writer.write(image)
                number += 1
        finally:
            if writer:
                writer.release()  # a video that is ended by Ctrl-C can be played
    if writer is None:
        sys.exit(f"error: {options.video}: there is no frame")
    if options.propose and not tracker.ids:
        raise ValueError(f"--boxes={options.boxes}: no box of the frames that were read")
    return number


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("--cascade", help="name or file, default: frontalface_alt")
    parser.add_argument("--every", type=whole, help="the cascade detects in one of so many frames, default 5")
    parser.add_argument("--boxes", help="file of boxes instead of a cascade's, - for standard input")
    parser.add_argument("--propose", action="store_true", help="boxes only propose places; needs --boxes")
    parser.add_argument("--frames", type=whole, default=None, help="stop after so many frames")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:<number>, default: auto")
    parser.add_argument("video", help="MJPEG video, .avi")
    parser.add_argument("out_video", help="annotated video, .avi")
    parser.add_argument("out_table", help="CSV, written completely or not at all")
    options = parser.parse_args()
    if options.propose and not options.boxes:
        parser.error("--propose needs --boxes")
    if options.boxes and (options.cascade or options.every):
        parser.error("--cascade and --every are not for --boxes")
    for name in (options.out_video, options.out_table):
        if os.path.exists(name) and not os.path.isfile(name):
            parser.error(f"{name}: is no file that can be written anew")
        if any(other and os.path.exists(other) and os.path.exists(name) and os.path.samefile(name, other) for other in (options.video, options.boxes)):
            parser.error(f"{name}: is read, and would be overwritten")
    if os.path.abspath(options.out_video) == os.path.abspath(options.out_table):
        parser.error(f"{options.out_table}: is the video, too")
    if options.boxes:
        found = BoxList(options.boxes)
        boxes_of = lambda _, number: found.of(number)
    else:
        faces = ct.CascadeClassifier(options.cascade or "frontalface_alt", device=options.device)
        boxes_of = lambda image, number: faces.detect(image) if number % (options.every or 5) == 0 else None
    uses = {"verify_boxes": True} if options.propose else {"correct_by_boxes": True, "start_from_boxes": True, "end_after_misses": 20}
    tracker = ct.MultiTracker(device=options.device, min_reply_score=.5, clip_boxes=True, find_by_boxes=True, **uses)
    source = ct.cv2.VideoCapture(options.video)
    if not source.isOpened():
        sys.exit(f"error: {options.video}: " + ("is no MJPEG video in .avi, and the OpenCV of the package reads no others (ffmpeg -i VIDEO -c:v mjpeg -q:v 2 out.avi "
                                                "makes one)" if os.path.exists(options.video) else "there is no such file"))
    part = options.out_table + ".part"
    try:
        number = follow(source, boxes_of, tracker, options, part)
        os.replace(part, options.out_table)
    finally:
        if os.path.exists(part):
            os.remove(part)
    print(f"{number} frames, {len(tracker)} object{'' if len(tracker) == 1 else 's'} at the end; wrote {options.out_video} and {options.out_table}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
    except (ct.error, OSError, ValueError, TypeError) as error:
        sys.exit(f"error: {error}")
