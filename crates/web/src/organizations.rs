//! The query of the list of a family of organizations (spec: organizations#list).

use crate::{Keys, Params};
use bailiwick_directory::organizations::ListQuery;
use bailiwick_domain::{OrgType, SortDirection};

const DISTRIBUTORS: Keys = Keys { texts: &["search"], lists: &["status", "created_by"], hierarchy: false };
const BELOW: Keys =
    Keys { texts: &["search"], lists: &["status", "created_by", "organization_id"], hierarchy: true };

/// Filters of the list of a family; distributors are all below the same organization.
pub const fn keys(family: OrgType) -> &'static Keys {
    match family {
        OrgType::Owner | OrgType::Distributor => &DISTRIBUTORS,
        OrgType::Reseller | OrgType::Customer => &BELOW,
    }
}

/// What the query asks for; `page_size`: rows of a page unless it says otherwise.
pub fn query(params: &Params, page_size: u64) -> ListQuery {
    ListQuery {
        page: params.page(page_size),
        search: params.one("search").unwrap_or_default().to_owned(),
        sort_by: params.one("sort_by").unwrap_or_default().to_owned(),
        direction: SortDirection::parse(params.one("sort_direction").unwrap_or_default()),
        status: params.many("status"),
        created_by: params.many("created_by"),
        organization_id: params.many("organization_id"),
        include_hierarchy: params.is_true("include_hierarchy"),
    }
}
