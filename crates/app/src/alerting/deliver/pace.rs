//! How fast: so many notifications a second for each tenant, and so many at once to each place, so that one that is slow
//! keeps nobody else waiting.

use bailiwick_domain::OrgId;
use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
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
#[derive(Debug)]
pub(crate) struct Paces(Mutex<HashMap<OrgId, VecDeque<Instant>>>, usize);

impl Default for Paces {
    fn default() -> Paces {
        Paces::of(TURNS)
    }
}

impl Paces {
    /// So many within [`WINDOW`].
    pub(crate) fn of(turns: usize) -> Paces {
        Paces(Mutex::default(), turns)
    }

    /// Takes a turn, or says when to ask again.
    pub(crate) fn take(&self, tenant: OrgId, now: Instant) -> Result<(), Instant> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() > MANY {
            all.retain(|_, times| times.back().is_some_and(|at| *at + WINDOW > now));
        }
        let times = all.entry(tenant).or_default();
        while times.front().is_some_and(|at| *at + WINDOW <= now) {
            times.pop_front();
        }
        match times.front() {
            Some(first) if times.len() >= self.1 => Err(*first + WINDOW),
            _ => {
                times.push_back(now);
                Ok(())
            }
        }
    }
}

/// How many tries are under way at once to a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AtOnce {
    /// In all.
    pub(crate) place: usize,
    /// Of one tenant.
    pub(crate) tenant: usize,
    /// About one system.
    pub(crate) system: usize,
    /// About one system to one recipient.
    pub(crate) recipient: usize,
}

/// Whose try it is, and where it goes.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    pub(crate) place: Arc<str>,
    pub(crate) tenant: OrgId,
    pub(crate) system: Arc<str>,
    pub(crate) recipient: Arc<str>,
    pub(crate) at_once: AtOnce,
}

/// Who shares turns at a place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Who {
    Everybody,
    Tenant(OrgId),
    System(OrgId, Arc<str>),
    Recipient(OrgId, Arc<str>, Arc<str>),
}

type Sharing = (Arc<str>, Who);

/// Tries that are under way. Whoever wants one waits first among those of his system to the same recipient, then among
/// those of his system, then of his tenant, then among all: so however many there are of one of them, and however slow a
/// recipient is, few of them are in the way of the others.
#[derive(Debug, Default)]
pub(crate) struct Places(Mutex<HashMap<Sharing, Arc<Semaphore>>>, AtomicUsize);

/// A turn until it is dropped.
pub(crate) type Turn = Option<OwnedSemaphorePermit>;

/// The turns of recipient, system and tenant.
pub(crate) type OwnTurns = (Turn, Turn, Turn);

impl Places {
    /// Waits for the turn of a recipient, then of the system, then of its tenant.
    pub(crate) async fn own_turn(&self, way: &Way) -> OwnTurns {
        let turn = |who: Who, at_once: usize| self.one_of((way.place.clone(), who), at_once);
        let to = Who::Recipient(way.tenant, way.system.clone(), way.recipient.clone());
        let recipient = turn(to, way.at_once.recipient).await;
        let system = turn(Who::System(way.tenant, way.system.clone()), way.at_once.system).await;
        (recipient, system, turn(Who::Tenant(way.tenant), way.at_once.tenant).await)
    }

    /// Waits for the turn among all.
    pub(crate) async fn turn(&self, way: &Way) -> Turn {
        self.one_of((way.place.clone(), Who::Everybody), way.at_once.place).await
    }

    async fn one_of(&self, sharing: Sharing, at_once: usize) -> Turn {
        let turns = {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if all.len() > MANY.max(self.1.load(Ordering::Relaxed)) {
                // Whoever waits or sends holds one too.
                all.retain(|_, turns| Arc::strong_count(turns) > 1);
                // Not again before there are twice as many: looking at all of them must not be the work of each.
                self.1.store(all.len() * 2, Ordering::Relaxed);
            }
            all.entry(sharing).or_insert_with(|| Arc::new(Semaphore::new(at_once))).clone()
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

    fn way(place: &str, tenant: u128, system: &str) -> Way {
        let at_once = AtOnce { place: 3, tenant: 2, system: 1, recipient: 2 };
        let tenant = OrgId(uuid::Uuid::from_u128(tenant));
        Way { place: place.into(), tenant, system: system.into(), recipient: "r".into(), at_once }
    }

    async fn waits<T>(turn: impl Future<Output = T>) -> bool {
        tokio::time::timeout(Duration::from_millis(20), turn).await.is_err()
    }

    #[tokio::test]
    async fn a_place_takes_so_many_at_once_of_a_system_of_a_tenant_and_in_all() {
        let places = Places::default();
        let own = places.own_turn(&way("a", 1, "x")).await;
        assert!(waits(places.own_turn(&way("a", 1, "x"))).await);
        let _other_system = places.own_turn(&way("a", 1, "y")).await;
        assert!(waits(places.own_turn(&way("a", 1, "z"))).await);
        assert!(!waits(places.own_turn(&way("a", 2, "x"))).await);
        assert!(!waits(places.own_turn(&way("b", 1, "x"))).await);
        drop(own);
        assert!(!waits(places.own_turn(&way("a", 1, "x"))).await);

        let first = places.turn(&way("a", 1, "x")).await;
        let _more = [places.turn(&way("a", 1, "x")).await, places.turn(&way("a", 2, "x")).await];
        assert!(waits(places.turn(&way("a", 3, "x"))).await);
        assert!(!waits(places.turn(&way("b", 3, "x"))).await);
        drop(first);
        assert!(!waits(places.turn(&way("a", 3, "x"))).await);
    }

    #[tokio::test]
    async fn a_slow_recipient_leaves_turns_of_its_system_to_another() {
        let places = Places::default();
        let to = |recipient: &str| Way {
            recipient: recipient.into(),
            at_once: AtOnce { place: 9, tenant: 9, system: 3, recipient: 2 },
            ..way("a", 1, "x")
        };
        let _slow = [places.own_turn(&to("slow")).await, places.own_turn(&to("slow")).await];
        assert!(waits(places.own_turn(&to("slow"))).await);
        assert!(!waits(places.own_turn(&to("healthy"))).await);
    }

    #[tokio::test]
    async fn what_nobody_waits_for_is_forgotten() {
        let places = Places::default();
        let kept = places.own_turn(&way("kept", 1, "x")).await;
        for n in 0..10 * MANY {
            drop(places.turn(&way(&n.to_string(), 1, "x")).await);
        }
        assert!(places.0.lock().unwrap().len() <= 2 * MANY);
        assert!(waits(places.own_turn(&way("kept", 1, "x"))).await);
        drop(kept);
    }
}
