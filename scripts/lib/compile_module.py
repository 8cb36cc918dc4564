"""Compiles the sources of this module, its tests, perf tests and samples, and links nothing: compile_module.py BUILD_DIR JOBS.

Ninja makes OpenCV's libraries before the objects of a module that uses them. Objects do not need them, so the compile
commands are taken from ninja and run here, each of them every time. Exits with 1 when one fails.
"""
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor


def compile_one(build_dir, entry):
    os.makedirs(os.path.join(build_dir, os.path.dirname(entry["output"])), exist_ok=True)
    return subprocess.run(entry["command"], shell=True, cwd=build_dir, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace")


def main():
    build_dir, jobs = sys.argv[1], int(sys.argv[2])
    database = json.loads(subprocess.check_output(["ninja", "-t", "compdb"], cwd=build_dir))
    entries = [entry for entry in database
               if entry["output"].startswith("modules/cudatracking/") and entry["output"].endswith((".o", ".obj"))]
    if not entries:
        sys.exit(f"error: {build_dir} has nothing of this module to compile")
    failed = 0
    with ThreadPoolExecutor(jobs) as pool:
        results = pool.map(lambda entry: compile_one(build_dir, entry), entries)
        for number, (entry, result) in enumerate(zip(entries, results), 1):
            print(f"[{number}/{len(entries)}] {'FAILED: ' if result.returncode else ''}{entry['output']}", flush=True)
            if result.stdout:
                print(result.stdout, flush=True)
            failed += result.returncode != 0
    print(f"{len(entries) - failed} of {len(entries)} sources compile")
    return 1 if failed else 0


sys.exit(main())
