//! Lists of the families: scope, counts, filters, order, pages, states (spec: organizations#counts,
//! organizations#list).

use super::{get, names, post, put};
use bailiwick_domain::OrgType;
use bailiwick_store::sql::Q;
use bailiwick_testkit::{Persona, Test, api_test, seed::Tree};
use serde_json::{Value, json};

// Proves spec: acceptance#scenarios 10.
api_test!(lists_stay_in_scope_and_count_right, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let direct = t.organization(tree.owner, OrgType::Customer, "Direct").await;
    let r = t.user(tree.reseller, &["admin"]).await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let list = async |who: &Persona, path: &str, family: &str| {
        names(get(&t, who, &format!("/api/{family}?sort_by=name&{path}")).await, family)
    };
    assert_eq!(list(&owner, "", "customers").await, ["Alfa Customer", "Beta Customer", "Direct"]);
    assert_eq!(list(&owner, "", "distributors").await, ["Alfa Distributor", "Beta Distributor"]);
    assert_eq!(list(&d, "", "customers").await, ["Alfa Customer"]);
    assert_eq!(list(&d, "", "resellers").await, ["Alfa Reseller"]);
    assert_eq!(list(&r, "", "customers").await, ["Alfa Customer"]);
    get(&t, &d, "/api/distributors").await.expect_message(403, "insufficient permissions");
    get(&t, &r, "/api/resellers").await.expect_message(403, "insufficient permissions");
    let customer = t.user(tree.customer, &["admin"]).await;
    get(&t, &customer, "/api/customers").await.expect_message(403, "insufficient permissions");

    t.system(tree.customer).await;
    t.system(tree.customer).await;
    t.system(tree.reseller).await;
    t.system(direct).await;
    let row = async |family: &str, i: usize| {
        let data = get(&t, &owner, &format!("/api/{family}?sort_by=name")).await.expect(200).data();
        let row = &data[family][i];
        ["systems_count", "resellers_count", "customers_count", "applications_count"].map(|k| row[k].as_u64())
    };
    assert_eq!(row("distributors", 0).await, [Some(3), Some(1), Some(1), Some(0)]);
    assert_eq!(row("distributors", 1).await, [Some(0), Some(1), Some(1), Some(0)]);
    assert_eq!(row("resellers", 0).await, [Some(3), None, Some(1), Some(0)]);
    assert_eq!(row("customers", 0).await, [Some(2), None, None, Some(0)]);
    assert_eq!(row("customers", 2).await, [Some(1), None, None, Some(0)]);
});

// Proves spec: acceptance#scenarios 10, guarantees#identity 31, guarantees#organizations 6 15.
api_test!(filters_search_and_order, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    for (name, data) in [
        ("zeta 100%_x", json!({"vat": "z1", "city": "Ancona"})),
        ("Éta", json!({"vat": "z2", "n": 4711})),
        ("alba", json!({"vat": "z3"})),
    ] {
        t.advance(std::time::Duration::from_secs(1));
        let body = json!({"name": name, "description": "", "custom_data": data});
        post(&t, &d, "/api/customers", body).await.expect(201);
    }
    let list =
        async |query: &str| names(get(&t, &owner, &format!("/api/customers?{query}")).await, "customers");
    // Newest first whatever the direction, unless a known column is named.
    let newest = ["alba", "Éta", "zeta 100%_x", "Beta Customer", "Alfa Customer"];
    for query in ["", "sort_by=", "sort_by=nothing&sort_direction=asc", "sort_direction=asc"] {
        assert_eq!(list(query).await[..3], newest[..3], "{query}");
    }
    assert_eq!(list("sort_by=name&sort_direction=desc").await.last().unwrap(), "alba");
    assert_eq!(list("sort_by=name").await[..3], ["alba", "Alfa Customer", "Beta Customer"]);
    assert_eq!(list("sort_by=created_at&sort_direction=ASC").await.last().unwrap(), "alba");
    assert_eq!(list("search=%25_X").await, ["zeta 100%_x"]);
    assert_eq!(list("search=%C3%A9TA").await, ["Éta"]);
    assert_eq!(list("search=ANCON").await, ["zeta 100%_x"]);
    assert_eq!(list("search=4711").await, ["Éta"]);
    for nothing in [
        "search=customer%00",
        "search=createdBy",
        "search=%25z",
        "status=gone",
        "created_by=x",
        "organization_id=x",
    ] {
        assert_eq!(list(nothing).await, [""; 0], "{nothing}");
    }
    assert_eq!(list("search=%20").await.len(), 5);
    assert_eq!(list(&format!("search={}", "z".repeat(60_000))).await, [""; 0]);
    assert_eq!(list(&format!("created_by={}", d.id)).await.len(), 3);
    assert_eq!(list(&format!("created_by={}&created_by=x&search=a", d.org)).await.len(), 3);
    let filter = |id| format!("organization_id={id}");
    assert_eq!(list(&filter(tree.distributor)).await.len(), 3);
    assert_eq!(list(&filter(tree.reseller)).await, ["Alfa Customer"]);
    assert_eq!(list(&format!("{}&include_hierarchy=true", filter(tree.distributor))).await.len(), 4);
    assert_eq!(list(&format!("{}&include_hierarchy=true", filter(tree.owner))).await.len(), 5);
    assert_eq!(list(&format!("{}&include_hierarchy=true", filter(tree.customer))).await, [""; 0]);
    let foreign = get(&t, &d, &format!("/api/customers?{}&include_hierarchy=true", filter(tree.owner))).await;
    assert_eq!(names(foreign, "customers"), [""; 0]);
});

// Proves spec: guarantees#identity 30, guarantees#organizations 27, authorization#guarantees 37.
api_test!(pages_are_clamped_stable_and_true, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    for _ in 0..5 {
        t.organization(tree.reseller, OrgType::Customer, "Same").await;
    }
    let page =
        async |query: &str| get(&t, &owner, &format!("/api/customers?{query}")).await.expect(200).data();
    let first = page("page=1&page_size=3&sort_by=name&sort_direction=x").await;
    assert_eq!(
        first["pagination"],
        json!({"page": 1, "page_size": 3, "total_count": 7, "total_pages": 3, "has_next": true, "has_prev": false,
            "next_page": 2, "sort_by": "name", "sort_direction": "asc"})
    );
    let mut collected = Vec::new();
    for n in 1..=3 {
        let data = page(&format!("page={n}&page_size=3&sort_by=name&sort_direction=desc")).await;
        collected.extend(
            data["customers"].as_array().unwrap().iter().map(|r| r["id"].as_str().unwrap().to_owned()),
        );
    }
    assert!(collected[..5].windows(2).all(|w| w[0] > w[1]), "ties go by id in the same direction");
    collected.sort();
    collected.dedup();
    assert_eq!(collected.len(), 7);
    for beyond in ["page=9&page_size=3", "page=18446744073709551615&page_size=100"] {
        let data = page(beyond).await;
        assert_eq!(
            (&data["customers"], &data["pagination"]["total_count"]),
            (&json!([]), &json!(7)),
            "{beyond}"
        );
        assert_eq!(data["pagination"]["has_next"], false);
    }
    for (query, size) in [("page_size=1000", 100), ("page_size=0", 20), ("page_size=x&page=-1", 20), ("", 20)]
    {
        let data = page(query).await;
        assert_eq!(
            (&data["pagination"]["page_size"], &data["pagination"]["page"]),
            (&json!(size), &json!(1))
        );
        assert_eq!(data["pagination"].get("sort_by"), None);
    }
});

/// Marks of the owner's view of a row.
async fn marks(t: &Test, owner: &Persona, path: &str) -> [Value; 4] {
    let data = get(t, owner, path).await.expect(200).data();
    ["suspended_at", "suspended_by_org_id", "deleted_at", "deleted_by_org_id"].map(|k| data[k].clone())
}

api_test!(states_are_inherited, |t| async move {
    let tree: Tree = t.tree().await;
    let owner = t.owner().await;
    t.suspend_organization(tree.distributor).await;
    let now = json!(t.app.platform.now());
    let cause = json!(tree.distributor);
    let own = marks(&t, &owner, &format!("/api/distributors/{}", tree.distributor)).await;
    assert_eq!(own, [now.clone(), Value::Null, Value::Null, Value::Null]);
    let below = marks(&t, &owner, &format!("/api/customers/{}", tree.customer)).await;
    assert_eq!(below, [now.clone(), cause.clone(), Value::Null, Value::Null]);
    // An organization that is created below a suspended one is suspended through it.
    let body =
        json!({"name": "Late", "custom_data": {"vat": "1"}, "created_by_organization_id": tree.reseller});
    let late = post(&t, &owner, "/api/customers", body).await.expect(201).data();
    assert_eq!((&late["suspended_at"], &late["suspended_by_org_id"]), (&now, &cause));
    let list = async |query: &str| {
        names(get(&t, &owner, &format!("/api/customers?sort_by=suspended_at&{query}")).await, "customers")
    };
    assert_eq!(list("status=enabled").await, ["Beta Customer"]);
    assert_eq!(list("status=SUSPENDED").await.len(), 2);
    // Rows without the time are the greatest.
    assert_eq!(list("").await.last().unwrap(), "Beta Customer");
    assert_eq!(list("sort_direction=desc").await[0], "Beta Customer");
    t.delete_organization(tree.other_distributor).await;
    assert_eq!(list("").await.len(), 2);
    assert_eq!(list("status=deleted").await, ["Beta Customer"]);
    assert_eq!(list("status=deleted&status=suspended&status=bogus").await.len(), 3);
    let data = get(&t, &owner, "/api/distributors?status=deleted").await.expect(200).data();
    let row = &data["distributors"][0];
    assert_eq!((&row["deleted_by_org_id"], &row["customers_count"]), (&Value::Null, &json!(0)));
    let body = json!({"name": "x", "custom_data": {"vat": "1"}});
    let path = format!("/api/customers/{}", late["id"].as_str().unwrap());
    put(&t, &owner, &path, body).await.expect(200);
});

/// Every customer of a list in its order, page by page: whether it has no suspension, when it has, its id.
async fn walk(t: &Test, who: &Persona, query: &str, size: usize) -> Vec<(bool, String, String)> {
    let mut collected = Vec::new();
    for page in 1.. {
        let path = format!("/api/customers?page_size={size}&page={page}&{query}");
        let data = get(t, who, &path).await.expect(200).data();
        let rows = data["customers"].as_array().unwrap();
        assert!(rows.len() <= size, "{path}");
        if rows.is_empty() {
            break;
        }
        collected.extend(rows.iter().map(|c| {
            let suspended_at = c["suspended_at"].as_str().unwrap_or_default().to_owned();
            (suspended_at.is_empty(), suspended_at, c["id"].as_str().unwrap().to_owned())
        }));
    }
    collected
}

// Proves spec: guarantees#organizations 27.
api_test!(the_order_by_suspension_is_walked_once, |t| async move {
    let tree: Tree = t.tree().await;
    let owner = t.owner().await;
    let d = t.user(tree.other_distributor, &["admin"]).await;
    let mut customers = Vec::new();
    for n in 0..8 {
        let parent = if n < 4 { tree.reseller } else { tree.other_reseller };
        customers.push(t.organization(parent, OrgType::Customer, &format!("Number {n}")).await);
    }
    // Own marks, one of them below an organization that is suspended later; then several through one reseller, two
    // deleted.
    for id in [customers[5], customers[1], tree.reseller, customers[6]] {
        t.advance(std::time::Duration::from_secs(1));
        t.suspend_organization(id).await;
    }
    t.delete_organization(customers[2]).await;
    t.delete_organization(customers[7]).await;
    for (who, filter, length) in [
        (&owner, "", 8),
        (&owner, "status=suspended", 6),
        (&owner, "status=enabled", 2),
        (&owner, "status=suspended&status=deleted", 8),
        (&owner, "status=enabled&status=deleted", 4),
        (&owner, "status=deleted", 2),
        (&owner, "status=bogus", 0),
        (&owner, "search=number&status=suspended&status=enabled", 6),
        (&d, "", 4),
        (&d, "status=suspended", 2),
    ] {
        let mut expected = walk(&t, who, &format!("sort_by=name&{filter}"), 100).await;
        assert_eq!(expected.len(), length, "{filter}");
        expected.sort();
        for direction in ["asc", "desc"] {
            for size in [1, 2, 3, 4, 5, 100] {
                let query = format!("sort_by=suspended_at&sort_direction={direction}&{filter}");
                assert_eq!(walk(&t, who, &query, size).await, expected, "{query}, {size} a page");
            }
            expected.reverse();
        }
    }
});

// Proves spec: guarantees#organizations 10.
api_test!(a_long_description_is_kept_sorted_and_found, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    // Text that no database can compress into an index entry.
    let noise: String = (0..400).map(|_| uuid::Uuid::new_v4().simple().to_string()).collect();
    for (name, description) in [("long", format!("b {noise} needle")), ("short", "a".to_owned())] {
        let body = json!({"name": name, "description": description, "custom_data": {"vat": name},
            "created_by_organization_id": tree.distributor});
        t.post("/api/customers").bearer(&owner.token).json(body).send().await.expect(201);
    }
    let reply = t.get("/api/customers?sort_by=description&search=NEEDLE").bearer(&owner.token).send().await;
    assert_eq!(reply.expect(200).data()["customers"][0]["name"], "long");
    let reply =
        t.get("/api/organizations?search=needle").bearer(&owner.token).send().await.expect(200).data();
    assert_eq!(reply["pagination"]["total_count"], 1);
    let sorted = t.get("/api/customers?sort_by=description&search=s").bearer(&owner.token).send().await;
    let sorted = sorted.expect(200).data();
    let names: Vec<_> = sorted["customers"].as_array().unwrap().iter().map(|c| c["name"].clone()).collect();
    assert!(!names.is_empty());
});

api_test!(a_creator_of_another_branch_is_not_shown, |t| async move {
    let (tree, owner) = (t.tree().await, t.owner().await);
    let creator = t.user(tree.other_distributor, &["admin"]).await;
    let me = get(&t, &creator, "/api/me").await.expect(200).data();
    let snapshot = json!({"user_id": creator.id, "username": me["username"], "name": me["name"], "email": me["email"],
        "organization_id": creator.org, "organization_name": me["organization_name"]});
    // As if the customer had been created there.
    let mut tx = t.app.platform.db.begin().await.unwrap();
    let text =
        "UPDATE organizations SET creator_user_id = ?, creator_org_id = ?, created_by = ? WHERE id = ?";
    let q = Q::new(text).bind(creator.id).bind(creator.org).bind(snapshot.clone()).bind(tree.customer);
    assert_eq!(q.run(&mut tx).await.unwrap(), 1);
    tx.commit().await.unwrap();
    let path = format!("/api/customers/{}", tree.customer);
    let traces = [
        creator.id.to_string(),
        creator.org.to_string(),
        me["email"].as_str().unwrap().to_owned(),
        me["organization_name"].as_str().unwrap().to_owned(),
    ];
    for organization in [tree.distributor, tree.reseller] {
        let who = t.user(organization, &["admin"]).await;
        for path in [
            path.as_str(),
            "/api/customers",
            "/api/customers?sort_by=suspended_at",
            "/api/customers?cursor=",
            "/api/customers/export?format=csv",
            "/api/filters/customers",
            "/api/organizations",
            "/api/search?q=Alfa",
        ] {
            let reply = get(&t, &who, path).await.expect(200);
            let shown: Vec<_> = traces.iter().filter(|trace| reply.text().contains(*trace)).collect();
            assert!(shown.is_empty(), "{path} shows {shown:?}: {}", reply.text());
        }
        let listed = get(&t, &who, &format!("/api/customers?created_by={}", creator.org)).await;
        assert_eq!(names(listed, "customers"), Vec::<String>::new());
        let changed = put(&t, &who, &path, json!({"description": "ours"})).await.expect(200).data();
        assert!(changed.get("created_by").is_none(), "{changed}");
    }
    let shown = get(&t, &owner, &path).await.expect(200).data();
    assert_eq!(shown["created_by"], snapshot);
    // A promoted reseller has left the branch of those who promoted it.
    let d = t.user(tree.distributor, &["super"]).await;
    let promote = t.patch(&format!("/api/resellers/{}/promote", tree.reseller)).bearer(&d.token).send();
    let promoter = promote.await.expect(200).data()["distributor"]["promoted_from"]["by"].clone();
    assert_eq!(promoter["user_id"], json!(d.id));
    let own = format!("/api/distributors/{}", tree.reseller);
    let r = t.user(tree.reseller, &["admin"]).await;
    let read = get(&t, &r, &own).await.expect(200);
    assert_eq!(read.data()["promoted_from"]["level"], "reseller");
    assert!(!read.text().contains(&d.id.to_string()), "{}", read.text());
    assert_eq!(get(&t, &owner, &own).await.expect(200).data()["promoted_from"]["by"], promoter);
});
