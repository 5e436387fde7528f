# Pieces of run.sh. Sourced; uses $work and $pids.

# Ends everything.
finish() {
    local at
    [[ -z ${container:-} ]] || podman_here rm --force --time 0 "$container" >/dev/null 2>&1 || true
    for ((at = ${#pids[@]} - 1; at >= 0; at--)); do
        kill "${pids[at]}" 2>/dev/null || true
        wait "${pids[at]}" 2>/dev/null || true
    done
    rm -rf "$work"
}

say() { echo "$(date -u +%T) $*"; }

# Ends the run with the reason, and the end of the service's log.
fail() {
    echo "$*" >&2
    tail -n 20 "$work/service.log" >&2 2>/dev/null || true
    exit 1
}

port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# until_true WHAT COMMAND …: runs the command until it succeeds, for two minutes at most.
until_true() {
    local what=$1 end=$((SECONDS + 120))
    shift
    until "$@" >"$work/last" 2>&1; do
        ((SECONDS < end)) || { cat "$work/last" >&2; fail "$what: not within two minutes"; }
        sleep 0.1
    done
}

# Ends the process of this number in the orderly way; it must end well.
stop() {
    local status=0
    kill "$1"
    wait "$1" || status=$?
    ((status == 0)) || fail "the service ended with status $status"
}

# The two lists must be equal.
same() {
    diff -u "$2" "$3" || fail "$1 differ"
}
