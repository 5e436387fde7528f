//! Alerts and silences at a remote router: own requests, answers read and judged here (contract 04 §1.12, §4.3).

use super::{
    Fault, Sender,
    history::{Origin, later},
    queue,
};
use crate::App;
use bailiwick_alerting::{
    AlertState, AlertsQuery, ListedAlert, ListedSilence, Nanos, PostedAlert, PostedSilence, Reject,
    SilenceState, SilencesQuery,
    alert::write_alerts,
    answer::{complete_status, decode_alerts, decode_created, decode_silence, decode_silences},
    router::active_silences,
    silence::write_silence,
};
use bailiwick_outbound::RouterClient;
use uuid::Uuid;

/// Sends a push on. A tenant that does not run there yet gets it later: it is kept, durably, before the answer.
pub(super) async fn push(
    app: &App,
    client: &RouterClient,
    who: &Sender<'_>,
    now: Nanos,
    alerts: Vec<PostedAlert>,
) -> Result<(), Fault> {
    let body = write_alerts(&alerts);
    match client.push_alerts(who.caller(), body.into()).await.map_err(Fault::from) {
        Ok(()) => queue::supersede(app, who.tenant, &alerts).await?,
        Err(Fault::UnknownTenant) => queue::keep(app, who.tenant, now, alerts.clone()).await?,
        Err(fault) => return Err(fault),
    }
    let whose = |alert| (who.key(), alert);
    later::note(app, who.tenant, now, Origin::System, alerts.iter().map(whose));
    Ok(())
}

/// The alerts the router names, with a complete status, and the silences that were needed for that.
pub(super) async fn alerts(
    client: &RouterClient,
    who: &Sender<'_>,
    query: &AlertsQuery,
) -> Result<(Vec<ListedAlert>, Vec<ListedSilence>), Fault> {
    let body = client.list_alerts(who.caller(), &query.upstream(who.key())).await?;
    let mut alerts = decode_alerts(&body)?;
    let needs_silences =
        |a: &ListedAlert| a.status.state == AlertState::Unprocessed || !a.status.silenced_by.is_empty();
    if !alerts.iter().any(needs_silences) {
        return Ok((alerts, Vec::new()));
    }
    // Every silence names its system, so none of another system applies to these alerts.
    let silences = silences(client, who, &SilencesQuery::default().upstream(who.key())).await?;
    complete_status(&mut alerts, &active_silences(&silences));
    Ok((alerts, silences))
}

/// The silences the router names.
pub(super) async fn silences(
    client: &RouterClient,
    who: &Sender<'_>,
    query: &str,
) -> Result<Vec<ListedSilence>, Fault> {
    Ok(decode_silences(&client.list_silences(who.caller(), query).await?)?)
}

pub(super) async fn silence(
    client: &RouterClient,
    who: &Sender<'_>,
    id: Uuid,
) -> Result<Option<ListedSilence>, Fault> {
    match client.silence(who.caller(), id).await? {
        Some(body) => Ok(Some(decode_silence(&body)?)),
        None => Ok(None),
    }
}

/// The silence if it is the system's own.
async fn owned(client: &RouterClient, who: &Sender<'_>, id: Uuid) -> Result<Option<ListedSilence>, Fault> {
    let found = silence(client, who, id).await?;
    Ok(found.filter(|s| s.id == id && who.viewer().sees_silence(&s.matchers)))
}

/// Whose the posted id is, is found out before anything is sent (contract 04 §1.8).
pub(super) async fn set_silence(
    app: &App,
    client: &RouterClient,
    who: &Sender<'_>,
    posted: &PostedSilence,
) -> Result<Uuid, Fault> {
    let replaces = match posted.id {
        Some(id) => {
            let stored = owned(client, who, id).await?.ok_or_else(Reject::silence_not_found)?;
            stored.status.state != SilenceState::Expired
        }
        None => false,
    };
    if !replaces {
        let own = silences(client, who, &SilencesQuery::default().upstream(who.key())).await?;
        let in_force = own
            .iter()
            .filter(|s| s.status.state != SilenceState::Expired && who.viewer().sees_silence(&s.matchers))
            .count();
        if in_force as u64 >= app.settings.alerting.limits.silences_per_system {
            return Err(Fault::SilenceLimit);
        }
    }
    let body = client.set_silence(who.caller(), write_silence(posted).into()).await?;
    Ok(decode_created(&body)?)
}

/// One that is over is not asked about again: some routers call that an error.
pub(super) async fn expire_silence(client: &RouterClient, who: &Sender<'_>, id: Uuid) -> Result<bool, Fault> {
    match owned(client, who, id).await? {
        None => Ok(false),
        Some(s) if s.status.state == SilenceState::Expired => Ok(true),
        Some(_) => Ok(client.expire_silence(who.caller(), id).await?),
    }
}
