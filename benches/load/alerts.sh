# The embedded alert router: notifications of many tenants, and one system's view of a large tenant. Sourced by run.sh
# after systems.sh.

# Of a fresh database, whose webhooks may go to this machine and whose groups are told of after $alert_wait seconds.
alert_wait=15
launch_alerts() {
    stop_service
    unset BAILIWICK_ALERTING__MODE BAILIWICK_ALERTING__REMOTE__URL BAILIWICK_ALERTING__REMOTE__KIND
    export BAILIWICK_ALERTING__WEBHOOK__ALLOWED_HOSTS=127.0.0.0/8 BAILIWICK_ALERTING__GROUP_WAIT=${alert_wait}s
    database_of_its_own "$1" "$2"
    launch
    bearer=$("$program" token owner@bailiwick.example)
}

alerts_part() {
    launch_alerts "$1" alerts
    row '20,000 alerts of 1,000 tenants at 2,000 POSTs/s, each told to a webhook' "$1" \
        "$(python3 benches/load/alerts.py "$service" "$bearer" "$service_pid" "$alert_wait")" \
        '≥ 2,000 POSTs/s; told once, ≤ 1 s after due; ≤ 1.5 kB for an alert above its labels'
    unset BAILIWICK_ALERTING__WEBHOOK__ALLOWED_HOSTS BAILIWICK_ALERTING__GROUP_WAIT
    stop_service
}

# A tenant with 50 systems of 100 alerts each; a system lists its own.
alertlist_part() {
    local path=/collect/api/services/mimir/alertmanager/api/v2/alerts credential n connections run
    launch_alerts "$1" alertlist
    make_systems 50
    while read -r credential; do
        python3 -c 'import json; print(json.dumps([{"labels": {"alertname": f"A{n}", "severity": "warning"},
            "annotations": {"summary": "disk is filling"}} for n in range(100)]))' |
            curl -sf -o /dev/null -H "Authorization: Basic $credential" -H 'Content-Type: application/json' -d @- "$service$path"
    done <"$work/credentials"
    credential=$(tail -n 1 "$work/credentials")
    n=$(curl -sf -H "Authorization: Basic $credential" "$service$path" | jq length)
    [[ $n == 100 ]] || { echo "alertlist: $n alerts" >&2; exit 1; }
    for connections in 1 8; do
        # As in `load`, the first two seconds are not measured.
        for run in 2 "$seconds"; do
            wrk -t 1 -c "$connections" -d "${run}s" --latency -H "Authorization: Basic $credential" "$service$path" >"$work/wrk.out"
        done
        row "a system lists its 100 of 5,000 alerts, connections: $connections" "$1" "$(rates alertlist)" \
            'p99 ≤ 10 ms'
    done
    unset BAILIWICK_ALERTING__WEBHOOK__ALLOWED_HOSTS BAILIWICK_ALERTING__GROUP_WAIT
    stop_service
}
