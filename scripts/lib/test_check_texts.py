"""Proves that check_texts.py finds each kind of difference, and is content with texts that agree."""
import tempfile
import unittest
from pathlib import Path

from check_texts import CHECKS, STYLED

HEADER = """/**
| code       | cause                     |
|------------|---------------------------|
| StsBadArg  | a wrong one; another one  |
| StsBadSize | a large one               |
*/
"""
TEST = """
const Cause WRONG = {Error::StsBadArg, "a wrong one"};
const Cause OTHER = {Error::StsBadArg,
                     "another "
                     "one"};
const Cause LARGE = {Error::StsBadSize, "a large one"};
void f() { expectCodes({{WRONG, f}, {OTHER, f}, {LARGE, f}}); }
"""
ROW = "| [job](performance/a.md) | {} |{}\n"
QUOTE = "<!-- quoted figures: begin -->\n{}<!-- quoted figures: end -->\n"


class CheckTexts(unittest.TestCase):
    def findings(self, check, files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return list(CHECKS[check](Path(folder)))

    def test_error_codes(self):
        header, test, source = "include/opencv2/cudatracking.hpp", "test/common/error_codes.cpp", "src/tld/a.cpp"
        files = {header: HEADER, test: TEST, source: 'CV_Error(Error::StsBadArg, ""); CV_Error(Error::StsInternal, "");\n'}
        self.assertEqual(self.findings("error-codes", files), [])
        for name, old, new, count in (
                (header, "a wrong one; ", "", 1), (header, "StsBadSize |", "StsNoMem   |", 2), (header, "a large", "a small", 2),
                (header, "| code ", "| number ", 4),  # no table: three causes, and a code of src
                (test, "Error::StsBadSize", "Error::StsError", 2), (test, "{LARGE, f}", "", 1),
                (source, "StsInternal", "StsNoMem", 1)):
            with self.subTest(old=old, new=new):
                self.assertEqual(len(self.findings("error-codes", {**files, name: files[name].replace(old, new)})), count)

    def test_figures(self):
        page = {"doc/performance/a.md": "246 us and 1.5 ms, 46 s\n", "README.md": QUOTE.format("| [job](doc/performance/a.md) | 1.5 ms |\n"),
                "doc/performance.md": QUOTE.format("| [job](performance/a.md) | 1.5 ms |\n"), "doc/b.md": "# B\n## One part\nF .544\n### Below\n.3\n## Other\n.7\n", "doc/tld.md": QUOTE.format("| David | .9 |\n| mean of [others](b.md#one-part) | .544 |\n")}
        for row, count in ((ROW.format("246 us", ""), 0), (ROW.format("246 us", " 61.5 | 7.7 |"), 0), ("| job |\n|--:|\n", 0),
                           (ROW.format("256 us", ""), 1), (ROW.format("46 us", ""), 1), (ROW.format("246 ms", ""), 1),
                           (ROW.format("246 us", " 64 | 8 |"), 1), (ROW.format("246 us", " 61.5 | 8 |"), 1), ("| job | 246 us |\n", 1),
                           ("| [F](b.md) | .544 |\n", 0), ("| [F](b.md) | 0.54 |\n", 0), ("| [F](b.md) | .55 |\n", 1), ("| [F](b.md) | 3× to 0.5× |\n", 2), ("| [F](performance/a.md) | 1.5×, 0.25 ms |\n", 0), ("| [F](performance/a.md) | 246 µs, 1.6 ms |\n", 1), ("| [F](b.md#one-part) | .544, .3 |\n", 0), ("| [F](b.md#one-part) | .7 |\n", 1), ("| [F](b.md#none) | .7 |\n", 1)):
            with self.subTest(row):
                self.assertEqual(len(self.findings("figures", {**page, "doc/scan.md": QUOTE.format(row)})), count)
        self.assertEqual(len(self.findings("figures", {**page, "doc/scan.md": ROW.format("246 us", "")})), 1)  # no quote

    def test_style(self):
        files = {name: "" for name in STYLED}
        short = "One idea in a sentence. See [page](a+-.5.md) and `x .5 us`.\n\n    code of 5 us\n\n```\ncode +- .5\n```\n"
        for text, count in ((short, 0), ("word " * 35 + "\n", 0), ("word " * 20 + "\nword " * 16 + "\n", 1), (("word " * 20 + "\n\n") * 2, 0),
                            ("- " + "word " * 20 + "\n- " + "word " * 20 + "\n", 0), ("| a | " + "b" * 150 + " |\n", 0), ("| a | " + "b" * 160 + " |\n", 1),
                            ("1, 2 and 3.5 of them.\n", 0), ("1, 2, 3 and 4.\n", 1), ("| 1 | 2 | 3 | 4 |\n", 0), ("5 us\n", 1), ("3 +- 1\n", 1), ("F is .72\n", 1), ("16 x 16\n", 1),
                            ("It gives the same bits.\n", 1), ("Its colours\n", 1), ("Look, too\n", 1), (QUOTE.format("F is .72, +- 1\n"), 0)):
            with self.subTest(text):
                self.assertEqual(len(self.findings("style", {**files, STYLED[-1]: text})), count)

    def test_names(self):
        files = {"python/cudatracking/__init__.py": '__all__ = [\n    "Tracker", "windows"]\n', "doc/python.md": "`ct.Tracker`, `windows()`\n"}
        self.assertEqual(self.findings("names", files), [])
        for name, text, count in (("doc/python.md", "`Tracker` and windows\n", 1), ("python/cudatracking/_a.py", 'raise ArgumentError(f"seed: {seed}: a number is needed")\n', 0),
                                  ("python/cudatracking/_a.py", 'raise ArgumentError("a number is needed")\n', 1)):
            self.assertEqual(len(self.findings("names", {**files, name: text})), count, text)

    def test_units(self):
        for text, count in (("8 MiB, 1 KiB\n", 0), ("8 MB\n", 1), ("8 KB and 512 GB\n", 2)):
            self.assertEqual(len(self.findings("units", {"include/a.hpp": text, "SECURITY.md": ""})), count)
            self.assertEqual(len(self.findings("units", {"SECURITY.md": text})), count)

    def test_version(self):
        version = {"python/cudatracking/_version.py": '__version__ = "0.2.0"\n'}
        for readme, changelog, count in (("| version 0.2.0 |", "## Unreleased\n## 0.2.0 (2026-12-01)\n", 0), ("| version 0.2.0, not released yet |", "## 0.2.01\n", 0),
                                         ("| version 0.2.0, not released yet |", "## 0.2.0\n", 1), ("| version 0.2.0 |", "## 0.1.0\n", 1),
                                         ("| version 0.1.0 |", "## 0.2.0\n", 1)):
            self.assertEqual(len(self.findings("version", {**version, "README.md": readme, "CHANGELOG.md": changelog})), count, (readme, changelog))


if __name__ == "__main__":
    unittest.main()
