#!/usr/bin/env bash
# Builds OpenCV with this repository as a module, everything below build/.
#
#   scripts/build.sh [options] [-- cmake options]
#
#   --cuda=auto|on|off   auto (default): CUDA when nvcc 12.4 or newer is on the PATH, in CUDA_HOME or in /usr/local/cuda
#   --cuda-arch=LIST     compute capabilities to compile for, as in CUDA_ARCH_BIN
#                        (default: those of the GPUs of this machine; 9.0 when there is none)
#   --cuda-ptx=LIST      also embed PTX for these, for GPUs that are newer (default: none)
#   --opencv=VERSION     4.14.0 (default), 5.0.0 or 5.1.0
#   --peers              also build the contrib modules that tests, perf tests and cudatracking_tld_benchmark compare with; without
#                        CUDA that is the module tracking
#   --peers=dnn          these and dnn, for trackers with neural networks
#   --shared             shared libraries (default: static, so that programs can be copied)
#   --no-python          do not build the cv2 module
#   --sanitize=KIND      address (with leaks and undefined behaviour) or thread: OpenCV and this module with the compiler's
#                        sanitizers, without CUDA and cv2; builds the tests only, for scripts/test.sh --sanitize=KIND
#   --compiler=clang     with clang and clang++, in a build of its own (default: cc and c++)
#   --cross=aarch64      for Linux on AArch64, with Debian's cross compiler, in a build of its own; the tests run in QEMU. CUDA is
#                        compiled with --cuda=on alone, for 8.7, 9.0 and 11.0 (Jetson Orin, Grace Hopper, Jetson Thor) by default
#   --target=NAME        build only this target and FFmpeg's plugin (may be repeated; default: tests, perf tests, samples, cv2)
#   --module-only        compile this module, its tests, perf tests and samples, but not OpenCV, and link nothing:
#                        shows in minutes whether the sources suit another OpenCV or CUDA
#   --jobs=N             parallel compile jobs (default: all processors)
#   --configure-only     stop before compiling
#   --print-bin-dir      print the folder of the programs of this configuration, do nothing else
#   --print-paths        print where things of this configuration lie as shell assignments, do nothing else
#   --help
#
# Needs CMake, Ninja, C and C++ compilers, Python 3 with venv, and its headers unless --no-python. Used when present: ccache,
# which makes another build quick, and with pkg-config FFmpeg's headers, without which only MJPEG .avi videos can be read.
# What is missing is installed when this is root on Debian or Ubuntu; otherwise it is named, and what can be left out is.
# A second call downloads nothing and compiles only what changed.
# CUDATRACKING_BUILD_ROOT in the environment names another folder than build/.
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"
source "$REPO_ROOT/scripts/lib/toolchain.sh"
source "$REPO_ROOT/scripts/lib/sources.sh"

CUDA=auto ARCH='' PTX='' VERSION=4.14.0 PEERS=0 DNN=0 SHARED=0 WITH_PYTHON=1 JOBS=$(nproc) CONFIGURE_ONLY=0 MODULE_ONLY=0 PRINT='' SANITIZE=''
COMPILER='' CROSS='' TARGETS=() EXTRA=()
while [ $# -gt 0 ]; do
    case "$1" in
        --cuda=auto|--cuda=on|--cuda=off) CUDA=${1#*=} ;;
        --cuda=*) die "--cuda=${1#*=}: auto, on or off" ;;
        --cuda-arch=?*) ARCH=${1#*=} ;;
        --cuda-ptx=*) PTX=${1#*=} ;;
        --opencv=?*) VERSION=${1#*=} ;;
        --peers) PEERS=1 ;;
        --peers=dnn) PEERS=1 DNN=1 ;;
        --shared) SHARED=1 ;;
        --no-python) WITH_PYTHON=0 ;;
        --sanitize=address|--sanitize=thread) SANITIZE=${1#*=} ;;
        --sanitize=*) die "--sanitize=${1#*=}: address or thread" ;;
        --compiler=clang) COMPILER=clang ;;
        --compiler=*) die "--compiler=${1#*=}: clang" ;;
        --cross=aarch64) CROSS=${1#*=} ;;
        --cross=*) die "--cross=${1#*=}: aarch64" ;;
        --target=?*) TARGETS+=("${1#*=}") ;;
        --jobs=*) JOBS=${1#*=}; [[ $JOBS =~ ^[1-9][0-9]*$ ]] || die "--jobs=$JOBS: a positive number" ;;
        --configure-only) CONFIGURE_ONLY=1 ;;
        --module-only) MODULE_ONLY=1 ;;
        --print-bin-dir|--print-paths) PRINT=$1 ;;
        --help|-h) usage_of "$0"; exit 0 ;;
        --) shift; EXTRA=("$@"); break ;;
        *) die "unknown option '$1' (see scripts/build.sh --help)" ;;
    esac
    shift
done

case "$VERSION" in
    4.14.0)
        SDIST=4.14.0.94 SDIST_SHA=f2e58020b9f54d68b49553a161327ae1bbc47da68e147231d444c915ee4cab4c
        cascades=opencv/data ;;
    5.0.0)
        SDIST=5.0.0.93 SDIST_SHA=da0ba61096b08c63cb4440d8fd6f323835cbb78b714c5ba22a39e1db68c83166
        cascades=opencv_contrib/modules/xobjdetect/data ;;
    5.1.0)
        SDIST=5.1.0.95 SDIST_SHA=68e98c989685db112c28e7e921c783324cd3b14ffc0b188ae5ea59fbbfca9bfc
        cascades=opencv_contrib/modules/xobjdetect/data ;;
    *) die "--opencv=$VERSION: 4.14.0, 5.0.0 or 5.1.0" ;;
esac

if [ -n "$SANITIZE" ]; then
    [ "$CUDA" != on ] || die "--sanitize=$SANITIZE finds faults of the CPU's code; --cuda=on makes no sense with it"
    CUDA=off WITH_PYTHON=0
    [ ${#TARGETS[@]} -gt 0 ] || TARGETS=(opencv_test_cudatracking)
fi

if [ -n "$CROSS" ]; then
    [ -z "$COMPILER$SANITIZE" ] || die "--cross=$CROSS has a compiler of its own; --compiler and --sanitize make no sense with it"
    [ "$CUDA" != on ] || [ "$PEERS" = 0 ] || die "--peers need NPP's libraries, which --cross=$CROSS does not have"
    [ "$CUDA" = on ] || CUDA=off
fi

find_nvcc
if [ "$CUDA" = auto ]; then
    if [ -n "$NVCC" ]; then CUDA=on; else CUDA=off; [ -n "$PRINT" ] || say "building without CUDA: $NVCC_PROBLEM"; fi
fi
[ "$CUDA" = off ] || [ -n "$NVCC" ] || die "--cuda=on: $NVCC_PROBLEM"

name=opencv-$VERSION
if [ "$CUDA" = on ]; then name+=-cuda; else name+=-cpu; fi
[ "$PEERS" = 0 ] || name+=-peers
[ "$DNN" = 0 ] || name+=-dnn
[ "$SHARED" = 0 ] || name+=-shared
[ -z "$SANITIZE" ] || name+=-$SANITIZE
[ -z "$COMPILER" ] || name+=-$COMPILER
[ -z "$CROSS" ] || name+=-$CROSS
BUILD_DIR=$BUILD_ROOT/$name
SOURCES=$BUILD_ROOT/src/opencv_contrib_python-$SDIST
CASCADES=$SOURCES/$cascades
case "$PRINT" in
    --print-bin-dir) echo "$BUILD_DIR/bin"; exit 0 ;;
    --print-paths)
        printf '%s=%q\n' BUILD_DIR "$BUILD_DIR" BIN_DIR "$BUILD_DIR/bin" CV2_DIR "$BUILD_DIR/lib/python3" PYTHON "$PYTHON" \
            SOURCES "$SOURCES" SAMPLES_DATA "$SOURCES/opencv/samples/data" CASCADES "$CASCADES" CUDA "$CUDA" NVCC "$NVCC" \
            NPP_LIB "$BUILD_ROOT/src/nvidia-npp/lib"
        exit 0 ;;
esac

# Two calls would spoil each other's files: the second waits. First for the common downloads, then for the build folder.
mkdir -p "$BUILD_ROOT"
lock "$BUILD_ROOT/.lock"
need_build_tools "$WITH_PYTHON"
# Before anything is configured, so that demo.sh and then test.sh have one configuration.
[ -f /usr/include/vl/quickshift.h ] || [ -n "$CROSS" ] || want_packages "QuickShift's tests against VLFeat" libvlfeat-dev
[ -z "$COMPILER" ] || has "$COMPILER" "$COMPILER++" || need_packages "$COMPILER"
[ -z "$CROSS" ] || has aarch64-linux-gnu-g++ || need_packages g++-aarch64-linux-gnu
unpack_opencv "$VERSION" "$SDIST" "$SDIST_SHA" "$SOURCES"
NPP=''
[ "$CUDA" = off ] || need_npp "$NVCC" "$NVCC_VERSION"
[ "$CUDA$CROSS" != onaarch64 ] || need_aarch64_cudart "$NVCC" "$NVCC_VERSION"

lock "$BUILD_DIR.lock"

# --- configure -------------------------------------------------------------------------------------------------------
modules=core,imgproc,video,imgcodecs,videoio,highgui,ts,cudatracking
[ "$CUDA" = off ] || modules+=,cudev
if [ "$PEERS" = 1 ]; then
    peers=(tracking)
    [ "$CUDA" = off ] || peers+=(cudaarithm cudaimgproc cudaoptflow)
    # cv::cuda::CascadeClassifier: LBP is cudaobjdetect's, Haar cudalegacy's.
    [ "$CUDA" = off ] || [ "$VERSION" != 4.14.0 ] || peers+=(cudaobjdetect cudalegacy)
    [ "$DNN" = 0 ] || peers+=(dnn)
    modules+=$(printf ',%s' "${peers[@]}")
fi

# cv2 is configured wherever it can be, so that --no-python does not change the configuration.
HAVE_PYTHON=0
[ ! -f "$(python_path include)/Python.h" ] || HAVE_PYTHON=1
[ "$HAVE_PYTHON" = 1 ] || [ "$WITH_PYTHON" = 0 ] ||
    die "$(python_path include)/Python.h is missing; install the headers of this Python (Debian: python3-dev) or give --no-python"
[ "$HAVE_PYTHON" = 0 ] || modules+=,python3,python_bindings_generator

onoff() { if [ "$1" = 1 ]; then echo ON; else echo OFF; fi; }

options=(
    -GNinja -DCMAKE_BUILD_TYPE=Release "-DBUILD_LIST=$modules" "-DBUILD_SHARED_LIBS=$(onoff $SHARED)"
    "-DOPENCV_EXTRA_MODULES_PATH=$SOURCES/opencv_contrib/modules;$REPO_ROOT"
    -DBUILD_TESTS=ON -DBUILD_PERF_TESTS=ON -DBUILD_CUDATRACKING_SAMPLES=ON
    -DOPENCV_BUILD_TEST_MODULES_LIST=cudatracking -DOPENCV_BUILD_PERF_TEST_MODULES_LIST=cudatracking
    -DVIDEOIO_PLUGIN_LIST=ffmpeg -DOPENCV_FFMPEG_ENABLE_LIBAVDEVICE=OFF
    "-DCMAKE_PROJECT_OpenCV_INCLUDE=$REPO_ROOT/scripts/lib/no_build_paths.cmake" "-DCUDATRACKING_ROOT=$REPO_ROOT"
    -DCMAKE_INSTALL_PREFIX=/usr/local # core names it; by default a folder of the build where that is for another system
    '-DCMAKE_BUILD_RPATH=$ORIGIN/../lib' # programs that are copied with the libraries beside them find those
    -DBUILD_ZLIB=ON -DBUILD_PNG=ON -DBUILD_JPEG=ON
    -DOPENCV_GENERATE_PKGCONFIG=OFF -DBUILD_INFO_SKIP_EXTRA_MODULES=ON
    "-DBUILD_opencv_python3=$(onoff $HAVE_PYTHON)" "-DPYTHON3_EXECUTABLE=$PYTHON" "-DPYTHON_DEFAULT_EXECUTABLE=$PYTHON"
    "-DPYTHON3_INCLUDE_DIR=$(python_path include)" "-DPYTHON3_LIBRARY=$(python_path LIBDIR LDLIBRARY)"
    -DOPENCV_SKIP_PYTHON_LOADER=ON -DOPENCV_PYTHON3_INSTALL_PATH=python
    -DPYTHON3_LIMITED_API=ON -DPYTHON3_LIMITED_API_VERSION=0x03090000 # one cv2 for Python 3.9 and newer
)
[ -z "$COMPILER" ] || options+=("-DCMAKE_C_COMPILER=$COMPILER" "-DCMAKE_CXX_COMPILER=$COMPILER++")
if [ -n "$CROSS" ]; then # FFmpeg is this machine's
    # The headers of Python and numpy are the same for all 64-bit Linux, but OpenCV does not look for them.
    options+=("-DCMAKE_TOOLCHAIN_FILE=$SOURCES/opencv/platforms/linux/aarch64-gnu.toolchain.cmake" -DWITH_FFMPEG=OFF
        "-DPYTHON3_INCLUDE_PATH=$(python_path include)"
        "-DPYTHON3_NUMPY_INCLUDE_DIRS=$("$PYTHON" -c 'import numpy; print(numpy.get_include())')")
fi
for unused in BUILD_opencv_apps BUILD_JAVA BUILD_opencv_js BUILD_opencv_python2 BUILD_DOCS BUILD_PACKAGE BUILD_EXAMPLES \
    BUILD_PROTOBUF WITH_PROTOBUF WITH_IPP WITH_ITT BUILD_ITT WITH_OPENCL WITH_OPENEXR WITH_JASPER WITH_OPENJPEG WITH_TIFF \
    WITH_WEBP WITH_AVIF WITH_GDAL WITH_GTK WITH_QT WITH_EIGEN WITH_LAPACK WITH_ADE WITH_VTK WITH_QUIRC WITH_1394 WITH_GSTREAMER \
    WITH_OBSENSOR WITH_IMGCODEC_HDR WITH_IMGCODEC_SUNRASTER WITH_IMGCODEC_PFM WITH_FLATBUFFERS WITH_NVCUVID WITH_NVCUVENC \
    WITH_CUDNN WITH_KLEIDICV WITH_HAL_RVV; do
    options+=("-D$unused=OFF")
done
[ "$SHARED$PEERS" = 00 ] || options+=(-DCMAKE_BUILD_RPATH_USE_ORIGIN=ON) # or programs name the build folder, to look for libraries
[ "$DNN" = 0 ] || options+=(-DBUILD_PROTOBUF=ON -DWITH_PROTOBUF=ON) # dnn reads ONNX models with it
if [ "$CUDA" = on ]; then
    [ -z "$CROSS" ] || ARCH=${ARCH:-8.7,9.0,11.0}
    [ -n "$ARCH" ] || ARCH=$(gpu_capabilities "$NVCC" | paste -sd,)
    cuda_flags=()
    if [ -n "$CROSS" ]; then
        # The headers of CUDA are the same for both machines.
        cuda_flags+=("-target-dir x86_64-linux -L\"$CUDART\"")
        options+=(-DCMAKE_CUDA_HOST_COMPILER=aarch64-linux-gnu-g++ "-DCUDA_CUDART=$CUDART/libcudart.so"
            "-DCUDA_cudart_LIBRARY=$CUDART/libcudart.so" "-DCUDA_cudart_static_LIBRARY=$CUDART/libcudart_static.a")
    fi
    options+=(-DWITH_CUDA=ON -DENABLE_CUDA_FIRST_CLASS_LANGUAGE=ON "-DCMAKE_CUDA_COMPILER=$NVCC"
        "-DCUDA_ARCH_BIN=${ARCH:-9.0}" "-DCUDA_ARCH_PTX=$PTX" "-DWITH_CUFFT=$(onoff $PEERS)" -DWITH_CUBLAS=OFF)
    if [ -n "$NPP" ]; then
        # Not in CMAKE_CXX_FLAGS: OpenCV hands these to nvcc in one piece, in which ccache cannot make the path relative.
        options+=("-DCMAKE_CXX_STANDARD_INCLUDE_DIRECTORIES=$NPP/include")
        cuda_flags+=("-isystem \"$NPP/include\"")
        # A static OpenCV asks for static NPP libraries, which the wheel does not have; the shared ones link as well.
        # Linked from the build's own folder, which programs name relative to theirs.
        [ "$PEERS" = 0 ] || for library in "$NPP"/lib/libnpp*.so.*; do
            component=$(basename "$library" | sed -E 's/^lib([a-z]+)\.so.*/\1/')
            mkdir -p "$BUILD_DIR/lib"
            ln -sf "$library" "$BUILD_DIR/lib/"
            library=$BUILD_DIR/lib/${library##*/}
            options+=("-DCUDA_${component}_LIBRARY=$library" "-DCUDA_${component}_static_LIBRARY=$library")
        done
    fi
    [ ${#cuda_flags[@]} = 0 ] || options+=("-DCMAKE_CUDA_FLAGS=${cuda_flags[*]}")
else
    options+=(-DWITH_CUDA=OFF)
fi
if [ -n "$SANITIZE" ]; then
    # Reports need the numbers of lines, not variables.
    flags="-fsanitize=$SANITIZE -fno-omit-frame-pointer -g1"
    case "$SANITIZE" in
        address)
            # Memory of Mat then comes from the allocator as it is asked for, and reads beyond its end are seen.
            flags+=" -D_GLIBCXX_ASSERTIONS"
            options+=(-DOPENCV_ENABLE_MEMORY_SANITIZER=ON -DCUDATRACKING_SANITIZE_UNDEFINED=ON) ;;
        thread)
            # OpenCV leaves out reads without a lock that it knows to be harmless; it finds out about clang by itself.
            flags+=" -DCV_THREAD_SANITIZER=1 -DCV_USE_GLOBAL_WORKERS_COND_VAR=1" ;;
    esac
    # Of OpenCV's instruction sets only those that this module has code for.
    options+=("-DCMAKE_C_FLAGS=$flags" "-DCMAKE_CXX_FLAGS=$flags" -DCMAKE_C_FLAGS_RELEASE=-O1 -DCMAKE_CXX_FLAGS_RELEASE=-O1
        -DENABLE_OMIT_FRAME_POINTER=OFF "-DCPU_DISPATCH=AVX2,AVX512_SKX" -DWITH_FFMPEG=OFF)
fi
if command -v ccache >/dev/null; then
    # Paths below the base folder are cached relative to it, so that another checkout hits the same cache.
    case "$BUILD_ROOT/" in "$REPO_ROOT/"*) base=$REPO_ROOT ;; *) base=$BUILD_ROOT ;; esac
    # The options of no_build_paths.cmake name that folder, and what they make of it is always the same.
    export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$base} CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=time_macros,pch_defines
    export CCACHE_IGNOREOPTIONS="-fmacro-prefix-map=* -Xcompiler=-fmacro-prefix-map=*"
    options+=(-DOPENCV_DISABLE_COMPILER_CACHE= -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
    [ "$CUDA" = off ] || options+=(-DCMAKE_CUDA_COMPILER_LAUNCHER=ccache)
fi
options+=("${EXTRA[@]}")

# Other options start from an empty cache: OpenCV keeps what it once did not find, and cmake what is no longer given.
# Other source files only run cmake again (OpenCV lists them when it configures), as does VLFeat, once it is installed.
options_print=$(printf '%s\n' "${options[@]}" | sha256sum)
sources_print=$(cd "$REPO_ROOT" && { find include src test perf samples misc -type f \( -name '*.[chc]pp' -o -name '*.cu*' \)
    [ ! -f /usr/include/vl/quickshift.h ] || echo VLFeat; } | sort | sha256sum)
if [ ! -f "$BUILD_DIR/build.ninja" ] || [ "$(cat "$BUILD_DIR/.configured" 2>/dev/null)" != "$options_print$sources_print" ]; then
    mkdir -p "$BUILD_DIR"
    [[ "$(cat "$BUILD_DIR/.configured" 2>/dev/null)" == "$options_print"* ]] || rm -f "$BUILD_DIR/CMakeCache.txt"
    rm -f "$BUILD_DIR/.configured"
    say "configuring OpenCV $VERSION in $BUILD_DIR (CUDA: $CUDA; about half a minute)"
    cmake -S "$SOURCES/opencv" -B "$BUILD_DIR" "${options[@]}" >"$BUILD_DIR/configure.log" 2>&1 ||
        { tail -n 40 "$BUILD_DIR/configure.log" >&2; die "cmake failed; all of it: $BUILD_DIR/configure.log"; }
    wanted=(cudatracking)
    [ "$HAVE_PYTHON" = 0 ] || wanted+=(python3)
    [ "$PEERS" = 0 ] || wanted+=("${peers[@]}")
    for module in "${wanted[@]}"; do
        grep -qE "To be built:.* $module( |\$)" "$BUILD_DIR/configure.log" ||
            { grep -A12 'OpenCV modules:' "$BUILD_DIR/configure.log" >&2; die "OpenCV did not take the module $module; see $BUILD_DIR/configure.log"; }
    done
    [ -n "$SANITIZE$CROSS" ] || grep -qE 'FFMPEG: +YES' "$BUILD_DIR/configure.log" ||
        say "FFmpeg's libraries were not found: videos other than MJPEG .avi cannot be read"
    echo "$options_print$sources_print" >"$BUILD_DIR/.configured"
fi
[ "$CONFIGURE_ONLY" = 0 ] || exit 0
if [ "$MODULE_ONLY" = 1 ]; then
    say "compiling this module alone with $JOBS jobs"
    "$PYTHON" "$REPO_ROOT/scripts/lib/compile_module.py" "$BUILD_DIR" "$JOBS" >&2 || die "the lines above with 'error:' say why"
    exit 0
fi

# --- compile: named targets only, or cudev's own .cu tests are built as well ------------------------------------------
if [ ${#TARGETS[@]} -eq 0 ]; then
    TARGETS=(opencv_test_cudatracking opencv_perf_cudatracking cudatracking_samples)
    [ "$WITH_PYTHON" = 0 ] || TARGETS+=(opencv_python3)
fi
! grep -q '^build opencv_videoio_plugins' "$BUILD_DIR/build.ninja" || TARGETS+=(opencv_videoio_plugins)
say "building ${TARGETS[*]} with $JOBS jobs"
ninja -C "$BUILD_DIR" -j "$JOBS" "${TARGETS[@]}" >&2 || die "the build failed; the first lines above with 'error:' say why"

# OpenCV looks for its FFmpeg plugin beside the program, and beside cv2.
if [ -f "$BUILD_DIR/lib/libopencv_videoio_ffmpeg.so" ]; then
    ln -sf ../lib/libopencv_videoio_ffmpeg.so "$BUILD_DIR/bin/"
    [ ! -d "$BUILD_DIR/lib/python3" ] || ln -sf ../libopencv_videoio_ffmpeg.so "$BUILD_DIR/lib/python3/"
fi
say "programs: $BUILD_DIR/bin"
[ -n "$CROSS" ] || [ -z "$(compgen -G "$BUILD_DIR/lib/python3/cv2*.so")" ] || say "cv2: PYTHONPATH=$BUILD_DIR/lib/python3 $PYTHON"
