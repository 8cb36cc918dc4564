"""Runs the unittest files test_*.py of a folder: run_unittests.py FOLDER.

Results go to stderr; stdout gets the one line 'passed failed skipped'. Needs cv2 on PYTHONPATH.
"""
import contextlib
import glob
import os
import sys
import unittest
from collections import Counter


def main():
    if not glob.glob(os.path.join(glob.escape(sys.argv[1]), "test_*.py")):
        sys.exit(f"error: there is no test_*.py in {sys.argv[1]}")
    with contextlib.redirect_stdout(sys.stderr):  # what tests print must not mix with the count
        import cv2
        print(f"cv2 {cv2.__version__} of {cv2.__file__}")
        suite = unittest.defaultTestLoader.discover(sys.argv[1], pattern="test_*.py")
        result = unittest.TextTestRunner(stream=sys.stderr, verbosity=2).run(suite)
    # A sub-test reports as itself; it is its test that failed or was skipped, once.
    test_id = lambda test: getattr(test, "test_case", test).id()
    failures = {test_id(test) for test, _ in result.failures + result.errors} | {test.id() for test in result.unexpectedSuccesses}
    failed = len(failures)
    skipped = len({test_id(test) for test, _ in result.skipped} - failures)
    for reason, count in sorted(Counter(reason for _, reason in result.skipped).items()):
        print(f"SKIPPED  Python: {count} test{'s' if count > 1 else ''} ({reason})", file=sys.stderr)
    print(max(result.testsRun - failed - skipped, 0), failed, skipped)


main()
