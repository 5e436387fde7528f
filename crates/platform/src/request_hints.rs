//! Logs signs of a wrong configuration that requests show once for each process, and refusals at long intervals, so
//! that whoever sends many such requests cannot fill the log.

use bailiwick_domain::Ts;
use std::{
    sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed},
    time::Duration,
};

/// Something to log once.
#[derive(Debug, Default)]
pub struct LogOnce(AtomicBool);

impl LogOnce {
    /// Whether it was logged. To be called before a request is examined.
    pub fn is_logged(&self) -> bool {
        self.0.load(Relaxed)
    }

    /// Whether the caller is to log it now: the first one.
    pub fn should_log(&self) -> bool {
        !self.0.swap(true, Relaxed)
    }
}

/// Time between two lines about refusals.
const SELDOM: Duration = Duration::from_secs(10);

/// Something to log once in ten seconds, with the number of times since the last line.
#[derive(Debug, Default)]
pub struct LogThrottle {
    /// Microseconds since the epoch.
    next: AtomicI64,
    times: AtomicU64,
}

impl LogThrottle {
    /// Counts one more; the number to log, if it is time.
    pub fn count(&self, now: Ts) -> Option<u64> {
        self.times.fetch_add(1, Relaxed);
        let next = self.next.load(Relaxed);
        // A clock that was set back.
        let is_far = next > now.plus(SELDOM).0;
        let is_due = now.0 >= next || is_far;
        let is_first =
            is_due && self.next.compare_exchange(next, now.plus(SELDOM).0, Relaxed, Relaxed).is_ok();
        is_first.then(|| self.times.swap(0, Relaxed))
    }
}

/// The hints of a process.
#[derive(Debug, Default)]
pub struct RequestHints {
    /// `X-Forwarded-For` from an address that is no trusted proxy.
    pub forwarded: LogOnce,
    /// People come by another address than the public one.
    pub address: LogOnce,
    /// Answers 429.
    pub refused: LogThrottle,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_events_are_logged_at_intervals_with_their_number() {
        let seldom = LogThrottle::default();
        let at = |seconds: i64| Ts::from_secs(1_800_000_000 + seconds);
        assert_eq!(seldom.count(at(0)), Some(1));
        assert_eq!((seldom.count(at(1)), seldom.count(at(9))), (None, None));
        assert_eq!(seldom.count(at(10)), Some(3));
        assert_eq!(seldom.count(at(-3600)), Some(1), "the clock was set back");
        let once = LogOnce::default();
        assert!(!once.is_logged() && once.should_log() && once.is_logged() && !once.should_log());
    }
}
