//! The route table, the OpenAPI document and the list of missing rows agree, and change only on purpose.

use bailiwick_api::{
    openapi,
    routes::{Gate, Route, table},
};
use std::collections::BTreeSet;

#[test]
fn every_row_is_in_the_openapi_document_and_nothing_else() {
    let document = openapi::document();
    let documented: BTreeSet<String> = document["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, item)| {
            item.as_object().unwrap().keys().map(move |m| format!("{} {path}", m.to_uppercase()))
        })
        .collect();
    let rows: BTreeSet<String> = table().iter().map(|r| format!("{} {}", r.method, r.path)).collect();
    assert_eq!(documented, rows);
    assert_eq!(rows.len(), table().len(), "no row twice");
    let operations: BTreeSet<String> = table().into_iter().map(|r| r.operation).collect();
    assert_eq!(operations.len(), table().len(), "operation ids are unique");
}

#[test]
fn served_rows_describe_what_they_give() {
    for route in table().iter().filter(|r| !r.is_proxied() && r.success == 200) {
        assert!(route.is_described(), "{route:?} has no schema of its data");
    }
}

fn line(route: &Route) -> String {
    let gate = match route.gate {
        Gate::Open => String::new(),
        Gate::Needs(list) => list.iter().map(|p| p.as_str()).collect::<Vec<_>>().join(" and "),
        Gate::OneOf(list) => list.iter().map(|p| p.as_str()).collect::<Vec<_>>().join(" or "),
        Gate::OwnOrganizationOr(p) => format!("{} or own organization", p.as_str()),
        Gate::Rebranding(change) => format!("owner rule ({})", change.verb()),
    };
    let not_self = if route.not_self { ", not self" } else { "" };
    format!("{} {} [{:?}] {:?} {gate}{not_self}", route.method, route.path, route.class, route.credential)
}

/// Reviewed against spec: operations#route-table; a change here changes which callers may use which route.
#[test]
fn the_table_is_the_reviewed_one() {
    let lines: Vec<String> = table().iter().map(line).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn every_row_is_served() {
    for route in table() {
        assert!(route.is_served(), "{route:?} has no handler");
    }
}
