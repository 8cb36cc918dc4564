# shellcheck shell=bash
# What scripts/build.sh builds with: nvcc, CMake, Ninja, compilers, Python. Sourced, after common.sh.
# shellcheck disable=SC2034 # variables that functions set are read by scripts/build.sh

# find_nvcc: sets NVCC and NVCC_VERSION, or leaves NVCC empty and says why in NVCC_PROBLEM.
find_nvcc()
{
    NVCC='' NVCC_VERSION='' NVCC_PROBLEM="no nvcc on the PATH, in CUDA_HOME or in /usr/local/cuda/bin"
    local candidate
    for candidate in "$(command -v nvcc || true)" "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" /usr/local/cuda/bin/nvcc; do
        [ -x "$candidate" ] || continue
        # One name for one compiler, or another PATH would mean another configuration.
        [ ! "$candidate" -ef /usr/local/cuda/bin/nvcc ] || candidate=/usr/local/cuda/bin/nvcc
        NVCC_VERSION=$("$candidate" --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')
        if [ "$(printf '%s\n' 12.4 "$NVCC_VERSION" | sort -V | head -n 1)" = 12.4 ]; then
            NVCC=$candidate
            return
        fi
        NVCC_PROBLEM="$candidate is CUDA $NVCC_VERSION, and 12.4 is the oldest supported"
    done
}

python_has() { python3 -c "$1" 2>/dev/null; }

# need_build_tools WITH_PYTHON: installs or names what is missing. Looks for programs, not for Debian's packages: programs may come
# from elsewhere. Packages of Debian serve Debian's Python only.
need_build_tools()
{
    local with_python=$1 packages=()
    has cmake || packages+=(cmake)
    has ninja || packages+=(ninja-build)
    has "${CC:-cc}" "${CXX:-c++}" || packages+=(g++)
    case "$(command -v python3 || true)" in
        '') packages+=(python3 python3-venv python3-dev) ;;
        /usr/bin/python3|/bin/python3)
            [ -x "$PYTHON" ] || python_has 'import ensurepip, venv' || packages+=(python3-venv)
            [ "$with_python" = 0 ] || python_has 'import sysconfig; open(sysconfig.get_path("include") + "/Python.h")' ||
                packages+=(python3-dev) ;;
    esac
    need_packages "${packages[@]}"
    has ccache || want_packages "compiler cache" ccache
    { has pkg-config && pkg-config --exists libavcodec libavformat libavutil libswscale; } ||
        want_packages "videos other than MJPEG .avi" pkg-config libavcodec-dev libavformat-dev libavutil-dev libswscale-dev
    need_python_tools
}

# python_path include | python_path VARIABLE...: where the interpreter's own build says its headers and library lie.
# OpenCV 4.14 does not find them by itself for an interpreter outside of /usr.
python_path()
{
    "$PYTHON" -c 'import sys, sysconfig
a = sys.argv[1:]
print(sysconfig.get_path("include") if a == ["include"] else "/".join(str(sysconfig.get_config_var(v)) for v in a))' "$@"
}
