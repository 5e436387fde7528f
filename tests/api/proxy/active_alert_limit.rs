//! How many active alerts and silences systems may have at a remote router (spec: alerts#limits), and how much of its
//! time.

use super::{
    limits::{batch, silence},
    *,
};
use crate::alerts::written;
use bailiwick_alertmanager::re2;
use bailiwick_store::sql::Q;
use bailiwick_testkit::{
    api_test,
    parts::recorder::{Answer, Recorded, Recorder},
};
use serde_json::{Value, json};
use std::time::Duration;

/// A router that takes everything and has nothing.
async fn obliging() -> Recorder {
    let answer = |method: &str| match method {
        "GET" => Answer::json(200, &json!([])),
        _ => Answer::status(200),
    };
    Recorder::start(move |request| answer(request.method.as_str())).await.unwrap()
}

fn tight(settings: &mut Settings) {
    settings.alerting.limits.alerts_per_system = 10;
    settings.alerting.limits.alerts_per_tenant = 15;
}

/// The names of the alerts that the router got since the last call.
fn sent(upstream: &Recorder) -> Vec<String> {
    let name = |alert: &Value| alert["labels"]["alertname"].as_str().unwrap().to_owned();
    let requests = upstream.take();
    let each = |json: Value| json.as_array().unwrap().iter().map(name).collect::<Vec<_>>();
    requests.iter().flat_map(|request| each(request.json().unwrap())).collect()
}

fn names(numbers: std::ops::Range<usize>) -> Vec<String> {
    numbers.map(|n| format!("A{n:03}")).collect()
}

const OVER: &str = r#","endsAt":"2026-03-04T10:00:00Z""#;

// Proves spec: alert-guarantees#guarantees 24.
api_test!(new_alerts_at_a_remote_router_are_bounded, |t| async move {
    let upstream = obliging().await;
    let p = remote(&t, &upstream.url(), RouterKind::Mimir, tight).await;
    let tree = p.tree().await;
    let system = Client { test: &p, system: p.system(tree.customer).await };
    let other = Client { test: &p, system: p.system(tree.customer).await };
    let elsewhere = Client { test: &p, system: p.system(tree.other_customer).await };
    system.push(&batch(0..8, "")).await.expect(200);
    assert_eq!(sent(&upstream), names(0..8));
    // Two of these are new and still fit; the others of the batch are sent all the same, long before a row is written.
    let reply = system.push(&batch(4..12, "")).await.expect_message(429, "alert limit exceeded");
    assert!(reply.header("retry-after").is_some());
    assert_eq!(sent(&upstream), names(4..10));
    system.push(&batch(0..10, "")).await.expect(200);
    system.push(&batch(10..11, OVER)).await.expect(200);
    assert_eq!(sent(&upstream).len(), 11);
    let both = batch(10..11, "").replace(']', r#",{"labels":{}}]"#);
    assert_eq!(system.push(&both).await.expect(400).text(), "\"at least one label pair required\"\n");
    other.push(&batch(0..5, "")).await.expect(200);
    other.push(&batch(5..6, "")).await.expect_message(429, "alert limit exceeded");
    elsewhere.push(&batch(0..10, "")).await.expect(200);
    // The same by the rows, for a process that knows nothing yet.
    written(&p).await;
    let fresh = p.replica().await;
    let there = |c: &Client<'_>| Client { test: &fresh, system: c.system.clone() };
    let _ = upstream.take();
    there(&system).push(&batch(9..11, "")).await.expect_message(429, "alert limit exceeded");
    assert_eq!(sent(&upstream), names(9..10));
    there(&system).push(&batch(0..10, "")).await.expect(200);
    there(&other).push(&batch(4..6, "")).await.expect_message(429, "alert limit exceeded");
    // So that no repetition is written behind the resolve, as if the alert fired again.
    written(&fresh).await;
    // A resolve makes room, also before it is written.
    system.push(&batch(0..1, OVER)).await.expect(200);
    other.push(&batch(5..6, "")).await.expect(200);
    other.push(&batch(6..7, "")).await.expect_message(429, "alert limit exceeded");
    // So does time.
    written(&p).await;
    p.advance(Duration::from_secs(7 * 3600));
    bailiwick_alerts::sweep_history(&p.app.alerts).await.unwrap();
    system.push(&batch(20..30, "")).await.expect(200);
});

api_test!(what_the_router_has_not_taken_takes_no_place, |t| async move {
    let upstream = Recorder::start(|_| Answer::status(400).body("\"no\"\n")).await.unwrap();
    let p = remote(&t, &upstream.url(), RouterKind::Mimir, tight).await;
    let system = Client::new(&p).await;
    for from in [0, 10, 20] {
        system.push(&batch(from..from + 10, "")).await.expect(400);
    }
    upstream.answer_by(|_| Answer::status(200));
    system.push(&batch(30..40, "")).await.expect(200);
    system.push(&batch(0..1, "")).await.expect_message(429, "alert limit exceeded");
});

api_test!(alerts_that_are_known_are_pushed_without_a_question, |t| async move {
    let upstream = obliging().await;
    let p = remote(&t, &upstream.url(), RouterKind::Mimir, |_| {}).await;
    let system = Client::new(&p).await;
    system.push(&batch(0..5, "")).await.expect(200);
    written(&p).await;
    let rename = async |from: &str, to: &str| {
        let mut tx = p.app.platform.db.begin().await.unwrap();
        Q::new(&format!("ALTER TABLE {from} RENAME TO {to}")).run(&mut tx).await.unwrap();
        tx.commit().await.unwrap();
    };
    rename("alert_history", "gone").await;
    p.advance(Duration::from_secs(60));
    system.push(&batch(0..5, "")).await.expect(200);
    system.push(&batch(0..2, OVER)).await.expect(200);
    system.push(&batch(5..6, "")).await.expect(500);
    rename("gone", "alert_history").await;
    system.push(&batch(5..6, "")).await.expect(200);
});

// Proves spec: alert-guarantees#guarantees 24.
api_test!(one_tenant_leaves_room_in_flight_for_others, |t| async move {
    let upstream = Recorder::start(|_| Answer::status(200).after(Duration::from_secs(600))).await.unwrap();
    let p = remote(&t, &upstream.url(), RouterKind::Mimir, |s| {
        s.alerting.limits.in_flight = 32;
        s.alerting.limits.pushes_together = 1;
    })
    .await;
    let tree = p.tree().await;
    let system = Client { test: &p, system: p.system(tree.customer).await };
    let other = Client { test: &p, system: p.system(tree.customer).await };
    let elsewhere = Client { test: &p, system: p.system(tree.other_customer).await };
    let push = batch(0..1, "");
    let _ = upstream.take();
    let hanging = futures_util::future::join_all((0..8).map(|_| system.push(&push)));
    let meanwhile = async {
        upstream.wait_for(8).await.unwrap();
        upstream.answer_by(|_| Answer::status(200));
        other.push(&push).await.expect_message(503, "alerting backend is not ready");
        elsewhere.push(&push).await.expect(200);
    };
    tokio::select! {
        _ = hanging => panic!("the router does not answer"),
        () = meanwhile => {}
    }
});

api_test!(faults_that_people_meet_at_the_router_keep_no_system_from_it, |t| async move {
    let upstream = obliging().await;
    let p = remote(&t, &upstream.url(), RouterKind::Mimir, |_| {}).await;
    let (system, owner) = (Client::new(&p).await, p.owner().await);
    system.push(&batch(0..1, "")).await.expect(200);
    written(&p).await;
    upstream.answer_by(|request| match request.method.as_str() {
        "GET" => Answer::status(500),
        _ => Answer::status(200),
    });
    for _ in 0..12 {
        p.get("/api/alerts").bearer(&owner.token).send().await.expect_message(502, "failed to fetch alerts");
    }
    system.push(&batch(0..1, "")).await.expect(200);
});

// Proves spec: alert-guarantees#guarantees 24.
api_test!(silences_of_a_tenant_of_a_remote_router_are_bounded, |t| async move {
    let upstream = obliging().await;
    let p = remote(&t, &upstream.url(), RouterKind::Mimir, |s| {
        s.alerting.limits.silences_per_system = 2;
        s.alerting.limits.silences_per_tenant = 3;
    })
    .await;
    let tree = p.tree().await;
    let system = Client { test: &p, system: p.system(tree.customer).await };
    let key = system.system.key.clone();
    let id = |n: usize| format!("00000000-0000-4000-8000-{n:012}");
    let stored = move |n: usize, state: &str, key: &str| {
        json!({"id": id(n), "status": {"state": state}, "updatedAt": "2026-03-04T09:00:00.000Z", "comment": "c",
            "createdBy": "t", "startsAt": "2026-03-04T09:00:00.000Z", "endsAt": "2026-03-04T12:00:00.000Z",
            "matchers": [{"name": "system_key", "value": key, "isRegex": false, "isEqual": true}]})
    };
    // Silences of other systems of the tenant; the router filters them if the request asks it to.
    let mut all =
        vec![stored(1, "active", "SYS-1"), stored(2, "pending", "SYS-1"), stored(3, "expired", "SYS-2")];
    all.push(stored(4, "active", "SYS-2"));
    let answer = move |all: Vec<Value>, own: Value| {
        move |request: &Recorded| {
            let is_filtered = request.query.as_ref().is_some_and(|query| query.contains("filter"));
            match request.method.as_str() {
                "GET" if request.path.contains("/silence/") => Answer::json(200, &own),
                "GET" if is_filtered => Answer::json(200, &json!([own])),
                "GET" => Answer::json(200, &json!(all)),
                _ => Answer::json(200, &json!({"silenceID": "00000000-0000-4000-8000-000000000009"})),
            }
        }
    };
    let own = stored(7, "active", &key);
    upstream.answer_by(answer(all.clone(), own.clone()));
    system.silence(&silence("1")).await.expect_message(429, "silence limit exceeded");
    assert!(upstream.take().iter().all(|request| request.method == "GET"));
    // Replacing one is not one more.
    let id = "00000000-0000-4000-8000-000000000007";
    system.silence(&silence("1").replacen('{', &format!("{{\"id\":\"{id}\","), 1)).await.expect(200);
    // One of them is over.
    all.pop();
    upstream.answer_by(answer(all, own));
    p.advance(Duration::from_secs(60));
    system.silence(&silence("1")).await.expect(200);
});

api_test!(expressions_of_a_tenant_of_a_remote_router_have_a_budget, |t| async move {
    let upstream = obliging().await;
    let expression = |n: usize| format!(r"\PL{{4}}|x{n}|.+");
    let larger = r"\PL{12}|x7|.+";
    let size = |text: &str| re2::anchored(text).unwrap().bytes();
    let one = size(&expression(1));
    assert!(size(larger) > one + one / 2 && size(larger) < 4 * one);
    let p = remote(&t, &upstream.url(), RouterKind::Mimir, |s| {
        s.alerting.limits.content.compiled_bytes = usize::MAX;
        s.alerting.limits.compiled_per_system = usize::MAX;
        s.alerting.limits.compiled_per_tenant = 4 * one + one / 2;
    })
    .await;
    let tree = p.tree().await;
    let system = Client { test: &p, system: p.system(tree.customer).await };
    let stored = |n: usize, state: &str, key: &str| {
        json!({"id": format!("00000000-0000-4000-8000-{n:012}"), "status": {"state": state},
            "updatedAt": "2026-03-04T09:00:00.000Z", "comment": "c", "createdBy": "t",
            "startsAt": "2026-03-04T09:00:00.000Z", "endsAt": "2026-03-04T12:00:00.000Z", "matchers": [
                {"name": "a", "value": expression(n), "isRegex": true, "isEqual": true},
                {"name": "system_key", "value": key, "isRegex": false, "isEqual": true}]})
    };
    let answer = |all: Vec<Value>| {
        let own: Vec<Value> =
            all.iter().filter(|s| s["matchers"][1]["value"] == system.system.key.as_str()).cloned().collect();
        upstream.answer_by(move |request: &Recorded| {
            let is_filtered = request.query.as_ref().is_some_and(|query| query.contains("filter"));
            match request.method.as_str() {
                "GET" if request.path.contains("/silence/") => Answer::json(200, &own[0]),
                "GET" if is_filtered => Answer::json(200, &json!(own)),
                "GET" => Answer::json(200, &json!(all)),
                _ => Answer::json(200, &json!({"silenceID": "00000000-0000-4000-8000-000000000099"})),
            }
        });
    };
    let by_expression = |value: &str| {
        let value = value.replace('\\', "\\\\");
        silence("x")
            .replace(r#""value":"x","isRegex":false"#, &format!(r#""value":"{value}","isRegex":true"#))
    };
    let changed = |body: String, n: usize| {
        body.replacen('{', &format!("{{\"id\":\"00000000-0000-4000-8000-{n:012}\","), 1)
    };
    // The requests since the last call: lists of the whole tenant, and silences.
    let requests_so_far = || {
        let requests = upstream.take();
        let is_list = |r: &&Recorded| r.method == "GET" && r.query.is_none() && r.path.ends_with("/silences");
        let whole = requests.iter().filter(is_list).count();
        (whole, requests.iter().filter(|r| r.method == "POST").count())
    };
    let own = stored(7, "active", &system.system.key);
    let others: Vec<Value> = (1..=3).map(|n| stored(n, "active", "SYS-1")).collect();
    answer([others.clone(), vec![own.clone()]].concat());
    requests_so_far();
    let beyond = "\"the regular expressions of all silences of this organization are too complex: end some silences, or use matchers with =\"\n";
    let refused = system.silence(&by_expression(&expression(8))).await.expect(400);
    assert_eq!(refused.text(), beyond);
    // What was read a moment ago is not read again.
    assert_eq!(system.silence(&by_expression(&expression(9))).await.expect(400).text(), beyond);
    assert_eq!(requests_so_far(), (1, 0));
    // Literal ones are welcome, and changes that grow no larger.
    system.silence(&silence("1")).await.expect(200);
    system.silence(&changed(by_expression(&expression(7)), 7)).await.expect(200);
    system.silence(&changed(by_expression("[a-f]{9}"), 7)).await.expect(200);
    assert_eq!(requests_so_far().1, 3);
    let larger = changed(by_expression(larger), 7);
    p.advance(Duration::from_secs(60));
    assert_eq!(system.silence(&larger).await.expect(400).text(), beyond);
    // Those of the others are over.
    let over = (1..=3).map(|n| stored(n, "expired", "SYS-1"));
    answer(over.chain([own]).collect());
    p.advance(Duration::from_secs(60));
    requests_so_far();
    system.silence(&larger).await.expect(200);
    system.silence(&by_expression("[a-f]{9}")).await.expect(200);
    assert_eq!(requests_so_far(), (1, 2), "one list serves both");
});

api_test!(expressions_at_a_remote_router_have_a_budget, |t| async move {
    let upstream = obliging().await;
    let p = remote(&t, &upstream.url(), RouterKind::Mimir, |s| {
        let limits = &mut s.alerting.limits;
        (limits.content.compiled_bytes, limits.compiled_per_system) = (usize::MAX, 2 * 1024 * 1024);
    })
    .await;
    let tree = p.tree().await;
    let system = Client { test: &p, system: p.system(tree.customer).await };
    let key = system.system.key.clone();
    let large = |n: usize| json!({"name": "a", "value": format!(r"\PL{{12}}|x{n}|.+"), "isRegex": true, "isEqual": true});
    let stored = |n: usize, state: &str| {
        json!({"id": format!("00000000-0000-4000-8000-{n:012}"), "status": {"state": state}, "comment": "c", "createdBy": "t",
            "updatedAt": "2026-03-04T09:00:00.000Z", "startsAt": "2026-03-04T09:00:00.000Z",
            "endsAt": "2026-03-04T12:00:00.000Z",
            "matchers": [large(n), {"name": "system_key", "value": key, "isRegex": false, "isEqual": true}]})
    };
    let has = |count: usize, state: &str| {
        let own: Vec<Value> = (0..count).map(|n| stored(n, state)).collect();
        upstream.answer_by(move |request| match request.method.as_str() {
            "GET" if request.path.contains("/silence/") => Answer::json(200, &own[0]),
            "GET" => Answer::json(200, &json!(own)),
            _ => Answer::json(200, &json!({"silenceID": "00000000-0000-4000-8000-000000000099"})),
        });
    };
    let now = p.app.platform.now();
    let body = |matchers: Value| {
        json!({"matchers": matchers, "startsAt": now.rfc3339(0), "endsAt": now.plus(Duration::from_secs(3600)).rfc3339(0),
            "createdBy": "me", "comment": "c"})
    };
    let expressions = body(json!([large(50)])).to_string();
    has(1, "active");
    system.silence(&expressions).await.expect(200);
    has(20, "expired");
    system.silence(&expressions).await.expect(200);
    has(20, "active");
    let refused = system.silence(&expressions).await.expect(400).text();
    assert!(refused.contains("expressions of all silences of this system are too complex"), "{refused}");
    system
        .silence(&body(json!([{"name": "a", "value": "b", "isRegex": false}])).to_string())
        .await
        .expect(200);
    // One that keeps its matchers grows no larger.
    let mut same = body(stored(0, "active")["matchers"].clone());
    same["id"] = json!("00000000-0000-4000-8000-000000000000");
    system.silence(&same.to_string()).await.expect(200);
});
