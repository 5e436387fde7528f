//! Limits the requests in flight of one tenant, so that it cannot take all places.

use bailiwick_domain::in_flight::{InFlight, InFlightPermit};

/// The number that a tenant may always have.
const LEAST: usize = 8;

pub(super) struct Shares {
    most: usize,
    tenants: InFlight<Box<str>>,
}

impl Shares {
    /// A quarter of `in_flight` for each.
    pub(super) fn new(in_flight: usize) -> Shares {
        Shares { most: (in_flight / 4).max(LEAST), tenants: InFlight::default() }
    }

    /// A place for one request; `None` when the tenant has used its share.
    pub(super) fn take(&self, tenant: &str) -> Option<InFlightPermit<Box<str>>> {
        self.tenants.take(tenant.into(), self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_has_a_quarter_but_never_fewer_than_eight() {
        for (in_flight, share) in [(64, 16), (4, LEAST)] {
            let shares = Shares::new(in_flight);
            let taken: Vec<_> = (0..100).filter_map(|_| shares.take("a")).collect();
            assert_eq!(taken.len(), share);
            assert!(shares.take("b").is_some());
        }
    }
}
