//! The audit record of each scope, with each filter, among 200,000 rows.

use super::*;
use bailiwick_store::audit::listing::{Filter, page, page_query};

/// Each organization has its share of the rows, each user theirs, and 200 actions and 20,000 objects take turns.
const ROWS: [&str; 2] = [
    "INSERT INTO audit_log (at, actor_user_id, actor_organization_id, p2, p3, action, object_type, object_id) \
     SELECT CAST('2026-01-01' AS timestamptz) + n * interval '1 second', u.id, u.organization_id, u.p2, u.p3, \
     'system.' || (n % 200), 'system', CAST(lpad(to_hex(n % 20000), 32, '0') AS uuid) \
     FROM generate_series(1, 50000) n JOIN (SELECT id, organization_id, p2, p3, \
     ROW_NUMBER() OVER (ORDER BY id) AS number FROM users) u ON u.number = 1 + n % (SELECT COUNT(*) FROM users)",
    "ANALYZE",
];

/// A page, and what its filters throw away. Of a person or an organization with some hundred rows, the planner may read all
/// and sort them: that costs less than it looks. Those of a distributor are far more.
const MOST: u64 = 1_000;

fn filters(actor: Uuid) -> Vec<(&'static str, Filter)> {
    let (action, actor) = (Some("system.7".to_owned()), Some(actor));
    let (since, until) = ("2026-01-01T10:00:00Z".parse().ok(), "2026-01-02T00:00:00Z".parse().ok());
    let object = Some(Uuid::from_u128(7));
    vec![
        ("none", Filter::default()),
        ("action", Filter { action: action.clone(), ..Filter::default() }),
        ("actor", Filter { actor, ..Filter::default() }),
        ("object", Filter { object, ..Filter::default() }),
        ("time", Filter { since, until, ..Filter::default() }),
        ("actor and action", Filter { actor, action, ..Filter::default() }),
    ]
}

fn scopes(home: Uuid, p2: Uuid, p3: Uuid) -> [(&'static str, Scope); 4] {
    [
        ("owner", Scope::Everything),
        ("distributor", Scope::Subtree { root: OrgId(p2), org_type: OrgType::Distributor }),
        ("reseller", Scope::Subtree { root: OrgId(p3), org_type: OrgType::Reseller }),
        ("customer", Scope::Organization(OrgId(home))),
    ]
}

#[tokio::test]
async fn a_page_of_the_audit_record_is_an_index_range_on_sqlite() {
    let dir = tempfile::tempdir().unwrap();
    let db = Db::open(&Options::new(format!("sqlite:{}", dir.path().join("t.db").display()))).await.unwrap();
    db.migrate().await.unwrap();
    let id = Uuid::from_u128(9);
    let mut wrong = Vec::new();
    for (caller, scope) in scopes(id, id, id) {
        for (named, filter) in filters(id) {
            let mut q = Q::new("EXPLAIN QUERY PLAN ");
            q.append(page_query(&scope, &filter, Some((Ts(1), 1)), 21));
            let lines: Vec<(i64, i64, i64, String)> = q.all(&db).await.unwrap();
            for (.., line) in lines {
                if line.starts_with("SCAN a") && !line.contains(" USING ")
                    || line == "USE TEMP B-TREE FOR ORDER BY"
                {
                    wrong.push(format!("{named} as {caller}: {line}"));
                }
            }
        }
    }
    db.close().await;
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_of_the_audit_record_is_an_index_range() {
    let cluster = Cluster::start().await.unwrap();
    let plan = Plan { organizations: 200, systems: 100, users: Some(400), applications: false, seed: 1 };
    let db = fill_with(&cluster, &plan).await;
    load(&db, &ROWS).await;
    let (actor, home, p2, p3): (Uuid, Uuid, Uuid, Uuid) = Q::new(
        "SELECT u.id, u.organization_id, u.p2, u.p3 FROM users u JOIN organizations o ON o.id = u.organization_id \
         WHERE o.type = 'customer' AND u.p3 <> u.p2 ORDER BY u.id LIMIT 1",
    )
    .one(&db)
    .await
    .unwrap();
    db.close().await;
    let db = observed(&cluster).await;
    let (scopes, filters) = (scopes(home, p2, p3), filters(actor));
    let mut labels = Vec::new();
    for (caller, scope) in &scopes {
        for (named, filter) in &filters {
            let label = format!("{named} as {caller}");
            mark(&db, &label).await;
            for _ in 0..REPEATS {
                page(&db, scope, filter, None, 21).await.unwrap();
            }
            labels.push(label);
        }
    }
    db.close().await;
    let plans = plans(&cluster.log());
    let mut wrong = Vec::new();
    for label in labels {
        let of_label: Vec<_> = plans.iter().filter(|(l, _)| *l == label).collect();
        assert!(of_label.len() >= REPEATS, "{label}: {}", of_label.len());
        for (_, plan) in of_label {
            reads_much(&plan["Plan"], &label, &mut wrong);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn reads_much(node: &Value, label: &str, wrong: &mut Vec<String>) {
    let loops = number(node, "Actual Loops").max(1);
    let read = (number(node, "Actual Rows") + number(node, "Rows Removed by Filter")) * loops;
    if node["Relation Name"] == "audit_log" && read > MOST {
        wrong.push(format!("{label}: {} reads {read} rows", node["Node Type"]));
    }
    for child in node["Plans"].as_array().into_iter().flatten() {
        reads_much(child, label, wrong);
    }
}
