//! Users: create, read, list, change, password (spec: users#operations, authorization#assigning-roles).
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

use bailiwick_domain::UserId;
use bailiwick_identity::passwords;
use bailiwick_store::{identities, sql::Q};
use bailiwick_testkit::{Persona, Reply, Test, api_test};
use serde_json::{Value, json};
use std::time::Duration;

mod lifecycle;
mod list;
mod stats;
mod third_party;

async fn post(t: &Test, who: &Persona, body: Value) -> Reply {
    t.post("/api/users").bearer(&who.token).json(body).send().await
}

async fn put(t: &Test, who: &Persona, id: impl std::fmt::Display, body: Value) -> Reply {
    t.put(&format!("/api/users/{id}")).bearer(&who.token).json(body).send().await
}

async fn get(t: &Test, who: &Persona, path: &str) -> Reply {
    t.get(path).bearer(&who.token).send().await
}

fn body(email: &str, roles: &[&str], organization: impl serde::Serialize) -> Value {
    json!({"email": email, "name": "Mario Rossi", "user_role_ids": roles, "organization_id": organization})
}

fn emails(reply: Reply) -> Vec<String> {
    let data = reply.expect_message(200, "users retrieved successfully").data();
    data["users"].as_array().unwrap().iter().map(|u| u["email"].as_str().unwrap().to_owned()).collect()
}

api_test!(a_new_user, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let sent = json!({
        "email": " M.Rossi@Example.org ", "name": "Mario Rossi", "phone": "+39 333 123456", "username": "",
        "user_role_ids": ["reader", "support", "reader"], "organization_id": tree.reseller, "logto_id": "x",
        "custom_data": {"desk": 4, "type": "owner", "createdBy": "x", "userRoleIds": [], "organizationId": 1, "createdAt": 2}
    });
    let made = post(&t, &d, sent).await.expect_message(201, "user created successfully").data();
    let (now, id) = (t.app.platform.now(), made["id"].as_str().unwrap().to_owned());
    let creator = users_row(&t, d.id).await;
    let expected = json!({
        "id": id, "logto_id": id, "username": "M_Rossi", "email": "M.Rossi@Example.org", "name": "Mario Rossi",
        "phone": "39333123456",
        "organization": {"id": tree.reseller, "logto_id": tree.reseller, "name": "Alfa Reseller", "type": "reseller"},
        "roles": [{"id": "reader", "name": "Reader"}, {"id": "support", "name": "Support"}],
        "custom_data": {"desk": 4}, "created_at": now, "updated_at": now, "logto_synced_at": null,
        "latest_login_at": null, "deleted_at": null, "suspended_at": null, "suspended_by_org_id": null,
        "deleted_by_org_id": null,
        "created_by": {"user_id": d.id, "username": creator.0, "name": creator.1, "email": creator.2,
            "organization_id": d.org, "organization_name": "Alfa Distributor"}
    });
    assert_eq!(made, expected);
    assert_eq!(get(&t, &d, &format!("/api/users/{id}")).await.expect(200).data(), expected);
    // A generated password waits to be replaced.
    let record = identities::password(&t.app.platform.db, id.parse().unwrap()).await.unwrap().unwrap();
    assert_eq!(record.generated_at, Some(now));
    assert!(record.hash.unwrap().starts_with("$argon2id$"));
    // The next one of the same local part gets a number.
    let next =
        post(&t, &d, body("m.rossi@other.example", &["reader"], tree.reseller)).await.expect(201).data();
    assert_eq!(
        (&next["username"], &next["custom_data"], &next["phone"]),
        (&json!("m_rossi_1"), &Value::Null, &Value::Null)
    );
    let owner =
        post(&t, &d, body("owner@other.example", &["reader"], tree.reseller)).await.expect(201).data();
    assert_eq!(owner["username"], "owner_1");
});

api_test!(a_hundred_thousand_roles_are_refused_at_once, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let roles: Vec<String> = (0..100_000).map(|n| format!("{n:x}")).collect();
    let sent = json!({"user_role_ids": roles, "organization_id": tree.customer});
    let reply = post(&t, &d, sent).await.expect_message(400, "validation failed");
    assert_eq!(reply.data()["errors"].as_array().unwrap().len(), roles.len());
});

/// User name, name and e-mail.
async fn users_row(t: &Test, id: UserId) -> (String, String, String) {
    let user = identities::get(&t.app.platform.db, id).await.unwrap().unwrap();
    (user.username, user.name, user.email)
}

// Proves spec: acceptance#scenarios 16, guarantees#identity 3 33.
api_test!(checks_of_a_creation_come_in_order, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let support = t.user(tree.distributor, &["support"]).await;
    let broken = t.post("/api/users").bearer(&support.token).body("{").send().await;
    broken.expect_message(403, "insufficient permissions");
    t.post("/api/users").bearer(&d.token).body("{").send().await.expect_message(400, "validation failed");
    let missing = [
        ("user_role_ids", "at least one role is required"),
        ("organization_id", "required"),
        ("name", "cannot_be_empty"),
        ("email", "required"),
    ];
    post(&t, &d, json!({})).await.expect_fields(&missing);
    post(&t, &d, json!({"user_role_ids": [], "organization_id": ""})).await.expect_fields(&missing);
    post(&t, &d, json!({"user_role_ids": "admin"})).await.expect_fields(&[("user_role_ids", "wrong_type")]);
    // Organization before roles, roles before fields.
    let reason = "access denied: distributors can only create users in organizations they manage";
    post(&t, &d, json!({"user_role_ids": ["nothing"], "organization_id": tree.other_customer}))
        .await
        .expect_message(403, reason);
    let unknown = json!({"user_role_ids": ["nothing", "admin"], "organization_id": tree.customer});
    let reply = post(&t, &d, unknown).await.expect_fields(&[("user_role_ids", "role not found")]);
    assert_eq!(reply.data()["errors"][0]["value"], "nothing");
    let reply = post(&t, &d, json!({"user_role_ids": ["super"], "organization_id": tree.customer})).await;
    let data = reply.expect_message(403, "insufficient privileges to assign this role").data();
    assert_eq!((&data["role_id"], &data["required_org_role"]), (&json!("super"), &json!("owner")));
    assert_eq!(data["current_org_role"], "distributor");
    post(&t, &d, json!({"user_role_ids": ["admin"], "organization_id": tree.customer}))
        .await
        .expect_fields(&[("name", "cannot_be_empty"), ("email", "required")]);
    let all_wrong = json!({
        "user_role_ids": ["admin"], "organization_id": tree.customer, "name": "x".repeat(256), "email": "a@b@c",
        "username": "1a", "phone": "12", "custom_data": {"k": "\0"}
    });
    post(&t, &d, all_wrong).await.expect_fields(&[
        ("name", "too_long"),
        ("email", "invalid"),
        ("username", "invalid_format"),
        ("phone", "invalid_format"),
        ("custom_data.k", "invalid_format"),
    ]);
    let reserved = json!({"user_role_ids": ["admin"], "organization_id": tree.customer, "name": "n",
        "email": "o@example.org", "username": "OWNER"});
    let text = "username 'owner' is reserved and cannot be used";
    post(&t, &d, reserved).await.expect_fields(&[("username", text)]);
});

api_test!(free_data_has_a_largest_size, |t| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    let data = |bytes: usize| json!({"n": "x".repeat(bytes - r#"{"n":""}"#.len())});
    let too_long = [("custom_data", "too_long")];
    let (fits, large) = (data(64 * 1024), data(64 * 1024 + 1));
    let mut new = body("a@example.org", &["reader"], tree.customer);
    new["custom_data"] = large.clone();
    post(&t, &owner, new.clone()).await.expect_fields(&too_long);
    new["custom_data"] = fits;
    let id = post(&t, &owner, new).await.expect(201).data()["id"].as_str().unwrap().to_owned();
    put(&t, &owner, &id, json!({"custom_data": large})).await.expect_fields(&too_long);
    // Stored data stays, and may be sent back.
    let mut tx = t.app.platform.db.begin().await.unwrap();
    let q = Q::new("UPDATE users SET custom_data = ? WHERE id = ?").bind(large.clone());
    q.bind(id.parse::<UserId>().unwrap()).run(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    put(&t, &owner, &id, json!({"custom_data": large})).await.expect(200);
});

// Proves spec: guarantees#identity 4.
api_test!(reach_of_a_new_users_organization, |t| async move {
    let tree = t.tree().await;
    let (d, r, c) = (
        t.user(tree.distributor, &["admin"]).await,
        t.user(tree.reseller, &["admin"]).await,
        t.user(tree.customer, &["admin"]).await,
    );
    let unknown = "01950000-0000-7000-8000-000000000000";
    let reasons = [
        (&d, "access denied: distributors can only create users in organizations they manage"),
        (
            &r,
            "access denied: resellers can only create users in their own organization or customers they manage",
        ),
        (&c, "access denied: customers can only create users in their own organization"),
    ];
    for (who, reason) in reasons {
        let owner = tree.owner.to_string();
        for given in [unknown, "nonsense", &tree.other_customer.to_string(), &owner] {
            let reply =
                post(&t, who, body("x@example.org", &["reader"], given)).await.expect_message(403, reason);
            assert_eq!(reply.data(), Value::Null);
        }
        let email = format!("new-{}@example.org", who.id);
        post(&t, who, body(&email, &["reader"], tree.customer)).await.expect(201);
    }
    let owner = t.owner().await;
    let reply = post(&t, &owner, body("x@example.org", &["reader"], unknown)).await;
    reply.expect_fields(&[("organization_id", "organization not found")]);
    let reply = post(&t, &owner, body("x@example.org", &["reader"], tree.owner)).await;
    let text = "cannot create users in the Owner organization - this is managed by the system";
    reply.expect_fields(&[("organization_id", text)]);
    t.suspend_organization(tree.reseller).await;
    let reply = post(&t, &d, json!({"user_role_ids": ["reader"], "organization_id": tree.customer})).await;
    reply.expect_fields(&[
        ("name", "cannot_be_empty"),
        ("email", "required"),
        ("organization_id", "organization is not active"),
    ]);
    t.delete_organization(tree.reseller).await;
    let reply = post(&t, &d, body("x@example.org", &["reader"], tree.customer)).await;
    reply.expect_message(403, reasons[0].1);
});

// Proves spec: guarantees#identity 33.
api_test!(unique_values_are_reported_together, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let first = json!({"email": "a@example.org", "name": "A", "username": "anna", "phone": "0123 4567",
        "user_role_ids": ["reader"], "organization_id": tree.other_customer});
    let first = post(&t, &owner, first).await.expect(201).data();
    let d = t.user(tree.distributor, &["admin"]).await;
    let again = json!({"email": "A@Example.ORG", "name": "B", "username": "ANNA", "phone": "+01234567",
        "user_role_ids": ["reader"], "organization_id": tree.customer});
    let taken = [("email", "already_exists"), ("username", "already_exists")];
    let reply = post(&t, &d, again.clone()).await.expect_fields(&taken);
    assert_eq!(reply.data()["errors"][0]["value"], "A@Example.ORG");
    // A user who is deleted directly keeps only their user name.
    t.delete_user(first["id"].as_str().unwrap().parse().unwrap()).await;
    post(&t, &d, again).await.expect_fields(&taken[1..2]);
    let race =
        async || post(&t, &d, body("race@example.org", &["reader"], tree.customer)).await.status.as_u16();
    let mut outcomes: [u16; 3] = tokio::join!(race(), race(), race()).into();
    outcomes.sort_unstable();
    assert_eq!(outcomes, [201, 400, 400]);
    // Derived names never collide, even at the same moment.
    let same = async |n: u32| {
        let email = format!("same@host{n}.example");
        post(&t, &d, body(&email, &["reader"], tree.customer)).await.expect(201).data()["username"].clone()
    };
    let (a, b, c) = tokio::join!(same(1), same(2), same(3));
    let mut derived = [a, b, c].map(|n| n.as_str().unwrap().to_owned());
    derived.sort();
    assert_eq!(derived, ["same", "same_1", "same_2"]);
});

// Proves spec: acceptance#scenarios 16, guarantees#identity 2, authorization#guarantees 2 3.
api_test!(nobody_goes_beyond_himself, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let admin = t.user(tree.distributor, &["admin"]).await;
    let backoffice = t.user(tree.distributor, &["backoffice"]).await;
    let boss = t.user(tree.distributor, &["super"]).await;
    let assign = "insufficient privileges to assign this role";
    let manage = "insufficient privileges to manage this user";
    let reply = post(&t, &backoffice, body("x@example.org", &["reader", "admin"], tree.customer)).await;
    let data = reply.expect_message(403, assign).data();
    assert_eq!((&data["role_id"], &data["required_org_role"]), (&json!("admin"), &Value::Null));
    assert_eq!(data["missing_permissions"], json!(["manage:systems", "read:alerts", "manage:alerts"]));
    // Below the owner no user holds the restricted role's permissions to pass on, and no user may act on a higher one.
    let reader = t.user(tree.customer, &["reader"]).await;
    put(&t, &boss, reader.id, json!({"user_role_ids": ["super"]})).await.expect_message(403, assign);
    put(&t, &backoffice, reader.id, json!({"user_role_ids": ["admin"]})).await.expect_message(403, assign);
    for (who, target) in [(&backoffice, &admin), (&admin, &boss)] {
        put(&t, who, target.id, json!({"name": "x"})).await.expect_message(403, manage);
        let path = format!("/api/users/{}/password", target.id);
        t.patch(&path).bearer(&who.token).json(json!({})).send().await.expect_message(403, manage);
    }
    put(&t, &owner, reader.id, json!({"user_role_ids": ["super"]})).await.expect(200);
    let data = get(&t, &owner, &format!("/api/users/{}", reader.id)).await.expect(200).data();
    assert_eq!(data["roles"], json!([{"id": "super", "name": "Super Admin"}]));
    // The new role counts on the next request of the token that the user already has.
    get(&t, &reader, "/api/users").await.expect(200);
    put(&t, &owner, reader.id, json!({"user_role_ids": ["support"]})).await.expect(200);
    get(&t, &reader, "/api/users").await.expect_message(403, "insufficient permissions");
    // A move to a higher level gives more, so it is a grant too.
    let c_admin = t.user(tree.customer, &["admin"]).await;
    let r_backoffice = t.user(tree.reseller, &["backoffice"]).await;
    put(&t, &r_backoffice, c_admin.id, json!({"organization_id": tree.reseller}))
        .await
        .expect_message(403, manage);
});

// Proves spec: acceptance#scenarios 17.
api_test!(nobody_manages_himself, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let text = "cannot perform administrative actions on yourself";
    put(&t, &d, d.id, json!({})).await.expect_message(403, text);
    let upper = d.id.to_string().to_uppercase();
    put(&t, &d, upper, json!({})).await.expect_message(403, text);
    let path = format!("/api/users/{}/password", d.id);
    t.patch(&path).bearer(&d.token).body("{").send().await.expect_message(403, text);
    get(&t, &d, &format!("/api/users/{}", d.id)).await.expect(200);
    let support = t.user(tree.distributor, &["support"]).await;
    put(&t, &support, support.id, json!({})).await.expect_message(403, "insufficient permissions");
});

// Proves spec: guarantees#identity 4.
api_test!(a_user_out_of_reach_is_not_found, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let foreign = t.user(tree.other_customer, &["super"]).await;
    let gone = t.user(tree.customer, &["reader"]).await;
    t.delete_user(gone.id).await;
    let missing = get(&t, &d, "/api/users/01950000-0000-7000-8000-000000000000").await;
    let missing = missing.expect_message(404, "user not found");
    for id in [foreign.id.to_string(), gone.id.to_string(), "x".to_owned(), tree.customer.to_string()] {
        let password = t.patch(&format!("/api/users/{id}/password")).bearer(&d.token).body("{").send().await;
        for reply in
            [get(&t, &d, &format!("/api/users/{id}")).await, put(&t, &d, &id, json!({})).await, password]
        {
            assert_eq!((reply.status, &reply.body), (missing.status, &missing.body), "{id}");
        }
    }
});

// Proves spec: guarantees#identity 28, authorization#guarantees 33.
api_test!(a_put_changes_what_is_sent, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let sent = json!({"email": "a@example.org", "name": "A", "username": "anna", "phone": "0123456789",
        "user_role_ids": ["reader"], "organization_id": tree.reseller, "custom_data": {"k": 1, "l": 2}});
    let before = post(&t, &d, sent).await.expect(201).data();
    let id = before["id"].as_str().unwrap().to_owned();
    t.advance(Duration::from_secs(60));
    let same =
        put(&t, &d, &id, json!({"name": null})).await.expect_message(200, "user updated successfully").data();
    let mut expected = before.clone();
    expected["updated_at"] = json!(t.app.platform.now());
    assert_eq!(same, expected);
    // A field that clients always send passes unchanged.
    let echo = json!({"email": "a@example.org", "name": "A", "phone": "0123456789", "user_role_ids": ["reader"],
        "organization_id": tree.reseller.to_string().to_uppercase(), "logto_id": id});
    assert_eq!(put(&t, &d, &id, echo).await.expect(200).data(), expected);
    let change = json!({"email": "b@example.org", "username": "Anna", "phone": "", "user_role_ids": ["support", "reader"],
        "custom_data": {"m": 3, "createdBy": "x"}});
    let after = put(&t, &d, &id, change).await.expect(200).data();
    for (key, value) in [
        ("email", json!("b@example.org")),
        ("username", json!("Anna")),
        ("phone", Value::Null),
        ("custom_data", json!({"m": 3})),
        ("roles", json!([{"id": "support", "name": "Support"}, {"id": "reader", "name": "Reader"}])),
    ] {
        expected[key] = value;
    }
    assert_eq!(after, expected);
    let other = t.user(tree.customer, &["reader"]).await;
    let (username, _, email) = users_row(&t, other.id).await;
    let wrong = json!({"name": "", "email": email, "username": username});
    let fields = [("name", "cannot_be_empty"), ("email", "already_exists"), ("username", "already_exists")];
    put(&t, &d, &id, wrong).await.expect_fields(&fields);
    let empty = [("email", "required"), ("username", "cannot_be_empty")];
    put(&t, &d, &id, json!({"email": "", "username": ""})).await.expect_fields(&empty);
    let roles = [("user_role_ids", "at least one role is required")];
    put(&t, &d, &id, json!({"user_role_ids": []})).await.expect_fields(&roles);
    let roles = [("user_role_ids", "role not found")];
    put(&t, &d, &id, json!({"user_role_ids": ["x", "reader"], "name": "lost"})).await.expect_fields(&roles);
    assert_eq!(get(&t, &d, &format!("/api/users/{id}")).await.expect(200).data(), expected);
    // A changed address is no longer a confirmed one.
    assert!(identities::get(&t.app.platform.db, other.id).await.unwrap().unwrap().email_verified);
    put(&t, &d, other.id, json!({"email": "new@example.org"})).await.expect(200);
    assert!(!identities::get(&t.app.platform.db, other.id).await.unwrap().unwrap().email_verified);
});

// Proves spec: guarantees#identity 1, authorization#guarantees 1.
api_test!(a_move_needs_both_ends_in_reach, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let user = t.user(tree.customer, &["reader"]).await;
    let counts = async |who: &Persona| {
        get(&t, who, "/api/users").await.expect(200).data()["pagination"]["total_count"].as_u64()
    };
    let r = t.user(tree.reseller, &["admin"]).await;
    let (of_d, of_r) = (counts(&d).await, counts(&r).await);
    let reason = "access denied: distributors can only update users in organizations they manage";
    for foreign in [json!(tree.other_customer), json!("x"), json!("01950000-0000-7000-8000-000000000000")] {
        let change = json!({"organization_id": foreign, "name": "lost"});
        put(&t, &d, user.id, change).await.expect_message(403, reason);
    }
    put(&t, &d, user.id, json!({"organization_id": ""}))
        .await
        .expect_fields(&[("organization_id", "required")]);
    let moved = put(&t, &d, user.id, json!({"organization_id": tree.distributor})).await.expect(200).data();
    assert_eq!(moved["organization"]["name"], "Alfa Distributor");
    assert_ne!(moved["name"], "lost");
    assert_eq!(counts(&d).await, of_d);
    assert_eq!(counts(&r).await, of_r.map(|n| n - 1));
    get(&t, &r, &format!("/api/users/{}", user.id)).await.expect_message(404, "user not found");
    let text = "cannot move users to the Owner organization - this is managed by the system";
    let reply = put(&t, &owner, user.id, json!({"organization_id": tree.owner})).await;
    reply.expect_fields(&[("organization_id", text)]);
    t.suspend_organization(tree.reseller).await;
    let reply = put(&t, &d, user.id, json!({"organization_id": tree.customer})).await;
    reply.expect_fields(&[("organization_id", "organization is not active")]);
    // Inside a suspended organization a change that does not move is fine.
    let inside = t.owner().await;
    let stuck =
        get(&t, &inside, &format!("/api/users?organization_id={}", tree.reseller)).await.expect(200).data();
    let stuck = stuck["users"][0]["id"].as_str().unwrap().to_owned();
    let same = json!({"organization_id": tree.reseller, "name": "Still"});
    let still = put(&t, &d, stuck, same).await.expect(200).data();
    assert_eq!((&still["suspended_by_org_id"], &still["name"]), (&json!(tree.reseller), &json!("Still")));
    assert_eq!(still["suspended_at"], json!(t.app.platform.now()));
});

// Proves spec: guarantees#identity 18.
api_test!(the_owners_users_have_ordinary_rows, |t| async move {
    let owner = t.owner().await;
    let second = t.user(owner.org, &["super"]).await;
    let echo = json!({"email": "owner@example.org", "name": "Boss", "username": "owner", "user_role_ids": ["super"],
        "organization_id": owner.org});
    let changed = put(&t, &second, owner.id, echo).await.expect(200).data();
    assert_eq!((&changed["name"], &changed["organization"]["type"]), (&json!("Boss"), &json!("owner")));
    assert_eq!(changed["created_by"], Value::Null);
    let reserved = [("username", "username 'owner' is reserved and cannot be used")];
    put(&t, &owner, second.id, json!({"username": "Owner"})).await.expect_fields(&reserved);
    // The owner can be listed, suspended, deleted and restored as any other user.
    let listed = emails(get(&t, &second, "/api/users?sort_by=created_at").await);
    assert_eq!(listed.len(), 2);
    for (verb, message) in
        [("suspend", "user suspended successfully"), ("reactivate", "user reactivated successfully")]
    {
        let path = format!("/api/users/{}/{verb}", owner.id);
        t.patch(&path).bearer(&second.token).send().await.expect_message(200, message);
        get(&t, &owner, "/api/me").await.expect(401);
    }
    let path = format!("/api/users/{}", owner.id);
    t.delete(&path).bearer(&second.token).send().await.expect(200);
    t.patch(&format!("{path}/restore")).bearer(&second.token).send().await.expect(200);
    get(&t, &t.session(owner.id).await, "/api/me").await.expect(200);
});

// Proves spec: acceptance#scenarios 17, guarantees#identity 15, authorization#guarantees 18.
api_test!(a_password_reset_ends_all_sessions, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let user = t.user(tree.customer, &["reader"]).await;
    let path = format!("/api/users/{}/password", user.id);
    let send = async |body: Value| t.patch(&path).bearer(&d.token).json(body).send().await;
    for (password, code) in [
        (Value::Null, "required"),
        (json!(""), "required"),
        (json!("Short7-pass"), "min_length"),
        (json!("x".repeat(129)), "max_length"),
        (json!("lower-case-only-7"), "missing_uppercase"),
        (json!("Secure-Master-Key-7"), "contains_weak_patterns"),
        (json!("Zzzzz-7-Quux-Frob"), "too_many_repeating_chars"),
    ] {
        let reply = send(json!({"password": password})).await.expect_fields(&[("password", code)]);
        assert_eq!(reply.data()["errors"][0].get("value"), None, "a password is never echoed");
    }
    get(&t, &user, "/api/me").await.expect(200);
    let new = "Trombone-47-Quux!";
    let reply = send(json!({"password": new})).await.expect_message(200, "password reset successfully");
    assert_eq!(reply.data(), Value::Null);
    let dead = get(&t, &user, "/api/me").await.expect_message(401, "token has been revoked");
    assert_eq!(dead.data(), json!({"reason": "password changed"}));
    let refresh = t.post("/api/auth/refresh").json(json!({"refresh_token": user.refresh_token})).send().await;
    refresh.expect(401);
    let record = identities::password(&t.app.platform.db, user.id).await.unwrap().unwrap();
    assert_eq!(record.generated_at, None);
    assert!(passwords::verify(&t.app.identity, new, record.hash.as_deref()).await.unwrap());
    get(&t, &d, "/api/me").await.expect(200);
});
