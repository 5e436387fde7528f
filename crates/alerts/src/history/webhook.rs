//! The second source of the alert history: notifications that a remote router sends to a webhook of the service (spec:
//! alerts#history-webhook).

use super::{Note, write};
use crate::Alerts;
use aws_lc_rs::constant_time::verify_slices_are_equal;
use bailiwick_alertmanager::{
    Fingerprint, Labels, Nanos,
    history::{AlertEvent, AlertEventKind},
};
use bailiwick_domain::{Error, OrgId, Result, Ts, json};
use bailiwick_store::history;
use serde::Deserialize;
use serde_json::Value;
use std::{collections::BTreeSet, time::Duration};

/// Alerts of one delivery.
const ALERTS: usize = 1000;
/// Time limit for storing them: a router gives up after ten seconds and retries.
const TIME: Duration = Duration::from_secs(8);

/// Whether the caller may report resolved alerts; `authorization` is the header.
///
/// # Errors
/// 503 without a configured secret, 401 unless the header has it.
pub fn admit(service: &Alerts, authorization: Option<&str>) -> Result<()> {
    let Some(secret) = &service.settings.alerting.history_secret else {
        return Err(Error::Unavailable {
            message: "webhook authentication not configured".into(),
            log: "alerting.history_webhook.secret is not set".to_owned(),
        });
    };
    let shown = authorization.and_then(|text| {
        let (scheme, token) = text.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    let is_right = shown
        .is_some_and(|token| verify_slices_are_equal(token.as_bytes(), secret.reveal().as_bytes()).is_ok());
    if is_right {
        return Ok(());
    }
    Err(Error::Unauthenticated { message: "authentication required".into(), data: Value::Null })
}

/// The fields of a delivery that are used.
#[derive(Deserialize)]
struct Delivery {
    #[serde(default)]
    receiver: String,
    #[serde(default)]
    alerts: Option<Vec<Value>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReportedAlert {
    #[serde(default)]
    status: String,
    #[serde(default)]
    labels: Labels,
    #[serde(default)]
    annotations: Labels,
    #[serde(default)]
    starts_at: Option<String>,
    #[serde(default)]
    ends_at: Option<String>,
}

/// A time; the zero time says nothing.
fn time(sent: Option<&str>) -> Result<Option<Ts>> {
    let Some(text) = sent.filter(|text| !text.is_empty()) else { return Ok(None) };
    let time = Nanos::parse(text).ok_or_else(|| unreadable("a time is no date-time"))?;
    Ok(Some(time).filter(|t| !t.is_zero_time()).map(Nanos::to_ts))
}

fn unreadable(reason: &str) -> Error {
    Error::bad_request(format!("invalid request body: {reason}"))
}

/// Stores the resolved alerts of systems that the service knows.
///
/// # Errors
/// 400 for a body that cannot be read, 413 for too many alerts; 500 when it is not stored in time.
pub async fn save(service: &Alerts, body: &[u8]) -> Result<()> {
    let body = json::without_mark(body);
    let malformed = || json::fault(body).map(|fault| unreadable(&format!("malformed JSON: {fault}")));
    // serde would take an array for a structure, field by field.
    if body.trim_ascii_start().first().is_some_and(|b| *b != b'{') {
        return Err(malformed().unwrap_or_else(|| unreadable("must be a JSON object")));
    }
    let delivery: Delivery = serde_json::from_slice(body).map_err(|e| {
        let malformed = if e.is_data() { None } else { malformed() };
        let wrong_type = || unreadable(&format!("wrong type at line {} column {}", e.line(), e.column()));
        malformed.unwrap_or_else(wrong_type)
    })?;
    let alerts = delivery.alerts.unwrap_or_default();
    if alerts.len() > ALERTS {
        return Err(Error::TooLarge { message: "too many alerts in payload".into(), data: Value::Null });
    }
    let receiver = clean(&delivery.receiver);
    let mut sent = Vec::new();
    for (index, alert) in alerts.into_iter().enumerate() {
        let wrong = || unreadable(&format!("wrong type in alerts[{index}]"));
        let alert: ReportedAlert = match alert {
            Value::Object(_) => serde_json::from_value(alert).map_err(|_| wrong())?,
            _ => return Err(wrong()),
        };
        let mut labels = tidy(&alert.labels);
        labels.retain(|_, value| !value.is_empty());
        let system_key = labels.value("system_key").to_owned();
        if !alert.status.eq_ignore_ascii_case("resolved") || system_key.is_empty() {
            continue;
        }
        sent.push(ResolvedAlert { system_key, labels, alert });
    }
    if sent.is_empty() {
        return Ok(());
    }
    match tokio::time::timeout(TIME, commit(service, sent, &receiver)).await {
        Ok(stored) => stored,
        Err(_) => Err(Error::Unavailable {
            message: "service temporarily unavailable".into(),
            log: format!("no commit within {} s", TIME.as_secs_f64()),
        }),
    }
}

/// Something that was resolved and names a system.
struct ResolvedAlert {
    system_key: String,
    labels: Labels,
    alert: ReportedAlert,
}

impl ResolvedAlert {
    /// The event of an alert whose system the service knows. Only then are its times read: alerts of other senders may
    /// have any content.
    fn note(self, tenant: OrgId, at: Ts, receiver: &str) -> Result<Note> {
        let (start, end) = (time(self.alert.starts_at.as_deref())?, time(self.alert.ends_at.as_deref())?);
        let what = AlertEventKind::Delivered { start, end, receiver: receiver.to_owned() };
        Ok(Note {
            tenant,
            fingerprint: Fingerprint::of(&self.labels).to_string(),
            system_key: self.system_key,
            labels: self.labels,
            event: AlertEvent { at, what, annotations: tidy(&self.alert.annotations) },
        })
    }
}

/// Removes the characters that the database cannot store in a text.
fn clean(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

fn tidy(labels: &Labels) -> Labels {
    Labels::from_pairs(labels.iter().map(|(name, value)| (clean(name), clean(value))).collect())
}

async fn commit(service: &Alerts, sent: Vec<ResolvedAlert>, receiver: &str) -> Result<()> {
    let at = service.platform.now();
    let mut tx = service.platform.db.begin_relaxed().await?;
    let systems: BTreeSet<String> = sent.iter().map(|one| one.system_key.clone()).collect();
    let homes = history::homes(&mut tx, &systems).await?;
    let mut notes = Vec::with_capacity(sent.len());
    for one in sent {
        // The organization comes from the stored system, not from the alert's label.
        if let Some(home) = homes.get(&one.system_key) {
            notes.push(one.note(*home, at, receiver)?);
        }
    }
    let held = history::lock_for_writing(&mut tx, notes.iter().map(|note| note.tenant)).await?;
    write(&mut tx, &held, notes).await?;
    Ok(tx.commit().await?)
}
