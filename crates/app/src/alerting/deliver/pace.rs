//! How fast: so many notifications a second for each tenant, and so many at once to each place, so that one that is slow
//! keeps nobody else waiting.

use bailiwick_domain::OrgId;
use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

/// Notifications of a tenant within [`WINDOW`].
const TURNS: usize = 50;
const WINDOW: Duration = Duration::from_secs(1);
/// Entries kept before idle ones are dropped.
const MANY: usize = 1024;

/// When each tenant's latest notifications went out.
#[derive(Debug, Default)]
pub(super) struct Paces(Mutex<HashMap<OrgId, VecDeque<Instant>>>);

impl Paces {
    /// Takes a turn, or says when to ask again.
    pub(super) fn take(&self, tenant: OrgId, now: Instant) -> Result<(), Instant> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() > MANY {
            all.retain(|_, times| times.back().is_some_and(|at| *at + WINDOW > now));
        }
        let times = all.entry(tenant).or_default();
        while times.front().is_some_and(|at| *at + WINDOW <= now) {
            times.pop_front();
        }
        match times.front() {
            Some(first) if times.len() >= TURNS => Err(*first + WINDOW),
            _ => {
                times.push_back(now);
                Ok(())
            }
        }
    }
}

/// Tries that are under way to each place.
#[derive(Debug, Default)]
pub(super) struct Places(Mutex<HashMap<String, Arc<Semaphore>>>);

impl Places {
    /// Waits for one of the `at_once` turns of a place.
    pub(super) async fn turn(&self, place: &str, at_once: usize) -> Option<OwnedSemaphorePermit> {
        let turns = {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if all.len() > MANY {
                // Whoever waits or sends holds one too.
                all.retain(|_, turns| Arc::strong_count(turns) > 1);
            }
            all.entry(place.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(at_once))).clone()
        };
        // Closed never.
        turns.acquire_owned().await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_has_fifty_turns_in_any_second() {
        let (paces, start) = (Paces::default(), Instant::now());
        let tenant = OrgId(uuid::Uuid::nil());
        let (mut now, mut taken): (Instant, Vec<Instant>) = (start, Vec::new());
        while taken.len() < 500 {
            match paces.take(tenant, now) {
                Ok(()) => taken.push(now),
                Err(at) => now = at,
            }
            now += Duration::from_millis(3);
        }
        for window in taken.windows(TURNS + 1) {
            assert!(window[TURNS] - window[0] >= WINDOW, "{window:?}");
        }
        // And hardly fewer.
        assert!(taken[499] - start < Duration::from_secs(11), "{:?}", taken[499] - start);
        assert_eq!(paces.take(OrgId(uuid::Uuid::max()), start), Ok(()));
    }

    #[tokio::test]
    async fn a_place_takes_so_many_at_once() {
        let places = Places::default();
        let first = places.turn("a", 2).await;
        let _second = places.turn("a", 2).await;
        assert!(tokio::time::timeout(Duration::from_millis(20), places.turn("a", 2)).await.is_err());
        assert!(places.turn("b", 2).await.is_some());
        drop(first);
        assert!(places.turn("a", 2).await.is_some());
    }
}
