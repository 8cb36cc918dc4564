#!/usr/bin/env python3
"""Turns what the perf program printed into a Markdown table.

    build/.../bin/opencv_perf_cudatracking | scripts/perf_report.py
    scripts/perf_report.py perf.log [more.log ...]

Reads lines of the form
    [ PERFROW ] name=A_sad engine=cuda part=kernel median_us=28.1 lower_bound_us=16.7 positions=1089000 bytes=3000000 peer=matchTemplate peer_us=618000
and ignores all others. name, engine, part and median_us are needed; the rest may be missing; values have no spaces.
A key that is not known becomes a column of its own. share = lower bound / ours; ratio = peer / ours, above 1 we are faster.
"""
import re
import sys

ROW = re.compile(r"\[ PERFROW \](.*)")
NEEDED = ("name", "engine", "part", "median_us")
NUMBERS = ("median_us", "lower_bound_us", "positions", "bytes", "peer_us")


def parse(lines, origin):
    rows = []
    for number, line in enumerate(lines, 1):
        match = ROW.search(line)
        if not match:
            continue
        row = dict(word.split("=", 1) for word in match.group(1).split() if "=" in word)
        try:
            missing = [key for key in NEEDED if key not in row]
            if missing:
                raise ValueError("no " + ", ".join(missing))
            for key in NUMBERS:
                if key in row:
                    row[key] = float(row[key])
            if not row["median_us"] > 0:
                raise ValueError("median_us is not positive")
        except ValueError as error:
            sys.exit(f"{origin}:{number}: {error}: {line.strip()}")
        rows.append(row)
    return rows


def number(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def duration(us):
    return number(us) + " us" if us < 1000 else number(us / 1e3) + " ms" if us < 1e6 else number(us / 1e6) + " s"


def cells(row, extra):
    ours, bound, peer_us = row["median_us"], row.get("lower_bound_us"), row.get("peer_us")
    out = [row["name"], row["engine"], row["part"], duration(ours)]
    out.append(duration(bound) if bound else "")
    out.append(f"{100 * bound / ours:.0f} %" if bound else "")
    out.append(number(row["positions"] / ours / 1e3) if row.get("positions") else "")
    out.append(number(row["bytes"] / ours / 1e3) if row.get("bytes") else "")
    out += [row.get("peer", ""), duration(peer_us) if peer_us else "", number(peer_us / ours) if peer_us else ""]
    return out + [row.get(key, "") for key in extra]


def table(rows):
    known = NEEDED + NUMBERS + ("peer",)
    extra = [key for key in dict.fromkeys(key for row in rows for key in row) if key not in known]
    titles = ["case", "backend", "part", "ours", "lower bound", "share", "Gpos/s", "GB/s", "peer", "peer time", "ratio"] + extra
    lines = [cells(row, extra) for row in rows]
    used = [i for i, _ in enumerate(titles) if i < 4 or any(line[i] for line in lines)]
    widths = [max(len(line[i]) for line in lines + [titles]) for i in range(len(titles))]
    text = lambda i: i < 3 or titles[i] in ["peer"] + extra
    show = lambda line: "| " + " | ".join(line[i].ljust(widths[i]) if text(i) else line[i].rjust(widths[i]) for i in used) + " |"
    rule = "|" + "|".join("-" * (widths[i] + 2) if text(i) else "-" * (widths[i] + 1) + ":" for i in used) + "|"
    return "\n".join([show(titles), rule] + [show(line) for line in lines])


def main():
    if any(argument in ("--help", "-h") for argument in sys.argv[1:]):
        print(__doc__)
        return
    rows = []
    for name in sys.argv[1:]:
        try:
            with open(name, encoding="utf-8", errors="replace") as log:
                rows += parse(log, name)
        except OSError as error:
            sys.exit(f"perf_report.py: {error}")
    if len(sys.argv) == 1:
        rows = parse(sys.stdin, "stdin")
    if not rows:
        sys.exit("perf_report.py: no [ PERFROW ] line found")
    print(table(rows))


if __name__ == "__main__":  # scripts/lib/quick_shift_plots.py takes parse() and table() from here
    main()
