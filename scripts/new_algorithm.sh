#!/usr/bin/env bash
# Makes the files of a new algorithm in every folder: a small one, which inverts images on both backends, to be rewritten step by step
# as CONTRIBUTING.md says under "Adding an algorithm".
#
#   scripts/new_algorithm.sh NAME
#
#   NAME     name of its folders and files in lower case, such as edge_finder. The class is then cv::cuda::EdgeFinder
#   --help
#
# What it makes compiles, passes its own tests and scripts/check.sh. The algorithm is added to the umbrella header, to the Python
# bindings and to the list of scripts/lib/check_sources.py; scripts/build.sh finds the rest.
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"

[ $# = 1 ] || die "one NAME is needed (see scripts/new_algorithm.sh --help)"
case "$1" in
    --help|-h) usage_of "$0"; exit 0 ;;
    -*) die "unknown option '$1' (see scripts/new_algorithm.sh --help)" ;;
    common|cpu|cuda|fuzz) die "'$1' is the name of a folder of all algorithms" ;;
esac
NAME=$1
[[ $NAME =~ ^[a-z][a-z0-9]*(_[a-z0-9]+)*$ ]] || die "'$NAME': a NAME has lower-case letters, digits and single underscores, such as edge_finder"
CLASS=$(sed -E 's/(^|_)(.)/\U\2/g' <<<"$NAME")
TEMPLATE=$REPO_ROOT/scripts/lib/new_algorithm

mapfile -t files < <(cd "$TEMPLATE" && find . -type f | sed 's|^\./||' | sort)
for file in "${files[@]}"; do
    [ ! -e "$REPO_ROOT/${file//new_algorithm/$NAME}" ] || die "${file//new_algorithm/$NAME} is there already"
done
made=()
for file in "${files[@]}"; do
    target=$REPO_ROOT/${file//new_algorithm/$NAME}
    mkdir -p "$(dirname "$target")"
    sed "s/new_algorithm/$NAME/g; s/NewAlgorithm/$CLASS/g; s/NEW_ALGORITHM/${NAME^^}/g" "$TEMPLATE/$file" >"$target"
    [ ! -x "$TEMPLATE/$file" ] || chmod +x "$target"
    echo "${target#"$REPO_ROOT/"}"
    [[ $target != *.[chp]pp && $target != *.cu ]] || made+=("$target")
done

# insert FILE LAST LINE: LINE behind the last line that matches LAST.
insert()
{
    local number
    number=$(grep -n "$2" "$REPO_ROOT/$1" | tail -n 1 | cut -d : -f 1)
    [ -n "$number" ] || die "$1 has no line '$2'"
    sed -i "${number}a $3" "$REPO_ROOT/$1"
    echo "$1"
}
insert include/opencv2/cudatracking.hpp '^#include "opencv2/cudatracking/' "#include \"opencv2/cudatracking/$NAME.hpp\""
insert misc/python/pyopencv_cudatracking.hpp '^CUDATRACKING_CHECKED(' "CUDATRACKING_CHECKED($CLASS)"
insert misc/python/pyopencv_cudatracking.hpp '^#define pyopencv_cuda_\w*_getp ' "#define pyopencv_cuda_${CLASS}_getp cudatracking_${CLASS}_getp"
sed -i "s/^\(ALGORITHMS = (.*\))$/\1, \"$NAME\")/" "$REPO_ROOT/scripts/lib/check_sources.py"
echo scripts/lib/check_sources.py
[ ! -x "$BUILD_ROOT/venv/bin/clang-format" ] || "$BUILD_ROOT/venv/bin/clang-format" -i --style=file "${made[@]}" ||
    say "clang-format failed: scripts/check.sh --fix formats the files"
