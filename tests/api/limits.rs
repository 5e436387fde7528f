//! The limits that hold over all processes on one database: three of them behind a balancer let no more pass than one.

use bailiwick_platform::limits::shared::{self, Window};
use bailiwick_store::sql::Q;
use bailiwick_testkit::{Engine, Reply, Test, api_test, eventually};
use futures_util::future::join_all;
use std::time::Duration;

mod credentials;
mod passwords;
mod tokens;

const MINUTE: Duration = Duration::from_secs(60);
const QUARTER: Duration = Duration::from_secs(15 * 60);

/// Three processes on the database of the first.
async fn three(t: Test) -> [Test; 3] {
    let (second, third) = (t.replica().await, t.replica().await);
    [t, second, third]
}

/// How many of the answers have this status.
fn with(status: u16, replies: &[Reply]) -> usize {
    replies.iter().filter(|reply| reply.status == status).count()
}

/// How many events the windows of all keys have counted.
async fn events(t: &Test) -> u64 {
    let sum = "SELECT CAST(SUM(LENGTH(events)) / 8 AS BIGINT) FROM shared_limits";
    Q::new(sum).count(&t.app.platform.db).await.unwrap()
}

async fn rows(t: &Test) -> u64 {
    Q::new("SELECT COUNT(*) FROM shared_limits").count(&t.app.platform.db).await.unwrap()
}

/// The table cannot be used any more.
async fn break_table(t: &Test) {
    let mut tx = t.app.platform.db.begin().await.unwrap();
    Q::new("ALTER TABLE shared_limits RENAME TO shared_limits_before").run(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
}

const CODES: Window = Window { purpose: "test codes", allowed: 10, length: QUARTER };

api_test!(a_window_holds_over_all_processes, |t| async move {
    let all = three(t).await;
    let [t, ..] = &all;
    let mut taken = Vec::new();
    for n in 0..30 {
        if let Ok(one) = CODES.take(all[n % 3].app.as_ref(), b"one").await {
            taken.push(one);
        }
    }
    assert_eq!(taken.len(), 10, "one after the other");
    let at_once = join_all((0..30).map(|n| CODES.take(all[n % 3].app.as_ref(), b"two"))).await;
    assert_eq!(at_once.iter().filter(|taken| taken.is_ok()).count(), 10, "at once");
    let refused = CODES.take(t.app.as_ref(), b"two").await.unwrap_err().to_string();
    assert!(refused.contains("too many"), "{refused}");
    // Right codes do not count, at whatever process.
    taken.into_iter().for_each(|one| one.give_back(all[2].app.as_ref()));
    eventually("they are given back", async || events(t).await == 10).await;
    assert!(CODES.take(all[1].app.as_ref(), b"one").await.is_ok());
    t.advance(QUARTER);
    assert!(CODES.take(all[0].app.as_ref(), b"two").await.is_ok());
});

api_test!(what_counts_no_more_is_removed, |t| async move {
    let other = Window { length: 4 * QUARTER, purpose: "test for an hour", ..CODES };
    for key in 0_u16..40 {
        let _counts = CODES.take(t.app.as_ref(), &key.to_be_bytes()).await.unwrap();
    }
    let _counts = other.take(t.app.as_ref(), b"one").await.unwrap();
    assert_eq!(shared::purge(t.app.as_ref()).await.unwrap(), 0);
    t.advance(QUARTER + 3 * MINUTE);
    assert_eq!(shared::purge(t.app.as_ref()).await.unwrap(), 40);
    assert_eq!(rows(&t).await, 1);
});

api_test!(without_the_table_each_process_holds_the_limit, |t| async move {
    break_table(&t).await;
    let taken = join_all((0..30).map(|_| CODES.take(t.app.as_ref(), b"one"))).await;
    assert_eq!(taken.iter().filter(|taken| taken.is_ok()).count(), 10);
});

api_test!(strangers_who_choose_keys_do_not_fill_the_table, |t| async move {
    for round in 0_u64..3 {
        let now = t.app.platform.now();
        let counts = (0..600).map(|n| {
            let key = shared::key(&t.app.platform.keys, "test", &(1_000 * round + n).to_be_bytes());
            shared::failures::count(t.app.as_ref(), key, 20, now)
        });
        assert!(join_all(counts).await.into_iter().all(|since| since.is_some_and(|since| since.count == 1)));
        t.advance(5 * MINUTE);
    }
    assert_eq!(rows(&t).await, 600, "those of the last round");
});
