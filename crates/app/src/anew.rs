//! Transactions that start anew when they have met another change of the same rows.

use bailiwick_domain::{Error, Result};
use bailiwick_store::StoreError;

/// How often at most.
const ATTEMPTS: usize = 3;

/// Why an attempt ended without its commit.
pub(crate) enum Stopped {
    /// The database; it may be worth another attempt.
    Store(StoreError),
    /// The answer, whatever else happens.
    Refused(Error),
}

impl From<StoreError> for Stopped {
    fn from(e: StoreError) -> Stopped {
        Stopped::Store(e)
    }
}

impl From<Error> for Stopped {
    fn from(e: Error) -> Stopped {
        Stopped::Refused(e)
    }
}

/// Runs an attempt, which begins a transaction of its own, until it has not collided with another one.
///
/// # Errors
/// The refusal, or what the database says to the last attempt.
pub(crate) async fn anew<T, A>(what: &str, mut attempt: impl FnMut() -> A) -> Result<T>
where
    A: Future<Output = Result<T, Stopped>>,
{
    let mut left = ATTEMPTS;
    loop {
        left -= 1;
        match attempt().await {
            Err(Stopped::Store(e)) if left > 0 && e.is_collision() => {
                tracing::debug!(error = %e, "{what} starts anew");
            }
            Err(Stopped::Store(e)) => return Err(e.into()),
            Err(Stopped::Refused(e)) => return Err(e),
            Ok(done) => return Ok(done),
        }
    }
}
