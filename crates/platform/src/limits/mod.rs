//! The kinds of limits. Those of this table live in the process: each of several replicas allows the full number. Those
//! of [`shared`] hold over all processes.
//!
//! | Kind | Question | Refusal | Used for |
//! |---|---|---|---|
//! | [`KeyedLimit`], [`AddressLimit`]: token bucket | How fast, with which burst? | 429 | requests of an address, an API key, a system |
//! | [`SlidingWindow`] | How many in any minute, hour … exactly? | 429 with the wait | failed passwords, uploads, mails, messages |
//! | [`FairSemaphore`], [`acquire_within`] | How many at once, when the others can wait? | 503 after the longest wait | heavy work |
//! | [`InFlight`] | How many at once, when the others cannot wait? | at once | requests of a system, of a tenant, files |
//!
//! [`DestinationLimits`] and [`ConnectionLimit`] are the semaphores of outgoing messages. A new limit uses one of
//! these; the use case keeps the numbers, the keys and the words of the refusal. What protects against guessing is
//! [`shared`]. Failed authentications of systems have a counter of their own in `bailiwick_identity::credentials`
//! before it: every request asks it, and strangers choose its keys, so it is a cache of bounded size.

mod connections;
mod destinations;
mod fair_semaphore;
pub mod shared;
mod sliding_window;
mod token_bucket;

pub use bailiwick_domain::in_flight::{InFlight, InFlightPermit};
pub use connections::{ConnectionLimit, ConnectionPermit};
pub use destinations::{Concurrency, Destination, DestinationLimits, OwnPermits, Permit, TenantRateLimit};
pub use fair_semaphore::{FairPermit, FairSemaphore, acquire_within, unavailable};
pub use sliding_window::{Allowed, SlidingWindow, Times};
pub use token_bucket::{AddressLimit, KeyedLimit, client_network};

use std::collections::HashMap;

/// Entries of a map above this count cause a removal of those without effect.
const MANY: usize = 1024;

/// Removes the entries without effect when a map has grown large. The next removal comes when the map is twice as
/// large, so that not every caller walks through all of it.
fn sweep<K, V>(entries: &mut HashMap<K, V>, grown_to: &mut usize, mut has_effect: impl FnMut(&V) -> bool) {
    if entries.len() > MANY.max(*grown_to) {
        entries.retain(|_, entry| has_effect(entry));
        *grown_to = entries.len().saturating_mul(2);
    }
}
