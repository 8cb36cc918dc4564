# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""The command `cudatracking scan`."""
from __future__ import annotations

import argparse
import csv
from typing import Any, Callable

from .._errors import ArgumentError
from .._outputs import say
from ._jobs import DEFAULT_CASCADE, JOBS
from ._run import lines_of, scan

Number = Callable[..., Any]
NUMBER_HELP = "about N connected superpixels, with parameters for photographs; not with --sigma, --max-dist and --color-scale"
MIN_AREA_HELP = "split into 4-connected components and merge those of fewer pixels (default 20, with --number a twelfth of the mean area); 0, without --number: do neither"


def add_options(made: argparse.ArgumentParser, number: Number, box: Callable[[str], Any]) -> None:
    """Adds the options of scan. `number` makes types of numbers with a range, `box` reads x,y,width,height."""
    made.add_argument("source", nargs="+", help="videos, folders of videos, or lists (.txt: a path on each line)")
    made.add_argument("--job", choices=sorted(JOBS), required=True, help="what is done with each video")
    made.add_argument("--out", metavar="DIR", required=True, help="folder of the results, made if it is not there")
    made.add_argument("--resume", action="store_true", help="continue the scan in DIR; with other parameters it starts anew, and the old one is kept in a folder before-N")
    made.add_argument("--format", choices=("parquet", "csv"), default="parquet", help="format of the table and its parts (default parquet)")
    made.add_argument("--segment", type=number(float, .001, 1e9), default=60., metavar="SECONDS", help="shortest part of a video that a worker gets (default 60)")
    made.add_argument("--audit", type=number(float, 0, 1), default=0., metavar="P", help="compute this share of the segments, 0 to 1, again on the CPU and compare the bytes "
                      "(default 0; if more, at least one)")
    made.add_argument("--quiet", action="store_true", help="no progress on the standard error; failures, and why a scan starts anew, are still said")
    where = made.add_argument_group("workers")
    where.add_argument("--workers", metavar="gpu|gpu:N|cpu|cpu:N", help="one for each GPU or core, or N of them (default: gpu where there is one, else cpu)")
    where.add_argument("--per-gpu", type=number(int, 1, 64), default=1, metavar="N", help="workers that share a GPU (default 1)")
    where.add_argument("--decoders", type=number(int, 1, 256), metavar="N", help="threads of each worker that decode; not for track (default: its share of the "
                       "cores with GPUs, else 1)")
    where.add_argument("--decode", choices=("host", "device", "auto"), default="host", help="where H.264 and HEVC are decoded for detect and track with GPUs: host "
                       "(default), device (needs PyNvVideoCodec), auto (device if PyNvVideoCodec can be used)")
    where.add_argument("--executor", choices=("auto", "ray", "processes"), default="auto", help="auto (default): Ray if it is installed, else processes of this machine")
    where.add_argument("--address", help="address of a Ray cluster, such as auto or ray://host:10001 (default: the environment's RAY_ADDRESS, or this machine alone)")
    # Options of a job have no default here: what is given can be told from what is not.
    job = made.add_argument_group("detect")
    job.add_argument("--cascade", action="append", metavar="NAME", help="name (cudatracking info lists them) or file; may be repeated "
                     f"(default: {DEFAULT_CASCADE})")
    job.add_argument("--scale-factor", type=number(float, 1, above=True), metavar="F", help="ratio of successive scales (default 1.1)")
    job.add_argument("--min-neighbors", type=number(int, 0, 2**31 - 1), metavar="N", help="a group of more than N candidates is an object (default 3)")
    job.add_argument("--min-size", type=number(int, 0, 2**31 - 1), metavar="PIXELS", help="smallest side of objects (default: no limit)")
    job.add_argument("--max-size", type=number(int, 0, 2**31 - 1), metavar="PIXELS", help="largest side of objects (default: no limit)")
    job = made.add_argument_group("track")
    job.add_argument("--box", type=box, action="append", metavar="X,Y,WIDTH,HEIGHT", help="an object in the first frame of each video; may be repeated")
    job.add_argument("--boxes", metavar="FILE", help="objects as CSV with the columns video, x, y, width, height and, if not 0, frame")
    job.add_argument("--seed", type=number(int, 0, 2**31 - 1), metavar="N", help="seed of all random choices (default 1)")
    job = made.add_argument_group("superpixels")
    job.add_argument("--sigma", type=number(float, 0, 341, above=True), metavar="S", help="bandwidth of the density, in pixels (default 6)")
    job.add_argument("--max-dist", type=number(float, 0, 32767, above=True), metavar="D", help="largest distance of a link (default 10)")
    job.add_argument("--color-scale", type=number(float, 0, 1e9), metavar="F", help="factor on colours (default 32/255)")
    job.add_argument("--number", type=number(int, 1, 2**31 - 1), metavar="N", help=NUMBER_HELP)
    job.add_argument("--min-area", type=number(int, 0, 2**31 - 1), metavar="PIXELS", help=MIN_AREA_HELP)


def read_boxes(path: str) -> dict[str, list[Any]]:
    """Reads a CSV file with the columns video, x, y, width, height and perhaps frame: a list of (frame, x, y, width, height) for each video."""
    boxes: dict[str, list[Any]] = {}
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            needed = ("video", "x", "y", "width", "height")
            missing = [name for name in needed if name not in (reader.fieldnames or ())]
            if missing:
                raise ArgumentError(f"--boxes: {path}: has no column {', '.join(missing)}", "boxes", path)
            for row in reader:
                values: list[str] = []  # DictReader has None for a value that is missing, and a list of those that are too many
                for cell in row.values():
                    values += cell if isinstance(cell, list) else [] if cell is None else [cell]
                if len(values) != len(reader.fieldnames or ()):
                    raise ArgumentError(f"--boxes: {path}:{reader.line_num}: {','.join(values)}: {len(reader.fieldnames or ())} values are needed, one per column",
                                        "boxes", path)
                try:
                    numbers = [int(row.get("frame") or 0)] + [int(row[name]) for name in needed[1:]]
                except (TypeError, ValueError):
                    raise ArgumentError(f"--boxes: {path}:{reader.line_num}: {','.join(values)}: whole numbers are needed", "boxes", path) from None
                for value in numbers:
                    if not -2**31 <= value < 2**31:
                        raise ArgumentError(f"--boxes: {path}:{reader.line_num}: {value}: numbers of 32 bits are possible", "boxes", value)
                for value, name, least in ((numbers[0], "frame", 0), (numbers[3], "width", 1), (numbers[4], "height", 1)):
                    if value < least:
                        raise ArgumentError(f"--boxes: {path}:{reader.line_num}: {name} {value}: {least} or more is possible", "boxes", value)
                boxes.setdefault(row["video"], []).append(numbers)
    except (OSError, UnicodeDecodeError) as raised:
        raise ArgumentError(f"--boxes: {path}: cannot be read: {getattr(raised, 'strerror', None) or raised}", "boxes", path) from None
    return boxes


def run(options: argparse.Namespace, stop: Any) -> int:
    """Runs the command; returns its exit code."""
    if not options.out:
        raise ArgumentError("--out: '': the name of a folder is needed", "out", options.out)
    every = {name for kind in JOBS.values() for name in kind.DEFAULTS} - {"boxes"}
    given = {name: getattr(options, name) for name in every if getattr(options, name) is not None}
    boxes: dict[str, list[Any]] = read_boxes(options.boxes) if options.boxes else {}
    if options.box:
        boxes["*"] = [[0, *box] for box in options.box]
    if boxes and options.job != "track":
        raise ArgumentError(f"--box and --boxes are options of --job track, not of {options.job}")
    for name in sorted(given):
        if name not in JOBS[options.job].DEFAULTS:
            raise ArgumentError(f"--{name.replace('_', '-')} is no option of --job {options.job}")
    done = scan(options.source, options.out, options.job, given, boxes=boxes, workers=options.workers, per_gpu=options.per_gpu, decoders=options.decoders, decode=options.decode,
                executor=options.executor, address=options.address, segment=options.segment, format=options.format, resume=options.resume,
                audit=options.audit, quiet=options.quiet, stopped=lambda: bool(stop.requested))
    for line in lines_of(done.failures):
        say(f"error: {line}\n")
    return 130 if done.stopped else 1 if done.failures else 0
