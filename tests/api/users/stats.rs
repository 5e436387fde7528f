//! Totals, trend, filters, roles, and the fields that users change about themselves (spec: account#change-info,
//! conventions#trends, users#roles; guarantees#identity rules 8, 32, 33).

use super::{body, get, post, users_row};
use bailiwick_domain::UserId;
use bailiwick_store::sql::Q;
use bailiwick_testkit::{Persona, Reply, Test, api_test};
use serde_json::{Value, json};
use std::time::Duration;

const DAY: Duration = Duration::from_secs(86_400);

async fn totals(t: &Test, who: &Persona) -> Value {
    get(t, who, "/api/users/totals").await.expect_message(200, "users totals retrieved").data()
}

// Proves spec: authorization#guarantees 14.
api_test!(totals_follow_states_and_scope, |t| async move {
    let tree = t.tree().await;
    let (owner, d, c) = (
        t.owner().await,
        t.user(tree.distributor, &["admin"]).await,
        t.user(tree.customer, &["reader"]).await,
    );
    let (a, b) = (t.user(tree.reseller, &["reader"]).await, t.user(tree.customer, &["reader"]).await);
    t.user(tree.other_customer, &["reader"]).await;
    assert_eq!(totals(&t, &owner).await, json!({"total": 6, "enabled": 6, "suspended": 0}));
    assert_eq!(totals(&t, &c).await, json!({"total": 2, "enabled": 2, "suspended": 0}));
    let path = |id: UserId| format!("/api/users/{id}");
    t.patch(&format!("{}/suspend", path(a.id))).bearer(&d.token).send().await.expect(200);
    assert_eq!(totals(&t, &d).await, json!({"total": 4, "enabled": 3, "suspended": 1}));
    t.delete(&path(b.id)).bearer(&d.token).send().await.expect(200);
    t.suspend_organization(tree.reseller).await;
    assert_eq!(totals(&t, &d).await, json!({"total": 3, "enabled": 1, "suspended": 2}));
    t.delete_organization(tree.customer).await;
    assert_eq!(totals(&t, &d).await, json!({"total": 2, "enabled": 1, "suspended": 1}));
    let support = t.user(tree.distributor, &["support"]).await;
    get(&t, &support, "/api/users/totals").await.expect_message(403, "insufficient permissions");
});

// Proves spec: guarantees#identity 32.
api_test!(a_trend_ends_today_with_the_total, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let trend = async |who: &Persona, query: &str| get(&t, who, &format!("/api/users/trend{query}")).await;
    for bad in ["?period=8", "?period=x", "?period=07", "?period=-7", "?period=", "?period=%20"] {
        let text = "invalid period parameter (supported: 7, 30, 180, 365)";
        assert_eq!(trend(&d, bad).await.expect_message(400, text).data(), Value::Null);
    }
    t.advance(DAY * 4);
    let (a, _) = (t.user(tree.customer, &["reader"]).await, t.user(tree.reseller, &["reader"]).await);
    t.user(tree.other_customer, &["reader"]).await;
    t.advance(DAY);
    let d = t.session(d.id).await;
    let today = t.app.platform.now().rfc3339(0)[..10].to_owned();
    let data = trend(&d, "").await.expect_message(200, "users trend retrieved successfully").data();
    let counts: Vec<u64> =
        data["data_points"].as_array().unwrap().iter().map(|p| p["count"].as_u64().unwrap()).collect();
    assert_eq!(counts, [0, 0, 1, 1, 1, 1, 3, 3]);
    assert_eq!(data["data_points"][7], json!({"date": today, "count": 3}));
    assert_eq!((&data["period"], &data["period_label"]), (&json!(7), &json!("7 days")));
    assert_eq!((&data["current_total"], &data["previous_total"]), (&json!(3), &json!(0)));
    assert_eq!((&data["delta"], &data["trend"]), (&json!(3), &json!("up")));
    assert_eq!(data["delta_percentage"].as_f64(), Some(0.0));
    for (period, points) in [("30", 31), ("180", 27), ("365", 13)] {
        let data = trend(&d, &format!("?period={period}")).await.expect(200).data();
        let list = data["data_points"].as_array().unwrap();
        assert_eq!((list.len(), &list[points - 1]["date"]), (points, &json!(today)));
        assert_eq!((&data["current_total"], &data["period"].to_string()), (&json!(3), &period.to_owned()));
    }
    // A user who is deleted now was never there.
    t.delete(&format!("/api/users/{}", a.id)).bearer(&d.token).send().await.expect(200);
    let data = trend(&d, "?period=7").await.expect(200).data();
    assert_eq!((&data["current_total"], &totals(&t, &d).await["total"]), (&json!(2), &json!(2)));
    assert_eq!(data["data_points"][6]["count"], 2);
    t.advance(DAY * 7);
    let d = t.session(d.id).await;
    let data = trend(&d, "?period=7").await.expect(200).data();
    assert_eq!(
        (&data["trend"], &data["delta"], &data["previous_total"]),
        (&json!("stable"), &json!(0), &json!(2))
    );
    t.user(tree.customer, &["reader"]).await;
    let data = trend(&d, "?period=7").await.expect(200).data();
    assert_eq!(data["delta_percentage"].as_f64(), Some(50.0));
});

// Proves spec: authorization#guarantees 14.
api_test!(filters_offer_what_the_caller_sees, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    for (email, org) in [("a@example.org", tree.customer), ("b@example.org", tree.customer)] {
        post(&t, &d, body(email, &["reader"], org)).await.expect(201);
    }
    let c = t.user(tree.customer, &["admin"]).await;
    t.user(tree.other_customer, &["reader"]).await;
    let filters = async |who: &Persona| {
        get(&t, who, "/api/filters/users")
            .await
            .expect_message(200, "user filters retrieved successfully")
            .data()
    };
    let data = filters(&d).await;
    let names: Vec<&str> =
        data["organizations"].as_array().unwrap().iter().map(|o| o["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["Alfa Customer", "Alfa Distributor"]);
    assert_eq!(
        data["organizations"][0],
        json!({"id": tree.customer, "logto_id": tree.customer, "name": "Alfa Customer", "type": "customer"})
    );
    let keys: Vec<&str> =
        data["roles"].as_array().unwrap().iter().map(|r| r["id"].as_str().unwrap()).collect();
    assert_eq!(keys, ["admin", "backoffice", "support", "reader"]);
    let (_, name, email) = users_row(&t, d.id).await;
    let own = json!({"user_id": d.id, "name": name, "email": email, "organization_id": tree.distributor,
        "organization_name": "Alfa Distributor"});
    let creators = data["created_by"].as_array().unwrap();
    assert_eq!(creators.iter().filter(|c| **c == own).count(), 1, "{creators:?}");
    let mut by_name: Vec<String> =
        creators.iter().map(|c| c["name"].as_str().unwrap().to_lowercase()).collect();
    let answered = by_name.clone();
    by_name.sort();
    assert_eq!(answered, by_name);
    assert_eq!(filters(&c).await["organizations"].as_array().unwrap().len(), 1);
    t.delete_organization(tree.customer).await;
    let data = filters(&d).await;
    assert_eq!(data["organizations"].as_array().unwrap().len(), 1);
    assert!(!data["created_by"].as_array().unwrap().contains(&own));
});

api_test!(role_lists, |t| async move {
    let tree = t.tree().await;
    let ids = |reply: Reply| -> Vec<String> {
        let data = reply.expect_message(200, "roles retrieved successfully").data();
        let roles = data["roles"].as_array().unwrap();
        assert!(roles.iter().all(|r| r.as_object().unwrap().len() == 3 && r["name"].is_string()));
        roles.iter().map(|r| r["id"].as_str().unwrap().to_owned()).collect()
    };
    let owner = t.owner().await;
    assert_eq!(
        ids(get(&t, &owner, "/api/roles").await),
        ["super", "admin", "backoffice", "support", "reader"]
    );
    let admin = t.user(tree.customer, &["admin"]).await;
    assert_eq!(ids(get(&t, &admin, "/api/roles").await), ["admin", "backoffice", "support", "reader"]);
    let backoffice = t.user(tree.customer, &["backoffice"]).await;
    assert_eq!(ids(get(&t, &backoffice, "/api/roles").await), ["backoffice", "reader"]);
    // A user who cannot give roles sees all roles that are not restricted.
    let reader = t.user(tree.customer, &["reader"]).await;
    assert_eq!(ids(get(&t, &reader, "/api/roles").await), ["admin", "backoffice", "support", "reader"]);
    let reply = get(&t, &reader, "/api/organization-roles").await;
    let data = reply.expect_message(200, "organization roles retrieved successfully").data();
    let roles: Vec<(&str, &str)> = data["organization_roles"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| (r["id"].as_str().unwrap(), r["name"].as_str().unwrap()))
        .collect();
    let expected = [
        ("owner", "Owner"),
        ("distributor", "Distributor"),
        ("reseller", "Reseller"),
        ("customer", "Customer"),
    ];
    assert_eq!(roles, expected);
    for path in ["/api/roles", "/api/organization-roles"] {
        t.get(path).send().await.expect_message(401, "authorization header required");
    }
});

async fn change(t: &Test, who: &Persona, body: Value) -> Reply {
    t.post("/api/me/change-info").bearer(&who.token).json(body).send().await
}

api_test!(a_user_changes_his_own_details, |t| async move {
    let tree = t.tree().await;
    let user = t.user(tree.customer, &["reader"]).await;
    let updated = async |body: Value| {
        let reply = change(&t, &user, body).await.expect_message(200, "profile updated successfully");
        reply.data()["updated_fields"].clone()
    };
    let all = json!({"phone": "+39 333 123456", "email": " New@Example.org ", "name": "Nina Neri", "username": "x"});
    assert_eq!(updated(all).await, json!(["name", "email", "phone"]));
    let me = get(&t, &user, "/api/me").await.expect(200).data();
    assert_eq!(
        (&me["name"], &me["email"], &me["phone"]),
        (&json!("Nina Neri"), &json!("New@Example.org"), &json!("39333123456"))
    );
    let (verified, key): (bool, String) = Q::new("SELECT email_verified, search_key FROM users WHERE id = ?")
        .bind(user.id)
        .one(&t.app.platform.db)
        .await
        .unwrap();
    assert!(!verified && key.contains("nina neri") && key.contains("new@example.org"));
    assert_eq!(updated(json!({"phone": "", "name": null})).await, json!(["phone (removed)"]));
    assert_eq!(updated(json!({"name": "Nina"})).await, json!(["name"]));
    let me = get(&t, &user, "/api/me").await.expect(200).data();
    assert_eq!(
        (&me["phone"], &me["email"], &me["name"]),
        (&Value::Null, &json!("New@Example.org"), &json!("Nina"))
    );
    let rows: Vec<(String,)> =
        Q::new("SELECT action FROM audit_log WHERE object_id = ? AND actor_user_id = ?")
            .bind(user.id)
            .bind(user.id)
            .all(&t.app.platform.db)
            .await
            .unwrap();
    assert_eq!(rows.len(), 3);
    assert!(rows.iter().all(|r| r.0 == "user.change_info"));
});

// Proves spec: guarantees#identity 33.
api_test!(own_details_that_are_refused, |t| async move {
    let tree = t.tree().await;
    let (user, rival) =
        (t.user(tree.customer, &["reader"]).await, t.user(tree.other_customer, &["reader"]).await);
    change(&t, &rival, json!({"phone": "0123456789"})).await.expect(200);
    let nothing = "at least one field (name, email, or phone) must be provided";
    for body in [json!({}), json!({"name": null}), json!({"username": "x"})] {
        change(&t, &user, body).await.expect_message(400, nothing);
    }
    let reply = change(&t, &user, json!({"name": " ", "email": ""})).await;
    let reply = reply.expect_fields(&[("name", "name cannot be empty"), ("email", "email cannot be empty")]);
    assert_eq!(reply.data()["errors"][0]["value"], "");
    let taken = users_row(&t, rival.id).await.2.to_uppercase();
    change(&t, &user, json!({"email": taken, "phone": "+0123456789", "name": "x".repeat(256)}))
        .await
        .expect_fields(&[("name", "too_long"), ("email", "already_exists")]);
    change(&t, &user, json!({"email": "a@b@c", "phone": "12"}))
        .await
        .expect_fields(&[("email", "invalid"), ("phone", "invalid_format")]);
    let broken = t.post("/api/me/change-info").bearer(&user.token).body("{").send().await.expect(400);
    assert!(broken.message().starts_with("invalid request body: "), "{}", broken.text());
    assert_eq!(broken.data()["type"], "validation_error");
    let list = t.post("/api/me/change-info").bearer(&user.token).body("[]").send().await.expect(400).data();
    assert_eq!(list["errors"], json!([{"key": "unknown", "message": "not_an_object", "value": ""}]));
    let before = users_row(&t, user.id).await;
    change(&t, &user, json!({"name": "Ok", "email": "nope"})).await.expect(400);
    assert_eq!(users_row(&t, user.id).await, before);
});

api_test!(a_short_number_is_taken_back_as_it_is_answered, |t| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    let user = t.user(tree.customer, &["reader"]).await;
    let path = format!("/api/users/{}", user.id);
    let put = async |phone: &str| {
        t.put(&path).bearer(&owner.token).json(json!({"name": "A", "phone": phone})).send().await
    };
    // Signs count for the least length of the sent number, and are not stored.
    assert_eq!(put("+390-212").await.expect(200).data()["phone"], "390212");
    assert_eq!(put("390212").await.expect(200).data()["phone"], "390212");
    change(&t, &user, json!({"phone": "390212"})).await.expect(200);
    put("390213").await.expect_fields(&[("phone", "invalid_format")]);
});
