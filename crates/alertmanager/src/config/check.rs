//! Converts a checked body of the layer form into a layer (spec: alert-configuration#layers).

use super::{
    body::{FlatDraft, Posted},
    layer::{Layer, SystemOverride},
};
use crate::{
    Severity,
    receivers::{
        Channels, ChannelsDraft, Check, EmailRecipient, LayerDraft, Listed, Recipient as _,
        TelegramRecipient, WebhookRecipient, for_each_kind,
    },
};
use bailiwick_domain::validate::is_too_long;
use std::collections::HashSet;

/// Overrides of one layer.
pub(super) const MAX_SYSTEMS: usize = 100;

impl Check<'_> {
    pub(super) fn layer(&mut self, draft: LayerDraft) -> Layer {
        let channels = self.channels("", draft.channels);
        let systems = draft.systems.unwrap_or_default();
        let mut keys = HashSet::new();
        let systems = systems.into_iter().enumerate().map(|(i, one)| {
            let path = format!("systems.{i}.");
            let system_key = self.system_key(&path, one.system_key, &mut keys);
            SystemOverride { system_key, channels: self.channels(&path, one.channels) }
        });
        Layer { systems: systems.collect(), channels }
    }

    fn channels(&mut self, path: &str, mut draft: ChannelsDraft) -> Channels {
        let enabled = draft.enabled.unwrap_or_default();
        let mut channels = Channels { enabled, ..Channels::default() };
        for_each_kind!(R => *R::list_mut(&mut channels) = self.list(path, R::drafts_mut(&mut draft).take()));
        channels
    }

    /// Checks one list of recipients; each may occur only once.
    fn list<R: Listed>(&mut self, path: &str, drafts: Option<Vec<R::Draft>>) -> Vec<R> {
        let drafts = drafts.unwrap_or_default();
        let name = format!("{path}{}", R::KIND.list_key());
        let mut keys = HashSet::new();
        let mut recipients = Vec::with_capacity(drafts.len().min(R::MAX));
        for (i, draft) in drafts.into_iter().enumerate() {
            let path = format!("{name}.{i}");
            let Some(recipient) = R::check(draft, &path, self) else { continue };
            if keys.insert(recipient.key()) {
                recipients.push(recipient);
            } else {
                self.fields.push(path, "duplicate", "");
            }
        }
        recipients
    }

    /// Checks the numbers of objects in a body against those of a layer. It reads nothing else.
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
        let mut count = |path: &str, channels: &ChannelsDraft| {
            for_each_kind!(R => {
                let key = format!("{path}{}", R::KIND.list_key());
                self.count(&key, len(R::drafts(channels).as_ref()), R::MAX);
            });
        };
        count("", &draft.channels);
        for (i, one) in draft.systems.iter().flatten().take(MAX_SYSTEMS).enumerate() {
            count(&format!("systems.{i}."), &one.channels);
        }
    }

    fn count_flat(&mut self, draft: &FlatDraft) {
        let mut count = |path: &str, [mails, webhooks, chats]: [usize; 3]| {
            self.count(&format!("{path}mail_addresses"), mails, EmailRecipient::MAX);
            self.count(&format!("{path}webhook_receivers"), webhooks, WebhookRecipient::MAX);
            self.count(&format!("{path}telegram_receivers"), chats, TelegramRecipient::MAX);
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

    pub(super) fn system_key(
        &mut self,
        path: &str,
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
        self.fields.check(&format!("{path}system_key"), &key, outcome);
        key
    }
}

fn len<T>(list: Option<&Vec<T>>) -> usize {
    list.map_or(0, Vec::len)
}
