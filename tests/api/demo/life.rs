//! A demo database stays alive while the service runs, and nothing of that happens on any other database.

use super::{count, fill};
use bailiwick_alerts::liveness_monitor;
use bailiwick_demo::{Plan, life};
use bailiwick_fleet::inventory;
use bailiwick_store::sql::Q;
use bailiwick_testkit::{Test, api_test};
use serde_json::Value;
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 3600);
const PLAN: Plan = Plan { organizations: 12, systems: 150, users: Some(12), applications: true, seed: 1 };

/// Fills the database and lets it have lived for that time.
pub(super) async fn wake(t: &Test, history: Duration) {
    fill(t, PLAN).await;
    let now = t.app.platform.now();
    let set = |time: Option<bailiwick_domain::Ts>| t.clock.set(time.unwrap_or(now));
    life::wake(&t.app.alerts, PLAN.seed, history, &set, &mut |_, _| {}).await.unwrap();
    assert_eq!(t.app.platform.now(), now, "the clock shows the present again");
}

/// As the service does all the time.
async fn live(t: &Test, steps: u32, length: Duration) {
    for _ in 0..steps {
        t.advance(length);
        life::step(&t.app.alerts).await.unwrap();
        inventory::run_until_idle(&t.app.fleet).await.unwrap();
    }
    liveness_monitor::check(&t.app.alerts).await.unwrap();
}

async fn get(t: &Test, path: &str) -> Value {
    let token = t.owner().await.token;
    t.get(path).bearer(&token).send().await.expect(200).json()["data"].clone()
}

async fn statuses(t: &Test) -> (u64, u64) {
    let totals = get(t, "/api/systems/totals").await;
    (totals["active"].as_u64().unwrap(), totals["inactive"].as_u64().unwrap())
}

const FIRING: &str = "SELECT CAST(COUNT(*) AS BIGINT) FROM alert_history WHERE status = 'firing' \
     AND alertname <> 'LinkFailed'";

api_test!(a_demo_database_is_alive_after_an_hour_and_after_days_without_the_service, |t| async move {
    wake(&t, 3 * DAY).await;
    live(&t, 12, 5 * MINUTE).await;
    let (active, inactive) = statuses(&t).await;
    assert!(active > 110 && inactive < 8, "{active} {inactive}");
    let firing = count(&t.app.platform.db, FIRING).await;
    assert!((3..40).contains(&firing), "{firing}");
    t.advance(5 * DAY);
    liveness_monitor::check(&t.app.alerts).await.unwrap();
    assert!(statuses(&t).await.0 == 0, "nothing was sent while the service did not run");
    live(&t, 6, 5 * MINUTE).await;
    let (active, inactive) = statuses(&t).await;
    assert!(active > 110 && inactive < 8, "{active} {inactive}");
    assert!((3..40).contains(&count(&t.app.platform.db, FIRING).await));
});

api_test!(a_woken_demo_has_a_past, |t| async move {
    wake(&t, 10 * DAY).await;
    let db = &t.app.platform.db;
    let documents = count(db, "SELECT CAST(COUNT(*) AS BIGINT) FROM inventory_records").await;
    assert!(documents > 150, "{documents}");
    let changes = count(db, "SELECT CAST(COUNT(*) AS BIGINT) FROM inventory_diffs").await;
    assert!(changes > 50, "{changes}");
    let now = t.app.platform.now();
    let days: Vec<(i64, i64)> =
        Q::new("SELECT day, CAST(SUM(resolved) AS BIGINT) FROM alert_history_days GROUP BY day")
            .all(db)
            .await
            .unwrap();
    assert!(days.len() >= 10, "each day has ended alerts: {days:?}");
    let ahead =
        Q::new("SELECT CAST(COUNT(*) AS BIGINT) FROM alert_history WHERE starts_at > ? OR created_at > ?");
    assert_eq!(ahead.bind(now).bind(now).count(db).await.unwrap(), 0);
    let names = count(db, "SELECT CAST(COUNT(DISTINCT alertname) AS BIGINT) FROM alert_history").await;
    assert!(names >= 10, "{names}");
    let silences = count(db, "SELECT CAST(COUNT(*) AS BIGINT) FROM router_silences").await;
    assert!(silences >= 1, "{silences}");
    assert_eq!(count(db, "SELECT CAST(COUNT(*) AS BIGINT) FROM inventory_queue").await, 0);
    assert_eq!(count(db, "SELECT CAST(COUNT(*) AS BIGINT) FROM router_failures").await, 0);
    assert_eq!(count(db, "SELECT CAST(COUNT(*) AS BIGINT) FROM jobs WHERE kind = 'mail'").await, 0);
    crate::applications::figures_are_true(&t).await;
});

api_test!(documents_come_every_day_and_most_of_them_say_nothing_new, |t| async move {
    wake(&t, Duration::ZERO).await;
    let documents =
        async || count(&t.app.platform.db, "SELECT CAST(COUNT(*) AS BIGINT) FROM inventory_records").await;
    live(&t, 26, 60 * MINUTE).await;
    let first = documents().await;
    assert!(first > 100, "{first}");
    let stale = Q::new("SELECT CAST(COUNT(*) AS BIGINT) FROM system_activity WHERE last_inventory > ?");
    let recent =
        stale.bind(t.app.platform.now().minus(DAY + 60 * MINUTE)).count(&t.app.platform.db).await.unwrap();
    assert!(recent > 100, "{recent}");
    live(&t, 26, 60 * MINUTE).await;
    let second = documents().await - first;
    assert!((1..60).contains(&second), "{second}");
});

api_test!(nothing_runs_on_another_database, |t| async move {
    let tree = t.tree().await;
    let system = t.system(tree.customer).await;
    t.post("/systems/heartbeat").basic(&system.key, &system.secret).send().await.expect(200);
    t.advance(60 * MINUTE);
    assert_eq!(life::step(&t.app.alerts).await.unwrap(), 0);
    let leases = "SELECT CAST(COUNT(*) AS BIGINT) FROM leases WHERE name = 'demo'";
    assert_eq!(count(&t.app.platform.db, leases).await, 0, "not even the lease is taken");
    let query = "SELECT CAST(COUNT(*) AS BIGINT) FROM system_activity WHERE last_heartbeat > ?";
    assert_eq!(
        Q::new(query).bind(t.app.platform.now().minus(MINUTE)).count(&t.app.platform.db).await.unwrap(),
        0
    );
});

api_test!(systems_that_were_not_made_stay_as_they_are, |t| async move {
    let tree = t.tree().await;
    let system = t.system(tree.customer).await;
    t.post("/systems/heartbeat").basic(&system.key, &system.secret).send().await.expect(200);
    let heartbeat_at = t.app.platform.now();
    wake(&t, DAY).await;
    live(&t, 12, 5 * MINUTE).await;
    let own = "SELECT CAST(COUNT(*) AS BIGINT) FROM system_activity a JOIN systems s ON s.id = a.system_id \
         WHERE s.system_key = ? AND a.last_heartbeat = ? AND a.last_inventory IS NULL";
    assert_eq!(Q::new(own).bind(&system.key).bind(heartbeat_at).count(&t.app.platform.db).await.unwrap(), 1);
    let alerts = "SELECT CAST(COUNT(*) AS BIGINT) FROM alert_history WHERE system_key = ? \
         AND alertname <> 'LinkFailed'";
    assert_eq!(Q::new(alerts).bind(&system.key).count(&t.app.platform.db).await.unwrap(), 0);
});

api_test!(a_load_that_was_not_woken_stands_still, |t| async move {
    fill(&t, PLAN).await;
    t.advance(60 * MINUTE);
    assert_eq!(life::step(&t.app.alerts).await.unwrap(), 0);
    assert_eq!(count(&t.app.platform.db, "SELECT CAST(COUNT(*) AS BIGINT) FROM alert_history").await, 0);
});

api_test!(one_process_of_several_keeps_it_alive, |t| async move {
    wake(&t, Duration::ZERO).await;
    let other = t.replica().await;
    // The documents wait: on SQLite work on them by one process keeps the other one from writing for long.
    let _turns = (t.app.fleet.ingest().hold_worker().await, other.app.fleet.ingest().hold_worker().await);
    t.advance(10 * MINUTE);
    assert!(life::step(&t.app.alerts).await.unwrap() > 100);
    t.advance(MINUTE);
    assert_eq!(life::step(&other.app.alerts).await.unwrap(), 0);
    t.advance(10 * MINUTE);
    assert!(life::step(&other.app.alerts).await.unwrap() > 100, "the lease has ended");
});
