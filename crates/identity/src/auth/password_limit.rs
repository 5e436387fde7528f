//! The limit on failed passwords: per account and address, per account, per address (spec: conventions#limits).
//! Successes do not count. The counters of this process come first; a guess that they let pass is counted over all
//! processes while its password is checked ([`Attempt::shared`]), so several processes allow no more than one.
//!
//! Where the caller typed a name, a refusal mentions only the limits on that name and on the address. The limit on the
//! account applies without a word, so strangers cannot learn whether two names belong to one account, or whether there
//! is an account.

use bailiwick_domain::{Error, Result, Ts, UserId, metrics};
use bailiwick_platform::{
    Platform,
    keys::token_digest,
    limits::{
        SlidingWindow, Times, client_network,
        shared::{self, Guess, address_bytes},
    },
};
use bailiwick_settings::Limits;
use std::{net::IpAddr, time::Duration};

/// The account whose password is guessed.
#[derive(Clone, Copy, Debug)]
pub enum GuessTarget<'a> {
    /// The password of a user the caller has proved to know: in a session, or by a mailed link.
    User(UserId),
    /// The password of a name the caller typed, and of the user with that name, if there is one.
    Name(&'a str, Option<UserId>),
}

/// The key of an account: a digest, because the typed name may be long.
type Account = Vec<u8>;

fn account_of(user: UserId) -> Account {
    token_digest(&format!("user {user}"))
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Counter {
    Pair(Account, IpAddr),
    Account(Account),
    Address(IpAddr),
}

impl Counter {
    fn allowed(&self, limits: &Limits) -> usize {
        let allowed = match self {
            Counter::Pair(..) => limits.password_failures,
            Counter::Account(_) => limits.password_failures_per_account,
            Counter::Address(_) => limits.password_failures_per_address,
        };
        allowed as usize
    }

    /// This counter over all processes.
    fn shared(&self, platform: &Platform, limits: &Limits) -> shared::Counter {
        let text = match self {
            Counter::Pair(account, address) => [b"pair", &account[..], &address_bytes(*address)].concat(),
            Counter::Account(account) => [b"account", &account[..]].concat(),
            Counter::Address(address) => [b"address", &address_bytes(*address)[..]].concat(),
        };
        shared::Counter {
            key: shared::key(&platform.keys, "failed passwords", &text),
            allowed: u32::try_from(self.allowed(limits)).unwrap_or(u32::MAX),
            window: limits.password_window,
        }
    }
}

/// Recent failures.
pub struct Failures {
    recent: SlidingWindow<Counter>,
    /// Counters that were full at other processes just now.
    full: SlidingWindow<Counter>,
    refused: metrics::Counter,
}

/// How long a counter that was full over all processes is asked before a password is hashed.
const SUSPECTED: Duration = Duration::from_secs(60);

/// An attempt that counts as failed until it is [forgotten](Failures::forget), so that attempts made at the same
/// moment cannot all pass the limit.
#[must_use]
pub struct Attempt {
    reported: Vec<Counter>,
    /// Empty when the account has failed too often.
    hidden: Vec<Counter>,
    at: Ts,
    is_rejected: bool,
}

impl Attempt {
    /// Whether the account has already failed too often. The caller does not learn this: the password counts as wrong,
    /// after the time that a check takes.
    pub fn is_rejected(&self) -> bool {
        self.is_rejected
    }

    /// This attempt over all processes.
    pub fn shared(&self, platform: &Platform, limits: &Limits) -> Guess {
        let shared = |counters: &[Counter]| counters.iter().map(|c| c.shared(platform, limits)).collect();
        Guess { reported: shared(&self.reported), hidden: shared(&self.hidden), at: self.at }
    }
}

impl Failures {
    /// Failures add up within this time.
    pub fn new(window: Duration) -> Failures {
        let (recent, full) = (SlidingWindow::new(window), SlidingWindow::new(SUSPECTED));
        Failures { recent, full, refused: metrics::Counter::default() }
    }

    /// Opens an attempt.
    ///
    /// # Errors
    /// 429 when a counter is full that the caller may learn about.
    pub fn attempt(
        &self,
        limits: &Limits,
        now: Ts,
        guessed: GuessTarget<'_>,
        address: IpAddr,
    ) -> Result<Attempt> {
        let address = client_network(address);
        let counters =
            |account: Account| [Counter::Pair(account.clone(), address), Counter::Account(account)];
        let (reported, hidden) = match guessed {
            GuessTarget::User(user) => (counters(account_of(user)), None),
            GuessTarget::Name(name, user) => {
                (counters(token_digest(&format!("name {name}"))), user.map(|user| counters(account_of(user))))
            }
        };
        let reported = [&reported[..], &[Counter::Address(address)]].concat();
        let hidden = hidden.map_or_else(Vec::new, Vec::from);
        let mut recent = self.recent.lock();
        if let Some(retry_after) = wait(&mut recent, &reported, limits, now) {
            self.refused.one();
            return Err(Error::TooMany { retry_after });
        }
        let is_rejected = wait(&mut recent, &hidden, limits, now).is_some();
        if is_rejected {
            self.refused.one();
        }
        let hidden = if is_rejected { Vec::new() } else { hidden };
        for counter in reported.iter().chain(&hidden) {
            recent.add(counter.clone(), now);
        }
        Ok(Attempt { reported, hidden, at: now, is_rejected })
    }

    /// How many attempts were refused.
    pub fn refused(&self) -> u64 {
        self.refused.get()
    }

    /// The attempt succeeded: it does not count.
    pub fn forget(&self, attempt: &Attempt) {
        let mut recent = self.recent.lock();
        for counter in attempt.reported.iter().chain(&attempt.hidden) {
            recent.forget(counter, attempt.at);
        }
    }

    /// The processes together have had too many failures, of which the caller may learn: the attempt does not count.
    pub fn refuse(&self, attempt: &Attempt) {
        self.forget(attempt);
        self.refused.one();
        let mut full = self.full.lock();
        attempt.reported.iter().for_each(|counter| full.add(counter.clone(), attempt.at));
    }

    /// The account has failed too often at the processes together.
    pub fn reject_account(&self, attempt: &mut Attempt) {
        attempt.is_rejected = true;
        self.refused.one();
        let mut recent = self.recent.lock();
        attempt.hidden.drain(..).for_each(|counter| recent.forget(&counter, attempt.at));
    }

    /// Whether a counter of the attempt was full at other processes just now, so that it is probably refused again.
    pub fn is_suspected(&self, attempt: &Attempt) -> bool {
        let mut full = self.full.lock();
        attempt.reported.iter().any(|counter| full.wait(counter, (1, SUSPECTED), attempt.at).is_some())
    }
}

/// How long until every counter has room for another failure; none when all have room now.
fn wait(recent: &mut Times<Counter>, counters: &[Counter], limits: &Limits, now: Ts) -> Option<Duration> {
    let wait =
        |counter: &Counter| recent.wait(counter, (counter.allowed(limits), limits.password_window), now);
    counters.iter().filter_map(wait).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Ts = Ts::from_secs(1_000_000);

    fn limits() -> Limits {
        bailiwick_settings::Settings::defaults("http://127.0.0.1:8080", vec![0; 32]).limits
    }

    fn ip(n: u8) -> IpAddr {
        [192, 0, 2, n].into()
    }

    /// Failures until the first refusal, at most 1000.
    fn failures(all: &Failures, now: Ts, mut who: impl FnMut(usize) -> (String, IpAddr)) -> usize {
        (0..1000)
            .take_while(|n| {
                let (account, address) = who(*n);
                all.attempt(&limits(), now, GuessTarget::Name(&account, None), address).is_ok()
            })
            .count()
    }

    // Proves spec: guarantees#identity 17.
    #[test]
    fn counts_by_pair_by_account_and_by_address() {
        let all = Failures::new(limits().password_window);
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
    fn a_failure_expires_and_the_wait_is_returned() {
        let all = Failures::new(limits().password_window);
        let later = NOW.plus(Duration::from_secs(60));
        assert_eq!(failures(&all, NOW, |_| ("a".into(), ip(1))), 10);
        let refusal = all.attempt(&limits(), later, GuessTarget::Name("a", None), ip(1));
        let expected = limits().password_window - Duration::from_secs(60);
        assert!(matches!(refusal, Err(Error::TooMany { retry_after }) if retry_after == expected));
        assert_eq!(failures(&all, NOW.plus(limits().password_window), |_| ("a".into(), ip(1))), 10);
    }

    #[test]
    fn the_names_of_one_user_share_a_hidden_limit() {
        let all = Failures::new(limits().password_window);
        let user = "0195fada-0000-7000-8000-000000000001".parse().unwrap();
        let tries = |name| {
            let one = |_| all.attempt(&limits(), NOW, GuessTarget::Name(name, Some(user)), ip(1));
            (0..10).map(one).map(|attempt| attempt.unwrap().is_rejected()).collect::<Vec<_>>()
        };
        assert_eq!(tries("a"), [false; 10]);
        assert_eq!(tries("b"), [true; 10], "each name is refused after as many tries as one of nobody");
        for name in ["a", "b"] {
            assert!(all.attempt(&limits(), NOW, GuessTarget::Name(name, Some(user)), ip(1)).is_err());
        }
        assert!(all.attempt(&limits(), NOW, GuessTarget::User(user), ip(1)).is_err());
        let text = user.to_string();
        assert!(
            all.attempt(&limits(), NOW, GuessTarget::Name(&text, None), ip(1)).is_ok(),
            "an id is no name"
        );
    }

    #[test]
    fn what_all_processes_refuse_does_not_count_here() {
        let all = Failures::new(limits().password_window);
        let user = "0195fada-0000-7000-8000-000000000001".parse().unwrap();
        let attempt = |name| all.attempt(&limits(), NOW, GuessTarget::Name(name, Some(user)), ip(1)).unwrap();
        for _ in 0..50 {
            let refused = attempt("a");
            all.refuse(&refused);
            assert!(all.is_suspected(&refused));
        }
        for _ in 0..9 {
            all.reject_account(&mut attempt("a"));
        }
        assert!(!attempt("a").is_rejected(), "tries that were hopeless do not count for the account");
        assert!(all.attempt(&limits(), NOW, GuessTarget::Name("a", None), ip(1)).is_err());
        assert!(!attempt("b").is_rejected());
    }

    #[test]
    fn a_success_does_not_count() {
        let all = Failures::new(limits().password_window);
        for _ in 0..50 {
            let attempt = all.attempt(&limits(), NOW, GuessTarget::Name("a", None), ip(1)).unwrap();
            all.forget(&attempt);
        }
        assert_eq!(failures(&all, NOW, |_| ("a".into(), ip(1))), 10);
    }
}
