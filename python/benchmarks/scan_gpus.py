#!/usr/bin/env python3
"""Measures how `cudatracking scan` scales over the GPUs of one host.

    scan_gpus.py [--gpus=1,2,4] [--job=detect] [--videos=8] [--seconds=60] [--size=1920x1080] [--codec=rawvideo] [--per-gpu=1]
                 [--executor=processes] [--folder=/dev/shm] [--plot=FILE.png] [-- OPTIONS OF THE JOB]

Makes videos of moving textures, by default uncompressed, so that decoding is little more than a copy, and scans them with each number of
workers. Prints frames per second and the efficiency, which is 1 when N GPUs do N times what one does; without start-up: from the moment
when each worker has done two segments. All tables must have the same bytes, or the exit code is 1. --cpu counts processes on
the CPU in place of GPUs, to try the script without one. Needs PyAV; --plot needs matplotlib.
"""
import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

SEGMENT = 2.  # seconds
RATE = 25


def write_video(path, seed, size, seconds, codec):
    import av
    width, height = size
    ground = np.kron(np.random.RandomState(seed).randint(0, 256, (height // 8 + 1, width // 8 + 1), dtype=np.uint8), np.ones((8, 8), np.uint8))
    with av.open(path, "w") as container:
        stream = container.add_stream(codec, rate=RATE)
        stream.width, stream.height, stream.pix_fmt = width, height, "gray" if codec == "rawvideo" else "yuv420p"
        if codec != "rawvideo":
            stream.options = {"g": str(RATE)}
        for step in range(int(seconds * RATE)):
            image = np.ascontiguousarray(np.roll(ground, 3 * step, 1)[:height, :width])
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="gray")))
        container.mux(stream.encode(None))


def done_frames(journal):
    """Frames of each segment that is done, in the order of their ends."""
    try:
        with open(journal, encoding="utf-8") as file:
            return [json.loads(line)["frames"] for line in file if line.endswith("\n")]
    except OSError:
        return []


def measure(command, out, workers):
    """Runs a scan; returns (frames per second after the start, seconds in all, SHA-256 of the table)."""
    start = time.monotonic()
    running = subprocess.Popen([*command, f"--out={out}"])
    seen, begin, end = [], None, start
    while True:
        finished = running.poll() is not None
        frames = done_frames(os.path.join(out, "journal.jsonl"))
        if len(frames) > len(seen):
            seen, end = frames, time.monotonic()
            if begin is None and len(seen) >= 2 * workers:
                begin = (end, sum(seen))
        if finished:
            break
        time.sleep(.01)
    if running.returncode:
        sys.exit(f"error: {' '.join(command)}: exit code {running.returncode}")
    if begin is None or end <= begin[0]:
        sys.exit("error: too few segments to measure; more --videos or --seconds are needed")
    with open(os.path.join(out, "table.csv"), "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    return (sum(seen) - begin[1]) / (end - begin[0]), time.monotonic() - start, digest


def plot(path, rows, title):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    counts = [row[0] for row in rows]
    figure, axes = plt.subplots(figsize=(5, 4))
    axes.plot(counts, [row[1] for row in rows], "o-", label="measured")
    axes.plot(counts, [rows[0][1] / counts[0] * count for count in counts], "--", color="gray", label="linear")
    axes.set(xlabel="workers", ylabel="frames per second", title=title, xticks=counts, ylim=(0, None))
    axes.legend()
    figure.tight_layout()
    figure.savefig(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("--gpus", default="1,2,4")
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--job", default="detect", choices=("detect", "track", "superpixels"))
    parser.add_argument("--videos", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--size", default="1920x1080")
    parser.add_argument("--codec", default="rawvideo")
    parser.add_argument("--per-gpu", type=int, default=1)
    parser.add_argument("--executor", default="processes", choices=("processes", "ray"))
    parser.add_argument("--folder", default="/dev/shm")
    parser.add_argument("--plot")
    parser.add_argument("options", nargs="*", help="of the job, after --")
    options = parser.parse_args()
    size = tuple(map(int, options.size.split("x")))
    extra = options.options or (["--cascade=lbp_frontalface"] if options.job == "detect" else [f"--box={size[0] // 2},{size[1] // 2},96,96"] if options.job == "track" else [])
    rows = []
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        videos = os.path.join(folder, "videos")
        os.mkdir(videos)
        for seed in range(options.videos):
            write_video(os.path.join(videos, f"{seed}.mkv"), seed, size, options.seconds, options.codec)
        kind = "cpu" if options.cpu else "gpu"
        print(f"{options.job}, {options.videos} videos of {options.seconds:g} s, {options.size}, {options.codec}, {options.executor}, {options.per_gpu} workers for each {kind}")
        print("| workers | frames per second | efficiency | seconds with start | table |\n|--:|--:|--:|--:|---|")
        for count in map(int, options.gpus.split(",")):
            command = [sys.executable, "-m", "cudatracking", "scan", videos, f"--job={options.job}", "--format=csv", f"--segment={SEGMENT}", "--quiet",
                       f"--workers={kind}:{count}", f"--per-gpu={options.per_gpu}", f"--executor={options.executor}", *extra]
            rate, seconds, digest = measure(command, os.path.join(folder, f"out{count}"), count * (1 if options.cpu else options.per_gpu))
            rows.append((count, rate, seconds, digest))
            first = rows[0]
            print(f"| {count} | {rate:.1f} | {rate * first[0] / (first[1] * count):.2f} | {seconds:.1f} | {digest[:12]} |", flush=True)
    if options.plot:
        plot(options.plot, rows, f"scan: {options.job}, {options.size}, {options.codec}")
    return 0 if len({row[3] for row in rows}) == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
