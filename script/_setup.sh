# Sourced by script/demo and script/test from the top of the repository. Every step is stamped with its lock file's
# checksum, so that a second start does nothing and needs no network.

say() {
    printf '%s\n' "$*" >&2
}

die() {
    say "error: $*"
    exit 1
}

checksum() {
    cksum <"$1"
}

# is_stamped STAMP TEXT: whether an earlier run finished this very step
is_stamped() {
    [ -f "$1" ] && [ "$(cat "$1")" = "$2" ]
}

find_python() {
    for candidate in "${PYTHON:-}" python3 python3.11 python3.12 python3.13 python3.14; do
        [ -n "$candidate" ] || continue
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            printf '%s\n' "$candidate"
            return 0
        fi
    done
    return 1
}

make_venv() {
    .venv/bin/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && return 0
    python=$(find_python) || die "Florin needs Python 3.11 or later; set PYTHON to the interpreter if it is not on the PATH."
    say "Making .venv with $("$python" --version) ..."
    rm -rf .venv
    "$python" -m venv .venv || die "$python -m venv failed; Debian and Ubuntu keep it in the package python3-venv."
}

# uv is the quicker installer, but it does not read pip's own configuration (mirrors, proxies): where it cannot get
# through, pip may.
install_locked() {
    if .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/bootstrap.txt &&
        .venv/bin/uv pip install --python .venv/bin/python --require-hashes -r "$1" >&2; then
        return 0
    fi
    say "uv could not install; trying pip ..."
    .venv/bin/python -m pip install --disable-pip-version-check --require-hashes -r "$1" >&2
}

# setup_python LOCKFILE: makes .venv and installs exactly what the lock file names
setup_python() {
    make_venv
    stamp=.venv/.installed-$(basename "$1" .txt)
    wanted=$(checksum "$1")
    is_stamped "$stamp" "$wanted" && return 0
    say "Installing $1 (once; takes a minute or two) ..."
    rm -f .venv/.installed-*
    install_locked "$1" || die "installing $1 failed; nothing was started."
    printf '%s\n' "$wanted" >"$stamp"
}

# setup_node: installs the local chain node; fails, with the reason said, where there is no Node.js
setup_node() {
    if ! command -v node >/dev/null 2>&1 || ! command -v npm >/dev/null 2>&1; then
        say "Node.js and npm were not found: there will be no local chains."
        return 1
    fi
    wanted="$(checksum package-lock.json) $(uname -sm)"
    is_stamped node_modules/.installed "$wanted" && return 0
    say "Installing the local chain node (once) ..."
    if ! npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2; then
        say "npm could not install the local chain node."
        return 1
    fi
    printf '%s\n' "$wanted" >node_modules/.installed
}
