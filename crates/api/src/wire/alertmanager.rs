//! What Alertmanager tools send and get (spec: alerts#system-interface), for the interface document only: the proxy
//! reads and writes these in `bailiwick_alertmanager`. Fields of other programs are taken and left out.

use bailiwick_alertmanager::{AlertState, SilenceState};
use serde_json::Value;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// Alerts that fire or are resolved. Null means none.
#[derive(Debug, ToSchema)]
pub struct PushedAlerts(pub Option<Vec<PushedAlert>>);

/// An alert that fires or is resolved.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct PushedAlert {
    /// Labels that identify the alert; `alertname` is its name.
    pub labels: BTreeMap<String, String>,
    /// Texts that describe the alert.
    pub annotations: Option<BTreeMap<String, String>>,
    /// When the alert began to fire, in RFC 3339 or as a date; now if absent.
    pub starts_at: Option<String>,
    /// When the alert ended, or when it ends unless it is sent again; in RFC 3339 or as a date.
    pub ends_at: Option<String>,
    /// Address of whatever raised the alert.
    #[schema(rename = "generatorURL")]
    pub generator_url: Option<String>,
}

/// A list of alerts.
#[derive(Debug, ToSchema)]
pub struct ShownAlerts(pub Vec<ShownAlert>);

/// An alert in a list.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct ShownAlert {
    /// Labels that identify the alert.
    pub labels: BTreeMap<String, String>,
    /// Texts that describe the alert.
    pub annotations: BTreeMap<String, String>,
    /// When the alert began to fire.
    #[schema(format = DateTime)]
    pub starts_at: String,
    /// When the alert is resolved unless its sender refreshes it before.
    #[schema(format = DateTime)]
    pub ends_at: String,
    /// When the alert was last pushed.
    #[schema(format = DateTime)]
    pub updated_at: String,
    /// Digest of the labels, which identifies the alert.
    pub fingerprint: String,
    /// The receivers that would be notified.
    pub receivers: Vec<RouterReceiver>,
    /// The state of the alert, with its causes.
    pub status: ShownAlertStatus,
    /// Address of whatever raised the alert. Absent when there is none.
    #[schema(rename = "generatorURL")]
    pub generator_url: Option<String>,
}

/// The state of an alert, with its causes.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct ShownAlertStatus {
    /// State: `active`, `suppressed` (it causes no notifications) or `unprocessed`.
    #[schema(extensions(("x-enum" = json!(AlertState::ALL))))]
    pub state: String,
    /// Ids of the silences that suppress the alert.
    pub silenced_by: Vec<String>,
    /// Fingerprints of the alerts that inhibit this one.
    pub inhibited_by: Vec<String>,
    /// Names of the time intervals that mute the alert.
    #[schema(required = false)]
    pub muted_by: Vec<String>,
}

/// A list of groups of alerts.
#[derive(Debug, ToSchema)]
pub struct ShownAlertGroups(pub Vec<ShownAlertGroup>);

/// Alerts that are notified together.
#[derive(Debug, ToSchema)]
pub struct ShownAlertGroup {
    /// Labels that the alerts have in common.
    pub labels: BTreeMap<String, String>,
    /// The receiver that would be notified.
    pub receiver: RouterReceiver,
    /// The alerts of the group.
    pub alerts: Vec<ShownAlert>,
}

/// A list of receivers.
#[derive(Debug, ToSchema)]
pub struct RouterReceivers(pub Vec<RouterReceiver>);

/// A receiver of notifications. Its real name is not shown.
#[derive(Debug, ToSchema)]
pub struct RouterReceiver {
    /// Neutral name of the receiver: `default`.
    pub name: String,
}

/// A condition on one label.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct SilenceMatcher {
    /// Name of the label.
    pub name: String,
    /// Value or regular expression that the label is compared with.
    pub value: String,
    /// Whether `value` is a regular expression (RE2).
    pub is_regex: bool,
    /// Whether the label must match; true by default. If false, it must not match.
    #[schema(required = false)]
    pub is_equal: bool,
}

/// A silence to create, or to change if it has an id.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct SilenceToSet {
    /// Id of the silence to change.
    pub id: Option<String>,
    /// Conditions on the labels of an alert, all of which must hold.
    pub matchers: Vec<SilenceMatcher>,
    /// When the silence begins, in RFC 3339. A time in the past means now.
    pub starts_at: String,
    /// When the silence ends, in RFC 3339.
    pub ends_at: String,
    /// Name of the person or program that creates the silence.
    pub created_by: String,
    /// Why the alerts are silenced.
    pub comment: String,
}

/// The id of a silence that was created or changed.
#[derive(Debug, ToSchema)]
pub struct SilenceSet {
    /// Id that is valid from now on. A change can give a silence a new id.
    #[schema(rename = "silenceID")]
    pub silence_id: String,
}

/// A list of silences.
#[derive(Debug, ToSchema)]
pub struct ShownSilences(pub Vec<ShownSilence>);

/// A silence. Alerts that match it cause no notifications while it is active.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct ShownSilence {
    /// Unique identifier of the silence.
    pub id: String,
    /// Conditions on the labels of an alert, all of which must hold.
    pub matchers: Vec<SilenceMatcher>,
    /// When the silence begins.
    #[schema(format = DateTime)]
    pub starts_at: String,
    /// When the silence ends.
    #[schema(format = DateTime)]
    pub ends_at: String,
    /// When the silence was last changed.
    #[schema(format = DateTime)]
    pub updated_at: String,
    /// Name of the person or program that created the silence.
    pub created_by: String,
    /// Why the alerts are silenced.
    pub comment: String,
    /// The state of the silence.
    pub status: ShownSilenceStatus,
}

/// The state of a silence.
#[derive(Debug, ToSchema)]
pub struct ShownSilenceStatus {
    /// State at present: `active`, `pending` (not begun yet) or `expired`.
    #[schema(extensions(("x-enum" = json!(SilenceState::ALL))))]
    pub state: String,
}

/// The status of the alert router, without its configuration.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct RouterStatus {
    /// State of the cluster; always `ready`, without peers.
    pub cluster: BTreeMap<String, Value>,
    /// Versions of the router and its parts.
    pub version_info: BTreeMap<String, String>,
    /// A neutral configuration: the real one is not shown.
    pub config: BTreeMap<String, Value>,
    /// When the service started.
    #[schema(format = DateTime)]
    pub uptime: String,
}

/// A message that an Alertmanager sends to a webhook. Other fields are ignored.
#[derive(Debug, ToSchema)]
pub struct WebhookMessage {
    /// Name of the receiver that was notified.
    #[schema(required = false)]
    pub receiver: String,
    /// The alerts. Only resolved ones are used.
    pub alerts: Option<Vec<WebhookAlert>>,
}

/// An alert in the message to a webhook.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct WebhookAlert {
    /// State: `resolved` or `firing`.
    #[schema(required = false)]
    pub status: String,
    /// Labels that identify the alert; `system_key` names its system.
    #[schema(required = false)]
    pub labels: BTreeMap<String, String>,
    /// Texts that describe the alert.
    #[schema(required = false)]
    pub annotations: BTreeMap<String, String>,
    /// When the alert began to fire.
    pub starts_at: Option<String>,
    /// When the alert ended.
    pub ends_at: Option<String>,
}
