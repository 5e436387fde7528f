//! Work that a clock has put off while it was ahead is done soon after the clock is set back, not at the time that the
//! clock meant.

use crate::ingest::changes::firewall;
use bailiwick_domain::{JobId, Ts};
use bailiwick_fleet::inventory;
use bailiwick_platform::clock_skew;
use bailiwick_store::{
    jobs::{self, NewJob},
    sql::Q,
};
use bailiwick_testkit::{Test, api_test};
use serde_json::json;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

/// Runs the statement with that time.
async fn write(t: &Test, text: &str, time: Ts) {
    let mut tx = t.app.platform.db.begin().await.unwrap();
    Q::new(text).bind(time).run(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
}

/// Two documents of one system, of which the second waits for the first.
pub(crate) async fn two_documents(t: &Test) {
    let system = t.system(t.tree().await.customer).await;
    for version in ["8.1.0", "8.2.0"] {
        let call = t.post("/systems/inventory").basic(&system.key, &system.secret);
        call.body(firewall(version, &[])).send().await.expect(202);
    }
}

api_test!(a_job_that_a_clock_ahead_has_put_off_is_due_at_once, |t| async move {
    let now = t.app.platform.now();
    let mut tx = t.app.platform.db.begin().await.unwrap();
    // The second one as far ahead as jobs are put off.
    for (n, ahead) in [(1, 4 * HOUR + 31 * SECOND), (2, 4 * HOUR + 30 * SECOND)] {
        let (id, next_at) = (JobId(uuid::Uuid::from_u128(n)), now.plus(ahead));
        let job = NewJob { id, kind: "test", key: None, payload: json!({}), next_at, at: now };
        jobs::enqueue(&mut tx, job).await.unwrap();
    }
    tx.commit().await.unwrap();
    assert_eq!(clock_skew::set_back(&t.app.platform, bailiwick_app::LONGEST_WAITS).await.unwrap(), 1);
    let due = jobs::claim(&t.app.platform.db, "test", now, now.plus(SECOND), 9).await.unwrap();
    assert_eq!(due.iter().map(|job| job.id.0.as_u128()).collect::<Vec<_>>(), [1]);
    assert_eq!(clock_skew::set_back(&t.app.platform, bailiwick_app::LONGEST_WAITS).await.unwrap(), 0);
});

api_test!(a_document_that_a_clock_ahead_has_put_off_holds_none_up, |t| async move {
    let turn = t.app.fleet.ingest().hold_worker().await;
    two_documents(&t).await;
    let first = "UPDATE inventory_queue SET next_at = ? WHERE id = (SELECT MIN(id) FROM inventory_queue)";
    write(&t, first, t.app.platform.now().plus(24 * HOUR)).await;
    drop(turn);
    let waiting = async || {
        inventory::run_until_idle(&t.app.fleet).await.unwrap();
        Q::new("SELECT COUNT(*) FROM inventory_queue").count(&t.app.platform.db).await.unwrap()
    };
    assert_eq!(waiting().await, 2);
    assert_eq!(clock_skew::set_back(&t.app.platform, bailiwick_app::LONGEST_WAITS).await.unwrap(), 1);
    assert_eq!(waiting().await, 0);
});
