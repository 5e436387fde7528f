//! Whether the database can be written, as readiness probes, metrics and the log say.
//!
//! A check writes the sign of life of this process again. It is not made for each probe: its result counts for a short
//! time, and probes that arrive together share one. A transaction of a request that could not be written counts as
//! well, because a full disk may still have room for a sign of life.

use crate::Platform;
use bailiwick_store::{StoreError, processes};
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::Mutex,
    time::{Instant, timeout},
};

/// How long a result counts.
const FOR: Duration = Duration::from_secs(2);
/// Longest time for the sign of life.
const WRITE: Duration = Duration::from_secs(2);
/// How long a transaction that could not be written counts.
const FAULT: Duration = Duration::from_secs(5);

/// The last check.
#[derive(Debug, Default)]
pub struct WriteCheck(Mutex<Option<Seen>>);

#[derive(Clone, Debug)]
struct Seen {
    at: Instant,
    /// Why the database could not be written.
    problem: Option<Arc<str>>,
}

/// Whether the database can be written, as of two seconds ago at most. The answer takes three seconds at most, and
/// reaches the log when it changes.
///
/// # Errors
/// Why not, for the log alone.
pub async fn check(platform: &Platform) -> Result<(), Arc<str>> {
    // Whoever waits here finds the result of the check before.
    let mut last = platform.write_check.0.lock().await;
    let last_result = match &*last {
        Some(last) if last.at.elapsed() < FOR && !is_refuted(platform, last) => last.clone(),
        _ => {
            let touched = processes::touch(&platform.db, platform.instance(), platform.now());
            let written = match timeout(WRITE, touched).await {
                Ok(written) => written.map_err(|error| error.to_string()),
                Err(_) => Err(format!("no transaction within {} s", WRITE.as_secs())),
            };
            renew(platform, &mut last, written).await
        }
    };
    last_result.problem.map_or(Ok(()), Err)
}

/// Whether a transaction could not be written since a check that could.
fn is_refuted(platform: &Platform, last_result: &Seen) -> bool {
    last_result.problem.is_none() && platform.db.write_fault_within(last_result.at.elapsed()).is_some()
}

/// Notes the result of a sign of life as that of a check.
pub(crate) async fn note(platform: &Platform, written: Result<(), StoreError>) {
    let mut last = platform.write_check.0.lock().await;
    renew(platform, &mut last, written.map_err(|error| error.to_string())).await;
}

/// Whether the last check could write; true before the first one.
pub async fn was_writable(platform: &Platform) -> bool {
    platform.write_check.0.lock().await.as_ref().is_none_or(|last_result| last_result.problem.is_none())
}

async fn renew(platform: &Platform, last: &mut Option<Seen>, written: Result<(), String>) -> Seen {
    let problem = match written {
        Ok(()) => platform.db.write_fault_within(FAULT),
        // A pool does not say why it has no connection.
        Err(failed) => Some(platform.db.connection_error().await.map_or(failed, |error| error.to_string())),
    };
    report(last.as_ref().and_then(|last_result| last_result.problem.as_deref()), problem.as_deref());
    last.insert(Seen { at: Instant::now(), problem: problem.map(Arc::from) }).clone()
}

/// Logs a change, once.
fn report(before: Option<&str>, now: Option<&str>) {
    match (before, now) {
        (None, Some(error)) => tracing::error!(error, "the database cannot be written"),
        (Some(_), None) => tracing::info!("the database can be written again"),
        _ => {}
    }
}
