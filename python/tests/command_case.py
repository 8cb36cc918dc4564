"""What the tests of the command share."""
import contextlib
import csv
import importlib.util
import io
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import cudatracking as ct
from cudatracking._command import main
from scenes import frame

HAVE_AV = importlib.util.find_spec("av") is not None
needs_av = unittest.skipUnless(HAVE_AV, "PyAV is not installed")
SIGNALS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP


def write_video(path, count, frames=frame):
    first = frames(0)
    writer = ct.cv2.VideoWriter(path, ct.cv2.CAP_OPENCV_MJPEG, ct.cv2.VideoWriter.fourcc(*"MJPG"), 10, first.shape[1::-1])
    assert writer.isOpened()
    for step in range(count):
        writer.write(frames(step))
    writer.release()


def frames_of(path):
    video, count = ct.cv2.VideoCapture(path, ct.cv2.CAP_OPENCV_MJPEG), 0
    assert video.isOpened(), path
    while video.read()[0]:
        count += 1
    return count


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


class CommandCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = lambda name: os.path.join(folder.name, name)

    def run_command(self, *arguments, code=0, **named):
        done = subprocess.run([sys.executable, "-m", "cudatracking", *arguments], capture_output=True, text=True, timeout=300, cwd=self.folder, **named)
        self.assertEqual(done.returncode, code, f"{arguments}\n{done.stdout}\n{done.stderr}")
        self.assertNotIn("Traceback", done.stderr)
        return done

    def call_command(self, *arguments, code=0):
        """The command in this process, which is quicker, from the folder of the test: what it printed, (output, errors)."""
        output, errors, before = io.StringIO(), io.StringIO(), os.getcwd()
        handlers = {number: signal.getsignal(number) for number in SIGNALS}
        os.chdir(self.folder)
        try:
            with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
                try:
                    done = main(arguments)
                except SystemExit as ended:
                    done = ended.code
        finally:
            os.chdir(before)
            for number, handler in handlers.items():
                signal.signal(number, handler)
        self.assertEqual(done, code, f"{arguments}\n{output.getvalue()}\n{errors.getvalue()}")
        return output.getvalue(), errors.getvalue()

    def disk(self, line, size="16k"):
        """Runs a line of the shell with a file system of that size in the folder `disk`."""
        script = f"mkdir -p disk && mount -t tmpfs -o size={size} none disk"
        if not shutil.which("unshare") or subprocess.run(["unshare", "-rm", "sh", "-c", script], cwd=self.folder, capture_output=True).returncode:
            self.skipTest("this user may not mount a tmpfs")
        return subprocess.run(["unshare", "-rm", "sh", "-c", f"{script} && {{ {line}; }}"], cwd=self.folder, capture_output=True, text=True, timeout=300)
