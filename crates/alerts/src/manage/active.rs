//! Active alerts across the hierarchy and of one system (spec: alert-management#active-alerts).

use super::{
    Named,
    alert_query::{ActiveAlert, ActiveAlerts, AlertQuery},
    fingerprint, tenant, within,
};
use crate::Alerts;
use bailiwick_domain::{Error, ObjectKind, OrgId, Page, Result, SystemId};
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
    service.state.for_people().active(service, within, query).await
}

/// `GET /alerts` for one alert of one organization, by its fingerprint.
///
/// # Errors
/// 400 without an organization, 403 for one out of reach, 404 `alert not found`; the router's.
pub async fn active_alert(
    service: &Alerts,
    caller: &Caller,
    organizations: &[String],
    alert: &str,
) -> Result<(OrgId, ActiveAlert)> {
    let tenant = tenant(service, caller, organizations).await?;
    let missing = || Error::NotFound(ObjectKind::Alert);
    fingerprint(alert).map_err(|_| missing())?;
    let found = service.state.for_people().active_alert(service, tenant, alert).await?;
    found.map(|found| (tenant, found)).ok_or_else(missing)
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
    let system = systems::load(&service.fleet, caller, id).await?.system;
    query.check()?;
    query.filter.system_keys = None;
    let (tenant, key) = (system.organization.id, system.system_key);
    service.state.for_people().active_of_system(service, tenant, key, query).await
}
