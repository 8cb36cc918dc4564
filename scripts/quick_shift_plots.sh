#!/usr/bin/env bash
# Measures QuickShift and draws the paper's three plots: time against resolution, sigma and tau, on the CPU (one thread) and,
# where there is a GPU, on CUDA, beside VLFeat and scikit-image.
#
#   scripts/quick_shift_plots.sh [options] [LOG or CSV]... [options of scripts/build.sh, such as --cuda=off]
#
#   LOG or CSV        also draws what a perf program printed elsewhere, or a times.csv of this script
#   --draw-only       measures nothing, only draws these files
#   --tables          measures the 1080p cases instead, for the table beside VLFeat and scikit-image; draws nothing
#   --peer-seconds=N  leaves out what scikit-image is expected to need more than N seconds for (default 60; 0: nothing)
#   --title=TEXT      above the plots, such as the machine
#   --output=FOLDER   default: build/quick_shift_plots
#   --help
#
# Makes there: perf.log (what was printed), times.csv, times.md and plots.png. VLFeat is taken where it is installed (Debian:
# libvlfeat-dev, before compiling). A machine with a GPU and little else: scripts/bundle.sh, there
# ./run.sh perf 'QuickShift_*Plots*', and here this script with --draw-only, its perf.log and the CSV of the CPU.
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"

OPTIONS=() ARGUMENTS=() MEASURE=1 OUTPUT=$BUILD_ROOT/quick_shift_plots
for argument in "$@"; do
    case "$argument" in
        --draw-only) MEASURE=0 ;;
        --output=?*) OUTPUT=${argument#*=} ;;
        --tables|--peer-seconds=?*|--title=?*) ARGUMENTS+=("$argument") ;;
        --help|-h) usage_of "$0"; exit 0 ;;
        --configure-only|--print-*|--target=*) die "$argument makes no sense here (see scripts/quick_shift_plots.sh --help)" ;;
        --*) OPTIONS+=("$argument") ;;
        *) [ -f "$argument" ] || die "there is no file $argument"; ARGUMENTS+=("$argument") ;;
    esac
done

need_python_tools
"$PYTHON" -c 'import matplotlib, skimage' 2>/dev/null ||
    pip_install matplotlib scikit-image ||
    die "pip could not install matplotlib and scikit-image into $BUILD_ROOT/venv"
if [ "$MEASURE" = 1 ]; then
    "$REPO_ROOT/scripts/build.sh" "${OPTIONS[@]}"
    paths=$("$REPO_ROOT/scripts/build.sh" "${OPTIONS[@]}" --print-paths)
    eval "$paths" # BIN_DIR CV2_DIR SAMPLES_DATA
    export CUDATRACKING_SAMPLES_DATA=${CUDATRACKING_SAMPLES_DATA:-$SAMPLES_DATA}
    ARGUMENTS+=("--program=$BIN_DIR/opencv_perf_cudatracking")
    export PYTHONPATH=$CV2_DIR${PYTHONPATH:+:$PYTHONPATH}
fi
mkdir -p "$OUTPUT"
"$PYTHON" "$REPO_ROOT/scripts/lib/quick_shift_plots.py" "--output=$OUTPUT" "${ARGUMENTS[@]}"
