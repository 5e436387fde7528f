//! Answers of a remote router: decoded, completed, and never passed on unchanged (spec: alerts#answers,
//! alert-router#remote-rules).

use crate::{
    Labels,
    active_silence::{ActiveSilence, Expressions, silenced_by},
    listing::{AlertState, ListedAlert, ListedSilence},
};
use serde::Deserialize;
use std::fmt;
use uuid::Uuid;

/// The router sent something that cannot be read; the text is for the log.
#[derive(Debug)]
pub struct Unreadable(serde_json::Error);

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unreadable answer of the alert router: {}", self.0)
    }
}

impl std::error::Error for Unreadable {}

/// Reads a list of alerts; `null` is an empty one.
pub fn decode_alerts(body: &[u8]) -> Result<Vec<ListedAlert>, Unreadable> {
    let list: Option<Vec<ListedAlert>> = serde_json::from_slice(body).map_err(Unreadable)?;
    Ok(list.unwrap_or_default())
}

/// Reads a list of silences; `null` is an empty one.
pub fn decode_silences(body: &[u8]) -> Result<Vec<ListedSilence>, Unreadable> {
    let list: Option<Vec<ListedSilence>> = serde_json::from_slice(body).map_err(Unreadable)?;
    Ok(list.unwrap_or_default())
}

/// Reads one silence.
pub fn decode_silence(body: &[u8]) -> Result<ListedSilence, Unreadable> {
    serde_json::from_slice(body).map_err(Unreadable)
}

/// Reads the id from the answer to a POST of a silence.
pub fn decode_created(body: &[u8]) -> Result<Uuid, Unreadable> {
    #[derive(Deserialize)]
    struct Created {
        #[serde(rename = "silenceID")]
        silence_id: Uuid,
    }
    serde_json::from_slice::<Created>(body).map(|c| c.silence_id).map_err(Unreadable)
}

/// Computes the status of alerts if the router leaves it out: suppressed by an active silence of the tenant or by
/// inhibition, else active.
pub fn complete_status(alerts: &mut [ListedAlert], silences: &[ActiveSilence], expressions: &Expressions) {
    let mut open: Vec<&mut ListedAlert> =
        alerts.iter_mut().filter(|a| a.status.state == AlertState::Unprocessed).collect();
    let sets: Vec<&Labels> = open.iter().map(|a| &a.labels).collect();
    let silenced = silenced_by(&sets, silences, expressions);
    for (alert, silenced_by) in open.iter_mut().zip(silenced) {
        let suppressed = !silenced_by.is_empty() || !alert.status.inhibited_by.is_empty();
        alert.status.silenced_by = silenced_by;
        alert.status.state = if suppressed { AlertState::Suppressed } else { AlertState::Active };
    }
}

/// Whether a 4xx body of a POST may be passed on: only a JSON string or exactly `{"code","message"}`, at most 4 KiB
/// (spec: alerts#proxy-errors). The answer is written again from the parsed value.
pub fn passable_refusal(status: u16, body: &[u8]) -> Option<crate::Reject> {
    #[derive(Deserialize)]
    #[serde(untagged, deny_unknown_fields)]
    enum Body {
        Text(String),
        Coded { code: u16, message: String },
    }
    if !matches!(status, 400 | 404 | 422) || body.len() > 4096 {
        return None;
    }
    let body = match serde_json::from_slice(body).ok()? {
        Body::Text(text) => crate::RejectBody::Text(text),
        Body::Coded { code, message } => crate::RejectBody::Coded { code, message },
    };
    Some(crate::Reject { status, body })
}

#[cfg(test)]
mod tests;
