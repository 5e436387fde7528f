//! The query of the list of systems (spec: systems#list).

use crate::{Params, values};
use bailiwick_domain::{OrgId, SortDirection};
use bailiwick_fleet::systems::{StatusFilter, SystemFilter, SystemOrder, SystemQuery, VersionFilter};

/// What the query asks for; `page_size`: rows of a page unless it says otherwise.
pub fn query(params: &Params, page_size: u64) -> SystemQuery {
    let direction = SortDirection::parse(params.one("sort_direction").unwrap_or_default());
    let order = SystemOrder::WORDS.parse(params.one("sort_by").unwrap_or_default());
    SystemQuery { filter: filter(params), order: order.map(|o| (o, direction)), page: params.page(page_size) }
}

fn filter(params: &Params) -> SystemFilter {
    let text = |key| params.text(key).map(str::to_owned);
    SystemFilter {
        search: text("search"),
        name: text("name"),
        system_key: text("system_key"),
        types: values(params, "type", Some),
        created_by: values(params, "created_by", |v| v.parse::<OrgId>().ok().map(|id| id.0)),
        versions: values(params, "version", |v| Some(version(&v))),
        organizations: values(params, "organization_id", |v| v.parse().ok()),
        include_hierarchy: params.is_true("include_hierarchy"),
        statuses: values(params, "status", |v| StatusFilter::WORDS.parse(&v)),
    }
}

/// `product:version`, or a version of whatever product.
pub fn version(value: &str) -> VersionFilter {
    match value.split_once(':') {
        Some((product, version)) => {
            VersionFilter { product: Some(product.to_owned()), version: version.to_owned() }
        }
        None => VersionFilter { product: None, version: value.to_owned() },
    }
}
