//! The layer itself on SQLite: transactions, epochs, codecs.
#![allow(clippy::unwrap_used, reason = "a test may fail anywhere")]

use bailiwick_domain::{SystemId, Ts};
use bailiwick_store::{Db, Options, epoch::AffectedSystems, sql::Q, time::TsCodec};
use std::{
    task::{Context, Waker},
    time::Duration,
};
use uuid::Uuid;

async fn open() -> (tempfile::TempDir, Db) {
    let dir = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", dir.path().join("t.db").display());
    let db = Db::open(&Options::new(url)).await.unwrap();
    db.migrate().await.unwrap();
    (dir, db)
}

#[tokio::test]
async fn a_dropped_transaction_keeps_nothing_and_a_committed_epoch_is_seen_at_once() {
    let (_dir, db) = open().await;
    let mut tx = db.begin().await.unwrap();
    tx.bump_auth_epoch(AffectedSystems::All).await.unwrap();
    drop(tx);
    assert_eq!(db.auth_epoch().await.unwrap(), 0);
    let mut tx = db.begin_relaxed().await.unwrap();
    tx.bump_auth_epoch(AffectedSystems::All).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(db.auth_epoch().await.unwrap(), 1);
    let (n,): (i64,) = Q::new("SELECT n FROM auth_epoch").one(&db).await.unwrap();
    assert_eq!(n, 1);
}

/// What is cached of the other systems, and of this one from then on, counts.
#[tokio::test]
async fn a_process_follows_its_own_moves_of_a_database_that_has_moved_before() {
    let (_dir, db) = open().await;
    let mut tx = db.begin().await.unwrap();
    Q::new("UPDATE auth_epoch SET n = 5").run(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    let [changed, other] = [1, 2].map(|n| SystemId(Uuid::from_u128(n)));
    let before = db.auth_epoch().await.unwrap();
    let mut tx = db.begin().await.unwrap();
    tx.bump_auth_epoch(AffectedSystems::Systems(vec![changed])).await.unwrap();
    tx.commit().await.unwrap();
    let after = db.auth_epoch().await.unwrap();
    assert!(!db.is_credential_current(changed, before) && db.is_credential_current(other, before));
    assert!(db.is_credential_current(changed, after));
}

/// A caller may disconnect while the commit is in progress; committed changes take effect all the same.
#[tokio::test]
async fn an_epoch_moves_with_its_commit_even_if_no_caller_waits() {
    let (_dir, db) = open().await;
    let mut tx = db.begin().await.unwrap();
    tx.bump_auth_epoch(AffectedSystems::All).await.unwrap();
    let mut commit = Box::pin(tx.commit());
    let begun = commit.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(begun.is_pending());
    drop(commit);
    // The one writer is free again once the commit has ended.
    drop(db.begin().await.unwrap());
    let (n,): (i64,) = Q::new("SELECT n FROM auth_epoch").one(&db).await.unwrap();
    assert_eq!((n, db.auth_epoch().await.unwrap()), (1, 1));
}

#[tokio::test]
async fn times_and_json_survive() {
    let (_dir, db) = open().await;
    let row: (TsCodec, serde_json::Value) =
        Q::new("SELECT ?, ?").bind(Ts(1_234_567)).bind(serde_json::json!({"a": [1]})).one(&db).await.unwrap();
    assert_eq!(row.0.0, Ts(1_234_567));
    assert_eq!(row.1["a"][0], 1);
}

#[test]
fn migrations_are_twins() {
    let (lite, pg) = bailiwick_store::migrate::migrations();
    assert_eq!(lite, pg);
}

/// SQLite rolls a transaction back by itself where it finds no room, and the ROLLBACK after that fails.
#[tokio::test]
async fn a_full_disk_ends_one_transaction_and_no_other() {
    let (_dir, db) = open().await;
    let commit = async |statements: &[&str]| {
        let mut tx = db.begin().await?;
        for statement in statements {
            Q::new(statement).run(&mut tx).await?;
        }
        tx.commit().await
    };
    // No further page from here on, until the connection is opened anew.
    commit(&["CREATE TABLE filled (b BLOB)", "PRAGMA max_page_count = 1"]).await.unwrap();
    let big = "INSERT INTO filled VALUES (zeroblob(1000000))";
    let mut tx = db.begin().await.unwrap();
    Q::new("INSERT INTO filled VALUES (x'01')").run(&mut tx).await.unwrap();
    let full = Q::new(big).run(&mut tx).await.unwrap_err();
    assert!(full.is_write_fault() && full.is_transient(), "{full}");
    let ended = Q::new("INSERT INTO filled VALUES (x'02')").run(&mut tx).await.unwrap_err();
    assert!(ended.is_transient(), "it would be kept without the rest: {ended}");
    assert!(tx.commit().await.unwrap_err().is_transient(), "half of it is no success");
    assert_eq!(db.connections().write_faults, 1);
    assert!(db.write_fault_within(Duration::from_secs(60)).is_some_and(|why| why.contains("full")));

    commit(&[big]).await.unwrap();
    let rows = Q::new("SELECT COUNT(*) FROM filled").count(&db).await.unwrap();
    assert_eq!(rows, 1, "only what was committed");
}

/// A connection that could only read would refuse every change until a restart.
#[tokio::test]
async fn a_connection_that_can_only_read_is_opened_anew() {
    let (_dir, db) = open().await;
    let mut tx = db.begin().await.unwrap();
    Q::new("PRAGMA query_only = ON").run(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    assert!(db.begin().await.unwrap_err().is_write_fault());
    drop(db.begin().await.unwrap());
}

#[tokio::test]
async fn an_incomplete_migration_is_reported_with_its_remedy() {
    let (_dir, db) = open().await;
    let mut tx = db.begin().await.unwrap();
    let begun = "UPDATE _sqlx_migrations SET success = FALSE WHERE version = (SELECT MAX(version) FROM _sqlx_migrations)";
    assert_eq!(Q::new(begun).run(&mut tx).await.unwrap(), 1);
    tx.commit().await.unwrap();
    let error = db.migrate().await.unwrap_err().to_string();
    assert!(error.contains("was begun and not completed: restore the backup from before it"), "{error}");
}
