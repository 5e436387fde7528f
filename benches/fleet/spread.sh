#!/usr/bin/env bash
# One, two and three processes of the service as if each had a machine of its own: half a core each (a control group), and a line of
# one millisecond there and back to PostgreSQL (`bench-delay`). PostgreSQL, nginx in front and the load share the rest of this
# machine. Prints requests a second, and the processor time of the database and of all processes for a request. Needs root.
#
# Variables: BENCH_SYSTEMS (5000), BENCH_SECONDS (10), BENCH_DELAY (microseconds in each direction, 500), BENCH_CORE (share of a core,
# in percent, 50), BENCH_PROGRAM, BENCH_FLEET and BENCH_LINE (bench-delay; binaries that are built already).
set -euo pipefail
cd "$(dirname "$0")/../.."

: "${BENCH_SYSTEMS:=5000}"
seconds=${BENCH_SECONDS:-10}
group=/sys/fs/cgroup/cpu/bailiwick-bench
[[ -w /sys/fs/cgroup/cpu ]] || { echo 'control groups of version 1 with the controller cpu are needed, and root' >&2; exit 1; }
work=$(mktemp -d)
pids=()
over() {
    finish
    # A group goes once its last process has.
    for n in 1 2 3; do for _ in $(seq 50); do rmdir "$group-$n" 2>/dev/null && break || sleep 0.1; done; done
}
trap 'over' EXIT
source benches/load/parts.sh
source benches/fleet/cluster.sh
build_programs
line=${BENCH_LINE:-}
if [[ -z $line ]]; then
    "${CARGO:-cargo}" build --release --bin bench-delay
    line=${CARGO_TARGET_DIR:-target}/release/bench-delay
fi

start_postgres
database=${pids[0]}
cluster_settings
make_fleet
for n in 1 2 3; do
    mkdir "$group-$n"
    echo 100000 >"$group-$n/cpu.cfs_period_us"
    echo $((${BENCH_CORE:-50} * 1000)) >"$group-$n/cpu.cfs_quota_us"
    line_port=$(port)
    "$line" --listen "$line_port" --target "$pg_port" --delay "${BENCH_DELAY:-500}" &
    pids+=($!)
    # The shell joins the group, then becomes the service.
    # shellcheck disable=SC2016 # for that shell
    BAILIWICK_DATABASE__URL=${postgres_url/:$pg_port/:$line_port} \
        serve "$n" bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group-$n"
done
front=${listens[1]}
issue_tokens

# Ticks of a process and everything below it.
ticks() { python3 benches/load/lists.py --ticks "$1"; }

# measure NAME KIND: one row for 1, 2 and 3 processes behind nginx.
measure() {
    local name=$1 kind=$2 processes before of_services spent rate row="| $1 |"
    for processes in 1 2 3; do
        local all=("${listens[@]}")
        listens=("${all[@]:0:processes}")
        front=127.0.0.1:$(port)
        start_front
        listens=()
        for n in 1 2 3; do listens[n]=${all[n - 1]}; done
        of_services=$(IFS=,; echo "${servers[*]}")
        for length in 2 "$seconds"; do
            before="$(ticks "$database") $(ticks "$of_services")"
            if [[ $kind == list ]]; then
                wrk -t 1 -c 32 -d "${length}s" --latency -H "Authorization: Bearer $bearer" "http://$front/api/systems?page_size=20" >"$work/wrk.out"
            else
                BENCH_CREDENTIALS=$work/credentials BENCH_KIND=$kind BENCH_DOCUMENT=crates/inventory/tests/data/inventory-ns8.json \
                    wrk -t 1 -c 32 -d "${length}s" --latency -s benches/load/load.lua "http://$front" >"$work/wrk.out"
            fi
        done
        spent=$(awk -v b="$before" -v d="$(ticks "$database")" -v s="$(ticks "$of_services")" \
            '/requests in/ { split(b, x, " "); printf "%.2f and %.2f ms", (d - x[1]) * 10 / $1, (s - x[2]) * 10 / $1 }' "$work/wrk.out")
        rate=$(rates "$name")
        row+=" $rate; $spent |"
        kill "$front_pid"
        wait "$front_pid" 2>/dev/null || true
    done
    echo "$row"
}

# As load.lua takes them.
python3 -c 'import base64, sys
lines = [line.split("\t") for line in open(sys.argv[1]) if line.endswith("\tregistered\n")][:2000]
open(sys.argv[1], "w").writelines(base64.b64encode(line[0].encode()).decode() + "\n" for line in lines)' "$work/credentials"
printf '| Requests; processor of the database and of the service for one | One process | Two | Three |\n|---|---|---|---|\n'
measure heartbeats heartbeat
measure 'documents of 34 kB' inventory
measure 'a page of 20 systems' list
