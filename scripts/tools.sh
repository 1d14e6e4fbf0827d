# Sourced by the scripts that bring what tests need. What cannot be had is said in one line and its tests are skipped;
# where CI=true it is an error, and `finish` ends with 1: nothing is left out there without being noticed.

root=$(cd "$(dirname "$0")/.." && pwd)
tools=$root/.gpu-tools
log=$tools/log
missing=

# Tests that cannot be run, and why.
skip() {
    if [ "${CI:-}" = true ]; then
        printf 'error: CI=true, and there is no running the tests of %s\n' "$1" >&2
        missing=yes
    else
        printf 'skipped: tests of %s\n' "$1" >&2
    fi
}

finish() {
    [ -z "$missing" ] || exit 1
    exit 0
}

# Says what is about to be installed, from where, and where to.
say() {
    printf 'installing: %s\n' "$1" >&2
}

updated=
apt() {
    [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null || return 1
    say "$* (apt-get)"
    if [ -z "$updated" ]; then
        apt-get update -q -o Acquire::Retries=1 -o Acquire::http::Timeout=20 >>"$log" 2>&1
        updated=yes
    fi
    DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@" >>"$log" 2>&1
}

# Installs Python packages into a virtual environment of our own.
pip() {
    say "$* (pip, into .gpu-tools)"
    if ! [ -x "$tools/venv/bin/pip" ]; then
        rm -rf "$tools/venv"
        python3 -m venv "$tools/venv" >>"$log" 2>&1 || {
            # Debian has the module in a package of its own.
            rm -rf "$tools/venv"
            apt python3-venv && python3 -m venv "$tools/venv" >>"$log" 2>&1
        } || return 1
    fi
    "$tools/venv/bin/pip" install --quiet --disable-pip-version-check --retries 1 --timeout 20 "$@" >>"$log" 2>&1
}
