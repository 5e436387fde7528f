# Processor time of totals and lists whose page, search and order change from request to request. Sourced by run.sh after
# people.sh and systems.sh.

# Until the processes $1 (comma-separated) have next to nothing to do: the monitor has raised its alerts.
quiet() {
    local before now
    now=$(python3 benches/load/lists.py --ticks "$1")
    for _ in $(seq 120); do
        before=$now
        sleep 2
        now=$(python3 benches/load/lists.py --ticks "$1")
        ((now - before > 10)) || return 0
    done
}

# start_settled ENGINE NAME: the service on a database NAME with BENCH_LISTED systems, once the monitor has raised its alerts.
# Sets roots to the processes.
start_settled() {
    local engine=$1 name=$2
    stop_service
    start_service "$engine"
    stop_service
    # Systems that fall silent meanwhile are part of it; that alerts about the others are posted again is not.
    export BAILIWICK_SYSTEMS__LIVENESS_TIMEOUT=12h BAILIWICK_SYSTEMS__LINK_ALERT_REFRESH=24h
    database_of_its_own "$engine" "$name"
    make_people "${BENCH_LISTED:-100000}"
    roots=$service_pid
    [[ $engine != postgres ]] || roots=$roots,$(head -n 1 "$work/pg/data/postmaster.pid")
    sleep 65
    quiet "$roots"
}

# lists_part ENGINE: 20,000 organizations with BENCH_LISTED systems, seen by the owner. The timeout is longer than the run, so
# that nobody falls silent meanwhile; the monitor has run once.
lists_part() {
    local engine=$1 name spent bar
    start_settled "$engine" lists
    while IFS=$'\t' read -r name spent bar; do
        row "$name, ${BENCH_LISTED:-100000} systems" "$engine" "$spent s of processor for 1,000 requests" "≤ $bar s"
    done < <(python3 benches/load/lists.py "$service" "${personas[owner]}" "$roots")
    stop_service
    unset BAILIWICK_SYSTEMS__LIVENESS_TIMEOUT BAILIWICK_SYSTEMS__LINK_ALERT_REFRESH
}
