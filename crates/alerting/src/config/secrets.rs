//! Secrets of a layer, bot tokens and webhook addresses: hidden when shown, kept when the hidden form is sent back
//! (spec: alert-configuration#layers), and handed to whoever seals them for storage.

use super::{
    REDACTED,
    body::{FlatDraft, FlatEntryDraft, LayerDraft, Posted, TelegramDraft, WebhookDraft},
    layer::{
        Channels, EmailRecipient, Layer, Recipient, Severity, SystemOverride, TelegramRecipient, Toggles,
        WebhookRecipient,
    },
    webhook,
};
use std::collections::{HashMap, HashSet};

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

    /// The layer with every recipient hidden whole: how many there are, and of which alerts they are told. Nothing is
    /// said of its systems, which are those of the organization above.
    #[must_use]
    pub fn hidden(&self) -> Layer {
        let hidden = || REDACTED.to_owned();
        let mut shown = self.clone();
        shown.systems.clear();
        for channels in shown.all_channels_mut() {
            for recipient in &mut channels.email_recipients {
                recipient.address = hidden();
            }
            for recipient in &mut channels.webhook_recipients {
                (recipient.name, recipient.url) = (hidden(), hidden());
            }
            for recipient in &mut channels.telegram_recipients {
                (recipient.bot_token, recipient.chat_id) = (hidden(), 0);
            }
        }
        shown
    }

    /// What is in force as somebody sees it who does not reach all organizations above: `above` is what those merge to
    /// that he does not reach, `within` the same of the others. The two stand beside each other, the first hidden:
    /// were they merged, he could try out whether an address of his is among those above.
    #[must_use]
    pub fn beside(above: &Layer, within: &Layer) -> Layer {
        fn join<R: Recipient>(to: &mut Channels, from: &Channels) {
            R::list_mut(to).extend_from_slice(R::list(from));
        }
        let mut shown = above.hidden();
        let (to, from) = (&mut shown.channels, &within.channels);
        let any = |a: Option<bool>, b: Option<bool>| if a == Some(true) { a } else { b.or(a) };
        to.enabled = Toggles {
            email: any(to.enabled.email, from.enabled.email),
            webhook: any(to.enabled.webhook, from.enabled.webhook),
            telegram: any(to.enabled.telegram, from.enabled.telegram),
        };
        join::<EmailRecipient>(to, from);
        join::<WebhookRecipient>(to, from);
        join::<TelegramRecipient>(to, from);
        shown.systems.clone_from(&within.systems);
        shown
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
    /// Puts the stored secrets where their hidden form was sent back. What has no stored counterpart stays hidden and
    /// is refused by the check. The numbers of the draft have been checked.
    pub(super) fn restore(&mut self, stored: &Layer) {
        let all = All::of(stored);
        match self {
            Posted::Layer(draft) => restore_layer(draft, stored, &all),
            Posted::Flat(draft) => restore_flat(draft, stored, &all),
        }
    }
}

fn restore_layer(draft: &mut LayerDraft, stored: &Layer, all: &All<'_>) {
    let shown = Shown::of(&stored.channels, all, |_| true);
    shown.restore(&mut draft.webhook_recipients, &mut draft.telegram_recipients);
    for one in draft.systems.iter_mut().flatten() {
        let shown = Shown::of_system(one.system_key.as_deref(), stored, all);
        shown.restore(&mut one.webhook_recipients, &mut one.telegram_recipients);
    }
}

fn restore_flat(draft: &mut FlatDraft, stored: &Layer, all: &All<'_>) {
    let shown = Shown::of(&stored.channels, all, <[Severity]>::is_empty);
    shown.restore(&mut draft.webhook_receivers, &mut draft.telegram_receivers);
    let restore = |one: &mut FlatEntryDraft, shown: Shown<'_>| {
        shown.restore(&mut one.webhook_receivers, &mut one.telegram_receivers);
    };
    for one in draft.severities.iter_mut().flatten() {
        let severity = one.severity.as_deref().and_then(Severity::parse);
        let wants = |told: &[Severity]| told.is_empty() || severity.is_some_and(|s| told.contains(&s));
        restore(one, Shown::of(&stored.channels, all, wants));
    }
    for one in draft.systems.iter_mut().flatten() {
        let shown = Shown::of_system(one.system_key.as_deref(), stored, all);
        restore(one, shown);
    }
}

/// What two hidden webhooks have in common that may be the same: name and shown address.
fn hidden_webhook(name: &str, shown: &str) -> (String, String) {
    (name.to_owned(), shown.to_ascii_lowercase())
}

/// The recipients of all lists of a layer, by what of them is shown; each once.
struct All<'a> {
    webhooks: HashMap<(String, String), Vec<&'a WebhookRecipient>>,
    chats: HashMap<i64, Vec<&'a TelegramRecipient>>,
}

impl<'a> All<'a> {
    fn of(stored: &'a Layer) -> All<'a> {
        let mut all = All { webhooks: HashMap::new(), chats: HashMap::new() };
        let (mut hooks, mut chats) = (HashSet::new(), HashSet::new());
        for channels in stored.all_channels() {
            for recipient in &channels.webhook_recipients {
                if hooks.insert((&recipient.name, &recipient.url)) {
                    let key = hidden_webhook(&recipient.name, &webhook::redacted(&recipient.url));
                    all.webhooks.entry(key).or_default().push(recipient);
                }
            }
            for recipient in &channels.telegram_recipients {
                if chats.insert(recipient.key()) {
                    all.chats.entry(recipient.chat_id).or_default().push(recipient);
                }
            }
        }
        all
    }
}

/// The recipients that a list sent back may mean: first those that were shown in its place, then all others.
struct Shown<'a> {
    webhooks: Vec<&'a WebhookRecipient>,
    chats: Vec<&'a TelegramRecipient>,
    all: &'a All<'a>,
}

impl<'a> Shown<'a> {
    fn of(place: &'a Channels, all: &'a All<'a>, shows: impl Fn(&[Severity]) -> bool) -> Shown<'a> {
        Shown {
            webhooks: place.webhook_recipients.iter().filter(|r| shows(&r.severities)).collect(),
            chats: place.telegram_recipients.iter().filter(|r| shows(&r.severities)).collect(),
            all,
        }
    }

    fn of_system(key: Option<&str>, stored: &'a Layer, all: &'a All<'a>) -> Shown<'a> {
        let own = |o: &&SystemOverride| Some(o.system_key.as_str()) == key;
        let place = stored.systems.iter().find(own).map_or(&stored.channels, |o| &o.channels);
        Shown::of(place, all, |_| true)
    }

    fn restore(&self, webhooks: &mut Option<Vec<WebhookDraft>>, chats: &mut Option<Vec<TelegramDraft>>) {
        let mut used: HashSet<&str> = HashSet::new();
        for draft in webhooks.iter_mut().flatten() {
            let Some(url) = draft.url.as_mut().filter(|url| url.contains(REDACTED)) else { continue };
            let name = draft.name.as_deref().unwrap_or_default();
            let here = self
                .webhooks
                .iter()
                .copied()
                .filter(|r| r.name == name && webhook::redacted(&r.url).eq_ignore_ascii_case(url));
            let others = self.all.webhooks.get(&hidden_webhook(name, url)).into_iter().flatten().copied();
            if let Some(found) = here.chain(others).find(|r| !used.contains(r.url.as_str())) {
                used.insert(&found.url);
                found.url.clone_into(url);
            }
        }
        let mut used: HashSet<String> = HashSet::new();
        for draft in chats.iter_mut().flatten() {
            let Some(token) = draft.bot_token.as_mut().filter(|token| *token == REDACTED) else { continue };
            let Some(chat_id) = draft.chat_id else { continue };
            let here = self.chats.iter().copied().filter(|r| r.chat_id == chat_id);
            let others = self.all.chats.get(&chat_id).into_iter().flatten().copied();
            if let Some(found) = here.chain(others).find(|r| !used.contains(&r.key())) {
                used.insert(found.key());
                found.bot_token.clone_into(token);
            }
        }
    }
}
