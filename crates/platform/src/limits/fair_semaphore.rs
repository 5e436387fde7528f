//! Limits on concurrent heavy work. A caller that waits too long for a permit gets a 503.

use super::sweep;
use bailiwick_domain::{Error, OrgId, Result};
use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

/// A 503 with a reason for the log.
pub fn unavailable(log: &str) -> Error {
    Error::Unavailable { message: "service temporarily unavailable".into(), log: log.to_owned() }
}

/// Waits for a permit.
///
/// # Errors
/// 503 after `longest`.
pub async fn acquire_within<P>(
    permit: impl Future<Output = Result<P, AcquireError>>,
    longest: Duration,
    too_many: &str,
) -> Result<P> {
    // The semaphores are never closed.
    tokio::time::timeout(longest, permit)
        .await
        .map_err(|_| unavailable(too_many))?
        .map_err(|_| unavailable("closed"))
}

/// A semaphore with few permits in all and one for each organization, so that an organization with many requests leaves
/// permits to the others.
#[derive(Debug)]
pub struct FairSemaphore {
    all: Arc<Semaphore>,
    own: KeyedSemaphores<OrgId>,
}

/// A permit until it is dropped: the organization's and one of all.
pub type FairPermit = (OwnedSemaphorePermit, OwnedSemaphorePermit);

impl FairSemaphore {
    /// A semaphore with this many permits in all.
    pub fn new(all: usize) -> FairSemaphore {
        FairSemaphore { all: Arc::new(Semaphore::new(all)), own: KeyedSemaphores::default() }
    }

    /// Waits for the organization's permit, then for one of all. `too_many` is the reason for the log.
    ///
    /// # Errors
    /// 503 after `longest`.
    pub async fn acquire(
        &self,
        organization: OrgId,
        longest: Duration,
        too_many: &str,
    ) -> Result<FairPermit> {
        let permits = async {
            let own = self.own.of(organization, 1).acquire_owned().await?;
            Ok((own, self.all.clone().acquire_owned().await?))
        };
        acquire_within(permits, longest, too_many).await
    }
}

/// A semaphore for each key that a caller holds a permit of or waits for.
#[derive(Debug)]
pub(super) struct KeyedSemaphores<K>(Mutex<(HashMap<K, Arc<Semaphore>>, usize)>);

impl<K> Default for KeyedSemaphores<K> {
    fn default() -> KeyedSemaphores<K> {
        KeyedSemaphores(Mutex::new((HashMap::new(), 0)))
    }
}

impl<K: Eq + Hash> KeyedSemaphores<K> {
    /// The semaphore of a key, of this many permits.
    pub(super) fn of(&self, key: K, permits: usize) -> Arc<Semaphore> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (semaphores, grown_to) = &mut *all;
        // Each holder of a permit and each waiting caller holds a reference too.
        sweep(semaphores, grown_to, |semaphore| Arc::strong_count(semaphore) > 1);
        semaphores.entry(key).or_insert_with(|| Arc::new(Semaphore::new(permits))).clone()
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.lock().unwrap().0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[tokio::test]
    async fn an_organization_waits_for_its_own_permit_and_leaves_the_others() {
        let permits = FairSemaphore::new(2);
        let [one, other, third] = [1, 2, 3].map(|n| OrgId(Uuid::from_u128(n)));
        let take =
            async |organization| permits.acquire(organization, Duration::from_millis(20), "busy").await;
        let first = take(one).await.unwrap();
        assert!(matches!(take(one).await, Err(Error::Unavailable { .. })));
        let _second = take(other).await.unwrap();
        assert!(matches!(take(third).await, Err(Error::Unavailable { .. })), "two in all");
        drop(first);
        let _third = take(third).await.unwrap();
        assert!(matches!(take(one).await, Err(Error::Unavailable { .. })));
    }
}
