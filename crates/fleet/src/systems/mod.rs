//! Systems: the operations of management on them, and their own operations.

mod create;
mod export;
mod info;
mod issue_credentials;
mod lifecycle;
mod reachability;
mod reassign;
mod register;
pub mod stats;
pub mod transfer;
mod unregister;
mod update;
mod walk;

pub use create::{Created, NewSystem, create};
pub use export::export;
pub use info::{Info, info};
pub use issue_credentials::{Issued, issue_credentials};
pub use lifecycle::{delete, destroy, reactivate, regenerate_secret, restore, suspend};
pub use reachability::{Reachability, reachability};
pub use register::{Registered, register};
pub use stats::{Choices, Totals, choices, products, totals, trend};
pub use unregister::unregister;
pub use update::{Change, update};
pub use walk::walk;

use crate::Fleet;
use bailiwick_domain::{Error, ObjectKind, Page, PageRequest, Result, SortDirection, System, SystemId};
use bailiwick_platform::{
    answer_cache::{self, DependsOn, Key},
    list_filters,
};
use bailiwick_policy::{Action, Caller, Resource, Scope, decide, gate, hierarchy, list_scope};
use bailiwick_store::{
    ListEpochs,
    matches::Matches,
    organizations,
    systems::{self, Known, Part},
};
use bytes::Bytes;

pub use systems::{StatusFilter, SystemFilter, SystemOrder, SystemRecord, VersionFilter};

/// A list as asked for (spec: systems#list).
#[derive(Clone, Debug)]
pub struct SystemQuery {
    /// Filters.
    pub filter: SystemFilter,
    /// None = newest first.
    pub order: Option<(SystemOrder, SortDirection)>,
    /// Page.
    pub page: PageRequest,
}

/// `GET /systems`.
pub async fn list(service: &Fleet, caller: &Caller, query: SystemQuery) -> Result<Page<System>> {
    list_within(service, list_scope(caller, Resource::Systems)?, query).await
}

/// The systems of a scope.
pub(crate) async fn list_within(service: &Fleet, scope: Scope, query: SystemQuery) -> Result<Page<System>> {
    let order = prepare(&query)?;
    let matches = matches(service, scope, &query.filter).await?;
    let part = Part { order, page: query.page };
    if let Some(many @ Matches::Many(_)) = &matches
        && order.0 != SystemOrder::Status
        && systems::is_found_whole(&query.filter)
    {
        let page = page_of_many(service, (scope, &query.filter), part, many).await?;
        return Ok(page.map(|record| record.seen_from(&scope).system));
    }
    let known = known(service, scope, &query, order.0, matches.as_ref()).await?;
    let page = systems::list(&service.db, &scope, &query.filter, part, known).await?;
    Ok(page.map(|record| record.seen_from(&scope).system))
}

/// A page of a search with many matches: its ids are cached, because they are found among many rows.
async fn page_of_many(
    service: &Fleet,
    (scope, filter): (Scope, &SystemFilter),
    part: Part,
    matches: &Matches,
) -> Result<Page<SystemRecord>> {
    let epochs = answer_cache::epochs(service, DependsOn::Systems).await?;
    let other = answer_cache::variant(&(filter, part.order, part.page));
    let key = Key { epochs, operation: "systems/page", scope, other };
    let ids = systems::page_ids(&service.db, &scope, filter, part, matches);
    let ids = answer_cache::ids(service, key, ids).await?;
    Ok(Page { rows: systems::by_ids(&service.db, &ids).await?, total: matches.len(), request: part.page })
}

/// What is already known of the list.
async fn known<'a>(
    service: &Fleet,
    scope: Scope,
    query: &SystemQuery,
    order: SystemOrder,
    matches: Option<&'a Matches>,
) -> Result<Known<'a>> {
    Ok(Known {
        // Only for the unfiltered list: others do not need it.
        all: if query.filter == SystemFilter::default() { Some(all(service, scope).await?) } else { None },
        totals: totals_for(service, scope, query, order).await?,
        listed: listed(service, scope, &query.filter, matches).await?,
        matches,
    })
}

/// The totals of the scope, where they speed up the page.
async fn totals_for(
    service: &Fleet,
    scope: Scope,
    query: &SystemQuery,
    order: SystemOrder,
) -> Result<Option<Totals>> {
    match wants_totals(query, order) {
        true => stats::of(service, scope).await.map(Some),
        false => Ok(None),
    }
}

/// How many systems a list with statuses and another filter has.
async fn listed(
    service: &Fleet,
    scope: Scope,
    filter: &SystemFilter,
    matches: Option<&Matches>,
) -> Result<Option<u64>> {
    // No epoch moves with the first inventory of a system.
    let mut asked = filter.statuses.iter().flatten();
    let is_by_inventory = asked.any(|status| *status == StatusFilter::NoInventory);
    if is_by_inventory || systems::is_found_whole(filter) || !systems::is_lasting(filter) {
        return Ok(None);
    }
    let known = Known { matches, ..Known::default() };
    let total = systems::total(&service.db, &scope, filter, known);
    let other = answer_cache::variant(filter);
    answer_cache::number(service, DependsOn::Listed, "systems/listed", scope, other, total).await.map(Some)
}

/// How many systems a scope holds.
async fn all(service: &Fleet, scope: Scope) -> Result<u64> {
    let sum = async { Ok(organizations::totals(&service.db, &scope).await?.systems) };
    answer_cache::number(service, DependsOn::Figures, "systems", scope, String::new(), sum).await
}

/// Whether the counts by status speed up the page: one in the order of status that may be behind all systems of some status, or one
/// of a list filtered by status.
fn wants_totals(query: &SystemQuery, order: SystemOrder) -> bool {
    let statuses = query.filter.statuses.clone();
    let is_by_status = order == SystemOrder::Status && query.page.offset() > 0;
    (is_by_status || statuses.is_some())
        && query.filter == SystemFilter { statuses, ..SystemFilter::default() }
}

/// The systems that the lasting part of a filter finds, cached for all pages and orders; see [`systems::matches`].
async fn matches(service: &Fleet, scope: Scope, filter: &SystemFilter) -> Result<Option<Matches>> {
    if !systems::is_lasting(filter) {
        return Ok(None);
    }
    let epochs = answer_cache::epochs(service, DependsOn::Systems).await?;
    let (key, lasting) = key_of_matches(epochs, scope, filter);
    let found = async { Ok(Bytes::from(systems::matches(&service.db, &scope, &lasting).await?.to_bytes())) };
    Ok(Matches::from_bytes(&answer_cache::value(service, key, found).await?))
}

/// The cache key for the systems that a filter matches, and the part of the filter that decides which they are.
fn key_of_matches(epochs: ListEpochs, scope: Scope, filter: &SystemFilter) -> (Key, SystemFilter) {
    let lasting = systems::lasting_part(filter);
    let other = answer_cache::variant(&lasting);
    (Key { epochs, operation: "systems/matches", scope, other }, lasting)
}

/// The order of the query.
pub(crate) fn prepare(query: &SystemQuery) -> Result<(SystemOrder, SortDirection)> {
    let f = &query.filter;
    list_filters::check_lengths([
        f.types.as_ref().map(Vec::len),
        f.created_by.as_ref().map(Vec::len),
        f.versions.as_ref().map(Vec::len),
        f.organizations.as_ref().map(Vec::len),
        f.statuses.as_ref().map(Vec::len),
    ])?;
    Ok(query.order.unwrap_or((SystemOrder::CreatedAt, SortDirection::Desc)))
}

/// `GET /systems/{id}`; a malformed id is treated as missing.
pub async fn get(service: &Fleet, caller: &Caller, id: Option<SystemId>) -> Result<System> {
    Ok(load(service, caller, id).await?.system)
}

/// The system, if the caller may read it.
pub async fn load(service: &Fleet, caller: &Caller, id: Option<SystemId>) -> Result<SystemRecord> {
    load_for(service, caller, Action::Read, id).await
}

/// The system, if the caller may do this to it.
pub async fn load_for(
    service: &Fleet,
    caller: &Caller,
    action: Action,
    id: Option<SystemId>,
) -> Result<SystemRecord> {
    // Before the row is looked for: the refusal must not tell whether there is one.
    gate(caller, action, Resource::Systems)?;
    let id = id.ok_or(Error::NotFound(ObjectKind::System))?;
    let found = systems::get(&service.db, id).await?.ok_or(Error::NotFound(ObjectKind::System))?;
    decide(caller, action, &found.target()).granted()?;
    Ok(found.seen_from(&hierarchy(caller)))
}
