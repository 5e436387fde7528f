//! Limits how many files exist at once: in total, and for one organization, so that it cannot take all places.

use bailiwick_domain::{OrgId, Result};
use bailiwick_platform::limits::{InFlight, InFlightPermit, unavailable};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Files that may exist at once: waiting, being made, being sent. Further ones are refused.
pub(super) const PLACES: usize = 16;
/// Of these, the files of one organization.
pub(super) const SHARE: usize = PLACES / 4;

/// The places.
#[derive(Clone, Debug)]
pub(super) struct ExportPermits {
    all: Arc<Semaphore>,
    taken: InFlight<OrgId>,
}

/// A place of an organization, until dropped.
#[derive(Debug)]
pub struct ExportPermit {
    _own: InFlightPermit<OrgId>,
    _of_all: OwnedSemaphorePermit,
}

impl Default for ExportPermits {
    fn default() -> ExportPermits {
        ExportPermits { all: Arc::new(Semaphore::new(PLACES)), taken: InFlight::default() }
    }
}

impl ExportPermits {
    /// A place for one file of this organization.
    ///
    /// # Errors
    /// 503 when there is none, or none for it.
    pub(super) fn take(&self, organization: OrgId) -> Result<ExportPermit> {
        let of_all = self.permit().ok_or_else(|| unavailable("too many exports at once"))?;
        let own = self.taken.take(organization, SHARE);
        let own = own.ok_or_else(|| unavailable("too many exports of one organization at once"))?;
        Ok(ExportPermit { _own: own, _of_all: of_all })
    }

    /// A place that counts for no organization.
    pub(super) fn permit(&self) -> Option<OwnedSemaphorePermit> {
        self.all.clone().try_acquire_owned().ok()
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
        assert!(places.taken.is_empty());
        assert_eq!(places.all.available_permits(), PLACES);
    }
}
