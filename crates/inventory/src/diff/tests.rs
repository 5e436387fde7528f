//! Laws of the walk, with exact places that the shown paths do not tell apart.

use super::{
    ChangeKind,
    compare::{digest, walk},
    path::{Frame, Step},
};
use crate::{Document, Rules};
use bailiwick_domain::json::Json;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::collections::HashSet;

/// Keys that reach the special places, and few enough others that two documents share some.
const KEYS: [&str; 30] = [
    "facts",
    "facts",
    "facts",
    "modules",
    "nodes",
    "cluster",
    "features",
    "user_domains",
    "network",
    "zones",
    "configuration",
    "wireguard",
    "statistics",
    "servers",
    "openvpn_rw",
    "instances",
    "mountpoints",
    "id",
    "name",
    "server",
    "section",
    "ui_name",
    "version",
    "nethvoice_x",
    "name_module_map",
    "uptime_seconds",
    "1",
    "2",
    "a",
    "b",
];

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..4_i64).prop_map(Value::from),
        Just(json!(1.0)),
        prop::sample::select(&KEYS[..]).prop_map(Value::from),
        Just(json!("")),
    ]
}

fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop::collection::vec((prop::sample::select(&KEYS[..]), inner), 0..6).prop_map(|pairs| {
        pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>().into()
    })
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(12, 40, 5, |inner| {
        prop_oneof![prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from), object(inner)]
    })
}

/// A document with many values in the places with special treatment.
fn document() -> impl Strategy<Value = Value> {
    let modules = prop::collection::vec(object(value()), 0..5);
    let domains = prop::collection::vec(object(scalar()), 0..4);
    (modules, object(object(value())), domains, object(value()), object(value())).prop_map(
        |(modules, nodes, domains, features, mut rest)| {
            rest["facts"] = json!({"modules": modules, "nodes": nodes, "cluster": {"user_domains": domains},
                "features": features});
            rest
        },
    )
}

/// A document, and another one made from it by a few edits.
fn pair() -> impl Strategy<Value = (Value, Value)> {
    (document(), prop::collection::vec((any::<u16>(), value(), 0..4_u8), 0..6)).prop_map(|(from, edits)| {
        let mut to = from.clone();
        for (position, value, what) in edits {
            let mut left = usize::from(position) % count(&to);
            edit(&mut to, &mut left, &value, what);
        }
        if !to.is_object() {
            to = json!({"facts": to});
        }
        (from, to)
    })
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(entries) => entries.values().map(count).sum(),
        _ => 0,
    }
}

/// Changes the value reached after `left` others.
fn edit(value: &mut Value, left: &mut usize, new: &Value, what: u8) -> bool {
    if *left == 0 {
        match (what, &mut *value) {
            (0, Value::Array(items)) => items.push(new.clone()),
            (1, Value::Array(items)) => drop(items.pop()),
            (2, Value::Array(items)) => items.reverse(),
            (0, Value::Object(entries)) => drop(entries.insert("new".into(), new.clone())),
            (1, Value::Object(entries)) => drop(entries.pop_front()),
            _ => *value = new.clone(),
        }
        return true;
    }
    *left -= 1;
    match value {
        Value::Array(items) => items.iter_mut().any(|item| edit(item, left, new, what)),
        Value::Object(entries) => entries.values_mut().any(|item| edit(item, left, new, what)),
        _ => false,
    }
}

trait PopFront {
    fn pop_front(&mut self) -> Option<Value>;
}

impl PopFront for Map<String, Value> {
    fn pop_front(&mut self) -> Option<Value> {
        let key = self.keys().next()?.clone();
        self.remove(&key)
    }
}

/// A step with the text it borrows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Way {
    Key(String),
    Element(Option<usize>, Option<usize>),
}

type Difference = (Vec<Way>, ChangeKind, Option<Value>, Option<Value>);

fn path_of(frame: &Frame<'_, '_, '_>) -> Vec<Way> {
    let mut path = frame.parent().map(path_of).unwrap_or_default();
    match frame.step {
        Step::Root => {}
        Step::Key(key) => path.push(Way::Key(key.to_owned())),
        Step::Element(old, new) => path.push(Way::Element(old, new)),
    }
    path
}

fn differences(from: &Value, to: &Value) -> Vec<Difference> {
    let (from, to) = (from.to_string(), to.to_string());
    let (from, to) = (Document::parse(from.as_bytes()).unwrap(), Document::parse(to.as_bytes()).unwrap());
    let text = |value: Option<&Json<'_>>| {
        value.map(|value| {
            let mut text = String::new();
            value.write(&mut text);
            serde_json::from_str(&text).unwrap()
        })
    };
    let mut found = Vec::new();
    walk(&Frame::root(from.root(), to.root()), &mut |frame, kind| {
        found.push((path_of(frame), kind, text(frame.previous), text(frame.current)));
    });
    found
}

const GONE: &str = "\u{1}gone";

/// The first document with the differences applied.
fn applied(from: &Value, differences: &[Difference]) -> Value {
    let mut result = from.clone();
    for (path, kind, _, current) in differences {
        let (last, container) = path.split_last().unwrap();
        let container = container.iter().fold(&mut result, |at, step| match step {
            Way::Key(key) => &mut at[key.as_str()],
            Way::Element(old, _) => &mut at[old.unwrap()],
        });
        let new = if *kind == ChangeKind::Delete { json!(GONE) } else { current.clone().unwrap() };
        match (last, container) {
            (Way::Key(key), Value::Object(entries)) => drop(entries.insert(key.clone(), new)),
            (Way::Element(Some(old), _), Value::Array(items)) => items[*old] = new,
            (Way::Element(None, _), Value::Array(items)) => items.push(new),
            (last, container) => panic!("{last:?} in {container}"),
        }
    }
    sweep(&mut result);
    result
}

fn sweep(value: &mut Value) {
    match value {
        Value::Array(items) => {
            items.retain(|item| item != GONE);
            items.iter_mut().for_each(sweep);
        }
        Value::Object(entries) => {
            entries.retain(|_, item| item != GONE);
            entries.values_mut().for_each(sweep);
        }
        _ => {}
    }
}

fn digest_of(value: &Value) -> u64 {
    digest(Document::parse(value.to_string().as_bytes()).unwrap().root())
}

/// The document with every array and every object reversed.
fn turned(value: &Value) -> Value {
    match value {
        Value::Object(entries) => {
            entries.iter().rev().map(|(k, v)| (k.clone(), turned(v))).collect::<Map<_, _>>().into()
        }
        Value::Array(items) => items.iter().rev().map(turned).collect(),
        other => other.clone(),
    }
}

/// The document with every object and every list of identified elements reversed.
fn resorted(value: &Value) -> Value {
    let mut result = value.clone();
    for list in ["/facts/modules", "/facts/cluster/user_domains"] {
        if let Some(Value::Array(items)) = result.pointer_mut(list) {
            items.reverse();
        }
    }
    result
}

/// Modules and domains with an identity of their own each.
fn numbered(value: &Value) -> Value {
    let mut result = value.clone();
    for (list, field) in [("/facts/modules", "id"), ("/facts/cluster/user_domains", "name")] {
        if let Some(Value::Array(items)) = result.pointer_mut(list) {
            for (index, item) in items.iter_mut().enumerate().filter(|(_, item)| item.is_object()) {
                item[field] = format!("x{index}").into();
            }
            items.retain(Value::is_object);
        }
    }
    result
}

fn diff_of(from: &Value, to: &Value) -> super::Diff {
    let (from, to) = (from.to_string(), to.to_string());
    Rules::standard()
        .diff(&Document::parse(from.as_bytes()).unwrap(), &Document::parse(to.as_bytes()).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn nothing_differs_from_itself(document in document()) {
        prop_assert_eq!(differences(&document, &document), []);
        // Nor from itself in another order.
        prop_assert_eq!(differences(&document, &turned(&document)), []);
    }

    #[test]
    fn applied_to_the_first_document_they_give_the_second((from, to) in pair()) {
        let found = differences(&from, &to);
        prop_assert_eq!(digest_of(&applied(&from, &found)), digest_of(&to), "{:?}", found);
        prop_assert_eq!(found.is_empty(), digest_of(&from) == digest_of(&to));
    }

    #[test]
    fn unlike_documents_too(from in document(), to in document()) {
        prop_assert_eq!(digest_of(&applied(&from, &differences(&from, &to))), digest_of(&to));
    }

    #[test]
    fn every_place_once_and_values_of_that_place((from, to) in pair()) {
        let differences_found = differences(&from, &to);
        let paths: HashSet<&Vec<Way>> = differences_found.iter().map(|difference| &difference.0).collect();
        prop_assert_eq!(paths.len(), differences_found.len());
        for (path, kind, previous, current) in &differences_found {
            prop_assert_eq!((previous.is_some(), current.is_some()), match kind {
                ChangeKind::Delete => (true, false),
                ChangeKind::Update => (true, true),
                ChangeKind::Create => (false, true),
            });
            prop_assert!(path.len() <= 10);
            // No place inside another one.
            prop_assert!((1..path.len()).all(|n| !paths.contains(&path[..n].to_vec())));
        }
    }

    #[test]
    fn there_and_back_mirror_each_other((from, to) in pair()) {
        let (there, back) = (differences(&from, &to), differences(&to, &from));
        prop_assert_eq!(there.len(), back.len());
        let number = |list: &[Difference], kind| list.iter().filter(|d| d.1 == kind).count();
        prop_assert_eq!(number(&there, ChangeKind::Create), number(&back, ChangeKind::Delete));
        prop_assert_eq!(number(&there, ChangeKind::Update), number(&back, ChangeKind::Update));
    }

    #[test]
    fn the_same_two_documents_give_the_same((from, to) in pair()) {
        let first = diff_of(&from, &to);
        prop_assert_eq!(&first, &diff_of(&from, &to));
        prop_assert!(first.changes.is_sorted_by_key(|c| (c.severity, c.structural_path.clone(), c.field_path.clone(), c.kind)));
        let differing = differences(&from, &to).len();
        prop_assert!(first.changes.len() + first.dropped <= differing);
    }

    #[test]
    fn the_order_of_identified_elements_never_matters((from, to) in pair()) {
        let (from, to) = (numbered(&from), numbered(&to));
        // Values that are shown whole keep their order.
        let judged = |diff: super::Diff| {
            let judge = |c: super::Change| (c.kind, c.category, c.severity, c.structural_path, c.field_path);
            diff.changes.into_iter().map(judge).collect::<Vec<_>>()
        };
        prop_assert_eq!(judged(diff_of(&from, &to)), judged(diff_of(&resorted(&from), &resorted(&to))));
    }

    #[test]
    fn no_bytes_make_it_fail(from in any::<Vec<u8>>(), mut to in value(), at in any::<u16>()) {
        // Arbitrary bytes are seldom a document; arbitrary edits of a document's bytes often are.
        if let Ok(document) = Document::parse(&from) {
            let _ = Rules::standard().diff(&document, &document);
        }
        to = json!({"facts": {"modules": [to.clone(), to]}});
        let text = to.to_string();
        let mut bytes = text.clone().into_bytes();
        let index = usize::from(at) % bytes.len();
        bytes[index] = from.first().copied().unwrap_or(b'0');
        if let (Ok(a), Ok(b)) = (Document::parse(text.as_bytes()), Document::parse(&bytes)) {
            let _ = Rules::standard().diff(&a, &b);
            let _ = Rules::standard().diff(&b, &a);
        }
    }
}
