//! Rate limits with a burst (spec: conventions#limits) on the injected clock.

use bailiwick_domain::{Clock, Error, Result, Ts, metrics::Counter};
use governor::{Quota, RateLimiter, clock, middleware::NoOpMiddleware, state::keyed::DashMapStateStore};
use std::{
    hash::Hash,
    net::IpAddr,
    num::NonZeroU32,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

/// The injected clock in the form of governor. It never goes backwards, so that a clock set back refuses no request for
/// that long.
#[derive(Clone)]
struct Ticks(Arc<dyn Clock>, Arc<Mutex<Elapsed>>);

struct Elapsed {
    last_read: Ts,
    total: Duration,
}

impl Ticks {
    fn new(clock: Arc<dyn Clock>) -> Ticks {
        let last_read = clock.now();
        Ticks(clock, Arc::new(Mutex::new(Elapsed { last_read, total: Duration::ZERO })))
    }
}

impl clock::Clock for Ticks {
    type Instant = Duration;
    fn now(&self) -> Duration {
        let mut elapsed = self.1.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.0.now();
        elapsed.total = elapsed.total.saturating_add(now.since(elapsed.last_read));
        elapsed.last_read = now;
        elapsed.total
    }
}

type Buckets<K> = RateLimiter<K, DashMapStateStore<K>, Ticks, NoOpMiddleware<Duration>>;

/// A token bucket for each key.
pub struct KeyedLimit<K: Clone + Eq + Hash> {
    buckets: Buckets<K>,
    clock: Ticks,
    grown_to: AtomicUsize,
    refused: Counter,
}

impl<K: Clone + Eq + Hash> std::fmt::Debug for KeyedLimit<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeyedLimit")
    }
}

/// Buckets above this count cause a removal of the full ones.
const MANY_BUCKETS: usize = 10_000;

impl<K: Clone + Eq + Hash> KeyedLimit<K> {
    /// `per_second` steady requests and `burst` at once; zero counts as one.
    pub fn new(clock: Arc<dyn Clock>, per_second: u32, burst: u32) -> KeyedLimit<K> {
        KeyedLimit::with(clock, Quota::per_second(at_least_one(per_second)).allow_burst(at_least_one(burst)))
    }

    /// `n` at once and `n` a minute in the long run; zero counts as one.
    pub fn per_minute(clock: Arc<dyn Clock>, n: u32) -> KeyedLimit<K> {
        KeyedLimit::with(clock, Quota::per_minute(at_least_one(n)))
    }

    /// `n` at once and `n` an hour in the long run; zero counts as one.
    pub fn per_hour(clock: Arc<dyn Clock>, n: u32) -> KeyedLimit<K> {
        KeyedLimit::with(clock, Quota::per_hour(at_least_one(n)))
    }

    fn with(clock: Arc<dyn Clock>, quota: Quota) -> KeyedLimit<K> {
        let clock = Ticks::new(clock);
        KeyedLimit {
            buckets: RateLimiter::dashmap_with_clock(quota, clock.clone()),
            clock,
            grown_to: AtomicUsize::new(0),
            refused: Counter::default(),
        }
    }

    /// Takes one request out of the bucket.
    ///
    /// # Errors
    /// 429 with the time until the next one is allowed.
    pub fn check(&self, key: &K) -> Result<()> {
        if self.buckets.len() > self.grown_to.load(Relaxed).max(MANY_BUCKETS) {
            self.buckets.retain_recent();
            // The next removal comes when there are twice as many, so that not every request walks through all of them.
            self.grown_to.store(self.buckets.len().saturating_mul(2), Relaxed);
        }
        self.buckets.check_key(key).map_err(|not_until| {
            self.refused.one();
            Error::TooMany { retry_after: not_until.wait_time_from(clock::Clock::now(&self.clock)) }
        })
    }

    /// Number of refused requests.
    pub fn refused(&self) -> u64 {
        self.refused.get()
    }
}

fn at_least_one(n: u32) -> NonZeroU32 {
    NonZeroU32::new(n).unwrap_or(NonZeroU32::MIN)
}

/// A token bucket for each client address.
#[derive(Debug)]
pub struct AddressLimit(KeyedLimit<IpAddr>);

impl AddressLimit {
    /// `per_second` steady requests and `burst` at once; zero counts as one.
    pub fn new(clock: Arc<dyn Clock>, per_second: u32, burst: u32) -> AddressLimit {
        AddressLimit(KeyedLimit::new(clock, per_second, burst))
    }

    /// Takes one request of the address out of its bucket.
    ///
    /// # Errors
    /// 429 with the time until the next one is allowed.
    pub fn check(&self, address: IpAddr) -> Result<()> {
        self.0.check(&client_network(address))
    }

    /// Number of refused requests.
    pub fn refused(&self) -> u64 {
        self.0.refused()
    }
}

/// The network that a client address is counted by. An IPv6 host owns its /64, so counting single addresses would limit
/// nothing.
pub fn client_network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
        v4 => v4,
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

    fn allowed(limit: &AddressLimit, address: &str) -> usize {
        (0..1000).take_while(|_| limit.check(address.parse().unwrap()).is_ok()).count()
    }

    #[test]
    fn each_address_has_a_burst_and_a_rate() {
        let clock = Arc::new(ByHand(AtomicI64::new(1_000_000_000)));
        let limit = AddressLimit::new(clock.clone(), 10, 20);
        assert_eq!(allowed(&limit, "192.0.2.1"), 20);
        assert_eq!(allowed(&limit, "::ffff:192.0.2.1"), 0);
        assert_eq!(allowed(&limit, "192.0.2.2"), 20);
        assert_eq!(allowed(&limit, "2001:db8::1"), 20);
        assert_eq!(allowed(&limit, "2001:db8::ffff"), 0);
        let refusal = limit.check("192.0.2.1".parse().unwrap());
        assert!(
            matches!(refusal, Err(Error::TooMany { retry_after }) if retry_after == Duration::from_millis(100))
        );
        clock.0.fetch_add(1_000_000, Ordering::SeqCst);
        assert_eq!(allowed(&limit, "192.0.2.1"), 10);
    }

    #[test]
    fn a_clock_that_is_set_back_extends_no_refusal() {
        let clock = Arc::new(ByHand(AtomicI64::new(10_000_000_000)));
        let limit = AddressLimit::new(clock.clone(), 10, 20);
        assert_eq!(allowed(&limit, "192.0.2.1"), 20);
        clock.0.store(1, Ordering::SeqCst);
        assert_eq!(allowed(&limit, "192.0.2.1"), 0);
        clock.0.fetch_add(2_000_000, Ordering::SeqCst);
        assert_eq!(allowed(&limit, "192.0.2.1"), 20);
    }
}
