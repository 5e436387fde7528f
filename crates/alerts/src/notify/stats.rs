//! Counts notifications by outcome.

use bailiwick_alerting::receivers::Kind;
use std::sync::atomic::{AtomicU64, Ordering};

/// A counter for each kind of recipient.
type Counters = [AtomicU64; Kind::COUNT];

/// Counters since the process began.
#[derive(Debug, Default)]
pub struct Figures {
    sent: Counters,
    retried: Counters,
    failed: Counters,
}

/// The counters of one channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// The channel, such as `email`.
    pub channel: &'static str,
    /// Notifications delivered.
    pub sent: u64,
    /// Tries after which another one followed.
    pub retried: u64,
    /// Notifications that failed until the next flush of the group.
    pub failed: u64,
}

impl Figures {
    /// All counters.
    pub fn counts(&self) -> Vec<Count> {
        let at = |list: &Counters, kind: Kind| list[kind as usize].load(Ordering::Relaxed);
        let count = |kind: &Kind| Count {
            channel: kind.as_str(),
            sent: at(&self.sent, *kind),
            retried: at(&self.retried, *kind),
            failed: at(&self.failed, *kind),
        };
        Kind::ALL.iter().map(count).collect()
    }

    pub(super) fn sent(&self, kind: Kind) {
        add(&self.sent, kind);
    }

    pub(super) fn retried(&self, kind: Kind) {
        add(&self.retried, kind);
    }

    pub(super) fn failed(&self, kind: Kind) {
        add(&self.failed, kind);
    }
}

fn add(list: &Counters, kind: Kind) {
    list[kind as usize].fetch_add(1, Ordering::Relaxed);
}
