//! Limits how many files exist at once: in total, and for one organization, so that it cannot take all places.

use bailiwick_domain::{OrgId, Result};
use bailiwick_platform::fair_semaphore::unavailable;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Files that may exist at once: waiting, being made, being sent. Further ones are refused.
pub(super) const PLACES: usize = 16;
/// Of these, the files of one organization.
pub(super) const SHARE: usize = PLACES / 4;

/// The places.
#[derive(Clone, Debug)]
pub(super) struct ExportPermits {
    all: Arc<Semaphore>,
    taken: Arc<Mutex<HashMap<OrgId, usize>>>,
}

/// A place of an organization, until dropped.
#[derive(Debug)]
pub struct ExportPermit {
    places: ExportPermits,
    organization: OrgId,
    _permit: OwnedSemaphorePermit,
}

impl Default for ExportPermits {
    fn default() -> ExportPermits {
        ExportPermits { all: Arc::new(Semaphore::new(PLACES)), taken: Arc::default() }
    }
}

impl ExportPermits {
    fn taken(&self) -> MutexGuard<'_, HashMap<OrgId, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for one file of this organization.
    ///
    /// # Errors
    /// 503 when there is none, or none for it.
    pub(super) fn take(&self, organization: OrgId) -> Result<ExportPermit> {
        let permit = self.permit().ok_or_else(|| unavailable("too many exports at once"))?;
        let mut taken = self.taken();
        let own = taken.entry(organization).or_default();
        if *own >= SHARE {
            return Err(unavailable("too many exports of one organization at once"));
        }
        *own += 1;
        drop(taken);
        Ok(ExportPermit { places: self.clone(), organization, _permit: permit })
    }

    /// A place that counts for no organization.
    pub(super) fn permit(&self) -> Option<OwnedSemaphorePermit> {
        self.all.clone().try_acquire_owned().ok()
    }
}

impl Drop for ExportPermit {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        if let Some(own) = taken.get_mut(&self.organization) {
            *own -= 1;
            if *own == 0 {
                taken.remove(&self.organization);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_domain::Error;
    use uuid::Uuid;

    #[test]
    fn an_organization_has_a_quarter_and_leaves_the_rest_to_others() {
        let places = ExportPermits::default();
        let [one, other] = [1, 2].map(|n| OrgId(Uuid::from_u128(n)));
        let mut taken: Vec<ExportPermit> = (0..SHARE).map(|_| places.take(one).unwrap()).collect();
        assert!(matches!(places.take(one), Err(Error::Unavailable { .. })));
        assert_eq!(places.all.available_permits(), PLACES - SHARE, "a refusal holds nothing");
        drop(places.take(other).unwrap());
        taken.pop();
        assert!(places.take(one).is_ok(), "that place was given back");
        drop(taken);
        assert!(places.taken().is_empty());
        assert_eq!(places.all.available_permits(), PLACES);
    }
}
