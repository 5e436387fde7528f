# Pieces of run.sh: the service under load, its systems, nginx, wrk. Sourced; uses $work, $program, $seconds, $pids.

# Ends everything: what was started last ends first, so the services before their database.
finish() {
    local at
    for ((at = ${#pids[@]} - 1; at >= 0; at--)); do
        kill "${pids[at]}" 2>/dev/null || true
        wait "${pids[at]}" 2>/dev/null || true
    done
    rm -rf "$work"
}

port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# A throw-away PostgreSQL with its durability on; sets postgres_url, pg_port and postgres, its command.
start_postgres() {
    [[ -z ${postgres_url:-} ]] || return 0
    local bin
    bin=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
    local run=()
    if [[ $(id -u) == 0 ]]; then
        chmod 755 "$work"
        run=(setpriv --reuid postgres --regid postgres --clear-groups)
        install -d -o postgres "$work/pg"
    else
        mkdir -p "$work/pg"
    fi
    pg_port=$(port)
    "${run[@]}" "$bin/initdb" -A trust -U postgres -D "$work/pg/data" >/dev/null
    # For those who start it again.
    postgres=("${run[@]}" "$bin/postgres" -D "$work/pg/data" -p "$pg_port" -k "$work/pg" -c listen_addresses=127.0.0.1
        -c shared_buffers=256MB -c max_wal_size=4GB)
    "${postgres[@]}" >"$work/pg/log" 2>&1 &
    pids+=($!)
    postgres_url=postgres://postgres@127.0.0.1:$pg_port/postgres
    until "$bin/pg_isready" -q -h 127.0.0.1 -p "$pg_port"; do sleep 0.1; done
}

# start_service ENGINE [remote]: sets service, service_pid, start_ms, bearer.
start_service() {
    local engine=$1 mode=${2:-embedded}
    local listen
    listen=127.0.0.1:$(port)
    service=http://$listen
    export BAILIWICK_HTTP__LISTEN=$listen BAILIWICK_DATA_DIR=$work/$engine BAILIWICK_LOG__LEVEL=warn
    export BAILIWICK_OWNER_PASSWORD=Correct-Horse-7-Battery
    export BAILIWICK_SYSTEMS__INVENTORIES_PER_HOUR=1000000
    export BAILIWICK_ALERTING__LIMITS__REQUESTS_PER_SECOND=1000000 BAILIWICK_ALERTING__LIMITS__REQUEST_BURST=1000000
    export BAILIWICK_ALERTING__LIMITS__IN_FLIGHT_PER_SYSTEM=1000 BAILIWICK_ALERTING__LIMITS__IN_FLIGHT_TO_ROUTER=1000
    if [[ $engine == postgres ]]; then
        start_postgres
        export BAILIWICK_DATABASE__URL=$postgres_url
    else
        unset BAILIWICK_DATABASE__URL
    fi
    if [[ $mode == remote ]]; then
        export BAILIWICK_ALERTING__MODE=remote BAILIWICK_ALERTING__REMOTE__URL=$upstream
        export BAILIWICK_ALERTING__REMOTE__KIND=mimir
    else
        unset BAILIWICK_ALERTING__MODE BAILIWICK_ALERTING__REMOTE__URL BAILIWICK_ALERTING__REMOTE__KIND
    fi
    # The first start makes the owner, whose password costs an Argon2 hash; the second one is measured.
    [[ -e $work/$engine.known ]] || { launch; stop_service; touch "$work/$engine.known"; }
    launch
    bearer=$("$program" token owner@bailiwick.example)
}

launch() {
    local from
    from=$(date +%s%N)
    "$program" serve >>"$work/service.log" 2>&1 &
    service_pid=$!
    pids+=("$service_pid")
    until curl -sf -o "$work/health" "$service/health"; do
        kill -0 "$service_pid" 2>/dev/null || { cat "$work/service.log" >&2; exit 1; }
        sleep 0.01
    done
    start_ms=$((($(date +%s%N) - from) / 1000000))
    sleep 1
}

stop_service() {
    [[ -n ${service_pid:-} ]] || return 0
    kill "$service_pid" 2>/dev/null || true
    wait "$service_pid" 2>/dev/null || true
    service_pid=
}

resident() { awk '/VmRSS/ { printf "%.0f", $2 / 1024 }' "/proc/$1/status"; }

call() { curl -sf -H "Authorization: Bearer $bearer" -H 'Content-Type: application/json' "$@"; }

# make_systems N: one customer with N registered systems; credentials go to $work/credentials, one base64 a line.
make_systems() {
    local customer system key secret
    customer=$(call "$service/api/customers" -d '{"name":"Bench","custom_data":{"vat":"IT00000000000"}}' | jq -r .data.id)
    : >"$work/credentials"
    for i in $(seq "$1"); do
        system=$(call "$service/api/systems" -d "{\"name\":\"bench $i\",\"organization_id\":\"$customer\"}")
        key=$(jq -r .data.system_key <<<"$system")
        secret=$(jq -r .data.system_secret <<<"$system")
        curl -sf "$service/api/systems/register" -d "{\"system_secret\":\"$secret\"}" >/dev/null
        printf '%s:%s' "$key" "$secret" | base64 -w 0 >>"$work/credentials"
        echo >>"$work/credentials"
    done
}

# An upstream that answers as a router does, and nginx in front of it as the reference.
start_upstream() {
    [[ -z ${upstream:-} ]] || return 0
    local up reference_port
    up=$(port)
    reference_port=$(port)
    upstream=http://127.0.0.1:$up
    reference_url=http://127.0.0.1:$reference_port
    cat >"$work/upstream.server" <<EOF
server {
    listen 127.0.0.1:$up;
    location = /alertmanager/api/v2/alerts { return 200; }
    location / { return 200 "OK"; }
}
EOF
    cat >"$work/reference.server" <<EOF
upstream router { server 127.0.0.1:$up; keepalive 256; keepalive_requests 1000000; }
server {
    listen 127.0.0.1:$reference_port;
    location / {
        proxy_pass http://router;
        proxy_http_version 1.1;
        proxy_set_header Connection "";
        proxy_set_header X-Scope-OrgID fixed;
        proxy_set_header Authorization "";
    }
}
EOF
    local nginx part
    nginx=$(command -v nginx || echo /usr/sbin/nginx)
    for part in upstream reference; do
        sed -e "s|@WORK@|$work|g; s|@PART@|$part|g" benches/load/nginx.conf >"$work/$part.conf"
        "$nginx" -p "$work" -c "$work/$part.conf" &
        pids+=($!)
    done
    until curl -s -o /dev/null "$upstream/" && curl -s -o /dev/null "$reference_url/"; do sleep 0.1; done
}

# load KIND CONNECTIONS: "N req/s, p50 x, p99 y"; fails when an answer was not 2xx. Two seconds go before what is measured:
# wrk weighs a request that waits by how many others it keeps from being sent, so the first moment after a start, with
# connections to the database to be opened, would be the 99th percentile of the rest.
load() {
    local kind=$1 connections=$2 target=$service
    case $kind in
        nginx) target=$reference_url ;;
    esac
    local run
    for run in 2 "$seconds"; do
        BENCH_CREDENTIALS=$work/credentials BENCH_KIND=$kind BENCH_DOCUMENT=crates/inventory/tests/data/inventory-ns8.json \
            wrk -t 1 -c "$connections" -d "${run}s" --latency -s benches/load/load.lua "$target" >"$work/wrk.out"
    done
    rates "$kind"
}

# rates KIND: what wrk has measured, as "N req/s, p50 x, p99 y"; fails when an answer was not 2xx.
rates() {
    if grep -q 'Non-2xx' "$work/wrk.out"; then
        echo "$1: $(grep 'Non-2xx' "$work/wrk.out")" >&2
        tail -n 5 "$work/service.log" >&2
        exit 1
    fi
    awk '/Requests\/sec/ { r = $2 } /50%/ { a = $2 } /99%/ { b = $2 } END { printf "%d req/s, p50 %s, p99 %s\n", r, a, b }' "$work/wrk.out"
}

# pipeline RATE: documents from the wire to the difference, for 15 s.
pipeline() {
    python3 benches/load/pipeline.py "$service" "$work/credentials" "$bearer" \
        crates/inventory/tests/data/inventory-ns8.json "$1" 15
}

# storage ENGINE: what documents add to the database.
storage() {
    local database=$work/$1/bailiwick.db
    [[ $1 != postgres ]] || database=$postgres_url
    python3 benches/load/storage.py "$service" "$work/credentials" crates/inventory/tests/data/inventory-ns8.json "$database"
}

# beside ROUNDS: of rounds of two lines, the reference and what is measured beside it, those of the round with the middle
# throughput, relative to the reference; and the middle p99.
beside() {
    python3 - "$1" <<'PY'
import re, sys
def read(text):
    rate = float(re.search(r"(\d+) req/s", text)[1])
    number, unit = re.search(r"p99 ([\d.]+)(us|ms|s)", text).groups()
    return rate, float(number) * {"us": 1e-6, "ms": 1e-3, "s": 1}[unit]
lines = open(sys.argv[1], encoding="utf-8").read().splitlines()
rounds = []
for reference, measured in zip(lines[::2], lines[1::2]):
    (rate, p99), (reference_rate, reference_p99) = read(measured), read(reference)
    rounds.append((rate / reference_rate, p99 / reference_p99, reference, measured))
rounds.sort()
share, _, reference, measured = rounds[len(rounds) // 2]
late = sorted(round[1] for round in rounds)
others = ", ".join(f"{round[0]:.2f}" for round in rounds)
print(reference)
print(f"{measured}; {share:.2f} × nginx ({others}), p99 {late[len(late) // 2]:.2f} × ({late[0]:.2f} to {late[-1]:.2f})")
PY
}

# The inventory worker may still be busy; the next measure should not pay for it.
wait_for_worker() {
    for _ in $(seq 120); do
        local cpu
        cpu=$(top -b -d 1 -n 2 -p "$service_pid" | awk 'END { print int($9) }')
        [[ $cpu -gt 5 ]] || return 0
    done
}
