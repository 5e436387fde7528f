//! The rights of a key: its owner's live permissions behind the mask of its mode.

use super::*;

// Proves spec: authorization#guarantees 40.
api_test!(a_read_key_changes_nothing, |t| async move {
    let tree = t.tree().await;
    let user = t.user(tree.distributor, &["admin"]).await;
    let (_, token) = t.api_key(user.id, KeyMode::Read).await;
    let body = json!({"name": "New", "custom_data": {"vat": "IT1"}});
    let refused = t.post("/api/customers").bearer(&token).json(body.clone()).send().await;
    refused.expect_message(403, "insufficient permissions");
    let path = format!("/api/customers/{}", tree.customer);
    t.get(&path).bearer(&token).send().await.expect(200);
    t.call("HEAD".parse().unwrap(), &path).bearer(&token).send().await.expect(200);
    t.put(&path).bearer(&token).json(body).send().await.expect(403);
    t.patch(&format!("{path}/suspend")).bearer(&token).send().await.expect(403);
    assert_eq!(t.get(&path).bearer(&user.token).send().await.data()["name"], "Alfa Customer");
});

api_test!(a_write_key_manages_in_its_owners_name, |t| async move {
    let tree = t.tree().await;
    let user = t.user(tree.distributor, &["admin"]).await;
    let (_, token) = t.api_key(user.id, KeyMode::Write).await;
    let body = json!({"name": "New", "custom_data": {"vat": "IT1"}});
    let made = t.post("/api/customers").bearer(&token).json(body).send().await.expect(201).data();
    assert_eq!(made["created_by"]["user_id"], json!(user.id));
    let foreign = t.get(&format!("/api/customers/{}", tree.other_customer)).bearer(&token).send().await;
    foreign.expect_message(404, "customer not found");
    let own = t.delete(&format!("/api/users/{}", user.id)).bearer(&token).send().await;
    own.expect_message(403, "cannot perform administrative actions on yourself");
});

api_test!(no_key_ever_destroys, |t| async move {
    let tree = t.tree().await;
    let user = t.user(tree.owner, &["super"]).await;
    let (_, token) = t.api_key(user.id, KeyMode::Write).await;
    let target = t.user(tree.customer, &["reader"]).await;
    for path in [format!("customers/{}", tree.customer), format!("users/{}", target.id)] {
        let call = t.delete(&format!("/api/{path}/destroy")).bearer(&token);
        call.send().await.expect_message(403, "insufficient permissions");
        t.get(&format!("/api/{path}")).bearer(&token).send().await.expect(200);
    }
    let reset = t.patch(&format!("/api/users/{}/password", target.id)).bearer(&token);
    let reset = reset.json(json!({"password": "Other-Window-93-Rivers"})).send().await;
    reset.expect_message(403, "insufficient permissions");
});

// Proves spec: authorization#guarantees 4.
api_test!(rank_checks_take_the_masked_permissions, |t| async move {
    let tree = t.tree().await;
    let boss = t.user(tree.distributor, &["super"]).await;
    let (_, token) = t.api_key(boss.id, KeyMode::Write).await;
    let equal = t.user(tree.distributor, &["super"]).await;
    let lower = t.user(tree.distributor, &["admin"]).await;
    let suspend = |id: UserId, token: &str| t.patch(&format!("/api/users/{id}/suspend")).bearer(token).send();
    let refused = suspend(equal.id, &token).await;
    let data = refused.expect_message(403, "insufficient privileges to manage this user").data();
    assert!(data["missing_permissions"].as_array().unwrap().contains(&json!("destroy:users")), "{data}");
    suspend(lower.id, &token).await.expect(200);
});

// Proves spec: authorization#guarantees 25.
api_test!(a_key_follows_its_owners_roles_at_once, |t| async move {
    let tree = t.tree().await;
    let user = t.user(tree.distributor, &["admin"]).await;
    let (_, token) = t.api_key(user.id, KeyMode::Write).await;
    let create = |vat: &str| {
        let body = json!({"name": "New", "custom_data": {"vat": vat}});
        t.post("/api/customers").bearer(&token).json(body).send()
    };
    create("IT1").await.expect(201);
    let mut tx = t.app.platform.db.begin().await.unwrap();
    let set = Q::new("UPDATE users SET role_ids = ? WHERE id = ?").bind(json!(["reader"])).bind(user.id);
    assert_eq!(set.run(&mut tx).await.unwrap(), 1);
    tx.commit().await.unwrap();
    create("IT2").await.expect_message(403, "insufficient permissions");
    t.get("/api/customers").bearer(&token).send().await.expect(200);
});

api_test!(keys_are_refused_where_a_person_must_be, |t| async move {
    let owner = t.owner().await;
    let (_, token) = made(&t, &owner, "write").await;
    for (method, path) in [
        ("GET", "/api/me"),
        ("POST", "/api/me/change-password"),
        ("GET", "/api/me/api-keys"),
        ("POST", "/api/me/api-keys"),
        ("GET", "/api/me/sessions"),
        ("DELETE", "/api/me/sessions"),
        ("POST", "/api/auth/logout"),
        ("GET", "/api/user/profile"),
        ("GET", "/api/user/permissions"),
        ("POST", "/api/impersonate"),
        ("GET", "/api/impersonate/status"),
    ] {
        let reply = t.call(method.parse().unwrap(), path).bearer(&token).send().await;
        let reply = reply.expect_message(403, "this endpoint cannot be accessed with an api key");
        assert_eq!(reply.data(), Value::Null, "{path}");
    }
});

api_test!(keys_do_not_depend_on_the_password, |t| async move {
    let owner = t.owner().await;
    let (_, token) = made(&t, &owner, "read").await;
    let body = json!({"current_password": OWNER_PASSWORD, "new_password": "Other-Window-93-Rivers"});
    t.post("/api/me/change-password").bearer(&owner.token).json(body).send().await.expect(200);
    roles(&t, &token).send().await.expect(200);
    t.post("/api/auth/logout").bearer(&owner.token).send().await.expect(200);
    roles(&t, &token).send().await.expect(200);
});
