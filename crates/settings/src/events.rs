//! Events for other software (docs/events.md).

use std::time::Duration;

/// How long events are kept, and how many one request may read.
#[derive(Clone, Copy, Debug)]
pub struct Events {
    /// How long an event can be read and delivered.
    pub retention: Duration,
    /// The most events that are kept.
    pub most: u64,
    /// Subscriptions of an organization.
    pub subscriptions: i64,
    /// A subscription to which nothing could be delivered for so long is switched off.
    pub disable_after: Duration,
}

impl Default for Events {
    fn default() -> Events {
        Events {
            retention: Duration::from_secs(30 * 86_400),
            most: 1_000_000,
            subscriptions: 10,
            disable_after: Duration::from_secs(5 * 86_400),
        }
    }
}
