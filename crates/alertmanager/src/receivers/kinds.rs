//! The list of the kinds, at the end of this file, and the types that follow from it.

use super::{
    Content, EmailRecipient, Field, PagerdutyRecipient, Recipient, SlackRecipient, TeamsRecipient,
    TelegramRecipient, Transport, Variant, WebhookRecipient, object, objects,
};
use crate::{
    Severity,
    notify::{Message, Reason},
    texts::Surroundings,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The members that the list adds to a kind: its place in the types that have a field for each kind.
pub trait Listed: Recipient {
    /// The kind.
    const KIND: RecipientKind;

    /// The toggle of the kind.
    fn toggle(channels: &Channels) -> Option<bool>;
    /// The mutable toggle of the kind.
    fn toggle_mut(toggles: &mut Toggles) -> &mut Option<bool>;
    /// The recipients of the kind.
    fn list(channels: &Channels) -> &Vec<Self>;
    /// The mutable recipients of the kind.
    fn list_mut(channels: &mut Channels) -> &mut Vec<Self>;
    /// The drafts of the kind.
    fn drafts(draft: &ChannelsDraft) -> &Option<Vec<Self::Draft>>;
    /// The mutable drafts of the kind.
    fn drafts_mut(draft: &mut ChannelsDraft) -> &mut Option<Vec<Self::Draft>>;
    /// The recipients of an alert.
    fn of(recipients: &Recipients) -> &Vec<Self>;
    /// The mutable recipients of an alert.
    fn of_mut(recipients: &mut Recipients) -> &mut Vec<Self>;
    /// The blocks of a receiver.
    fn configs(receiver: &ReceiverConfig) -> &Vec<Self::Config>;
    /// The mutable blocks of a receiver.
    fn configs_mut(receiver: &mut ReceiverConfig) -> &mut Vec<Self::Config>;
}

/// Defines everything that has a field, a variant or a branch for each kind. The first argument is a dollar sign, which
/// a macro that defines a macro cannot write itself.
macro_rules! kinds {
    ($d:tt $(
        $(#[$doc:meta])*
        $Kind:ident($Recipient:ident) { $channel:ident, $list:ident, $configs:ident }
    )+) => {
        /// A kind of recipient.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum RecipientKind {
            $($(#[$doc])* $Kind,)+
        }

        impl RecipientKind {
            /// All kinds, in the order of the interface.
            pub const ALL: &[RecipientKind] = &[$(RecipientKind::$Kind),+];
            /// How many there are.
            pub const COUNT: usize = RecipientKind::ALL.len();
            /// The keys of the lists.
            pub(crate) const LISTS: &[&str] = &[$(stringify!($list)),+];

            /// The channel: its key in `enabled`.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(RecipientKind::$Kind => stringify!($channel),)+
                }
            }

            /// Most recipients of one list.
            pub const fn max(self) -> usize {
                match self {
                    $(RecipientKind::$Kind => <$Recipient as Recipient>::MAX,)+
                }
            }

            /// The fields of its recipients.
            pub const fn fields(self) -> &'static [Field] {
                match self {
                    $(RecipientKind::$Kind => <$Recipient as Recipient>::FIELDS,)+
                }
            }

            /// The key of its list.
            pub const fn list_key(self) -> &'static str {
                match self {
                    $(RecipientKind::$Kind => stringify!($list),)+
                }
            }
        }

        /// Whether each channel is on; `None` = no setting.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Toggles {
            $($(#[$doc])* pub $channel: Option<bool>,)+
        }

        impl Toggles {
            /// Each toggle changed by a function of it.
            #[must_use]
            pub(crate) fn map(self, change: impl Fn(Option<bool>) -> Option<bool>) -> Toggles {
                Toggles { $($channel: change(self.$channel),)+ }
            }

            /// Each toggle computed from both.
            #[must_use]
            pub(crate) fn zip(
                self,
                other: Toggles,
                combine: impl Fn(Option<bool>, Option<bool>) -> Option<bool>,
            ) -> Toggles {
                Toggles { $($channel: combine(self.$channel, other.$channel),)+ }
            }
        }

        /// Toggles and recipients, of a whole organization or of one system.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Channels {
            /// Which channels are on.
            pub enabled: Toggles,
            $($(#[$doc])* pub $list: Vec<$Recipient>,)+
        }

        /// Toggles and recipients as posted.
        #[derive(Clone, Debug, Default)]
        pub struct ChannelsDraft {
            /// Which channels are on.
            pub enabled: Option<Toggles>,
            $($(#[$doc])* pub $list: Option<Vec<<$Recipient as Recipient>::Draft>>,)+
        }

        // serde's own `flatten` would lose the path of a field of the wrong type.
        #[derive(Default, Deserialize)]
        #[serde(default)]
        pub(crate) struct LayerFields {
            #[serde(deserialize_with = "object")]
            enabled: Option<Toggles>,
            $(#[serde(deserialize_with = "objects")]
            $list: Option<Vec<<$Recipient as Recipient>::Draft>>,)+
            #[serde(deserialize_with = "objects")]
            systems: Option<Vec<OverrideDraft>>,
        }

        impl From<LayerFields> for LayerDraft {
            fn from(fields: LayerFields) -> LayerDraft {
                let LayerFields { enabled, $($list,)+ systems } = fields;
                LayerDraft { channels: ChannelsDraft { enabled, $($list,)+ }, systems }
            }
        }

        #[derive(Default, Deserialize)]
        #[serde(default)]
        pub(crate) struct OverrideFields {
            system_key: Option<String>,
            #[serde(deserialize_with = "object")]
            enabled: Option<Toggles>,
            $(#[serde(deserialize_with = "objects")]
            $list: Option<Vec<<$Recipient as Recipient>::Draft>>,)+
        }

        impl From<OverrideFields> for OverrideDraft {
            fn from(fields: OverrideFields) -> OverrideDraft {
                let OverrideFields { system_key, enabled, $($list,)+ } = fields;
                OverrideDraft { system_key, channels: ChannelsDraft { enabled, $($list,)+ } }
            }
        }

        /// The recipients of an alert, each list in the order of the configuration.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Recipients {
            $($(#[$doc])* pub $channel: Vec<$Recipient>,)+
        }

        impl Recipients {
            /// Whether there are none.
            pub fn is_empty(&self) -> bool {
                true $(&& self.$channel.is_empty())+
            }

            /// All of them, in the order of the kinds.
            pub fn all(&self) -> Vec<AnyRecipient> {
                let mut all = Vec::new();
                $(all.extend(self.$channel.iter().cloned().map(AnyRecipient::$Kind));)+
                all
            }

            /// The list of each kind as JSON.
            pub fn lists(&self) -> Vec<Value> {
                vec![$(json!(self.$channel)),+]
            }
        }

        /// A recipient of any kind.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum AnyRecipient {
            $($(#[$doc])* $Kind($Recipient),)+
        }

        impl AnyRecipient {
            /// Its kind.
            pub const fn kind(&self) -> RecipientKind {
                match self {
                    $(AnyRecipient::$Kind(_) => RecipientKind::$Kind,)+
                }
            }

            /// Two recipients of one kind with the same key are the same one.
            pub fn key(&self) -> String {
                match self {
                    $(AnyRecipient::$Kind(one) => one.key(),)+
                }
            }

            /// A short name, without secrets.
            pub fn name(&self) -> String {
                match self {
                    $(AnyRecipient::$Kind(one) => one.name(),)+
                }
            }

            /// A description, without secrets.
            pub fn description(&self) -> String {
                match self {
                    $(AnyRecipient::$Kind(one) => one.description(),)+
                }
            }

            /// Whether it receives alerts of this severity.
            pub fn wants(&self, severity: Severity) -> bool {
                match self {
                    $(AnyRecipient::$Kind(one) => one.wants(severity),)+
                }
            }

            /// How a notification reaches it.
            pub fn transport(&self) -> Transport<'_> {
                match self {
                    $(AnyRecipient::$Kind(one) => one.transport(),)+
                }
            }

            /// The content it receives for this reason of a notification.
            pub fn variant(&self, reason: Reason) -> Variant {
                match self {
                    $(AnyRecipient::$Kind(one) => variant(one, reason),)+
                }
            }
        }

        impl Variant {
            /// The content of a notification for recipients of this variant.
            pub fn content(&self, message: &Message<'_>, around: &Surroundings) -> Content {
                match self.kind {
                    $(RecipientKind::$Kind => $Recipient::content(message, self, around),)+
                }
            }
        }

        impl Channels {
            /// Whether a channel is on.
            pub fn toggle(&self, kind: RecipientKind) -> Option<bool> {
                match kind {
                    $(RecipientKind::$Kind => self.enabled.$channel,)+
                }
            }

            /// The recipients of a kind.
            pub fn recipients(&self, kind: RecipientKind) -> Vec<AnyRecipient> {
                match kind {
                    $(RecipientKind::$Kind => self.$list.iter().cloned().map(AnyRecipient::$Kind).collect(),)+
                }
            }

            /// Removes the recipients of a kind.
            pub(crate) fn clear(&mut self, kind: RecipientKind) {
                match kind {
                    $(RecipientKind::$Kind => self.$list.clear(),)+
                }
            }

            /// Whether there are recipients of a kind.
            pub fn has(&self, kind: RecipientKind) -> bool {
                match kind {
                    $(RecipientKind::$Kind => !self.$list.is_empty(),)+
                }
            }
        }

        /// A receiver of an Alertmanager configuration.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct ReceiverConfig {
            /// Its name.
            pub name: String,
            $($(#[$doc])*
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            pub $configs: Vec<<$Recipient as Recipient>::Config>,)+
        }

        $(impl Listed for $Recipient {
            const KIND: RecipientKind = RecipientKind::$Kind;

            fn toggle(channels: &Channels) -> Option<bool> {
                channels.enabled.$channel
            }
            fn toggle_mut(toggles: &mut Toggles) -> &mut Option<bool> {
                &mut toggles.$channel
            }
            fn list(channels: &Channels) -> &Vec<Self> {
                &channels.$list
            }
            fn list_mut(channels: &mut Channels) -> &mut Vec<Self> {
                &mut channels.$list
            }
            fn drafts(draft: &ChannelsDraft) -> &Option<Vec<Self::Draft>> {
                &draft.$list
            }
            fn drafts_mut(draft: &mut ChannelsDraft) -> &mut Option<Vec<Self::Draft>> {
                &mut draft.$list
            }
            fn of(recipients: &Recipients) -> &Vec<Self> {
                &recipients.$channel
            }
            fn of_mut(recipients: &mut Recipients) -> &mut Vec<Self> {
                &mut recipients.$channel
            }
            fn configs(receiver: &ReceiverConfig) -> &Vec<Self::Config> {
                &receiver.$configs
            }
            fn configs_mut(receiver: &mut ReceiverConfig) -> &mut Vec<Self::Config> {
                &mut receiver.$configs
            }
        })+

        /// `for_each_kind!(R => …)`: the expression once for each kind, with `R` as its recipient type.
        macro_rules! for_each_kind {
            ($d R:ident => $d body:expr) => {{
                $({
                    type $d R = $crate::receivers::$Recipient;
                    $d body;
                })+
            }};
        }
        pub(crate) use for_each_kind;
    };
}

/// The layer form of a configuration, as posted.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(from = "LayerFields")]
pub struct LayerDraft {
    pub(crate) channels: ChannelsDraft,
    pub(crate) systems: Option<Vec<OverrideDraft>>,
}

/// One of its `systems`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(from = "OverrideFields")]
pub struct OverrideDraft {
    pub(crate) system_key: Option<String>,
    pub(crate) channels: ChannelsDraft,
}

impl Toggles {
    /// These toggles without any explicit `false`: layers below the owner's only add.
    #[must_use]
    pub fn only_additions(self) -> Toggles {
        self.map(|toggle| toggle.filter(|is_on| *is_on))
    }
}

fn variant<R: Listed>(one: &R, reason: Reason) -> Variant {
    Variant {
        kind: R::KIND,
        language: one.language().unwrap_or_default(),
        format: one.format(),
        reason: R::NAMES_REASON.then_some(reason),
    }
}

kinds! { $
    /// E-mail.
    Email(EmailRecipient) { email, email_recipients, email_configs }
    /// Webhooks.
    Webhook(WebhookRecipient) { webhook, webhook_recipients, webhook_configs }
    /// Telegram.
    Telegram(TelegramRecipient) { telegram, telegram_recipients, telegram_configs }
    /// Slack.
    Slack(SlackRecipient) { slack, slack_recipients, slack_configs }
    /// Microsoft Teams.
    Teams(TeamsRecipient) { teams, teams_recipients, msteamsv2_configs }
    /// PagerDuty.
    Pagerduty(PagerdutyRecipient) { pagerduty, pagerduty_recipients, pagerduty_configs }
}
