//! Alerts the service raises itself: for many systems of a tenant in one batch (spec: alerts#link-failed).

use super::{
    Fault,
    remote::{Addressed, hand_over},
};
use crate::{Alerts, ServiceAlert};
use bailiwick_alertmanager::Nanos;
use bailiwick_domain::OrgId;
use bailiwick_outbound::{RouterClient, router_client::TenantRequest};

/// Alerts of one request to a remote router.
const ALERTS: usize = 1000;

/// Posts alerts of a tenant; returns the positions of those that were not accepted, which are to be retried. A remote
/// router that does not run the tenant yet gets them later.
///
/// # Errors
/// When none was accepted.
pub async fn raise(service: &Alerts, tenant: OrgId, alerts: Vec<ServiceAlert>) -> Result<Vec<usize>, Fault> {
    service.state.router_for_worker().raise(service, tenant, alerts).await
}

/// Posts them to a remote router.
pub(crate) async fn post(
    service: &Alerts,
    client: &RouterClient,
    tenant: OrgId,
    now: Nanos,
    alerts: Vec<ServiceAlert>,
) -> Result<Vec<usize>, Fault> {
    let id = tenant.to_string();
    let mut alerts = alerts.into_iter().map(|(_, alert)| alert).peekable();
    while alerts.peek().is_some() {
        let some = alerts.by_ref().take(ALERTS).collect();
        let request_id = service.platform.fresh::<uuid::Uuid>().to_string();
        let request = TenantRequest { tenant: &id, request_id: &request_id };
        hand_over(service, client, Addressed { request, tenant, system_key: None }, now, some).await?;
    }
    Ok(Vec::new())
}
