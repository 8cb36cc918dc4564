"""What texts say twice must be the same: check_texts.py CHECK ROOT.

CHECK is one of
    error-codes  the table in cudatracking.hpp has the codes and causes of test/common/error_codes.cpp, and every code that src throws
    figures      figures that a page quotes, between 'quoted figures: begin' and 'end', or what they were rounded from, stand on a page, or in a
                 section, that their row links to
    style        pages for users: short sentences and rows, few numbers in a sentence, signs and units as people write them, no private words
    names        doc/python.md has every public name of the package, and messages of the package begin with the argument
    units        headers and SECURITY.md give limits in MiB and KiB, as the code does
    version      README.md and CHANGELOG.md say of the package's version what is so: released or not
Prints one line per finding and exits with 1 when there is any.
"""
import ast
import posixpath
import re
from decimal import Decimal

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
TIME = re.compile(r"(?<![\w.,])\d[\d.,]* (?:us|µs|ms|s)\b")
SHARE = re.compile(r"(?<![\w.])0?\.\d+(?!\S*\d? (?:us|µs|ms|s)\b)\b(?!×)")  # as of F
RATIO = re.compile(r"(?<![\w.])\d[\d.]*(?=×)")
NUMBER = re.compile(r"(?<![\w.,])\d+(?:\.\d+)?(?![\d.]*\d)")
UNITS = {"": 0, "s": 0, "ms": -3, "us": -6, "µs": -6}
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


def rounds(quoted, exact):
    """Whether one figure is the other, rounded; '0.8 ms' is rounded from '817 us'."""
    (number, _, unit), (other, _, unit_of_other) = quoted.partition(" "), exact.partition(" ")
    power, power_of_other = UNITS[unit], UNITS[unit_of_other]
    value, known = Decimal(number.replace(",", "")), Decimal(other.replace(",", "")).scaleb(power_of_other - power)
    return abs(value - known) <= Decimal(5).scaleb(value.as_tuple().exponent - 1)


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
                times = TIME.findall(row)
                pages = {posixpath.normpath(posixpath.join(posixpath.dirname(name), page)) + anchor: anchor[1:]
                         for page, anchor in re.findall(r"\]\(([\w/.]+\.md)(#[^)]*)?\)", row)}
                if times and not pages:
                    yield f"{name}:{number}: a row with times links to the page that they are from"
                if not pages:
                    continue
                known = "\n".join(linked(read(root, page.partition("#")[0]), anchor) for page, anchor in pages.items())
                row = re.sub(r"\]\([^)]*\)", "]", row)
                for kind, of_page in ((TIME, TIME), (SHARE, SHARE), (RATIO, NUMBER)):
                    for figure in kind.findall(row):
                        if not any(rounds(figure, exact) for exact in of_page.findall(known)):
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


# Pages that are written by the rules of CONTRIBUTING.md, "Texts"; add a page when it is.
STYLED = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", *(f"doc/{page}.md" for page in (
    "index", "build", "cascade", "template_finder", "pipelines", "platforms", "rasters", "developing", "troubleshooting", "fast", "python", "python_gpu", "command", "from_opencv", "fragment_matcher",
    "fragment_matcher_algorithm", "windows", "performance/windows")))
LONGEST_SENTENCE, LONGEST_ROW, MOST_NUMBERS = 35, 160, 3
BANNED = ("the same bits", "nothing was chosen on", "absent frames", "absent boxes", "exact points", "second look", "whole or not at all",
          "an earlier version", "an older version", "no longer", "those of", "that of", "the latter", "one after another", "as it is", "as they are",
          ", too", "colour", "centre", "neighbour", "licence", "times as long")
SIGNS = ((r"\d us\b", "us: µs"), (r"\+-", "+-: ±"), (r"(?<![\w.])\.\d", "a number without its leading zero"), (r"\d x \d", "x: ×"))


def prose(text):
    """(line, text) of the paragraphs, list items and rows of a page, as a reader sees them: without code, quoted and generated tables, headings, targets of links."""
    hide = lambda found: re.sub(r"[^\n]", "", found.group())
    text = re.sub(r"<!-- [\w ]+: begin -->.*?<!-- [\w ]+: end -->", hide, text, flags=re.S)
    text = re.sub(r"^ {4}.*$", "", re.sub(r"^```.*?^```$|<!--.*?-->", hide, text, flags=re.S | re.M), flags=re.M)
    text = re.sub(r"`[^`\n]+`", "`code`", re.sub(r"\]\([^)\s]*\)", "]", text))
    start, block = 0, []
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if block and (not line.strip() or re.match(r"[-*|#>] |\d+\. |\|", line.lstrip())):
            yield start, " ".join(block)
            block = []
        if line.strip() and not line.startswith("#"):
            start, block = (start, block) if block else (number, block)
            block.append(re.sub(r" {2,}|-{4,}", " ", line.strip()))  # a row without its padding


def check_style(root):
    for name in STYLED:
        for line, text in prose(read(root, name)):
            row = " | " in text or " · " in text
            if " | " in text and len(text) > LONGEST_ROW:
                yield f"{name}:{line}: a row of {len(text)} characters"
            for sentence in [] if row else re.split(r"(?<=[.!?:]) +(?=[^a-z])", text):
                if len(sentence.split()) > LONGEST_SENTENCE:
                    yield f"{name}:{line}: a sentence of {len(sentence.split())} words: {sentence[:40]}..."
                numbers = re.findall(r"(?<![\w.])\d[\d.,]*", re.sub(r"\d{4}-\d\d-\d\d| × \d+", "", sentence))
                if len(numbers) > MOST_NUMBERS:
                    yield f"{name}:{line}: {len(numbers)} numbers in a sentence: {sentence[:40]}..."
            for pattern, said in SIGNS:
                if re.search(pattern, text):
                    yield f"{name}:{line}: {said}"
            for word in BANNED:
                if re.search(r"(?<!\w)" * word[0].isalpha() + re.escape(word) + r"(?!\w)" * (" " in word), text, re.I):
                    yield f"{name}:{line}: '{word}'"


def check_names(root):
    public = next(node.value for node in ast.parse(read(root, "python/cudatracking/__init__.py")).body
                  if isinstance(node, ast.Assign) and node.targets[0].id == "__all__")
    page = read(root, "doc/python.md")
    for name in ast.literal_eval(public):
        if not re.search(rf"`(?:ct\.)?{re.escape(name)}(?:\(\))?`", page):
            yield f"doc/python.md: {name} is not there"
    for path in sorted((root / "python/cudatracking").glob("*.py")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            message = re.search(r"raise ArgumentError\(f?[\"'](.*)", line)
            if message and ": " not in message.group(1):
                yield f"{path.relative_to(root)}:{number}: a message without 'argument: ': {message.group(1)}"


CHECKS = {"error-codes": check_error_codes, "figures": check_figures, "style": check_style, "names": check_names, "units": check_units, "version": check_version}

if __name__ == "__main__":
    main(CHECKS, __doc__)
