//! Statements on SQLite once it has statistics of a large fleet: for a join without an order it takes a list of values for a
//! million rows, and would read a whole table, or all of an index, for each statement.

use super::*;
use bailiwick_store::catalogue;

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

/// Statements that count all systems, and so read all of them.
const OF_ALL: [&str; 1] = ["systems::status_counts::COUNTS_ANEW"];

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
