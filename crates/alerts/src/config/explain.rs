//! Explains to an operator which recipients an alert would notify, and why. The explanation contains no secret.

use super::{plan_of, sealed};
use crate::Alerts;
use bailiwick_alerting::{
    Labels, Severity,
    config::{BLACKHOLE, Layer, Tree, merge},
    receivers::{AnyRecipient, Channels, Kind},
};
use bailiwick_domain::{Error, ObjectKind, OrgId, Result};
use bailiwick_store::{alert_layers, organizations};
use std::time::Duration;

/// The recipients that an alert with given labels would notify.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// Name and type of the tenant.
    pub organization: (String, &'static str),
    /// The labels, `organization_id` included.
    pub labels: Labels,
    /// The severity the alert is treated as.
    pub severity: Severity,
    /// The matchers from the root to the node that takes the alert.
    pub route: String,
    /// The receiver of that route; none when it notifies no recipient.
    pub receiver: Option<String>,
    /// Waits before the first message, the next one and a repetition.
    pub waits: [Duration; 3],
    /// Each kind of recipient.
    pub channels: Vec<Channel>,
}

/// One channel.
#[derive(Clone, Debug)]
pub struct Channel {
    /// Its word.
    pub name: &'static str,
    /// Why it is on or off.
    pub why: String,
    /// Each recipient that is notified, and the layers that name it.
    pub told: Vec<(String, String)>,
}

/// Walks the tree of a tenant with an alert; `labels` without `organization_id` are of that tenant.
///
/// # Errors
/// An organization that does not exist, or the database's.
pub async fn explain(service: &Alerts, tenant: OrgId, mut labels: Labels) -> Result<Explanation> {
    if labels.get("organization_id").is_none() {
        labels.insert("organization_id", tenant.to_string());
    }
    let place =
        organizations::place(&service.db, tenant).await?.ok_or(Error::NotFound(ObjectKind::Organization))?;
    let mut organization = (String::new(), place.org_type.as_str());
    let (mut above, mut own) = (Vec::new(), None);
    for link in alert_layers::chain(&service.db, place.path).await? {
        if link.path.id == tenant {
            organization.0.clone_from(&link.name);
        }
        let Some(stored) = link.layer.filter(|_| !link.is_silent) else { continue };
        let layer = sealed::open(&service.keys, link.path.id, stored.layer)?;
        if link.path.id == tenant {
            own = Some((link.name, layer));
        } else {
            above.push((link.name, layer));
        }
    }
    let effective = merge(above.iter().map(|(_, layer)| layer), own.as_ref().map(|(_, layer)| layer));
    let layers: Vec<&(String, Layer)> = above.iter().chain(&own).collect();
    let plan = plan_of(&service.settings.alerting, tenant, &effective);
    let tree = Tree::new(&plan.route).map_err(Error::internal)?;
    let found = tree.route(&labels);
    let at = found.first().ok_or_else(|| Error::internal("a tree without a root"))?;
    let recipients = plan.receiver(&at.receiver).map(|r| r.recipients.all()).unwrap_or_default();
    let key = labels.get("system_key").unwrap_or_default().to_owned();
    let own = effective.systems.iter().find(|o| o.system_key == key).map(|o| &o.channels);
    let source = Source { layers: &layers, own };
    let channels = Kind::ALL.iter().map(|kind| source.channel(*kind, &recipients)).collect();
    Ok(Explanation {
        organization,
        severity: Severity::of_label(labels.get("severity").unwrap_or_default()),
        route: at.route.clone(),
        receiver: Some(at.receiver.clone()).filter(|name| name != BLACKHOLE),
        waits: [at.group_wait, at.group_interval, at.repeat_interval],
        labels,
        channels,
    })
}

/// Where recipients and toggles come from.
struct Source<'a> {
    /// Layers that count, by the names of their organizations, from the owner down.
    layers: &'a [&'a (String, Layer)],
    /// The override for the system.
    own: Option<&'a Channels>,
}

impl Source<'_> {
    fn channel(&self, kind: Kind, recipients: &[AnyRecipient]) -> Channel {
        let names = |has: &dyn Fn(&Channels) -> bool| {
            let having = self.layers.iter().filter(|(_, layer)| has(&layer.channels));
            having.map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
        };
        let on = names(&|channels| channels.toggle(kind) == Some(true));
        let why = match self.own.and_then(|own| own.toggle(kind)) {
            Some(true) => "on by the override for the system".to_owned(),
            Some(false) => "off by the override for the system".to_owned(),
            None if on.is_empty() => "off: no organization has switched it on".to_owned(),
            None => format!("on by {on}"),
        };
        let is_own = self.own.is_some_and(|own| own.has(kind));
        let from = |recipient: &AnyRecipient| {
            let key = recipient.key();
            if is_own {
                "the override for the system".to_owned()
            } else {
                names(&|channels| channels.recipients(kind).iter().any(|r| r.key() == key))
            }
        };
        let told =
            recipients.iter().filter(|r| r.kind() == kind).map(|r| (r.description(), from(r))).collect();
        Channel { name: kind.as_str(), why, told }
    }
}
