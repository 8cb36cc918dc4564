"""Every public name with every kind of wrong argument, in child processes: exceptions of stated kinds, no crash, no hang."""
import os
import subprocess
import sys
import unittest

import numpy as np

import cudatracking as ct

CHILD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "wrong_arguments.py")


class WrongArgumentsTest(unittest.TestCase):
    def names(self):
        done = subprocess.run([sys.executable, CHILD, "--list"], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split()

    def test_every_public_name(self):
        self.attack({"CUDA_VISIBLE_DEVICES": ""})

    def test_every_public_name_on_a_device(self):
        if not ct.devices():
            self.skipTest("no CUDA device")
        self.attack({})

    @unittest.skipIf(int(np.__version__.split(".")[0]) < 2, "fake_device.py needs numpy 2")
    def test_every_public_name_on_a_fake_device(self):
        """The device is memory of the host, so that a wrong address that is not refused ends the process too."""
        self.attack({"CUDA_VISIBLE_DEVICES": ""}, "--fake")

    def attack(self, environment, *options):
        names = self.names()
        calls = 0
        for name in names:
            with self.subTest(name):
                try:
                    done = subprocess.run([sys.executable, CHILD, *options, name], capture_output=True, text=True, timeout=300,
                                          env={**os.environ, **environment})
                except subprocess.TimeoutExpired as hung:
                    self.fail(f"{name}: hangs after {(hung.stderr or b'').decode().splitlines()[-1:]}")
                last = "; last call: " + (done.stderr.splitlines() or [""])[-1]
                self.assertEqual(done.returncode, 0, f"{name}: exit code {done.returncode}{last}\n{done.stdout}")
                calls += int(done.stdout.split()[-1])
        print(f"{calls} calls of {len(names)} public names")
        self.assertGreater(calls, 3000)

    def test_a_crash_would_be_seen(self):
        done = subprocess.run([sys.executable, CHILD, "--crash"], capture_output=True, text=True, timeout=120)
        self.assertLess(done.returncode, 0)


if __name__ == "__main__":
    unittest.main()
