//! Heavy work has few turns; who waits too long for one is told to come again.

use bailiwick_domain::{Error, Result};
use std::time::Duration;
use tokio::sync::AcquireError;

/// 503 with the reason for the log.
pub(crate) fn busy(log: &str) -> Error {
    Error::Unavailable { message: "service temporarily unavailable".into(), log: log.to_owned() }
}

/// The permit that is waited for, or 503 after `longest`.
pub(crate) async fn turn<P>(
    permit: impl Future<Output = Result<P, AcquireError>>,
    longest: Duration,
    too_many: &str,
) -> Result<P> {
    // Nothing ever closes the semaphores; if something did, that work would have ended.
    tokio::time::timeout(longest, permit).await.map_err(|_| busy(too_many))?.map_err(|_| busy("closed"))
}
