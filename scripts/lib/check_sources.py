"""The house rules that reading the sources can check: check_sources.py CHECK ROOT.

CHECK is one of CHECKS below. Prints one line per finding and exits with 1 when there is any.
"""
import posixpath
import re
import sys
from pathlib import Path

ALGORITHMS = ("fragment_matcher", "quick_shift", "cascade", "tld")
# Classes without backends of their own, and the algorithm on whose public header each stands.
STANDING_ON = {"template_finder": "fragment_matcher"}
NAMES = (*ALGORITHMS, *STANDING_ON)
# A comment or a literal.
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-zA-Z_])\'(?:\\.|[^\'\\\n])+\'', flags=re.S)


def sources(root, folders):
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".cpp", ".hpp", ".cu", ".cuh", ".h"):
                yield path, path.read_text(encoding="utf-8")


def spaces(match):
    return re.sub(r"[^\n]", " ", match.group())


def blank(text, preprocessor=True):
    """Comments, strings and (if asked) preprocessor lines become spaces; line breaks stay, so that line numbers hold."""
    text = TOKEN.sub(spaces, text)
    if preprocessor:
        text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", spaces, text, flags=re.M)
    return text


def blocks(text):
    """Yields (head, head line, open line, close line) of each brace block of blanked text. The head is what is before the brace."""
    line, head, head_line, stack = 1, "", 1, []
    for character in text:
        if character == "{":
            stack.append((head.strip(), head_line, line))
            head = ""
        elif character == "}":
            if stack:
                yield (*stack.pop(), line)
            head = ""
        elif character == ";":
            # `for (a; b; c) {` is one head
            head = head + ";" if head.count("(") > head.count(")") else ""
        else:
            if not head.strip():
                head_line = line + (character == "\n")
            head += character
        line += character == "\n"


def part_of(name):
    """(layer, algorithm) of a source file. Layers: common, definition, cpu, cuda, and around them include, test, perf."""
    match = re.match(r"(?:src/(?:(cpu|cuda)/)?|(include)/opencv2/cudatracking/|(test)/|(perf)/perf_)(%s)(?=[/_.])" % "|".join(NAMES), name)
    if match:
        return match.group(1) or match.group(2) or match.group(3) or match.group(4) or "definition", match.group(5)
    return ("common", None) if name.startswith("src/common/") else (None, None)


# What files of a layer may include of the own algorithm; of src/common/ all of them may, of another algorithm none.
MAY_INCLUDE = {"common": (), "include": ("include",), "definition": ("definition", "include"),
               "cpu": ("cpu", "definition", "include"), "cuda": ("cuda", "definition", "include"),
               "test": ("test", "cpu", "cuda", "definition", "include"), "perf": ("perf", "test", "cpu", "cuda", "definition", "include")}


def included_file(name, included):
    """Path from the repository's root of what #include "..." in file NAME means."""
    if included.startswith("opencv2/"):
        return "include/" + included
    if included.endswith(".simd_declarations.hpp"):
        return "src/" + included
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), included))


def check_walls(root):
    """Arrows run one way: backends -> definition -> src/common/; no algorithm includes another, no backend the other."""
    for path, text in sources(root, ("include", "src", "test", "perf")):
        name = path.relative_to(root).as_posix()
        layer, algorithm = part_of(name)
        if not layer:
            continue
        for number, line in enumerate(text.split("\n"), 1):
            include = re.match(r'\s*#\s*include\s*["<]([^">]+)', line)
            if not include:
                continue
            to_layer, to_algorithm = part_of(included_file(name, include.group(1)))
            if to_layer == "include" and to_algorithm == STANDING_ON.get(algorithm):
                continue
            if to_algorithm and to_algorithm != algorithm:
                yield f"{name}:{number}: {algorithm or 'src/common/'} includes {to_algorithm} ({include.group(1)})"
            elif to_algorithm and to_layer not in MAY_INCLUDE[layer]:
                yield f"{name}:{number}: {layer} includes {to_layer} ({include.group(1)})"
        other = {"cpu": "gpu", "cuda": "cpu"}.get(layer)
        for number, line in enumerate(blank(text).split("\n"), 1):
            if other and re.search(r"\b%s::" % other, line):
                yield f"{name}:{number}: {layer} uses the other backend: {line.strip()}"


DEFINITION = ("{algorithm}.cpp", "core.hpp", "stages.hpp", "engine.hpp")
BESIDE = ("src/cpu/{algorithm}/engine.cpp", "src/cuda/{algorithm}/engine.cpp", "src/cuda/{algorithm}/tuning.hpp",
          "include/opencv2/cudatracking/{algorithm}.hpp", "test/{algorithm}/oracle.hpp", "test/{algorithm}/scenes.hpp",
          "perf/perf_{algorithm}.cpp", "samples/{algorithm}.cpp", "samples/python/{algorithm}.py",
          "misc/python/test/test_{algorithm}.py", "doc/{algorithm}.md", "tutorials/{algorithm}.markdown")


def check_anatomy(root):
    """Every algorithm has the files of doc/developing.md's "Adding an algorithm", and in each only what belongs there."""
    for algorithm in ALGORITHMS:
        folder = root / "src" / algorithm
        if not folder.is_dir():
            continue
        for name in [f"src/{algorithm}/{name}" for name in DEFINITION] + list(BESIDE):
            name = name.format(algorithm=algorithm)
            if name.endswith("/tuning.hpp") and (root / name).parent.joinpath("routes.cpp").is_file():
                continue  # each route has its constants in its header
            if not (root / name).is_file():
                yield f"{name}: missing, every algorithm has one"
        for name, pattern, why in (
                ("core.hpp", r"\bcv::|\b(?:Mat|GpuMat|Stream|Size|Rect|Point)\b|\bcuda(?:Stream|Error)_t\b", "core.hpp knows neither OpenCV's nor CUDA's types"),
                ("engine.hpp", r"\b_?(?:Input|Output)Array\w*\b|\bGpuMat\b", "engines work on views"),
                ("stages.hpp", r"\b_?(?:Input|Output)Array\w*\b|\bstruct \w+Plan\b(?!;)|\bsharedBytes\b", "stages.hpp is a table of contents: no arrays, plans or layouts")):
            path = folder / name
            if not path.is_file():
                continue
            text = path.read_text(encoding="utf-8")
            for number, line in enumerate(blank(text, preprocessor=False).split("\n"), 1):
                if re.search(pattern, line):
                    yield f"src/{algorithm}/{name}:{number}: {why}: {line.strip()}"
            if name == "core.hpp" and re.search(r"^ *# *include *[\"<](?:opencv2/|cuda)", text, flags=re.M):
                yield f"src/{algorithm}/{name}: includes headers of OpenCV or CUDA"
    for path in sorted((root / "src").rglob("*.cu")):
        name = path.relative_to(root).as_posix()
        if part_of(name)[0] != "cuda":
            yield f"{name}: kernels stand in src/cuda/<algorithm>/"


def check_routes(root):
    """FragmentMatcher on CUDA: no file outside a route's folder names the route; only the list of routes does."""
    folder = root / "src" / "cuda" / "fragment_matcher"
    files = [path for path in sorted(folder.rglob("*")) if path.suffix in (".cpp", ".hpp", ".cu")]
    texts = {path: blank(path.read_text(encoding="utf-8")) for path in files}
    listing = folder / "routes.cpp"
    homes = {name: path for path in files if path != listing for name in re.findall(r"^const Route (\w+) = ", texts[path], flags=re.M)}
    for name, home in homes.items():
        if listing not in texts or not re.search(r"&%s\b" % name, texts[listing]):
            yield f"{home.relative_to(root)}: route {name} is not in routes.cpp"
        if home.parent == folder or home.parent.name == "common":
            yield f"{home.relative_to(root)}: route {name} has no folder of its family"
        for path, text in texts.items():
            if path != listing and path.parent != home.parent and re.search(r"\b%s\b" % name, text):
                yield f"{path.relative_to(root)}: names route {name} of {home.parent.relative_to(root)}"


SUITES = {algorithm: algorithm.title().replace("_", "") for algorithm in NAMES}
ANY_SUITE = "(?:%s|Common)" % "|".join(SUITES.values())  # for test/common/, which has tests of single algorithms too


def check_suites(root):
    """Tests: suites are named Algorithm_Topic; what needs a GPU has Cuda in its name, what needs the device alone ends with Alone."""
    for path, text in sources(root, ("test",)):
        name = path.relative_to(root).as_posix()
        folder = name.split("/")[1]
        bodies = {}
        for head, first, opened, last in blocks(blank(text)):
            match = re.search(r"\bTEST(?:_F|_P)?\((\w+), *(\w+)\)|\bclass (\w+)\b[^()]*$", head)
            if match:
                suite, test = match.group(1) or match.group(3), match.group(2) or ""
                bodies[first, suite, test] = "\n".join(text.split("\n")[opened - 1:last])
        fixtures = {suite for (_, suite, test), body in bodies.items() if not test and "requireCuda()" in body}
        for (line, suite, test), body in sorted(bodies.items()):
            if not test:
                continue
            where = f"{name}:{line}: {suite}.{test}"
            if not re.fullmatch(r"%s_[A-Z]\w*" % SUITES.get(folder, ANY_SUITE), suite) or "CUDA" in suite:
                yield f"{where}: suites of test/{folder}/ are named {SUITES.get(folder, 'Algorithm')}_Topic, with Cuda for CUDA"
            if ("requireCuda()" in body or suite in fixtures) and "Cuda" not in suite + test:
                yield f"{where}: needs a GPU, so it has Cuda in its name"
            if "freeDeviceMemory()" in body and not test.endswith("Alone"):
                yield f"{where}: measures memory that is free on the device, so it is named {test}Alone"


BASE_LAYER = ((r"<<<", "kernels are launched by common/launch.hpp"),
         (r"\bcudaFuncSetAttribute\b", "attributes of kernels are set by common/device.cpp"),
         (r"\bcuda(?:Malloc|Free|HostAlloc|Event|Graph|UserObject|StreamWaitEvent|StreamSynchronize|GetDevice|SetDevice|PeekAtLastError)\w*\b",
          "memory, events, waits and devices are the business of common/workspace.hpp"),
         (r"\bthread_local\b", "memory belongs to instances (common/scratch_pool.hpp)"))


def check_base_layer(root):
    """What only src/common/ may do, so that no algorithm can do it wrong."""
    for path, text in sources(root, ("src",)):
        name = path.relative_to(root).as_posix()
        if name.startswith("src/common/"):
            continue
        for number, line in enumerate(blank(text).split("\n"), 1):
            for pattern, why in BASE_LAYER:
                if re.search(pattern, line):
                    yield f"{name}:{number}: {why}: {line.strip()}"


# Body of a method that lets one thread at a time into its instance: the lock comes first, or there is one statement, in which members
# (their names end with _) are reached through the lock; or it returns a constant.
LOCKED = re.compile(r"\s*const auto lock = locked\(\);"
                    r"|(?=[^;]*(?:\blocked\(\)->|\*locked\(\)))(?![^;]*(?<!>)\b[a-z]\w*_\b)[^;]*;\s*}\s*$"
                    r"|\s*return (?:true|false|\d+|\"\w+\");\s*}\s*$")
METHOD = re.compile(r"(?:\b(\w+)::)?\b(\w+)\([^;{}]*\)(?: const)?(?: noexcept)?( override)?$")


def check_locks(root):
    """Overrides in the classes behind public classes take the lock of their instance (src/common/lockable.hpp)."""
    public = {name for _, text in sources(root, ("include",)) for name in re.findall(r"\bclass CV_EXPORTS\w* (\w+)", text)}
    for algorithm in NAMES:
        texts = [(path.relative_to(root).as_posix(), blank(path.read_text(encoding="utf-8")))
                 for path in sorted((root / "src" / algorithm).glob("*.[ch]pp"))]
        classes = []  # (file, class, first line, last line, names of overrides)
        for name, text in texts:
            for head, _, opened, last in blocks(text):
                match = re.search(r"\bclass (\w+)(?: final)? *:.*\bpublic (?:\w+::)*(\w+)", head.partition(",")[0], flags=re.S)
                if match and match.group(2) in public:
                    body = "\n".join(text.split("\n")[opened - 1:last])
                    classes.append((name, match.group(1), opened, last,
                                    set(re.findall(r"\b(\w+)\([^;{}]*\)(?: const)?(?: noexcept)? override\b", body))))
        for name, text in texts:
            for head, first, opened, last in blocks(text):
                method = METHOD.search(head)
                if not method:
                    continue
                owner, called, inside = method.groups()
                body = "\n".join(text.split("\n")[opened - 1:last]).partition("{")[2]
                for file, cls, begin, end, overrides in classes:
                    here = inside and file == name and begin <= opened and last <= end
                    if (owner == cls or here) and called in overrides and not LOCKED.match(body):
                        yield f"{name}:{first}: {cls}::{called}() does not begin with 'const auto lock = locked();'"


def check_gil(root):
    """Bindings written by hand call an instance, which locks itself, without Python's lock: a method that holds the one can need the other."""
    for path, text in sources(root, ("misc",)):
        for line, statement in statements(blank(text)):
            if re.search(r"(?:\(\*\w+\)|\bget\(\))->", statement) and not statement.startswith("ERRWRAP2("):
                yield f"{path.relative_to(root)}:{line}: an instance is called outside of ERRWRAP2(): {statement}"


def statements(text):
    """Yields (line, statement) of each statement outside of parentheses, with `{...}` cut to `{`."""
    line, statement, first = 1, "", 1
    for character in text:
        if character in ";{}":
            if statement.strip():
                yield first, " ".join(statement.split()) + (" {" if character == "{" else "")
            statement = ""
        else:
            if not statement.strip():
                first = line + (character == "\n")
            statement += character
        line += character == "\n"


def found(root, pattern, message):
    for path, text in sources(root, ("src", "include")):
        for number, line in enumerate(blank(text, preprocessor=False).split("\n"), 1):
            if re.search(pattern, line):
                yield f"{path.relative_to(root)}:{number}: {message}: {line.strip()}"


def check_device_state(root):
    """No device variable that changes, none that the host fills, no device-wide wait."""
    yield from found(root, r"\bcudaMemcpy(?:To|From)Symbol|\bcudaGetSymbolAddress", "device symbols are never written or read by the host")
    yield from found(root, r"\bcudaDeviceSynchronize\b|\bcudaThreadSynchronize\b|\bcuCtxSynchronize\b", "device-wide wait")
    yield from found(root, r"^\s*(?:static\s+)?(?:texture|surface)\s*<", "texture or surface reference at file scope")
    for path, text in sources(root, ("src", "include")):
        for line, statement in statements(blank(text)):
            declaration = statement.split("=")[0]
            if "__constant__" in declaration:
                if "=" not in statement and not statement.endswith("{"):
                    yield f"{path.relative_to(root)}:{line}: __constant__ without a literal value: {statement}"
            elif re.search(r"\b__(?:device|managed)__\b", declaration):
                variable = re.sub(r"\b__\w+__(?:\s*\([^()]*\))?", " ", declaration)  # attributes with arguments are no functions
                if "(" not in variable and not re.search(r"\bconst(?:expr)?\b", variable) and not variable.endswith("{"):
                    yield f"{path.relative_to(root)}:{line}: mutable device variable: {statement}"


CHECKS = {"walls": check_walls, "anatomy": check_anatomy, "routes": check_routes, "suites": check_suites, "base-layer": check_base_layer,
          "locks": check_locks, "gil": check_gil, "device-state": check_device_state}


def main(checks, usage):
    """Runs the check that the command line names, for a program of checks; prints its findings."""
    if len(sys.argv) != 3 or sys.argv[1] not in checks:
        sys.exit(usage)
    findings = list(checks[sys.argv[1]](Path(sys.argv[2])))
    print("\n".join(findings))
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main(CHECKS, __doc__)
