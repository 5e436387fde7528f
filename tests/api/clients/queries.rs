//! Queries as clients write them, and in which order they are answered (spec: browser-client#lists; checklist 12, 17;
//! rule 14).

use super::*;
use bailiwick_demo::{self as demo, Plan};
use bailiwick_domain::OrgType;
use bailiwick_testkit::api_test;

/// Each list, the name of its rows and what each row goes by.
const LISTS: [(&str, &str); 6] = [
    ("/distributors", "distributors"),
    ("/resellers", "resellers"),
    ("/customers", "customers"),
    ("/users", "users"),
    ("/systems", "systems"),
    ("/applications", "applications"),
];

async fn ids(spa: &Spa, path: &str, rows: &str) -> Vec<String> {
    let data = spa.get(path).await.expect(200).data();
    data[rows].as_array().unwrap_or_else(|| panic!("{path}: {data}")).iter().map(|r| text(r, "id")).collect()
}

/// Several of each kind, made at the same moment and with the same name.
async fn crowd(t: &Test) -> Persona {
    let tree = t.tree().await;
    for org_type in [OrgType::Distributor, OrgType::Reseller, OrgType::Customer] {
        let parent = if org_type == OrgType::Distributor { tree.owner } else { tree.distributor };
        for _ in 0..3 {
            t.organization(parent, org_type, "Same").await;
        }
    }
    for _ in 0..3 {
        t.user(tree.customer, &["reader"]).await;
        t.application(&t.system(tree.customer).await).await;
    }
    t.owner().await
}

// Proves spec: clients#checklist 12.
api_test!(values_are_repeated_keys_and_an_empty_order_is_the_usual_one, |t| async move {
    let owner = crowd(&t).await;
    let running = t.serve().await;
    let spa = Spa::new(&running, "/api", &owner.token);
    for (path, rows) in LISTS {
        let usual = ids(&spa, path, rows).await;
        assert!(usual.len() >= 3, "{path}");
        for same in [
            "?sort_by=",
            "?sort_by=&sort_direction=asc",
            "?page=1&page_size=100&sort_by=&sort_direction=desc",
        ] {
            assert_eq!(ids(&spa, &format!("{path}{same}"), rows).await, usual, "{path}{same}");
        }
        // A value that names nothing adds nothing; a list in one value and brackets are no list.
        let (key, one, other) = match path {
            "/applications" => ("type", "mail", "nothing"),
            "/systems" => ("status", "unknown", "deleted"),
            "/users" => ("role", "reader", "support"),
            _ => ("status", "enabled", "deleted"),
        };
        let all = ids(&spa, &format!("{path}?{key}={one}"), rows).await;
        assert!(!all.is_empty(), "{path}");
        let both = ids(&spa, &format!("{path}?{key}={other}&{key}={one}"), rows).await;
        assert_eq!(both, all, "{path}");
        assert_eq!(ids(&spa, &format!("{path}?{key}={one},{other}"), rows).await, [""; 0], "{path}");
        assert_eq!(ids(&spa, &format!("{path}?{key}%5B%5D={other}"), rows).await, usual, "{path}");
    }
});

// Proves spec: acceptance#guarantees 14.
api_test!(without_an_order_there_is_one_and_files_have_it_too, |t| async move {
    let owner = crowd(&t).await;
    let running = t.serve().await;
    let spa = Spa::new(&running, "/api", &owner.token);
    for (path, rows) in LISTS {
        let usual = ids(&spa, path, rows).await;
        // Newest first. Entities made at the same moment go by their ids, which are made in order.
        let mut newest = usual.clone();
        newest.sort_by(|a, b| b.cmp(a));
        if !matches!(path, "/applications") {
            assert_eq!(usual, newest, "{path}");
        }
        let mut paged = Vec::new();
        for n in 1..=usual.len() {
            paged.extend(ids(&spa, &format!("{path}?page={n}&page_size=1"), rows).await);
        }
        assert_eq!(paged, usual, "{path}");
        if path == "/applications" {
            continue;
        }
        let file = spa.get(&format!("{path}/export?format=csv")).await.expect(200).text();
        let sorted = format!("{path}/export?format=csv&sort_by=&sort_direction=asc");
        assert_eq!(spa.get(&sorted).await.expect(200).text(), file, "{path}");
        let data = spa.get(path).await.expect(200).data();
        let name = if path == "/users" { "email" } else { "name" };
        let listed: Vec<String> = data[rows].as_array().unwrap().iter().map(|r| text(r, name)).collect();
        let mut start = 0;
        for name in listed {
            let offset =
                file[start..].find(&name).unwrap_or_else(|| panic!("{path}: {name} after {start} in {file}"));
            start += offset + name.len();
        }
    }
});

// Proves spec: clients#checklist 17.
api_test!(organizations_without_a_page_are_up_to_a_thousand, |t| async move {
    let plan = Plan { organizations: 1_200, systems: 0, users: Some(0), applications: false, seed: 1 };
    demo::fill(&t.app.fleet, &plan, &mut |_| {}).await.unwrap();
    let running = t.serve().await;
    let spa = Spa::new(&running, "/api", &t.owner().await.token);
    let all = spa.get("/organizations").await.expect(200).data();
    assert_eq!(all["organizations"].as_array().unwrap().len(), 1_000);
    let total = all["pagination"]["total_count"].as_u64();
    assert!(total > Some(1_000) && all["pagination"]["page"] == 1, "{}", all["pagination"]);
    for row in all["organizations"].as_array().unwrap() {
        assert!(row["logto_id"].is_string() && row["name"].is_string() && row["type"].is_string(), "{row}");
    }
    for (query, rows) in [
        ("?page=1", 20),
        ("?page_size=50", 50),
        ("?page=1&page_size=50&search=&type=customer", 50),
        ("?page_size=1000", 100),
    ] {
        let some = spa.get(&format!("/organizations{query}")).await.expect(200).data();
        assert_eq!(some["organizations"].as_array().unwrap().len(), rows, "{query}");
    }
});
