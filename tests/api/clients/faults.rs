//! Which refusals an appliance comes back after (spec: clients#appliances; checklist 14; rule 11).

use super::*;
use crate::{
    proxy::{P, remote},
    rules::faults::alter,
};
use bailiwick_settings::{ObjectLocation, RouterKind};
use bailiwick_testkit::{
    Call, Engine, api_test,
    parts::recorder::{Answer, Recorder},
    seed::Seeded,
};
use std::time::Duration;

/// The statuses that curl's `--retry` repeats.
const TRANSIENT: [u16; 6] = [408, 429, 500, 502, 503, 504];

/// Everything an appliance does by itself.
fn calls(t: &Test, system: &Seeded) -> Vec<(&'static str, Call)> {
    let collect = |method: &str, path: &str| {
        let call = t.call(method.parse().unwrap(), &format!("/collect/api/systems{path}"));
        call.basic(&system.key, &system.secret)
    };
    let push = t.post(&format!("{P}/api/v2/alerts")).basic(&system.key, &system.secret);
    vec![
        ("register", t.post("/backend/api/systems/register").json(json!({"system_secret": system.secret}))),
        ("heartbeat", collect("POST", "/heartbeat")),
        ("inventory", collect("POST", "/inventory").header("content-type", "application/json").body(NSEC)),
        ("info", collect("GET", "/info")),
        ("alerts", push.json(json!([{"labels": {"alertname": "A"}}]))),
        ("backup", collect("POST", "/backups").header("content-length", "1").body("x")),
        ("unregister", collect("POST", "/unregister")),
    ]
}

#[track_caller]
fn comes_back(what: &str, reply: &Reply) {
    assert!(TRANSIENT.contains(&reply.status.as_u16()), "{what}: {} {}", reply.status, reply.text());
    let after = reply.header("retry-after").and_then(|s| s.parse::<u64>().ok());
    assert!(after.is_some_and(|s| (1..=900).contains(&s)), "{what}: {} {:?}", reply.status, reply.headers);
    assert_eq!(reply.json()["code"], reply.status.as_u16(), "{what}");
}

// Proves spec: clients#checklist 14.
api_test!(temporary_errors_have_retry_after, |t| async move {
    let tree = t.tree().await;
    let system = t.system(tree.customer).await;
    // Each call succeeds once first, so that the later failures are not only those of a first request.
    for (what, call) in calls(&t, &system).into_iter().filter(|(what, _)| *what != "unregister") {
        let reply = call.send().await;
        assert!(reply.status.is_success() || what == "register", "{what}: {}", reply.text());
    }
    let gone = Recorder::start(|_| Answer::status(200)).await.unwrap();
    let url = gone.url();
    drop(gone);
    let hanging = Recorder::start(|_| Answer::status(200).after(Duration::from_secs(600))).await.unwrap();
    let starting = Recorder::start(|_| Answer::status(503)).await.unwrap();
    for url in [url, hanging.url(), starting.url()] {
        let p = remote(&t, &url, RouterKind::Mimir, |s| {
            s.alerting.limits.read_timeout = Duration::from_millis(100);
            s.alerting.limits.write_timeout = Duration::from_millis(100);
        })
        .await;
        let tree = p.tree().await;
        let system = p.system(tree.customer).await;
        for method in ["GET", "POST"] {
            let call = p.call(method.parse().unwrap(), &format!("{P}/api/v2/alerts"));
            let call = call.basic(&system.key, &system.secret);
            let call =
                if method == "GET" { call } else { call.json(json!([{"labels": {"alertname": "A"}}])) };
            comes_back(method, &call.send().await);
        }
    }
    // A fault of the service itself passes too: the operator of the service will see it.
    let owner = t.owner().await;
    alter(&t, &["ALTER TABLE backups RENAME TO gone_1", "ALTER TABLE router_silences RENAME TO gone_2"])
        .await;
    let silences = t.get(&format!("{P}/api/v2/silences")).basic(&system.key, &system.secret);
    let backups = t.get("/collect/api/systems/backups").basic(&system.key, &system.secret);
    let shown = t.get(&format!("/api/systems/{}/backups", system.id)).bearer(&owner.token);
    for (what, call) in [("silences", silences), ("backups", backups), ("management", shown)] {
        comes_back(what, &call.send().await.expect(500));
    }
    t.app.platform.db.close().await;
    for (what, call) in calls(&t, &system) {
        comes_back(what, &call.send().await);
    }
});

// Proves spec: clients#checklist 14.
api_test!(a_storage_that_cannot_be_used_passes, |t| async move {
    let system = t.system(t.tree().await.customer).await;
    let owner = t.owner().await;
    let upload = |t: &Test| calls(t, &system).remove(5).1;
    let id = text(&upload(&t).send().await.expect(201).data(), "id");
    let away = t.replica_with(|s| s.assets.location = ObjectLocation::Files("/dev/null/assets".into())).await;
    let get = away.get(&format!("/collect/api/systems/backups/{id}")).basic(&system.key, &system.secret);
    let link = t.get(&format!("/api/systems/{}/backups/{id}/download", system.id)).bearer(&owner.token);
    let link = text(&link.send().await.expect(200).data(), "download_url");
    let link = away.get(&link[link.find("/downloads").unwrap()..]);
    for (what, call) in [("upload", upload(&away)), ("read", get), ("link", link)] {
        comes_back(what, &call.send().await.expect_message(502, "backup storage is unavailable"));
    }
});

// Proves spec: clients#checklist 14.
api_test!(a_panic_ends_one_request_and_passes, |t| async move {
    let system = t.system(t.tree().await.customer).await;
    let owner = t.owner().await;
    let silence = json!({"matchers": [{"name": "a", "value": "b", "isRegex": false}], "createdBy": "me", "comment": "c",
        "startsAt": "2026-03-04T10:00:00Z", "endsAt": "2026-03-04T12:00:00Z"});
    t.get("/api/me").bearer(&owner.token).send().await.expect(200);
    t.entropy.run_dry();
    let form = json!({"name": "N", "custom_data": {"vat": "IT1"}});
    // With an id of their own, or the service would have to make one of nothing before anything else.
    for (what, call) in [
        ("management", t.post("/api/customers").bearer(&owner.token).json(form)),
        ("router", t.post(&format!("{P}/api/v2/silences")).basic(&system.key, &system.secret).json(silence)),
    ] {
        let reply = call.header("x-request-id", "mine").send().await;
        comes_back(what, &reply.expect_message(500, "internal server error"));
    }
    t.get("/api/me").bearer(&owner.token).header("x-request-id", "mine").send().await.expect(200);
});

/// A body that never arrives. The clock of the runtime runs ahead, so the test does not wait for it.
async fn slow_body(engine: Engine) {
    let t = Test::with(engine, bailiwick_testkit::engine::settings()).await;
    tokio::time::pause();
    for path in ["/backend/api/systems/register", "/api/auth/exchange", "/api/auth/refresh"] {
        let never = futures_util::stream::pending::<Result<Vec<u8>, std::io::Error>>();
        let call = t.post(path).header("content-type", "application/json");
        let begun = tokio::time::Instant::now();
        let reply = call.body(axum::body::Body::from_stream(never)).send().await;
        assert_eq!(begun.elapsed().as_secs(), 15, "{path}");
        comes_back(path, &reply.expect_message(408, "request body timed out"));
    }
    tokio::time::resume();
}

// Proves spec: clients#checklist 14.
#[tokio::test]
async fn a_body_that_stops_is_a_408_on_sqlite() {
    slow_body(Engine::Sqlite).await;
}

// Proves spec: clients#checklist 14.
#[tokio::test]
async fn a_body_that_stops_is_a_408_on_postgres() {
    slow_body(Engine::Postgres).await;
}

// Proves spec: clients#checklist 14.
api_test!(what_does_not_pass_is_another_4xx, |t| async move {
    let tree = t.tree().await;
    let system = t.system(tree.customer).await;
    let stranger = Seeded { secret: format!("my_{}.{}", "0".repeat(20), "0".repeat(40)), ..system.clone() };
    for (what, call) in calls(&t, &stranger) {
        let reply = call.send().await;
        assert!(reply.status.is_client_error(), "{what}: {}", reply.text());
        assert!(!TRANSIENT.contains(&reply.status.as_u16()), "{what}: {}", reply.text());
        assert_eq!(reply.header("retry-after"), None, "{what}");
    }
    let own =
        |method: &str, path: &str| t.call(method.parse().unwrap(), path).basic(&system.key, &system.secret);
    let large = "x".repeat(t.app.settings.systems.inventory_max_bytes + 1);
    for (what, call) in [
        ("no document", own("POST", "/collect/api/systems/inventory").body("{")),
        ("too large", own("POST", "/collect/api/systems/inventory").body(large)),
        ("no length", own("POST", "/collect/api/systems/backups").body("x")),
        ("no alerts", own("POST", &format!("{P}/api/v2/alerts")).json(json!({"a": 1}))),
        ("no backup", own("GET", "/collect/api/systems/backups/019c9fa6-4540-7a3b-8c5d-1f2e3a4b5c6d.bin")),
    ] {
        let reply = call.send().await;
        assert!(reply.status.is_client_error(), "{what}: {}", reply.text());
        assert!(!TRANSIENT.contains(&reply.status.as_u16()), "{what}: {}", reply.text());
    }
});

// See spec: clients#serving-the-browser: a caller that sends a file or confirms an import is more patient than others,
// and so is the service.
api_test!(what_takes_longer_is_let_take_longer, |t| async move {
    let (mut confirmations, mut uploads) = (0, 0);
    for route in bailiwick_api::routes::table() {
        if route.path.ends_with("/import/confirm") {
            confirmations += 1;
            assert_eq!(route.answers_within, Duration::from_secs(180), "{route:?}");
        } else if route.operation == "storeBackup" {
            uploads += 1;
            // The body alone has 900 s.
            assert!(route.answers_within > Duration::from_secs(900), "{route:?}");
        } else {
            assert!(route.answers_within >= Duration::from_secs(30), "{route:?}");
        }
    }
    assert_eq!((confirmations, uploads), (4, 1));
    // The head decides whether a body of 2 GB is read at all; this one breaks off.
    let system = t.system(t.tree().await.customer).await;
    let upload = async |length: u64| {
        let call = t.post("/collect/api/systems/backups").basic(&system.key, &system.secret);
        call.header("content-length", &length.to_string()).body("x").send().await.status.as_u16()
    };
    assert_eq!((upload(2_000_000_000).await, upload(2 << 30).await), (400, 400));
    assert_eq!(upload((2 << 30) + 1).await, 413);
});

// Proves spec: acceptance#guarantees 11.
api_test!(every_refusal_of_a_registration_is_an_envelope, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let made = json!({"name": "S", "organization_id": tree.customer});
    let made = t.post("/api/systems").bearer(&owner.token).json(made).send().await.expect(201).data();
    let secret = text(&made, "system_secret");
    let register = async |body: String| {
        let call = t.post("/backend/api/systems/register").header("content-type", "application/json");
        let reply = call.header("accept", "application/json").body(body).send().await;
        assert_eq!(reply.header("content-type"), Some("application/json"), "{}", reply.text());
        let json = reply.json();
        let keys: Vec<&String> = json.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["code", "message", "data"], "{json}");
        assert_eq!(json["code"], reply.status.as_u16());
        assert!(json["message"].as_str().is_some_and(|m| !m.is_empty()), "{json}");
        let waits = matches!(reply.status.as_u16(), 429 | 503);
        assert_eq!(reply.header("retry-after").is_some(), waits, "{json}");
        reply.status.as_u16()
    };
    let registration = |secret: &str| json!({"system_secret": secret}).to_string();
    let lookup = secret.split('.').next().unwrap();
    let wrong = format!("{lookup}.{}", "0".repeat(40));
    for (body, status) in
        [(String::new(), 400), ("{".to_owned(), 400), (registration("x"), 400), (registration(&wrong), 401)]
    {
        assert_eq!(register(body).await, status);
    }
    assert_eq!(register("x".repeat(2 << 20)).await, 413);
    t.suspend_organization(tree.customer).await;
    assert_eq!(register(registration(&secret)).await, 403);
    let path = format!("/api/customers/{}/reactivate", tree.customer);
    t.patch(&path).bearer(&owner.token).send().await.expect(200);
    assert_eq!(register(registration(&secret)).await, 200);
    t.advance(Duration::from_secs(121));
    assert_eq!(register(registration(&secret)).await, 409);
    for _ in 0..20 {
        register(registration(&wrong)).await;
    }
    assert_eq!(register(registration(&wrong)).await, 429);
    t.advance(Duration::from_secs(61));
    t.app.platform.db.close().await;
    assert_eq!(register(registration(&secret)).await, 503);
});
