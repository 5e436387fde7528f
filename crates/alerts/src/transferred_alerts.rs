//! Ends the alerts and silences of a system in a tenant it has left (spec: alert-management#handling,
//! systems#destruction).

use super::{
    Fault, Sender, ServiceAlert, expire_silence, list_alerts, list_silences, push_queue,
    service_alerts::raise,
};
use crate::Alerts;
use bailiwick_alertmanager::{AlertsQuery, ListedSilence, Nanos, SenderLabels, SilencesQuery};
use bailiwick_fleet::systems::transfer::Cleanup;

/// Resolves the system's alerts in the tenant and ends its silences; returns how many silences it ended. A destroyed
/// system loses all its silences, a moved one those that concern the whole system. A second call does what is left.
///
/// # Errors
/// The router's; the call must then be repeated.
pub(crate) async fn leave(service: &Alerts, cleanup: &Cleanup) -> Result<u64, Fault> {
    let (tenant, system_key) = (cleanup.from, cleanup.system_key.as_str());
    let is_destroyed = cleanup.reassignment.is_none();
    let router = service.state.router_for_worker();
    let request_id = service.platform.fresh::<uuid::Uuid>().to_string();
    let identity = SenderLabels {
        system_key: system_key.to_owned(),
        system_id: cleanup.system.to_string(),
        organization_id: tenant.to_string(),
        ..SenderLabels::default()
    };
    let who = Sender { identity, tenant, request_id: &request_id };
    // Queued alerts need not reach the tenant any more.
    push_queue::withdraw(service, tenant, system_key).await?;
    let now = Nanos::from_ts(service.platform.now());
    let alerts = list_alerts(service, &router, &who, &AlertsQuery::default()).await?;
    let resolved: Vec<ServiceAlert> =
        alerts.into_iter().map(|alert| (system_key.to_owned(), alert.ended(now))).collect();
    let left = if resolved.is_empty() { Vec::new() } else { raise(service, tenant, resolved).await? };
    if !left.is_empty() {
        return Err(Fault::not_ready(format!("{} alerts could not be resolved", left.len())));
    }
    let in_force = SilencesQuery { expired: false, ..SilencesQuery::default() };
    let mut expired = 0;
    for silence in list_silences(service, &router, &who, &in_force).await? {
        if (is_destroyed || is_whole(&silence)) && expire_silence(service, &router, &who, silence.id).await? {
            expired += 1;
        }
    }
    Ok(expired)
}

/// Whether a system's own silence covers the whole system: the list has no silences of others.
fn is_whole(silence: &ListedSilence) -> bool {
    silence.matchers.len() == 1
}
