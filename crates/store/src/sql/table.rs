//! Many rows in one statement: arrays on PostgreSQL, a list of values on SQLite.

use super::{Arg, Q};
use bailiwick_domain::Ts;
use uuid::Uuid;

/// Most rows of one statement: SQLite bounds the number of placeholders.
pub(crate) const ROWS: usize = 500;

/// The values of one column, one for each row.
#[derive(Clone, Debug)]
pub(crate) enum Column {
    Ids(Vec<Uuid>),
    /// UUIDs or NULL.
    SomeIds(Vec<Option<Uuid>>),
    /// Texts or NULL; also JSON, to be cast where it is used.
    Texts(Vec<Option<String>>),
    /// Integers.
    Ints(Vec<i64>),
    /// Times or NULL.
    Times(Vec<Option<Ts>>),
    /// Bytes.
    Blobs(Vec<Vec<u8>>),
}

impl Column {
    /// Texts without NULL.
    pub(crate) fn texts<'a>(values: impl IntoIterator<Item = &'a str>) -> Column {
        Column::Texts(values.into_iter().map(|v| Some(v.to_owned())).collect())
    }

    /// Times without NULL.
    pub(crate) fn times(values: impl IntoIterator<Item = Ts>) -> Column {
        Column::Times(values.into_iter().map(Some).collect())
    }

    fn len(&self) -> usize {
        match self {
            Column::Ids(v) => v.len(),
            Column::SomeIds(v) => v.len(),
            Column::Texts(v) => v.len(),
            Column::Ints(v) => v.len(),
            Column::Times(v) => v.len(),
            Column::Blobs(v) => v.len(),
        }
    }

    fn array(self) -> (&'static str, Arg) {
        match self {
            Column::Ids(v) => ("?::uuid[]", Arg::Ids(v)),
            Column::SomeIds(v) => ("?::uuid[]", Arg::SomeIds(v)),
            Column::Texts(v) => ("?::text[]", Arg::SomeTexts(v)),
            Column::Ints(v) => ("?::bigint[]", Arg::Ints(v)),
            Column::Times(v) => ("?::timestamptz[]", Arg::SomeTimes(v)),
            Column::Blobs(v) => ("?::bytea[]", Arg::Blobs(v)),
        }
    }

    fn value(&self, row: usize) -> Arg {
        match self {
            Column::Ids(v) => Arg::Id(v.get(row).copied()),
            Column::SomeIds(v) => Arg::Id(v.get(row).copied().flatten()),
            Column::Texts(v) => Arg::Text(v.get(row).cloned().flatten()),
            Column::Ints(v) => Arg::Int(v.get(row).copied()),
            Column::Times(v) => Arg::Time(v.get(row).copied().flatten()),
            Column::Blobs(v) => Arg::Bytes(v.get(row).cloned()),
        }
    }
}

/// Appends the rows as a table called `v`, its columns as named. All columns have the same length, at most [`ROWS`].
///
/// SQLite takes a list of values for a million rows. Against a table whose statistics name fewer it would read that
/// whole table for each statement, so the limit says how many there are.
pub(crate) fn push_rows(q: &mut Q, is_postgres: bool, columns: Vec<(&str, Column)>) {
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    if is_postgres {
        let (places, args): (Vec<&str>, Vec<Arg>) = columns.into_iter().map(|(_, c)| c.array()).unzip();
        q.push(&format!("unnest({}) AS v ({})", places.join(", "), names.join(", ")));
        for arg in args {
            q.arg(arg);
        }
        return;
    }
    let rows = columns.first().map_or(0, |(_, column)| column.len());
    let renamed: Vec<String> =
        names.iter().enumerate().map(|(i, name)| format!("column{} AS {name}", i + 1)).collect();
    let row = format!("({})", vec!["?"; columns.len()].join(", "));
    let (renamed, listed) = (renamed.join(", "), vec![row; rows].join(", "));
    q.push(&format!("(SELECT {renamed} FROM (VALUES {listed}) LIMIT {rows}) AS v"));
    for i in 0..rows {
        for (_, column) in &columns {
            q.arg(column.value(i));
        }
    }
}

#[cfg(test)]
mod tests {
    //! SQLite has statistics of a large fleet here: for a join without an order it takes a list of values for a million
    //! rows, and would read a whole table, or all of an index, for each statement.

    use super::*;
    use crate::{Db, Options, catalogue};

    /// A database whose statistics name 100,000 rows of each table.
    async fn of_a_large_fleet(dir: &std::path::Path) -> Db {
        let options = Options::new(format!("sqlite:{}", dir.join("t.db").display()));
        let db = Db::open(&options).await.unwrap();
        db.migrate().await.unwrap();
        let mut tx = db.begin().await.unwrap();
        for statement in [
            "ANALYZE",
            "DELETE FROM sqlite_stat1",
            "INSERT INTO sqlite_stat1 (tbl, idx, stat) SELECT t.name, i.name, \
             CASE WHEN i.sql IS NULL THEN '100000 1 1 1 1 1' ELSE '100000 1000 100 10 1 1' END FROM sqlite_schema t \
             JOIN sqlite_schema i ON i.tbl_name = t.name AND i.type = 'index' WHERE t.type = 'table'",
        ] {
            Q::new(statement).run(&mut tx).await.unwrap();
        }
        tx.commit().await.unwrap();
        // SQLite reads its statistics when it opens the file.
        db.close().await;
        Db::open(&options).await.unwrap()
    }

    /// How SQLite joins three given ids to a table of a large fleet.
    async fn plan(before: &str, after: &str) -> String {
        let dir = tempfile::tempdir().unwrap();
        let db = of_a_large_fleet(dir.path()).await;
        let mut q = Q::new("EXPLAIN QUERY PLAN ");
        q.push(before);
        push_rows(&mut q, false, vec![("id", Column::Ids(vec![Uuid::nil(); 3]))]);
        q.push(after);
        let lines: Vec<(i64, i64, i64, String)> = q.all(&db).await.unwrap();
        db.close().await;
        lines.into_iter().map(|line| line.3 + "\n").collect()
    }

    #[tokio::test]
    async fn sqlite_reads_a_large_table_by_the_given_rows_alone() {
        for (before, after) in [
            ("SELECT s.name FROM ", " JOIN systems s ON s.id = v.id"),
            ("UPDATE system_activity AS a SET status = 1 FROM ", " WHERE a.system_id = v.id"),
            ("UPDATE router_alerts AS a SET group_id = '' FROM ", " WHERE a.organization_id = v.id"),
            ("DELETE FROM link_alerts WHERE system_id IN (SELECT v.id FROM ", ")"),
        ] {
            let plan = plan(before, after).await;
            assert!(!plan.contains("BLOOM FILTER ON") && !plan.contains("AUTOMATIC"), "{before}: {plan}");
            assert!(plan.contains("SEARCH "), "{before}: {plan}");
        }
    }

    /// Statements that count all systems, and so read all of them.
    const OF_ALL: [&str; 1] = ["systems::status::COUNT_ALL"];

    #[tokio::test]
    async fn no_fixed_statement_reads_a_whole_table_to_join_it() {
        let dir = tempfile::tempdir().unwrap();
        let db = of_a_large_fleet(dir.path()).await;
        let mut wrong = Vec::new();
        for (name, text) in catalogue::statements().filter(|(name, _)| !OF_ALL.contains(name)) {
            let plan = format!("EXPLAIN QUERY PLAN {}", Q::new(text).text_for(false));
            let lines: Vec<(i64, i64, i64, String)> = Q::new(&plan).all(&db).await.unwrap();
            let joins = lines.into_iter().map(|line| line.3);
            let joins = joins.filter(|line| line.contains("BLOOM FILTER ON") || line.contains("AUTOMATIC"));
            wrong.extend(joins.map(|line| format!("{name}: {line}")));
        }
        db.close().await;
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
