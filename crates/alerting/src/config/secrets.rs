//! Secrets of a layer, bot tokens and webhook addresses: hidden when shown, kept when the hidden form is sent back
//! (contract 04 §2.3), and handed to whoever seals them for storage.

use super::{
    REDACTED,
    body::{FlatDraft, FlatEntryDraft, LayerDraft, Posted, TelegramDraft, WebhookDraft},
    layer::{Channels, Layer, Recipient, Severity, SystemOverride, TelegramRecipient, WebhookRecipient},
    webhook,
};

impl Layer {
    /// The layer as those see it who may not see its secrets.
    #[must_use]
    pub fn redacted(&self) -> Layer {
        let mut shown = self.clone();
        for channels in shown.all_channels_mut() {
            for recipient in &mut channels.webhook_recipients {
                recipient.url = webhook::redacted(&recipient.url);
            }
            for recipient in &mut channels.telegram_recipients {
                REDACTED.clone_into(&mut recipient.bot_token);
            }
        }
        shown
    }

    /// Hides whole recipients that `known` does not name: they come from organizations the reader does not reach.
    pub fn hide_strangers(&mut self, known: &Layer) {
        fn names<R: Recipient>(known: &Layer, recipient: &R) -> bool {
            let key = recipient.key();
            known.all_channels().any(|c| R::list(c).iter().any(|r| r.key() == key))
        }
        let hidden = || REDACTED.to_owned();
        for channels in self.all_channels_mut() {
            for recipient in channels.email_recipients.iter_mut().filter(|r| !names(known, *r)) {
                recipient.address = hidden();
            }
            for recipient in channels.webhook_recipients.iter_mut().filter(|r| !names(known, *r)) {
                (recipient.name, recipient.url) = (hidden(), hidden());
            }
            for recipient in channels.telegram_recipients.iter_mut().filter(|r| !names(known, *r)) {
                (recipient.bot_token, recipient.chat_id) = (hidden(), 0);
            }
        }
    }

    /// Every secret in turn, to be sealed or opened.
    ///
    /// # Errors
    /// The first of the function.
    pub fn change_secrets<E>(
        &mut self,
        mut change: impl FnMut(&mut String) -> Result<(), E>,
    ) -> Result<(), E> {
        for channels in self.all_channels_mut() {
            for recipient in &mut channels.webhook_recipients {
                change(&mut recipient.url)?;
            }
            for recipient in &mut channels.telegram_recipients {
                change(&mut recipient.bot_token)?;
            }
        }
        Ok(())
    }
}

impl Posted {
    /// Puts the stored secrets where their hidden form was sent back. What has no stored counterpart stays hidden and is
    /// refused by the check.
    pub(super) fn restore(&mut self, stored: &Layer) {
        match self {
            Posted::Layer(draft) => restore_layer(draft, stored),
            Posted::Flat(draft) => restore_flat(draft, stored),
        }
    }
}

fn restore_layer(draft: &mut LayerDraft, stored: &Layer) {
    let shown = Shown::of(&stored.channels, stored, |_| true);
    shown.restore(&mut draft.webhook_recipients, &mut draft.telegram_recipients);
    for one in draft.systems.iter_mut().flatten() {
        let shown = Shown::of_system(one.system_key.as_deref(), stored);
        shown.restore(&mut one.webhook_recipients, &mut one.telegram_recipients);
    }
}

fn restore_flat(draft: &mut FlatDraft, stored: &Layer) {
    let shown = Shown::of(&stored.channels, stored, <[Severity]>::is_empty);
    shown.restore(&mut draft.webhook_receivers, &mut draft.telegram_receivers);
    let restore = |one: &mut FlatEntryDraft, shown: Shown<'_>| {
        shown.restore(&mut one.webhook_receivers, &mut one.telegram_receivers);
    };
    for one in draft.severities.iter_mut().flatten() {
        let severity = one.severity.as_deref().and_then(Severity::parse);
        let wants = |told: &[Severity]| told.is_empty() || severity.is_some_and(|s| told.contains(&s));
        restore(one, Shown::of(&stored.channels, stored, wants));
    }
    for one in draft.systems.iter_mut().flatten() {
        let shown = Shown::of_system(one.system_key.as_deref(), stored);
        restore(one, shown);
    }
}

/// The recipients that a list sent back may mean: first those that were shown in its place, then all others.
struct Shown<'a> {
    webhooks: Vec<&'a WebhookRecipient>,
    chats: Vec<&'a TelegramRecipient>,
}

impl<'a> Shown<'a> {
    fn of(place: &'a Channels, stored: &'a Layer, shows: impl Fn(&[Severity]) -> bool) -> Shown<'a> {
        fn ordered<'a, R: Recipient>(
            place: &'a Channels,
            stored: &'a Layer,
            shows: impl Fn(&[Severity]) -> bool,
        ) -> Vec<&'a R> {
            let first = R::list(place).iter().filter(|r| shows(r.severities()));
            first.chain(stored.all_channels().flat_map(|c| R::list(c))).collect()
        }
        Shown { webhooks: ordered(place, stored, &shows), chats: ordered(place, stored, &shows) }
    }

    fn of_system(key: Option<&str>, stored: &'a Layer) -> Shown<'a> {
        let own = |o: &&SystemOverride| Some(o.system_key.as_str()) == key;
        let place = stored.systems.iter().find(own).map_or(&stored.channels, |o| &o.channels);
        Shown::of(place, stored, |_| true)
    }

    fn restore(&self, webhooks: &mut Option<Vec<WebhookDraft>>, chats: &mut Option<Vec<TelegramDraft>>) {
        let mut used: Vec<&str> = Vec::new();
        for draft in webhooks.iter_mut().flatten() {
            let Some(url) = draft.url.as_mut().filter(|url| url.contains(REDACTED)) else { continue };
            let name = draft.name.as_deref().unwrap_or_default();
            let is_meant = |r: &&&WebhookRecipient| {
                r.name == name
                    && webhook::redacted(&r.url).eq_ignore_ascii_case(url)
                    && !used.contains(&r.url.as_str())
            };
            if let Some(found) = self.webhooks.iter().find(is_meant) {
                used.push(&found.url);
                found.url.clone_into(url);
            }
        }
        let mut used: Vec<String> = Vec::new();
        for draft in chats.iter_mut().flatten() {
            let Some(token) = draft.bot_token.as_mut().filter(|token| *token == REDACTED) else { continue };
            let chat_id = draft.chat_id;
            let is_meant =
                |r: &&&TelegramRecipient| Some(r.chat_id) == chat_id && !used.contains(&Recipient::key(**r));
            if let Some(found) = self.chats.iter().find(is_meant) {
                used.push(found.key());
                found.bot_token.clone_into(token);
            }
        }
    }
}
