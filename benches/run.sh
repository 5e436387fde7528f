#!/usr/bin/env bash
# Load on the release build, on loopback only and bounded in time: heartbeats, inventories, the alert proxy beside
# nginx with a fixed header; the lists, figures and exports of a large tree; the embedded alert router. Prints a table and
# appends it to RESULTS.md. Arguments choose parts: start heartbeat inventory pipeline storage proxy sessions people exports
# systems lists console streams alerts alertlist (default: all). `lists` reads processor time, which other work on the machine
# hardly changes; `streams` keeps 200 consoles open; `alerts` (at most 90 s for each engine) pushes 20,000 alerts of 1,000
# tenants and waits until a webhook has heard of each; `alertlist` reads one system's 100 of a tenant's 5,000. BENCH_SECONDS
# sets the length of one run (default 8), BENCH_FLEET the systems beside those that send heartbeats and documents (default
# 100,000), BENCH_PROGRAM a binary that is built already, BENCH_ENGINES the engines.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${BENCH_SECONDS:-8}
parts=("$@")
[[ ${#parts[@]} -gt 0 ]] || parts=(start heartbeat inventory pipeline storage proxy sessions people exports systems lists console streams alerts alertlist)
work=$(mktemp -d)
table=$work/table.md
pids=()
trap 'finish' EXIT

source benches/load/parts.sh
source benches/load/sessions.sh
source benches/load/people.sh
source benches/load/systems.sh
source benches/load/lists.sh
source benches/load/console.sh
source benches/load/alerts.sh

program=${BENCH_PROGRAM:-${CARGO_TARGET_DIR:-target}/release/bailiwick}
[[ -n ${BENCH_PROGRAM:-} ]] || cargo build --release --bin bailiwick

row() { printf '| %s | %s | %s | %s |\n' "$1" "$2" "$3" "$4" | tee -a "$table"; }
wants() { printf '%s\n' "${parts[@]}" | grep -qx "$1"; }

printf '| Measure | Engine | Result | Target |\n|---|---|---|---|\n' | tee "$table"
for engine in ${BENCH_ENGINES:-sqlite postgres}; do
    start_service "$engine"
    if wants start; then
        row 'start to listening' "$engine" "${start_ms} ms" '≤ 500 ms'
        row 'idle resident memory' "$engine" "$(resident "$service_pid") MB" '≤ 60 MB'
    fi
    if wants heartbeat || wants inventory || wants pipeline; then
        fill_fleet "$engine"
        make_systems 256
    fi
    if wants heartbeat; then
        for connections in 64 256; do
            row "heartbeat, $fleet systems, $connections connections" "$engine" "$(load heartbeat "$connections")" '≥ 20,000 req/s at the better'
        done
    fi
    if wants inventory; then
        for connections in 32 64; do
            row "inventory 34 kB, $fleet systems, $connections connections" "$engine" "$(load inventory "$connections")" '≥ 400 documents/s'
        done
        wait_for_worker
    fi
    if wants pipeline; then
        for rate in 300 600; do
            row "changed documents of 34 kB at $rate/s until their differences can be read" "$engine" \
                "$(pipeline "$rate")" '≥ 300 documents/s, ≤ 1 s behind'
        done
    fi
    if wants storage || wants proxy; then
        stop_service
        start_service "$engine"
        make_systems 256
    fi
    if wants storage; then
        stored=$(storage "$engine")
        row 'a document of 34 kB in the database' "$engine" "$stored" 'unchanged ≤ 300 bytes, changed ≤ 15 %'
    fi
    if wants proxy; then
        stop_service
        start_upstream
        start_service "$engine" remote
        for connections in 16 128; do
            : >"$work/rounds"
            for _ in 1 2 3; do
                load nginx "$connections" >>"$work/rounds"
                load proxy "$connections" >>"$work/rounds"
            done
            mapfile -t both < <(beside "$work/rounds")
            row "nginx proxy_pass, $connections connections" '-' "${both[0]}" 'reference'
            row "POST one alert through the proxy, $connections connections, the middle of three rounds" "$engine" \
                "${both[1]}" '≥ 0.8 × nginx, p99 ≤ 1.5 ×'
        done
    fi
    if wants sessions; then
        sessions_part "$engine"
    fi
    if wants people || wants exports; then
        people_part "$engine"
    fi
    if wants systems; then
        systems_part "$engine"
    fi
    if wants lists; then
        lists_part "$engine"
    fi
    if wants console; then
        console_part "$engine"
    fi
    if wants streams; then
        streams_part "$engine"
    fi
    if wants alerts; then
        alerts_part "$engine"
    fi
    if wants alertlist; then
        alertlist_part "$engine"
    fi
    stop_service
done
if wants start; then
    row 'release binary' '-' "$(($(stat -c %s "$program") / 1024 / 1024)) MB" '≤ 40 MB'
fi

{
    printf '\n## %s, commit %s\n\n%s, %s cores, %s s each run, everything on one machine.\n\n' \
        "$(date -u +%Y-%m-%d)" "$(git rev-parse --short HEAD)" "$(uname -sm)" "$(nproc)" "$seconds"
    cat "$table"
} >>benches/RESULTS.md
echo "appended to benches/RESULTS.md"
