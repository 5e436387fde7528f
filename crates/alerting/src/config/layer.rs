//! What an organization configures: a layer (spec: alert-configuration#layers). Its JSON is the wire form and the
//! stored form.

use serde::{Deserialize, Serialize};

/// Severities in the order of spec: alert-configuration#layers. Whatever else an alert says, or nothing, counts as
/// [`Severity::Info`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// `critical`
    Critical,
    /// `warning`
    Warning,
    /// `info`
    Info,
}

impl Severity {
    /// All of them, in order.
    pub const ALL: [Severity; 3] = [Severity::Critical, Severity::Warning, Severity::Info];

    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Severity::Critical => "critical",
            Severity::Warning => "warning",
            Severity::Info => "info",
        }
    }

    /// From the exact word.
    pub fn parse(word: &str) -> Option<Severity> {
        Severity::ALL.into_iter().find(|s| s.as_str() == word)
    }

    /// What an alert with this label value is treated as.
    pub fn of_label(value: &str) -> Severity {
        Severity::parse(value).unwrap_or(Severity::Info)
    }
}

/// Language of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// `en`
    #[default]
    En,
    /// `it`
    It,
}

impl Language {
    /// All of them.
    pub const ALL: [Language; 2] = [Language::En, Language::It];

    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Language::En => "en",
            Language::It => "it",
        }
    }

    /// From the exact word; empty is the default.
    pub fn parse(word: &str) -> Option<Language> {
        match word {
            "" | "en" => Some(Language::En),
            "it" => Some(Language::It),
            _ => None,
        }
    }
}

/// Form of an e-mail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Text and HTML.
    #[default]
    Html,
    /// Text only.
    Plain,
}

/// Whether each channel is on; `None` = no opinion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Toggles {
    /// E-mail.
    pub email: Option<bool>,
    /// Webhooks.
    pub webhook: Option<bool>,
    /// Telegram.
    pub telegram: Option<bool>,
}

impl Toggles {
    /// The same without any explicit `false`: layers below the owner's only add.
    #[must_use]
    pub fn only_additions(self) -> Toggles {
        let on = |toggle: Option<bool>| toggle.filter(|is_on| *is_on);
        Toggles { email: on(self.email), webhook: on(self.webhook), telegram: on(self.telegram) }
    }
}

/// Somebody who gets e-mails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmailRecipient {
    /// Where to.
    pub address: String,
    /// Of which alerts; empty = all.
    #[serde(default)]
    pub severities: Vec<Severity>,
    /// In which language.
    #[serde(default)]
    pub language: Language,
    /// In which form.
    #[serde(default)]
    pub format: Format,
}

/// A webhook.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookRecipient {
    /// What people call it.
    pub name: String,
    /// Address; a secret, because many services put their key into it.
    pub url: String,
    /// Of which alerts; empty = all.
    #[serde(default)]
    pub severities: Vec<Severity>,
}

/// A chat.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TelegramRecipient {
    /// The bot that writes; a secret.
    pub bot_token: String,
    /// The chat it writes to.
    pub chat_id: i64,
    /// Of which alerts; empty = all.
    #[serde(default)]
    pub severities: Vec<Severity>,
    /// In which language.
    #[serde(default)]
    pub language: Language,
}

// Secrets do not print.
impl std::fmt::Debug for WebhookRecipient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (name, severities) = (&self.name, &self.severities);
        f.debug_struct("Webhook").field("name", name).field("severities", severities).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for TelegramRecipient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (chat, severities) = (&self.chat_id, &self.severities);
        f.debug_struct("Telegram").field("chat", chat).field("severities", severities).finish_non_exhaustive()
    }
}

/// Toggles and recipients, of a whole organization or of one system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Channels {
    /// Which channels are on.
    pub enabled: Toggles,
    /// E-mail.
    pub email_recipients: Vec<EmailRecipient>,
    /// Webhooks.
    pub webhook_recipients: Vec<WebhookRecipient>,
    /// Telegram.
    pub telegram_recipients: Vec<TelegramRecipient>,
}

/// What is different for one system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemOverride {
    /// The system.
    pub system_key: String,
    /// For each channel: a list that is not empty and a toggle that is set take the place of the organization's.
    #[serde(flatten)]
    pub channels: Channels,
}

/// A layer, or several merged into what is in force for a tenant ([`super::merge()`]).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// For all systems.
    #[serde(flatten)]
    pub channels: Channels,
    /// For single ones.
    #[serde(default)]
    pub systems: Vec<SystemOverride>,
}

/// One channel: what is the same for the three kinds of recipient, so that rules are written once.
pub trait Recipient: Clone + PartialEq + 'static {
    /// Word of the channel in `enabled` and of its list: `email` of `email_recipients`.
    const CHANNEL: &'static str;
    /// Recipients of one list at most.
    const MAX: usize;

    /// What makes two of them the same one.
    fn key(&self) -> String;
    /// Of which alerts it is told; empty = all.
    fn severities(&self) -> &[Severity];
    /// The same, to be changed.
    fn severities_mut(&mut self) -> &mut Vec<Severity>;
    /// The toggle of its channel.
    fn toggle(channels: &Channels) -> Option<bool>;
    /// The list of its channel.
    fn list(channels: &Channels) -> &Vec<Self>;
    /// The same, to be changed.
    fn list_mut(channels: &mut Channels) -> &mut Vec<Self>;

    /// Whether it is told of alerts of this severity.
    fn wants(&self, severity: Severity) -> bool {
        self.severities().is_empty() || self.severities().contains(&severity)
    }
}

impl Recipient for EmailRecipient {
    const CHANNEL: &'static str = "email";
    const MAX: usize = 50;

    fn key(&self) -> String {
        self.address.to_lowercase()
    }
    fn severities(&self) -> &[Severity] {
        &self.severities
    }
    fn severities_mut(&mut self) -> &mut Vec<Severity> {
        &mut self.severities
    }
    fn toggle(channels: &Channels) -> Option<bool> {
        channels.enabled.email
    }
    fn list(channels: &Channels) -> &Vec<Self> {
        &channels.email_recipients
    }
    fn list_mut(channels: &mut Channels) -> &mut Vec<Self> {
        &mut channels.email_recipients
    }
}

impl Recipient for WebhookRecipient {
    const CHANNEL: &'static str = "webhook";
    const MAX: usize = 20;

    fn key(&self) -> String {
        self.url.clone()
    }
    fn severities(&self) -> &[Severity] {
        &self.severities
    }
    fn severities_mut(&mut self) -> &mut Vec<Severity> {
        &mut self.severities
    }
    fn toggle(channels: &Channels) -> Option<bool> {
        channels.enabled.webhook
    }
    fn list(channels: &Channels) -> &Vec<Self> {
        &channels.webhook_recipients
    }
    fn list_mut(channels: &mut Channels) -> &mut Vec<Self> {
        &mut channels.webhook_recipients
    }
}

impl Recipient for TelegramRecipient {
    const CHANNEL: &'static str = "telegram";
    const MAX: usize = 20;

    fn key(&self) -> String {
        format!("{}/{}", self.bot_token, self.chat_id)
    }
    fn severities(&self) -> &[Severity] {
        &self.severities
    }
    fn severities_mut(&mut self) -> &mut Vec<Severity> {
        &mut self.severities
    }
    fn toggle(channels: &Channels) -> Option<bool> {
        channels.enabled.telegram
    }
    fn list(channels: &Channels) -> &Vec<Self> {
        &channels.telegram_recipients
    }
    fn list_mut(channels: &mut Channels) -> &mut Vec<Self> {
        &mut channels.telegram_recipients
    }
}

/// Who is told of an alert, each list in the order of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audience {
    /// By e-mail.
    pub email: Vec<EmailRecipient>,
    /// By webhook.
    pub webhook: Vec<WebhookRecipient>,
    /// By Telegram.
    pub telegram: Vec<TelegramRecipient>,
}

impl Audience {
    /// Nobody?
    pub fn is_empty(&self) -> bool {
        self.email.is_empty() && self.webhook.is_empty() && self.telegram.is_empty()
    }
}

impl Layer {
    /// Who is told of an alert of this severity from this system, when the layer is what is in force. A channel whose
    /// toggle is not `true` tells nobody. The one place that says so: the routing tree and its check both ask here.
    pub fn audience(&self, system_key: &str, severity: Severity) -> Audience {
        let own = self.systems.iter().find(|o| o.system_key == system_key).map(|o| &o.channels);
        Audience {
            email: self.told(own, severity),
            webhook: self.told(own, severity),
            telegram: self.told(own, severity),
        }
    }

    fn told<R: Recipient>(&self, own: Option<&Channels>, severity: Severity) -> Vec<R> {
        if own.and_then(R::toggle).or(R::toggle(&self.channels)) != Some(true) {
            return Vec::new();
        }
        let own = own.map(R::list).filter(|list| !list.is_empty());
        let list = own.unwrap_or_else(|| R::list(&self.channels));
        list.iter().filter(|r| r.wants(severity)).cloned().collect()
    }

    /// The toggles and lists of the organization and of its overrides, in order.
    pub fn all_channels(&self) -> impl Iterator<Item = &Channels> {
        std::iter::once(&self.channels).chain(self.systems.iter().map(|o| &o.channels))
    }

    /// The same, to be changed.
    pub fn all_channels_mut(&mut self) -> impl Iterator<Item = &mut Channels> {
        std::iter::once(&mut self.channels).chain(self.systems.iter_mut().map(|o| &mut o.channels))
    }

    /// Whether any list names a recipient of this kind.
    pub fn has_any<R: Recipient>(&self) -> bool {
        self.all_channels().any(|c| !R::list(c).is_empty())
    }
}
