//! Limits how many events of a key fall into any window of a length, counted exactly.

use super::sweep;
use bailiwick_domain::Ts;
use std::{
    collections::{HashMap, VecDeque},
    hash::Hash,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// The most events of a key within a time, which is at most the length of the window; zero counts as one.
pub type Allowed = (usize, Duration);

/// The events of the latest window, for each key.
#[derive(Debug)]
pub struct SlidingWindow<K>(Mutex<Times<K>>);

/// The times of the events, locked.
#[derive(Debug)]
pub struct Times<K> {
    length: Duration,
    by_key: HashMap<K, VecDeque<Ts>>,
    grown_to: usize,
}

impl<K: Eq + Hash> SlidingWindow<K> {
    /// A window of this length.
    pub fn new(length: Duration) -> SlidingWindow<K> {
        SlidingWindow(Mutex::new(Times { length, by_key: HashMap::new(), grown_to: 0 }))
    }

    /// Counts an event.
    ///
    /// # Errors
    /// The time until one fits everywhere; the event is not counted then.
    pub fn take(&self, key: K, allowed: &[Allowed], now: Ts) -> Result<(), Duration> {
        let mut times = self.lock();
        match allowed.iter().filter_map(|allowed| times.wait(&key, *allowed, now)).max() {
            Some(wait) => Err(wait),
            None => {
                times.add(key, now);
                Ok(())
            }
        }
    }

    /// Locks the window for several steps.
    pub fn lock(&self) -> MutexGuard<'_, Times<K>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Eq + Hash> Times<K> {
    /// How long until another event of the key fits; none = now.
    pub fn wait(&mut self, key: &K, (most, within): Allowed, now: Ts) -> Option<Duration> {
        let times = self.by_key.get_mut(key)?;
        times.retain(|at| is_recent(*at, now, self.length));
        // The event that must expire before another one fits.
        let blocking = times.get(times.len().checked_sub(most.max(1))?)?;
        Some(blocking.plus(within).since(now)).filter(|wait| !wait.is_zero())
    }

    /// Counts an event of the key.
    pub fn add(&mut self, key: K, now: Ts) {
        let length = self.length;
        sweep(&mut self.by_key, &mut self.grown_to, |times| {
            times.back().is_some_and(|at| is_recent(*at, now, length))
        });
        self.by_key.entry(key).or_default().push_back(now);
    }

    /// Takes back an event of the key.
    pub fn forget(&mut self, key: &K, at: Ts) {
        let Some(times) = self.by_key.get_mut(key) else { return };
        if let Some(index) = times.iter().position(|time| *time == at) {
            times.remove(index);
        }
        if times.is_empty() {
            self.by_key.remove(key);
        }
    }
}

/// Whether an event still counts. An event in the future (the clock was set back) does not.
fn is_recent(at: Ts, now: Ts, length: Duration) -> bool {
    at <= now && at.plus(length) > now
}

#[cfg(test)]
mod tests {
    use super::{super::MANY, *};

    const MINUTE: Duration = Duration::from_secs(60);
    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn an_event_fits_when_it_fits_into_every_window() {
        let window = SlidingWindow::new(HOUR);
        let take = |second: u64| {
            window.take("a", &[(6, MINUTE), (60, HOUR)], Ts::from_secs(0).plus(Duration::from_secs(second)))
        };
        let wait = |seconds| Err(Duration::from_secs(seconds));
        assert!((0..6).all(|second| take(second).is_ok()));
        assert_eq!((take(10), take(60), take(60)), (wait(50), Ok(()), wait(1)));
        assert!((7..60).all(|minute| take(60 * minute).is_ok()));
        assert_eq!((take(3599), take(3600)), (wait(1), Ok(())));
        assert_eq!(window.take("b", &[(1, MINUTE)], Ts::from_secs(3600)), Ok(()), "another key");
    }

    #[test]
    fn a_forgotten_event_and_one_in_the_future_do_not_count() {
        let window = SlidingWindow::new(HOUR);
        let now = Ts::from_secs(10_000);
        window.take("a", &[(1, HOUR)], now).unwrap();
        window.lock().forget(&"a", now);
        window.take("a", &[(1, HOUR)], now).unwrap();
        assert_eq!(window.take("a", &[(1, HOUR)], Ts::from_secs(9_000)), Ok(()), "the clock was set back");
    }

    #[test]
    fn keys_without_recent_events_are_removed() {
        let window = SlidingWindow::new(MINUTE);
        for n in 0..10 * MANY {
            let now = Ts::from_secs(i64::try_from(n).unwrap());
            window.take(n, &[(1, MINUTE)], now).unwrap();
        }
        assert!(window.lock().by_key.len() <= 2 * MANY);
    }
}
