# Shared by the scripts of this folder: messages, system packages, private Python tools, pinned downloads.
# Sourced, never run. Needs bash 4+.
set -euo pipefail

REPO_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BUILD_ROOT=${CUDATRACKING_BUILD_ROOT:-$REPO_ROOT/build}

say() { printf '\033[1m== %s\033[0m\n' "$*" >&2; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# usage_of FILE: the comment block under the shebang is the --help text, so that they cannot drift apart.
usage_of() { sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$1"; }

# need_packages NAME...: Debian packages, installed when root and missing, named otherwise.
need_packages()
{
    command -v dpkg-query >/dev/null || { say "not a Debian system: make sure these are present: $*"; return; }
    local missing=()
    for package in "$@"; do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
    done
    [ ${#missing[@]} -eq 0 ] && return
    [ "$(id -u)" = 0 ] || die "missing packages; please run: sudo apt-get install ${missing[*]}"
    say "installing ${missing[*]}"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# A private virtual environment, so that nothing of the user's Python is touched.
PYTHON=$BUILD_ROOT/venv/bin/python
need_python_tools()
{
    if [ ! -x "$PYTHON" ] || ! "$PYTHON" -c 'import numpy, skbuild' 2>/dev/null; then
        say "making a private Python environment in $BUILD_ROOT/venv"
        python3 -m venv "$BUILD_ROOT/venv" || die "python3 -m venv failed (Debian: apt-get install python3-venv)"
        "$PYTHON" -m pip install -q --disable-pip-version-check numpy scikit-build setuptools wheel
    fi
}

# fetch_pypi REQUIREMENT FILE SHA256 [PIP OPTION...]: into BUILD_ROOT/downloads, once, checked every time it is unpacked.
fetch_pypi()
{
    local requirement=$1 file=$2 sha256=$3
    shift 3
    mkdir -p "$BUILD_ROOT/downloads"
    local target=$BUILD_ROOT/downloads/$file
    if [ ! -f "$target" ]; then
        say "downloading $requirement (about 140 MB)"
        "$PYTHON" -m pip download -q --disable-pip-version-check --no-deps "$@" -d "$BUILD_ROOT/downloads" "$requirement"
        [ -f "$target" ] || die "pip did not leave $target"
    fi
    echo "$sha256  $target" | sha256sum --check --quiet - || die "$target does not have sha256 $sha256; delete it and try again"
}
