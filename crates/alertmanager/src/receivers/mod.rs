//! The kinds of recipients: e-mail, webhooks and services for messages and incidents (spec:
//! alert-configuration#layers).
//!
//! Each kind is one module here that implements [`Recipient`]: its fields, its checks, its secret, its block in an
//! Alertmanager configuration, its texts and how a notification reaches it. The list in `kinds` names each of them
//! once; the configuration, its checks, secrets, documents, explanations, notifications, the form of the console and
//! the schemas of the interface follow from that list.
//!
//! To add a kind:
//!
//! 1. a module here, and its row in the list of `kinds`; for a chat that takes posts, a [`ChatService`] is enough;
//! 2. names of the kind and of new fields in both languages in `crates/console/templates/texts/`;
//! 3. its fields in `docs/specification/alert-configuration.md`.
//!
//! Only a kind that neither a mail nor a POST to a public address reaches also needs a [`Transport`] of its own, which
//! `crates/alerts` sends by a client in `crates/outbound`.

mod chat;
mod check;
mod draft;
mod email;
mod field;
mod kinds;
mod pagerduty;
mod slack;
mod teams;
mod telegram;
mod webhook;

pub use chat::{ChatDraft, ChatRecipient, ChatService};
pub use check::{Check, WebhookField};
pub(crate) use draft::{object, objects};
pub(crate) use email::address as email_address;
pub use email::{EmailConfig, EmailDraft, EmailRecipient, Format};
pub use field::{Field, Input};
pub(crate) use kinds::for_each_kind;
pub use kinds::{AnyRecipient, Channels, ChannelsDraft, LayerDraft, Listed, OverrideDraft, RecipientKind};
pub use kinds::{ReceiverConfig, Recipients, Toggles};
pub use pagerduty::{PagerdutyConfig, PagerdutyDraft, PagerdutyRecipient, Region};
pub use slack::{Slack, SlackConfig, SlackRecipient};
pub use teams::{Teams, TeamsConfig, TeamsRecipient};
pub use telegram::{TelegramConfig, TelegramDraft, TelegramRecipient};
pub use webhook::{Authorization, HttpConfig, WebhookConfig, WebhookDraft, WebhookRecipient};

use crate::{
    Severity,
    notify::{Message, Reason},
    redacted::REDACTED,
    texts::{Language, Surroundings},
    webhook_target,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::fmt;

/// One kind of recipient. Its own JSON is the wire form and the stored form.
pub trait Recipient: Clone + fmt::Debug + PartialEq + Serialize + DeserializeOwned + 'static {
    /// The recipient as posted, before any field is checked.
    type Draft: Clone + fmt::Debug + Default + DeserializeOwned;
    /// The recipient's block in an Alertmanager configuration.
    type Config: Clone + fmt::Debug + PartialEq + Serialize + DeserializeOwned;

    /// Most recipients of one list.
    const MAX: usize;
    /// Its fields, in the order in which they are asked for.
    const FIELDS: &[Field];
    /// Whether the content names the reason of the notification, so that it differs between reasons.
    const NAMES_REASON: bool = false;
    /// Name and text of a template file that remote routers need for this kind, besides those of mails.
    const TEMPLATE: Option<(&'static str, &'static str)> = None;

    /// Checks a draft at `path`; wrong fields are collected in `check`.
    fn check(draft: Self::Draft, path: &str, check: &mut Check<'_>) -> Option<Self>;
    /// Two recipients with the same key are the same one.
    fn key(&self) -> String;
    /// The severities of alerts that this recipient receives; empty = all.
    fn severities(&self) -> &[Severity];
    /// The mutable severities of alerts that this recipient receives.
    fn severities_mut(&mut self) -> &mut Vec<Severity>;

    /// The secret, which is stored sealed.
    fn secret(&self) -> Option<&String> {
        None
    }
    /// The mutable secret.
    fn secret_mut(&mut self) -> Option<&mut String> {
        None
    }
    /// Replaces the secret by its visible part.
    fn redact(&mut self) {}
    /// Hides the whole recipient except its severities.
    fn hide(&mut self);
    /// The part of the recipient that stays visible when its secret is hidden.
    fn visible(&self) -> Visible {
        Visible::default()
    }
    /// The visible part and the secret of a draft with a hidden secret.
    fn redacted_secret(_: &mut Self::Draft) -> Option<(Visible, &mut String)> {
        None
    }

    /// The block in an Alertmanager configuration.
    fn config(&self) -> Self::Config;
    /// Hides the secrets of such a block.
    fn redact_config(_: &mut Self::Config) {}

    /// A short name for warnings, without secrets.
    fn name(&self) -> String;
    /// A description for explanations of the routing, without secrets.
    fn description(&self) -> String;

    /// Language of its notifications.
    fn language(&self) -> Option<Language> {
        None
    }
    /// Format of its notifications.
    fn format(&self) -> Format {
        Format::default()
    }
    /// How a notification reaches the recipient.
    fn transport(&self) -> Transport<'_>;
    /// The content of a notification.
    fn content(message: &Message<'_>, variant: &Variant, around: &Surroundings) -> Content;

    /// Whether the recipient receives alerts of this severity.
    fn wants(&self, severity: Severity) -> bool {
        self.severities().is_empty() || self.severities().contains(&severity)
    }
}

/// The visible part of a recipient with a hidden secret. Recipients with the same visible part cannot be distinguished
/// by it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Visible(String, String);

impl Visible {
    /// Of a recipient with a name and a secret address.
    fn of_url(name: &str, url: &str) -> Visible {
        Visible(name.to_owned(), webhook_target::redacted(url).to_ascii_lowercase())
    }
}

/// [`Recipient::redacted_secret`] of a recipient with a name and a secret address.
fn hidden_url<'a>(name: Option<&str>, url: &'a mut Option<String>) -> Option<(Visible, &'a mut String)> {
    let url = url.as_mut().filter(|url| url.contains(REDACTED))?;
    Some((Visible(name.unwrap_or_default().to_owned(), url.to_ascii_lowercase()), url))
}

/// How a notification reaches a recipient.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Transport<'a> {
    /// A mail to this address.
    Mail(&'a str),
    /// A POST to this URL, which is a secret.
    Post(&'a str),
    /// A message of a Telegram bot.
    Telegram {
        /// Token of the bot, a secret.
        bot_token: &'a str,
        /// The chat.
        chat_id: i64,
    },
    /// An event of a service at PagerDuty.
    Pagerduty {
        /// Integration key of the service, a secret.
        routing_key: &'a str,
        /// Where the account is.
        region: Region,
    },
}

/// Distinguishes the contents of notifications of one group: recipients of the same variant receive the same content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Variant {
    /// Kind of the recipients.
    pub kind: RecipientKind,
    /// Their language.
    pub language: Language,
    /// Their format.
    pub format: Format,
    /// The reason, where the content names it.
    pub reason: Option<Reason>,
}

/// The content of a notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A mail.
    Mail {
        /// Subject: one line.
        subject: String,
        /// Text part.
        text: String,
        /// HTML part.
        html: Option<String>,
    },
    /// A body in JSON, for [`Transport::Post`].
    Json(String),
    /// A message with Telegram's HTML.
    Telegram(String),
    /// An event for PagerDuty, still without integration key and `dedup_key`.
    Pagerduty {
        /// The incident that it is about: events with the same one have the same `dedup_key`.
        incident: String,
        /// The event.
        event: Value,
    },
}
