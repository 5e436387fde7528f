//! Lists with a filter by status and another filter, made from cached matches.

use super::{SystemQuery, found};
use crate::Fleet;
use bailiwick_domain::{Error, Page, Result, SortDirection, Ts};
use bailiwick_platform::answer_cache::{self, Key};
use bailiwick_policy::Scope;
use bailiwick_store::{
    systems::{self, Ranked, SystemFilter, SystemOrder, SystemRecord, Unsettled},
    walk::{Step, Walked},
};
use bytes::Bytes;

/// What is known of such a list.
pub(super) enum Known<T> {
    /// What was asked for.
    Found(T),
    /// How many systems the list has; it has too many to cache their ids.
    Number(u64),
    /// Nothing: it is another list, or the stored statuses are not settled.
    Nothing,
}

impl<T> Known<T> {
    /// How many systems the list has, if no more is known.
    pub(super) fn number(&self) -> Option<u64> {
        match self {
            Known::Number(n) => Some(*n),
            _ => None,
        }
    }
}

/// The page of such a list.
pub(super) async fn page(
    service: &Fleet,
    scope: Scope,
    query: &SystemQuery,
    order: (SystemOrder, SortDirection),
    cutoff: Ts,
) -> Result<Known<Page<SystemRecord>>> {
    match kept(service, scope, query, order.0, cutoff).await? {
        Some((Ranked::Ids(ids), unsettled)) => {
            Ok(Known::Found(systems::ranked_page(&service.db, &ids, unsettled, order, query.page).await?))
        }
        Some((Ranked::TooMany, _)) => known_number(service, scope, &query.filter, cutoff).await,
        None => Ok(Known::Nothing),
    }
}

/// The next rows of a walk through such a list, and how many rows it has.
pub(super) async fn walk(
    service: &Fleet,
    scope: Scope,
    query: &SystemQuery,
    order: (SystemOrder, SortDirection),
    cutoff: Ts,
    step: &Step,
) -> Result<Known<(Walked<SystemRecord>, u64)>> {
    match kept(service, scope, query, order.0, cutoff).await? {
        Some((Ranked::Ids(ids), unsettled)) => {
            Ok(Known::Found(systems::ranked_walk(&service.db, &ids, unsettled, order, step).await?))
        }
        // Each step but the first knows how many rows there are.
        Some((Ranked::TooMany, _)) if step.after.is_none() => {
            known_number(service, scope, &query.filter, cutoff).await
        }
        _ => Ok(Known::Nothing),
    }
}

/// How many systems such a list has: the number by their counted statuses, which is cached, corrected by the unsettled
/// systems.
async fn known_number<T>(
    service: &Fleet,
    scope: Scope,
    filter: &SystemFilter,
    cutoff: Ts,
) -> Result<Known<T>> {
    let db = &service.db;
    let Some((epochs, unsettled)) = systems::unsettled_numbers(db, &scope, filter, cutoff).await? else {
        return Ok(Known::Nothing);
    };
    let other = answer_cache::variant(filter);
    let key = Key { epochs, operation: "systems/ranked number", scope, other };
    let count = async {
        let n = systems::ranked_number(db, &scope, filter).await?;
        Ok(Bytes::copy_from_slice(&n.to_be_bytes()))
    };
    let counted = answer_cache::value(service, key, count).await?;
    let counted = counted.as_ref().try_into().map(u64::from_be_bytes).map_err(Error::internal)?;
    Ok(Known::Number(counted.saturating_sub(unsettled.counted) + unsettled.shown))
}

/// The ids of such a list, from the cache or found now.
async fn kept(
    service: &Fleet,
    scope: Scope,
    query: &SystemQuery,
    order: SystemOrder,
    cutoff: Ts,
) -> Result<Option<(Ranked, Unsettled)>> {
    let (db, filter) = (&service.db, &query.filter);
    if !systems::is_ranked(&scope, filter, order) {
        return Ok(None);
    }
    let Some((epochs, unsettled)) = systems::unsettled(db, &scope, filter, cutoff).await? else {
        return Ok(None);
    };
    let other = answer_cache::variant(&(filter, order));
    let key = Key { epochs, operation: "systems/ranked", scope, other };
    let kept = match service.answers.get(&key).await {
        Some(kept) => kept,
        None => {
            // The cached matches of the filter without statuses, if there are any.
            let matches = found(service, scope, filter).await?;
            let find = async {
                let ranked = systems::ranked(db, &scope, filter, order, matches.as_ref()).await?;
                Ok(Bytes::from(ranked.to_bytes()))
            };
            answer_cache::value(service, key, find).await?
        }
    };
    Ok(Some((Ranked::from_bytes(&kept), unsettled)))
}
