//! The rules for single fields, and a body of the layer form turned into a layer (spec: alert-configuration#layers).
//! Every wrong field is named by its path as sent; a value is told back unless it is a secret.

use super::{
    body::{FlatDraft, Posted},
    layer::{Language, Layer, Severity, SystemOverride},
};
use crate::{
    receivers::{
        Channels, ChannelsDraft, EmailRecipient, LayerDraft, Listed, TelegramRecipient, for_each_kind,
    },
    receivers::{Recipient as _, WebhookRecipient},
    webhook_target::{AllowedHosts, Target},
};
use bailiwick_domain::validate::{Fields, is_too_long};
use std::collections::HashSet;

/// Overrides of one layer.
pub(super) const MAX_SYSTEMS: usize = 100;

/// An address of a webhook with the key of its field: to be asked about before anything is stored.
#[derive(Clone, Debug)]
pub struct WebhookField {
    /// `webhook_recipients.0.url`
    pub key: String,
    /// Where it leads.
    pub target: Target,
}

/// Collects what is wrong, and the webhooks that still have to be looked up.
#[derive(Debug)]
pub struct Check<'a> {
    pub(crate) fields: Fields,
    pub(crate) webhooks: Vec<WebhookField>,
    pub(crate) allowed: &'a AllowedHosts,
}

impl<'a> Check<'a> {
    pub(super) fn new(allowed: &'a AllowedHosts) -> Check<'a> {
        Check { fields: Fields::new(), webhooks: Vec::new(), allowed }
    }

    pub(super) fn layer(&mut self, draft: LayerDraft) -> Layer {
        let channels = self.channels("", draft.channels);
        let systems = draft.systems.unwrap_or_default();
        let mut keys = HashSet::new();
        let systems = systems.into_iter().enumerate().map(|(i, one)| {
            let at = format!("systems.{i}.");
            let system_key = self.system_key(&at, one.system_key, &mut keys);
            SystemOverride { system_key, channels: self.channels(&at, one.channels) }
        });
        Layer { systems: systems.collect(), channels }
    }

    fn channels(&mut self, at: &str, mut draft: ChannelsDraft) -> Channels {
        let enabled = draft.enabled.unwrap_or_default();
        let mut channels = Channels { enabled, ..Channels::default() };
        for_each_kind!(R => *R::list_mut(&mut channels) = self.list(at, R::drafts_mut(&mut draft).take()));
        channels
    }

    /// One list of recipients: each of them, and each only once.
    fn list<R: Listed>(&mut self, at: &str, drafts: Option<Vec<R::Draft>>) -> Vec<R> {
        let drafts = drafts.unwrap_or_default();
        let name = format!("{at}{}", R::KIND.list_key());
        let mut keys = HashSet::new();
        let mut recipients = Vec::with_capacity(drafts.len().min(R::MAX));
        for (i, draft) in drafts.into_iter().enumerate() {
            let at = format!("{name}.{i}");
            let Some(recipient) = R::check(draft, &at, self) else { continue };
            if keys.insert(recipient.key()) {
                recipients.push(recipient);
            } else {
                self.fields.push(at, "duplicate", "");
            }
        }
        recipients
    }

    /// Whether a body has more of anything than a layer may have. Nothing else of it is looked at.
    pub(super) fn counts(&mut self, posted: &Posted) {
        let (systems, severities) = match posted {
            Posted::Layer(draft) => {
                self.count_layer(draft);
                (len(draft.systems.as_ref()), 0)
            }
            Posted::Flat(draft) => {
                self.count_flat(draft);
                (len(draft.systems.as_ref()), len(draft.severities.as_ref()))
            }
        };
        self.count("severities", severities, Severity::ALL.len());
        self.count("systems", systems, MAX_SYSTEMS);
    }

    fn count_layer(&mut self, draft: &LayerDraft) {
        let mut count = |at: &str, channels: &ChannelsDraft| {
            for_each_kind!(R => {
                let key = format!("{at}{}", R::KIND.list_key());
                self.count(&key, len(R::drafts(channels).as_ref()), R::MAX);
            });
        };
        count("", &draft.channels);
        for (i, one) in draft.systems.iter().flatten().take(MAX_SYSTEMS).enumerate() {
            count(&format!("systems.{i}."), &one.channels);
        }
    }

    fn count_flat(&mut self, draft: &FlatDraft) {
        let mut count = |at: &str, [mails, webhooks, chats]: [usize; 3]| {
            self.count(&format!("{at}mail_addresses"), mails, EmailRecipient::MAX);
            self.count(&format!("{at}webhook_receivers"), webhooks, WebhookRecipient::MAX);
            self.count(&format!("{at}telegram_receivers"), chats, TelegramRecipient::MAX);
        };
        let (mails, webhooks, chats) =
            (&draft.mail_addresses, &draft.webhook_receivers, &draft.telegram_receivers);
        count("", [len(mails.as_ref()), len(webhooks.as_ref()), len(chats.as_ref())]);
        for (list, entries, max) in
            [("severities", &draft.severities, Severity::ALL.len()), ("systems", &draft.systems, MAX_SYSTEMS)]
        {
            for (i, one) in entries.iter().flatten().take(max).enumerate() {
                let (mails, webhooks, chats) =
                    (&one.mail_addresses, &one.webhook_receivers, &one.telegram_receivers);
                let counts = [len(mails.as_ref()), len(webhooks.as_ref()), len(chats.as_ref())];
                count(&format!("{list}.{i}."), counts);
            }
        }
    }

    pub(super) fn count(&mut self, key: &str, count: usize, max: usize) {
        if count > max {
            self.fields.push(key, "max", count.to_string());
        }
    }

    pub(super) fn system_key(
        &mut self,
        at: &str,
        key: Option<String>,
        others: &mut HashSet<String>,
    ) -> String {
        let key = key.unwrap_or_default();
        let outcome = match key.trim() {
            "" => Err("required"),
            // No key of a system is longer; the store could not even look for a zero character.
            _ if is_too_long(&key, 255) || key.contains('\0') => Err("invalid_value"),
            _ if !others.insert(key.clone()) => Err("duplicate"),
            _ => Ok(()),
        };
        self.fields.check(&format!("{at}system_key"), &key, outcome);
        key
    }

    pub(crate) fn severities(&mut self, at: &str, words: Option<Vec<String>>) -> Vec<Severity> {
        let words = words.unwrap_or_default();
        let key = format!("{at}.severities");
        self.count(&key, words.len(), Severity::ALL.len());
        let mut severities = Vec::with_capacity(words.len().min(Severity::ALL.len()));
        for (i, word) in words.iter().take(Severity::ALL.len()).enumerate() {
            let outcome = match Severity::parse(word) {
                None => Err("invalid_value"),
                Some(severity) if severities.contains(&severity) => Err("duplicate"),
                Some(severity) => Ok(severity),
            };
            severities.extend(self.fields.check(&format!("{key}.{i}"), word, outcome));
        }
        severities
    }

    pub(crate) fn language(&mut self, at: &str, word: Option<String>) -> Language {
        self.word(&format!("{at}.language"), word, Language::parse).unwrap_or_default()
    }

    pub(crate) fn word<T>(
        &mut self,
        key: &str,
        word: Option<String>,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let word = word.unwrap_or_default();
        self.fields.check(key, &word, parse(&word).ok_or("invalid_value"))
    }
}

fn len<T>(list: Option<&Vec<T>>) -> usize {
    list.map_or(0, Vec::len)
}
