#!/usr/bin/env bash
# Builds OpenCV with this repository as a module, everything below build/.
#
#   scripts/build.sh [options] [-- cmake options]
#
#   --cuda=auto|on|off   auto (default): CUDA when nvcc is on the PATH or in /usr/local/cuda
#   --cuda-arch=LIST     compute capabilities to compile for (default 9.0), as in CUDA_ARCH_BIN
#   --cuda-ptx=LIST      also embed PTX for these, for GPUs that are newer (default: none)
#   --opencv=VERSION     4.14.0 (default) or 5.0.0
#   --peers              also build the contrib CUDA modules that the perf tests compare with (shared libraries)
#   --shared             shared libraries (default: static, so that programs can be copied)
#   --no-python          no cv2 module
#   --target=NAME        build only this target (may be repeated; default: tests, perf tests, samples, cv2)
#   --jobs=N             parallel compile jobs (default: all processors)
#   --configure-only     stop before compiling
#   --print-bin-dir      print the folder of the programs of this configuration, do nothing else
#   --help
#
# A second call downloads nothing and compiles only what changed. ccache is used when present.
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"

CUDA=auto ARCH=9.0 PTX='' VERSION=4.14.0 PEERS=0 SHARED=0 WITH_PYTHON=1 JOBS=$(nproc) CONFIGURE_ONLY=0 PRINT=0
TARGETS=() EXTRA=()
while [ $# -gt 0 ]; do
    case "$1" in
        --cuda=auto|--cuda=on|--cuda=off) CUDA=${1#*=} ;;
        --cuda-arch=?*) ARCH=${1#*=} ;;
        --cuda-ptx=*) PTX=${1#*=} ;;
        --opencv=?*) VERSION=${1#*=} ;;
        --peers) PEERS=1 SHARED=1 ;;
        --shared) SHARED=1 ;;
        --no-python) WITH_PYTHON=0 ;;
        --target=?*) TARGETS+=("${1#*=}") ;;
        --jobs=?*) JOBS=${1#*=} ;;
        --configure-only) CONFIGURE_ONLY=1 ;;
        --print-bin-dir) PRINT=1 ;;
        --help|-h) usage_of "$0"; exit 0 ;;
        --) shift; EXTRA=("$@"); break ;;
        *) die "unknown option '$1' (see scripts/build.sh --help)" ;;
    esac
    shift
done

case "$VERSION" in
    4.14.0) SDIST=4.14.0.94 SDIST_SHA=f2e58020b9f54d68b49553a161327ae1bbc47da68e147231d444c915ee4cab4c ;;
    5.0.0) SDIST=5.0.0.93 SDIST_SHA=da0ba61096b08c63cb4440d8fd6f323835cbb78b714c5ba22a39e1db68c83166 ;;
    *) die "--opencv=$VERSION is not known; 4.14.0 and 5.0.0 are" ;;
esac

NVCC=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null || true)
[ "$CUDA" != auto ] || { [ -n "$NVCC" ] && CUDA=on || CUDA=off; }
[ "$CUDA" = off ] || [ -n "$NVCC" ] || die "--cuda=on, but no nvcc on the PATH or in /usr/local/cuda/bin"
[ "$CUDA" = on ] || [ "$PEERS" = 0 ] || die "--peers needs CUDA"

name=opencv-$VERSION
[ "$CUDA" = on ] && name+=-cuda || name+=-cpu
[ "$PEERS" = 0 ] || name+=-peers
[ "$SHARED" = 0 ] || [ "$PEERS" = 1 ] || name+=-shared
BUILD_DIR=$BUILD_ROOT/$name
if [ "$PRINT" = 1 ]; then echo "$BUILD_DIR/bin"; exit 0; fi

packages=(cmake ninja-build g++ pkg-config ccache ca-certificates libavcodec-dev libavformat-dev libavutil-dev libswscale-dev)
[ "$(command -v python3)" != /usr/bin/python3 ] || packages+=(python3-venv python3-dev)
need_packages "${packages[@]}"
need_python_tools

# --- sources ---------------------------------------------------------------------------------------------------------
SOURCES=$BUILD_ROOT/src/opencv_contrib_python-$SDIST
if [ ! -f "$SOURCES/.unpacked" ]; then
    fetch_pypi "opencv-contrib-python==$SDIST" "opencv_contrib_python-$SDIST.tar.gz" "$SDIST_SHA" \
        --no-build-isolation --no-binary :all:
    say "unpacking OpenCV $VERSION"
    rm -rf "$SOURCES"
    mkdir -p "$BUILD_ROOT/src"
    tar -xzf "$BUILD_ROOT/downloads/opencv_contrib_python-$SDIST.tar.gz" -C "$BUILD_ROOT/src"
    touch "$SOURCES/.unpacked"
fi

# OpenCV's core includes npp.h. Toolkits without NPP get its headers (and, for the peers, its libraries) from PyPI.
NPP=
if [ "$CUDA" = on ] && [ ! -f "$(dirname "$(dirname "$(readlink -f "$NVCC")")")/include/npp.h" ]; then
    NPP=$BUILD_ROOT/src/nvidia-npp
    if [ ! -f "$NPP/.unpacked" ]; then
        file=nvidia_npp-13.0.1.2-py3-none-manylinux_2_27_x86_64.whl
        fetch_pypi nvidia-npp==13.0.1.2 "$file" 70a53f1eb78a4c4c6a9ad08b50d28fbd1c190e03a4b45a0e0ffbdd794cc919a3
        rm -rf "$NPP"
        "$PYTHON" -m zipfile -e "$BUILD_ROOT/downloads/$file" "$NPP"
        mv "$NPP"/nvidia/cu13/include "$NPP"/nvidia/cu13/lib "$NPP"
        touch "$NPP/.unpacked"
    fi
fi

# --- configure -------------------------------------------------------------------------------------------------------
modules=core,imgproc,video,imgcodecs,videoio,highgui,ts,cudatracking
[ "$CUDA" = off ] || modules+=,cudev
[ "$PEERS" = 0 ] || modules+=,cudaarithm,cudafilters,cudaimgproc
[ "$WITH_PYTHON" = 0 ] || modules+=,python3,python_bindings_generator
# python_path include | python_path VARIABLE...: where the interpreter's own build says its headers and library lie
python_path()
{
    "$PYTHON" -c 'import sys, sysconfig
a = sys.argv[1:]
print(sysconfig.get_path("include") if a == ["include"] else "/".join(str(sysconfig.get_config_var(v)) for v in a))' "$@"
}
onoff() { [ "$1" = 1 ] && echo ON || echo OFF; }

options=(
    -GNinja -DCMAKE_BUILD_TYPE=Release -DBUILD_LIST=$modules -DBUILD_SHARED_LIBS="$(onoff $SHARED)"
    "-DOPENCV_EXTRA_MODULES_PATH=$SOURCES/opencv_contrib/modules;$REPO_ROOT"
    -DBUILD_TESTS=ON -DBUILD_PERF_TESTS=ON -DBUILD_CUDATRACKING_SAMPLES=ON
    -DOPENCV_BUILD_TEST_MODULES_LIST=cudatracking -DOPENCV_BUILD_PERF_TEST_MODULES_LIST=cudatracking
    -DVIDEOIO_PLUGIN_LIST=ffmpeg -DOPENCV_FFMPEG_ENABLE_LIBAVDEVICE=OFF
    -DBUILD_ZLIB=ON -DBUILD_PNG=ON -DBUILD_JPEG=ON
    -DWITH_CUDA="$([ "$CUDA" = on ] && echo ON || echo OFF)"
    -DBUILD_opencv_python3="$(onoff $WITH_PYTHON)" -DPYTHON3_EXECUTABLE="$PYTHON"
    -DPYTHON3_INCLUDE_DIR="$(python_path include)" -DPYTHON3_LIBRARY="$(python_path LIBDIR LDLIBRARY)"
    -DPYTHON_DEFAULT_EXECUTABLE="$PYTHON" -DOPENCV_SKIP_PYTHON_LOADER=ON -DOPENCV_PYTHON3_INSTALL_PATH=python
    -DOPENCV_GENERATE_PKGCONFIG=OFF -DBUILD_INFO_SKIP_EXTRA_MODULES=ON
)
for unused in BUILD_opencv_apps BUILD_JAVA BUILD_opencv_js BUILD_opencv_python2 BUILD_DOCS BUILD_PACKAGE BUILD_EXAMPLES \
    BUILD_PROTOBUF WITH_PROTOBUF WITH_IPP WITH_ITT BUILD_ITT WITH_OPENCL WITH_OPENEXR WITH_JASPER WITH_OPENJPEG WITH_TIFF \
    WITH_WEBP WITH_AVIF WITH_GDAL WITH_GTK WITH_QT WITH_EIGEN WITH_LAPACK WITH_ADE WITH_VTK WITH_QUIRC WITH_1394 WITH_GSTREAMER \
    WITH_OBSENSOR WITH_IMGCODEC_HDR WITH_IMGCODEC_SUNRASTER WITH_IMGCODEC_PFM WITH_FLATBUFFERS WITH_NVCUVID WITH_NVCUVENC \
    WITH_CUDNN WITH_KLEIDICV WITH_HAL_RVV; do
    options+=("-D$unused=OFF")
done
if [ "$CUDA" = on ]; then
    options+=(-DENABLE_CUDA_FIRST_CLASS_LANGUAGE=ON "-DCMAKE_CUDA_COMPILER=$NVCC" "-DCUDA_ARCH_BIN=$ARCH" "-DCUDA_ARCH_PTX=$PTX"
        "-DWITH_CUFFT=$(onoff $PEERS)" -DWITH_CUBLAS=OFF)
    if [ -n "$NPP" ]; then
        options+=("-DCMAKE_CXX_FLAGS=-isystem $NPP/include" "-DCMAKE_CUDA_FLAGS=-isystem $NPP/include")
        [ "$PEERS" = 0 ] || for library in "$NPP"/lib/libnpp*.so.*; do
            component=$(basename "$library" | sed -E 's/^lib([a-z]+)\.so.*/\1/')
            options+=("-DCUDA_${component}_LIBRARY=$library")
        done
    fi
fi
if command -v ccache >/dev/null; then
    export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$REPO_ROOT} CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=time_macros,pch_defines
    options+=(-DOPENCV_DISABLE_COMPILER_CACHE= -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
    [ "$CUDA" = off ] || options+=(-DCMAKE_CUDA_COMPILER_LAUNCHER=ccache)
fi
options+=("${EXTRA[@]}")

# cmake runs again when an option, this script, or the list of the module's source files changes (OpenCV globs sources).
fingerprint=$( (printf '%s\n' "${options[@]}"; cd "$REPO_ROOT"; find include src test perf samples CMakeLists.txt -name '*.cpp' -o -name '*.hpp' \
    -o -name '*.cu' -o -name CMakeLists.txt | sort) | sha256sum)
if [ ! -f "$BUILD_DIR/build.ninja" ] || [ "$(cat "$BUILD_DIR/.configured" 2>/dev/null)" != "$fingerprint" ]; then
    say "configuring OpenCV $VERSION in $BUILD_DIR (CUDA: $CUDA)"
    mkdir -p "$BUILD_DIR"
    cmake -S "$SOURCES/opencv" -B "$BUILD_DIR" "${options[@]}" >"$BUILD_DIR/configure.log" 2>&1 ||
        { tail -n 40 "$BUILD_DIR/configure.log" >&2; die "cmake failed; all of it: $BUILD_DIR/configure.log"; }
    grep -q 'To be built:.*cudatracking' "$BUILD_DIR/configure.log" ||
        { grep -A12 'OpenCV modules:' "$BUILD_DIR/configure.log" >&2; die "OpenCV did not take the module; see $BUILD_DIR/configure.log"; }
    echo "$fingerprint" >"$BUILD_DIR/.configured"
fi
[ "$CONFIGURE_ONLY" = 0 ] || exit 0

# --- compile: named targets only, or cudev's own .cu tests are built as well ------------------------------------------
if [ ${#TARGETS[@]} -eq 0 ]; then
    TARGETS=(opencv_test_cudatracking opencv_perf_cudatracking cudatracking_samples opencv_videoio_plugins)
    [ "$WITH_PYTHON" = 0 ] || TARGETS+=(opencv_python3)
fi
say "building ${TARGETS[*]} with $JOBS jobs"
ninja -C "$BUILD_DIR" -j "$JOBS" "${TARGETS[@]}" >&2
say "programs: $BUILD_DIR/bin"
