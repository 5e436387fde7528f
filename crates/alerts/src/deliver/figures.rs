//! What has become of notifications, counted.

use std::sync::atomic::{AtomicU64, Ordering};

/// Channels in the order of the counters.
const CHANNELS: [&str; 3] = ["email", "webhook", "telegram"];

/// Counters since the process began; each for every channel.
#[derive(Debug, Default)]
pub struct Figures {
    sent: [AtomicU64; 3],
    retried: [AtomicU64; 3],
    failed: [AtomicU64; 3],
}

/// The counters of one channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// `email`, `webhook` or `telegram`.
    pub channel: &'static str,
    /// Notifications delivered.
    pub sent: u64,
    /// Tries after which another one followed.
    pub retried: u64,
    /// Notifications given up until the group is due again.
    pub failed: u64,
}

impl Figures {
    /// All counters.
    pub fn counts(&self) -> Vec<Count> {
        let at = |list: &[AtomicU64; 3], n: usize| list[n].load(Ordering::Relaxed);
        let count = |(n, channel): (usize, &&'static str)| Count {
            channel,
            sent: at(&self.sent, n),
            retried: at(&self.retried, n),
            failed: at(&self.failed, n),
        };
        CHANNELS.iter().enumerate().map(count).collect()
    }

    pub(super) fn sent(&self, channel: &str) {
        add(&self.sent, channel);
    }

    pub(super) fn retried(&self, channel: &str) {
        add(&self.retried, channel);
    }

    pub(super) fn failed(&self, channel: &str) {
        add(&self.failed, channel);
    }
}

fn add(list: &[AtomicU64; 3], channel: &str) {
    if let Some(counter) = CHANNELS.iter().position(|c| *c == channel).and_then(|n| list.get(n)) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}
