//! Merges the layers of the organizations above a tenant and its own layer into the tenant's configuration (spec:
//! alert-configuration#layers).

use super::layer::{Layer, SystemOverride};
use crate::{
    Severity,
    receivers::{Channels, Listed, for_each_kind},
};
use std::collections::HashMap;

/// The configuration of a tenant. `layers` go from the owner's down to the tenant's own, without those of suspended or
/// deleted organizations. `own` is the last of them when the tenant itself has a layer: overrides apply to systems of
/// the organization that saved them, so those of organizations above have no effect here.
pub fn merge<'a>(above: impl IntoIterator<Item = &'a Layer>, own: Option<&'a Layer>) -> Layer {
    let mut merged = Channels::default();
    for layer in above.into_iter().chain(own) {
        add(&mut merged, &layer.channels);
    }
    normalise(&mut merged);
    let mut systems: Vec<SystemOverride> = own.map(|layer| layer.systems.clone()).unwrap_or_default();
    for single in &mut systems {
        let mut channels = Channels { enabled: single.channels.enabled, ..Channels::default() };
        add_lists(&mut channels, &single.channels);
        normalise(&mut channels);
        single.channels = channels;
    }
    systems.sort_by(|a, b| a.system_key.cmp(&b.system_key));
    Layer { channels: merged, systems }
}

fn add(to: &mut Channels, from: &Channels) {
    // An explicit `true` anywhere wins; an explicit `false` equals no setting.
    let either = |a: Option<bool>, b: Option<bool>| match (a, b) {
        (Some(a), Some(b)) => Some(a || b),
        (a, b) => a.or(b),
    };
    to.enabled = to.enabled.zip(from.enabled, either);
    add_lists(to, from);
}

fn add_lists(to: &mut Channels, from: &Channels) {
    for_each_kind!(R => unite::<R>(to, from));
}

/// Adds recipients. One that is present already gains severities and otherwise stays as it is.
fn unite<R: Listed>(to: &mut Channels, from: &Channels) {
    let list = R::list_mut(to);
    let mut indexes: HashMap<String, usize> = list.iter().enumerate().map(|(i, r)| (r.key(), i)).collect();
    for recipient in R::list(from) {
        let index = *indexes.entry(recipient.key()).or_insert(list.len());
        match list.get_mut(index) {
            None => list.push(recipient.clone()),
            // Told of everything already, or from now on.
            Some(there) if there.severities().is_empty() || recipient.severities().is_empty() => {
                there.severities_mut().clear();
            }
            Some(there) => there.severities_mut().extend_from_slice(recipient.severities()),
        }
    }
}

/// Severities in order, each once; all three become none.
fn normalise(channels: &mut Channels) {
    fn each<R: Listed>(channels: &mut Channels) {
        for recipient in R::list_mut(channels) {
            let severities = recipient.severities_mut();
            severities.sort_unstable();
            severities.dedup();
            if severities.len() == Severity::ALL.len() {
                severities.clear();
            }
        }
    }
    for_each_kind!(R => each::<R>(channels));
}
