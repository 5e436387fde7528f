# Several processes of the service on one PostgreSQL behind nginx, on loopback, with the data of a fleet. Sourced after
# benches/load/parts.sh; uses $work, $program, $seconds and $pids. The variables that begin with BENCH_ are those of run.sh.

systems=${BENCH_SYSTEMS:-10000}
organizations=${BENCH_ORGANIZATIONS:-$((systems / 50 > 20000 ? 20000 : systems / 50 < 20 ? 20 : systems / 50))}
# By the number of the process, from 1.
listens=()
servers=()

# Sets program and generator, and builds them unless both are given.
build_programs() {
    local release=${CARGO_TARGET_DIR:-target}/release
    program=${BENCH_PROGRAM:-$release/bailiwick}
    generator=${BENCH_FLEET:-$release/bench-fleet}
    [[ -n ${BENCH_PROGRAM:-} && -n ${BENCH_FLEET:-} ]] || "${CARGO:-cargo}" build --release --bin bailiwick --bin bench-fleet
}

# Settings of all processes, with the database of start_postgres; sets front.
cluster_settings() {
    front=127.0.0.1:$(port)
    export BAILIWICK_DATABASE__URL=$postgres_url BAILIWICK_LOG__LEVEL=warn BAILIWICK_OWNER_PASSWORD=Correct-Horse-7-Battery
    export BAILIWICK_SECRET BAILIWICK_HTTP__PUBLIC_URL=http://$front BAILIWICK_HTTP__TRUSTED_PROXIES=127.0.0.1/32
    BAILIWICK_SECRET=$(head -c 32 /dev/urandom | base64 -w 0)
    export BAILIWICK_DATA_DIR=$work/commands
    # A day of a fleet passes in less.
    export BAILIWICK_SYSTEMS__INVENTORIES_PER_HOUR=1000000
    # So long that a fleet stays active while the database is filled: filling a million systems takes minutes.
    export BAILIWICK_SYSTEMS__LIVENESS_TIMEOUT=${BENCH_LIVENESS_TIMEOUT:-6h}
    # Tokens are issued once, and must hold until the last look.
    export BAILIWICK_TOKENS__ACCESS_LIFETIME=$((seconds + 7200))s
}

# Fills the database; $work/credentials has the systems.
make_fleet() {
    # Some systems are suspended, deleted or new and take no part.
    echo "making $systems systems in $organizations organizations"
    "$program" demo --still --organizations "$organizations" --systems $((systems * 125 / 100 + 50)) \
        --without-applications --credentials "$work/credentials" >/dev/null
}

# serve N [COMMAND…]: starts process N, at its address if it had one before, and waits until it answers. A command in front
# runs it with other conditions.
serve() {
    local n=$1
    shift
    listens[n]=${listens[n]:-127.0.0.1:$(port)}
    BAILIWICK_HTTP__LISTEN=${listens[n]} BAILIWICK_DATA_DIR=$work/service$n "$@" "$program" serve >>"$work/service.log" 2>&1 &
    servers[n]=$!
    pids+=($!)
    until curl -sf -o /dev/null "http://${listens[n]}/health"; do
        kill -0 "${servers[n]}" 2>/dev/null || { cat "$work/service.log" >&2; exit 1; }
        sleep 0.1
    done
}

# nginx at $front before all processes; sets front_pid. Arguments are further directives of the location.
start_front() {
    local listen upstream=
    for listen in "${listens[@]}"; do upstream+="server $listen; "; done
    cat >"$work/front.server" <<EOF
# A process keeps the credentials of the systems that it serves.
upstream services { hash \$http_authorization consistent; $upstream keepalive 256; keepalive_requests 1000000; }
server {
    listen $front;
    client_max_body_size 10m;
    client_body_buffer_size 256k;
    location / {
        proxy_pass http://services;
        proxy_http_version 1.1;
        proxy_set_header Connection "";
        proxy_set_header Host \$http_host;
        proxy_set_header X-Forwarded-For \$remote_addr;
        # Nothing is sent a second time in the name of a client.
        proxy_next_upstream off;
        $*
    }
}
EOF
    sed -e "s|@WORK@|$work|g; s|@PART@|front|g" benches/load/nginx.conf >"$work/front.conf"
    "$(command -v nginx || echo /usr/sbin/nginx)" -p "$work" -c "$work/front.conf" &
    front_pid=$!
    pids+=("$front_pid")
    until curl -sf -o /dev/null "http://$front/health"; do
        kill -0 "$front_pid" 2>/dev/null || { cat "$work/front.log" >&2; exit 1; }
        sleep 0.1
    done
}

# Tokens of administrators of organizations everywhere in the tree, the owner first, in $work/people.
issue_tokens() {
    bearer=$("$program" token owner@bailiwick.example 2>/dev/null)
    service=http://$front
    install -m 600 /dev/null "$work/people"
    echo "$bearer" >"$work/people"
    call "$service/api/users?role=admin&status=enabled&sort_by=name&sort_direction=asc&page_size=${BENCH_PEOPLE:-40}" |
        jq -r '.data.users[].email' |
        while read -r email; do
            [[ $email == owner@bailiwick.example ]] || "$program" token "$email" 2>/dev/null
        done >>"$work/people"
}

# generate ARGUMENTS…: the load, with a report in $work/report; at most half an hour longer than it lasts.
generate() {
    timeout $((seconds + 1800)) "$generator" --credentials "$work/credentials" --people "$work/people" --service "$front" \
        --systems "$systems" --seconds "$seconds" --connections "${BENCH_CONNECTIONS:-64}" --report "$work/report" "$@"
}

# Waits until the queues are empty and everything that is counted is as counted, two minutes at most.
wait_for_rest() {
    local found wrong=
    for _ in $(seq 60); do
        found=$(psql -qAt -v ON_ERROR_STOP=1 -F ': ' "$postgres_url" -f tests/chaos/invariants.sql)
        wrong=$(grep -v ': 0$' <<<"$found" || true)
        [[ -n $wrong ]] || return 0
        sleep 2
    done
    printf 'not at rest:\n%s\n' "$wrong" >&2
    return 1
}
