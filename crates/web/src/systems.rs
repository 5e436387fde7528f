//! The query of the list of systems (spec: systems#list).

use crate::Params;
use bailiwick_domain::SortDirection;
use bailiwick_fleet::systems::{FILTERS, SystemOrder, SystemQuery};

/// What the query asks for; `page_size`: rows of a page unless it says otherwise.
pub fn query(params: &Params, page_size: u64) -> SystemQuery {
    let direction = SortDirection::parse(params.one("sort_direction").unwrap_or_default());
    let order = SystemOrder::WORDS.parse(params.one("sort_by").unwrap_or_default());
    SystemQuery {
        filter: params.filter(FILTERS),
        order: order.map(|o| (o, direction)),
        page: params.page(page_size),
    }
}
