"""Proves that gpu_code.py knows which code a GPU runs, and that a release of scripts/wheel.sh has some for every GPU."""
import contextlib
import io
import re
import unittest
from pathlib import Path
from unittest import mock

import gpu_code

WHEEL = Path(__file__).parents[1] / "wheel.sh"


def run(*arguments, machine="x86_64"):
    """Output and message of an error."""
    out = io.StringIO()
    with mock.patch("sys.argv", ["gpu_code.py", "--machine", machine, *arguments]), contextlib.redirect_stdout(out):
        try:
            gpu_code.main()
        except SystemExit as error:
            return out.getvalue(), error.code
    return out.getvalue(), ""


class GpuCode(unittest.TestCase):
    def test_which_code_runs(self):
        binary, ptx = ["7.5", "8.0", "8.6", "10.0"], ["7.5", "9.0"]
        for capability, wanted in (("7.5", "code of 7.5"), ("8.0", "code of 8.0"), ("8.6", "code of 8.6"), ("8.9", "code of 8.6"), ("10.3", "code of 10.0"),
                                   ("8.7", "PTX of 7.5, compiled by the driver"), ("9.0", "PTX of 9.0, compiled by the driver"),
                                   ("12.0", "PTX of 9.0, compiled by the driver"), ("7.0", None)):
            self.assertEqual(gpu_code.code_for(capability, binary, ptx), wanted, capability)
        self.assertIsNone(gpu_code.code_for("8.0", ["8.6"], []))
        self.assertIsNone(gpu_code.code_for("9.0", ["8.9"], ["10.0"]))
        self.assertEqual(gpu_code.code_for("8.8", ["8.7"], []), "code of 8.7")
        self.assertIsNone(gpu_code.code_for("8.9", ["8.7"], []))

    def test_listings(self):
        both = "ELF file    1: a.1.sm_75.cubin\nELF file    2: a.2.sm_100.cubin\nELF file    3: b.3.sm_75.cubin\n"
        self.assertEqual(gpu_code.code_in(both + "ELF file    4: b.4.sm_100.cubin\n", "cubin"), ["7.5", "10.0"])
        self.assertEqual(gpu_code.code_in("PTX file    1: a.1.sm_90.ptx\n", "ptx"), ["9.0"])
        self.assertEqual(gpu_code.code_in("", "ptx"), [])
        with self.assertRaisesRegex(SystemExit, "not every source file"):
            gpu_code.code_in(both, "cubin")

    def test_some_have_no_code(self):
        out, error = run("9.0", "")
        self.assertIn("  8.9: none\n   9.0: code of 9.0\n  10.0: none\n", out)
        self.assertEqual(error, "")
        self.assertEqual(run("--all", "9.0", "")[1], "error: no code for compute capability 7.5, 8.0, 8.6, 8.9, 10.0, 10.3, 11.0, 12.0, 12.1")
        self.assertRegex(run("", "")[1], "no code for compute capability 7.5, .*, 12.1")

    def test_a_release_has_code_for_all(self):
        text = WHEEL.read_text(encoding="utf-8")
        lists, (ptx,) = re.findall(r"RELEASE_ARCH(?:_AARCH64)?=([\d.,]+)", text), re.findall(r"RELEASE_PTX=([\d.,]+)", text)
        self.assertEqual(len(lists), 2)
        for binary, machine in zip(lists, ("x86_64", "aarch64")):
            self.assertEqual(run("--all", binary, ptx, machine=machine)[1], "", machine)
            without = binary.replace("8.0,", "")
            self.assertRegex(run("--all", without, ptx, machine=machine)[1], "no code for compute capability 8.0")


if __name__ == "__main__":
    unittest.main()
