//! Lists with a filter by status and another filter, made from cached matches.

use super::{SystemQuery, found};
use crate::Fleet;
use bailiwick_domain::{Page, Result, SortDirection, Ts};
use bailiwick_platform::answer_cache::{self, Key};
use bailiwick_policy::Scope;
use bailiwick_store::{
    systems::{self, Ranked, SystemOrder, SystemRecord, Unsettled},
    walk::{Step, Walked},
};
use bytes::Bytes;

/// The page of such a list. None for all other lists, and while the stored statuses are not settled.
pub(super) async fn page(
    service: &Fleet,
    scope: Scope,
    query: &SystemQuery,
    order: (SystemOrder, SortDirection),
    cutoff: Ts,
) -> Result<Option<Page<SystemRecord>>> {
    match kept(service, scope, query, order.0, cutoff).await? {
        Some((Ranked::Ids(ids), unsettled)) => {
            Ok(Some(systems::ranked_page(&service.db, &ids, unsettled, order, query.page).await?))
        }
        _ => Ok(None),
    }
}

/// The next rows of a walk through such a list, and how many rows it has; none as above.
pub(super) async fn walk(
    service: &Fleet,
    scope: Scope,
    query: &SystemQuery,
    order: (SystemOrder, SortDirection),
    cutoff: Ts,
    step: &Step,
) -> Result<Option<(Walked<SystemRecord>, u64)>> {
    match kept(service, scope, query, order.0, cutoff).await? {
        Some((Ranked::Ids(ids), unsettled)) => {
            Ok(Some(systems::ranked_walk(&service.db, &ids, unsettled, order, step).await?))
        }
        _ => Ok(None),
    }
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
