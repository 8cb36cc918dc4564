"""Memory and time of superpixels of large images, by tiles and in one call:

    python rasters.py SIDE [SIDE ...] [--memory=GIB] [--whole] [--devices=cpu,cuda] [--folder=FOLDER]

Makes an image of SIDE x SIDE pixels and 4 bands of 8 bits for each side, and lets the command `cudatracking superpixels` write its labels with
--memory (default 4), on each device; with --whole also in one call. Prints the largest resident memory and the time of each run, and ends with an
error if labels differ. FOLDER (default: a temporary one) needs 12 bytes per pixel.
"""
import argparse
import filecmp
import os
import sys
import tempfile
import time

import numpy as np

import cudatracking as ct

SETTINGS = "--sigma=2", "--max-dist=8", "--color-scale=0.25", "--min-area=0", "--quiet"
STRIP = 512  # rows


def make(path, side):
    """Smooth areas of about 40 pixels with a little noise, different everywhere, written strip by strip."""
    random = np.random.RandomState(1)
    np.lib.format.open_memmap(path, "w+", np.uint8, (side, side, 4))
    for y in range(0, side, STRIP):
        rows = min(STRIP, side - y)
        coarse = random.randint(0, 226, (rows // 40 + 2, side // 40 + 2, 4)).astype(np.uint8)
        smooth = ct.cv2.resize(coarse, (side, rows), interpolation=ct.cv2.INTER_CUBIC)
        noise = random.randint(0, 30, (rows, side, 1)).astype(np.uint8)
        np.load(path, mmap_mode="r+")[y:y + rows] = np.minimum(smooth, 225) + noise


def run(*arguments):
    """Returns seconds and the largest resident memory in bytes of the command."""
    start = time.perf_counter()
    child = os.spawnv(os.P_NOWAIT, sys.executable, [sys.executable, "-m", "cudatracking", "superpixels", *arguments, *SETTINGS])
    _, status, usage = os.wait4(child, 0)
    if status:
        sys.exit(f"{' '.join(arguments)}: failed")
    return time.perf_counter() - start, usage.ru_maxrss * 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("side", type=int, nargs="+")
    parser.add_argument("--memory", type=float, default=4.)
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--devices", default="cpu")
    parser.add_argument("--folder")
    options = parser.parse_args()
    print("| pixels | device | computed | largest resident memory, GiB | s |\n|---|---|---|--:|--:|", flush=True)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        image, first, labels = (os.path.join(folder, name) for name in ("image.npy", "first.npy", "labels.npy"))
        for side in options.side:
            make(image, side)
            target = first
            for device in options.devices.split(","):
                for name, memory in ([("in one call", 1e6)] if options.whole else []) + [(f"--memory {options.memory:g}", options.memory)]:
                    seconds, most = run(image, f"--labels={target}", f"--memory={memory}", f"--device={device}")
                    print(f"| {side} x {side} x 4 | {device} | {name} | {most / 2**30:.2f} | {seconds:.1f} |", flush=True)
                    if target == labels and not filecmp.cmp(first, labels, shallow=False):
                        sys.exit("labels differ")
                    target = labels


main()
