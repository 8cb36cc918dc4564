#!/usr/bin/env python3
"""Measures how `cudatracking scan` scales over the GPUs of one host.

    scan_gpus.py [--gpus=1,2,4] [--job=detect] [--videos=2] [--copies=32] [--seconds=60] [--size=1920x1080] [--codec=libx264]
                 [--per-gpu=1] [--limit=SECONDS] [--executor=processes] [--folder=/dev/shm] [--plot=FILE.png] [-- OPTIONS OF THE JOB]

Makes videos of moving textures with a key frame each second, gives each one --copies names, and scans them with each number of GPUs. The
GPUs share the cores of this machine equally, and a scan with fewer GPUs gets only their share: each GPU has the same number of cores in
all rows. Prints frames per second and the efficiency, which is 1 when N GPUs do N times what one does; without start-up: from the moment
when each worker has done two videos. The last column is the beginning of the table's SHA-256; tables must have the same bytes, or the
exit code is 1. --limit ends each scan after so many seconds of measuring; there is no table then. --cpu counts processes on the CPU in
place of GPUs, to try the script without one. Needs PyAV; --plot needs matplotlib.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

RATE = 25
SPEED = 3  # pixels per frame


def write_video(path, seed, size, seconds, codec):
    import av
    width, height = size
    ground = np.kron(np.random.RandomState(seed).randint(0, 256, (height // 8 + 1, width // 8 + 1), dtype=np.uint8), np.ones((8, 8), np.uint8))[:height, :width]
    twice = np.concatenate([ground, ground], 1)
    with av.open(path, "w") as container:
        stream = container.add_stream(codec, rate=RATE)
        stream.width, stream.height, stream.pix_fmt = width, height, "gray" if codec == "rawvideo" else "yuv420p"
        if codec != "rawvideo":
            stream.options = {"g": str(RATE), **({"preset": "ultrafast"} if codec == "libx264" else {})}
            stream.thread_type = "AUTO"
        for step in range(int(seconds * RATE)):
            begin = SPEED * step % width
            container.mux(stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(twice[:, begin:begin + width]), format="gray")))
        container.mux(stream.encode(None))


def write_videos(folder, options, size):
    """Writes each video once, and gives it --copies names by symbolic links."""
    os.mkdir(folder)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        made = [pool.submit(write_video, os.path.join(folder, f"{seed}_0.mkv"), seed, size, options.seconds, options.codec) for seed in range(options.videos)]
        for one in made:
            one.result()
    for seed in range(options.videos):
        for copy in range(1, options.copies):
            os.symlink(f"{seed}_0.mkv", os.path.join(folder, f"{seed}_{copy}.mkv"))


def done_frames(journal):
    """Frames of each video that is done, in the order of their ends."""
    try:
        with open(journal, encoding="utf-8") as file:
            return [json.loads(line)["frames"] for line in file if line.endswith("\n") and '"frames"' in line]
    except OSError:
        return []


def measure(command, out, workers, cores, limit):
    """Runs a scan on so many cores; returns (frames per second after the start, seconds in all, SHA-256 of the table or None)."""
    start = time.monotonic()
    every = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, every[:cores])
    running = subprocess.Popen([*command, f"--out={out}"])
    os.sched_setaffinity(0, every)
    seen, begin, end, stopped = [], None, start, False
    while True:
        finished = running.poll() is not None
        frames = done_frames(os.path.join(out, "journal.jsonl"))
        if len(frames) > len(seen):
            seen, end = frames, time.monotonic()
            if begin is None and len(seen) >= 2 * workers:
                begin = (end, sum(seen))
        if limit and begin and not stopped and time.monotonic() > begin[0] + limit:
            running.send_signal(signal.SIGTERM)
            stopped = True
        if finished:
            break
        time.sleep(.01)
    if running.returncode not in ((0, 130) if stopped else (0,)):
        sys.exit(f"error: {' '.join(command)}: exit code {running.returncode}")
    if begin is None or end <= begin[0]:
        sys.exit("error: too few videos to measure; more --copies, --videos or --seconds are needed")
    digest = None
    if running.returncode == 0:
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
    parser.add_argument("--videos", type=int, default=2)
    parser.add_argument("--copies", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--size", default="1920x1080")
    parser.add_argument("--codec", default="libx264")
    parser.add_argument("--per-gpu", type=int, default=1)
    parser.add_argument("--limit", type=float)
    parser.add_argument("--executor", default="processes", choices=("processes", "ray"))
    parser.add_argument("--folder", default="/dev/shm")
    parser.add_argument("--plot")
    parser.add_argument("options", nargs="*", help="of the job, after --")
    options = parser.parse_args()
    size = tuple(map(int, options.size.split("x")))
    extra = options.options or (["--cascade=lbp_frontalface"] if options.job == "detect" else [f"--box={size[0] // 2},{size[1] // 2},96,96"] if options.job == "track" else [])
    counts = list(map(int, options.gpus.split(",")))
    share = max(len(os.sched_getaffinity(0)) // max(counts), 1)
    rows = []
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        videos = os.path.join(folder, "videos")
        write_videos(videos, options, size)
        kind = "cpu" if options.cpu else "gpu"
        print(f"{options.job}, {options.videos * options.copies} videos of {options.seconds:g} s, {options.size}, {options.codec}, {options.executor}, "
              f"{options.per_gpu} workers and {share} cores for each {kind}")
        print("| workers | frames per second | efficiency | seconds with start | table |\n|--:|--:|--:|--:|---|")
        for count in counts:
            command = [sys.executable, "-m", "cudatracking", "scan", videos, f"--job={options.job}", "--format=csv", f"--workers={kind}:{count}", f"--per-gpu={options.per_gpu}", f"--executor={options.executor}", *extra]
            workers = count * (1 if options.cpu else options.per_gpu)
            rate, seconds, digest = measure(command, os.path.join(folder, f"out{count}"), workers, share * count, options.limit)
            rows.append((count, rate, seconds, digest))
            first = rows[0]
            print(f"| {workers} | {rate:.1f} | {rate * first[0] / (first[1] * count):.2f} | {seconds:.1f} | {digest[:12] if digest else 'ended by --limit'} |", flush=True)
    if options.plot:
        plot(options.plot, rows, f"scan: {options.job}, {options.size}, {options.codec}")
    return 0 if len({row[3] for row in rows} - {None}) <= 1 else 1


if __name__ == "__main__":
    sys.exit(main())
