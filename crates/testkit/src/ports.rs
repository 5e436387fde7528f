//! A clock that stands still and randomness that repeats, so that snapshots need no redaction.

use bailiwick_domain::{Clock, Entropy, Ts};
use std::{
    sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
    time::Duration,
};

/// A clock moved by hand.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// 2026-03-04T10:00:00Z, a Wednesday.
    pub const START: Ts = Ts::from_secs(1_772_618_400);

    /// A clock at [`ManualClock::START`].
    pub fn new() -> ManualClock {
        ManualClock(AtomicI64::new(Self::START.0))
    }

    /// Moves it forward.
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_micros()).unwrap_or(i64::MAX), Ordering::SeqCst);
    }

    /// Sets it, also backwards.
    pub fn set(&self, to: Ts) {
        self.0.store(to.0, Ordering::SeqCst);
    }
}

impl Default for ManualClock {
    fn default() -> ManualClock {
        ManualClock::new()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Ts {
        Ts(self.0.load(Ordering::SeqCst))
    }
}

/// SplitMix64 from a seed: the same bytes in the same order, never the same bytes twice.
#[derive(Debug)]
pub struct SeededEntropy(AtomicU64, AtomicBool);

impl SeededEntropy {
    /// From a seed.
    pub const fn new(seed: u64) -> SeededEntropy {
        SeededEntropy(AtomicU64::new(seed), AtomicBool::new(false))
    }

    /// A request for more random bytes panics from now on, as with a failing random number generator.
    pub fn run_dry(&self) {
        self.1.store(true, Ordering::SeqCst);
    }

    fn next(&self) -> u64 {
        let mut z = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

impl Entropy for SeededEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        assert!(!self.1.load(Ordering::SeqCst), "there is no randomness left");
        for chunk in bytes.chunks_mut(8) {
            let random = self.next().to_le_bytes();
            chunk.copy_from_slice(&random[..chunk.len()]);
        }
    }
}
