//! Transactions that start anew when they have met another change of the same rows.

use bailiwick_domain::{Error, Result};
use bailiwick_store::StoreError;

/// How often at most.
const ATTEMPTS: usize = 3;

/// Why an attempt ended without its commit.
/// The database; it may be worth another attempt.
#[derive(Debug)]
pub enum Aborted {
    Store(StoreError),
    /// The answer, whatever else happens.
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

/// Runs an attempt, which begins a transaction of its own, until it has not collided with another one.
///
/// # Errors
/// The refusal, or what the database says to the last attempt.
pub async fn retry_on_conflict<T, A>(what: &str, mut attempt: impl FnMut() -> A) -> Result<T>
where
    A: Future<Output = Result<T, Aborted>>,
{
    let mut left = ATTEMPTS;
    loop {
        left -= 1;
        match attempt().await {
            Err(Aborted::Store(e)) if left > 0 && e.is_collision() => {
                tracing::debug!(error = %e, "{what} starts anew");
            }
            Err(Aborted::Store(e)) => return Err(e.into()),
            Err(Aborted::Refused(e)) => return Err(e),
            Ok(done) => return Ok(done),
        }
    }
}
