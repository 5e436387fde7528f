//! The flat form of older clients: converted into a layer, and a layer shown in it (spec: alert-configuration#layers,
//! "Conversion").

use super::{
    body::{FlatDraft, FlatEntryDraft},
    layer::{Layer, SystemOverride},
};
use crate::{
    Severity,
    receivers::{
        Channels, Check, EmailRecipient, Format, Listed, Recipient, RecipientKind, TelegramDraft,
        TelegramRecipient, Toggles, WebhookDraft, WebhookRecipient, email_address, for_each_kind,
    },
    texts::{self, Language},
};
use bailiwick_domain::{Error, Result};
use serde::Serialize;
use std::collections::{HashMap, HashSet};

/// A checked flat configuration: lists of recipients without severities, for the organization, for severities and for
/// systems.
struct Flat {
    all: Channels,
    severities: Vec<(Severity, Channels)>,
    systems: Vec<(String, Channels)>,
}

impl Check<'_> {
    /// A body of the flat form as a layer.
    ///
    /// # Errors
    /// 400 with a text of its own for an unknown severity or language; wrong fields are collected.
    pub(super) fn flat(&mut self, draft: FlatDraft) -> Result<Layer> {
        let severities = draft.severities.unwrap_or_default();
        for entry in &severities {
            let word = entry.severity.as_deref().unwrap_or_default();
            if Severity::parse(word).is_none() {
                let word: String = word.chars().take(64).collect();
                return Err(Error::bad_request(format!(
                    "invalid severity level: {word}. allowed: critical, warning, info"
                )));
            }
        }
        let named = draft.email_template_lang.as_deref().unwrap_or_default();
        let Some(language) = texts::language(named, self.language) else {
            return Err(Error::bad_request("invalid email_template_lang: allowed values are en, it"));
        };
        let all = FlatEntryDraft {
            // At the top an absent toggle is off; below it means no setting.
            mail_enabled: Some(draft.mail_enabled.unwrap_or_default()),
            webhook_enabled: Some(draft.webhook_enabled.unwrap_or_default()),
            telegram_enabled: Some(draft.telegram_enabled.unwrap_or_default()),
            mail_addresses: draft.mail_addresses,
            webhook_receivers: draft.webhook_receivers,
            telegram_receivers: draft.telegram_receivers,
            ..FlatEntryDraft::default()
        };
        let all = self.entry("", all, language);
        let mut seen = HashSet::new();
        let severities: Vec<_> = severities
            .into_iter()
            .enumerate()
            .map(|(i, entry)| {
                let path = format!("severities.{i}.");
                let word = entry.severity.clone().unwrap_or_default();
                let severity = Severity::of_label(&word);
                if !seen.insert(severity) {
                    self.fields.push(format!("{path}severity"), "duplicate", word);
                }
                (severity, self.entry(&path, entry, language))
            })
            .collect();
        let systems = draft.systems.unwrap_or_default();
        let mut keys = HashSet::new();
        let systems = systems.into_iter().enumerate().map(|(i, mut entry)| {
            let path = format!("systems.{i}.");
            let key = self.system_key(&path, entry.system_key.take(), &mut keys);
            (key, self.entry(&path, entry, language))
        });
        let flat = Flat { systems: systems.collect(), all, severities };
        let layer = flat.to_layer();
        // The lists of all places together may exceed the limit of one.
        self.count_of("", &layer.channels);
        for (i, one) in layer.systems.iter().enumerate() {
            self.count_of(&format!("systems.{i}."), &one.channels);
        }
        Ok(layer)
    }

    fn count_of(&mut self, path: &str, lists: &Channels) {
        let (mails, webhooks) = (&lists.email_recipients, &lists.webhook_recipients);
        self.count(&format!("{path}mail_addresses"), mails.len(), EmailRecipient::MAX);
        self.count(&format!("{path}webhook_receivers"), webhooks.len(), WebhookRecipient::MAX);
        let chats = &lists.telegram_recipients;
        self.count(&format!("{path}telegram_receivers"), chats.len(), TelegramRecipient::MAX);
    }

    /// The lists of one place, each recipient once.
    fn entry(&mut self, path: &str, entry: FlatEntryDraft, language: Language) -> Channels {
        let mut channels = Channels::default();
        set_toggles(&mut channels.enabled, entry.mail_enabled, entry.webhook_enabled, entry.telegram_enabled);
        channels.email_recipients =
            self.flat_list(path, "mail_addresses", entry.mail_addresses, |check, path, address| {
                let address = email_address(check, path, address)?;
                Some(EmailRecipient { address, severities: Vec::new(), language, format: Format::Html })
            });
        channels.webhook_recipients =
            self.flat_list(path, "webhook_receivers", entry.webhook_receivers, |check, path, draft| {
                WebhookRecipient::check(WebhookDraft { severities: None, ..draft }, path, check)
            });
        channels.telegram_recipients =
            self.flat_list(path, "telegram_receivers", entry.telegram_receivers, |check, path, draft| {
                let language = Some(language.code().to_owned());
                TelegramRecipient::check(TelegramDraft { severities: None, language, ..draft }, path, check)
            });
        channels
    }

    fn flat_list<R: Listed, D>(
        &mut self,
        path: &str,
        name: &str,
        drafts: Option<Vec<D>>,
        one: impl Fn(&mut Self, &str, D) -> Option<R>,
    ) -> Vec<R> {
        let drafts = drafts.unwrap_or_default();
        let mut keys = HashSet::new();
        let mut list: Vec<R> = Vec::new();
        for (i, draft) in drafts.into_iter().enumerate() {
            // In this form, a repeated recipient has no further effect.
            let read = one(self, &format!("{path}{name}.{i}"), draft);
            list.extend(read.filter(|recipient| keys.insert(recipient.key())));
        }
        list
    }
}

/// The kinds that the flat form has.
const KINDS: [RecipientKind; 3] = [RecipientKind::Email, RecipientKind::Webhook, RecipientKind::Telegram];

/// Puts back the stored settings of the kinds that the flat form does not have, so that an older client does not remove
/// what it cannot show.
///
/// Returns the systems whose override is there for that reason only.
pub(super) fn keep_other_kinds(layer: &mut Layer, stored: Option<&Layer>) -> Vec<String> {
    let (mut added, Some(stored)) = (Vec::new(), stored) else { return Vec::new() };
    copy_other_kinds(&mut layer.channels, &stored.channels);
    for one in &stored.systems {
        let stored_system = layer.systems.iter_mut().find(|other| other.system_key == one.system_key);
        if let Some(stored_system) = stored_system {
            copy_other_kinds(&mut stored_system.channels, &one.channels);
            continue;
        }
        let mut channels = Channels::default();
        copy_other_kinds(&mut channels, &one.channels);
        if channels != Channels::default() {
            added.push(one.system_key.clone());
            layer.systems.push(SystemOverride { system_key: one.system_key.clone(), channels });
        }
    }
    added
}

fn copy_other_kinds(to: &mut Channels, from: &Channels) {
    for_each_kind!(R => if !KINDS.contains(&R::KIND) {
        *R::toggle_mut(&mut to.enabled) = R::toggle(from);
        R::list_mut(to).clone_from(R::list(from));
    });
}

fn set_toggles(toggles: &mut Toggles, email: Option<bool>, webhook: Option<bool>, telegram: Option<bool>) {
    (toggles.email, toggles.webhook, toggles.telegram) = (email, webhook, telegram);
}

impl Flat {
    fn to_layer(&self) -> Layer {
        let mut channels = Channels::default();
        channels.enabled.email = self.convert::<EmailRecipient>(&mut channels);
        channels.enabled.webhook = self.convert::<WebhookRecipient>(&mut channels);
        channels.enabled.telegram = self.convert::<TelegramRecipient>(&mut channels);
        let systems = self.systems.iter().map(|(key, own)| {
            let mut of_system = Channels::default();
            let email = self.convert_override::<EmailRecipient>(own, &channels, &mut of_system);
            let webhook = self.convert_override::<WebhookRecipient>(own, &channels, &mut of_system);
            let telegram = self.convert_override::<TelegramRecipient>(own, &channels, &mut of_system);
            set_toggles(&mut of_system.enabled, email, webhook, telegram);
            SystemOverride { system_key: key.clone(), channels: of_system }
        });
        Layer { systems: systems.collect(), channels }
    }

    /// Fills the organization's list of a channel; returns its toggle.
    fn convert<R: Listed>(&self, channels: &mut Channels) -> Option<bool> {
        let recipients = self.recipients::<R>(None, false);
        let is_on = !recipients.is_empty() || R::toggle(&self.all) == Some(true);
        // The channel is off; its recipients are kept until it is switched on.
        *R::list_mut(channels) = if is_on { recipients } else { self.recipients(None, true) };
        Some(is_on)
    }

    /// Fills the list of an override; its toggle.
    fn convert_override<R: Listed>(&self, own: &Channels, all: &Channels, to: &mut Channels) -> Option<bool> {
        let (named, toggle) = (R::list(own), R::toggle(own));
        let recipients = match toggle {
            // No setting, so it keeps following the organization.
            None if named.is_empty() => return None,
            Some(false) => Vec::new(),
            _ => self.recipients::<R>(Some(own), false),
        };
        let toggle = toggle.or(Some(!recipients.is_empty()));
        *R::list_mut(to) = if named.is_empty() && recipients == *R::list(all) {
            // The organization's own list.
            Vec::new()
        } else if recipients.is_empty() {
            named.clone()
        } else {
            recipients
        };
        toggle
    }

    /// The recipients by severity. For each severity, the most specific non-empty list and the most specific toggle
    /// that is set apply.
    fn recipients<R: Listed>(&self, system: Option<&Channels>, ignores_toggles: bool) -> Vec<R> {
        let lists = std::iter::once(&self.all).chain(self.severities.iter().map(|(_, c)| c)).chain(system);
        let mut recipients: Vec<R> = Vec::new();
        let mut indexes: HashMap<String, usize> = HashMap::new();
        for recipient in lists.flat_map(|c| R::list(c)) {
            indexes.entry(recipient.key()).or_insert_with(|| {
                recipients.push(recipient.clone());
                recipients.len() - 1
            });
        }
        for severity in Severity::ALL {
            let entry = self.severities.iter().find(|(s, _)| *s == severity).map(|(_, c)| c);
            let levels = || system.into_iter().chain(entry).chain([&self.all]);
            let is_on = levels().find_map(R::toggle) == Some(true);
            let Some(list) = levels().map(R::list).find(|list| !list.is_empty()) else { continue };
            if is_on || ignores_toggles {
                for named in list {
                    let recipient = indexes.get(&named.key()).and_then(|i| recipients.get_mut(*i));
                    recipient.into_iter().for_each(|r| r.severities_mut().push(severity));
                }
            }
        }
        recipients.retain(|r| !r.severities().is_empty());
        for recipient in &mut recipients {
            if recipient.severities().len() == Severity::ALL.len() {
                recipient.severities_mut().clear();
            }
        }
        recipients
    }
}

/// A layer in the flat form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FlatView {
    /// Of the organization.
    #[serde(flatten)]
    pub all: FlatLists<bool>,
    /// Of single severities: all recipients of the severity, because a list here replaces the organization's list.
    pub severities: Vec<FlatSeverity>,
    /// Of single systems.
    pub systems: Vec<FlatSystem>,
    /// Language of the first e-mail recipient.
    pub email_template_lang: Language,
}

/// Toggles and recipients of one place in the flat form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FlatLists<T> {
    /// E-mail on.
    pub mail_enabled: T,
    /// Webhooks on.
    pub webhook_enabled: T,
    /// Telegram on.
    pub telegram_enabled: T,
    /// E-mail addresses.
    pub mail_addresses: Vec<String>,
    /// Webhooks.
    pub webhook_receivers: Vec<FlatWebhook>,
    /// Chats.
    pub telegram_receivers: Vec<FlatTelegram>,
}

/// A webhook in the flat form.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct FlatWebhook {
    /// The display name.
    pub name: String,
    /// Address.
    pub url: String,
}

/// A chat in the flat form.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct FlatTelegram {
    /// The bot that writes.
    pub bot_token: String,
    /// The chat it writes to.
    pub chat_id: i64,
}

// Secrets do not print.
impl std::fmt::Debug for FlatWebhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FlatWebhook").field("name", &self.name).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for FlatTelegram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FlatTelegram").field("chat_id", &self.chat_id).finish_non_exhaustive()
    }
}

/// The differences for one severity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FlatSeverity {
    /// The severity.
    pub severity: Severity,
    /// Toggles are always null.
    #[serde(flatten)]
    pub lists: FlatLists<Option<bool>>,
}

/// The differences for one system. This form cannot express severities of its recipients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FlatSystem {
    /// The system.
    pub system_key: String,
    /// Toggles and recipients.
    #[serde(flatten)]
    pub lists: FlatLists<Option<bool>>,
}

impl FlatView {
    /// Shows a layer; secrets as they are in it.
    pub fn of(layer: &Layer) -> FlatView {
        let channels = &layer.channels;
        let is_on = |toggle: Option<bool>| toggle == Some(true);
        let Toggles { email, webhook, telegram, .. } = channels.enabled;
        let severities = Severity::ALL.into_iter().filter(|s| is_particular(channels, *s)).map(|severity| {
            let lists = lists(channels, (None, None, None), Some(severity));
            FlatSeverity { severity, lists }
        });
        let systems = layer.systems.iter().map(|one| {
            let Toggles { email, webhook, telegram, .. } = one.channels.enabled;
            let lists = lists(&without_severities(&one.channels), (email, webhook, telegram), None);
            FlatSystem { system_key: one.system_key.clone(), lists }
        });
        FlatView {
            all: lists(channels, (is_on(email), is_on(webhook), is_on(telegram)), None),
            severities: severities.collect(),
            systems: systems.collect(),
            email_template_lang: channels.email_recipients.first().map(|r| r.language).unwrap_or_default(),
        }
    }
}

/// Whether a recipient names this severity in particular.
fn is_particular(channels: &Channels, severity: Severity) -> bool {
    fn any<R: Listed>(channels: &Channels, severity: Severity) -> bool {
        R::list(channels).iter().any(|r| r.severities().contains(&severity))
    }
    any::<EmailRecipient>(channels, severity)
        || any::<WebhookRecipient>(channels, severity)
        || any::<TelegramRecipient>(channels, severity)
}

fn without_severities(channels: &Channels) -> Channels {
    fn clear<R: Listed>(channels: &mut Channels) {
        R::list_mut(channels).iter_mut().for_each(|r| r.severities_mut().clear());
    }
    let mut cleared = channels.clone();
    clear::<EmailRecipient>(&mut cleared);
    clear::<WebhookRecipient>(&mut cleared);
    clear::<TelegramRecipient>(&mut cleared);
    cleared
}

/// Without a severity, the recipients of all severities. With one that a recipient names in particular, all its
/// recipients.
fn lists<T>(
    channels: &Channels,
    (mail_enabled, webhook_enabled, telegram_enabled): (T, T, T),
    severity: Option<Severity>,
) -> FlatLists<T> {
    fn shown<R: Listed>(channels: &Channels, severity: Option<Severity>) -> impl Iterator<Item = &R> {
        let list = R::list(channels);
        let is_meant = severity.is_none_or(|s| list.iter().any(|r| r.severities().contains(&s)));
        list.iter().filter(move |r| {
            is_meant && severity.map_or_else(|| r.severities().is_empty(), |severity| r.wants(severity))
        })
    }
    FlatLists {
        mail_enabled,
        webhook_enabled,
        telegram_enabled,
        mail_addresses: shown(channels, severity).map(|r: &EmailRecipient| r.address.clone()).collect(),
        webhook_receivers: shown(channels, severity)
            .map(|r: &WebhookRecipient| FlatWebhook { name: r.name.clone(), url: r.url.clone() })
            .collect(),
        telegram_receivers: shown(channels, severity)
            .map(|r: &TelegramRecipient| FlatTelegram { bot_token: r.bot_token.clone(), chat_id: r.chat_id })
            .collect(),
    }
}
