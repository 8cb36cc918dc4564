#!/usr/bin/env python3
"""Measures QuickShift with the perf program and beside scikit-image, and draws the paper's plots.

Called by scripts/quick_shift_plots.sh, whose --help says more. Rows are those of scripts/perf_report.py. A row is drawn when
its name is resolution_N, sigma_N or tau_N; CUDA: device time of a captured graph (part=kernel), CPU: the call.
"""
import argparse
import csv
import math
import os
import re
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import perf_report  # noqa: E402

PLOTS = (("resolution", "side of the image, pixels"), ("sigma", "sigma, at 512 x 512"), ("tau", "tau (maxDist), at 512 x 512"))
PAPER = 32 / 255
#                  name        (width, height), sigma, maxDist, scale: as in perf/perf_quick_shift.cpp
TABLES = {"paper_1080p": ((1920, 1080), 6, 10, PAPER), "small_1080p": ((1920, 1080), 2, 8, 0.5)}
CURVES = {f"resolution_{n}": ((n, n), 6, 10, PAPER) for n in (128, 256, 512, 768, 1024)}
CURVES.update({f"sigma_{n}": ((512, 512), n, 10, PAPER) for n in (1, 2, 4, 6, 8, 10)})
CURVES.update({f"tau_{n}": ((512, 512), 6, n, PAPER) for n in (5, 10, 20, 50, 100, 150, 200)})
LABELS = {"cpu": "QuickShift, CPU, 1 thread", "cuda": "QuickShift, CUDA", "vlfeat": "VLFeat", "scikit-image": "scikit-image"}


def run_program(program, suites, log):
    """The perf program's lines go to the log as they come; progress is shown."""
    listed = subprocess.run([program, "--gtest_list_tests", f"--gtest_filter={suites}"], capture_output=True, text=True)
    total = listed.stdout.count("GetParam()")
    done, lines, skipped = 0, [], 0
    with subprocess.Popen([program, f"--gtest_filter={suites}"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace") as process:
        for line in process.stdout:
            log.write(line)
            log.flush()
            lines.append(line)
            if "[ RUN      ]" in line:
                done += 1
                print(f"[{done}/{total}] {line.split('=')[-1].strip()}", flush=True)
            elif "[     SKIP ]" in line:
                skipped += 1
                print("   skipped:", line.split("]")[1].strip(), flush=True)
            elif "[ PERFROW ]" in line or "no peer" in line or "FAILED" in line:
                print("  ", line.strip().replace("[ PERFROW ] ", ""), flush=True)
    if process.returncode != 0:
        sys.exit(f"{program} failed with code {process.returncode}")
    print(f"{total - skipped} measured, {skipped} skipped", flush=True)
    return lines


def seconds_of(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def run_scikit_image(cases, most_seconds, log):
    """Sends the same images through cv2 and through scikit-image, one thread each; lines as the perf program prints them."""
    try:
        import cv2
        import numpy as np
        from skimage.segmentation import quickshift
        cv2.cuda.QuickShift
    except (ImportError, AttributeError) as error:
        print(f"scikit-image is left out: {error}", flush=True)
        return []
    source = cv2.imread(os.path.join(os.environ.get("CUDATRACKING_SAMPLES_DATA", "."), "fruits.jpg"))
    if source is None:
        sys.exit("there is no fruits.jpg in CUDATRACKING_SAMPLES_DATA")
    cv2.setNumThreads(1)
    lines, rate = [], 1e-8  # seconds a pair of pixels; learned from the cases done
    for number, (name, (size, sigma, max_dist, scale)) in enumerate(cases.items(), 1):
        # It looks at the whole window twice, for densities and for parents: its parent search goes as far as its kernel.
        pairs = 2 * (2 * math.ceil(3 * sigma) + 1) ** 2 * size[0] * size[1]
        expected = pairs * rate
        if most_seconds and expected > most_seconds:
            print(f"[{number}/{len(cases)}] scikit-image {name}: left out, about {expected:.0f} s (--peer-seconds=0 takes it)")
            continue
        print(f"[{number}/{len(cases)}] scikit-image {name}: about {expected:.0f} s", flush=True)
        image = cv2.resize(source, size, interpolation=cv2.INTER_CUBIC)
        q = cv2.cuda.QuickShift.create(sigma, max_dist, scale)
        ours = [seconds_of(lambda: q.compute(image)) for _ in range(3)]
        features = image.astype(np.float64) * scale
        peer = seconds_of(lambda: quickshift(features, ratio=1., kernel_size=sigma, max_dist=max_dist, sigma=0,
                                             convert2lab=False, rng=0))
        ours += [seconds_of(lambda: q.compute(image)) for _ in range(3)]  # on both sides: other jobs may come and go
        rate = peer / pairs
        lines.append(f"[ PERFROW ] name={name} engine=cpu part=call median_us={1e6 * statistics.median(ours):.3f} threads=1 "
                     f"superpixels={q.getNumberOfSuperpixels()} peer=scikit-image peer_us={1e6 * peer:.3f}\n")
        print("  ", lines[-1].strip().replace("[ PERFROW ] ", ""), flush=True)
        log.write(lines[-1])
    return lines


def read_rows(path):
    if not path.endswith(".csv"):
        with open(path, encoding="utf-8", errors="replace") as log:
            return perf_report.parse(log, path)
    with open(path, newline="", encoding="utf-8") as table:
        rows = [{key: value for key, value in row.items() if value} for row in csv.DictReader(table)]
    words = (" ".join(f"{key}={value}" for key, value in row.items()) for row in rows)
    return perf_report.parse((f"[ PERFROW ] {line}" for line in words), path)  # one place that checks rows


def write_csv(rows, path):
    keys = list(dict.fromkeys(key for row in rows for key in row))
    with open(path, "w", newline="", encoding="utf-8") as table:
        writer = csv.DictWriter(table, keys, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def curves(rows):
    """{plot: {label: {x: milliseconds}}}; where a case was measured more than once, the shortest time."""
    out = {plot: {} for plot, _ in PLOTS}
    for row in rows:
        match = re.fullmatch(r"(resolution|sigma|tau)_([\d.]+)", row["name"])
        wanted = {"cpu": "call", "cuda": "kernel"}.get(row["engine"])
        if not match or row["part"] != wanted or (row["engine"] == "cpu" and row.get("threads") != "1"):
            continue
        for key, us in ((row["engine"], row["median_us"]), (row.get("peer"), row.get("peer_us"))):
            if us:
                points = out[match.group(1)].setdefault(LABELS.get(key, key), {})
                x = float(match.group(2))
                points[x] = min(us / 1e3, points.get(x, math.inf))
    return out


def draw(plots, title, path):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.ticker import NullLocator

    figure, axes = pyplot.subplots(1, len(PLOTS), figsize=(13, 4.2), sharey=True)
    style = dict(zip(LABELS.values(), (("tab:blue", "o"), ("tab:green", "s"), ("tab:red", "^"), ("tab:orange", "v"))))
    for axis, (plot, label) in zip(axes, PLOTS):
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        for name in LABELS.values():
            points = sorted(plots[plot].get(name, {}).items())
            if points:
                axis.plot(*zip(*points), label=name, color=style[name][0], marker=style[name][1], markersize=5)
        ticks = sorted({x for points in plots[plot].values() for x in points})
        axis.set_xticks(ticks, [f"{x:g}" for x in ticks], fontsize=8)
        axis.xaxis.set_minor_locator(NullLocator())
        axis.set_xlabel(label)
        axis.grid(True, which="major", alpha=.4)
    axes[0].set_ylabel("time, milliseconds")
    handles = {name: handle for axis in axes for handle, name in zip(*axis.get_legend_handles_labels())}
    figure.legend(handles.values(), handles.keys(), loc="lower center", ncol=len(handles), frameon=False)
    figure.suptitle(title, fontsize=10)
    figure.tight_layout(rect=(0, .06, 1, 1))
    figure.savefig(path, dpi=100)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", help="logs of the perf program, or CSV files of this script")
    parser.add_argument("--program", help="perf program; without it nothing is measured")
    parser.add_argument("--tables", action="store_true", help="measure the 1080p cases, draw nothing")
    parser.add_argument("--peer-seconds", type=float, default=60., help="longest expected run of scikit-image; 0: any")
    parser.add_argument("--title", default="BGR, colours times 32/255; sigma 6, tau 10 where not on the axis")
    parser.add_argument("--output", required=True, help="folder for perf.log, times.csv, times.md and plots.png")
    options = parser.parse_args()
    path = lambda name: os.path.join(options.output, name)

    rows = [row for name in options.files for row in read_rows(name)]
    if options.program:
        with open(path("perf.log"), "w", encoding="utf-8") as log:
            lines = run_program(options.program, "QuickShift_Cpu_*:QuickShift_Cuda_*" if options.tables else "QuickShift_*Plots*", log)
            lines += run_scikit_image(TABLES if options.tables else CURVES, options.peer_seconds, log)
        rows += perf_report.parse(lines, path("perf.log"))
    if not rows:
        sys.exit("no [ PERFROW ] line found: nothing to draw")
    made = ["times.csv", "times.md"]
    write_csv(rows, path("times.csv"))
    with open(path("times.md"), "w", encoding="utf-8") as out:
        out.write(perf_report.table(rows) + "\n")
    if not options.tables:
        plots = curves(rows)
        if not any(plots.values()):
            sys.exit("no row is named resolution_N, sigma_N or tau_N: nothing to draw")
        draw(plots, options.title, path("plots.png"))
        made.append("plots.png")
    print(perf_report.table(rows))
    print("made", *(path(name) for name in made))


main()
