"""Counts the tests of an OpenCV test program: count_gtest.py (LOG XML EXIT_CODE)..., three arguments per process that had a share.

Prints 'passed failed skipped' to stdout and lists what was skipped, by suite and reason, and what failed to stderr.
OpenCV's ts reports a skipped test as passed in the XML, after a line '[     SKIP ] reason' in the log; a program that
crashed leaves no XML. So verdicts come from the XML when there is one, and skips and crashes from the log.
"""
import re
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter

MARK = re.compile(r"\[ +(RUN|OK|FAILED|SKIP|SKIPPED) +\] ?(.*)")
NAME = re.compile(r"[\w/]+\.[\w/]+")


def read_log(path):
    """Returns verdicts by test name, the reason of each skip, and the test that was running when the log ends."""
    verdicts, reasons, running = {}, {}, None
    with open(path, encoding="utf-8", errors="replace") as log:
        for line in log:
            mark = MARK.search(line)
            if not mark:
                continue
            kind, rest = mark.groups()
            name = NAME.match(rest)
            if kind == "RUN" and name:
                running = name.group()
            elif kind in ("SKIP", "SKIPPED"):
                if running:
                    reasons[running] = rest.strip() or "no reason given"
                elif name:  # a test that was not even started
                    reasons[name.group()] = rest[name.end():].strip(" :,()") or "no reason given"
            elif kind in ("OK", "FAILED") and name:
                if kind == "FAILED" or verdicts.get(name.group()) != "failed":
                    verdicts[name.group()] = "passed" if kind == "OK" else "failed"
                if name.group() == running:
                    running = None
    return verdicts, reasons, running


def read_xml(path):
    """Returns verdicts by test name, or None when the file is missing or cut off."""
    try:
        cases = ElementTree.parse(path).iter("testcase")
    except (OSError, ElementTree.ParseError):
        return None
    verdicts = {}
    for case in cases:
        name = case.get("classname") + "." + case.get("name")
        if case.find("failure") is not None:
            verdicts[name] = "failed"
        elif case.get("status") == "run":
            verdicts[name] = "passed"
    return verdicts


def verdicts_of(log, xml, exit_code):
    """Returns verdicts by test name and the reason of each skip, of one process."""
    verdicts, reasons, running = read_log(log)
    from_xml = read_xml(xml)
    if from_xml is not None:
        verdicts = from_xml
    elif running:
        verdicts[running] = "failed"
        print(f"CRASHED  or timed out in {running}", file=sys.stderr)
    for name in reasons:
        if verdicts.get(name) != "failed":
            verdicts[name] = "skipped"
    if exit_code != "0" and "failed" not in verdicts.values():
        verdicts[f"the test program, which ended with code {exit_code}"] = "failed"
    return verdicts, reasons


def main():
    verdicts, reasons = {}, {}
    for first in range(1, len(sys.argv), 3):
        for all_of_them, share in zip((verdicts, reasons), verdicts_of(*sys.argv[first : first + 3])):
            all_of_them.update(share)

    groups = Counter((name.split(".")[0], reasons[name]) for name, verdict in verdicts.items() if verdict == "skipped")
    for (suite, reason), count in sorted(groups.items()):
        print(f"SKIPPED  {suite}: {count} test{'s' if count > 1 else ''} ({reason})", file=sys.stderr)
    for name in sorted(name for name, verdict in verdicts.items() if verdict == "failed"):
        print(f"FAILED   {name}", file=sys.stderr)
    totals = Counter(verdicts.values())
    print(totals["passed"], totals["failed"], totals["skipped"])


main()
