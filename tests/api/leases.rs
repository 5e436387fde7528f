//! Work that one process of several does: a lease keeps the others away, one that no clock can have meant does not.

use crate::clock_skew::two_documents;
use bailiwick_fleet::inventory;
use bailiwick_store::{leases, sql::Q};
use bailiwick_testkit::api_test;
use std::time::Duration;
use uuid::Uuid;

const SECOND: Duration = Duration::from_secs(1);

api_test!(a_lease_of_a_clock_that_was_set_back_is_none, |t| async move {
    let [dead, alive] = [1, 2].map(Uuid::from_u128);
    let now = t.app.now();
    let take = async |holder: Uuid, from: Duration| {
        let began = now.plus(from);
        leases::take(&t.app.db, "work", holder, began, began.plus(60 * SECOND)).await.unwrap()
    };
    assert!(take(dead, Duration::ZERO).await);
    assert!(!take(alive, 59 * SECOND).await);
    // The other's clock may go before this one, and it may have taken the lease for longer.
    assert!(take(dead, 90 * SECOND).await);
    assert!(!take(alive, Duration::ZERO).await);
    assert!(take(dead, 3600 * SECOND).await);
    assert!(take(alive, Duration::ZERO).await);
    assert!(!take(dead, 30 * SECOND).await);
});

api_test!(a_lease_of_a_clock_that_was_set_back_keeps_no_inventory_waiting, |t| async move {
    let turn = t.app.ingest().hold_worker().await;
    two_documents(&t).await;
    let waiting = async || Q::new("SELECT COUNT(*) FROM inventory_queue").count(&t.app.db).await.unwrap();
    let lease = async |ahead: Duration| {
        let mut tx = t.app.db.begin().await.unwrap();
        let until = t.app.now().plus(ahead);
        let first =
            "UPDATE inventory_queue SET claimed_until = ? WHERE id = (SELECT MIN(id) FROM inventory_queue)";
        Q::new(first).bind(until).run(&mut tx).await.unwrap();
        tx.commit().await.unwrap();
        waiting().await
    };
    // As the workers' leases are, and as none can be.
    assert_eq!(lease(10 * SECOND).await, 2);
    drop(turn);
    inventory::run_until_idle(&t.app).await.unwrap();
    let turn = t.app.ingest().hold_worker().await;
    assert_eq!(lease(24 * 3600 * SECOND).await, 2);
    drop(turn);
    inventory::run_until_idle(&t.app).await.unwrap();
    assert_eq!(waiting().await, 0);
});
