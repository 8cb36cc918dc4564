#!/usr/bin/env bash
# Runs what this folder holds on a machine with a GPU. Needs glibc, a driver, bash, and xz or Python. Python
# makes the perf table.
#
#   ./run.sh [tests|limits|devices|fuzz|perf|sanitize|demo|all] [FILTER] [-- program options]
#
#   tests      all tests
#   limits     the CUDA suites with the limits of other GPUs (shared memory of a block, multiprocessors) in the place of this one's,
#              in about as many processes as there are cores. FILTER: other tests. $LIMITS: others, such as '65536,30 101376,46'
#   devices    all tests on the second GPU of the machine
#   fuzz       random cases of all classes, CPU against CUDA, in 4 processes, each with other seeds; takes SECONDS (default
#              600) in the place of FILTER. $FUZZ_SEED: first seed (default: from the clock)
#   perf       all performance tests, and their table (perf.md)
#   sanitize   compute-sanitizer's memcheck, racecheck, initcheck and synccheck on some of the CUDA tests
#   demo       the samples, into demo/
#   all        tests, limits, fuzz for a minute, perf and sanitize (default)
#   FILTER     as in --gtest_filter; sanitize takes *Sanitize* without one
#
# Logs go to $OUT (default ./out). $LIMIT: seconds that each program may take (default 1500).
# Last line: 'N passed, N failed, N skipped' over the tests and the sanitizer's tools. The exit code is 0 only when
# something passed and nothing failed.
set -uo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
OUT=${OUT:-$PWD/out}
LIMIT=${LIMIT:-1500}
WHAT=all FILTER='' EXTRA=()
while [ $# -gt 0 ]; do
    case "$1" in
        tests|limits|devices|fuzz|perf|sanitize|demo|all) WHAT=$1 ;;
        --help|-h) sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$0"; exit 0 ;;
        --) shift; EXTRA=("$@"); break ;;
        -*) echo "error: unknown option '$1' (see ./run.sh --help)" >&2; exit 2 ;;
        *) FILTER=$1 ;;
    esac
    shift
done
if [ "$WHAT" = fuzz ] && [[ ! ${FILTER:-600} =~ ^[1-9][0-9]*$ ]]; then
    echo "error: fuzz takes a number of seconds, not '$FILTER'" >&2
    exit 2
fi
mkdir -p "$OUT" || exit 2
export CUDATRACKING_SAMPLES_DATA=${CUDATRACKING_SAMPLES_DATA:-$HERE/data}
export CUDATRACKING_CASCADES=${CUDATRACKING_CASCADES:-$HERE/data}

say() { printf '== %s\n' "$*" | tee -a "$OUT/summary.txt"; }
: >"$OUT/summary.txt"

if [ ! -d "$HERE/bin" ]; then
    unxz=(xz --decompress --stdout)
    command -v xz >/dev/null ||
        unxz=(python3 -c 'import lzma, shutil, sys; shutil.copyfileobj(lzma.open(sys.argv[1]), sys.stdout.buffer)')
    { mkdir -p "$HERE/unpacked" && "${unxz[@]}" "$HERE/programs.tar.xz" | tar -x -C "$HERE/unpacked" &&
        mv "$HERE"/unpacked/* "$HERE/" && rmdir "$HERE/unpacked"; } ||
        { echo "error: $HERE/programs.tar.xz could not be unpacked (by xz, or by Python where that is missing)" >&2; exit 2; }
fi

# cuFFT is too large to carry. When a program lacks it, it is looked for where CUDA and Python's packages keep it.
wanted=$(ldd "$HERE"/bin/* 2>/dev/null | sed -n 's/^\s*\(libcufft[^ ]*\) => not found.*/\1/p' | sort -u)
if [ -n "$wanted" ]; then
    mapfile -t site < <(python3 -c 'import sys; print(*[p for p in sys.path if p.endswith("-packages")], sep="\n")' 2>/dev/null)
    found=$(find /usr/local/cuda*/ /opt "${site[@]}" -name "$wanted" 2>/dev/null | head -n 1)
    if [ -z "$found" ]; then
        say "$wanted was not found on this machine: peers that need it are left out"
        found=$HERE/lib/no_cufft/$wanted
    fi
    LD_LIBRARY_PATH=$(dirname "$found")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export LD_LIBRARY_PATH
fi

PASSED=0 FAILED=0 SKIPPED=0
# count_log LOG EXIT_CODE: adds a test program's results, also of several runs one after the other. A skipped test ends with OK
# after a line [     SKIP ]; one that begins and does not end has failed.
count_log()
{
    local counts
    counts=$(awk '
        /\[ RUN      \]/ { if (running) f++; running = 1; skip = 0 }
        /\[     SKIP \]/ && running { skip = 1 }
        /\[       OK \]/ && running { if (skip) s++; else p++; running = 0 }
        /\[  FAILED  \]/ && running { f++; running = 0 }
        END { if (running) f++; print p + 0, f + 0, s + 0 }' "$1")
    read -r p f s <<<"$counts"
    [ "$2" = 0 ] || [ "$f" -gt 0 ] || f=1
    PASSED=$((PASSED + p)) FAILED=$((FAILED + f)) SKIPPED=$((SKIPPED + s))
    say "$(basename "$1"): $p passed, $f failed, $s skipped (exit code $2)"
}

# run_tests [NAME [OPTION...]]: NAME is for the log.
run_tests()
{
    local code=0 name=${1:-tests}
    timeout "$LIMIT" "$HERE/bin/opencv_test_cudatracking" ${FILTER:+"--gtest_filter=$FILTER"} "${@:2}" "${EXTRA[@]}" 2>&1 | tee "$OUT/$name.log" || code=$?
    count_log "$OUT/$name.log" $code
}

# Shared memory of a block in bytes, and multiprocessors: as of an RTX 2060, RTX 3070, RTX 4090 and A100, and fewer and more
# multiprocessors than an H200 has. A GPU with less shared memory keeps its own.
read -ra PAIRS <<<"${LIMITS:-65536,30 101376,46 101376,128 166912,108 232448,14 232448,170}"
# Tests named *Alone are left out: they compare the memory that is free on the device, or that a loaded device makes a call take.
run_limits()
{
    local pair name code i shard shards free most pids=() filter=${FILTER:-*Cuda*-*Alone}
    rm -f "$OUT"/limits.*
    # As many shards of each limit that there are about as many processes as cores, each with 2 GiB of the device's memory.
    shards=$((($(nproc) + ${#PAIRS[@]} - 1) / ${#PAIRS[@]}))
    free=$(nvidia-smi --query-gpu=memory.free --format=csv,noheader,nounits 2>/dev/null | head -n 1)
    if [[ $free =~ ^[0-9]+$ ]]; then
        most=$((free / 2048 / ${#PAIRS[@]}))
        [ "$shards" -le "$most" ] || shards=$((most > 0 ? most : 1))
    fi
    for pair in "${PAIRS[@]}"; do
        for ((shard = 0; shard < shards; ++shard)); do
            GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$shard OPENCV_FOR_THREADS_NUM=2 \
                CUDATRACKING_FAKE_SHARED_BYTES=${pair%,*} CUDATRACKING_FAKE_MULTIPROCESSORS=${pair#*,} timeout "$LIMIT" \
                "$HERE/bin/opencv_test_cudatracking" "--gtest_filter=$filter" "${EXTRA[@]}" \
                >"$OUT/limits.${pair/,/.}.$shard.tmp" 2>&1 &
            pids+=($!)
        done
    done
    for i in "${!PAIRS[@]}"; do
        pair=${PAIRS[i]} code=0
        name=limits.${pair/,/.}.log
        for ((shard = 0; shard < shards; ++shard)); do
            wait "${pids[i * shards + shard]}" || code=$?
            cat "$OUT/limits.${pair/,/.}.$shard.tmp" >>"$OUT/$name"
            rm -f "$OUT/limits.${pair/,/.}.$shard.tmp"
        done
        grep -B40 '^\[  FAILED  \] .* ms)$' "$OUT/$name" | grep -v '^\[ RUN\|^\[       OK' | head -n 60
        count_log "$OUT/$name" $code
        sed -n 's/^\[  FAILED  \] \([^ ,]*\).* ms)$/\1/p' "$OUT/$name" | while read -r test; do
            say "FAILED with ${pair%,*} bytes of shared memory and ${pair#*,} multiprocessors: $test"
        done
        [ $code != 124 ] || say "stopped after $LIMIT s with ${pair%,*} bytes of shared memory and ${pair#*,} multiprocessors"
    done
}

run_devices()
{
    local gpus
    gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
    if [ "$gpus" -lt 2 ]; then
        say "tests on a second GPU: skipped, this machine has $gpus"
        SKIPPED=$((SKIPPED + 1))
        return
    fi
    run_tests tests.device1 --cuda_device=1
}

# run_fuzz SECONDS: all rooms have the same part of the time.
run_fuzz()
{
    local seconds=$1 seed=${FUZZ_SEED:-$(date +%s)} cores rooms i code pids=()
    rm -f "$OUT"/fuzz.*
    cores=$(nproc)
    rooms=$("$HERE/bin/opencv_test_cudatracking" --gtest_list_tests '--gtest_filter=*_Fuzz.cpuIsCuda' | grep -c '^  cpuIsCuda')
    for i in 1 2 3 4; do
        CUDATRACKING_FUZZ_SEED=$((seed + i)) CUDATRACKING_FUZZ_CASES=1000000000 \
            CUDATRACKING_FUZZ_SECONDS=$(((seconds + rooms) / (rooms + (rooms == 0)))) CUDATRACKING_FUZZ_HASHES=$OUT/fuzz.$i.hashes \
            OPENCV_FOR_THREADS_NUM=$(((cores + 3) / 4)) timeout $((seconds + 300)) \
            "$HERE/bin/opencv_test_cudatracking" '--gtest_filter=*_Fuzz.cpuIsCuda' "${EXTRA[@]}" >"$OUT/fuzz.$i.log" 2>&1 &
        pids+=($!)
    done
    for i in 1 2 3 4; do
        code=0
        wait "${pids[i - 1]}" || code=$?
        grep -A4 '^case ' "$OUT/fuzz.$i.log" | head -n 60
        # After a crash, the case after the last line of this file is the culprit.
        [ $code = 0 ] || tail -n 1 "$OUT/fuzz.$i.hashes" 2>/dev/null
        count_log "$OUT/fuzz.$i.log" $code
    done
    say "fuzz: $(cat "$OUT"/fuzz.?.log | awk '/ cases from .* failed$/ { n += $2; f += $(NF - 1) } END { print n + 0 " cases, " f + 0 " failed" }'), seeds $((seed + 1)) to $((seed + 4))"
}

run_perf()
{
    local code=0
    timeout "$LIMIT" "$HERE/bin/opencv_perf_cudatracking" ${FILTER:+"--gtest_filter=$FILTER"} "${EXTRA[@]}" 2>&1 | tee "$OUT/perf.log" || code=$?
    count_log "$OUT/perf.log" $code
    if command -v python3 >/dev/null; then
        python3 "$HERE/perf_report.py" "$OUT/perf.log" | tee "$OUT/perf.md"
    else
        say "no python3 for the table: copy perf.log and run scripts/perf_report.py on it"
    fi
}

run_sanitize()
{
    local sanitizer tool code ran log=$OUT/sanitizer.log
    sanitizer=$(command -v compute-sanitizer || find /usr/local/cuda*/ /opt/nvidia -name compute-sanitizer -type f -perm -u+x 2>/dev/null | head -n 1)
    if [ -z "$sanitizer" ]; then
        say "compute-sanitizer was not found: 4 checks skipped"
        SKIPPED=$((SKIPPED + 4))
        return
    fi
    # In shards side by side: most of a tool's time is the host's, of which one process uses one core.
    local shards shard pids pid
    shards=$(nproc)
    [ "$shards" -le 12 ] || shards=12
    : >"$log"
    for tool in memcheck racecheck initcheck synccheck; do
        code=0 pids=()
        echo "===== $tool" >>"$log"
        for ((shard = 0; shard < shards; ++shard)); do
            GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$shard OPENCV_FOR_THREADS_NUM=2 timeout "$LIMIT" "$sanitizer" \
                --tool "$tool" --error-exitcode 86 "$HERE/bin/opencv_test_cudatracking" \
                "--gtest_filter=${FILTER:-*Sanitize*}" "${EXTRA[@]}" >"$OUT/$tool.$shard.tmp" 2>&1 &
            pids+=($!)
        done
        for pid in "${pids[@]}"; do wait "$pid" || code=$?; done
        cat "$OUT/$tool".*.tmp >"$OUT/$tool.tmp"
        rm -f "$OUT/$tool".*.tmp
        cat "$OUT/$tool.tmp" >>"$log"
        ran=$(($(grep -c '\[       OK \]' "$OUT/$tool.tmp") - $(grep -c '\[     SKIP \]' "$OUT/$tool.tmp")))
        if grep -q 'Device not supported' "$OUT/$tool.tmp"; then
            SKIPPED=$((SKIPPED + 1))
            say "$tool: skipped, compute-sanitizer does not support the device of this machine"
        elif [ $code = 0 ] && [ $ran = 0 ]; then
            SKIPPED=$((SKIPPED + 1))
            say "$tool: skipped, every test of the filter skipped itself (no GPU?) or none matched"
        elif [ $code = 0 ]; then
            PASSED=$((PASSED + 1))
            say "$tool: $ran tests, $(grep -o 'ERROR SUMMARY.*\|RACECHECK SUMMARY.*' "$OUT/$tool.tmp" | sort -u | paste -sd ';')"
        else
            FAILED=$((FAILED + 1))
            say "$tool: FAILED, exit code $code, $(grep -o 'ERROR SUMMARY.*\|RACECHECK SUMMARY.*' "$OUT/$tool.tmp" | sort -u | paste -sd ';')"
            grep -E '^=========' "$OUT/$tool.tmp" | head -n 40
        fi
        rm -f "$OUT/$tool.tmp"
    done
}

run_demo()
{
    local data=$CUDATRACKING_SAMPLES_DATA
    [ -x "$HERE/bin/cudatracking_fragment_matcher" ] || { say "this bundle has no samples"; FAILED=1; return; }
    # demo NAME PROGRAM ARGUMENT...
    demo() { mkdir -p "$OUT/demo/$1"; say "$1"; "$HERE/bin/$2" --backend=auto "--output-dir=$OUT/demo/$1" "${@:3}" 2>&1 | tee "$OUT/demo/$1/report.txt"; }
    demo vtest cudatracking_fragment_matcher "$data/vtest.avi" || FAILED=$((FAILED + 1))
    demo aloe cudatracking_fragment_matcher "$data/aloeL.jpg" "$data/aloeR.jpg" "$data/aloeGT.png" || FAILED=$((FAILED + 1))
    demo rubberwhale cudatracking_fragment_matcher --pair=motion "$data/rubberwhale1.png" "$data/rubberwhale2.png" || FAILED=$((FAILED + 1))
    demo loop cudatracking_fragment_matcher_loop "$data/vtest.avi" || FAILED=$((FAILED + 1))
    demo loop_no_graph cudatracking_fragment_matcher_loop --no-graph "$data/vtest.avi" || FAILED=$((FAILED + 1))
    demo quick_shift cudatracking_quick_shift "$data/fruits.jpg" || FAILED=$((FAILED + 1))
    demo tld cudatracking_tld "--box=253,219,30,90;498,155,34,78;638,238,50,84" "$data/vtest.avi" || FAILED=$((FAILED + 1))
    demo cascade cudatracking_cascade "--cascade=$CUDATRACKING_CASCADES/haarcascades/haarcascade_frontalface_default.xml" "$data/messi5.jpg" || FAILED=$((FAILED + 1))
}

say "$(cat "$HERE/VERSION" | head -n 1); $(uname -sr); $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -n 1 || echo 'no nvidia-smi')"
case "$WHAT" in
    all) run_tests; run_limits; run_fuzz 60; run_perf; run_sanitize ;;
    fuzz) run_fuzz "${FILTER:-600}" ;;
    *) "run_$WHAT" ;;
esac
[ "$WHAT" = demo ] || echo "$PASSED passed, $FAILED failed, $SKIPPED skipped" | tee -a "$OUT/summary.txt"
[ $FAILED = 0 ] && { [ $PASSED -gt 0 ] || [ "$WHAT" = demo ]; }
