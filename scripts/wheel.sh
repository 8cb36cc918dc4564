#!/usr/bin/env bash
# Builds the Python package as a wheel: the module with a private static OpenCV, the typed classes of python/cudatracking, OpenCV's
# cascade files and the licences of everything inside. With nvcc it has the CUDA backend too, and works without a driver as well.
#
#   scripts/wheel.sh [--release] [--test] [--no-build] [--out=DIR] [options of scripts/build.sh, such as --cuda=off or --cross=aarch64]
#
#   --release    for all GPUs from compute capability 7.5 on (compiles about six times as long as for one), and with --glibc=2.17
#   --glibc=V    links for version V of the C library and newer ones, 2.17 or above, with libstdc++ inside (downloads 100 MB)
#   --test       then run scripts/test_wheel.sh on it
#   --no-build   pack what was built last with the same options
#   --out=DIR    where the wheel goes (default: build/wheel, or build/wheel-aarch64)
#   --help
#
# One wheel serves all Python versions from 3.9 on. Without --glibc its manylinux tag is the lowest that this machine's C and C++
# libraries allow. The wheel's path is the last line of the output.
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"
source "$REPO_ROOT/scripts/lib/old_glibc.sh"

# Code of a compute capability also runs on higher ones of its major version, except for 8.7, a Jetson. GPUs of other major versions
# get PTX that the driver compiles.
RELEASE_ARCH=7.5,8.0,8.6,9.0,10.0,12.0 RELEASE_PTX=10.0
RELEASE_ARCH_AARCH64=7.5,8.0,8.7,9.0,10.0,12.0

RELEASE=0 GLIBC='' CROSS='' TEST=0 BUILD=1 OUT='' OPTIONS=()
for argument in "$@"; do
    case "$argument" in
        --release) RELEASE=1 GLIBC=${GLIBC:-2.17} ;;
        --glibc=2.[1-9][0-9]) GLIBC=${argument#*=} ;;
        --glibc=*) die "$argument: such as 2.17" ;;
        --cross=aarch64) CROSS=aarch64 OPTIONS+=("$argument") ;;
        --test) TEST=1 ;;
        --no-build) BUILD=0 ;;
        --out=?*) OUT=${argument#*=} ;;
        --help|-h) usage_of "$0"; exit 0 ;;
        --configure-only|--module-only|--print-*|--target=*|--shared|--no-python|--peers*|--cross=*|--)
            die "$argument makes no sense here (see scripts/wheel.sh --help)" ;;
        *) OPTIONS+=("$argument") ;;
    esac
done
OUT=${OUT:-$BUILD_ROOT/wheel${CROSS:+-$CROSS}}
[[ $OUT == /* ]] || OUT=$PWD/$OUT
MACHINE=${CROSS:-$(uname -m)} TOOLS=${CROSS:+$CROSS-linux-gnu-}
[ "$MACHINE" != aarch64 ] || RELEASE_ARCH=$RELEASE_ARCH_AARCH64
[ "$RELEASE" = 0 ] || OPTIONS+=(--cuda=on "--cuda-arch=$RELEASE_ARCH" "--cuda-ptx=$RELEASE_PTX")

[ "$BUILD" = 0 ] || "$REPO_ROOT/scripts/build.sh" "${OPTIONS[@]}" --target=opencv_python3
paths=$("$REPO_ROOT/scripts/build.sh" "${OPTIONS[@]}" --print-paths)
eval "$paths" # BUILD_DIR CV2_DIR PYTHON SOURCES CASCADES CUDA NVCC
extension=("$CV2_DIR"/cv2.*.so)
[ -f "${extension[0]}" ] && [ ${#extension[@]} = 1 ] ||
    die "$CV2_DIR must hold one cv2.*.so: ${extension[*]}; run without --no-build, or remove the older one"

"$PYTHON" -c 'import auditwheel' 2>/dev/null || pip_install auditwheel==6.8.2 || die "pip could not install auditwheel"

if [ "$CUDA" = on ]; then
    cuobjdump=$(dirname "$NVCC")/cuobjdump
    if [ ! -x "$cuobjdump" ]; then
        pip_install nvidia-cuda-cuobjdump==13.5.37 || die "there is no cuobjdump beside $NVCC, and pip could not install it"
        cuobjdump=$("$PYTHON" -c 'import nvidia, pathlib; print(next(pathlib.Path(nvidia.__path__[0]).glob("*/bin/cuobjdump")))')
    fi
    say "code for GPUs, by compute capability"
    of=(--machine "$MACHINE")
    [ "$RELEASE" = 0 ] || of+=(--all)
    "$PYTHON" "$REPO_ROOT/scripts/lib/gpu_code.py" "${of[@]}" --cuobjdump "$cuobjdump" "${extension[0]}" >&2
fi

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
if [ -n "$GLIBC" ]; then
    mkdir "$stage/linked"
    linked=$stage/linked/$(basename "${extension[0]}")
    link_for_glibc "$GLIBC" "$MACHINE" "$TOOLS" "$BUILD_DIR" "${extension[0]#"$BUILD_DIR/"}" "$linked"
    extension=("$linked")
fi
cmake --install "$BUILD_DIR" --component licenses --prefix "$stage/licenses" >/dev/null
"$PYTHON" "$REPO_ROOT/scripts/lib/stage_wheel.py" --repository "$REPO_ROOT" --opencv "$SOURCES/opencv" --cascades "$CASCADES" --licenses "$stage/licenses" \
    --extension "${extension[0]}" --cuda "$CUDA" --machine "$MACHINE" --glibc "$GLIBC" "$stage/wheel"
"${TOOLS}strip" --strip-unneeded "$stage"/wheel/cudatracking/_extension/cv2.*.so
"$PYTHON" -m wheel pack --dest-dir "$stage" "$stage/wheel" >/dev/null
made=("$stage"/cudatracking-*.whl)

# The lowest tag that the extension is consistent with; plain linux_* would be refused by package indices.
audit=$("$PYTHON" -m auditwheel show "${made[0]}")
tag=$(sed -nE 's/.*"((many|musl)linux_[0-9]+_[0-9]+_[a-z0-9_]+)".*/\1/p' <<<"$audit" | head -n 1)
[ -n "$tag" ] || die "auditwheel finds no manylinux tag for this wheel: $audit"
"$PYTHON" -m wheel tags --platform-tag "$tag" --remove "${made[0]}" >/dev/null
made=("$stage"/cudatracking-*.whl)
size=$(stat -c %s "${made[0]}")
[ "$size" -le $((60 * 1000 * 1000)) ] || die "$(basename "${made[0]}") has $size bytes, more than 60 MB"
mkdir -p "$OUT"
rm -f "$OUT"/cudatracking-*.whl
mv "${made[0]}" "$OUT/"
WHEEL=$OUT/$(basename "${made[0]}")

say "inside of $(basename "$WHEEL"), $((size / 100000 / 10)).$((size / 100000 % 10)) MB, auditwheel: $tag"
"$PYTHON" "$REPO_ROOT/scripts/lib/stage_wheel.py" --list "$WHEEL" >&2
if [ "$TEST" = 1 ]; then
    say "$WHEEL"
    exec "$REPO_ROOT/scripts/test_wheel.sh" --wheel="$WHEEL" ${CROSS:+"--cross=$CROSS"}
fi
echo "$WHEEL"
