//! `bailiwick demo remove`: everything that was made goes, everything else stays.

use super::{count, life::wake};
use bailiwick_alerts::liveness_monitor;
use bailiwick_demo::{life, remove};
use bailiwick_domain::{Error, OrgId};
use bailiwick_fleet::inventory;
use bailiwick_store::sql::Q;
use bailiwick_testkit::{Engine, Test, api_test};
use std::{collections::BTreeMap, time::Duration};

/// The record of the removal, and the rows that every process writes about itself.
const APART: [&str; 11] = [
    "audit_log",
    "auth_changes",
    "auth_epoch",
    "event_outbox",
    "events",
    "jobs",
    "leases",
    "processes",
    "retention",
    "router_life",
    "shared_limits",
];

async fn rows(t: &Test) -> BTreeMap<String, u64> {
    let tables = match t.engine {
        Engine::Sqlite => {
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE '!_sqlx%' ESCAPE '!'"
        }
        Engine::Postgres => {
            "SELECT CAST(relname AS text) FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace \
             AND relname NOT LIKE '!_sqlx%' ESCAPE '!'"
        }
    };
    let tables: Vec<(String,)> = Q::new(tables).all(&t.app.platform.db).await.unwrap();
    let mut counts = BTreeMap::new();
    for (table,) in tables.into_iter().filter(|(table,)| !APART.contains(&table.as_str())) {
        let sql = format!("SELECT CAST(COUNT(*) AS BIGINT) FROM {table}");
        counts.insert(table, count(&t.app.platform.db, &sql).await);
    }
    counts
}

api_test!(removal_leaves_no_row, |t| async move {
    // Counters of the owner exist before, as they do after.
    let tree = t.tree().await;
    let system = t.system(tree.customer).await;
    t.post("/systems/heartbeat").basic(&system.key, &system.secret).send().await.expect(200);
    liveness_monitor::check(&t.app.alerts).await.unwrap();
    let before = rows(&t).await;
    wake(&t, Duration::from_secs(3 * 24 * 3600)).await;
    t.advance(Duration::from_secs(600));
    life::step(&t.app.alerts).await.unwrap();
    inventory::run_until_idle(&t.app.fleet).await.unwrap();
    let looked = remove::find_installation(&t.app.fleet).await.unwrap().unwrap();
    assert_eq!((looked.made.organizations, looked.made.users, looked.made.systems), (12, 12, 150));
    assert!(looked.is_pure());
    let filled = rows(&t).await;
    assert!(filled["alert_history"] > 10 && filled["inventory_records"] > 50, "{filled:?}");
    assert_eq!(remove::remove(&t.app.fleet, false).await.unwrap(), looked);
    // Rows about systems that are gone end with the monitor's next check.
    liveness_monitor::check(&t.app.alerts).await.unwrap();
    let after = rows(&t).await;
    let left: Vec<_> = after.iter().filter(|(table, n)| before.get(*table) != Some(n)).collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(remove::find_installation(&t.app.fleet).await.unwrap(), None);
    assert_eq!(life::step(&t.app.alerts).await.unwrap(), 0);
    t.get("/systems/info").basic(&system.key, &system.secret).send().await.expect(200);
});

api_test!(data_added_by_others_is_removed_on_request_only, |t| async move {
    let nothing = remove::remove(&t.app.fleet, true).await.unwrap_err();
    assert!(matches!(nothing, Error::Conflict { .. }), "{nothing}");
    wake(&t, Duration::ZERO).await;
    let (customer,): (uuid::Uuid,) = Q::new(
        "SELECT o.id FROM organizations o JOIN demo_organizations d ON d.organization_id = o.id \
         WHERE o.type = 'customer' AND o.eff_deleted_at IS NULL AND o.eff_suspended_at IS NULL ORDER BY o.id LIMIT 1",
    )
    .one(&t.app.platform.db)
    .await
    .unwrap();
    t.system(OrgId(customer)).await;
    let looked = remove::find_installation(&t.app.fleet).await.unwrap().unwrap();
    assert_eq!((looked.made.systems, looked.added.systems), (150, 1));
    let refused = remove::remove(&t.app.fleet, false).await.unwrap_err();
    assert!(matches!(refused, Error::Conflict { .. }), "{refused}");
    assert_eq!(count(&t.app.platform.db, "SELECT CAST(COUNT(*) AS BIGINT) FROM systems").await, 151);
    remove::remove(&t.app.fleet, true).await.unwrap();
    assert_eq!(count(&t.app.platform.db, "SELECT CAST(COUNT(*) AS BIGINT) FROM systems").await, 0);
    assert_eq!(count(&t.app.platform.db, "SELECT CAST(COUNT(*) AS BIGINT) FROM organizations").await, 1);
});
