#!/usr/bin/env python3
"""Decodes a video on the GPU, finds faces and follows an object in it, without a copy of pixels to the host.

    decode_on_gpu.py [--box=X,Y,WIDTH,HEIGHT] [--cascade=NAME] [--frames=N] [--gpu=N] video.mp4

Needs the package cudatracking, PyNvVideoCodec and a GPU with a decoder. Decoders give frames in NV12: their Y plane is a gray image as
it is, with the pitch of the decoder's memory. Prints boxes as CSV.
"""
import argparse
import sys
import time

import cudatracking as ct


def whole(least, most=2**31 - 1):
    """For argparse: a whole number of this range."""
    def read(text):
        digits = text[1:] if text.startswith("-") else text
        if not digits.isascii() or not digits.isdigit() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text!r}: a whole number from {least} to {most} is needed")
        return int(text)
    return read


def box(text):
    parts = text.split(",")
    if len(parts) != 4:
        raise argparse.ArgumentTypeError(f"{text!r}: x,y,width,height is needed")
    return [whole(least)(part) for least, part in zip((-2**31, -2**31, 1, 1), parts)]


def luma(frame):
    """The Y plane of a decoded frame, in device memory: the first of its planes."""
    return frame.cuda()[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("--box", type=box, help="object in the first frame to follow: x,y,width,height")
    parser.add_argument("--cascade", default="frontalface_alt", help="default: frontalface_alt")
    parser.add_argument("--frames", type=whole(0), default=0, help="stop after so many frames, default 0: all")
    parser.add_argument("--gpu", type=whole(0, 1023), default=0, help="number of the GPU, default 0")
    parser.add_argument("video")
    options = parser.parse_args()
    try:
        import PyNvVideoCodec as nvc
    except ImportError:
        sys.exit("error: PyNvVideoCodec is not installed: pip install PyNvVideoCodec")
    device = f"cuda:{options.gpu}"
    faces = ct.CascadeClassifier(options.cascade, device=device)
    tracker = ct.Tracker(device=device) if options.box else None
    decoder = nvc.SimpleDecoder(options.video, gpu_id=options.gpu, use_device_memory=True, output_color_type=nvc.OutputColorType.NATIVE)
    print("frame,kind,x,y,width,height")
    start, count = time.perf_counter(), 0
    for frame in decoder:
        image = luma(frame)
        for x, y, w, h in faces.detect(image):
            print(f"{count},{options.cascade},{x},{y},{w},{h}")
        if tracker and count == 0:
            tracker.init(image, options.box)
        elif tracker:
            located, (x, y, w, h) = tracker.update(image)
            if located:
                print(f"{count},object,{x},{y},{w},{h}")
        count += 1
        if count == options.frames:
            break
    seconds = time.perf_counter() - start
    print(f"{count} frames in {seconds:.1f} s, {count / seconds:.1f} per second", file=sys.stderr)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
    except (ct.error, ValueError, TypeError) as error:
        sys.exit(f"error: {error}")
