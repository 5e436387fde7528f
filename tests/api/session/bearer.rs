//! The required form of a bearer token (spec: authentication#bearer-errors, authentication#service-tokens,
//! authentication#provider-token-reads).

use super::*;

api_test!(each_malformed_bearer_has_its_text, |t| async move {
    let me = || t.get("/api/me");
    me().send().await.expect_message(401, "authorization header required");
    for header in ["", "Basic eDp5", "Token abc", "Bearerabc"] {
        me().header("authorization", header)
            .send()
            .await
            .expect_message(401, "invalid authorization header format");
    }
    for header in ["Bearer", "bearer ", "BEARER   "] {
        me().header("authorization", header).send().await.expect_message(401, "token not provided");
    }
    let long = "a.".repeat(20_000);
    for token in ["x", "a.b.c", "..", "eyJhbGciOiJub25lIn0.e30.", "\u{e9}", &long] {
        let reply = me().header("authorization", &format!("Bearer {token}")).send().await;
        assert_eq!(reply.status, 401, "{token:.20}: {}", reply.text());
    }
    for key in ["myk_0", "myo_0.1"] {
        me().bearer(key).send().await.expect_message(401, "invalid api key");
    }
});

api_test!(a_token_says_what_the_contract_lists_and_nothing_else, |t| async move {
    let user = user(&t).await;
    let session = session(&t, user).await;
    let header = part(&session.token, 0);
    assert_eq!(header["alg"], "HS256");
    assert!(header["kid"].as_str().is_some_and(|kid| !kid.is_empty()));
    assert_ne!(header["kid"], part(&session.refresh_token, 0)["kid"]);
    let now = t.app.platform.now().secs();
    for (token, kind, life) in [(&session.token, "access", 1800), (&session.refresh_token, "refresh", 1800)] {
        let claims = part(token, 1);
        assert_eq!(claims["token_type"], kind);
        assert_eq!(claims["sub"], user.to_string());
        assert_eq!(claims["iss"], "127.0.0.1");
        assert_eq!(claims["aud"], json!(["http://127.0.0.1:8080/api"]));
        assert_eq!((claims["iat"].as_i64(), claims["nbf"].as_i64()), (Some(now), Some(now)));
        assert_eq!(claims["exp"], now + life);
        assert!(claims["jti"].is_string() && claims["sid"].is_string());
        let own = if kind == "access" { "user" } else { "user_id" };
        let mut keys: Vec<_> = claims.as_object().unwrap().keys().map(String::as_str).collect();
        keys.sort_unstable();
        let mut expected = vec!["token_type", "sub", "iss", "aud", "iat", "nbf", "exp", "jti", "sid", own];
        expected.sort_unstable();
        assert_eq!(keys, expected);
    }
    let data = me(&t, &session).await.expect_message(200, "user information retrieved successfully").data();
    assert_eq!(part(&session.token, 1)["user"], data);
    let mut shown = data.clone();
    for id in ["id", "logto_id", "organization_id"] {
        assert!(shown[id].as_str().is_some_and(|id| id.len() == 36));
        shown[id] = json!("a UUID");
    }
    insta::assert_json_snapshot!("session_user", shown);
    assert_eq!(data["id"], data["logto_id"]);
    for (path, message) in [
        ("/user/profile", "user profile retrieved successfully"),
        ("/backend/api/user/profile", "user profile retrieved successfully"),
    ] {
        let profile = t.get(path).bearer(&session.token).send().await.expect_message(200, message);
        assert_eq!(profile.data(), data);
    }
    let permissions = t.get("/api/user/permissions").bearer(&session.token).send().await;
    let permissions = permissions.expect_message(200, "user permissions retrieved successfully").data();
    let mut expected = data;
    for key in ["id", "logto_id", "username", "email", "name", "phone", "user_role_ids", "org_role_id"] {
        expected.as_object_mut().unwrap().remove(key);
    }
    assert_eq!(permissions, expected);
});

// Proves spec: guarantees#identity 9, authorization#guarantees 27.
api_test!(a_token_that_differs_in_one_thing_opens_nothing, |t| async move {
    let user = user(&t).await;
    let secret = |b: u8| Secret::new(vec![b; 40]);
    let none = Duration::ZERO;
    let foreign = [
        ("secret", other(&t, |s| s.secret = secret(9), none)),
        ("issuer", other(&t, |s| s.tokens.issuer = "elsewhere".into(), none)),
        ("audience", other(&t, |s| s.tokens.audience = "http://elsewhere/api".into(), none)),
    ];
    for (what, app) in foreign {
        let session = auth::issue_token(&app.identity, user).await.unwrap();
        let reply = me(&t, &session).await;
        assert_eq!(reply.message(), "invalid token", "another {what}");
        refresh(&t, &session.refresh_token).await.expect_message(401, "invalid refresh token");
    }
    let session = session(&t, user).await;
    for token in [&session.refresh_token, &format!("{}x", session.token), &session.token.replace('.', "..")] {
        t.get("/api/me").bearer(token).send().await.expect_message(401, "invalid token");
        t.get("/api/user/profile").bearer(token).send().await.expect_message(401, "invalid token");
    }
    for token in [session.token.as_str(), "x", "a.b.c"] {
        refresh(&t, token).await.expect_message(401, "invalid refresh token");
    }
    me(&t, &session).await.expect(200);
});

// Proves spec: guarantees#identity 9.
api_test!(expiry_has_no_leeway, |t| async move {
    let user = user(&t).await;
    let session = session(&t, user).await;
    assert_eq!(session.expires_in, 1800);
    t.advance(Duration::from_secs(1799));
    me(&t, &session).await.expect(200);
    t.advance(Duration::from_secs(1));
    me(&t, &session).await.expect_message(401, "invalid token");
    refresh(&t, &session.refresh_token).await.expect_message(401, "invalid refresh token");
});

// Proves spec: guarantees#identity 40.
api_test!(a_replica_whose_clock_is_behind_accepts_a_fresh_token, |t| async move {
    let user = user(&t).await;
    for (ahead, status) in [(30, 200), (60, 200), (62, 401)] {
        let app = other(&t, |_| {}, Duration::from_secs(ahead));
        let session = auth::issue_token(&app.identity, user).await.unwrap();
        assert_eq!(me(&t, &session).await.status, status, "{ahead} s ahead");
    }
});

api_test!(
    the_previous_secret_is_accepted,
    |s| {
        s.previous_secret = Some(Secret::new(vec![9; 40]));
    },
    |t| async move {
        let user = user(&t).await;
        let before = other(
            &t,
            |s| {
                s.secret = Secret::new(vec![9; 40]);
                s.previous_secret = None;
            },
            Duration::ZERO,
        );
        let session = auth::issue_token(&before.identity, user).await.unwrap();
        me(&t, &session).await.expect(200);
        let next = refreshed(refresh(&t, &session.refresh_token).await);
        assert_ne!(
            part(&next, 0)["kid"],
            part(&session.refresh_token, 0)["kid"],
            "signed with the present secret"
        );
    }
);

api_test!(user_routes_have_texts_of_their_own, |t| async move {
    for path in ["/api/user/permissions", "/api/user/profile"] {
        t.get(path).send().await.expect_message(401, "authorization header required");
        for header in ["", "Basic eDp5", "Bearer", "abc"] {
            t.get(path)
                .header("authorization", header)
                .send()
                .await
                .expect_message(401, "bearer token required");
        }
        let reply = t.get(path).bearer("no such token").send().await.expect_message(401, "invalid token");
        assert_eq!(reply.data(), Value::Null);
        t.get(path).bearer("myk_0.1").send().await.expect_message(401, "invalid api key");
    }
});
