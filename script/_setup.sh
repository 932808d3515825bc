# Shared by the scripts that need packages, which source it: finds Python, makes .venv, installs what the lock files name.
# Everything here is skipped when it was done before, so that later starts need no network.

say() {
    printf '%s\n' "$*"
}

die() {
    printf '%s\n' "$*" >&2
    exit 1
}

python=.venv/bin/python

# Florin is many processes. Where the environment forbids to keep compiled modules, each would compile all of them again.
if [ -n "${PYTHONDONTWRITEBYTECODE:-}" ]; then
    unset PYTHONDONTWRITEBYTECODE
    export PYTHONPYCACHEPREFIX="$PWD/var/bytecode"
fi

# supports PYTHON: whether the lock files have wheels for it.
supports() {
    "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null
}

# Prints the first Python that is supported. The newest last: on 3.14 signatures are slower (wallets/chains/tron/keys.py).
find_python() {
    for candidate in "${PYTHON:-python3.11}" python3.11 python3.12 python3.13 python3.14 python3 python; do
        if supports "$candidate"; then
            command -v "$candidate"
            return
        fi
    done
    return 1
}

# make_venv FOLDER
make_venv() {
    # A venv whose Python was removed or replaced does not run any more.
    if supports "$1/bin/python"; then
        return
    fi
    found=$(find_python) || die "Florin needs Python 3.11, 3.12, 3.13 or 3.14; set PYTHON to one that is not on the PATH."
    say "Making $1 with $found."
    rm -rf "$1"
    "$found" -m venv "$1" || die "Python's venv module does not work; Debian has it in the package python3-venv."
}

# is_current STAMP FILE: whether FILE is what was installed when STAMP was written.
is_current() {
    [ -f "$1" ] && [ "$(cat "$1")" = "$(cksum <"$2")" ]
}

stamp() {
    cksum <"$2" >"$1"
}

# The lock files are complete, and leave out a dependency that a package asks for in vain (see [tool.uv] in
# pyproject.toml): hence --no-deps.
pip_install() {
    "$python" -m pip install --quiet --disable-pip-version-check --no-input --no-deps --require-hashes --requirement "$1"
}

# uv is much faster than pip, but reads none of pip's settings: with an index or certificates of one's own it may fail
# where pip does not. Only pip's complaint is shown, since pip has the last word.
uv_install() {
    requirements=$1
    shift
    .venv/bin/uv pip install --quiet --python "$python" --no-deps --require-hashes --requirement "$requirements" "$@" 2>/dev/null
}

# setup_python LOCK: makes .venv and installs the packages of a lock file, hashes checked.
setup_python() {
    lock=$1
    installed=.venv/.installed-$(basename "$lock" .txt)
    make_venv .venv
    if is_current "$installed" "$lock"; then
        return
    fi
    say "Installing the packages of $lock; the first time this takes a minute or two."
    pip_install requirements/bootstrap.txt || die "The installer could not be installed; is there a network?"
    install_lock "$lock"
    stamp "$installed" "$lock"
}

install_lock() {
    uv_install "$1" || uv_install "$1" --system-certs || pip_install "$1" ||
        die "The packages of $1 could not be installed."
}

# setup_beside LOCK: makes var/LOCK, an environment of its own beside .venv, with the packages of requirements/LOCK.txt.
setup_beside() (
    python=var/$1/bin/python
    installed=var/$1/.installed
    make_venv "var/$1"
    if is_current "$installed" "requirements/$1.txt"; then
        return
    fi
    say "Installing the packages of requirements/$1.txt."
    install_lock "requirements/$1.txt"
    stamp "$installed" "requirements/$1.txt"
)

# The public x402 standard's own library, which tests let pay and sell: its import name is ours too.
setup_x402() {
    setup_beside x402
}

# pandas, with which a test reads the accountant's file: too heavy for .venv.
setup_pandas() {
    setup_beside pandas
}

# The official MCP library, and what builds our server: an assistant of the tests talks to it from there.
setup_mcp() {
    setup_beside mcp
}

# django-payments, with which a shop of the tests sells.
setup_shop() {
    setup_beside shop
}

# By the system's own Python: the account that PostgreSQL runs as can read that one.
setup_patroni() (
    supports /usr/bin/python3 || return 1
    PYTHON=/usr/bin/python3 setup_beside patroni
)

has_anvil() {
    for binary in node_modules/@foundry-rs/anvil-*/bin/anvil; do
        [ -x "$binary" ] && return
    done
    return 1
}

# Installs the local chain nodes if there is Node.js; says so and fails if they cannot be had.
setup_node() {
    if is_current node_modules/.installed package-lock.json && has_anvil; then
        return
    fi
    if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
        say "Node.js is not installed, so there will be no local chains."
        return 1
    fi
    say "Installing the local chain nodes."
    # Not `npm ci`, which wants the lock file to name the binaries of every platform. What it names is checked by hash. A
    # binary that is missing or does not match is left out without an error, as npm does with optional packages.
    if ! npm install --no-save --ignore-scripts --silent || ! has_anvil; then
        say "npm could not install the local chain nodes."
        return 1
    fi
    stamp node_modules/.installed package-lock.json
}
