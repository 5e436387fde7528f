//! The alert history (spec: alert-management#history): one record of every accepted alert, from every kind of sender.
//!
//! `bailiwick_alertmanager::history` has the rules. With the embedded router the rows are written in the transaction that changes the
//! router's state; with a remote router they are written after the answer ([`deferred`]). [`expiry`] ends alerts that
//! no sender resolves.

pub(super) mod deferred;
pub(super) mod expiry;
pub mod webhook;

use bailiwick_alertmanager::{
    Labels, Nanos, PostedAlert,
    history::{AlertEvent, AlertEventKind, Kept, Occurrence, Occurrences, Status, summary},
};
use bailiwick_domain::OrgId;
use bailiwick_store::{
    StoreError, Tx, alert_handling,
    alert_rows::AlertKey,
    history::{self, Held, Stored, Texts, Write},
};
use std::collections::{BTreeMap, BTreeSet};

/// One event of an alert.
#[derive(Clone, Debug)]
pub(super) struct Note {
    pub(super) tenant: OrgId,
    pub(super) system_key: String,
    pub(super) fingerprint: String,
    pub(super) labels: Labels,
    pub(super) event: AlertEvent,
}

/// The sender of an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    System,
    /// The service itself. It does not know when the alert it resolves started, so it only ends open rows.
    Service,
}

impl Note {
    /// The event of an alert that is accepted now; it fires `until` then unless it is resolved.
    pub(super) fn of(
        (tenant, system_key): (OrgId, &str),
        alert: &PostedAlert,
        now: Nanos,
        until: Nanos,
        origin: Origin,
    ) -> Note {
        let start = alert.starts_at.map(Nanos::to_ts);
        let what = match alert.ends_at {
            Some(end) if end <= now => AlertEventKind::Resolved {
                start: start.filter(|_| origin == Origin::System),
                end: end.to_ts(),
            },
            _ => AlertEventKind::Firing { start, until: until.to_ts() },
        };
        Note {
            tenant,
            system_key: system_key.to_owned(),
            fingerprint: alert.fingerprint().to_string(),
            labels: alert.labels().clone(),
            event: AlertEvent { at: now.to_ts(), what, annotations: alert.annotations.clone() },
        }
    }

    fn key(&self) -> AlertKey {
        (self.tenant, self.fingerprint.clone())
    }

    /// About how many bytes it holds.
    fn weight(&self) -> usize {
        const REST: usize = 256;
        self.labels.size() + self.event.annotations.size() + REST
    }
}

/// The stored rows and the new events of one alert.
type AlertRows = (Vec<Stored>, Vec<Note>);

/// Writes events, in order, of alerts of locked organizations. Events of a system that has left the tenant meanwhile
/// are dropped: its history has moved with it.
pub async fn write(tx: &mut Tx, held: &Held, mut notes: Vec<Note>) -> Result<(), StoreError> {
    let systems: BTreeSet<String> = notes.iter().map(|note| note.system_key.clone()).collect();
    let homes = history::homes(tx, &systems).await?;
    notes.retain(|note| homes.get(&note.system_key) == Some(&note.tenant));
    let Some(now) = notes.iter().map(|note| note.event.at).max() else { return Ok(()) };
    let mut alerts: BTreeMap<AlertKey, AlertRows> = BTreeMap::new();
    for note in notes {
        alerts.entry(note.key()).or_default().1.push(note);
    }
    let keys: Vec<AlertKey> = alerts.keys().cloned().collect();
    for stored in history::open_rows(tx, &keys).await? {
        if let Some(alert) = alerts.get_mut(&stored.key) {
            alert.0.push(stored);
        }
    }
    for stored in related(tx, &alerts).await? {
        if let Some(alert) = alerts.get_mut(&stored.key) {
            alert.0.push(stored);
        }
    }
    let (mut rows, mut over) = (Vec::new(), Vec::new());
    for (key, (stored, mut notes)) in alerts {
        keep_to_one_system(&key, &stored, &mut notes);
        let mut occurrences = Occurrences::new(stored.iter().map(occurrence));
        let labels = notes.last().map(|note| note.labels.clone()).unwrap_or_default();
        let system_key = notes.last().map(|note| note.system_key.clone()).unwrap_or_default();
        notes.into_iter().for_each(|note| occurrences.apply(note.event));
        if occurrences.is_over() {
            over.push(key.clone());
        }
        let row = |entry: Kept| row(&key, &system_key, &labels, &stored, entry);
        rows.extend(occurrences.into_changed().map(row));
    }
    history::write(tx, held, rows, now).await?;
    alert_handling::end(tx, &over, now).await
}

/// Stored rows besides the open ones that the events may concern.
async fn related(tx: &mut Tx, alerts: &BTreeMap<AlertKey, AlertRows>) -> Result<Vec<Stored>, StoreError> {
    let (mut started, mut begun) = (Vec::new(), Vec::new());
    for (key, (open, notes)) in alerts.iter().filter(|(_, (open, notes))| !only_refreshes(open, notes)) {
        let ranges = notes.iter().filter_map(|note| note.event.start_range());
        started.extend(ranges.map(|(from, before)| (key.clone(), from, before)));
        let is_delivered = |note: &Note| matches!(note.event.what, AlertEventKind::Delivered { .. });
        if open.is_empty() || notes.len() > 1 || notes.iter().any(is_delivered) {
            begun.extend(notes.iter().filter_map(|note| Some((key.clone(), note.event.what.began_by()?))));
        }
    }
    let mut rows = history::rows_started(tx, &started).await?;
    rows.extend(history::rows_begun_by(tx, &begun).await?);
    Ok(rows)
}

/// Fingerprints of two systems' alerts collide only if a sender made them so on purpose; the system that had the alert
/// first keeps it.
fn keep_to_one_system(key: &AlertKey, stored: &[Stored], notes: &mut Vec<Note>) {
    let first = stored.iter().find(|s| s.is_open).or(stored.first()).map(|s| s.system_key.as_str());
    let Some(whose) = first.or(notes.first().map(|n| n.system_key.as_str())).map(str::to_owned) else {
        return;
    };
    let count = notes.len();
    notes.retain(|note| note.system_key == whose);
    if notes.len() < count {
        tracing::warn!(tenant = %key.0, fingerprint = %key.1, "alerts of two systems collide");
    }
}

/// Whether the events only concern the open row, as is usual.
fn only_refreshes(open: &[Stored], notes: &[Note]) -> bool {
    let refreshes = |row: &Stored, note: &Note| match note.event.what {
        AlertEventKind::Firing { start, .. } => {
            start.is_none_or(|start| start >= row.starts_at && !occurrence(row).has_expired_before(start))
        }
        _ => false,
    };
    open.first().is_some_and(|row| notes.iter().all(|note| refreshes(row, note)))
}

fn occurrence(stored: &Stored) -> Occurrence {
    Occurrence {
        id: Some(stored.id),
        status: if stored.is_open { Status::Firing } else { Status::Resolved },
        starts_at: stored.starts_at,
        ends_at: stored.ends_at,
        expires_at: stored.expires_at,
        receiver: stored.receiver.clone(),
        created_at: stored.created_at,
    }
}

fn row(key: &AlertKey, system_key: &str, labels: &Labels, stored: &[Stored], entry: Kept) -> Write {
    let text = |labels: &Labels| {
        let mut out = String::with_capacity(labels.size() + 64);
        labels.write(&mut out);
        out
    };
    let texts = |annotations: &Labels| Texts {
        summary: summary(annotations).map(str::to_owned),
        annotations: text(annotations),
    };
    Write {
        stored: entry.row.id.and_then(|id| stored.iter().find(|s| s.id == id)).cloned(),
        key: key.clone(),
        system_key: system_key.to_owned(),
        alertname: labels.value("alertname").to_owned(),
        severity: labels.get("severity").filter(|s| !s.is_empty()).map(str::to_owned),
        is_open: entry.row.status == Status::Firing,
        starts_at: entry.row.starts_at,
        ends_at: entry.row.ends_at,
        expires_at: entry.row.expires_at,
        receiver: entry.row.receiver,
        created_at: entry.row.created_at,
        labels: text(labels),
        texts: entry.annotations.as_ref().map(texts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_domain::Ts;

    fn note(system_key: &str) -> Note {
        let event = AlertEvent {
            at: Ts(5),
            what: AlertEventKind::Firing { start: None, until: Ts(9) },
            annotations: Labels::default(),
        };
        Note {
            tenant: OrgId(uuid::Uuid::nil()),
            system_key: system_key.to_owned(),
            fingerprint: "00".to_owned(),
            labels: Labels::default(),
            event,
        }
    }

    fn stored(system_key: &str, is_open: bool) -> Stored {
        let key = note("").key();
        Stored {
            id: 1,
            key,
            system_key: system_key.to_owned(),
            is_open,
            starts_at: Ts(1),
            ends_at: None,
            expires_at: None,
            receiver: None,
            created_at: Ts(1),
        }
    }

    #[test]
    fn of_two_systems_with_one_fingerprint_the_first_one_counts() {
        let kept_keys = |rows: &[Stored], keys: &[&str]| {
            let mut notes: Vec<Note> = keys.iter().map(|key| note(key)).collect();
            keep_to_one_system(&note("").key(), rows, &mut notes);
            notes.into_iter().map(|n| n.system_key).collect::<String>()
        };
        assert_eq!(kept_keys(&[], &["A", "B", "A"]), "AA");
        assert_eq!(kept_keys(&[stored("B", true)], &["A", "B", "A"]), "B");
        assert_eq!(kept_keys(&[stored("B", false), stored("A", true)], &["A", "B"]), "A");
        assert_eq!(kept_keys(&[stored("B", false)], &["A"]), "");
    }
}
