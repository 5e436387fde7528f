//! Sensitive operations and the age of the sign-in (spec: authentication#fresh-sign-in).

use super::*;
use bailiwick_policy::KeyMode;
use bailiwick_testkit::{Call, Persona};

const ELEVEN_MINUTES: Duration = Duration::from_secs(660);

/// What wants a fresh sign-in, with bodies that are right; of a system that is not registered and of a customer of their own.
async fn sensitive(t: &Test) -> Vec<(&'static str, String, Value)> {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let body = json!({"name": "Not registered", "organization_id": tree.customer});
    let system = t.post("/api/systems").bearer(&owner.token).json(body).send().await.expect(201).data();
    let system = system["id"].as_str().unwrap().to_owned();
    let (old, new) = (bailiwick_testkit::engine::OWNER_PASSWORD, "Another-Harbour-59-Lamps");
    vec![
        ("POST", "/api/me/api-keys".into(), json!({"name": "Script", "mode": "read", "password": old})),
        ("POST", "/api/impersonate/consent".into(), json!({"duration_hours": 1})),
        ("POST", "/api/me/change-info".into(), json!({"email": "new@example.org"})),
        ("POST", format!("/api/systems/{system}/regenerate-secret"), json!({})),
        ("DELETE", format!("/api/customers/{}/destroy", tree.other_customer), Value::Null),
        ("POST", "/api/me/change-password".into(), json!({"current_password": old, "new_password": new})),
    ]
}

fn call(t: &Test, (method, path, body): &(&'static str, String, Value), token: &str) -> Call {
    let call = t.call(method.parse().unwrap(), path).bearer(token);
    if body.is_null() { call } else { call.json(body.clone()) }
}

#[track_caller]
fn is_refused(reply: &Reply, what: &str) {
    let data = json!({"reason": "fresh_sign_in_required", "max_age": 600});
    let expected = json!({"code": 401, "message": "a fresh sign-in is required", "data": data});
    assert_eq!((reply.status.as_u16(), reply.json()), (401, expected), "{what}");
    let challenge = "Bearer error=\"insufficient_user_authentication\", max_age=\"600\"";
    assert_eq!(reply.header("www-authenticate"), Some(challenge), "{what}");
}

api_test!(sensitive_operations_want_a_fresh_sign_in, |t| async move {
    let operations = sensitive(&t).await;
    let owner = t.owner().await;
    t.advance(ELEVEN_MINUTES);
    // Refreshing the session is no sign-in.
    let body = json!({"refresh_token": owner.refresh_token});
    let token = t.post("/api/auth/refresh").json(body).send().await.expect(200).data();
    let token = token["token"].as_str().unwrap();
    let before = t.get("/api/me").bearer(token).send().await.expect(200).body;
    for operation in &operations {
        is_refused(&call(&t, operation, token).send().await, &operation.1);
    }
    assert_eq!(t.get("/api/me").bearer(token).send().await.expect(200).body, before);
    // The rest goes on, a change of the name and the present address included.
    let address = json!({"name": "Renamed", "email": "owner@example.org"});
    t.post("/api/me/change-info").bearer(token).json(address).send().await.expect(200);
    t.delete("/api/impersonate/consent").bearer(token).send().await.expect(200);
    // Missing objects and missing permissions are reported first.
    let unknown = "/api/customers/0195fada-0000-7000-8000-00000000dead/destroy";
    t.delete(unknown).bearer(token).send().await.expect_message(404, "customer not found");
    let fresh = t.owner().await;
    for operation in &operations {
        let reply = call(&t, operation, &fresh.token).send().await;
        assert!(reply.status.is_success(), "{}: {}", operation.1, reply.text());
    }
});

api_test!(ten_minutes_are_fresh_and_a_key_is_always, |t| async move {
    let operations = sensitive(&t).await;
    let owner = t.owner().await;
    let (_, key) = t.api_key(owner.id, KeyMode::Write).await;
    t.advance(Duration::from_secs(600));
    for operation in &operations[..2] {
        let reply = call(&t, operation, &owner.token).send().await;
        assert!(reply.status.is_success(), "{}: {}", operation.1, reply.text());
    }
    t.advance(ELEVEN_MINUTES);
    call(&t, &operations[3], &key).send().await.expect(200);
});

api_test!(
    the_setting_turns_it_off_for_older_clients,
    |s| s.tokens.fresh_sign_in = Duration::ZERO,
    |t| async move {
        let operations = sensitive(&t).await;
        let owner = t.owner().await;
        t.advance(ELEVEN_MINUTES);
        for operation in &operations {
            let reply = call(&t, operation, &owner.token).send().await;
            assert!(reply.status.is_success(), "{}: {}", operation.1, reply.text());
        }
    }
);

// While impersonating, the sign-in of the impersonator counts, and coming back is no sign-in.
api_test!(an_impersonation_makes_no_sign_in_fresh, |t| async move {
    let tree = t.tree().await;
    let actor = t.user(tree.distributor, &["super"]).await;
    let target = t.user(tree.customer, &["admin"]).await;
    let body = json!({"name": "Not registered", "organization_id": tree.customer});
    let owner = t.owner().await;
    let system = t.post("/api/systems").bearer(&owner.token).json(body).send().await.expect(201).data();
    let secret = format!("/api/systems/{}/regenerate-secret", system["id"].as_str().unwrap());
    t.advance(ELEVEN_MINUTES);
    let agreed = t.session(target.id).await;
    let consent = t.post("/api/impersonate/consent").bearer(&agreed.token).json(json!({"duration_hours": 2}));
    consent.send().await.expect(200);
    let act = async |actor: &Persona| {
        let body = json!({"user_id": target.id});
        let started =
            t.post("/api/impersonate").bearer(&actor.token).json(body).send().await.expect(200).data();
        let token = started["token"].as_str().unwrap().to_owned();
        let reply = t.post(&secret).bearer(&token).json(json!({})).send().await;
        let back = t.delete("/api/impersonate").bearer(&token).send().await.expect(200).data();
        let change = t.post("/api/me/change-info").bearer(back["token"].as_str().unwrap());
        (reply, change.json(json!({"email": "another@example.org"})).send().await)
    };
    let (acting, after) = act(&actor).await;
    is_refused(&acting, "acting");
    is_refused(&after, "after an impersonation");
    let (acting, after) = act(&t.session(actor.id).await).await;
    assert_eq!(
        (acting.status.as_u16(), after.status.as_u16()),
        (200, 200),
        "{} {}",
        acting.text(),
        after.text()
    );
});

// A session that a process of the version before has begun, which writes no time of a sign-in.
api_test!(a_session_without_a_time_was_signed_in_at_its_exchange, |t| async move {
    let operations = sensitive(&t).await;
    let owner = t.owner().await;
    change(&t, Q::new("UPDATE session_chains SET signed_in_at = NULL")).await;
    call(&t, &operations[1], &owner.token).send().await.expect(200);
    t.advance(ELEVEN_MINUTES);
    is_refused(&call(&t, &operations[1], &owner.token).send().await, "later");
});
