//! Limits how many subscriptions of a process run at once: in total, for one organization, and for a distributor with
//! everything below it. So the slow recipients of one organization cannot take all places.

use bailiwick_domain::OrgId;
use bailiwick_policy::Path;
use bailiwick_store::events::subscriptions::{Full, Shares};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::Notify;

/// Subscriptions under way at once.
const AT_ONCE: usize = 64;
/// Of one organization.
const OF_ONE: usize = 8;
/// Of a distributor and everything below it.
const OF_SUBTREE: usize = 24;

/// The most that one organization, or subtree, may add when none of its subscriptions runs.
pub(super) const SHARES: Shares = Shares { organization: OF_ONE as i64, subtree: OF_SUBTREE as i64 };
/// Number of due subscriptions that are read, as some of them may have used their share.
pub(super) const LOOKED_AT: i64 = 4 * AT_ONCE as i64;

/// The slots of this process.
#[derive(Debug, Default)]
pub(super) struct Slots {
    taken: Mutex<Taken>,
    one_less: Notify,
}

#[derive(Debug, Default)]
struct Taken {
    in_all: usize,
    organizations: HashMap<OrgId, usize>,
    subtrees: HashMap<OrgId, usize>,
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub(super) struct Slot {
    path: Path,
    slots: Arc<Slots>,
}

impl Slots {
    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether none is left.
    pub(super) fn are_taken(&self) -> bool {
        self.taken().in_all >= AT_ONCE
    }

    /// The organizations and subtrees that have used their whole share.
    pub(super) fn full(&self) -> Full {
        let taken = self.taken();
        let full = |counts: &HashMap<OrgId, usize>, share| {
            counts.iter().filter(|(_, n)| **n >= share).map(|(id, _)| *id).collect()
        };
        Full {
            organizations: full(&taken.organizations, OF_ONE),
            subtrees: full(&taken.subtrees, OF_SUBTREE),
        }
    }

    /// A slot for a subscription of the organization at `path`, unless its share or all slots are taken.
    pub(super) fn take(self: &Arc<Slots>, path: &Path) -> Option<Slot> {
        let mut taken = self.taken();
        let in_use = |all: &HashMap<OrgId, usize>, id| all.get(&id).copied().unwrap_or(0);
        let is_full = taken.in_all >= AT_ONCE
            || in_use(&taken.organizations, path.id) >= OF_ONE
            || in_use(&taken.subtrees, path.p2) >= OF_SUBTREE;
        if is_full {
            return None;
        }
        taken.in_all += 1;
        *taken.organizations.entry(path.id).or_default() += 1;
        *taken.subtrees.entry(path.p2).or_default() += 1;
        Some(Slot { path: *path, slots: self.clone() })
    }

    /// Waits until nothing is under way.
    pub(super) async fn all_free(&self) {
        loop {
            let one_less = self.one_less.notified();
            if self.taken().in_all == 0 {
                return;
            }
            one_less.await;
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut taken = self.slots.taken();
        taken.in_all = taken.in_all.saturating_sub(1);
        let Taken { organizations, subtrees, .. } = &mut *taken;
        for (counts, id) in [(organizations, self.path.id), (subtrees, self.path.p2)] {
            if let Some(n) = counts.get_mut(&id) {
                *n = n.saturating_sub(1);
            }
            counts.retain(|_, n| *n > 0);
        }
        drop(taken);
        self.slots.one_less.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn path(id: u128, p2: u128) -> Path {
        let [id, p2] = [id, p2].map(|n| OrgId(Uuid::from_u128(n)));
        Path { id, p2, p3: id }
    }

    #[test]
    fn no_organization_takes_all_slots() {
        let slots = Arc::new(Slots::default());
        let take =
            |id, p2, n: usize| -> Vec<Slot> { (0..n).filter_map(|_| slots.take(&path(id, p2))).collect() };
        let one = take(10, 1, 100);
        assert_eq!(one.len(), OF_ONE);
        assert_eq!(slots.full().organizations, [path(10, 1).id]);
        let below: Vec<Slot> = (11..30).flat_map(|id| take(id, 1, 100)).collect();
        assert_eq!(one.len() + below.len(), OF_SUBTREE);
        assert_eq!(slots.full().subtrees, [path(10, 1).p2]);
        let others: Vec<Slot> = (2..9).flat_map(|p2| take(100 + p2, p2, 100)).collect();
        assert_eq!(others.len(), AT_ONCE - OF_SUBTREE);
        assert!(slots.are_taken());
        drop((one, others));
        assert_eq!(take(10, 1, 100).len(), OF_ONE);
        drop(below);
        let taken = slots.taken();
        assert!(taken.in_all == 0 && taken.organizations.is_empty() && taken.subtrees.is_empty());
    }
}
