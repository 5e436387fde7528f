//! Limits the requests in flight of one tenant, so that it cannot take all places.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The number that a tenant may always have.
const LEAST: usize = 8;

pub(super) struct Shares {
    most: usize,
    tenants: Mutex<HashMap<Box<str>, usize>>,
}

/// A place of a tenant, until dropped.
pub(super) struct Share<'a> {
    shares: &'a Shares,
    tenant: &'a str,
}

impl Shares {
    /// A quarter of `in_flight` for each.
    pub(super) fn new(in_flight: usize) -> Shares {
        Shares { most: (in_flight / 4).max(LEAST), tenants: Mutex::default() }
    }

    fn tenants(&self) -> MutexGuard<'_, HashMap<Box<str>, usize>> {
        self.tenants.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for one request; `None` when the tenant has used its share.
    pub(super) fn take<'a>(&'a self, tenant: &'a str) -> Option<Share<'a>> {
        let mut tenants = self.tenants();
        match tenants.get_mut(tenant) {
            Some(taken) if *taken >= self.most => return None,
            Some(taken) => *taken += 1,
            None => {
                tenants.insert(tenant.into(), 1);
            }
        }
        drop(tenants);
        Some(Share { shares: self, tenant })
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        let mut tenants = self.shares.tenants();
        if let Some(taken) = tenants.get_mut(self.tenant) {
            *taken -= 1;
            if *taken == 0 {
                tenants.remove(self.tenant);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_has_a_quarter_and_leaves_the_rest_to_others() {
        let shares = Shares::new(64);
        let mut taken: Vec<Share<'_>> = (0..16).filter_map(|_| shares.take("a")).collect();
        assert_eq!(taken.len(), 16);
        assert!(shares.take("a").is_none());
        assert!(shares.take("b").is_some());
        taken.pop();
        assert!(shares.take("a").is_some(), "that place was given back");
        drop(taken);
        assert!(shares.tenants().is_empty());
        let few = Shares::new(4);
        assert_eq!((0..20).map(|_| few.take("a")).collect::<Vec<_>>().iter().flatten().count(), LEAST);
    }
}
