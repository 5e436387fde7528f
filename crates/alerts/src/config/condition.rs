//! The state of a layer, for conditional requests.

use bailiwick_alertmanager::config::Layer;
use bailiwick_domain::{Error, Result};
use bailiwick_platform::conditions::Editable;
use serde_json::Value;

/// The layer of an organization, with its secrets; `None` until a person saves one.
pub(super) struct EditableLayer<'a>(pub(super) Option<&'a Layer>);

impl Editable for EditableLayer<'_> {
    fn editable(&self) -> Result<Value> {
        serde_json::to_value(self.0).map_err(Error::internal)
    }

    fn exists(&self) -> bool {
        self.0.is_some()
    }
}
