//! The request limits of one system at the alert interface: requests per second and requests in flight (spec:
//! alerts#limits). Both live in one small entry, so that a request costs one look-up; entries without information are
//! dropped.

use super::Fault;
use bailiwick_domain::{Clock, SystemId, metrics::Counter};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

const SHARDS: usize = 16;
/// Entries of one shard before those without effect are dropped.
const MANY: usize = 4096;

/// Limits of every system on the injected clock. They live in the process: each replica allows the rate on its own.
pub struct RequestLimit {
    clock: Arc<dyn Clock>,
    shards: [Mutex<HashMap<SystemId, Entry>>; SHARDS],
    /// Nanoseconds that one request takes out of the rate.
    cost: i64,
    /// Nanoseconds by which a system may be ahead of the rate.
    burst: i64,
    in_flight: u32,
    /// Requests that came too fast.
    pub refused: Counter,
    /// Requests beyond those in flight.
    pub crowded: Counter,
}

impl std::fmt::Debug for RequestLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RequestLimit")
    }
}

#[derive(Default)]
struct Entry {
    /// The time at which all requests so far are paid for at the steady rate.
    paid_at: i64,
    in_flight: u32,
}

/// A request in work, until dropped.
#[derive(Debug)]
pub struct InFlight<'a> {
    throttle: &'a RequestLimit,
    system: SystemId,
}

impl RequestLimit {
    /// `per_second` steady requests, `burst` at once, `in_flight` in progress; zero counts as one.
    pub fn new(clock: Arc<dyn Clock>, per_second: u32, burst: u32, in_flight: usize) -> RequestLimit {
        let cost = 1_000_000_000 / i64::from(per_second.max(1));
        RequestLimit {
            clock,
            shards: std::array::from_fn(|_| Mutex::default()),
            cost,
            burst: cost.saturating_mul(i64::from(burst.max(1))),
            in_flight: u32::try_from(in_flight.max(1)).unwrap_or(u32::MAX),
            refused: Counter::default(),
            crowded: Counter::default(),
        }
    }

    fn shard(&self, system: SystemId) -> MutexGuard<'_, HashMap<SystemId, Entry>> {
        // The last byte of a UUIDv7 is random.
        let shard = &self.shards[usize::from(system.0.as_bytes()[15]) % SHARDS];
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a request of the system.
    ///
    /// # Errors
    /// [`Fault::RateLimited`], or [`Fault::NotReady`] when too many are in progress.
    pub fn admit(&self, system: SystemId) -> Result<InFlight<'_>, Fault> {
        let now = self.clock.now().0.saturating_mul(1000);
        let mut shard = self.shard(system);
        if shard.len() > MANY {
            shard.retain(|_, e| e.in_flight > 0 || e.paid_at > now);
        }
        let entry = shard.entry(system).or_default();
        // At most the burst ahead, also when refused: a clock that was set back must not lock a system out.
        entry.paid_at = entry.paid_at.clamp(now, now.saturating_add(self.burst));
        let paid_at = entry.paid_at.saturating_add(self.cost);
        if paid_at - now > self.burst {
            self.refused.one();
            return Err(Fault::RateLimited);
        }
        entry.paid_at = paid_at;
        if entry.in_flight >= self.in_flight {
            self.crowded.one();
            return Err(Fault::not_ready("too many requests of this system are in flight"));
        }
        entry.in_flight += 1;
        Ok(InFlight { throttle: self, system })
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if let Some(entry) = self.throttle.shard(self.system).get_mut(&self.system) {
            entry.in_flight = entry.in_flight.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_domain::Ts;
    use std::sync::atomic::{AtomicI64, Ordering};

    struct ByHand(AtomicI64);
    impl Clock for ByHand {
        fn now(&self) -> Ts {
            Ts(self.0.load(Ordering::SeqCst))
        }
    }

    fn system(n: u8) -> SystemId {
        SystemId(uuid_of(n))
    }

    fn uuid_of(n: u8) -> uuid::Uuid {
        uuid::Uuid::from_bytes([n; 16])
    }

    fn allowed(t: &RequestLimit, n: u8) -> usize {
        (0..1000).take_while(|_| t.admit(system(n)).is_ok()).count()
    }

    #[test]
    fn each_system_has_a_burst_and_a_rate() {
        let clock = Arc::new(ByHand(AtomicI64::new(1_000_000_000)));
        let t = RequestLimit::new(clock.clone(), 10, 50, 8);
        assert_eq!((allowed(&t, 1), allowed(&t, 2), allowed(&t, 1)), (50, 50, 0));
        clock.0.fetch_add(1_000_000, Ordering::SeqCst);
        assert_eq!(allowed(&t, 1), 10);
        clock.0.store(5, Ordering::SeqCst);
        assert_eq!(allowed(&t, 1), 0);
        clock.0.fetch_add(1_000_000, Ordering::SeqCst);
        assert_eq!(allowed(&t, 1), 10);
    }

    #[test]
    fn requests_in_flight_are_bounded_until_they_end() {
        let clock = Arc::new(ByHand(AtomicI64::new(1_000_000_000)));
        let t = RequestLimit::new(clock, 1000, 1000, 2);
        let (a, _b) = (t.admit(system(1)).unwrap(), t.admit(system(1)).unwrap());
        assert!(matches!(t.admit(system(1)), Err(Fault::NotReady { .. })));
        assert!(t.admit(system(2)).is_ok());
        drop(a);
        assert!(t.admit(system(1)).is_ok());
    }

    #[test]
    fn memory_is_bounded() {
        let clock = Arc::new(ByHand(AtomicI64::new(1_000_000_000)));
        let t = RequestLimit::new(clock.clone(), 10, 50, 8);
        for n in 0..100_000_u128 {
            clock.0.fetch_add(100, Ordering::SeqCst);
            t.admit(SystemId(uuid::Uuid::from_u128(n))).unwrap();
        }
        let entries: usize = t.shards.iter().map(|s| s.lock().unwrap().len()).sum();
        assert!(entries <= SHARDS * (MANY + 1), "{entries}");
    }
}
