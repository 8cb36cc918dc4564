# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""The command `cudatracking scan`."""
from __future__ import annotations

import argparse
import csv
from typing import Any, Callable

from .._errors import ArgumentError
from .._jobs import JOBS
from .._outputs import say
from ._run import scan


def add_options(made: argparse.ArgumentParser, number: Callable[..., Any]) -> None:
    """Adds the options of scan, without those of its jobs. `number` makes types of numbers with a range."""
    made.add_argument("source", nargs="+", help="videos, folders of videos, or lists (.txt: a path on each line)")
    made.add_argument("--job", choices=sorted(JOBS), required=True, help="what is done with each video")
    made.add_argument("--out", metavar="DIR", required=True, help="folder of the results, made if it is not there")
    made.add_argument("--resume", action="store_true", help="continue the scan in DIR; with other parameters it starts anew")
    made.add_argument("--format", choices=("parquet", "csv"), default="parquet", help="format of the table and its parts (default parquet)")
    made.add_argument("--audit", type=number(float, 0, 1), default=0., metavar="P", help="compute this share of the videos, 0 to 1, again on the CPU and compare the bytes "
                      "(default 0; if more, at least one)")
    made.add_argument("--quiet", action="store_true", help="no progress on the standard error; failures, and why a scan starts anew, are still said")
    where = made.add_argument_group("workers")
    where.add_argument("--workers", metavar="gpu|gpu:N|cpu|cpu:N", help="one for each GPU or core, or N of them (default: gpu where there is one, else cpu)")
    where.add_argument("--per-gpu", type=number(int, 1, 64), default=1, metavar="N", help="workers that share a GPU (default 1)")
    where.add_argument("--decode", choices=("host", "device"), default="host", help="where H.264 and HEVC are decoded for detect and track with GPUs: host "
                       "(default) or device (needs PyNvVideoCodec)")
    where.add_argument("--executor", choices=("auto", "ray", "processes"), default="auto", help="auto (default): Ray if it is installed, else processes of this machine")
    where.add_argument("--address", help="address of a Ray cluster, such as auto or ray://host:10001 (default: the environment's RAY_ADDRESS, or this machine alone)")


def read_boxes(path: str) -> dict[str, list[Any]]:
    """Reads a CSV file with the columns video, x, y, width, height and perhaps frame: a list of [frame, x, y, width, height] for each video."""
    boxes: dict[str, list[Any]] = {}
    needed = ("video", "x", "y", "width", "height")
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            names = next(reader, [])
            missing = [name for name in needed if name not in names]
            if missing:
                raise ArgumentError(f"--boxes: {path}: has no column {', '.join(missing)}", "boxes", path)
            for values in filter(None, reader):
                row = {"frame": "0", **dict(zip(names, values))}
                try:
                    if len(values) != len(names):
                        raise ValueError(f"{len(names)} values are needed, one per column")
                    boxes.setdefault(row["video"], []).append([int(row[name] or 0) for name in ("frame", *needed[1:])])
                except ValueError as raised:
                    reason = str(raised) if "needed" in str(raised) else "whole numbers are needed"
                    raise ArgumentError(f"--boxes: {path}:{reader.line_num}: {','.join(values)}: {reason}", "boxes", path) from None
    except (OSError, UnicodeDecodeError, csv.Error) as raised:
        raise ArgumentError(f"--boxes: {path}: cannot be read: {getattr(raised, 'strerror', None) or raised}", "boxes", path) from None
    return boxes


def run(options: argparse.Namespace, stop: Any) -> int:
    """Runs the command; returns its exit code."""
    names = sorted({name for kind in JOBS.values() for name in kind.DEFAULTS} - {"boxes"})
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    boxes: dict[str, list[Any]] = read_boxes(options.boxes) if options.boxes else {}
    if options.box:
        boxes["*"] = [[0, *box] for box in options.box]
    alike = {name: getattr(options, name) for name in ("workers", "per_gpu", "decode", "executor", "address", "format", "resume", "audit", "quiet")}
    done = scan(options.source, options.out, options.job, given, boxes=boxes, stopped=lambda: bool(stop.requested), **alike)
    for failure in done.failures:
        say(f"error: {failure}\n")
    return 130 if done.stopped else 1 if done.failures else 0
