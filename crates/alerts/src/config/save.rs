//! Saving and removing a layer.

use super::{Saving, condition::EditableLayer, provision, publishing::warnings, sealed, store, target};
use crate::Alerts;
use bailiwick_alertmanager::{
    config::{Checked, Layer, Posted, SystemOverride, merge},
    receivers::{Channels, RecipientKind, WebhookField},
    webhook_target::Target,
};
use bailiwick_directory::organizations::alert_tenants;
use bailiwick_domain::{AuditAction, Error, FieldError, OrgId, OrgType, Result};
use bailiwick_platform::{RequestContext, audit};
use bailiwick_policy::{Caller, Granted, OrgNode, Permission, Refusal};
use bailiwick_store::{
    Tx,
    alert_layers::{self, Stored},
    organizations::lifecycle,
    systems,
};
use bytes::Bytes;
use futures_util::future::join_all;
use serde_json::Value;
use std::{collections::HashMap, sync::Arc, time::Duration};

/// How many times a save is tried when other requests save the same layer meanwhile.
const ATTEMPTS: usize = 5;
/// Names looked up at the same time.
const LOOK_UPS: usize = 16;
/// Time for all of them; each has 3 s.
const LOOK_UP_TIME: Duration = Duration::from_secs(6);

/// The result of a save.
#[derive(Clone, Debug, Default)]
pub struct Saved {
    /// Parts that have no effect at present, and tenants that were not reached.
    pub warnings: Vec<String>,
    /// Tenants for which the change is in force.
    pub propagated_to: u64,
    /// Tenants it concerns: the organization and those below it that are not deleted.
    pub affected_tenants: u64,
    /// Channels whose recipients in the layer are not notified.
    pub closed: Vec<Closed>,
}

/// A channel that is off although the saved layer names recipients of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closed {
    /// The channel.
    pub kind: RecipientKind,
    /// The system whose override names the recipients; none = the organization's list does.
    pub system_key: Option<String>,
    /// The organization above that has switched the channel off; none = the layer itself leaves it off.
    pub by: Option<String>,
}

impl Closed {
    fn warning(&self) -> String {
        let (channel, scope) = (self.kind.as_str(), self.system_key.as_deref());
        let scope = scope.map(|key| format!(" of {key}")).unwrap_or_default();
        match &self.by {
            Some(name) => {
                format!("{channel} is switched off by {name}: its recipients{scope} are not notified")
            }
            None => format!("{channel} is switched off: its recipients{scope} are not notified"),
        }
    }
}

/// `POST /alerts/config`: replaces the present layer.
///
/// # Errors
/// 403 for an organization out of reach, then the problems of the body (spec: alert-configuration#layers).
pub async fn set(
    service: &Alerts,
    caller: &Caller,
    ctx: &RequestContext,
    organization: Option<&str>,
    body: impl FnOnce() -> Result<Bytes>,
) -> Result<Saved> {
    let (granted, node) =
        target(&service.platform.db, caller, Permission::ManageAlerts, organization).await?;
    let id = granted.id();
    if !ctx.is_unconditional() {
        let stored = alert_layers::get(&service.platform.db, id).await?;
        ctx.check_conditions(
            &service.platform,
            &EditableLayer(open(service, id, stored.as_ref())?.as_ref()),
        )?;
    }
    let body = body()?;
    let above = Arc::new(above(service, &node).await?);
    let is_owner = node.org_type == OrgType::Owner;
    for _ in 0..ATTEMPTS {
        // The name service is asked, and secrets are restored, before any row is locked.
        let stored = alert_layers::get(&service.platform.db, id).await?;
        let (body, before, judging) = (body.clone(), open(service, id, stored.as_ref())?, service.clone());
        let layers_above = above.clone();
        // The write checks that this layer is unchanged; otherwise the save starts over.
        ctx.check_conditions(&service.platform, &EditableLayer(before.as_ref()))?;
        let judge = move || {
            let merged = merge(layers_above.iter().map(|(_, layer)| layer), None).channels;
            let above = (!is_owner).then_some(&merged);
            let (allowed, language) = (judging.events.webhooks.allowed(), judging.settings.language);
            let checked = Posted::read(&body)?.check(before.as_ref(), above, allowed, language)?;
            Ok::<_, Error>((checked, before))
        };
        let (mut checked, before) =
            service.platform.tasks.spawn_blocking(judge).await.map_err(Error::internal)??;
        look_up(service, id, &checked.webhooks).await?;
        let mut tx = service.platform.db.begin().await?;
        let (target, node) = hold(&mut tx, caller, id).await?;
        if alert_layers::get(&mut tx, id).await? != stored {
            continue;
        }
        known_systems(&mut tx, id, &mut checked).await?;
        store(service, &mut tx, &target, &checked.layer, &saving(service, caller)).await?;
        record(service, &mut tx, caller, ctx, id, [before.as_ref(), Some(&checked.layer)]).await?;
        let mut saved = propagate(service, tx, &node).await?;
        saved.closed = closed(&above, &checked.layer);
        let closed = saved.closed.iter().map(Closed::warning);
        saved.warnings.splice(0..0, warnings(service, &checked.layer).into_iter().chain(closed));
        return Ok(saved);
    }
    Err(Error::Unavailable {
        message: "service temporarily unavailable".into(),
        log: format!("the alert layer of {id} is saved faster than it can be checked"),
    })
}

/// `DELETE /alerts/config`: removes the layer; those of organizations above stay in force. A second call changes
/// nothing.
///
/// # Errors
/// 403 for an organization out of reach.
pub async fn remove(
    service: &Alerts,
    caller: &Caller,
    ctx: &RequestContext,
    organization: Option<&str>,
) -> Result<Saved> {
    let (granted, _) = target(&service.platform.db, caller, Permission::ManageAlerts, organization).await?;
    let id = granted.id();
    let mut tx = service.platform.db.begin().await?;
    let (target, node) = hold(&mut tx, caller, id).await?;
    let stored = alert_layers::get(&mut tx, id).await?;
    if !ctx.is_unconditional() {
        ctx.check_conditions(
            &service.platform,
            &EditableLayer(open(service, id, stored.as_ref())?.as_ref()),
        )?;
    }
    if alert_layers::remove(&mut tx, &target).await? {
        // An unreadable layer can still be removed.
        let before = open(service, id, stored.as_ref()).unwrap_or_default();
        record(service, &mut tx, caller, ctx, id, [before.as_ref(), None]).await?;
    }
    propagate(service, tx, &node).await
}

/// The layers of the organizations above that count, from the owner down, each with the organization's name.
async fn above(service: &Alerts, node: &OrgNode) -> Result<Vec<(String, Layer)>> {
    let links = alert_layers::chain(&service.platform.db, node.path).await?;
    let counting = links.into_iter().filter(|link| link.path.id != node.path.id && !link.is_silent);
    let layers = counting.filter_map(|link| Some((link.name, link.path.id, link.layer?.layer)));
    layers.map(|(name, id, layer)| Ok((name, sealed::open(&service.platform.keys, id, layer)?))).collect()
}

/// The channels of a layer whose recipients are not notified.
fn closed(above: &[(String, Layer)], layer: &Layer) -> Vec<Closed> {
    let merged = merge(above.iter().map(|(_, layer)| layer), Some(layer));
    let by = |kind| above.iter().find(|(_, layer)| layer.channels.toggle(kind) == Some(false));
    let is_on = |channels: Option<&Channels>, kind| {
        channels.and_then(|own| own.toggle(kind)).or(merged.channels.toggle(kind)) == Some(true)
    };
    let closed_kinds = |channels: &Channels, system: Option<&SystemOverride>| {
        let own = system.map(|system| &system.channels);
        let off = RecipientKind::ALL.iter().filter(|kind| channels.has(**kind) && !is_on(own, **kind));
        let closed = off.map(|kind| Closed {
            kind: *kind,
            system_key: system.map(|system| system.system_key.clone()),
            by: by(*kind)
                .map(|(name, _)| name.clone())
                .filter(|_| own.is_none_or(|own| own.toggle(*kind).is_none())),
        });
        closed.collect::<Vec<_>>()
    };
    let systems = layer.systems.iter().flat_map(|system| closed_kinds(&system.channels, Some(system)));
    closed_kinds(&layer.channels, None).into_iter().chain(systems).collect()
}

fn open(service: &Alerts, id: OrgId, stored: Option<&Stored>) -> Result<Option<Layer>> {
    stored.map(|s| sealed::open(&service.platform.keys, id, s.layer.clone())).transpose()
}

/// Locks the organization, so that saves to it follow each other, and repeats the permission check on the locked row.
async fn hold(tx: &mut Tx, caller: &Caller, id: OrgId) -> Result<(Granted<OrgId>, OrgNode)> {
    lifecycle::hold_marks(&mut *tx, id).await?.ok_or(Refusal::NotInHierarchy)?;
    target(tx, caller, Permission::ManageAlerts, Some(&id.to_string())).await
}

fn saving(service: &Alerts, caller: &Caller) -> Saving {
    let name = caller.identity().map(|i| i.name.clone()).unwrap_or_default();
    Saving { user: caller.user_id(), name, at: service.platform.now() }
}

/// Every name of a webhook must lead to public addresses only.
async fn look_up(service: &Alerts, tenant: OrgId, webhooks: &[WebhookField]) -> Result<()> {
    let mut targets: Vec<&Target> = webhooks.iter().map(|field| &field.target).collect();
    targets.sort_by(|a, b| a.host.cmp(&b.host));
    targets.dedup_by(|a, b| a.host == b.host);
    let mut found: HashMap<&str, Option<&'static str>> = HashMap::new();
    let asking = async {
        for some in targets.chunks(LOOK_UPS) {
            let answers =
                join_all(some.iter().map(|target| service.events.webhooks.look_up(tenant, target))).await;
            let codes = answers.into_iter().map(std::result::Result::err);
            found.extend(some.iter().map(|target| target.host.as_str()).zip(codes));
        }
    };
    // Names without an answer in time count as not found.
    let _ = tokio::time::timeout(LOOK_UP_TIME, asking).await;
    let refused = |field: &WebhookField| {
        let host = field.target.host.as_str();
        let code = found.get(host).copied().unwrap_or(Some("dns_resolution_failed"));
        code.map(|code| FieldError::new(field.key.clone(), code))
    };
    let wrong: Vec<FieldError> = webhooks.iter().filter_map(refused).collect();
    if wrong.is_empty() { Ok(()) } else { Err(Error::Invalid(wrong)) }
}

/// Overrides are for systems of the organization.
async fn known_systems(tx: &mut Tx, id: OrgId, Checked { layer, kept, .. }: &mut Checked) -> Result<()> {
    let keys = layer.systems.iter().map(|o| o.system_key.as_str());
    let registered = systems::keys_among(tx, id, keys).await?;
    // The client does not know that these exist.
    layer.systems.retain(|o| registered.contains(&o.system_key) || !kept.contains(&o.system_key));
    let unknown = layer.systems.iter().enumerate().filter(|(_, o)| !registered.contains(&o.system_key));
    let unknown: Vec<FieldError> = unknown
        .map(|(i, o)| {
            FieldError::new(format!("systems.{i}.system_key"), "invalid_value").with_value(&o.system_key)
        })
        .collect();
    if unknown.is_empty() { Ok(()) } else { Err(Error::Invalid(unknown)) }
}

/// The audit keeps layers, before and after, without secrets.
async fn record(
    service: &Alerts,
    tx: &mut Tx,
    caller: &Caller,
    ctx: &RequestContext,
    id: OrgId,
    [before, after]: [Option<&Layer>; 2],
) -> Result<()> {
    let shown = |layer: Option<&Layer>| -> Result<Option<Value>> {
        layer.map(|l| serde_json::to_value(l.redacted()).map_err(Error::internal)).transpose()
    };
    let event = audit::Event {
        action: if after.is_some() { AuditAction::AlertConfigUpdate } else { AuditAction::AlertConfigRemove },
        object_type: "alert_config",
        object_id: id.0,
        before: shown(before)?,
        after: shown(after)?,
    };
    audit::record(tx, service.platform.now(), caller, ctx, event).await
}

/// Commits. The embedded router reads the stored layers, so a change takes effect with the commit; a remote router
/// receives a push.
async fn propagate(service: &Alerts, mut tx: Tx, node: &OrgNode) -> Result<Saved> {
    let (top, org_type) = (node.path.id, node.org_type);
    let affected_tenants = alert_layers::count_tenants(&mut tx, top, org_type).await?;
    alert_tenants::queue(&service.directory, &mut tx, top, org_type).await?;
    tx.commit().await?;
    let (left, warnings) = provision::after_save(service, top, org_type).await?;
    let propagated_to = affected_tenants.saturating_sub(left);
    Ok(Saved { warnings, propagated_to, affected_tenants, closed: Vec::new() })
}
