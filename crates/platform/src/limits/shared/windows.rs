//! Sliding windows that all processes share: the times of all events that count, in a row for each key.

use super::{WAIT, key, purge_at, warn};
use crate::Platform;
use bailiwick_domain::{Error, Result, Ts};
use bailiwick_store::{
    Db, StoreError,
    shared_limits::{self, Events, SKEW},
};
use std::{collections::BTreeMap, time::Duration};
use uuid::Uuid;

/// The most turns of one transaction.
pub(super) const GROUP: usize = 64;
/// Most attempts of a transaction that collides with another one.
const ATTEMPTS: usize = 3;

/// A count of events, and how many it allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// [`super::key`] of what is limited.
    pub key: Uuid,
    /// The most events within the window; zero counts as one.
    pub allowed: u32,
    pub window: Duration,
}

/// A try that counts in several windows.
#[derive(Clone, Debug)]
pub struct Guess {
    /// Counters whose fullness the caller may learn: a full one refuses the try, and nothing is counted.
    pub reported: Vec<Counter>,
    /// Counters whose fullness nobody learns: with a full one the try is hopeless, and counts only in those above.
    pub hidden: Vec<Counter>,
    /// When.
    pub at: Ts,
}

/// A try that was counted, to be [taken back](Counted::take_back) if it should not count.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Counted {
    keys: Vec<Uuid>,
    at: Ts,
    /// Whether a hidden counter is full.
    pub is_rejected: bool,
}

impl Guess {
    /// Counts the try over all processes. If they cannot count together, it counts as one that no other process knows
    /// of.
    ///
    /// # Errors
    /// The time until a counter that the caller may learn of has room again.
    pub async fn count(self, platform: &Platform) -> Result<Counted, Duration> {
        // Also where it is unknown whether it was counted: taking back what was not is harmless.
        let keys = self.reported.iter().chain(&self.hidden).map(|counter| counter.key).collect();
        let unknown = Counted { keys, at: self.at, is_rejected: false };
        match platform.shared_limits().windows.submit_within(WAIT, Turn::Count(self)).await {
            Ok(Outcome::Refused(wait)) => Err(wait),
            Ok(Outcome::Counted(counted)) => Ok(counted),
            Ok(Outcome::TakenBack) => Ok(unknown),
            Err(lost) => {
                warn("guesses", &lost.0);
                Ok(unknown)
            }
        }
    }
}

impl Counted {
    /// The try does not count after all. Nobody waits for it; the process does not end before it is done.
    pub fn take_back(self, platform: &Platform) {
        let (db, turn) = (platform.db.clone(), Turn::TakeBack(self));
        // Before everything that this process counts later.
        let queued = platform.shared_limits().windows.begin(turn.clone());
        platform.tasks.spawn(async move {
            let done = async { queued?.await };
            // A queue that accepts nothing any more, in a process that ends, does not lose it.
            if done.await.is_err()
                && let Err(error) = count(db, vec![turn]).await
            {
                tracing::warn!(%error, "cannot undo a counted attempt");
            }
        });
    }
}

/// A limit on events of a key within a time, over all processes. It is used outside of transactions: what it has
/// counted stays, whatever becomes of the transaction of the use case.
///
/// ```ignore
/// const WRONG_CODES: Window = Window { purpose: "wrong codes", allowed: 10, length: QUARTER };
/// let taken = WRONG_CODES.take(platform, user.as_bytes()).await?; // counted before the code is looked at
/// if is_right(code) { taken.give_back(platform) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// What is limited; no other limit has the same purpose.
    pub purpose: &'static str,
    /// The most events within `length`; zero counts as one.
    pub allowed: u32,
    /// At most an hour.
    pub length: Duration,
}

/// An event that a [`Window`] has counted.
#[derive(Clone, Debug)]
#[must_use]
pub struct Taken(Counted);

impl Window {
    /// Counts an event of the key.
    ///
    /// # Errors
    /// 429 with the time until another one is allowed; this one is not counted then.
    pub async fn take(&self, platform: &Platform, subject: &[u8]) -> Result<Taken> {
        let (key, at) = (key(&platform.keys, self.purpose, subject), platform.now());
        let refused = |retry_after| Error::TooMany { retry_after };
        let own = &platform.shared_limits().own;
        own.take(key, &[(self.allowed as usize, self.length)], at).map_err(refused)?;
        let counter = Counter { key, allowed: self.allowed, window: self.length };
        let counted = Guess { reported: vec![counter], hidden: Vec::new(), at }.count(platform).await;
        counted.map(Taken).map_err(|wait| {
            own.lock().forget(&key, at);
            refused(wait)
        })
    }
}

impl Taken {
    /// The event does not count after all, for example because the code was right.
    pub fn give_back(self, platform: &Platform) {
        let Taken(counted) = self;
        let own = &platform.shared_limits().own;
        counted.keys.iter().for_each(|key| own.lock().forget(key, counted.at));
        counted.take_back(platform);
    }
}

/// A step of the queue.
#[derive(Clone, Debug)]
pub(super) enum Turn {
    Count(Guess),
    TakeBack(Counted),
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Refused(Duration),
    Counted(Counted),
    TakenBack,
}

/// The times of each key while its row is held.
type Held = BTreeMap<Uuid, State>;

struct State {
    events: Events,
    is_changed: bool,
}

/// Takes the turns in their order, in one transaction that holds the rows of all their keys.
pub(super) async fn count(db: Db, turns: Vec<Turn>) -> Result<Vec<Outcome>, StoreError> {
    let mut left = ATTEMPTS;
    loop {
        left -= 1;
        match count_once(&db, &turns).await {
            Err(e) if left > 0 && e.is_collision() => {}
            done => return done,
        }
    }
}

async fn count_once(db: &Db, turns: &[Turn]) -> Result<Vec<Outcome>, StoreError> {
    let mut keys: Vec<Uuid> = turns.iter().flat_map(keys_of).collect();
    keys.sort_unstable();
    keys.dedup();
    let at = turns.iter().map(time_of).max().unwrap_or(Ts::EPOCH);
    let mut tx = db.begin_relaxed().await?;
    let states = shared_limits::hold(&mut tx, &keys, purge_at(at)).await?;
    let mut states: Held =
        states.into_iter().map(|events| (events.key, State { events, is_changed: false })).collect();
    let outcomes = turns.iter().map(|turn| apply(&mut states, turn)).collect();
    let changed: Vec<Events> =
        states.into_values().filter(|state| state.is_changed).map(|state| state.events).collect();
    if !changed.is_empty() {
        shared_limits::save(&mut tx, &changed).await?;
        tx.commit().await?;
    }
    Ok(outcomes)
}

fn keys_of(turn: &Turn) -> Vec<Uuid> {
    match turn {
        Turn::Count(guess) => guess.reported.iter().chain(&guess.hidden).map(|counter| counter.key).collect(),
        Turn::TakeBack(counted) => counted.keys.clone(),
    }
}

const fn time_of(turn: &Turn) -> Ts {
    match turn {
        Turn::Count(guess) => guess.at,
        Turn::TakeBack(counted) => counted.at,
    }
}

fn apply(states: &mut Held, turn: &Turn) -> Outcome {
    match turn {
        Turn::Count(Guess { reported, hidden, at }) => {
            if let Some(wait) = longest_wait(states, reported, *at) {
                return Outcome::Refused(wait);
            }
            let is_rejected = longest_wait(states, hidden, *at).is_some();
            let counting = reported.iter().chain(hidden.iter().filter(|_| !is_rejected));
            let keys = counting.clone().map(|counter| counter.key).collect();
            counting.for_each(|counter| add(states, counter, *at));
            Outcome::Counted(Counted { keys, at: *at, is_rejected })
        }
        Turn::TakeBack(Counted { keys, at, .. }) => {
            keys.iter().for_each(|key| remove(states, *key, *at));
            Outcome::TakenBack
        }
    }
}

/// How long until every counter has room for another event; none when all have room now.
fn longest_wait(states: &mut Held, counters: &[Counter], now: Ts) -> Option<Duration> {
    let wait = |counter: &Counter| {
        let times = &mut states.get_mut(&counter.key)?.events.times;
        times.retain(|at| is_recent(*at, now, counter.window));
        let blocking = times.get(times.len().checked_sub(counter.allowed.max(1) as usize)?)?;
        Some(blocking.plus(counter.window).since(now)).filter(|wait| !wait.is_zero())
    };
    counters.iter().filter_map(wait).max()
}

/// Whether an event still counts. The clock of another process may be ahead; an event of a clock that was set back does
/// not count.
fn is_recent(at: Ts, now: Ts, window: Duration) -> bool {
    at <= now.plus(SKEW) && at.plus(window) > now
}

fn add(states: &mut Held, counter: &Counter, at: Ts) {
    let Some(State { events, is_changed }) = states.get_mut(&counter.key) else { return };
    let index = events.times.partition_point(|before| *before <= at);
    events.times.insert(index, at);
    events.purge_at = events.purge_at.max(purge_at(at.plus(counter.window)));
    *is_changed = true;
}

fn remove(states: &mut Held, key: Uuid, at: Ts) {
    let Some(State { events, is_changed }) = states.get_mut(&key) else { return };
    if let Some(index) = events.times.iter().position(|time| *time == at) {
        events.times.remove(index);
        *is_changed = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Ts = Ts::from_secs(1_000_000);
    const QUARTER: Duration = Duration::from_secs(900);

    fn counter(n: u128, allowed: u32) -> Counter {
        Counter { key: Uuid::from_u128(n), allowed, window: QUARTER }
    }

    fn new_states(counters: &[Counter]) -> Held {
        let state = |counter: &Counter| {
            let events = Events { key: counter.key, times: Vec::new(), purge_at: NOW };
            (counter.key, State { events, is_changed: false })
        };
        counters.iter().map(state).collect()
    }

    fn count(states: &mut Held, reported: &[Counter], hidden: &[Counter], at: Ts) -> Outcome {
        apply(states, &Turn::Count(Guess { reported: reported.to_vec(), hidden: hidden.to_vec(), at }))
    }

    fn secs(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn beyond_the_limit_nothing_counts_and_the_wait_is_returned() {
        let (pair, address) = (counter(1, 3), counter(2, 5));
        let mut states = new_states(&[pair, address]);
        for second in 0..3 {
            let counted = count(&mut states, &[pair, address], &[], NOW.plus(secs(second)));
            assert!(matches!(counted, Outcome::Counted(Counted { is_rejected: false, .. })));
        }
        for _ in 0..9 {
            let refused = count(&mut states, &[pair, address], &[], NOW.plus(secs(10)));
            assert_eq!(refused, Outcome::Refused(secs(890)));
        }
        assert_eq!(states[&address.key].events.times.len(), 3, "what is refused counts nowhere");
        let counted = count(&mut states, &[pair, address], &[], NOW.plus(QUARTER));
        assert!(matches!(counted, Outcome::Counted(_)));
        assert!(states[&pair.key].events.purge_at > NOW.plus(QUARTER).plus(QUARTER));
    }

    #[test]
    fn a_full_hidden_counter_rejects_attempts_silently() {
        let (name, account) = (counter(1, 3), counter(2, 1));
        let mut states = new_states(&[name, account]);
        let mut tried = || match count(&mut states, &[name], &[account], NOW) {
            Outcome::Counted(counted) => (counted.is_rejected, counted.keys.len()),
            other => panic!("{other:?}"),
        };
        assert_eq!([tried(), tried(), tried()], [(false, 2), (true, 1), (true, 1)]);
        assert!(matches!(count(&mut states, &[name], &[account], NOW), Outcome::Refused(_)));
        assert_eq!(states[&account.key].events.times.len(), 1);
    }

    #[test]
    fn events_that_are_taken_back_do_not_count() {
        let pair = counter(1, 2);
        let mut states = new_states(&[pair]);
        for second in 0..50 {
            let Outcome::Counted(counted) = count(&mut states, &[pair], &[], NOW.plus(secs(second))) else {
                panic!("refused")
            };
            assert_eq!(apply(&mut states, &Turn::TakeBack(counted.clone())), Outcome::TakenBack);
            // Twice, or without having been counted, does no harm.
            assert_eq!(apply(&mut states, &Turn::TakeBack(counted)), Outcome::TakenBack);
        }
        assert!(states[&pair.key].events.times.is_empty());
    }

    #[test]
    fn the_events_of_a_clock_that_is_ahead_count_those_of_one_set_back_do_not() {
        let pair = counter(1, 1);
        let mut ahead = new_states(&[pair]);
        assert!(matches!(count(&mut ahead, &[pair], &[], NOW.plus(secs(30))), Outcome::Counted(_)));
        assert_eq!(count(&mut ahead, &[pair], &[], NOW), Outcome::Refused(secs(930)));
        assert!(matches!(count(&mut ahead, &[pair], &[], NOW.minus(secs(3600))), Outcome::Counted(_)));
    }

    #[test]
    fn events_are_kept_in_order_whatever_clock_they_come_from() {
        let pair = counter(1, 9);
        let mut states = new_states(&[pair]);
        for second in [5, 3, 9, 4] {
            let counted = count(&mut states, &[pair], &[], NOW.plus(secs(second)));
            assert!(matches!(counted, Outcome::Counted(_)));
        }
        assert!(states[&pair.key].events.times.is_sorted());
    }
}
