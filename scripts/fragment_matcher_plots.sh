#!/usr/bin/env bash
# Draws FragmentMatcher's time against the side of a BGR fragment in 1920 x 1080, for SAD, SSD and ZNCC, beside OpenCV's own
# template matching in the same run: on the CPU (one thread) and on CUDA.
#
#   scripts/fragment_matcher_plots.sh [--output=FOLDER] [--title=TEXT] LOG...
#
#   LOG               what the perf program printed with --gtest_filter='FragmentMatcher_*Plots*', such as by ./run.sh perf of a
#                     bundle with --peers (scripts/bundle.sh)
#   --output=FOLDER   default: build/fragment_matcher_plots
#   --title=TEXT      above the plots, such as the machines
#   --help
#
# Makes plots.png and times.md there.
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"

ARGUMENTS=() OUTPUT=$BUILD_ROOT/fragment_matcher_plots
for argument in "$@"; do
    case "$argument" in
        --output=?*) OUTPUT=${argument#*=} ;;
        --title=?*) ARGUMENTS+=("$argument") ;;
        --help|-h) usage_of "$0"; exit 0 ;;
        --*) die "unknown option $argument (see scripts/fragment_matcher_plots.sh --help)" ;;
        *) [ -f "$argument" ] || die "there is no file $argument"; ARGUMENTS+=("$argument") ;;
    esac
done

need_python_tools
"$PYTHON" -c 'import matplotlib' 2>/dev/null || pip_install matplotlib ||
    die "pip could not install matplotlib into $BUILD_ROOT/venv"
mkdir -p "$OUTPUT"
"$PYTHON" "$REPO_ROOT/scripts/lib/fragment_matcher_plots.py" "--output=$OUTPUT" "${ARGUMENTS[@]}"
