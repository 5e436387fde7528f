# Sessions under load: exchange, refresh, and the cheapest authenticated read. Sourced by run.sh after parts.sh.

# wrk_rate KIND THREADS CONNECTIONS: "N req/s, p50 x, p99 y"; fails when an answer was not 2xx.
wrk_rate() {
    BENCH_KIND=$1 BENCH_CHAINS=$work/chains wrk -t "$2" -c "$3" -d "${seconds}s" --latency \
        -s benches/load/sessions.lua "$service" >"$work/wrk.out"
    rates "$1"
}

sessions_part() {
    local engine=$1 provider measured
    export BAILIWICK_LIMITS__TOKEN_REQUESTS_PER_SECOND=1000000 BAILIWICK_LIMITS__TOKEN_REQUEST_BURST=1000000
    stop_service
    start_service "$engine"
    provider=$(python3 benches/load/sign_in.py "$service" "$BAILIWICK_OWNER_PASSWORD")
    for _ in $(seq 16); do
        curl -sf "$service/api/auth/exchange" -d "{\"access_token\":\"$provider\"}" | jq -r .data.refresh_token
    done >"$work/chains"
    measured=$(BENCH_TOKEN=$bearer wrk_rate me 1 64)
    row 'GET /me with an access token, 64 connections' "$engine" "$measured" '≥ 15,000 req/s'
    measured=$(wrk_rate refresh 16 16)
    row 'refresh, 16 chains' "$engine" "$measured" '≥ 2,000/s'
    measured=$(BENCH_TOKEN=$provider wrk_rate exchange 1 16)
    row 'exchange, 16 connections' "$engine" "$measured" '≥ 300/s'
    unset BAILIWICK_LIMITS__TOKEN_REQUESTS_PER_SECOND BAILIWICK_LIMITS__TOKEN_REQUEST_BURST
}
