//! Explains which recipients an alert would notify, and why. The explanation contains no secret.

use super::{plan_of, sealed, target};
use crate::Alerts;
use bailiwick_alertmanager::{
    Labels, Severity,
    config::{BLACKHOLE, Layer, Tree, merge},
    receivers::{AnyRecipient, Channels, RecipientKind},
};
use bailiwick_domain::{Error, ObjectKind, OrgId, Result};
use bailiwick_policy::{Caller, OrgNode, Permission, Scope, hierarchy};
use bailiwick_store::{alert_layers, organizations};
use std::{fmt, time::Duration};

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
    pub why: Why,
    /// Each recipient that is notified.
    pub recipients: Vec<Notified>,
}

/// Why a channel is on or off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// The override for the system says so.
    Override(bool),
    /// These organizations have switched it on.
    On(Vec<String>),
    /// No organization has switched it on.
    Off,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Override(true) => f.write_str("on by the override for the system"),
            Why::Override(false) => f.write_str("off by the override for the system"),
            Why::On(by) => write!(f, "on by {}", by.join(", ")),
            Why::Off => f.write_str("off: no organization has switched it on"),
        }
    }
}

/// A recipient that is notified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notified {
    /// The recipient without its secret; none = it is of an organization above the reader's.
    pub recipient: Option<String>,
    /// The organizations whose layers name it; none = the override for the system does.
    pub named_by: Option<Vec<String>>,
}

impl Notified {
    /// The names of the layers that name it, in one line.
    pub fn source(&self) -> String {
        match &self.named_by {
            Some(names) => names.join(", "),
            None => "the override for the system".to_owned(),
        }
    }
}

/// [`explain`] for a reader, as `GET /alerts/config/effective` lets them see it: recipients that only organizations
/// above theirs name are hidden.
///
/// # Errors
/// 403 for an organization out of reach.
pub async fn explain_to(
    service: &Alerts,
    caller: &Caller,
    organization: Option<&str>,
    labels: Labels,
) -> Result<Explanation> {
    let (_, node) = target(&service.platform.db, caller, Permission::ConfigAlerts, organization).await?;
    walk(service, &node, labels, &hierarchy(caller)).await
}

/// Walks the tree of a tenant with an alert; `labels` without `organization_id` are of that tenant.
///
/// # Errors
/// An organization that does not exist, or the database's.
pub async fn explain(service: &Alerts, tenant: OrgId, labels: Labels) -> Result<Explanation> {
    let node = organizations::node(&service.platform.db, tenant)
        .await?
        .ok_or(Error::NotFound(ObjectKind::Organization))?;
    walk(service, &node, labels, &Scope::Everything).await
}

async fn walk(service: &Alerts, node: &OrgNode, mut labels: Labels, readable: &Scope) -> Result<Explanation> {
    let tenant = node.path.id;
    if labels.get("organization_id").is_none() {
        labels.insert("organization_id", tenant.to_string());
    }
    let mut organization = (String::new(), node.org_type.as_str());
    let (mut above, mut own) = (Vec::new(), None);
    for link in alert_layers::chain(&service.platform.db, node.path).await? {
        if link.path.id == tenant {
            organization.0.clone_from(&link.name);
        }
        let Some(stored) = link.layer.filter(|_| !link.is_silent) else { continue };
        let layer = sealed::open(&service.platform.keys, link.path.id, stored.layer)?;
        let named = NamedLayer { is_known: readable.contains(&link.path), name: link.name, layer };
        if link.path.id == tenant {
            own = Some(named);
        } else {
            above.push(named);
        }
    }
    let effective = merge(above.iter().map(|named| &named.layer), own.as_ref().map(|named| &named.layer));
    let layers: Vec<&NamedLayer> = above.iter().chain(&own).collect();
    let plan = plan_of(&service.settings.alerting, tenant, &effective);
    let tree = Tree::new(&plan.route).map_err(Error::internal)?;
    let found = tree.route(&labels);
    let destination = found.first().ok_or_else(|| Error::internal("a tree without a root"))?;
    let recipients = plan.receiver(&destination.receiver).map(|r| r.recipients.all()).unwrap_or_default();
    let key = labels.get("system_key").unwrap_or_default().to_owned();
    let own = effective.systems.iter().find(|o| o.system_key == key).map(|o| &o.channels);
    let severity = Severity::of_label(labels.get("severity").unwrap_or_default());
    let source = Source { layers: &layers, own, severity };
    let channels = RecipientKind::ALL.iter().map(|kind| source.channel(*kind, &recipients)).collect();
    Ok(Explanation {
        organization,
        severity,
        route: destination.route.clone(),
        receiver: Some(destination.receiver.clone()).filter(|name| name != BLACKHOLE),
        waits: [destination.group_wait, destination.group_interval, destination.repeat_interval],
        labels,
        channels,
    })
}

/// A layer that counts.
struct NamedLayer {
    /// Its organization's name.
    name: String,
    layer: Layer,
    /// Whether the reader may see its recipients.
    is_known: bool,
}

/// Where recipients and toggles come from.
struct Source<'a> {
    /// From the owner down.
    layers: &'a [&'a NamedLayer],
    /// The override for the system.
    own: Option<&'a Channels>,
    severity: Severity,
}

impl Source<'_> {
    /// The layers of which something holds.
    fn having(&self, has: impl Fn(&Channels) -> bool) -> Vec<&NamedLayer> {
        self.layers.iter().copied().filter(|named| has(&named.layer.channels)).collect()
    }

    fn channel(&self, kind: RecipientKind, recipients: &[AnyRecipient]) -> Channel {
        let on = self.having(|channels| channels.toggle(kind) == Some(true));
        let why = match self.own.and_then(|own| own.toggle(kind)) {
            Some(is_on) => Why::Override(is_on),
            None if on.is_empty() => Why::Off,
            None => Why::On(names(&on)),
        };
        let is_own = self.own.is_some_and(|own| own.has(kind));
        let notified = |recipient: &AnyRecipient| {
            if is_own {
                return Notified { recipient: Some(recipient.description()), named_by: None };
            }
            let key = recipient.key();
            let mut layers = self.having(|channels| channels.recipients(kind).iter().any(|r| r.key() == key));
            // Whether organizations above name the same recipient, and how, is not the reader's to know.
            let is_it = |one: &AnyRecipient| one.key() == key && one.wants(self.severity);
            let mut shown = layers.iter().filter(|named| named.is_known);
            let shown = shown.find_map(|named| named.layer.channels.recipients(kind).into_iter().find(is_it));
            layers.retain(|named| named.is_known == shown.is_some());
            Notified { recipient: shown.map(|one| one.description()), named_by: Some(names(&layers)) }
        };
        let recipients = recipients.iter().filter(|r| r.kind() == kind).map(notified).collect();
        Channel { name: kind.as_str(), why, recipients }
    }
}

fn names(layers: &[&NamedLayer]) -> Vec<String> {
    layers.iter().map(|named| named.name.clone()).collect()
}
