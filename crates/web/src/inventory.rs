//! The query of the differences of a system (spec: inventory#reads).

use crate::Params;
use bailiwick_fleet::inventory::{self, ChangeKind, DiffFilter, Severity, TimeRange};

/// The time range that the query names.
pub fn range(params: &Params) -> TimeRange {
    inventory::time_range(params.one("from_date"), params.one("to_date"))
}

/// A repeated key: absent = no filter; values that mean nothing match nothing.
fn values<T>(params: &Params, key: &str, meaning: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    let sent = params.many(key);
    (!sent.is_empty()).then(|| sent.iter().filter_map(|value| meaning(value)).collect())
}

/// Which differences the query asks for.
pub fn filter(params: &Params) -> DiffFilter {
    DiffFilter {
        severities: values(params, "severity", |word| Severity::of_word(word).map(|code| code as i64)),
        categories: values(params, "category", |word| {
            inventory::Category::of_word(word).map(|code| code.word().to_owned())
        }),
        kinds: values(params, "diff_type", |word| ChangeKind::of_word(word).map(|code| code as i64)),
        records: values(params, "inventory_id", |number| number.parse().ok()),
        range: range(params),
        search: params.text("search").map(str::to_owned),
    }
}
