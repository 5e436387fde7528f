//! The health of a router, for the service's metrics and health checks.

use super::{RouterClient, RouterError};
use bailiwick_domain::metrics::{ANSWERS, Counter, Histogram, Times};
use std::time::Duration;

/// The outcomes of a request, in the order of the counters.
const OUTCOMES: [&str; 7] =
    ["answered", "refused", "rejected", "unknown_tenant", "not_ready", "timed_out", "unavailable"];

/// Requests so far.
pub(super) struct Meters {
    outcomes: [Counter; OUTCOMES.len()],
    times: Histogram,
}

impl Default for Meters {
    fn default() -> Meters {
        Meters { outcomes: Default::default(), times: Histogram::new(&ANSWERS) }
    }
}

impl Meters {
    pub(super) fn note(&self, error: Option<&RouterError>, took: Duration) {
        let outcome = match error {
            None => 0,
            Some(RouterError::Refused(_)) => 1,
            Some(RouterError::Rejected(_)) => 2,
            Some(RouterError::UnknownTenant) => 3,
            Some(RouterError::NotReady(_)) => 4,
            Some(RouterError::TimedOut) => 5,
            Some(RouterError::Unavailable(_) | RouterError::Config(_)) => 6,
        };
        if let Some(counter) = self.outcomes.get(outcome) {
            counter.one();
        }
        self.times.note(took);
    }
}

/// How the router does, as this client sees it.
#[derive(Clone, Debug)]
pub struct Health {
    /// `closed`, `open` or `probing`.
    pub breaker: &'static str,
    /// Requests in flight, and how many may be.
    pub in_flight: (usize, usize),
    /// Numbers of requests by outcome; all tries of a request count once.
    pub outcomes: Vec<(&'static str, u64)>,
    /// How long they took.
    pub times: Times,
}

impl RouterClient {
    /// The health of the router, over all clients that share its limits.
    pub fn health(&self) -> Health {
        let shared = &self.shared;
        let most = shared.config.in_flight.max(1);
        Health {
            breaker: shared.breaker.name(),
            in_flight: (most.saturating_sub(shared.in_flight.available_permits()), most),
            outcomes: OUTCOMES.iter().zip(&shared.meters.outcomes).map(|(n, c)| (*n, c.get())).collect(),
            times: shared.meters.times.read(),
        }
    }
}
