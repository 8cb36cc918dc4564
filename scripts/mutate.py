#!/usr/bin/env python3
"""Do the tests notice faults? Makes one small fault at a time in the sources, compiles it and runs the C++ tests of its class.

    scripts/mutate.py choose LIST [--count=200] [--seed=1] [--kernels]
        writes a list of places chosen at random; the same seed and sources give the same list. Needs universalmutator (PyPI)
    scripts/mutate.py run LIST BUILD OUT [--kernels] [--jobs=N] [--seconds=S] [--gpus=1] [--gpu-jobs=8]
        runs the list with a static build by scripts/build.sh: BUILD is its folder. Writes OUT/results.tsv, and OUT/times.json, the
        times of tests. A second call goes on where the first ended. Faults in src/cuda need a build with CUDA, those in kernels and
        engines a GPU too; each GPU has --gpu-jobs tests at a time

The places are lines of src/ outside src/cuda and of what host code compiles in src/cuda; with --kernels those of *.cu and of the
headers in src/cuda that they include. A place is a file, the text of a line and its occurrence in the file (1: the first), so that
a list also serves when lines have moved. Faults are comparisons, bounds, signs, constants, and statements that are left out:
scripts/lib/mutate.rules. The build stays as it is: changed objects are compiled and linked elsewhere.

Results of a place: noticed (a test failed twice that passes without the fault), timed out (a test that ends without the fault),
same code (the compiler made the same objects), does not compile, does not link (with the linker's message), not noticed, not run
(time was over, or the message of an error), changed since (the file has no such line).
"""
import argparse
import collections
import concurrent.futures
import contextlib
import io
import itertools
import json
import math
import os
import pathlib
import queue
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(os.path.abspath(__file__)).parent.parent
RULES = ROOT / "scripts/lib/mutate.rules"
CLASSES = {"cascade": "Cascade", "fragment_matcher": "FragmentMatcher", "quick_shift": "QuickShift", "tld": "Tld"}
FIELDS = ("file", "occurrence", "before", "after")
# Instruction sets that OpenCV is told to do without, beside the best: what scripts/test.sh runs.
LOWER_SETS = ("AVX512-SKX", "AVX512-SKX,AVX2")
SHORT = 0.25  # seconds: tests that are run first
CHUNK = 5, 20  # seconds of tests per process, without and with a GPU, where a process takes seconds to begin
PLACES = 400  # at most at once: those whose tests all pass must not keep others waiting
PASSED = "some tests passed"  # of a place that was not run to the end
MEMORY = 24 << 30  # bytes of addresses of a test without a GPU, so that a fault does not take the machine's memory


# --- choose ------------------------------------------------------------------------------------------------------------

def reached(starts):
    """Sources that these include, themselves included."""
    seen, todo = set(), list(starts)
    while todo:
        path = todo.pop()
        if path in seen:
            continue
        seen.add(path)
        for name in re.findall(r'^#include "([^"]+)"', path.read_text(encoding="utf-8"), re.M):
            todo += [found for found in ((path.parent / name).resolve(), ROOT / "src" / name) if found.is_file()]
    return seen


def sources(kernels):
    src = ROOT / "src"
    if kernels:
        return {path for path in reached(src.rglob("*.cu")) if src / "cuda" in path.parents}
    return {path for path in reached(src.rglob("*.cpp")) if src in path.parents}


def choose(options):
    from universalmutator.mutator import mutants_regexp
    lines = collections.defaultdict(list)
    for path in sorted(sources(options.kernels)):
        text = path.read_text(encoding="utf-8").splitlines(keepends=True)
        with contextlib.redirect_stdout(io.StringIO()):
            mutants = mutants_regexp(text, [str(RULES)], ignorePatterns=[], ignoreStringOnly=True)
        for number, after, _, _ in mutants:
            before = text[number - 1]
            # A statement that goes on in the next line is not left out.
            if after.strip() != ";" or before.count("(") == before.count(")"):
                occurrence = sum(line.strip() == before.strip() for line in text[:number])
                lines[str(path.relative_to(ROOT)), occurrence, before.strip()].append(after.strip())
    chance = random.Random(options.seed)
    places = chance.sample(sorted(lines), min(options.count, len(lines)))
    with open(options.list, "w", encoding="utf-8") as file:
        print(*FIELDS, sep="\t", file=file)
        for place in places:
            print(*place, chance.choice(lines[place]), sep="\t", file=file)
    print(f"{len(places)} of {len(lines)} lines that can be changed")


def rows(path):
    with open(path, encoding="utf-8") as file:
        names = file.readline().rstrip("\n").split("\t")
        return [dict(zip(names, line.rstrip("\n").split("\t"))) for line in file]


# --- run ---------------------------------------------------------------------------------------------------------------

class Build:
    """What the build's files say: how each object is compiled, what it includes, how the test program is linked."""

    def __init__(self, folder):
        self.folder = folder
        program = "bin/opencv_test_cudatracking"
        self.program = folder / program
        ninja = ("ninja", "-C", str(folder), "-t")
        commands = subprocess.run([*ninja, "commands", program], check=True, capture_output=True, text=True).stdout.splitlines()
        deps = subprocess.run([*ninja, "deps"], check=True, capture_output=True, text=True).stdout
        self.link = commands[-1].removeprefix(": && ").split(" && ")[0]
        self.linker = []
        self.compile = {}
        for command in commands[:-1]:
            words = shlex.split(command)
            if "-c" in words and "-o" in words:
                target = words[words.index("-o") + 1]
                if "/opencv_cudatracking.dir/" in target or "/opencv_test_cudatracking.dir/" in target:
                    self.compile[target] = [word for word in words if not word.endswith("ccache")]
        # Tests use what they include by name. What such headers include in turn they may call, or expect of it what is without the
        # fault: they are compiled with it only if nothing is noticed otherwise.
        tested = {os.path.normpath(path.parent / name) for path in (ROOT / "test").rglob("*.[ch]pp")
                  for name in re.findall(r'^#include "([^"]+)"', path.read_text(encoding="utf-8"), re.M)}
        self.users, self.readers = collections.defaultdict(set), collections.defaultdict(set)
        target = None
        for line in deps.splitlines():
            if line.startswith(" "):
                path = os.path.normpath(folder / line.strip())
                if target in self.compile and path.startswith(str(ROOT)):
                    uses = "/opencv_cudatracking.dir/" in target or path in tested
                    (self.users if uses else self.readers)[os.path.relpath(path, ROOT)].add(target)
            elif ": #deps" in line:
                target = line.split(":")[0]

    def choose_linker(self, out):
        """Takes the fastest linker that can link the program as it is."""
        for linker in ("lld", "gold", ""):
            self.linker = ["-fuse-ld=" + linker] if linker else []
            if (linker and not shutil.which("ld." + linker)) or self.link_program(out / "unchanged", {}):
                continue
            if subprocess.run([str(out / "unchanged"), "--gtest_list_tests"], capture_output=True).returncode == 0:
                return
        sys.exit(f"the test program cannot be linked: {self.link_program(out / 'unchanged', {})}")

    def link_program(self, program, changed):
        """Links with changed objects, by their names in the build. @return '' or the linker's message"""
        words = [str(changed.get(word, word)) for word in shlex.split(self.link)]
        at = words.index("-o")
        words[at + 1] = str(program)
        # In front of the archive, whose members of the same symbols are then not taken, and of the tests, which may have inline
        # functions of the same headers without the fault.
        words[1:1] = [str(made) for target, made in changed.items() if "/opencv_cudatracking.dir/" in target]
        done = subprocess.run(words + self.linker, cwd=self.folder, capture_output=True, text=True)
        return done.stderr[-1000:] if done.returncode else ""


class Tests:
    """Runs tests of a program; knows the times of all tests without a fault."""

    def __init__(self, build, options):
        self.build, self.options = build, options
        self.times = {}  # by name, in seconds; None where it does not pass without a fault
        self.passes = {}  # by name and instruction set: without a fault
        self.lock = threading.Lock()
        self.gpus = queue.Queue()
        for _ in range(options.gpu_jobs):
            for gpu in range(options.gpus):
                self.gpus.put(str(gpu))

    @contextlib.contextmanager
    def environment(self, without, cuda):
        environment = dict(os.environ, OPENCV_FOR_THREADS_NUM="2", OPENCV_CPU_DISABLE=without)
        found = self.build.folder.parent.glob("src/opencv_contrib_python-*/opencv")
        data = next((path for path in found if (path / "data/haarcascades").is_dir()), pathlib.Path())  # OpenCV 5 has none
        environment.setdefault("CUDATRACKING_SAMPLES_DATA", str(data / "samples/data"))
        environment.setdefault("CUDATRACKING_CASCADES", str(data / "data"))
        gpu = self.gpus.get() if cuda else ""
        try:
            yield dict(environment, CUDA_VISIBLE_DEVICES=gpu)
        finally:
            if cuda:
                self.gpus.put(gpu)

    def all_names(self):
        text = subprocess.run([str(self.build.program), "--gtest_list_tests"], check=True, capture_output=True, text=True).stdout
        names, suite = [], ""
        for line in text.splitlines():
            name = line.split("#")[0].strip()
            if suite and line.startswith("  "):
                # Tests named so fail beside others on the same GPU.
                names += [] if "Alone" in name else [suite + name]
            elif re.fullmatch(r"[\w/]+\.", name):
                suite = name
        return names

    def measure(self, pool):
        """Times of all tests; those that OUT/times.json has are not measured again."""
        known = self.options.out / "times.json"
        times = json.loads(known.read_text()) if known.exists() else {}
        names = [name for name in self.all_names() if "Cuda" in name or not self.options.kernels]
        missing = [name for name in names if name not in times]

        def time_some(some):
            rest = some
            while rest:
                with self.environment("", "Cuda" in rest[0]) as environment:
                    text = subprocess.run([str(self.build.program), "--gtest_filter=" + ":".join(rest)], capture_output=True,
                                          text=True, errors="replace", cwd=self.options.out, env=environment).stdout
                begun = set(re.findall(r"^\[ RUN      \] ([^\s,]+)", text, re.M)) or set(rest)
                passed = re.findall(r"^\[       OK \] (\S+) \((\d+) ms\)", text, re.M)
                times.update((name, None) for name in begun)
                times.update((name, int(time) / 1000) for name, time in passed)
                # Goes on after a test that ends the program.
                rest = [name for name in rest if name not in begun]

        cuda = [name for name in missing if "Cuda" in name]
        host = [name for name in missing if "Cuda" not in name]
        counts = ((cuda, self.options.gpus * self.options.gpu_jobs), (host, 2 * self.options.jobs))
        some = [names[start::count] for names, count in counts for start in range(min(count, len(names)))]
        for future in [pool.submit((0, 0), time_some, part) for part in some]:
            future.result()
        known.write_text(json.dumps(times))
        self.times = {name: times[name] for name in names if times[name] is not None}
        failed = [name for name in names if times[name] is None]
        if failed:
            print(f"{len(failed)} tests fail without a fault, or are skipped, and are left out:", *failed)

    def failing(self, program, names, without, folder, deadline, processes):
        """The first of the tests that fails, and whether because of time; None where all pass. The caller may end the processes."""
        cuda = "Cuda" in names[0]
        # Processor time, which does not depend on what else runs, and a multiple of it for threads that wait for ever.
        seconds = int(10 + (40 if without else 8) * sum(self.times[name] for name in names))
        limits = f"ulimit -t {seconds}" + ("" if cuda else f" -v {MEMORY >> 10}")
        with self.environment(without, cuda) as environment:
            left = min(60 + 20 * seconds, max(0, deadline - time.monotonic()))
            command = ["bash", "-c", limits + '; exec "$@"', "bash", str(program), "--gtest_filter=" + ":".join(names)]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                       cwd=folder, env=environment, start_new_session=True)
            processes.append(process)
            late = threading.Event()

            def end():
                late.set()
                kill(process)

            clock = threading.Timer(left, end)
            clock.start()
            current = names[0]
            failed = None
            for line in process.stdout:
                started = re.match(r"\[ RUN      \] ([^\s,]+)", line)
                if started:
                    current = started.group(1)
                elif line.startswith("[  FAILED  ]") or re.search(r": Failure$|unknown file: Failure", line):
                    failed = current
                    break
            clock.cancel()
            if failed:
                kill(process)
            process.stdout.close()
            code = process.wait()
        if failed:
            return failed, False
        if code:
            return current, late.is_set() or code == -signal.SIGXCPU
        return None

    def sound(self, name, without, folder):
        """Whether a test passes without a fault."""
        with self.lock:
            known = self.passes.get((name, without))
        if known is None:
            known = self.failing(self.build.program, [name], without, folder, math.inf, []) is None
            with self.lock:
                self.passes[name, without] = known
        return known


def kill(process):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


class Pool:
    """Threads that do what is most urgent: the smallest key, of equal ones the first."""

    def __init__(self, count):
        self.todo = queue.PriorityQueue()
        self.numbers = itertools.count()
        for _ in range(count):
            threading.Thread(target=self.work, daemon=True).start()

    def submit(self, key, function, *arguments):
        future = concurrent.futures.Future()
        self.todo.put((key, next(self.numbers), future, function, arguments))
        return future

    def work(self):
        while True:
            _, _, future, function, arguments = self.todo.get()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(function(*arguments))
            except Exception as error:  # of the caller, who asks for the result
                future.set_exception(error)


class Place:
    """One fault: its files, its objects, its tests. What is done first for all places is most urgent, of that the first places, so
    that tests which find nothing do not keep others from being begun."""

    def __init__(self, row, number, build, tests, tree, pools, deadline):
        self.row, self.number, self.build, self.tests, self.tree, self.deadline = row, number, build, tests, tree, deadline
        self.host, self.device = pools
        users = sorted(build.users[row["file"]])
        device = [target for target in users if target.endswith(".cu.o")]
        self.objects = users if tests.options.kernels else [target for target in users if target not in device]
        # Host code alone is changed: kernels of the same header would differ from it.
        self.cuda = not row["file"].startswith("src/cpu/") and (tests.options.kernels or not device)
        self.folder = tree.parent
        self.processes = []
        self.found = False

    def late(self):
        return time.monotonic() > self.deadline

    def first(self, pool, step, function, items):
        """Calls the function with all items at once. @return the first result that is not None, which ends all other calls"""
        futures = [pool.submit((step, self.number), function, item) for item in items]
        for future in concurrent.futures.as_completed(futures):
            if future.result():
                self.found = True
                begun = [other for other in futures if not other.cancel()]
                for process in self.processes:
                    kill(process)
                concurrent.futures.wait(begun)
                return future.result()
        return None

    def compile(self):
        """None or the result, where that is known already. Then self.program stands in the tree's folder."""
        path = self.tree / self.row["file"]
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        lines = text.splitlines(keepends=True)
        same = [number for number, line in enumerate(lines) if line.strip() == self.row["before"]]
        if len(same) < int(self.row["occurrence"]):
            return "changed since", ""
        if not self.objects:
            return "same code", ""
        number = same[int(self.row["occurrence"]) - 1]
        lines[number] = lines[number].replace(self.row["before"], self.row["after"])
        path.write_text("".join(lines), encoding="utf-8")
        try:
            return self.first(self.host, 0, self.compile_object, enumerate(self.objects)) or self.link()
        finally:
            path.write_text(text, encoding="utf-8")

    def compile_object(self, item):
        place, target = item
        if self.late():
            return "not run", ""
        words = list(self.build.compile[target])
        for option in ("-MF", "-MT"):
            if option in words:
                del words[words.index(option):words.index(option) + 2]
        words = [self.moved(word) for word in words if word not in ("-MD", "-MMD")]
        words[words.index("-o") + 1] = str(self.folder / f"{place}.o")
        words.append(("-Xcompiler=" if target.endswith(".cu.o") else "") + f"-fmacro-prefix-map={self.tree}/=opencv_cudatracking/")
        process = subprocess.Popen(words, cwd=self.build.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   start_new_session=True)
        self.processes.append(process)
        try:
            return ("does not compile", "") if process.wait(max(0, self.deadline - time.monotonic())) else None
        except subprocess.TimeoutExpired:
            kill(process)
            process.wait()
            return "not run", ""

    def link(self):
        made = {target: self.folder / f"{place}.o" for place, target in enumerate(self.objects)}
        changed = {target: path for target, path in made.items() if code(path) != code(self.build.folder / target)}
        if not changed:
            return "same code", ""
        # Host code of the CPU backend prepares what loops of an instruction set need.
        self.vectors = self.row["file"].startswith("src/cpu/") or any(".avx" in target for target in changed)
        message = self.host.submit((0, self.number), self.build.link_program, self.folder / "program", changed).result()
        return ("does not link", " ".join(message.split())) if message else None

    def moved(self, word):
        """A word of a command, with paths into the tree. Generated sources include those of the root by their full path."""
        name = word.removeprefix("-I")
        if name == str(ROOT) or re.match(re.escape(str(ROOT)) + r"/(src|include|test)(/|$)", name):
            return word.replace(str(ROOT), str(self.tree), 1)
        generated = str(self.build.folder / "modules/cudatracking")
        if name.startswith(generated):
            return word.replace(generated, str(self.tree / "generated"), 1)
        return word

    def steps(self):
        """The tests of its class in steps: a pool, and lists of (names, instruction sets that are left out) that run at once."""
        parts = self.row["file"].split("/")
        of = next((CLASSES[part] for part in parts if part in CLASSES), None)
        times = self.tests.times
        steps = {}
        for cuda in (False, True):
            names = [name for name in times if ("Cuda" in name) == cuda and (of is None or f"{of}_" in name or "Common_" in name)]
            short = chunks([name for name in names if times[name] <= SHORT], times, CHUNK[cuda],
                           lambda name: of is not None and f"{of}_" not in name)
            long = chunks([name for name in names if times[name] > SHORT], times, CHUNK[cuda], lambda name: -times[name])
            steps[cuda] = [[(some, "") for some in step] for step in (short[:1], short[1:], long)]
            if not cuda and self.vectors:
                steps[cuda] += [[(some, without) for some in short + long] for without in LOWER_SETS]
        host = [(self.host, step) for step in steps[False] if not self.tests.options.kernels]
        device = [(self.device, step) for step in steps[True] if self.cuda]
        return device + host if self.row["file"].startswith("src/cuda/") else host + device

    def failing(self, names, without):
        return self.tests.failing(self.folder / "program", names, without, self.folder, self.deadline, self.processes)

    def test(self, item):
        rest, without = item
        while rest and not self.found:
            found = None if self.late() else self.failing(rest, without)
            if self.late():
                return "not run", PASSED
            if found is None or self.found:
                break
            name, late = found
            again = late or self.failing([name], without)
            if not self.found and again and self.tests.sound(name, without, self.folder):
                return "timed out" if late else "noticed", name + (f" without {without}" if without else "")
            rest = [other for other in rest if other != name]
        return None

    def run_tests(self):
        result = ("not run", "") if self.late() else self.compile()
        for number, (pool, step) in enumerate([] if result else self.steps()):
            result = result or self.first(pool, number, self.test, step)
        return result or ("not noticed", "")

    def run(self):
        result = self.run_tests()
        readers = self.build.readers[self.row["file"]]
        if result[0] == "not noticed" and readers:
            self.objects = sorted({*self.objects, *readers})
            again = self.run_tests()
            result = again if again[0] in ("noticed", "timed out") else result
        return result


def code(path):
    """The bytes of an object without what nvcc puts into names: a hash of the path, and the process."""
    return re.sub(rb"tmpxft_[0-9a-f]{8}|__[0-9a-f]{8}(_\d+_\w+?_cu_)[0-9a-f]{8}", rb"\1", path.read_bytes())


def chunks(names, times, most, order):
    """Tests in this order in lists of so many seconds, or of one test that is longer."""
    result = []
    seconds = math.inf
    for name in sorted(names, key=order):
        if seconds + times[name] > most:
            result.append([])
            seconds = 0
        result[-1].append(name)
        seconds += times[name]
    return result


def in_threads(count, work):
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def tree_of(folder, build):
    """A copy of the sources, and of the generated ones with its paths in them."""
    tree = folder / "tree"
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("src", "include", "test"):
        shutil.copytree(ROOT / name, tree / name)
    generated = build.folder / "modules/cudatracking"
    for path in generated.rglob("*"):
        if path.suffix in (".cpp", ".hpp"):
            copy = tree / "generated" / path.relative_to(generated)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(path.read_text(encoding="utf-8").replace(f"{ROOT}/src", f"{tree}/src"), encoding="utf-8")
    return tree


def report(results):
    counts = collections.Counter(row["result"] for row in results)
    found = counts["noticed"] + counts["timed out"]
    ended = found + counts["not noticed"]
    # What is noticed ends earlier: a run that is cut off has too large a share among those that have ended.
    begun = ended + sum(row["result"] == "not run" and row["test"] == PASSED for row in results)
    print(", ".join(f"{count} {name}" for name, count in counts.most_common()))
    if ended:
        print(f"noticed: {found} of {ended} that were run to the end, {100 * found / ended:.1f} %; of those whose tests began at "
              f"least {100 * found / begun:.1f} %")


def run(options):
    options.out.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + options.seconds
    build = Build(options.build)
    build.choose_linker(options.out)
    tests = Tests(build, options)
    # Compilers and test programs, and those of GPUs; the threads below only wait for them.
    pools = [Pool(count) for count in (options.jobs, options.gpus * options.gpu_jobs)]
    tests.measure(pools[0])
    print(f"{len(tests.times)} tests, {sum(tests.times.values()):.0f} s; {deadline - time.monotonic():.0f} s left", flush=True)
    table = options.out / "results.tsv"
    results = [row for row in rows(table) if row["result"] not in ("not run", "does not link")] if table.exists() else []
    done = {tuple(row[field] for field in FIELDS) for row in results}
    todo = collections.deque(row for row in rows(options.list) if tuple(row[field] for field in FIELDS) not in done)
    lock = threading.Lock()
    numbers, places = itertools.count(), itertools.count()

    def write():
        with open(table, "w", encoding="utf-8") as file:
            print(*FIELDS, "result", "test", "seconds", sep="\t", file=file)
            for row in results:
                print(*(row[field] for field in (*FIELDS, "result", "test", "seconds")), sep="\t", file=file)

    def work():
        with lock:
            folder = options.out / f"work-{next(numbers)}"
        tree = tree_of(folder, build)
        while True:
            with lock:
                if not todo:
                    break
                row, number = todo.popleft(), next(places)
            start = time.monotonic()
            try:
                result, test = Place(row, number, build, tests, tree, pools, deadline).run()
            except Exception as error:  # no fault of the tests: said in the table
                result, test = "not run", " ".join(repr(error).split())
            with lock:
                results.append(dict(row, result=result, test=test, seconds=f"{time.monotonic() - start:.0f}"))
                write()
                if result != "not run":
                    print(f"{len(results)}: {' | '.join(row[field] for field in FIELDS)}: {result} {test}", flush=True)
        shutil.rmtree(folder, ignore_errors=True)

    in_threads(min(len(todo), PLACES), work)
    report(results)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    chooser = commands.add_parser("choose")
    chooser.add_argument("list", type=pathlib.Path)
    chooser.add_argument("--count", type=int, default=200)
    chooser.add_argument("--seed", type=int, default=1)
    chooser.add_argument("--kernels", action="store_true")
    chooser.set_defaults(command=choose)
    runner = commands.add_parser("run")
    runner.add_argument("list", type=pathlib.Path)
    runner.add_argument("build", type=lambda name: pathlib.Path(os.path.abspath(name)))
    runner.add_argument("out", type=lambda name: pathlib.Path(os.path.abspath(name)))
    runner.add_argument("--jobs", type=int, default=os.cpu_count())
    runner.add_argument("--seconds", type=float, default=1e6)
    runner.add_argument("--gpus", type=int, default=1)
    runner.add_argument("--gpu-jobs", type=int, default=8)
    runner.add_argument("--kernels", action="store_true")
    runner.set_defaults(command=run)
    options = parser.parse_args()
    options.command(options)


if __name__ == "__main__":
    main()
