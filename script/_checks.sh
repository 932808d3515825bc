# Shared by script/check and script/test, which source it after script/_setup.sh: checks that are timed and counted.

results=var/test
mkdir -p "$results"

now() {
    date +%s
}

started=$(now)
passed_checks=0
failed_checks=""
left_out=""

# check NAME COMMAND...: runs one check, shows its output only if it fails, goes on either way
check() {
    name=$1
    shift
    began=$(now)
    if "$@" >"$results/output" 2>&1; then
        verdict=ok
        passed_checks=$((passed_checks + 1))
    else
        verdict=FAILED
        failed_checks="$failed_checks, $name"
        cat "$results/output"
    fi
    printf '%-24s %-6s %4d s\n' "$name" "$verdict" $(($(now) - began))
}

# leave_out WHAT [NAME]: says that WHAT does not run. With CI=true that is a failure, called NAME.
leave_out() {
    say "!!! LEFT OUT: $1"
    left_out="${left_out:+$left_out; }$1"
    [ "${CI:-}" != true ] || [ -z "${2:-}" ] || failed_checks="$failed_checks, $2"
}

# count_failed_checks: prints how many names are in failed_checks
count_failed_checks() {
    printf '%s' "$failed_checks" | tr -cd ',' | wc -c
}

# close SCRIPT PASSED FAILED: prints the closing line, and keeps its numbers for .ci/run
close() {
    [ -z "$left_out" ] || printf 'LEFT OUT: %s\n' "$left_out"
    printf '%d %d\n' "$2" "$3" >"$results/$1.counts"
    printf '%d passed, %d failed\n' "$2" "$3"
    [ "$3" -eq 0 ]
}

# install_packages TITLE PACKAGE...: installs Debian's packages once, where that is possible
install_packages() {
    [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1 || return 1
    say "Installing $1 (once) ..." >&2
    shift
    {
        export DEBIAN_FRONTEND=noninteractive
        apt-get update -qq
        apt-get install -qq -y --no-install-recommends "$@"
    } >"$results/output" 2>&1 || cat "$results/output" >&2
}

# setup_php: installs what the PHP client can send by, beside PHP's own streams
setup_php() {
    has_php_transports || install_packages "PHP's transports" php-curl php-guzzlehttp-guzzle
    has_php_transports
}

has_php_transports() {
    php -r 'exit((int) !(extension_loaded("curl") && is_file("/usr/share/php/GuzzleHttp/autoload.php")));' 2>/dev/null
}

# setup_program PROGRAM PACKAGE: installs a package of Debian's when that is possible; answers whether the program is there.
setup_program() {
    for program in "$1" "/usr/sbin/$1"; do
        command -v "$program" >/dev/null 2>&1 && return 0
    done
    install_packages "$2" "$2"
    command -v "$1" >/dev/null 2>&1
}
