//! Transactions that are repeated after a conflict with another change of the same rows.

use bailiwick_domain::{Error, Result};
use bailiwick_store::StoreError;

/// Most attempts.
const ATTEMPTS: usize = 3;

/// The reason why an attempt ended without a commit.
#[derive(Debug)]
pub enum Aborted {
    /// The database failed; another attempt may succeed.
    Store(StoreError),
    /// The use case refused; no further attempt is made.
    Refused(Error),
}

impl From<StoreError> for Aborted {
    fn from(e: StoreError) -> Aborted {
        Aborted::Store(e)
    }
}

impl From<Error> for Aborted {
    fn from(e: Error) -> Aborted {
        Aborted::Refused(e)
    }
}

/// Runs `attempt` until it does not conflict with another transaction. Each attempt begins its own transaction.
/// `operation` names the change in the log.
///
/// # Errors
/// The refusal, or the database's error of the last attempt.
pub async fn retry_on_conflict<T, A>(operation: &str, mut attempt: impl FnMut() -> A) -> Result<T>
where
    A: Future<Output = Result<T, Aborted>>,
{
    let mut left = ATTEMPTS;
    loop {
        left -= 1;
        match attempt().await {
            Err(Aborted::Store(e)) if left > 0 && e.is_collision() => {
                tracing::debug!(error = %e, "{operation} starts anew");
            }
            Err(Aborted::Store(e)) => return Err(e.into()),
            Err(Aborted::Refused(e)) => return Err(e),
            Ok(done) => return Ok(done),
        }
    }
}
