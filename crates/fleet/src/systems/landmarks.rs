//! Landmarks of the list by organization, read once they are worth it.

use super::{SystemFilter, SystemOrder, SystemQuery};
use crate::Fleet;
use bailiwick_domain::{Error, Result};
use bailiwick_platform::answer_cache::{self, DependsOn, Key};
use bailiwick_policy::Scope;
use bailiwick_store::systems::{self, Landmarks};
use std::sync::{Mutex, PoisonError};

/// Rows before a page from which on a landmark saves more than it costs.
const FAR: u64 = 500;
/// Organizations between two landmarks.
const EVERY: u64 = 64;
/// Requests for the same landmarks until they are read. That takes as long as ten walks to a page, and every change of an
/// organization or of the number of its systems discards them.
const WORTHWHILE: u32 = 10;

/// The landmarks that were last asked for in vain, and how often.
#[derive(Debug, Default)]
pub(crate) struct Asked(Mutex<Option<(Key, u32)>>);

impl Asked {
    /// Counts a request for these.
    fn often_enough(&self, key: &Key) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let times = last.as_ref().filter(|(asked, _)| asked == key).map_or(1, |(_, times)| times + 1);
        *last = Some((key.clone(), times));
        times >= WORTHWHILE
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
    let cached = match service.answers.get(&key).await {
        Some(cached) => cached,
        None if !service.landmarks.often_enough(&key) => return Ok(None),
        None => {
            let read = async {
                let landmarks = systems::landmarks(&service.db, &scope, EVERY).await?;
                serde_json::to_vec(&landmarks).map(Into::into).map_err(Error::internal)
            };
            answer_cache::stored(service, key, read).await?
        }
    };
    serde_json::from_slice(&cached).map(Some).map_err(Error::internal)
}
