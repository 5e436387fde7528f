//! Copies everything from a SQLite file into an empty PostgreSQL database, in one transaction: all of it or nothing.
//!
//! Both schemas have the same tables and columns (a test compares them), so the plan is read from PostgreSQL's
//! catalogue. Each table is copied with one `COPY`, after the tables it refers to, and is read back and compared before
//! the commit. To add a column type: [`text`].

mod schema;
mod text;

use crate::{Db, StoreError, engine::Engine, sql::Q};
use futures_util::TryStreamExt;
use schema::{Table, tables};
use sqlx::{AssertSqlSafe, PgConnection, Row, SqliteConnection};
use text::{Digest, Fields, Lines};

/// Tables with rows in every new database; the source's rows replace these.
const SEEDED: [&str; 8] = [
    "active_alerts_epoch",
    "alert_config_epoch",
    "auth_epoch",
    "event_position",
    "list_epochs",
    "retention",
    "schema_compatibility",
    "text_folding",
];
/// Bytes collected before they are sent.
const CHUNK: usize = 256 * 1024;

/// One table that went over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Its name.
    pub table: String,
    /// How many rows, the same on both sides.
    pub rows: u64,
}

/// Copies all tables; `report` is called for each table when it is copied and compared. Both databases have this
/// version's schema, and no other process uses them.
///
/// # Errors
/// [`StoreError::Transfer`] when the target has rows, or a table there differs from the source; the databases' own.
/// Nothing is left in the target then.
pub async fn copy_to_postgres(
    from: &Db,
    to: &Db,
    mut report: impl FnMut(&Copied),
) -> Result<Vec<Copied>, StoreError> {
    let (Engine::Lite { write: source, .. }, Engine::Pg(target)) = (&from.engine, &to.engine) else {
        return Err(StoreError::Misuse("the source must be SQLite and the target PostgreSQL"));
    };
    // Held for the whole time, so all reads see one state.
    let mut read = source.begin_with("BEGIN IMMEDIATE").await?;
    let mut write = target.begin().await?;
    sqlx::query("SET LOCAL statement_timeout = 0").execute(&mut *write).await?;
    let tables = tables(&mut write).await?;
    empty(&mut write, &tables).await?;
    let mut all = Vec::new();
    for table in &tables {
        let sent = send(&mut read, &mut write, table).await?;
        let received = receive(&mut write, table).await?;
        if sent != received {
            let message = format!("{}: {received} arrived of {sent}", table.name);
            return Err(StoreError::Transfer(message));
        }
        let copied = Copied { table: table.name.clone(), rows: sent.rows };
        report(&copied);
        all.push(copied);
    }
    number_on(&mut read, &mut write, &tables).await?;
    write.commit().await?;
    read.rollback().await?;
    Ok(all)
}

/// Refuses a target that is in use; removes the rows of the target that the source also has.
async fn empty(target: &mut PgConnection, tables: &[Table]) -> Result<(), StoreError> {
    for Table { name, .. } in tables {
        if SEEDED.contains(&name.as_str()) {
            run(target, format!("DELETE FROM {name}")).await?;
            continue;
        }
        let sql = format!("SELECT EXISTS (SELECT 1 FROM {name})");
        let (has_rows,): (bool,) = sqlx::query_as(AssertSqlSafe(sql)).fetch_one(&mut *target).await?;
        if has_rows {
            return Err(StoreError::Transfer(format!("the target is not empty: {name} has rows")));
        }
    }
    Ok(())
}

/// Gathers the statistics of a PostgreSQL database that has just been filled, however long it takes.
///
/// # Errors
/// The database's own; the server then gathers the statistics by itself, only later.
pub async fn analyze(target: &Db) -> Result<(), StoreError> {
    let Engine::Pg(target) = &target.engine else { return Ok(()) };
    let mut connection = target.acquire().await?.detach();
    run(&mut connection, "SET statement_timeout = 0".to_owned()).await?;
    run(&mut connection, "ANALYZE".to_owned()).await
}

/// The least bytes of tables without statistics that make it worthwhile.
const UNKNOWN_BYTES: u64 = 1024 * 1024;
const UNKNOWN: &str = "[[SELECT CAST(SUM(pg_relation_size(c.oid)) AS BIGINT) FROM pg_class c \
     WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace AND NOT EXISTS \
     (SELECT 1 FROM pg_stats s WHERE s.schemaname = current_schema() AND s.tablename = c.relname)||SELECT 0]]";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![UNKNOWN];

/// Gathers statistics of a restored database: `pg_restore` restores rows only, and until the server has gathered its
/// statistics some lists take longer than a request may. True when there was something to do.
///
/// # Errors
/// As [`analyze`].
pub async fn analyze_restored(db: &Db) -> Result<bool, StoreError> {
    let is_restored = Q::new(UNKNOWN).count(db).await? > UNKNOWN_BYTES;
    if is_restored {
        analyze(db).await?;
    }
    Ok(is_restored)
}

async fn run(target: &mut PgConnection, sql: String) -> Result<(), StoreError> {
    sqlx::query(AssertSqlSafe(sql)).execute(target).await?;
    Ok(())
}

/// Sends every row of a table.
async fn send(
    source: &mut SqliteConnection,
    target: &mut PgConnection,
    table: &Table,
) -> Result<Digest, StoreError> {
    let columns = table.column_list();
    let select = format!("SELECT {columns} FROM {}", table.name);
    let mut copy = target.copy_in_raw(&format!("COPY {} ({columns}) FROM STDIN", table.name)).await?;
    let outcome = async {
        let (mut digest, mut chunk) = (Digest::default(), Vec::with_capacity(CHUNK * 2));
        let mut rows = sqlx::query(AssertSqlSafe(select)).fetch(source);
        while let Some(row) = rows.try_next().await? {
            let fields = Fields::of_sqlite(&row, table)?;
            digest.add(&fields.canonical(table)?);
            fields.write(&mut chunk);
            if chunk.len() >= CHUNK {
                copy.send(&chunk[..]).await?;
                chunk.clear();
            }
        }
        copy.send(&chunk[..]).await?;
        Ok(digest)
    }
    .await;
    match outcome {
        Ok(digest) => {
            copy.finish().await?;
            Ok(digest)
        }
        Err(error) => {
            // Only the reason matters; the transaction ends either way.
            let _ = copy.abort("unreadable source").await;
            Err(error)
        }
    }
}

/// Reads every row back.
async fn receive(target: &mut PgConnection, table: &Table) -> Result<Digest, StoreError> {
    let sql = format!("COPY (SELECT {} FROM {}) TO STDOUT", table.canonical_list(), table.name);
    let mut stream = target.copy_out_raw(&sql).await?;
    let (mut digest, mut lines) = (Digest::default(), Lines::default());
    while let Some(bytes) = stream.try_next().await? {
        for line in lines.push(&bytes) {
            digest.add(&Fields::of_line(&line)?.canonical(table)?);
        }
    }
    Ok(digest)
}

/// New rows continue numbering where the source would have.
async fn number_on(
    source: &mut SqliteConnection,
    target: &mut PgConnection,
    tables: &[Table],
) -> Result<(), StoreError> {
    let counters = sqlx::query("SELECT name, seq FROM sqlite_sequence").fetch_all(source).await?;
    for Table { name, identity, .. } in tables {
        let Some(column) = identity else { continue };
        let counter = counters.iter().find(|row| row.try_get::<String, _>(0).is_ok_and(|n| n == *name));
        let last: i64 = counter.map(|row| row.try_get(1)).transpose()?.unwrap_or(0);
        let sql = format!(
            "SELECT setval(pg_get_serial_sequence('{name}', '{column}'), \
             GREATEST({last}, (SELECT COALESCE(MAX({column}), 0) FROM {name}), 1), \
             GREATEST({last}, (SELECT COALESCE(MAX({column}), 0) FROM {name})) > 0)"
        );
        run(target, sql).await?;
    }
    Ok(())
}
