//! Counts notifications by outcome.

use bailiwick_alertmanager::receivers::RecipientKind;
use std::sync::atomic::{AtomicU64, Ordering};

/// A counter for each kind of recipient.
type Counters = [AtomicU64; RecipientKind::COUNT];

/// Counters since the process began.
#[derive(Debug, Default)]
pub struct NotifyCounters {
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

impl NotifyCounters {
    /// All counters.
    pub fn counts(&self) -> Vec<Count> {
        let at = |list: &Counters, kind: RecipientKind| list[kind as usize].load(Ordering::Relaxed);
        let count = |kind: &RecipientKind| Count {
            channel: kind.as_str(),
            sent: at(&self.sent, *kind),
            retried: at(&self.retried, *kind),
            failed: at(&self.failed, *kind),
        };
        RecipientKind::ALL.iter().map(count).collect()
    }

    pub(super) fn sent(&self, kind: RecipientKind) {
        add(&self.sent, kind);
    }

    pub(super) fn retried(&self, kind: RecipientKind) {
        add(&self.retried, kind);
    }

    pub(super) fn failed(&self, kind: RecipientKind) {
        add(&self.failed, kind);
    }
}

fn add(list: &Counters, kind: RecipientKind) {
    list[kind as usize].fetch_add(1, Ordering::Relaxed);
}
