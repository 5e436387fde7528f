//! The bounds of an export: rows, bytes, and how many exports at once.

use super::{csv, get, pdf};
use bailiwick_demo::{self as demo, Plan};
use bailiwick_store::sql::Q;
use bailiwick_testkit::api_test;
use serde_json::json;

/// Rows of an export.
const MOST: u64 = 10_000;

// Proves spec: guarantees#organizations 30.
api_test!(more_than_10000_rows_are_refused, |t| async move {
    let owner = t.owner().await;
    let plan = Plan {
        organizations: 11_700,
        systems: MOST + 600,
        users: Some(MOST + 600),
        applications: false,
        seed: 1,
    };
    demo::fill(&t.app, &plan, &mut |_| {}).await.unwrap();
    for kind in ["customers", "users", "systems"] {
        let totals = get(&t, &owner, &format!("/api/{kind}?page_size=1")).await.expect(200).data();
        let total = totals["pagination"]["total_count"].as_u64().unwrap();
        assert!(total > MOST, "{kind}: {total}");
        for format in ["csv", "pdf"] {
            let reply = get(&t, &owner, &format!("/api/{kind}/export?format={format}")).await;
            let text = format!(
                "too many {kind} to export ({total}). maximum allowed: 10000. please apply more filters"
            );
            let data = reply.expect_message(400, &text).data();
            assert_eq!(data, json!({"total_count": total, "max_limit": MOST}));
        }
    }
});

api_test!(rows_of_many_bytes_are_refused, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let mut tx = t.app.db.begin().await.unwrap();
    // 40 MiB in one row: more than all rows may hold.
    let text = "x".repeat(40 * 1024 * 1024);
    Q::new("UPDATE organizations SET description = ? WHERE id = ?")
        .bind(text)
        .bind(tree.customer)
        .run(&mut tx)
        .await
        .unwrap();
    tx.commit().await.unwrap();
    for format in ["csv", "pdf"] {
        let reply = get(&t, &owner, &format!("/api/customers/export?format={format}")).await;
        let data =
            reply.expect_message(400, "customers too large to export. please apply more filters").data();
        assert_eq!(data, json!({"max_bytes": 64 * 1024 * 1024}));
    }
    csv(&t, &owner, "customers", "search=beta").await;
});

api_test!(a_report_reads_no_more_than_it_shows, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let mut tx = t.app.db.begin().await.unwrap();
    let data = json!({"vat": "IT1", "notes": "x".repeat(40 * 1024 * 1024)});
    let q = Q::new("UPDATE organizations SET custom_data = ? WHERE id = ?");
    q.bind(data).bind(tree.customer).run(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    let table = get(&t, &owner, "/api/customers/export?format=csv").await;
    table.expect_message(400, "customers too large to export. please apply more filters");
    let report = pdf(&t, &owner, "customers", "").await;
    assert!(report.contains("Alfa Customer"), "{report}");
});

api_test!(too_many_at_once_are_told_to_come_back, |t| async move {
    t.tree().await;
    let owner = t.owner().await;
    let all = t.app.exports.occupy();
    assert_eq!(all.len(), 16);
    for kind in ["customers", "users", "systems"] {
        let reply = get(&t, &owner, &format!("/api/{kind}/export?format=csv")).await;
        let reply = reply.expect_message(503, "service temporarily unavailable");
        assert_eq!(reply.header("retry-after"), Some("5"));
        // An error in the request comes first.
        get(&t, &owner, &format!("/api/{kind}/export")).await.expect(400);
    }
    drop(all);
    let many = futures_util::future::join_all((0..4).map(|_| csv(&t, &owner, "customers", ""))).await;
    assert!(many.iter().all(|file| *file == many[0]));
});

api_test!(one_organization_leaves_places_to_others, |t| async move {
    let tree = t.tree().await;
    let (owner, admin) = (t.owner().await, t.user(tree.distributor, &["admin"]).await);
    let own = t.app.exports.occupy_of(tree.distributor);
    assert_eq!(own.len(), 4);
    for kind in ["customers", "users", "systems"] {
        let reply = get(&t, &admin, &format!("/api/{kind}/export?format=csv")).await;
        let reply = reply.expect_message(503, "service temporarily unavailable");
        assert_eq!(reply.header("retry-after"), Some("5"));
        csv(&t, &owner, kind, "").await;
    }
    drop(own);
    csv(&t, &admin, "customers", "").await;
});
