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

# missing_packages NAME...: those of these Debian packages that are not installed, a line each.
missing_packages()
{
    local package
    for package in "$@"; do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || echo "$package"
    done
}

install_packages()
{
    say "installing $*"
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# need_packages NAME...: Debian packages, installed when root and missing, named otherwise.
need_packages()
{
    command -v dpkg-query >/dev/null || { say "not a Debian system: make sure these are present: $*"; return; }
    local missing
    mapfile -t missing < <(missing_packages "$@")
    [ ${#missing[@]} -gt 0 ] || return 0
    [ "$(id -u)" = 0 ] || die "missing packages; please run: sudo apt-get install ${missing[*]}"
    install_packages "${missing[@]}" || die "apt-get could not install: ${missing[*]}"
}

# want_packages PURPOSE NAME...: the same for packages that one can do without.
want_packages()
{
    local purpose=$1 missing
    shift
    command -v dpkg-query >/dev/null || { say "$purpose: wants ${*}, where there is such a package"; return; }
    mapfile -t missing < <(missing_packages "$@")
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" != 0 ]; then
        say "$purpose: left out without ${missing[*]} (sudo apt-get install ${missing[*]})"
    elif ! install_packages "${missing[@]}"; then
        say "$purpose: left out, apt-get could not install ${missing[*]}"
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
        say "downloading $requirement (about 150 MB)"
        "$PYTHON" -m pip download --disable-pip-version-check --no-deps "$@" -d "$BUILD_ROOT/downloads" "$requirement" >&2 ||
            die "pip could not download $requirement"
        [ -f "$target" ] || die "pip did not leave $target"
    fi
    echo "$sha256  $target" | sha256sum --check --quiet - || die "$target does not have sha256 $sha256; delete it and try again"
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
