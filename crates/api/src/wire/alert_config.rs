//! Alert configuration (spec: alert-configuration#layers). The layer form and the flat form of older clients.

use super::alert_channels::AlertLayer;
use bailiwick_alerting::config::{FlatView, Layer};
use bailiwick_alerts::{
    config::{EffectiveView, LayerView, LinkView, Saved},
    notify::{TestOrder, TestOutcome},
};
use bailiwick_domain::Ts;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Severities of alerts.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "lowercase")]
pub enum AlertSeverity {
    /// `critical`
    Critical,
    /// `warning`
    Warning,
    /// `info`; any other and none count as this one.
    Info,
}

/// Languages of messages.
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
    /// What people call it.
    pub name: String,
    /// Address.
    pub url: String,
}

// Secrets do not print.
impl std::fmt::Debug for AlertFlatWebhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AlertFlatWebhook").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A chat in the flat form.
#[derive(ToSchema)]
pub struct AlertFlatTelegram {
    /// The bot that writes.
    pub bot_token: String,
    /// The chat it writes to.
    pub chat_id: i64,
}

// Secrets do not print.
impl std::fmt::Debug for AlertFlatTelegram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AlertFlatTelegram").field("chat_id", &self.chat_id).finish_non_exhaustive()
    }
}

/// What is different for a severity or a system in the flat form.
#[derive(Debug, ToSchema)]
pub struct AlertFlatEntry {
    /// In `severities` only.
    #[schema(required = false)]
    pub severity: AlertSeverity,
    /// In `systems` only.
    #[schema(required = false)]
    pub system_key: String,
    /// Null: as above.
    pub mail_enabled: Option<bool>,
    /// Null: as above.
    pub webhook_enabled: Option<bool>,
    /// Null: as above.
    pub telegram_enabled: Option<bool>,
    /// Empty: as above.
    #[schema(required = false)]
    pub mail_addresses: Vec<String>,
    /// Empty: as above.
    #[schema(required = false)]
    pub webhook_receivers: Vec<AlertFlatWebhook>,
    /// Empty: as above.
    #[schema(required = false)]
    pub telegram_receivers: Vec<AlertFlatTelegram>,
}

/// The flat form of older clients.
#[derive(Debug, ToSchema)]
pub struct AlertFlatConfig {
    /// E-mail on.
    pub mail_enabled: bool,
    /// Webhooks on.
    pub webhook_enabled: bool,
    /// Telegram on.
    pub telegram_enabled: bool,
    /// E-mail addresses.
    pub mail_addresses: Vec<String>,
    /// Webhooks.
    pub webhook_receivers: Vec<AlertFlatWebhook>,
    /// Chats.
    pub telegram_receivers: Vec<AlertFlatTelegram>,
    /// What is different for severities: a list that is not empty takes the place of the one above.
    pub severities: Vec<AlertFlatEntry>,
    /// What is different for systems.
    pub systems: Vec<AlertFlatEntry>,
    /// Language of all messages.
    pub email_template_lang: AlertLanguage,
}

/// Body of POST: one of the two forms; other keys are ignored.
#[derive(Debug, ToSchema)]
#[serde(untagged)]
pub enum AlertConfigInput {
    /// The layer form.
    Layer(Box<AlertLayer>),
    /// The flat form.
    Flat(Box<AlertFlatConfig>),
}

/// A layer as its reader may see it, or the document of the tenant.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum AlertConfigOutput {
    /// Unless another format was asked for.
    Layer(Box<AlertLayerOutput>),
    /// With `format=yaml`.
    Yaml(AlertYamlOutput),
}

/// A layer as its reader may see it.
#[derive(Debug, Serialize, ToSchema)]
pub struct AlertLayerOutput {
    /// The layer; nothing when none was saved.
    #[serde(flatten)]
    #[schema(value_type = AlertLayer)]
    layer: Layer,
    /// The user who saved it last.
    pub updated_by_name: Option<String>,
    /// When.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub updated_at: Option<Ts>,
    /// Settings of the layer that have no effect at present.
    pub warnings: Vec<String>,
    /// The same in the flat form; null when none was saved.
    #[schema(value_type = Option<AlertFlatConfig>)]
    config: Option<FlatView>,
}

impl From<LayerView> for AlertLayerOutput {
    fn from(shown: LayerView) -> AlertLayerOutput {
        let LayerView { layer, flat, updated_by_name, updated_at, warnings, version: _ } = shown;
        AlertLayerOutput { layer, updated_by_name, updated_at, warnings, config: flat }
    }
}

/// The document of a tenant.
#[derive(Debug, Serialize, ToSchema)]
pub struct AlertYamlOutput {
    /// Without secrets; null when there are no receivers.
    pub config: Option<String>,
}

/// What a save has done.
#[derive(Debug, Serialize, ToSchema)]
pub struct AlertPropagationOutput {
    /// Settings that have no effect at present, and organizations that could not be updated.
    pub warnings: Vec<String>,
    /// Organizations for which the change is in force.
    pub propagated_to: u64,
    /// Organizations it concerns.
    pub affected_tenants: u64,
}

impl From<Saved> for AlertPropagationOutput {
    fn from(done: Saved) -> AlertPropagationOutput {
        // The warnings name the closed channels too.
        let Saved { warnings, propagated_to, affected_tenants, closed: _ } = done;
        AlertPropagationOutput { warnings, propagated_to, affected_tenants }
    }
}

/// Body of a test message.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct AlertTestInput {
    /// The channel, such as `email`.
    #[schema(required = true, nullable = false)]
    pub channel: Option<String>,
    /// The address of an e-mail recipient, the number of a Telegram chat, the name of any other.
    #[schema(required = true, nullable = false)]
    pub recipient: Option<String>,
}

impl From<AlertTestInput> for TestOrder {
    fn from(i: AlertTestInput) -> TestOrder {
        TestOrder { channel: i.channel.unwrap_or_default(), recipient: i.recipient.unwrap_or_default() }
    }
}

/// What came of a test message.
#[derive(Debug, Serialize, ToSchema)]
pub struct AlertTestOutput {
    /// The channel, such as `email`.
    pub channel: &'static str,
    /// The address of an e-mail recipient, the number of a Telegram chat, the name of any other.
    pub recipient: String,
    /// Whether it was delivered.
    pub delivered: bool,
    /// Why not; null when it was.
    pub error: Option<String>,
}

impl From<TestOutcome> for AlertTestOutput {
    fn from(outcome: TestOutcome) -> AlertTestOutput {
        let TestOutcome { channel, recipient, error } = outcome;
        AlertTestOutput { channel, recipient, delivered: error.is_none(), error }
    }
}

/// An organization between the owner and the tenant.
#[derive(Debug, Serialize, ToSchema)]
pub struct AlertChainLink {
    /// Its id.
    pub organization_id: String,
    /// Its name.
    pub organization_name: String,
    /// `owner`, `distributor`, `reseller` or `customer`.
    pub organization_role: &'static str,
    /// Whether it has said anything.
    pub has_layer: bool,
    /// What, without secrets; recipients above the reader's organization are `[REDACTED]`.
    #[schema(value_type = Option<AlertLayer>)]
    layer: Option<Layer>,
    /// The user who saved it last.
    pub updated_by_name: Option<String>,
    /// When.
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

/// What is in force for a tenant and where it comes from.
#[derive(Debug, Serialize, ToSchema)]
pub struct AlertEffectiveOutput {
    /// The tenant.
    pub organization_id: String,
    /// From the owner down to the tenant.
    pub chain: Vec<AlertChainLink>,
    /// All together.
    #[schema(value_type = AlertLayer)]
    effective: Layer,
    /// As a document; null when there are no receivers.
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
