//! Alerts that wait for a remote router to run its tenant: the order in which they arrive, and how many may wait (spec:
//! alerts#waiting-tenants, alerts#limits).

use super::{limits::batch, *};
use bailiwick_store::sql::Q;
use bailiwick_testkit::{
    api_test, eventually,
    parts::recorder::{Answer, Recorded, Recorder},
};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

const OVER: &str = r#","startsAt":"2026-03-04T09:00:00Z","endsAt":"2026-03-04T10:00:00Z""#;

/// Every alert the router was sent since the last time: its name, and whether it was over.
fn sent(upstream: &Recorder) -> Vec<(String, bool)> {
    let each = |alert: &Value| {
        (alert["labels"]["alertname"].as_str().unwrap().to_owned(), alert.get("endsAt").is_some())
    };
    let requests = upstream.take();
    let all = |json: Value| json.as_array().unwrap().iter().map(each).collect::<Vec<_>>();
    let mut sent: Vec<_> = requests.iter().flat_map(|request| all(request.json().unwrap())).collect();
    sent.sort();
    sent
}

async fn deliver(p: &Test) -> usize {
    bailiwick_alerts::deliver_queued(&p.app.alerts).await.unwrap()
}

api_test!(a_resolve_does_not_overtake_what_waits, |t| async move {
    let upstream = Recorder::start(|_| Answer::status(412)).await.unwrap();
    let p = remote_alone(&t, &upstream.url(), RouterKind::Mimir, |_| {}).await;
    let system = Client::new(&p).await;
    system.push(&batch(0..1, "")).await.expect(200);
    // The tenant runs by now, but waiting alerts come first: the end takes its alert's place, and new alerts go
    // directly.
    upstream.answer_by(|_| Answer::status(200));
    let _ = upstream.take();
    let both =
        format!("{},{}", batch(0..1, OVER).trim_end_matches(']'), batch(1..2, "").trim_start_matches('['));
    system.push(&both).await.expect(200);
    assert_eq!(sent(&upstream), [("A001".to_owned(), false)]);
    p.advance(Duration::from_secs(1));
    deliver(&p).await;
    upstream.wait_for(1).await.unwrap();
    assert_eq!(sent(&upstream), [("A000".to_owned(), true)]);
    assert_eq!(deliver(&p).await, 0, "the firing one is not sent after it");
});

api_test!(a_resolve_comes_after_what_is_on_its_way, |t| async move {
    let upstream = Recorder::start(|_| Answer::status(412)).await.unwrap();
    let p = remote_alone(&t, &upstream.url(), RouterKind::Mimir, |_| {}).await;
    let system = Client::new(&p).await;
    system.push(&batch(0..1, "")).await.expect(200);
    let _ = upstream.take();
    upstream.answer_by(|_| Answer::status(200).held());
    p.advance(Duration::from_secs(1));
    let pushing = async {
        upstream.wait_for(1).await.unwrap();
        system.push(&batch(0..1, OVER)).await.expect(200);
        // Kept, not sent beside the other: the answer came before the router's.
        assert_eq!(sent(&upstream), [("A000".to_owned(), false)]);
        upstream.answer_by(|_| Answer::status(200));
        upstream.release();
    };
    tokio::join!(deliver(&p), pushing);
    while deliver(&p).await > 0 {}
    upstream.wait_for(1).await.unwrap();
    assert_eq!(sent(&upstream), [("A000".to_owned(), true)]);
});

api_test!(a_tenant_whose_router_hangs_holds_up_no_other_in_the_queue, |t| async move {
    let upstream = Recorder::start(|_| Answer::status(412)).await.unwrap();
    let p = remote_alone(&t, &upstream.url(), RouterKind::Mimir, |_| {}).await;
    let tree = p.tree().await;
    let system = Client { test: &p, system: p.system(tree.customer).await };
    let other = Client { test: &p, system: p.system(tree.other_customer).await };
    system.push(&batch(0..1, "")).await.expect(200);
    p.advance(Duration::from_millis(1));
    other.push(&batch(1..2, "")).await.expect(200);
    let _ = upstream.take();
    let hangs = tree.customer.to_string();
    upstream.answer_by(move |request| {
        let is_stuck = request.value("x-scope-orgid") == Some(hangs.as_str());
        Answer::status(200).after(if is_stuck { Duration::from_secs(600) } else { Duration::ZERO })
    });
    p.advance(Duration::from_secs(1));
    let delivering = async {
        deliver(&p).await;
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = delivering => {}
        both = upstream.wait_for(2) => { both.unwrap(); }
    }
    assert_eq!(sent(&upstream), [("A000".to_owned(), false), ("A001".to_owned(), false)]);
});

// Proves spec: alert-guarantees#guarantees 24.
api_test!(each_system_has_a_share_of_the_queue, |t| async move {
    let upstream = Recorder::start(|_| Answer::status(412)).await.unwrap();
    let p = remote_alone(&t, &upstream.url(), RouterKind::Mimir, |s| {
        s.alerting.limits.alerts_per_system = 3;
        s.alerting.limits.alerts_per_tenant = 5;
    })
    .await;
    let tree = p.tree().await;
    let system = Client { test: &p, system: p.system(tree.customer).await };
    let other = Client { test: &p, system: p.system(tree.customer).await };
    system.push(&batch(0..3, "")).await.expect(200);
    // A waiting alert may be sent again and ended. A new one is refused after that.
    system.push(&batch(1..4, "")).await.expect_message(429, "alert limit exceeded");
    system.push(&batch(0..3, OVER)).await.expect(200);
    // Nothing is active, but three wait.
    system.push(&batch(3..5, "")).await.expect_message(429, "alert limit exceeded");
    system.push(&batch(0..1, "")).await.expect(200);
    // The end of an unknown alert need not be kept.
    system.push(&batch(7..9, OVER)).await.expect(200);
    // The other system has its share, as far as the tenant's goes.
    other.push(&batch(0..3, "")).await.expect_message(429, "alert limit exceeded");
    let _ = upstream.take();
    upstream.answer_by(|_| Answer::status(200));
    p.advance(Duration::from_secs(1));
    while deliver(&p).await > 0 {}
    let arrived = ["A000", "A000", "A001", "A001", "A002"].map(str::to_owned);
    let is_over = [false, false, false, true, true];
    upstream.wait_for(1).await.unwrap();
    assert_eq!(sent(&upstream), arrived.into_iter().zip(is_over).collect::<Vec<_>>());
    system.push(&batch(3..5, "")).await.expect(200);
});

/// A router that refuses whatever has an alert with such a name.
fn refuses(request: &Recorded, is_bad: impl Fn(&str) -> bool) -> Answer {
    let alerts = request.json().unwrap();
    let mut names = alerts.as_array().unwrap().iter().map(|a| a["labels"]["alertname"].as_str().unwrap());
    if names.any(is_bad) { Answer::json(400, &json!("bad alert")) } else { Answer::status(200) }
}

fn dropped(p: &Test) -> u64 {
    p.app.alerts.state.dropped()[0].1
}

api_test!(only_the_alerts_that_the_router_refuses_are_dropped, |t| async move {
    let upstream = Recorder::start(|_| Answer::status(412)).await.unwrap();
    let p = remote_alone(&t, &upstream.url(), RouterKind::Mimir, |_| {}).await;
    let system = Client::new(&p).await;
    system.push(&batch(0..20, "")).await.expect(200);
    let is_bad = |name: &str| ["A007", "A013"].contains(&name);
    let (taken, request_count) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicU64::new(0)));
    let (into, count) = (taken.clone(), request_count.clone());
    upstream.answer_by(move |request| {
        let answer = refuses(request, is_bad);
        count.fetch_add(1, Ordering::SeqCst);
        if !answer.is_refusal() {
            let alerts = request.json().unwrap();
            let names = alerts.as_array().unwrap().iter().map(|a| a["labels"]["alertname"].to_string());
            into.lock().unwrap().extend(names.map(|name| name.replace('"', "")));
        }
        answer
    });
    p.advance(Duration::from_secs(1));
    assert_eq!(deliver(&p).await, 20);
    let mut taken = taken.lock().unwrap().clone();
    taken.sort();
    let good: Vec<String> = (0..20).map(|n| format!("A{n:03}")).filter(|name| !is_bad(name)).collect();
    assert_eq!(taken, good);
    assert_eq!(dropped(&p), 2);
    assert!(request_count.load(Ordering::SeqCst) < 20, "in halves, not one by one");
    p.advance(Duration::from_secs(120));
    assert_eq!(deliver(&p).await, 0, "what is refused by itself is given up");
});

api_test!(a_router_that_refuses_everything_is_not_asked_without_end, |s| generous(s), |t| async move {
    let upstream = Recorder::start(|_| Answer::status(412)).await.unwrap();
    let p = remote_alone(&t, &upstream.url(), RouterKind::Mimir, |_| {}).await;
    let system = Client::new(&p).await;
    system.push(&batch(0..120, "")).await.expect(200);
    upstream.answer_by(|request| refuses(request, |_| true));
    let (mut rounds, mut tried) = (0, usize::MAX);
    while tried > 0 {
        let _ = upstream.take();
        p.advance(Duration::from_secs(60));
        tried = deliver(&p).await;
        rounds += 1;
        assert!(upstream.take().len() <= 64);
        assert!(rounds < 20);
    }
    assert_eq!(dropped(&p), 120);
});

api_test!(what_a_slow_router_refuses_is_found_over_several_deliveries, |t| async move {
    let upstream = Recorder::start(|_| Answer::status(412)).await.unwrap();
    // One delivery has the time of two refusals, and by halves it takes five to come to a single alert.
    let p = remote_alone(&t, &upstream.url(), RouterKind::Mimir, |s| {
        s.alerting.limits.write_timeout = Duration::from_millis(1000);
        s.alerting.resolve_timeout = Duration::from_secs(24 * 3600);
    })
    .await;
    let system = Client::new(&p).await;
    // A busy machine may be too slow for the first answer, too.
    eventually("thirty alerts wait", async || {
        p.advance(Duration::from_secs(60));
        system.push(&batch(0..30, "")).await.status == 200
    })
    .await;
    upstream.answer_by(|request| {
        let answer = refuses(request, |name| name == "A007");
        if answer.is_refusal() { answer.after(Duration::from_millis(350)) } else { answer }
    });
    let waiting =
        async || Q::new("SELECT COUNT(*) FROM alert_queue").count(&p.app.platform.db).await.unwrap();
    let mut rounds = 0;
    while waiting().await > 0 {
        p.advance(Duration::from_secs(60));
        deliver(&p).await;
        rounds += 1;
        // More where a busy machine is too slow for an answer.
        assert!(rounds < 200, "{} alerts are left", waiting().await);
    }
    assert_eq!(dropped(&p), 1);
});
