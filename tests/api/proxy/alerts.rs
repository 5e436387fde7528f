//! Pushing and listing alerts (spec: alerts#push, alerts#identity-labels, alerts#answers, alert-router#ingest,
//! alert-router#listing).

use super::*;
use bailiwick_testkit::api_test;
use serde_json::{Value, json};
use std::time::Duration;

/// Every row of the table of spec: alerts#push but the good one: body, status, answer. `…` is a detail of the parser.
const REFUSALS: &[(&str, u16, &str)] = &[
    ("", 422, r#"{"code":602,"message":"alerts in body is required"}"#),
    (" \n", 422, r#"{"code":602,"message":"alerts in body is required"}"#),
    ("{{{", 400, r#"{"code":400,"message":"parsing alerts body from \"\" failed, because …"}"#),
    (
        r#"{"labels":{"alertname":"A"}}"#,
        400,
        r#"{"code":400,"message":"parsing alerts body from \"\" failed, because …"}"#,
    ),
    (
        r#"[{"labels":{"alertname":"B","n":3}}]"#,
        400,
        r#"{"code":400,"message":"parsing alerts body from \"\" failed, because …"}"#,
    ),
    (
        r#"[{"labels":{"alertname":"B"},"startsAt":"yesterday"}]"#,
        400,
        r#"{"code":400,"message":"parsing alerts body from \"\" failed, because …"}"#,
    ),
    (
        r#"[{"labels":{"alertname":"B"},"annotations":[]}]"#,
        400,
        r#"{"code":400,"message":"parsing alerts body from \"\" failed, because …"}"#,
    ),
    ("[1]", 400, r#"{"code":400,"message":"parsing alerts body from \"\" failed, because …"}"#),
    ("[[]]", 400, r#"{"code":400,"message":"parsing alerts body from \"\" failed, because …"}"#),
    ("[{}]", 422, r#"{"code":602,"message":"0.labels in body is required"}"#),
    ("[null]", 422, r#"{"code":602,"message":"0.labels in body is required"}"#),
    (
        r#"[{"labels":{"alertname":"Good"}},{"labels":null}]"#,
        422,
        r#"{"code":602,"message":"1.labels in body is required"}"#,
    ),
    (
        r#"[{"labels":{"alertname":"B"},"generatorURL":"::not a url"}]"#,
        422,
        r#"{"code":601,"message":"0.generatorURL in body must be of type uri: \"::not a url\""}"#,
    ),
    (r#"[{"labels":{}}]"#, 400, "\"at least one label pair required\"\n"),
    (
        r#"[{"labels":{"x":"","system_key":"other","system_name":"x"}}]"#,
        400,
        "\"at least one label pair required\"\n",
    ),
    (
        r#"[{"labels":{"bad-name":"x","alertname":"B"}}]"#,
        400,
        "\"invalid label set: invalid name \\\"bad-name\\\"\"\n",
    ),
    (r#"[{"labels":{"":"x","alertname":"B"}}]"#, 400, "\"invalid label set: invalid name \\\"\\\"\"\n"),
    (
        r#"[{"labels":{"alertname":"B"},"annotations":{"a-b":"x"}}]"#,
        400,
        "\"invalid annotations: invalid name \\\"a-b\\\"\"\n",
    ),
    (
        r#"[{"labels":{"alertname":"B"},"startsAt":"2030-01-02T00:00:00Z","endsAt":"2030-01-01T00:00:00Z"}]"#,
        400,
        "\"start time must be before end time\"\n",
    ),
];

/// `…` in the expected text stands for anything.
fn is_like(expected: &str, got: &str) -> bool {
    match expected.split_once('…') {
        None => expected == got,
        Some((head, tail)) => {
            got.len() > head.len() + tail.len() && got.starts_with(head) && got.ends_with(tail)
        }
    }
}

api_test!(refusals_have_the_exact_bodies_and_store_nothing, |s| generous(s), |t| async move {
    let system = Client::new(&t).await;
    for (body, status, expected) in REFUSALS {
        let reply = system.push(body).await.expect(*status);
        assert!(is_like(expected, &reply.text()), "{body}: {}", reply.text());
        assert_eq!(reply.header("content-type"), Some("application/json"), "{body}");
    }
    assert_eq!(system.alert_names("").await, [""; 0]);
});

api_test!(nothing_to_store_is_fine, |t| async move {
    let system = Client::new(&t).await;
    for body in ["[]", "null", " [ ] \n"] {
        let reply = system.push(body).await.expect(200);
        assert!(reply.body.is_empty());
        assert_eq!(reply.header("content-type"), None);
    }
});

api_test!(the_good_alerts_of_a_batch_are_stored_and_all_bad_ones_are_named, |t| async move {
    let system = Client::new(&t).await;
    let reply = system
        .push(r#"[{"labels":{"a-b":"x"}},{"labels":{"alertname":"Good"}},{"labels":{"x":""}}]"#)
        .await
        .expect(400);
    assert_eq!(
        reply.text(),
        "\"invalid label set: invalid name \\\"a-b\\\"\\nat least one label pair required\"\n"
    );
    assert_eq!(system.alert_names("").await, ["Good"]);
});

/// As real senders post: extra fields, nanoseconds, null values, relative addresses, bare dates, zero times.
const ACCEPTED: &[&str] = &[
    r#"[{"status":"firing","fingerprint":"deadbeef","labels":{"alertname":"A1"},"annotations":{"s":"x"},"startsAt":"2026-03-04T08:00:00.123456789Z","endsAt":"0001-01-01T00:00:00Z","generatorURL":""}]"#,
    r#"[{"labels":{"alertname":"A2","x":null},"annotations":null,"generatorURL":null}]"#,
    r#"[{"labels":{"alertname":"A3"},"generatorURL":"/vmalert/alert?x=1","startsAt":"","endsAt":null}]"#,
    r#"[{"labels":{"alertname":"A4"},"startsAt":"2026-03-04"}]"#,
    r#"[{"labels":{"alertname":"A5"},"startsAt":"2026-03-04T11:00:00.5+01:00","endsAt":"2026-03-04T12:00:00Z"}] "#,
];

api_test!(an_alert_is_listed_with_exactly_the_fields_of_the_interface, |t| async move {
    let tree = t.tree().await;
    let system = Client { test: &t, system: t.system(tree.customer).await };
    for body in ACCEPTED {
        let reply = system.push(body).await.expect(200);
        assert!(reply.body.is_empty(), "{body}");
    }
    let reply = system.get("/api/v2/alerts?filter=alertname%3D%22A1%22").await.expect(200);
    assert!(reply.text().ends_with("]\n"));
    let list = reply.json();
    let alert = &list[0];
    assert_eq!(
        alert["labels"],
        json!({"alertname": "A1", "organization_id": tree.customer, "system_id": system.system.id,
               "system_key": system.system.key})
    );
    let annotations = alert["annotations"].as_object().unwrap();
    assert_eq!(annotations["s"], "x");
    assert_eq!(annotations["organization_type"], "customer");
    assert!(annotations["organization_name"].is_string() && annotations["system_name"].is_string());
    assert!(annotations["organization_vat"].as_str().unwrap().starts_with("IT"));
    // Not known yet, so not there: no inventory has come.
    assert!(!annotations.contains_key("system_fqdn"));
    assert_eq!(alert["startsAt"], "2026-03-04T08:00:00.123Z");
    assert_eq!(alert["endsAt"], "2026-03-04T16:00:00.000Z");
    assert_eq!(alert["updatedAt"], "2026-03-04T10:00:00.000Z");
    assert_eq!(alert["receivers"], json!([{"name": "default"}]));
    let status = json!({"state": "active", "silencedBy": [], "inhibitedBy": [], "mutedBy": []});
    assert_eq!(alert["status"], status);
    let mut keys: Vec<&String> = alert.as_object().unwrap().keys().collect();
    keys.sort();
    let expected =
        ["annotations", "endsAt", "fingerprint", "labels", "receivers", "startsAt", "status", "updatedAt"];
    assert_eq!(keys, expected);
    let list = system.get("/api/v2/alerts").await.json();
    let prints: Vec<&str> =
        list.as_array().unwrap().iter().map(|a| a["fingerprint"].as_str().unwrap()).collect();
    assert!(prints.is_sorted() && prints.len() == 5, "{prints:?}");
    let by_name =
        |name: &str| list.as_array().unwrap().iter().find(|a| a["labels"]["alertname"] == name).unwrap();
    assert_eq!(by_name("A3")["generatorURL"], "/vmalert/alert?x=1");
    assert_eq!(by_name("A4")["startsAt"], "2026-03-04T00:00:00.000Z");
    assert_eq!(by_name("A5")["startsAt"], "2026-03-04T10:00:00.500Z");
});

// Proves spec: acceptance#scenarios 31, authorization#guarantees 13.
api_test!(names_of_the_service_are_not_the_clients, |t| async move {
    let system = Client::new(&t).await;
    let spoofed = r#"[{"labels":{"alertname":"A","system_key":"VICTIM","organization_id":"x","system_name":"n","system_id":""},
        "annotations":{"system_key":"VICTIM","system_name":"n","text":"{{ .system_key }}/{{.alertname}}/{{ .nope }}/{{ .system_name }}{{ printf }}"}}]"#;
    system.push(spoofed).await.expect(200);
    let plain = r#"[{"labels":{"alertname":"A"}}]"#;
    system.push(plain).await.expect(200);
    let list = system.get("/api/v2/alerts").await.json();
    assert_eq!(list.as_array().unwrap().len(), 1, "the same fingerprint: {list}");
    system.push(spoofed).await.expect(200);
    let alert = system.get("/api/v2/alerts").await.json()[0].take();
    let name = alert["annotations"]["system_name"].as_str().unwrap();
    assert_eq!(
        alert["annotations"]["text"],
        format!("{}/A/{{{{ .nope }}}}/{name}{{{{ printf }}}}", system.system.key)
    );
    assert_eq!(alert["labels"]["system_key"], system.system.key);
    assert!(alert["annotations"].get("system_key").is_none());
    assert!(alert["labels"].get("system_name").is_none());
});

async fn times(system: &Client<'_>, name: &str) -> (String, String) {
    let list = system.get(&format!("/api/v2/alerts?filter=alertname={name}")).await.json();
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    (text(&list[0]["startsAt"]), text(&list[0]["endsAt"]))
}

fn today(clock: &str) -> String {
    format!("2026-03-04T{clock}.000Z")
}

api_test!(times_have_their_defaults_and_refreshes_merge, |s| generous(s), |t| async move {
    let system = Client::new(&t).await;
    system.push(r#"[{"labels":{"alertname":"Neither"}}]"#).await.expect(200);
    assert_eq!(times(&system, "Neither").await, (today("10:00:00"), today("16:00:00")));
    system.push(r#"[{"labels":{"alertname":"End"},"endsAt":"2026-03-04T11:00:00Z"}]"#).await.expect(200);
    assert_eq!(times(&system, "End").await, (today("11:00:00"), today("11:00:00")));
    // A refresh without start keeps the earlier one, and without end moves its own end.
    t.advance(Duration::from_secs(3 * 3600));
    system.push(r#"[{"labels":{"alertname":"Neither"}}]"#).await.expect(200);
    assert_eq!(times(&system, "Neither").await, (today("10:00:00"), today("19:00:00")));
    assert_eq!(system.alert_names("").await, ["Neither"]);
    // An end given by the sender wins over one made up, also when it is earlier.
    system.push(r#"[{"labels":{"alertname":"Neither"},"endsAt":"2026-03-04T14:00:00Z"}]"#).await.expect(200);
    assert_eq!(times(&system, "Neither").await.1, today("14:00:00"));
    // A given end is not shortened.
    system
        .push(r#"[{"labels":{"alertname":"Neither"},"startsAt":"2026-03-04T10:00:00Z","endsAt":"2026-03-04T13:30:00Z"}]"#)
        .await
        .expect(200);
    assert_eq!(times(&system, "Neither").await.1, today("14:00:00"));
    // Resolved: gone from the list with its end, back when it fires again.
    system.push(r#"[{"labels":{"alertname":"Neither"},"endsAt":"2026-03-04T13:00:00Z"}]"#).await.expect(200);
    t.advance(Duration::from_millis(1));
    assert_eq!(system.alert_names("").await, [""; 0]);
    system.push(r#"[{"labels":{"alertname":"Neither"}}]"#).await.expect(200);
    assert_eq!(times(&system, "Neither").await.0, "2026-03-04T13:00:00.001Z");
});

// Proves spec: alert-guarantees#guarantees 28.
api_test!(an_alert_without_end_refreshed_every_three_hours_stays, |t| async move {
    let system = Client::new(&t).await;
    for _ in 0..8 {
        system.push(r#"[{"labels":{"alertname":"A"}}]"#).await.expect(200);
        t.advance(Duration::from_secs(3 * 3600));
        assert_eq!(system.alert_names("").await, ["A"]);
    }
    t.advance(Duration::from_secs(3 * 3600 + 1));
    assert_eq!(system.alert_names("").await, [""; 0]);
});

api_test!(filters_and_flags_select, |s| generous(s), |t| async move {
    let system = Client::new(&t).await;
    system
        .push(
            r#"[{"labels":{"alertname":"A","severity":"critical"}},{"labels":{"alertname":"B"}},
                {"labels":{"alertname":"C","severity":"warning","text":"a\"b\nc"}}]"#,
        )
        .await
        .expect(200);
    for (query, expected) in [
        ("filter=alertname%3DA", &["A"][..]),
        ("filter=alertname!%3DA", &["B", "C"]),
        ("filter=alertname%3D~%22A|B%22", &["A", "B"]),
        ("filter=alertname!~%22A|B%22", &["C"]),
        ("filter=alertname%3D~%22.%22&filter=severity%3D%22%22", &["B"]),
        ("filter=severity!%3D%22%22", &["A", "C"]),
        ("filter=nope!%3Dx", &["A", "B", "C"]),
        ("filter=text%3D%22a%5C%22b%5Cnc%22", &["C"]),
        ("filter=alertname%3DA&unknown=1;filter%3Dx", &["A"]),
        ("active=false", &[]),
        ("active=maybe", &[]),
        ("active=Yes&silenced=on", &["A", "B", "C"]),
        ("active=false&active=true", &["A", "B", "C"]),
        ("active=", &["A", "B", "C"]),
        ("silenced=false&inhibited=false&unprocessed=false", &["A", "B", "C"]),
        ("receiver=default", &["A", "B", "C"]),
        ("receiver=def", &[]),
        ("receiver=def.*", &["A", "B", "C"]),
        ("receiver=blackhole", &[]),
        ("receiver_matchers=name%3Ddefault", &["A", "B", "C"]),
        ("receiver_matchers=name%3D~%22x.*%22", &[]),
    ] {
        assert_eq!(system.alert_names(&format!("?{query}")).await, expected, "{query}");
    }
    for (query, expected) in [
        ("filter=bad-!!", "\"bad matcher format: bad-!!\"\n"),
        ("filter=%7Bsystem_key%3D%22X%22%7D", "\"bad matcher format: {system_key=\\\"X\\\"}\"\n"),
        (
            "filter=a%3D%22b%22%2Cc%3D%22d%22",
            "\"matcher value contains unescaped double quote: \\\"b\\\",c=\\\"d\\\"\"\n",
        ),
        ("filter=a%3D~%5B", "\"error parsing regexp: missing closing ]: `[)$`\"\n"),
        (
            "receiver=%5B",
            "\"failed to parse receiver param: error parsing regexp: missing closing ]: `[)$`\"\n",
        ),
    ] {
        assert_eq!(
            system.get(&format!("/api/v2/alerts?{query}")).await.expect(400).text(),
            expected,
            "{query}"
        );
    }
    let long = format!("/api/v2/alerts?filter=a%3D{}", "x".repeat(1025));
    assert_eq!(system.get(&long).await.expect(400).text(), "\"filter exceeds the size limit\"\n");
    let many = format!("/api/v2/alerts?{}", "filter=a!%3Dx&".repeat(33));
    assert_eq!(system.get(&many).await.expect(400).text(), "\"filter exceeds the size limit\"\n");
});

api_test!(groups_are_made_of_the_own_alerts, |t| async move {
    let system = Client::new(&t).await;
    system
        .push(
            r#"[{"labels":{"alertname":"A","instance":"2"}},{"labels":{"alertname":"A","instance":"1"}},
                {"labels":{"service":"x"}}]"#,
        )
        .await
        .expect(200);
    let groups = system.get("/api/v2/alerts/groups?muted=false").await.expect(200).json();
    let groups = groups.as_array().unwrap();
    assert_eq!(groups.len(), 2);
    let key = &system.system.key;
    assert_eq!(groups[0]["labels"]["system_key"], json!(key));
    assert!(groups[0]["labels"].get("alertname").is_none(), "fewer labels first");
    assert_eq!(groups[1]["labels"]["alertname"], "A");
    assert_eq!(groups[1]["receiver"], json!({"name": "default"}));
    let instances: Vec<_> =
        groups[1]["alerts"].as_array().unwrap().iter().map(|a| &a["labels"]["instance"]).collect();
    assert_eq!(instances, ["1", "2"]);
    assert_eq!(system.get("/api/v2/alerts/groups?active=false").await.expect(200).text(), "[]\n");
});

api_test!(ended_alerts_are_removed_after_a_while, |t| async move {
    let system = Client::new(&t).await;
    system.push(r#"[{"labels":{"alertname":"A"},"endsAt":"2026-03-04T10:30:00Z"}]"#).await.expect(200);
    t.advance(Duration::from_secs(44 * 60));
    assert_eq!(
        bailiwick_alerts::purge_ended(&t.app.alerts).await.unwrap(),
        0,
        "kept for at least 15 minutes"
    );
    t.advance(Duration::from_secs(32 * 60));
    assert_eq!(bailiwick_alerts::purge_ended(&t.app.alerts).await.unwrap(), 1, "for at most 45 minutes");
});

api_test!(stored_alerts_outlive_the_process, |t| async move {
    let system = Client::new(&t).await;
    system.push(r#"[{"labels":{"alertname":"A"}}]"#).await.expect(200);
    let again = t.replica().await;
    let system = Client { test: &again, system: system.system };
    assert_eq!(system.alert_names("").await, ["A"]);
});

const MINUTE: Duration = Duration::from_secs(60);

api_test!(
    alerts_that_ended_while_the_service_was_down_get_time_to_be_refreshed,
    |s| {
        generous(s);
        s.alerting.short_outage = MINUTE;
    },
    |t| async move {
        // A search for alerts that may be removed, which is a sign of life.
        let sign = async |t: &Test| bailiwick_alerts::purge_ended(&t.app.alerts).await.unwrap();
        let system = Client::new(&t).await;
        sign(&t).await;
        system.push(r#"[{"labels":{"alertname":"A"},"endsAt":"2026-03-04T10:05:00Z"}]"#).await.expect(200);
        t.app.platform.stop.cancel();
        t.app.platform.tasks.close();
        t.app.platform.tasks.wait().await;
        t.advance(30 * MINUTE);
        // The next process finds that no process has served for half an hour.
        let again = t.replica().await;
        let system = Client { test: &again, system: system.system };
        sign(&again).await;
        assert_eq!(system.alert_names("").await, ["A"]);
        for _ in 0..5 {
            t.advance(MINUTE);
            sign(&again).await;
            assert_eq!(system.alert_names("").await, ["A"]);
        }
        t.advance(Duration::from_secs(1));
        assert_eq!(system.alert_names("").await, [""; 0]);
    }
);
