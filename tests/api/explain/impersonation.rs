//! The one read of a request with an impersonation token, and the reads and writes around it, among 20,000 sessions
//! with 200,000 entries.

use super::*;
use bailiwick_domain::{ImpersonationId, UserId};
use bailiwick_store::impersonation::{
    consents,
    entries::{self, NewCall},
    sessions::{self, Side},
};

/// By ids: the requested rows, and no more.
const BY_ID: Bounds = Bounds { read: 4, sorted: 30 };
/// A page.
const PAGE_OF: Bounds = Bounds { read: 400, sorted: 200 };

const ROWS: [&str; 4] = [
    "INSERT INTO impersonation_consents (user_id, id, expires_at, max_duration_minutes, created_at) \
     SELECT id, gen_random_uuid(), CAST('2026-03-05' AS timestamptz) + random() * interval '1 day', 60, '2026-03-04' \
     FROM users",
    "INSERT INTO impersonation_sessions (id, impersonator_user_id, impersonated_user_id, impersonator_username, \
     impersonated_username, impersonator_name, impersonated_name, consent_id, chain_id, started_at, expires_at, \
     ended_at, end_cause, end_entry_id) SELECT gen_random_uuid(), u.id, v.id, '', '', '', '', gen_random_uuid(), \
     gen_random_uuid(), CAST('2026-03-01' AS timestamptz) + n * interval '1 minute', '2026-03-05', \
     CASE WHEN n > 1 THEN CAST('2026-03-04' AS timestamptz) END, CASE WHEN n > 1 THEN 'exit' END, gen_random_uuid() \
     FROM (SELECT id, row_number() OVER (ORDER BY id) AS k FROM users) u \
     JOIN (SELECT id, row_number() OVER (ORDER BY id DESC) AS k FROM users) v ON v.k = u.k AND v.id <> u.id \
     CROSS JOIN generate_series(1, 7) n",
    "INSERT INTO impersonation_entries (id, session_id, at, action_type) SELECT gen_random_uuid(), id, started_at, \
     'api_call' FROM impersonation_sessions CROSS JOIN generate_series(1, 10)",
    "ANALYZE",
];

const LARGE_HERE: [&str; 5] =
    ["users", "organizations", "impersonation_consents", "impersonation_sessions", "impersonation_entries"];

/// Reads of a table from end to end, or of more rows than allowed.
fn offends(node: &Value, bounds: Bounds, violations: &mut Vec<String>) {
    let kind = node["Node Type"].as_str().unwrap_or_default();
    let relation = node["Relation Name"].as_str().unwrap_or_default();
    let loops = number(node, "Actual Loops").max(1);
    let read = (number(node, "Actual Rows") + number(node, "Rows Removed by Filter")) * loops;
    if LARGE_HERE.contains(&relation) && (kind == "Seq Scan" || read > bounds.read) {
        violations.push(format!("{kind} reads {read} rows of {relation}"));
    }
    for child in node["Plans"].as_array().into_iter().flatten() {
        offends(child, bounds, violations);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_impersonated_request_costs_what_it_asks_for() {
    let cluster = Cluster::start().await.unwrap();
    let plan = Plan { organizations: 2_000, systems: 2_000, users: None, applications: false, seed: 1 };
    let db = fill_with(&cluster, &plan).await;
    load(&db, &ROWS).await;
    let some: Vec<(Uuid, Uuid, Uuid)> = Q::new(
        "SELECT id, impersonator_user_id, impersonated_user_id FROM impersonation_sessions \
         WHERE ended_at IS NULL ORDER BY id LIMIT 7",
    )
    .all(&db)
    .await
    .unwrap();
    assert_eq!(some.len(), REPEATS);
    db.close().await;
    let db = observed(&cluster).await;
    let now: Ts = "2026-03-04T12:00:00Z".parse().unwrap();
    mark(&db, "look").await;
    for (id, ..) in &some {
        let session = sessions::load(&db, ImpersonationId(*id)).await.unwrap().unwrap();
        assert!(
            session.impersonator.is_some() && session.impersonated.is_some() && session.consent.is_some()
        );
    }
    mark(&db, "own").await;
    for (_, actor, _) in &some {
        assert!(sessions::load_of(&db, UserId(*actor)).await.unwrap().is_some());
    }
    mark(&db, "record").await;
    for (n, (id, ..)) in (1..).zip(&some) {
        let mut tx = db.begin().await.unwrap();
        let (session, entry) = (ImpersonationId(*id), Uuid::from_u128(n));
        let call = NewCall { id: entry, session, at: now, endpoint: "/", method: "GET", data: None };
        let seq = entries::open(&mut tx, &call).await.unwrap();
        entries::complete(&mut tx, seq, Some(200), "OK", None).await.unwrap();
        tx.commit().await.unwrap();
    }
    mark(&db, "next expiry").await;
    for _ in 0..REPEATS {
        assert!(consents::next_expiry(&db, now).await.unwrap().is_some());
    }
    mark(&db, "lists").await;
    for (id, actor, target) in &some {
        for side in [Side::Impersonated, Side::Impersonator, Side::Any] {
            sessions::of_user(&db, UserId(*actor), side, PAGE).await.unwrap();
        }
        entries::of_session(&db, ImpersonationId(*id), PAGE).await.unwrap();
        let page = some.iter().map(|(_, actor, _)| UserId(*actor)).chain([UserId(*target)]);
        assert!(!consents::of_users(&db, page, now).await.unwrap().is_empty());
    }
    db.close().await;
    let mut wrong = Vec::new();
    let plans = plans(&cluster.log());
    for (label, bounds) in
        [("look", BY_ID), ("own", BY_ID), ("record", BY_ID), ("next expiry", BY_ID), ("lists", PAGE_OF)]
    {
        let of_label: Vec<_> = plans.iter().filter(|(l, _)| l == label).collect();
        assert!(of_label.len() >= REPEATS, "{label}: {}", of_label.len());
        for (_, plan) in of_label {
            let mut violations = Vec::new();
            offends(&plan["Plan"], bounds, &mut violations);
            wrong.extend(violations.into_iter().map(|what| format!("{label}: {what}")));
        }
    }
    wrong.dedup();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
