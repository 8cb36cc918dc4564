"""Prints a table of cudatracking.CascadeClassifier beside cv2.CascadeClassifier of the same environment: equal boxes, times, ratio.

Both take the same image of 1920 x 1080 (basketball1.png of OpenCV's samples, enlarged), one after the other, several times; the least
of each counts. Threads: as many as the machine has.
"""
import os
import time

import cv2
import numpy as np

import cudatracking as ct


def least(function, times=5):
    took = []
    for _ in range(times):
        start = time.perf_counter()
        result = function()
        took.append(time.perf_counter() - start)
    return result, min(took) * 1e3


def main():
    image = cv2.imread(os.path.join(os.environ["CUDATRACKING_SAMPLES_DATA"], "basketball1.png"))
    image = cv2.resize(image, (1920, 1080), interpolation=cv2.INTER_LINEAR)
    devices = ["cpu"] + (["cuda"] if ct.devices() else [])
    print(f"cv2 {cv2.__version__}, {cv2.getNumThreads()} threads, 1920 x 1080 BGR, scale factor 1.1:\n")
    print("| cascade | boxes | equal | `cv2.CascadeClassifier` |" + "".join(f" cudatracking, {device} | ratio |" for device in devices))
    print("|---|--:|---|--:|" + "--:|--:|" * len(devices))
    for name in ("frontalface_alt", "frontalface_alt2", "frontalface_default", "eye", "fullbody", "lbp_frontalface", "lbp_frontalface_improved"):
        theirs = cv2.CascadeClassifier(ct.cascade_file(name))
        ours = {device: ct.CascadeClassifier(name, device=device) for device in devices}
        for made in ours.values():
            made.detect(image)
        expected, slow = least(lambda: theirs.detectMultiScale(image))
        expected = np.array(expected, np.int32).reshape(-1, 4)
        cells, equal = "", True
        for made in ours.values():
            found, quick = least(lambda: made.detect(image))
            equal &= sorted(found.tolist()) == sorted(expected.tolist())
            cells += f" {quick:.1f} ms | {slow / quick:.1f} |"
        print(f"| `{name}` | {len(expected)} | {'yes' if equal else 'NO'} | {slow:.1f} ms |{cells}")


main()
