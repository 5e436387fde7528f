//! Requests that must not work.

use super::client::*;
use bailiwick_testkit::{Reply, api_test};
use serde_json::json;
use std::time::Duration;

api_test!(a_code_used_twice_ends_what_it_produced, |t| async move {
    let browser = Browser::new(&t);
    let code = browser.code(&[]).await;
    let first = redeem(&t, &code, &[]).await.expect(200).json();
    let (access, renew) = (first["access_token"].as_str().unwrap(), first["refresh_token"].as_str().unwrap());
    let renewed = refresh(&t, renew).await.expect(200).json();
    let session = exchange(&t, access).await.expect(200).data();
    refused(redeem(&t, &code, &[]).await, 400, "invalid_grant");
    for token in [access, renewed["access_token"].as_str().unwrap()] {
        refused(userinfo(&t, token).await, 401, "invalid_token");
        exchange(&t, token).await.expect_message(401, "invalid access token");
    }
    refused(refresh(&t, renewed["refresh_token"].as_str().unwrap()).await, 400, "invalid_grant");
    let bearer = session["token"].as_str().unwrap();
    t.get("/api/me").bearer(bearer).send().await.expect_message(401, "token has been revoked");
    let next = browser.get(&authorization(&[])).await.expect(303);
    let next = query(next.header("location").unwrap())["code"].clone();
    redeem(&t, &next, &[]).await.expect(200);
});

api_test!(two_exchanges_of_one_code_at_once_give_tokens_to_nobody_for_long, |t| async move {
    let code = Browser::new(&t).code(&[]).await;
    let (one, two) = tokio::join!(redeem(&t, &code, &[]), redeem(&t, &code, &[]));
    let mut statuses = [one.status.as_u16(), two.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 400]);
    let won = if one.status == 200 { one } else { two };
    refused(userinfo(&t, won.json()["access_token"].as_str().unwrap()).await, 401, "invalid_token");
});

api_test!(a_code_lives_a_minute, |t| async move {
    let browser = Browser::new(&t);
    let code = browser.code(&[]).await;
    t.advance(Duration::from_secs(59));
    redeem(&t, &code, &[]).await.expect(200);
    let sent = browser.get(&authorization(&[])).await.expect(303);
    let code = query(sent.header("location").unwrap())["code"].clone();
    t.advance(Duration::from_secs(60));
    refused(redeem(&t, &code, &[]).await, 400, "invalid_grant");
});

api_test!(pkce_cannot_be_left_out_or_weakened, |t| async move {
    let browser = Browser::new(&t);
    for changes in [
        vec![("code_challenge", ""), ("code_challenge_method", "")],
        vec![("code_challenge", "")],
        vec![("code_challenge_method", "")],
        vec![("code_challenge_method", "plain")],
        vec![("code_challenge", VERIFIER), ("code_challenge_method", "plain")],
        vec![("code_challenge", "short")],
        vec![("code_challenge", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-c=")],
    ] {
        sent_back(browser.get(&authorization(&changes)).await, "invalid_request");
    }
    let code = browser.code(&[]).await;
    for changes in [
        [("code_verifier", "")],
        [("code_verifier", CHALLENGE)],
        [("code_verifier", "eBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")],
        [("code_verifier", "x")],
    ] {
        refused(redeem(&t, &code, &changes).await, 400, "invalid_grant");
    }
    redeem(&t, &code, &[]).await.expect(200);
});

api_test!(
    a_confidential_client_proves_itself_and_cannot_be_downgraded,
    |settings| settings.provider.clients.push(console()),
    |t| async move {
        let parameters = [("client_id", "console"), ("redirect_uri", CONSOLE_CALLBACK)];
        let without = [parameters[0], parameters[1], ("code_challenge", ""), ("code_challenge_method", "")];
        let browser = Browser::new(&t);
        let address = browser.sign_in(OWNER, PASSWORD, &without).await;
        assert!(address.starts_with(&format!("{CONSOLE_CALLBACK}&code=")), "{address}");
        let code = query(&address)["code"].clone();
        let base = [parameters[0], parameters[1], ("code_verifier", "")];
        let wrong = |secret| [base[0], base[1], base[2], ("client_secret", secret)];
        refused(redeem(&t, &code, &base).await, 401, "invalid_client");
        refused(redeem(&t, &code, &wrong("guess")).await, 401, "invalid_client");
        let injected = [base[0], base[1], ("client_secret", CONSOLE_SECRET)];
        refused(redeem(&t, &code, &injected).await, 400, "invalid_grant");
        redeem(&t, &code, &wrong(CONSOLE_SECRET)).await.expect(200);

        let sent = browser.get(&authorization(&parameters)).await.expect(303);
        let code = query(sent.header("location").unwrap())["code"].clone();
        let form =
            [("grant_type", "authorization_code"), ("code", &code), ("redirect_uri", CONSOLE_CALLBACK)];
        let basic = |form: &[(&str, &str)]| t.post("/oidc/token").basic("console", "open+sesame").form(form);
        refused(basic(&form).send().await, 400, "invalid_grant");
        let verified = [form[0], form[1], form[2], ("code_verifier", VERIFIER)];
        let twice = [&verified[..], &[("client_secret", CONSOLE_SECRET)]].concat();
        refused(basic(&twice).send().await, 400, "invalid_request");
        let other = [&verified[..], &[("client_id", "bailiwick")]].concat();
        refused(basic(&other).send().await, 401, "invalid_client");
        basic(&verified).send().await.expect(200);
    }
);

api_test!(
    nothing_is_good_for_another_client,
    |settings| settings.provider.clients.push(console()),
    |t| async move {
        let code = Browser::new(&t).code(&[]).await;
        let as_console = [("client_id", "console"), ("client_secret", CONSOLE_SECRET)];
        refused(redeem(&t, &code, &as_console).await, 400, "invalid_grant");
        let tokens = redeem(&t, &code, &[]).await.expect(200).json();
        let renew = tokens["refresh_token"].as_str().unwrap();
        let form = [as_console[0], as_console[1], ("grant_type", "refresh_token"), ("refresh_token", renew)];
        refused(t.post("/oidc/token").form(&form).send().await, 400, "invalid_grant");
        let form = [as_console[0], as_console[1], ("token", renew)];
        t.post("/oidc/token/revocation").form(&form).send().await.expect(200);
        refresh(&t, renew).await.expect(200);
    }
);

api_test!(redirect_addresses_are_exact, |t| async move {
    let browser = Browser::new(&t);
    let untrusted = |reply: Reply| {
        let reply = reply.expect(400);
        assert!(reply.header("location").is_none());
        assert!(reply.header("content-type").unwrap().starts_with("text/html"));
        assert!(reply.header("set-cookie").is_none());
    };
    for address in [
        "https://evil.example/login-redirect",
        "http://localhost:5173/login-redirect/",
        "http://localhost:5173/login-redirect?x=y",
        "http://localhost:5173@evil.example/login-redirect",
        "http://localhost.evil.example/login-redirect",
        "http://127.0.0.1:8080/login-redirect#x",
        "//127.0.0.1:8080/login-redirect",
        "javascript:alert(1)",
        "",
    ] {
        untrusted(browser.get(&authorization(&[("redirect_uri", address)])).await);
    }
    for client in ["nobody", ""] {
        untrusted(browser.get(&authorization(&[("client_id", client)])).await);
    }
    let twice = format!("{}&redirect_uri=https%3A%2F%2Fevil.example%2F", authorization(&[]));
    untrusted(browser.get(&twice).await);
    let code = browser.code(&[]).await;
    for address in ["http://localhost:5174/login-redirect", "http://127.0.0.1:8080/login-redirect", ""] {
        refused(redeem(&t, &code, &[("redirect_uri", address)]).await, 400, "invalid_grant");
    }
    redeem(&t, &code, &[]).await.expect(200);
});

api_test!(a_form_of_another_site_signs_nobody_in, |t| async move {
    let browser = Browser::new(&t);
    let (page, token) = browser.open_page(&[]).await;
    let (_, other) = browser.open_page(&[]).await;
    for bad in ["", "x", &other, &token[1..]] {
        let reply = browser.submit(&page, bad, OWNER, PASSWORD).await.expect(400);
        assert!(reply.header("set-cookie").is_none());
    }
    let stranger = Browser::new(&t);
    stranger.get(&page).await.expect(400);
    stranger.submit(&page, &token, OWNER, PASSWORD).await.expect(400);
    stranger.open_page(&[]).await;
    stranger.submit(&page, &token, OWNER, PASSWORD).await.expect(400);
    browser.submit(&page, &token, OWNER, PASSWORD).await.expect(303);
});

// Proves spec: guarantees#identity 9, authorization#guarantees 27.
api_test!(one_token_is_not_another, |t| async move {
    let code = Browser::new(&t).code(&[]).await;
    let tokens = redeem(&t, &code, &[]).await.expect(200).json();
    let token_named = |name: &str| tokens[name].as_str().unwrap().to_owned();
    let session = exchange(&t, &token_named("access_token")).await.expect(200).data();
    let service = |name: &str| session[name].as_str().unwrap().to_owned();
    for token in [
        token_named("refresh_token"),
        token_named("id_token"),
        code.clone(),
        service("token"),
        service("refresh_token"),
    ] {
        refused(userinfo(&t, &token).await, 401, "invalid_token");
        exchange(&t, &token).await.expect_message(401, "invalid access token");
    }
    for token in [token_named("access_token"), token_named("id_token"), code, service("refresh_token")] {
        refused(refresh(&t, &token).await, 400, "invalid_grant");
    }
    for token in [token_named("access_token"), token_named("id_token"), token_named("refresh_token")] {
        t.get("/api/me").bearer(&token).send().await.expect_message(401, "invalid token");
    }
    let forged = format!("{}x", token_named("access_token"));
    refused(userinfo(&t, &forged).await, 401, "invalid_token");
    t.get("/oidc/me").send().await.expect(401);
});

api_test!(sign_out_leads_only_where_the_client_is_registered, |t| async move {
    let address = |pairs: &[(&str, &str)]| {
        let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
        format!("/oidc/session/end?{query}")
    };
    let login = "http://localhost:5173/login";
    for pairs in [
        vec![("client_id", "bailiwick"), ("post_logout_redirect_uri", "https://evil.example/login")],
        vec![
            ("client_id", "bailiwick"),
            ("post_logout_redirect_uri", "http://localhost:5173/login-redirect"),
        ],
        vec![
            ("client_id", "bailiwick"),
            ("post_logout_redirect_uri", "http://localhost:5173//evil.example/login"),
        ],
        vec![("client_id", "nobody"), ("post_logout_redirect_uri", login)],
        vec![("post_logout_redirect_uri", login)],
        vec![("post_logout_redirect_uri", login), ("id_token_hint", "a.b.c")],
        vec![("client_id", "bailiwick")],
    ] {
        let reply = t.get(&address(&pairs)).send().await.expect(200);
        assert!(reply.header("location").is_none(), "{pairs:?}");
    }
    let tokens = tokens(&t).await;
    let hint = tokens["id_token"].as_str().unwrap();
    let reply = t.get(&address(&[("id_token_hint", hint), ("post_logout_redirect_uri", login)])).send().await;
    assert_eq!(reply.expect(303).header("location"), Some(login));
    let state = [("client_id", "bailiwick"), ("post_logout_redirect_uri", login), ("state", "x y")];
    let reply = t.post("/oidc/session/end").form(&state).send().await.expect(303);
    assert_eq!(reply.header("location"), Some("http://localhost:5173/login?state=x+y"));
});

// Proves spec: guarantees#identity 17.
api_test!(passwords_cannot_be_guessed_for_long, |t| async move {
    let browser = Browser::new(&t);
    let (page, token) = browser.open_page(&[]).await;
    let mut unknown = String::new();
    for _ in 0..10 {
        let reply =
            browser.submit(&page, &token, "nobody@example.org", "Wrong-Horse-7-Battery").await.expect(422);
        unknown = reply.text().replace("nobody@example.org", OWNER);
    }
    for _ in 0..10 {
        let reply = browser.submit(&page, &token, OWNER, "Wrong-Horse-7-Battery").await.expect(422);
        assert_eq!(reply.text(), unknown, "an unknown name and a wrong password look the same");
    }
    for name in [OWNER, "nobody@example.org"] {
        let reply = browser.submit(&page, &token, name, PASSWORD).await.expect(429);
        assert!(reply.header("retry-after").unwrap().parse::<u64>().unwrap() > 0);
    }
    t.advance(Duration::from_secs(15 * 60));
    browser.submit(&page, &token, OWNER, PASSWORD).await.expect(303);
});

api_test!(
    the_token_endpoint_has_a_rate,
    |settings| settings.limits.token_request_burst = 3,
    |t| async move {
        for _ in 0..3 {
            refused(refresh(&t, "x").await, 400, "invalid_grant");
        }
        let reply = refresh(&t, "x").await.expect(429);
        assert_eq!(reply.json()["message"], "rate limit exceeded");
        assert_eq!(reply.header("retry-after"), Some("1"));
        let form = [("grant_type", "refresh_token"), ("client_id", "bailiwick"), ("refresh_token", "x")];
        t.post("/oidc/token").from("192.0.2.7").form(&form).send().await.expect(400);
    }
);

api_test!(other_origins_get_what_they_need_and_no_more, |t| async move {
    let ask = async |path: &str, origin: &str| {
        let reply = t.call("OPTIONS".parse().unwrap(), path).header("origin", origin);
        let reply = reply.header("access-control-request-method", "POST").send().await;
        reply.header("access-control-allow-origin").map(str::to_owned)
    };
    let mine = "http://localhost:5173";
    for path in ["/oidc/.well-known/openid-configuration", "/oidc/jwks"] {
        assert_eq!(ask(path, "https://evil.example").await.as_deref(), Some("*"), "{path}");
    }
    for path in ["/oidc/token", "/oidc/me", "/oidc/token/revocation"] {
        assert_eq!(ask(path, mine).await.as_deref(), Some(mine), "{path}");
        for other in ["https://evil.example", "null", "http://localhost.evil.example:5173"] {
            assert_eq!(ask(path, other).await, None, "{path} {other}");
        }
    }
    for path in
        ["/oidc/auth", "/oidc/session/end", "/oidc/token/introspection", "/api/interaction", "/api/me"]
    {
        assert_eq!(ask(path, mine).await, None, "{path}");
    }
    for path in ["/oidc/nothing", "/oidc/auth", "/api/me", "/api/nothing"] {
        let reply = t.call("OPTIONS".parse().unwrap(), path).send().await;
        reply.expect_message(404, "api not found");
    }
    let reply = t.call("OPTIONS".parse().unwrap(), "/oidc/token").header("origin", mine).send().await;
    assert_eq!(reply.header("access-control-max-age"), Some("7200"));
    let reply = t.get("/oidc/me").header("origin", mine).send().await.expect(401);
    assert_eq!(reply.header("access-control-allow-origin"), Some(mine));
    assert!(reply.header("access-control-allow-credentials").is_none());
    assert_eq!(reply.json()["code"], json!("oidc.invalid_token"));
});
