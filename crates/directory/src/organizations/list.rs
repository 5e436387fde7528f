//! Lists of a family (spec: organizations#list) with their inline counts.

use super::seen_from;
use crate::Directory;
use bailiwick_domain::{
    CursorPage, Keywords, OrgId, OrgType, Organization, Page, PageRequest, Parameter, Result, SortDirection,
};
use bailiwick_identity::logto_sync;
use bailiwick_platform::{
    answer_cache::{self, CachedAnswer, DependsOn},
    cursor::Walk,
    list_filters,
};
use bailiwick_policy::{Caller, Refusal, Scope, list_scope, resource_of};
use bailiwick_store::{
    organizations::{
        self, Counts, Filter, Order, Sort, Within,
        list::{Selected, States},
    },
    walk::WalkStep as Found,
};
use bytes::Bytes;

/// The words of `sort_by`.
pub const ORDERS: Keywords<Sort> = Keywords::of(&[
    ("name", Sort::Name),
    ("description", Sort::Description),
    ("created_at", Sort::CreatedAt),
    ("updated_at", Sort::UpdatedAt),
    ("suspended_at", Sort::SuspendedAt),
    ("creator_name", Sort::CreatorName),
]);

/// The words of `status`.
const STATES: Keywords<States> = Keywords::of(&[
    ("enabled", list_filters::ENABLED),
    ("suspended", list_filters::SUSPENDED),
    ("deleted", list_filters::DELETED),
]);

/// The query as sent; repeated values are in the order of the request.
#[derive(Clone, Debug)]
pub struct ListQuery {
    pub page: PageRequest,
    /// `sort_by`; unknown = the default order.
    pub sort_by: String,
    pub direction: SortDirection,
    /// Filters.
    pub filter: FilterValues,
}

/// The filters as sent; empty ones are none.
#[derive(Clone, Debug, Default)]
pub struct FilterValues {
    pub search: String,
    pub status: Vec<String>,
    pub created_by: Vec<String>,
    /// `organization_id`, for resellers and customers.
    pub organization_id: Vec<String>,
    pub include_hierarchy: bool,
}

/// The filters of every family in a query.
const FAMILY: &[Parameter<FilterValues>] = &[
    Parameter::text("search", |filter, text| filter.search = text),
    Parameter::words("status", || STATES.list(), |filter, words| filter.status = words),
    Parameter::each("created_by", |filter, ids| filter.created_by = ids),
];

/// Those of families whose organizations have different parents.
const BELOW: &[Parameter<FilterValues>] = &[
    Parameter::each("organization_id", |filter, ids| filter.organization_id = ids),
    Parameter::flag("include_hierarchy", |filter| filter.include_hierarchy = true),
];

/// The filters of a family in a query. Distributors all have the same parent.
pub fn filters(family: OrgType) -> impl Iterator<Item = &'static Parameter<FilterValues>> + Clone {
    let has_parents = matches!(family, OrgType::Reseller | OrgType::Customer);
    FAMILY.iter().chain(if has_parents { BELOW } else { &[] })
}

impl ListQuery {
    /// The list, whatever page of it is asked for.
    fn without_page(mut self) -> ListQuery {
        self.page = PageRequest { page: 1, page_size: 1 };
        self
    }
}

/// A row of the list.
#[derive(Clone, Debug)]
pub struct Listed {
    pub organization: Organization,
    /// Counts of everything below it.
    pub counts: Counts,
}

/// One page of the family inside the caller's hierarchy. `write` writes the answer.
pub async fn list(
    service: &Directory,
    caller: &Caller,
    family: OrgType,
    query: ListQuery,
    write: impl FnOnce(Page<Listed>) -> Result<Bytes>,
) -> Result<CachedAnswer> {
    let scope = list_scope(caller, resource_of(family).ok_or(Refusal::Gate)?)?;
    let other = answer_cache::key_text(&(family, &query));
    let make = async {
        let (scope, filter, order) = prepare(service, caller, family, &query).await?;
        let total = total(service, family, scope, &filter).await?;
        let selected = Selected { family, scope: &scope, filter: &filter };
        let page =
            organizations::list::page_of(&service.platform.db, selected, order, query.page, total).await?;
        let Page { rows, total, request } = page;
        write(Page { rows: listed(service, family, &scope, rows).await?, total, request })
    };
    answer_cache::answer(&service.platform, DependsOn::Figures, "list of organizations", scope, other, make)
        .await
}

/// The list of a family by cursors; an empty one begins the walk (spec: conventions#cursors).
///
/// # Errors
/// 400 for a cursor that is not of this list.
pub async fn walk(
    service: &Directory,
    caller: &Caller,
    family: OrgType,
    query: ListQuery,
    cursor: &str,
) -> Result<CursorPage<Listed>> {
    let (scope, filter, order) = prepare(service, caller, family, &query).await?;
    let page_size = query.page.page_size;
    let walk =
        Walk::open(&service.platform, &answer_cache::key_text(&(family, query.without_page())), cursor)?;
    let total = match walk.total() {
        Some(total) => total,
        None => total(service, family, scope, &filter).await?,
    };
    let selected = Selected { family, scope: &scope, filter: &filter };
    let step =
        organizations::list::walk(&service.platform.db, selected, order, &walk.step(page_size)).await?;
    let rows = listed(service, family, &scope, step.rows).await?;
    walk.page(Found { rows, next: step.next }, total, page_size)
}

/// The rows with the counts of everything below them.
async fn listed(
    service: &Directory,
    family: OrgType,
    scope: &Scope,
    rows: Vec<Organization>,
) -> Result<Vec<Listed>> {
    let mut stats = organizations::stats_of(&service.platform.db, family, rows.iter().map(|o| o.id)).await?;
    let mut marks = logto_sync::marks_of_organizations(&service.identity, rows.iter().map(|o| o.id)).await?;
    let row = |organization: Organization| Listed {
        counts: stats.remove(&organization.id).unwrap_or_default().into(),
        organization: Organization {
            mirrored: marks.remove(&organization.id.0).unwrap_or_default(),
            ..seen_from(scope, organization)
        },
    };
    Ok(rows.into_iter().map(row).collect())
}

/// How many rows of the family match.
pub(super) async fn total(
    service: &Directory,
    family: OrgType,
    scope: Scope,
    filter: &Filter,
) -> Result<u64> {
    let count = organizations::list::count(&service.platform.db, Selected { family, scope: &scope, filter });
    answer_cache::number(
        &service.platform,
        DependsOn::People,
        "organizations",
        scope,
        answer_cache::key_text(&(family, filter)),
        count,
    )
    .await
}

/// The filter and the order of the caller's query.
pub async fn prepare(
    service: &Directory,
    caller: &Caller,
    family: OrgType,
    query: &ListQuery,
) -> Result<(Scope, Filter, Order)> {
    let resource = resource_of(family).ok_or(Refusal::Gate)?;
    let scope = list_scope(caller, resource)?;
    let sent = &query.filter;
    let filter = Filter {
        states: list_filters::states(&STATES, &sent.status),
        created_by: list_filters::ids(&sent.created_by),
        within: within(service, &scope, family, sent).await?,
        search: sent.search.clone(),
    };
    Ok((scope, filter, order(&query.sort_by, query.direction)))
}

fn order(sort_by: &str, direction: SortDirection) -> Order {
    ORDERS.parse(sort_by).map_or_else(Order::default, |by| Order { by, direction })
}

/// The requested parents. With `include_hierarchy`, each one is looked up, and only those within the caller's reach count.
async fn within(
    service: &Directory,
    scope: &Scope,
    family: OrgType,
    sent: &FilterValues,
) -> Result<Option<Vec<Within>>> {
    if family == OrgType::Distributor {
        return Ok(None);
    }
    let Some(ids) = list_filters::ids(&sent.organization_id) else { return Ok(None) };
    let ids = ids.into_iter().map(OrgId);
    if !sent.include_hierarchy {
        return Ok(Some(ids.map(Within::Parent).collect()));
    }
    let places = organizations::places(&service.platform.db, ids).await?;
    let reached = places.iter().filter(|p| scope.contains(&p.path));
    Ok(Some(reached.map(|p| Within::Below(p.path.id, p.org_type)).collect()))
}
