# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""What the command needs before the package is imported. Programs that import the package keep their handlers and files.

SIGINT, SIGTERM and SIGHUP during the import, which takes a while, end the command as they would later, with exit code 130, and not with the place
in the imports where it was. Standard streams that are closed get a file: else a table that is opened later could have the number of the standard
error, and libraries would write their messages into it.
"""
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


def _occupy() -> None:
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest number that is free


if _is_command():
    _occupy()
    try:
        import signal

        signal.signal(signal.SIGINT, _end)
        signal.signal(signal.SIGTERM, _end)
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # nohup
            signal.signal(signal.SIGHUP, _end)
    except KeyboardInterrupt:
        os._exit(130)
