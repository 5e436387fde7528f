//! Figures of alerts, cached until an alert begins, ends or expires, and for a minute at most
//! (docs/internals/answer-cache.md).

use crate::Alerts;
use bailiwick_domain::{Error, PageRequest, Result, Ts};
use bailiwick_platform::answer_cache::{self, DependsOn, Key};
use bailiwick_policy::Scope;
use bailiwick_store::{
    StoreError,
    history::{
        OrganizationsRead,
        active::{ActiveQuery, ValidUntil},
    },
};
use serde::{Serialize, de::DeserializeOwned};
use std::{fmt::Debug, pin::pin, time::Duration};

/// A figure is not used for longer: a process of the version before, beside this one, moves no epoch of active alerts.
const LONGEST: Duration = Duration::from_secs(60);
/// Most suppressed alerts in the key of a page.
const MOST_SUPPRESSED: usize = 100;

/// A figure of the alerts that the query selects, suppressed or not. Repeated alerts only expire later, so they leave
/// it as it is.
pub(super) async fn figure<T: Serialize + DeserializeOwned>(
    service: &Alerts,
    operation: &'static str,
    query: &ActiveQuery,
    read: impl Future<Output = Result<ValidUntil<T>, StoreError>>,
) -> Result<T> {
    figure_of(service, operation, query, &(), read).await
}

async fn figure_of<T: Serialize + DeserializeOwned>(
    service: &Alerts,
    operation: &'static str,
    query: &ActiveQuery,
    more: &(dyn Debug + Sync),
    read: impl Future<Output = Result<ValidUntil<T>, StoreError>>,
) -> Result<T> {
    // A repeated alert can have another summary, which a search compares.
    if query.filter.search.is_some() {
        return Ok(read.await?.value);
    }
    let other = answer_cache::key_text(&(&query.within, &query.filter, query.spared, more));
    let read = async { Ok(read.await?) };
    cached(service, (operation, query.within.scope, other), query.now, read).await
}

/// The ids of the rows of a page. Only a first page is cached: a later one changes with the alerts before it.
/// `suppressed` is part of the key, so one that leaves out many rows is not cached either.
pub(super) async fn page(
    service: &Alerts,
    query: &ActiveQuery,
    suppressed: &[i64],
    request: PageRequest,
) -> Result<Vec<i64>> {
    let read = query.page(&service.platform.db, suppressed, request);
    if request.offset() > 0 || suppressed.len() > MOST_SUPPRESSED {
        return Ok(read.await?.value);
    }
    let more = (query.order, query.direction, query.is_suppressed, suppressed, request.page_size);
    figure_of(service, "page of alerts", query, &more, read).await
}

/// A figure of the history. Alerts that retention removes may be counted until it is read again.
pub(super) async fn of_history<T: Serialize + DeserializeOwned>(
    service: &Alerts,
    operation: &'static str,
    within: &OrganizationsRead,
    other: &(dyn Debug + Sync),
    read: impl Future<Output = Result<T>>,
) -> Result<T> {
    let other = answer_cache::key_text(&(within, other));
    let read = async { Ok(ValidUntil { value: read.await?, until: None }) };
    cached(service, (operation, within.scope, other), service.platform.now(), read).await
}

async fn cached<T: Serialize + DeserializeOwned>(
    service: &Alerts,
    (operation, scope, other): (&'static str, Scope, String),
    now: Ts,
    read: impl Future<Output = Result<ValidUntil<T>>>,
) -> Result<T> {
    let epochs = answer_cache::epochs(&service.platform, DependsOn::ActiveAlerts).await?;
    let key = |other: &str| Key { epochs, operation, scope, other: other.to_owned() };
    let cached_answer = service
        .platform
        .answers
        .get(&key(&other))
        .await
        .and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let cached_answer: Option<(T, i64, i64)> = cached_answer;
    let over = match cached_answer {
        Some((value, from, until)) if (Ts(from)..=Ts(until)).contains(&now) => return Ok(value),
        cached_answer => cached_answer.map(|(_, _, until)| until),
    };
    let mut read = pin!(async {
        let ValidUntil { value, until } = read.await?;
        let longest = now.plus(LONGEST);
        Ok((value, now.0, until.map_or(longest, |until| until.min(longest)).0))
    });
    // Requests of one second share the read that follows the same figure.
    let shared = key(&answer_cache::key_text(&(&other, over, now.secs())));
    let mut figure: (T, i64, i64) =
        answer_cache::computed_at(&service.platform, shared, read.as_mut()).await?;
    if Ts(figure.2) < now {
        // It is another request's, and an alert has expired since. The own read has not begun.
        figure = read.await?;
    }
    if Ts(figure.1) == now {
        let bytes = serde_json::to_vec(&figure).map_err(Error::internal)?;
        service.platform.answers.put(key(&other), bytes.into()).await;
    }
    Ok(figure.0)
}
