#!/usr/bin/env python3
"""Times the first page and the total of a list of systems for three representations of the tree.

    measure.py URL [--prepare | --explain | --costs] [--runs N] [--only PREFIX]     URL: postgres://… or sqlite:PATH

The database is filled by `bailiwick demo`; `--prepare` applies `alternatives.sql`. PostgreSQL is asked through
psql and times itself; SQLite runs in this process with the settings of the service. Prints Markdown.
"""
import argparse
import pathlib
import re
import sqlite3
import subprocess
import time

HERE = pathlib.Path(__file__).parent
LEVELS = {"owner": None, "distributor": "p2", "reseller": "p3", "customer": "id"}
ORDERS = {
    "name": "s.name_key, s.id",
    "created_at desc": "s.created_at DESC, s.id DESC",
    "status": "s.id",
    "creator_name": "s.creator_key, s.id",
    "organization_name": "o.name_key, s.id",
}
# The first run of the order by status; the others are looked at only when it does not fill the page.
RUN = ("AND s.suspended_at IS NULL AND o.eff_suspended_at IS NULL AND a.last_heartbeat > {cutoff}")
ACTIVITY = "LEFT JOIN system_activity a ON a.system_id = s.id"


def statements(file="queries.sql"):
    found, name = {}, None
    for line in (HERE / file).read_text().splitlines():
        if line.startswith("-- name: "):
            name = line[9:]
            found[name] = ""
        elif name and not line.startswith("--"):
            found[name] += line + "\n"
    return {k: v.strip() for k, v in found.items()}


def choose(text, postgres):
    return re.sub(r"\[\[(.*?)\|\|(.*?)\]\]", lambda m: m[1] if postgres else m[2], text, flags=re.S)


class Postgres:
    postgres = True

    def __init__(self, url):
        self.url = url
        self.ask("SELECT 1")

    def ask(self, sql):
        command = ["psql", "-XqAt", "-F", "|", "-v", "ON_ERROR_STOP=1", "-d", self.url]
        answer = subprocess.run(command, input=sql, text=True, capture_output=True)
        if answer.returncode:
            raise SystemExit(answer.stderr)
        return [line.split("|") for line in answer.stdout.splitlines()]

    def literal(self, identifier):
        return f"'{identifier}'"

    def script(self, sql):
        self.ask(sql)

    def times(self, sql, runs, seconds):
        """Milliseconds of each run, after two that warm up. Each run is planned anew."""
        rows = self.ask(f"""
CREATE FUNCTION pg_temp.measure() RETURNS SETOF double precision LANGUAGE plpgsql AS $measure$
DECLARE start timestamptz; first timestamptz := clock_timestamp(); i integer := 0;
BEGIN
  WHILE i < {runs + 2} AND (i < 7 OR clock_timestamp() < first + interval '{seconds} s') LOOP
    start := clock_timestamp();
    EXECUTE $statement${sql}$statement$;
    IF i >= 2 THEN RETURN NEXT 1000 * extract(epoch FROM clock_timestamp() - start); END IF;
    i := i + 1;
  END LOOP;
END $measure$;
SELECT * FROM pg_temp.measure();""")
        return [float(r[0]) for r in rows]

    def once(self, sql):
        """Milliseconds of a statement that is undone."""
        rows = self.ask(f"""BEGIN;
SELECT extract(epoch FROM clock_timestamp()) AS start \\gset
{sql};
SELECT 1000 * (extract(epoch FROM clock_timestamp()) - :start);
ROLLBACK;""")
        return float(rows[-1][0])

    def columns(self, table):
        return [r[0] for r in self.ask(f"""SELECT attname FROM pg_attribute
            WHERE attrelid = '{table}'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum""")]

    def explain(self, sql):
        rows = self.ask(f"EXPLAIN (ANALYZE, COSTS OFF, BUFFERS) {sql}")
        return "\n".join("|".join(r) for r in rows)

    def cutoff(self):
        return "'" + self.ask("SELECT max(last_heartbeat) - interval '20 min' FROM system_activity")[0][0] + "'"

    def sizes(self, table):
        sql = f"""SELECT pg_table_size('{table}'), pg_indexes_size('{table}'),
                  (SELECT count(*) FROM pg_index WHERE indrelid = '{table}'::regclass)"""
        return [int(x) for x in self.ask(sql)[0]]


class Sqlite:
    postgres = False

    def __init__(self, url):
        self.db = sqlite3.connect(url.removeprefix("sqlite:"), isolation_level=None)
        for pragma in ["cache_size = -32768", "temp_store = memory", "mmap_size = 268435456", "foreign_keys = on"]:
            self.db.execute(f"PRAGMA {pragma}")

    def ask(self, sql):
        def text(value):
            return value.hex() if isinstance(value, bytes) else str(value)
        return [[text(v) for v in row] for row in self.db.execute(sql)]

    def literal(self, identifier):
        return f"X'{identifier}'"

    def script(self, sql):
        self.db.executescript(sql)

    def times(self, sql, runs, seconds):
        found, first = [], time.perf_counter()
        for i in range(runs + 2):
            start = time.perf_counter()
            self.db.execute(sql).fetchall()
            if i >= 2:
                found.append(1000 * (time.perf_counter() - start))
            if i >= 6 and time.perf_counter() > first + seconds:
                break
        return found

    def once(self, sql):
        self.db.execute("BEGIN IMMEDIATE")
        start = time.perf_counter()
        self.db.execute(sql).fetchall()
        found = 1000 * (time.perf_counter() - start)
        self.db.execute("ROLLBACK")
        return found

    def columns(self, table):
        return [r[1] for r in self.db.execute(f"PRAGMA table_info({table})")]

    def explain(self, sql):
        rows = self.db.execute(f"EXPLAIN QUERY PLAN {sql}").fetchall()
        depth = {0: 0}
        lines = []
        for identifier, parent, _, detail in rows:
            depth[identifier] = depth.get(parent, 0) + 1
            lines.append("  " * depth[parent] + detail)
        return "\n".join(lines)

    def cutoff(self):
        return self.ask("SELECT max(last_heartbeat) - 1200000000 FROM system_activity")[0][0]

    def sizes(self, table):
        names = [r[0] for r in self.ask(f"SELECT name FROM sqlite_schema WHERE tbl_name = '{table}' AND type = 'index'")]
        def size(name):
            return int(self.ask(f"SELECT sum(pgsize) FROM dbstat WHERE name = '{name}' AND aggregate = 1")[0][0])
        try:
            return [size(table), sum(size(n) for n in names), len(names)]
        except sqlite3.OperationalError:
            return [0, 0, len(names)]


def callers(db):
    """The greatest of each level: {name: (id, path, number of systems)}."""
    def first(sql):
        return db.ask(sql)[0][0]
    systems = "FROM organizations o JOIN organization_counts k ON k.organization_id = o.id"
    owner = first("SELECT id FROM organizations WHERE type = 'owner'")
    distributor = first(f"SELECT o.p2 {systems} WHERE o.p2 <> {db.literal(owner)} GROUP BY o.p2 ORDER BY SUM(k.systems) DESC LIMIT 1")
    reseller = first(f"SELECT o.p3 {systems} WHERE o.p2 = {db.literal(distributor)} AND o.p3 <> o.p2 GROUP BY o.p3 ORDER BY SUM(k.systems) DESC LIMIT 1")
    customer = first(f"SELECT o.id {systems} WHERE o.type = 'customer' AND o.eff_deleted_at IS NULL ORDER BY k.systems DESC LIMIT 1")
    found = {}
    for level, identifier in zip(LEVELS, [owner, distributor, reseller, customer]):
        column = LEVELS[level]
        where = f"AND o.{column} = {db.literal(identifier)}" if column else ""
        total = first(f"SELECT SUM(k.systems) {systems} WHERE o.eff_deleted_at IS NULL {where}")
        path = first(f"SELECT path FROM alternative_paths WHERE id = {db.literal(identifier)}")
        found[level] = (identifier, path, int(total))
    return found


def statement(parts, db, alternative, level, caller, order=None):
    """The text of a page in an order, or of a total."""
    identifier, path, _ = caller
    column, root = LEVELS[level], db.literal(identifier)
    is_run = order == "status"
    kind = "ids" if order else "total"
    name = f"{alternative} {kind}"
    if level == "owner" and alternative in "AB":
        name = f"AB owner {kind}"
    elif alternative == "C" and level == "owner" and not order:
        name = "C owner total"
    elif alternative == "C" and order == "organization_name":
        name = "C organization_name ids"
    elif alternative == "C counted":
        name = alternative
    of_systems = "organization_id" if column == "id" else column
    scope_alias = "o" if order == "organization_name" else "s"
    scope_column = column if scope_alias == "o" else of_systems
    values = {
        "root": root,
        "path": f"'{path}'",
        "path_end": f"'{path[:-1]}0'",  # '0' follows '/'
        "scope": f"AND {scope_alias}.{scope_column} = {root}" if column else "",
        "scope_of_organizations": f"AND o.{column} = {root}" if column else "",
        "order": ORDERS.get(order, ""),
        "activity": ACTIVITY if is_run else "",
        "run": RUN.format(cutoff=db.cut) if is_run else "",
        "systems": "systems" if alternative.startswith("C") else "alternative_systems",
    }
    text = parts[name].format(**values)
    if order:
        text = parts["page"].format(ids=text, **{k: values[k] for k in ("order", "systems")})
    return choose(text, db.postgres)


def summary(times):
    ordered = sorted(times)
    return ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]


def costs(db, who):
    """Times of writes, the middle of three."""
    owner, reseller = who["owner"], who["reseller"]
    columns = db.columns("systems")
    fresh = {
        "id": "[[gen_random_uuid()||randomblob(16)]]",
        "system_key": "system_key || '-2'",
        "secret_public": "secret_public || '2'",
    }
    path = reseller[1]
    values = {
        "columns": ", ".join(columns),
        "copied": ", ".join(fresh.get(c, c) for c in columns),
        "caller": db.literal(reseller[0]),
        "owner": db.literal(owner[0]),
        "path": f"'{path}'",
        "path_end": f"'{path[:-1]}0'",
        "promoted": f"'{owner[1]}{path.split('/')[-2]}/'",
        "skip": len(path) + 1,
    }
    print("| write | ms |\n|---|---|")
    for name, text in statements("costs.sql").items():
        sql = choose(text.format(**values), db.postgres)
        print(f"| {name} | {sorted(db.once(sql) for _ in range(3))[1]:.0f} |", flush=True)
    print(f"\nThe reseller has {reseller[2]:,} systems.")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=8, help="stop a slow statement after this long")
    parser.add_argument("--prepare", action="store_true", help="make the tables of A and B, measure nothing")
    parser.add_argument("--explain", action="store_true")
    parser.add_argument("--costs", action="store_true", help="times of writes, index sizes")
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    db = (Postgres if asked.url.startswith("postgres") else Sqlite)(asked.url)
    if asked.prepare:
        db.script(choose((HERE / "alternatives.sql").read_text(), db.postgres))
        return db.script("ANALYZE" if not db.postgres else "VACUUM (ANALYZE) alternative_systems")
    db.cut = db.cutoff()
    parts, who = statements(), callers(db)
    if asked.costs:
        costs(db, who)
        for table in ["systems", "alternative_systems"]:
            data, indexes, number = db.sizes(table)
            print(f"\n{table}: rows {data / 2**20:.0f} MiB, {number} indexes {indexes / 2**20:.0f} MiB")
        return
    print("| order | caller (systems) | A median / p99 ms | B median / p99 ms | C median / p99 ms |\n|---|---|---|---|---|")
    for order in [*ORDERS, None, "counted"]:
        for level, caller in who.items():
            cells = []
            for alternative in "ABC":
                if order == "counted" and alternative != "C":
                    cells.append("")
                    continue
                name = "C counted" if order == "counted" else alternative
                label = f"{name} {order or 'total'} {level}"
                if not label.startswith(asked.only):
                    cells.append("")
                    continue
                sql = statement(parts, db, name, level, caller, None if order == "counted" else order)
                if asked.explain:
                    print(f"\n### {label}\n{db.explain(sql)}")
                    continue
                cells.append("{:.1f} / {:.1f}".format(*summary(db.times(sql, asked.runs, asked.seconds))))
            if not asked.explain:
                title = {None: "total_count", "counted": "total by counting rows"}.get(order, order)
                print(f"| {title} | {level} ({caller[2]:,}) | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
