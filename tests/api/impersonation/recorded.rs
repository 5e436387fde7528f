//! Every request with an impersonation token is in the record, and no secret is.

use super::{acting, agree, audit_lines, entries, is_withdrawn, me, start, status, text, withdraw};
use axum::body::{Body, Bytes};
use bailiwick_api::routes::{Credential, table};
use bailiwick_app::retention;
use bailiwick_identity::impersonation::{self, Call, OpenEntry, Purged};
use bailiwick_store::sql::Q;
use bailiwick_testkit::{Test, api_test, patience};
use futures_util::{FutureExt, stream};
use serde_json::{Value, json};
use std::{convert::Infallible, panic::AssertUnwindSafe, time::Duration};

const UNKNOWN: &str = "0195fada-0000-7000-8000-00000000dead";

async fn run(t: &Test, sql: &str) {
    let mut tx = t.app.platform.db.begin().await.unwrap();
    Q::new(sql).run(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
}

api_test!(
    // Proves spec: authorization#guarantees 35.
    every_route_is_recorded_whatever_it_answers,
    |settings| settings.systems.legacy_aliases = true,
    |t| async move {
        let a = acting(&t).await;
        let mut expected = vec!["session_start".to_owned()];
        for route in table() {
            // The proxy takes the credential of a system, before any check of a token; the exit comes last.
            if route.is_proxied() || route.ends_impersonation() {
                continue;
            }
            let mut path = route.path.replace("{entity_type}", "distributors").replace("{asset}", "favicon");
            while let (Some(from), Some(to)) = (path.find('{'), path.find('}')) {
                path.replace_range(from..=to, UNKNOWN);
            }
            let path = format!("/api{path}");
            let call = t.call(route.method.clone(), &path).bearer(&a.token);
            let call = if route.method == "GET" { call } else { call.json(json!({})) };
            let reply = call.send().await;
            let unreadable = reply.text().contains("security service temporarily unavailable");
            assert!(!unreadable, "{route:?}: {}", reply.text());
            if route.credential.is_of_system() {
                assert_eq!(reply.status, 401, "{route:?}");
            } else if route.credential != Credential::Public {
                assert_ne!(reply.status, 401, "{route:?}: {}", reply.text());
            }
            let path = path.replace(&format!("/downloads/{UNKNOWN}"), "/downloads/[REDACTED]");
            expected.push(format!("{} {path} {}", route.method, reply.status.as_u16()));
        }
        t.delete("/api/impersonate").bearer(&a.token).send().await.expect(200);
        expected.push("DELETE /api/impersonate 200".to_owned());
        expected.push("session_end".to_owned());
        let mut entries = Vec::new();
        for page in 1.. {
            let path = format!("/api/impersonate/sessions/{}/audit?page_size=100&page={page}", a.session);
            let data = t.get(&path).bearer(&a.target.token).send().await.expect(200).data();
            entries.extend(data["entries"].as_array().unwrap().clone());
            if data["pagination"]["has_next"] == false {
                assert_eq!(data["pagination"]["total_count"], entries.len());
                break;
            }
        }
        let line = |e: &Value| match e["action_type"].as_str().unwrap() {
            "api_call" => {
                format!("{} {} {}", text(&e["http_method"]), text(&e["api_endpoint"]), e["response_status"])
            }
            word => word.to_owned(),
        };
        assert_eq!(entries.iter().map(line).collect::<Vec<_>>(), expected);
        let list = t.get("/api/impersonate/sessions").bearer(&a.target.token).send().await.data();
        assert_eq!(list["sessions"][0]["action_count"], entries.len());
    }
);

api_test!(faults_and_heads_are_recorded_too, |t| async move {
    let a = acting(&t).await;
    run(&t, "ALTER TABLE applications RENAME TO applications_elsewhere").await;
    t.get("/api/applications").bearer(&a.token).send().await.expect(500);
    let head = t.call(axum::http::Method::HEAD, "/api/me").bearer(&a.token).send().await;
    assert_eq!((head.status.as_u16(), head.body.len()), (200, 0));
    // Nothing behind the version is read.
    let pinned = t.get("/api/me").bearer(&a.token).header("api-version", "1");
    pinned.send().await.expect_message(400, "unsupported api version");
    let lines = audit_lines(&t, &a.target, &a.session).await;
    assert_eq!(lines, ["session_start", "GET /api/applications 500", "HEAD /api/me 200"]);
    let entry = &entries(&t, &a.target, &a.session).await[1];
    assert_eq!(entry["response_status_text"], "Internal Server Error");
});

/// The recorded data of the last request of the session.
async fn last_data(t: &Test, a: &super::Acting) -> Value {
    entries(t, &a.target, &a.session).await.last().unwrap()["request_data"].clone()
}

// Proves spec: acceptance#scenarios 21, guarantees#identity 26.
api_test!(what_is_kept_of_a_request_has_no_secret, |t| async move {
    let a = acting(&t).await;
    let user = format!("/api/users/{UNKNOWN}");
    let sent = json!({"name": "Ada", "password": "hunter2-A", "nested": [{"API_Key": {"a": "hunter2-B"}},
        {"x": {"clientSecret": 7, "fine": true}}], "AUTHORIZATION": null,
        "note": "{\"token\": \"hunter2-C\", \"keep\": 1}"});
    t.put(&user).bearer(&a.token).json(sent).send().await.expect(404);
    let recorded: Value = serde_json::from_str(&text(&last_data(&t, &a).await)).unwrap();
    assert_eq!(
        recorded,
        json!({"name": "Ada", "password": "[REDACTED]", "nested": [{"API_Key": "[REDACTED]"},
            {"x": {"clientSecret": "[REDACTED]", "fine": true}}], "AUTHORIZATION": "[REDACTED]",
            "note": "{\"token\":\"[REDACTED]\",\"keep\":1}"})
    );
    // Redacted before it is cut.
    let long = json!({"a": "x".repeat(9_990), "password": "hunter2-D", "z": "y".repeat(500)});
    t.put(&user).bearer(&a.token).json(long).send().await.expect(404);
    let recorded = text(&last_data(&t, &a).await);
    assert!(recorded.ends_with("... (truncated)") && !recorded.contains("hunter2"), "{recorded}");
    assert_eq!(recorded.chars().count(), 10_000 + "... (truncated)".len());
    // Addresses of webhooks, in both forms of the body and wherever they stand.
    let layer = json!({"webhook_recipients": [{"name": "h", "url": "https://u:p@hooks.example.org/hunter2-E?k=1"}],
        "systems": [{"webhook_recipients": [{"name": "h", "url": "hunter2-F"}]}],
        "telegram_recipients": [{"bot_token": "1:hunter2-G", "chat_id": 5}]});
    t.post("/api/alerts/config").bearer(&a.token).json(layer).send().await;
    let recorded: Value = serde_json::from_str(&text(&last_data(&t, &a).await)).unwrap();
    assert_eq!(recorded["webhook_recipients"][0]["url"], "https://hooks.example.org/[REDACTED]");
    assert_eq!(recorded["systems"][0]["webhook_recipients"][0]["url"], "[REDACTED]");
    assert_eq!(recorded["telegram_recipients"], json!([{"bot_token": "[REDACTED]", "chat_id": 5}]));
    // A body that is no JSON, whatever content type it has.
    for (body, content_type, shown) in [
        (
            "password=hunter2-H",
            "application/x-www-form-urlencoded",
            "[18 bytes of application/x-www-form-urlencoded]",
        ),
        ("{\"password\":\"hunter2-I\"", "application/json; charset=utf-8", "[23 bytes of application/json]"),
        ("\"hunter2-J\"", "text/plain", "[11 bytes of text/plain]"),
        ("hunter2-K", "hunter2-L", "[9 bytes of application/octet-stream]"),
    ] {
        let call = t.put(&user).bearer(&a.token).header("content-type", content_type).body(body);
        call.send().await.expect(404);
        assert_eq!(last_data(&t, &a).await, shown);
    }
    // The method of the route decides how a body is read; its content type does not.
    let call = t.put(&user).bearer(&a.token).header("content-type", "text/plain");
    call.body("{\"token\":\"hunter2-M\"}").send().await.expect(404);
    assert_eq!(last_data(&t, &a).await, "{\"token\":\"[REDACTED]\"}");
    // Without a body there is nothing to keep; the query stays in the address.
    for (query, shown) in [
        ("", ""),
        ("?", ""),
        (
            "?a=1&my_token=hunter2-N&b=%20x&%74oken=hunter2-O",
            "?a=1&my_token=[REDACTED]&b=%20x&%74oken=[REDACTED]",
        ),
    ] {
        let suspend = format!("{user}/suspend");
        let calls = [t.get(&format!("{user}{query}")), t.patch(&format!("{suspend}{query}"))];
        for (call, path) in calls.into_iter().zip([&user, &suspend]) {
            call.bearer(&a.token).send().await.expect(404);
            let all = entries(&t, &a.target, &a.session).await;
            let last = &all[all.len() - 1];
            assert_eq!(last["request_data"], Value::Null);
            assert_eq!(last["api_endpoint"], json!(format!("{path}{shown}")));
        }
    }
    let all = format!("{:?}", entries(&t, &a.target, &a.session).await);
    assert!(!all.contains("hunter2"), "{all}");
});

api_test!(bodies_are_not_kept_in_memory_without_bound, |t| async move {
    let a = acting(&t).await;
    let user = format!("/api/users/{UNKNOWN}");
    let limit = t.app.settings.limits.body_bytes;
    // A body that is too large: the service first checks the user, then the body.
    let large = format!("{{\"password\":\"hunter2{}\"}}", "x".repeat(limit));
    let call = t.put(&user).bearer(&a.token).header("content-length", &large.len().to_string());
    call.body(large.clone()).send().await.expect_message(404, "user not found");
    assert_eq!(last_data(&t, &a).await, format!("[{} bytes of application/octet-stream]", large.len()));
    let own = t.post("/api/users").bearer(&a.token).body(large);
    own.send().await.expect_message(413, "request body too large");
    // A form is counted as it goes by.
    let chunks = stream::iter((0..50).map(|_| Ok::<_, Infallible>(Bytes::from(vec![b'x'; 10_000]))));
    let call = t.post("/api/users/import/validate").bearer(&a.token);
    let call = call.header("content-type", "multipart/form-data; boundary=hunter2");
    call.body(Body::from_stream(chunks)).send().await.expect(400);
    let recorded = text(&last_data(&t, &a).await);
    assert!(recorded.ends_with(" bytes of multipart/form-data]"), "{recorded}");
    assert_ne!(recorded, "[0 bytes of multipart/form-data]");
    let call = t.post("/api/users/import/validate").bearer(&a.token).header("content-length", "7");
    call.header("content-type", "multipart/form-data; boundary=x").body("hunter2").send().await.expect(400);
    assert_eq!(last_data(&t, &a).await, "[7 bytes of multipart/form-data]");
    // A body within its limit arrives whole.
    let body = json!({"email": "new@example.org", "name": "New", "user_role_ids": ["reader"],
        "organization_id": a.target.org.to_string(), "custom_data": {"x": "y".repeat(40_000)}});
    t.post("/api/users").bearer(&a.token).json(body).send().await.expect(201);
});

api_test!(what_cannot_be_recorded_is_not_done, |t| async move {
    let a = acting(&t).await;
    let body = json!({"email": "new@example.org", "name": "New", "user_role_ids": ["reader"],
        "organization_id": a.target.org.to_string()});
    let make = async |token: &str| t.post("/api/users").bearer(token).json(body.clone()).send().await;
    run(&t, "ALTER TABLE impersonation_entries RENAME TO entries_gone").await;
    let reply = make(&a.token).await.expect_message(503, "security service temporarily unavailable");
    assert!(reply.header("retry-after").is_some());
    me(&t, &a.token).await.expect(503);
    t.get("/api/health").bearer(&a.token).send().await.expect(503);
    t.delete("/api/impersonate").bearer(&a.token).send().await.expect(503);
    // All other sessions go on.
    me(&t, &a.target.token).await.expect(200);
    run(&t, "ALTER TABLE entries_gone RENAME TO impersonation_entries").await;
    make(&a.token).await.expect(201);
    // Unreadable state refuses as well (rule 05-22).
    run(&t, "ALTER TABLE impersonation_consents RENAME TO consents_gone").await;
    me(&t, &a.token).await.expect_message(503, "security service temporarily unavailable");
    status_fails(&t, &a.actor.token).await;
    run(&t, "ALTER TABLE consents_gone RENAME TO impersonation_consents").await;
    assert_eq!(status(&t, &a.token).await["is_impersonating"], true);
});

async fn status_fails(t: &Test, token: &str) {
    t.get("/api/impersonate/status").bearer(token).send().await.expect(503);
}

api_test!(the_services_own_audit_names_both, |t| async move {
    let a = acting(&t).await;
    let body = json!({"email": "new@example.org", "name": "New", "user_role_ids": ["reader"],
        "organization_id": a.target.org.to_string()});
    let made = t.post("/api/users").bearer(&a.token).json(body).send().await.expect(201).data();
    // The creator is the user whose rights were used.
    assert_eq!(made["created_by"]["user_id"], json!(a.target.id));
    t.delete("/api/impersonate").bearer(&a.token).send().await.expect(200);
    withdraw(&t, &a.target).await;
    let mut rows = Vec::new();
    let filter = bailiwick_platform::audit::Filter::default();
    bailiwick_platform::audit::read(&t.app.platform, &filter, 100, |some| {
        rows.extend(some.iter().map(|r| (r.action.clone(), r.actor_user_id, r.acting_for_user_id)));
        true
    })
    .await
    .unwrap();
    for (action, actor, acting_for) in [
        ("user.give_consent", a.target.id, None),
        ("impersonation.start", a.actor.id, Some(a.target.id)),
        ("user.create", a.actor.id, Some(a.target.id)),
        ("impersonation.end", a.actor.id, Some(a.target.id)),
        ("user.withdraw_consent", a.target.id, None),
    ] {
        assert!(rows.contains(&(action.to_owned(), Some(actor), acting_for)), "{action}: {rows:?}");
    }
});

api_test!(a_request_under_way_when_consent_is_withdrawn_is_the_last, |t| async move {
    let a = acting(&t).await;
    for _ in 0..4 {
        let (reply, ()) = tokio::join!(me(&t, &a.token), withdraw(&t, &a.target));
        assert!([200, 401].contains(&reply.status.as_u16()), "{}", reply.text());
        is_withdrawn(me(&t, &a.token).await);
    }
});

api_test!(records_go_when_they_have_been_kept_long_enough, |t| async move {
    let a = acting(&t).await;
    for _ in 0..3 {
        me(&t, &a.token).await.expect(200);
    }
    t.delete("/api/impersonate").bearer(&a.token).send().await.expect(200);
    let year = Duration::from_secs(365 * 86_400);
    t.advance(year - Duration::from_secs(3600));
    let (actor, target) = (t.session(a.actor.id).await, t.session(a.target.id).await);
    agree(&t, &target, 1).await;
    let other = text(&start(&t, &actor, &target).await["session_id"]);
    impersonation::purge(&t.app.identity).await.unwrap();
    assert_eq!(audit_lines(&t, &target, &a.session).await.len(), 6);
    // The session without an exit is over by then, and its records show it.
    t.advance(Duration::from_secs(3601));
    let removed = impersonation::purge(&t.app.identity).await.unwrap();
    let Purged { entries, sessions, consents } = removed;
    assert_eq!((entries, sessions, consents), (6, 1, 1));
    let target = t.session(a.target.id).await;
    let path = format!("/api/impersonate/sessions/{}", a.session);
    t.get(&path).bearer(&target.token).send().await.expect_message(404, "session not found");
    assert_eq!(audit_lines(&t, &target, &other).await, ["session_start", "session_end"]);
    is_withdrawn(me(&t, &a.token).await);
});

/// The status and its words of the last request, as soon as its end is recorded.
async fn last_end(t: &Test, a: &super::Acting) -> (Value, Value) {
    let recorded = async || {
        let all = entries(t, &a.target, &a.session).await;
        let last = &all[all.len() - 1];
        let text = &last["response_status_text"];
        (!text.is_null()).then(|| (last["response_status"].clone(), text.clone()))
    };
    patience::found(|| "its end is never recorded".to_owned(), recorded).await
}

async fn opened(t: &Test, a: &super::Acting) -> OpenEntry {
    let call = Call { session: a.session.parse().unwrap(), path: "/api/x", method: "GET", data: None };
    impersonation::open(&t.app.identity, call).await.unwrap()
}

api_test!(a_client_that_hangs_up_does_not_undo_what_was_answered, |t| async move {
    let a = acting(&t).await;
    for _ in 0..8 {
        let opened = opened(&t, &a).await;
        // The service has begun to record the end, and no caller waits for that any more.
        tokio::select! {
            biased;
            () = opened.complete(200, "OK", None) => {}
            () = tokio::task::yield_now() => {}
        }
        assert_eq!(last_end(&t, &a).await, (json!(200), json!("OK")));
    }
    drop(opened(&t, &a).await);
    assert_eq!(last_end(&t, &a).await, (Value::Null, json!("not answered")));
});

api_test!(a_handler_that_panics_is_recorded_with_its_answer, |t| async move {
    let a = acting(&t).await;
    let opened = opened(&t, &a).await;
    let handler = async move {
        let _held = opened;
        panic!("as a handler might");
    };
    let ended = AssertUnwindSafe(handler).catch_unwind().await;
    assert!(ended.is_err());
    assert_eq!(last_end(&t, &a).await, (json!(500), json!("Internal Server Error")));
});

api_test!(retention_counts_and_removes_what_is_old_of_sessions, |t| async move {
    let a = acting(&t).await;
    me(&t, &a.token).await.expect(200);
    // The session is over by itself, and no process has recorded its end yet.
    let retention = t.app.settings.impersonation.audit_retention;
    let figures = async || {
        let counted = retention::dry_run(&t.app).await.unwrap();
        (counted.impersonations, counted.impersonation_entries)
    };
    assert_eq!(figures().await, (0, 0));
    t.advance(retention + Duration::from_secs(3 * 3600));
    // Its start, the call and its end.
    assert_eq!(figures().await, (1, 3));
    let done = retention::run(&t.app).await.unwrap().unwrap();
    assert_eq!((done.impersonations, done.impersonation_entries), (1, 3));
    assert_eq!(figures().await, (0, 0));
});
