//! Sessions (contract 01 §1.11, §2.2–2.7, §2.10, §3). The numbers in the names are the rules of contract 01 §8.

use bailiwick_app::{
    App, Settings,
    auth::{self, Session},
    bootstrap,
    settings::Secret,
};
use bailiwick_domain::{Clock, Ts, UserId};
use bailiwick_policy::Catalogue;
use bailiwick_store::{identities, sql::Q};
use bailiwick_testkit::{ManualClock, Reply, SeededEntropy, Test, api_test};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

const PASSWORD: &str = "Quiet-Harbour-58-Lamps";

/// A second user of the owner organization, so that the tests may suspend and delete somebody.
async fn user(t: &Test) -> UserId {
    let new = bootstrap::NewOwnerUser {
        email: "second@example.org".to_owned(),
        username: None,
        name: "Second".to_owned(),
        password: Secret::new(PASSWORD.to_owned()),
    };
    bootstrap::create_owner_user(&t.app, &new).await.unwrap()
}

async fn session(t: &Test, user: UserId) -> Session {
    auth::issue_token(&t.app, user).await.unwrap()
}

async fn change(t: &Test, q: Q) {
    let mut tx = t.app.db.begin().await.unwrap();
    assert!(q.run(&mut tx).await.unwrap() > 0);
    tx.commit().await.unwrap();
}

async fn me(t: &Test, session: &Session) -> Reply {
    t.get("/api/me").bearer(&session.token).send().await
}

async fn refresh(t: &Test, token: &str) -> Reply {
    t.post("/api/auth/refresh").json(json!({"refresh_token": token})).send().await
}

/// The refresh token of a successful refresh.
#[track_caller]
fn refreshed(reply: Reply) -> String {
    let data = reply.expect_message(200, "token refresh successful").data();
    data["refresh_token"].as_str().unwrap().to_owned()
}

fn part(token: &str, index: usize) -> Value {
    let part = token.split('.').nth(index).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

/// Another process on the same database whose settings or clock differ.
fn other(t: &Test, change: impl FnOnce(&mut Settings), ahead: Duration) -> App {
    let mut settings = t.app.settings.clone();
    change(&mut settings);
    let clock = ManualClock::new();
    clock.set(t.app.now().plus(ahead));
    let entropy = Arc::new(SeededEntropy::new(77));
    App::new(settings, t.app.db.clone(), Arc::new(clock), entropy, Catalogue::built_in().clone()).unwrap()
}

#[track_caller]
fn assert_reason(reply: Reply, message: &str, reason: &str) {
    let reply = reply.expect_message(401, message);
    assert_eq!(reply.data(), json!({"reason": reason}));
    assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
}

api_test!(each_malformed_bearer_has_its_text, |t| async move {
    let me = || t.get("/api/me");
    me().send().await.expect_message(401, "authorization header required");
    for header in ["", "Basic eDp5", "Token abc", "Bearerabc"] {
        me().header("authorization", header).send().await.expect_message(401, "invalid authorization header format");
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
    let now = t.app.now().secs();
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
    insta::assert_json_snapshot!("session_user", data);
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

api_test!(rule_9_a_token_that_differs_in_one_thing_opens_nothing, |t| async move {
    let user = user(&t).await;
    let secret = |b: u8| Secret::new(vec![b; 40]);
    let none = Duration::ZERO;
    let foreign = [
        ("secret", other(&t, |s| s.secret = secret(9), none)),
        ("issuer", other(&t, |s| s.tokens.issuer = "elsewhere".into(), none)),
        ("audience", other(&t, |s| s.tokens.audience = "http://elsewhere/api".into(), none)),
    ];
    for (what, app) in foreign {
        let session = auth::issue_token(&app, user).await.unwrap();
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

api_test!(rule_9_expiry_has_no_leeway, |t| async move {
    let user = user(&t).await;
    let session = session(&t, user).await;
    assert_eq!(session.expires_in, 1800);
    t.advance(Duration::from_secs(1799));
    me(&t, &session).await.expect(200);
    t.advance(Duration::from_secs(1));
    me(&t, &session).await.expect_message(401, "invalid token");
    refresh(&t, &session.refresh_token).await.expect_message(401, "invalid refresh token");
});

api_test!(rule_40_a_replica_whose_clock_is_behind_accepts_a_fresh_token, |t| async move {
    let user = user(&t).await;
    for (ahead, status) in [(30, 200), (60, 200), (62, 401)] {
        let app = other(&t, |_| {}, Duration::from_secs(ahead));
        let session = auth::issue_token(&app, user).await.unwrap();
        assert_eq!(me(&t, &session).await.status, status, "{ahead} s ahead");
    }
});

api_test!(the_previous_secret_is_accepted, |s| {
    s.previous_secret = Some(Secret::new(vec![9; 40]));
}, |t| async move {
    let user = user(&t).await;
    let before = other(&t, |s| {
        s.secret = Secret::new(vec![9; 40]);
        s.previous_secret = None;
    }, Duration::ZERO);
    let session = auth::issue_token(&before, user).await.unwrap();
    me(&t, &session).await.expect(200);
    let next = refreshed(refresh(&t, &session.refresh_token).await);
    assert_ne!(part(&next, 0)["kid"], part(&session.refresh_token, 0)["kid"], "signed with the present secret");
});

api_test!(a_refresh_uses_the_token_up_and_leaves_access_tokens_alone, |t| async move {
    let user = user(&t).await;
    let session = session(&t, user).await;
    t.advance(Duration::from_secs(60));
    let data = refresh(&t, &session.refresh_token).await.expect_message(200, "token refresh successful").data();
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
            .optional(&t.app.db)
            .await
            .unwrap()
            .unwrap_or_default();
    assert_eq!(login, None, "a refresh is no login");
});

api_test!(rule_13_a_late_reuse_ends_its_chain_only, |t| async move {
    let user = user(&t).await;
    let (session, bystander) = (session(&t, user).await, session(&t, user).await);
    let first = session.refresh_token.clone();
    let second = refreshed(refresh(&t, &first).await);
    t.advance(Duration::from_secs(10));
    let third = refreshed(refresh(&t, &second).await);
    t.advance(Duration::from_secs(20));
    assert_eq!(refreshed(refresh(&t, &first).await), third, "30 s after its turn, the current token's very string");
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

api_test!(rule_12_parallel_refreshes_leave_one_current_token, |t| async move {
    let user = user(&t).await;
    let session = session(&t, user).await;
    let token = session.refresh_token.as_str();
    let (a, b, c, d) = tokio::join!(refresh(&t, token), refresh(&t, token), refresh(&t, token), refresh(&t, token));
    let current = refreshed(a);
    for reply in [b, c, d] {
        assert_eq!(refreshed(reply), current);
    }
    t.advance(Duration::from_secs(31));
    refreshed(refresh(&t, &current).await);
    refresh(&t, token).await.expect_message(401, "invalid refresh token");
});

api_test!(rule_14_a_logout_ends_what_exists_and_nothing_later, |t| async move {
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

api_test!(rule_10_a_suspended_user_is_refused_on_the_next_request, |t| async move {
    let user = user(&t).await;
    let session = session(&t, user).await;
    let now = t.app.now();
    let suspend = |at: Option<Ts>| Q::new("UPDATE users SET suspended_at = ? WHERE id = ?").bind(at).bind(user);
    change(&t, suspend(Some(now))).await;
    let text = "user account has been suspended";
    for path in ["/api/me", "/api/user/profile", "/api/user/permissions"] {
        let reply = t.get(path).bearer(&session.token).send().await;
        assert_reason(reply, text, "user suspended by administrator");
    }
    assert_reason(refresh(&t, &session.refresh_token).await, text, "user suspended by administrator");
    assert!(auth::issue_token(&t.app, user).await.is_err());
    t.post("/api/auth/logout").bearer(&session.token).send().await.expect(401);
    change(&t, suspend(None)).await;
    me(&t, &session).await.expect(200);
});

api_test!(rule_10_the_state_of_the_organization_counts, |t| async move {
    let user = user(&t).await;
    let session = session(&t, user).await;
    let mark = |column: &str, at: Option<Ts>| Q::new(&format!("UPDATE organizations SET {column} = ?")).bind(at);
    let now = Some(t.app.now());
    change(&t, mark("eff_suspended_at", now)).await;
    assert_reason(me(&t, &session).await, "user account has been suspended", "organization suspended");
    change(&t, mark("eff_suspended_at", None)).await;
    change(&t, mark("eff_deleted_at", now)).await;
    assert_reason(me(&t, &session).await, "token has been revoked", "user deleted");
    refresh(&t, &session.refresh_token).await.expect_message(401, "refresh token has been revoked");
});

api_test!(suspended_is_told_before_revoked, |t| async move {
    let user = user(&t).await;
    let session = session(&t, user).await;
    t.post("/api/auth/logout").bearer(&session.token).send().await.expect(200);
    let now = t.app.now();
    change(&t, Q::new("UPDATE users SET suspended_at = ?, deleted_at = ? WHERE id = ?").bind(now).bind(now).bind(user))
        .await;
    let text = "user account has been suspended";
    assert_reason(me(&t, &session).await, text, "user suspended by administrator");
    assert_reason(refresh(&t, &session.refresh_token).await, text, "user suspended by administrator");
    change(&t, Q::new("UPDATE users SET suspended_at = NULL WHERE id = ?").bind(user)).await;
    assert_reason(me(&t, &session).await, "token has been revoked", "user deleted");
    change(&t, Q::new("UPDATE users SET deleted_at = NULL WHERE id = ?").bind(user)).await;
    assert_reason(me(&t, &session).await, "token has been revoked", "user logout");
});

api_test!(rule_14_reactivation_revives_no_earlier_token, |t| async move {
    let user = user(&t).await;
    let session = session(&t, user).await;
    let organization = identities::get(&t.app.db, user).await.unwrap().unwrap().organization.id;
    let mut tx = t.app.db.begin().await.unwrap();
    auth::revoke_organization(&mut tx, t.app.now(), organization, auth::Reason::Suspended).await.unwrap();
    tx.commit().await.unwrap();
    assert_reason(me(&t, &session).await, "token has been revoked", "user suspended");
    let later = auth::issue_token(&t.app, user).await.unwrap();
    me(&t, &later).await.expect(200);
});

api_test!(a_user_who_is_gone_has_no_valid_token, |t| async move {
    let user = user(&t).await;
    let session = session(&t, user).await;
    change(&t, Q::new("DELETE FROM users WHERE id = ?").bind(user)).await;
    me(&t, &session).await.expect_message(401, "invalid token");
    refresh(&t, &session.refresh_token).await.expect_message(401, "invalid refresh token");
});

api_test!(a_change_of_roles_or_names_shows_on_the_next_request, |t| async move {
    let user = user(&t).await;
    let session = session(&t, user).await;
    let roles = json!(["reader", "gone from the catalogue"]);
    change(&t, Q::new("UPDATE users SET role_ids = ?, name = ? WHERE id = ?").bind(roles).bind("New").bind(user)).await;
    let data = me(&t, &session).await.expect(200).data();
    assert_eq!(data["user_role_ids"], json!(["reader"]));
    assert_eq!(data["org_permissions"], json!(["read:distributors", "read:resellers", "read:customers"]));
    assert_eq!(data["name"], "New");
    assert_eq!(part(&session.token, 1)["user"]["name"], "Second", "the token still tells the old one");
});

api_test!(rule_11_unreadable_state_gives_503_and_never_access, |t| async move {
    let user = user(&t).await;
    let session = session(&t, user).await;
    t.app.db.close().await;
    let text = "security service temporarily unavailable";
    let replies = [
        me(&t, &session).await,
        refresh(&t, &session.refresh_token).await,
        t.post("/api/auth/logout").bearer(&session.token).send().await,
        t.get("/api/user/profile").bearer(&session.token).send().await,
    ];
    for reply in replies {
        let reply = reply.expect_message(503, text);
        assert!(reply.header("retry-after").is_some());
        assert_eq!(reply.data(), Value::Null);
    }
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

api_test!(token_endpoints_are_limited_by_address, |s| {
    s.limits.token_requests_per_second = 1;
    s.limits.token_request_burst = 3;
}, |t| async move {
    let ask = |from: &'static str| t.post("/api/auth/refresh").json(json!({"refresh_token": "x"})).from(from).send();
    for _ in 0..3 {
        ask("192.0.2.1").await.expect(401);
    }
    let refused = ask("192.0.2.1").await.expect_message(429, "rate limit exceeded");
    assert_eq!(refused.header("retry-after"), Some("1"));
    ask("192.0.2.2").await.expect(401);
    t.advance(Duration::from_secs(1));
    ask("192.0.2.1").await.expect(401);
});

fn new_password(current: &str, new: &str) -> Value {
    json!({"current_password": current, "new_password": new, "confirm_password": "ignored"})
}

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
    let malformed = t.post("/api/me/change-password").bearer(&session.token).body("{").send().await.expect(400);
    assert!(malformed.message().starts_with("invalid request body: "));
});

api_test!(rule_15_an_own_password_change_ends_the_other_chains, |t| async move {
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

api_test!(rule_17_wrong_passwords_are_limited_and_right_ones_are_not, |t| async move {
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
    let again = session_after(&t, user).await;
    let body = new_password(PASSWORD, "Other-Window-93-Rivers");
    let reply = t.post("/api/me/change-password").bearer(&again.token).json(body).from("192.0.2.1").send().await;
    reply.expect(200);
});

/// A session started now, for a test in which time has passed.
async fn session_after(t: &Test, user: UserId) -> Session {
    auth::issue_token(&t.app, user).await.unwrap()
}

api_test!(user_routes_have_texts_of_their_own, |t| async move {
    for path in ["/api/user/permissions", "/api/user/profile"] {
        t.get(path).send().await.expect_message(401, "authorization header required");
        for header in ["", "Basic eDp5", "Bearer", "abc"] {
            t.get(path).header("authorization", header).send().await.expect_message(401, "bearer token required");
        }
        let reply = t.get(path).bearer("no such token").send().await.expect_message(401, "invalid token");
        assert_eq!(reply.data(), Value::Null);
        t.get(path).bearer("myk_0.1").send().await.expect_message(401, "invalid api key");
    }
});

api_test!(expired_chains_are_removed_and_no_others, |t| async move {
    let user = user(&t).await;
    let (old, kept) = (session(&t, user).await, session(&t, user).await);
    let next = refreshed(refresh(&t, &kept.refresh_token).await);
    t.advance(Duration::from_secs(2 * 1800));
    assert_eq!(auth::purge_expired(&t.app).await.unwrap(), 0, "its last access token may still be alive");
    t.advance(Duration::from_secs(1));
    assert_eq!(auth::purge_expired(&t.app).await.unwrap(), 1);
    me(&t, &old).await.expect_message(401, "invalid token");
    refreshed(refresh(&t, &next).await);
});

api_test!(the_first_start_creates_one_owner_however_many_processes_start, |t| async move {
    let mut tx = t.app.db.begin().await.unwrap();
    for table in ["users", "organization_counts", "organizations"] {
        Q::new(&format!("DELETE FROM {table}")).run(&mut tx).await.unwrap();
    }
    tx.commit().await.unwrap();
    let (first, second) = (other(&t, |s| s.owner.password = None, Duration::ZERO), t.app.clone());
    let (a, b) = tokio::join!(bootstrap::ensure_owner(&first), bootstrap::ensure_owner(&second));
    let created = [a.unwrap(), b.unwrap()];
    let is_created = |s: &&bootstrap::FirstStart| matches!(s, bootstrap::FirstStart::Created { .. });
    assert_eq!(created.iter().filter(is_created).count(), 1);
    let again = bootstrap::ensure_owner(&second).await.unwrap();
    assert!(matches!(again, bootstrap::FirstStart::Done));
    let token = bootstrap::issue_operator_token(&t.app, "OWNER@example.org").await.unwrap();
    let data = t.get("/api/me").bearer(&token).send().await.expect(200).data();
    assert_eq!((data["username"].as_str(), data["org_role"].as_str()), (Some("owner"), Some("Owner")));
    assert_eq!(data["user_roles"], json!(["Super Admin"]));
});

api_test!(a_further_owner_user_needs_good_fields, |t| async move {
    let create = |email: &str, username: Option<&str>, password: &str| {
        let new = bootstrap::NewOwnerUser {
            email: email.to_owned(),
            username: username.map(str::to_owned),
            name: "N".to_owned(),
            password: Secret::new(password.to_owned()),
        };
        let app = t.app.clone();
        async move { bootstrap::create_owner_user(&app, &new).await.map_err(|e| e.to_string()) }
    };
    for (email, username, password, key) in [
        ("nobody", None, PASSWORD, "\"email\""),
        ("a@example.org", None, "weak", "\"password\""),
        ("a@example.org", Some("owner"), PASSWORD, "\"username\""),
        ("OWNER@example.org", None, PASSWORD, "\"email\""),
    ] {
        let error = create(email, username, password).await.unwrap_err();
        assert!(error.contains(key) && !error.contains(password), "{error}");
    }
    create("a.b@example.org", None, PASSWORD).await.unwrap();
    create("a.b@example.net", None, PASSWORD).await.unwrap();
    let names: Vec<(String,)> =
        Q::new("SELECT username FROM users WHERE username LIKE 'a%' ORDER BY username").all(&t.app.db).await.unwrap();
    assert_eq!(names.into_iter().map(|n| n.0).collect::<Vec<_>>(), ["a_b", "a_b_1"]);
    assert!(bootstrap::issue_operator_token(&t.app, "nobody@example.org").await.is_err());
});
