#!/usr/bin/env bash
# A rolling upgrade under load: three processes of the version before (tests/upgrade/previous names its commit) on one PostgreSQL
# behind nginx are replaced by the present release build, one after the other. The second one is killed meanwhile and starts
# again on the schema of the present build, as a service manager would start it. `bench-fleet` is the load; afterwards it looks
# for everything that was acknowledged, and the database must be at rest. Everything is on loopback, in directories of its own,
# and bounded in time. Versions before the first schema (migrations 0001 to 0013) cannot be upgraded.
#
# Variables: UPGRADE_PROGRAM (a binary of the version before that is built already), BENCH_SYSTEMS (3000), BENCH_PROGRAM and
# BENCH_FLEET (binaries of the present build that are built already).
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/../.."

: "${BENCH_SYSTEMS:=3000}"
# Between two steps.
pause=10
seconds=$((7 * pause))
work=$(mktemp -d)
pids=()
trap 'finish' EXIT
source benches/load/parts.sh
source benches/fleet/cluster.sh
build_programs
present=$program

# The binary of the version before.
previous_program() {
    local commit
    commit=$(<tests/upgrade/previous)
    git cat-file -e "$commit^{commit}" 2>/dev/null || { echo "this clone does not have commit $commit" >&2; exit 1; }
    mkdir "$work/previous"
    git archive "$commit" | tar -x -C "$work/previous"
    (cd "$work/previous" && CARGO_TARGET_DIR=$work/previous/target "${CARGO:-cargo}" build --release --bin bailiwick >&2)
    echo "$work/previous/target/release/bailiwick"
}
before=${UPGRADE_PROGRAM:-}
[[ -n $before ]] || before=$(previous_program)

# Ends a process, by a signal, and starts another program in its place.
replace() {
    local n=$1 signal=$2
    program=$3
    kill -s "$signal" "${servers[n]}"
    wait "${servers[n]}" 2>/dev/null || true
    serve "$n"
    echo "$(date -u +%T) process $n: $signal, then $("$program" --version)"
}

start_postgres
cluster_settings
program=$before
make_fleet
for n in 1 2 3; do serve "$n"; done
start_front
issue_tokens
generate --speed 10 --patience 10 --share heartbeat=2 --share inventory=40 --share registration=40 --alerting 20 \
    >"$work/generator.log" 2>&1 &
load=$!
pids+=("$load")
sleep "$pause"
replace 1 TERM "$present"
sleep "$pause"
replace 2 KILL "$before"
sleep "$pause"
replace 2 TERM "$present"
sleep "$pause"
replace 3 TERM "$present"
status=0
wait "$load" || status=$?
cat "$work/generator.log"
((status == 0)) || { tail -n 20 "$work/service.log" >&2; exit "$status"; }

wait_for_rest
echo 'all processes are replaced, everything acknowledged is there once, and the database is at rest'
