//! Answers and totals that take a walk through a whole tree: made once for each state of it, answers as they are sent.
//!
//! The key of an answer holds everything it depends on: the operation, the caller's scope, whatever else of the caller
//! or the request shows in it, and the *list epochs*, which move with every commit that changes what it shows
//! ([`Shows`]). They are read before the tree, so an answer is never older than its key. Nothing has to be thrown away:
//! answers of an older epoch are not asked for again, and go when room is needed.

use crate::App;
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
pub(crate) enum Shows {
    /// Organizations and users, but neither of the following.
    People,
    /// Organizations, and how many systems and applications they have.
    Figures,
    /// Users, and when they last signed in.
    Logins,
    /// Which systems a filter finds, apart from their statuses.
    Systems,
}

impl Shows {
    const fn of(self, all: ListEpochs) -> ListEpochs {
        let people = ListEpochs { people: all.people, figures: 0, logins: 0, systems: 0, statuses: 0 };
        match self {
            Shows::People => people,
            Shows::Figures => ListEpochs { figures: all.figures, ..people },
            Shows::Logins => ListEpochs { logins: all.logins, ..people },
            Shows::Systems => ListEpochs { systems: all.systems, ..people },
        }
    }
}

/// What an answer depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    /// As [`epochs`] says.
    pub epochs: ListEpochs,
    pub operation: &'static str,
    pub scope: Scope,
    /// The role, the day, or what else it depends on.
    pub other: String,
}

/// Tells one question from another; nobody reads it.
pub(crate) fn key(of: &dyn fmt::Debug) -> String {
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
pub struct Written {
    /// As it is.
    pub plain: Bytes,
    /// Compressed for whoever takes that, when it is large enough: browsers always do.
    pub gzip: Option<Bytes>,
}

impl Written {
    fn of(plain: Bytes) -> Result<Written> {
        let gzip = if plain.len() < COMPRESSED_FROM {
            None
        } else {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(&plain).map_err(Error::internal)?;
            Some(encoder.finish().map_err(Error::internal)?.into())
        };
        Ok(Written { plain, gzip })
    }

    fn len(&self) -> usize {
        self.plain.len() + self.gzip.as_ref().map_or(0, Bytes::len)
    }
}

/// Kept answers.
#[derive(Debug)]
pub struct Kept {
    answers: Cache<Key, Written>,
}

impl Default for Kept {
    fn default() -> Kept {
        let weight = |key: &Key, answer: &Written| {
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

    /// Bytes that were kept by [`Kept::put`].
    pub(crate) async fn get(&self, key: &Key) -> Option<Bytes> {
        self.answers.get(key).await.map(|kept| kept.plain)
    }

    pub(crate) async fn put(&self, key: Key, bytes: Bytes) {
        self.answers.insert(key, Written { plain: bytes, gzip: None }).await;
    }
}

/// A number of an operation for everybody with this scope; see [`answer`].
pub(crate) async fn number(
    app: &App,
    shows: Shows,
    operation: &'static str,
    scope: Scope,
    other: String,
    make: impl Future<Output = std::result::Result<u64, StoreError>>,
) -> Result<u64> {
    let key = Key { epochs: epochs(app, shows).await?, operation, scope, other };
    let make = async { Ok(Bytes::copy_from_slice(&make.await?.to_be_bytes())) };
    let kept = value(app, key, make).await?;
    kept.as_ref().try_into().map(u64::from_be_bytes).map_err(Error::internal)
}

/// Bytes that are not sent as they are.
pub(crate) async fn value(
    app: &App,
    key: Key,
    make: impl Future<Output = std::result::Result<Bytes, StoreError>>,
) -> Result<Bytes> {
    let make = async { Ok(Written { plain: make.await?, gzip: None }) };
    app.kept
        .answers
        .try_get_with(key, make)
        .await
        .map(|kept| kept.plain)
        .map_err(|e: Arc<Error>| (*e).clone())
}

/// The answer of an operation to everybody with this scope. `other`: what else it depends on, the role or the day.
/// `make` runs once, however many ask for it at the same time.
pub(crate) async fn answer(
    app: &App,
    shows: Shows,
    operation: &'static str,
    scope: Scope,
    other: String,
    make: impl Future<Output = Result<Bytes>>,
) -> Result<Written> {
    let epochs = epochs(app, shows).await?;
    answer_of(app, epochs, operation, scope, other, make).await
}

/// The present epochs, for an answer that depends on more that is read from the database: that must be read after
/// them. Read before them it may miss a change that they already count, and then tells nothing of how long the answer
/// holds.
pub(crate) async fn epochs(app: &App, shows: Shows) -> Result<ListEpochs> {
    Ok(shows.of(app.db.list_epochs().await?))
}

/// As [`answer`], with the [`epochs`] that were read before `other`.
pub(crate) async fn answer_of(
    app: &App,
    epochs: ListEpochs,
    operation: &'static str,
    scope: Scope,
    other: String,
    make: impl Future<Output = Result<Bytes>>,
) -> Result<Written> {
    let make = async { Written::of(make.await?) };
    let key = Key { epochs, operation, scope, other };
    app.kept.answers.try_get_with(key, make).await.map_err(|e: Arc<Error>| (*e).clone())
}
