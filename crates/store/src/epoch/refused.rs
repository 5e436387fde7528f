//! Pairs of address and credential that other processes refuse, as far as this process has been notified.

use std::{
    collections::HashMap,
    sync::{
        PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use uuid::Uuid;

/// How long a pair is remembered: longer than its failures count. Until then its right credentials ask the database.
const REMEMBERED: Duration = Duration::from_secs(180);
/// The most pairs remembered. Of more, a process refuses only what it has counted itself.
const PAIRS: usize = 50_000;
/// The version of the UUID that keys of pairs have, and no id.
const VERSION: usize = 8;

/// The pairs, with the time at which this process was notified of each.
#[derive(Debug)]
pub(crate) struct RefusedPairs {
    pairs: RwLock<HashMap<Uuid, Instant>>,
    /// Until when any pair is remembered, in milliseconds since `base`: lets the call of a system pass without a lock.
    until: AtomicU64,
    base: Instant,
}

impl RefusedPairs {
    pub(super) fn new() -> RefusedPairs {
        RefusedPairs { pairs: RwLock::default(), until: AtomicU64::new(0), base: Instant::now() }
    }

    /// Notes a pair. False if this is the id of a system.
    pub(super) fn note(&self, id: Uuid) -> bool {
        if id.get_version_num() != VERSION {
            return false;
        }
        let mut pairs = self.pairs.write().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if pairs.len() >= PAIRS {
            pairs.retain(|_, at| now.duration_since(*at) < REMEMBERED);
        }
        if pairs.len() < PAIRS {
            pairs.insert(id, now);
            self.until.fetch_max(self.millis(now + REMEMBERED), Ordering::Release);
        }
        true
    }

    /// Notes pairs that were read.
    pub(crate) fn note_all(&self, ids: Vec<Uuid>) {
        for id in ids {
            self.note(id);
        }
    }

    /// Whether any pair may be refused.
    pub(crate) fn is_any(&self) -> bool {
        let until = self.until.load(Ordering::Acquire);
        until > 0 && self.millis(Instant::now()) <= until
    }

    /// Whether this pair may be refused.
    pub(crate) fn may_be(&self, id: Uuid) -> bool {
        let pairs = self.pairs.read().unwrap_or_else(PoisonError::into_inner);
        pairs.get(&id).is_some_and(|at| at.elapsed() < REMEMBERED)
    }

    fn millis(&self, moment: Instant) -> u64 {
        u64::try_from(moment.saturating_duration_since(self.base).as_millis()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Builder;

    fn pair(n: u32) -> Uuid {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&n.to_be_bytes());
        Builder::from_custom_bytes(bytes).into_uuid()
    }

    #[test]
    fn only_pairs_are_noted() {
        let pairs = RefusedPairs::new();
        assert!(!pairs.note(Uuid::from_u128(7)) && !pairs.is_any());
        assert!(pairs.note(pair(1)) && pairs.is_any());
        assert!(pairs.may_be(pair(1)) && !pairs.may_be(pair(2)));
    }

    #[test]
    fn the_memory_of_pairs_is_bounded() {
        let pairs = RefusedPairs::new();
        let most = u32::try_from(PAIRS).unwrap();
        pairs.note_all((0..most + 10).map(pair).collect());
        assert_eq!(pairs.pairs.read().unwrap().len(), PAIRS);
        assert!(pairs.may_be(pair(0)) && !pairs.may_be(pair(most)));
    }
}
