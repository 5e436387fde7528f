//! A remote router's messages of resolved alerts (spec: alerts#history-webhook).

use super::{
    lists::{client, fire},
    *,
};
use bailiwick_platform::Secret;
use bailiwick_testkit::{Reply, Settings};

const SECRET: &str = "0123456789abcdef0123456789abcdef";

fn with_secret(settings: &mut Settings) {
    generous(settings);
    settings.alerting.history_secret = Some(Secret::new(SECRET.to_owned()));
}

async fn deliver(t: &Test, body: impl Into<Vec<u8>>) -> Reply {
    let call = t.post("/api/alert_history").header("authorization", &format!("Bearer {SECRET}"));
    call.header("content-type", "application/json").body(body.into()).send().await
}

fn delivery(alerts: Value) -> String {
    json!({"receiver": "team", "status": "resolved", "alerts": alerts, "version": "4", "groupLabels": {}})
        .to_string()
}

api_test!(without_a_configured_secret_every_call_is_refused, |t| async move {
    for path in ["/alert_history", "/api/alert_history", "/collect/api/alert_history"] {
        let reply = t.post(path).header("authorization", "Bearer ").body("{}").send().await;
        reply.expect_message(503, "webhook authentication not configured");
    }
});

api_test!(only_calls_with_the_secret_are_read, |settings| with_secret(settings), |t| async move {
    let owner = t.owner().await;
    let wrong = format!("Bearer {}x", &SECRET[1..]);
    let bearer = format!("Bearer {}", owner.token);
    for header in
        [None, Some(SECRET), Some("Bearer"), Some("Bearer "), Some("Basic eDp5"), Some(&wrong), Some(&bearer)]
    {
        let mut call = t.post("/api/alert_history").body("not json");
        if let Some(header) = header {
            call = call.header("authorization", header);
        }
        let reply = call.send().await.expect_message(401, "authentication required");
        assert_eq!(reply.data(), Value::Null);
    }
    for body in [
        "",
        "{",
        "[]",
        "1",
        "{\"alerts\": 1}",
        "{\"alerts\": [1]}",
        "{} x",
        "{\"alerts\": [{\"labels\": {\"a\": 1}}]}",
    ] {
        let reply = deliver(&t, body).await.expect(400);
        assert!(reply.message().starts_with("invalid request body: "), "{body}: {}", reply.text());
    }
    let malformed = "invalid request body: malformed JSON: unexpected end of input at line 1 column 4";
    deliver(&t, "[1,").await.expect_message(400, malformed);
    let c = client(&t, t.tree().await.customer).await;
    let bad_time =
        |labels: Value, status: &str| json!({"status": status, "labels": labels, "endsAt": "yesterday"});
    let own = bad_time(json!({"alertname": "A", "system_key": c.system.key}), "resolved");
    let reply = deliver(&t, delivery(json!([own]))).await.expect(400);
    assert!(reply.message().starts_with("invalid request body: "));
    // Wrong times do no harm in alerts that are not kept anyway.
    let others = json!([
        bad_time(json!({"system_key": "x"}), "resolved"),
        bad_time(json!({"alertname": "A"}), "resolved"),
        bad_time(json!({"alertname": "A", "system_key": c.system.key}), "firing"),
        {"status": "resolved", "labels": {"alertname": "Kept", "system_key": c.system.key},
            "startsAt": timestamp(0), "endsAt": timestamp(9)},
    ]);
    deliver(&t, delivery(others)).await.expect(204);
    assert_eq!(rows(&t).await, ["Kept - resolved from 0 to 9 until - at 0, team"]);
    let many: Vec<Value> = (0..1001).map(|_| json!({})).collect();
    deliver(&t, delivery(json!(many))).await.expect_message(413, "too many alerts in payload");
    deliver(&t, vec![b' '; 1024 * 1024 + 1]).await.expect_message(413, "request body too large");
    for body in ["{}".to_owned(), "{\"alerts\": null}".to_owned(), delivery(json!([])), delivery(json!([{}]))]
    {
        let reply = deliver(&t, body).await.expect(204);
        assert!(reply.body.is_empty());
    }
});

api_test!(
    // Proves spec: alert-guarantees#guarantees 21.
    a_resolved_alert_is_stored_once_however_often_it_arrives,
    |settings| with_secret(settings),
    |t| async move {
        let tree = t.tree().await;
        let c = client(&t, tree.customer).await;
        fire(&c, &[json!({"alertname": "A", "severity": "critical"})]).await;
        let text = "SELECT CAST(labels AS TEXT) FROM alert_history";
        let (labels,): (String,) = Q::new(text).one(&t.app.platform.db).await.unwrap();
        let labels: Value = serde_json::from_str(&labels).unwrap();
        t.advance(MINUTE);
        let mut foreign = labels.clone();
        foreign["alertname"] = json!("B");
        foreign["organization_id"] = json!(tree.other_customer.to_string());
        let alerts = json!([
            {"status": "Resolved", "labels": labels, "startsAt": timestamp(0), "endsAt": timestamp(50),
                "fingerprint": "x",
                "annotations": {"summary": "told"}, "more": 1},
            {"status": "resolved", "labels": foreign, "startsAt": timestamp(-60),
                "endsAt": "0001-01-01T00:00:00Z"},
            {"status": "firing", "labels": {"alertname": "C", "system_key": c.system.key},
                "startsAt": timestamp(0)},
            {"status": "resolved", "labels": {"alertname": "D"}, "startsAt": timestamp(0),
                "endsAt": timestamp(9)},
            {"status": "resolved", "labels": {"alertname": "E", "system_key": "SYS-NONE"},
                "startsAt": timestamp(0), "endsAt": timestamp(9)},
        ]);
        for _ in 0..3 {
            deliver(&t, delivery(alerts.clone())).await.expect(204);
            let mut stored = rows(&t).await;
            stored.sort();
            let expected = [
                "A critical resolved from 0 to 50 until - at 60, team",
                "B critical resolved from -60 to - until - at 60, team",
            ];
            assert_eq!(stored, expected);
        }
        // The label does not decide the organization of the alert.
        assert_eq!(figures(&t, tree.customer).await, [2; 3]);
        assert_eq!(figures(&t, tree.other_customer).await[2], 0);
    }
);

api_test!(a_failing_database_makes_the_router_retry, |settings| with_secret(settings), |t| async move {
    let tree = t.tree().await;
    let c = client(&t, tree.customer).await;
    let mut tx = t.app.platform.db.begin().await.unwrap();
    Q::new("ALTER TABLE alert_history RENAME TO gone").run(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    let alerts = json!([{"status": "resolved", "labels": {"system_key": c.system.key},
            "startsAt": timestamp(0), "endsAt": timestamp(1)}]);
    deliver(&t, delivery(alerts)).await.expect_message(500, "failed to save alert history");
});

// The router has the same start as the history, so its later messages are about the same occurrence.
// Proves spec: alert-guarantees#guarantees 21.
api_test!(an_alert_without_a_start_is_kept_once, |t| async move {
    let upstream = obliging().await;
    let p = remote(&t, &upstream.url(), RouterKind::Mimir, with_secret).await;
    let c = client(&p, p.tree().await.customer).await;
    let sent = || upstream.take().pop().unwrap().json().unwrap()[0].clone();
    fire(&c, &[json!({"alertname": "A"})]).await;
    let first = sent();
    assert_eq!(first["startsAt"], timestamp(0));
    p.advance(MINUTE);
    fire(&c, &[json!({"alertname": "A"})]).await;
    // A router keeps the earlier start while an alert goes on.
    assert_eq!(sent()["startsAt"], timestamp(60));
    p.advance(MINUTE);
    let over = json!([{"labels": {"alertname": "A"}, "endsAt": timestamp(120)}]);
    c.push(&over.to_string()).await.expect(200);
    written(&p).await;
    let resolved = |alert: &Value, start: i64, end: i64| {
        json!([{"status": "resolved",
        "labels": alert["labels"], "startsAt": timestamp(start), "endsAt": timestamp(end)}])
    };
    deliver(&p, delivery(resolved(&first, 0, 120))).await.expect(204);
    assert_eq!(rows(&p).await, ["A - resolved from 0 to 120 until - at 120, team"]);
    // If an alert only has an end, a router takes it for the start, too.
    let ends = json!([{"labels": {"alertname": "B"}, "endsAt": timestamp(300)}]);
    c.push(&ends.to_string()).await.expect(200);
    written(&p).await;
    let second = upstream.take().pop().unwrap().json().unwrap()[0].clone();
    assert_eq!((&second["startsAt"], &second["endsAt"]), (&json!(timestamp(300)), &json!(timestamp(300))));
    p.advance(10 * MINUTE);
    alerts::sweep_history(&p.app.alerts).await.unwrap();
    deliver(&p, delivery(resolved(&second, 300, 300))).await.expect(204);
    let mut stored = rows(&p).await;
    stored.sort();
    let expected = [
        "A - resolved from 0 to 120 until - at 120, team",
        "B - resolved from 120 to 300 until - at 720, team",
    ];
    assert_eq!(stored, expected);
});
