#!/usr/bin/env bash
# A fleet on the release build: three processes of the service on one PostgreSQL behind nginx, and `bench-fleet` in front.
# Everything is on loopback, on databases and in directories of its own, and bounded in time. Appends the report to
# benches/RESULTS.md; ends with 1 when something acknowledged is lost or somebody was shown data of others. Arguments go
# to `bench-fleet` (`--help` lists them), such as: benches/fleet/run.sh --speed 10 --share others=0.1 --share heartbeat=1
#
# Variables: BENCH_SYSTEMS (10000), BENCH_SECONDS (60), BENCH_ORGANIZATIONS (one for 50 systems, at most 20000),
# BENCH_PEOPLE (people with a token, 40, at most 100), BENCH_CONNECTIONS (64), BENCH_PROCESSES (3), BENCH_PROGRAM and BENCH_FLEET
# (binaries that are built already), BENCH_RESULTS (another file for the report).
set -euo pipefail
cd "$(dirname "$0")/../.."

systems=${BENCH_SYSTEMS:-10000}
seconds=${BENCH_SECONDS:-60}
organizations=${BENCH_ORGANIZATIONS:-$((systems / 50 > 20000 ? 20000 : systems / 50 < 20 ? 20 : systems / 50))}
results=${BENCH_RESULTS:-benches/RESULTS.md}
work=$(mktemp -d)
pids=()
trap 'finish' EXIT

# The services before their database: what was started last ends first.
finish() {
    local at
    for ((at = ${#pids[@]} - 1; at >= 0; at--)); do
        kill "${pids[at]}" 2>/dev/null || true
        wait "${pids[at]}" 2>/dev/null || true
    done
    rm -rf "$work"
}

source benches/load/parts.sh

release=${CARGO_TARGET_DIR:-target}/release
program=${BENCH_PROGRAM:-$release/bailiwick}
generator=${BENCH_FLEET:-$release/bench-fleet}
if [[ -z ${BENCH_PROGRAM:-} || -z ${BENCH_FLEET:-} ]]; then
    "${CARGO:-cargo}" build --release --bin bailiwick --bin bench-fleet
fi

start_postgres
front=127.0.0.1:$(port)
export BAILIWICK_DATABASE__URL=$postgres_url BAILIWICK_LOG__LEVEL=warn BAILIWICK_OWNER_PASSWORD=Correct-Horse-7-Battery
export BAILIWICK_SECRET BAILIWICK_HTTP__PUBLIC_URL=http://$front BAILIWICK_HTTP__TRUSTED_PROXIES=127.0.0.1/32
BAILIWICK_SECRET=$(head -c 32 /dev/urandom | base64 -w 0)
export BAILIWICK_DATA_DIR=$work/commands
# Tokens are issued once, and must hold until the last look.
export BAILIWICK_TOKENS__ACCESS_LIFETIME=$((seconds + 7200))s

# Some systems are suspended, deleted or new and take no part.
echo "making $systems systems in $organizations organizations"
"$program" demo --organizations "$organizations" --systems $((systems * 125 / 100 + 50)) \
    --without-applications --credentials "$work/credentials" >/dev/null

servers=
watched=()
for n in $(seq "${BENCH_PROCESSES:-3}"); do
    listen=127.0.0.1:$(port)
    BAILIWICK_HTTP__LISTEN=$listen BAILIWICK_DATA_DIR=$work/service$n "$program" serve >>"$work/service.log" 2>&1 &
    pids+=($!)
    watched+=(--process "service $n=$!")
    servers+="server $listen; "
    for _ in $(seq 600); do
        ! curl -sf -o /dev/null "http://$listen/health" || continue 2
        kill -0 "${pids[-1]}" 2>/dev/null || break
        sleep 0.1
    done
    cat "$work/service.log" >&2
    exit 1
done

cat >"$work/front.server" <<EOF
upstream services { $servers keepalive 256; keepalive_requests 1000000; }
server {
    listen $front;
    client_max_body_size 10m;
    client_body_buffer_size 256k;
    location / {
        proxy_pass http://services;
        proxy_http_version 1.1;
        proxy_set_header Connection "";
        proxy_set_header Host \$http_host;
        proxy_set_header X-Forwarded-For \$remote_addr;
        # Nothing is sent a second time in the name of a client.
        proxy_next_upstream off;
    }
}
EOF
sed -e "s|@WORK@|$work|g; s|@PART@|front|g" benches/load/nginx.conf >"$work/front.conf"
"$(command -v nginx || echo /usr/sbin/nginx)" -p "$work" -c "$work/front.conf" &
pids+=($!)
watched+=(--process "nginx=$!" --process "PostgreSQL=${pids[0]}")
until curl -sf -o /dev/null "http://$front/health"; do
    kill -0 "${pids[-1]}" 2>/dev/null || { cat "$work/front.log" >&2; exit 1; }
    sleep 0.1
done

# Administrators of organizations everywhere in the tree; the owner first.
bearer=$("$program" token owner@bailiwick.example 2>/dev/null)
service=http://$front
install -m 600 /dev/null "$work/people"
echo "$bearer" >"$work/people"
call "$service/api/users?role=admin&status=enabled&sort_by=name&sort_direction=asc&page_size=${BENCH_PEOPLE:-40}" |
    jq -r '.data.users[].email' |
    while read -r email; do
        [[ $email == owner@bailiwick.example ]] || "$program" token "$email" 2>/dev/null
    done >>"$work/people"

status=0
timeout $((seconds + 1800)) "$generator" --credentials "$work/credentials" --people "$work/people" --service "$front" --systems "$systems" \
    --seconds "$seconds" --connections "${BENCH_CONNECTIONS:-64}" "${watched[@]}" --report "$work/report" "$@" || status=$?
tail -n 20 "$work/service.log" >&2
if [[ -s $work/report ]]; then
    {
        printf '\n## Fleet, %s, commit %s\n\n%s, %s cores, %s processes of the service behind nginx on PostgreSQL, everything on one machine.\n\n' \
            "$(date -u +%Y-%m-%d)" "$(git rev-parse --short HEAD)" "$(uname -sm)" "$(nproc)" "${BENCH_PROCESSES:-3}"
        cat "$work/report"
    } >>"$results"
    echo "appended to $results"
fi
exit "$status"
