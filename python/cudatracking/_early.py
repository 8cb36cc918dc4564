# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""SIGINT, SIGTERM and SIGHUP of the command while the package is imported, which takes a while: it ends as it would later, with exit code 130, and not
with the place in the imports where it was. Programs that import the package keep their handlers."""
import os
import sys


def _is_command() -> bool:
    """Whether this process is the command: its script, or python -m cudatracking, for which sys.argv[0] is "-m" as yet."""
    arguments = getattr(sys, "argv", [])
    if arguments[:1] == ["-m"]:
        return getattr(sys, "orig_argv", [])[-len(arguments):][:1] in (["cudatracking"], ["-mcudatracking"])
    return bool(arguments) and os.path.basename(arguments[0]) == "cudatracking"


def _end(_number: int, _frame: object) -> None:
    os._exit(130)  # nothing is open yet


if _is_command():
    try:
        import signal

        signal.signal(signal.SIGINT, _end)
        signal.signal(signal.SIGTERM, _end)
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # nohup
            signal.signal(signal.SIGHUP, _end)
    except KeyboardInterrupt:
        os._exit(130)
