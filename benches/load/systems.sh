# Lists of systems at two sizes of the same tree. Sourced by run.sh after people.sh.

# Orders by the row's own columns, then the computed ones.
own_orders='created_at name type version fqdn system_key updated_at'
computed_orders='status creator_name organization_name'

# systems_p99 PERSONA ORDER...: the slowest p99 of the first page in these orders, both directions, and the order.
systems_p99() {
    local token=${personas[$1]} order direction slowest=0 which= p99
    shift
    for order in "$@"; do
        for direction in asc desc; do
            wrk -t 1 -c 1 -d 1s --latency -H 'Accept-Encoding: gzip' -H "Authorization: Bearer $token" \
                "$service/api/systems?sort_by=$order&sort_direction=$direction" >"$work/wrk.out"
            ! grep -q 'Non-2xx' "$work/wrk.out" || { echo "systems by $order: refused" >&2; exit 1; }
            p99=$(awk '/99%/ { v = $2; if (v ~ /us$/) v = v / 1000; else if (v ~ /ms$/) v += 0; else v *= 1000; printf "%.2f", v }' "$work/wrk.out")
            if awk "BEGIN { exit !($p99 > $slowest) }"; then slowest=$p99 which="$order $direction"; fi
        done
    done
    printf '%s %s' "$slowest" "$which"
}

# A fresh database and its owner.
database_of_its_own() {
    local engine=$1 name=$2
    export BAILIWICK_DATA_DIR=$work/$name
    if [[ $engine == postgres ]]; then
        "$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -n 1)/psql" -qd "$postgres_url" -c "CREATE DATABASE $name"
        export BAILIWICK_DATABASE__URL=${postgres_url%/*}/$name
    fi
    launch
    stop_service
}

# A database of its own with a fleet, and its statistics: 256 systems alone do not show what a statement reads of the others.
fill_fleet() {
    fleet=${BENCH_FLEET:-100000}
    stop_service
    database_of_its_own "$1" fleet
    BAILIWICK_LOG__LEVEL=error "$program" demo --organizations 20000 --users 1000 --systems "$fleet" >/dev/null
    launch
    bearer=$("$program" token owner@bailiwick.example)
}

systems_part() {
    local engine=$1 size persona own which computed how
    declare -A before
    for size in 10000 ${BENCH_SYSTEMS:-1000000}; do
        stop_service
        database_of_its_own "$engine" "systems$size"
        make_people "$size"
        for persona in owner distributor reseller customer; do
            # shellcheck disable=SC2086
            read -r own which < <(systems_p99 "$persona" $own_orders; echo)
            # shellcheck disable=SC2086
            read -r computed how < <(systems_p99 "$persona" $computed_orders; echo)
            row "first page of $size systems as $persona, one connection, slowest order" "$engine" \
                "p99 $own ms ($which); computed $computed ms ($how)${before[$persona]:+; $(awk "BEGIN { printf \"%.2f\", $own / ${before[$persona]} }") × that of 10,000}" \
                'p99 ≤ 30 ms; computed ≤ 200 ms; ≤ 1.5 ×'
            before[$persona]=$own
        done
    done
    stop_service
}
