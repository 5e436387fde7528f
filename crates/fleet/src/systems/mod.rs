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
use bailiwick_domain::{
    Error, ObjectKind, Page, PageRequest, Result, SortDirection, System, SystemId, SystemStatus,
};
use bailiwick_platform::{
    answer_cache::{self, DependsOn},
    list_filters,
};
use bailiwick_policy::{Action, Caller, Resource, Scope, decide, gate, hierarchy, list_scope};
use bailiwick_store::{
    organizations,
    systems::{self, KnownCounts, OrderedPage},
};

pub use systems::{FILTERS, StatusFilter, SystemFilter, SystemOrder, SystemRecord};

/// A list as asked for (spec: systems#list).
#[derive(Clone, Debug)]
pub struct SystemQuery {
    /// Filters.
    pub filter: SystemFilter,
    /// None = newest first.
    pub order: Option<(SystemOrder, SortDirection)>,
    pub page: PageRequest,
}

/// `GET /systems`.
pub async fn list(service: &Fleet, caller: &Caller, query: SystemQuery) -> Result<Page<System>> {
    list_within(service, list_scope(caller, Resource::Systems)?, query).await
}

/// The systems of a scope.
pub(crate) async fn list_within(service: &Fleet, scope: Scope, query: SystemQuery) -> Result<Page<System>> {
    let order = prepare(&query)?;
    let counts = known_counts(service, scope, &query, order.0).await?;
    let part = OrderedPage { order, page: query.page };
    let page = systems::list(&service.platform.db, &scope, &query.filter, part, counts).await?;
    Ok(page.map(|record| record.seen_from(&scope).system))
}

/// The counts of the list that are cached already, so that the query need not count.
async fn known_counts(
    service: &Fleet,
    scope: Scope,
    query: &SystemQuery,
    order: SystemOrder,
) -> Result<KnownCounts> {
    let statuses = query.filter.statuses.clone();
    let has_statuses_only = query.filter == SystemFilter { statuses, ..SystemFilter::default() };
    // The counters of the organizations know how many systems have a status, but not how many are deleted.
    let uncounted = [StatusFilter::NoInventory, StatusFilter::Is(SystemStatus::Deleted)];
    let statuses = query.filter.statuses.as_deref();
    let is_counted =
        has_statuses_only && statuses.is_some_and(|statuses| !statuses.iter().any(|s| uncounted.contains(s)));
    // A page in the order of status may be behind all systems of some status.
    let is_by_status = has_statuses_only && order == SystemOrder::Status && query.page.offset() > 0;
    let totals = match is_counted || is_by_status {
        true => Some(stats::of(service, scope).await?),
        false => None,
    };
    Ok(KnownCounts {
        totals,
        listed: if is_counted { None } else { listed(service, scope, &query.filter).await? },
    })
}

/// How many systems a list has, cached until a system changes; none where that cannot be seen.
async fn listed(service: &Fleet, scope: Scope, filter: &SystemFilter) -> Result<Option<u64>> {
    if *filter == SystemFilter::default() {
        return all(service, scope).await.map(Some);
    }
    let mut statuses = filter.statuses.iter().flatten();
    // No epoch moves with the first inventory of a system.
    if statuses.any(|status| *status == StatusFilter::NoInventory) {
        return Ok(None);
    }
    let total = systems::total(&service.platform.db, &scope, filter, KnownCounts::default());
    let shows =
        if systems::depends_on_status(filter) { DependsOn::SystemsAndStatuses } else { DependsOn::Systems };
    let other = answer_cache::key_text(filter);
    answer_cache::number(&service.platform, shows, "systems/listed", scope, other, total).await.map(Some)
}

/// How many systems a scope holds.
async fn all(service: &Fleet, scope: Scope) -> Result<u64> {
    let sum = async { Ok(organizations::totals(&service.platform.db, &scope).await?.systems) };
    answer_cache::number(&service.platform, DependsOn::Figures, "systems", scope, String::new(), sum).await
}

/// The order of the query.
pub(crate) fn prepare(query: &SystemQuery) -> Result<(SystemOrder, SortDirection)> {
    list_filters::check_lengths(query.filter.lengths())?;
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
    let found = systems::get(&service.platform.db, id).await?.ok_or(Error::NotFound(ObjectKind::System))?;
    decide(caller, action, &found.target()).granted()?;
    Ok(found.seen_from(&hierarchy(caller)))
}
