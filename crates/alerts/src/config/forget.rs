//! Removes a destroyed tenant from a remote router (spec: alert-configuration#provisioning). Deleting the configuration
//! stops the router's work for the tenant but keeps its alerts and silences, which would reappear if the tenant ever
//! ran again.

use crate::Alerts;
use bailiwick_alertmanager::{
    ListedSilence, Nanos, PostedAlert, SilenceState,
    alert::write_alerts,
    answer::{decode_alerts, decode_silences},
};
use bailiwick_outbound::{RouterClient, RouterError, router_client::TenantRequest};
use futures_util::{StreamExt, TryStreamExt, stream};

/// Alerts of one push.
const ALERTS: usize = 500;
/// Silences that are ended concurrently, and in one try; the next try ends the others.
const SIDE_BY_SIDE: usize = 8;
const SILENCES: usize = 2000;

/// Ends the tenant's alerts, then its silences, then deletes its configuration. Alerts go first, so that ending a
/// silence notifies no recipient of an alert it has hidden. The call can be repeated: it does what is left, and a
/// tenant that no longer runs has nothing left.
pub(super) async fn forget(
    service: &Alerts,
    client: &RouterClient,
    request: TenantRequest<'_>,
) -> Result<(), RouterError> {
    match empty(service, client, request).await {
        Ok(()) | Err(RouterError::UnknownTenant) => client.delete_configuration(request).await,
        Err(e) => Err(e),
    }
}

async fn empty(
    service: &Alerts,
    client: &RouterClient,
    request: TenantRequest<'_>,
) -> Result<(), RouterError> {
    let now = Nanos::from_ts(service.platform.now());
    let unreadable = |e: bailiwick_alertmanager::answer::Unreadable| RouterError::Unavailable(e.to_string());
    let listed = decode_alerts(&client.list_alerts(request, "").await?).map_err(unreadable)?;
    let resolved: Vec<PostedAlert> = listed.into_iter().map(|alert| alert.ended(now)).collect();
    for some in resolved.chunks(ALERTS) {
        client.put_alerts(request, write_alerts(some).into()).await?;
    }
    let silences = decode_silences(&client.list_silences(request, "").await?).map_err(unreadable)?;
    let in_force: Vec<ListedSilence> =
        silences.into_iter().filter(|s| s.status.state != SilenceState::Expired).collect();
    let is_more = in_force.len() > SILENCES;
    let each = in_force.into_iter().take(SILENCES).map(|silence| client.expire_silence(request, silence.id));
    stream::iter(each).buffer_unordered(SIDE_BY_SIDE).try_for_each(|_| async { Ok(()) }).await?;
    if is_more { Err(RouterError::NotReady("more silences are to be ended".to_owned())) } else { Ok(()) }
}
