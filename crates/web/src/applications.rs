//! The query of the list of applications (spec: applications#operations).

use crate::{Params, systems::version, values};
use bailiwick_domain::SortDirection;
use bailiwick_fleet::applications::{ApplicationFilter, ApplicationOrder, ApplicationQuery};

/// The organization of unassigned ones.
const NOBODY: &str = "no_org";

/// What the query asks for; `page_size`: rows of a page unless it says otherwise.
pub fn query(params: &Params, page_size: u64) -> ApplicationQuery {
    let direction = SortDirection::parse(params.one("sort_direction").unwrap_or_default());
    let order = ApplicationOrder::WORDS.parse(params.one("sort_by").unwrap_or_default());
    ApplicationQuery {
        filter: filter(params),
        order: order.map(|o| (o, direction)),
        page: params.page(page_size),
    }
}

fn filter(params: &Params) -> ApplicationFilter {
    ApplicationFilter {
        search: params.text("search").map(str::to_owned),
        types: values(params, "type", Some),
        versions: values(params, "version", |v| Some(version(&v))),
        systems: values(params, "system_id", |v| v.parse().ok()),
        organizations: values(params, "organization_id", |v| v.parse().ok()),
        or_unassigned: params.many("organization_id").iter().any(|v| v == NOBODY),
        include_hierarchy: params.is_true("include_hierarchy"),
        statuses: values(params, "status", |v| ApplicationFilter::STATUSES.parse(&v).map(str::to_owned)),
    }
}
