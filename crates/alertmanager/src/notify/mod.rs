//! When a group of alerts notifies its recipients, and with which message (spec: alert-delivery#routing,
//! alert-delivery#mail-and-telegram).
//!
//! The path of a notification: an alert joins a group ([`first_flush`] gives the time of the group's first flush; later
//! ones follow every `group_interval`). A flush takes a [`Snapshot`] of the group. For each integration, [`decide`]
//! compares it with the integration's [`SentNotification`] in the notification log and returns whether to notify, and
//! why. The content is a [`Message`], written for a webhook ([`Message::webhook`]), for people ([`Message::subject`],
//! [`Message::text`], [`Message::html`]) or as its kind of recipient needs it ([`crate::receivers`]); it equals that of
//! the templates of [`crate::config`] that a remote router receives. After a success the entry is
//! [`SentNotification::of`] the snapshot; a failure that may pass is retried ([`retry_wait`]).

pub(crate) mod link;
mod log;
mod message;
mod snapshot;
pub(crate) mod text;

pub use log::{Reason, SentNotification, decide, kept_for};
pub use message::Message;
pub use snapshot::{Snapshot, Taken};

use crate::Nanos;
use std::time::Duration;

/// The time of a group's first flush: `group_wait` after the group was created, or at once if its first alert began
/// longer ago than that.
pub fn first_flush(created: Nanos, starts_at: Nanos, group_wait: Duration) -> Nanos {
    if created.exceeds(starts_at, group_wait) { created } else { created.plus(group_wait) }
}

/// Shortest time for the tries of a flush.
const AT_LEAST: Duration = Duration::from_secs(10);

/// How long the tries of a flush may take: until the next flush is due.
pub fn patience(group_interval: Duration) -> Duration {
    group_interval.max(AT_LEAST)
}

/// The delay after the failed try number `tries`, counted from 0: 0.5 s × 1.5ⁿ up to 60 s, multiplied by 0.5 to 1.5
/// according to `chance`, which is 0 to 255.
pub fn retry_wait(tries: u32, chance: u8) -> Duration {
    const FIRST: f64 = 0.5;
    const LONGEST: f64 = 60.0;
    // From the twelfth try on, the delay is the longest anyway.
    let grown = FIRST * 1.5_f64.powi(i32::try_from(tries.min(64)).unwrap_or(64));
    let jitter = 0.5 + f64::from(chance) / 255.0;
    Duration::from_secs_f64((grown.min(LONGEST) * jitter).min(LONGEST))
}

#[cfg(test)]
mod tests;
