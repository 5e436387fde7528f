//! Personal API keys (spec: account#api-keys, authorization#effective-permissions, authorization#credentials).
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

use bailiwick_domain::UserId;
use bailiwick_policy::KeyMode;
use bailiwick_store::{api_keys, sql::Q};
use bailiwick_testkit::{Call, Engine, Persona, Reply, Test, api_test, engine::OWNER_PASSWORD};
use serde_json::{Value, json};
use std::time::Duration;

mod refusals;
mod rights;

const MINUTE: Duration = Duration::from_secs(60);

fn wanted(name: &str, mode: &str) -> Value {
    json!({"name": name, "mode": mode, "password": OWNER_PASSWORD})
}

fn create(t: &Test, who: &Persona, body: Value) -> impl Future<Output = Reply> + use<> {
    t.post("/api/me/api-keys").bearer(&who.token).json(body).send()
}

/// A key made over HTTP: its id and its token.
async fn made(t: &Test, who: &Persona, mode: &str) -> (String, String) {
    let data = create(t, who, wanted("CI", mode)).await.expect(201).data();
    (data["id"].as_str().unwrap().to_owned(), data["token"].as_str().unwrap().to_owned())
}

async fn keys(t: &Test, who: &Persona) -> Vec<Value> {
    let reply = t.get("/api/me/api-keys").bearer(&who.token).send().await;
    let data = reply.expect_message(200, "api keys retrieved successfully").data();
    data["api_keys"].as_array().unwrap().clone()
}

async fn history(t: &Test, who: &Persona, query: &str) -> Value {
    let reply = t.get(&format!("/api/me/api-keys/audit{query}")).bearer(&who.token).send().await;
    reply.expect_message(200, "api key audit retrieved successfully").data()
}

/// `event` or `event reason` of the rows, the oldest first.
async fn events(t: &Test, who: &Persona) -> Vec<String> {
    let data = history(t, who, "?page_size=100").await;
    let word = |row: &Value| match row["reason"].as_str() {
        Some(reason) => format!("{} {reason}", row["event"].as_str().unwrap()),
        None => row["event"].as_str().unwrap().to_owned(),
    };
    data["audit"].as_array().unwrap().iter().rev().map(word).collect()
}

fn roles(t: &Test, token: &str) -> Call {
    t.get("/api/roles").bearer(token)
}

async fn revoke(t: &Test, who: &Persona, id: impl std::fmt::Display) -> Reply {
    t.delete(&format!("/api/me/api-keys/{id}")).bearer(&who.token).send().await
}

api_test!(a_key_is_made_used_and_ended, |t| async move {
    let owner = t.owner().await;
    let made = create(&t, &owner, wanted("Nightly export", "read")).await;
    let mut key = made.expect_message(201, "api key created successfully").data();
    let token = key.as_object_mut().unwrap().remove("token").unwrap();
    let token = token.as_str().unwrap();
    let (public, secret) = token.strip_prefix("myo_").unwrap().split_once('.').unwrap();
    assert_eq!((public.len(), secret.len()), (30, 60));
    assert_eq!(key["key_public"], public);
    assert_eq!((&key["user_id"], &key["organization_id"]), (&json!(owner.id), &json!(owner.org)));
    assert_eq!(keys(&t, &owner).await, [key.clone()]);
    assert!(!serde_json::to_string(&keys(&t, &owner).await).unwrap().contains(secret));

    roles(&t, token).from("192.0.2.7").send().await.expect_message(200, "roles retrieved successfully");
    let used = keys(&t, &owner).await.remove(0);
    assert_eq!(
        (&used["last_used_at"], &used["last_used_ip"]),
        (&json!(t.app.platform.now()), &json!("192.0.2.7"))
    );

    let id = key["id"].as_str().unwrap();
    t.advance(MINUTE);
    let ended = revoke(&t, &owner, id).await.expect_message(200, "api key revoked successfully");
    assert_eq!(ended.data(), Value::Null);
    revoke(&t, &owner, id).await.expect(200);
    t.advance(MINUTE);
    let refused = roles(&t, token).send().await.expect_message(401, "invalid api key");
    assert_eq!((refused.data(), refused.header("www-authenticate")), (Value::Null, Some("Bearer")));
    assert_eq!(events(&t, &owner).await, ["created", "revoked", "auth_failed revoked"]);

    let mut shown = keys(&t, &owner).await.remove(0);
    for unlike in ["id", "user_id", "organization_id", "key_public"] {
        shown[unlike] = json!("differs");
    }
    insta::assert_json_snapshot!("api_key", shown);
    let mut rows = history(&t, &owner, "").await;
    for row in rows["audit"].as_array_mut().unwrap() {
        assert_eq!(row["api_key_id"], id);
        for unlike in ["id", "api_key_id", "user_id", "organization_id"] {
            row[unlike] = json!("differs");
        }
        row["path"] = json!(row["path"].as_str().unwrap().replace(id, "differs"));
    }
    insta::assert_json_snapshot!("api_key_history", rows);
});

api_test!(a_key_of_another_organization_has_the_other_prefix, |t| async move {
    let tree = t.tree().await;
    let user = t.user(tree.reseller, &["admin"]).await;
    let hash = bailiwick_identity::passwords::hash(&t.app.identity, OWNER_PASSWORD).await.unwrap();
    let mut tx = t.app.platform.db.begin().await.unwrap();
    bailiwick_store::identities::set_password(&mut tx, user.id, &hash, None).await.unwrap();
    tx.commit().await.unwrap();
    let (_, token) = made(&t, &user, "write").await;
    assert!(token.starts_with("myk_"), "{token}");
    roles(&t, &token).send().await.expect(200);
});

api_test!(every_wrong_field_has_its_error, |t| async move {
    let owner = t.owner().await;
    let reply = create(&t, &owner, json!({})).await;
    let required = |key: &str| json!({"key": key, "message": "required", "value": ""});
    let data = reply.expect_message(400, "validation failed").data();
    let expected = [required("name"), required("mode"), required("password")];
    assert_eq!(data, json!({"type": "validation_error", "errors": expected}));
    for days in [0, -1, 366, i64::MAX] {
        let body = json!({"name": " ", "mode": "admin", "expires_in_days": days, "password": "x"});
        create(&t, &owner, body).await.expect_fields(&[
            ("name", "required"),
            ("mode", "invalid"),
            ("expires_in_days", "invalid"),
        ]);
    }
    for (name, code) in [("x".repeat(256), "too_long"), ("a\0b".to_owned(), "invalid_format")] {
        create(&t, &owner, wanted(&name, "read")).await.expect_fields(&[("name", code)]);
    }
    for body in ["{", "[]", r#"{"expires_in_days": "9"}"#, r#"{"name": 4}"#] {
        let reply = t.post("/api/me/api-keys").bearer(&owner.token).body(body).send().await.expect(400);
        assert!(reply.message().starts_with("invalid request body: "), "{}", reply.text());
        assert_eq!(reply.data()["type"], "validation_error");
    }
    let wrong = json!({"name": "x", "mode": "read", "password": "not it"});
    let data = create(&t, &owner, wrong).await.expect_message(400, "validation failed").data();
    assert_eq!(data["errors"], json!([{"key": "password", "message": "incorrect_password", "value": ""}]));
    assert!(keys(&t, &owner).await.is_empty());
    assert!(events(&t, &owner).await.is_empty());
});

// Proves spec: acceptance#scenarios 8.
api_test!(a_key_lives_as_long_as_asked, |t| async move {
    let owner = t.owner().await;
    for (days, expected) in [(None, 90), (Some(1), 1), (Some(365), 365)] {
        let mut body = wanted("x", "read");
        body["expires_in_days"] = json!(days);
        let data = create(&t, &owner, body).await.expect(201).data();
        let expires = t.app.platform.now().plus(Duration::from_secs(expected * 86_400));
        assert_eq!(data["expires_at"], json!(expires));
    }
});

api_test!(an_account_without_password_has_no_keys, |t| async move {
    let tree = t.tree().await;
    let user = t.user(tree.customer, &["admin"]).await;
    let refused = create(&t, &user, json!({})).await;
    refused.expect_message(403, "api keys are not available for this account");
});

// Proves spec: acceptance#scenarios 8.
api_test!(five_keys_can_be_used_at_a_time, |t| async move {
    let owner = t.owner().await;
    let (first, _) = made(&t, &owner, "read").await;
    t.advance(MINUTE);
    for _ in 0..4 {
        made(&t, &owner, "read").await;
    }
    t.advance(MINUTE);
    let refused = create(&t, &owner, wanted("sixth", "read")).await.expect_message(409, "validation failed");
    let error = json!({"key": "limit", "message": "max_keys_reached", "value": "5"});
    assert_eq!(refused.data(), json!({"type": "validation_error", "errors": [error]}));
    revoke(&t, &owner, &first).await.expect(200);
    made(&t, &owner, "read").await;
    t.advance(Duration::from_secs(90 * 86_400));
    let owner = t.owner().await;
    let (last, _) = made(&t, &owner, "read").await;
    let listed = keys(&t, &owner).await;
    assert_eq!(listed.len(), 7, "ended and expired ones are shown");
    assert_eq!((&listed[0]["id"], &listed[6]["id"]), (&json!(last), &json!(first)), "the newest first");
});

api_test!(parallel_creations_do_not_pass_the_limit_together, |t| async move {
    let owner = t.owner().await;
    let all: Vec<_> = (0..9).map(|_| tokio::task::spawn(create(&t, &owner, wanted("x", "read")))).collect();
    let mut statuses = Vec::new();
    for one in all {
        statuses.push(one.await.unwrap().status.as_u16());
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 201, 201, 201, 201, 409, 409, 409, 409]);
    assert_eq!(keys(&t, &owner).await.len(), 5);
    assert_eq!(events(&t, &owner).await.len(), 5);
});

// Proves spec: guarantees#identity 17.
api_test!(the_step_up_shares_the_limit_on_wrong_passwords, |t| async move {
    let owner = t.owner().await;
    let wrong = || create(&t, &owner, json!({"name": "x", "mode": "read", "password": "wrong"}));
    for _ in 0..10 {
        wrong().await.expect(400);
    }
    let refused = create(&t, &owner, wanted("x", "read")).await.expect_message(429, "rate limit exceeded");
    assert_eq!(refused.header("retry-after"), Some("900"));
    let body = json!({"current_password": OWNER_PASSWORD, "new_password": "Other-Window-93-Rivers"});
    t.post("/api/me/change-password").bearer(&owner.token).json(body).send().await.expect(429);
});

api_test!(keys_and_their_history_are_their_owners_alone, |t| async move {
    let owner = t.owner().await;
    let tree = t.tree().await;
    let other = t.user(tree.owner, &["super"]).await;
    let (id, token) = made(&t, &owner, "read").await;
    assert!(keys(&t, &other).await.is_empty());
    let unknown = "0195fada-0000-7000-8000-00000000dead";
    let missing = revoke(&t, &other, unknown).await.expect_message(404, "api key not found");
    for foreign in [id.as_str(), "x", "0195fada00007000800000000000dead"] {
        assert_eq!(revoke(&t, &other, foreign).await.expect(404).text(), missing.text());
    }
    assert_eq!(history(&t, &other, &format!("?api_key_id={id}")).await["audit"], json!([]));
    roles(&t, &token).send().await.expect(200);
});

api_test!(the_history_is_paged_and_filtered, |t| async move {
    let owner = t.owner().await;
    let (first, _) = made(&t, &owner, "read").await;
    t.advance(MINUTE);
    let (second, _) = made(&t, &owner, "write").await;
    t.advance(MINUTE);
    revoke(&t, &owner, &first).await.expect(200);
    let shown = async |query: &str| {
        let data = history(&t, &owner, query).await;
        let row = |r: &Value| format!("{} {}", r["event"].as_str().unwrap(), r["key_mode"].as_str().unwrap());
        let rows: Vec<_> = data["audit"].as_array().unwrap().iter().map(row).collect();
        (rows.join(", "), data["pagination"]["total_count"].as_u64().unwrap())
    };
    let all = "revoked read, created write, created read";
    assert_eq!(shown("").await, (all.to_owned(), 3));
    assert_eq!(shown("?page=2&page_size=2").await, ("created read".to_owned(), 3));
    assert_eq!(shown("?page=9").await, (String::new(), 3));
    assert_eq!(shown("?event=created").await, ("created write, created read".to_owned(), 2));
    assert_eq!(shown("?event=created&event=revoked").await, (all.to_owned(), 3));
    assert_eq!(shown("?event=nothing").await, (String::new(), 0));
    assert_eq!(shown("?event=created,revoked").await, (String::new(), 0));
    assert_eq!(shown(&format!("?api_key_id={second}")).await, ("created write".to_owned(), 1));
    assert_eq!(shown("?api_key_id=x").await, (String::new(), 0));
    let page = history(&t, &owner, "?page_size=2").await["pagination"].take();
    assert_eq!((&page["sort_by"], &page["sort_direction"]), (&json!("created_at"), &json!("desc")));
    assert_eq!((&page["next_page"], &page["total_pages"]), (&json!(2), &json!(2)));
});
