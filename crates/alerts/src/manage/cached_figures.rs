//! Figures of active alerts with the embedded router, cached until an alert begins, ends or expires, and for a minute at most
//! (docs/internals/answer-cache.md).

use crate::Alerts;
use bailiwick_domain::{Error, Result, Ts};
use bailiwick_platform::answer_cache::{self, DependsOn, Key};
use bailiwick_store::{
    StoreError,
    history::active::{ActiveQuery, ValidUntil},
};
use serde::{Serialize, de::DeserializeOwned};
use std::time::Duration;

/// A figure is not used for longer: a process of the version before, beside this one, moves no epoch of active alerts.
const LONGEST: Duration = Duration::from_secs(60);

/// A figure of the alerts that the query selects. Repeated alerts only expire later, so they leave it as it is.
pub(super) async fn figure<T: Serialize + DeserializeOwned>(
    service: &Alerts,
    operation: &'static str,
    query: &ActiveQuery,
    read: impl Future<Output = Result<ValidUntil<T>, StoreError>>,
) -> Result<T> {
    // Silences begin and end by themselves, and a repeated alert can have another summary, which a search compares.
    if query.is_suppressed.is_some() || query.filter.search.is_some() {
        return Ok(read.await?.value);
    }
    let other = answer_cache::variant(&(&query.within, &query.filter, query.spared));
    let epochs = answer_cache::epochs(service, DependsOn::ActiveAlerts).await?;
    let key = Key { epochs, operation, scope: query.within.scope, other };
    let known = service.answers.get(&key).await.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let now = query.now;
    if let Some((value, from, until)) = known
        && (Ts(from)..=Ts(until)).contains(&now)
    {
        return Ok(value);
    }
    let ValidUntil { value, until } = read.await?;
    let longest = now.plus(LONGEST);
    let until = until.map_or(longest, |until| until.min(longest));
    let bytes = serde_json::to_vec(&(&value, now.0, until.0)).map_err(Error::internal)?;
    service.answers.put(key, bytes.into()).await;
    Ok(value)
}
