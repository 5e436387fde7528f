//! Both engines hold the same: tables, columns, keys and indexes; and every fixed statement is understood by both.

use bailiwick_store::{Db, catalogue::statements, sql::Q};
use bailiwick_testkit::{Engine, Test, api_test};
use std::collections::{BTreeMap, BTreeSet};

/// The definition of a table by one engine, in words that mean the same on both.
#[derive(Debug, Default, PartialEq)]
struct Table {
    /// `name type null|not null`, in order.
    columns: Vec<String>,
    primary_key: Vec<String>,
    /// Unique constraints, by their columns.
    unique: BTreeSet<String>,
    /// `name: unique? (columns) where …`.
    indexes: BTreeSet<String>,
    /// `(columns) -> table (columns) on delete … on update …`.
    foreign_keys: BTreeSet<String>,
}

async fn rows<const N: usize>(db: &Db, sql: &str) -> Vec<[String; N]> {
    let rows: Vec<(String,)> = Q::new(sql).all(db).await.unwrap();
    rows.into_iter()
        .map(|(line,)| {
            let parts: Vec<String> = line.split('|').map(str::to_owned).collect();
            parts.try_into().unwrap_or_else(|p| panic!("{sql}: {p:?}"))
        })
        .collect()
}

const SQLITE_TABLES: &str = "FROM sqlite_schema t WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%' \
    AND t.name NOT LIKE '\\_sqlx%' ESCAPE '\\'";

async fn sqlite(db: &Db) -> BTreeMap<String, Table> {
    let mut tables: BTreeMap<String, Table> = BTreeMap::new();
    let from = SQLITE_TABLES.replacen("WHERE", "JOIN pragma_table_xinfo(t.name) c WHERE", 1);
    let sql = format!(
        "SELECT t.name || '|' || c.name || '|' || c.type || '|' || c.\"notnull\" || '|' || c.pk {from}"
    );
    for [table, column, kind, not_null, key] in rows(db, &format!("{sql} ORDER BY t.name, c.cid")).await {
        let entry = tables.entry(table).or_default();
        let null = if not_null == "1" { "not null" } else { "null" };
        entry.columns.push(format!("{column} {kind} {null}"));
        if key != "0" {
            entry.primary_key.push(column);
        }
    }
    // The indexes that a search reads on SQLite alone (0012_search.sql): a key of PostgreSQL's would be too long
    // for them.
    let indexes =
        "JOIN pragma_index_list(t.name) i ON i.name NOT IN ('systems_search', 'organizations_search') WHERE";
    let from = SQLITE_TABLES.replacen("WHERE", indexes, 1);
    let columns =
        "(SELECT group_concat(name, ', ') FROM (SELECT name FROM pragma_index_info(i.name) ORDER BY seqno))";
    let definition = "COALESCE((SELECT x.sql FROM sqlite_schema x WHERE x.name = i.name), '')";
    let sql = format!(
        "SELECT t.name || '|' || i.name || '|' || i.origin || '|' || i.\"unique\" || '|' || {columns} || '|' || {definition} {from}"
    );
    for [table, name, origin, unique, columns, definition] in rows(db, &sql).await {
        let entry = tables.entry(table).or_default();
        match origin.as_str() {
            "u" => drop(entry.unique.insert(columns)),
            "c" => drop(entry.indexes.insert(index(&name, unique == "1", &columns, &definition))),
            _ => {}
        }
    }
    let from = SQLITE_TABLES.replacen("WHERE", "JOIN pragma_foreign_key_list(t.name) f WHERE", 1);
    let sql = format!(
        "SELECT t.name || '|' || group_concat(f.\"from\", ', ' ORDER BY f.seq) || '|' || f.\"table\" || '|' || \
         group_concat(f.\"to\", ', ' ORDER BY f.seq) || '|' || f.on_delete || '|' || f.on_update {from} \
         GROUP BY t.name, f.id"
    );
    for [table, columns, other, others, delete, update] in rows(db, &sql).await {
        let key = format!("({columns}) -> {other} ({others}) on delete {delete} on update {update}");
        tables.entry(table).or_default().foreign_keys.insert(key);
    }
    tables
}

async fn postgres(db: &Db) -> BTreeMap<String, Table> {
    let mut tables: BTreeMap<String, Table> = BTreeMap::new();
    let of_ours = "c.relnamespace = 'public'::regnamespace AND c.relname NOT LIKE '\\_sqlx%'";
    let sql = format!(
        "SELECT c.relname || '|' || a.attname || '|' || format_type(a.atttypid, a.atttypmod) || '|' || a.attnotnull \
         FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
         WHERE c.relkind = 'r' AND {of_ours} ORDER BY c.relname, a.attnum"
    );
    for [table, column, kind, not_null] in rows(db, &sql).await {
        let kind = match kind.as_str() {
            "uuid" | "bytea" => "BLOB",
            "text" | "jsonb" => "TEXT",
            "bigint" | "boolean" | "timestamp with time zone" => "INTEGER",
            "double precision" => "REAL",
            other => panic!("{table}.{column} has a type without twin: {other}"),
        };
        let null = if not_null == "true" { "not null" } else { "null" };
        tables.entry(table).or_default().columns.push(format!("{column} {kind} {null}"));
    }
    let columns = |keys: &str, relation: &str| {
        format!(
            "(SELECT string_agg(a.attname, ', ' ORDER BY n) FROM unnest({keys}) WITH ORDINALITY u (num, n) \
             JOIN pg_attribute a ON a.attrelid = {relation} AND a.attnum = u.num)"
        )
    };
    let sql = format!(
        "SELECT c.relname || '|' || CAST(k.contype AS text) || '|' || {} || '|' || COALESCE(f.relname, '') || '|' || \
         COALESCE({}, '') || '|' || CAST(k.confdeltype AS text) || '|' || CAST(k.confupdtype AS text) FROM pg_constraint k \
         JOIN pg_class c ON c.oid = k.conrelid LEFT JOIN pg_class f ON f.oid = k.confrelid \
         WHERE k.contype IN ('p', 'u', 'f') AND {of_ours}",
        columns("k.conkey", "k.conrelid"),
        columns("k.confkey", "k.confrelid"),
    );
    for [table, kind, columns, other, others, delete, update] in rows(db, &sql).await {
        let entry = tables.entry(table).or_default();
        let action = |letter: &str| match letter {
            "a" => "NO ACTION",
            "c" => "CASCADE",
            "n" => "SET NULL",
            "r" => "RESTRICT",
            _ => "SET DEFAULT",
        };
        let (delete, update) = (action(&delete), action(&update));
        match kind.as_str() {
            "p" => entry.primary_key = columns.split(", ").map(str::to_owned).collect(),
            "u" => drop(entry.unique.insert(columns)),
            _ => {
                let key = format!("({columns}) -> {other} ({others}) on delete {delete} on update {update}");
                entry.foreign_keys.insert(key);
            }
        }
    }
    // Trigrams are PostgreSQL's alone (0012_search.sql).
    let sql = format!(
        "SELECT c.relname || '|' || n.relname || '|' || i.indisunique || '|' || {} || '|' || \
         COALESCE('WHERE ' || pg_get_expr(i.indpred, i.indrelid), '') FROM pg_index i \
         JOIN pg_class c ON c.oid = i.indrelid JOIN pg_class n ON n.oid = i.indexrelid \
         JOIN pg_am m ON m.oid = n.relam AND m.amname = 'btree' \
         WHERE NOT EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conindid = i.indexrelid AND k.contype <> 'f') AND {of_ours}",
        columns("CAST(i.indkey AS smallint[])", "i.indrelid"),
    );
    for [table, name, unique, columns, condition] in rows(db, &sql).await {
        let index = index(&name, unique == "true", &columns, &condition);
        tables.entry(table).or_default().indexes.insert(index);
    }
    tables
}

/// One line for an index. The condition loses what each engine adds or may leave out: casts, parentheses, case.
fn index(name: &str, is_unique: bool, columns: &str, definition: &str) -> String {
    let condition = definition
        .rsplit_once(" WHERE ")
        .map_or_else(|| definition.strip_prefix("WHERE ").unwrap_or_default(), |(_, condition)| condition);
    let condition: String = condition.replace("::text", "").replace(['(', ')', ' '], "").to_lowercase();
    let unique = if is_unique { "unique " } else { "" };
    format!("{name}: {unique}({columns}) where {condition}")
}

#[tokio::test]
async fn both_engines_have_the_same_schema() {
    let lite = Test::start(Engine::Sqlite, |_| {}).await;
    let pg = Test::start(Engine::Postgres, |_| {}).await;
    let (lite, pg) = (sqlite(&lite.app.platform.db).await, postgres(&pg.app.platform.db).await);
    assert_eq!(lite.keys().collect::<Vec<_>>(), pg.keys().collect::<Vec<_>>());
    assert!(lite.len() >= 10 && lite["systems"].indexes.len() >= 20, "{lite:#?}");
    for (name, table) in &lite {
        assert_eq!(table, &pg[name], "{name}: left SQLite, right PostgreSQL");
        assert!(!table.primary_key.is_empty(), "{name}");
    }
}

#[tokio::test]
async fn the_flags_of_the_cargo_configuration_reach_sqlite() {
    let t = Test::start(Engine::Sqlite, |_| {}).await;
    let options: Vec<(String,)> = Q::new("PRAGMA compile_options").all(&t.app.platform.db).await.unwrap();
    let has = |wanted: &str| options.iter().any(|(option,)| option == wanted);
    assert!(has("DEFAULT_MEMSTATUS=0") && has("ENABLE_QPSG"), "{options:?}");
    assert!(!has("ENABLE_MEMORY_MANAGEMENT"), "{options:?}");
}

api_test!(every_fixed_statement_is_understood, |t| async move {
    assert!(statements().count() > 100);
    let names: BTreeSet<_> = statements().map(|(name, _)| name).collect();
    assert_eq!(names.len(), statements().count(), "a name is there twice");
    let is_postgres = t.engine == Engine::Postgres;
    let mut wrong = Vec::new();
    for (i, (name, text)) in statements().enumerate() {
        // Preparing it looks up every table and column; nothing runs.
        let text = Q::new(text).text_for(is_postgres);
        let sql =
            if is_postgres { format!("PREPARE entry_{i} AS {text}") } else { format!("EXPLAIN {text}") };
        let mut tx = t.app.platform.db.begin().await.unwrap();
        if let Err(e) = Q::new(&sql).run(&mut tx).await {
            wrong.push(format!("{name}: {e}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
});
