//! The due deliveries of a subscription, and the start of a replay, among 100,000 events of which half wait.

use super::*;
use bailiwick_store::events::{
    Visibility, deliveries, first_since,
    subscriptions::{FAILING, STANDING, count_of},
};

const ROWS: [&str; 4] = [
    "INSERT INTO events (seq, id, at, type, organization_id, p2, p3, object_id, data) \
     SELECT n, gen_random_uuid(), CAST('2026-03-01' AS timestamptz) + n * interval '1 second', 'system.updated', o.id, \
     o.p2, o.p3, '', '{}' FROM (SELECT id, p2, p3 FROM organizations WHERE type = 'customer' ORDER BY id LIMIT 1) o \
     CROSS JOIN generate_series(1, 50000) n",
    "INSERT INTO event_subscriptions (id, organization_id, p2, p3, name, url, secret, types, is_enabled, next_at, \
     created_at, updated_at) SELECT gen_random_uuid(), o.id, o.p2, o.p3, '', '', '', '[]', true, '2026-03-01', \
     '2026-03-01', '2026-03-01' FROM organizations o CROSS JOIN generate_series(1, 2) WHERE o.type = 'owner'",
    "INSERT INTO event_deliveries (subscription_id, event_seq, state, attempts, next_at, created_at) \
     SELECT s.id, e.seq, CASE WHEN e.seq <= 25000 THEN 'delivered' ELSE 'pending' END, 0, e.at, e.at \
     FROM event_subscriptions s CROSS JOIN events e",
    "ANALYZE",
];

/// A batch, whatever waits behind it.
const BATCH: i64 = 16;
/// The batch, and the rows that are out of order around a time.
const MOST: u64 = 200;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_of_deliveries_costs_what_it_holds() {
    let cluster = Cluster::start().await.unwrap();
    let plan = Plan { organizations: 100, systems: 100, users: None, applications: false, seed: 1 };
    let db = fill_with(&cluster, &plan).await;
    load(&db, &ROWS).await;
    let (id,): (Uuid,) = Q::new("SELECT id FROM event_subscriptions LIMIT 1").one(&db).await.unwrap();
    db.close().await;
    let db = observed(&cluster).await;
    let sight = Visibility { scope: Scope::Everything, types: vec!["system.updated".to_owned()], own: None };
    let now: Ts = "2026-04-01T00:00:00Z".parse().unwrap();
    mark(&db, "due").await;
    for _ in 0..REPEATS {
        let due = deliveries::due(&db, id, &sight, now, BATCH).await.unwrap();
        assert_eq!((due.len(), due[0].seq), (16, 25_001));
    }
    mark(&db, "since").await;
    for hour in 1..=REPEATS as u32 {
        let since =
            Ts::from_secs("2026-03-01T00:00:00Z".parse::<Ts>().unwrap().secs() + i64::from(hour) * 3600);
        assert_eq!(first_since(&db, since).await.unwrap(), Some(i64::from(hour) * 3600));
    }
    db.close().await;
    let plans = plans(&cluster.log());
    let mut wrong = Vec::new();
    for label in ["due", "since"] {
        let of_label: Vec<_> = plans.iter().filter(|(l, _)| l == label).collect();
        assert!(of_label.len() >= REPEATS, "{label}: {}", of_label.len());
        for (_, plan) in of_label {
            reads_much(&plan["Plan"], label, &mut wrong);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Without figures about webhooks, which were none at the last ANALYZE, SQLite would read 20,000 organizations.
#[tokio::test]
async fn lists_of_webhooks_begin_with_the_webhooks_on_sqlite() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options::new(format!("sqlite:{}", dir.path().join("t.db").display()));
    let db = Db::open(&options).await.unwrap();
    db.migrate().await.unwrap();
    let mut tx = db.begin().await.unwrap();
    Q::new("ANALYZE").run(&mut tx).await.unwrap();
    for stat in ["'organizations_type_name', '20000 501 2 1'", "'organizations_marked', '345 173 1'"] {
        Q::new(&format!("INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('organizations', {stat})"))
            .run(&mut tx)
            .await
            .unwrap();
    }
    tx.commit().await.unwrap();
    db.close().await;
    // SQLite reads its statistics when it opens the file.
    let db = Db::open(&options).await.unwrap();
    let below = Scope::Subtree { root: OrgId(Uuid::from_u128(9)), org_type: OrgType::Distributor };
    for condition in [FAILING, STANDING] {
        for scope in [&Scope::Everything, &below] {
            let mut q = Q::new("EXPLAIN QUERY PLAN ");
            q.append(count_of(condition, scope));
            let lines: Vec<(i64, i64, i64, String)> = q.all(&db).await.unwrap();
            let first = &lines[0].3;
            assert!(first.contains(" s USING ") || first == "SCAN s", "{condition}, {scope:?}: {lines:?}");
            let is_small = condition == FAILING && *scope == Scope::Everything;
            assert!(!is_small || first.ends_with("event_subscriptions_failing"), "{lines:?}");
        }
    }
    // Without the order of the tables, these figures make SQLite begin with the organizations.
    let text = count_of(FAILING, &Scope::Everything).text_for(false).replace("CROSS JOIN", "JOIN");
    let lines: Vec<(i64, i64, i64, String)> =
        Q::new(&format!("EXPLAIN QUERY PLAN {text}")).all(&db).await.unwrap();
    assert!(lines[0].3.starts_with("SCAN o"), "{lines:?}");
    db.close().await;
}

fn reads_much(node: &Value, label: &str, wrong: &mut Vec<String>) {
    let relation = node["Relation Name"].as_str().unwrap_or_default();
    let loops = number(node, "Actual Loops").max(1);
    let read = (number(node, "Actual Rows") + number(node, "Rows Removed by Filter")) * loops;
    if relation.starts_with("event") && read > MOST {
        wrong.push(format!("{label}: {} reads {read} rows of {relation}", node["Node Type"]));
    }
    for child in node["Plans"].as_array().into_iter().flatten() {
        reads_much(child, label, wrong);
    }
}
