//! `POST /auth/exchange` (spec: authentication#exchange).

use super::*;

// Proves spec: acceptance#scenarios 7.
api_test!(an_exchange_starts_a_chain_of_its_own_each_time, |t| async move {
    let user = user(&t).await;
    let (token, login) = provider_token(&t, user, "bailiwick").await;
    let data = exchange(&t, &token).await.expect_message(200, "token exchange successful").data();
    let again = exchange(&t, &token).await.expect(200).data();
    let chain = |data: &Value| part(data["token"].as_str().unwrap(), 1)["sid"].clone();
    assert_ne!(chain(&data), chain(&again));
    let mut keys: Vec<_> = data.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["expires_in", "refresh_token", "token", "user"]);
    assert_eq!(data["expires_in"], 1800);
    let refresh_claims = part(data["refresh_token"].as_str().unwrap(), 1);
    assert_eq!(refresh_claims["exp"].as_i64().unwrap() - refresh_claims["iat"].as_i64().unwrap(), 7 * 86_400);
    let shown = t.get("/api/me").bearer(data["token"].as_str().unwrap()).send().await.expect(200);
    assert_eq!(shown.data(), data["user"]);
    let stored = users::get(&t.app.platform.db, user).await.unwrap().unwrap().user;
    assert_eq!(stored.latest_login_at, Some(t.app.platform.now()));
    assert_eq!(stored.updated_at, stored.created_at);
    let profile = t.get("/api/user/profile").bearer(&token).send().await.expect(200);
    assert_eq!(profile.data(), data["user"], "the provider's token opens it too");
    t.get("/api/me").bearer(&token).send().await.expect_message(401, "invalid token");

    let mut tx = t.app.platform.db.begin().await.unwrap();
    logins::end(&mut tx, login, t.app.platform.now()).await.unwrap();
    auth::revoke_login_chains(&mut tx, t.app.platform.now(), login).await.unwrap();
    tx.commit().await.unwrap();
    let reply = t.get("/api/me").bearer(data["token"].as_str().unwrap()).send().await;
    assert_reason(reply, "token has been revoked", "user logout");
    exchange(&t, &token).await.expect_message(401, "invalid access token");
});

// Proves spec: guarantees#identity 7.
api_test!(only_first_party_tokens_are_exchanged, |t| async move {
    let user = user(&t).await;
    let (third_party, _) = provider_token(&t, user, "somebody else").await;
    let own = session(&t, user).await;
    for token in [&third_party, "no such token", &own.token, &own.refresh_token] {
        let reply = exchange(&t, token).await.expect_message(401, "invalid access token");
        assert_eq!(reply.data(), Value::Null);
    }
    let (token, _) = provider_token(&t, user, "bailiwick").await;
    t.advance(Duration::from_secs(3600));
    exchange(&t, &token).await.expect_message(401, "invalid access token");
});

// Proves spec: acceptance#scenarios 5, guarantees#identity 10, authorization#guarantees 17.
api_test!(a_disabled_user_cannot_exchange, |t| async move {
    let user = user(&t).await;
    let (token, _) = provider_token(&t, user, "bailiwick").await;
    let now = Some(t.app.platform.now());
    let own = |column: &str, time: Option<Ts>| {
        Q::new(&format!("UPDATE users SET {column} = ? WHERE id = ?")).bind(time).bind(user)
    };
    let organization =
        |column: &str, time: Option<Ts>| Q::new(&format!("UPDATE organizations SET {column} = ?")).bind(time);
    change(&t, own("suspended_at", now)).await;
    let text = "user account has been suspended";
    assert_reason(exchange(&t, &token).await, text, "user suspended by administrator");
    assert_reason(
        t.get("/api/user/profile").bearer(&token).send().await,
        text,
        "user suspended by administrator",
    );
    change(&t, own("suspended_at", None)).await;
    change(&t, organization("eff_suspended_at", now)).await;
    assert_reason(exchange(&t, &token).await, text, "organization suspended");
    change(&t, organization("eff_suspended_at", None)).await;
    change(&t, own("deleted_at", now)).await;
    exchange(&t, &token).await.expect_message(401, "invalid access token");
    assert_reason(
        t.get("/api/user/profile").bearer(&token).send().await,
        "token has been revoked",
        "user deleted",
    );
    change(&t, own("deleted_at", None)).await;
    change(&t, organization("eff_deleted_at", now)).await;
    exchange(&t, &token).await.expect_message(401, "invalid access token");
    change(&t, organization("eff_deleted_at", None)).await;
    exchange(&t, &token).await.expect(200);
});
