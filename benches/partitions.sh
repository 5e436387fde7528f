#!/usr/bin/env bash
# Half a year of resolved alerts on PostgreSQL, in the table of the service and in one that is partitioned by month: what it costs
# to remove a month, and what partitions cost everything else. A throw-away PostgreSQL on loopback; prints a table.
# Variables: ROWS_A_DAY (3000), BENCH_PROGRAM (a binary that is built already; it makes the schema).
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
pids=()
trap 'for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done; wait; rm -rf "$work"' EXIT
source benches/load/parts.sh
program=${BENCH_PROGRAM:-${CARGO_TARGET_DIR:-target}/release/bailiwick}
[[ -n ${BENCH_PROGRAM:-} ]] || cargo build --release --bin bailiwick
rows=${ROWS_A_DAY:-3000}

start_postgres
export BAILIWICK_DATABASE__URL=$postgres_url BAILIWICK_DATA_DIR=$work/data BAILIWICK_LOG__LEVEL=error
"$program" demo --still --organizations 2000 --users 100 --systems 20000 --without-applications >/dev/null
sql() { psql -qAt -v ON_ERROR_STOP=1 "$postgres_url" -c "$1"; }
# Milliseconds of a statement.
ms() { psql -qAt -v ON_ERROR_STOP=1 "$postgres_url" -c '\timing on' -c "$1" | awk '/^Time:/ { t = $2 } END { printf "%.1f", t }'; }

# With the constraints and indexes of alert_history. Unique ones must contain the column of the partitions, so the index that keeps an
# alert from firing twice cannot exist.
sql "CREATE TABLE by_month (LIKE alert_history INCLUDING DEFAULTS INCLUDING IDENTITY INCLUDING CONSTRAINTS) PARTITION BY RANGE (created_at)"
sql 'ALTER TABLE by_month ADD FOREIGN KEY (organization_id, p2, p3) REFERENCES organizations (id, p2, p3) ON UPDATE CASCADE ON DELETE CASCADE'
for month in $(seq 0 6); do
    sql "CREATE TABLE by_month_$month PARTITION OF by_month FOR VALUES
        FROM (now()::date - $(((7 - month) * 31))) TO (now()::date - $(((6 - month) * 31)))"
done
sql "SELECT replace(replace(regexp_replace(indexdef, 'UNIQUE INDEX (.*)\)\$', 'UNIQUE INDEX \1, created_at)'), ' alert_history_', ' m_'),
    'public.alert_history ', 'by_month ') FROM pg_indexes WHERE tablename = 'alert_history' AND indexdef LIKE '%UNIQUE%' AND indexdef NOT LIKE '%WHERE%'
    UNION ALL SELECT replace(replace(indexdef, ' alert_history_', ' m_'), 'public.alert_history ', 'by_month ')
    FROM pg_indexes WHERE tablename = 'alert_history' AND NOT (indexdef LIKE '%UNIQUE%')" >"$work/indexes"
psql -q -v ON_ERROR_STOP=1 "$postgres_url" -f <(sed 's/$/;/' "$work/indexes")

fill() {
    ms "INSERT INTO $1 (organization_id, p2, p3, system_key, alertname, severity, status, fingerprint, starts_at, ends_at, summary, labels,
            annotations, created_at)
        SELECT o.id, o.p2, o.p3, 'S' || n, 'Disk' || n % 40, 'warning', 'resolved', md5(n::text), at, at + '5 min', 'disk is filling',
            jsonb_build_object('alertname', 'Disk' || n % 40, 'system_key', 'S' || n, 'severity', 'warning'),
            jsonb_build_object('summary', 'disk is filling'), at
        FROM generate_series(0, 184 * $rows - 1) n
        JOIN LATERAL (SELECT now()::date - 31 * 7 + interval '1 second' + n / $rows * interval '1 day' + n % $rows * interval '20 seconds' AS at) t ON true
        JOIN (SELECT id, p2, p3, row_number() OVER () AS i, count(*) OVER () AS total FROM organizations WHERE type = 'customer') o
            ON o.i = n % o.total + 1"
}
# Removes a month as the service does: a thousand rows in each transaction.
remove() {
    sql "CREATE OR REPLACE PROCEDURE remove_month() LANGUAGE plpgsql AS \$\$
        DECLARE gone bigint; BEGIN LOOP
            DELETE FROM alert_history WHERE id IN (SELECT id FROM alert_history WHERE status = 'resolved'
                AND created_at < now()::date - 31 * 6 ORDER BY created_at, id LIMIT 1000);
            GET DIAGNOSTICS gone = ROW_COUNT; COMMIT; EXIT WHEN gone = 0;
        END LOOP; END \$\$"
    ms 'CALL remove_month()'
}
# The middle of 21 runs.
each() { for _ in $(seq 21); do ms "$1"; echo; done | sort -n | sed -n 11p; }
reads() {
    local table=$1 organization
    organization=$(sql "SELECT organization_id FROM $table ORDER BY id LIMIT 1")
    printf '%s ms, %s ms, %s ms' \
        "$(each "SELECT id FROM $table WHERE organization_id = '$organization' ORDER BY created_at DESC, id DESC LIMIT 50")" \
        "$(each "SELECT id FROM $table ORDER BY created_at DESC, id DESC LIMIT 50 OFFSET 2000")" \
        "$(each "SELECT id FROM $table WHERE organization_id = '$organization' AND fingerprint = md5('7') AND starts_at = now()")"
}

printf '| %s | One table | By month |\n|---|---|---|\n' "$((184 * rows)) alerts"
printf '| written | %s ms | %s ms |\n' "$(fill alert_history)" "$(fill by_month)"
sql 'VACUUM ANALYZE'
printf '| size | %s | %s |\n' "$(sql "SELECT pg_size_pretty(pg_total_relation_size('alert_history'))")" \
    "$(sql "SELECT pg_size_pretty(sum(pg_total_relation_size(inhrelid))) FROM pg_inherits WHERE inhparent = 'by_month'::regclass")"
printf '| newest 50 of a customer, page 41 of everything, is it known | %s | %s |\n' "$(reads alert_history)" "$(reads by_month)"
printf '| a month removed | %s ms | %s ms |\n' "$(remove)" "$(ms 'DROP TABLE by_month_0')"
printf '| vacuum after it | %s ms | none |\n' "$(ms 'VACUUM alert_history')"
printf '| the next vacuum | %s ms | %s ms |\n' "$(ms 'VACUUM alert_history')" "$(ms 'VACUUM by_month')"
printf '| size then | %s | %s |\n' "$(sql "SELECT pg_size_pretty(pg_total_relation_size('alert_history'))")" \
    "$(sql "SELECT pg_size_pretty(sum(pg_total_relation_size(inhrelid))) FROM pg_inherits WHERE inhparent = 'by_month'::regclass")"
