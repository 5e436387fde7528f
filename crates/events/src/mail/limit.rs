//! An hourly limit for each client address (spec: conventions#limits). It is kept in the process: each replica allows
//! the number on its own.

use bailiwick_domain::Ts;
use bailiwick_platform::rate_limit::client_network;
use std::{
    collections::{HashMap, VecDeque},
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::Duration,
};

const HOUR: Duration = Duration::from_secs(3600);
/// Addresses kept before those without recent requests are dropped.
const MANY: usize = 10_000;

/// Times of the last hour.
#[derive(Default)]
pub struct HourlyLimit(Mutex<HashMap<IpAddr, VecDeque<Ts>>>);

impl HourlyLimit {
    /// Takes one of `allowed`; false when they are used up.
    pub fn take(&self, allowed: u32, now: Ts, address: IpAddr) -> bool {
        // Times in the future, from before the clock was set back, do not count.
        let is_recent = |at: &Ts| *at <= now && at.plus(HOUR) > now;
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() > MANY {
            all.retain(|_, times| times.back().is_some_and(is_recent));
        }
        let times = all.entry(client_network(address)).or_default();
        times.retain(is_recent);
        let is_free = times.len() < allowed as usize;
        if is_free {
            times.push_back(now);
        }
        is_free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_has_so_many_in_an_hour() {
        let (all, now) = (HourlyLimit::default(), Ts::from_secs(10_000));
        let take = |at: Ts, ip: [u8; 4]| all.take(3, at, ip.into());
        assert_eq!((0..10).filter(|_| take(now, [192, 0, 2, 1])).count(), 3);
        assert!(take(now, [192, 0, 2, 2]));
        assert!(!take(now.plus(HOUR - Duration::from_secs(1)), [192, 0, 2, 1]));
        assert!(take(now.plus(HOUR), [192, 0, 2, 1]));
    }
}
