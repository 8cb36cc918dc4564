# shellcheck shell=bash
# Pinned sources that scripts/build.sh compiles, below BUILD_ROOT/src. Sourced, after common.sh.
# shellcheck disable=SC2034 # variables that functions set are read by scripts/build.sh

# unpack_opencv VERSION SDIST SHA256 FOLDER: OpenCV with contrib, as PyPI has it.
unpack_opencv()
{
    local version=$1 sdist=$2 sha256=$3 folder=$4
    [ ! -f "$folder/.unpacked" ] || return 0
    fetch_pypi "opencv-contrib-python==$sdist" "opencv_contrib_python-$sdist.tar.gz" "$sha256" --no-build-isolation --no-binary :all:
    say "unpacking OpenCV $version"
    rm -rf "$folder"
    mkdir -p "$BUILD_ROOT/src"
    tar -xzf "$BUILD_ROOT/downloads/opencv_contrib_python-$sdist.tar.gz" -C "$BUILD_ROOT/src"
    touch "$folder/.unpacked"
}

# need_npp NVCC NVCC_VERSION: sets NPP to a folder with NPP's headers and libraries when the toolkit has none, else to nothing.
# OpenCV's core includes npp.h. A CUDA 13 toolkit without NPP gets its headers (and, for the peers, its libraries) from PyPI.
need_npp()
{
    local nvcc=$1 version=$2 file
    NPP=''
    [ ! -f "$(dirname "$(dirname "$(readlink -f "$nvcc")")")/include/npp.h" ] || return 0
    [ "${version%%.*} $(uname -m)" = "13 x86_64" ] ||
        die "the CUDA $version toolkit of $nvcc has no npp.h, which OpenCV includes; install its NPP package"
    NPP=$BUILD_ROOT/src/nvidia-npp
    [ ! -f "$NPP/.unpacked" ] || return 0
    file=nvidia_npp-13.0.1.2-py3-none-manylinux_2_27_x86_64.whl
    fetch_pypi nvidia-npp==13.0.1.2 "$file" 70a53f1eb78a4c4c6a9ad08b50d28fbd1c190e03a4b45a0e0ffbdd794cc919a3
    rm -rf "$NPP"
    "$PYTHON" -m zipfile -e "$BUILD_ROOT/downloads/$file" "$NPP"
    mv "$NPP"/nvidia/cu13/include "$NPP"/nvidia/cu13/lib "$NPP"
    touch "$NPP/.unpacked"
}

# need_aarch64_cudart NVCC NVCC_VERSION: sets CUDART to a folder with the libraries of CUDA's runtime for AArch64: those of the
# toolkit where it has them (NVIDIA's package cuda-cross-sbsa), for CUDA 13.0 else PyPI's.
need_aarch64_cudart()
{
    local nvcc=$1 version=$2 file
    CUDART=$(dirname "$(dirname "$(readlink -f "$nvcc")")")/targets/sbsa-linux/lib
    [ ! -f "$CUDART/libcudart_static.a" ] || return 0
    [ "$version" = 13.0 ] || die "the CUDA $version toolkit of $nvcc has no libraries for AArch64; install its package cuda-cross-sbsa"
    CUDART=$BUILD_ROOT/src/nvidia-cuda-runtime-aarch64/nvidia/cu13/lib
    [ ! -f "$CUDART/libcudart.so" ] || return 0
    file=nvidia_cuda_runtime-13.0.96-py3-none-manylinux2014_aarch64.manylinux_2_17_aarch64.whl
    fetch_pypi nvidia-cuda-runtime==13.0.96 "$file" ef9bcbe90493a2b9d810e43d249adb3d02e98dd30200d86607d8d02687c43f55 --only-binary :all: --platform manylinux2014_aarch64
    "$PYTHON" -m zipfile -e "$BUILD_ROOT/downloads/$file" "$BUILD_ROOT/src/nvidia-cuda-runtime-aarch64"
    ln -sf libcudart.so.13 "$CUDART/libcudart.so"
}
