//! The list of users (spec: users#operations).

use super::{UserView, distinct, view};
use crate::Directory;
use bailiwick_domain::{
    CursorPage, Keywords, OrgId, Page, PageRequest, Parameter, Result, SortDirection, User, UserId,
};
use bailiwick_identity::logto_sync;
use bailiwick_platform::{
    answer_cache::{self, CachedAnswer, DependsOn},
    cursor::Walk,
    list_filters,
};
use bailiwick_policy::{Caller, Permission, Resource, Scope, list_scope};
use bailiwick_store::{
    impersonation::consents,
    organizations::list::States,
    users::{self, Filter, Order, Placed, Sort},
    walk::WalkStep as Found,
};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// The words of `sort_by`.
pub const ORDERS: Keywords<Sort> = Keywords::of(&[
    ("name", Sort::Name),
    ("email", Sort::Email),
    ("username", Sort::Username),
    ("created_at", Sort::CreatedAt),
    ("updated_at", Sort::UpdatedAt),
    ("latest_login_at", Sort::LatestLoginAt),
    ("organization", Sort::Organization),
    ("status", Sort::SuspendedAt),
    ("creator_name", Sort::CreatorName),
]);

/// The words of `status`; older clients say `active`, which is no state of an organization.
const STATES: Keywords<States> = Keywords::of(&[
    ("enabled", list_filters::ENABLED),
    ("active", list_filters::ENABLED),
    ("suspended", list_filters::SUSPENDED),
    ("deleted", list_filters::DELETED),
]);

/// The query as sent.
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
    pub organization_id: Vec<String>,
    pub role: Vec<String>,
    pub created_by: Vec<String>,
}

/// The filters in a query.
pub const FILTERS: &[Parameter<FilterValues>] = &[
    Parameter::text("search", |filter, text| filter.search = text),
    Parameter::words("status", || STATES.list(), |filter, words| filter.status = words),
    Parameter::each("organization_id", |filter, ids| filter.organization_id = ids),
    Parameter::each("role", |filter, keys| filter.role = keys),
    Parameter::each("created_by", |filter, ids| filter.created_by = ids),
];

/// One page of the users inside the caller's hierarchy, the caller included. `write` writes the answer.
pub async fn list(
    service: &Directory,
    caller: &Caller,
    query: ListQuery,
    write: impl FnOnce(Page<UserView>) -> Result<Bytes>,
) -> Result<CachedAnswer> {
    let page = query.page;
    // Only the caller sees which users the caller may impersonate. Consents move the epoch when they are given or
    // withdrawn; the time of the next expiry is part of the key. That time is read after the epoch: the other way
    // round, a consent given in between would be cached under a key without its expiry, and shown after it.
    let epochs = answer_cache::epochs(&service.platform, DependsOn::Logins).await?;
    let impersonates = if caller.holds(Permission::ImpersonateUsers) {
        let next = consents::next_expiry(&service.platform.db, service.platform.now()).await?;
        Some((caller.user_id(), caller.acting_for(), caller.permissions(), next))
    } else {
        None
    };
    let other = answer_cache::key_text(&(&impersonates, &query));
    let (scope, filter, order) = prepare(service, caller, query)?;
    let make = async { write(views(service, caller, scope, &filter, order, page).await?) };
    answer_cache::answer_at(&service.platform, epochs, "list of users", scope, other, make).await
}

/// A user that a search over everything finds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FoundUser {
    pub id: UserId,
    /// Display name.
    pub name: String,
    /// Address, as given.
    pub email: String,
    /// Id of the user's organization.
    pub organization_id: OrgId,
    /// Present name of that organization.
    pub organization: String,
}

impl From<User> for FoundUser {
    fn from(user: User) -> FoundUser {
        let User { id, name, email, organization, .. } = user;
        FoundUser { id, name, email, organization_id: organization.id, organization: organization.name }
    }
}

/// The users inside the caller's hierarchy whose name or address contains the text, by name.
pub async fn search(
    service: &Directory,
    caller: &Caller,
    text: &str,
    page: PageRequest,
) -> Result<Page<FoundUser>> {
    let scope = list_scope(caller, Resource::Users)?;
    let filter = Filter { search: text.to_owned(), ..Filter::default() };
    let order = Order { by: Sort::Name, direction: SortDirection::Asc };
    // Together, so that the rows are never those of an earlier number.
    let read = async {
        let page = users::list::list(&service.platform.db, &scope, &filter, order, page).await?;
        Ok((page.total, page.rows.into_iter().map(|placed| placed.user.into()).collect()))
    };
    let other = answer_cache::key_text(&(&filter, page));
    let (total, rows) =
        answer_cache::computed(&service.platform, DependsOn::People, "users/search", scope, other, read)
            .await?;
    Ok(Page { rows, total, request: page })
}

/// A page of the list as values.
pub async fn page(service: &Directory, caller: &Caller, query: ListQuery) -> Result<Page<UserView>> {
    let page = query.page;
    let (scope, filter, order) = prepare(service, caller, query)?;
    views(service, caller, scope, &filter, order, page).await
}

async fn views(
    service: &Directory,
    caller: &Caller,
    scope: Scope,
    filter: &Filter,
    order: Order,
    page: PageRequest,
) -> Result<Page<UserView>> {
    let total = total(service, scope, filter).await?;
    let rows = users::list::page_of(&service.platform.db, &scope, filter, order, page, total).await?.rows;
    Ok(Page { rows: shown(service, caller, rows).await?, total, request: page })
}

/// The list of users by cursors; an empty one begins the walk (spec: conventions#cursors).
///
/// # Errors
/// 400 for a cursor that is not of this list.
pub async fn walk(
    service: &Directory,
    caller: &Caller,
    query: ListQuery,
    cursor: &str,
) -> Result<CursorPage<UserView>> {
    let page_size = query.page.page_size;
    let list = ListQuery { page: PageRequest { page: 1, page_size: 1 }, ..query.clone() };
    let (scope, filter, order) = prepare(service, caller, query)?;
    let walk = Walk::open(&service.platform, &answer_cache::key_text(&("users", list)), cursor)?;
    let total = match walk.total() {
        Some(total) => total,
        None => total(service, scope, &filter).await?,
    };
    let step = users::list::walk(&service.platform.db, &scope, &filter, order, &walk.step(page_size)).await?;
    let rows = shown(service, caller, step.rows).await?;
    walk.page(Found { rows, next: step.next }, total, page_size)
}

/// How many users match.
async fn total(service: &Directory, scope: Scope, filter: &Filter) -> Result<u64> {
    let count = users::list::count(&service.platform.db, &scope, filter);
    let other = answer_cache::key_text(filter);
    answer_cache::number(&service.platform, DependsOn::People, "users", scope, other, count).await
}

async fn shown(service: &Directory, caller: &Caller, rows: Vec<Placed>) -> Result<Vec<UserView>> {
    let ids = || rows.iter().map(|placed| placed.user.id);
    let agreed = super::consents(service, caller, ids()).await?;
    let mut marks = logto_sync::marks_of_users(&service.identity, ids()).await?;
    let row = |mut placed: Placed| {
        placed.user.mirrored = marks.remove(&placed.user.id.0).unwrap_or_default();
        view(service, caller, agreed.as_ref(), placed)
    };
    Ok(rows.into_iter().map(row).collect())
}

/// The filter and the order of the caller's query.
pub fn prepare(service: &Directory, caller: &Caller, query: ListQuery) -> Result<(Scope, Filter, Order)> {
    let scope = list_scope(caller, Resource::Users)?;
    // A key that the catalogue does not know is hidden everywhere, so it matches no user.
    let known = |id: &String| service.platform.catalogue.user_role(id).is_some();
    // Each key once: the statement stays as short as the catalogue, however often a query repeats them.
    let sent = query.filter;
    let roles = (!sent.role.is_empty()).then(|| distinct(sent.role.into_iter().filter(known).collect()));
    let filter = Filter {
        search: sent.search,
        states: list_filters::states(&STATES, &sent.status),
        organizations: list_filters::ids(&sent.organization_id)
            .map(|ids| ids.into_iter().map(OrgId).collect()),
        roles,
        created_by: list_filters::ids(&sent.created_by),
    };
    Ok((scope, filter, order(&query.sort_by, query.direction)))
}

fn order(sort_by: &str, direction: SortDirection) -> Order {
    ORDERS.parse(sort_by).map_or_else(Order::default, |by| Order { by, direction })
}
