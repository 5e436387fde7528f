//! Alerts and silences at a remote router: the service makes its own requests and checks the answers itself (spec:
//! alerts#proxy-errors, alert-router#remote-rules).

use super::{
    Fault, Sender, active_alert_limit,
    config::provision::{lost, make},
    expression_budget,
    history::{Origin, deferred},
    judging,
    push_queue::{self, QueueOutcome},
};
use crate::Alerts;
use bailiwick_alertmanager::{
    AlertState, AlertsQuery, ListedAlert, ListedSilence, Nanos, PostedAlert, PostedSilence, Reject,
    SilenceState, SilencesQuery,
    active_silence::{Expressions, active_silences},
    alert::write_started_alerts,
    answer::{complete_status, decode_alerts, decode_created, decode_silence, decode_silences},
    silence::write_silence,
};
use bailiwick_domain::OrgId;
use bailiwick_outbound::{RouterClient, RouterError, router_client::TenantRequest};
use uuid::Uuid;

/// Sends a push on. If the tenant does not run there yet, the push is queued, durably, before the answer.
pub(super) async fn push(
    service: &Alerts,
    client: &RouterClient,
    who: &Sender<'_>,
    now: Nanos,
    alerts: Vec<PostedAlert>,
) -> Result<(), Fault> {
    let mut admitted = active_alert_limit::admit(service, who, now, alerts).await?;
    let alerts = std::mem::take(&mut admitted.alerts);
    let to = Addressed { request: who.request(), tenant: who.tenant, system_key: Some(who.key()) };
    let taken = if alerts.is_empty() {
        Taken::default()
    } else {
        hand_over(service, client, to, now, alerts).await?
    };
    active_alert_limit::learn(service, who, now, &taken.alerts);
    if admitted.is_cut || taken.is_cut { Err(Fault::AlertLimit) } else { Ok(()) }
}

/// Where alerts go.
#[derive(Clone, Copy)]
pub(super) struct Addressed<'a> {
    pub(super) request: TenantRequest<'a>,
    pub(super) tenant: OrgId,
    /// The system that sends them; none when the service itself does.
    pub(super) system_key: Option<&'a str>,
}

/// The accepted alerts of a push.
#[derive(Default)]
pub(super) struct Taken {
    alerts: Vec<PostedAlert>,
    /// Some alerts were left out, because too many are queued for the tenant.
    is_cut: bool,
}

/// Sends alerts to the router, or queues them until it runs the tenant, and notes them in the history.
pub(super) async fn hand_over(
    service: &Alerts,
    client: &RouterClient,
    to: Addressed<'_>,
    now: Nanos,
    alerts: Vec<PostedAlert>,
) -> Result<Taken, Fault> {
    make(service, to.tenant).await?;
    let mut taken = Taken::default();
    let (behind, direct) = push_queue::split_waiting(service, to.tenant, alerts).await?;
    if !behind.is_empty() {
        taken.add(
            service,
            to,
            now,
            push_queue::enqueue(service, to.tenant, now, behind, to.system_key).await?,
        );
    }
    if direct.is_empty() {
        return Ok(taken);
    }
    let body = write_started_alerts(&direct, now).into();
    let sent = match to.system_key {
        Some(_) => client.push_alerts(to.request, body).await,
        None => client.put_alerts(to.request, body).await,
    };
    let outcome = match sent.map_err(Fault::from) {
        Ok(()) => QueueOutcome { alerts: direct, is_cut: false },
        Err(Fault::UnknownTenant) => {
            lost(service, to.tenant).await;
            push_queue::enqueue(service, to.tenant, now, direct, to.system_key).await?
        }
        Err(fault) => return Err(fault),
    };
    taken.add(service, to, now, outcome);
    Ok(taken)
}

impl Taken {
    fn add(&mut self, service: &Alerts, to: Addressed<'_>, now: Nanos, outcome: QueueOutcome) {
        let origin = if to.system_key.is_some() { Origin::System } else { Origin::Service };
        // Every alert names its system, whichever sender posts it.
        let whose = |alert| (PostedAlert::system_key(alert), alert);
        deferred::note(service, to.tenant, now, origin, outcome.alerts.iter().map(whose));
        self.is_cut |= outcome.is_cut;
        if self.alerts.is_empty() {
            self.alerts = outcome.alerts;
        } else {
            self.alerts.extend(outcome.alerts);
        }
    }
}

/// The alerts that the router returns, with a complete status, and the silences that were needed for that.
pub(super) async fn alerts(
    service: &Alerts,
    client: &RouterClient,
    who: &Sender<'_>,
    query: &AlertsQuery,
) -> Result<(Vec<ListedAlert>, Vec<ListedSilence>), Fault> {
    let client = &client.within(service.settings.alerting.limits.read_timeout);
    let body = client.list_alerts(who.request(), &query.upstream(who.key())).await?;
    let mut alerts = decode_alerts(&body)?;
    let needs_silences =
        |a: &ListedAlert| a.status.state == AlertState::Unprocessed || !a.status.silenced_by.is_empty();
    if !alerts.iter().any(needs_silences) {
        return Ok((alerts, Vec::new()));
    }
    // Every silence names its system, so none of another system applies to these alerts.
    let silences = silences(client, who, &SilencesQuery::default().upstream(who.key())).await?;
    let complete = move |expressions: &Expressions| {
        complete_status(&mut alerts, &active_silences(&silences), expressions);
        (alerts, silences)
    };
    Ok(judging::by_system(service, who.tenant, complete).await?)
}

/// The silences the router names.
pub(super) async fn silences(
    client: &RouterClient,
    who: &Sender<'_>,
    query: &str,
) -> Result<Vec<ListedSilence>, Fault> {
    Ok(decode_silences(&client.list_silences(who.request(), query).await?)?)
}

pub(super) async fn silence(
    client: &RouterClient,
    who: &Sender<'_>,
    id: Uuid,
) -> Result<Option<ListedSilence>, Fault> {
    match client.silence(who.request(), id).await? {
        Some(body) => Ok(Some(decode_silence(&body)?)),
        None => Ok(None),
    }
}

/// The silence if it is the system's own.
async fn owned(client: &RouterClient, who: &Sender<'_>, id: Uuid) -> Result<Option<ListedSilence>, Fault> {
    let found = silence(client, who, id).await?;
    Ok(found.filter(|s| s.id == id && who.viewer().sees_silence(&s.matchers)))
}

/// Creates or updates a silence, for a system or for a person.
pub(super) async fn set_silence(
    service: &Alerts,
    client: &RouterClient,
    who: &Sender<'_>,
    posted: &PostedSilence,
) -> Result<Uuid, Fault> {
    let set = put_silence(service, client, who, posted).await;
    if matches!(set, Err(Fault::UnknownTenant)) {
        lost(service, who.tenant).await;
    }
    set
}

/// The owner of the posted id is determined before anything is sent (spec: silences#create-for-systems).
async fn put_silence(
    service: &Alerts,
    client: &RouterClient,
    who: &Sender<'_>,
    posted: &PostedSilence,
) -> Result<Uuid, Fault> {
    make(service, who.tenant).await?;
    let client = &client.within(service.settings.alerting.limits.write_timeout);
    let replaces = match posted.id {
        Some(id) => {
            let stored = owned(client, who, id).await?.ok_or_else(Reject::silence_not_found)?;
            stored.status.state != SilenceState::Expired
        }
        None => false,
    };
    let mut compiled = 0;
    if !replaces || posted.compiled_bytes > 0 {
        let mut own = silences(client, who, &SilencesQuery::default().upstream(who.key())).await?;
        own.retain(|s| s.status.state != SilenceState::Expired && who.viewer().sees_silence(&s.matchers));
        if !replaces && own.len() as u64 >= service.settings.alerting.limits.silences_per_system {
            return Err(Fault::SilenceLimit);
        }
        compiled = expression_budget::check_listed(service, who, posted, own).await?;
    }
    let added = active_alert_limit::Added { number: u64::from(!replaces), compiled };
    active_alert_limit::admit_silence(service, client, who, added).await?;
    let body = client.set_silence(who.request(), write_silence(posted).into()).await?;
    Ok(decode_created(&body)?)
}

/// A silence that is already expired is not sent again: some routers treat that as an error.
pub(super) async fn expire_silence(
    service: &Alerts,
    client: &RouterClient,
    who: &Sender<'_>,
    id: Uuid,
) -> Result<bool, Fault> {
    let client = &client.within(service.settings.alerting.limits.read_timeout);
    match owned(client, who, id).await? {
        None => return Ok(false),
        Some(s) if s.status.state == SilenceState::Expired => return Ok(true),
        Some(_) => active_alert_limit::forget_silences(service, who.tenant),
    }
    match client.expire_silence(who.request(), id).await {
        Err(error) if !matches!(error, RouterError::TimedOut | RouterError::UnknownTenant) => {
            // An earlier try whose answer got lost may have ended the silence; the retry then finds nothing to end.
            match owned(client, who, id).await {
                Ok(Some(s)) if s.status.state == SilenceState::Expired => Ok(true),
                _ => Err(error.into()),
            }
        }
        expired => Ok(expired?),
    }
}
