#!/usr/bin/env bash
# Sends generated requests, valid and not, to every operation of the API's document and holds each answer against it:
#   scripts/schemathesis.sh [sqlite] [postgres]      both without an argument
# Three runs for each engine: as the owner and a system, the same through chains of operations, and as nobody.
# SCHEMA_EXAMPLES sets how many requests are made up for an operation (20), SCHEMA_SEED which (1).
set -euo pipefail
cd "$(dirname "$0")/.."
repository=$PWD

engines=("$@")
((${#engines[@]})) || engines=(sqlite postgres)
target=${CARGO_TARGET_DIR:-$repository/target}
program=${SCHEMA_PROGRAM:-$target/debug/bailiwick}
here=$repository/scripts/schemathesis

# Python's packages in the versions of requirements.txt, below the target directory, if they are not there yet.
tools=$target/schemathesis
if ! cmp -s "$here/requirements.txt" "$tools/installed"; then
    echo "installing schemathesis into $tools"
    rm -rf "$tools"
    python3 -m venv "$tools" || { scripts/need.sh python3-venv && python3 -m venv "$tools"; }
    "$tools/bin/pip" install --quiet --disable-pip-version-check --no-input -r "$here/requirements.txt"
    cp "$here/requirements.txt" "$tools/installed"
fi

work=$(mktemp -d)
service='' database=''
stop() {
    for process in $service $database; do
        kill "$process" 2>/dev/null || true
    done
    wait 2>/dev/null || true
}
trap 'stop; rm -rf "$work"' EXIT

spare_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# A PostgreSQL of its own; sets `url`.
start_postgres() {
    local binaries as=() port
    binaries=$(find /usr/lib/postgresql -name initdb -printf '%h\n' 2>/dev/null | sort -V | tail -1)
    binaries=${binaries:-$(dirname "$(command -v initdb)")}
    mkdir -p "$work/cluster"
    # It refuses to run as root.
    if [[ $(id -u) == 0 ]]; then
        chmod 755 "$work"
        chown postgres "$work/cluster"
        as=(setpriv --reuid postgres --regid postgres --clear-groups)
    fi
    port=$(spare_port)
    (cd "$work/cluster" && "${as[@]}" "$binaries/initdb" -D "$work/cluster/data" -U bailiwick -A trust -E UTF8 --no-sync) >"$work/initdb.log"
    (cd "$work/cluster" && exec "${as[@]}" "$binaries/postgres" -D "$work/cluster/data" -h 127.0.0.1 -p "$port" -k '' -F) \
        >"$work/postgres.log" 2>&1 &
    database=$!
    until "$binaries/pg_isready" -q -h 127.0.0.1 -p "$port"; do
        kill -0 "$database" 2>/dev/null || { cat "$work/postgres.log" >&2; exit 1; }
        sleep 0.1
    done
    url=postgres://bailiwick@127.0.0.1:$port/postgres
}

# Without limits that a run from one address would meet, and with everything switched on that has operations.
start_service() {
    local port
    port=$(spare_port)
    export SCHEMA_BASE=http://127.0.0.1:$port/api SCHEMA_PASSWORD=Correct-Horse-Battery-7
    export BAILIWICK_HTTP__LISTEN=127.0.0.1:$port BAILIWICK_LOG__LEVEL=warn BAILIWICK_OWNER__PASSWORD=$SCHEMA_PASSWORD
    export BAILIWICK_SYSTEMS__INVENTORIES_PER_HOUR=1000000
    export BAILIWICK_SYSTEMS__LEGACY_ALIASES=true BAILIWICK_ALERTING__WEBHOOK__ALLOWED_HOSTS=127.0.0.1/32
    export BAILIWICK_ALERTING__HISTORY_WEBHOOK__SECRET=schemathesis-schemathesis-schemathesis
    for limit in TOKEN_REQUESTS_PER_SECOND TOKEN_REQUEST_BURST AVATAR_REQUESTS_PER_SECOND AVATAR_REQUEST_BURST \
        PASSWORD_FAILURES PASSWORD_FAILURES_PER_ACCOUNT PASSWORD_FAILURES_PER_ADDRESS SYSTEM_AUTH_FAILURES; do
        export "BAILIWICK_LIMITS__$limit=1000000"
    done
    "$program" demo --still --organizations 40 --systems 120 --users 40 >"$work/demo"
    "$program" serve >"$work/log" 2>&1 &
    service=$!
    until curl -sf -o "$work/health" "$SCHEMA_BASE/health"; do
        kill -0 "$service" 2>/dev/null || { cat "$work/log" >&2; exit 1; }
        sleep 0.05
    done
}

status=0
for engine in "${engines[@]}"; do
    export BAILIWICK_DATA_DIR=$work/$engine
    mkdir -p "$work/$engine"
    unset BAILIWICK_DATABASE__URL
    if [[ $engine == postgres ]]; then
        start_postgres
        export BAILIWICK_DATABASE__URL=$url
    fi
    start_service
    SCHEMA_TOKEN=$("$program" token owner@bailiwick.example)
    export SCHEMA_TOKEN SCHEMA_REPOSITORY=$repository SCHEMA_WORLD=$work/$engine.world.json
    python3 "$here/world.py"
    "$tools/bin/python" "$here/run.py" "$engine" || status=1
    # Whatever was answered: nothing may have gone wrong inside.
    if grep -E '"level":"ERROR"|ERROR|panicked' "$work/log" | head -5 | grep .; then
        echo "$engine: the service has logged errors (above)" >&2
        status=1
    fi
    stop
    service='' database=''
done
exit $status
