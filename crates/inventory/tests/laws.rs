//! Laws that hold for any document.
#![allow(clippy::unwrap_used, reason = "in the plain functions of a test, too, a failure is a panic")]

use bailiwick_inventory::{Document, Rejected, canonical};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Words the documents know, so that generated ones reach the code behind them.
const WORDS: [&str; 24] = [
    "installation",
    "nethserver",
    "nethsecurity",
    "facts",
    "nodes",
    "modules",
    "cluster",
    "user_domains",
    "name",
    "id",
    "module",
    "node",
    "1",
    "2",
    "cluster_leader",
    "fqdn",
    "default_ipv4",
    "version",
    "distro",
    "os",
    "type",
    "certification_level",
    "ui_name",
    "203.0.113.9",
];

fn word() -> impl Strategy<Value = String> {
    prop_oneof![4 => prop::sample::select(&WORDS[..]).prop_map(str::to_owned), 1 => any::<String>()]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            object(inner).prop_map(Value::Object),
        ]
    })
}

fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::vec((word(), inner), 0..8).prop_map(|pairs| pairs.into_iter().collect())
}

/// A document of one of the families with any values in the places that are read.
fn document() -> impl Strategy<Value = Value> {
    let installation = prop::sample::select(vec!["nethserver", "nethsecurity", "other"]);
    (installation, value(), value(), value(), object(value())).prop_map(
        |(installation, nodes, modules, cluster, rest)| {
            let mut body = rest;
            body.insert("installation".into(), installation.into());
            body.insert(
                "facts".into(),
                json!({"nodes": {"1": nodes}, "modules": [modules], "cluster": cluster}),
            );
            Value::Object(body)
        },
    )
}

/// The same value with the keys of every object reversed.
fn reversed(value: &Value) -> Value {
    match value {
        Value::Object(entries) => {
            Value::Object(entries.iter().rev().map(|(key, value)| (key.clone(), reversed(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(reversed).collect()),
        other => other.clone(),
    }
}

/// The same value without U+0000, as the canonical text has it.
fn without_nul(value: &Value) -> Value {
    let text = serde_json::to_string(value).unwrap();
    // A backslash before the escape would make it the text `\u0000`; the generator's texts are checked for that.
    serde_json::from_str(&text.replace("\\u0000", "\u{fffd}")).unwrap()
}

fn has_nul_lookalike(value: &Value) -> bool {
    serde_json::to_string(value).unwrap().contains("\\\\u0000")
}

proptest! {
    // Documents are large values; many cases would make the pure tests slow.
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn canonical_of_canonical_is_the_same(value in document()) {
        let once = canonical(value.to_string().as_bytes()).unwrap();
        prop_assert_eq!(canonical(once.text.as_bytes()).unwrap(), once);
    }

    #[test]
    fn order_of_keys_and_white_space_do_not_matter(value in document()) {
        let compact = canonical(value.to_string().as_bytes()).unwrap();
        // Keys that differ only in U+0000 become one, so their order does matter.
        prop_assume!(!value.to_string().contains("\\u0000"));
        let pretty = serde_json::to_string_pretty(&reversed(&value)).unwrap();
        prop_assert_eq!(canonical(pretty.as_bytes()).unwrap(), compact);
    }

    #[test]
    fn the_value_is_kept(value in document()) {
        prop_assume!(!has_nul_lookalike(&value));
        let text = canonical(value.to_string().as_bytes()).unwrap().text;
        prop_assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), without_nul(&value));
        prop_assert!(!text.contains("\\u0000"));
    }

    #[test]
    fn keys_are_sorted_by_their_bytes(keys in prop::collection::btree_set("\\PC{0,6}", 0..30)) {
        let entries: Map<_, _> = keys.iter().rev().map(|key| (key.clone(), Value::Null)).collect();
        let text = canonical(Value::Object(entries).to_string().as_bytes()).unwrap().text;
        let read: Map<String, Value> = serde_json::from_str(&text).unwrap();
        // A set of texts is in the order of their bytes.
        prop_assert_eq!(read.keys().collect::<Vec<_>>(), keys.iter().collect::<Vec<_>>());
    }

    #[test]
    fn nothing_in_a_document_makes_reading_it_fail(value in document()) {
        let body = value.to_string();
        let document = Document::parse(body.as_bytes()).unwrap();
        let facts = document.facts();
        prop_assert!(facts.fqdn.is_none_or(|name| !name.is_empty() && name.chars().count() <= 255));
        let mut ids = Vec::new();
        for application in document.applications(None) {
            prop_assert!(!application.module_id.is_empty() && !application.instance_of.is_empty());
            prop_assert!(serde_json::from_str::<Value>(&application.inventory_data).unwrap().is_object());
            ids.push(application.module_id);
        }
        prop_assert!(ids.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn any_bytes_have_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let outcome = Document::parse(&bytes);
        prop_assert_eq!(outcome == Err(Rejected::Empty), bytes.is_empty());
        if let Ok(document) = outcome {
            let _ = (document.facts(), document.applications(None), document.canonical());
        }
    }

    #[test]
    fn a_cut_document_is_refused(value in document(), cut in any::<prop::sample::Index>()) {
        let body = value.to_string();
        let beginning = &body.as_bytes()[..cut.index(body.len())];
        match canonical(beginning) {
            Err(Rejected::Empty) => prop_assert!(beginning.is_empty()),
            refused => prop_assert!(matches!(refused, Err(Rejected::NotJson(_)))),
        }
    }
}
