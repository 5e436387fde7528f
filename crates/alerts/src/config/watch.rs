//! Detects that a remote router has lost the configurations it received (spec: alert-router#remote-interface). A router
//! that falls back to an empty configuration still answers every request, but notifies no recipient. So one process
//! reads configurations back: some tenants each minute, and over time all of them.

use super::{
    provision::{layers_of, queue_lost},
    publishing::publishing,
};
use crate::Alerts;
use bailiwick_alertmanager::config::{Layer, Publishing, Upload};
use bailiwick_domain::{OrgId, Result};
use bailiwick_outbound::{RouterClient, RouterError, router_client::TenantRequest};
use bailiwick_platform::tasks::lease;
use bailiwick_store::alert_tenants;
use futures_util::{StreamExt, stream};
use std::time::Duration;

/// The name of the task.
pub const READ_BACK: &str = "alert configurations";
const LEASE_TIME: Duration = Duration::from_secs(180);
/// Tenants of one round, and tenants asked concurrently.
const TENANTS: i64 = 60;
const SIDE_BY_SIDE: usize = 4;
/// How long a tenant is left out after it was read back or pushed.
const AGAIN: Duration = Duration::from_secs(600);

/// Reads some tenants' configurations back from the router and queues those that differ; returns their number. None
/// when another process is doing so.
///
/// # Errors
/// The database's.
pub async fn read_back(service: &Alerts) -> Result<Option<u64>> {
    let Some(client) = service.state.provisioning.client() else { return Ok(None) };
    if !lease(&service.platform, READ_BACK, LEASE_TIME).await? {
        return Ok(None);
    }
    let now = service.platform.now();
    let tenants = alert_tenants::to_read_back(&service.platform.db, now, now.minus(AGAIN), TENANTS).await?;
    if tenants.is_empty() {
        return Ok(Some(0));
    }
    // Connections belong to the runtime that uses them.
    let client = client.with_own_connections().map_err(bailiwick_domain::Error::internal)?;
    let publishing = publishing(service);
    let wanted = layers_of(service, &tenants).await?;
    let each = wanted.into_iter().filter_map(|(tenant, layer)| {
        let (client, publishing) = (&client, publishing.clone());
        layer.map(|layer| async move { (tenant, is_there(service, client, tenant, layer, publishing).await) })
    });
    let mut each = std::pin::pin!(stream::iter(each).buffer_unordered(SIDE_BY_SIDE));
    let mut lost = 0;
    while let Some((tenant, is_there)) = each.next().await {
        if !is_there {
            tracing::warn!(%tenant, "the alert router no longer has a configuration as it was pushed");
            queue_lost(service, tenant).await?;
            lost += 1;
        }
    }
    Ok(Some(lost))
}

/// False when the router is known to have another configuration, or none.
async fn is_there(
    service: &Alerts,
    client: &RouterClient,
    tenant: OrgId,
    layer: Layer,
    publishing: Publishing,
) -> bool {
    let (id, request_id) = (tenant.to_string(), service.platform.fresh::<uuid::Uuid>().to_string());
    let configuration =
        match client.configuration(TenantRequest { tenant: &id, request_id: &request_id }).await {
            Ok(Some(configuration)) => configuration,
            Ok(None) | Err(RouterError::UnknownTenant) => return false,
            Err(error) => {
                tracing::debug!(tenant = id, %error, "a configuration cannot be read back");
                return true;
            }
        };
    let compare = move || {
        // A document that cannot be made cannot be pushed either; the push reports it.
        let Ok(upload) = Upload::new(&id, &layer, &publishing) else { return true };
        upload.matches_layers(&configuration)
    };
    service.platform.tasks.spawn_blocking(compare).await.unwrap_or(true)
}
