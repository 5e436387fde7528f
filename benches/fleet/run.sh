#!/usr/bin/env bash
# A fleet on the release build: three processes of the service on one PostgreSQL behind nginx, and `bench-fleet` in front.
# Everything is on loopback, on databases and in directories of its own, and bounded in time. Appends the report to
# benches/RESULTS.md; ends with 1 when something acknowledged is lost or somebody was shown data of others. Arguments go
# to `bench-fleet` (`--help` lists them), such as: benches/fleet/run.sh --speed 10 --share others=0.1 --share heartbeat=1
#
# Variables: BENCH_SYSTEMS (10000), BENCH_SECONDS (60), BENCH_ORGANIZATIONS (one for 50 systems, at most 20000),
# BENCH_PEOPLE (people with a token, 40, at most 100), BENCH_CONNECTIONS (64), BENCH_PROCESSES (3), BENCH_LIVENESS_TIMEOUT (6h; a
# short one makes all systems come back at once), BENCH_PROGRAM and BENCH_FLEET (binaries that are built already), BENCH_RESULTS
# (another file for the report).
set -euo pipefail
cd "$(dirname "$0")/../.."

seconds=${BENCH_SECONDS:-60}
results=${BENCH_RESULTS:-benches/RESULTS.md}
work=$(mktemp -d)
pids=()
trap 'finish' EXIT

source benches/load/parts.sh
source benches/fleet/cluster.sh

build_programs

start_postgres
watched=(--process "PostgreSQL=${pids[0]}")
cluster_settings
make_fleet
for n in $(seq "${BENCH_PROCESSES:-3}"); do
    serve "$n"
    watched+=(--process "service $n=${servers[n]}")
done
start_front
watched+=(--process "nginx=$front_pid")
issue_tokens

status=0
generate "${watched[@]}" "$@" || status=$?
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
