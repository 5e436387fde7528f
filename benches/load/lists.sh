# Processor time of totals and lists whose page, search and order change from request to request. Sourced by run.sh after
# people.sh and systems.sh.

# lists_part ENGINE: 20,000 organizations with BENCH_LISTED systems, seen by the owner.
lists_part() {
    local engine=$1 name spent bar roots
    stop_service
    start_service "$engine"
    stop_service
    database_of_its_own "$engine" lists
    make_people "${BENCH_LISTED:-100000}"
    # The first check of the monitor counts what is silent.
    sleep 3
    roots=$service_pid
    [[ $engine != postgres ]] || roots=$roots,$(head -n 1 "$work/pg/data/postmaster.pid")
    while IFS=$'\t' read -r name spent bar; do
        row "$name, ${BENCH_LISTED:-100000} systems" "$engine" "$spent s of processor for 1,000 requests" "≤ $bar s"
    done < <(python3 benches/load/lists.py "$service" "${personas[owner]}" "$roots")
    stop_service
}
