# The pages of the console at 20,000 organizations and 100,000 systems, as the owner sees them. Sourced by run.sh after
# people.sh, systems.sh and lists.sh.

# Every page that only reads; {S} {D} {C} stand for a system, a distributor and a customer.
console_paths() {
    printf '%s\n' / /organizations /organizations/distributors '/organizations/customers?sort_by=name' \
        '/organizations/customers?search=srl' /organizations/{D} /organizations/{C} /organizations/{D}/users /organizations/{D}/systems \
        /organizations/{D}/rebranding /organizations/{C}/destroy /users '/users?search=rossi' '/users?page=50' /users/new \
        /systems '/systems?search=milano' '/systems?status=inactive&sort_by=name' '/systems?page=90' /systems/new \
        /systems/{S} /systems/{S}/changes /systems/{S}/applications /systems/{S}/alerts /systems/{S}/backups \
        /systems/{S}/access /systems/{S}/edit /applications /applications/summary /alerts /alerts/history /alerts/figures \
        /notifications /notifications/who /timeline /timeline/webhooks /timeline/audit /rebranding '/search?q=milano' /account \
        /account/sessions
}

# console_part ENGINE: the slowest pages by their p99, 8 connections, the processor of one page on average, and weights.
console_part() {
    local engine=$1 cookie path p99 size code time
    start_settled "$engine" console
    cookie=$(python3 benches/load/console_cookie.py "$service" "$BAILIWICK_OWNER_PASSWORD")
    call "$service/api/systems?page_size=1&sort_by=updated_at&sort_direction=desc" | jq -r '.data.systems[0].id' >"$work/systems.id"
    : >"$work/pages"
    while read -r path; do
        path=${path//\{S\}/$(<"$work/systems.id")}
        path=${path//\{D\}/$(<"$work/distributors.id")}
        path=${path//\{C\}/$(<"$work/customers.id")}
        read -r code size < <(curl -s -o /dev/null -w '%{http_code} %{size_download}\n' -H "Cookie: $cookie" \
            -H 'Accept-Encoding: gzip' "$service/console$path")
        [[ $code == 200 ]] || { echo "console$path: $code" >&2; exit 1; }
        # The first second is not measured: each connection to PostgreSQL plans a statement five times before it keeps a plan.
        for time in 1 2; do
            wrk -t 1 -c 8 -d "${time}s" --latency -H 'Accept-Encoding: gzip' -H "Cookie: $cookie" \
                "$service/console$path" >"$work/wrk.out"
        done
        ! grep -q 'Non-2xx' "$work/wrk.out" || { echo "console$path: refused" >&2; exit 1; }
        p99=$(awk '/99%/ { v = $2; if (v ~ /us$/) v = v / 1000; else if (v ~ /ms$/) v += 0; else v *= 1000; printf "%.2f", v }' "$work/wrk.out")
        printf '%s %s %s\n' "$p99" "$size" "$path" >>"$work/pages"
    done < <(console_paths)
    row 'pages of the console as owner, 8 connections, the slowest' "$engine" \
        "$(sort -rn "$work/pages" | head -n 6 | awk '{ printf "%sp99 %s ms (%s)", (NR > 1 ? ", " : ""), $1, $3 }'); $(wc -l <"$work/pages") pages" \
        'p99 ≤ 30 ms'
    row 'the heaviest page, compressed' "$engine" \
        "$(sort -k2 -rn "$work/pages" | head -n 1 | awk '{ printf "%.1f kB (%s)", $2 / 1000, $3 }')" '≤ 15 kB'
    stop_service
    unset BAILIWICK_SYSTEMS__LIVENESS_TIMEOUT BAILIWICK_SYSTEMS__LINK_ALERT_REFRESH
}

# streams_part ENGINE: 200 open consoles, which listen to what happens.
streams_part() {
    local roots
    launch_alerts "$1" streams
    roots=$service_pid
    [[ $1 != postgres ]] || roots=$roots,$(head -n 1 "$work/pg/data/postmaster.pid")
    row '200 open consoles' "$1" "$(python3 benches/load/streams.py "$service" "$bearer" "$roots")" '≤ 50 kB each'
    unset BAILIWICK_ALERTING__WEBHOOK__ALLOWED_HOSTS BAILIWICK_ALERTING__GROUP_WAIT
    stop_service
}
