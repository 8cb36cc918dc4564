"""What texts say twice must be the same: check_texts.py CHECK ROOT.

CHECK is one of
    error-codes  the table in cudatracking.hpp has the codes and causes of test/common/error_codes.cpp, and every code that src throws
    figures      figures that a page quotes, between 'quoted figures: begin' and 'end', stand on a page, or in a section, that their row links to
    units        headers and SECURITY.md give limits in MiB and KiB, as the code does
    version      README.md and CHANGELOG.md say of the package's version what is so: released or not
Prints one line per finding and exits with 1 when there is any.
"""
import posixpath
import re

from check_sources import main
from doxygen_markdown import slug

UMBRELLA = "include/opencv2/cudatracking.hpp"
CODES_TEST = "test/common/error_codes.cpp"


def read(root, name):
    return (root / name).read_text(encoding="utf-8")


def causes_of_header(text):
    """{(code, cause)} of the table of error codes. Causes are divided by ';'."""
    table = re.search(r"^\| code +\| cause +\|\n\|[-|]+\|\n((?:\|.*\n)+)", text, re.M)
    found = set()
    for row in table.group(1).splitlines() if table else ():
        code, causes = (cell.strip() for cell in row.strip("|").split("|"))
        found |= {(code, cause.strip()) for cause in causes.split(";")}
    return found


def check_error_codes(root):
    test = read(root, CODES_TEST)
    declared = re.findall(r"const Cause (\w+) = \{\s*Error::(\w+),\s*((?:\"[^\"]*\"\s*)+)\}", test)
    tested = {(code, "".join(re.findall(r'"([^"]*)"', cause))) for _, code, cause in declared}
    listed = causes_of_header(read(root, UMBRELLA))
    for name, _, _ in declared:
        if len(re.findall(rf"\b{name}\b", test)) < 2:
            yield f"{CODES_TEST}: {name} has no call"
    for code, cause in sorted(listed - tested):
        yield f"{UMBRELLA}: {code}, '{cause}': {CODES_TEST} has no such cause"
    for code, cause in sorted(tested - listed):
        yield f"{CODES_TEST}: {code}, '{cause}': the table of {UMBRELLA} has no such cause"
    documented = {code for code, _ in listed} | {"StsInternal"}  # a fault of the module itself
    for path in sorted((root / "src").rglob("*")):
        if path.suffix in (".cpp", ".hpp", ".cu"):
            for code in sorted(set(re.findall(r"\bError::(\w+)", path.read_text(encoding="utf-8"))) - documented):
                yield f"{path.relative_to(root)}: {code} is not in the table of {UMBRELLA}"


QUOTE = re.compile(r"<!-- quoted figures: begin -->\n(.*?)<!-- quoted figures: end -->", re.S)
TIME = re.compile(r"(?<![\w.,])\d[\d.,]* (?:us|ms|s)\b")
SHARE = re.compile(r"(?<![\w.])\.\d+\b")  # as of F
FRAMES = 10_000 * 3600 * 25  # of the hours in scan.md


def linked(text, anchor):
    """Returns a page or, with an anchor, its section of that name and what is below it; nothing if there is none."""
    if not anchor:
        return text
    parts = re.split(r"^(#+) (.*)\n", text, flags=re.M)
    sections = list(zip(parts[1::3], parts[2::3], parts[3::3]))
    for at, (level, heading, _) in enumerate(sections):
        if slug(heading) == anchor:
            end = next((i for i in range(at + 1, len(sections)) if len(sections[i][0]) <= len(level)), None)
            return "".join(body for _, _, body in sections[at:end])
    return ""


def check_figures(root):
    """Also: each quoting page has a quote, and hours in columns of their own follow from the time per frame in their row."""
    for name in ("README.md", "doc/performance.md", "doc/scan.md", "doc/tld.md"):
        text = read(root, name)
        quotes = list(QUOTE.finditer(text))
        if not quotes:
            yield f"{name}: no quoted figures"
        for quote in quotes:
            first = text[:quote.start(1)].count("\n") + 1
            for number, row in enumerate(quote.group(1).splitlines(), first):
                times, shares = TIME.findall(row), SHARE.findall(row)
                pages = {posixpath.normpath(posixpath.join(posixpath.dirname(name), page)) + anchor: anchor[1:]
                         for page, anchor in re.findall(r"\]\(([\w/.]+\.md)(#[^)]*)?\)", row)}
                if times and not pages:
                    yield f"{name}:{number}: a row with times links to the page that they are from"
                if not pages:
                    continue
                known = "\n".join(linked(read(root, page.partition("#")[0]), anchor) for page, anchor in pages.items())
                for figure in times + shares:
                    if figure not in TIME.findall(known) + SHARE.findall(known):
                        yield f"{name}:{number}: {figure} is not on {', '.join(pages)}"
                hours = [float(cell) for cell in row.split("|") if re.fullmatch(r" *[\d.]+ *", cell)]
                right = float(times[0].split()[0]) * FRAMES / 3600e6 if times else 0.
                if times and any(abs(given - wanted) > 0.051 for given, wanted in zip(hours, (right, right / 8))):
                    yield f"{name}:{number}: {times[0]} per frame are {right:.1f} hours, {right / 8:.1f} on 8 GPUs"


def check_units(root):
    for path in [*sorted((root / "include").rglob("*.hpp")), root / "SECURITY.md"]:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for amount in re.findall(r"\b[\d.,]+ [KMG]B\b", line):
                yield f"{path.relative_to(root)}:{number}: {amount}: MB is 10^6 bytes; the limits of the code are in MiB"


def check_version(root):
    """A version is released when CHANGELOG.md has a section of it: '## 0.1.0 (2026-12-01)'."""
    version = re.search(r'__version__ = "(.*)"', read(root, "python/cudatracking/_version.py")).group(1)
    released = re.search(rf"^## {re.escape(version)}\b", read(root, "CHANGELOG.md"), re.M)
    said = f"| version {version}{'' if released else ', not released yet'} |"
    if said not in read(root, "README.md"):
        yield f"README.md: does not say '{said}', as _version.py and CHANGELOG.md do"


CHECKS = {"error-codes": check_error_codes, "figures": check_figures, "units": check_units, "version": check_version}

if __name__ == "__main__":
    main(CHECKS, __doc__)
