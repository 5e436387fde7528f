//! Own and reset passwords (spec: conventions#limits, authentication#session-chains, account#change-password).

use super::*;

fn new_password(current: &str, new: &str) -> Value {
    json!({"current_password": current, "new_password": new, "confirm_password": "ignored"})
}

// Proves spec: guarantees#identity 15.
api_test!(a_reset_ends_sessions_and_provider_logins, |t| async move {
    let user = user(&t).await;
    let (token, _) = provider_token(&t, user, "bailiwick").await;
    let session = exchange(&t, &token).await.expect(200).data();
    let hash = passwords::hash(&t.app.identity, "Other-Window-93-Rivers").await.unwrap();
    let mut tx = t.app.platform.db.begin().await.unwrap();
    let now = t.app.platform.now();
    assert!(
        passwords::set_password(&mut tx, now, user, Some(&hash), passwords::Origin::Chosen, None)
            .await
            .unwrap()
    );
    tx.commit().await.unwrap();
    let reply = t.get("/api/me").bearer(session["token"].as_str().unwrap()).send().await;
    assert_reason(reply, "token has been revoked", "password changed");
    exchange(&t, &token).await.expect_message(401, "invalid access token");
    assert!(passwords::verify(&t.app.identity, "Other-Window-93-Rivers", Some(&hash)).await.unwrap());
    assert!(!passwords::verify(&t.app.identity, PASSWORD, Some(&hash)).await.unwrap());
    assert!(!passwords::verify(&t.app.identity, PASSWORD, None).await.unwrap());
});

// Proves spec: guarantees#identity 15.
api_test!(an_own_change_keeps_the_login_it_came_from, |t| async move {
    let user = user(&t).await;
    let (here, _) = provider_token(&t, user, "bailiwick").await;
    let (elsewhere, _) = provider_token(&t, user, "bailiwick").await;
    let session = exchange(&t, &here).await.expect(200).data();
    let body = new_password(PASSWORD, "Other-Window-93-Rivers");
    let token = session["token"].as_str().unwrap();
    t.post("/api/me/change-password").bearer(token).json(body).send().await.expect(200);
    exchange(&t, &here).await.expect(200);
    exchange(&t, &elsewhere).await.expect_message(401, "invalid access token");
});

// Proves spec: acceptance#scenarios 1.
api_test!(an_own_password_change_is_checked_in_order, |t| async move {
    let user = user(&t).await;
    let session = session(&t, user).await;
    let change = |body: Value| t.post("/api/me/change-password").bearer(&session.token).json(body).send();
    let reply = change(json!({})).await.expect_message(400, "validation failed");
    let required = |key: &str| json!({"key": key, "message": "required", "value": ""});
    let errors = json!([required("current_password"), required("new_password")]);
    assert_eq!(reply.data(), json!({"type": "validation_error", "errors": errors}));
    change(new_password("wrong", "short")).await.expect_fields(&[("new_password", "min_length")]);
    let wrong = change(new_password("wrong", "Other-Window-93-Rivers")).await;
    wrong.expect_fields(&[("current_password", "incorrect_password")]);
    let malformed =
        t.post("/api/me/change-password").bearer(&session.token).body("{").send().await.expect(400);
    assert!(malformed.message().starts_with("invalid request body: "));
});

// Proves spec: acceptance#scenarios 1, guarantees#identity 15, authorization#guarantees 18.
api_test!(an_own_password_change_ends_the_other_chains, |t| async move {
    let user = user(&t).await;
    let (here, elsewhere) = (session(&t, user).await, session(&t, user).await);
    let new = "Other-Window-93-Rivers";
    let change = |current: &'static str, to: &'static str| {
        t.post("/api/me/change-password").bearer(&here.token).json(new_password(current, to)).send()
    };
    let reply = change(PASSWORD, new).await.expect_message(200, "password changed successfully");
    assert_eq!(reply.data(), Value::Null);
    me(&t, &here).await.expect(200);
    refreshed(refresh(&t, &here.refresh_token).await);
    assert_reason(me(&t, &elsewhere).await, "token has been revoked", "password changed");
    refresh(&t, &elsewhere.refresh_token).await.expect_message(401, "refresh token has been revoked");
    change(PASSWORD, new).await.expect_fields(&[("current_password", "incorrect_password")]);
    change(new, "Third-Garden-17-Clouds").await.expect(200);
});

// Proves spec: guarantees#identity 17.
api_test!(wrong_passwords_are_limited_and_right_ones_are_not, |t| async move {
    let user = user(&t).await;
    let session = session(&t, user).await;
    let change = |current: &'static str, from: &'static str| {
        let body = new_password(current, "Other-Window-93-Rivers");
        t.post("/api/me/change-password").bearer(&session.token).json(body).from(from).send()
    };
    for _ in 0..10 {
        change("wrong", "192.0.2.1").await.expect(400);
    }
    let refused = change(PASSWORD, "192.0.2.1").await.expect_message(429, "rate limit exceeded");
    assert_eq!(refused.header("retry-after"), Some("900"));
    change("wrong", "192.0.2.2").await.expect(400);
    t.advance(Duration::from_secs(900));
    let again = t.session(user).await;
    let body = new_password(PASSWORD, "Other-Window-93-Rivers");
    let reply =
        t.post("/api/me/change-password").bearer(&again.token).json(body).from("192.0.2.1").send().await;
    reply.expect(200);
});
