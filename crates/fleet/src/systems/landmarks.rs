//! Landmarks of the list by organization, read once they are worth it.

use super::{SystemFilter, SystemOrder, SystemQuery};
use crate::Fleet;
use bailiwick_domain::Result;
use bailiwick_platform::answer_cache::{self, DependsOn, Key};
use bailiwick_policy::Scope;
use bailiwick_store::{
    ListEpochs,
    systems::{self, Landmarks},
};
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

/// With this many rows before a page, a landmark pays.
const FAR: u64 = 500;
/// Organizations between two landmarks.
const EVERY: u64 = 64;
/// Requests for the same landmarks until they are read. Reading them takes as long as ten walks to a page, and every change of an
/// organization, a user, or a count of systems or applications discards them.
const WORTHWHILE: u32 = 10;
/// Scopes whose requests are counted at the same time.
const SCOPES: usize = 64;

/// The epochs of the landmarks that each scope has last asked for in vain, and how often it has.
#[derive(Debug, Default)]
pub(crate) struct Asked(Mutex<HashMap<Scope, (ListEpochs, u32)>>);

impl Asked {
    /// Counts a request for these.
    fn often_enough(&self, key: &Key) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= SCOPES {
            all.retain(|_, (epochs, _)| *epochs == key.epochs);
        }
        if all.len() >= SCOPES && !all.contains_key(&key.scope) {
            return false;
        }
        let (epochs, times) = all.entry(key.scope).or_insert((key.epochs, 0));
        if *epochs != key.epochs {
            (*epochs, *times) = (key.epochs, 0);
        }
        *times += 1;
        *times >= WORTHWHILE
    }
}

/// The landmarks for the page of a list, if they are known or worth reading.
pub(super) async fn landmarks(
    service: &Fleet,
    scope: Scope,
    query: &SystemQuery,
    order: SystemOrder,
) -> Result<Option<Landmarks>> {
    let is_far = order == SystemOrder::OrganizationName && query.page.offset() >= FAR;
    let is_large = matches!(scope, Scope::Everything | Scope::Subtree { .. });
    if !is_far || !is_large || query.filter != SystemFilter::default() {
        return Ok(None);
    }
    let epochs = answer_cache::epochs(service, DependsOn::Figures).await?;
    let key = Key { epochs, operation: "systems/landmarks", scope, other: String::new() };
    if service.answers.get(&key).await.is_none() && !service.landmarks.often_enough(&key) {
        return Ok(None);
    }
    let read = async { Ok(systems::landmarks(&service.db, &scope, EVERY).await?) };
    answer_cache::computed_at(service, key, read).await.map(Some)
}
