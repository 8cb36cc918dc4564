"""Runs the unittest files test_*.py of a folder: run_unittests.py FOLDER [MODULE [PATTERN]].

Results go to stderr; stdout gets the one line 'passed failed skipped'. MODULE is what is tested (default: cv2, on PYTHONPATH),
PATTERN names the files (default: test_*.py).
"""
import contextlib
import glob
import importlib
import os
import sys
import unittest
from collections import Counter


def main():
    pattern = sys.argv[3] if len(sys.argv) > 3 else "test_*.py"
    if not glob.glob(os.path.join(glob.escape(sys.argv[1]), pattern)):
        sys.exit(f"error: there is no {pattern} in {sys.argv[1]}")
    with contextlib.redirect_stdout(sys.stderr):  # what tests print must not mix with the count
        tested = importlib.import_module(sys.argv[2] if len(sys.argv) > 2 else "cv2")
        print(f"{tested.__name__} {tested.__version__} of {tested.__file__}")
        suite = unittest.defaultTestLoader.discover(sys.argv[1], pattern=pattern)
        result = unittest.TextTestRunner(stream=sys.stderr, verbosity=2).run(suite)
    # A sub-test reports as itself; it is its test that failed or was skipped, once.
    test_id = lambda test: getattr(test, "test_case", test).id()
    failures = {test_id(test) for test, _ in result.failures + result.errors} | {test.id() for test in result.unexpectedSuccesses}
    failed = len(failures)
    skipped = len({test_id(test) for test, _ in result.skipped} - failures)
    for reason, count in sorted(Counter(reason for _, reason in result.skipped).items()):
        print(f"SKIPPED  Python: {count} test{'s' if count > 1 else ''} ({reason})", file=sys.stderr)
    print(max(result.testsRun - failed - skipped, 0), failed, skipped)


if __name__ == "__main__":  # processes that tests start import this file
    main()
