# Sourced by the other scripts: finds cargo, and installs the C linker that Rust needs where it is missing.

fail() {
    printf 'error: %s\nhint: %s\n' "$1" "$2" >&2
    exit 1
}

# The toolchain is often installed for the user but not yet on the path of this shell.
if ! command -v cargo >/dev/null && [ -x "${CARGO_HOME:-$HOME/.cargo}/bin/cargo" ]; then
    PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
fi
command -v cargo >/dev/null || fail 'cargo was not found' 'install Rust from https://rustup.rs'

if ! command -v cc >/dev/null; then
    remedy='install a C compiler: apt-get install gcc libc6-dev, or the like on your system'
    command -v apt-get >/dev/null || fail 'no C linker (cc) was found' "$remedy"
    as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || fail 'no C linker (cc) was found, and no sudo to install one' "$remedy"
        as_root=(sudo)
    fi
    echo 'installing: gcc libc6-dev (apt-get), the C linker that Rust needs' >&2
    "${as_root[@]}" apt-get update -q >&2
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -q -y --no-install-recommends gcc libc6-dev >&2
fi
