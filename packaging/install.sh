#!/bin/sh
# Installs Vector on Linux or macOS: downloads a release, verifies its checksum, and puts the binary into a folder of yours.
#
#   curl -fsSL @RELEASES@/latest/download/install.sh | sh
#
# VECTOR_VERSION=0.2.0     that version instead of the newest
# VECTOR_INSTALL=FOLDER    that folder instead of ~/.local/bin
# VECTOR_RELEASES=ADDRESS  releases somewhere else
#
# To remove it: vector uninstall
set -eu

fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

has() {
    command -v "$1" >/dev/null 2>&1
}

download() {
    if has curl; then
        curl -fsSL --proto '=https,http' --retry 3 -o "$2" "$1"
    elif has wget; then
        wget -q -O "$2" "$1"
    else
        fail "neither curl nor wget is installed; install one of them"
    fi || fail "$1 cannot be downloaded"
}

checksum() {
    if has sha256sum; then
        sha256sum "$1"
    elif has shasum; then
        shasum -a 256 "$1"
    elif has openssl; then
        openssl dgst -sha256 -r "$1"
    else
        fail "neither sha256sum, shasum nor openssl is installed; without one of them the download cannot be verified"
    fi | cut -d ' ' -f 1
}

unpack() {
    if has unzip; then
        unzip -q "$1" -d "$2"
    elif has bsdtar; then
        bsdtar -xf "$1" -C "$2"
    elif has python3; then
        python3 -m zipfile -e "$1" "$2"
    else
        fail "neither unzip, bsdtar nor python3 is installed; install one of them"
    fi
}

# In a function, so that nothing runs of a script that was not downloaded completely.
main() {
    case "$(uname -s)" in
        Linux) system=linux ;;
        Darwin) system=macos ;;
        *) fail "there is no release for $(uname -s); on Windows, use install.ps1" ;;
    esac
    case "$(uname -m)" in
        x86_64 | amd64) cpu=x86_64 ;;
        aarch64 | arm64) cpu=aarch64 ;;
        *) fail "there is no release for the processor $(uname -m)" ;;
    esac
    # A shell that Rosetta translates says x86_64 on Apple's own processors.
    if [ "$system-$cpu" = macos-x86_64 ] && [ "$(sysctl -n sysctl.proc_translated 2>/dev/null || true)" = 1 ]; then
        cpu=aarch64
    fi

    releases="${VECTOR_RELEASES:-@RELEASES@}"
    folder="${VECTOR_INSTALL:-$HOME/.local/bin}"
    if [ -n "${VECTOR_VERSION:-}" ]; then
        from="$releases/download/v${VECTOR_VERSION#v}"
    else
        from="$releases/latest/download"
    fi

    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT INT TERM
    download "$from/SHA256SUMS" "$work/SHA256SUMS"
    # A line is: checksum, blank, blank or star, name.
    line=$(grep -E "^[0-9a-f]{64} [ *]vector-[0-9A-Za-z.+-]+-$system-$cpu\.zip\$" "$work/SHA256SUMS") ||
        fail "the release at $from has no archive for $system-$cpu"
    name=${line#* ?}
    [ "$(printf '%s\n' "$line" | wc -l)" -eq 1 ] || fail "the release at $from has several archives for $system-$cpu"
    download "$from/$name" "$work/$name"
    found=$(checksum "$work/$name")
    [ "$found" = "${line%% *}" ] ||
        fail "$from/$name has the checksum $found, and SHA256SUMS says ${line%% *}; nothing was installed. Try again later"
    mkdir "$work/unpacked"
    unpack "$work/$name" "$work/unpacked"
    chmod 755 "$work/unpacked/vector"
    version=$("$work/unpacked/vector" --version | cut -d ' ' -f 2) || fail "the downloaded vector does not run on this machine"

    mkdir -p "$folder" || fail "$folder cannot be made; choose another with VECTOR_INSTALL=FOLDER"
    # Beside its destination first, so that a running vector is replaced in one step.
    cp "$work/unpacked/vector" "$folder/.vector-new" && mv -f "$folder/.vector-new" "$folder/vector" || {
        rm -f "$folder/.vector-new"
        fail "$folder cannot be written; choose another with VECTOR_INSTALL=FOLDER"
    }
    printf 'Installed Vector %s as %s\n' "$version" "$folder/vector"
    case ":$PATH:" in
        *":$folder:"*) printf 'Next: vector setup\n' ;;
        *)
            printf 'This folder is not on your PATH. Add it, for example to ~/.profile:\n    export PATH="%s:$PATH"\n' "$folder"
            printf 'Next: %s setup\n' "$folder/vector"
            ;;
    esac
}

main
