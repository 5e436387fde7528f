//! Webhooks.

use super::{Check, Content, Field, Recipient, Transport, Variant, Visible, hidden_url};
use crate::{
    Severity,
    notify::Message,
    redacted::{REDACTED, secret},
    texts::Surroundings,
    webhook_target,
};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A webhook.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookRecipient {
    /// Name for people.
    pub name: String,
    /// URL; a secret, because many services put their key into it.
    pub url: String,
    /// Severities of the alerts it receives; empty = all.
    #[serde(default)]
    pub severities: Vec<Severity>,
}

/// One of `webhook_recipients` or `webhook_receivers`, as posted.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub struct WebhookDraft {
    pub(crate) name: Option<String>,
    pub(crate) url: Option<String>,
    pub(crate) severities: Option<Vec<String>>,
}

/// One of `webhook_configs` of an Alertmanager.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhookConfig {
    /// URL.
    pub url: String,
    /// Whether resolved alerts are notified too.
    pub send_resolved: bool,
    /// Options of the HTTP request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_config: Option<HttpConfig>,
}

/// Options of the HTTP request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpConfig {
    /// The `Authorization` header.
    pub authorization: Authorization,
}

/// The `Authorization` header.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Authorization {
    /// Scheme.
    #[serde(rename = "type")]
    pub scheme: String,
    /// The text after the scheme.
    #[serde(serialize_with = "secret")]
    pub credentials: String,
}

// Secrets do not print.
impl fmt::Debug for WebhookRecipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, severities) = (&self.name, &self.severities);
        f.debug_struct("Webhook").field("name", name).field("severities", severities).finish_non_exhaustive()
    }
}

impl fmt::Debug for WebhookDraft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookDraft").field("name", &self.name).finish_non_exhaustive()
    }
}

impl fmt::Debug for WebhookConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookConfig").field("send_resolved", &self.send_resolved).finish_non_exhaustive()
    }
}

impl fmt::Debug for Authorization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authorization").field("scheme", &self.scheme).finish_non_exhaustive()
    }
}

impl Recipient for WebhookRecipient {
    type Draft = WebhookDraft;
    type Config = WebhookConfig;

    const MAX: usize = 20;
    const FIELDS: &[Field] = &[Field::NAME, Field::URL, Field::SEVERITIES];
    const NAMES_REASON: bool = true;

    fn check(draft: WebhookDraft, path: &str, check: &mut Check<'_>) -> Option<WebhookRecipient> {
        let severities = check.severities(path, draft.severities);
        let (name, url) = (check.name(path, draft.name), check.url(path, draft.url));
        Some(WebhookRecipient { name: name?, url: url?, severities })
    }

    fn key(&self) -> String {
        self.url.clone()
    }

    fn severities(&self) -> &[Severity] {
        &self.severities
    }

    fn severities_mut(&mut self) -> &mut Vec<Severity> {
        &mut self.severities
    }

    fn secret(&self) -> Option<&String> {
        Some(&self.url)
    }

    fn secret_mut(&mut self) -> Option<&mut String> {
        Some(&mut self.url)
    }

    fn redact(&mut self) {
        self.url = webhook_target::redacted(&self.url);
    }

    fn hide(&mut self) {
        (self.name, self.url) = (REDACTED.to_owned(), REDACTED.to_owned());
    }

    fn visible(&self) -> Visible {
        Visible::of_url(&self.name, &self.url)
    }

    fn redacted_secret(draft: &mut WebhookDraft) -> Option<(Visible, &mut String)> {
        hidden_url(draft.name.as_deref(), &mut draft.url)
    }

    fn config(&self) -> WebhookConfig {
        WebhookConfig { url: self.url.clone(), send_resolved: true, http_config: None }
    }

    fn redact_config(config: &mut WebhookConfig) {
        config.url = webhook_target::redacted(&config.url);
        if let Some(http) = &mut config.http_config {
            REDACTED.clone_into(&mut http.authorization.credentials);
        }
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn description(&self) -> String {
        format!("{} {}", self.name, webhook_target::redacted(&self.url))
    }

    fn transport(&self) -> Transport<'_> {
        Transport::Post(&self.url)
    }

    fn content(message: &Message<'_>, _: &Variant, _: &Surroundings) -> Content {
        Content::Json(message.webhook())
    }
}
