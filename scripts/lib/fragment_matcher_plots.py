#!/usr/bin/env python3
"""Draws time against the fragment's side from what the perf program printed.

Called by scripts/fragment_matcher_plots.sh, whose --help says more. Rows are those of scripts/perf_report.py whose name is
SAD_N, SSD_N or ZNCC_N; CPU: the call on one thread; CUDA: the whole call, up to the results on the host, as OpenCV's waits for them too.
"""
import argparse
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import perf_report  # noqa: E402

PARTS = {"cpu": ("call", "CPU, one thread"), "cuda": ("whole", "CUDA")}
COLOURS = {"SAD": "tab:green", "SSD": "tab:blue", "ZNCC": "tab:red"}


def curves(rows):
    """engine -> label -> (colour, style, [(side, milliseconds)])"""
    drawn = {engine: {} for engine in PARTS}
    for row in rows:
        match = re.fullmatch(r"(SAD|SSD|ZNCC)_(\d+)", row["name"])
        if not match or row["engine"] not in PARTS or row["part"] != PARTS[row["engine"]][0]:
            continue
        if row["engine"] == "cpu" and int(row.get("threads", 1)) != 1:
            continue
        metric, side = match.group(1), int(match.group(2))
        lines = drawn[row["engine"]]
        lines.setdefault(metric, (COLOURS[metric], "-", []))[2].append((side, row["median_us"] / 1e3))
        if row.get("peer_us") and metric != "SAD":  # for SAD the peer is that of SSD
            lines.setdefault(f"{row['peer']} for {metric}", (COLOURS[metric], "--", []))[2].append((side, row["peer_us"] / 1e3))
    return drawn


def draw(drawn, title, path):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    engines = [engine for engine in drawn if drawn[engine]]
    figure, axes = plt.subplots(1, len(engines), figsize=(6 * len(engines), 4.8), squeeze=False)
    for axis, engine in zip(axes[0], engines):
        for label, (colour, style, points) in drawn[engine].items():
            axis.plot(*zip(*sorted(points)), style, color=colour, marker=".", label=label)
        axis.set_yscale("log")
        axis.set_xlabel("side of the fragment, pixels")
        axis.set_title(PARTS[engine][1], fontsize=10)
        axis.grid(True, which="both", alpha=.3)
        axis.legend(fontsize=8)
    axes[0][0].set_ylabel("time, milliseconds")
    figure.suptitle(title, fontsize=10)
    figure.tight_layout()
    figure.savefig(path, dpi=100)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", help="logs of the perf program")
    parser.add_argument("--title", default="a BGR fragment in 1920 x 1080")
    parser.add_argument("--output", required=True, help="folder for plots.png and times.md")
    options = parser.parse_args()
    rows = []
    for name in options.files:
        with open(name, encoding="utf-8", errors="replace") as log:
            rows += perf_report.parse(log, name)
    drawn = curves(rows)
    if not any(drawn.values()):
        sys.exit("no row is named SAD_N, SSD_N or ZNCC_N: nothing to draw")
    with open(os.path.join(options.output, "times.md"), "w", encoding="utf-8") as out:
        out.write(perf_report.table(rows) + "\n")
    draw(drawn, options.title, os.path.join(options.output, "plots.png"))
    print("made", os.path.join(options.output, "plots.png"), os.path.join(options.output, "times.md"))


main()
