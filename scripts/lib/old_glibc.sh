# shellcheck shell=bash
# Links for an older C library than this machine's. Sourced by scripts/wheel.sh, after common.sh.

# link_for_glibc VERSION MACHINE TOOLS BUILD_DIR FILE OUT: links FILE of a build once more, as OUT, so that it runs with VERSION of glibc and
# newer ones, and brings libstdc++ along. TOOLS stands before the names of the compiler and of nm. Zig knows which functions each version has; GCC links with libraries that have these and no code.
link_for_glibc()
{
    local version=$1 machine=$2 tools=$3 build=$4 file=$5 out=$6 folder=$BUILD_ROOT/glibc-$1-$2 name stubs flags command missing
    "$PYTHON" -c 'import ziglang' 2>/dev/null || { say "downloading Zig (100 MB)" && pip_install ziglang==0.17.0; } ||
        die "pip could not install ziglang"
    if [ ! -f "$folder/libc.so" ]; then
        say "making libraries for linking with glibc $version"
        mkdir -p "$folder/zig"
        echo 'int main(void) { return 0; }' >"$folder/empty.c"
        ZIG_GLOBAL_CACHE_DIR=$folder/zig ZIG_LOCAL_CACHE_DIR=$folder/zig "$PYTHON" -m ziglang cc -target "$machine-linux-gnu.$version" \
            -o "$folder/empty" "$folder/empty.c" || die "Zig has no libraries of glibc $version"
        stubs=$(dirname "$(find "$folder/zig" -name libpthread.so.0)")
        for name in c.so.6 m.so.6 pthread.so.0 dl.so.2 rt.so.1 ld.so.2; do
            cp "$stubs/lib$name" "$folder/"
            [ "$name" = c.so.6 ] || ln -sf "lib$name" "$folder/lib${name%%.*}.so"
        done
        echo "GROUP($folder/libc.so.6 $("${tools}gcc" -print-file-name=libc_nonshared.a) AS_NEEDED($folder/libld.so.2))" >"$folder/libc.so"
    fi
    "${tools}gcc" -O2 -fPIC -fvisibility=hidden -c "$REPO_ROOT/scripts/lib/old_glibc.c" -o "$folder/old_glibc.o"
    flags="-L$folder -static-libstdc++ $folder/old_glibc.o -Wl,--as-needed -ldl -lpthread -lrt -lm -lc"
    command=$(ninja -C "$build" -t commands -s "$file" | grep " -o $file ")
    (cd "$build" && sh -c "$(sed "s| -o $file | -o $out |; s| && :\$| $flags&|" <<<"$command")") || die "$file could not be linked for glibc $version"
    # Functions without a version come from Python; all others have one.
    missing=$("${tools}nm" -D --undefined-only "$out" | awk '$1 == "U" && $2 !~ /@/ && $2 !~ /^_?Py/ { print $2 }')
    [ -z "$missing" ] || die "glibc $version lacks what $file calls: $missing"
}
