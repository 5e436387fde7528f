//! Figures of active alerts with the embedded router, cached until an alert begins, ends or expires
//! (docs/internals/answer-cache.md).

use crate::Alerts;
use bailiwick_domain::{Error, Result, Ts};
use bailiwick_platform::answer_cache::{self, DependsOn, Key};
use bailiwick_store::{
    StoreError,
    history::active::{ActiveQuery, Lasting},
};
use serde::{Serialize, de::DeserializeOwned};

/// A figure of the alerts that the query selects. Repeated alerts only expire later, so they leave it as it is.
pub(super) async fn cached<T: Serialize + DeserializeOwned>(
    service: &Alerts,
    operation: &'static str,
    query: &ActiveQuery,
    read: impl Future<Output = Result<Lasting<T>, StoreError>>,
) -> Result<T> {
    if query.is_suppressed.is_some() {
        // Silences begin and end by themselves.
        return Ok(read.await?.value);
    }
    let other = answer_cache::variant(&(&query.within, &query.filter, query.spared));
    let epochs = answer_cache::epochs(service, DependsOn::ActiveAlerts).await?;
    let key = Key { epochs, operation, scope: query.within.scope, other };
    let known = service.answers.get(&key).await.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    if let Some((value, until)) = known
        && is_before(query.now, until)
    {
        return Ok(value);
    }
    let Lasting { value, until } = read.await?;
    let bytes = serde_json::to_vec(&(&value, until.map(|until| until.0))).map_err(Error::internal)?;
    service.answers.put(key, bytes.into()).await;
    Ok(value)
}

fn is_before(now: Ts, until: Option<i64>) -> bool {
    until.is_none_or(|until| now <= Ts(until))
}
