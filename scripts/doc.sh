#!/usr/bin/env bash
# Makes one HTML site of README, doc/, the tutorials and the reference of the C++ headers with Doxygen, and checks all its links.
#
#   scripts/doc.sh [--help]
#
# Result: build/doc/index.html. Needs doxygen, graphviz and python3: as root they are installed where they are missing.
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"

case "${1:-}" in
    '') ;;
    --help|-h) usage_of "$0"; exit 0 ;;
    *) die "unknown option '$1' (see scripts/doc.sh --help)" ;;
esac

missing=()
has doxygen || missing+=(doxygen)
has dot || missing+=(graphviz)
has python3 || missing+=(python3)
need_packages "${missing[@]}"

cd "$REPO_ROOT"
rm -rf build/doc
mkdir -p build
doxygen doc/Doxyfile
python3 scripts/lib/check_links.py build/doc
say "$REPO_ROOT/build/doc/index.html"
