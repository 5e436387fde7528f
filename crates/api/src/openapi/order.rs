//! The default order of lists (spec: acceptance#guarantees rule 14). The descriptions state it for people, `x-order`
//! for programs, and the client of all tests checks it in every answer (`bailiwick_testkit::published`).

use crate::route::Route;
use serde_json::{Value, json};

/// The sentences of a description; empty for an operation that is not a list.
pub(super) fn sentences(route: &Route) -> String {
    let word = |key: &&str| match key.strip_prefix('-') {
        Some(key) => format!("`{key}` descending"),
        None => format!("`{key}` ascending"),
    };
    let mut out = String::new();
    for (rows, keys) in route.order {
        let keys = keys.iter().map(word).collect::<Vec<_>>().join(", then ");
        let of = if rows.is_empty() { String::new() } else { format!(" of `{rows}`") };
        out.push_str(&format!(" Order{of} unless another is asked for: {keys}."));
    }
    if !route.order_note.is_empty() {
        out.push(' ');
        out.push_str(route.order_note);
    }
    out
}

/// `x-order`: by list, the fields it goes by.
pub(super) fn extension(route: &Route) -> Option<Value> {
    let lists = route.order.iter().map(|(rows, keys)| ((*rows).to_owned(), json!(keys)));
    let lists: serde_json::Map<String, Value> = lists.collect();
    (!lists.is_empty()).then_some(Value::Object(lists))
}
