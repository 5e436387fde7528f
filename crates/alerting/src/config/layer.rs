//! What an organization configures: a layer (spec: alert-configuration#layers). Its JSON is the wire form and the
//! stored form.

use crate::receivers::{Channels, Kind, Listed, Recipients, for_each_kind};
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

impl Layer {
    /// The recipients of an alert of this severity from this system, when the layer is in force. A channel whose toggle
    /// is not `true` has none. The routing tree and its check both ask here.
    pub fn recipients(&self, system_key: &str, severity: Severity) -> Recipients {
        let own = self.systems.iter().find(|o| o.system_key == system_key).map(|o| &o.channels);
        let mut recipients = Recipients::default();
        for_each_kind!(R => *R::of_mut(&mut recipients) = self.recipients_of(own, severity));
        recipients
    }

    fn recipients_of<R: Listed>(&self, own: Option<&Channels>, severity: Severity) -> Vec<R> {
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
    pub fn has(&self, kind: Kind) -> bool {
        self.all_channels().any(|channels| channels.has(kind))
    }
}
