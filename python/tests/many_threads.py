"""Child of test_threads.py: many_threads.py NAME SECONDS. Eight threads call all public methods of one object of a class, in random order."""
import inspect
import os
import random
import sys
import tempfile
import threading
import time

from wrong_arguments import ALLOWED, INSTANCES, RIGHT, parameters, scene

FRAMES = [scene(step) for step in range(6)]
OPTIONAL = {"areas", "weights", "everything", "thick", "min_size", "positive"}  # given now and then


class Watched:
    """The object of the extension behind one of the package; notes calls that are made while another thread is in one."""

    def __init__(self, native):
        self.native, self.thread, self.overlaps = native, None, []

    def __getattr__(self, name):
        def call(*args, **named):
            if self.thread not in (None, threading.get_ident()):
                self.overlaps.append(name)
            before, self.thread = self.thread, threading.get_ident()
            try:
                return getattr(self.native, name)(*args, **named)
            finally:
                self.thread = before
        return call


def members(cls):
    """Names of the public methods and properties, and of len() and repr()."""
    return [name for name in dir(cls) if not name.startswith("_") or name in ("__len__", "__repr__")]


def call(made, name, choose, folder):
    if isinstance(inspect.getattr_static(type(made), name), property):
        value = getattr(made, name)
        if inspect.getattr_static(type(made), name).fset:
            setattr(made, name, value)
        return
    method = getattr(made, name)
    given = {}
    for parameter in parameters(method):
        if parameter.default is parameter.empty or (parameter.name in OPTIONAL and parameter.name in RIGHT and choose.random() < .3):
            given[parameter.name] = RIGHT.get(parameter.name, 1)
    if "image" in given or "frame" in given:
        given["image" if "image" in given else "frame"] = choose.choice(FRAMES)
    if "path" in given:
        given["path"] = os.path.join(folder, f"{choose.randrange(3)}.xml")
    method(**given)


def work(made, seed, end, folder, bad, counts):
    choose = random.Random(seed)
    names = members(type(made))
    while time.monotonic() < end:
        name = choose.choice(names)
        try:
            call(made, name, choose, folder)
            counts[name] = counts.get(name, 0) + 1
        except ALLOWED:
            pass
        except BaseException as raised:
            bad.append(f"{name}: {type(raised).__name__}: {raised}")
            return


def main():
    name, seconds = sys.argv[1], float(sys.argv[2])
    sys.setswitchinterval(1e-4)
    made = INSTANCES[name][-1]()
    made._native = watched = Watched(made._native)
    bad, counts = [], {}
    with tempfile.TemporaryDirectory() as folder:
        end = time.monotonic() + seconds
        threads = [threading.Thread(target=work, args=(made, seed, end, folder, bad, counts)) for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    bad += [f"{method}() while another thread was in the object" for method in watched.overlaps[:10]]
    print(*bad, sep="\n")
    print("calls that returned:", dict(sorted(counts.items())))
    sys.exit(1 if bad or sum(counts.values()) < 100 else 0)


if __name__ == "__main__":
    main()
