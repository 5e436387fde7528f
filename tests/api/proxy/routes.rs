//! Paths, methods, headers, authentication and fixed documents (spec: alerts#paths, alerts#request-order,
//! alerts#neutral-answers).

use super::*;
use bailiwick_testkit::{api_test, eventually, patience};
use serde_json::json;

api_test!(every_answer_of_the_interface_carries_its_headers, |t| async move {
    let system = Client::new(&t).await;
    for path in ["/api/v2/alerts", "/api/v2/silences/", "/api/v2/nope", "/api/v1/alerts", "/metrics", "/x"] {
        let reply = system.call("GET", path).header("accept-encoding", "gzip").send().await;
        assert_eq!(reply.header("cache-control"), Some("no-store"), "{path}");
        assert_eq!(reply.header("vary"), Some("Origin"), "{path}");
        assert!(reply.header("x-request-id").is_some(), "{path}");
    }
    // Long enough to be compressed elsewhere.
    let text = "x".repeat(4000);
    system
        .push(&json!([{"labels": {"alertname": "A"}, "annotations": {"a": text}}]).to_string())
        .await
        .expect(200);
    let call = system.call("GET", "/api/v2/alerts").header("accept-encoding", "gzip");
    let reply = call.header("x-request-id", "mine").send().await.expect(200);
    assert_eq!(reply.header("content-encoding"), None);
    assert_eq!(reply.header("x-request-id"), Some("mine"));
});

api_test!(all_base_paths_lead_to_the_interface, |s| generous(s), |t| async move {
    let system = Client::new(&t).await;
    for base in ["", "/api", "/backend/api", "/collect/api"] {
        for api in ["", "/api"] {
            for slash in ["", "/"] {
                let path = format!("{base}{api}/services/mimir/alertmanager/api/v2/alerts{slash}");
                let reply =
                    t.get(&path).basic(&system.system.key, &system.system.secret).send().await.expect(200);
                assert_eq!(reply.text(), "[]\n", "{path}");
            }
        }
    }
});

api_test!(
    segments_are_settings,
    |s| {
        s.alerting.backend_segment = "b".to_owned();
        s.alerting.router_segment = "r".to_owned();
    },
    |t| async move {
        t.get("/services/b/r/-/healthy").send().await.expect(200);
        t.get("/services/mimir/alertmanager/-/healthy").send().await.expect_message(404, "api not found");
    }
);

api_test!(other_paths_below_services_do_not_exist, |s| generous(s), |t| async move {
    let system = Client::new(&t).await;
    for path in [
        "/services",
        "/services/",
        "/services/mimir",
        "/services/mimir/alertmanager",
        "/services/mimir/api/v2/status",
        "/services/mimir/api/v1/alerts",
        "/services/mimir/alertmanager/alertmanager/api/v2/status",
        "/services/mimir/alertmanager/api/v3/alerts",
        "/services/mimir/alertmanager/-/reload",
        "/services/mimir/alertmanager/api/../metrics",
        "/services/other/alertmanager/api/v2/alerts",
    ] {
        for base in ["", "/api", "/collect/api"] {
            let call = t.get(&format!("{base}{path}")).basic(&system.system.key, &system.system.secret);
            call.send().await.expect_message(404, "api not found");
        }
    }
});

api_test!(unknown_paths_and_wrong_methods_below_v2, |s| generous(s), |t| async move {
    let system = Client::new(&t).await;
    for (path, shown) in [("/nope", "/nope"), ("/alerts/x/", "/alerts/x"), ("", ""), ("/silence", "/silence")]
    {
        let reply = system.get(&format!("/api/v2{path}")).await.expect(404);
        assert_eq!(reply.text(), format!(r#"{{"code":404,"message":"path /api/v2{shown} was not found"}}"#));
    }
    let id = "/silences/00000000-0000-4000-8000-000000000000";
    for (path, allowed, methods) in [
        ("/alerts", "POST,GET", &["PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"][..]),
        ("/silences", "POST,GET", &["PUT", "DELETE", "OPTIONS", "HEAD"]),
        (id, "DELETE,GET", &["POST", "PUT", "OPTIONS", "HEAD"]),
        ("/silence/x", "DELETE,GET", &["POST", "PUT", "OPTIONS", "HEAD"]),
        ("/alerts/groups", "GET", &["POST", "OPTIONS", "HEAD"]),
        ("/status", "GET", &["POST"]),
        ("/receivers", "GET", &["DELETE"]),
    ] {
        for method in methods {
            let reply = system.call(method, &format!("/api/v2{path}")).send().await.expect(405);
            assert_eq!(reply.header("allow"), Some(allowed), "{method} {path}");
            let text =
                format!(r#"{{"code":405,"message":"method {method} is not allowed, but [{allowed}] are"}}"#);
            assert_eq!(reply.text(), if *method == "HEAD" { "" } else { &text });
        }
    }
    for (method, path) in
        [("GET", "/api/v1"), ("POST", "/api/v1/alerts"), ("GET", "/api/v1/status/buildinfo")]
    {
        let reply = system.call(method, path).send().await.expect(410);
        let text = "The Alertmanager v1 API was deprecated in version 0.16.0 and is removed as of version 0.27.0 - please use the equivalent route in the v2 API";
        assert_eq!(reply.json(), json!({"status": "deprecated", "error": text}));
        assert_eq!(reply.header("content-type"), Some("application/json"));
    }
});

api_test!(
    an_options_request_is_not_a_preflight_here,
    |s| s.cors_origins.push("https://a.example".to_owned()),
    |t| async move {
        let system = Client::new(&t).await;
        let call = system.call("OPTIONS", "/api/v2/alerts").header("origin", "https://a.example");
        call.header("access-control-request-method", "POST").send().await.expect(405);
    }
);

api_test!(authentication_comes_first_and_names_the_error, |t| async move {
    let system = Client::new(&t).await;
    let path = format!("{P}/api/v2/nope");
    let encoded = |text: &str| {
        use base64::Engine as _;
        base64::engine::general_purpose::STANDARD.encode(text)
    };
    let wrong = format!("Basic {}", encoded(&format!("{}:my_aa.bb", system.system.key)));
    let no_colon = format!("Basic {}", encoded("nocolon"));
    for (header, message) in [
        (None, "authentication required"),
        (Some("Bearer x"), "invalid authentication format"),
        (Some("Basic !!"), "invalid authentication encoding"),
        (Some(no_colon.as_str()), "invalid credentials format"),
        (Some(wrong.as_str()), "invalid system credentials"),
    ] {
        for path in [path.clone(), format!("{P}/metrics"), format!("{P}/api/v1/alerts")] {
            let mut call = t.get(&path);
            if let Some(header) = header {
                call = call.header("authorization", header);
            }
            let reply = call.send().await.expect_message(401, message);
            assert_eq!(reply.header("www-authenticate"), Some("Basic realm=\"System Authentication\""));
            assert!(reply.json()["data"].is_null());
        }
    }
    let unknown = t.get(&path).basic("SYS-0000-0000", &system.system.secret).send().await;
    unknown.expect_message(401, "invalid system credentials");
    // A token of a user is no credential here.
    let owner = t.owner().await;
    t.get(&path).bearer(&owner.token).send().await.expect_message(401, "invalid authentication format");
});

api_test!(
    // Proves spec: alert-guarantees#guarantees 12, authorization#guarantees 16.
    suspension_and_deletion_act_at_the_next_request,
    |s| generous(s),
    |t| async move {
        let tree = t.tree().await;
        let a = Client { test: &t, system: t.system(tree.customer).await };
        let b = Client { test: &t, system: t.system(tree.customer).await };
        let c = Client { test: &t, system: t.system(tree.other_customer).await };
        let d = Client { test: &t, system: t.system(tree.customer).await };
        for system in [&a, &b, &c, &d] {
            system.get("/api/v2/alerts").await.expect(200);
        }
        let owner = t.owner().await;
        let path = format!("/api/systems/{}/regenerate-secret", d.system.id);
        let force = serde_json::json!({"force": true});
        t.post(&path).bearer(&owner.token).json(force).send().await.expect(200);
        t.suspend_system(a.system.id).await;
        t.delete_system(b.system.id).await;
        t.suspend_organization(tree.other_distributor).await;
        for system in [&a, &b, &c, &d] {
            system.get("/api/v2/alerts").await.expect_message(401, "invalid system credentials");
        }
    }
);

api_test!(accept_and_content_type, |s| generous(s), |t| async move {
    let system = Client::new(&t).await;
    for path in ["/api/v2/alerts", "/api/v2/status", "/api/v2/receivers"] {
        let reply = system.call("GET", path).header("accept", "text/html").send().await.expect(406);
        let text = r#"{"code":406,"message":"unsupported media type requested, only [application/json] are available"}"#;
        assert_eq!(reply.text(), text);
    }
    for accept in ["*/*", "application/*", "application/json; q=0.5", "text/html, application/json"] {
        system.call("GET", "/api/v2/alerts").header("accept", accept).send().await.expect(200);
    }
    for path in ["/api/v2/alerts", "/api/v2/silences"] {
        for (given, named) in [
            (None, "application/octet-stream"),
            (Some("text/plain"), "text/plain"),
            (Some("application/x-www-form-urlencoded; charset=x"), "application/x-www-form-urlencoded"),
        ] {
            let mut call = system.call("POST", path).body("[]");
            if let Some(given) = given {
                call = call.header("content-type", given);
            }
            let reply = call.send().await.expect(415);
            let text = format!(
                r#"{{"code":415,"message":"unsupported media type \"{named}\", only [application/json] are allowed"}}"#
            );
            assert_eq!(reply.text(), text);
        }
        let call = system.call("POST", path).header("content-type", "application/json").body("[]");
        let reply = call.header("content-encoding", "br").send().await.expect(415);
        assert_eq!(reply.text(), r#"{"code":415,"message":"unsupported content encoding \"br\""}"#);
    }
    let call =
        system.call("POST", "/api/v2/alerts").header("content-type", "Application/JSON; charset=utf-8");
    call.body("[]").send().await.expect(200);
    // The method is judged before the headers.
    system.call("PUT", "/api/v2/alerts").header("accept", "text/html").send().await.expect(405);
});

api_test!(the_fixed_documents, |t| async move {
    let system = Client::new(&t).await;
    let status = system.get("/api/v2/status").await.expect(200).json();
    assert_eq!(status["cluster"], json!({"status": "ready", "peers": []}));
    assert_eq!(status["versionInfo"]["version"], "0.34.0");
    assert_eq!(status["config"]["original"], "route:\n  receiver: default\nreceivers:\n- name: default\n");
    assert_eq!(status["uptime"], "2026-03-04T10:00:00.000Z");
    let receivers = system.get("/api/v2/receivers").await.expect(200).json();
    assert_eq!(receivers, json!([{"name": "default", "labels": {"name": "default"}}]));
    let none = system.get("/api/v2/receivers?receiver_matchers=name%3Dx").await.expect(200);
    assert_eq!(none.text(), "[]\n");
    let metrics = system.get("/metrics").await.expect(200);
    assert_eq!(metrics.text(), "alertmanager_build_info{version=\"0.34.0\"} 1\n");
    assert!(metrics.header("content-type").unwrap().starts_with("text/plain"));
    system.call("POST", "/metrics").send().await.expect(405);
});

api_test!(probes_need_no_credential, |t| async move {
    for path in ["/-/ready", "/-/healthy", "/-/ready/"] {
        // A busy machine may need more than the two seconds in which the database must be written.
        let good = async || {
            let reply = t.get(&format!("{P}{path}")).send().await;
            (reply.status == 200).then_some(reply)
        };
        let reply = patience::found(|| path.to_owned(), good).await;
        assert_eq!(reply.text(), "OK");
        assert!(reply.header("content-type").unwrap().starts_with("text/plain"));
    }
    t.app.platform.db.close().await;
    t.get(&format!("{P}/-/healthy")).send().await.expect(200);
    // What was seen of the database counts for two seconds.
    let ready = async || t.get(&format!("{P}/-/ready")).send().await;
    eventually("it is not ready", async || ready().await.status == 503).await;
    assert_eq!(ready().await.text(), "Service Unavailable");
});

api_test!(a_lost_database_is_503, |t| async move {
    let system = Client::new(&t).await;
    system.get("/api/v2/alerts").await.expect(200);
    t.app.platform.db.close().await;
    let reply = system.push(r#"[{"labels":{"alertname":"A"}}]"#).await.expect(503);
    assert!(reply.header("retry-after").is_some());
    // Where credentials are checked against the database, that fails first; a closed pool is a process that ends.
    let message = reply.message();
    let texts = [
        "security service temporarily unavailable",
        "service temporarily unavailable",
        "alerting backend is not ready",
    ];
    assert!(texts.contains(&message.as_str()), "{message}");
});
