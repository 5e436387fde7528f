//! What a process knows of the *auth epoch*: a number that moves with every commit that can change the rights of a
//! system's credential.
//!
//! Where the process holds the database alone (SQLite), it knows the epoch at every moment. On PostgreSQL other
//! processes move it, and a query per request would cost more than the request. So an epoch counts for [`COUNTS`] from
//! the start of its read, and a commit that moves it returns only [`SETTLES`] later: by then no process relies on a
//! read that began before the commit, and every process refuses the very next request. Each process measures both times
//! on its own monotonic clock, so clocks need not agree.

use std::{
    sync::atomic::{AtomicI64, AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// How long an epoch counts from the start of its read.
pub const COUNTS: Duration = Duration::from_millis(40);
/// From this age on, the epoch is read again.
const AGES: Duration = Duration::from_millis(10);
/// How long after its commit every process knows a move. The excess over [`COUNTS`] allows for clocks that run at
/// different speeds.
pub const SETTLES: Duration = Duration::from_millis(45);

/// The epoch as known without a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// The epoch.
    Fresh(i64),
    /// The epoch, about to expire: the caller that gets this starts a read, without waiting for it. Other callers get
    /// the epoch as fresh meanwhile, so that a thousand requests cause one read.
    Ageing(i64),
    /// It must be read.
    Unknown,
}

/// The knowledge of this process; see above.
#[derive(Debug)]
pub struct Epoch {
    n: AtomicI64,
    /// Start of the newest read, in nanoseconds since `base`.
    read_at: AtomicU64,
    /// When a caller last started a read, likewise.
    asked_at: AtomicU64,
    base: Instant,
}

impl Epoch {
    pub(crate) fn new() -> Epoch {
        Epoch {
            n: AtomicI64::new(0),
            read_at: AtomicU64::new(0),
            asked_at: AtomicU64::new(0),
            base: Instant::now(),
        }
    }

    /// The highest known number.
    pub(crate) fn number(&self) -> i64 {
        self.n.load(Ordering::SeqCst)
    }

    /// This process has committed a move.
    pub(crate) fn moved(&self, n: i64) {
        self.n.fetch_max(n, Ordering::SeqCst);
    }

    /// Records that a read started at this moment has found this number.
    pub(crate) fn read(&self, began: Instant, n: i64) {
        // The number first: a reader that sees the time of this read must not see an older number.
        self.moved(n);
        self.read_at.fetch_max(self.since_base(began), Ordering::SeqCst);
    }

    /// At this moment.
    pub(crate) fn known(&self, now: Instant) -> Known {
        let read_at = self.read_at.load(Ordering::SeqCst);
        if read_at == 0 {
            return Known::Unknown;
        }
        let (n, now) = (self.number(), self.since_base(now));
        match Duration::from_nanos(now.saturating_sub(read_at)) {
            age if age < AGES => Known::Fresh(n),
            age if age < COUNTS && self.is_first_to_ask(now) => Known::Ageing(n),
            age if age < COUNTS => Known::Fresh(n),
            _ => Known::Unknown,
        }
    }

    /// Whether no other caller has started a read for as long as the epoch takes to age.
    fn is_first_to_ask(&self, now: u64) -> bool {
        let asked_at = self.asked_at.load(Ordering::Relaxed);
        let is_time = asked_at == 0 || Duration::from_nanos(now.saturating_sub(asked_at)) >= AGES;
        is_time && self.asked_at.compare_exchange(asked_at, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// At least 1: 0 is for no read at all.
    fn since_base(&self, moment: Instant) -> u64 {
        let nanos = moment.saturating_duration_since(self.base).as_nanos();
        u64::try_from(nanos).unwrap_or(u64::MAX).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_counts_from_its_start_and_for_less_time_than_a_move_waits() {
        assert!(COUNTS < SETTLES);
        let epoch = Epoch::new();
        let began = Instant::now();
        assert_eq!(epoch.known(began), Known::Unknown);
        epoch.read(began, 7);
        assert_eq!(epoch.known(began), Known::Fresh(7));
        assert_eq!(epoch.known(began + AGES), Known::Ageing(7));
        // One caller starts a read, and another one if that read failed.
        assert_eq!(epoch.known(began + AGES), Known::Fresh(7));
        assert_eq!(epoch.known(began + 2 * AGES), Known::Ageing(7));
        assert_eq!(epoch.known(began + COUNTS), Known::Unknown);
    }

    #[test]
    fn neither_a_late_answer_nor_an_own_move_is_taken_back() {
        let epoch = Epoch::new();
        let began = Instant::now();
        epoch.read(began + AGES, 8);
        epoch.read(began, 7);
        assert_eq!(epoch.known(began + AGES), Known::Fresh(8));
        epoch.moved(9);
        assert_eq!(epoch.known(began + AGES), Known::Fresh(9));
        // A move by this process says nothing about later moves by others.
        assert_eq!(epoch.known(began + AGES + COUNTS), Known::Unknown);
    }
}
