use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};

fn own() -> SenderLabels {
    SenderLabels {
        system_key: "NETH-1".into(),
        system_id: "SYS-1".into(),
        organization_id: "ORG-1".into(),
        ..SenderLabels::default()
    }
}

fn parse_with(body: &[u8], identity: Option<&SenderLabels>) -> Result<PostedSilence, Reject> {
    let now = Nanos::parse("2026-11-20T22:16:43Z").unwrap();
    parse_silence(body, &SilenceIntake { identity, now, limits: &Limits::default() })
}

fn parse(body: &Value) -> Result<PostedSilence, Reject> {
    parse_with(body.to_string().as_bytes(), Some(&own()))
}

fn good() -> Value {
    json!({"matchers": [{"name": "a", "value": "b", "isRegex": false}], "startsAt": "2026-11-20T22:16:43Z",
        "endsAt": "2026-11-21T00:16:43Z", "createdBy": "t", "comment": "c"})
}

fn with(key: &str, value: Value) -> Value {
    let mut body = good();
    body[key] = value;
    body
}

fn without(keys: &[&str]) -> Value {
    let mut body = good();
    body.as_object_mut().unwrap().retain(|k, _| !keys.contains(&k.as_str()));
    body
}

fn refusal(body: &Value) -> (u16, String) {
    let refusal = parse(body).unwrap_err();
    (refusal.status, refusal.render())
}

fn required(path: &str) -> (u16, String) {
    (422, format!(r#"{{"code":602,"message":"{path} in body is required"}}"#))
}

fn text(status: u16, text: &str) -> (u16, String) {
    (status, format!("{}\n", serde_json::to_string(text).unwrap()))
}

#[test]
fn missing_keys_in_their_order() {
    let all = ["comment", "createdBy", "endsAt", "matchers", "startsAt"];
    for (i, key) in all.iter().enumerate() {
        assert_eq!(refusal(&without(&all[i..])), required(key));
        assert_eq!(refusal(&with(key, Value::Null)), required(key));
    }
    assert_eq!(refusal(&Value::Null), required("comment"));
    assert_eq!(parse_with(b" ", None).unwrap_err(), Reject::required("silence"));
}

#[test]
fn matchers_must_be_complete() {
    assert_eq!(
        refusal(&with("matchers", json!([]))),
        (422, r#"{"code":612,"message":"matchers in body should have at least 1 items"}"#.into())
    );
    assert_eq!(refusal(&with("matchers", json!([{}]))), required("matchers.0.isRegex"));
    assert_eq!(refusal(&with("matchers", json!([null]))), required("matchers.0.isRegex"));
    let second = json!([{"name": "a", "value": "b", "isRegex": false}, {"isRegex": true, "value": "x"}]);
    assert_eq!(refusal(&with("matchers", second)), required("matchers.1.name"));
    assert_eq!(
        refusal(&with("matchers", json!([{"name": "a", "isRegex": true}]))),
        required("matchers.0.value")
    );
}

#[test]
fn unreadable_bodies() {
    let unreadable = |body: &[u8], reason: &str| {
        let refusal = parse_with(body, None).unwrap_err();
        let message = format!("parsing silence body from \"\" failed, because {reason}");
        assert_eq!(refusal.status, 400);
        assert_eq!(
            serde_json::from_str::<Value>(&refusal.render()).unwrap(),
            json!({"code": 400, "message": message})
        );
    };
    unreadable(b"{{{", "unexpected character '{' at line 1 column 2");
    unreadable(b"[]", "expected an object, found array");
    unreadable(b"{} x", "data after the value at line 1 column 4");
    unreadable(br#"{"id":"","id":""}"#, "duplicate key \"id\" at line 1 column 17");
    for (key, value, reason) in [
        ("comment", json!(1), "comment: expected a string, found number"),
        ("id", json!({}), "id: expected a string, found object"),
        ("matchers", json!({}), "matchers: expected an array, found object"),
        ("matchers", json!([1]), "matchers.0: expected an object, found number"),
        ("matchers", json!([{"isRegex": "x"}]), "matchers.0.isRegex: expected a boolean, found string"),
        ("startsAt", json!("soon"), "startsAt: not a date-time"),
        ("annotations", json!({"a": 1}), "annotations: expected strings, found number"),
    ] {
        unreadable(with(key, value).to_string().as_bytes(), reason);
    }
    // Wrong types are reported before missing values.
    unreadable(br#"{"startsAt":1}"#, "startsAt: expected a string, found number");
}

#[test]
fn times() {
    let span = |start: &str, end: &str| {
        let mut body = with("startsAt", json!(start));
        body["endsAt"] = json!(end);
        body
    };
    let order = text(400, "Failed to create silence: start time must be before end time");
    assert_eq!(refusal(&span("2035-01-01T00:00:00Z", "2034-01-02T00:00:00Z")), order);
    assert_eq!(refusal(&span("2035-01-01T00:00:00Z", "2035-01-01T00:00:00Z")), order);
    let past = text(400, "Failed to create silence: end time can't be in the past");
    assert_eq!(refusal(&span("2020-01-01T00:00:00Z", "2020-01-02T00:00:00Z")), past);
    let long = text(400, "Failed to create silence: duration exceeds the maximum");
    assert_eq!(refusal(&span("2026-11-20T22:16:43Z", "2027-11-21T22:16:44Z")), long);
    assert_eq!(refusal(&span("2040-01-01T00:00:00Z", "2040-01-02T00:00:00Z")), long);
    assert!(parse(&span("2026-11-20T22:16:43Z", "2027-11-21T22:16:43Z")).is_ok(), "366 days exactly");
    for start in ["0001-01-01T00:00:00Z", "", "2020-01-01"] {
        assert!(parse(&span(start, "2027-11-21T22:16:43Z")).is_ok(), "{start} means now");
        assert_eq!(refusal(&span(start, "2027-11-21T22:16:44Z")), long);
    }
}

#[test]
fn bad_matchers() {
    let one = |name: &str, value: &str, is_regex: bool| {
        with("matchers", json!([{"name": name, "value": value, "isRegex": is_regex}]))
    };
    let set = "invalid silence: invalid label matcher 0 in set 0: ";
    assert_eq!(refusal(&one("a-b", "x", false)), text(400, &format!("{set}invalid label name \"a-b\"")));
    assert_eq!(
        refusal(&one("a", "[", true)),
        text(
            400,
            &format!("{set}invalid regular expression \"[\": error parsing regexp: missing closing ]: `[`")
        )
    );
    let empty =
        text(400, "invalid silence: matcher set 0: at least one matcher must not match the empty string");
    assert_eq!(refusal(&one("a", "", false)), empty);
    assert_eq!(refusal(&one("a", ".*", true)), empty);
    for (value, is_regex) in [("x", false), ("", false), ("x|y", true), (".+", true)] {
        let not = json!([{"name": "a", "value": value, "isRegex": is_regex, "isEqual": false}]);
        assert!(parse(&with("matchers", not)).is_ok(), "{value}");
    }
    let too_large = text(400, "silence exceeds the size limit");
    assert_eq!(refusal(&one("a", &"x".repeat(1025), true)), too_large);
    let too_complex = text(
        400,
        "silence exceeds the size limit: its regular expressions are too complex; use shorter ones, or matchers with =",
    );
    assert_eq!(refusal(&one("a", r"(\pL{200}){200}", true)), too_complex);
    let each = |n: usize| json!({"name": "a", "value": format!(r"\pL{{3}}|{n}"), "isRegex": true});
    assert!(parse(&with("matchers", json!([each(0)]))).unwrap().compiled_bytes > 1024);
    let together: Vec<Value> = (0..32).map(each).collect();
    assert_eq!(refusal(&with("matchers", json!(together))), too_complex);
    assert_eq!(refusal(&with("comment", json!("x".repeat(16 * 1024)))), too_large);
    let many = vec![json!({"name": "a", "value": "b", "isRegex": false}); 33];
    assert_eq!(refusal(&with("matchers", json!(many))), too_large);
}

#[test]
fn ids() {
    for bad in ["abc", "3b2ee7c2178a47f1aa5088e745959d86", "{3b2ee7c2-178a-47f1-aa50-88e745959d8}"] {
        assert_eq!(refusal(&with("id", json!(bad))), text(404, "silence not found"));
        let message =
            format!("{{\"code\":601,\"message\":\"silenceID in path must be of type uuid: \\\"{bad}\\\"\"}}");
        assert_eq!(path_id(bad).map_err(|r| (r.status, r.render())), Err((422, message)));
    }
    let id = "3b2ee7c2-178a-47f1-aa50-88e745959d86";
    assert_eq!(parse(&with("id", json!(id))).unwrap().id, Uuid::try_parse(id).ok());
    assert_eq!(path_id(id).ok(), Uuid::try_parse(id).ok());
    assert_eq!(parse(&with("id", json!(""))).unwrap().id, None);
    assert_eq!(parse(&with("id", Value::Null)).unwrap().id, None);
    assert_eq!(created(Uuid::nil()), "{\"silenceID\":\"00000000-0000-0000-0000-000000000000\"}\n");
}

#[test]
fn always_on_the_own_system() {
    let own = Matcher::equal("system_key", "NETH-1");
    let matchers = json!([{"name": "a", "value": "b", "isRegex": false},
        {"name": "system_id", "value": "SYS-1", "isRegex": false}, {"name": "c", "value": "d", "isRegex": true, "isEqual": false},
        {"name": "system_key", "value": ".*", "isRegex": true}, {"name": "organization_id", "value": "ORG-2", "isRegex": false, "isEqual": false}]);
    let silence = parse(&with("matchers", matchers)).unwrap();
    assert_eq!(
        silence.matchers,
        [
            Matcher::equal("a", "b"),
            Matcher { name: "c".into(), value: "d".into(), op: Op::NotRegex },
            own.clone()
        ]
    );
    for (name, only, is_regex) in
        [("system_key", "NETH-1", false), ("system_key", "NETH-.", true), ("system_id", "SYS-1|x", true)]
    {
        let whole = json!([{"name": name, "value": only, "isRegex": is_regex}]);
        assert_eq!(parse(&with("matchers", whole)).unwrap().matchers, std::slice::from_ref(&own), "{only}");
    }
}

#[test]
fn a_matcher_on_a_stable_label_must_match_the_own_system() {
    for name in ["system_key", "system_id", "organization_id"] {
        let own_value = own().stable_value(name).unwrap().to_owned();
        for (value, is_regex, is_equal) in [
            ("VICTIM", false, true),
            ("", false, true),
            ("VICTIM.*", true, true),
            (own_value.as_str(), false, false),
            (".*", true, false),
            // An expression is anchored.
            (&own_value[..3], true, true),
        ] {
            let foreign = json!({"name": name, "value": value, "isRegex": is_regex, "isEqual": is_equal});
            let expected = text(400, &format!("matcher {name} does not match this system"));
            let alert = json!({"name": "alertname", "value": "A", "isRegex": false});
            let same = json!({"name": name, "value": own_value, "isRegex": false});
            for matchers in [json!([foreign]), json!([alert, foreign]), json!([same, foreign])] {
                assert_eq!(refusal(&with("matchers", matchers.clone())), expected, "{matchers}");
            }
        }
    }
    // Without a system nothing is compared.
    let foreign = json!([{"name": "system_key", "value": "VICTIM", "isRegex": false}]);
    let body = with("matchers", foreign).to_string();
    assert_eq!(parse_with(body.as_bytes(), None).unwrap().matchers, [Matcher::equal("system_key", "VICTIM")]);
}

#[test]
fn ownership_needs_a_literal_positive_matcher() {
    let m = |op| Matcher { name: "system_key".into(), value: "K".into(), op };
    assert!(is_owned(&[Matcher::equal("a", "b"), m(Op::Equal)], "K"));
    assert!(!is_owned(&[m(Op::Equal)], "k"));
    assert!(!is_owned(
        &[m(Op::NotEqual), m(Op::Regex), m(Op::NotRegex), Matcher::equal("SYSTEM_KEY", "K")],
        "K"
    ));
    assert!(!is_owned(&[], "K"));
}

#[test]
fn the_forwarded_body_is_written_anew() {
    let mut body = good();
    body["MATCHERS"] = json!([{"name": "severity", "value": ".+", "isRegex": true}]);
    body["matcher\u{17f}"] = json!([]);
    body["status"] = json!({"state": "active"});
    assert_eq!(
        write_silence(&parse(&body).unwrap()),
        "{\"matchers\":[{\"isEqual\":true,\"isRegex\":false,\"name\":\"a\",\"value\":\"b\"},\
         {\"isEqual\":true,\"isRegex\":false,\"name\":\"system_key\",\"value\":\"NETH-1\"}],\
         \"startsAt\":\"2026-11-20T22:16:43Z\",\"endsAt\":\"2026-11-21T00:16:43Z\",\"createdBy\":\"t\",\"comment\":\"c\"}"
    );
}

fn any_matcher() -> impl Strategy<Value = Value> {
    ("[a-c]|system_key|system_id", "[a-z|.]{0,4}|NETH-1|SYS-1", any::<bool>(), any::<bool>())
        .prop_map(|(name, value, is_regex, is_equal)| json!({"name": name, "value": value, "isRegex": is_regex, "isEqual": is_equal}))
}

proptest! {
    #[test]
    fn accepted_silences_are_owned_and_read_back(matchers in prop::collection::vec(any_matcher(), 1..5), comment in ".{0,20}") {
        let mut body = with("matchers", json!(matchers));
        body["comment"] = json!(comment);
        if let Ok(silence) = parse(&body) {
            prop_assert!(is_owned(&silence.matchers, "NETH-1"));
            let stable = |m: &&Matcher| own().stable_value(&m.name).is_some();
            prop_assert_eq!(silence.matchers.iter().filter(stable).count(), 1);
            prop_assert_eq!(parse_with(write_silence(&silence).as_bytes(), None), Ok(silence));
        }
    }

    #[test]
    fn never_panics(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let _ = parse_with(&bytes, Some(&own()));
    }
}
