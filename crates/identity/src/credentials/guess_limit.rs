//! Limits on guessing (spec: systems-interface#failure-limits). Failures are counted per address and key, so knowing a
//! key does not lock its system out.
//!
//! Each failure is counted in this process and over all processes. A right credential is not counted; it asks the
//! others only where this process knows of failures, or has been notified that another one refuses the pair.

use bailiwick_domain::{Error, Result, Ts, metrics::Counter};
use bailiwick_platform::{
    Platform,
    limits::{
        client_network,
        shared::{self, address_bytes, failures},
    },
};
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
use uuid::Uuid;

pub(super) use failures::WINDOW;

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
    counts: Cache<u64, Arc<Count>>,
    refused: Counter,
}

/// The key to look a system up by. Separate kinds, because a client chooses the text: a lookup part must not pass for a
/// key.
#[derive(Clone, Copy, Debug, Hash)]
pub enum CredentialKey<'a> {
    Key(&'a str),
    /// The lookup part of its secret.
    Public(&'a str),
    /// The id of its older pair.
    Legacy(&'a str),
}

impl CredentialKey<'_> {
    const fn parts(&self) -> (u8, &str) {
        match self {
            CredentialKey::Key(text) => (1, text),
            CredentialKey::Public(text) => (2, text),
            CredentialKey::Legacy(text) => (3, text),
        }
    }
}

/// A source address with a presented key or lookup part.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a> {
    /// The two, hashed for this process.
    hash: u64,
    network: IpAddr,
    sought: CredentialKey<'a>,
}

impl Pair<'_> {
    /// The two, as all processes name them.
    fn key(&self, platform: &Platform) -> Uuid {
        let (kind, text) = self.sought.parts();
        let limited = [&[kind][..], &address_bytes(self.network), &[0], text.as_bytes()].concat();
        shared::key(&platform.keys, "failed credentials", &limited)
    }
}

impl Failures {
    /// A pair is refused beyond `limit` failures within a minute.
    pub fn new(limit: u32) -> Failures {
        let counts = Cache::builder().max_capacity(PAIRS).time_to_live(WINDOW.saturating_mul(2)).build();
        Failures { limit, hasher: RandomState::new(), counts, refused: Counter::default() }
    }

    /// The pair. All addresses of one IPv6 network of 64 bits are one.
    pub fn pair<'a>(&self, ip: IpAddr, sought: CredentialKey<'a>) -> Pair<'a> {
        let network = client_network(ip);
        Pair { hash: self.hasher.hash_one((network, sought)), network, sought }
    }

    /// The hash of a lookup key, as an index for other caches.
    pub(super) fn hash_of(&self, sought: CredentialKey<'_>) -> u64 {
        self.hasher.hash_one(sought)
    }

    /// Refuses a pair that has failed too often, even if the secret is right now.
    pub fn check(&self, pair: Pair<'_>, now: Ts) -> Result<()> {
        match self.counts.get(&pair.hash) {
            Some(count) if count.failures.load(Ordering::Relaxed) > self.limit => {
                self.noted(refuse(&count, now))
            }
            _ => Ok(()),
        }
    }

    /// Counts a failure over all processes; the first one beyond the limit is already refused. When it is answered,
    /// every process refuses the pair.
    ///
    /// # Errors
    /// 429 with the rest of the minute.
    pub async fn count(&self, platform: &Platform, pair: Pair<'_>, now: Ts) -> Result<()> {
        let own = self.count_here(pair, now);
        let all = failures::count(platform, pair.key(platform), u64::from(self.limit), now).await;
        self.noted(all.map_or(Ok(()), |since| self.learn(pair, since, now)).and(own))
    }

    /// Checks that the processes together do not refuse a pair whose credential is right.
    ///
    /// # Errors
    /// 429 with the rest of the minute.
    pub async fn confirm(&self, platform: &Platform, pair: Pair<'_>, now: Ts) -> Result<()> {
        let has_failed = || self.counts.get(&pair.hash).is_some_and(|count| !is_over(&count, now));
        let may_be_refused =
            || platform.db.is_any_refused() && platform.db.may_be_refused(pair.key(platform));
        if !has_failed() && !may_be_refused() {
            return Ok(());
        }
        let all = failures::ask(platform, pair.key(platform), now).await;
        self.noted(all.map_or(Ok(()), |since| self.learn(pair, since, now)))
    }

    /// Notes the failures of all processes, if the pair is refused for them.
    fn learn(&self, pair: Pair<'_>, since: failures::Since, now: Ts) -> Result<()> {
        if since.count <= u64::from(self.limit) {
            return Ok(());
        }
        let failures = AtomicU32::new(u32::try_from(since.count).unwrap_or(u32::MAX));
        let count = Arc::new(Count { since: since.first_at, failures });
        self.counts.insert(pair.hash, count.clone());
        refuse(&count, now)
    }

    /// Counts a failure in this process.
    fn count_here(&self, pair: Pair<'_>, now: Ts) -> Result<()> {
        let fresh = || Arc::new(Count { since: now, failures: AtomicU32::new(0) });
        let mut count = self.counts.get_with(pair.hash, fresh);
        if is_over(&count, now) {
            count = fresh();
            self.counts.insert(pair.hash, count.clone());
        }
        if count.failures.fetch_add(1, Ordering::Relaxed) < self.limit { Ok(()) } else { refuse(&count, now) }
    }

    /// How many attempts were refused.
    pub fn refused(&self) -> u64 {
        self.refused.get()
    }

    /// Counts a refusal.
    fn noted(&self, outcome: Result<()>) -> Result<()> {
        outcome.inspect_err(|_| self.refused.one())
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
            failures.count_here(here, now).unwrap();
        }
        let now = start.plus(Duration::from_secs(30));
        failures.check(here, now).unwrap();
        let Err(Error::TooMany { retry_after }) = failures.count_here(here, now) else { panic!() };
        assert_eq!(retry_after.as_secs(), 30);
        assert!(failures.check(here, now).is_err());
        assert!(failures.check(there, now).is_ok());
        let later = start.plus(WINDOW);
        assert!(failures.check(here, later).is_ok());
        assert!(failures.count_here(here, later).is_ok());
        assert!(failures.check(here, later).is_ok());
    }

    #[test]
    fn what_all_processes_refuse_is_refused_here_until_their_minute_is_over() {
        let failures = Failures::new(20);
        let pair = failures.pair([192, 0, 2, 1].into(), CredentialKey::Key("KEY"));
        let start = Ts::from_secs(1000);
        let since = |count| failures::Since { count, first_at: start };
        let now = start.plus(Duration::from_secs(40));
        assert!(failures.learn(pair, since(20), now).is_ok());
        assert!(failures.check(pair, now).is_ok());
        let Err(Error::TooMany { retry_after }) = failures.learn(pair, since(21), now) else { panic!() };
        assert_eq!(retry_after.as_secs(), 20);
        assert!(failures.check(pair, now).is_err());
        assert!(failures.check(pair, start.plus(WINDOW)).is_ok());
    }
}
