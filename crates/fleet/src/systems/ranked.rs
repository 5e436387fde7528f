//! Lists with a filter by status and another filter, made from cached matches.

use super::{SystemQuery, found};
use crate::Fleet;
use bailiwick_domain::{Page, Result, SortDirection, Ts};
use bailiwick_platform::answer_cache::{self, Key};
use bailiwick_policy::Scope;
use bailiwick_store::systems::{self, Ranked, SystemOrder, SystemRecord};
use bytes::Bytes;

/// The page of such a list. None for all other lists, and while the stored statuses are not settled.
pub(super) async fn page(
    service: &Fleet,
    scope: Scope,
    query: &SystemQuery,
    order: (SystemOrder, SortDirection),
    cutoff: Ts,
) -> Result<Option<Page<SystemRecord>>> {
    let (db, filter) = (&service.db, &query.filter);
    if !systems::is_ranked(&scope, filter, order.0) {
        return Ok(None);
    }
    let Some((epochs, unsettled)) = systems::unsettled(db, &scope, filter, cutoff).await? else {
        return Ok(None);
    };
    let other = answer_cache::variant(&(filter, order.0));
    let key = Key { epochs, operation: "systems/ranked", scope, other };
    let kept = match service.answers.get(&key).await {
        Some(kept) => kept,
        None => {
            // The cached matches of the filter without statuses, if there are any.
            let matches = found(service, scope, filter).await?;
            let find = async {
                let ranked = systems::ranked(db, &scope, filter, order.0, matches.as_ref()).await?;
                Ok(Bytes::from(ranked.to_bytes()))
            };
            answer_cache::value(service, key, find).await?
        }
    };
    match Ranked::from_bytes(&kept) {
        Ranked::Ids(ids) => Ok(Some(systems::ranked_page(db, &ids, unsettled, order, query.page).await?)),
        Ranked::TooMany => Ok(None),
    }
}
