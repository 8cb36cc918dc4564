#!/usr/bin/env bash
# Installs the wheel that scripts/wheel.sh made into fresh virtual environments and runs the tests of python/tests there: alone with
# numpy, beside opencv-python 5, also with public programs that opencv-python 5 broke, and beside opencv-contrib-python 4 and 5; those of scan and Ray Data
# once more with PyAV, pyarrow and Ray. Compiles nothing.
#
#   scripts/test_wheel.sh [--wheel=FILE] [--python=PROGRAM] [--cross=aarch64] [--device] [--tests=PATTERN] [--table]
#
#   --wheel=FILE       default: the one in build/wheel, or build/wheel-aarch64
#   --python=PROGRAM   the Python of the environments, 3.9 or newer (default: python3)
#   --cross=aarch64    with Debian's Python for AArch64 in QEMU, below build/aarch64, and alone only; the wheel of scripts/wheel.sh --cross=aarch64
#   --device           run the tests with the packages of PROGRAM's own environment instead, torch and CuPy among them: those of zero copy
#                      need these. Installs the wheel alone, into a folder of its own, and nothing else.
#   --tests=PATTERN    with --device: only the files of python/tests with such names; 'test_[wz]*.py' are those that need a device most
#   --table            print the tables of doc/from_opencv.md, measured beside opencv-contrib-python 5 and scikit-image, and stop
#   --help
#
# Failed tests are named at the end. Last line: 'N passed, N failed, N skipped'. Packages come from the package index that pip is set up for. Environment:
#   CUDATRACKING_SAMPLES_DATA   OpenCV's samples/data (default: that of the unpacked OpenCV); tests that need images are skipped without
#   CUDATRACKING_PROGRAMS       folder of the C++ samples (default: that of a build); a test that compares with them is skipped without
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"
source "$REPO_ROOT/scripts/lib/aarch64_python.sh"

WHEEL='' PROGRAM=python3 CROSS='' DEVICE=0 TESTS='' TABLE=0
for argument in "$@"; do
    case "$argument" in
        --wheel=?*) WHEEL=${argument#*=} ;;
        --python=?*) PROGRAM=${argument#*=} ;;
        --cross=aarch64) CROSS=aarch64 ;;
        --cross=*) die "--cross=${argument#*=}: aarch64" ;;
        --device) DEVICE=1 ;;
        --tests=?*) TESTS=${argument#*=} ;;
        --table) TABLE=1 ;;
        --help|-h) usage_of "$0"; exit 0 ;;
        *) die "unknown option '$argument' (see scripts/test_wheel.sh --help)" ;;
    esac
done
[ -z "$TESTS" ] || [ "$DEVICE" = 1 ] || die "--tests needs --device"
if [ -z "$WHEEL" ]; then
    found=("$BUILD_ROOT/wheel${CROSS:+-$CROSS}"/cudatracking-*.whl)
    WHEEL=${found[0]}
fi
[ -f "$WHEEL" ] || die "$WHEEL does not exist; run scripts/wheel.sh${CROSS:+ --cross=$CROSS}"
if [ -z "${CUDATRACKING_SAMPLES_DATA:-}" ]; then
    for folder in "$BUILD_ROOT"/src/opencv_contrib_python-*/opencv/samples/data; do
        [ ! -d "$folder" ] || export CUDATRACKING_SAMPLES_DATA=$folder
    done
fi
if [ -z "${CUDATRACKING_PROGRAMS:-}" ]; then
    for program in "$BUILD_ROOT"/opencv-*/bin/cudatracking_quick_shift; do
        [ ! -x "$program" ] || export CUDATRACKING_PROGRAMS=${program%/*}
    done
fi

limit=1200
[ -z "$CROSS" ] || limit=36000
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# environment NAME PACKAGE...: fresh, with the wheel; sets PYTHON.
environment()
{
    local name=$1
    shift
    say "environment $name: cudatracking ${*:-and numpy}"
    "$PROGRAM" -m venv "$scratch/$name" || die "$PROGRAM -m venv failed"
    PYTHON=$scratch/$name/bin/python
    local start=$SECONDS
    pip_install "$WHEEL" || die "pip could not install $WHEEL"
    say "installed in $((SECONDS - start)) s"
    [ $# = 0 ] || pip_install "$@" || die "pip could not install $*"
}

# run_tests NAME FOLDER [PATTERN]: those of one folder with the present PYTHON.
run_tests()
{
    (cd "$scratch" && timeout "$limit" "$PYTHON" "$REPO_ROOT/scripts/lib/run_unittests.py" "$REPO_ROOT/python/tests$2" cudatracking "${3:-test_*.py}" \
        2> >(tee "$scratch/$1.log" >&2) >"$scratch/$1.count") || echo "0 1 0" >"$scratch/$1.count"
    # Headings of tracebacks: the test, for a sub-test with what it is about.
    { grep -E '^(FAIL|ERROR): ' "$scratch/$1.log" || true; } | sort -u | sed "s/^/$1: /" >>"$scratch/failed"
    say "$1: $(sed 's/ / passed, /; s/ \([0-9]*\)$/ failed, \1 skipped/' "$scratch/$1.count")"
}

export PYTHONDONTWRITEBYTECODE=1 CUDATRACKING_BUILDS=$BUILD_ROOT # which the wheel must not know
unset PYTHONPATH
if [ "$TABLE" = 1 ]; then
    environment table opencv-contrib-python==5.0.0.93 scikit-image
    "$PYTHON" "$REPO_ROOT/python/tests/cascade_table.py"
    echo
    "$PYTHON" "$REPO_ROOT/python/tests/quickshift_table.py"
    exit 0
fi
if [ "$DEVICE" = 1 ]; then
    PYTHON=$(command -v "$PROGRAM")
    "$PYTHON" -m pip install -q --disable-pip-version-check --no-deps --no-index --target "$scratch/installed" "$WHEEL" ||
        die "$PYTHON -m pip could not install $WHEEL"
    export PYTHONPATH=$scratch/installed
    run_tests device "" "$TESTS"
    [ -n "$TESTS" ] || run_tests device-beside /beside
    sed 's/^/FAILED  /' "$scratch/failed" >&2
    total_of "$scratch"/*.count
    exit
fi
[ -z "$CROSS" ] || need_aarch64_python
environment alone
run_tests alone ""
if [ -n "$CROSS" ]; then
    sed 's/^/FAILED  /' "$scratch/failed" >&2
    total_of "$scratch"/*.count
    exit
fi
environment opencv5 opencv-python==5.0.0.93
run_tests opencv5 /beside
environment programs opencv-python==5.0.0.93 willow==1.12.0 thumbor==7.8.0 abstergo-censor==0.1.3
run_tests programs /programs
environment contrib5 opencv-contrib-python==5.0.0.93
run_tests contrib5 /beside
environment contrib51 opencv-contrib-python==5.1.0.95
run_tests contrib51 /beside
environment contrib4 opencv-contrib-python==4.14.0.94 mypy av scikit-image nbclient ipykernel openpiv rasterio
run_tests contrib4 /beside
run_tests contrib4-tools "" "test_[cdfr]*.py" # what was skipped for want of these packages
environment scan av pyarrow 'ray[data]' decord
run_tests scan "" "test_[rs][ac]*.py" # what was skipped for want of these
sed 's/^/FAILED  /' "$scratch/failed" >&2
total_of "$scratch"/*.count
