//! The alert configuration: layers, their merge, and the documents and routing trees made from them (spec:
//! alert-configuration#layers, alert-delivery#generated-configuration).
//!
//! The path of a configuration: [`Posted::read`] a body → [`Posted::check`] it, which gives a [`Layer`] to store →
//! [`merge()`] the layers of the organizations above a tenant with its own. From there
//!
//! - a remote router gets [`Upload::new`], which reads the document back and checks with the service's own matchers
//!   that it notifies exactly the intended recipients;
//! - the embedded router makes a [`Plan`] and uses its [`Tree`]: [`Tree::route`] gives for an alert's labels the
//!   [`Destination`]s with receiver, group labels, group key and times; [`Plan::receiver`] gives the recipients of that
//!   receiver;
//! - people see [`Layer::redacted`], [`FlatView`] and [`shown_yaml`].
//!
//! The kinds of recipients are in [`crate::receivers`].

mod body;
mod check;
mod document;
mod flat;
mod generate;
mod layer;
mod merge;
mod plan;
mod secrets;
mod templates;
mod tree;

pub use body::Posted;
pub use document::{Document, Route, Span};
pub use flat::{FlatLists, FlatSeverity, FlatSystem, FlatTelegram, FlatView, FlatWebhook};
pub use generate::{GenerateError, HISTORY, History, Publishing, Smtp, Upload, shown_yaml};
pub use layer::{Layer, SystemOverride};
pub use merge::merge;
pub use plan::{BLACKHOLE, Plan, Receiver, Timing};
pub use tree::{Destination, Tree, TreeError};

use crate::{
    receivers::{Channels, Check, WebhookField},
    texts::Language,
    webhook_target::AllowedHosts,
};
use bailiwick_domain::Result;

/// A configuration that may be stored once its webhooks have been looked up and its systems are known.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The layer.
    pub layer: Layer,
    /// Its webhooks in the order of the body.
    pub webhooks: Vec<WebhookField>,
    /// Systems of the layer that the body does not name: their overrides are kept, unless the systems are gone.
    pub kept: Vec<String>,
}

impl Posted {
    /// Checks a body. `stored` is the present layer, whose secrets are kept where their hidden form was sent back.
    /// `above`: the merged layers of the organizations above; none for the owner organization, the only one whose
    /// explicit `false` is kept (layers only add).
    /// Recipients that name no language get `language`.
    ///
    /// # Errors
    /// Every wrong field by its path as sent, or the text of spec: alert-configuration#layers for the flat form.
    pub fn check(
        mut self,
        stored: Option<&Layer>,
        above: Option<&Channels>,
        allowed: &AllowedHosts,
        language: Language,
    ) -> Result<Checked> {
        let mut check = Check::new(allowed, language);
        // First of all, because the time of the other checks grows with the number of recipients.
        check.counts(&self);
        std::mem::take(&mut check.fields).finish()?;
        if let Some(stored) = stored {
            self.restore(stored);
        }
        let mut kept = Vec::new();
        let mut layer = match self {
            Posted::Layer(draft) => {
                let mut layer = check.layer(draft);
                layer.open_channels(above.unwrap_or(&Channels::default()));
                layer
            }
            Posted::Flat(draft) => {
                let mut layer = check.flat(draft)?;
                kept = flat::keep_other_kinds(&mut layer, stored);
                check.count("systems", layer.systems.len(), check::MAX_SYSTEMS);
                layer
            }
        };
        check.fields.finish()?;
        if above.is_some() {
            layer.channels.enabled = layer.channels.enabled.only_additions();
        }
        Ok(Checked { layer, webhooks: check.webhooks, kept })
    }
}

#[cfg(test)]
mod tests;
