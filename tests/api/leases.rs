//! Work that one process of several does: a lease keeps the others away, one that no clock can have meant does not.

use crate::clock_skew::two_documents;
use bailiwick_app::App;
use bailiwick_domain::{Error, Result};
use bailiwick_fleet::inventory;
use bailiwick_platform::tasks::{self, Processes, Task, TaskStats};
use bailiwick_store::{leases, sql::Q};
use bailiwick_testkit::{api_test, eventually};
use std::time::Duration;
use uuid::Uuid;

const SECOND: Duration = Duration::from_secs(1);

api_test!(a_lease_of_a_clock_that_was_set_back_is_none, |t| async move {
    let [dead, alive] = [1, 2].map(Uuid::from_u128);
    let now = t.app.platform.now();
    let take = async |holder: Uuid, from: Duration| {
        let began = now.plus(from);
        leases::take(&t.app.platform.db, "work", holder, began, began.plus(60 * SECOND)).await.unwrap()
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
    let turn = t.app.fleet.ingest().hold_worker().await;
    two_documents(&t).await;
    let waiting =
        async || Q::new("SELECT COUNT(*) FROM inventory_queue").count(&t.app.platform.db).await.unwrap();
    let lease = async |ahead: Duration| {
        let mut tx = t.app.platform.db.begin().await.unwrap();
        let until = t.app.platform.now().plus(ahead);
        let first =
            "UPDATE inventory_queue SET claimed_until = ? WHERE id = (SELECT MIN(id) FROM inventory_queue)";
        Q::new(first).bind(until).run(&mut tx).await.unwrap();
        tx.commit().await.unwrap();
        waiting().await
    };
    // As the workers' leases are, and as none can be.
    assert_eq!(lease(10 * SECOND).await, 2);
    drop(turn);
    inventory::run_until_idle(&t.app.fleet).await.unwrap();
    let turn = t.app.fleet.ingest().hold_worker().await;
    assert_eq!(lease(24 * 3600 * SECOND).await, 2);
    drop(turn);
    inventory::run_until_idle(&t.app.fleet).await.unwrap();
    assert_eq!(waiting().await, 0);
});

/// A task that works under a lease, one that fails, one whose lease another process holds, and one without a use here.
const TASKS: &[Task<App>] = &[
    task("works", Processes::One, |app| Box::pin(async { leased(app, "works").await })),
    task("fails", Processes::Each, |_| Box::pin(async { Err(Error::internal("a planted fault")) })),
    task("elsewhere", Processes::One, |app| Box::pin(async { leased(app, "elsewhere").await })),
    Task { interval: |_| None, ..task("unused", Processes::Each, |_| Box::pin(async { Ok(1) })) },
];

const fn task(name: &'static str, by: Processes, run: tasks::TaskFn<App>) -> Task<App> {
    Task { name, by, interval: |_| Some(Duration::from_millis(1)), run }
}

async fn leased(app: &App, name: &str) -> Result<u64> {
    tasks::lease(&app.platform, name, 60 * SECOND).await.map(u64::from)
}

api_test!(a_task_runs_its_runs_are_counted_and_its_lease_is_given_back, |t| async move {
    let (app, now, other) = (&t.app, t.app.platform.now(), Uuid::from_u128(1));
    assert!(leases::take(&app.platform.db, "elsewhere", other, now, now.plus(60 * SECOND)).await.unwrap());
    tasks::start(app, TASKS);
    let figures = |name| app.platform.metrics.tasks.read().get(name).copied().unwrap_or_default();
    let ran = |name| figures(name).failed + figures(name).succeeded > 2;
    eventually("runs", async || ["works", "fails", "elsewhere"].into_iter().all(ran)).await;
    assert_eq!((figures("works").failed, figures("works").last_success), (0, Some(now)));
    assert_eq!((figures("fails").succeeded, figures("fails").last_success), (0, None));
    assert_eq!(figures("unused"), TaskStats::default());
    let page = bailiwick_app::metrics::page(app, &[]).await;
    assert!(page.contains("bailiwick_task_runs_total{task=\"fails\",outcome=\"failed\"}"), "{page}");
    let held = async |name: &str| {
        let sql = "SELECT COUNT(*) FROM leases WHERE name = ?";
        Q::new(sql).bind(name).count(&app.platform.db).await.unwrap()
    };
    assert_eq!(held("works").await, 1);
    app.platform.stop.cancel();
    eventually("the release", async || held("works").await == 0).await;
    assert_eq!(held("elsewhere").await, 1, "that of another process");
});
