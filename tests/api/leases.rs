//! Work that one process of several does: a lease keeps the others away, one that no clock can have meant does not.

use crate::clock_skew::two_documents;
use bailiwick_app::App;
use bailiwick_domain::Error;
use bailiwick_fleet::inventory;
use bailiwick_platform::tasks::{self, By, Figures, Task};
use bailiwick_store::{leases, sql::Q};
use bailiwick_testkit::{api_test, eventually};
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

/// A task that does one thing, one that fails, one that another process has, and one without a use here.
const TASKS: &[Task<App>] = &[
    task("works", By::OneProcess, |_| Box::pin(async { Ok(1) })),
    task("fails", By::EachProcess, |_| Box::pin(async { Err(Error::internal("a planted fault")) })),
    task("elsewhere", By::OneProcess, |_| Box::pin(async { Ok(1) })),
    Task { interval: |_| None, ..task("unused", By::EachProcess, |_| Box::pin(async { Ok(1) })) },
];

const fn task(name: &'static str, by: By, run: tasks::Run<App>) -> Task<App> {
    Task { name, by, interval: |_| Some(Duration::from_millis(1)), run }
}

api_test!(a_task_runs_where_it_should_and_its_runs_are_counted, |t| async move {
    let (app, now) = (&t.app, t.app.now());
    let other = Uuid::from_u128(1);
    assert!(leases::take(&app.db, "elsewhere", other, now, now.plus(SECOND)).await.unwrap());
    tasks::start(app, TASKS);
    let figures = |name| app.metrics.tasks.read().get(name).copied().unwrap_or_default();
    eventually("runs", async || figures("works").succeeded > 2 && figures("fails").failed > 2).await;
    assert_eq!((figures("works").failed, figures("works").last_success), (0, Some(now)));
    assert_eq!((figures("fails").succeeded, figures("fails").last_success), (0, None));
    for name in ["elsewhere", "unused"] {
        assert_eq!(figures(name), Figures::default(), "{name}");
    }
    t.clock.advance(2 * SECOND);
    eventually("taking over", async || figures("elsewhere").succeeded > 0).await;
    let page = bailiwick_app::metrics::page(app, &[]).await;
    assert!(page.contains("bailiwick_task_runs_total{task=\"fails\",outcome=\"failed\"}"), "{page}");
    app.stop.cancel();
    let names = "SELECT COUNT(*) FROM leases WHERE name IN ('works', 'elsewhere')";
    eventually("releases", async || Q::new(names).count(&app.db).await.unwrap() == 0).await;
});
