//! Answers and totals that take a walk through a whole tree: made once for each state of it, answers as they are sent.
//!
//! The key of an answer holds everything it depends on: the operation, the caller's scope, whatever else of the caller
//! or the request shows in it, and the *list epochs*, which move with every commit that changes what it shows
//! ([`DependsOn`]). They are read before the tree, so an answer is never older than its key. Nothing has to be thrown away:
//! answers of an older epoch are not asked for again, and go when room is needed.

use crate::Platform;
use bailiwick_domain::{Error, Result};
use bailiwick_policy::Scope;
use bailiwick_store::{ListEpochs, StoreError};
use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use moka::future::Cache;
use std::{fmt, io::Write as _, sync::Arc};

/// Most bytes kept.
const BYTES: u64 = 64 * 1024 * 1024;
/// Smallest answer that is kept compressed too, in bytes.
const COMPRESSED_FROM: usize = 1024;

/// What an answer shows, and so which changes make it another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DependsOn {
    /// Organizations and users, but neither of the following.
    People,
    /// Organizations, and how many systems and applications they have.
    Figures,
    /// Users, and when they last signed in.
    Logins,
    /// Which systems a filter finds, apart from their statuses.
    Systems,
}

impl DependsOn {
    const fn of(self, all: ListEpochs) -> ListEpochs {
        let people = ListEpochs { people: all.people, figures: 0, logins: 0, systems: 0, statuses: 0 };
        match self {
            DependsOn::People => people,
            DependsOn::Figures => ListEpochs { figures: all.figures, ..people },
            DependsOn::Logins => ListEpochs { logins: all.logins, ..people },
            DependsOn::Systems => ListEpochs { systems: all.systems, ..people },
        }
    }
}

/// What an answer depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// As [`epochs`] says.
    pub epochs: ListEpochs,
    /// The operation.
    pub operation: &'static str,
    /// The caller's scope.
    pub scope: Scope,
    /// The role, the day, or what else it depends on.
    pub other: String,
}

/// Tells one question from another; nobody reads it.
pub fn variant(of: &dyn fmt::Debug) -> String {
    struct Shown<'a>(&'a dyn fmt::Debug);
    impl fmt::Display for Shown<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.fmt(f)
        }
    }
    Shown(of).to_string()
}

/// An answer as it is sent.
#[derive(Clone, Debug)]
pub struct CachedAnswer {
    /// As it is.
    pub plain: Bytes,
    /// Compressed for whoever takes that, when it is large enough: browsers always do.
    pub gzip: Option<Bytes>,
}

impl CachedAnswer {
    fn of(plain: Bytes) -> Result<CachedAnswer> {
        let gzip = if plain.len() < COMPRESSED_FROM {
            None
        } else {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(&plain).map_err(Error::internal)?;
            Some(encoder.finish().map_err(Error::internal)?.into())
        };
        Ok(CachedAnswer { plain, gzip })
    }

    fn len(&self) -> usize {
        self.plain.len() + self.gzip.as_ref().map_or(0, Bytes::len)
    }
}

/// Kept answers.
#[derive(Debug)]
pub struct AnswerCache {
    answers: Cache<Key, CachedAnswer>,
}

impl Default for AnswerCache {
    fn default() -> AnswerCache {
        let weight = |key: &Key, answer: &CachedAnswer| {
            u32::try_from(size_of::<Key>() + key.other.len() + answer.len()).unwrap_or(u32::MAX)
        };
        AnswerCache { answers: Cache::builder().max_capacity(BYTES).weigher(weight).build() }
    }
}

impl AnswerCache {
    /// Forgets all answers; for tests that compare what is kept with what would be made.
    #[doc(hidden)]
    pub fn forget(&self) {
        self.answers.invalidate_all();
    }

    /// Bytes that were kept by [`AnswerCache::put`].
    pub async fn get(&self, key: &Key) -> Option<Bytes> {
        self.answers.get(key).await.map(|kept| kept.plain)
    }

    /// Keeps bytes.
    pub async fn put(&self, key: Key, bytes: Bytes) {
        self.answers.insert(key, CachedAnswer { plain: bytes, gzip: None }).await;
    }
}

/// A number of an operation for everybody with this scope; see [`answer`].
pub async fn number(
    platform: &Platform,
    shows: DependsOn,
    operation: &'static str,
    scope: Scope,
    other: String,
    make: impl Future<Output = std::result::Result<u64, StoreError>>,
) -> Result<u64> {
    let key = Key { epochs: epochs(platform, shows).await?, operation, scope, other };
    let make = async { Ok(Bytes::copy_from_slice(&make.await?.to_be_bytes())) };
    let cached = value(platform, key, make).await?;
    cached.as_ref().try_into().map(u64::from_be_bytes).map_err(Error::internal)
}

/// Bytes that are not sent as they are.
pub async fn value(
    platform: &Platform,
    key: Key,
    make: impl Future<Output = std::result::Result<Bytes, StoreError>>,
) -> Result<Bytes> {
    let make = async { Ok(CachedAnswer { plain: make.await?, gzip: None }) };
    let cached = platform.answers.answers.try_get_with(key, make).await;
    cached.map(|answer| answer.plain).map_err(|e: Arc<Error>| (*e).clone())
}

/// The answer of an operation to everybody with this scope. `other`: what else it depends on, the role or the day.
/// `make` runs once, however many ask for it at the same time.
pub async fn answer(
    platform: &Platform,
    shows: DependsOn,
    operation: &'static str,
    scope: Scope,
    other: String,
    make: impl Future<Output = Result<Bytes>>,
) -> Result<CachedAnswer> {
    let epochs = epochs(platform, shows).await?;
    answer_at(platform, epochs, operation, scope, other, make).await
}

/// The present epochs, for an answer that depends on more that is read from the database: that must be read after
/// them. Read before them it may miss a change that they already count, and then tells nothing of how long the answer
/// holds.
pub async fn epochs(platform: &Platform, shows: DependsOn) -> Result<ListEpochs> {
    Ok(shows.of(platform.db.list_epochs().await?))
}

/// As [`answer`], with the [`epochs`] that were read before `other`.
pub async fn answer_at(
    platform: &Platform,
    epochs: ListEpochs,
    operation: &'static str,
    scope: Scope,
    other: String,
    make: impl Future<Output = Result<Bytes>>,
) -> Result<CachedAnswer> {
    let make = async { CachedAnswer::of(make.await?) };
    let key = Key { epochs, operation, scope, other };
    platform.answers.answers.try_get_with(key, make).await.map_err(|e: Arc<Error>| (*e).clone())
}
