//! Leases of jobs on SQLite.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use bailiwick_domain::{JobId, Ts};
use bailiwick_store::{
    Db, Options,
    jobs::{self, NewJob},
};
use serde_json::json;
use uuid::Uuid;

async fn open() -> (tempfile::TempDir, Db) {
    let dir = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", dir.path().join("t.db").display());
    let db = Db::open(&Options::new(url)).await.unwrap();
    db.migrate().await.unwrap();
    (dir, db)
}

async fn enqueue(db: &Db, n: u128, key: Option<&str>, next_at: i64) {
    let mut tx = db.begin().await.unwrap();
    let job = NewJob {
        id: JobId(Uuid::from_u128(n)),
        kind: "mail",
        key: key.map(str::to_owned),
        payload: json!({ "n": n.to_string() }),
        next_at: Ts(next_at),
        at: Ts(0),
    };
    jobs::enqueue(&mut tx, job).await.unwrap();
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn a_lease_keeps_others_away_until_it_ends() {
    let (_dir, db) = open().await;
    enqueue(&db, 1, None, 10).await;
    assert_eq!(jobs::claim(&db, "mail", Ts(9), Ts(20), 5).await.unwrap(), []);
    assert_eq!(jobs::claim(&db, "other", Ts(10), Ts(20), 5).await.unwrap(), []);
    let first = jobs::claim(&db, "mail", Ts(10), Ts(20), 5).await.unwrap();
    assert_eq!((first.len(), first[0].attempts), (1, 1));
    assert_eq!(jobs::claim(&db, "mail", Ts(19), Ts(30), 5).await.unwrap(), []);
    let second = jobs::claim(&db, "mail", Ts(20), Ts(30), 5).await.unwrap();
    assert_eq!(second[0].attempts, 2);
    let mut tx = db.begin().await.unwrap();
    assert!(!jobs::finish(&mut tx, &first[0]).await.unwrap(), "the first lease is over");
    assert!(jobs::postpone(&mut tx, &second[0], Ts(50), "no answer").await.unwrap());
    tx.commit().await.unwrap();
    assert_eq!(jobs::claim(&db, "mail", Ts(49), Ts(60), 5).await.unwrap(), []);
    let third = jobs::claim(&db, "mail", Ts(50), Ts(60), 5).await.unwrap();
    let mut tx = db.begin().await.unwrap();
    assert!(jobs::finish(&mut tx, &third[0]).await.unwrap());
    tx.commit().await.unwrap();
    assert_eq!(jobs::claim(&db, "mail", Ts(100), Ts(110), 5).await.unwrap(), []);
}

#[tokio::test]
async fn one_job_for_a_key_and_a_new_one_outlives_the_running_one() {
    let (_dir, db) = open().await;
    enqueue(&db, 1, Some("a"), 0).await;
    enqueue(&db, 2, Some("a"), 0).await;
    enqueue(&db, 3, Some("b"), 0).await;
    let running = jobs::claim(&db, "mail", Ts(1), Ts(20), 5).await.unwrap();
    assert_eq!(running.len(), 2);
    let a = running.iter().find(|j| j.key.as_deref() == Some("a")).unwrap();
    assert_eq!(a.payload["n"], "2");
    enqueue(&db, 4, Some("a"), 5).await;
    let mut tx = db.begin().await.unwrap();
    assert!(!jobs::finish(&mut tx, a).await.unwrap(), "what was enqueued meanwhile stays");
    tx.commit().await.unwrap();
    let again = jobs::claim(&db, "mail", Ts(5), Ts(20), 1).await.unwrap();
    assert_eq!((again[0].payload["n"].as_str(), again[0].attempts), (Some("4"), 1));
}
