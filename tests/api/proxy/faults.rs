//! A remote router that fails (spec: alerts#proxy-errors, alert-router#remote-rules).

use super::*;
use bailiwick_testkit::{
    api_test, eventually,
    parts::{
        ports,
        recorder::{Answer, Recorded, Recorder},
    },
};
use serde_json::json;
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

const ID: &str = "a2e4ebe0-81c0-474b-a001-eed897ce79ab";
const PUSH: &str = r#"[{"labels":{"alertname":"A"}}]"#;
const SILENCE: &str = r#"{"matchers":[{"name":"alertname","value":"A","isRegex":false}],"startsAt":"2026-03-04T10:00:00Z",
    "endsAt":"2026-03-04T12:00:00Z","createdBy":"me","comment":"c"}"#;

/// Each operation once.
async fn each(system: &Client<'_>) -> Vec<Reply> {
    vec![
        system.get("/api/v2/alerts").await,
        system.push(PUSH).await,
        system.get("/api/v2/silences").await,
        system.silence(SILENCE).await,
        system.get(&format!("/api/v2/silence/{ID}")).await,
        system.delete(&format!("/api/v2/silence/{ID}")).await,
        system.get("/api/v2/alerts/groups").await,
    ]
}

const UNAVAILABLE: (u16, &str) = (502, "alerting backend is unavailable");

#[track_caller]
fn all(replies: Vec<Reply>, (status, message): (u16, &str)) {
    for reply in replies {
        let reply = reply.expect_message(status, message);
        assert!(reply.json()["data"].is_null());
        assert!(!reply.text().contains("secret"));
    }
}

// Proves spec: alert-guarantees#guarantees 25.
api_test!(a_router_that_is_gone, |t| async move {
    // Nobody else gets this port.
    let url = format!("http://127.0.0.1:{}", ports::spare().unwrap());
    let p = remote(&t, &url, RouterKind::Mimir, |_| {}).await;
    all(each(&Client::new(&p).await).await, UNAVAILABLE);
});

// Proves spec: alert-guarantees#guarantees 25.
api_test!(a_router_that_hangs, |t| async move {
    let upstream = Recorder::start(|_| Answer::status(200).after(Duration::from_secs(600))).await.unwrap();
    let p = remote(&t, &upstream.url(), RouterKind::Mimir, |s| {
        s.alerting.limits.read_timeout = Duration::from_millis(100);
        s.alerting.limits.write_timeout = Duration::from_millis(100);
    })
    .await;
    all(each(&Client::new(&p).await).await, (504, "alerting backend timed out"));
});

api_test!(answers_that_cannot_be_read, |t| async move {
    let upstream = Recorder::start(|_| Answer::dropped()).await.unwrap();
    let p = remote(&t, &upstream.url(), RouterKind::Mimir, |_| {}).await;
    let system = Client::new(&p).await;
    for answer in [
        Answer::raw("secret garbage\r\n\r\n"),
        Answer::raw("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n[{\"secret\""),
        Answer::json(401, &json!("secret")),
        Answer::json(403, &json!("secret")),
        Answer::json(405, &json!({"code": 405, "message": "secret"})),
        Answer::status(429).body("secret"),
        Answer::status(302).header("location", "http://secret.example/"),
        Answer::status(204),
    ] {
        let given = answer.clone();
        upstream.answer_by(move |_| given.clone());
        // A fresh breaker for each: this test wants to know each answer.
        p.advance(Duration::from_secs(60));
        let replies = each(&system).await;
        for reply in &replies {
            assert!(reply.status == 502 || reply.status == 503, "{answer:?}: {}", reply.text());
            assert!(!reply.text().contains("secret"));
        }
        replies.into_iter().next().unwrap().expect_message(UNAVAILABLE.0, UNAVAILABLE.1);
    }
    // A 200 with a wrong body: only a push does not look at the body.
    for body in ["", "secret", "{}", "[{}]", r#"[{"labels":{"system_key":1}}]"#, "<html>"] {
        upstream.answer_by(move |_| Answer::status(200).body(body));
        for path in ["/api/v2/alerts", "/api/v2/silences", "/api/v2/alerts/groups"] {
            system.get(path).await.expect_message(UNAVAILABLE.0, UNAVAILABLE.1);
        }
        system.get(&format!("/api/v2/silence/{ID}")).await.expect_message(UNAVAILABLE.0, UNAVAILABLE.1);
        system.push(PUSH).await.expect(200);
    }
});

api_test!(an_answer_without_end_is_not_read, |t| async move {
    let huge = format!("[{}1]", "1,".repeat(9 * 1024 * 1024)).into_bytes();
    let upstream = Recorder::start(move |_| Answer::status(200).body(huge.clone())).await.unwrap();
    let p = remote(&t, &upstream.url(), RouterKind::Mimir, |_| {}).await;
    Client::new(&p).await.get("/api/v2/alerts").await.expect_message(UNAVAILABLE.0, UNAVAILABLE.1);
});

api_test!(refusals_of_the_router_pass_only_in_their_forms, |t| async move {
    let upstream = Recorder::start(|_| Answer::status(200)).await.unwrap();
    let p = remote(&t, &upstream.url(), RouterKind::Mimir, |_| {}).await;
    let system = Client::new(&p).await;
    for (status, body) in
        [(400, "\"bad thing\"\n"), (422, "{\"code\":602,\"message\":\"x\"}"), (404, "\"not here\"\n")]
    {
        upstream.answer_by(move |_| Answer::status(status).body(body));
        let reply = system.push(PUSH).await.expect(status);
        assert_eq!(reply.text(), body);
        assert_eq!(reply.header("content-type"), Some("application/json"));
    }
    let long = format!("\"{}\"", "x".repeat(4096));
    for (status, body) in [
        (400, "plain text"),
        (400, "{\"code\":400,\"message\":\"x\",\"secret\":1}"),
        (400, "[\"x\"]"),
        (404, ""),
        (400, long.as_str()),
        (409, "\"secret\""),
    ] {
        let body = body.to_owned();
        upstream.answer_by(move |_| Answer::status(status).body(body.clone()));
        system.push(PUSH).await.expect_message(UNAVAILABLE.0, UNAVAILABLE.1);
    }
    // On a list, no 4xx of the router is the client's.
    upstream.answer_by(|_| Answer::json(400, &json!("secret")));
    system.get("/api/v2/alerts").await.expect_message(UNAVAILABLE.0, UNAVAILABLE.1);
});

api_test!(only_requests_that_change_nothing_twice_are_repeated, |t| async move {
    let upstream = Recorder::start(|_| Answer::status(200)).await.unwrap();
    let p = remote(&t, &upstream.url(), RouterKind::Mimir, |_| {}).await;
    let system = Client::new(&p).await;
    for fault in [Answer::status(500).body("secret"), Answer::dropped(), Answer::status(502)] {
        let count = Arc::new(AtomicUsize::new(0));
        upstream.answer_by(move |_| match count.fetch_add(1, Ordering::SeqCst) {
            0 | 1 => fault.clone(),
            _ => Answer::json(200, &json!([])),
        });
        assert_eq!(system.get("/api/v2/alerts").await.expect(200).text(), "[]\n");
        assert_eq!(upstream.take().len(), 3);
    }
    // Three tries and no more.
    upstream.answer_by(|_| Answer::status(500).body("secret"));
    system.push(PUSH).await.expect_message(UNAVAILABLE.0, UNAVAILABLE.1);
    assert_eq!(upstream.take().len(), 3);
    // A silence is never posted twice.
    for fault in [Answer::status(500).body("secret"), Answer::dropped()] {
        upstream.answer_by(
            move |r| if r.method == "POST" { fault.clone() } else { Answer::json(200, &json!([])) },
        );
        system.silence(SILENCE).await.expect_message(UNAVAILABLE.0, UNAVAILABLE.1);
        assert_eq!(upstream.take().iter().filter(|r| r.method == "POST").count(), 1);
    }
});

// Proves spec: alert-guarantees#guarantees 25.
api_test!(a_busy_router_is_not_ready, |t| async move {
    let upstream = Recorder::start(|_| Answer::status(503).body("secret")).await.unwrap();
    let p = remote(&t, &upstream.url(), RouterKind::Mimir, |_| {}).await;
    let reply = Client::new(&p).await.push(PUSH).await.expect_message(503, "alerting backend is not ready");
    assert!(reply.header("retry-after").is_some());
});

api_test!(after_ten_faults_the_router_gets_a_rest_then_one_probe, |t| async move {
    let upstream = Recorder::start(|_| Answer::status(200).after(Duration::from_secs(600))).await.unwrap();
    let p = remote(&t, &upstream.url(), RouterKind::Mimir, |s| {
        s.alerting.limits.write_timeout = Duration::from_millis(30);
    })
    .await;
    let system = Client::new(&p).await;
    // How many pushes of this alert get no answer in time before the router gets a rest. A busy machine may
    // give up a push before it is sent, which is no fault of the router and no probe.
    let before_a_rest = async |name: &str| {
        let push = PUSH.replace("\"A\"", &format!("\"{name}\""));
        let mut late = 0;
        loop {
            let reply = system.push(&push).await;
            if reply.status != 504 {
                let reply = reply.expect_message(503, "alerting backend is not ready");
                assert!(reply.header("retry-after").is_some());
                return late;
            }
            late += 1;
            assert!(late < 100, "no rest after {late} late answers");
        }
    };
    let faults = before_a_rest("Fault").await;
    assert!(faults >= 10, "a rest after {faults} faults");
    for _ in 0..3 {
        assert_eq!(before_a_rest("Resting").await, 0);
    }
    p.advance(Duration::from_secs(10));
    // The probe is given up after its time, on a busy machine even before it arrives; the push behind it is none.
    assert!(before_a_rest("Probe").await >= 1, "no probe after the rest");
    let requests = upstream.take();
    let count = |name: &str| {
        let is_it = |r: &&Recorded| r.json().is_ok_and(|alerts| alerts[0]["labels"]["alertname"] == name);
        requests.iter().filter(is_it).count()
    };
    assert_eq!(count("Resting"), 0, "asked while it rests");
    assert!(count("Probe") <= 1, "more than one probe");
    upstream.answer_by(|_| Answer::status(200));
    // A busy machine may be too slow for a probe.
    eventually("a probe in time", async || {
        p.advance(Duration::from_secs(10));
        system.push(PUSH).await.status == 200
    })
    .await;
    assert_ne!(system.push(PUSH).await.status, 503);
});

// Proves spec: alert-guarantees#guarantees 24.
api_test!(requests_in_flight_are_bounded, |t| async move {
    let upstream = Recorder::start(|_| Answer::status(200).after(Duration::from_secs(600))).await.unwrap();
    for change in [(|s| s.alerting.limits.in_flight = 1) as fn(&mut Settings), |s| {
        s.alerting.limits.in_flight_per_system = 1
    }] {
        let p = remote(&t, &upstream.url(), RouterKind::Mimir, change).await;
        let system = Client::new(&p).await;
        let _ = upstream.take();
        let first = system.push(PUSH);
        let second = async {
            upstream.wait_for(1).await.unwrap();
            system.push(PUSH).await
        };
        tokio::select! {
            _ = first => panic!("the router does not answer"),
            reply = second => { reply.expect_message(503, "alerting backend is not ready"); }
        }
        // The first was given up above; its place is free again.
        let third = system.push(PUSH);
        tokio::select! {
            reply = third => panic!("{}", reply.text()),
            requests = upstream.wait_for(2) => { requests.unwrap(); }
        }
    }
});

// Proves spec: guarantees#organizations 35.
api_test!(a_router_that_hangs_holds_no_connection_of_the_database, |t| async move {
    let upstream = Recorder::start(|_| Answer::status(200).after(Duration::from_secs(600))).await.unwrap();
    let p = remote(&t, &upstream.url(), RouterKind::Mimir, |s| {
        s.alerting.limits.pushes_together = 1;
    })
    .await;
    let system = Client::new(&p).await;
    let owner = p.owner().await;
    let _ = upstream.take();
    // More than the pool has connections, and more than the one writer of SQLite; as many as one system may have.
    let hanging = futures_util::future::join_all(
        (0..4).map(|_| async { tokio::join!(system.push(PUSH), system.get("/api/v2/alerts")) }),
    );
    let meanwhile = async {
        upstream.wait_for(8).await.unwrap();
        for n in 0..6 {
            let body = json!({"name": "N", "custom_data": {"vat": format!("hang {n}")}});
            p.post("/api/distributors").bearer(&owner.token).json(body).send().await.expect(201);
            p.get("/api/distributors").bearer(&owner.token).send().await.expect(200);
        }
    };
    tokio::select! {
        _ = hanging => panic!("the router does not answer"),
        () = meanwhile => {}
    }
});

/// The silence of that id as the router returns it.
fn silence_of(key: &str, state: &str) -> serde_json::Value {
    json!({
        "id": ID, "status": {"state": state}, "updatedAt": "2026-03-04T09:00:00.000Z", "comment": "c",
        "createdBy": "t", "startsAt": "2026-03-04T09:00:00.000Z", "endsAt": "2026-03-04T12:00:00.000Z",
        "matchers": [{"name": "system_key", "value": key, "isRegex": false, "isEqual": true}],
    })
}

// Proves spec: alert-guarantees#guarantees 22.
api_test!(the_requests_of_one_request_share_its_time, |t| async move {
    let upstream = Recorder::start(|_| Answer::status(200)).await.unwrap();
    let p = remote(&t, &upstream.url(), RouterKind::Mimir, |s| {
        s.alerting.limits.read_timeout = Duration::from_millis(700);
        s.alerting.limits.write_timeout = Duration::from_millis(700);
    })
    .await;
    let tree = p.tree().await;
    let system = Client { test: &p, system: p.system(tree.customer).await };
    let (key, org) = (system.system.key.clone(), tree.customer.to_string());
    upstream.answer_by(move |request| {
        let unprocessed = json!([{
            "labels": {"alertname": "A", "system_key": key, "organization_id": org}, "annotations": {},
            "startsAt": "2026-03-04T09:00:00Z", "endsAt": "2026-03-04T12:00:00Z", "receivers": [],
            "updatedAt": "2026-03-04T09:00:00Z", "fingerprint": "9822ee52b31ac950",
            "status": {"state": "unprocessed", "silencedBy": [], "inhibitedBy": [], "mutedBy": []},
        }]);
        let answer = match (request.method.as_str(), request.path.as_str()) {
            ("GET", path) if path.ends_with("/alerts") => Answer::json(200, &unprocessed),
            ("GET", path) if path.contains("/silence/") => Answer::json(200, &silence_of(&key, "active")),
            ("GET", _) => Answer::json(200, &json!([])),
            ("POST", _) => Answer::json(200, &json!({"silenceID": ID})),
            _ => Answer::status(200),
        };
        answer.after(Duration::from_millis(450))
    });
    // Each asks the router twice, and either would be in time, unless the machine is too busy for the first.
    eventually("two requests of each", async || {
        let _ = upstream.take();
        // Ten faults in a row are followed by a rest of ten seconds.
        let rest = || p.advance(Duration::from_secs(20));
        system.get("/api/v2/alerts").await.expect_message(504, "alerting backend timed out");
        rest();
        system.silence(SILENCE).await.expect_message(504, "alerting backend timed out");
        rest();
        let path = format!("/api/v2/silence/{ID}");
        system.delete(&path).await.expect_message(504, "alerting backend timed out");
        rest();
        upstream.take().len() == 6
    })
    .await;
});

api_test!(a_silence_that_a_lost_answer_has_ended_is_ended, |t| async move {
    let upstream = Recorder::start(|_| Answer::status(200)).await.unwrap();
    let p = remote(&t, &upstream.url(), RouterKind::Mimir, |_| {}).await;
    let system = Client::new(&p).await;
    for is_ended in [true, false] {
        let (key, count) = (system.system.key.clone(), Arc::new(AtomicUsize::new(0)));
        upstream.answer_by(move |request| match request.method.as_str() {
            "DELETE" if count.fetch_add(1, Ordering::SeqCst) == 0 => Answer::dropped(),
            "DELETE" => Answer::status(500).body("\"silence already expired\"\n"),
            _ => {
                let is_over = is_ended && count.load(Ordering::SeqCst) > 0;
                Answer::json(200, &silence_of(&key, if is_over { "expired" } else { "active" }))
            }
        });
        let reply = system.delete(&format!("/api/v2/silence/{ID}")).await;
        if is_ended {
            assert!(reply.expect(200).body.is_empty());
        } else {
            reply.expect_message(UNAVAILABLE.0, UNAVAILABLE.1);
        }
    }
});
