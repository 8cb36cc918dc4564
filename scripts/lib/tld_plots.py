#!/usr/bin/env python3
"""Draws precision and success plots of trackers and quality against time, and writes tables.

Called by scripts/tld_plots.sh, whose --help says more. The measures are defined in samples/tld_benchmark_quality.hpp; here they are
only averaged: over the runs of a tracker on a sequence, then over the sequences, each with the same weight.
"""
import argparse
import csv
import os
import statistics
import sys

STYLES = {"TLD-CPU": ("TrackerTLD of this module", "tab:red"), "TLD-CUDA": ("TrackerTLD of this module, CUDA", "tab:pink"),
          "CSRT": ("TrackerCSRT", "tab:blue"), "KCF": ("TrackerKCF", "tab:green"), "MIL": ("TrackerMIL", "tab:orange"),
          "legacyTLD": ("legacy::TrackerTLD", "tab:brown"), "MedianFlow": ("legacy::TrackerMedianFlow", "tab:gray"),
          "Nano": ("TrackerNano", "tab:purple"), "Vit": ("TrackerVit", "tab:olive")}


def read(path):
    with open(path, newline="", encoding="utf-8") as table:
        rows = list(csv.DictReader(table))
    return rows or sys.exit(f"{path}: there are no rows")


def ordered(names):
    """Trackers in the order of STYLES, sequences as they come."""
    return sorted(dict.fromkeys(names), key=lambda name: list(STYLES).index(name) if name in STYLES else 0)


def milliseconds(row):
    """Processor time is that of the tracker where one thread works; other work of the machine does not count then."""
    alone = row["threads"] == "1" and row["tracker"] != "TLD-CUDA"
    return float(row["processor_ms" if alone else "ms"])


class Results:
    def __init__(self, runs, curves):
        self.runs, self.curves = runs, curves
        self.trackers = ordered(row["tracker"] for row in runs)
        self.sequences = list(dict.fromkeys(row["sequence"] for row in runs))
        for tracker in self.trackers:
            lacks = [s for s in self.sequences if not self.of(tracker, s)]
            if lacks:
                sys.exit(f"{tracker} was not measured on {', '.join(lacks)}: means over other sequences cannot be compared")

    def of(self, tracker, sequence):
        return [row for row in self.runs if row["tracker"] == tracker and row["sequence"] == sequence]

    def value(self, tracker, sequence, key):
        rows = self.of(tracker, sequence)
        return statistics.fmean(milliseconds(row) if key == "ms" else float(row[key]) for row in rows)

    def mean(self, tracker, key):
        return statistics.fmean(self.value(tracker, sequence, key) for sequence in self.sequences)

    def curve(self, tracker, kind):
        """[(limit, share)], mean over the sequences."""
        points = {}
        for row in self.curves:
            if row["tracker"] == tracker and row["curve"] == kind:
                points.setdefault(float(row["limit"]), []).append(float(row["share"]))
        return [(limit, statistics.fmean(shares)) for limit, shares in sorted(points.items())]


def label(tracker):
    return STYLES.get(tracker, (tracker, None))[0]


def markdown(heading, rows, best):
    """A table. @param best for each column the better of two values (max or min), or None."""
    winners = [choose(row[1][i] for row in rows) if choose else None for i, choose in enumerate(best)]
    lines = ["| " + " | ".join(heading) + " |", "|---" + "|--:" * (len(heading) - 1) + "|"]
    for name, values, texts in rows:
        cells = [f"**{text}**" if winner is not None and value == winner else text
                 for value, text, winner in zip(values, texts, winners)]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def short(value):
    return f"{value:.3f}".lstrip("0") if value < 1 else f"{value:.2f}"


def tables(results):
    keys = ("precision", "recall", "f", "f50", "auc", "precision20px")
    absent = sum(int(results.of(results.trackers[0], s)[0]["absent"]) for s in results.sequences)
    rows = []
    for tracker in results.trackers:
        runs = {len(results.of(tracker, s)) for s in results.sequences}
        replies = sum(results.value(tracker, s, "replies_absent") for s in results.sequences)
        values = [0, results.mean(tracker, "ms"), *(round(results.mean(tracker, key), 3) for key in keys), replies]
        rows.append((label(tracker), values,
                     ["/".join(map(str, sorted(runs))), f"{values[1]:.3g}", *map(short, values[2:-1]), f"{replies:.3g} of {absent}"]))
    parts = [markdown(["tracker", "runs", "ms per frame", "precision", "recall", "F", "F at 0.5", "AUC", "20 pixels",
                       "boxes in absent frames"], rows, [None, min, max, max, max, max, max, max, min])]
    for key, title in (("f", "F, overlap above 0.25"), ("f50", "F, overlap above 0.5"), ("auc", "AUC of the success curve")):
        rows = []
        for sequence in results.sequences:
            values = [round(results.value(tracker, sequence, key), 3) for tracker in results.trackers]
            texts = [short(value) for value in values]
            texts = [f"**{text}**" if value == max(values) else text for value, text in zip(values, texts)]
            frames = results.of(results.trackers[0], sequence)[0]["frames"]
            rows.append((f"{sequence} {frames}", values, texts))
        parts.append(title + "\n\n" + markdown(["sequence, frames", *map(label, results.trackers)], rows,
                                               [None] * len(results.trackers)))
    failed = [f"{row['tracker']} on {row['sequence']}, seed {row['seed']}, frame {row['failed']}" for row in results.runs if row["failed"]]
    if failed:
        parts.append("Threw an exception, no box from there on: " + "; ".join(failed))
    return "\n\n".join(parts) + "\n"


def draw(results, title, path):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (near, success, time) = pyplot.subplots(1, 3, figsize=(14, 4.6))
    for tracker in results.trackers:
        name, colour = STYLES.get(tracker, (tracker, None))
        style = {"color": colour, "linewidth": 2.4 if tracker.startswith("TLD-") else 1.4}
        at20, auc = results.mean(tracker, "precision20px"), results.mean(tracker, "auc")
        near.plot(*zip(*results.curve(tracker, "precision")), label=f"{name} [{at20:.3f}]", **style)
        success.plot(*zip(*results.curve(tracker, "success")), label=f"{name} [{auc:.3f}]", **style)
        time.plot(results.mean(tracker, "ms"), results.mean(tracker, "f"), "o", color=colour, markersize=8)
        time.annotate(name, (results.mean(tracker, "ms"), results.mean(tracker, "f")), textcoords="offset points", xytext=(0, 8),
                      fontsize=7, ha="center")
    near.set(xlabel="distance of the centres, pixels", ylabel="share of frames within it", title="precision plot [at 20 pixels]")
    success.set(xlabel="overlap", ylabel="share of frames above it", title="success plot [AUC]")
    time.set(xlabel="milliseconds per frame, one thread", ylabel="F, mean of the sequences", title="quality against time", xscale="log")
    time.margins(x=.35)
    for axis in (near, success, time):
        axis.set_ylim(0, 1.1)
        axis.grid(True, alpha=.3)
        axis.title.set_fontsize(10)
    near.legend(fontsize=7, loc="lower right")
    success.legend(fontsize=7, loc="upper right")
    figure.suptitle(title, fontsize=10)
    figure.tight_layout()
    figure.savefig(path, dpi=100)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", help="file of cudatracking_tld_benchmark --runs")
    parser.add_argument("curves", help="file of cudatracking_tld_benchmark --curves")
    parser.add_argument("--title", default="mean of the sequences, one-pass evaluation")
    parser.add_argument("--output", required=True, help="folder for tables.md and plots.png")
    options = parser.parse_args()
    results = Results(read(options.runs), read(options.curves))
    text = tables(results)
    with open(os.path.join(options.output, "tables.md"), "w", encoding="utf-8") as out:
        out.write(text)
    draw(results, options.title, os.path.join(options.output, "plots.png"))
    print(text)


main()
