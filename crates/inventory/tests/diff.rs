//! The rules of spec: inventory-changes#comparison on the cases in `cases/` and the vectors of
//! inventory-changes#vectors on the samples.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "in the plain functions of a test, too, a failure is a panic"
)]

use bailiwick_inventory::{Change, Diff, Document, MAX_CHANGES, Rules};
use serde_json::{Map, Value, json};

const NS8: &str = include_str!("data/inventory-ns8.json");
const NSEC: &str = include_str!("data/inventory-nsec.json");

fn diff(from: &str, to: &str) -> Diff {
    let (from, to) = (Document::parse(from.as_bytes()).unwrap(), Document::parse(to.as_bytes()).unwrap());
    Rules::standard().diff(&from, &to)
}

/// The changes between two documents as the case files write them.
fn shown(change: &Change) -> Value {
    let mut shown = json!({"kind": change.kind, "path": change.field_path, "category": change.category,
        "severity": change.severity});
    for (side, value) in [("previous", &change.previous), ("current", &change.current)] {
        if let Some(text) = value {
            shown[side] = serde_json::from_str(text).unwrap();
        }
    }
    shown
}

fn check_cases(text: &str) {
    let cases: Vec<Value> = serde_json::from_str(text).unwrap();
    assert!(!cases.is_empty());
    for case in cases {
        let result = diff(&case["from"].to_string(), &case["to"].to_string());
        let expected = case["changes"].as_array().unwrap();
        let name = case["name"].as_str().unwrap();
        assert_eq!(result.changes.len(), expected.len(), "{name}: {:#?}", result.changes);
        for (result, expected) in result.changes.iter().zip(expected) {
            let mut expected = expected.as_object().unwrap().clone();
            if let Some(structural) = expected.remove("structural") {
                assert_eq!(structural, json!(result.structural_path), "{name}");
            }
            // The defaults for values that a case leaves out.
            expected.entry("category").or_insert("system".into());
            expected.entry("severity").or_insert("low".into());
            assert_eq!(shown(result), Value::Object(expected), "{name}");
        }
    }
}

/// A document with one value at a place, or with only the parents of that place.
fn document(path: &[Value], value: Option<&Value>) -> Value {
    let Some((last, parents)) = path.split_last() else { return value.cloned().unwrap_or_default() };
    let innermost = match (last, value) {
        (Value::String(key), Some(value)) => Value::Object(Map::from_iter([(key.clone(), value.clone())])),
        (Value::String(_), None) => json!({}),
        (_, Some(value)) => json!([value]),
        (_, None) => json!([]),
    };
    document(parents, Some(&innermost))
}

fn check_table(text: &str) {
    let rows: Vec<Value> = serde_json::from_str(text).unwrap();
    for row in rows {
        let path = row["at"].as_array().unwrap();
        let side = |name| document(path, row.get(name)).to_string();
        let found = diff(&side("from"), &side("to"));
        let found: Vec<String> = found
            .changes
            .iter()
            .map(|change| format!("{} {}", change.category.word(), change.severity.word()))
            .collect();
        let expected: Vec<&str> = row["is"].as_str().into_iter().collect();
        assert_eq!(found, expected, "{row}");
    }
}

#[test]
fn section_8_1_comparison() {
    check_cases(include_str!("cases/8.1-comparison.json"));
}

#[test]
fn section_8_2_paths() {
    check_cases(include_str!("cases/8.2-paths.json"));
}

#[test]
fn section_8_3_limits_and_order() {
    check_cases(include_str!("cases/8.3-limits-and-order.json"));
}

#[test]
fn section_8_4_categories() {
    check_table(include_str!("cases/8.4-categories.json"));
}

#[test]
fn section_8_5_severities() {
    check_table(include_str!("cases/8.5-severities.json"));
}

#[test]
fn section_8_6_significance() {
    check_table(include_str!("cases/8.6-significance.json"));
}

#[test]
fn section_8_7_values() {
    check_cases(include_str!("cases/8.7-values.json"));
}

#[test]
fn long_paths_are_cut() {
    for (length, cut) in [(498, false), (499, true)] {
        let key = "é".repeat(length);
        let found = diff(&format!(r#"{{"a":{{"{key}":1}}}}"#), &format!(r#"{{"a":{{"{key}":"x"}}}}"#));
        let path = &found.changes[0].field_path;
        assert_eq!(path.chars().count(), 500);
        let expected = if cut { format!("a.{}...", "é".repeat(495)) } else { format!("a.{key}") };
        assert_eq!(*path, expected);
    }
}

#[test]
fn the_first_thousand_are_kept() {
    let keys = |range: std::ops::Range<usize>, value: &str| {
        range.map(|n| format!(r#""k{n:05}":{value}"#)).collect::<Vec<_>>().join(",")
    };
    let body = |count, value, version| {
        format!(r#"{{"facts":{{"distro":{{"version":"{version}"}},{}}}}}"#, keys(0..count, value))
    };
    let result = diff(&body(999, "\"a\"", "8.1.0"), &body(999, "\"b\"", "8.1.1"));
    assert_eq!((result.changes.len(), result.dropped), (MAX_CHANGES, 0));
    let result = diff(&body(5000, "\"a\"", "8.1.0"), &body(5000, "\"b\"", "8.1.1"));
    assert_eq!((result.changes.len(), result.dropped), (MAX_CHANGES, 4001));
    let paths: Vec<&str> = result.changes.iter().map(|change| change.field_path.as_str()).collect();
    assert_eq!((paths[0], paths[1], paths[999]), ("facts.distro.version", "facts.k00000", "facts.k00998"));
}

// Proves spec: guarantees#systems 30.
#[test]
fn large_integers_are_compared_and_kept_exactly() {
    let result = diff(r#"{"n":9007199254740993,"m":1e400}"#, r#"{"n":9007199254740992,"m":1.0e400}"#);
    assert_eq!(result.changes.len(), 1);
    assert_eq!(result.changes[0].previous.as_deref(), Some("9007199254740993"));
    assert_eq!(result.changes[0].current.as_deref(), Some("9007199254740992"));
}

// The vectors of spec: inventory-changes#vectors.

fn edited(sample: &str, edit: impl FnOnce(&mut Value)) -> String {
    let mut document: Value = serde_json::from_str(sample).unwrap();
    edit(&mut document);
    document.to_string()
}

fn module<'v>(document: &'v mut Value, id: &str) -> &'v mut Value {
    let modules = document["facts"]["modules"].as_array_mut().unwrap();
    modules.iter_mut().find(|module| module["id"] == id).unwrap()
}

fn lines(diff: &Diff) -> Vec<String> {
    let line = |c: &Change| {
        format!("{} {} {} {}", c.kind.word(), c.field_path, c.category.word(), c.severity.word())
    };
    diff.changes.iter().map(line).collect()
}

/// Reverses every array with this name and raises every uptime.
fn stir(value: &mut Value) {
    match value {
        Value::Object(entries) => {
            for (key, inner) in entries {
                stir(inner);
                match (key.as_str(), inner) {
                    ("fqdns" | "user_domains" | "modules", Value::Array(items)) => items.reverse(),
                    ("uptime_seconds", uptime) => *uptime = json!(uptime.as_i64().unwrap() + 86_400),
                    _ => {}
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(stir),
        _ => {}
    }
}

// Proves spec: guarantees#systems 26.
#[test]
fn shuffled_sets_and_uptimes_yield_nothing() {
    for sample in [NS8, NSEC] {
        let stirred = edited(sample, stir);
        assert_ne!(stirred, edited(sample, |_| ()));
        assert_eq!(diff(sample, &stirred), Diff::default());
    }
}

#[test]
fn a_version_of_a_module() {
    let before = edited(NS8, |d| module(d, "nextcloud1")["version"] = "1.4.2".into());
    let found = diff(&before, NS8);
    assert_eq!(lines(&found), ["update facts.modules.nextcloud1.version modules high"]);
    assert_eq!(
        (found.changes[0].previous.as_deref(), found.changes[0].current.as_deref()),
        (Some("\"1.4.2\""), Some("\"1.4.3\""))
    );
}

// Proves spec: guarantees#systems 26.
#[test]
fn a_module_inserted_first_and_another_version() {
    let after = edited(NS8, |d| {
        module(d, "nextcloud1")["version"] = "1.5.0".into();
        let new = json!({"id": "webserver15", "module": "webserver", "version": "1.1.0"});
        d["facts"]["modules"].as_array_mut().unwrap().insert(0, new);
    });
    let expected = [
        "create facts.modules.webserver15 modules high",
        "update facts.modules.nextcloud1.version modules high",
    ];
    assert_eq!(lines(&diff(NS8, &after)), expected);
}

#[test]
fn a_version_of_a_node() {
    let after = edited(NS8, |d| d["facts"]["nodes"]["2"]["version"] = "3.99.0".into());
    assert_eq!(lines(&diff(NS8, &after)), ["update facts.nodes.Worker rack B.version nodes high"]);
}

// Proves spec: guarantees#systems 25.
#[test]
fn a_type_change_is_an_update_and_stops_nothing() {
    let after = edited(NSEC, |d| {
        d["facts"]["processors"]["count"] = json!(4);
        d["facts"]["timezone"] = json!({"name": "CET"});
    });
    let expected = ["update facts.processors.count hardware low", "update facts.timezone system low"];
    assert_eq!(lines(&diff(NSEC, &after)), expected);
}

#[test]
fn a_wireguard_server_removed() {
    let after = edited(NSEC, |d| {
        d["facts"]["features"]["wireguard"]["servers"].as_object_mut().unwrap().remove("wg6").unwrap();
    });
    assert_eq!(lines(&diff(NSEC, &after)), ["delete facts.features.wireguard.servers.wg6 security critical"]);
}

// Proves spec: guarantees#systems 27.
#[test]
fn names_chosen_on_the_appliance_judge_nothing() {
    let after = edited(NS8, |d| {
        let node = &mut d["facts"]["nodes"]["2"];
        node["ui_name"] = "alert.room".into();
        node["kernel_version"] = "6.0".into();
    });
    let expected = [
        "update facts.nodes.alert.room.kernel_version nodes low",
        "update facts.nodes.alert.room.ui_name nodes low",
    ];
    assert_eq!(lines(&diff(NS8, &after)), expected);
    // Other names, the same severities in the same order.
    let judged = |name: &str| {
        let [from, to] = ["1", "2"].map(|version| {
            edited(NS8, |d| {
                let node = &mut d["facts"]["nodes"]["2"];
                (node["ui_name"], node["version"]) = (name.into(), version.into());
                d["facts"]["cluster"]["user_domains"][0]["name"] = name.into();
                d["facts"]["cluster"]["user_domains"][0]["total_users"] = version.into();
                let extra = json!({"id": name, "name": name, "ui_name": name, "module": name, "k": version});
                d["facts"]["modules"].as_array_mut().unwrap().push(extra);
                d["facts"]["mountpoints"] = json!({name: {"k": version}});
            })
        });
        let judge = |c: Change| (c.kind, c.category, c.severity, c.structural_path);
        diff(&from, &to).changes.into_iter().map(judge).collect::<Vec<_>>()
    };
    let plain = judged("plain");
    assert_eq!(plain.len(), 4);
    for name in ["error", "Critical alert", "uptime_seconds", "facts.pci", "metrics.timestamp", "^uuid$"] {
        assert_eq!(judged(name), plain, "{name}");
    }
}

// Proves spec: guarantees#systems 28.
#[test]
fn small_values_of_memory() {
    let with =
        |installed: u32| edited(NSEC, |d| d["facts"]["memory"]["system"]["installed"] = installed.into());
    assert_eq!(lines(&diff(&with(16_000), &with(16_300))), [""; 0]);
    let expected = ["update facts.memory.system.installed hardware medium"];
    assert_eq!(lines(&diff(&with(16_000), &with(20_000))), expected);
}

// Proves spec: guarantees#systems 29.
#[test]
fn rules_are_compiled_once() {
    assert!(std::ptr::eq(Rules::standard(), Rules::standard()));
}
