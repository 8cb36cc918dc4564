# shellcheck shell=bash
# Shared by the scripts of this folder: messages, system packages, private Python tools, pinned downloads.
# Sourced, never run. Needs bash 4+.
set -euo pipefail

REPO_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BUILD_ROOT=${CUDATRACKING_BUILD_ROOT:-$REPO_ROOT/build}
[[ $BUILD_ROOT == /* ]] || BUILD_ROOT=$PWD/$BUILD_ROOT

say() { printf '\033[1m== %s\033[0m\n' "$*" >&2; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# usage_of FILE: the comment block under the shebang is the --help text, so that they cannot drift apart.
usage_of() { sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$1"; }

# has COMMAND...: all of them are on the PATH.
has() { local name; for name in "$@"; do command -v "$name" >/dev/null || return 1; done; }

install_packages()
{
    say "installing $*"
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq -o Dpkg::Use-Pty=0 --no-install-recommends "$@" >/dev/null
}

# need_packages [NAME...]: Debian packages that have what was looked for and not found: installed when root, named otherwise.
need_packages()
{
    [ $# -gt 0 ] || return 0
    has apt-get || die "not found: what Debian has in the packages $*; please install it"
    [ "$(id -u)" = 0 ] || die "not found: $*; please run: sudo apt-get install $*"
    install_packages "$@" || die "apt-get could not install: $*"
}

# want_packages PURPOSE NAME...: the same for what one can do without.
want_packages()
{
    local purpose=$1
    shift
    if ! has apt-get; then
        say "$purpose: left out, not found: what Debian has in the packages $*"
    elif [ "$(id -u)" != 0 ]; then
        say "$purpose: left out, not found: $* (sudo apt-get install $*)"
    elif ! install_packages "$@"; then
        say "$purpose: left out, apt-get could not install $*"
    fi
}

# A private virtual environment, so that nothing of the user's Python is touched.
PYTHON=$BUILD_ROOT/venv/bin/python
pip_install() { "$PYTHON" -m pip install -q --disable-pip-version-check "$@"; }
need_python_tools()
{
    "$PYTHON" -c 'import numpy, skbuild, setuptools, wheel, pip' 2>/dev/null && return
    say "making a private Python environment in $BUILD_ROOT/venv"
    python3 -m venv --clear "$BUILD_ROOT/venv" || die "python3 -m venv failed (Debian: apt-get install python3-venv)"
    pip_install numpy scikit-build setuptools wheel ||
        die "pip could not install numpy and scikit-build into $BUILD_ROOT/venv"
}

# fetch_pypi REQUIREMENT FILE SHA256 [PIP OPTION...]: into BUILD_ROOT/downloads, once, checked every time it is unpacked.
fetch_pypi()
{
    local requirement=$1 file=$2 sha256=$3
    shift 3
    mkdir -p "$BUILD_ROOT/downloads"
    local target=$BUILD_ROOT/downloads/$file
    if [ ! -f "$target" ]; then
        say "downloading $requirement"
        "$PYTHON" -m pip download --disable-pip-version-check --no-deps "$@" -d "$BUILD_ROOT/downloads" "$requirement" >&2 ||
            die "pip could not download $requirement"
        [ -f "$target" ] || die "pip did not leave $target"
    fi
    echo "$sha256  $target" | sha256sum --check --quiet - || die "$target does not have sha256 $sha256; delete it and try again"
}

# gpu_probe NVCC: asks the CUDA runtime, by a program that is compiled once.
gpu_probe()
{
    local source=$REPO_ROOT/scripts/lib/gpu_probe.cpp program=$BUILD_ROOT/gpu_probe
    if [ ! "$program" -nt "$source" ] || [ "$(cat "$program.nvcc" 2>/dev/null)" != "$1" ]; then
        mkdir -p "$BUILD_ROOT"
        timeout 120 "$1" -o "$program.$$" "$source" >/dev/null 2>&1 || return 0
        mv "$program.$$" "$program"
        echo "$1" >"$program.nvcc"
    fi
    timeout 120 "$program" 2>/dev/null || true
}

# gpu_capabilities [NVCC]: compute capabilities of the GPUs of this machine, each once, a line each; none: nothing. nvidia-smi knows
# them. Where it is missing or answers N/A, as on Jetson, the CUDA runtime is asked.
gpu_capabilities()
{
    local found
    found=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | grep -E '^[0-9]+\.[0-9]+$' || true)
    if [ -z "$found" ] && [ -n "${1:-}" ]; then
        found=$(gpu_probe "$1" | grep -E '^[0-9]+\.[0-9]+$' || true)
    fi
    [ -z "$found" ] || sort -uV <<<"$found"
}

# total_of FILE...: adds up files of one line 'passed failed skipped', prints the closing line, fails unless all is well.
total_of()
{
    local passed=0 failed=0 skipped=0 p f s file
    for file in "$@"; do
        read -r p f s <"$file" || die "$file has no line 'passed failed skipped'"
        passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    done
    [ $((passed + failed)) -gt 0 ] || say "no test ran"
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" = 0 ] && [ "$passed" -gt 0 ]
}

# lock FILE: held until the next lock, or the end of this process.
lock()
{
    command -v flock >/dev/null || return 0
    exec 9>"$1"
    flock -n 9 || { say "waiting for another call of build.sh ($1)"; flock 9; }
}
