#!/usr/bin/env bash
# Builds the samples, runs them on OpenCV's own videos and images, and shows their results on one page.
#
#   scripts/demo.sh [--backend=auto|cpu|cuda] [options of scripts/build.sh, such as --cuda=off]
#
#   --backend=...   auto (default): CUDA when it was built and there is a GPU, else CPU
#   --help
#
# Results: build/demo/index.html, a page with numbers, videos and images, and build/demo/<demo>/ with the images, videos and tables of
# each run, and report.txt, the output of its program. Demos of videos are left out where FFmpeg was not found. The copies of videos
# that browsers play are made by PyAV (or Pillow), which comes from the package index into the private Python environment.
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"

BACKEND=auto OPTIONS=()
for argument in "$@"; do
    case "$argument" in
        --backend=auto|--backend=cpu|--backend=cuda) BACKEND=${argument#*=} ;;
        --backend=*) die "--backend=${argument#*=}: auto, cpu or cuda" ;;
        --help|-h) usage_of "$0"; exit 0 ;;
        --configure-only|--print-*|--target=*) die "$argument makes no sense here (see scripts/demo.sh --help)" ;;
        *) OPTIONS+=("$argument") ;;
    esac
done

"$REPO_ROOT/scripts/build.sh" "${OPTIONS[@]}" --target=cudatracking_samples
paths=$("$REPO_ROOT/scripts/build.sh" "${OPTIONS[@]}" --print-paths)
eval "$paths" # BUILD_DIR BIN_DIR SAMPLES_DATA CASCADES CUDA NVCC PYTHON

capabilities=''
[ "$CUDA" = off ] || capabilities=$(gpu_capabilities "$NVCC" | paste -sd,)
if [ "$BACKEND" = auto ]; then
    if [ -n "$capabilities" ]; then BACKEND=cuda; else BACKEND=cpu; fi
fi
case "$BACKEND" in
    cuda) MACHINE="CUDA backend on $(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1 || true) (compute capability ${capabilities:-unknown})" ;;
    cpu) MACHINE="CPU backend on $(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1 | grep . || uname -m), $(nproc) processors" ;;
esac
say "$MACHINE"

"$PYTHON" -c 'import av' 2>/dev/null || pip_install --only-binary :all: av || "$PYTHON" -c 'import PIL' 2>/dev/null ||
    pip_install --only-binary :all: pillow || say "the page has links to videos, no players: pip could install neither av nor pillow"

# demo NAME CAPTION PROGRAM ARGUMENT...: one run with its own folder below build/demo, and its line in demos.tsv for demo_page.py.
PAGE=$BUILD_ROOT/demo/index.html LIST=$BUILD_ROOT/demo/demos.tsv DEMOS=()
mkdir -p "${PAGE%/*}"
rm -f "$PAGE"
: >"$LIST"
demo()
{
    local name=$1 caption=$2 program=$3 folder=$BUILD_ROOT/demo/$1
    shift 3
    rm -rf "$folder"
    if [[ " $* " == *'.avi '* ]] && [ ! -e "$BUILD_DIR/lib/libopencv_videoio_ffmpeg.so" ]; then
        say "$name: left out, FFmpeg was not found when this was built, so that its video cannot be read"
        return
    fi
    mkdir -p "$folder"
    say "$name: $program --backend=$BACKEND --output-dir=$folder $*"
    "$BIN_DIR/$program" "--backend=$BACKEND" "--output-dir=$folder" "$@" 2>&1 | tee "$folder/report.txt" || die "$program failed"
    printf '%s\t%s\t%s\n' "$name" "$caption" "$program --backend=$BACKEND $*" >>"$LIST"
    DEMOS+=("$folder")
}

demo fragment_matcher_vtest "FragmentMatcher: 17 x 17 pixel patches of each frame, found in the next. Each line is the motion of a patch, drawn four times as long; colour is the confidence." \
    cudatracking_fragment_matcher "$SAMPLES_DATA/vtest.avi"
demo fragment_matcher_aloe "FragmentMatcher on a stereo pair with known disparities. Left: confidence. Right: disparities of the matches with a confidence of at least 1.4. The output below counts the correct matches at each confidence." \
    cudatracking_fragment_matcher "$SAMPLES_DATA/aloeL.jpg" "$SAMPLES_DATA/aloeR.jpg" "$SAMPLES_DATA/aloeGT.png"
demo fragment_matcher_rubberwhale "FragmentMatcher on two images of a scene in motion. Confidence is low along the borders between motions." \
    cudatracking_fragment_matcher --pair=motion "$SAMPLES_DATA/rubberwhale1.png" "$SAMPLES_DATA/rubberwhale2.png"
demo fragment_matcher_loop "FragmentMatcher follows patches through a video; with the CUDA backend, locations and search areas stay on the device." \
    cudatracking_fragment_matcher_loop --frames=200 "$SAMPLES_DATA/vtest.avi"
demo quick_shift_fruits "QuickShift: borders and mean colours of the superpixels, with the parameters of its authors (paper) and with smaller ones on Lab colours (lab). Components below 20 pixels are merged." \
    cudatracking_quick_shift --preset=both "$SAMPLES_DATA/fruits.jpg"
demo quick_shift_home "QuickShift on another photograph, with the same parameters." \
    cudatracking_quick_shift --preset=both "$SAMPLES_DATA/home.jpg"
cascades=$CASCADES/haarcascades
demo cascade_astronaut "CascadeClassifierEx: a face (green) and the eyes in it (blue). Photograph: NASA." \
    cudatracking_cascade "--cascade=$cascades/haarcascade_frontalface_default.xml" "--inside=$cascades/haarcascade_eye_tree_eyeglasses.xml" \
    "$REPO_ROOT/doc/pics/astronaut.jpg"
demo cascade_vtest "CascadeClassifierEx: people, detected by haarcascade_fullbody. Some boxes contain no person; cv::CascadeClassifier returns the same boxes." \
    cudatracking_cascade "--cascade=$cascades/haarcascade_fullbody.xml" --scale-factor=1.05 --frames=100 "$SAMPLES_DATA/vtest.avi"
demo follow_astronaut "CascadeClassifierEx detects faces in every fifth frame. MultiTrackerTLD follows the face while the view moves over the photograph, loses it when it leaves, and finds it again: it keeps its number. Text lists each target, whether it is located, and where its box comes from (confirmed: a box of the cascade agrees); there is none while no target is known to be near. The cascade also takes a rocket for a face, which is followed as number 2." \
    cudatracking_follow "--cascade=$cascades/haarcascade_frontalface_default.xml" --pan=200 --image-every=25 "$REPO_ROOT/doc/pics/astronaut.jpg"
demo follow_vtest "The same with haarcascade_fullbody on people who walk. Each keeps the number that it got; boxes that the cascade finds where no person is are followed as well." \
    cudatracking_follow "--cascade=$cascades/haarcascade_fullbody.xml" --scale-factor=1.05 --min-neighbors=6 --every=10 --frames=200 --image-every=40 "$SAMPLES_DATA/vtest.avi"
demo tld_vtest "MultiTrackerTLD: three people, two of whom leave. Green: the detector confirms the box and learns; orange: it does not. Labels: number of the target, score of its box, and ? if it does not trust it. Upper right: templates of each target. Below: all templates of each target (green) and of its background (red)." \
    cudatracking_tld --first-frame=300 "--box=580,157,34,80;616,157,32,78;312,205,38,92" --frames=90 --image-every=20 "$SAMPLES_DATA/vtest.avi"
demo tld_megamind "MultiTrackerTLD: a face that cuts take away and bring back. It is lost while other faces are shown, and found again in its second scene." \
    cudatracking_tld --first-frame=60 --box=213,168,150,195 --image-every=25 "$SAMPLES_DATA/Megamind.avi"

say "making the page"
"$PYTHON" "$REPO_ROOT/scripts/lib/demo_page.py" "${PAGE%/*}" "$MACHINE"
say "files made with the $BACKEND backend:"
for folder in "${DEMOS[@]}"; do
    find "$folder" -type f -printf '%10s bytes  %p\n' | sort -k3
done
say "all results on one page: $PAGE"
