#!/usr/bin/env bash
# Builds the library and the samples with an OpenCV that is installed, installs them, and builds and runs a program that finds them
# by find_package(cudatracking). Some minutes on two cores.
#
#   scripts/test_installed.sh [--opencv=FOLDER] [--keep]
#
#   --opencv=FOLDER   the one with OpenCVConfig.cmake (default: where CMake finds OpenCV 4.10 or newer)
#   --keep            leaves build/installed for a next call, which compiles only what changed
#   --help
#
# Needs CMake, Ninja and a C++ compiler. Last line: 'N passed, N failed, N skipped'.
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"

OPENCV='' KEEP=0
for argument in "$@"; do
    case "$argument" in
        --opencv=?*) OPENCV=${argument#*=} ;;
        --keep) KEEP=1 ;;
        --help|-h) usage_of "$0"; exit 0 ;;
        *) die "unknown option '$argument' (see scripts/test_installed.sh --help)" ;;
    esac
done
has cmake ninja c++ || need_packages cmake ninja-build g++

OUT=$BUILD_ROOT/installed PASSED=0 FAILED=0
[ "$KEEP" = 1 ] || rm -rf "$OUT"
mkdir -p "$OUT/program"
options=(-G Ninja -DCMAKE_BUILD_TYPE=Release ${OPENCV:+"-DOpenCV_DIR=$OPENCV"})
has ccache && options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)

# check NAME COMMAND...: the output is shown when it fails; the next ones would fail too.
check()
{
    local name=$1
    shift
    say "$name"
    if "$@" >"$OUT/log" 2>&1; then
        PASSED=$((PASSED + 1))
    else
        FAILED=$((FAILED + 1))
        tail -n 40 "$OUT/log" >&2
        echo "FAILED  $name"
        echo "$PASSED passed, $FAILED failed, 0 skipped"
        exit 1
    fi
}

# prints EXPECTED COMMAND...
prints()
{
    local expected=$1 got
    shift
    got=$("$@") && echo "$got" && [ "$got" = "$expected" ]
}

no_private_headers() { ! grep -rnE '#include .opencv2/.*private' src include samples; }

cat >"$OUT/program/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.18)
project(example CXX)
find_package(cudatracking REQUIRED)
add_executable(example example.cpp)
target_link_libraries(example PRIVATE cudatracking::cudatracking)
END
# An image contains its own part where that was cut, with a score of 0.
cat >"$OUT/program/example.cpp" <<'END'
#include <opencv2/cudatracking.hpp>
#include <opencv2/imgproc.hpp>
#include <cstdio>

int main()
{
    cv::Mat image(240, 320, CV_8UC3);
    cv::RNG(1).fill(image, cv::RNG::UNIFORM, 0, 256);
    cv::blur(image, image, cv::Size(5, 5));
    const auto matcher = cv::cuda::FragmentMatcher::create();
    matcher->setFragments(std::vector<cv::Mat>(1, image(cv::Rect(100, 60, 17, 17)).clone()));
    cv::Mat map;
    matcher->scoreMap(0, image, cv::Rect(), map);
    cv::Point best;
    double least = 0.;
    cv::minMaxLoc(map, &least, nullptr, &best);
    std::printf("%d %d, score %g\n", best.x, best.y, least);
}
END

cd "$REPO_ROOT"
check "no header of OpenCV that is not installed is included" no_private_headers
check "configuring" cmake -S . -B "$OUT/build" "${options[@]}"
start=$SECONDS
check "building the library and the samples" cmake --build "$OUT/build"
say "built in $((SECONDS - start)) s"
check "installing" cmake --install "$OUT/build" --prefix "$OUT/prefix"
mkdir -p "$OUT/sample"
check "a sample runs" env -C "$OUT/sample" "$OUT/prefix/bin/cudatracking_quick_shift" --backend=cpu "$REPO_ROOT/doc/pics/astronaut.jpg"
check "configuring a program that finds it" cmake -S "$OUT/program" -B "$OUT/program/build" -G Ninja "-DCMAKE_PREFIX_PATH=$OUT/prefix"
check "building the program" cmake --build "$OUT/program/build"
check "the program's results" prints "100 60, score 0" "$OUT/program/build/example"
[ "$KEEP" = 1 ] || rm -rf "$OUT"
echo "$PASSED passed, $FAILED failed, 0 skipped"
