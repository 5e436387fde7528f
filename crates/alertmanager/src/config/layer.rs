//! A layer: the alert configuration of one organization (spec: alert-configuration#layers). Its JSON is the wire form
//! and the stored form.

use crate::{
    Severity,
    receivers::{Channels, Listed, RecipientKind, Recipients, for_each_kind},
};
use serde::{Deserialize, Serialize};

/// The override of one system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemOverride {
    /// The system.
    pub system_key: String,
    /// For each channel, a non-empty list and a toggle that is set replace the organization's.
    #[serde(flatten)]
    pub channels: Channels,
}

/// A layer, or several merged into the configuration of a tenant ([`super::merge()`]).
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
    /// The recipients of an alert of this severity from this system under this layer. A channel whose toggle is not
    /// `true` has none. The routing tree and its check both call this.
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

    /// Switches on each channel that has recipients and no toggle of its own: people who add a recipient expect
    /// messages to reach it. A channel stays off if this organization or a layer `above` it has switched it off.
    pub(super) fn open_channels(&mut self, above: &Channels) {
        let own = Channels { enabled: self.channels.enabled, ..Channels::default() };
        for channels in self.all_channels_mut() {
            for_each_kind!(R => {
                let is_off = [&own, above].into_iter().any(|other| R::toggle(other) == Some(false));
                if R::toggle(channels).is_none() && !R::list(channels).is_empty() && !is_off {
                    *R::toggle_mut(&mut channels.enabled) = Some(true);
                }
            });
        }
    }

    /// The toggles and lists of the organization and of its overrides, in order.
    pub fn all_channels(&self) -> impl Iterator<Item = &Channels> {
        std::iter::once(&self.channels).chain(self.systems.iter().map(|o| &o.channels))
    }

    /// Mutable toggles and lists of the organization and of its overrides, in order.
    pub fn all_channels_mut(&mut self) -> impl Iterator<Item = &mut Channels> {
        std::iter::once(&mut self.channels).chain(self.systems.iter_mut().map(|o| &mut o.channels))
    }

    /// Whether any list names a recipient of this kind.
    pub fn has(&self, kind: RecipientKind) -> bool {
        self.all_channels().any(|channels| channels.has(kind))
    }
}
