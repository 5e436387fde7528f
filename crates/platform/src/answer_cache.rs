//! A cache of answers and totals that are computed from a whole tree. It holds answers as the bytes that are sent.
//!
//! The key of an answer holds everything that the answer depends on: the operation, the caller's scope, the parts of
//! the request that change it, and the *list epochs*. A commit raises the epochs of everything that it changes
//! ([`DependsOn`]). The cache reads the epochs before the tree, so an answer is never older than its key. Nothing is
//! removed by hand: no request looks up answers of an older epoch, and the cache drops them when it needs room.

use crate::{Platform, limits::unavailable, shared_read::SharedRead};
use bailiwick_domain::{Error, Result};
use bailiwick_policy::Scope;
use bailiwick_store::{ListEpochs, StoreError, replica};
use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use moka::future::Cache;
use serde::{Serialize, de::DeserializeOwned};
use std::{fmt, io::Write as _, sync::Arc};

/// Most bytes of all answers.
const BYTES: u64 = 64 * 1024 * 1024;
/// Smallest answer that is compressed too, in bytes.
const COMPRESSED_FROM: usize = 1024;

/// The data that an answer is computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DependsOn {
    /// Organizations and users, without their figures and sign-ins.
    People,
    /// Organizations, and their counts of systems and applications; which systems there are, without their columns.
    Figures,
    /// Organizations, their counts of systems, and the statuses of systems.
    Statuses,
    /// The systems that a filter finds, with their statuses.
    SystemsAndStatuses,
    /// Users, and the times of their last sign-ins.
    Logins,
    /// The systems that a filter finds, apart from their statuses.
    Systems,
    /// Organizations, and how many applications of which module they have.
    Applications,
    /// The applications that a text finds.
    ApplicationTexts,
    /// Active alerts with their assignees, until the first of them expires; and resolved alerts, but for their removal
    /// by retention.
    ActiveAlerts,
}

impl DependsOn {
    fn relevant_of(self, all: ListEpochs) -> ListEpochs {
        let people = ListEpochs { people: all.people, ..ListEpochs::default() };
        match self {
            DependsOn::People => people,
            DependsOn::Figures => ListEpochs { figures: all.figures, ..people },
            DependsOn::Statuses => ListEpochs { figures: all.figures, statuses: all.statuses, ..people },
            DependsOn::SystemsAndStatuses => {
                let (figures, systems, statuses) = (all.figures, all.systems, all.statuses);
                ListEpochs { figures, systems, statuses, ..people }
            }
            DependsOn::Logins => ListEpochs { logins: all.logins, ..people },
            DependsOn::Systems => ListEpochs { systems: all.systems, ..people },
            DependsOn::Applications => ListEpochs { applications: all.applications, ..people },
            DependsOn::ApplicationTexts => {
                // A process of the version before moves no epoch of texts, but that of applications for most changes.
                let (systems, applications) = (all.systems, all.applications);
                ListEpochs { systems, applications, application_texts: all.application_texts, ..people }
            }
            // A deleted or moved system takes its alerts along.
            DependsOn::ActiveAlerts => {
                ListEpochs { figures: all.figures, active_alerts: all.active_alerts, ..people }
            }
        }
    }
}

/// The key of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// The present [`epochs`].
    pub epochs: ListEpochs,
    pub operation: &'static str,
    /// The caller's scope.
    pub scope: Scope,
    /// Everything else that the answer depends on, such as the role or the day.
    pub other: String,
}

/// A text that distinguishes one request of an operation from another; it is part of the key.
pub fn key_text(request: &dyn fmt::Debug) -> String {
    struct Shown<'a>(&'a dyn fmt::Debug);
    impl fmt::Display for Shown<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.fmt(f)
        }
    }
    Shown(request).to_string()
}

/// An answer as the bytes that are sent.
#[derive(Clone, Debug)]
pub struct CachedAnswer {
    /// Uncompressed.
    pub plain: Bytes,
    /// Compressed with gzip, if it is large enough, for clients that accept that.
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

/// The cached answers.
#[derive(Debug)]
pub struct AnswerCache {
    answers: Cache<Key, CachedAnswer>,
    epochs: SharedRead<ListEpochs>,
}

impl Default for AnswerCache {
    fn default() -> AnswerCache {
        let weight = |key: &Key, answer: &CachedAnswer| {
            u32::try_from(size_of::<Key>() + key.other.len() + answer.len()).unwrap_or(u32::MAX)
        };
        let answers = Cache::builder().max_capacity(BYTES).weigher(weight).build();
        AnswerCache { answers, epochs: SharedRead::default() }
    }
}

impl AnswerCache {
    /// Drops all answers; for tests that compare a cached answer with a fresh one.
    #[doc(hidden)]
    pub fn forget(&self) {
        self.answers.invalidate_all();
    }

    /// The bytes that [`AnswerCache::put`] has stored under the key.
    pub async fn get(&self, key: &Key) -> Option<Bytes> {
        self.answers.get(key).await.map(|answer| answer.plain)
    }

    /// Stores bytes that are not an answer by themselves.
    pub async fn put(&self, key: Key, bytes: Bytes) {
        self.answers.insert(key, CachedAnswer { plain: bytes, gzip: None }).await;
    }
}

/// A number that an operation computes for all callers with this scope; see [`answer`].
///
/// # Errors
/// The database's.
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
    let cached = stored(platform, key, make).await?;
    cached.as_ref().try_into().map(u64::from_be_bytes).map_err(Error::internal)
}

/// Bytes that are not an answer by themselves.
async fn stored(platform: &Platform, key: Key, make: impl Future<Output = Result<Bytes>>) -> Result<Bytes> {
    let make = async { Ok(CachedAnswer { plain: make.await?, gzip: None }) };
    let cached = platform.answers.answers.try_get_with(key, make).await;
    cached.map(|answer| answer.plain).map_err(|e: Arc<Error>| (*e).clone())
}

/// Something that an operation computes for all callers with this scope and that is not an answer by itself; see
/// [`answer`].
///
/// # Errors
/// The database's, or that of writing it as JSON.
pub async fn computed<T: Serialize + DeserializeOwned>(
    platform: &Platform,
    shows: DependsOn,
    operation: &'static str,
    scope: Scope,
    other: String,
    make: impl Future<Output = Result<T>>,
) -> Result<T> {
    let key = Key { epochs: epochs(platform, shows).await?, operation, scope, other };
    computed_at(platform, key, make).await
}

/// As [`answer`], under a key with [`epochs`] that were read before.
///
/// # Errors
/// The error of `make`, or the database's.
pub async fn computed_at<T: Serialize + DeserializeOwned>(
    platform: &Platform,
    key: Key,
    make: impl Future<Output = Result<T>>,
) -> Result<T> {
    let make = async { serde_json::to_vec(&make.await?).map(Bytes::from).map_err(Error::internal) };
    serde_json::from_slice(&stored(platform, key, make).await?).map_err(Error::internal)
}

/// The answer of an operation to all callers with this scope. `other` names everything else that the answer depends on,
/// such as the role or the day. `make` runs once, even if several requests ask at the same time.
///
/// # Errors
/// The error of `make`, or the database's.
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

/// The present epochs, for an answer whose `other` comes from the database. The caller must read `other` after the
/// epochs: read before them, it may miss a change that the epochs already count, and the answer would outlive that
/// change.
///
/// # Errors
/// The database's.
pub async fn epochs(platform: &Platform, shows: DependsOn) -> Result<ListEpochs> {
    let shared = &platform.answers.epochs;
    if replica::is_read() {
        if let Ok(epochs) = shared.get(of_replica(platform)).await {
            return Ok(shows.relevant_of(epochs));
        }
        replica::leave();
    }
    Ok(shows.relevant_of(shared.get(present(platform)).await?))
}

async fn present(platform: &Platform) -> Result<ListEpochs> {
    Ok(platform.db.list_epochs().await?)
}

/// The epochs of the replica. If the request has left the replica meanwhile they may be the primary's, and newer than
/// what the requests that share this read are going to read.
async fn of_replica(platform: &Platform) -> Result<ListEpochs> {
    let epochs = present(platform).await?;
    if replica::is_read() { Ok(epochs) } else { Err(unavailable("the replica was left")) }
}

/// Like [`answer`], with [`epochs`] that were read before `other`.
///
/// # Errors
/// The error of `make`, or the database's.
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
