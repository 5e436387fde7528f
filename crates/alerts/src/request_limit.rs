//! The request limits of one system at the alert interface: requests per second and requests in flight (spec:
//! alerts#limits).

use super::Fault;
use bailiwick_domain::{Clock, SystemId, metrics::Counter};
use bailiwick_platform::limits::{InFlight, InFlightPermit, KeyedLimit};
use std::sync::Arc;

/// Limits of every system.
#[derive(Debug)]
pub struct RequestLimit {
    rate: KeyedLimit<SystemId>,
    /// Of requests that end a silence: a tool ends all silences of a system at once, with one request for each.
    silence_ends: KeyedLimit<SystemId>,
    in_flight: InFlight<SystemId>,
    /// The most of one system in flight.
    most: usize,
    crowded: Counter,
}

impl RequestLimit {
    /// `per_second` steady requests, `burst` at once and of those that end a silence `silence_ends`, `in_flight` in
    /// progress; zero counts as one.
    pub fn new(
        clock: Arc<dyn Clock>,
        per_second: u32,
        (burst, silence_ends): (u32, u32),
        in_flight: usize,
    ) -> RequestLimit {
        RequestLimit {
            rate: KeyedLimit::new(clock.clone(), per_second, burst),
            silence_ends: KeyedLimit::new(clock, per_second, silence_ends),
            in_flight: InFlight::default(),
            most: in_flight.max(1),
            crowded: Counter::default(),
        }
    }

    /// Counts a request of the system, which is in flight until the place is dropped.
    ///
    /// # Errors
    /// [`Fault::RateLimited`], or [`Fault::NotReady`] when too many are in progress.
    pub fn admit(&self, system: SystemId, ends_silence: bool) -> Result<InFlightPermit<SystemId>, Fault> {
        let rate = if ends_silence { &self.silence_ends } else { &self.rate };
        rate.check(&system).map_err(|_| Fault::RateLimited)?;
        self.in_flight.take(system, self.most).ok_or_else(|| {
            self.crowded.one();
            Fault::not_ready("too many requests of this system are in flight")
        })
    }

    /// Number of requests that came too fast.
    pub fn refused(&self) -> u64 {
        self.rate.refused() + self.silence_ends.refused()
    }

    /// Number of requests beyond those in flight.
    pub fn crowded(&self) -> u64 {
        self.crowded.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_domain::Ts;

    struct Still;
    impl Clock for Still {
        fn now(&self) -> Ts {
            Ts::from_secs(1000)
        }
    }

    fn system(n: u8) -> SystemId {
        SystemId(uuid::Uuid::from_bytes([n; 16]))
    }

    #[test]
    fn requests_of_a_system_are_limited_by_rate_and_in_flight() {
        let limit = RequestLimit::new(Arc::new(Still), 10, (4, 2), 2);
        let (a, _b) = (limit.admit(system(1), false).unwrap(), limit.admit(system(1), false).unwrap());
        assert!(matches!(limit.admit(system(1), false), Err(Fault::NotReady { .. })));
        assert!(limit.admit(system(2), false).is_ok());
        drop(a);
        assert!(limit.admit(system(1), false).is_ok());
        assert!(
            matches!(limit.admit(system(1), false), Err(Fault::RateLimited)),
            "the fifth of a burst of four"
        );
        assert!(limit.admit(system(1), true).is_ok(), "ends of silences are counted by themselves");
        assert!(limit.admit(system(1), true).is_ok());
        assert!(matches!(limit.admit(system(1), true), Err(Fault::RateLimited)));
        assert_eq!((limit.refused(), limit.crowded()), (2, 1));
    }
}
