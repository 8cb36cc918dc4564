"""The house rules that reading the sources can check: check_sources.py CHECK ROOT.

CHECK is one of files, functions, columns, walls, anatomy, stages, tuning, routes, words, suites, base-layer, locks, gil, constant,
sync, draws, device-state. Prints one line per finding and exits with 1 when there is any. Budgets are lines of code: comments and blank lines do not
count. A file or function may be longer when a comment at its top says 'over budget: reason'.
"""
import posixpath
import re
import sys
from pathlib import Path

ALGORITHMS = ("fragment_matcher", "quick_shift", "cascade", "tld")
FOLDERS = ("include", "src", "test", "perf", "samples", "misc")
EXCUSE = re.compile(r"over budget: *\S")
FUNCTION_BUDGET, KERNEL_BUDGET = 60, 80
COLUMNS = 120
# A comment or a literal.
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-zA-Z_])\'(?:\\.|[^\'\\\n])+\'', flags=re.S)


def sources(root, folders=FOLDERS):
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".cpp", ".hpp", ".cu", ".cuh", ".h"):
                yield path, path.read_text(encoding="utf-8")


def spaces(match):
    return re.sub(r"[^\n]", " ", match.group())


def without_comments(text):
    """Comments become spaces; line breaks stay, so that line numbers hold."""
    return TOKEN.sub(lambda match: spaces(match) if match.group().startswith("/") else match.group(), text)


def lines_of_code(lines):
    """Number of lines that are not blank; LINES come from without_comments()."""
    return sum(1 for line in lines if line.strip())


def blank(text, preprocessor=True):
    """Comments, strings and (if asked) preprocessor lines become spaces; line breaks stay, so that line numbers hold."""
    text = TOKEN.sub(spaces, text)
    if preprocessor:
        text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", spaces, text, flags=re.M)
    return text


def blocks(text):
    """Yields (head, head line, open line, close line, depth of named scopes only) of each brace block of blanked text.

    The head is what stands between the brace and the statement before it.
    """
    line, head, head_line, stack = 1, "", 1, []
    for character in text:
        if character == "{":
            outer = all(kind(entry[0]) in ("namespace", "type") for entry in stack)
            stack.append((head.strip(), head_line, line, outer))
            head = ""
        elif character == "}":
            if stack:
                entry = stack.pop()
                yield entry[0], entry[1], entry[2], line, entry[3]
            head = ""
        elif character == ";":
            # `for (a; b; c) {` is one head
            head = head + ";" if head.count("(") > head.count(")") else ""
        else:
            if not head.strip():
                head_line = line + (character == "\n")
            head += character
        line += character == "\n"


def kind(head):
    head = re.sub(r"\b(?:public|protected|private) *:(?!:)", " ", head).strip()
    if re.match(r"(?:inline +)?namespace\b|extern\b *$", head):
        return "namespace"
    if re.search(r"\b(?:class|struct|union|enum)\b(?![^<]*>)[^()=]*$", re.sub(r"^template *<.*?> *(?=class|struct|union)", "", head, flags=re.S)):
        return "type"
    if "(" in head and not re.search(r"(?<![=!<>])=(?!=)[^()]*$", head):
        return "function"
    return "other"


def check_files(root):
    for path, text in sources(root):
        name = path.relative_to(root).as_posix()
        budget = (600 if name.startswith(("test/", "perf/")) else 450 if path.suffix in (".cu", ".cuh")
                  else 250 if path.suffix in (".hpp", ".h") and not name.endswith(".simd.hpp") else 350)
        lines = lines_of_code(without_comments(text).split("\n"))
        if lines > budget and not EXCUSE.search("\n".join(text.split("\n")[:30])):
            yield f"{name}: {lines} lines of code, budget {budget}"


def check_functions(root):
    for path, text in sources(root):
        raw, code = text.split("\n"), without_comments(text).split("\n")
        for head, first, opened, last, outer in blocks(blank(text)):
            if not outer or kind(head) != "function":
                continue
            kernel = "__global__" in head
            budget = KERNEL_BUDGET if kernel else FUNCTION_BUDGET
            lines = lines_of_code(code[first - 1:last])
            if lines <= budget or EXCUSE.search("\n".join(raw[max(first - 8, 0):opened + 3])):
                continue
            name = re.search(r"([~\w:]+|operator\s*\S+) *\(", head)
            what = "kernel" if kernel else "function"
            yield f"{path.relative_to(root)}:{first}: {what} {name.group(1) if name else '?'} has {lines} lines of code, budget {budget}"


def check_columns(root):
    """Comments end at column 120; clang-format sees to the code."""
    for path, text in sources(root):
        lines = text.split("\n")
        for first, comment in comments_of(text):
            for number in range(first, first + comment.count("\n") + 1):
                if len(lines[number - 1]) > COLUMNS:
                    yield f"{path.relative_to(root)}:{number}: a comment ends at column {len(lines[number - 1])}"


def part_of(name):
    """(layer, algorithm) of a source file. Layers: common, definition, cpu, cuda, and around them include, test, perf."""
    match = re.match(r"(?:src/(?:(cpu|cuda)/)?|(include)/opencv2/cudatracking/|(test)/|(perf)/perf_)(%s)(?=[/_.])" % "|".join(ALGORITHMS), name)
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
    """Every algorithm has the files of CONTRIBUTING's "Adding an algorithm", and in each only what belongs there."""
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


STAGE = re.compile(r"^//   (\w+)  +(\S.*)$")
PLACE = re.compile(r"(cpu|cuda): in ([\w., ]+)|on the host: (src/[\w/.]+)")


def snake_case(name):
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def stages_of(text):
    """(line, name, description) of each stage in the list at the top of a stages.hpp; a description may go on in the next lines."""
    stages = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.startswith("//"):
            if stages:
                break
            continue
        match = STAGE.match(line)
        if match:
            stages.append([number, match.group(1), match.group(2)])
        elif stages and re.match(r"^//    {4,}\S", line):
            stages[-1][2] += " " + line[2:].strip()
    return stages


def file_or_below(path):
    """The file, or the one of its name in a folder below."""
    return path if path.is_file() else next(iter(sorted(path.parent.rglob(path.name))), path)


def check_stages(root):
    """The list at the top of each stages.hpp: one function per stage and backend, in a file of the stage's name or where the list says.

    A stage that is spread over several files, as one kernel per case, has no function of its name.
    """
    for algorithm in ALGORITHMS:
        listing = root / "src" / algorithm / "stages.hpp"
        if not listing.is_file():
            continue
        text = listing.read_text(encoding="utf-8")
        stages = stages_of(text)
        if not stages:
            yield f"src/{algorithm}/stages.hpp: no list of stages at the top"
        for number, name, description in stages:
            where = f"src/{algorithm}/stages.hpp:{number}: stage {name}"
            places = {}
            for match in PLACE.finditer(description):
                if match.group(3):
                    places["cpu"] = places["cuda"] = [root / match.group(3)]
                else:
                    folder = root / "src" / match.group(1) / algorithm
                    places[match.group(1)] = [folder / file for file in re.findall(r"[\w.]+\.(?:cpp|cu|hpp)", match.group(2))]
            for backend, suffix in (("cpu", ".cpp"), ("cuda", ".cu")):
                own = file_or_below(root / "src" / backend / algorithm / (snake_case(name) + suffix))
                files = [file_or_below(file) for file in places.get(backend, [own])]
                if backend in places and files != [own] and own.is_file() and own not in files:
                    yield f"{where}: {own.relative_to(root)} exists, but the list names another file"
                missing = [file for file in files if not file.is_file()]
                for file in missing:
                    yield f"{where}: {file.relative_to(root)} is missing"
                if len(files) == 1 and not missing and not any(re.search(r"\b%s\b" % name, blank(file.read_text(encoding="utf-8"))) for file in files):
                    yield f"{where}: nothing of that name in {', '.join(str(file.relative_to(root)) for file in files)}"


def check_tuning(root):
    """Constants in namespace tuning: a comment above each; tables of figures stand in doc/engineering/."""
    for path in sorted((root / "src" / "cuda").rglob("*.hpp")):
        name, text = path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
        if path.name != "tuning.hpp":  # constants of a route
            block = re.search(r"\bnamespace tuning\b.*?\} // namespace tuning\b", text, flags=re.S)
            if not block:
                continue
            text = "\n" * text.count("\n", 0, block.start()) + block.group()
        lines = text.split("\n")
        for number, line in enumerate(lines, 1):
            if re.match(r" *(?:inline )?const(?:expr)? ", line) and not lines[number - 2].lstrip().startswith("//!"):
                yield f"{name}:{number}: no comment above that says what it is: {line.strip()}"
        for number, comment in comments_of(text):
            if re.search(r" \| |\bnot measured\b", comment):
                yield f"{name}:{number}: figures stand in doc/engineering/, here is why a constant has its value: {comment.strip()[:80]}"


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


# Rule "Language" of CONTRIBUTING, as far as a program can see it.
OPENERS = re.compile(r"(?://!<?|/\*\*) *(Of|The same|What|By|As) ")
BANNED = {"picture": "image", "pictures": "images", "lesson": "training set", "lessons": "training sets", "homeless": "unassigned",
          "either side": "either backend"}
PER = re.compile(r"\b(?:bytes|threads|blocks|words|values|pixels|warps|frames|images) an? (?:block|thread|pixel|row|image|frame|window|object|fragment|warp|position|second)\b")


def comments_of(text):
    """(line, text) of each comment; strings are skipped."""
    for match in TOKEN.finditer(text):
        if match.group().startswith("/"):
            yield text.count("\n", 0, match.start()) + 1, match.group()


def check_words(root):
    """Comments: no opener that leans on its neighbour, no word that the glossary replaces, and name() only of what there is."""
    names = set()
    for path, text in sources(root, FOLDERS + ("python",)):
        names |= set(re.findall(r"[A-Za-z_]\w*", blank(text, preprocessor=False)))
    for path, text in sources(root):
        name = path.relative_to(root).as_posix()
        for line, comment in comments_of(text):
            match = OPENERS.match(comment)
            if match:
                yield f"{name}:{line}: begins with '{match.group(1)}': {comment.split(chr(10))[0][:80]}"
            for word, better in BANNED.items():
                if re.search(r"\b%s\b" % word, comment, flags=re.I):
                    yield f"{name}:{line}: '{word}': the glossary says {better}"
            match = PER.search(comment)
            if match:
                yield f"{name}:{line}: '{match.group()}': per"
            for word in re.findall(r"(?<![\w.:>])([a-z]\w+)\(\)", comment):
                if word not in names and word not in KNOWN_NAMES:
                    yield f"{name}:{line}: {word}(): there is nothing of that name"


SUITES = {algorithm: algorithm.title().replace("_", "") for algorithm in ALGORITHMS}
ANY_SUITE = "(?:%s|Common)" % "|".join(SUITES.values())  # for test/common/, which has tests of single algorithms too


def check_suites(root):
    """Tests: suites are named Algorithm_Topic; what needs a GPU has Cuda in its name, what needs the device alone ends with Alone."""
    for path, text in sources(root, ("test",)):
        name = path.relative_to(root).as_posix()
        folder = name.split("/")[1]
        bodies = {}
        for head, first, opened, last, _ in blocks(blank(text)):
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


# Functions of others that comments name, and this code does not call.
KNOWN_NAMES = {"help", "rsqrtf"}

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
    for algorithm in ALGORITHMS:
        texts = [(path.relative_to(root).as_posix(), blank(path.read_text(encoding="utf-8")))
                 for path in sorted((root / "src" / algorithm).glob("*.[ch]pp"))]
        classes = []  # (file, class, first line, last line, names of overrides)
        for name, text in texts:
            for head, _, opened, last, _ in blocks(text):
                match = re.search(r"\bclass (\w+)(?: final)? *:.*\bpublic (?:\w+::)*(\w+)", head.partition(",")[0], flags=re.S)
                if match and match.group(2) in public:
                    body = "\n".join(text.split("\n")[opened - 1:last])
                    classes.append((name, match.group(1), opened, last,
                                    set(re.findall(r"\b(\w+)\([^;{}]*\)(?: const)?(?: noexcept)? override\b", body))))
        for name, text in texts:
            for head, first, opened, last, _ in blocks(text):
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


def check_constant(root):
    yield from found(root, r"\bcudaMemcpy(?:To|From)Symbol|\bcudaGetSymbolAddress", "device symbols are never written or read by the host")
    for path, text in sources(root, ("src",)):
        for line, statement in statements(blank(text)):
            if "__constant__" in statement and "=" not in statement and not statement.endswith("{"):
                yield f"{path.relative_to(root)}:{line}: __constant__ without a literal value: {statement}"


def check_sync(root):
    return found(root, r"\bcudaDeviceSynchronize\b|\bcudaThreadSynchronize\b|\bcuCtxSynchronize\b", "device-wide wait")


def check_device_state(root):
    for path, text in sources(root, ("src", "include")):
        for line, statement in statements(blank(text)):
            declaration = statement.split("=")[0]
            if not re.search(r"\b__(?:device|managed)__\b", declaration) or "__constant__" in declaration:
                continue
            variable = re.sub(r"\b__\w+__(?:\s*\([^()]*\))?", " ", declaration) # attributes with arguments are no functions
            if "(" not in variable and not re.search(r"\bconst(?:expr)?\b", variable) and not variable.endswith("{"):
                yield f"{path.relative_to(root)}:{line}: mutable device variable: {statement}"
    yield from found(root, r"^\s*(?:static\s+)?(?:texture|surface)\s*<", "texture or surface reference at file scope")


# Order of evaluation: what ends an expression's part before the next begins (C++17), and operators whose operands come in any order.
ORDERED = {";", "&&", "||", "?", ":", "<<", ">>", "=", "+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "<<=", ">>=", "return", "else", "case", "do"}
UNORDERED = {"+", "-", "*", "/", "%", "&", "|", "^", "==", "!=", "<", ">", "<=", ">="}
LEXEME = re.compile(r"[A-Za-z_]\w*|<<=|>>=|->|::|\+\+|--|&&|\|\||<<|>>|[-+*/%&|^=!<>]=|\d[\w.']*|\S")


class Bracket:
    """An open bracket while double_draws() reads: which of its parts have drawn a random number so far."""

    def __init__(self, opener="{", before=""):
        self.opener, self.before = opener, before
        self.block = False         # holds statements
        self.generator = False     # a generator is one of the arguments, so that the call draws
        self.drawn = False         # anything within
        self.arguments = 0         # complete arguments that have drawn
        self.argument = False      # the argument that is being read has drawn
        self.operands = 0          # complete operands of the argument that have drawn
        self.operand = False       # the operand that is being read has drawn

    def draw(self):
        self.drawn = self.argument = self.operand = True

    def end_operand(self):
        self.operands, self.operand = self.operands + self.operand, False
        return self.operands > 1

    def end_part(self):
        twice, self.operands = self.end_operand(), 0
        return twice

    def end_argument(self):
        twice = self.end_part()
        self.arguments, self.argument = self.arguments + self.argument, False
        return twice or (self.opener == "(" and self.arguments > 1)

    def end_statement(self):
        twice = self.end_part()
        self.arguments, self.argument = 0, False
        return twice


def double_draws(text, generators, drawers):
    """Lines of blanked text in which one expression draws two random numbers in an order that the compiler chooses.

    GENERATORS are names of random number generators, DRAWERS of functions that draw from one that they are not given.
    """
    found, open_brackets = set(), [Bracket()]
    open_brackets[0].block = True
    tokens = [(match.group(), match.start()) for match in LEXEME.finditer(text)]
    for i, (token, start) in enumerate(tokens):
        top, after = open_brackets[-1], tokens[i + 1][0] if i + 1 < len(tokens) else ""
        twice = False
        if token in "([{":
            open_brackets.append(Bracket(token, tokens[i - 1][0] if i else ""))
        elif token in ")]}" and len(open_brackets) > 1:
            twice = top.end_argument()
            open_brackets.pop()
            outer = open_brackets[-1]
            if top.drawn or top.generator:
                outer.draw()
            body = token == "}" and (top.block or tokens[i - 1][0] == "{")
            outer.block |= body and outer.opener == "{"
            if top.before in ("if", "while", "for", "switch") or (body and outer.block):
                twice |= outer.end_statement()
        elif token in generators:
            if after in (".", "->", "("):
                top.draw()
            elif top.opener != "[":
                top.generator = True
        elif token in drawers and after == "(":
            top.draw()
        elif token == ";":
            top.block |= top.opener == "{"
            twice = top.end_statement()
        elif token == "," and top.opener == "(":
            twice = top.end_argument()
        elif token in ORDERED or token == ",":
            twice = top.end_part()
        elif token in UNORDERED:
            twice = top.end_operand()
        if twice:
            found.add(text.count("\n", 0, start) + 1)
    return sorted(found)


def check_draws(root):
    """Random numbers of tests are drawn in an order that does not depend on the compiler: one a statement, or within braces."""
    texts = {path: blank(text) for path, text in sources(root, ("test", "perf", "samples"))}
    generators = {"rng"}.union(*(re.findall(r"\bRNG&? (\w+)", text) for text in texts.values()))
    any_generator = re.compile(r"\b(?:%s)\b" % "|".join(sorted(generators)))
    for path, text in texts.items():
        lines, drawers = text.split("\n"), set()
        for head, first, opened, last, _ in blocks(text):
            function = re.search(r"(\w+) *\([^()]*\)(?: const)?$|\b(\w+) *= *\[[^\]]*\](?: *\([^()]*\))?$", head)
            body = "\n".join(lines[first - 1:last])
            if function and any_generator.search(body) and not re.search(r"\bRNG\b", body):
                drawers.add(function.group(1) or function.group(2))
        drawers -= {"if", "for", "while", "switch", "catch"}
        for number in double_draws(text, generators, drawers):
            yield f"{path.relative_to(root)}:{number}: two random numbers in an order that the compiler chooses: {lines[number - 1].strip()}"


CHECKS = {"files": check_files, "functions": check_functions, "columns": check_columns, "walls": check_walls, "anatomy": check_anatomy,
          "stages": check_stages, "tuning": check_tuning, "routes": check_routes, "words": check_words, "suites": check_suites, "base-layer": check_base_layer, "locks": check_locks,
          "gil": check_gil, "constant": check_constant, "sync": check_sync, "draws": check_draws, "device-state": check_device_state}


def main(checks, usage):
    """Runs the check that the command line names, for a program of checks; prints its findings."""
    if len(sys.argv) != 3 or sys.argv[1] not in checks:
        sys.exit(usage)
    findings = list(checks[sys.argv[1]](Path(sys.argv[2])))
    print("\n".join(findings))
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main(CHECKS, __doc__)
