//! Active alerts across the hierarchy and of one system (spec: alert-management#active-alerts).

use super::{
    Named,
    alert_query::{ActiveAlert, ActiveAlerts, AlertQuery},
    within,
};
use crate::Alerts;
use bailiwick_domain::{Page, Result, SystemId};
use bailiwick_fleet::systems;
use bailiwick_policy::Caller;

/// `GET /alerts`.
///
/// # Errors
/// 403 for an organization out of reach; with a remote router 502 when no tenant could be asked.
pub async fn active(
    service: &Alerts,
    caller: &Caller,
    named: &Named,
    query: AlertQuery,
) -> Result<ActiveAlerts> {
    let within = within(service, caller, named).await?;
    query.check()?;
    service.alerting().for_people().active(service, within, query).await
}

/// `GET /systems/{id}/alerts`; filters by system do not count.
///
/// # Errors
/// 404 unless the caller may read the system; the router's.
pub async fn active_of_system(
    service: &Alerts,
    caller: &Caller,
    id: Option<SystemId>,
    mut query: AlertQuery,
) -> Result<Page<ActiveAlert>> {
    let system = systems::load(service, caller, id).await?.system;
    query.check()?;
    query.filter.system_keys = None;
    let (tenant, key) = (system.organization.id, system.system_key);
    service.alerting().for_people().active_of_system(service, tenant, key, query).await
}
