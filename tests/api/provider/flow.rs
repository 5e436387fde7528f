//! The browser login, step by step, as it should go.

use super::client::*;
use bailiwick_testkit::{Test, api_test};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, jwk::JwkSet};
use serde_json::{Value, json};
use std::time::Duration;

/// Steps 1 and 6: discovery, keys, and what a client checks in an ID token.
pub async fn verified(t: &Test, id_token: &str, client: &str) -> Value {
    let discovery = t.get("/oidc/.well-known/openid-configuration").send().await.expect(200).json();
    let keys = t.get(local(discovery["jwks_uri"].as_str().unwrap())).send().await.expect(200);
    let keys: JwkSet = serde_json::from_slice(&keys.body).unwrap();
    let header = jsonwebtoken::decode_header(id_token).unwrap();
    assert_eq!(header.alg, Algorithm::ES384);
    let key = keys.find(&header.kid.unwrap()).expect("the key is published");
    let mut rules = Validation::new(Algorithm::ES384);
    rules.set_audience(&[client]);
    rules.set_issuer(&[discovery["issuer"].as_str().unwrap()]);
    // The clock of the service stands still somewhere else than ours.
    rules.validate_exp = false;
    let key = DecodingKey::from_jwk(key).unwrap();
    let claims = jsonwebtoken::decode::<Value>(id_token, &key, &rules).expect("a good signature").claims;
    let now = t.app.platform.now().secs();
    assert_eq!(claims["iat"], now);
    assert_eq!(claims["exp"], now + 3600);
    claims
}

// Proves spec: clients#checklist 3.
api_test!(discovery_names_what_clients_read, |t| async move {
    let reply = t.get("/oidc/.well-known/openid-configuration").send().await.expect(200);
    let discovery = reply.json();
    let url = |path: &str| json!(format!("{BASE}/oidc{path}"));
    assert_eq!(discovery["issuer"], url(""));
    for (name, path) in [
        ("authorization_endpoint", "/auth"),
        ("token_endpoint", "/token"),
        ("userinfo_endpoint", "/me"),
        ("jwks_uri", "/jwks"),
        ("revocation_endpoint", "/token/revocation"),
        ("introspection_endpoint", "/token/introspection"),
        ("end_session_endpoint", "/session/end"),
    ] {
        assert_eq!(discovery[name], url(path), "{name}");
    }
    for (name, value) in [
        ("response_types_supported", json!(["code"])),
        ("grant_types_supported", json!(["authorization_code", "refresh_token"])),
        ("code_challenge_methods_supported", json!(["S256"])),
        ("id_token_signing_alg_values_supported", json!(["ES384"])),
        ("subject_types_supported", json!(["public"])),
    ] {
        assert_eq!(discovery[name], value, "{name}");
    }
    for name in ["scopes_supported", "token_endpoint_auth_methods_supported", "claims_supported"] {
        assert!(discovery[name].is_array(), "{name}");
    }
    assert!(reply.header("api-version").is_none(), "not under a base path");
});

// Proves spec: clients#checklist 3.
api_test!(a_browser_signs_in_and_out, |t| async move {
    let browser = Browser::new(&t);
    let (page, token) = browser.open_page(&[]).await;
    let done = browser.submit(&page, &token, OWNER, PASSWORD).await.expect(303);
    let callback = done.header("location").unwrap();
    assert!(callback.starts_with(&format!("{CALLBACK}?code=")), "{callback}");
    let query = query(callback);
    assert_eq!(query["state"], "a state/+=");
    assert_eq!(query["iss"], format!("{BASE}/oidc"));

    let reply = redeem(&t, &query["code"], &[]).await.expect(200);
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    let tokens = reply.json();
    assert_eq!(tokens["expires_in"], 3600);
    assert_eq!(tokens["scope"], SCOPE);
    assert_eq!(tokens["token_type"], "Bearer");
    let access = tokens["access_token"].as_str().unwrap();
    assert!(!access.contains('.'), "opaque without a resource");

    let claims = verified(&t, tokens["id_token"].as_str().unwrap(), "bailiwick").await;
    assert_eq!(claims["aud"], "bailiwick", "a string, not an array");
    assert_eq!(claims["email"], OWNER);
    assert!(claims["email_verified"].is_boolean());
    assert_eq!(claims["username"], "owner");
    assert!(claims.get("nonce").is_none() && claims.get("phone_number").is_none());
    let info = userinfo(&t, access).await.expect(200).json();
    assert_eq!(info["sub"], claims["sub"]);
    assert_eq!(info["preferred_username"], claims["username"]);
    assert!(info.get("picture").is_none(), "a claim without a value is left out");
    assert_eq!(info["email"], OWNER);

    let session = exchange(&t, access).await.expect_message(200, "token exchange successful").data();
    assert_eq!(session["user"]["id"], claims["sub"]);
    let bearer = session["token"].as_str().unwrap();
    t.get("/api/me").bearer(bearer).send().await.expect(200);

    let form = [("client_id", "bailiwick"), ("token", tokens["refresh_token"].as_str().unwrap())];
    let revoked = t.post("/oidc/token/revocation").form(&form).send().await.expect(200);
    assert!(revoked.body.is_empty());
    refused(refresh(&t, form[1].1).await, 400, "invalid_grant");
    t.get("/api/me").bearer(bearer).send().await.expect(200);

    let end = "/oidc/session/end?client_id=bailiwick&post_logout_redirect_uri=http%3A%2F%2Flocalhost%3A5173%2Flogin";
    let out = browser.get(end).await.expect(303);
    assert_eq!(out.header("location"), Some("http://localhost:5173/login"));
    assert!(!browser.cookies.borrow().contains_key("bailiwick-login"));
    let dead = t.get("/api/me").bearer(bearer).send().await.expect_message(401, "token has been revoked");
    assert_eq!(dead.data()["reason"], "user logout");
    exchange(&t, access).await.expect_message(401, "invalid access token");
    sent_back(browser.get(&authorization(&[("prompt", "none")])).await, "login_required");
});

api_test!(a_known_browser_gets_a_code_without_a_page_unless_asked, |t| async move {
    let browser = Browser::new(&t);
    sent_back(browser.get(&authorization(&[("prompt", "none")])).await, "login_required");
    browser.sign_in(OWNER, PASSWORD, &[]).await;
    t.advance(Duration::from_secs(100));
    for changes in [[("prompt", "consent")], [("prompt", "none")], [("prompt", "")], [("max_age", "100")]] {
        let sent = browser.get(&authorization(&changes)).await.expect(303);
        let code = &query(sent.header("location").unwrap())["code"];
        redeem(&t, code, &[]).await.expect(200);
    }
    for changes in
        [[("prompt", "login")], [("prompt", "login consent")], [("max_age", "99")], [("max_age", "0")]]
    {
        browser.open_page(&changes).await;
    }
    sent_back(browser.get(&authorization(&[("prompt", "none"), ("max_age", "99")])).await, "login_required");
    t.advance(Duration::from_secs(14 * 86_400));
    browser.open_page(&[("prompt", "")]).await;
});

api_test!(signing_in_again_keeps_the_login_of_the_same_person_and_ends_another_ones, |t| async move {
    let tree = t.tree().await;
    let other = t.user(tree.reseller, &["admin"]).await;
    set_password(&t, other.id, "Another-Horse-8-Battery", None).await;
    let browser = Browser::new(&t);
    let first = redeem(&t, &browser.code(&[]).await, &[]).await.expect(200).json();
    let before = browser.cookies.borrow()["bailiwick-login"].clone();
    t.advance(Duration::from_secs(60));
    let second = redeem(&t, &browser.code(&[("prompt", "login")]).await, &[]).await.expect(200).json();
    assert_ne!(browser.cookies.borrow()["bailiwick-login"], before, "the cookie is a new one");
    userinfo(&t, first["access_token"].as_str().unwrap()).await.expect(200);
    let claims = verified(&t, second["id_token"].as_str().unwrap(), "bailiwick").await;
    assert_eq!(claims["auth_time"], t.app.platform.now().secs());

    let email = email_of(&t, other.id).await;
    browser.sign_in(&email, "Another-Horse-8-Battery", &[("prompt", "login")]).await;
    for tokens in [first, second] {
        refused(userinfo(&t, tokens["access_token"].as_str().unwrap()).await, 401, "invalid_token");
    }
});

api_test!(two_tabs_do_not_disturb_each_other, |t| async move {
    let browser = Browser::new(&t);
    let (one, token_of_one) = browser.open_page(&[("state", "one")]).await;
    let (two, token_of_two) = browser.open_page(&[("state", "two")]).await;
    let done = browser.submit(&one, &token_of_one, "OWNER", PASSWORD).await.expect(303);
    assert_eq!(query(done.header("location").unwrap())["state"], "one");
    let done = browser.submit(&two, &token_of_two, "Owner@Example.org ", PASSWORD).await.expect(303);
    assert_eq!(query(done.header("location").unwrap())["state"], "two");
    let again = browser.submit(&one, &token_of_one, OWNER, PASSWORD).await.expect(400);
    assert!(again.text().contains("no longer valid"));
});

api_test!(a_nonce_comes_back_and_a_claim_without_a_value_does_not, |t| async move {
    let code = Browser::new(&t).code(&[("nonce", "n-0S6_WzA2Mj"), ("scope", "openid phone")]).await;
    let tokens = redeem(&t, &code, &[]).await.expect(200).json();
    assert!(tokens.get("refresh_token").is_none(), "without offline_access");
    let claims = verified(&t, tokens["id_token"].as_str().unwrap(), "bailiwick").await;
    assert_eq!(claims["nonce"], "n-0S6_WzA2Mj");
    assert!(claims.get("phone_number").is_none(), "the owner has none");
    assert!(claims.get("email").is_none() && claims.get("name").is_none());
    let info = userinfo(&t, tokens["access_token"].as_str().unwrap()).await.expect(200).json();
    assert_eq!(info.as_object().unwrap().keys().collect::<Vec<_>>(), ["sub"]);
});

// Proves spec: guarantees#identity 39.
api_test!(pages_speak_the_browsers_language_and_cannot_be_framed, |t| async move {
    let browser = Browser::new(&t);
    let (page, _) = browser.open_page(&[("login_hint", "a\"b@example.org")]).await;
    let shown =
        browser.send(t.get(local(&page)).header("accept-language", "it-IT,en;q=0.5")).await.expect(200);
    let text = shown.text();
    assert!(text.contains("<html lang=\"it\">") && text.contains("Accedi"), "{text}");
    assert!(text.contains("a&quot;b@example.org"), "{text}");
    assert!(!text.contains("<script") && !text.contains("src=") && !text.contains("//fonts"), "{text}");
    assert_eq!(shown.header("x-frame-options"), Some("DENY"));
    assert_eq!(shown.header("cache-control"), Some("no-store"));
    assert_eq!(
        shown.header("content-security-policy"),
        Some(
            "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
             form-action 'self' http://localhost:5173; base-uri 'none'; frame-ancestors 'none'"
        )
    );
    let out = browser.get("/oidc/session/end").await.expect(200);
    assert!(out.text().contains("You are signed out"));
    assert_eq!(out.header("x-frame-options"), Some("DENY"));
});

api_test!(the_router_leaves_the_rest_of_oidc_to_nobody, |t| async move {
    t.get("/oidc/nothing").send().await.expect_message(404, "api not found");
    t.get("/oidc/token").send().await.expect_message(404, "api not found");
    t.get("/oidc/jwks/").send().await.expect(200);
    t.get("/api/oidc/jwks").send().await.expect_message(404, "api not found");
});

api_test!(
    on_https_cookies_are_for_this_host_and_loopback_clients_are_strangers,
    |settings| settings.public_url = "https://my.example.org".into(),
    |t| async move {
        let mine = authorization(&[("redirect_uri", "https://my.example.org/login-redirect")]);
        let sent = t.get(&mine).send().await.expect(303);
        let cookie = sent.header("set-cookie").unwrap();
        assert!(cookie.starts_with("__Host-bailiwick-browser=") && cookie.ends_with("; Secure"), "{cookie}");
        assert!(cookie.contains("; Path=/; "), "{cookie}");
        assert_eq!(sent.header("strict-transport-security"), Some("max-age=31536000"));
        assert!(sent.header("location").unwrap().starts_with("https://my.example.org/oidc/sign-in/"));
        t.get(&authorization(&[])).send().await.expect(400);
    }
);
