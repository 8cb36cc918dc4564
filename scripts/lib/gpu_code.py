"""Says which code each GPU gets from a library with CUDA code.

    gpu_code.py [--all] --cuobjdump PROGRAM LIBRARY   of what the library holds, as cuobjdump reads it
    gpu_code.py [--all] BINARY PTX                    of lists as for --cuda-arch and --cuda-ptx of scripts/build.sh

One line for each compute capability from 7.5 to 12.1. Fails if none has code; with --all, if one has none that a GPU of such a machine
can have: of this one, or --machine aarch64 or x86_64. A list may be empty.
"""
import argparse
import os
import re
import subprocess
import sys
from collections import Counter

CAPABILITIES = "7.5 8.0 8.6 8.7 8.8 8.9 9.0 10.0 10.3 11.0 12.0 12.1".split()
INTEGRATED = ("8.7", "8.8")  # Jetson: AArch64 only. Code of the other devices of the major version does not run there, nor its code on them


def number(capability):
    major, minor = capability.split(".")
    return int(major), int(minor)


def code_for(capability, binary, ptx):
    """Code that the driver takes: that of the highest minor version up to the device's, or PTX that it compiles; None without any."""
    major, minor = number(capability)
    fits = [have for have in binary if number(have)[0] == major and number(have)[1] <= minor and (have in INTEGRATED) == (capability in INTEGRATED)]
    if fits:
        return "code of " + max(fits, key=number)
    older = [have for have in ptx if number(have) <= (major, minor)]
    return f"PTX of {max(older, key=number)}, compiled by the driver" if older else None


def code_in(listing, kind):
    """Capabilities in the output of cuobjdump --list-elf or --list-ptx. Every source file has each of them, or some calls had none."""
    counts = Counter(f"{digits[:-1]}.{digits[-1]}" for digits in re.findall(r"\.sm_(\d{2,3})\." + kind, listing))
    if len(set(counts.values())) > 1:
        sys.exit(f"error: not every source file has the same {kind} code: {dict(counts)}")
    return sorted(counts, key=number)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--cuobjdump", metavar="PROGRAM")
    parser.add_argument("--machine", default=os.uname().machine)
    parser.add_argument("what", nargs="+")
    options = parser.parse_args()
    if options.cuobjdump:
        run = lambda option: subprocess.run([options.cuobjdump, option, options.what[0]], capture_output=True, text=True, check=True).stdout
        binary, ptx = code_in(run("--list-elf"), "cubin"), code_in(run("--list-ptx"), "ptx")
    else:
        binary, ptx = (text.split(",") if text else [] for text in options.what)
    missing = []
    for capability in CAPABILITIES:
        code = code_for(capability, binary, ptx)
        print(f"  {capability:>4}{' (Jetson)' if capability in INTEGRATED else ''}: {code or 'none'}")
        if code is None and (capability not in INTEGRATED or options.machine == "aarch64"):
            missing.append(capability)
    if missing and (options.all or not binary + ptx):
        sys.exit(f"error: no code for compute capability {', '.join(missing)}")


if __name__ == "__main__":
    main()
