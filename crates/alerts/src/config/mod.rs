//! The alert configuration (spec: alert-configuration#layers): the layers of organizations, stored with their secrets
//! sealed, and the configuration they form together for a tenant. `bailiwick_alertmanager::config` has the rules; this
//! module loads and stores the layers.
//!
//! Code that caches something derived from a configuration ([`plan`]) keeps the [`version`] it read *before* that:
//! while the version has not moved, the cached value is current.

mod condition;
mod explain;
mod failures;
mod forget;
pub(crate) mod provision;
mod prune;
mod publishing;
mod save;
mod sealed;
mod show;
mod watch;

pub use explain::{Channel, Explanation, Notified, Why, explain, explain_to};
pub use failures::{LastFailure, last_failures};
pub(crate) use failures::{digest_of, short_digest};
pub use provision::LONGEST as LONGEST_WAIT;
pub use provision::work_off;
pub use prune::{Pruned, prune};
pub use save::{Closed, Saved, remove, set};
pub use sealed::{ResealCounts, reseal_all};
pub use show::{EffectiveView, LayerView, LinkView, get, view, yaml};
pub use watch::{READ_BACK, read_back};

use crate::Alerts;
use bailiwick_alertmanager::config::{Layer, Plan, merge};
use bailiwick_domain::{OrgId, OrgType, Result, Ts, UserId};
use bailiwick_policy::{Caller, Granted, OrgNode, Permission, Refusal, alert_configuration};
use bailiwick_settings::Alerting as Settings;
use bailiwick_store::{
    Tx,
    alert_layers::{self, Stored},
    organizations,
    sql::On,
};
use std::collections::HashMap;

/// The organization whose configuration is read or changed (spec: alert-management#organizations): the one named, or
/// the caller's own. Customers always get their own. Unknown and foreign organizations are refused alike.
async fn target(
    on: impl Into<On<'_>>,
    caller: &Caller,
    permission: Permission,
    named: Option<&str>,
) -> Result<(Granted<OrgId>, OrgNode)> {
    let own = caller.org().map(|o| (o.id, o.org_type));
    let id = match (named, own) {
        (Some(named), Some((_, org_type))) if org_type != OrgType::Customer => named.parse::<OrgId>().ok(),
        (_, own) => own.map(|(id, _)| id),
    };
    let node = match id {
        Some(id) => organizations::node(on, id).await?,
        None => None,
    };
    let granted = alert_configuration(caller, permission, node.as_ref())?;
    Ok((granted, node.ok_or(Refusal::NotInHierarchy)?))
}

/// The layer of the caller's own organization with its secrets; nothing when none was saved.
///
/// # Errors
/// 403 without the permission.
pub(crate) async fn own_layer(
    service: &Alerts,
    caller: &Caller,
    permission: Permission,
) -> Result<(OrgId, Layer)> {
    let (granted, _) = target(&service.platform.db, caller, permission, None).await?;
    let stored = alert_layers::get(&service.platform.db, granted.id()).await?;
    let layer =
        stored.map(|stored| sealed::open(&service.platform.keys, granted.id(), stored.layer)).transpose()?;
    Ok((granted.id(), layer.unwrap_or_default()))
}

/// The user who saves a layer, and the time.
#[derive(Clone, Debug)]
pub struct Saving {
    /// The user; none = the service itself.
    pub user: Option<UserId>,
    /// The user's name, kept with the layer.
    pub name: String,
    /// Now.
    pub at: Ts,
}

/// Stores a layer of an organization, which is held (`organizations::marks::hold_marks`), its secrets sealed.
///
/// # Errors
/// The database's.
pub async fn store(
    service: &Alerts,
    tx: &mut Tx,
    target: &Granted<OrgId>,
    layer: &Layer,
    saving: &Saving,
) -> Result<()> {
    let stored = Stored {
        organization_id: target.id(),
        layer: sealed::seal(&service.platform.keys, &*service.platform.entropy, target.id(), layer)?,
        updated_by: saving.user,
        updated_by_name: saving.name.clone(),
        updated_at: saving.at,
    };
    Ok(alert_layers::put(tx, target, &stored).await?)
}

/// A number that moves with every commit that can change the recipients of any tenant's alerts: a layer is saved or
/// removed, or an organization is suspended, reactivated, deleted, restored, moved or destroyed. One indexed read.
///
/// # Errors
/// The database's.
pub async fn version(service: &Alerts) -> Result<i64> {
    Ok(service.platform.db.alert_config_epoch().await?)
}

/// The configuration in force for each of these tenants: the layers from the owner's down to its own, merged, without
/// those of suspended or deleted organizations. Unknown tenants are left out. Two statements for every few hundred
/// tenants and one more; each layer is opened once.
///
/// # Errors
/// The database's, and a stored layer that cannot be read.
pub async fn effective(
    service: &Alerts,
    on: impl Into<On<'_>>,
    tenants: &[OrgId],
) -> Result<HashMap<OrgId, Layer>> {
    let chains = alert_layers::chains(on, tenants).await?;
    let mut layers = HashMap::with_capacity(chains.layers.len());
    for (organization, stored) in chains.layers {
        layers.insert(organization, sealed::open(&service.platform.keys, organization, stored)?);
    }
    let merged = chains.of.into_iter().map(|(tenant, chain)| {
        let above = chain.iter().filter(|id| **id != tenant).filter_map(|id| layers.get(id));
        (tenant, merge(above, layers.get(&tenant)))
    });
    Ok(merged.collect())
}

/// The routing of a tenant as the embedded router walks it; none when there is no such organization.
///
/// # Errors
/// As [`effective`].
pub async fn plan(service: &Alerts, tenant: OrgId) -> Result<Option<Plan>> {
    let effective = effective(service, &service.platform.db, &[tenant]).await?;
    Ok(effective.get(&tenant).map(|layer| plan_of(&service.settings.alerting, tenant, layer)))
}

/// The plans of several tenants.
///
/// # Errors
/// As [`effective`].
pub async fn plans(service: &Alerts, tenants: &[OrgId]) -> Result<HashMap<OrgId, Plan>> {
    let effective = effective(service, &service.platform.db, tenants).await?;
    let settings = &service.settings.alerting;
    Ok(effective.into_iter().map(|(id, layer)| (id, plan_of(settings, id, &layer))).collect())
}

fn plan_of(settings: &Settings, tenant: OrgId, effective: &Layer) -> Plan {
    Plan::new(&tenant.to_string(), effective, &settings.timing)
}
