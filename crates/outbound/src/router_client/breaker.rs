//! A circuit breaker for a failing router: 10 faults in a row refuse requests for 10 s, then one probe decides (spec:
//! alert-router#remote-rules).

use bailiwick_domain::{Clock, Ts};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// Faults in a row that open the breaker.
const FAULTS: u32 = 10;
/// How long it stays open.
const OPEN: Duration = Duration::from_secs(10);

/// The state of the router, shared by all connections to it.
pub(super) struct Breaker {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Works, or has failed fewer than [`FAULTS`] times in a row.
    Closed { faults: u32 },
    /// Not asked since then.
    Open { since: Ts },
    /// One request finds out.
    Probing,
}

/// Permission to send one request; dropping it without a result (the client has disconnected) changes nothing.
pub(super) struct Pass<'a> {
    breaker: &'a Breaker,
    is_probe: bool,
}

impl Breaker {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Breaker {
        Breaker { clock, state: Mutex::new(State::Closed { faults: 0 }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `closed`, `open` or `probing`.
    pub(super) fn name(&self) -> &'static str {
        match *self.state() {
            State::Closed { .. } => "closed",
            State::Open { .. } => "open",
            State::Probing => "probing",
        }
    }

    /// Permission to send a request; `None` while the breaker is open.
    pub(super) fn admit(&self) -> Option<Pass<'_>> {
        let mut state = self.state();
        let is_probe = match *state {
            State::Closed { .. } => false,
            State::Probing => return None,
            State::Open { since } => {
                let now = self.clock.now();
                // A clock that was set back must not keep it open.
                if now >= since && now.since(since) < OPEN {
                    return None;
                }
                *state = State::Probing;
                true
            }
        };
        drop(state);
        Some(Pass { breaker: self, is_probe })
    }
}

impl Pass<'_> {
    /// The router has answered like one that works.
    pub(super) fn succeeded(mut self) {
        self.is_probe = false;
        *self.breaker.state() = State::Closed { faults: 0 };
    }

    /// The router has failed.
    pub(super) fn failed(mut self) {
        self.is_probe = false;
        let mut state = self.breaker.state();
        *state = match *state {
            State::Closed { faults } if faults + 1 < FAULTS => State::Closed { faults: faults + 1 },
            // A request sent before the breaker opened does not prolong it.
            State::Open { since } => State::Open { since },
            _ => State::Open { since: self.breaker.clock.now() },
        };
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        if self.is_probe {
            // The next request probes.
            *self.breaker.state() = State::Open { since: self.breaker.clock.now().minus(OPEN) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicI64, Ordering};

    struct ByHand(AtomicI64);
    impl Clock for ByHand {
        fn now(&self) -> Ts {
            Ts(self.0.load(Ordering::SeqCst))
        }
    }

    fn breaker() -> (Arc<ByHand>, Breaker) {
        let clock = Arc::new(ByHand(AtomicI64::new(1_000_000_000)));
        (clock.clone(), Breaker::new(clock))
    }

    fn fail(breaker: &Breaker, times: u32) {
        for _ in 0..times {
            breaker.admit().unwrap().failed();
        }
    }

    #[test]
    fn opens_after_ten_faults_in_a_row() {
        let (_, b) = breaker();
        fail(&b, 9);
        b.admit().unwrap().succeeded();
        fail(&b, 10);
        assert!(b.admit().is_none());
    }

    #[test]
    fn one_probe_decides() {
        let (clock, b) = breaker();
        fail(&b, 10);
        clock.0.fetch_add(9_999_999, Ordering::SeqCst);
        assert!(b.admit().is_none());
        clock.0.fetch_add(1, Ordering::SeqCst);
        let probe = b.admit().unwrap();
        assert!(b.admit().is_none());
        probe.failed();
        assert!(b.admit().is_none());
        clock.0.fetch_add(10_000_000, Ordering::SeqCst);
        b.admit().unwrap().succeeded();
        fail(&b, 9);
        assert!(b.admit().is_some());
    }

    #[test]
    fn a_probe_given_up_lets_the_next_one_probe() {
        let (clock, b) = breaker();
        fail(&b, 10);
        clock.0.fetch_add(10_000_000, Ordering::SeqCst);
        drop(b.admit().unwrap());
        assert!(b.admit().is_some());
    }

    #[test]
    fn a_clock_set_back_does_not_keep_it_open() {
        let (clock, b) = breaker();
        fail(&b, 10);
        clock.0.store(0, Ordering::SeqCst);
        assert!(b.admit().is_some());
    }
}
