#!/usr/bin/env bash
# Builds the samples, runs them on OpenCV's own videos and pictures, and says what they made.
#
#   scripts/demo.sh [--engine=auto|cpu|cuda] [options of scripts/build.sh, such as --cuda=off]
#
#   --engine=...   auto (default): CUDA when it was built and there is a GPU, else CPU
#   --help
#
# Results: build/demo/<demo>/ with pictures, a video, a CSV file and report.txt, the program's own words.
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"

ENGINE=auto OPTIONS=()
for argument in "$@"; do
    case "$argument" in
        --engine=auto|--engine=cpu|--engine=cuda) ENGINE=${argument#*=} ;;
        --engine=*) die "--engine=${argument#*=}: auto, cpu or cuda" ;;
        --help|-h) usage_of "$0"; exit 0 ;;
        --configure-only|--print-*|--target=*) die "$argument makes no sense here (see scripts/demo.sh --help)" ;;
        *) OPTIONS+=("$argument") ;;
    esac
done

"$REPO_ROOT/scripts/build.sh" "${OPTIONS[@]}" --target=cudatracking_samples
paths=$("$REPO_ROOT/scripts/build.sh" "${OPTIONS[@]}" --print-paths)
eval "$paths" # BIN_DIR SAMPLES_DATA CASCADES CUDA NVCC

capabilities=''
[ "$CUDA" = off ] || capabilities=$(gpu_capabilities "$NVCC" | paste -sd,)
if [ "$ENGINE" = auto ]; then
    if [ -n "$capabilities" ]; then ENGINE=cuda; else ENGINE=cpu; fi
fi
case "$ENGINE" in
    cuda) say "CUDA engine on $(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1 || true) (compute capability ${capabilities:-unknown})" ;;
    cpu) say "CPU engine, $(nproc) processors" ;;
esac

# demo NAME PROGRAM ARGUMENT...: one run, with its own folder below build/demo.
DEMOS=()
demo()
{
    local name=$1 program=$2 folder=$BUILD_ROOT/demo/$1
    shift 2
    [ -x "$BIN_DIR/$program" ] || return 0 # samples come one after the other
    rm -rf "$folder"
    mkdir -p "$folder"
    say "$name: $program --engine=$ENGINE --output-dir=$folder $*"
    "$BIN_DIR/$program" "--engine=$ENGINE" "--output-dir=$folder" "$@" 2>&1 | tee "$folder/report.txt" || die "$program failed"
    DEMOS+=("$folder")
}

demo fragment_matcher_vtest cudatracking_fragment_matcher "$SAMPLES_DATA/vtest.avi"
demo fragment_matcher_aloe cudatracking_fragment_matcher "$SAMPLES_DATA/aloeL.jpg" "$SAMPLES_DATA/aloeR.jpg" "$SAMPLES_DATA/aloeGT.png"
demo fragment_matcher_rubberwhale cudatracking_fragment_matcher --pair=motion "$SAMPLES_DATA/rubberwhale1.png" "$SAMPLES_DATA/rubberwhale2.png"
demo fragment_matcher_loop cudatracking_fragment_matcher_loop --frames=200 "$SAMPLES_DATA/vtest.avi"
# The paper's parameters, and finer ones on Lab; pieces below 20 pixels are joined.
demo quick_shift_fruits cudatracking_quick_shift --preset=both --min-size=20 "$SAMPLES_DATA/fruits.jpg"
demo quick_shift_home cudatracking_quick_shift --preset=both --min-size=20 "$SAMPLES_DATA/home.jpg"
cascades=$CASCADES/haarcascades
demo cascade_lena cudatracking_cascade "--cascade=$cascades/haarcascade_frontalface_alt.xml" "--inside=$cascades/haarcascade_eye_tree_eyeglasses.xml" "$SAMPLES_DATA/lena.jpg"
demo cascade_vtest cudatracking_cascade "--cascade=$cascades/haarcascade_fullbody.xml" --scale-factor=1.05 --frames=100 "$SAMPLES_DATA/vtest.avi"
# Three people, two of whom leave; then a face that cuts take away and bring back.
demo tld_vtest cudatracking_tld --first-frame=300 "--box=580,157,34,80;616,157,32,78;312,205,38,92" --frames=90 --picture-every=20 "$SAMPLES_DATA/vtest.avi"
demo tld_megamind cudatracking_tld --first-frame=60 --box=213,168,150,195 --picture-every=25 "$SAMPLES_DATA/Megamind.avi"

[ ${#DEMOS[@]} -gt 0 ] || die "no sample was built in $BIN_DIR"
say "made with the $ENGINE engine:"
for folder in "${DEMOS[@]}"; do
    find "$folder" -type f -printf '%10s bytes  %p\n' | sort -k3
done
