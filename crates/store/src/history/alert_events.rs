//! Events of alerts that begin to fire and end, written with the rows of the history. A refresh is no event.

use super::{NAME_CHARS, Write};
use crate::{
    StoreError, Tx,
    alert_rows::AlertKey,
    events::{self, About, NewEvent, SYSTEM},
};
use bailiwick_domain::{EventTopic, Happening, Ts};
use serde_json::json;

/// The data of an alert's event.
pub(super) struct AlertFacts<'a> {
    pub(super) key: &'a AlertKey,
    pub(super) system_key: &'a str,
    pub(super) alertname: &'a str,
    pub(super) severity: Option<&'a str>,
    pub(super) starts_at: Ts,
    pub(super) ends_at: Option<Ts>,
    pub(super) at: Ts,
}

/// Writes the events of rows that begin, begin again or end.
pub(super) async fn written(tx: &mut Tx, rows: &[Write]) -> Result<(), StoreError> {
    let events: Vec<NewEvent> = rows
        .iter()
        .filter(|row| row.stored.as_ref().is_none_or(|stored| stored.is_open != row.is_open))
        .map(|row| {
            let facts = AlertFacts {
                key: &row.key,
                system_key: &row.system_key,
                alertname: &row.alertname,
                severity: row.severity.as_deref(),
                starts_at: row.starts_at,
                ends_at: row.ends_at,
                at: row.created_at,
            };
            event(row.is_open, &facts)
        })
        .collect();
    events::write(tx, &events).await
}

/// Labels may be long; events shorten them.
fn short(text: &str) -> String {
    text.chars().take(NAME_CHARS).collect()
}

pub(super) fn event(is_open: bool, alert: &AlertFacts<'_>) -> NewEvent {
    NewEvent {
        at: alert.at,
        kind: EventTopic::Alert.kind(if is_open { Happening::Firing } else { Happening::Resolved }),
        organization: Some(alert.key.0),
        about: About::SystemKey(alert.system_key.to_owned()),
        object_id: alert.key.1.clone(),
        subject: Some(format!("/systems/{SYSTEM}/alerts/history")),
        data: json!({
            "fingerprint": alert.key.1, "alertname": short(alert.alertname),
            "severity": alert.severity.map(short),
            "system_key": alert.system_key, "started_at": alert.starts_at, "ended_at": alert.ends_at,
        }),
    }
}
