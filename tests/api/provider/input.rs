//! Input that no client of good will sends: a clear 4xx, nothing stored, no 5xx.

use super::client::*;
use bailiwick_testkit::api_test;

api_test!(malformed_requests_are_sent_back_or_shown, |t| async move {
    let browser = Browser::new(&t);
    for (changes, error) in [
        (vec![("response_type", "")], "invalid_request"),
        (vec![("response_type", "token")], "unsupported_response_type"),
        (vec![("response_mode", "fragment")], "invalid_request"),
        (vec![("request", "a.b.c")], "request_not_supported"),
        (vec![("request_uri", "https://evil.example")], "request_uri_not_supported"),
        (vec![("prompt", "none login")], "invalid_request"),
        (vec![("max_age", "-1")], "invalid_request"),
        (vec![("max_age", "soon")], "invalid_request"),
        (vec![("nonce", "a\u{0}b")], "invalid_request"),
        (vec![("login_hint", "a\nb")], "invalid_request"),
        (vec![("scope", "openid\u{0}")], "invalid_request"),
    ] {
        sent_back(browser.get(&authorization(&changes)).await, error);
    }
    let long = "x".repeat(2049);
    sent_back(browser.get(&authorization(&[("nonce", &long)])).await, "invalid_request");
    sent_back(browser.get(&format!("{}&scope=email", authorization(&[]))).await, "invalid_request");
    let state = browser.get(&authorization(&[("state", "a\u{0}b")])).await.expect(303);
    assert!(!query(state.header("location").unwrap()).contains_key("state"));
    browser.get("/oidc/auth?client_id=%ff%fe&redirect_uri=%00").await.expect(400);
    browser.get("/oidc/auth").await.expect(400);
    for id in ["x", "0190aaaa-0000-7000-8000-000000000000", "%00", "%ff"] {
        for page in [
            browser.get(&format!("/oidc/auth/{id}")).await,
            browser.get(&format!("/oidc/sign-in/{id}")).await,
            browser.post(&format!("/oidc/sign-in/{id}"), &[("form_token", "x")]).await,
        ] {
            assert_eq!(page.expect(400).header("x-frame-options"), Some("DENY"), "{id}");
        }
    }
});

api_test!(malformed_forms_are_refused, |t| async move {
    let base = [("client_id", "bailiwick"), ("redirect_uri", CALLBACK)];
    for (form, status, error) in [
        (vec![], 401, "invalid_client"),
        (vec![base[0]], 400, "invalid_request"),
        (vec![base[0], ("grant_type", "password")], 400, "unsupported_grant_type"),
        (vec![base[0], ("grant_type", "client_credentials")], 400, "unsupported_grant_type"),
        (vec![base[0], ("grant_type", "authorization_code")], 400, "invalid_request"),
        (vec![base[0], ("grant_type", "authorization_code"), ("code", "x")], 400, "invalid_grant"),
        (vec![base[0], ("grant_type", "authorization_code"), ("code", "x\u{0}")], 400, "invalid_request"),
        (vec![base[0], ("grant_type", "refresh_token")], 400, "invalid_request"),
        (vec![base[0], ("grant_type", "refresh_token"), ("refresh_token", "x")], 400, "invalid_grant"),
        (vec![base[0], base[0], ("grant_type", "refresh_token")], 400, "invalid_request"),
        (vec![("client_id", "nobody"), ("grant_type", "refresh_token")], 401, "invalid_client"),
        (vec![base[0], ("client_secret", "x"), ("grant_type", "refresh_token")], 401, "invalid_client"),
    ] {
        refused(t.post("/oidc/token").form(&form).send().await, status, error);
    }
    for body in [&b"%ff=%fe&&&=%"[..], b"{\"grant_type\":\"refresh_token\"}", b"\xff\xfe\x00"] {
        t.post("/oidc/token").body(body).send().await.expect(401);
    }
    for header in ["Basic", "Basic !!!", "Basic eA==", "Bearer x", "Basic Omjg"] {
        let reply = t.post("/oidc/token").header("authorization", header).form(&base).send().await;
        refused(reply, 401, "invalid_client");
    }
    refused(t.post("/oidc/token").body("x=".repeat(40_000)).send().await, 413, "invalid_request");
    for token in ["x".repeat(5000), "a b".into()] {
        refused(userinfo(&t, &token).await, 401, "invalid_token");
    }
});

api_test!(strange_names_and_passwords_are_only_wrong, |t| async move {
    let browser = Browser::new(&t);
    let (page, token) = browser.open_page(&[]).await;
    let long = "x".repeat(1000);
    for (name, password) in [
        ("", ""),
        ("a\u{0}b", "x"),
        ("owner", "x\u{0}"),
        (&long, "x"),
        ("' OR 1=1 --", "x"),
        ("%", "x"),
        ("ωнer@пример.рф", "пароль"),
    ] {
        browser.submit(&page, &token, name, password).await.expect(422);
    }
});
