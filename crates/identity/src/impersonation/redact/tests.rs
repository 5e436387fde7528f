//! Recorded forms of bodies, queries and paths.

use super::*;
use proptest::prelude::*;
use serde_json::json;

fn whole(body: &[u8], content_type: Option<&str>) -> String {
    of_body(SentBody::Whole(body), content_type, true)
}

/// A secret that no record may contain.
const HIDDEN: &str = "hunter2";

/// JSON of any shape in which every secret is below a key that says so.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z {}\\[\\]\":]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        let open = prop_oneof!["[a-hj-z]{1,6}", Just("name".to_owned())];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::hash_map(open, inner.clone(), 0..6)
                .prop_map(|m| Value::Object(m.into_iter().collect())),
            (secret_key(), inner.clone())
                .prop_map(|(key, value)| json!({ key: [HIDDEN, value, {"x": HIDDEN}] })),
            (secret_key(), inner.clone())
                .prop_map(|(key, value)| json!({"text": json!({ key: HIDDEN, "v": value }).to_string()})),
            inner.prop_map(|v| json!({"url": format!("https://host.example/{HIDDEN}"), "v": v})),
        ]
    })
}

fn secret_key() -> impl Strategy<Value = String> {
    const WORDS: [&str; 8] =
        ["password", "secret", "token", "api_key", "private_key", "authorization", "auth", "key"];
    (prop::sample::select(&WORDS[..]), "[a-z_]{0,4}", "[a-z_]{0,4}", any::<u32>()).prop_map(
        |(word, before, after, case)| {
            let one = |(i, c): (usize, char)| {
                if case >> (i % 32) & 1 == 1 { c.to_ascii_uppercase() } else { c }
            };
            format!("{before}{word}{after}").chars().enumerate().map(one).collect()
        },
    )
}

proptest! {
    // Proves spec: guarantees#identity 26.
    #[test]
    fn no_secret_is_kept_of_any_json(value in any_json(), padding in 0_usize..12_000, pretty: bool) {
        let value = json!({"first": "x".repeat(padding), "rest": value});
        let body = if pretty { serde_json::to_vec_pretty(&value) } else { serde_json::to_vec(&value) }.unwrap();
        let redacted = whole(&body, Some("application/json"));
        prop_assert!(!redacted.contains(HIDDEN), "{redacted}");
        prop_assert!(redacted.chars().count() <= 10_000 + "... (truncated)".len());
        // Cut anywhere, the body is no longer JSON, and none of it is recorded.
        let cut = &body[..body.len() - 1];
        prop_assert_eq!(whole(cut, None), format!("[{} bytes of application/octet-stream]", cut.len()));
    }

    // Proves spec: guarantees#identity 26.
    #[test]
    fn no_secret_is_kept_of_any_query(before in "[a-z=&%+;]{0,20}", key in secret_key(), after in "[a-z=&]{0,20}") {
        let query = format!("{before}&{key}={HIDDEN}&{after}");
        let redacted = of_query(Some(&query)).unwrap();
        prop_assert!(!redacted.contains(HIDDEN), "{redacted}");
    }
}

#[test]
fn escaped_and_wide_names_are_secret_too() {
    for body in [
        r#"{"p\u0061ssword":"hunter2"}"#,
        "{\"\u{ff30}\u{ff21}\u{ff33}\u{ff33}word\":\"hunter2\"}",
        r#"{"password":"hunter2","password":"hunter2"}"#,
    ] {
        let redacted = whole(body.as_bytes(), None);
        assert!(redacted.contains("[REDACTED]") && !redacted.contains("hunter2"), "{redacted}");
    }
    assert_eq!(of_query(Some("p%61ssword=hunter2")), Some("?p%61ssword=[REDACTED]".to_owned()));
}

#[test]
fn json_that_is_too_deep_is_recorded_as_a_number_of_bytes() {
    let deep = format!("{}\"hunter2\"{}", "[".repeat(10_000), "]".repeat(10_000));
    assert_eq!(whole(deep.as_bytes(), None), format!("[{} bytes of application/octet-stream]", deep.len()));
}

#[test]
fn cuts_fall_between_characters() {
    let body = json!({"name": "é".repeat(20_000)}).to_string();
    let redacted = whole(body.as_bytes(), None);
    assert_eq!(redacted.chars().count(), 10_000 + "... (truncated)".len());
    let exact = json!({"n": "é".repeat(10_000 - 8)}).to_string();
    assert_eq!(whole(exact.as_bytes(), None), exact);
}

#[test]
fn a_path_that_opens_something_is_cut() {
    assert_eq!(shown_path("/api/downloads/hunter2"), "/api/downloads/[REDACTED]");
    assert_eq!(shown_path("/api/users/1"), "/api/users/1");
}

#[test]
fn an_address_in_text_that_only_looks_like_json_is_redacted() {
    for text in [
        "[see https://host.example/hunter2",
        "{https://host.example/hunter2}",
        " [x] https://host.example/hunter2",
    ] {
        let body = json!({"note": text}).to_string();
        let redacted = whole(body.as_bytes(), None);
        assert!(!redacted.contains(HIDDEN), "{redacted}");
        // Elsewhere an address is nothing secret.
        let redacted = of_body(SentBody::Whole(body.as_bytes()), None, false);
        assert_eq!(redacted, body);
    }
}
