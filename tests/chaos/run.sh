#!/usr/bin/env bash
# Faults while a fleet writes: three processes of the release build behind nginx, on one PostgreSQL with a replica for two of them,
# everything started again when it ends, as a service manager does. `bench-fleet` is the load; afterwards it looks for everything that was
# acknowledged. Then the database must be at rest (invariants.sql), without anyone's help. Everything is on loopback, in
# directories of its own, and bounded in time. docs/internals/testing.md names the faults.
#
# The seed decides the order of the faults, the processes that they hit and what the load does; it is printed.
# Variables: CHAOS_SEED, CHAOS_FAULTS (their names; all), CHAOS_ROUNDS (how often each, 1), CHAOS_FREEZE (seconds that a process is
# frozen for, 45: longer than the lease of a delivery, which is 30 s; 610 is longer than every lease), BENCH_SYSTEMS (3000),
# BENCH_PROGRAM and BENCH_FLEET (binaries that are built already).
set -euo pipefail
cd "$(dirname "$0")/../.."

# Name and length in seconds.
declare -A lengths=(
    [kill_process]=3 [replace_process]=3 [kill_front]=3 [crash_database]=5 [stop_database]=5 [freeze_process]=${CHAOS_FREEZE:-45} [freeze_database]=20
    [clock_ahead]=20 [clock_back]=20 [disk_full]=15 [slow_disk]=20 [cut_network]=20 [close_network]=3
    [kill_replica]=5 [freeze_replica]=15 [pause_replica]=15
)
# Between two faults, for what the last one left behind.
pause=10
seed=${CHAOS_SEED:-$((RANDOM * 32768 + RANDOM))}
RANDOM=$((seed % 32768))
: "${BENCH_SYSTEMS:=3000}"

work=$(mktemp -d)
pids=()
trap 'over' EXIT
source benches/load/parts.sh
source benches/fleet/cluster.sh
build_programs

# Each fault as often as asked for, in the order of the seed.
faults=()
for _ in $(seq "${CHAOS_ROUNDS:-1}"); do
    for name in ${CHAOS_FAULTS:-$(printf '%s\n' "${!lengths[@]}" | sort)}; do faults+=("$name"); done
done
for ((at = ${#faults[@]} - 1; at > 0; at--)); do
    other=$((RANDOM % (at + 1)))
    name=${faults[at]} faults[at]=${faults[other]} faults[other]=$name
done
seconds=$((3 * pause))
for name in "${faults[@]}"; do seconds=$((seconds + ${lengths[$name]:?no such fault: $name} + pause)); done
echo "seed $seed; $seconds seconds: ${faults[*]}"

over() {
    # A frozen process does not end otherwise.
    for name in postgres replica front network service1 service2 service3; do on "$name" CONT 2>/dev/null || true; done
    touch "$work/over"
    [[ -z ${load:-} ]] || pkill -P "$load" || true
    local at
    for ((at = ${#pids[@]} - 1; at >= 0; at--)); do kill "${pids[at]}" 2>/dev/null || true; done
    wait 2>/dev/null || true
    ! mountpoint -q "$work/pg" || umount -l "$work/pg"
    rm -rf "$work"
}

# keep NAME COMMAND…: runs a command, and a second after its end again.
keep() {
    local name=$1
    shift
    (
        trap 'kill "$child" 2>/dev/null; wait "$child" 2>/dev/null; exit' TERM
        while [[ ! -e $work/over ]]; do
            "$@" >>"$work/$name.log" 2>&1 &
            child=$!
            echo "$child" >"$work/$name.pid"
            wait "$child" || true
            sleep 1
        done
    ) &
    pids+=($!)
}

# on NAME SIGNAL: to what runs under that name and everything below it.
on() {
    local pid
    pid=$(<"$work/$1.pid")
    # shellcheck disable=SC2046 # one word for each process
    kill -s "$2" $(pgrep -P "$pid" || true) "$pid" 2>/dev/null || true
}

# Waits until every process answers, at most two minutes.
recovered() {
    local n
    for _ in $(seq 240); do
        for n in 1 2 3; do curl -sf -m 2 -o /dev/null "http://${listens[n]}/health" || { sleep 0.5; continue 2; }; done
        curl -sf -m 2 -o /dev/null "http://$front/health" || { sleep 0.5; continue; }
        return 0
    done
    echo "the service has not recovered from $1" >&2
    tail -n 5 "$work"/*.log >&2
    return 1
}

# Sets how many seconds the clock of the second process is ahead. The file is mapped, so it stays the same file.
clock() { python3 -c 'import struct, sys; open(sys.argv[1], "r+b").write(struct.pack("=q", int(sys.argv[2])))' "$work/clock" "$1"; }

fault() {
    local length=${lengths[$1]} n=$((RANDOM % 3 + 1)) traced
    case $1 in
    kill_process) on "service$n" KILL; sleep "$length" ;;
    replace_process) on "service$n" TERM; sleep "$length" ;;
    kill_front) on front KILL; sleep "$length" ;;
    crash_database) on postgres KILL; sleep "$length" ;;
    stop_database) kill -s INT "$(<"$work/postgres.pid")"; sleep "$length" ;;
    freeze_process) on "service$n" STOP; sleep "$length"; on "service$n" CONT ;;
    freeze_database) on postgres STOP; sleep "$length"; on postgres CONT ;;
    # Of the second process, by ten minutes, and back again.
    clock_ahead) clock 600; sleep "$length"; clock 0 ;;
    clock_back) clock -600; sleep "$length"; clock 0 ;;
    disk_full)
        # Until nothing more fits.
        dd if=/dev/zero of="$work/pg/filler" bs=1M 2>/dev/null || true
        sleep "$length"
        rm "$work/pg/filler"
        ;;
    slow_disk)
        traced=$(pgrep -P "$(<"$work/postgres.pid")" | sed 's/^/-p /')
        # shellcheck disable=SC2086 # one word for each process
        timeout "$length" strace -f -qq -o /dev/null -e trace=fdatasync,fsync \
            -e inject=fdatasync,fsync:delay_enter=100000 -p "$(<"$work/postgres.pid")" $traced 2>/dev/null || true
        ;;
    # Between the third process and the database: nothing arrives any more; all connections end.
    cut_network) on network STOP; sleep "$length"; on network CONT ;;
    close_network) on network KILL; sleep "$length" ;;
    kill_replica) on replica KILL; sleep "$length" ;;
    freeze_replica) on replica STOP; sleep "$length"; on replica CONT ;;
    # It answers, with a state that gets older.
    pause_replica)
        for _ in $(seq 240); do "$bin/pg_isready" -q -h 127.0.0.1 -p "$replica_port" && break || sleep 0.5; done
        psql -qAt "$replica_url" -c 'SELECT pg_wal_replay_pause()'
        sleep "$length"
        psql -qAt "$replica_url" -c 'SELECT pg_wal_replay_resume()'
        ;;
    esac
}

if [[ $(id -u) != 0 ]]; then
    echo 'root is needed: a full disk is a file system of its own, and a slow one is traced' >&2
    exit 1
fi
mkdir "$work/pg"
mount -t tmpfs -o size=2g none "$work/pg"
start_postgres
kill -s INT "${pids[0]}" && wait "${pids[0]}" || true
pids=()
bin=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
keep postgres "${postgres[@]}" -c max_wal_size=512MB -c wal_keep_size=256MB
until "$bin/pg_isready" -q -h 127.0.0.1 -p "$pg_port"; do sleep 0.1; done
cluster_settings
make_fleet
install -d -o postgres "$work/replica"
as_postgres=(setpriv --reuid postgres --regid postgres --clear-groups)
"${as_postgres[@]}" "$bin/pg_basebackup" -d "$postgres_url" -D "$work/replica/data" --write-recovery-conf --checkpoint fast
replica_port=$(port)
replica_url=${postgres_url/:$pg_port/:$replica_port}
keep replica "${as_postgres[@]}" "$bin/postgres" -D "$work/replica/data" -p "$replica_port" -k "$work/replica" \
    -c listen_addresses=127.0.0.1 -c shared_buffers=64MB
network_port=$(port)
keep network socat "TCP-LISTEN:$network_port,bind=127.0.0.1,reuseaddr,fork" "TCP:127.0.0.1:$pg_port"
head -c 8 /dev/zero >"$work/clock"
cc -O2 -shared -fPIC -o "$work/clock.so" tests/chaos/clock.c
for n in 1 2 3; do
    listens[n]=127.0.0.1:$(port)
    with=(env "BAILIWICK_HTTP__LISTEN=${listens[n]}" "BAILIWICK_DATA_DIR=$work/service$n")
    [[ $n != 2 ]] || with+=("LD_PRELOAD=$work/clock.so" "CLOCK_FILE=$work/clock")
    [[ $n == 2 ]] || with+=("BAILIWICK_DATABASE__READ_URL=$replica_url")
    [[ $n != 3 ]] || with+=("BAILIWICK_DATABASE__URL=${postgres_url/:$pg_port/:$network_port}")
    keep "service$n" "${with[@]}" "$program" serve
done
start_front 'proxy_connect_timeout 2s; proxy_read_timeout 5s;'
kill "$front_pid" && wait "$front_pid" 2>/dev/null || true
keep front "$(command -v nginx || echo /usr/sbin/nginx)" -p "$work" -c "$work/front.conf"
recovered start
issue_tokens

generate --seed "$seed" --speed 10 --patience 10 --share heartbeat=2 --share inventory=40 --share registration=40 --alerting 20 \
    >"$work/generator.log" 2>&1 &
load=$!
sleep "$pause"
for name in "${faults[@]}"; do
    echo "$(date -u +%T) $name"
    fault "$name"
    recovered "$name"
    sleep "$pause"
done
status=0
wait "$load" || status=$?
cat "$work/generator.log"
((status == 0)) || { echo "bench-fleet has ended with $status" >&2; exit "$status"; }

wait_for_rest
# The replica follows, and was read.
for _ in $(seq 60); do
    follows=$(psql -qAt "$postgres_url" -c "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'")
    [[ $follows == 0 ]] || break
    sleep 2
done
readers=$(psql -qAt "$replica_url" -c "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'bailiwick'")
((follows > 0 && readers > 0)) || { echo "the replica is not used any more ($follows, $readers)" >&2; exit 1; }
echo "everything acknowledged is there once, and the database is at rest (seed $seed)"
