//! A database that fails in the middle: nothing half-written, no wider answer, no internal text, no weaker token
//! (spec: guarantees#identity rules 16, 27, 36; guarantees#organizations rules 5, 19, 31; authorization#guarantees
//! rules 22, 30).

use bailiwick_api::routes::table;
use bailiwick_store::sql::Q;
use bailiwick_testkit::{Call, Persona, Reply, Test, api_test, seed::Tree};
use serde_json::{Value, json};

/// Changes the schema under the running service: one table after the other, so that none is held while background work
/// has another one.
pub(crate) async fn alter(t: &Test, statements: &[&str]) {
    for statement in statements {
        let mut tx = t.app.platform.db.begin().await.unwrap();
        Q::new(statement).run(&mut tx).await.unwrap();
        tx.commit().await.unwrap();
    }
}

/// Words that only an engine, the driver or the schema uses.
const INTERNAL: [&str; 14] = [
    "sql",
    "column",
    "table",
    "relation",
    "syntax",
    "constraint",
    "audit_log",
    "description",
    "gone",
    "error returned",
    "prepare",
    "no such",
    "does not exist",
    "panick",
];

#[track_caller]
fn fault(reply: Reply, message: &str) {
    let text = reply.text().to_lowercase();
    let reply = reply.expect(500);
    assert_eq!(reply.json(), json!({"code": 500, "message": message, "data": null}));
    assert!(INTERNAL.iter().all(|word| !text.contains(word)), "{text}");
}

fn call(t: &Test, who: &Persona, method: &str, path: &str, body: Value) -> Call {
    t.call(method.parse().unwrap(), &format!("/api{path}")).bearer(&who.token).json(body)
}

/// Everything that a move or a change could leave behind, as the owner's lists and the sessions show it.
async fn everything(t: &Test, owner: &Persona) -> Vec<Value> {
    let mut all = Vec::new();
    for what in ["distributors", "resellers", "customers", "users", "systems"] {
        let path = format!(
            "/api/{what}?page_size=100&status=enabled&status=suspended&status=deleted&status=unknown"
        );
        all.push(t.get(&path).bearer(&owner.token).send().await.expect(200).data());
    }
    let chains: Vec<(uuid::Uuid, Option<String>)> =
        Q::new("SELECT id, revoked_reason FROM session_chains ORDER BY id")
            .all(&t.app.platform.db)
            .await
            .unwrap();
    let counts: Vec<(uuid::Uuid, i64, i64)> = Q::new(
        "SELECT organization_id, CAST(users AS BIGINT), CAST(systems AS BIGINT) FROM organization_counts \
         ORDER BY organization_id",
    )
    .all(&t.app.platform.db)
    .await
    .unwrap();
    all.push(json!([format!("{chains:?}"), format!("{counts:?}")]));
    all
}

// Proves spec: guarantees#identity 27, guarantees#organizations 19.
api_test!(what_fails_at_its_end_has_changed_nothing, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let (user, gone) = (t.user(tree.customer, &["reader"]).await, t.user(tree.customer, &["reader"]).await);
    let system = t.system(tree.customer).await;
    let (suspended, deleted) = (tree.other_reseller, tree.other_customer);
    let act = async |method: &str, path: String| call(&t, &owner, method, &path, json!({})).send().await;
    act("PATCH", format!("/resellers/{suspended}/suspend")).await.expect(200);
    act("DELETE", format!("/customers/{deleted}")).await.expect(200);
    act("DELETE", format!("/users/{}", gone.id)).await.expect(200);
    let before = everything(&t, &owner).await;
    // The audit is the last thing each of them writes.
    alter(&t, &["ALTER TABLE audit_log RENAME TO audit_elsewhere"]).await;
    let organization = json!({"name": "N", "custom_data": {"vat": "1"}});
    let person = json!({"email": "n@example.org", "name": "N", "user_role_ids": ["admin"], "organization_id": tree.reseller});
    for (method, path, body, message) in [
        ("POST", "/distributors".to_owned(), organization.clone(), "failed to create distributor"),
        ("PUT", format!("/resellers/{}", tree.reseller), organization, "failed to update reseller"),
        (
            "PATCH",
            format!("/distributors/{}/suspend", tree.distributor),
            json!({}),
            "failed to suspend distributor",
        ),
        ("PATCH", format!("/resellers/{suspended}/reactivate"), json!({}), "failed to reactivate reseller"),
        ("DELETE", format!("/resellers/{}", tree.reseller), json!({}), "failed to delete reseller"),
        ("PATCH", format!("/customers/{deleted}/restore"), json!({}), "failed to restore customer"),
        (
            "DELETE",
            format!("/distributors/{}/destroy", tree.distributor),
            json!({}),
            "failed to destroy distributor",
        ),
        ("POST", "/users".to_owned(), person.clone(), "internal server error"),
        ("PUT", format!("/users/{}", user.id), person, "internal server error"),
        ("PATCH", format!("/users/{}/suspend", user.id), json!({}), "internal server error"),
        ("DELETE", format!("/users/{}", user.id), json!({}), "internal server error"),
        ("PATCH", format!("/users/{}/restore", gone.id), json!({}), "internal server error"),
        ("DELETE", format!("/users/{}/destroy", user.id), json!({}), "internal server error"),
        (
            "PATCH",
            format!("/users/{}/password", user.id),
            json!({"password": "Trombone-47-Quux!"}),
            "internal server error",
        ),
        ("PATCH", format!("/systems/{}/suspend", system.id), json!({}), "failed to process system request"),
        ("DELETE", format!("/systems/{}/destroy", system.id), json!({}), "failed to process system request"),
    ] {
        fault(call(&t, &owner, method, &path, body).send().await, message);
    }
    assert_eq!(everything(&t, &owner).await, before);
    t.get("/api/me").bearer(&user.token).send().await.expect(200);
    t.post("/api/systems/heartbeat").basic(&system.key, &system.secret).send().await.expect(200);
});

// Proves spec: guarantees#identity 36, guarantees#organizations 31.
api_test!(a_fault_has_the_message_of_its_operation_only, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let user = t.user(tree.customer, &["reader"]).await;
    let system = t.system(tree.customer).await;
    alter(
        &t,
        &[
            "ALTER TABLE organizations RENAME COLUMN description TO gone_description",
            "ALTER TABLE organization_counts RENAME COLUMN users TO gone_users",
            "ALTER TABLE organization_counts RENAME COLUMN systems TO gone_systems",
            "ALTER TABLE users RENAME COLUMN custom_data TO gone_data",
            "ALTER TABLE systems RENAME COLUMN notes TO gone_notes",
            "ALTER TABLE audit_log RENAME TO gone_log",
        ],
    )
    .await;
    let body = json!({"name": "N", "email": "n@example.org", "custom_data": {"vat": "1"}, "user_role_ids": ["reader"],
        "organization_id": tree.customer, "password": "Trombone-47-Quux!", "system_secret": "x"});
    let mut failed = Vec::new();
    for route in table().iter().filter(|r| !r.is_proxied() && r.path != "/auth/logout") {
        let id = match route.family.map(|f| f.as_str()).or(route.path.split('/').nth(1)) {
            Some("distributor" | "distributors") => tree.distributor.to_string(),
            Some("reseller" | "resellers") => tree.reseller.to_string(),
            Some("customer" | "customers") => tree.customer.to_string(),
            Some("users") => user.id.to_string(),
            _ => system.id.to_string(),
        };
        let path = route.path.replace("{id}", &id);
        let reply = call(&t, &owner, route.method.as_str(), &path, body.clone()).send().await;
        if reply.status.is_server_error() && reply.status != 503 {
            fault(reply, route.failed.unwrap_or("internal server error"));
            failed.push(format!("{route:?}"));
        }
    }
    for family in ["distributors", "resellers", "customers"] {
        for rest in [
            "GET /F",
            "POST /F",
            "GET /F/{id}",
            "PUT /F/{id}",
            "DELETE /F/{id}",
            "DELETE /F/{id}/destroy",
            "PATCH /F/{id}/suspend",
            "GET /F/{id}/stats",
        ] {
            let operation = rest.replace('F', family);
            assert!(failed.contains(&operation), "{operation} was not hit: {failed:?}");
        }
    }
    for operation in [
        "GET /users",
        "POST /users",
        "GET /users/{id}",
        "GET /users/totals",
        "GET /systems",
        "GET /systems/{id}",
    ] {
        assert!(failed.contains(&operation.to_owned()), "{operation} was not hit: {failed:?}");
    }
});

/// Reads that answer by scope, with an object of the caller's own branch.
fn scoped(tree: &Tree, user: &Persona, system: &str) -> Vec<(String, &'static str)> {
    let internal = "internal server error";
    let mut reads = vec![
        ("/users".to_owned(), internal),
        (format!("/users/{}", user.id), internal),
        ("/users/totals".to_owned(), internal),
        ("/users/trend".to_owned(), internal),
        ("/filters/users".to_owned(), "failed to retrieve user filters"),
        ("/systems".to_owned(), internal),
        (format!("/systems/{system}"), "failed to process system request"),
        ("/customers".to_owned(), "failed to list customers"),
        (format!("/customers/{}", tree.customer), "failed to get customer"),
        (format!("/customers/{}/stats", tree.customer), "failed to get customer stats"),
        ("/customers/totals".to_owned(), "failed to retrieve customers totals"),
    ];
    for query in ["?search=a", "?organization_id=x", "?status=deleted", "?sort_by=name"] {
        reads.push((format!("/customers{query}"), "failed to list customers"));
        reads.push((format!("/users{query}"), internal));
    }
    reads
}

// Proves spec: guarantees#organizations 5, authorization#guarantees 30.
api_test!(without_a_scope_there_is_no_answer, |t| async move {
    let tree = t.tree().await;
    let (d, r) = (t.user(tree.distributor, &["super"]).await, t.user(tree.reseller, &["super"]).await);
    let user = t.user(tree.customer, &["reader"]).await;
    let system = t.system(tree.customer).await.id.to_string();
    for who in [&d, &r] {
        for (path, _) in scoped(&tree, &user, &system) {
            call(&t, who, "GET", &path, json!({})).send().await.expect(200);
        }
    }
    let columns: Vec<String> = ["organizations", "users", "systems"]
        .iter()
        .flat_map(|table| ["p2", "p3"].map(|c| format!("ALTER TABLE {table} RENAME COLUMN {c} TO gone_{c}")))
        .collect();
    alter(&t, &columns.iter().map(String::as_str).collect::<Vec<_>>()).await;
    // Without this, the service would repeat earlier answers.
    t.app.platform.answers.forget();
    for who in [&d, &r] {
        for (path, message) in scoped(&tree, &user, &system) {
            // An empty answer would be wrong as well, but never a wider one.
            let reply = call(&t, who, "GET", &path, json!({})).send().await;
            if path.contains("organization_id=x") && reply.status == 200 {
                assert_eq!(reply.data()["pagination"]["total_count"], 0, "{path}");
            } else {
                fault(reply, message);
            }
        }
    }
});

// Proves spec: guarantees#identity 16.
api_test!(a_failed_lookup_mints_no_token, |t| async move {
    let tree = t.tree().await;
    let user = t.user(tree.reseller, &["admin"]).await;
    let chains =
        async || Q::new("SELECT COUNT(*) FROM session_chains").count(&t.app.platform.db).await.unwrap();
    let refresh =
        async || t.post("/api/auth/refresh").json(json!({"refresh_token": user.refresh_token})).send().await;
    let before = chains().await;
    for broken in [json!("admin"), json!({"admin": true}), json!([1])] {
        let mut tx = t.app.platform.db.begin().await.unwrap();
        Q::new("UPDATE users SET role_ids = ? WHERE id = ?")
            .bind(broken)
            .bind(user.id)
            .run(&mut tx)
            .await
            .unwrap();
        tx.commit().await.unwrap();
        assert!(bailiwick_identity::auth::issue_token(&t.app.identity, user.id).await.is_err());
        let reply = refresh().await;
        assert!(reply.status.is_server_error(), "{}", reply.text());
        assert_eq!(reply.data(), Value::Null);
        let reply = t.get("/api/me").bearer(&user.token).send().await;
        assert!(reply.status.is_server_error(), "{}", reply.text());
    }
    assert_eq!(chains().await, before);
    let mut tx = t.app.platform.db.begin().await.unwrap();
    Q::new("UPDATE users SET role_ids = ? WHERE id = ?")
        .bind(json!(["admin"]))
        .bind(user.id)
        .run(&mut tx)
        .await
        .unwrap();
    tx.commit().await.unwrap();
    // The refresh token was not used up by the failures.
    let data = refresh().await.expect(200).data();
    assert!(data["user"]["user_permissions"].as_array().unwrap().contains(&json!("manage:users")));
});
