//! Secrets of a layer, bot tokens and webhook addresses: hidden when shown, kept when the hidden form is sent back
//! (spec: alert-configuration#layers), and handed to the caller that seals them for storage.

use super::{
    body::{FlatDraft, Posted},
    layer::{Layer, SystemOverride},
};
use crate::{
    Severity,
    receivers::{
        Channels, LayerDraft, Listed, Recipient as _, TelegramRecipient, Visible, WebhookRecipient,
        for_each_kind,
    },
};
use std::collections::{HashMap, HashSet};

impl Layer {
    /// The layer for readers who may not see its secrets.
    #[must_use]
    pub fn redacted(&self) -> Layer {
        let mut shown = self.clone();
        for channels in shown.all_channels_mut() {
            for_each_kind!(R => R::list_mut(channels).iter_mut().for_each(R::redact));
        }
        shown
    }

    /// The layer with every recipient hidden: readers see how many there are and of which severities. Its overrides are
    /// left out, because their systems belong to an organization above.
    #[must_use]
    pub fn hidden(&self) -> Layer {
        let mut shown = self.clone();
        shown.systems.clear();
        for channels in shown.all_channels_mut() {
            for_each_kind!(R => R::list_mut(channels).iter_mut().for_each(R::hide));
        }
        shown
    }

    /// The configuration for a reader who does not reach all organizations above. `above` merges the layers of the
    /// organizations out of reach, `within` those of the others. The two are listed side by side, the first one hidden:
    /// if they were merged, the reader could test whether a known address is among the hidden ones.
    #[must_use]
    pub fn beside(above: &Layer, within: &Layer) -> Layer {
        fn join<R: Listed>(to: &mut Channels, from: &Channels) {
            R::list_mut(to).extend_from_slice(R::list(from));
        }
        let mut shown = above.hidden();
        let (to, from) = (&mut shown.channels, &within.channels);
        let any = |a: Option<bool>, b: Option<bool>| if a == Some(true) { a } else { b.or(a) };
        to.enabled = to.enabled.zip(from.enabled, any);
        for_each_kind!(R => join::<R>(to, from));
        shown.systems.clone_from(&within.systems);
        shown
    }

    /// Calls a function with every secret, to seal or to open it.
    ///
    /// # Errors
    /// The first of the function.
    pub fn change_secrets<E>(
        &mut self,
        mut change: impl FnMut(&mut String) -> Result<(), E>,
    ) -> Result<(), E> {
        for channels in self.all_channels_mut() {
            for_each_kind!(R => R::list_mut(channels).iter_mut().filter_map(R::secret_mut).try_for_each(&mut change)?);
        }
        Ok(())
    }

    /// Opens every secret by `open`, which returns whether it could. A recipient whose secret does not open is left
    /// out; returns the number of these.
    pub fn open_secrets(&mut self, mut open: impl FnMut(&mut String) -> bool) -> usize {
        let mut lost = 0;
        let mut retain = |channels: &mut Channels, is_override: bool| {
            for_each_kind!(R => {
                let list = R::list_mut(channels);
                let before = list.len();
                list.retain_mut(|recipient| recipient.secret_mut().is_none_or(&mut open));
                lost += before - list.len();
                // An override without recipients would fall back to those of the organization, who were not to be
                // notified.
                if is_override && list.is_empty() && before > 0 {
                    *R::toggle_mut(&mut channels.enabled) = Some(false);
                }
            });
        };
        retain(&mut self.channels, false);
        self.systems.iter_mut().for_each(|one| retain(&mut one.channels, true));
        lost
    }
}

impl Posted {
    /// Puts the stored secrets where their hidden form was sent back. A hidden secret without a stored counterpart
    /// stays hidden, and the check refuses it. The numbers of the draft have been checked.
    pub(super) fn restore(&mut self, stored: &Layer) {
        match self {
            Posted::Layer(draft) => for_each_kind!(R => restore_layer::<R>(draft, stored)),
            Posted::Flat(draft) => restore_flat(draft, stored),
        }
    }
}

fn restore_layer<R: Listed>(draft: &mut LayerDraft, stored: &Layer) {
    let all = All::<R>::of(stored);
    Candidates::of(&stored.channels, &all, |_| true).restore(R::drafts_mut(&mut draft.channels));
    for one in draft.systems.iter_mut().flatten() {
        let candidates = Candidates::of_system(one.system_key.as_deref(), stored, &all);
        candidates.restore(R::drafts_mut(&mut one.channels));
    }
}

fn restore_flat(draft: &mut FlatDraft, stored: &Layer) {
    let (webhooks, chats) = (All::<WebhookRecipient>::of(stored), All::<TelegramRecipient>::of(stored));
    let of_all = &stored.channels;
    Candidates::of(of_all, &webhooks, <[Severity]>::is_empty).restore(&mut draft.webhook_receivers);
    Candidates::of(of_all, &chats, <[Severity]>::is_empty).restore(&mut draft.telegram_receivers);
    for one in draft.severities.iter_mut().flatten() {
        let severity = one.severity.as_deref().and_then(Severity::parse);
        let wants = |some: &[Severity]| some.is_empty() || severity.is_some_and(|s| some.contains(&s));
        Candidates::of(of_all, &webhooks, wants).restore(&mut one.webhook_receivers);
        Candidates::of(of_all, &chats, wants).restore(&mut one.telegram_receivers);
    }
    for one in draft.systems.iter_mut().flatten() {
        let key = one.system_key.as_deref();
        Candidates::of_system(key, stored, &webhooks).restore(&mut one.webhook_receivers);
        Candidates::of_system(key, stored, &chats).restore(&mut one.telegram_receivers);
    }
}

/// The recipients of a kind in all lists of a layer, by their visible part; each once.
struct All<'a, R>(HashMap<Visible, Vec<&'a R>>);

impl<'a, R: Listed> All<'a, R> {
    fn of(stored: &'a Layer) -> All<'a, R> {
        let mut all: HashMap<Visible, Vec<&'a R>> = HashMap::new();
        let mut seen = HashSet::new();
        for recipient in stored.all_channels().flat_map(R::list).filter(|r| r.secret().is_some()) {
            let visible = recipient.visible();
            if seen.insert((visible.clone(), recipient.key())) {
                all.entry(visible).or_default().push(recipient);
            }
        }
        All(all)
    }
}

/// The stored recipients that a list sent back may refer to: first those shown in its place, then all others.
struct Candidates<'a, R> {
    here: Vec<&'a R>,
    all: &'a All<'a, R>,
}

impl<'a, R: Listed> Candidates<'a, R> {
    fn of(
        channels: &'a Channels,
        all: &'a All<'a, R>,
        shows: impl Fn(&[Severity]) -> bool,
    ) -> Candidates<'a, R> {
        Candidates { here: R::list(channels).iter().filter(|r| shows(r.severities())).collect(), all }
    }

    fn of_system(key: Option<&str>, stored: &'a Layer, all: &'a All<'a, R>) -> Candidates<'a, R> {
        let own = |o: &&SystemOverride| Some(o.system_key.as_str()) == key;
        let channels = stored.systems.iter().find(own).map_or(&stored.channels, |o| &o.channels);
        Candidates::of(channels, all, |_| true)
    }

    fn restore(&self, drafts: &mut Option<Vec<R::Draft>>) {
        let mut used: HashSet<String> = HashSet::new();
        for draft in drafts.iter_mut().flatten() {
            let Some((visible, secret)) = R::redacted_secret(draft) else { continue };
            let here = self.here.iter().copied().filter(|r| r.visible() == visible);
            let others = self.all.0.get(&visible).into_iter().flatten().copied();
            let Some(found) = here.chain(others).find(|r| !used.contains(&r.key())) else { continue };
            used.insert(found.key());
            if let Some(stored) = found.secret() {
                stored.clone_into(secret);
            }
        }
    }
}
