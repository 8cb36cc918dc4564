"""Parts of the scripts that no build shows: which GPUs they see."""
import os
import subprocess
import tempfile
import unittest

import cv2

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
NVCC = os.environ.get("CUDATRACKING_NVCC", "")


class ScriptsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = lambda *names: os.path.join(folder.name, *names)
        os.mkdir(self.path("bin"))

    def tool(self, name, script):
        with open(self.path("bin", name), "w") as file:
            file.write("#!/bin/bash\n" + script + "\n")
        os.chmod(file.name, 0o755)
        return file.name

    def shell(self, command, *arguments):
        environment = {**os.environ, "PATH": self.path("bin") + ":" + os.environ["PATH"], "CUDATRACKING_BUILD_ROOT": self.path("build")}
        done = subprocess.run(["bash", "-c", f'source "{ROOT}/scripts/lib/common.sh"; {command}', "bash", *arguments],
                              env=environment, capture_output=True, text=True, timeout=300)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.split()

    def capabilities(self, *arguments):
        return self.shell('gpu_capabilities "$@"', *arguments)

    def fake_nvcc(self, name, probe):
        """Counts its calls, and makes a program that does what the probe does."""
        return self.tool(name, f'echo call >>"{self.path("calls")}"\n'
                               f'[ "$1" = -o ] && [[ $3 == *.cpp ]] && printf \'#!/bin/bash\\n{probe}\\n\' >"$2" && chmod +x "$2"')

    def test_nvidia_smi_knows(self):
        self.tool("nvidia-smi", "printf '9.0\\n12.0\\n9.0\\n8.6\\n'")
        nvcc = self.fake_nvcc("nvcc", "echo 5.0")
        self.assertEqual(self.capabilities(nvcc), ["8.6", "9.0", "12.0"])
        self.assertFalse(os.path.exists(self.path("calls")))

    def test_the_runtime_is_asked(self):
        nvcc = self.fake_nvcc("nvcc", "echo 8.7; echo 8.7")
        for answer in ("exit 127", "echo N/A", "echo '[N/A]'", "echo '[Not Supported]'", "echo 'NVIDIA-SMI has failed'; exit 9", "true"):
            with self.subTest(answer):
                self.tool("nvidia-smi", answer)
                self.assertEqual(self.capabilities(nvcc), ["8.7"])
        with open(self.path("calls")) as calls:
            self.assertEqual(len(calls.readlines()), 1)  # the program is kept
        self.assertEqual(self.capabilities(self.fake_nvcc("other", "echo 7.2")), ["7.2"])

    def test_no_gpu(self):
        self.tool("nvidia-smi", "exit 127")
        self.assertEqual(self.capabilities(), [])
        self.assertEqual(self.capabilities(self.tool("nvcc", "exit 1")), [])
        self.assertEqual(self.capabilities(self.fake_nvcc("other", "echo no driver; exit 1")), [])

    def test_the_probe_itself(self):
        if not os.path.exists(NVCC):
            self.skipTest("CUDATRACKING_NVCC does not name nvcc")
        self.tool("nvidia-smi", "exit 127")
        found = self.capabilities(NVCC)
        self.assertTrue(os.access(self.path("build", "gpu_probe"), os.X_OK))
        self.assertEqual(bool(found), cv2.cuda.getCudaEnabledDeviceCount() > 0)


if __name__ == "__main__":
    unittest.main()
