//! Limits on guessing (spec: systems-interface#failure-limits). Failures are counted per address and key, so knowing a
//! key does not lock its system out.

use bailiwick_domain::{Error, Result, Ts, metrics::Counter};
use bailiwick_platform::limits::client_network;
use moka::sync::Cache;
use std::{
    hash::{BuildHasher, RandomState},
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

/// Time in which failures add up.
pub(super) const WINDOW: Duration = Duration::from_secs(60);
/// The most pairs remembered; beyond that the least used are forgotten.
const PAIRS: u64 = 100_000;

#[derive(Debug)]
struct Count {
    since: Ts,
    failures: AtomicU32,
}

/// Failed attempts of the last minute, by pair of address and key. Bounded.
#[derive(Debug)]
pub struct Failures {
    limit: u32,
    /// Keyed per process, so attackers cannot choose keys that collide.
    hasher: RandomState,
    counts: Cache<Pair, Arc<Count>>,
    refused: Counter,
}

/// The key to look a system up by. Separate kinds, because a client chooses the text: a lookup part must not pass for a
/// key.
#[derive(Clone, Copy, Debug, Hash)]
pub enum CredentialKey<'a> {
    /// Its key.
    Key(&'a str),
    /// The lookup part of its secret.
    Public(&'a str),
    /// The id of its older pair.
    Legacy(&'a str),
}

/// A source address with a presented key or lookup part, hashed.
pub type Pair = u64;

impl Failures {
    /// A pair is refused beyond `limit` failures within a minute.
    pub fn new(limit: u32) -> Failures {
        let counts = Cache::builder().max_capacity(PAIRS).time_to_live(WINDOW.saturating_mul(2)).build();
        Failures { limit, hasher: RandomState::new(), counts, refused: Counter::default() }
    }

    /// The pair. All addresses of one IPv6 network of 64 bits are one.
    pub fn pair(&self, ip: IpAddr, sought: CredentialKey<'_>) -> Pair {
        self.hasher.hash_one((client_network(ip), sought))
    }

    /// The hash of a lookup key, as an index for other caches.
    pub(super) fn hash_of(&self, sought: CredentialKey<'_>) -> u64 {
        self.hasher.hash_one(sought)
    }

    /// Refuses a pair that has failed too often, even if the secret is right now.
    pub fn check(&self, pair: Pair, now: Ts) -> Result<()> {
        match self.counts.get(&pair) {
            Some(count) if count.failures.load(Ordering::Relaxed) > self.limit => self.refuse(&count, now),
            _ => Ok(()),
        }
    }

    /// Counts a failure; the first one beyond the limit is already refused.
    pub fn count(&self, pair: Pair, now: Ts) -> Result<()> {
        let fresh = || Arc::new(Count { since: now, failures: AtomicU32::new(0) });
        let mut count = self.counts.get_with(pair, fresh);
        if is_over(&count, now) {
            count = fresh();
            self.counts.insert(pair, count.clone());
        }
        if count.failures.fetch_add(1, Ordering::Relaxed) < self.limit {
            Ok(())
        } else {
            self.refuse(&count, now)
        }
    }

    /// How many attempts were refused.
    pub fn refused(&self) -> u64 {
        self.refused.get()
    }

    fn refuse(&self, count: &Count, now: Ts) -> Result<()> {
        let refusal = refuse(count, now);
        if refusal.is_err() {
            self.refused.one();
        }
        refusal
    }
}

fn is_over(count: &Count, now: Ts) -> bool {
    now >= count.since.plus(WINDOW)
}

fn refuse(count: &Count, now: Ts) -> Result<()> {
    if is_over(count, now) {
        return Ok(());
    }
    let left = count.since.plus(WINDOW).since(now);
    Err(Error::TooMany { retry_after: Duration::from_secs(left.as_micros().div_ceil(1_000_000) as u64) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_twenty_first_failure_is_refused_until_the_minute_is_over() {
        let failures = Failures::new(20);
        let here = failures.pair([192, 0, 2, 1].into(), CredentialKey::Key("KEY"));
        let there = failures.pair([192, 0, 2, 2].into(), CredentialKey::Key("KEY"));
        let start = Ts::from_secs(1000);
        for second in 0..20 {
            let now = start.plus(Duration::from_secs(second));
            failures.check(here, now).unwrap();
            failures.count(here, now).unwrap();
        }
        let now = start.plus(Duration::from_secs(30));
        failures.check(here, now).unwrap();
        let Err(Error::TooMany { retry_after }) = failures.count(here, now) else { panic!() };
        assert_eq!(retry_after.as_secs(), 30);
        assert!(failures.check(here, now).is_err());
        assert!(failures.check(there, now).is_ok());
        let later = start.plus(WINDOW);
        assert!(failures.check(here, later).is_ok());
        assert!(failures.count(here, later).is_ok());
        assert!(failures.check(here, later).is_ok());
    }
}
