#!/usr/bin/env bash
# Makes build/bundle: a folder with the test, perf and sample programs, small data and run.sh, to be copied to a machine
# with a GPU that has only glibc and a driver. Smaller than 64 MiB: the programs are packed, and run.sh unpacks them once.
#
#   scripts/bundle.sh [--peers] [--output=FOLDER] [options of scripts/build.sh, such as --cuda-arch=9.0]
#
#   --peers           with the contrib CUDA modules that tests and perf tests compare with: carries NPP, takes cuFFT from the
#                     target. Without the samples
#   --output=FOLDER   another folder than build/bundle; what is in it is deleted
#   --help
#
# There: ./run.sh --help
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"

LIMIT_MIB=64 OPTIONS=() BUNDLE=$BUILD_ROOT/bundle PEERS=0
for argument in "$@"; do
    case "$argument" in
        --help|-h) usage_of "$0"; exit 0 ;;
        --configure-only|--module-only|--print-*|--target=*|--shared|--no-python|--peers=*)
            die "$argument makes no sense here (see scripts/bundle.sh --help)" ;;
        --output=?*) BUNDLE=$(realpath -m "${argument#*=}") ;;
        --peers) PEERS=1 OPTIONS+=(--peers --no-python) ;;
        *) OPTIONS+=("$argument") ;;
    esac
done

programs=(opencv_test_cudatracking opencv_perf_cudatracking)
"$REPO_ROOT/scripts/build.sh" "${OPTIONS[@]}"
paths=$("$REPO_ROOT/scripts/build.sh" "${OPTIONS[@]}" --print-paths)
eval "$paths" # BIN_DIR CV2_DIR PYTHON SOURCES SAMPLES_DATA CASCADES NPP_LIB
if [ "$PEERS" = 0 ]; then
    for program in "$BIN_DIR"/cudatracking_*; do programs+=("${program##*/}"); done
fi

# An --output that is no bundle is somebody's folder.
[ ! -e "$BUNDLE" ] || [ -f "$BUNDLE/run.sh" ] || [ -z "$(ls -A "$BUNDLE")" ] || die "$BUNDLE is there and is no bundle"
rm -rf "$BUNDLE"
mkdir -p "$BUNDLE/bin" "$BUNDLE/lib" "$BUNDLE/data"

# --- programs, and the libraries that a bare machine lacks -------------------------------------------------------------
for program in "${programs[@]}"; do
    strip -o "$BUNDLE/bin/$program" "$BIN_DIR/$program"
    readelf -d "$BUNDLE/bin/$program" | grep -qF "\$ORIGIN/../lib" || die "$program would not find its libraries: no \$ORIGIN/../lib in its RUNPATH"
done

needed_by() { readelf -d "$@" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort -u; }

# carry FILE...: copies what these files need to lib/, and what that needs. Sets TARGET_NEEDS to what the target must have.
TARGET_NEEDS=()
carry()
{
    local library source
    for library in $(needed_by "$@"); do
        [ ! -e "$BUNDLE/lib/$library" ] || continue
        case "$library" in
            libc.so.*|libm.so.*|libdl.so.*|libpthread.so.*|librt.so.*|ld-linux*) continue ;;
            libstdc++.so.*|libgcc_s.so.*) source=$(c++ -print-file-name="$library") ;;
            libnpp*) source=$(find "$NPP_LIB" /usr/local/cuda/lib64 -name "$library" -print -quit 2>/dev/null) ;;
            libcufft.so.*|libcuda.so.*) TARGET_NEEDS+=("$library"); continue ;;
            *) die "a program of the bundle needs $library, which a bare machine lacks" ;;
        esac
        [ -f "$source" ] || die "$library, which the bundle needs, was not found"
        cp -L "$source" "$BUNDLE/lib/$library"
        strip --strip-unneeded "$BUNDLE/lib/$library" 2>/dev/null || true # NPP comes stripped
        carry "$BUNDLE/lib/$library"
    done
}
carry "$BUNDLE"/bin/*

# A program that misses a library does not even start. Where the target has no cuFFT, run.sh puts this in its place: each
# function reports CUFFT_INTERNAL_ERROR, and the perf tests leave that peer out.
cufft=$(needed_by "$BUNDLE"/bin/* | grep '^libcufft\.so\.' || true)
if [ -n "$cufft" ]; then
    stub=$BUNDLE/lib/no_cufft
    mkdir "$stub"
    echo "$cufft { global: *; };" >"$stub/versions"
    for program in "$BUNDLE"/bin/*; do readelf --dyn-syms -W "$program"; done |
        sed -n 's/.* UND \(cufft[A-Za-z0-9]*\)@.*/int \1(void) { return 5; }/p' | sort -u >"$stub/stub.c"
    cc -shared -fPIC -o "$stub/$cufft" "-Wl,-soname,$cufft,--version-script,$stub/versions" "$stub/stub.c"
    rm "$stub/versions" "$stub/stub.c"
fi

# --- data ------------------------------------------------------------------------------------------------------------
for file in aloeL.jpg aloeR.jpg aloeGT.png rubberwhale1.png rubberwhale2.png box.png box_in_scene.png tmpl.png mask.png \
    lena.jpg lena_tmpl.jpg fruits.jpg building.jpg baboon.jpg messi5.jpg home.jpg basketball1.png graf1.png stuff.jpg left01.jpg; do
    cp "$SAMPLES_DATA/$file" "$BUNDLE/data/"
done
# All cascades of the new format, and some of the old one.
for folder in haarcascades lbpcascades; do
    [ ! -d "$CASCADES/$folder" ] || cp -r "$CASCADES/$folder" "$BUNDLE/data/"
done
mkdir "$BUNDLE/data/haarcascades_cuda"
old=(eye frontalface_alt2 profileface)
[ "$PEERS" = 0 ] || old+=(frontalface_alt frontalface_default) # those that the peer is measured with
for file in "${old[@]}"; do
    [ ! -d "$CASCADES/haarcascades_cuda" ] ||
        cp "$CASCADES/haarcascades_cuda/haarcascade_$file.xml" "$BUNDLE/data/haarcascades_cuda/"
done
# For the samples. There is no FFmpeg over there; OpenCV's own MJPEG reader takes this.
[ "$PEERS" = 1 ] || PYTHONPATH=$CV2_DIR "$PYTHON" - "$SAMPLES_DATA/vtest.avi" "$BUNDLE/data/vtest.avi" 100 <<'END'
import sys
import cv2

source, target, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
reader, writer = cv2.VideoCapture(source), None
for _ in range(count):
    ok, frame = reader.read()
    if not ok:
        sys.exit(f"cannot read {count} frames of {source}")
    if writer is None:
        size = (frame.shape[1], frame.shape[0])
        writer = cv2.VideoWriter(target, cv2.CAP_OPENCV_MJPEG, cv2.VideoWriter_fourcc(*"MJPG"), 10, size)
        if not writer.isOpened():
            sys.exit(f"cannot write {target}")
        writer.set(cv2.VIDEOWRITER_PROP_QUALITY, 70)  # a third of the default's size
    writer.write(frame)
writer.release()
END

cp "$REPO_ROOT/scripts/lib/bundle_run.sh" "$BUNDLE/run.sh"
cp "$REPO_ROOT/scripts/perf_report.py" "$BUNDLE/"
chmod +x "$BUNDLE/run.sh"
{
    git -C "$REPO_ROOT" log -1 --format='commit %H of %cd' 2>/dev/null || echo "not a git checkout"
    [ -z "$(git -C "$REPO_ROOT" status --porcelain -uno 2>/dev/null)" ] || echo "with changes that are not committed"
} >"$BUNDLE/VERSION"

# Nothing in it may name a folder of this machine.
named=$(grep -rlF -e "$BUILD_ROOT/" -e "$REPO_ROOT/src/" -e "$REPO_ROOT/test/" -e "$REPO_ROOT/perf/" -e "$REPO_ROOT/samples/" "$BUNDLE" || true)
[ -z "$named" ] || die "these files of the bundle name folders of this machine: $named"

# --- what came out ---------------------------------------------------------------------------------------------------
glibc=$(find "$BUNDLE/bin" "$BUNDLE/lib" -type f -exec readelf -V {} + | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
# The programs hold the same libraries: with a dictionary larger than one of them, xz stores these once.
(cd "$BUNDLE" && tar -c --owner=0 --group=0 bin lib | xz --threads=1 --lzma2=preset=1,dict=192MiB >programs.tar.xz && rm -r bin lib)
size=$(du -sm --apparent-size "$BUNDLE" | cut -f 1)
say "$BUNDLE: $size MiB, needs ${glibc/_/ } and an NVIDIA driver${TARGET_NEEDS[*]:+ and ${TARGET_NEEDS[*]}}"
(cd "$BUNDLE" && find . -type f -printf '%10s  %P\n' | sort -k2)
[ "$size" -lt "$LIMIT_MIB" ] || die "the bundle has $size MiB; less than $LIMIT_MIB are allowed"
