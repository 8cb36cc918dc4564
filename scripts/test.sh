#!/usr/bin/env bash
# Builds everything and runs all tests: the C++ tests, those of the CPU's loops once more for each lower instruction set
# (with another OpenCV they are left out), and the Python tests: of cv2, of the samples, of the examples of README and the
# tutorials, and of these scripts.
#
#   scripts/test.sh [--filter=PATTERN] [--no-build] [options of scripts/build.sh, such as --cuda=off]
#
#   --filter=PATTERN   only C++ tests that match (as in --gtest_filter), once; the Python tests are left out
#   --no-build         run what was built last with the same options
#   --sanitize=KIND    address (with leaks and undefined behaviour) or thread: C++ tests with the compiler's sanitizers, in a
#                      build of their own without CUDA. Each report counts as a failed test
#   --cross=aarch64    C++ tests for Linux on AArch64, in QEMU, ten times as slow: set CUDATRACKING_TEST_TIMEOUT=36000, or give a filter
#   --help
#
# Last line: 'N passed, N failed, N skipped'. The exit code is 0 only when some test ran and none failed.
# Without a GPU the CUDA suites are listed as SKIPPED. Peers that results are compared with, VLFeat (Debian's libvlfeat-dev) and
# scikit-image (PyPI), are installed where that is possible; their tests are skipped without them. Environment, for the tests:
#   CUDATRACKING_SAMPLES_DATA   images and videos (default: samples/data of the unpacked OpenCV)
#   CUDATRACKING_CASCADES       folder of haarcascades and lbpcascades (default: those of the unpacked OpenCV)
#   CUDATRACKING_TLD_DATA       optional: folder of the TLD sequences
#   CUDATRACKING_TEST_TIMEOUT   seconds after which a hanging test program is ended (default 2400)
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"

FILTER='' BUILD=1 OPTIONS=() WITH_PYTHON=1 SANITIZE='' CROSS=''
for argument in "$@"; do
    case "$argument" in
        --filter=?*) FILTER=${argument#*=} ;;
        --no-build) BUILD=0 ;;
        --help|-h) usage_of "$0"; exit 0 ;;
        --configure-only|--module-only|--print-*|--target=*) die "$argument makes no sense here (see scripts/test.sh --help)" ;;
        --sanitize=*) SANITIZE=${argument#*=} OPTIONS+=("$argument") ;;
        --cross=*) CROSS=${argument#*=} OPTIONS+=("$argument" --target=opencv_test_cudatracking) ;;
        --no-python) WITH_PYTHON=0 OPTIONS+=("$argument") ;;
        *) OPTIONS+=("$argument") ;;
    esac
done

[ "$BUILD" = 0 ] || "$REPO_ROOT/scripts/build.sh" "${OPTIONS[@]}"
paths=$("$REPO_ROOT/scripts/build.sh" "${OPTIONS[@]}" --print-paths)
eval "$paths" # BUILD_DIR BIN_DIR CV2_DIR PYTHON SOURCES SAMPLES_DATA CASCADES CUDA NVCC
program=$BIN_DIR/opencv_test_cudatracking
[ -x "$program" ] || die "$program does not exist; run without --no-build"
export CUDATRACKING_SAMPLES_DATA=${CUDATRACKING_SAMPLES_DATA:-$SAMPLES_DATA}
export CUDATRACKING_CASCADES=${CUDATRACKING_CASCADES:-$CASCADES}
export CUDATRACKING_BUILD_DIR=$BUILD_DIR CUDATRACKING_NVCC=$NVCC # for the Python tests: samples and find_package()
limit=${CUDATRACKING_TEST_TIMEOUT:-2400}

results=$BUILD_DIR/test-results
rm -rf "$results"
mkdir -p "$results"

run=()
if [ -n "$SANITIZE" ]; then
    # Kernels that spread addresses over more bits than a sanitizer knows of let it stop at the start.
    ! setarch "$(uname -m)" -R true 2>/dev/null || run=(setarch "$(uname -m)" -R)
    # Reports go to files sanitizer.<process>. Allocations that are too large fail, as without a sanitizer.
    all="log_path=$results/sanitizer:allocator_may_return_null=1"
    export ASAN_OPTIONS=$all:detect_stack_use_after_return=1
    export UBSAN_OPTIONS=$all:print_stacktrace=1:suppressions=$REPO_ROOT/scripts/lib/sanitize_undefined.supp
    export TSAN_OPTIONS=$all:second_deadlock_stack=1:suppressions=$REPO_ROOT/scripts/lib/sanitize_thread.supp
    # GCC 12 makes wrong code of the cascade's AVX-512 loops with -fsanitize=thread; without that option it is right.
    [ "$SANITIZE" != thread ] || export OPENCV_CPU_DISABLE=${OPENCV_CPU_DISABLE:-AVX512-SKX}
    # More threads than processors, so that they meet.
    export OPENCV_FOR_THREADS_NUM=${OPENCV_FOR_THREADS_NUM:-4}
fi

if [ -n "$CROSS" ]; then
    has qemu-aarch64-static || need_packages qemu-user-static
    run=("$(command -v qemu-aarch64-static)")
    # Tests that start their program again need the emulator for it.
    export CUDATRACKING_TEST_EMULATOR=${run[0]} QEMU_LD_PREFIX=/usr/aarch64-linux-gnu
fi

# Each processor has a share of the tests, which mostly have one thread; beside a GPU one process has all, as tests measure its memory.
shares=$(nproc)
[ "$shares" -le 8 ] || shares=8
[ "$CUDA" = off ] || [ -z "$(gpu_capabilities "$NVCC")" ] || shares=1
[ -z "$SANITIZE" ] || shares=1 # tests have more threads there, and reports one file per process

# share NAME FILTER NUMBER: the exit code goes to a file.
share()
{
    local status=0 files=$results/$1-$3
    (cd "$results" && GTEST_TOTAL_SHARDS=$shares GTEST_SHARD_INDEX=$3 timeout "$limit" "${run[@]}" "$program" \
        "--gtest_output=xml:$files.xml" ${2:+"--gtest_filter=$2"} 2>&1) | tee "$files.log" || status=$?
    echo $status >"$files.code"
}

# cpp_tests NAME FILTER: NAME is for the files of the results.
cpp_tests()
{
    local number of_shares=()
    for ((number = 0; number < shares; number++)); do
        share "$1" "$2" "$number" &
    done
    wait
    for ((number = 0; number < shares; number++)); do
        of_shares+=("$results/$1-$number.log" "$results/$1-$number.xml" "$(cat "$results/$1-$number.code")")
    done
    "$PYTHON" "$REPO_ROOT/scripts/lib/count_gtest.py" "${of_shares[@]}" >"$results/$1.count"
    say "C++ tests, $1: $(sed 's/ / passed, /; s/ \([0-9]*\)$/ failed, \1 skipped/' "$results/$1.count")"
}

# What compares the CPU's loops with definitions in plain code.
LOOPS='*Oracle*:*Fuzz*:*Reference*:*Narrow*:*Elimination*:*_Sums*:*_Deep*:*Precision*:*_Bands*:*_Ferns*:*_Flow*:*Correlation*'

# lower_instructions NAME DISABLED FLAG: the CPU backend takes the best instruction set of the processor; OpenCV can be told to do
# without some. Only where the processor has what is disabled, by its name in /proc/cpuinfo.
lower_instructions()
{
    if grep -qw "$3" /proc/cpuinfo 2>/dev/null; then
        say "C++ tests of the CPU's loops without $2"
        OPENCV_CPU_DISABLE=$2 cpp_tests "$1" "$LOOPS-*Cuda*"
    else
        say "C++ tests of the CPU's loops without $2: left out, this processor has no $3"
    fi
}
if [ -n "$FILTER$CROSS" ]; then
    say "C++ tests"
    cpp_tests all "$FILTER"
elif [[ " ${OPTIONS[*]} " == *' --opencv='* ]]; then
    # The loops are the module's own and tested with the default OpenCV.
    say "C++ tests without those of the CPU's loops, which are the same with every OpenCV"
    cpp_tests all "-$LOOPS"
else
    say "C++ tests"
    cpp_tests all ""
    if [ "$SANITIZE" = thread ]; then
        say "C++ tests with lower instruction sets: left out, threads do the same with each"
    else
        lower_instructions no-avx512 AVX512-SKX avx512vl
        lower_instructions no-avx2 AVX512-SKX,AVX2 avx2
    fi
fi

if [ -n "$FILTER" ]; then
    say "Python tests: left out because of --filter"
elif [ -n "$SANITIZE" ]; then
    say "Python tests: left out because of --sanitize"
elif [ -n "$CROSS" ]; then
    say "Python tests: left out because of --cross"
elif [ "$WITH_PYTHON" = 0 ]; then
    say "Python tests: left out because of --no-python"
else
    "$PYTHON" -c 'import skimage' 2>/dev/null ||
        pip_install scikit-image ||
        say "QuickShift's test against scikit-image: left out, pip could not install it"
    say "Python tests"
    # tests_common belongs to OpenCV's own Python tests.
    (cd "$results" && PYTHONPATH="$CV2_DIR:$SOURCES/opencv/modules/python/test${PYTHONPATH:+:$PYTHONPATH}" \
        timeout "$limit" "$PYTHON" "$REPO_ROOT/scripts/lib/run_unittests.py" "$REPO_ROOT/misc/python/test" \
        >"$results/python.count") || echo "0 1 0" >"$results/python.count"
fi

if [ -n "$SANITIZE" ]; then
    reports=$(find "$results" -name 'sanitizer.*' -exec cat {} +)
    [ -z "$reports" ] || printf '%s\n' "$reports" >&2
    count=$(grep -cE '(ERROR|WARNING): [A-Za-z]+Sanitizer|runtime error: ' <<<"$reports" || true)
    say "reports of the sanitizers: $count"
    echo "0 $count 0" >"$results/reports.count"
fi
total_of "$results"/*.count
