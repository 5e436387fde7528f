//! The same statements on SQLite, by the plans it makes.

use super::{
    super::*,
    fill::{self, QUEUES},
};
use bailiwick_store::catalogue;

/// What SQLite believes of each index of a queue: rows, and how many of them are alike.
const BELIEFS: [Option<&str>; 3] = [None, Some("1 1 1 1"), Some("1000000 500000 1000 10")];

/// From the first row on, which is the order of their key.
const BY_ROWID: [&str; 3] = ["events::number::WAITING", "events::number::TAKE", "stats::EVENTS"];

#[tokio::test]
async fn queues_are_read_by_index_on_sqlite() {
    let mut wrong = Vec::new();
    for belief in BELIEFS {
        let dir = tempfile::tempdir().unwrap();
        let options = Options::new(format!("sqlite:{}", dir.path().join("t.db").display()));
        let db = Db::open(&options).await.unwrap();
        db.migrate().await.unwrap();
        if let Some(belief) = belief {
            let mut tx = db.begin().await.unwrap();
            Q::new("ANALYZE").run(&mut tx).await.unwrap();
            Q::new("DELETE FROM sqlite_stat1").run(&mut tx).await.unwrap();
            let named = format!(
                "INSERT INTO sqlite_stat1 (tbl, idx, stat) SELECT t.name, i.name, '{belief}' FROM sqlite_schema t \
                 JOIN sqlite_schema i ON i.tbl_name = t.name AND i.type = 'index' WHERE t.name IN ('{}')",
                QUEUES.join("', '")
            );
            Q::new(&named).run(&mut tx).await.unwrap();
            tx.commit().await.unwrap();
        }
        // SQLite reads its statistics when it opens the file, so reopening makes it forget the old ones.
        db.close().await;
        let db = Db::open(&options).await.unwrap();
        for (name, text) in catalogue::statements() {
            if BY_ROWID.contains(&name) || !fill::is_looked_at(name, text) {
                continue;
            }
            let plan = format!("EXPLAIN QUERY PLAN {}", Q::new(text).text_for(false));
            let lines: Vec<(i64, i64, i64, String)> = Q::new(&plan).all(&db).await.unwrap();
            for (.., line) in lines {
                // Those with one letter are rows of the statement's own.
                let of_its_own = ["SCAN t", "SCAN w", "SCAN e", "SCAN j", "SCAN r", "SCAN p", "SCAN d"];
                let scans = line.starts_with("SCAN ")
                    && !line.contains(" USING ")
                    && !line.contains("CONSTANT ROW")
                    && !of_its_own.contains(&line.as_str());
                if scans || line == "USE TEMP B-TREE FOR ORDER BY" {
                    wrong.push(format!("{name} ({belief:?}): {line}"));
                }
            }
        }
        db.close().await;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
