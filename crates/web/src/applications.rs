//! The query of the list of applications (spec: applications#operations).

use crate::Params;
use bailiwick_domain::SortDirection;
use bailiwick_fleet::applications::{ApplicationOrder, ApplicationQuery, FILTERS};

/// What the query asks for; `page_size`: rows of a page unless it says otherwise.
pub fn query(params: &Params, page_size: u64) -> ApplicationQuery {
    let direction = SortDirection::parse(params.one("sort_direction").unwrap_or_default());
    let order = ApplicationOrder::WORDS.parse(params.one("sort_by").unwrap_or_default());
    ApplicationQuery {
        filter: params.filter(FILTERS),
        order: order.map(|o| (o, direction)),
        page: params.page(page_size),
    }
}
