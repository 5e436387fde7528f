//! Refresh, reuse, logout, limits (spec: authentication#session-chains, authentication#refresh, authentication#logout).

use super::*;

// Proves spec: guarantees#identity 15.
api_test!(a_refresh_uses_the_token_up_and_leaves_access_tokens_alone, |t| async move {
    let user = user(&t).await;
    let session = session(&t, user).await;
    t.advance(Duration::from_secs(60));
    let data =
        refresh(&t, &session.refresh_token).await.expect_message(200, "token refresh successful").data();
    assert_eq!(data["expires_in"], 1800);
    let next = part(data["refresh_token"].as_str().unwrap(), 1);
    assert_eq!(next["exp"].as_i64().unwrap() - next["iat"].as_i64().unwrap(), 7 * 86_400);
    assert_ne!(next["jti"], part(&session.refresh_token, 1)["jti"]);
    assert_eq!(next["sid"], part(&session.refresh_token, 1)["sid"]);
    me(&t, &session).await.expect(200);
    t.get("/api/me").bearer(data["token"].as_str().unwrap()).send().await.expect(200);
    let (login,): (Option<i64>,) =
        Q::new("SELECT CAST(1 AS BIGINT) FROM users WHERE id = ? AND latest_login_at IS NOT NULL")
            .bind(user)
            .optional(&t.app.platform.db)
            .await
            .unwrap()
            .unwrap_or_default();
    assert_eq!(login, None, "a refresh is no login");
});

// Proves spec: acceptance#guarantees 8, guarantees#identity 13, authorization#guarantees 18.
api_test!(a_late_reuse_ends_its_chain_only, |t| async move {
    let user = user(&t).await;
    let (session, bystander) = (session(&t, user).await, session(&t, user).await);
    let first = session.refresh_token.clone();
    let second = refreshed(refresh(&t, &first).await);
    t.advance(Duration::from_secs(10));
    let third = refreshed(refresh(&t, &second).await);
    t.advance(Duration::from_secs(20));
    assert_eq!(
        refreshed(refresh(&t, &first).await),
        third,
        "30 s after its turn, the current token's very string"
    );
    assert_eq!(refreshed(refresh(&t, &second).await), third);
    t.advance(Duration::from_secs(1));
    assert_eq!(refreshed(refresh(&t, &second).await), third, "21 s after its turn");
    me(&t, &session).await.expect(200);
    refresh(&t, &first).await.expect_message(401, "invalid refresh token");
    refresh(&t, &third).await.expect_message(401, "refresh token has been revoked");
    assert_reason(me(&t, &session).await, "token has been revoked", "refresh token reuse detected");
    me(&t, &bystander).await.expect(200);
    refreshed(refresh(&t, &bystander.refresh_token).await);
});

api_test!(the_window_of_the_grace_does_not_slide, |t| async move {
    let user = user(&t).await;
    let first = session(&t, user).await.refresh_token;
    let second = refreshed(refresh(&t, &first).await);
    for _ in 0..3 {
        t.advance(Duration::from_secs(10));
        assert_eq!(refreshed(refresh(&t, &first).await), second);
    }
    t.advance(Duration::from_secs(1));
    refresh(&t, &first).await.expect_message(401, "invalid refresh token");
});

// Proves spec: acceptance#scenarios 7, guarantees#identity 12.
api_test!(parallel_refreshes_leave_one_current_token, |t| async move {
    let user = user(&t).await;
    let session = session(&t, user).await;
    let token = session.refresh_token.as_str();
    let (a, b, c, d) =
        tokio::join!(refresh(&t, token), refresh(&t, token), refresh(&t, token), refresh(&t, token));
    let current = refreshed(a);
    for reply in [b, c, d] {
        assert_eq!(refreshed(reply), current);
    }
    t.advance(Duration::from_secs(31));
    refreshed(refresh(&t, &current).await);
    refresh(&t, token).await.expect_message(401, "invalid refresh token");
});

// Refreshes that wait at the same moment are written together; each is answered as if it had been alone.
api_test!(refreshes_of_many_at_once_are_answered_one_by_one, |t| async move {
    let user = user(&t).await;
    let mut good = Vec::new();
    for _ in 0..12 {
        good.push(session(&t, user).await);
    }
    let (used_up, late, over) = (session(&t, user).await, session(&t, user).await, session(&t, user).await);
    let after_late = refreshed(refresh(&t, &late.refresh_token).await);
    t.advance(Duration::from_secs(31));
    let current = refreshed(refresh(&t, &used_up.refresh_token).await);
    let over_id = part(&over.refresh_token, 1)["sid"].as_str().unwrap().parse::<uuid::Uuid>().unwrap();
    change(
        &t,
        Q::new("UPDATE session_chains SET revoked_at = ? WHERE id = ?")
            .bind(t.app.platform.now())
            .bind(over_id),
    )
    .await;
    let plain = futures_util::future::join_all(good.iter().map(|s| refresh(&t, &s.refresh_token)));
    let (plain, again, reused, ended) = tokio::join!(
        plain,
        refresh(&t, &used_up.refresh_token),
        refresh(&t, &late.refresh_token),
        refresh(&t, &over.refresh_token),
    );
    assert_eq!(refreshed(again), current);
    reused.expect_message(401, "invalid refresh token");
    ended.expect_message(401, "refresh token has been revoked");
    for (session, reply) in good.iter().zip(plain) {
        let next = refreshed(reply);
        assert_eq!(part(&next, 1)["sid"], part(&session.refresh_token, 1)["sid"]);
        assert_eq!(refreshed(refresh(&t, &session.refresh_token).await), next);
    }
    refresh(&t, &after_late).await.expect_message(401, "refresh token has been revoked");
});

// Proves spec: acceptance#scenarios 4, guarantees#identity 14, authorization#guarantees 18.
api_test!(a_logout_ends_what_exists_and_nothing_later, |t| async move {
    let user = user(&t).await;
    let (here, elsewhere) = (session(&t, user).await, session(&t, user).await);
    let reply = t.post("/api/auth/logout").bearer(&here.token).body("not json").send().await;
    let reply = reply.expect_message(200, "logout successful");
    assert_eq!(reply.data(), json!({"message": "token has been invalidated"}));
    let again = session(&t, user).await;
    for session in [&here, &elsewhere] {
        assert_reason(me(&t, session).await, "token has been revoked", "user logout");
        refresh(&t, &session.refresh_token).await.expect_message(401, "refresh token has been revoked");
    }
    me(&t, &again).await.expect(200);
    t.advance(Duration::from_secs(7 * 86_400));
    refresh(&t, &elsewhere.refresh_token).await.expect_message(401, "invalid refresh token");
});

api_test!(a_bad_body_is_400_with_the_field, |t| async move {
    for (path, key) in [("/api/auth/exchange", "access_token"), ("/api/auth/refresh", "refresh_token")] {
        for body in [json!({}), json!({key: ""}), json!({key: null}), json!({"other": 1})] {
            let reply = t.post(path).json(body).send().await.expect(400);
            assert_eq!(reply.message(), format!("invalid request body: {key} is required"));
            let errors = json!([{"key": key, "message": "required"}]);
            assert_eq!(reply.data(), json!({"type": "validation_error", "errors": errors}));
        }
        for body in ["", "{", "[]", "null", "\"x\"", "{\"a\":}", "\u{0}"] {
            let reply = t.post(path).body(body).send().await.expect(400);
            assert!(reply.message().starts_with("invalid request body: "), "{body:?}: {}", reply.text());
            assert_eq!(reply.data()["type"], "validation_error", "{body:?}");
        }
        let wrong_type = t.post(path).json(json!({key: 7})).send().await.expect(400);
        assert_eq!(wrong_type.data()["errors"][0]["key"], key);
        let large = format!("{{\"{key}\":\"{}\"}}", "a".repeat(2 << 20));
        t.post(path).body(large).send().await.expect_message(413, "request body too large");
        let nul = t.post(path).json(json!({key: "\u{0}"})).send().await;
        assert_eq!(nul.status, 401, "{}", nul.text());
    }
});

api_test!(
    token_endpoints_are_limited_by_address,
    |s| {
        s.limits.token_requests_per_second = 1;
        s.limits.token_request_burst = 3;
    },
    |t| async move {
        let ask = |from: &'static str| {
            t.post("/api/auth/refresh").json(json!({"refresh_token": "x"})).from(from).send()
        };
        for _ in 0..3 {
            ask("192.0.2.1").await.expect(401);
        }
        let refused = ask("192.0.2.1").await.expect_message(429, "rate limit exceeded");
        assert_eq!(refused.header("retry-after"), Some("1"));
        ask("192.0.2.2").await.expect(401);
        t.advance(Duration::from_secs(1));
        ask("192.0.2.1").await.expect(401);
    }
);

api_test!(expired_chains_are_removed_and_no_others, |t| async move {
    let user = user(&t).await;
    let (old, kept) = (session(&t, user).await, session(&t, user).await);
    let next = refreshed(refresh(&t, &kept.refresh_token).await);
    t.advance(Duration::from_secs(2 * 1800));
    assert_eq!(
        auth::purge_expired(&t.app.identity).await.unwrap(),
        0,
        "its last access token may still be alive"
    );
    t.advance(Duration::from_secs(1));
    assert_eq!(auth::purge_expired(&t.app.identity).await.unwrap(), 1);
    me(&t, &old).await.expect_message(401, "invalid token");
    refreshed(refresh(&t, &next).await);
});
