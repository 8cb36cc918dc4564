#!/usr/bin/env bash
# Compares TrackerTLD with OpenCV's trackers on sequences with known truth: precision and success plots, quality against time,
# and tables. Runs cudatracking_tld_benchmark on the CPU, one process with one thread per tracker and sequence.
#
#   scripts/tld_plots.sh [options] SEQUENCES... [options of scripts/build.sh, such as --opencv=5.0.0]
#   scripts/tld_plots.sh --draw-only=FOLDER [--title=TEXT] [--output=FOLDER]
#
#   SEQUENCES             folders of sequences, or sequences, as cudatracking_tld_benchmark reads them
#   --jobs=N              processes at a time (default 1). Times are those of a quiet machine only while N is below half its cores
#   --seeds=N             runs of TrackerTLD per sequence (default 10)
#   --first-seed=N        the first of their seeds (default 1)
#   --peer-seeds=N        runs of peers that draw random numbers (default 3)
#   --frames=N            only the first N frames
#   --nano-backbone=FILE  with --nano-head=FILE: also the peer Nano; needs --peers=dnn
#   --vit=FILE            also the peer Vit; needs --peers=dnn
#   --peers-python=FILE   a Python with the package opencv-contrib-python, whose trackers are measured: builds no peers, and
#                         gives no long-term measure of them
#   --program=FILE        this cudatracking_tld_benchmark; builds nothing
#   --measure-only        makes only runs.csv and curves.csv: needs no Python
#   --draw-only=FOLDER    measures nothing, draws the files of that folder
#   --title=TEXT          above the plots, such as the machine
#   --output=FOLDER       default: build/tld_plots
#   --help
#
# Makes in the output folder: runs.csv, curves.csv, tables.md and plots.png. Without --program it builds with --peers and without
# CUDA. Videos that are not MJPEG need FFmpeg.
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"

FOLDERS=() BUILD=() RUN=() OURS=() TITLE=() PROGRAM='' JOBS=1 MEASURE=1 DRAW=1 SEEDS=10 PEERS=--peers PEERS_PYTHON=''
OUTPUT=$BUILD_ROOT/tld_plots INPUT=''
TRACKERS=(TLD-CPU MIL CSRT KCF legacyTLD MedianFlow)
for argument in "$@"; do
    case "$argument" in
        --jobs=*) JOBS=${argument#*=}; [[ $JOBS =~ ^[1-9][0-9]*$ ]] || die "--jobs=$JOBS: a positive number" ;;
        --seeds=?*) SEEDS=${argument#*=} ;;
        --peer-seeds=?*|--frames=?*) RUN+=("$argument") ;;
        --first-seed=?*|--nano-head=?*) OURS+=("$argument") ;;
        --peers-python=?*) PEERS_PYTHON=${argument#*=} PEERS='' ;;
        --nano-backbone=?*) OURS+=("$argument") TRACKERS+=(Nano) PEERS=--peers=dnn ;;
        --vit=?*) OURS+=("$argument") TRACKERS+=(Vit) PEERS=--peers=dnn ;;
        --program=?*) PROGRAM=${argument#*=} ;;
        --measure-only) DRAW=0 ;;
        --draw-only=?*) MEASURE=0 INPUT=${argument#*=} ;;
        --title=?*) TITLE=("$argument") ;;
        --output=?*) OUTPUT=${argument#*=} ;;
        --help|-h) usage_of "$0"; exit 0 ;;
        --configure-only|--print-*|--target=*|--cuda=on|--peers*) die "$argument makes no sense here (see scripts/tld_plots.sh --help)" ;;
        --*) BUILD+=("$argument") ;;
        *) [ -d "$argument" ] || die "there is no folder $argument"; FOLDERS+=("$argument") ;;
    esac
done

[ -z "$PEERS_PYTHON" ] || [ ${#TRACKERS[@]} = 6 ] || die "--peers-python has neither Nano nor Vit"

# measure SEQUENCE TRACKER NUMBER: leaves NUMBER.runs, NUMBER.curves and NUMBER.log in PARTS.
measure()
{
    local part=$PARTS/$3 command=("$PROGRAM" --backend=cpu --threads=1 --peers "${OURS[@]}" "--seeds=$SEEDS")
    [ -z "$PEERS_PYTHON" ] || [[ $2 = TLD-* ]] || command=("$PEERS_PYTHON" "$REPO_ROOT/python/benchmarks/tld_peers.py")
    if ! "${command[@]}" "--only=$2" "${RUN[@]}" "--runs=$part.runs" "--curves=$part.curves" "$1" >"$part.log" 2>&1; then
        say "$2 on $1: failed"
        cat "$part.log" >&2
        return 1
    fi
    grep ' frames=' "$part.log"
}

if [ "$MEASURE" = 1 ]; then
    sequences=()
    for folder in "${FOLDERS[@]}"; do
        while read -r file; do sequences+=("$(dirname "$file")"); done < <(find -L "$folder" -maxdepth 2 -name gt.txt -o \
            -maxdepth 2 -name groundtruth_rect.txt | sort)
    done
    [ ${#sequences[@]} -gt 0 ] || die "no sequence: give folders with gt.txt or groundtruth_rect.txt (see scripts/tld_plots.sh --help)"
    if [ -z "$PROGRAM" ]; then
        "$REPO_ROOT/scripts/build.sh" --cuda=off --no-python ${PEERS:+"$PEERS"} "${BUILD[@]}" --target=cudatracking_tld_benchmark
        PROGRAM=$("$REPO_ROOT/scripts/build.sh" --cuda=off --no-python ${PEERS:+"$PEERS"} "${BUILD[@]}" --print-bin-dir)/cudatracking_tld_benchmark
    fi
    mkdir -p "$OUTPUT"
    PARTS=$(mktemp -d "$OUTPUT/parts.XXXXXX")
    say "${#sequences[@]} sequences, ${#TRACKERS[@]} trackers, $JOBS at a time"
    number=100 failed=0
    for sequence in "${sequences[@]}"; do
        for tracker in "${TRACKERS[@]}"; do
            while [ "$(jobs -rp | wc -l)" -ge "$JOBS" ]; do wait -n || failed=1; done
            number=$((number + 1))
            measure "$sequence" "$tracker" "$number" &
        done
    done
    while [ -n "$(jobs -p)" ]; do wait -n || failed=1; done
    [ "$failed" = 0 ] || die "not all trackers were measured; what was: $PARTS"
    for kind in runs curves; do
        files=("$PARTS"/*."$kind")
        { head -n 1 "${files[0]}"; tail -q -n +2 "${files[@]}"; } >"$OUTPUT/$kind.csv"
    done
    rm -r "$PARTS"
    INPUT=$OUTPUT
fi
if [ "$DRAW" = 1 ]; then
    need_python_tools
    "$PYTHON" -c 'import matplotlib' 2>/dev/null || pip_install matplotlib ||
        die "pip could not install matplotlib into $BUILD_ROOT/venv"
    mkdir -p "$OUTPUT"
    "$PYTHON" "$REPO_ROOT/scripts/lib/tld_plots.py" "--output=$OUTPUT" "${TITLE[@]}" "$INPUT/runs.csv" "$INPUT/curves.csv"
fi
say "made in $OUTPUT: $(cd "$OUTPUT" && ls -x)"
