//! The keys that operations read from the query, as the interface document lists them. Unknown keys are ignored
//! everywhere.
//!
//! Words that are known beforehand come from the tables that parse them, so the document matches the handlers.

use crate::{
    manage::{LONG_PAGE_SIZE, PAGE_SIZE, inventory::WITHOUT_TEXT},
    query_key::QueryKey,
};
use bailiwick_alerts::manage::{ActiveFilter, ActiveOrder, HistoryFilter, HistoryOrder};
use bailiwick_directory::exports::Format;
use bailiwick_domain::{Keywords, Parameter, SortDirection};
use bailiwick_fleet::inventory;
use bailiwick_platform::trend;
use bailiwick_web::alerts::DESCENDANTS;

pub(super) fn key(name: &'static str) -> QueryKey {
    QueryKey::new(name)
}

pub(super) fn keys<const N: usize>(names: [&'static str; N]) -> [QueryKey; N] {
    names.map(key)
}

/// A list by page number with this many rows unless the request names another number.
pub(super) fn page(rows: u64) -> [QueryKey; 2] {
    [key("page"), key("page_size").by_default(rows)]
}

/// A list by page number whose usual number of rows depends on the request.
pub(super) fn page_of_any_size() -> [QueryKey; 2] {
    keys(["page", "page_size"])
}

/// A list by page number or by cursor.
pub(super) fn page_or_cursor(rows: u64) -> impl Iterator<Item = QueryKey> {
    page(rows).into_iter().chain([key("cursor")])
}

/// The orders of a list.
pub(super) fn sort<T: Copy + 'static>(orders: Keywords<T>) -> [QueryKey; 2] {
    [key("sort_by").one_of(orders.list()), key("sort_direction").one_of(SortDirection::WORDS.list())]
}

/// A list that has one order and takes the keys of others.
pub(super) fn sort_ignored() -> [QueryKey; 2] {
    keys(["sort_by", "sort_direction"]).map(QueryKey::ignored)
}

/// The filters that a list declares.
pub(super) fn filters<F: 'static>(
    parameters: impl IntoIterator<Item = &'static Parameter<F>>,
) -> impl Iterator<Item = QueryKey> {
    let filter = |parameter: &Parameter<F>| QueryKey {
        is_repeated: parameter.is_repeated(),
        ..key(parameter.key).one_of((parameter.words)())
    };
    parameters.into_iter().map(filter)
}

/// The format of an export.
pub(super) fn format() -> [QueryKey; 1] {
    [key("format").one_of(Format::WORDS.list())]
}

/// The days of a trend.
pub(super) fn period() -> [QueryKey; 1] {
    [key("period").one_of(trend::PERIODS.list())]
}

/// A range of time.
pub(super) fn dates() -> [QueryKey; 2] {
    keys(["from_date", "to_date"])
}

/// The organization that an operation on alerts is about.
pub(super) fn organization() -> [QueryKey; 1] {
    keys(["organization_id"])
}

/// The organizations that alerts are listed or counted of.
pub(super) fn organizations() -> [QueryKey; 2] {
    [key("organization_id").repeated(), key("include").one_of(vec![DESCENDANTS])]
}

/// A list of active alerts.
pub(super) fn active_alerts() -> impl Iterator<Item = QueryKey> {
    page(LONG_PAGE_SIZE).into_iter().chain(sort(ActiveOrder::WORDS)).chain(filters(ActiveFilter::FILTERS))
}

/// A list of alerts in the past.
pub(super) fn alerts_history() -> impl Iterator<Item = QueryKey> {
    let list = page(PAGE_SIZE).into_iter().chain(sort(HistoryOrder::WORDS));
    list.chain(dates()).chain(filters(HistoryFilter::FILTERS))
}

/// Inventory records of a system.
pub(super) fn inventory_records() -> impl Iterator<Item = QueryKey> {
    page(PAGE_SIZE).into_iter().chain(dates()).chain([key("fields").one_of(vec![WITHOUT_TEXT])])
}

/// Changes in the inventory of a system.
pub(super) fn inventory_changes() -> impl Iterator<Item = QueryKey> {
    page(PAGE_SIZE).into_iter().chain(dates()).chain(filters(inventory::FILTERS))
}

/// The filters that the alert router's lists of alerts share (spec: alerts#query-parameters).
pub(super) fn router_alerts() -> impl Iterator<Item = QueryKey> {
    [
        key("filter").repeated(),
        key("receiver"),
        key("receiver_matchers").repeated(),
        key("active"),
        key("silenced"),
        key("inhibited"),
    ]
    .into_iter()
}

/// The filters of the alert router's list of silences.
pub(super) fn router_silences() -> impl Iterator<Item = QueryKey> {
    [key("filter").repeated()].into_iter().chain(keys(["active", "expired", "pending"]))
}
