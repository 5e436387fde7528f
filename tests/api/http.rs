//! The properties of every answer (spec: conventions#addresses).

use bailiwick_settings::{IdentityMode, Issuer, Logto};
use bailiwick_testkit::{Reply, Test, api_test};
use serde_json::json;
use std::time::Duration;

api_test!(health_answers_under_every_base_path, |t| async move {
    for base in ["", "/api", "/backend/api", "/collect/api"] {
        let reply = t.get(&format!("{base}/health")).send().await.expect_message(200, "service healthy");
        assert_eq!(reply.data()["api_version"], "2026-03-04");
        assert_eq!(reply.header("api-version"), Some("2026-03-04"));
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
        t.get(&format!("{base}/health/")).send().await.expect(200);
    }
});

fn is_guarded_by_https(reply: &Reply) {
    assert_eq!(reply.header("strict-transport-security"), Some("max-age=31536000"));
    assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(reply.header("x-frame-options"), Some("SAMEORIGIN"));
}

fn is_guarded(reply: &Reply) {
    assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(reply.header("referrer-policy"), Some("strict-origin-when-cross-origin"));
    assert_eq!(reply.header("x-frame-options"), Some("SAMEORIGIN"));
    assert_eq!(reply.header("strict-transport-security"), None);
}

api_test!(answers_say_what_browsers_may_do_with_them, |t| async move {
    let owner = t.owner().await;
    for (path, status) in [
        ("/health", 200),
        ("/api/me", 401),
        ("/api/nope", 404),
        ("/collect/api/systems/info", 401),
        ("/services/mimir/alertmanager/api/v2/alerts", 401),
    ] {
        let reply = t.get(path).send().await.expect(status);
        is_guarded(&reply);
        let policy = reply.header("content-security-policy");
        assert_eq!(policy, Some("default-src 'none'; frame-ancestors 'none'"), "{path}");
    }
    is_guarded(&t.get("/api/systems").bearer(&owner.token).send().await.expect(200));
    // Where it is reached by https, browsers are to stay there.
    let mut settings = (*t.app.settings).clone();
    settings.public_url = "https://portal.example.org".to_owned();
    let reply = Test::with(t.engine, settings).await.get("/health").send().await.expect(200);
    assert_eq!(reply.header("strict-transport-security"), Some("max-age=31536000"));
});

// Proves spec: clients#checklist 2.
api_test!(files_of_the_interface_whoever_asks, |t| async move {
    let site = tempfile::tempdir().unwrap();
    let root = site.path().join("site");
    std::fs::create_dir_all(root.join("assets")).unwrap();
    for (name, text) in [
        ("site/index.html", "page"),
        ("site/favicon.ico", "icon"),
        ("site/assets/app-1.js", "script"),
        ("site/assets/a b.js", "blank"),
        ("site/assets/caffè.svg", "coffee"),
        ("site/assets/50%.css", "half"),
        ("secret", "secret"),
    ] {
        std::fs::write(site.path().join(name), text).unwrap();
    }
    let mut settings = (*t.app.settings).clone();
    settings.static_dir = Some(root);
    let t = Test::with(t.engine, settings).await;
    let owner = t.owner().await;
    let credentials = [None, Some(format!("Bearer {}", owner.token)), Some("Basic eDp5".to_owned())];
    let ask = |path: &str, accept: &str, credential: &Option<String>| {
        let call = t.get(path).header("accept", accept);
        match credential {
            Some(credential) => call.header("authorization", credential).send(),
            None => call.send(),
        }
    };
    for credential in &credentials {
        for (path, text) in [
            ("/favicon.ico", "icon"),
            ("/assets/app-1.js", "script"),
            ("/assets/%61pp-1.js", "script"),
            ("/assets/a%20b.js", "blank"),
            ("/assets/caff%C3%A8.svg", "coffee"),
            ("/assets/caff%c3%a8.svg", "coffee"),
            ("/assets/50%25.css", "half"),
        ] {
            let reply = ask(path, "*/*", credential).await.expect(200);
            assert_eq!(reply.text(), text, "{path}");
            is_guarded(&reply);
            let policy = reply.header("content-security-policy").unwrap();
            assert!(policy.starts_with("default-src 'self'; "), "{policy}");
        }
        // Nothing outside, and nothing by another name.
        for path in [
            "/%2e%2e/secret",
            "/..%2fsecret",
            "/%2e%2e%2fsecret",
            "/assets%2fapp-1.js",
            "/assets/..%2Findex.html",
            "/assets/app-1.js%00",
            "/%00",
            "/assets/%ff.js",
            "/assets/a%2520b.js",
            "/%61pi/systems",
        ] {
            let reply = ask(path, "*/*", credential).await.expect(404);
            assert!(!reply.text().contains("secret"), "{path}: {}", reply.text());
        }
    }
    // Pages are for those without a credential; with one it is the API that is asked.
    let page = ask("/systems", "text/html", &credentials[0]).await.expect(200);
    assert_eq!((page.text().as_str(), page.header("cache-control")), ("page", Some("no-store")));
    is_guarded(&page);
    assert!(ask("/systems", "text/html", &credentials[1]).await.expect(200).data()["systems"].is_array());
    ask("/no/such", "text/html", &credentials[1]).await.expect(404);
    ask("/caff%C3%A8", "text/html", &credentials[0]).await.expect(200);
    ask("/api/systems", "text/html", &credentials[0]).await.expect(401);
});

// Where people sign in is where the interface may send forms, ask for keys and load pictures from (spec:
// conventions#headers).
// Proves spec: clients#checklist 2.
api_test!(the_policy_of_pages_names_the_origin_of_the_issuer, |t| async move {
    let site = tempfile::tempdir().unwrap();
    std::fs::write(site.path().join("index.html"), "page").unwrap();
    let issuer = |path: &str| Issuer::new(&format!("http://127.0.0.1:1{path}"), "bailiwick");
    for (identity, origin) in [
        (IdentityMode::Embedded, "https://portal.example.org"),
        (IdentityMode::Oidc(Box::new(issuer("/realms/one"))), "http://127.0.0.1:1"),
        (IdentityMode::Logto(Box::new(Logto::new(issuer("/oidc"), "id", "secret"))), "http://127.0.0.1:1"),
    ] {
        let mut settings = (*t.app.settings).clone();
        settings.public_url = "https://portal.example.org/ui".to_owned();
        settings.static_dir = Some(site.path().to_owned());
        settings.identity = identity;
        let page = Test::with(t.engine, settings).await.get("/account").header("accept", "text/html");
        let page = page.send().await.expect(200);
        is_guarded_by_https(&page);
        let policy = format!(
            "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
             img-src 'self' data: blob: {origin}; font-src 'self' data:; connect-src 'self' {origin}; \
             worker-src 'self' blob:; object-src 'none'; base-uri 'self'; frame-ancestors 'self'; \
             form-action 'self' {origin}"
        );
        assert_eq!(page.header("content-security-policy"), Some(policy.as_str()));
    }
});

api_test!(a_pinned_version_must_be_ours, |t| async move {
    t.get("/api/health").header("api-version", "2026-03-04").send().await.expect(200);
    let reply = t.get("/api/me").header("api-version", "2020-01-01").send().await;
    let data = json!({"requested": "2020-01-01", "supported": ["2026-03-04"]});
    assert_eq!(reply.json(), json!({"code": 400, "message": "unsupported api version", "data": data}));
    // An unknown route is a 404 before anything else.
    t.get("/api/nope").header("api-version", "2020-01-01").send().await.expect_message(404, "api not found");
});

api_test!(request_ids_are_kept_when_well_formed, |t| async move {
    let reply = t.get("/health").header("x-request-id", "a.B_c-9").send().await;
    assert_eq!(reply.header("x-request-id"), Some("a.B_c-9"));
    for bad in ["", "has space", &"x".repeat(129), "né"] {
        let call = t.get("/health");
        let Ok(value) = http_value(bad) else { continue };
        let reply = call.header("x-request-id", &value).send().await;
        let id = reply.header("x-request-id").unwrap();
        assert_eq!(uuid::Uuid::parse_str(id).unwrap().get_version_num(), 7);
    }
});

fn http_value(text: &str) -> Result<String, ()> {
    if text.is_ascii() { Ok(text.to_owned()) } else { Err(()) }
}

api_test!(head_is_get_without_a_body, |t| async move {
    let reply = t.call("HEAD".parse().unwrap(), "/api/health").send().await.expect(200);
    assert!(reply.body.is_empty());
});

api_test!(bodies_are_json_whatever_their_type_says_and_bounded, |t| async move {
    let owner = t.owner().await;
    let post = || t.post("/api/distributors").bearer(&owner.token);
    post()
        .header("content-type", "text/plain")
        .body(r#"{"name":"","custom_data":{}}"#)
        .send()
        .await
        .expect_fields(&[("name", "cannot_be_empty"), ("custom_data.vat", "required")]);
    for (body, key) in [
        ("{", "unknown"),
        ("", "unknown"),
        ("[]", "unknown"),
        ("{} x", "unknown"),
        (r#"{"name":1}"#, "name"),
        (r#"{"custom_data":"x"}"#, "custom_data"),
        ("{\"name\":\"\u{7f}", "name"),
    ] {
        let reply = post().body(body).send().await.expect_message(400, "validation failed");
        assert_eq!(reply.data()["errors"][0]["key"], key, "{body}: {}", reply.text());
    }
    post().body(vec![b'{', 0xff, 0xfe]).send().await.expect_message(400, "validation failed");
    post().body("[".repeat(100_000)).send().await.expect_message(400, "validation failed");
    post().body("x".repeat(1024 * 1024 + 1)).send().await.expect_message(413, "request body too large");
});

api_test!(
    // Proves spec: guarantees#identity 17.
    the_client_is_the_nearest_address_that_no_trusted_proxy_has,
    |settings| {
        settings.trusted_proxies =
            vec![bailiwick_settings::Network { address: [10, 0, 0, 0].into(), bits: 8 }];
        settings.limits.token_requests_per_second = 1;
        settings.limits.token_request_burst = 1;
    },
    |t| async move {
        let ask = async |peer: &str, forwarded: &[&str]| {
            let call = t.post("/api/auth/refresh").from(peer).json(json!({"refresh_token": "x"}));
            forwarded.iter().fold(call, |call, line| call.header("x-forwarded-for", line)).send().await
        };
        let refused = ["192.0.2.1", "198.51.100.9, 192.0.2.1", "192.0.2.1, 10.0.0.9", "::ffff:192.0.2.1"];
        ask("10.0.0.1", &["192.0.2.1"]).await.expect(401);
        for line in refused {
            ask("10.0.0.1", &[line]).await.expect(429);
        }
        ask("10.0.0.1", &["198.51.100.9", "192.0.2.1, 10.0.0.9"]).await.expect(429);
        // A caller behind an entry that is no address cannot choose the address that the service takes it for.
        ask("10.0.0.1", &["198.51.100.1, unknown"]).await.expect(401);
        ask("10.0.0.1", &["198.51.100.2, 192.0.2.7:"]).await.expect(429);
        // From anywhere else the header means nothing.
        ask("192.0.2.1", &["198.51.100.3"]).await.expect(429);
        t.advance(Duration::from_millis(400));
        assert_eq!(ask("192.0.2.1", &[]).await.expect(429).header("retry-after"), Some("1"));
    }
);

api_test!(what_is_wrong_with_a_body_is_a_code, |t| async move {
    let owner = t.owner().await;
    let organization = owner.org.to_string();
    let system =
        format!(r#"{{"name": "n", "organization_id": "{organization}", "custom_data": {{"a": 1}}}}"#);
    for (path, body, key, code, value) in [
        ("/customers", r#"{"name": 7}"#, "name", "wrong_type", None),
        ("/customers", r#"{"custom_data": []}"#, "custom_data", "wrong_type", None),
        ("/users", r#"{"user_role_ids": "admin"}"#, "user_role_ids", "wrong_type", None),
        ("/users", "[]", "unknown", "not_an_object", None),
        ("/users", "hello", "unknown", "malformed_json", Some("line 1 column 1: unexpected character 'h'")),
        ("/users", "[1,", "unknown", "malformed_json", Some("line 1 column 4: unexpected end of input")),
        ("/users", "{", "unknown", "malformed_json", Some("line 1 column 2: unexpected end of input")),
        (
            "/users",
            "{\n\"a\" 1}",
            "unknown",
            "malformed_json",
            Some("line 2 column 5: unexpected character '1'"),
        ),
        ("/users", "{} {}", "unknown", "malformed_json", Some("line 1 column 4: data after the value")),
        ("/systems", &system, "custom_data.a", "wrong_type", Some("1")),
        ("/events/subscriptions", "7", "unknown", "not_an_object", None),
    ] {
        let call = t.post(&format!("/api{path}")).bearer(&owner.token);
        let errors = call.body(body.to_owned()).send().await.expect_message(400, "validation failed").data()
            ["errors"]
            .clone();
        let mut wanted = json!([{"key": key, "message": code}]);
        if let Some(value) = value {
            wanted[0]["value"] = json!(value);
        }
        assert_eq!(errors, wanted, "{path} {body}");
    }
    // Where people read the message itself, it stays in words.
    for (body, message, code) in [
        ("[]", "must be a JSON object", "not_an_object"),
        (r#"{"duration_hours": "x"}"#, "wrong type", "wrong_type"),
        ("{", "malformed JSON: unexpected end of input at line 1 column 2", "malformed_json"),
        ("hello", "malformed JSON: unexpected character 'h' at line 1 column 1", "malformed_json"),
    ] {
        let call = t.post("/api/impersonate/consent").bearer(&owner.token).body(body.to_owned());
        let reply = call.send().await.expect_message(400, &format!("invalid request body: {message}"));
        assert_eq!(reply.data()["errors"][0]["message"], code, "{body}");
    }
});

api_test!(
    pages_of_configured_origins_may_call,
    |settings| settings.cors_origins = vec!["https://ui.example.org".into()],
    |t| async move {
        let call_from = async |path: &str, method: &str, origin: &str, requested_method: &str| {
            let call = t.call(method.parse().unwrap(), path).header("origin", origin);
            call.header("access-control-request-method", requested_method).send().await
        };
        let ask = async |method: &str, origin: &str| call_from("/api/me", method, origin, "PUT").await;
        for path in ["/api/customers/x", "/systems/x/suspend", "/backend/api/me", "/collect/api/users/x"] {
            for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
                let reply = call_from(path, "OPTIONS", "https://ui.example.org", method).await.expect(200);
                assert_eq!(reply.header("access-control-allow-origin"), Some("https://ui.example.org"));
                let allowed = reply.header("access-control-allow-methods").unwrap();
                assert!(allowed.split(',').any(|one| one == method), "{method} {path}: {allowed}");
            }
        }
        let reply = ask("OPTIONS", "https://ui.example.org").await.expect(200);
        assert_eq!(reply.header("access-control-allow-origin"), Some("https://ui.example.org"));
        let allowed = reply.header("access-control-allow-headers").unwrap();
        assert_eq!(
            allowed,
            "authorization,content-type,accept,api-version,if-match,if-none-match,x-request-id"
        );
        // A browser asks once in two hours, not before each call.
        assert_eq!(reply.header("access-control-max-age"), Some("7200"));
        let reply = ask("GET", "https://ui.example.org").await.expect(401);
        assert_eq!(reply.header("access-control-allow-origin"), Some("https://ui.example.org"));
        let exposed = reply.header("access-control-expose-headers").unwrap();
        assert_eq!(exposed, "x-request-id,api-version,content-disposition,etag,retry-after");
        assert!(reply.header("access-control-allow-credentials").is_none());
        for method in ["OPTIONS", "GET"] {
            let reply = ask(method, "https://evil.example").await;
            assert_eq!(reply.header("access-control-allow-origin"), None, "{method}");
        }
        // Pictures are loaded by scripts too; one that is not there is a 404 that they can read.
        let owner = t.owner().await;
        let path = format!("/api/public/users/{}/avatar?v=1", owner.id);
        let none = call_from(&path, "GET", "https://ui.example.org", "GET").await.expect(404);
        assert_eq!(none.header("access-control-allow-origin"), Some("https://ui.example.org"));
        crate::avatars::put(&t, &owner, &crate::avatars::png(8, 8)).await.expect(200);
        let picture = call_from(&path, "GET", "https://ui.example.org", "GET").await.expect(200);
        assert_eq!(picture.header("access-control-allow-origin"), Some("https://ui.example.org"));
        assert_eq!(picture.header("content-type"), Some("image/png"));
        let elsewhere = call_from(&path, "GET", "https://evil.example", "GET").await.expect(200);
        assert_eq!(elsewhere.header("access-control-allow-origin"), None);
    }
);
