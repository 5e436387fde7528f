//! Subscriptions: their owners, their fields, and their secrets.

use super::{Hook, act, create, settings};
use bailiwick_domain::{Error, OrgId, OrgType, org::OrgRef};
use bailiwick_events::subscriptions::{self, Input};
use bailiwick_platform::{RequestContext, conditions::Conditions};
use bailiwick_policy::{BUILT_IN_JSON, Caller, Catalogue, KeyMode, Permission, UserIdentity};
use bailiwick_store::sql::Q;
use bailiwick_testkit::{Persona, Test, api_test};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use uuid::Uuid;

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
    // A caller above may create subscriptions for the organization and read them. Callers below and beside see none.
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
    let rows: Vec<(String, Option<Value>, Option<Value>)> = Q::new(
        "SELECT action, before, after FROM audit_log WHERE object_type = 'event_subscription' ORDER BY id",
    )
    .all(&t.app.platform.db)
    .await
    .unwrap();
    let actions: Vec<&str> = rows.iter().map(|r| r.0.as_str()).collect();
    let expected = ["create", "update", "create", "delete"].map(|verb| format!("event_subscription.{verb}"));
    assert_eq!(actions, expected);
    let text = format!("{rows:?}");
    assert!(!text.contains(secret) && !text.contains("/hook"), "{text}");
    let sealed: Vec<(Vec<u8>, Vec<u8>)> =
        Q::new("SELECT url, secret FROM event_subscriptions").all(&t.app.platform.db).await.unwrap();
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
    // A user who cannot read something cannot have it sent. Only a user who decides about alerts decides about
    // subscriptions.
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

api_test!(a_test_reports_its_result, |s| settings(s), |t| async move {
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

// See spec: alert-management#management: addresses of webhooks are shown "never to an API key or under impersonation".
api_test!(addresses_and_secrets_are_shown_to_people_in_person, |s| settings(s), |t| async move {
    let tree = t.tree().await;
    let admin = t.user(tree.customer, &["admin"]).await;
    let hook = Hook::start().await;
    let made = create(&t, &admin, &hook, &["system.*"]).await;
    let path = format!("/events/subscriptions/{}", made["id"].as_str().unwrap());
    let hidden = format!("{}/[REDACTED]", hook.sink.url());
    let (_, key) = t.api_key(admin.id, KeyMode::Write).await;
    let body = json!({"duration_hours": 2});
    t.post("/api/impersonate/consent").bearer(&admin.token).json(body).send().await.expect(200);
    let above = t.user(tree.distributor, &["super"]).await;
    let body = json!({"user_id": admin.id});
    let started = act(&t, &above, "POST", "/impersonate", body).await;
    let acting = started["token"].as_str().unwrap().to_owned();
    for token in [&key, &acting] {
        let call = async |method: &str, path: &str, body: Value| {
            let call = t.call(method.parse().unwrap(), &format!("/api{path}")).bearer(token);
            if body.is_null() { call.send().await } else { call.json(body).send().await }
        };
        let one = async |method: &str, path: &str, body: Value| {
            let reply = call(method, path, body).await;
            assert!(reply.status.is_success(), "{method} {path}: {}", reply.text());
            reply.data()["subscription"].clone()
        };
        let list = call("GET", "/events/subscriptions", Value::Null).await.expect(200).data();
        assert_eq!(list["subscriptions"][0]["url"], hidden.as_str());
        assert_eq!(one("GET", &path, Value::Null).await["url"], hidden.as_str());
        // The client sends the URL back as it was shown: the stored URL stays.
        let whole = json!({"name": "Renamed", "url": hidden, "types": ["system.*"]});
        assert_eq!(one("PUT", &path, whole).await["url"], hidden.as_str());
        assert_eq!(shown(&t, &admin, made["id"].as_str().unwrap()).await["url"], json!(hook.url()));
        let reply = call("POST", &format!("{path}/rotate-secret"), Value::Null).await;
        reply.expect_message(403, "access denied: secrets are shown to people in person only");
        let other = json!({"name": "Other", "url": hook.url(), "types": ["system.*"]});
        let other = one("POST", "/events/subscriptions", other).await;
        assert_eq!(other["url"], hidden.as_str());
        assert!(other["secret"].as_str().unwrap().starts_with("whsec_"), "of an address of its own");
    }
    for (method, path, body) in [
        ("PUT", path.as_str(), json!({"url": "https://other.example.org/[REDACTED]"})),
        ("POST", "/events/subscriptions", json!({"name": "n", "url": hidden, "types": ["*"]})),
    ] {
        let call = t.call(method.parse().unwrap(), &format!("/api{path}")).bearer(&admin.token);
        call.json(body).send().await.expect_fields(&[("url", "invalid_value")]);
    }
});

api_test!(another_address_needs_the_permissions_of_its_events, |s| settings(s), |t| async move {
    let tree = t.tree().await;
    let admin = t.user(tree.reseller, &["admin"]).await;
    let hook = Hook::start().await;
    let made = create(&t, &admin, &hook, &["user.*"]).await;
    // A caller who decides about alerts, but reads no users. No built-in role is so.
    let document = BUILT_IN_JSON.replace("\"read:users\", ", "");
    let effective = Catalogue::parse(&document).unwrap().effective(OrgType::Reseller, &["admin".to_owned()]);
    assert!(effective.set().contains(Permission::ManageAlerts));
    assert!(!effective.set().contains(Permission::ReadUsers));
    let caller = Caller::user(
        Arc::new(UserIdentity {
            user_id: admin.id,
            username: "other".to_owned(),
            name: "Other".to_owned(),
            email: "other@example.org".to_owned(),
            phone: None,
            organization: OrgRef { id: tree.reseller, name: "R".to_owned(), org_type: OrgType::Reseller },
            effective,
        }),
        None,
    );
    let ctx = RequestContext {
        request_id: "r".to_owned(),
        client_ip: [127, 0, 0, 1].into(),
        user_agent: None,
        conditions: Conditions::default(),
    };
    let id = made["id"].as_str().unwrap().parse().ok();
    let put = |input: Input| subscriptions::update(&t.app.events, &caller, &ctx, id, || Ok(input));
    put(Input { name: Some("Fine".to_owned()), ..Input::default() }).await.unwrap();
    let url = Some(format!("{}/elsewhere", hook.sink.url()));
    let refused = put(Input { url, ..Input::default() }).await.unwrap_err();
    let Error::Forbidden { message, .. } = refused else { panic!("{refused:?}") };
    assert_eq!(message, "access denied: user events need read:users");
});

api_test!(one_that_cannot_be_opened_hides_no_other, |s| settings(s), |t| async move {
    let admin = t.user(t.tree().await.customer, &["admin"]).await;
    let hook = Hook::start().await;
    let lost = create(&t, &admin, &hook, &["*"]).await;
    // The list is in the order of creation.
    t.advance(Duration::from_secs(1));
    let fine = create(&t, &admin, &hook, &["*"]).await;
    let id = lost["id"].as_str().unwrap();
    let mut tx = t.app.platform.db.begin().await.unwrap();
    let q = Q::new("UPDATE event_subscriptions SET url = ?, secret = ? WHERE id = ?");
    let q = q.bind(vec![1_u8; 60]).bind(vec![1_u8; 60]).bind(id.parse::<Uuid>().unwrap());
    assert_eq!(q.run(&mut tx).await.unwrap(), 1);
    tx.commit().await.unwrap();
    let list = act(&t, &admin, "GET", "/events/subscriptions", Value::Null).await;
    let urls: Vec<&str> =
        list["subscriptions"].as_array().unwrap().iter().map(|s| s["url"].as_str().unwrap()).collect();
    assert_eq!(urls, ["[REDACTED]", fine["url"].as_str().unwrap()]);
    assert_eq!(shown(&t, &admin, id).await["url"], "[REDACTED]");
    let path = format!("/events/subscriptions/{id}");
    let tested = act(&t, &admin, "POST", &format!("{path}/test"), Value::Null).await;
    assert_eq!(
        (&tested["delivered"], &tested["error"]),
        (&json!(false), &json!("the secret cannot be read"))
    );
    // Given a new address and a new secret it works again.
    act(&t, &admin, "PUT", &path, json!({"name": "Kept", "url": "[REDACTED]"})).await;
    act(&t, &admin, "PUT", &path, json!({"url": hook.url()})).await;
    act(&t, &admin, "POST", &format!("{path}/rotate-secret"), Value::Null).await;
    assert_eq!(act(&t, &admin, "POST", &format!("{path}/test"), Value::Null).await["delivered"], true);
});

api_test!(a_promotion_ends_what_was_named_above, |s| settings(s), |t| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    let above = t.user(tree.distributor, &["admin"]).await;
    let own = t.user(tree.reseller, &["admin"]).await;
    let hook = Hook::start().await;
    let make = async |who: &Persona, organization: OrgId| {
        let body = json!({"name": "n", "url": hook.url(), "types": ["*"], "organization_id": organization});
        let made = act(&t, who, "POST", "/events/subscriptions", body).await;
        made["subscription"]["id"].as_str().unwrap().to_owned()
    };
    let of_above = [make(&above, tree.reseller).await, make(&above, tree.customer).await];
    let not_of_it = make(&above, tree.distributor).await;
    let remaining =
        [make(&own, tree.reseller).await, make(&own, tree.customer).await, make(&owner, tree.customer).await];
    // An address of theirs in the place of one from above, and the other way round.
    let (taken, given) = (make(&above, tree.customer).await, make(&own, tree.customer).await);
    let other = json!({"url": format!("{}/other", hook.sink.url())});
    act(&t, &own, "PUT", &format!("/events/subscriptions/{taken}"), other.clone()).await;
    act(&t, &above, "PUT", &format!("/events/subscriptions/{given}"), other).await;
    act(&t, &above, "PUT", &format!("/events/subscriptions/{}", remaining[0]), json!({"name": "Renamed"}))
        .await;
    act(&t, &owner, "PATCH", &format!("/resellers/{}/promote", tree.reseller), Value::Null).await;
    let reason = "the organization that named the address is not above any more";
    for id in [&of_above[0], &of_above[1], &given] {
        let one = shown(&t, &owner, id).await;
        assert_eq!((&one["enabled"], &one["disabled_reason"]), (&json!(false), &json!(reason)));
        assert!(one["disabled_at"].is_string());
    }
    for id in remaining.iter().chain([&not_of_it, &taken]) {
        assert_eq!(shown(&t, &owner, id).await["enabled"], true);
    }
    let rows: Vec<(Uuid, Option<Value>)> = Q::new(
        "SELECT object_id, after FROM audit_log WHERE action = 'event_subscription.disable' ORDER BY object_id",
    )
    .all(&t.app.platform.db)
    .await
    .unwrap();
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[0].1, Some(json!({"enabled": false, "reason": reason})));
    // Their own administrators may enable it again.
    let path = format!("/events/subscriptions/{}", of_above[0]);
    assert_eq!(act(&t, &own, "PUT", &path, json!({"enabled": true})).await["subscription"]["enabled"], true);
});

/// So that the module is used by both.
pub(super) async fn shown(t: &Test, who: &Persona, id: &str) -> Value {
    act(t, who, "GET", &format!("/events/subscriptions/{id}"), Value::Null).await["subscription"].clone()
}
