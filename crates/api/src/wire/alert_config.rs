//! Alert configuration (spec: alert-configuration#layers). The layer form and the flat form of older clients.

use super::alert_channels::AlertLayer;
use bailiwick_alertmanager::{
    config::{FlatView, Layer},
    receivers::RecipientKind,
};
use bailiwick_alerts::{
    config::{EffectiveView, LayerView, LinkView, Saved},
    notify::{TestOrder, TestOutcome},
};
use bailiwick_domain::{OrgType, Ts};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The severity of an alert.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "lowercase")]
pub enum AlertSeverity {
    /// `critical`.
    Critical,
    /// `warning`.
    Warning,
    /// `info`. A missing or unknown severity counts as this one.
    Info,
}

/// The language of notifications.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "lowercase")]
pub enum AlertLanguage {
    /// English.
    En,
    /// Italian.
    It,
}

/// A webhook in the flat form.
#[derive(ToSchema)]
pub struct AlertFlatWebhook {
    /// Name of the webhook.
    pub name: String,
    /// Address that alerts are posted to.
    pub url: String,
}

// Secrets do not print.
impl std::fmt::Debug for AlertFlatWebhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AlertFlatWebhook").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A Telegram chat in the flat form.
#[derive(ToSchema)]
pub struct AlertFlatTelegram {
    /// Token of the bot that writes.
    pub bot_token: String,
    /// Id of the chat that the bot writes to.
    pub chat_id: i64,
}

// Secrets do not print.
impl std::fmt::Debug for AlertFlatTelegram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AlertFlatTelegram").field("chat_id", &self.chat_id).finish_non_exhaustive()
    }
}

/// What is different for one severity or one system in the flat form. The values of a system come before those of a
/// severity, and these before the general ones.
#[derive(Debug, ToSchema)]
pub struct AlertFlatEntry {
    /// The severity. Only in `severities`.
    #[schema(required = false)]
    pub severity: AlertSeverity,
    /// Key of the system. Only in `systems`.
    #[schema(required = false)]
    pub system_key: String,
    /// Whether e-mail is on; null means no difference.
    pub mail_enabled: Option<bool>,
    /// Whether webhooks are on; null means no difference.
    pub webhook_enabled: Option<bool>,
    /// Whether Telegram is on; null means no difference.
    pub telegram_enabled: Option<bool>,
    /// E-mail addresses that are notified; empty means no difference.
    #[schema(required = false)]
    pub mail_addresses: Vec<String>,
    /// Webhooks that are notified; empty means no difference.
    #[schema(required = false)]
    pub webhook_receivers: Vec<AlertFlatWebhook>,
    /// Telegram chats that are notified; empty means no difference.
    #[schema(required = false)]
    pub telegram_receivers: Vec<AlertFlatTelegram>,
}

/// The recipients of an organization's alerts in the flat form, for older clients.
#[derive(Debug, ToSchema)]
pub struct AlertFlatConfig {
    /// Whether e-mail is on.
    pub mail_enabled: bool,
    /// Whether webhooks are on.
    pub webhook_enabled: bool,
    /// Whether Telegram is on.
    pub telegram_enabled: bool,
    /// E-mail addresses that are notified.
    pub mail_addresses: Vec<String>,
    /// Webhooks that are notified.
    pub webhook_receivers: Vec<AlertFlatWebhook>,
    /// Telegram chats that are notified.
    pub telegram_receivers: Vec<AlertFlatTelegram>,
    /// What is different for single severities.
    pub severities: Vec<AlertFlatEntry>,
    /// What is different for single systems.
    pub systems: Vec<AlertFlatEntry>,
    /// Language of all notifications.
    pub email_template_lang: AlertLanguage,
}

/// The recipients of an organization's alerts, in one of two forms. Other fields are ignored.
#[derive(Debug, ToSchema)]
#[serde(untagged)]
pub enum AlertConfigInput {
    /// The layer form, for new clients.
    Layer(Box<AlertLayer>),
    /// The flat form, for older clients.
    Flat(Box<AlertFlatConfig>),
}

/// The recipients of an organization's alerts: its layer, or the generated YAML.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum AlertConfigOutput {
    /// The layer, unless the request has `format=yaml`.
    Layer(Box<AlertLayerOutput>),
    /// The generated YAML, if the request has `format=yaml`.
    Yaml(AlertYamlOutput),
}

/// The layer of an organization: the recipients of alerts that it has saved itself.
#[derive(Debug, Serialize, ToSchema)]
pub struct AlertLayerOutput {
    /// The layer. Its toggles are null and its lists empty when none was saved.
    #[serde(flatten)]
    #[schema(value_type = AlertLayer)]
    layer: Layer,
    /// Name of the user who last saved the layer; null when none was saved.
    pub updated_by_name: Option<String>,
    /// When the layer was last saved; null when none was saved.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub updated_at: Option<Ts>,
    /// Settings of the layer that have no effect, and recipients that the last notification did not reach.
    pub warnings: Vec<String>,
    /// The layer in the flat form, for older clients; null when none was saved.
    #[schema(value_type = Option<AlertFlatConfig>)]
    config: Option<FlatView>,
}

impl From<LayerView> for AlertLayerOutput {
    fn from(shown: LayerView) -> AlertLayerOutput {
        let LayerView { layer, flat, updated_by_name, updated_at, warnings, version: _ } = shown;
        AlertLayerOutput { layer, updated_by_name, updated_at, warnings, config: flat }
    }
}

/// The generated configuration of an organization's alerts.
#[derive(Debug, Serialize, ToSchema)]
pub struct AlertYamlOutput {
    /// The configuration as YAML, without secrets; null when the organization has no recipients.
    pub config: Option<String>,
}

/// The effect of a change to an organization's layer.
#[derive(Debug, Serialize, ToSchema)]
pub struct AlertPropagationOutput {
    /// Settings that have no effect, and organizations that the change has not reached yet.
    pub warnings: Vec<String>,
    /// Number of organizations for which the change is in force.
    pub propagated_to: u64,
    /// Number of organizations that the change concerns: the organization and those below it.
    pub affected_tenants: u64,
}

impl From<Saved> for AlertPropagationOutput {
    fn from(done: Saved) -> AlertPropagationOutput {
        // The warnings name the closed channels too.
        let Saved { warnings, propagated_to, affected_tenants, closed: _ } = done;
        AlertPropagationOutput { warnings, propagated_to, affected_tenants }
    }
}

/// The recipient of a test message.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct AlertTestInput {
    /// Channel of the recipient, such as `email`.
    #[schema(required = true, nullable = false, extensions(("x-enum" = json!(channels()))))]
    pub channel: Option<String>,
    /// Address of an e-mail recipient, id of a Telegram chat, or name of any other recipient.
    #[schema(required = true, nullable = false)]
    pub recipient: Option<String>,
}

fn channels() -> Vec<&'static str> {
    RecipientKind::ALL.iter().map(|kind| kind.as_str()).collect()
}

impl From<AlertTestInput> for TestOrder {
    fn from(i: AlertTestInput) -> TestOrder {
        TestOrder { channel: i.channel.unwrap_or_default(), recipient: i.recipient.unwrap_or_default() }
    }
}

/// The result of a test message.
#[derive(Debug, Serialize, ToSchema)]
pub struct AlertTestOutput {
    /// Channel of the recipient, such as `email`.
    pub channel: &'static str,
    /// Address of an e-mail recipient, id of a Telegram chat, or name of any other recipient.
    pub recipient: String,
    /// Whether the message was delivered.
    pub delivered: bool,
    /// Why the message was not delivered; null if it was.
    pub error: Option<String>,
}

impl From<TestOutcome> for AlertTestOutput {
    fn from(outcome: TestOutcome) -> AlertTestOutput {
        let TestOutcome { channel, recipient, error } = outcome;
        AlertTestOutput { channel, recipient, delivered: error.is_none(), error }
    }
}

/// An organization whose layer contributes to the recipients in force.
#[derive(Debug, Serialize, ToSchema)]
pub struct AlertChainLink {
    /// Id of the organization.
    pub organization_id: String,
    /// Name of the organization.
    pub organization_name: String,
    /// Level of the organization: `owner`, `distributor`, `reseller` or `customer`.
    #[schema(extensions(("x-enum" = json!(OrgType::ALL.map(OrgType::as_str)))))]
    pub organization_role: &'static str,
    /// Whether the organization has saved a layer.
    pub has_layer: bool,
    /// Its layer without secrets; null when none was saved. Recipients of organizations above the caller's are
    /// `[REDACTED]`.
    #[schema(value_type = Option<AlertLayer>)]
    layer: Option<Layer>,
    /// Name of the user who last saved the layer; null when none was saved, or the organization is above the caller's.
    pub updated_by_name: Option<String>,
    /// When the layer was last saved; null when none was saved.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub updated_at: Option<Ts>,
}

impl From<LinkView> for AlertChainLink {
    fn from(link: LinkView) -> AlertChainLink {
        AlertChainLink {
            organization_id: link.organization_id.to_string(),
            organization_name: link.organization_name,
            organization_role: link.org_type.as_str(),
            has_layer: link.layer.is_some(),
            layer: link.layer,
            updated_by_name: link.updated_by_name,
            updated_at: link.updated_at,
        }
    }
}

/// The recipients in force for an organization's alerts, and the layers that they come from.
#[derive(Debug, Serialize, ToSchema)]
pub struct AlertEffectiveOutput {
    /// Id of the organization.
    pub organization_id: String,
    /// The organizations from the owner down to this one.
    pub chain: Vec<AlertChainLink>,
    /// The recipients in force: all layers merged.
    #[schema(value_type = AlertLayer)]
    effective: Layer,
    /// The generated configuration as YAML, without secrets; null when the organization has no recipients.
    pub yaml: Option<String>,
}

impl From<EffectiveView> for AlertEffectiveOutput {
    fn from(view: EffectiveView) -> AlertEffectiveOutput {
        AlertEffectiveOutput {
            organization_id: view.organization_id.to_string(),
            chain: view.chain.into_iter().map(Into::into).collect(),
            effective: view.effective,
            yaml: view.yaml,
        }
    }
}
