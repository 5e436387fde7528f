//! What a remote router has of a tenant that is destroyed goes with it (spec: alert-configuration#provisioning). Taking
//! the configuration away stops the router's work for the tenant, but alerts and silences stay with it, and would be
//! there again if the tenant ever were.

use crate::Alerts;
use bailiwick_alerting::{
    ListedSilence, Nanos, PostedAlert, SilenceState,
    alert::write_alerts,
    answer::{decode_alerts, decode_silences},
};
use bailiwick_outbound::{RouterClient, RouterError, router_client::Caller};
use futures_util::{StreamExt, TryStreamExt, stream};

/// Alerts of one push.
const ALERTS: usize = 500;
/// Silences that are ended side by side, and in one try: more is left for the next one.
const SIDE_BY_SIDE: usize = 8;
const SILENCES: usize = 2000;

/// Ends the tenant's alerts, then its silences (nobody is to be told of what they have hidden), then deletes its
/// configuration. Doing it again does the rest; a tenant that does not run any more has nothing left.
pub(super) async fn forget(
    service: &Alerts,
    client: &RouterClient,
    caller: Caller<'_>,
) -> Result<(), RouterError> {
    match empty(service, client, caller).await {
        Ok(()) | Err(RouterError::UnknownTenant) => client.delete_configuration(caller).await,
        Err(e) => Err(e),
    }
}

async fn empty(service: &Alerts, client: &RouterClient, caller: Caller<'_>) -> Result<(), RouterError> {
    let now = Nanos::from_ts(service.now());
    let unreadable = |e: bailiwick_alerting::answer::Unreadable| RouterError::Unavailable(e.to_string());
    let listed = decode_alerts(&client.list_alerts(caller, "").await?).map_err(unreadable)?;
    let resolved: Vec<PostedAlert> = listed.into_iter().map(|alert| alert.ended(now)).collect();
    for some in resolved.chunks(ALERTS) {
        client.put_alerts(caller, write_alerts(some).into()).await?;
    }
    let silences = decode_silences(&client.list_silences(caller, "").await?).map_err(unreadable)?;
    let in_force: Vec<ListedSilence> =
        silences.into_iter().filter(|s| s.status.state != SilenceState::Expired).collect();
    let is_more = in_force.len() > SILENCES;
    let each = in_force.into_iter().take(SILENCES).map(|silence| client.expire_silence(caller, silence.id));
    stream::iter(each).buffer_unordered(SIDE_BY_SIDE).try_for_each(|_| async { Ok(()) }).await?;
    if is_more { Err(RouterError::NotReady("more silences are to be ended".to_owned())) } else { Ok(()) }
}
