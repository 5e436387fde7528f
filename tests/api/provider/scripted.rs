//! Sign-in for scripts: `/api/interaction*`.

use super::client::*;
use bailiwick_testkit::{Reply, api_test};
use serde_json::json;

#[track_caller]
fn code(reply: Reply, status: u16, code: &str) {
    let body = reply.expect(status).json();
    assert_eq!(body["code"], code, "{body}");
    assert!(body["message"].as_str().is_some_and(|s| !s.is_empty()));
}

api_test!(a_script_signs_in_with_the_cookies_of_its_request, |t| async move {
    let script = Browser::new(&t);
    script.get(&authorization(&[])).await.expect(303);
    let cookies = script.cookies.borrow().clone();
    script.send(t.put("/api/interaction").json(json!({"event": "SignIn"}))).await.expect(204);
    code(script.send(t.post("/api/interaction/submit")).await, 422, "session.identifier_not_found");
    for body in [
        json!({"email": OWNER, "password": "Wrong-Horse-7-Battery"}),
        json!({"username": OWNER, "password": PASSWORD}),
        json!({"email": "nobody@example.org", "password": PASSWORD}),
    ] {
        let reply = script.send(t.patch("/api/interaction/identifiers").json(body)).await;
        code(reply, 422, "session.invalid_credentials");
    }
    let body = json!({"username": "owner", "password": PASSWORD});
    script.send(t.patch("/api/interaction/identifiers").json(body)).await.expect(204);
    let next = script.send(t.post("/api/interaction/submit")).await.expect(200).json();
    let next = next["redirectTo"].as_str().unwrap().to_owned();
    assert!(next.starts_with(&format!("{BASE}/oidc/auth/")), "{next}");
    assert_eq!(*script.cookies.borrow(), cookies, "no other cookie is needed");

    Browser::new(&t).get(&next).await.expect(400);
    let back = script.get(&next).await.expect(303);
    let callback = query(back.header("location").unwrap());
    assert_eq!(callback["state"], "a state/+=");
    redeem(&t, &callback["code"], &[]).await.expect(200);
    script.get(&next).await.expect(400);
    script.get(&authorization(&[("prompt", "none")])).await.expect(303);
});

api_test!(an_email_signs_in_too_and_consent_has_nothing_to_ask, |t| async move {
    let script = Browser::new(&t);
    script.get(&authorization(&[])).await.expect(303);
    let body = json!({"email": OWNER, "password": PASSWORD, "other": 1});
    script.send(t.patch("/api/interaction/identifiers").json(body)).await.expect(204);
    let next = script.send(t.post("/api/interaction/consent")).await.expect(200).json();
    script.get(next["redirectTo"].as_str().unwrap()).await.expect(303);
});

api_test!(starting_over_forgets_who_it_was, |t| async move {
    let script = Browser::new(&t);
    script.get(&authorization(&[])).await.expect(303);
    let body = json!({"email": OWNER, "password": PASSWORD});
    script.send(t.patch("/api/interaction/identifiers").json(body)).await.expect(204);
    let next = script.send(t.post("/api/interaction/submit")).await.expect(200).json();
    script.send(t.put("/api/interaction").json(json!({"event": "SignIn"}))).await.expect(204);
    code(script.send(t.post("/api/interaction/submit")).await, 422, "session.identifier_not_found");
    let sent = script.get(next["redirectTo"].as_str().unwrap()).await.expect(303);
    assert!(sent.header("location").unwrap().starts_with(&format!("{BASE}/oidc/sign-in/")));
});

api_test!(without_its_cookies_a_script_is_nobody, |t| async move {
    code(t.put("/api/interaction").json(json!({"event": "SignIn"})).send().await, 400, "session.not_found");
    let body = json!({"email": OWNER, "password": PASSWORD});
    code(t.patch("/api/interaction/identifiers").json(body).send().await, 400, "session.not_found");
    code(t.post("/api/interaction/submit").send().await, 400, "session.not_found");
});

api_test!(malformed_calls_get_a_clear_error, |t| async move {
    let script = Browser::new(&t);
    script.get(&authorization(&[])).await.expect(303);
    code(
        script.send(t.put("/api/interaction").json(json!({"event": "Register"}))).await,
        422,
        "session.not_supported",
    );
    for body in [
        "",
        "{",
        "[]",
        "{\"password\":\"x\"}",
        "{\"email\":1,\"password\":\"x\"}",
        "{\"email\":\"a\",\"username\":\"b\",\"password\":\"x\"}",
    ] {
        let reply = script.send(t.patch("/api/interaction/identifiers").body(body)).await;
        code(reply, 400, "guard.invalid_input");
    }
    let nul = json!({"email": "a\u{0}@example.org", "password": "x\u{0}"});
    let reply = script.send(t.patch("/api/interaction/identifiers").json(nul)).await;
    code(reply, 422, "session.invalid_credentials");
    script.send(t.patch("/api/interaction/identifiers").body("x".repeat(100_000))).await.expect(413);
});

api_test!(a_script_cannot_replace_a_generated_password, |t| async move {
    let tree = t.tree().await;
    let person = t.user(tree.customer, &["reader"]).await;
    set_password(&t, person.id, "Given-Horse-9-Battery", Some(t.app.platform.now())).await;
    let email = email_of(&t, person.id).await;
    let script = Browser::new(&t);
    script.get(&authorization(&[])).await.expect(303);
    let body = json!({"email": email, "password": "Given-Horse-9-Battery"});
    script.send(t.patch("/api/interaction/identifiers").json(body)).await.expect(204);
    code(script.send(t.post("/api/interaction/submit")).await, 422, "password.change_required");
});

api_test!(guessing_by_script_is_limited_like_the_page, |t| async move {
    let script = Browser::new(&t);
    script.get(&authorization(&[])).await.expect(303);
    let body = json!({"email": OWNER, "password": "Wrong-Horse-7-Battery"});
    for _ in 0..10 {
        let reply = script.send(t.patch("/api/interaction/identifiers").json(body.clone())).await;
        code(reply, 422, "session.invalid_credentials");
    }
    let reply = script.send(t.patch("/api/interaction/identifiers").json(body)).await;
    assert!(reply.header("retry-after").is_some());
    code(reply, 429, "session.too_many_attempts");
});
