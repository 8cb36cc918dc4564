#!/usr/bin/env bash
# Runs README's commands for C++, scripts/demo.sh and scripts/test.sh, where nothing is installed: in new minimal Debians below
# build/bare, in a clone of what is committed here, without CUDA. As root, who gets missing packages installed, and as a user, who
# is told which are missing; then these and no others are installed, and the user tries again.
#
#   scripts/test_bare.sh [--as=root|user] [--suite=NAME] [--mirror=SOURCE] [--cache=FOLDER]
#
#   --as=root|user     only the one (default: first as root, then as user)
#   --suite=NAME       release of Debian (default: this machine's, or stable)
#   --mirror=SOURCE    where packages come from: an address, or a file of apt's sources (default: what this machine has for Debian)
#   --cache=FOLDER     lends the compiler cache ccache this folder, so that a second call is quick
#   --help
#
# Needs root, mmdebstrap (Debian's package of that name), git, and the permission to mount. Takes over two hours on two cores
# without --cache. apt and pip in there are set up as on this machine. Last line: 'N passed, N failed, N skipped'.
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"

ROLES=(root user) SUITE='' MIRROR='' CACHE=''
for argument in "$@"; do
    case "$argument" in
        --as=root|--as=user) ROLES=("${argument#*=}") ;;
        --suite=?*) SUITE=${argument#*=} ;;
        --mirror=?*) MIRROR=${argument#*=} ;;
        --cache=/*) CACHE=${argument#*=} ;;
        --cache=*) die "$argument: an absolute path" ;;
        --help|-h) usage_of "$0"; exit 0 ;;
        *) die "unknown option '$argument' (see scripts/test_bare.sh --help)" ;;
    esac
done
[ "$(id -u)" = 0 ] || die "only root can make another root folder; run: sudo scripts/test_bare.sh $*"
has mmdebstrap git || need_packages mmdebstrap git
unshare --mount true 2>/dev/null || die "this machine permits no mounts"

if [ "$(. /etc/os-release && echo "$ID")" = debian ]; then
    [ -n "$SUITE" ] || SUITE=$(. /etc/os-release && echo "$VERSION_CODENAME")
    for file in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list; do
        [ -n "$MIRROR" ] || [ ! -s "$file" ] || MIRROR=$file
    done
fi
SUITE=${SUITE:-stable}

BARE=$BUILD_ROOT/bare PLACE=/home/user/opencv_cudatracking
rm -rf "$BARE"
mkdir -p "$BARE"

# How this machine reaches packages: variables, and the files that they name.
mapfile -t passed_on < <(env | grep -E '^(PIP_[A-Z_]+|SSL_CERT_(FILE|DIR)|REQUESTS_CA_BUNDLE|[A-Za-z]+_(proxy|PROXY))=' || true)

say "making a minimal Debian ($SUITE)"
apt-config dump | grep -E '^Acquire::(Check-|Retries|http|https|ForceIPv)' >"$BARE/apt.conf" || true
mmdebstrap --quiet --variant=apt --aptopt="$BARE/apt.conf" "$SUITE" "$BARE/pristine.tar" ${MIRROR:+"$MIRROR"} ||
    die "mmdebstrap could not make a root of $SUITE from ${MIRROR:-the default mirror}"

# make_root ROLE: sets ROOT, to a new one with the clone.
make_root()
{
    ROOT=$BARE/$1
    mkdir -p "$ROOT"
    tar -C "$ROOT" -xpf "$BARE/pristine.tar"
    local path
    for path in /etc/pip.conf /etc/resolv.conf /etc/hosts /usr/local/share/ca-certificates $(printf '%s\n' "${passed_on[@]#*=}" | grep '^/' || true); do
        [ -e "$path" ] || continue
        mkdir -p "$ROOT${path%/*}"
        [ -d "$ROOT$path" ] || cp -rL "$path" "$ROOT$path"
    done
    echo 'user:x:1000:1000::/home/user:/bin/bash' >>"$ROOT/etc/passwd"
    echo 'user:x:1000:' >>"$ROOT/etc/group"
    mkdir -p "$ROOT/home/user"
    git clone --quiet --no-hardlinks "$REPO_ROOT" "$ROOT$PLACE"
    if [ -d "$BUILD_ROOT/downloads" ]; then
        mkdir "$ROOT$PLACE/build"
        cp -r "$BUILD_ROOT/downloads" "$ROOT$PLACE/build/"
    fi
    [ "$1" = root ] || chown -R 1000:1000 "$ROOT/home/user"
    [ -z "$CACHE" ] || mkdir -p "$CACHE" "$ROOT/ccache"
}

# inside WHO COMMAND...: as root or user, in the clone, with no more of this machine than the network and the compiler cache.
# There are no terminals (/dev/pts), as in many containers.
inside()
{
    local who=$1 id=0 home=/root
    shift
    [ "$who" = root ] || id=1000 home=/home/user
    # shellcheck disable=SC2016 # expanded by the inner shell
    unshare --mount --pid --fork --kill-child bash -ec '
        root=$1 cache=$2
        shift 2
        mount -t proc proc "$root/proc"
        [ -z "$cache" ] || mount --bind "$cache" "$root/ccache"
        exec chroot "$@"' bash "$ROOT" "$CACHE" --userspec="$id:$id" "$ROOT" env -i HOME=$home LANG=C.UTF-8 \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${passed_on[@]}" ${CACHE:+CCACHE_DIR=/ccache CCACHE_UMASK=000} \
        bash -c "cd $PLACE && exec \"\$@\"" bash "$@"
}

# count PASSED FAILED SKIPPED
COUNTED=0
count() { COUNTED=$((COUNTED + 1)) && echo "$*" >"$BARE/$COUNTED.count"; }

# check NAME COMMAND...: one test of this script.
check()
{
    local name=$1
    shift
    if "$@"; then
        say "$name: passed"
        count 1 0 0
    else
        echo "FAILED  $name" | tee -a "$BARE/failed" >&2
        count 0 1 0
    fi
}

# logged FILE COMMAND...: all output goes to the file; shows headings and failures.
logged()
{
    local file=$1
    shift
    "$@" 2>&1 | tee "$file" | { grep -aE '== |^(\[ *FAILED|FAIL:|ERROR:|SKIPPED|error:)' >&2 || true; }
    return "${PIPESTATUS[0]}"
}

# README's first command. The user has no FFmpeg, which is not among what must be installed, and gets no demos of videos.
demo()
{
    local page=$ROOT$PLACE/build/demo/index.html
    logged "$BARE/demo_$1.log" inside "$1" scripts/demo.sh --cuda=off && grep -q cascade_astronaut "$page" || return 1
    if [ "$1" = root ]; then grep -q follow_vtest "$page"; else ! grep -q follow_vtest "$page"; fi
}

# README's second command, whose tests count as tests of this script.
tests()
{
    local status=0
    logged "$BARE/test_$1.log" inside "$1" scripts/test.sh --cuda=off || status=$?
    [[ $(tail -n 1 "$BARE/test_$1.log") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]] || return 1
    count "${BASH_REMATCH[@]:1}"
    return $status
}

# told_what_is_missing: the user's demo.sh ends with the packages to install, until they are installed.
told_what_is_missing()
{
    local round packages
    for round in 1 2 3 4; do
        say "as user, attempt $round"
        if demo user; then
            [ "$round" != 1 ]
            return
        fi
        packages=$(sed -nE 's/^error: not found: .*; please run: sudo apt-get install (.*)$/\1/p' "$BARE/demo_user.log")
        [ -n "$packages" ] || { tail -n 5 "$BARE/demo_user.log" >&2; return 1; }
        say "the user is told to install $packages"
        # shellcheck disable=SC2086 # several packages
        install_inside $packages || return 1
    done
    return 1
}

install_inside()
{
    [ -z "$CACHE" ] || set -- "$@" ccache
    inside root bash -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null' bash "$@"
}

: >"$BARE/failed"
for role in "${ROLES[@]}"; do
    make_root "$role"
    if [ "$role" = root ]; then
        check "scripts/demo.sh as root" demo root
    else
        check "scripts/demo.sh as user, who is told what is missing" told_what_is_missing
    fi
    check "scripts/test.sh as $role" tests "$role"
    [ "$role" = root ] || rm -rf "${BARE:?}/root"
done
cat "$BARE/failed" >&2
total_of "$BARE"/*.count
