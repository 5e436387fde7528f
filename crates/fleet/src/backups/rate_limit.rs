//! Limits how often a system may upload (spec: backups#operations): 6 times in a minute and 60 times in an hour,
//! counted exactly.

use bailiwick_domain::{Error, Result, SystemId, Ts, metrics::Counter};
use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, PoisonError},
    time::Duration,
};

const MINUTE: (usize, Duration) = (6, Duration::from_secs(60));
const HOUR: (usize, Duration) = (60, Duration::from_secs(3600));
/// Systems remembered before those without uploads in the last hour are dropped.
const MANY: usize = 10_000;

/// The uploads of the last hour; at most 60 times for each system.
#[derive(Debug, Default)]
pub(super) struct Rate {
    times: Mutex<HashMap<SystemId, VecDeque<Ts>>>,
    /// Uploads that were refused.
    pub refused: Counter,
}

impl Rate {
    /// Counts an upload.
    ///
    /// # Errors
    /// 429 with the time until the next one is allowed; it is not counted then.
    pub fn check(&self, system: SystemId, now: Ts) -> Result<()> {
        let mut all = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() > MANY {
            all.retain(|_, times| times.back().is_some_and(|last| now.since(*last) < HOUR.1));
        }
        let times = all.entry(system).or_default();
        while times.front().is_some_and(|first| now.since(*first) >= HOUR.1) {
            times.pop_front();
        }
        let wait = |(most, window): (usize, Duration)| {
            let earliest = times.len().checked_sub(most).and_then(|n| times.get(n))?;
            Some(window.saturating_sub(now.since(*earliest))).filter(|wait| !wait.is_zero())
        };
        match wait(MINUTE).max(wait(HOUR)) {
            Some(retry_after) => {
                self.refused.one();
                Err(Error::TooMany { retry_after })
            }
            None => {
                times.push_back(now);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(rate: &Rate, at: u64) -> Option<u64> {
        let at = Ts(0).plus(Duration::from_secs(at));
        match rate.check(SystemId(uuid::Uuid::nil()), at) {
            Err(Error::TooMany { retry_after }) => Some(retry_after.as_secs()),
            _ => None,
        }
    }

    #[test]
    fn six_in_a_minute_and_sixty_in_an_hour() {
        let rate = Rate::default();
        assert_eq!((0..6).filter_map(|n| waits(&rate, n)).count(), 0);
        assert_eq!(waits(&rate, 10), Some(50));
        assert_eq!(waits(&rate, 60), None);
        assert_eq!(waits(&rate, 60), Some(1));
        let more = (7..60).filter_map(|n| waits(&rate, 60 * n)).count();
        assert_eq!(more, 0);
        assert_eq!(waits(&rate, 3599), Some(1));
        assert_eq!(waits(&rate, 3600), None);
    }
}
