//! Lists whose filters, order and page are in the address: it can be sent to a colleague.

use crate::failure::{Failure, Outcome};
use bailiwick_domain::{Page, Parameter};
use serde::Serialize;

/// Rows of a page that can be chosen.
const SIZES: [u64; 3] = [20, 50, 100];
/// Rows of a page unless the address says otherwise.
pub(crate) const PAGE_SIZE: u64 = 20;
/// Pages named before and after the present one.
const NEAR: u64 = 2;

/// Filters of one kind that a list names: each of their links repeats the whole address.
pub(crate) const MOST_CHIPS: usize = 10;

/// The query of an address, as it can be changed.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    path: String,
    pairs: Vec<(String, String)>,
}

impl Address {
    /// Of the page that was asked for. What is empty says nothing and is left out.
    pub(crate) fn of(path: &str, query: Option<&str>) -> Address {
        let pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned();
        let is_set = |(_, value): &(String, String)| !value.is_empty();
        Address { path: path.to_owned(), pairs: pairs.filter(is_set).collect() }
    }

    /// The address with one value of a key; none removes the key. Another order or filter begins at the first page.
    pub(crate) fn with(&self, key: &str, value: Option<&str>) -> Address {
        let mut pairs = self.pairs.clone();
        pairs.retain(|(k, _)| k != key && (key == "page" || k != "page"));
        pairs.extend(value.map(|value| (key.to_owned(), value.to_owned())));
        Address { path: self.path.clone(), pairs }
    }

    /// The address without one value of a repeated key.
    fn without(&self, key: &str, value: &str) -> Address {
        let mut pairs = self.pairs.clone();
        pairs.retain(|(k, v)| (k != key || v != value) && k != "page");
        Address { path: self.path.clone(), pairs }
    }

    /// The address with another path and the same query.
    pub(crate) fn at(&self, path: &str) -> Address {
        Address { path: path.to_owned(), pairs: self.pairs.clone() }
    }

    /// A filter in force that has no choice on the page; without a label its value is not shown.
    pub(crate) fn chip(&self, key: &str, text: &'static str, value: &str, label: Option<String>) -> Chip {
        Chip {
            text,
            label: label.unwrap_or_else(|| "…".to_owned()),
            address: self.without(key, value).text(),
        }
    }

    /// Whether a key is asked for.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.pairs.iter().any(|(k, _)| k == key)
    }

    /// Whether this value of a key is asked for.
    pub(crate) fn holds(&self, key: &str, value: &str) -> bool {
        self.pairs.iter().any(|(k, v)| k == key && v == value)
    }

    /// The values of a key.
    pub(crate) fn values<'a>(&'a self, key: &'static str) -> impl Iterator<Item = &'a str> + use<'a> {
        self.pairs.iter().filter(move |(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// The values of a key as filters in force that are shown as they are.
    pub(crate) fn value_chips(&self, key: &'static str, text: &'static str) -> Vec<Chip> {
        let chip = |value| self.chip(key, text, value, Some(str::to_owned(value)));
        self.values(key).take(MOST_CHIPS).map(chip).collect()
    }

    /// Without any filter.
    pub(crate) fn bare(&self) -> String {
        self.path.clone()
    }

    /// As text.
    pub(crate) fn text(&self) -> String {
        if self.pairs.is_empty() {
            return self.path.clone();
        }
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(&self.pairs).finish();
        format!("{}?{query}", self.path)
    }
}

/// A link between pages.
#[derive(Clone, Debug, Serialize)]
struct Step {
    number: u64,
    address: String,
    is_present: bool,
}

/// What stands below a list.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Pager {
    first: u64,
    last: u64,
    total: u64,
    before: Option<String>,
    after: Option<String>,
    steps: Vec<Step>,
    sizes: Vec<Step>,
}

impl Pager {
    /// Of a page. One past the end, where rows may have been before some were deleted, leads to the last page.
    pub(crate) fn of<T>(page: &Page<T>, address: &Address) -> Outcome<Pager> {
        let (present, pages) = (page.request.page, page.total_pages().max(1));
        let to =
            |number: u64| address.with("page", (number > 1).then(|| number.to_string()).as_deref()).text();
        if page.rows.is_empty() && present > pages {
            return Err(Failure::PastTheEnd(to(pages)));
        }
        let shown = page.rows.len() as u64;
        let is_near = |number: &u64| *number == 1 || *number == pages || number.abs_diff(present) <= NEAR;
        let near = present.saturating_sub(NEAR).max(1)..=present.saturating_add(NEAR).min(pages);
        let mut numbers: Vec<u64> = near.chain([1, pages]).filter(is_near).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let step = |number| Step { number, address: to(number), is_present: number == present };
        let size = |size: u64| Step {
            number: size,
            address: address
                .with("page_size", (size != PAGE_SIZE).then(|| size.to_string()).as_deref())
                .with("page", None)
                .text(),
            is_present: size == page.request.page_size,
        };
        Ok(Pager {
            first: if shown > 0 { page.request.offset() + 1 } else { 0 },
            last: page.request.offset() + shown,
            total: page.total,
            before: (present > 1).then(|| to(present - 1)),
            after: (present < pages).then(|| to(present + 1)),
            steps: if pages > 1 { numbers.into_iter().map(step).collect() } else { Vec::new() },
            sizes: SIZES.into_iter().map(size).collect(),
        })
    }
}

/// A column that orders the list.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Column {
    key: &'static str,
    /// Name of its text.
    text: &'static str,
    /// Where a click leads; none = it does not order.
    address: Option<String>,
    /// `ascending`, `descending` or `none`.
    order: &'static str,
}

impl Column {
    /// A column; `by`: its word in `sort_by`.
    pub(crate) fn of(key: &'static str, text: &'static str, by: Option<&str>, address: &Address) -> Column {
        let present = |name: &str| address.pairs.iter().find(|(key, _)| key == name).map(|(_, v)| v.as_str());
        let is_ordered = by.is_some() && present("sort_by") == by;
        let is_descending = present("sort_direction") == Some("desc");
        let (order, next) = match (is_ordered, is_descending) {
            (true, false) => ("ascending", Some("desc")),
            (true, true) => ("descending", None),
            (false, _) => ("none", None),
        };
        let address = by.map(|by| address.with("sort_by", Some(by)).with("sort_direction", next).text());
        Column { key, text, address, order }
    }

    /// A column of a list that begins with the latest or largest unless the address says otherwise.
    pub(crate) fn falling(
        key: &'static str,
        text: &'static str,
        by: Option<&str>,
        address: &Address,
    ) -> Column {
        let column = Column::of(key, text, by, address);
        let is_asc = address.pairs.iter().any(|(key, value)| key == "sort_direction" && value == "asc");
        let (order, next) = match (column.order, is_asc) {
            ("none", _) => ("none", None),
            (_, true) => ("ascending", None),
            (_, false) => ("descending", Some("asc")),
        };
        let address = by.map(|by| address.with("sort_by", Some(by)).with("sort_direction", next).text());
        Column { address, order, ..column }
    }
}

/// One value of a filter.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Choice {
    /// In the address.
    pub(crate) value: String,
    /// For people.
    pub(crate) label: String,
    /// Whether it is asked for.
    pub(crate) is_on: bool,
}

/// A filter with several values.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Filter {
    key: &'static str,
    text: &'static str,
    choices: Vec<Choice>,
    on: usize,
}

impl Filter {
    /// Of a key with its values and their labels.
    pub(crate) fn of(
        key: &'static str,
        text: &'static str,
        all: impl IntoIterator<Item = (String, String)>,
        address: &Address,
    ) -> Filter {
        let is_on = |value: &str| address.holds(key, value);
        let choices: Vec<Choice> =
            all.into_iter().map(|(value, label)| Choice { is_on: is_on(&value), value, label }).collect();
        let on = choices.iter().filter(|choice| choice.is_on).count();
        Filter { key, text, choices, on }
    }

    /// Whether there is anything to choose.
    pub(crate) fn has_choices(&self) -> bool {
        !self.choices.is_empty()
    }

    /// The values that are asked for and are no choice.
    fn others<'a>(&'a self, address: &'a Address) -> impl Iterator<Item = &'a str> {
        let is_choice = |value: &&str| self.choices.iter().any(|choice| choice.value == *value);
        address.values(self.key).filter(move |value| !is_choice(value))
    }

    /// The values that are no choice, as hidden fields of the form of the filters.
    fn hidden_fields(&self, address: &Address) -> Vec<(&'static str, String)> {
        self.others(address).map(|value| (self.key, value.to_owned())).collect()
    }

    /// The values that are asked for, each with the way to take it away.
    pub(crate) fn chips(&self, address: &Address) -> Vec<Chip> {
        let on = self.choices.iter().filter(|choice| choice.is_on);
        let choices = on.map(|choice| (choice.value.as_str(), Some(choice.label.clone())));
        let all = choices.chain(self.others(address).map(|value| (value, None)));
        all.take(MOST_CHIPS).map(|(value, label)| address.chip(self.key, self.text, value, label)).collect()
    }
}

/// Whether the list is filtered.
pub(crate) fn is_filtered<F: 'static>(
    filters: impl IntoIterator<Item = &'static Parameter<F>>,
    address: &Address,
) -> bool {
    filters.into_iter().any(|filter| address.has(filter.key))
}

/// What the form of the filters hands on as it is: the order, the size of a page, and the values that are neither in
/// its field nor among its choices.
pub(crate) fn hidden_fields<F: 'static>(
    filters: impl IntoIterator<Item = &'static Parameter<F>>,
    choices: &[Filter],
    address: &Address,
) -> Vec<(&'static str, String)> {
    let is_in_form = |key: &str| key == "search" || choices.iter().any(|filter| filter.key == key);
    let others = filters.into_iter().map(|filter| filter.key).filter(|key| !is_in_form(key));
    let keys = others.chain(["sort_by", "sort_direction", "page_size"]);
    let values = keys.flat_map(|key| address.values(key).map(move |value| (key, value.to_owned())));
    values.chain(choices.iter().flat_map(|filter| filter.hidden_fields(address))).collect()
}

/// A filter in force.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Chip {
    pub(crate) text: &'static str,
    pub(crate) label: String,
    pub(crate) address: String,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail anywhere")]

    use super::*;
    use bailiwick_domain::PageRequest;

    fn pager(page: u64, total: u64) -> Outcome<Pager> {
        let request = PageRequest { page, page_size: 20 };
        let rows = vec![(); usize::try_from(total.saturating_sub(request.offset()).min(20)).unwrap_or(0)];
        Pager::of(
            &Page { rows, total, request },
            &Address::of("/console/systems", Some("status=active&page=9")),
        )
    }

    #[test]
    fn the_first_the_last_and_the_near_pages_are_named() {
        let pager = pager(5, 600).unwrap();
        assert_eq!(pager.steps.iter().map(|s| s.number).collect::<Vec<_>>(), [1, 3, 4, 5, 6, 7, 30]);
        assert_eq!((pager.first, pager.last), (81, 100));
        assert_eq!(pager.after.as_deref(), Some("/console/systems?status=active&page=6"));
    }

    #[test]
    fn a_page_past_the_end_leads_to_the_last_one() {
        let last = |total| match pager(9, total) {
            Err(Failure::PastTheEnd(last)) => last,
            other => panic!("{other:?}"),
        };
        assert_eq!(last(30), "/console/systems?status=active&page=2");
        assert_eq!(last(0), "/console/systems?status=active");
        assert!(pager(1, 0).is_ok() && pager(2, 21).is_ok());
    }

    #[test]
    fn a_click_orders_and_the_next_one_turns() {
        let column = |query| {
            let column = Column::of("name", "name", Some("name"), &Address::of("/x", Some(query)));
            (column.order, column.address.unwrap_or_default())
        };
        assert_eq!(column("page=3&search="), ("none", "/x?sort_by=name".to_owned()));
        assert_eq!(column("sort_by=name"), ("ascending", "/x?sort_by=name&sort_direction=desc".to_owned()));
        assert_eq!(column("sort_by=name&sort_direction=desc"), ("descending", "/x?sort_by=name".to_owned()));
        let falling = |query| {
            let column = Column::falling("name", "name", Some("name"), &Address::of("/x", Some(query)));
            (column.order, column.address.unwrap_or_default())
        };
        assert_eq!(falling(""), ("none", "/x?sort_by=name".to_owned()));
        assert_eq!(falling("sort_by=name"), ("descending", "/x?sort_by=name&sort_direction=asc".to_owned()));
        assert_eq!(falling("sort_by=name&sort_direction=asc"), ("ascending", "/x?sort_by=name".to_owned()));
    }
}
