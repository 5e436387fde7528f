//! The notification log: the last successful notification of an integration about a group, and whether it needs another
//! one now.

use super::Snapshot;
use crate::{Fingerprint, Nanos};
use std::time::Duration;

/// The last successful notification of an integration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SentNotification {
    /// Alerts that fired, in order.
    pub firing: Vec<Fingerprint>,
    /// Alerts that were over, in order.
    pub resolved: Vec<Fingerprint>,
    /// When.
    pub at: Option<Nanos>,
}

impl SentNotification {
    /// The entry to record once the snapshot has been sent.
    pub fn of(snapshot: &Snapshot, at: Nanos) -> SentNotification {
        let pick = |is_resolved: bool| {
            let some = snapshot.alerts.iter().filter(|a| a.is_resolved == is_resolved);
            let mut all: Vec<Fingerprint> = some.map(|a| a.fingerprint).collect();
            all.sort_unstable();
            all
        };
        SentNotification { firing: pick(false), resolved: pick(true), at: Some(at) }
    }

    /// Fingerprints as one text, for storage.
    pub fn write(fingerprints: &[Fingerprint]) -> String {
        fingerprints.iter().map(Fingerprint::to_string).collect()
    }

    /// Reads the text of [`SentNotification::write`]; invalid parts are left out.
    pub fn read(text: &str) -> Vec<Fingerprint> {
        let mut all: Vec<Fingerprint> = text
            .as_bytes()
            .chunks(16)
            .filter_map(|hex| std::str::from_utf8(hex).ok()?.parse().ok())
            .collect();
        all.sort_unstable();
        all
    }
}

/// The reason for a notification; its words are part of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// No notification has reported firing alerts of this group.
    First,
    /// An alert fires that no notification has reported.
    NewAlerts,
    /// Nothing fires any more.
    AllResolved,
    /// Something has ended.
    SomeResolved,
    /// Nothing new for a long time.
    Repeat,
}

impl Reason {
    /// The words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Reason::First => "first notification",
            Reason::NewAlerts => "new alerts added",
            Reason::AllResolved => "all alerts resolved",
            Reason::SomeResolved => "some alerts resolved",
            Reason::Repeat => "repeat interval elapsed",
        }
    }
}

/// Whether an integration needs a notification of a snapshot, and why; the table of spec: alert-delivery#routing.
pub fn decide(
    entry: Option<&SentNotification>,
    snapshot: &Snapshot,
    now: Nanos,
    repeat_interval: Duration,
) -> Option<Reason> {
    if snapshot.alerts.is_empty() {
        return None;
    }
    let nothing = SentNotification::default();
    let last = entry.unwrap_or(&nothing);
    let is_new = |notified: &[Fingerprint], is_resolved: bool| {
        let mut some = snapshot.alerts.iter().filter(|a| a.is_resolved == is_resolved);
        some.any(|a| notified.binary_search(&a.fingerprint).is_err())
    };
    if is_new(&last.firing, false) {
        return Some(if last.firing.is_empty() { Reason::First } else { Reason::NewAlerts });
    }
    if !snapshot.is_firing() {
        return (!last.firing.is_empty()).then_some(Reason::AllResolved);
    }
    if is_new(&last.resolved, true) {
        return Some(Reason::SomeResolved);
    }
    last.at.is_none_or(|at| now.exceeds(at, repeat_interval)).then_some(Reason::Repeat)
}

/// How long an entry is kept.
pub fn kept_for(repeat_interval: Duration) -> Duration {
    repeat_interval.saturating_mul(2).max(Duration::from_secs(120 * 3600))
}
