//! The limit on failed passwords: per account and address, per account, per address (contract 01 §1.8). Successes do
//! not count. It lives in the process: with several replicas each allows the number on its own.

use super::{keys::token_digest, limits::bucket_of};
use crate::settings::Limits;
use bailiwick_domain::{Error, Result, Ts, meter};
use std::{
    collections::{HashMap, VecDeque},
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// Counters kept before those whose failures are all over are dropped.
const MANY_COUNTERS: usize = 30_000;

/// Accounts are told apart by digest: what was typed may be long.
type Account = Vec<u8>;

#[derive(Clone, PartialEq, Eq, Hash)]
enum Counter {
    Pair(Account, IpAddr),
    Account(Account),
    Address(IpAddr),
}

/// Recent failures.
#[derive(Default)]
pub struct Failures {
    recent: Mutex<HashMap<Counter, VecDeque<Ts>>>,
    refused: meter::Counter,
}

/// An attempt that counts as failed until it is [forgiven](Failures::forgive), so that attempts made at the same
/// moment cannot all pass the limit.
#[must_use]
pub struct Attempt {
    counters: [Counter; 3],
    at: Ts,
}

impl Failures {
    /// Opens an attempt.
    ///
    /// # Errors
    /// 429 when one of the counters is full.
    pub fn attempt(&self, limits: &Limits, now: Ts, account: &str, address: IpAddr) -> Result<Attempt> {
        let account = token_digest(account);
        let address = bucket_of(address);
        let counters =
            [Counter::Pair(account.clone(), address), Counter::Account(account), Counter::Address(address)];
        let allowed = [
            limits.password_failures,
            limits.password_failures_per_account,
            limits.password_failures_per_address,
        ];
        let window = limits.password_window;
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.len() > MANY_COUNTERS {
            recent.retain(|_, times| times.back().is_some_and(|at| is_recent(*at, now, window)));
        }
        let mut wait = None;
        for (counter, allowed) in counters.iter().zip(allowed) {
            let times = recent.entry(counter.clone()).or_default();
            times.retain(|at| is_recent(*at, now, window));
            // The failure that has to grow old before another attempt fits.
            let blocking = times.len().checked_sub(allowed as usize).and_then(|index| times.get(index));
            wait = wait.max(blocking.map(|at| at.plus(window).since(now)));
        }
        if let Some(retry_after) = wait {
            self.refused.one();
            return Err(Error::TooMany { retry_after });
        }
        for counter in &counters {
            recent.entry(counter.clone()).or_default().push_back(now);
        }
        Ok(Attempt { counters, at: now })
    }

    /// How many attempts were refused.
    pub fn refused(&self) -> u64 {
        self.refused.get()
    }

    /// The attempt succeeded: it does not count.
    pub fn forgive(&self, attempt: &Attempt) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        for counter in &attempt.counters {
            let Some(times) = recent.get_mut(counter) else { continue };
            if let Some(index) = times.iter().position(|at| *at == attempt.at) {
                times.remove(index);
            }
            if times.is_empty() {
                recent.remove(counter);
            }
        }
    }
}

/// A failure from what now is the future (the clock was set back) is not held against anybody.
fn is_recent(at: Ts, now: Ts, window: Duration) -> bool {
    at <= now && at.plus(window) > now
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Ts = Ts::from_secs(1_000_000);

    fn limits() -> Limits {
        crate::Settings::defaults("http://127.0.0.1:8080", vec![0; 32]).limits
    }

    fn ip(n: u8) -> IpAddr {
        [192, 0, 2, n].into()
    }

    /// Failures until the first refusal, at most 1000.
    fn failures(all: &Failures, now: Ts, mut who: impl FnMut(usize) -> (String, IpAddr)) -> usize {
        (0..1000)
            .take_while(|n| {
                let (account, address) = who(*n);
                all.attempt(&limits(), now, &account, address).is_ok()
            })
            .count()
    }

    #[test]
    fn rule_01_17_counts_by_pair_by_account_and_by_address() {
        let all = Failures::default();
        assert_eq!(failures(&all, NOW, |_| ("a".into(), ip(1))), 10);
        assert_eq!(failures(&all, NOW, |_| ("a".into(), ip(2))), 10, "another address is another pair");
        let by_account = failures(&all, NOW, |n| ("a".into(), ip(3 + u8::try_from(n % 200).unwrap())));
        assert_eq!(by_account, 80, "100 for the account from wherever");
        assert_eq!(
            failures(&all, NOW, |n| (format!("user {n}"), ip(1))),
            90,
            "100 for the address at whatever account"
        );
        assert_eq!(failures(&all, NOW, |_| ("b".into(), ip(250))), 10);
        let of_one_host = |n: usize| ("c".into(), format!("2001:db8::{n:x}").parse().unwrap());
        assert_eq!(failures(&all, NOW, of_one_host), 10, "a host has as many IPv6 addresses as it likes");
    }

    #[test]
    fn a_failure_grows_old_and_the_answer_says_when() {
        let all = Failures::default();
        let later = NOW.plus(Duration::from_secs(60));
        assert_eq!(failures(&all, NOW, |_| ("a".into(), ip(1))), 10);
        let refusal = all.attempt(&limits(), later, "a", ip(1));
        let expected = limits().password_window - Duration::from_secs(60);
        assert!(matches!(refusal, Err(Error::TooMany { retry_after }) if retry_after == expected));
        assert_eq!(failures(&all, NOW.plus(limits().password_window), |_| ("a".into(), ip(1))), 10);
    }

    #[test]
    fn a_success_does_not_count() {
        let all = Failures::default();
        for _ in 0..50 {
            let attempt = all.attempt(&limits(), NOW, "a", ip(1)).unwrap();
            all.forgive(&attempt);
        }
        assert_eq!(failures(&all, NOW, |_| ("a".into(), ip(1))), 10);
    }
}
