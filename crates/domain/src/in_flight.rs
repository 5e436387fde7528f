//! Limits how much of each key is in progress at once.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// What is in progress, for each key.
#[derive(Debug)]
pub struct InFlight<K: Eq + Hash>(Arc<Mutex<HashMap<K, usize>>>);

/// A place of a key, until dropped.
#[derive(Debug)]
pub struct InFlightPermit<K: Eq + Hash> {
    all: InFlight<K>,
    key: K,
}

impl<K: Eq + Hash> Default for InFlight<K> {
    fn default() -> InFlight<K> {
        InFlight(Arc::default())
    }
}

impl<K: Eq + Hash> Clone for InFlight<K> {
    fn clone(&self) -> InFlight<K> {
        InFlight(self.0.clone())
    }
}

impl<K: Eq + Hash> InFlight<K> {
    /// A place; `None` when the key has `most` already.
    pub fn take(&self, key: K, most: usize) -> Option<InFlightPermit<K>>
    where
        K: Clone,
    {
        let mut taken = self.lock();
        if taken.get(&key).is_some_and(|taken| *taken >= most) {
            return None;
        }
        *taken.entry(key.clone()).or_default() += 1;
        drop(taken);
        Some(InFlightPermit { all: self.clone(), key })
    }

    /// Whether nothing is in progress.
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Eq + Hash> Drop for InFlightPermit<K> {
    fn drop(&mut self) {
        let mut taken = self.all.lock();
        if let Some(own) = taken.get_mut(&self.key) {
            *own -= 1;
            if *own == 0 {
                taken.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_its_places_until_they_are_dropped() {
        let all = InFlight::default();
        let mut taken: Vec<_> = (0..3).filter_map(|_| all.take("a", 2)).collect();
        assert_eq!(taken.len(), 2);
        assert!(all.take("b", 2).is_some(), "another key");
        taken.pop();
        assert!(all.take("a", 2).is_some(), "that place was given back");
        taken.clear();
        assert!(all.is_empty());
    }
}
