//! Alerts and silences (spec: alerts, silences, alerts-of-organizations).

use crate::proxy::{Client, generous};
use bailiwick_policy::KeyMode;
use bailiwick_testkit::{Call, Engine, Reply, Test, api_test, engine};
use serde_json::{Value, json};
use std::time::Duration;

/// A silence with these matchers from now on for an hour.
fn silence(t: &Test, matchers: Value) -> Value {
    let now = t.app.platform.now();
    json!({"matchers": matchers, "startsAt": now.rfc3339(0), "endsAt": now.plus(Duration::from_secs(3600)).rfc3339(0),
        "createdBy": "me", "comment": "c"})
}

fn regex(name: &str, value: &str) -> Value {
    json!({"name": name, "value": value, "isRegex": true})
}

fn id(reply: Reply) -> String {
    reply.expect(200).json()["silenceID"].as_str().unwrap().to_owned()
}

api_test!(every_date_time_of_an_alertmanager_is_read, |s| generous(s), |t| async move {
    let c = Client::new(&t).await;
    for (n, (text, expected)) in [
        ("2026-03-04T12:00:00", Some("2026-03-04T12:00:00.000Z")),
        ("2026-03-04T12:00:00.123456", Some("2026-03-04T12:00:00.123Z")),
        ("2026-03-04T12:00:00,5", Some("2026-03-04T12:00:00.500Z")),
        ("2026-03-04T12:00:00.5Z", Some("2026-03-04T12:00:00.500Z")),
        ("2026-03-04T12:00:00+00:30", Some("2026-03-04T11:30:00.000Z")),
        ("2026-03-04T12:00Z", Some("2026-03-04T12:00:00.000Z")),
        ("2026-03-04T12:00", Some("2026-03-04T12:00:00.000Z")),
        ("2026-03-05T9:00:00Z", Some("2026-03-05T09:00:00.000Z")),
        ("2026-03-04 12:00:00", Some("2026-03-04T12:00:00.000Z")),
        ("2026-03-04 12:00:00.25", Some("2026-03-04T12:00:00.250Z")),
        ("2026-03-05", Some("2026-03-05T00:00:00.000Z")),
        ("2026-03-04 12:00:00Z", None),
        ("2026-03-04 12:00", None),
        ("2026-03-04T12:00+01:00", None),
        ("1772625600", None),
        ("Wed, 04 Mar 2026 12:00:00 GMT", None),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("A{n}");
        let pushed = c.push(&json!([{"labels": {"alertname": name}, "endsAt": text}]).to_string()).await;
        let mut body = silence(&t, json!([{"name": "alertname", "value": name, "isRegex": false}]));
        (body["startsAt"], body["endsAt"]) = (json!(text), json!("2026-03-06T00:00:00"));
        let silenced = c.silence(&body.to_string()).await;
        let Some(expected) = expected else {
            assert!(pushed.expect(400).text().contains("not a date-time"), "{text}");
            assert!(silenced.expect(400).text().contains("not a date-time"), "{text}");
            continue;
        };
        pushed.expect(200);
        let listed = c.get(&format!("/api/v2/alerts?filter=alertname%3D{name}")).await.expect(200).json();
        assert_eq!(listed[0]["endsAt"], expected, "{text}");
        let one = c.get(&format!("/api/v2/silence/{}", id(silenced))).await.expect(200).json();
        assert_eq!(
            (&one["startsAt"], &one["endsAt"]),
            (&json!(expected), &json!("2026-03-06T00:00:00.000Z")),
            "{text}"
        );
    }
});

api_test!(only_equal_matchers_must_not_match_the_empty_text, |s| generous(s), |t| async move {
    let c = Client::new(&t).await;
    let matcher = |value: &str, is_regex: bool, is_equal: bool| json!([{"name": "severity", "value": value, "isRegex": is_regex, "isEqual": is_equal}]);
    for (value, is_regex, is_equal, is_taken) in [
        ("critical", false, false, true),
        ("", false, false, true),
        ("a|b", true, false, true),
        (".+", true, false, true),
        ("critical", false, true, true),
        ("a|b", true, true, true),
        ("", false, true, false),
        (".*", true, true, false),
        ("a?", true, true, false),
    ] {
        let matchers = matcher(value, is_regex, is_equal);
        let reply = c.silence(&silence(&t, matchers.clone()).to_string()).await;
        if !is_taken {
            let text =
                "\"invalid silence: matcher set 0: at least one matcher must not match the empty string\"\n";
            assert_eq!(reply.expect(400).text(), text, "{matchers}");
            continue;
        }
        // It stays one of this system.
        let one = c.get(&format!("/api/v2/silence/{}", id(reply))).await.expect(200).json();
        let own = json!({"name": "system_key", "value": c.system.key, "isRegex": false, "isEqual": true});
        assert_eq!(one["matchers"].as_array().unwrap().last(), Some(&own), "{matchers}");
    }
});

api_test!(a_start_in_the_past_means_now, |s| generous(s), |t| async move {
    let c = Client::new(&t).await;
    for start in
        ["0001-01-01T00:00:00Z", "", "1970-01-01", "2020-02-29T12:00:00+01:00", "2026-03-04T09:59:59Z"]
    {
        let mut body = silence(&t, json!([regex("a", "b|c")]));
        body["startsAt"] = json!(start);
        let one = c.get(&format!("/api/v2/silence/{}", id(c.silence(&body.to_string()).await))).await;
        let one = one.expect(200).json();
        assert_eq!(one["startsAt"], "2026-03-04T10:00:00.000Z", "{start}");
        assert_eq!(one["status"]["state"], "active", "{start}");
    }
    let mut body = silence(&t, json!([regex("a", "b")]));
    (body["startsAt"], body["endsAt"]) = (json!("0001-01-01T00:00:00Z"), json!("2027-03-06T10:00:00Z"));
    let text = "\"Failed to create silence: duration exceeds the maximum\"\n";
    assert_eq!(c.silence(&body.to_string()).await.expect(400).text(), text);
});

api_test!(a_fault_of_one_alert_loses_no_other, |s| generous(s), |t| async move {
    let c = Client::new(&t).await;
    let good = |name: &str| format!(r#"{{"labels":{{"alertname":"{name}"}}}}"#).into_bytes();
    // The text of a refusal, and whether the other alert is stored too.
    for (n, (other, refusal)) in [
        (br#"{"labels":{"alertname":"Half","x":"a\udce8b"}}"#.to_vec(), None),
        (
            br#"{"labels":{"alertname":"Halves","x":"\ud83d"},"annotations":{"s":"\udc00\ud800"}}"#.to_vec(),
            None,
        ),
        (b"{\"labels\":{\"alertname\":\"Latin\",\"x\":\"Societ\xe0\"}}".to_vec(), None),
        (br#"{"labels":{"alertname":"Twice","x":"1","x":"2"}}"#.to_vec(), Some("duplicate key \\\"x\\\"")),
        (br#"{"labels":{"alertname":"TwiceUp"},"labels":{}}"#.to_vec(), Some("duplicate key \\\"labels\\\"")),
        (br#"{"labels":{"bad-name":"x"}}"#.to_vec(), Some("invalid name \\\"bad-name\\\"")),
        (br#"{"labels":{"a":"b"},"endsAt":"2020-01-01"}"#.to_vec(), None),
    ]
    .into_iter()
    .enumerate()
    {
        let (before, after) = (format!("Before{n}"), format!("After{n}"));
        let body =
            [b"[".to_vec(), good(&before), b",".to_vec(), other, b",".to_vec(), good(&after), b"]".to_vec()];
        let reply = c.post("/api/v2/alerts", body.concat()).await;
        match refusal {
            None => drop(reply.expect(200)),
            Some(part) => {
                let text = reply.expect(400).text();
                assert!(text.contains(part), "{text}");
            }
        }
        for name in [before, after] {
            assert_eq!(
                c.alert_names(&format!("?filter=alertname%3D{name}")).await,
                std::slice::from_ref(&name)
            );
        }
    }
    let value = async |name: &str, key: &str| {
        let listed = c.get(&format!("/api/v2/alerts?filter=alertname%3D{name}")).await.expect(200).json();
        listed[0][key].clone()
    };
    assert_eq!(value("Half", "labels").await["x"], "a\u{fffd}b");
    assert_eq!(value("Halves", "annotations").await["s"], "\u{fffd}\u{fffd}");
    assert_eq!(value("Latin", "labels").await["x"], "Societ\u{fffd}");
    assert_eq!(c.alert_names("?filter=alertname%3D~Twice.*").await, [""; 0]);
    // A silence is read alike.
    let mut body = silence(&t, json!([regex("a", "b")]));
    body["comment"] = json!("HALF");
    let body = body.to_string().replace("HALF", r"x\ud800");
    let one = c.get(&format!("/api/v2/silence/{}", id(c.silence(&body).await))).await.expect(200).json();
    assert_eq!(one["comment"], "x\u{fffd}");
});

/// A request of a person's tool.
fn by_tool(t: &Test, key: &str, method: &str, path: &str) -> Call {
    t.call(method.parse().unwrap(), &format!("/api/organizations/{path}")).basic("tool", key)
}

api_test!(tools_of_people_find_the_one_metric, |s| generous(s), |t| async move {
    let tree = t.tree().await;
    let c = Client { test: &t, system: t.system(tree.customer).await };
    let reader = t.user(tree.distributor, &["reader"]).await;
    let (_, key) = t.api_key(reader.id, KeyMode::Read).await;
    let metric = "alertmanager_build_info{version=\"0.34.0\"} 1\n";
    let own = c.call("GET", "/metrics").header("accept", "text/plain").send().await.expect(200);
    assert!(own.text().ends_with(metric), "{}", own.text());
    for place in ["alertmanager", "tree/alertmanager"] {
        let path = format!("{}/{place}/metrics", tree.customer);
        for path in [path.clone(), format!("{path}/")] {
            let accept = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5";
            let reply = by_tool(&t, &key, "GET", &path).header("accept", accept).send().await.expect(200);
            assert_eq!(reply.text(), own.text());
            assert_eq!(reply.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
        }
        let wrong = by_tool(&t, &key, "POST", &path).send().await.expect(405);
        assert_eq!(wrong.header("allow"), Some("GET"));
        t.get(&format!("/api/organizations/{path}")).send().await.expect(401);
        let foreign = by_tool(&t, &key, "GET", &format!("{}/{place}/metrics", tree.other_customer));
        foreign.send().await.expect_message(404, "organization not found");
    }
});

api_test!(a_tool_ends_all_silences_of_a_system_at_once, |t| async move {
    let tree = t.tree().await;
    let c = Client { test: &t, system: t.system(tree.customer).await };
    let support = t.user(tree.customer, &["support"]).await;
    let (_, key) = t.api_key(support.id, KeyMode::Write).await;
    let all = t.app.settings.alerting.limits.silences_per_system;
    let fill = async || {
        let mut ids = Vec::new();
        for n in 0..all {
            // So many are not made at once.
            t.advance(Duration::from_secs(1));
            ids.push(id(c.silence(&silence(&t, json!([regex("n", &n.to_string())])).to_string()).await));
        }
        ids
    };
    for by_person in [false, true] {
        let end = |id: &str| match by_person {
            false => c.call("DELETE", &format!("/api/v2/silence/{id}")),
            true => {
                by_tool(&t, &key, "DELETE", &format!("{}/alertmanager/api/v2/silence/{id}", tree.customer))
            }
        };
        let ids = fill().await;
        for id in &ids {
            end(id).send().await.expect(200);
        }
        let beyond = end(&ids[0]).send().await.expect_message(429, "rate limit exceeded");
        assert!(beyond.header("retry-after").is_some());
        let reason = beyond.data()["reason"].as_str().unwrap_or_default().to_owned();
        assert!(reason.starts_with("too many requests with one credential in a short time"), "{reason}");
        assert_eq!(c.get("/api/v2/silences?expired=false").await.expect(200).json(), json!([]));
        t.advance(Duration::from_secs(3600));
    }
});

api_test!(
    expressions_have_a_budget,
    |s| {
        generous(s);
        s.alerting.limits.compiled_per_system = 256 * 1024;
        s.alerting.limits.compiled_per_tenant = 384 * 1024;
    },
    |t| async move {
        let tree = t.tree().await;
        let one = Client { test: &t, system: t.system(tree.customer).await };
        let other = Client { test: &t, system: t.system(tree.customer).await };
        // One silence.
        let many: Vec<Value> = (0..31).map(|n| regex(&format!("l{n}"), &format!(r"\PL{{12}}|{n}"))).collect();
        let text = one.silence(&silence(&t, json!(many)).to_string()).await.expect(400).text();
        let expected = "\"silence exceeds the size limit: its regular expressions are too complex; use shorter ones, or matchers with =\"\n";
        assert_eq!(text, expected);
        // All of a system, then all of its organization.
        let fill = async |c: &Client<'_>| {
            let mut ids = Vec::new();
            loop {
                let body = silence(&t, json!([regex("a", &format!("[a-f]{{{}}}", 100 + ids.len()))]));
                let reply = c.silence(&body.to_string()).await;
                if reply.status.as_u16() != 200 {
                    return (ids, reply.expect(400).text());
                }
                ids.push(id(reply));
            }
        };
        let beyond = |whose: &str| {
            format!(
                "\"the regular expressions of all silences of this {whose} are too complex: end some silences, or use matchers with =\"\n"
            )
        };
        let (ids, text) = fill(&one).await;
        assert_eq!(text, beyond("system"));
        let (others, text) = fill(&other).await;
        assert_eq!(text, beyond("organization"));
        assert!(others.len() < ids.len() && ids.len() < 100, "{} and {}", ids.len(), others.len());
        // Literal ones, and ones that grow no larger, are as welcome as before; an ended one gives its share back.
        one.silence(&silence(&t, json!([{"name": "a", "value": "b", "isRegex": false}])).to_string())
            .await
            .expect(200);
        let mut smaller = silence(&t, json!([regex("a", "[a-f]{50}")]));
        smaller["id"] = json!(ids[0]);
        one.silence(&smaller.to_string()).await.expect(200);
        let mut larger = silence(&t, json!([regex("a", "[a-f]{400}"), regex("b", "[a-f]{400}")]));
        larger["id"] = json!(ids[2]);
        assert_eq!(one.silence(&larger.to_string()).await.expect(400).text(), beyond("system"));
        one.delete(&format!("/api/v2/silence/{}", ids[1])).await.expect(200);
        one.silence(&silence(&t, json!([regex("a", "[a-f]{90}")])).to_string()).await.expect(200);
        // The filters of a query have the budget of a silence.
        let filters: Vec<String> = (0..8).map(|n| format!("filter=a%3D~%5CPL%7B12%7D%7C{n}")).collect();
        for path in ["alerts", "alerts/groups", "silences"] {
            let reply = one.get(&format!("/api/v2/{path}?{}", filters.join("&"))).await.expect(400);
            assert_eq!(reply.text(), "\"filter exceeds the size limit\"\n", "{path}");
        }
    }
);

api_test!(
    silences_from_before_the_budget_stay_in_force,
    |s| {
        generous(s);
        s.alerting.limits.content.compiled_bytes = usize::MAX;
        s.alerting.limits.compiled_per_system = usize::MAX;
        s.alerting.limits.compiled_per_tenant = usize::MAX;
    },
    |t| async move {
        let c = Client::new(&t).await;
        let large: Vec<Value> = (0..3).map(|n| regex("a", &format!(r"\PL{{12}}|x{n}|.+"))).collect();
        let made = id(c.silence(&silence(&t, json!(large)).to_string()).await);
        c.push(r#"[{"labels":{"alertname":"A","a":"z"}}]"#).await.expect(200);
        let small = t.replica_with(|s| {
            s.alerting.limits.content.compiled_bytes = 64 * 1024;
            s.alerting.limits.compiled_per_system = 64 * 1024;
        });
        let small = small.await;
        let now = Client { test: &small, system: c.system.clone() };
        let listed = now.get("/api/v2/alerts").await.expect(200).json();
        assert_eq!(listed[0]["status"]["silencedBy"], json!([made]));
        let reader = t.owner().await;
        let list = |status: &str| small.get(&format!("/api/alerts?status={status}")).bearer(&reader.token);
        assert_eq!(list("suppressed").send().await.expect(200).data()["pagination"]["total_count"], 1);
        assert_eq!(list("active").send().await.expect(200).data()["pagination"]["total_count"], 0);
        let fingerprint = listed[0]["fingerprint"].as_str().unwrap();
        let again = small
            .post(&format!("/api/systems/{}/alerts/silences", c.system.id))
            .bearer(&reader.token)
            .json(json!({"fingerprint": fingerprint}));
        again.send().await.expect_message(400, "alert is already silenced");
        // A person may change its end; it can be ended.
        let end = small.app.platform.now().plus(Duration::from_secs(7200)).rfc3339(0);
        let change =
            small.put(&format!("/api/systems/{}/alerts/silences/{made}", c.system.id)).bearer(&reader.token);
        change.json(json!({"end_at": end})).send().await.expect(200);
        now.delete(&format!("/api/v2/silence/{made}")).await.expect(200);
        let listed = now.get("/api/v2/alerts").await.expect(200).json();
        assert_eq!(listed[0]["status"]["state"], "active");
    }
);

// One thread serves everything here, and the one for long work is taken: a list that is judged there waits for it, and all
// others are served meanwhile. One that was judged by the serving thread would be answered.
#[test]
fn judging_does_not_keep_the_thread_that_serves_others() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(1).build();
    runtime.unwrap().block_on(async {
        judged_beside(false).await;
        judged_beside(true).await;
    });
}

async fn judged_beside(by_person: bool) {
    let mut settings = engine::settings();
    generous(&mut settings);
    let t = Test::with(Engine::Sqlite, settings).await;
    let owner = t.owner().await;
    let c = Client::new(&t).await;
    c.push(r#"[{"labels":{"alertname":"A","a":"z"}}]"#).await.expect(200);
    id(c.silence(&silence(&t, json!([regex("a", "z|.+")])).to_string()).await);
    let list = async || match by_person {
        false => c.get("/api/v2/alerts").await,
        true => t.get("/api/alerts?status=suppressed").bearer(&owner.token).send().await,
    };
    let (release, released) = std::sync::mpsc::channel::<()>();
    let taken = tokio::task::spawn_blocking(move || released.recv().is_err());
    let mut listed = std::pin::pin!(list());
    let others = async {
        for _ in 0..50 {
            t.get("/api/users").bearer(&owner.token).send().await.expect(200);
        }
    };
    tokio::select! {
        biased;
        _ = &mut listed => panic!("judged by the serving thread, by person: {by_person}"),
        () = others => {}
    }
    drop(release);
    assert!(taken.await.unwrap());
    assert!(listed.await.expect(200).text().contains("\"A\""));
}
