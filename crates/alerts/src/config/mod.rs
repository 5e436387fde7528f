//! Who is told of alerts (spec: alert-configuration#layers): the layers of organizations, stored with their secrets
//! sealed, and what they mean together for a tenant. The rules are those of `bailiwick_alerting::config`; here is where
//! layers come from.
//!
//! Whoever keeps what he made of a configuration ([`plan`]) keeps [`version`] with it, asked *before*: while that has
//! not moved, nothing else has.

mod condition;
mod explain;
mod failures;
mod forget;
pub(crate) mod provision;
mod publishing;
mod save;
mod sealed;
mod show;
mod watch;

pub use explain::{Channel, Explanation, explain};
pub use failures::{LastFailure, last_failures};
pub(crate) use failures::{digest_of, short_digest};
pub use provision::LONGEST as LONGEST_WAIT;
pub use provision::work_off;
pub use save::{Saved, remove, set};
pub use sealed::{ResealCounts, reseal_all};
pub use show::{EffectiveView, LinkView, Shown, get, view, yaml};
pub use watch::read_back;

use crate::Alerts;
use bailiwick_alerting::config::{Layer, Plan, merge};
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

/// The organization whose configuration is meant (spec: alert-management#organizations): the one named, or the caller's
/// own. Customers always mean their own. Unknown and foreign ones are refused alike.
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
    let place = match id {
        Some(id) => organizations::place(on, id).await?,
        None => None,
    };
    let granted = alert_configuration(caller, permission, place.as_ref())?;
    Ok((granted, place.ok_or(Refusal::NotInHierarchy)?))
}

/// Who saves a layer, and when.
#[derive(Clone, Debug)]
pub struct Saving {
    /// The user; none = the service itself.
    pub user: Option<UserId>,
    /// His name, kept with the layer.
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
    by: &Saving,
) -> Result<()> {
    let stored = Stored {
        organization_id: target.id(),
        layer: sealed::seal(&service.keys, &*service.entropy, target.id(), layer)?,
        updated_by: by.user,
        updated_by_name: by.name.clone(),
        updated_at: by.at,
    };
    Ok(alert_layers::put(tx, target, &stored).await?)
}

/// Moves with every commit that changes who is told of any tenant's alerts: a saved or removed layer, an organization
/// suspended, reactivated, deleted, restored, moved or destroyed. One indexed read.
///
/// # Errors
/// The database's.
pub async fn version(service: &Alerts) -> Result<i64> {
    Ok(service.db.alert_config_epoch().await?)
}

/// What is in force for each of these tenants: the layers from the owner's down to its own, merged, without those of
/// suspended or deleted organizations. Unknown tenants are left out. Two statements for every few hundred tenants and
/// one more; each layer is opened once.
///
/// # Errors
/// The database's, and a stored layer that is none.
pub async fn effective(
    service: &Alerts,
    on: impl Into<On<'_>>,
    tenants: &[OrgId],
) -> Result<HashMap<OrgId, Layer>> {
    let chains = alert_layers::chains(on, tenants).await?;
    let mut layers = HashMap::with_capacity(chains.layers.len());
    for (organization, stored) in chains.layers {
        layers.insert(organization, sealed::open(&service.keys, organization, stored)?);
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
    let effective = effective(service, &service.db, &[tenant]).await?;
    Ok(effective.get(&tenant).map(|layer| plan_of(&service.settings.alerting, tenant, layer)))
}

/// The same of several at once.
///
/// # Errors
/// As [`effective`].
pub async fn plans(service: &Alerts, tenants: &[OrgId]) -> Result<HashMap<OrgId, Plan>> {
    let effective = effective(service, &service.db, tenants).await?;
    let settings = &service.settings.alerting;
    Ok(effective.into_iter().map(|(id, layer)| (id, plan_of(settings, id, &layer))).collect())
}

fn plan_of(settings: &Settings, tenant: OrgId, effective: &Layer) -> Plan {
    Plan::new(&tenant.to_string(), effective, &settings.timing)
}
