//! The query of the list of users (spec: users#operations).

use crate::Params;
use bailiwick_directory::users::ListQuery;
use bailiwick_domain::SortDirection;

/// What the query asks for; `page_size`: rows of a page unless it says otherwise.
pub fn query(params: &Params, page_size: u64) -> ListQuery {
    ListQuery {
        page: params.page(page_size),
        search: params.one("search").unwrap_or_default().to_owned(),
        sort_by: params.one("sort_by").unwrap_or_default().to_owned(),
        direction: SortDirection::parse(params.one("sort_direction").unwrap_or_default()),
        status: params.many("status"),
        organization_id: params.many("organization_id"),
        role: params.many("role"),
        created_by: params.many("created_by"),
    }
}
