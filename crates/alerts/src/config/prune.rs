//! Finds tenants that a remote router keeps although nothing happens in them, and has it forget them
//! (`bailiwick alerts prune`). The next alert makes such a tenant again ([`provision::make`](super::provision::make)).

use super::provision::REMEMBERED;
use crate::Alerts;
use bailiwick_alertmanager::{
    SilenceState,
    answer::{decode_alerts, decode_silences},
};
use bailiwick_domain::{OrgId, Result};
use bailiwick_outbound::{RouterClient, RouterError, router_client::TenantRequest};
use bailiwick_store::alert_tenants;
use futures_util::{StreamExt, stream};
use std::time::Duration;

/// The shortest time without an alert: longer than any process remembers that a tenant is made.
const SHORTEST_IDLE: Duration = Duration::from_secs(24 * 3600);
const _: () = assert!(SHORTEST_IDLE.as_secs() > REMEMBERED.as_secs());

/// Tenants asked concurrently.
const SIDE_BY_SIDE: usize = 4;

/// What [`prune`] has found.
#[derive(Debug, Default)]
pub struct Pruned {
    /// Idle tenants with the names of their organizations; forgotten if that was asked for.
    pub idle: Vec<(OrgId, String)>,
    /// Tenants that had no alert either and stay, with the reason.
    pub kept: Vec<(OrgId, String)>,
}

/// Finds the tenants without an alert for `idle` and without a silence in force; queues them to be forgotten if
/// `apply`. None without a remote router that has tenants.
///
/// # Errors
/// The database's.
pub async fn prune(service: &Alerts, idle: Duration, apply: bool) -> Result<Option<Pruned>> {
    let is_provisioned = service.settings.alerting.router.is_provisioned();
    let client = service.state.provisioning.client().filter(|_| is_provisioned);
    let Some(client) = client else { return Ok(None) };
    let before = service.platform.now().minus(idle.max(SHORTEST_IDLE));
    let candidates = alert_tenants::idle(&service.platform.db, before).await?;
    let mut judged = std::pin::pin!(
        stream::iter(candidates)
            .map(|(id, name)| async move { (id, name, is_empty(service, client, id).await) })
            .buffered(SIDE_BY_SIDE)
    );
    let mut pruned = Pruned::default();
    while let Some((id, name, judgement)) = judged.next().await {
        match judgement {
            Ok(()) => {
                if apply {
                    let mut tx = service.platform.db.begin().await?;
                    alert_tenants::drop_idle(&mut tx, id, service.platform.now()).await?;
                    tx.commit().await?;
                }
                pruned.idle.push((id, name));
            }
            Err(why) => pruned.kept.push((id, why)),
        }
    }
    Ok(Some(pruned))
}

/// The reason why a tenant stays, if there is one.
async fn is_empty(service: &Alerts, client: &RouterClient, tenant: OrgId) -> std::result::Result<(), String> {
    let (id, request_id) = (tenant.to_string(), service.platform.fresh::<uuid::Uuid>().to_string());
    let request = TenantRequest { tenant: &id, request_id: &request_id };
    let reads = async {
        let silences = client.list_silences(request, "").await?;
        Ok::<_, RouterError>((client.list_alerts(request, "").await?, silences))
    };
    let (alerts, silences) = match reads.await {
        Ok(answers) => answers,
        Err(RouterError::UnknownTenant) => return Ok(()),
        Err(error) => return Err(format!("the router does not tell: {error}")),
    };
    let silences = decode_silences(&silences).map_err(|e| e.to_string())?;
    if silences.iter().any(|silence| silence.status.state != SilenceState::Expired) {
        return Err("a silence is in force".to_owned());
    }
    let alerts = decode_alerts(&alerts).map_err(|e| e.to_string())?;
    if alerts.is_empty() { Ok(()) } else { Err("the router has alerts".to_owned()) }
}
