//! What Alertmanager tools send and get (spec: alerts#system-interface), for the interface document only: the proxy
//! reads and writes these in `bailiwick_alerting`. Fields of other programs are taken and left out.

use serde_json::Value;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// Alerts that fire or have ended; null is none.
#[derive(Debug, ToSchema)]
pub struct PushedAlerts(pub Option<Vec<PushedAlert>>);

/// An alert that fires or has ended.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct PushedAlert {
    /// Identifying labels; `alertname` is its name.
    pub labels: BTreeMap<String, String>,
    /// What is said of it.
    pub annotations: Option<BTreeMap<String, String>>,
    /// Since when (RFC 3339 or a date); now unless said.
    pub starts_at: Option<String>,
    /// When it has ended, or will end unless it is sent again (RFC 3339 or a date).
    pub ends_at: Option<String>,
    /// Where it was found.
    #[schema(rename = "generatorURL")]
    pub generator_url: Option<String>,
}

/// Alerts as they are listed.
#[derive(Debug, ToSchema)]
pub struct ShownAlerts(pub Vec<ShownAlert>);

/// An alert as it is listed.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct ShownAlert {
    /// Identifying labels.
    pub labels: BTreeMap<String, String>,
    /// What is said of it.
    pub annotations: BTreeMap<String, String>,
    /// Since when.
    #[schema(format = DateTime)]
    pub starts_at: String,
    /// When it ends.
    #[schema(format = DateTime)]
    pub ends_at: String,
    /// When it was sent last.
    #[schema(format = DateTime)]
    pub updated_at: String,
    /// Digest of its labels.
    pub fingerprint: String,
    /// The receivers that would be notified.
    pub receivers: Vec<RouterReceiver>,
    /// Whether any of them is.
    pub status: ShownAlertStatus,
    /// Where it was found.
    #[schema(rename = "generatorURL")]
    pub generator_url: Option<String>,
}

/// Whether an alert notifies a receiver.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct ShownAlertStatus {
    /// `active`, `suppressed` or `unprocessed`.
    pub state: String,
    /// Ids of silences.
    pub silenced_by: Vec<String>,
    /// Fingerprints of alerts.
    pub inhibited_by: Vec<String>,
    /// Names of time intervals.
    #[schema(required = false)]
    pub muted_by: Vec<String>,
}

/// Groups of alerts.
#[derive(Debug, ToSchema)]
pub struct ShownAlertGroups(pub Vec<ShownAlertGroup>);

/// Alerts that are notified together.
#[derive(Debug, ToSchema)]
pub struct ShownAlertGroup {
    /// What they have in common.
    pub labels: BTreeMap<String, String>,
    /// The receivers that would be notified.
    pub receiver: RouterReceiver,
    /// The alerts.
    pub alerts: Vec<ShownAlert>,
}

/// Receivers.
#[derive(Debug, ToSchema)]
pub struct RouterReceivers(pub Vec<RouterReceiver>);

/// A receiver; its real name is not disclosed.
#[derive(Debug, ToSchema)]
pub struct RouterReceiver {
    /// Name.
    pub name: String,
}

/// A condition on a label.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct SilenceMatcher {
    /// Label.
    pub name: String,
    /// Value or pattern.
    pub value: String,
    /// Whether it is a pattern (RE2).
    pub is_regex: bool,
    /// False: it must not match; true unless said.
    #[schema(required = false)]
    pub is_equal: bool,
}

/// A silence to create, or with an id to change.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct SilenceToSet {
    /// The one to change.
    pub id: Option<String>,
    /// All must hold.
    pub matchers: Vec<SilenceMatcher>,
    /// From when (RFC 3339).
    pub starts_at: String,
    /// Until when (RFC 3339).
    pub ends_at: String,
    /// The author.
    pub created_by: String,
    /// Why.
    pub comment: String,
}

/// A silence that was set.
#[derive(Debug, ToSchema)]
pub struct SilenceSet {
    /// Its id from now on.
    #[schema(rename = "silenceID")]
    pub silence_id: String,
}

/// Silences.
#[derive(Debug, ToSchema)]
pub struct ShownSilences(pub Vec<ShownSilence>);

/// A silence.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct ShownSilence {
    /// Id.
    pub id: String,
    /// All must hold.
    pub matchers: Vec<SilenceMatcher>,
    /// From when.
    #[schema(format = DateTime)]
    pub starts_at: String,
    /// Until when.
    #[schema(format = DateTime)]
    pub ends_at: String,
    /// Last change.
    #[schema(format = DateTime)]
    pub updated_at: String,
    /// The author.
    pub created_by: String,
    /// Why.
    pub comment: String,
    /// Whether it holds now.
    pub status: ShownSilenceStatus,
}

/// Whether a silence holds now.
#[derive(Debug, ToSchema)]
pub struct ShownSilenceStatus {
    /// `active`, `pending` or `expired`.
    pub state: String,
}

/// State of the router; nothing of its configuration.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct RouterStatus {
    /// Its cluster.
    pub cluster: BTreeMap<String, Value>,
    /// Versions of its parts.
    pub version_info: BTreeMap<String, String>,
    /// Its configuration, which is not shown.
    pub config: BTreeMap<String, Value>,
    /// Since when it runs.
    #[schema(format = DateTime)]
    pub uptime: String,
}

/// What an Alertmanager sends to a webhook; more fields are ignored.
#[derive(Debug, ToSchema)]
pub struct WebhookMessage {
    /// Name of the receiver.
    #[schema(required = false)]
    pub receiver: String,
    /// The alerts; those that are not resolved are left out.
    pub alerts: Option<Vec<WebhookAlert>>,
}

/// An alert in the body of a webhook.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct WebhookAlert {
    /// `resolved` or `firing`.
    #[schema(required = false)]
    pub status: String,
    /// Identifying labels; `system_key` names its system.
    #[schema(required = false)]
    pub labels: BTreeMap<String, String>,
    /// What is said of it.
    #[schema(required = false)]
    pub annotations: BTreeMap<String, String>,
    /// Since when.
    pub starts_at: Option<String>,
    /// Until when.
    pub ends_at: Option<String>,
}
