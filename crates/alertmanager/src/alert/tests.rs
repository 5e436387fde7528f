use super::*;
use proptest::prelude::*;

const NOW: &str = "2026-11-20T22:00:00.5Z";

fn identity() -> SenderLabels {
    SenderLabels {
        system_key: "SYS-1".into(),
        system_id: "s-id".into(),
        organization_id: "o-id".into(),
        system_name: "Milan".into(),
        organization_type: "customer".into(),
        ..SenderLabels::default()
    }
}

fn parse_with(body: &[u8], limits: &Limits, identity: Option<&SenderLabels>) -> Result<Batch, Reject> {
    let now = Nanos::parse(NOW).unwrap();
    parse_alerts(body, &Intake { identity, now, resolve_timeout: Duration::from_secs(6 * 3600), limits })
}

fn parse(body: &str) -> Result<Batch, Reject> {
    parse_with(body.as_bytes(), &Limits::default(), Some(&identity()))
}

/// Status and body of the answer to a push.
fn answer(body: &str) -> (u16, String) {
    match parse(body).map(|batch| batch.refusal()) {
        Ok(None) => (200, String::new()),
        Ok(Some(refusal)) | Err(refusal) => (refusal.status, refusal.render()),
    }
}

fn one(body: &str) -> PostedAlert {
    parse(body).unwrap().alerts.remove(0)
}

#[test]
fn nothing_to_store() {
    assert_eq!(answer("[]"), (200, String::new()));
    assert_eq!(answer(" null\n"), (200, String::new()));
    let required = r#"{"code":602,"message":"alerts in body is required"}"#;
    assert_eq!(answer(""), (422, required.into()));
    assert_eq!(answer(" \r\n"), (422, required.into()));
}

#[test]
fn unreadable_bodies() {
    for (body, reason) in [
        ("{{{", "unexpected character '{' at line 1 column 2"),
        (r#"{"labels":{"alertname":"A"}}"#, "expected an array, found object"),
        ("3", "expected an array, found number"),
        ("[1]", "0: expected an object, found number"),
        ("[{\"labels\":{}},[[]]]", "1: expected an object, found array"),
        (r#"[{"labels":{"alertname":"B","n":3}}]"#, "0.labels: expected strings, found number"),
        (r#"[{"labels":["a"]}]"#, "0.labels: expected an object, found array"),
        (r#"[{"labels":{"a":"b"},"annotations":{"a":{}}}]"#, "0.annotations: expected strings, found object"),
        (r#"[{"labels":{"alertname":"B"},"startsAt":"yesterday"}]"#, "0.startsAt: not a date-time"),
        (r#"[{"labels":{"alertname":"B"},"endsAt":12}]"#, "0.endsAt: expected a date-time, found number"),
        (
            r#"[{"labels":{"alertname":"B"},"generatorURL":[]}]"#,
            "0.generatorURL: expected a string, found array",
        ),
        (
            r#"[{"labels":{"alertname":"Trail","system_key":"VICTIM"}}] x"#,
            "data after the value at line 1 column 58",
        ),
        (&"[".repeat(17), "nesting is too deep at line 1 column 17"),
        (r#"[{"labels":null},{"labels":{"a":1}}]"#, "1.labels: expected strings, found number"),
        // Also where another fault is one of a single alert.
        (r#"[{"labels":{"a":"b","a":"c"}},{"labels":3}]"#, "1.labels: expected an object, found number"),
    ] {
        let mut expected = String::from("{\"code\":400,\"message\":");
        write_str(&mut expected, &format!("parsing alerts body from \"\" failed, because {reason}"));
        expected.push('}');
        assert_eq!(answer(body), (400, expected), "{body}");
    }
    assert_eq!(parse_with(b"[\"\xff\"]", &Limits::default(), None).unwrap_err().status, 400);
}

#[test]
fn missing_labels_and_bad_addresses_refuse_the_batch() {
    let required = |i: usize| (422, format!(r#"{{"code":602,"message":"{i}.labels in body is required"}}"#));
    assert_eq!(answer("[{}]"), required(0));
    assert_eq!(answer("[null]"), required(0));
    assert_eq!(answer(r#"[{"labels":{"a":"b"}},{"labels":null}]"#), required(1));
    assert_eq!(
        answer(r#"[{"labels":{"alertname":"B"},"generatorURL":"::not a url"}]"#),
        (
            422,
            r#"{"code":601,"message":"0.generatorURL in body must be of type uri: \"::not a url\""}"#.into()
        )
    );
    for good in [r#""http://x/y""#, r#""/vmalert/alert?x=1""#, r#""""#, "null"] {
        assert_eq!(answer(&format!(r#"[{{"labels":{{"a":"b"}},"generatorURL":{good}}}]"#)).0, 200, "{good}");
    }
}

#[test]
fn bad_alerts() {
    for (body, text) in [
        (r#"[{"labels":{}}]"#, "at least one label pair required"),
        (r#"[{"labels":{"x":"","y":null}}]"#, "at least one label pair required"),
        (r#"[{"labels":{"system_key":"X","organization_name":"Y"}}]"#, "at least one label pair required"),
        (
            r#"[{"labels":{"bad-name":"x","alertname":"B"}}]"#,
            r#"invalid label set: invalid name \"bad-name\""#,
        ),
        (r#"[{"labels":{"":"x","alertname":"B"}}]"#, r#"invalid label set: invalid name \"\""#),
        (r#"[{"labels":{"a:b":"x"}}]"#, r#"invalid label set: invalid name \"a:b\""#),
        (r#"[{"labels":{"a":"x"},"annotations":{"ü":"x"}}]"#, r#"invalid annotations: invalid name \"ü\""#),
        (
            r#"[{"labels":{"alertname":"B"},"startsAt":"2030-01-02T00:00:00Z","endsAt":"2030-01-01T00:00:00Z"}]"#,
            "start time must be before end time",
        ),
        (
            r#"[{"labels":{"alertname":"B"},"startsAt":"2026-11-21T05:00:00Z"}]"#,
            "start time must be before end time",
        ),
        (r#"[{"labels":{"a":"b"},"labels":{"a":"c"}}]"#, r#"duplicate key \"labels\" at line 1 column 40"#),
        (r#"[{"labels":{"a":"b","a":"c"}}]"#, r#"duplicate key \"a\" at line 1 column 28"#),
        (r#"[{"labels":{"a":"b"},"labels":{"a":"b"}}]"#, r#"duplicate key \"labels\" at line 1 column 40"#),
        (
            r#"[{"labels":{"a":"b"},"annotations":{"c":"d","c":"d"}}]"#,
            r#"duplicate key \"c\" at line 1 column 52"#,
        ),
        (
            r#"[{"labels":{"a":"b"},"generatorURL":"","generatorURL":""}]"#,
            r#"duplicate key \"generatorURL\" at line 1 column 57"#,
        ),
    ] {
        assert_eq!(answer(body), (400, format!("\"{text}\"\n")), "{body}");
    }
}

#[test]
fn good_alerts_of_a_bad_batch_are_kept() {
    let body = r#"[{"labels":{"alertname":"Good"}},{"labels":{"":"x"}},{"labels":{"a":"b"}},{"labels":{}},
        {"labels":{"alertname":"X","a":"b","a":"c"}}]"#;
    let batch = parse(body).unwrap();
    let names: Vec<_> = batch.alerts.iter().map(|a| a.labels.value("alertname")).collect();
    assert_eq!(names, ["Good", ""]);
    let texts = [
        r#"invalid label set: invalid name \"\""#,
        "at least one label pair required",
        r#"duplicate key \"a\" at line 2 column 51"#,
    ];
    assert_eq!(answer(body), (400, format!("\"{}\"\n", texts.join(r"\n"))));
}

#[test]
fn text_that_is_no_unicode_is_replaced() {
    let half = one(r#"[{"labels":{"a":"x\udce8y"}}]"#);
    assert_eq!(half.labels.value("a"), "x\u{fffd}y");
    let latin = parse_with(b"[{\"labels\":{\"a\":\"Societ\xe0\"}}]", &Limits::default(), None).unwrap();
    assert_eq!(latin.alerts[0].labels.value("a"), "Societ\u{fffd}");
}

#[test]
fn what_real_senders_post() {
    let webhook = r#"[{"status":"firing","fingerprint":"deadbeef","labels":{"alertname":"SwapFull","severity":"warning","node":"1"},
        "annotations":{"summary_en":"x"},"startsAt":"2026-11-20T20:00:00.123456789Z","endsAt":"0001-01-01T00:00:00Z","generatorURL":""}]"#;
    let batch = parse_with(webhook.as_bytes(), &Limits::default(), None).unwrap();
    assert_eq!(batch.alerts[0].fingerprint().to_string(), "9118a3e16875e768");
    assert_eq!(batch.alerts[0].ends_at, None);
    assert_eq!(batch.alerts[0].starts_at.unwrap().exact(), "2026-11-20T20:00:00.123456789Z");
    for body in [
        r#"[{"labels":{"alertname":"Nul"},"annotations":null,"generatorURL":null}]"#,
        r#"[{"labels":{"alertname":"NulV","x":null}}]"#,
        r#"[{"labels":{"alertname":"DateOnly"},"startsAt":"2026-11-20"}]"#,
        r#"[{"labels":{"alertname":"Empty"},"startsAt":"","endsAt":null,"annotations":{"a":null}}]"#,
    ] {
        assert_eq!(answer(body), (200, String::new()), "{body}");
    }
}

#[test]
fn keys_are_compared_exactly() {
    let alert = one(
        "[{\"labels\":{\"alertname\":\"Fold\"},\"LABELS\":{\"alertname\":\"X\"},\"label\\u017f\":{\"alertname\":\"Y\"},\"STARTSAT\":1}]",
    );
    assert_eq!(alert.labels.value("alertname"), "Fold");
}

#[test]
fn identity_is_the_servers() {
    let alert = one(
        r#"[{"labels":{"alertname":"A","system_key":"VICTIM","system_name":"X","organization_id":"Z"},
            "annotations":{"system_fqdn":"evil","system_id":"evil","s":"{{ .system_name }}/{{.alertname}}/{{ .system_key }}/{{ .system_fqdn }}"}}]"#,
    );
    assert_eq!(
        alert.labels,
        [("alertname", "A"), ("system_key", "SYS-1"), ("system_id", "s-id"), ("organization_id", "o-id")]
            .into_iter()
            .collect()
    );
    assert_eq!(
        alert.annotations,
        [
            ("s", "Milan/A/SYS-1/{{ .system_fqdn }}"),
            ("system_name", "Milan"),
            ("organization_type", "customer")
        ]
        .into_iter()
        .collect()
    );
    let renamed = SenderLabels { system_name: "Rome".into(), system_ipv4: "192.0.2.1".into(), ..identity() };
    let body = br#"[{"labels":{"alertname":"A"}}]"#;
    let again = parse_with(body, &Limits::default(), Some(&renamed)).unwrap();
    assert_eq!(again.alerts[0].fingerprint(), alert.fingerprint(), "a new name is the same alert");
}

#[test]
fn limits_of_one_alert() {
    let too_large = (400, "\"alert exceeds the size limit\"\n".to_owned());
    let with = |labels: String, annotations: String| {
        answer(&format!(r#"[{{"labels":{{{labels}}},"annotations":{{{annotations}}}}}]"#))
    };
    let many = |n: usize| (0..n).map(|i| format!("\"a{i}\":\"v\"")).collect::<Vec<_>>().join(",");
    let sized = |name: usize, value: usize| format!("\"{}\":\"{}\"", "n".repeat(name), "v".repeat(value));
    assert_eq!(with(many(64), many(64)).0, 200);
    assert_eq!(with(many(65), String::new()), too_large);
    assert_eq!(with(many(1), many(65)), too_large);
    assert_eq!(with(sized(128, 4096), sized(128, 16384)).0, 200);
    assert_eq!(with(sized(129, 1), String::new()), too_large);
    assert_eq!(with(sized(1, 4097), String::new()), too_large);
    assert_eq!(with(many(1), sized(1, 16385)), too_large);
    let four = ["a", "b", "c", "d"].map(|n| format!("\"{n}\":\"{}\"", "v".repeat(16384))).join(",");
    assert_eq!(with(many(1), four), too_large, "64 KiB in all");
    let bomb = format!("\"x\":\"{}\"", "{{ .big }}".repeat(1000));
    assert_eq!(
        with(sized(3, 1).replace("nnn", "big").replace("\"v\"", &format!("\"{}\"", "v".repeat(4096))), bomb),
        too_large
    );
    let limits = Limits { alerts_per_request: 1, ..Limits::default() };
    assert_eq!(parse_with(b"[null,null]", &limits, None).unwrap_err(), Reject::TOO_LARGE);
    assert_eq!(Reject::TOO_LARGE.render(), r#"{"code":413,"message":"request body too large","data":null}"#);
}

#[test]
fn the_forwarded_body_is_written_anew() {
    let alert = one(
        r#"[{"labels":{"alertname":"A\"\u0000"},"status":"x","startsAt":"2026-11-20T23:00:00.123456789+01:00","generatorURL":"http://x/y"}]"#,
    );
    assert_eq!(
        write_alerts(std::slice::from_ref(&alert)),
        "[{\"labels\":{\"alertname\":\"A\\\"\u{fffd}\",\"organization_id\":\"o-id\",\"system_id\":\"s-id\",\"system_key\":\"SYS-1\"},\
         \"annotations\":{\"organization_type\":\"customer\",\"system_name\":\"Milan\"},\
         \"startsAt\":\"2026-11-20T22:00:00.123456789Z\",\"generatorURL\":\"http://x/y\"}]"
    );
    assert_eq!(write_alerts(&[]), "[]");
}

#[test]
fn the_forwarded_body_can_say_when_each_alert_began() {
    let written = |times: &str| {
        let alert = one(&format!(r#"[{{"labels":{{"alertname":"A"}}{times}}}]"#));
        let text = write_started_alerts(&[alert], Nanos::parse("2026-11-20T10:00:00Z").unwrap());
        text[text.find(",\"startsAt\"").unwrap()..].to_owned()
    };
    assert_eq!(written(""), r#","startsAt":"2026-11-20T10:00:00Z"}]"#);
    let given = r#","startsAt":"2026-11-20T09:00:00Z","endsAt":"2026-11-20T11:00:00Z""#;
    assert_eq!(written(given), format!("{given}}}]"));
    let ends = r#","endsAt":"2026-11-20T11:00:00Z""#;
    assert_eq!(written(ends), r#","startsAt":"2026-11-20T11:00:00Z","endsAt":"2026-11-20T11:00:00Z"}]"#);
}

fn any_alert() -> impl Strategy<Value = serde_json::Value> {
    let texts =
        || prop::collection::btree_map("[a-z_]{1,6}|system_key|organization_id|system_name", ".{0,12}", 0..5);
    (texts(), texts())
        .prop_map(|(labels, annotations)| serde_json::json!({"labels": labels, "annotations": annotations}))
}

proptest! {
    #[test]
    fn never_panics(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let _ = parse_with(&bytes, &Limits::default(), Some(&identity()));
    }

    #[test]
    fn every_stored_alert_carries_exactly_the_senders_identity(alerts in prop::collection::vec(any_alert(), 0..5)) {
        let body = serde_json::Value::from(alerts).to_string();
        let batch = parse(&body).unwrap();
        for alert in &batch.alerts {
            let id = identity();
            for (name, value) in id.stable() {
                prop_assert_eq!(alert.labels.get(name), Some(value));
                prop_assert_eq!(alert.annotations.get(name), None);
            }
            for (name, value) in id.display() {
                prop_assert_eq!(alert.labels.get(name), None);
                prop_assert_eq!(alert.annotations.get(name), Some(value).filter(|v| !v.is_empty()));
            }
            prop_assert!(alert.labels.iter().all(|(_, v)| !v.is_empty()));
        }
        // The forwarded alerts are the stored ones.
        let forwarded = parse_with(write_alerts(&batch.alerts).as_bytes(), &Limits::default(), None).unwrap();
        prop_assert_eq!(forwarded.alerts, batch.alerts);
    }
}
