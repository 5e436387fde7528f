//! The query of the list of users (spec: users#operations).

use crate::Params;
use bailiwick_directory::users::{FILTERS, ListQuery};
use bailiwick_domain::SortDirection;

/// What the query asks for; `page_size`: rows of a page unless it says otherwise.
pub fn query(params: &Params, page_size: u64) -> ListQuery {
    ListQuery {
        page: params.page(page_size),
        sort_by: params.one("sort_by").unwrap_or_default().to_owned(),
        direction: SortDirection::parse(params.one("sort_direction").unwrap_or_default()),
        filter: params.filter(FILTERS),
    }
}
