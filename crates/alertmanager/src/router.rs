//! The embedded router's rules over plain data (spec: alert-router#ingest, alert-router#listing, silences#update-rules,
//! silences#expire-and-list).
//!
//! A push: [`StoredAlert::new`], then [`store`] with the stored alert of the same fingerprint. A list: [`list_alerts`],
//! then [`crate::listing::select_alerts`]. A silence: [`put_silence`], [`StoredSilence::expired`].

use crate::{
    Fingerprint, Labels, Matcher, Nanos, PostedAlert, PostedSilence, Reject,
    active_silence::{ActiveSilence, Expressions, silenced_by},
    listing::{AlertState, AlertStatus, ListedAlert, ListedSilence, Receiver, SilenceState, SilenceStatus},
    silence::is_owned,
};
use serde::{Deserialize, Serialize};
use std::{fmt, time::Duration};
use uuid::Uuid;

/// An alert as the router keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredAlert {
    /// Labels; none is empty.
    pub labels: Labels,
    /// Annotations.
    pub annotations: Labels,
    /// Start.
    pub starts_at: Nanos,
    /// End.
    pub ends_at: Nanos,
    /// Last push.
    pub updated_at: Nanos,
    /// Address that produced it; empty = none.
    pub generator_url: String,
    /// The end does not come from the sender: `resolve_timeout` set it for a push without an end.
    pub timeout: bool,
}

impl StoredAlert {
    /// An incoming alert, with defaults for missing times.
    pub fn new(mut posted: PostedAlert, now: Nanos, resolve_timeout: Duration) -> StoredAlert {
        let (starts_at, ends_at, timeout) = posted.span(now, resolve_timeout);
        let annotations = std::mem::take(&mut posted.annotations);
        let generator_url = std::mem::take(&mut posted.generator_url);
        let labels = posted.into_labels();
        StoredAlert { labels, annotations, starts_at, ends_at, updated_at: now, generator_url, timeout }
    }

    /// Its identity within the tenant.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.labels)
    }

    /// Is it over?
    pub fn is_resolved(&self, now: Nanos) -> bool {
        self.ends_at <= now
    }

    /// The end that counts. After an outage, senders get time to refresh alerts that expired meanwhile. An alert that
    /// its sender has ended stays ended: the service has accepted that end, so it was not down. A clock that jumps can
    /// make such a time look like an outage.
    pub fn effective_end(&self, outage: Option<Outage>) -> Nanos {
        match outage {
            Some(o)
                if self.ends_at > self.updated_at
                    && o.down_since <= self.ends_at
                    && self.ends_at <= o.started =>
            {
                o.started.plus(REFRESH_AFTER_OUTAGE)
            }
            _ => self.ends_at,
        }
    }

    /// Is it in the lists?
    pub fn is_listed(&self, now: Nanos, outage: Option<Outage>) -> bool {
        self.effective_end(outage) >= now
    }

    /// Whether its row may be removed. `delivered`: every group has notified its receivers that the alert is over.
    pub fn is_removable(&self, delivered: bool, now: Nanos, outage: Option<Outage>) -> bool {
        let retention = if delivered { KEEP_AT_LEAST } else { KEEP_AT_MOST };
        self.effective_end(outage).plus(retention) < now
    }
}

const KEEP_AT_LEAST: Duration = Duration::from_secs(15 * 60);
const KEEP_AT_MOST: Duration = Duration::from_secs(45 * 60);
/// How long after an outage senders may refresh alerts that ended meanwhile.
pub const REFRESH_AFTER_OUTAGE: Duration = Duration::from_secs(5 * 60);
/// An outage of at most this does not count (spec: alert-router#life).
pub const SHORT_OUTAGE: Duration = Duration::from_secs(60);

/// A time in which the service could not accept refreshes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    down_since: Nanos,
    started: Nanos,
}

impl fmt::Display for Outage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.down_since, self.started)
    }
}

impl Outage {
    /// From the last sign of life before the outage and the first one after it; an outage of at most a minute does not
    /// count.
    pub fn new(last_alive: Nanos, started: Nanos) -> Option<Outage> {
        started.exceeds(last_alive, SHORT_OUTAGE).then_some(Outage { down_since: last_alive, started })
    }

    /// When refreshes could be taken again.
    pub const fn ended_at(&self) -> Nanos {
        self.started
    }

    /// The range of ends, both included, with which alerts still count as firing at `now`.
    pub fn spares(&self, now: Nanos) -> Option<(Nanos, Nanos)> {
        (now <= self.started.plus(REFRESH_AFTER_OUTAGE)).then_some((self.down_since, self.started))
    }
}

/// The alert to keep when `new` comes in and `old` is stored under the same fingerprint: both merged if their spans
/// overlap, else the new one.
pub fn store(old: Option<&StoredAlert>, new: StoredAlert, now: Nanos) -> StoredAlert {
    match old {
        Some(old) if overlap(old, &new) => merge(old, new, now),
        _ => new,
    }
}

fn overlap(old: &StoredAlert, new: &StoredAlert) -> bool {
    (new.ends_at > old.starts_at && new.ends_at < old.ends_at)
        || (new.starts_at > old.starts_at && new.starts_at < old.ends_at)
}

/// The new alert with the earlier start; an end set by a sender takes precedence over an earlier one.
fn merge(old: &StoredAlert, mut new: StoredAlert, now: Nanos) -> StoredAlert {
    new.starts_at = new.starts_at.min(old.starts_at);
    let keep_old_end =
        old.ends_at > new.ends_at && if new.is_resolved(now) { old.is_resolved(now) } else { !old.timeout };
    if keep_old_end {
        new.ends_at = old.ends_at;
    }
    new
}

/// The alerts that are not over, with their present status. `receivers` gives the names of an alert's receivers.
pub fn list_alerts<'a>(
    alerts: impl IntoIterator<Item = &'a StoredAlert>,
    (silences, expressions): (&[ActiveSilence], &Expressions),
    now: Nanos,
    outage: Option<Outage>,
    receivers: impl Fn(&Labels) -> Vec<String>,
) -> Vec<ListedAlert> {
    let listed: Vec<&StoredAlert> = alerts.into_iter().filter(|a| a.is_listed(now, outage)).collect();
    let sets: Vec<&Labels> = listed.iter().map(|a| &a.labels).collect();
    let silenced = silenced_by(&sets, silences, expressions);
    let each = listed.into_iter().zip(silenced);
    each.map(|(a, silenced_by)| {
        let state = if silenced_by.is_empty() { AlertState::Active } else { AlertState::Suppressed };
        ListedAlert {
            annotations: a.annotations.clone(),
            ends_at: a.ends_at,
            fingerprint: a.fingerprint(),
            receivers: receivers(&a.labels).into_iter().map(|name| Receiver { name }).collect(),
            starts_at: a.starts_at,
            status: AlertStatus { inhibited_by: Vec::new(), muted_by: Vec::new(), silenced_by, state },
            updated_at: a.updated_at,
            generator_url: a.generator_url.clone(),
            labels: a.labels.clone(),
        }
    })
    .collect()
}

/// A silence as the router keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredSilence {
    /// Its id.
    pub id: Uuid,
    /// All must match; the order is the client's.
    pub matchers: Vec<Matcher>,
    /// Start.
    pub starts_at: Nanos,
    /// End.
    pub ends_at: Nanos,
    /// Last change.
    pub updated_at: Nanos,
    /// Author.
    pub created_by: String,
    /// Comment.
    pub comment: String,
    /// Free texts.
    pub annotations: Labels,
    /// The size of its expressions when compiled, in bytes; 0 also for one that an older version has written.
    #[serde(default)]
    pub compiled_bytes: usize,
}

impl StoredSilence {
    /// Its state.
    pub fn state(&self, now: Nanos) -> SilenceState {
        if self.ends_at <= now {
            SilenceState::Expired
        } else if self.starts_at > now {
            SilenceState::Pending
        } else {
            SilenceState::Active
        }
    }

    /// The silence after a DELETE; `None` when it is already over and nothing changes.
    pub fn expired(&self, now: Nanos) -> Option<StoredSilence> {
        let mut over = self.clone();
        match self.state(now) {
            SilenceState::Active => over.ends_at = now,
            SilenceState::Pending => (over.starts_at, over.ends_at) = (now, now),
            SilenceState::Expired => return None,
        }
        over.updated_at = now;
        Some(over)
    }

    /// May its row be removed?
    pub fn is_removable(&self, now: Nanos, retention: Duration) -> bool {
        self.ends_at.plus(retention) < now
    }

    /// As clients see it.
    pub fn listed(&self, now: Nanos) -> ListedSilence {
        ListedSilence {
            id: self.id,
            status: SilenceStatus { state: self.state(now) },
            updated_at: self.updated_at,
            annotations: self.annotations.clone(),
            comment: self.comment.clone(),
            created_by: self.created_by.clone(),
            ends_at: self.ends_at,
            matchers: self.matchers.clone(),
            starts_at: self.starts_at,
        }
    }

    fn can_become(&self, posted: &PostedSilence, now: Nanos) -> bool {
        self.matchers == posted.matchers
            && match self.state(now) {
                SilenceState::Active => {
                    posted.starts_at.secs() == self.starts_at.secs() && posted.ends_at >= now
                }
                SilenceState::Pending => posted.starts_at >= now,
                SilenceState::Expired => false,
            }
    }
}

/// The changes of a POST of a silence; all of them in one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SilencePut {
    /// The silence to be written, new or updated; its id is the answer.
    pub put: StoredSilence,
    /// The silence it replaces, to be written as expired.
    pub replaced: Option<StoredSilence>,
}

/// Decides what a POST does. `stored` is the silence with the posted id, if the tenant has it; for a system it must
/// also be the system's own. `new_id` is used when the id cannot be kept.
pub fn put_silence(
    posted: PostedSilence,
    stored: Option<&StoredSilence>,
    system_key: Option<&str>,
    now: Nanos,
    new_id: Uuid,
) -> Result<SilencePut, Reject> {
    let stored = match posted.id {
        None => None,
        Some(id) => {
            let own =
                |s: &&StoredSilence| s.id == id && system_key.is_none_or(|key| is_owned(&s.matchers, key));
            Some(stored.filter(own).ok_or_else(Reject::silence_not_found)?)
        }
    };
    let in_place = stored.filter(|s| s.can_become(&posted, now));
    let starts_at = if in_place.is_some() { posted.starts_at } else { posted.starts_at.max(now) };
    let replaced = if in_place.is_some() { None } else { stored.and_then(|s| s.expired(now)) };
    let same = stored.filter(|s| s.matchers == posted.matchers);
    let put = StoredSilence {
        id: in_place.map_or(new_id, |s| s.id),
        matchers: posted.matchers,
        starts_at,
        ends_at: posted.ends_at,
        updated_at: now,
        created_by: posted.created_by,
        comment: posted.comment,
        annotations: posted.annotations,
        compiled_bytes: same.map_or(posted.compiled_bytes, |s| s.compiled_bytes),
    };
    Ok(SilencePut { put, replaced })
}

#[cfg(test)]
mod tests;
