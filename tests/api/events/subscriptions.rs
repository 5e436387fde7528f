//! Subscriptions: who may have them, what they take, what their secrets are.

use super::{Hook, act, create, settings};
use bailiwick_policy::KeyMode;
use bailiwick_testkit::{Test, api_test};
use serde_json::{Value, json};

api_test!(a_subscription_is_made_shown_changed_and_removed, |s| settings(s), |t| async move {
    let tree = t.tree().await;
    let admin = t.user(tree.reseller, &["admin"]).await;
    let hook = Hook::start().await;
    let made = create(&t, &admin, &hook, &["system.*", "alert.firing"]).await;
    let secret = made["secret"].as_str().unwrap();
    assert!(secret.starts_with("whsec_") && secret.len() > 40);
    let (id, path) =
        (made["id"].as_str().unwrap(), format!("/events/subscriptions/{}", made["id"].as_str().unwrap()));
    let shown = act(&t, &admin, "GET", &path, Value::Null).await["subscription"].clone();
    assert_eq!((&shown["url"], &shown["enabled"]), (&json!(hook.url()), &json!(true)));
    assert_eq!(shown["organization_id"], json!(tree.reseller));
    assert!(shown.get("secret").is_none());
    let body = json!({"name": "Other", "types": ["*"], "enabled": false});
    let changed = act(&t, &admin, "PUT", &path, body).await["subscription"].clone();
    assert_eq!(
        (&changed["name"], &changed["enabled"], &changed["url"]),
        (&json!("Other"), &json!(false), &shown["url"])
    );
    let list = act(&t, &admin, "GET", "/events/subscriptions", Value::Null).await;
    assert_eq!(
        (list["subscriptions"][0]["id"].as_str(), &list["pagination"]["total_count"]),
        (Some(id), &json!(1))
    );
    // Below it one may have them too; beside and above nobody sees them.
    let above = t.user(tree.distributor, &["admin"]).await;
    let body = json!({"name": "Theirs", "url": hook.url(), "types": ["*"], "organization_id": tree.reseller});
    act(&t, &above, "POST", "/events/subscriptions", body).await;
    act(&t, &above, "GET", &path, Value::Null).await;
    for (organization, role) in [(tree.customer, "admin"), (tree.other_reseller, "admin")] {
        let other = t.user(organization, &[role]).await;
        for (method, path) in
            [("GET", path.clone()), ("DELETE", path.clone()), ("POST", format!("{path}/test"))]
        {
            let reply =
                t.call(method.parse().unwrap(), &format!("/api{path}")).bearer(&other.token).send().await;
            reply.expect_message(404, "event subscription not found");
        }
        let body = json!({"name": "x", "url": hook.url(), "types": ["*"], "organization_id": tree.reseller});
        let reply = t.post("/api/events/subscriptions").bearer(&other.token).json(body).send().await;
        reply.expect_message(403, "access denied: organization not in your hierarchy");
    }
    act(&t, &admin, "DELETE", &path, Value::Null).await;
    t.get(&format!("/api{path}")).bearer(&admin.token).send().await.expect(404);
    let rows: Vec<(String, Option<Value>, Option<Value>)> = bailiwick_store::sql::Q::new(
        "SELECT action, before, after FROM audit_log WHERE object_type = 'event_subscription' ORDER BY id",
    )
    .all(&t.app.db)
    .await
    .unwrap();
    let actions: Vec<&str> = rows.iter().map(|r| r.0.as_str()).collect();
    let expected = ["create", "update", "create", "delete"].map(|verb| format!("event_subscription.{verb}"));
    assert_eq!(actions, expected);
    let text = format!("{rows:?}");
    assert!(!text.contains(secret) && !text.contains("/hook"), "{text}");
    let sealed: Vec<(Vec<u8>, Vec<u8>)> =
        bailiwick_store::sql::Q::new("SELECT url, secret FROM event_subscriptions")
            .all(&t.app.db)
            .await
            .unwrap();
    assert!(sealed.iter().all(|(url, _)| !String::from_utf8_lossy(url).contains("127.0.0.1")));
});

api_test!(what_cannot_be_subscribed_to, |s| settings(s), |t| async move {
    let tree = t.tree().await;
    let admin = t.user(tree.customer, &["admin"]).await;
    let post = |body: Value| t.post("/api/events/subscriptions").bearer(&admin.token).json(body);
    let expected = [("name", "cannot_be_empty"), ("url", "required"), ("types", "required")];
    post(json!({})).send().await.expect_fields(&expected);
    for (url, code) in [
        ("http://10.0.0.1/x", "host_not_publicly_routable"),
        ("http://localhost/x", "host_not_allowed"),
        ("ftp://example.org", "invalid_scheme"),
        ("https://a:b@example.org", "credentials_not_allowed"),
        ("http://[::1]/x", "host_not_publicly_routable"),
        ("http://169.254.169.254/latest", "host_not_publicly_routable"),
    ] {
        let body = json!({"name": "n", "url": url, "types": ["*"]});
        post(body).send().await.expect_fields(&[("url", code)]);
    }
    let body = json!({"name": "n", "url": "http://127.0.0.1:9/x", "types": ["nothing.*"]});
    post(body).send().await.expect_fields(&[("types", "invalid_value")]);
    // Who cannot read something cannot have it sent; and only who decides about alerts decides about this.
    for role in ["support", "backoffice", "reader"] {
        let other = t.user(tree.customer, &[role]).await;
        let call = t.post("/api/events/subscriptions").bearer(&other.token).json(json!({}));
        call.send().await.expect_message(403, "insufficient permissions");
        t.get("/api/events/subscriptions").bearer(&other.token).send().await.expect(403);
    }
    let (_, key) = t.api_key(admin.id, KeyMode::Write).await;
    let hook = Hook::start().await;
    for n in 0..11 {
        let body = json!({"name": format!("n{n}"), "url": hook.url(), "types": ["*"]});
        let reply = t.post("/api/events/subscriptions").bearer(&key).json(body).send().await;
        if n < 10 {
            reply.expect_message(201, "event subscription created successfully");
        } else {
            reply.expect_message(409, "too many event subscriptions");
        }
    }
});

api_test!(a_test_says_what_came_of_it, |s| settings(s), |t| async move {
    let admin = t.user(t.tree().await.customer, &["admin"]).await;
    let hook = Hook::start().await;
    let made = create(&t, &admin, &hook, &["*"]).await;
    let path = format!("/events/subscriptions/{}/test", made["id"].as_str().unwrap());
    let tested = act(&t, &admin, "POST", &path, Value::Null).await;
    assert_eq!(
        (&tested["delivered"], &tested["status"], &tested["error"]),
        (&json!(true), &json!(200), &Value::Null)
    );
    let sent = &hook.sink.take()[0];
    assert_eq!(sent.value("webhook-id"), tested["id"].as_str());
    assert_eq!(sent.json().unwrap()["type"], "events.test");
    assert!(hook.is_signed(sent, made["secret"].as_str().unwrap(), &t));
    hook.sink.answer_by(|_| bailiwick_testkit::parts::recorder::Answer::status(500));
    let tested = act(&t, &admin, "POST", &path, Value::Null).await;
    assert_eq!((&tested["delivered"], &tested["error"]), (&json!(false), &json!("answered with status 500")));
    let list = act(&t, &admin, "GET", "/events", Value::Null).await;
    assert_eq!(list["events"], json!([]), "a test is no event");
});

/// So that the module is used by both.
pub(super) async fn shown(t: &Test, who: &bailiwick_testkit::Persona, id: &str) -> Value {
    act(t, who, "GET", &format!("/events/subscriptions/{id}"), Value::Null).await["subscription"].clone()
}
