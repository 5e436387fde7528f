//! Recipients that the last notification did not reach, for the view of a layer.

use crate::Alerts;
use aws_lc_rs::digest::{SHA256, digest};
use bailiwick_alertmanager::{
    config::Layer,
    receivers::{AnyRecipient, RecipientKind},
};
use bailiwick_domain::{Result, Ts};
use bailiwick_store::delivery::notification_log;

/// 32 hex digits of a text.
pub(crate) fn short_digest(text: &str) -> String {
    digest(&SHA256, text.as_bytes()).as_ref().iter().take(16).map(|b| format!("{b:02x}")).collect()
}

/// Identifies a recipient where its address must not be shown.
pub(crate) fn digest_of(recipient: &AnyRecipient) -> String {
    short_digest(&format!("{}\n{}", recipient.kind().as_str(), recipient.key()))
}

/// A recipient that the last notification did not reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastFailure {
    /// The channel, such as `email`.
    pub channel: &'static str,
    /// The address of an e-mail recipient, the number of a Telegram chat, the name of any other: no secret.
    pub recipient: String,
    /// Why, in words of the service.
    pub reason: String,
    /// When.
    pub at: Ts,
}

impl std::fmt::Display for LastFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let LastFailure { channel, recipient, reason, at } = self;
        write!(f, "{channel} {recipient}: delivery failed at {}: {reason}", at.rfc3339(0))
    }
}

/// The recipients of a layer, overrides included, that the last notification of any tenant did not reach. One
/// statement.
///
/// # Errors
/// The database's.
pub async fn last_failures(service: &Alerts, layer: &Layer) -> Result<Vec<LastFailure>> {
    let mut recipients: Vec<(String, &'static str, String)> = Vec::new();
    for channels in layer.all_channels() {
        for recipient in RecipientKind::ALL.iter().flat_map(|kind| channels.recipients(*kind)) {
            recipients.push((digest_of(&recipient), recipient.kind().as_str(), recipient.name()));
        }
    }
    let ids: Vec<String> = recipients.iter().map(|(id, ..)| id.clone()).collect();
    let failed = notification_log::failures(&service.platform.db, &ids).await?;
    let mut failures: Vec<LastFailure> = Vec::new();
    for (id, channel, recipient) in recipients {
        if let Some(f) = failed.iter().find(|f| f.recipient == id) {
            let one = LastFailure { channel, recipient, reason: f.reason.clone(), at: f.failed_at };
            if !failures.contains(&one) {
                failures.push(one);
            }
        }
    }
    Ok(failures)
}
