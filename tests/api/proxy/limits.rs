//! Sizes, rates and quotas (spec: alerts#limits).

use super::*;
use bailiwick_testkit::api_test;
use flate2::{Compression, write::GzEncoder};
use futures_util::future::join_all;
use serde_json::json;
use std::{io::Write, time::Duration};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

async fn push_gzip(system: &Client<'_>, body: Vec<u8>) -> Reply {
    let call = system.call("POST", "/api/v2/alerts").header("content-type", "application/json");
    call.header("content-encoding", "gzip").body(body).send().await
}

// Proves spec: alert-guarantees#guarantees 24.
api_test!(requests_of_one_system_have_a_burst_and_a_rate, |t| async move {
    let tree = t.tree().await;
    let system = Client { test: &t, system: t.system(tree.customer).await };
    let other = Client { test: &t, system: t.system(tree.customer).await };
    for _ in 0..50 {
        system.get("/api/v2/status").await.expect(200);
    }
    // Also what would be a 404.
    for path in ["/api/v2/status", "/api/v2/alerts", "/api/v2/nope", "/api/v1/x", "/metrics"] {
        let reply = system.get(path).await.expect_message(429, "rate limit exceeded");
        assert_eq!(reply.header("retry-after"), Some("1"));
        assert!(reply.json()["data"]["reason"].is_string(), "{}", reply.text());
    }
    other.get("/api/v2/status").await.expect(200);
    t.advance(Duration::from_secs(1));
    for _ in 0..10 {
        system.get("/api/v2/status").await.expect(200);
    }
    system.get("/api/v2/status").await.expect(429);
});

api_test!(
    bodies_are_bounded_before_and_after_decoding,
    |s| s.alerting.limits.body_bytes = 4000,
    |t| async move {
        let system = Client::new(&t).await;
        let alert =
            |text: &str| json!([{"labels": {"alertname": "A"}, "annotations": {"a": text}}]).to_string();
        let text = "x".repeat(4000);
        for path in ["/api/v2/alerts", "/api/v2/silences"] {
            system.post(path, alert(&text)).await.expect_message(413, "request body too large");
        }
        // Small on the way, large when decoded; and a large one that decodes to nothing.
        push_gzip(&system, gzip(alert(&text).as_bytes())).await.expect_message(413, "request body too large");
        push_gzip(&system, gzip(&vec![b' '; 50_000_000])).await.expect_message(413, "request body too large");
        push_gzip(&system, gzip(b"").repeat(300)).await.expect_message(413, "request body too large");
        push_gzip(&system, gzip(alert("fine").as_bytes())).await.expect(200);
        assert_eq!(system.alert_names("").await, ["A"]);
        let whole = gzip(alert("cut").as_bytes());
        for broken in [b"not gzip".to_vec(), whole[..whole.len() - 5].to_vec(), Vec::new()] {
            let reply = push_gzip(&system, broken).await;
            assert!(matches!(reply.status.as_u16(), 400 | 422), "{}", reply.text());
        }
    }
);

api_test!(alerts_have_a_size, |s| generous(s), |t| async move {
    let system = Client::new(&t).await;
    let too_many = json!(vec![json!({"labels": {"alertname": "A"}}); 2001]).to_string();
    system.push(&too_many).await.expect_message(413, "request body too large");
    let labels = |n: usize| (0..n).map(|i| (format!("l{i}"), json!("x"))).collect::<serde_json::Map<_, _>>();
    for (alert, fits) in [
        (json!({"labels": labels(64)}), true),
        (json!({"labels": labels(65)}), false),
        (json!({"labels": {"a".repeat(128): "x"}}), true),
        (json!({"labels": {"a".repeat(129): "x"}}), false),
        (json!({"labels": {"a": "x".repeat(4096)}}), true),
        (json!({"labels": {"a": "x".repeat(4097)}}), false),
        (json!({"labels": {"a": "1"}, "annotations": labels(65)}), false),
        (json!({"labels": {"a": "1"}, "annotations": {"a": "x".repeat(16 * 1024)}}), true),
        (json!({"labels": {"a": "1"}, "annotations": {"a": "x".repeat(16 * 1024 + 1)}}), false),
        (json!({"labels": {"a": "1"}, "annotations": {"a": "{{ .system_key }}".repeat(900)}}), false),
        (json!({"labels": {"a": "1"}, "generatorURL": format!("http://x/{}", "y".repeat(65 * 1024))}), false),
    ] {
        let reply = system.push(&json!([alert]).to_string()).await;
        if fits {
            reply.expect(200);
        } else {
            assert_eq!(reply.expect(400).text(), "\"alert exceeds the size limit\"\n");
        }
    }
});

/// Alerts with these numbers, all with `more`.
pub(super) fn batch(names: std::ops::Range<usize>, more: &str) -> String {
    let alerts = names.map(|n| format!(r#"{{"labels":{{"alertname":"A{n:03}"}}{more}}}"#));
    format!("[{}]", alerts.collect::<Vec<_>>().join(","))
}

api_test!(
    // Proves spec: alert-guarantees#guarantees 24.
    new_alerts_are_bounded_refreshes_and_resolves_pass,
    |s| {
        generous(s);
        s.alerting.limits.alerts_per_system = 10;
        s.alerting.limits.alerts_per_tenant = 15;
    },
    |t| async move {
        let tree = t.tree().await;
        let system = Client { test: &t, system: t.system(tree.customer).await };
        let other = Client { test: &t, system: t.system(tree.customer).await };
        let elsewhere = Client { test: &t, system: t.system(tree.other_customer).await };
        system.push(&batch(0..8, "")).await.expect(200);
        // Two of these are new and still fit; the others of the batch are stored all the same.
        let reply = system.push(&batch(4..12, "")).await.expect_message(429, "alert limit exceeded");
        assert!(reply.header("retry-after").is_some());
        assert_eq!(system.alert_names("").await.len(), 10);
        system.push(&batch(0..10, "")).await.expect(200);
        system.push(&batch(10..11, r#","endsAt":"2026-03-04T09:00:00Z""#)).await.expect(200);
        // An error in a request comes before the refusal of too many alerts.
        let both = batch(10..11, "").replace(']', r#",{"labels":{}}]"#);
        assert_eq!(system.push(&both).await.expect(400).text(), "\"at least one label pair required\"\n");
        // The tenant's limit, which is not another tenant's.
        other.push(&batch(0..5, "")).await.expect(200);
        other.push(&batch(5..6, "")).await.expect_message(429, "alert limit exceeded");
        elsewhere.push(&batch(0..10, "")).await.expect(200);
        // A resolve makes room.
        system.push(&batch(0..1, r#","endsAt":"2026-03-04T10:00:00Z""#)).await.expect(200);
        other.push(&batch(5..6, "")).await.expect(200);
        t.advance(Duration::from_secs(7 * 3600));
        system.push(&batch(20..30, "")).await.expect(200);
    }
);

api_test!(
    // Proves spec: alert-guarantees#guarantees 24.
    pushes_that_share_a_commit_share_their_limits,
    |s| {
        generous(s);
        s.alerting.limits.in_flight_per_system = 100;
        s.alerting.limits.alerts_per_system = 10;
        s.alerting.limits.alerts_per_tenant = 15;
    },
    |t| async move {
        let tree = t.tree().await;
        let mut systems = Vec::new();
        for home in [tree.customer, tree.customer, tree.other_customer] {
            systems.push(Client { test: &t, system: t.system(home).await });
        }
        let systems = &systems;
        let bodies: Vec<String> = (0..12).map(|n| batch(n..n + 1, "")).collect();
        let pushes = bodies.iter().flat_map(|body| {
            (0..3).map(move |which| async move { (which, systems[which].push(body).await) })
        });
        let mut taken = [0; 3];
        for (which, reply) in join_all(pushes).await {
            match reply.status.as_u16() {
                200 => taken[which] += 1,
                _ => drop(reply.expect_message(429, "alert limit exceeded")),
            }
        }
        let [one, other, elsewhere] = taken;
        assert!(one <= 10 && other <= 10 && one + other == 15 && elsewhere == 10, "{taken:?}");
        for (system, taken) in systems.iter().zip(taken) {
            assert_eq!(system.alert_names("").await.len(), taken);
        }
        // The end of an alert makes room for the alerts behind it in the same push, and for itself.
        let full = &systems[2];
        let names = full.alert_names("").await;
        let over = r#""endsAt":"2026-03-04T09:59:59Z""#;
        let fires = |name: &str| format!(r#"{{"labels":{{"alertname":"{name}"}}}}"#);
        let ends = |name: &str| format!(r#"{{"labels":{{"alertname":"{name}"}},{over}}}"#);
        let [first, second] = [&names[0], &names[1]];
        full.push(&format!("[{},{}]", ends(first), fires("New"))).await.expect(200);
        full.push(&format!("[{},{}]", ends(second), fires(second))).await.expect(200);
        full.push(&format!("[{}]", fires(first))).await.expect_message(429, "alert limit exceeded");
        assert_eq!(full.alert_names("").await.len(), 10);
    }
);

/// A silence of its own with this value.
pub(super) fn silence(value: &str) -> String {
    format!(
        r#"{{"matchers":[{{"name":"a","value":"{value}","isRegex":false}}],"startsAt":"2026-03-04T10:00:00Z",
        "endsAt":"2026-03-04T12:00:00Z","createdBy":"me","comment":"c"}}"#
    )
}

api_test!(
    // Proves spec: alert-guarantees#guarantees 24.
    silences_in_force_are_bounded,
    |s| {
        generous(s);
        s.alerting.limits.silences_per_system = 2;
        s.alerting.limits.silences_per_tenant = 3;
    },
    |t| async move {
        let tree = t.tree().await;
        let system = Client { test: &t, system: t.system(tree.customer).await };
        let other = Client { test: &t, system: t.system(tree.customer).await };
        system.silence(&silence("1")).await.expect(200);
        let id =
            system.silence(&silence("2")).await.expect(200).json()["silenceID"].as_str().unwrap().to_owned();
        let reply = system.silence(&silence("3")).await.expect_message(429, "silence limit exceeded");
        assert!(reply.header("retry-after").is_some());
        // Replacing one is not one more.
        let update = silence("4").replacen('{', &format!("{{\"id\":\"{id}\","), 1);
        let new = system.silence(&update).await.expect(200).json()["silenceID"].as_str().unwrap().to_owned();
        assert_ne!(new, id);
        other.silence(&silence("1")).await.expect(200);
        other.silence(&silence("2")).await.expect_message(429, "silence limit exceeded");
        system.delete(&format!("/api/v2/silence/{new}")).await.expect(200);
        other.silence(&silence("2")).await.expect(200);
    }
);

api_test!(
    a_silence_may_be_changed_however_often_it_was,
    |s| {
        generous(s);
        s.alerting.limits.silences_per_system = 1;
    },
    |t| async move {
        let system = Client::new(&t).await;
        let id = |reply: Reply| reply.expect(200).json()["silenceID"].as_str().unwrap().to_owned();
        let first = id(system.silence(&silence("0")).await);
        let mut last = first.clone();
        // Each makes a new one of it, as the values differ; twenty of a system are kept.
        for n in 1..25 {
            t.advance(Duration::from_secs(1));
            let update = silence(&n.to_string()).replacen('{', &format!("{{\"id\":\"{last}\","), 1);
            last = id(system.silence(&update).await);
        }
        let listed = system.get("/api/v2/silences").await.expect(200).json();
        let (all, in_force) =
            (listed.as_array().unwrap(), |s: &&serde_json::Value| s["status"]["state"] == "active");
        assert_eq!((all.len(), all.iter().filter(in_force).count()), (20, 1));
        system.get(&format!("/api/v2/silence/{first}")).await.expect(404);
        assert_eq!(
            system.get(&format!("/api/v2/silence/{last}")).await.expect(200).json()["status"]["state"],
            "active"
        );
        // One that is over and has been removed is replaced by none.
        system.silence(&silence("x")).await.expect_message(429, "silence limit exceeded");
        system.delete(&format!("/api/v2/silence/{last}")).await.expect(200);
        system.silence(&silence("x")).await.expect(200);
        let listed = system.get("/api/v2/silences").await.expect(200).json();
        assert_eq!(listed.as_array().unwrap().len(), 20);
    }
);

api_test!(silences_and_expressions_have_a_size, |s| generous(s), |t| async move {
    let system = Client::new(&t).await;
    let with = |matchers: String| {
        silence("x").replace(r#"[{"name":"a","value":"x","isRegex":false}]"#, &format!("[{matchers}]"))
    };
    let regex = |value: &str| format!(r#"{{"name":"a","value":"{value}","isRegex":true}}"#);
    system.silence(&with(vec![regex("x"); 32].join(","))).await.expect(200);
    system.silence(&with(regex(&"x".repeat(1024)))).await.expect(200);
    for matchers in [
        vec![regex("x"); 33].join(","),
        regex(&"x".repeat(1025)),
        // Short, but its compiled form is not.
        regex("((x{100}){100}){100}"),
    ] {
        let reply = system.silence(&with(matchers.clone())).await.expect(400);
        let text = reply.text();
        assert!(
            text.contains("exceeds the size limit") || text.contains("invalid repeat"),
            "{matchers}: {text}"
        );
    }
});
