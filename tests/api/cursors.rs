//! Lists by cursors (spec: conventions#cursors).

use bailiwick_demo::{self as demo, Plan};
use bailiwick_store::sql::Q;
use bailiwick_testkit::{Persona, Reply, Test, api_test};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

mod changes;

/// The lists with their orders; `status` of users goes by suspension.
const LISTS: [(&str, &[&str]); 6] = [
    (
        "systems",
        &[
            "",
            "name",
            "type",
            "status",
            "fqdn",
            "version",
            "system_key",
            "created_at",
            "updated_at",
            "creator_name",
            "organization_name",
        ],
    ),
    (
        "users",
        &[
            "",
            "name",
            "email",
            "username",
            "created_at",
            "updated_at",
            "latest_login_at",
            "organization",
            "status",
            "creator_name",
        ],
    ),
    ("distributors", ORGANIZATIONS),
    ("resellers", ORGANIZATIONS),
    ("customers", ORGANIZATIONS),
    (
        "applications",
        &[
            "",
            "display_name",
            "module_id",
            "instance_of",
            "version",
            "status",
            "system_name",
            "organization_name",
            "created_at",
            "updated_at",
            "last_inventory_at",
            "certification_level",
        ],
    ),
];
const ORGANIZATIONS: &[&str] =
    &["", "name", "description", "created_at", "updated_at", "suspended_at", "creator_name"];

async fn get(t: &Test, who: &Persona, path: &str) -> Reply {
    t.get(&format!("/api/{path}")).bearer(&who.token).send().await
}

fn ids(data: &Value, list: &str) -> Vec<String> {
    data[list].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

/// All rows by numbers of pages.
async fn by_number(t: &Test, who: &Persona, list: &str, query: &str) -> Vec<String> {
    let (mut all, mut page) = (Vec::new(), 1);
    loop {
        let path = format!("{list}?page={page}&page_size=100&{query}");
        let data = get(t, who, &path).await.expect(200).data();
        assert_eq!(data["pagination"].get("next_cursor"), None, "as older clients know it");
        all.extend(ids(&data, list));
        if data["pagination"]["has_next"] == false {
            return all;
        }
        page += 1;
    }
}

/// The same by cursors.
async fn by_cursor(t: &Test, who: &Persona, list: &str, query: &str, size: usize) -> Vec<String> {
    let (mut all, mut cursor, mut number) = (Vec::new(), String::new(), 1);
    loop {
        let path = format!("{list}?cursor={cursor}&page_size={size}&{query}");
        let data = get(t, who, &path).await.expect(200).data();
        let pagination = &data["pagination"];
        all.extend(ids(&data, list));
        assert_eq!((&pagination["page"], &pagination["page_size"]), (&json!(number), &json!(size)));
        let next = pagination.get("next_cursor").expect("null at the end, never absent");
        assert_eq!(pagination["has_next"], !next.is_null());
        let Some(next) = next.as_str() else {
            assert_eq!(pagination["total_count"], all.len(), "{list} {query}");
            return all;
        };
        assert_eq!(data[list].as_array().unwrap().len(), size);
        cursor = next.to_owned();
        number += 1;
    }
}

async fn fill(t: &Test) {
    let plan = Plan { organizations: 60, systems: 150, users: Some(120), applications: true, seed: 5 };
    demo::fill(&t.app.fleet, &plan, &mut |_| {}).await.unwrap();
    // Equal values, missing values, and a few marks.
    let same = [
        "UPDATE systems SET name_key = 'm' WHERE id IN (SELECT id FROM systems ORDER BY id LIMIT 40)",
        "UPDATE users SET latest_login_at = NULL WHERE id IN (SELECT id FROM users ORDER BY id LIMIT 30)",
        "UPDATE users SET creator_key = NULL WHERE id IN (SELECT id FROM users ORDER BY name_key LIMIT 30)",
        "UPDATE users SET name_key = 'm' WHERE id IN (SELECT id FROM users ORDER BY id LIMIT 30)",
        "UPDATE organizations SET name_key = 'm' WHERE id IN (SELECT id FROM organizations \
         WHERE type = 'customer' ORDER BY id LIMIT 20)",
        "UPDATE organizations SET creator_key = NULL WHERE id IN (SELECT id FROM organizations \
         WHERE type = 'customer' ORDER BY name_key LIMIT 9)",
    ];
    let mut tx = t.app.platform.db.begin().await.unwrap();
    for sql in same {
        Q::new(sql).run(&mut tx).await.unwrap();
    }
    tx.commit().await.unwrap();
}

api_test!(every_order_is_the_same_by_cursors_as_by_pages, |t| async move {
    fill(&t).await;
    let owner = t.owner().await;
    for (list, orders) in LISTS {
        for order in orders {
            for direction in ["asc", "desc"] {
                let query = format!("sort_by={order}&sort_direction={direction}");
                let expected = by_number(&t, &owner, list, &query).await;
                let size = if expected.len() > 40 { 53 } else { 4 };
                let found = by_cursor(&t, &owner, list, &query, size).await;
                assert!(!expected.is_empty() && found == expected, "{list} {query}");
            }
        }
    }
});

api_test!(filters_and_scopes_are_those_of_the_pages, |t| async move {
    fill(&t).await;
    let owner = t.owner().await;
    let (distributor,): (uuid::Uuid,) =
        Q::new("SELECT id FROM organizations WHERE type = 'distributor' ORDER BY id LIMIT 1")
            .one(&t.app.platform.db)
            .await
            .unwrap();
    let admin = t.user(bailiwick_domain::OrgId(distributor), &["admin"]).await;
    let queries = [
        ("systems", "search=s"),
        ("systems", "search=activ&sort_by=name"),
        ("systems", "status=inactive&status=suspended&sort_by=status&sort_direction=desc"),
        ("systems", "status=inactive&search=s&sort_by=status"),
        ("systems", "status=active&name=s&sort_by=organization_name&sort_direction=desc"),
        ("systems", "status=active&status=inactive&name=s&sort_by=version"),
        ("systems", "status=deleted&sort_by=name"),
        ("systems", "status=no_inventory&sort_by=status"),
        ("users", "status=suspended&sort_by=status"),
        ("users", "status=deleted&status=suspended&sort_by=status&sort_direction=desc"),
        ("users", "status=enabled&sort_by=latest_login_at&sort_direction=desc"),
        ("users", "search=a&sort_by=organization"),
        ("customers", "status=suspended&sort_by=suspended_at"),
        ("customers", "status=deleted&status=enabled&sort_by=suspended_at&sort_direction=desc"),
        ("customers", "search=a&sort_by=creator_name"),
        ("applications", "status=unassigned&sort_by=organization_name"),
        ("applications", "search=n&sort_by=system_name&sort_direction=desc"),
    ];
    for (list, query) in queries {
        for who in [&owner, &admin] {
            let expected = by_number(&t, who, list, query).await;
            for size in [1.max(expected.len() / 5), expected.len().clamp(1, 100)] {
                assert_eq!(by_cursor(&t, who, list, query, size).await, expected, "{list} {query} {size}");
            }
        }
    }
});

api_test!(a_cursor_is_of_one_list_with_one_order_and_filter, |t| async move {
    let tree = t.tree().await;
    for _ in 0..3 {
        t.system(tree.customer).await;
    }
    let owner = t.owner().await;
    let query = "page_size=2&sort_by=system_key&sort_direction=asc&type=&name=system";
    let start = get(&t, &owner, "systems?cursor=&page_size=2&sort_by=system_key&name=system").await;
    let cursor = start.expect(200).data()["pagination"]["next_cursor"].as_str().unwrap().to_owned();
    let refused = |reply: Reply, code: &str| {
        let data = reply.expect_message(400, "validation failed").data();
        assert_eq!(data["errors"], json!([{"key": "cursor", "message": code}]));
    };
    let with = |rest: &str| format!("systems?cursor={cursor}&{rest}");
    get(&t, &owner, &with("sort_by=system_key&name=system&page_size=1")).await.expect(200);
    for other in [
        query,
        "sort_by=system_key&sort_direction=desc&name=system",
        "sort_by=name&name=system",
        "sort_by=system_key",
        "sort_by=system_key&name=system&search=s",
    ] {
        refused(get(&t, &owner, &with(other)).await, "invalid");
    }
    for list in ["users", "distributors", "customers", "applications"] {
        refused(get(&t, &owner, &format!("{list}?cursor={cursor}")).await, "invalid");
        refused(get(&t, &owner, &format!("{list}?cursor=&page=1")).await, "not_with_page");
    }
    let cut = &cursor[..cursor.len() - 4];
    for bad in ["x", "%00", "a.b", "é", cut, &format!("{cursor}AAAA")] {
        refused(
            get(&t, &owner, &format!("systems?cursor={bad}&sort_by=system_key&name=system")).await,
            "invalid",
        );
    }
    refused(get(&t, &owner, &with("sort_by=system_key&name=system&page=")).await, "not_with_page");
    // Another caller goes on among their own rows.
    let customer = t.user(tree.other_customer, &["admin"]).await;
    let page = get(&t, &customer, &with("sort_by=system_key&name=system")).await.expect(200).data();
    assert_eq!((&page["systems"], &page["pagination"]["next_cursor"]), (&json!([]), &Value::Null));
    // The key of an unregistered system is not shown, so the cursor does not show it either.
    assert!(!cursor.contains("SYS") && !cursor.contains("sys"));
});
