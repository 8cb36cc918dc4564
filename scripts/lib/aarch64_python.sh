# shellcheck shell=bash
# A Python for AArch64 that QEMU runs. Sourced by scripts/test_wheel.sh, after common.sh.
# shellcheck disable=SC2034 # scripts/test_wheel.sh reads PROGRAM

# need_aarch64_python: makes it below BUILD_ROOT/aarch64, of Debian's packages, and sets PROGRAM to what starts it. Environments that it
# makes, and programs that tests start with sys.executable, run in QEMU too.
need_aarch64_python()
{
    local folder=$BUILD_ROOT/aarch64 version
    PROGRAM=$folder/python
    has qemu-aarch64-static mmdebstrap || need_packages qemu-user-static mmdebstrap
    [ ! -x "$PROGRAM" ] || return 0
    say "making a Python for AArch64 in $folder"
    rm -rf "$folder"
    mkdir -p "$folder"
    apt-config dump | grep -E '^Acquire::(Check-|Retries|http|https|ForceIPv)' >"$folder/apt.conf" || true
    mmdebstrap --quiet --arch=arm64 --variant=extract --include=python3-venv,libstdc++6 --aptopt="$folder/apt.conf" \
        bookworm "$folder/root" || die "mmdebstrap could not unpack Debian's Python for arm64"
    version=$(cd "$folder/root/usr/bin" && compgen -G 'python3.[0-9]*')
    # Python finds itself and its environment by the name with which it was started.
    cat >"$PROGRAM.new" <<END
#!/bin/bash
export PYTHONHOME='$folder/root/usr'
exec '$(command -v qemu-aarch64-static)' -L '$folder/root' -0 "\$0" '$folder/root/usr/bin/$version' "\$@"
END
    chmod +x "$PROGRAM.new"
    mv "$PROGRAM.new" "$PROGRAM"
}
