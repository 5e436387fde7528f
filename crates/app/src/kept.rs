//! Answers that take a walk through a whole tree: made once for each state of it, and kept as they are sent.
//!
//! The key of an answer holds everything it depends on: the operation, the caller's scope, whatever else of the caller
//! or the request shows in it, and the *people epoch*, which moves with every commit that changes an organization or a
//! user. The epoch is read before the tree, so an answer is never older than its key. Nothing has to be thrown away:
//! answers of an older epoch are not asked for again, and go when room is needed.

use crate::App;
use bailiwick_domain::{Error, Result};
use bailiwick_policy::Scope;
use bytes::Bytes;
use moka::future::Cache;
use std::sync::Arc;

/// Most bytes kept.
const BYTES: u64 = 64 * 1024 * 1024;

/// What an answer depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    epoch: i64,
    operation: &'static str,
    scope: Scope,
    other: String,
}

/// Kept answers.
#[derive(Debug)]
pub struct Kept {
    answers: Cache<Key, Bytes>,
}

impl Default for Kept {
    fn default() -> Kept {
        let weight = |key: &Key, answer: &Bytes| {
            u32::try_from(size_of::<Key>() + key.other.len() + answer.len()).unwrap_or(u32::MAX)
        };
        Kept { answers: Cache::builder().max_capacity(BYTES).weigher(weight).build() }
    }
}

impl Kept {
    /// Forgets all answers; for tests that compare what is kept with what would be made.
    #[doc(hidden)]
    pub fn forget(&self) {
        self.answers.invalidate_all();
    }
}

/// The answer of an operation to everybody with this scope. `other`: what else it depends on, the role or the day.
/// `make` runs once, however many ask for it at the same time.
pub(crate) async fn answer(
    app: &App,
    operation: &'static str,
    scope: Scope,
    other: String,
    make: impl Future<Output = Result<Bytes>>,
) -> Result<Bytes> {
    let key = Key { epoch: app.db.people_epoch().await?, operation, scope, other };
    // One error may be given to several; whoever shares it cannot take it apart.
    app.kept
        .answers
        .try_get_with(key, make)
        .await
        .map_err(|e: Arc<Error>| Arc::try_unwrap(e).unwrap_or_else(Error::internal))
}
