//! Limits over all processes that share the database: an attacker gains nothing from more of them.
//!
//! | Kind | Question | Used for |
//! |---|---|---|
//! | [`Window`], [`Guess`]: sliding window | How many in any 15 minutes …? | wrong codes, failed passwords |
//! | [`Rate`]: token bucket | How fast, with which burst? | requests for tokens |
//! | [`failures`]: fixed window | How many since the first one? | failed credentials of systems |
//!
//! The counts are rows of one table (`shared_limits`), under a keyed digest of what is limited. Requests that count at
//! the same moment share a statement. Each is counted before it is decided, so that requests made at the same moment at
//! several processes cannot all pass; what turns out not to count is taken back.
//!
//! A process has the same limits in its memory and asks them first. While the database cannot count, they alone hold,
//! and the log says so.
//!
//! A new limit has a purpose of its own, which no other limit uses: it keeps the keys apart.

pub mod failures;
mod rates;
mod windows;

pub use rates::{Rate, Taking};
pub use windows::{Counted, Counter, Guess, Taken, Window};

use super::SlidingWindow;
use crate::{Platform, group_commit::GroupCommit, keys::Keys};
use bailiwick_domain::{Clock, Result, Ts};
use bailiwick_store::{Db, StoreError, shared_limits};
use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::{Builder, Uuid};

/// Longest wait for a count.
const WAIT: Duration = Duration::from_secs(5);
/// The longest window of [`Window`].
const LONGEST: Duration = Duration::from_secs(3600);
/// Rows may be removed from a multiple of this time on, so that the index of that time rarely changes.
const PURGE_STEP: i64 = 60_000_000;
/// Rows that one removal takes.
const PURGED: i64 = 1_000;
/// After so many counted rows, old ones are removed: strangers choose addresses and keys.
const PURGED_AFTER: usize = 500;

/// The queues of what is to be counted; each starts with its first count.
#[derive(Debug)]
pub struct SharedLimits {
    windows: GroupCommit<windows::Turn, windows::Outcome>,
    rates: GroupCommit<rates::Request, Result<(), Duration>>,
    failures: failures::Queues,
    /// What this process has counted for [`Window`].
    own: SlidingWindow<Uuid>,
}

impl SharedLimits {
    /// Starts the queues on the tracker.
    pub(crate) fn start(
        db: &Db,
        clock: &Arc<dyn Clock>,
        tasks: &TaskTracker,
        stop: &CancellationToken,
    ) -> SharedLimits {
        let (windows_db, rates_db) = (db.clone(), db.clone());
        let purger = Arc::new(Purger::default());
        SharedLimits {
            windows: GroupCommit::start(tasks, stop.clone(), windows::GROUP, move |turns| {
                windows::count(windows_db.clone(), turns)
            }),
            rates: GroupCommit::start(tasks, stop.clone(), shared_limits::KEYS, move |requests| {
                rates::count(rates_db.clone(), purger.clone(), requests)
            }),
            failures: failures::Queues::start(db, clock, tasks, stop),
            own: SlidingWindow::new(LONGEST),
        }
    }
}

/// The key of what is limited: a keyed digest, so that the table reveals neither names nor addresses.
pub fn key(keys: &Keys, purpose: &str, limited: &[u8]) -> Uuid {
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, ..] = keys.mac(purpose, limited);
    Builder::from_custom_bytes([a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]).into_uuid()
}

/// An address as a part of a key.
pub fn address_bytes(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(v4) => v4.octets().to_vec(),
        IpAddr::V6(v6) => v6.octets().to_vec(),
    }
}

/// When a row may be removed that counts until `end`.
fn purge_at(end: Ts) -> Ts {
    let end = end.plus(shared_limits::SKEW).0;
    Ts(end.div_euclid(PURGE_STEP).saturating_add(1).saturating_mul(PURGE_STEP))
}

/// Says that the limits of this process hold alone for a while.
fn warn(what: &str, error: &dyn std::fmt::Display) {
    tracing::warn!(limit = what, %error, "shared limits unavailable; each process counts for itself");
}

/// Removes old rows now and then, so that the table stays as small as the limits allow, whatever strangers send.
#[derive(Debug, Default)]
struct Purger(AtomicUsize);

impl Purger {
    /// So many rows were counted.
    async fn after(&self, db: &Db, rows: usize, now: Ts) {
        if self.0.fetch_add(rows, Ordering::Relaxed) + rows < PURGED_AFTER {
            return;
        }
        self.0.store(0, Ordering::Relaxed);
        if let Err(error) = purge_some(db, now).await {
            tracing::debug!(%error, "old counts could not be removed");
        }
    }
}

async fn purge_some(db: &Db, now: Ts) -> Result<u64, StoreError> {
    let mut tx = db.begin_relaxed().await?;
    let n = shared_limits::purge(&mut tx, now, PURGED).await?;
    tx.commit().await?;
    Ok(n)
}

/// Removes rows that count no more, and returns how many.
///
/// # Errors
/// The database's.
pub async fn purge(platform: &Platform) -> Result<u64> {
    let mut purged = 0;
    loop {
        let n = purge_some(&platform.db, platform.now()).await?;
        purged += n;
        if n < PURGED.unsigned_abs() {
            return Ok(purged);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_apart_by_purpose_and_by_secret() {
        let (one, other) = ([[1; 32], [2; 32]]).map(|secret| Keys::derive(&secret, None).unwrap()).into();
        assert_eq!(key(&one, "a", b"x"), key(&one, "a", b"x"));
        for different in [key(&one, "b", b"x"), key(&one, "a", b"y"), key(&other, "a", b"x")] {
            assert_ne!(key(&one, "a", b"x"), different);
        }
        assert_eq!(key(&one, "a", b"x").get_version_num(), 8, "no id of the service is of this kind");
    }

    #[test]
    fn a_row_stays_as_long_as_it_counts_for_any_clock() {
        for end in [0, 1, PURGE_STEP - 1, PURGE_STEP, 7 * PURGE_STEP + 3] {
            let at = purge_at(Ts(end));
            assert!(at > Ts(end).plus(shared_limits::SKEW));
            assert_eq!(at.0 % PURGE_STEP, 0);
        }
    }
}
