//! Lists of users: scope, filters, orders, pages (spec: users#operations).

use super::{body, emails, get, post, put, users_row};
use bailiwick_domain::UserId;
use bailiwick_store::identities;
use bailiwick_testkit::api_test;
use serde_json::{Value, json};
use std::time::Duration;

// Proves spec: acceptance#scenarios 16.
api_test!(lists_of_users, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    for (email, name, roles, org) in [
        ("z1@example.org", "anna", &["reader"] as &[&str], tree.customer),
        ("z2@example.org", "Berta_1", &["reader", "support"], tree.reseller),
        ("z3@example.org", "Élise", &["admin"], tree.reseller),
    ] {
        t.advance(Duration::from_secs(1));
        let mut new = body(email, roles, org);
        new["name"] = json!(name);
        post(&t, &d, new).await.expect(201);
    }
    let list = async |query: &str| emails(get(&t, &d, &format!("/api/users?{query}")).await);
    let own = users_row(&t, d.id).await.2;
    let newest = ["z3@example.org", "z2@example.org", "z1@example.org", own.as_str()];
    assert_eq!(list("").await, newest);
    assert_eq!(list("sort_by=nothing&sort_direction=asc").await, newest);
    assert_eq!(list("sort_by=name").await[..2], ["z1@example.org", "z2@example.org"]);
    assert_eq!(list("sort_by=email&sort_direction=desc").await[0], "z3@example.org");
    assert_eq!(list("sort_by=organization").await[0], "z1@example.org");
    // A user who has never signed in is the greatest.
    let mut tx = t.app.platform.db.begin().await.unwrap();
    identities::stamp_login(&mut tx, d.id, t.app.platform.now()).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(list("sort_by=latest_login_at").await[0], own);
    assert_eq!(list("sort_by=latest_login_at&sort_direction=desc").await[3], own);
    for column in ["username", "created_at", "updated_at", "latest_login_at", "status", "creator_name"] {
        for direction in ["asc", "desc"] {
            assert_eq!(
                list(&format!("sort_by={column}&sort_direction={direction}")).await.len(),
                4,
                "{column}"
            );
        }
    }
    // Each column sorts by the value that it shows, without regard to case.
    let answer = get(&t, &d, "/api/users?search=z1").await.expect(200).data();
    let path = format!("/api/users/{}", answer["users"][0]["id"].as_str().unwrap());
    t.advance(Duration::from_secs(1));
    t.put(&path).bearer(&d.token).json(json!({"name": "anna"})).send().await.expect(200);
    type Pick = fn(&Value) -> String;
    let columns: [(&str, Pick); 3] = [
        ("username", |u| u["username"].as_str().unwrap().to_lowercase()),
        ("updated_at", |u| u["updated_at"].as_str().unwrap().to_owned()),
        // A user without a known creator comes last.
        ("creator_name", |u| {
            u["created_by"]["name"].as_str().map_or("\u{10ffff}".to_owned(), str::to_lowercase)
        }),
    ];
    for (column, pick) in columns {
        let rows = get(&t, &d, &format!("/api/users?sort_by={column}")).await.expect(200).data();
        let shown: Vec<String> = rows["users"].as_array().unwrap().iter().map(pick).collect();
        assert!(shown.is_sorted() && shown.first() != shown.last(), "{column}: {shown:?}");
    }
    assert_eq!(list("search=BERTA_").await, ["z2@example.org"]);
    assert_eq!(list("search=%C3%A9L").await, ["z3@example.org"]);
    assert_eq!(list("search=Z1%40EX").await, ["z1@example.org"]);
    assert_eq!(list("role=reader").await.len(), 2);
    assert_eq!(list("role=support&role=admin").await.len(), 3);
    assert_eq!(list(&["role=reader"; 2000].join("&")).await.len(), 2);
    assert_eq!(
        list(&format!("organization_id={}&organization_id={}", tree.reseller, tree.other_customer))
            .await
            .len(),
        2
    );
    assert_eq!(list(&format!("created_by={}", d.id)).await.len(), 3);
    assert_eq!(list(&format!("created_by={}", d.org)).await.len(), 4);
    for nothing in [
        "role=nothing",
        "role=%00",
        "search=a%00",
        "organization_id=x",
        "created_by=",
        "status=x",
        "status=deleted",
    ] {
        assert_eq!(list(nothing).await, [""; 0], "{nothing}");
    }
    assert_eq!(list(&format!("organization_id={}", tree.other_customer)).await, [""; 0]);
    let answer = get(&t, &d, "/api/users?search=z3").await.expect(200).data();
    let z3: UserId = answer["users"][0]["id"].as_str().unwrap().parse().unwrap();
    assert_eq!(answer["users"][0].get("can_be_impersonated"), None);
    t.suspend_user(z3).await;
    assert_eq!(list("status=active").await.len(), 3);
    assert_eq!(list("status=suspended").await, ["z3@example.org"]);
    assert_eq!(list("sort_by=status").await[0], "z3@example.org");
    t.suspend_organization(tree.customer).await;
    assert_eq!(list("status=suspended").await.len(), 2);
    assert_eq!(list("status=enabled&status=suspended").await.len(), 4);
    t.delete_organization(tree.reseller).await;
    assert_eq!(list("").await, [own.as_str()]);
    assert_eq!(list("status=deleted").await.len(), 3);
    let all = get(&t, &owner, "/api/users?page_size=1").await.expect(200).data();
    assert_eq!(all["pagination"]["total_count"], 2);
    // The owner may impersonate, but no user has consented.
    assert_eq!(all["users"][0]["can_be_impersonated"], false);
    let data = get(&t, &owner, "/api/users?status=deleted&search=z3&sort_by=name").await.expect(200).data();
    let row = &data["users"][0];
    assert_eq!(
        (&row["deleted_by_org_id"], &row["suspended_by_org_id"]),
        (&json!(tree.reseller), &Value::Null)
    );
});

// Who has left a user to another branch is nothing to the ones who have got them.
api_test!(a_creator_of_another_branch_is_not_shown, |t| async move {
    let (tree, owner) = (t.tree().await, t.owner().await);
    let former = t.user(tree.reseller, &["admin"]).await;
    let new = body("mover@example.org", &["reader"], tree.customer);
    let made = post(&t, &former, new).await.expect(201).data();
    let (id, creator) = (made["id"].as_str().unwrap(), &made["created_by"]);
    assert_eq!(creator["user_id"], json!(former.id));
    let moved = put(&t, &owner, id, json!({"organization_id": tree.other_customer})).await.expect(200);
    assert_eq!(moved.data()["created_by"], *creator);
    let traces = [
        former.id.to_string(),
        tree.reseller.to_string(),
        "Alfa Reseller".to_owned(),
        creator["name"].as_str().unwrap().to_owned(),
        creator["email"].as_str().unwrap().to_owned(),
    ];
    for organization in [tree.other_distributor, tree.other_customer] {
        let who = t.user(organization, &["admin"]).await;
        for path in [
            format!("/users/{id}"),
            "/users".to_owned(),
            "/users?sort_by=status".to_owned(),
            "/users?cursor=".to_owned(),
            "/users?search=mover".to_owned(),
            "/users/export?format=csv".to_owned(),
            "/search?q=mover".to_owned(),
            "/filters/users".to_owned(),
        ] {
            let reply = get(&t, &who, &format!("/api{path}")).await.expect(200);
            let found: Vec<_> = traces.iter().filter(|trace| reply.text().contains(*trace)).collect();
            assert!(found.is_empty(), "{path} shows {found:?}: {}", reply.text());
        }
        let shown = get(&t, &who, &format!("/api/users/{id}")).await.expect(200).data();
        assert_eq!(shown["created_by"], Value::Null);
        let changed = put(&t, &who, id, json!({"name": "Ours"})).await.expect(200);
        assert_eq!(changed.data()["created_by"], Value::Null);
        // No filter reveals whether a guess is right.
        for guess in [former.id.to_string(), tree.reseller.to_string()] {
            let found = emails(get(&t, &who, &format!("/api/users?created_by={guess}")).await);
            assert_eq!(found, Vec::<String>::new(), "{guess}");
        }
    }
    let found = emails(get(&t, &owner, &format!("/api/users?created_by={}", former.id)).await);
    assert_eq!(found, ["mover@example.org"]);
    assert_eq!(get(&t, &owner, &format!("/api/users/{id}")).await.data()["created_by"], *creator);
});
