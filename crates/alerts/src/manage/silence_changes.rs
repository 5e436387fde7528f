//! Creates, changes and expires silences for people (spec: alert-management#handling), in both routers.
//!
//! With the embedded router a change, its activity record and its audit row are one transaction. With a remote router
//! the records are written after the router has accepted the change. One task does both and finishes even if the client
//! disconnects, so every change at the router is recorded.

use super::{
    check_all, fingerprint,
    handling::{What, audited, record},
    remote,
    silences::{By, Found, Place, find, look_up, sender},
    text, told,
};
use crate::{AlertRouter, Alerts, Fault, embedded, remote as at_remote};
use bailiwick_alerting::{
    Labels, ListedAlert, ListedSilence, Matcher, Nanos, PostedSilence, SilenceState, StoredAlert,
    StoredSilence, router::active_silences,
};
use bailiwick_domain::{AuditAction, Error, FieldError, ObjectKind, OrgId, Result, Ts};
use bailiwick_outbound::RouterClient;
use bailiwick_platform::RequestContext;
use bailiwick_policy::{Action, Caller};
use bailiwick_store::{
    Tx, alert_handling, audit,
    history::{self, active},
    router as rows,
};
use serde_json::{Value, json};
use std::{future::Future, time::Duration};
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

/// Minutes of a silence without an end.
const MINUTES: i64 = 60;
const MINUTES_MOST: i64 = 10_080;
const COMMENT: &str = "silenced from Bailiwick";
const ENDED: AuditAction = AuditAction::AlertSilenceDelete;

/// A silence to be made.
#[derive(Clone, Debug, Default)]
pub struct NewSilence {
    /// The alert.
    pub fingerprint: String,
    /// Comment.
    pub comment: String,
    /// Length.
    pub duration_minutes: Option<i64>,
    /// End as sent; wins.
    pub end_at: Option<String>,
}

/// A silence to be changed.
#[derive(Clone, Debug, Default)]
pub struct SilenceChange {
    /// New end as sent.
    pub end_at: Option<String>,
    /// New comment; none keeps it.
    pub comment: Option<String>,
}

/// The end as sent: after `now`, and within the longest silence counted from the start.
fn end(service: &Alerts, sent: &str, start: Option<Ts>) -> std::result::Result<Ts, FieldError> {
    let now = service.now();
    let wrong = |code: &str| FieldError::new("end_at", code).with_value(sent);
    let is_time = sent.contains(['T', 't']) && sent.as_bytes().get(4) == Some(&b'-');
    let end = sent.parse::<Ts>().ok().filter(|_| is_time).ok_or_else(|| wrong("invalid_format"))?;
    if end <= now {
        return Err(wrong("must_be_future"));
    }
    if end.since(start.unwrap_or(now).min(now)) > service.settings.alerting.limits.content.silence_length {
        return Err(wrong("too_late"));
    }
    Ok(end)
}

fn comment(service: &Alerts, sent: &str) -> std::result::Result<(), FieldError> {
    text("comment", sent, service.settings.alerting.limits.content.silence_bytes / 4)
}

/// When a remote router must have answered all requests: before the route's timeout.
fn deadline(service: &Alerts) -> Instant {
    Instant::now() + service.settings.alerting.limits.write_timeout
}

async fn in_time<T>(
    until: Instant,
    asked: impl Future<Output = std::result::Result<T, Fault>>,
) -> std::result::Result<T, Fault> {
    timeout_at(until, asked).await.unwrap_or(Err(Fault::TimedOut))
}

/// A change at a remote router and its record.
struct Errand {
    service: Alerts,
    client: RouterClient,
    caller: Caller,
    ctx: RequestContext,
    tenant: OrgId,
    system_key: String,
    until: Instant,
}

impl Errand {
    fn new(
        service: &Alerts,
        client: &RouterClient,
        by: By<'_>,
        (tenant, system_key): (OrgId, &str),
        until: Instant,
    ) -> Errand {
        Errand {
            service: service.clone(),
            client: client.clone(),
            caller: by.caller.clone(),
            ctx: by.ctx.clone(),
            tenant,
            system_key: system_key.to_owned(),
            until,
        }
    }

    /// Runs to the end, even if the client disconnects.
    async fn run<T: Send + 'static, F: Future<Output = Result<T>> + Send + 'static>(
        self,
        work: impl FnOnce(Errand) -> F,
    ) -> Result<T> {
        let tasks = self.service.tasks.clone();
        tasks.spawn(work(self)).await.map_err(Error::internal)?
    }

    async fn set(&self, posted: &PostedSilence) -> std::result::Result<Uuid, Fault> {
        let who = sender(self.tenant, &self.system_key, &self.ctx.request_id);
        in_time(self.until, at_remote::set_silence(&self.service, &self.client, &who, posted)).await
    }

    async fn expire(&self, id: Uuid) -> std::result::Result<bool, Fault> {
        let who = sender(self.tenant, &self.system_key, &self.ctx.request_id);
        in_time(self.until, at_remote::expire_silence(&self.service, &self.client, &who, id)).await
    }

    fn by(&self) -> By<'_> {
        By { caller: &self.caller, ctx: &self.ctx }
    }
}

/// `POST /systems/{id}/alerts/silences`, `POST /alerts/silences`; returns the id of the silence.
///
/// # Errors
/// In the order of the specification, then the router's.
pub async fn create_silence(
    service: &Alerts,
    by: By<'_>,
    place: &Place,
    body: impl FnOnce() -> Result<NewSilence>,
) -> Result<Uuid> {
    let found = find(service, by.caller, Action::Update, place).await?;
    if !found.is_registered {
        return Err(Error::bad_request("system is not registered"));
    }
    let new = body()?;
    let minutes = new.duration_minutes.unwrap_or(MINUTES);
    let duration = match &new.end_at {
        None if !(1..=MINUTES_MOST).contains(&minutes) => {
            Err(FieldError::new("duration_minutes", "out_of_range").with_value(minutes.to_string()))
        }
        _ => Ok(()),
    };
    check_all([fingerprint(&new.fingerprint), comment(service, &new.comment), duration])?;
    let alert = (found.tenant, new.fingerprint.clone());
    match service.alerting().for_people() {
        AlertRouter::Embedded => {
            let mut tx = service.db.begin().await?;
            history::hold(&mut tx, [found.tenant]).await?;
            let (key, labels) = stored_alert(&mut tx, service, &found, &new.fingerprint).await?;
            let order = Order::new(service, by.caller, &new, &labels)?;
            let who = sender(found.tenant, &key, &by.ctx.request_id);
            let at = order.posted.starts_at;
            let id =
                embedded::set_silence_in(&mut tx, service, &who, at, order.posted).await.map_err(told)?;
            let what = What { action: "silenced", silence: Some(id), details: order.details };
            note(&mut tx, service, by, alert, AuditAction::AlertSilenceCreate, (None, what)).await?;
            tx.commit().await?;
            Ok(id)
        }
        AlertRouter::Remote(client) => {
            let until = deadline(service);
            let asked = timeout_at(until, told_alert(service, client, &found, &new.fingerprint)).await;
            let labels = asked.unwrap_or_else(|_| Err(told(Fault::TimedOut)))?.labels;
            let order = Order::new(service, by.caller, &new, &labels)?;
            let place = (found.tenant, labels.value("system_key"));
            let errand = Errand::new(service, client, by, place, until);
            errand.run(|errand| create_at_remote(errand, order, alert)).await
        }
    }
}

async fn create_at_remote(errand: Errand, order: Order, alert: (OrgId, String)) -> Result<Uuid> {
    let id = errand.set(&order.posted).await.map_err(told)?;
    let recorded = async {
        let mut tx = errand.service.db.begin().await?;
        let what = What { action: "silenced", silence: Some(id), details: order.details };
        note(&mut tx, &errand.service, errand.by(), alert, AuditAction::AlertSilenceCreate, (None, what))
            .await?;
        Ok::<_, Error>(tx.commit().await?)
    };
    if let Err(error) = recorded.await {
        // The caller receives an error, so the silence must not stay in force.
        if let Err(fault) = errand.expire(id).await {
            tracing::error!(silence = %id, %fault, "a silence that could not be recorded is in force");
        }
        return Err(error);
    }
    Ok(id)
}

/// The silence to be posted, and the details of its record.
struct Order {
    posted: PostedSilence,
    details: Value,
}

impl Order {
    /// A wrong end is reported only when everything else is valid.
    fn new(service: &Alerts, caller: &Caller, new: &NewSilence, labels: &Labels) -> Result<Order> {
        // Whole seconds, as the other routers' tools write it.
        let now = Ts::from_secs(service.now().secs());
        let ends_at = match &new.end_at {
            Some(sent) => end(service, sent, Some(now)).map_err(|wrong| Error::Invalid(vec![wrong]))?,
            None => {
                let minutes = new.duration_minutes.unwrap_or(MINUTES).unsigned_abs();
                now.plus(Duration::from_secs(minutes * 60))
            }
        };
        let words = Some(new.comment.trim()).filter(|c| !c.is_empty()).unwrap_or(COMMENT).to_owned();
        let details = json!({"comment": words, "duration_minutes": ends_at.since(now).as_secs() / 60,
            "end_at": ends_at.rfc3339(0)});
        let posted = PostedSilence {
            id: None,
            matchers: matchers(labels),
            starts_at: Nanos::from_ts(now),
            ends_at: Nanos::from_ts(ends_at),
            created_by: author(caller),
            comment: words,
            annotations: Labels::default(),
        };
        Ok(Order { posted, details })
    }
}

/// User name, else address, name, id, else the service.
fn author(caller: &Caller) -> String {
    let Some(who) = caller.identity() else { return "bailiwick".to_owned() };
    let names = [&who.username, &who.email, &who.name];
    let name = names.into_iter().find(|name| !name.trim().is_empty());
    name.cloned().unwrap_or_else(|| who.user_id.to_string())
}

/// Of every label that says something.
fn matchers(labels: &Labels) -> Vec<Matcher> {
    let told = labels.iter().filter(|(_, value)| !value.trim().is_empty());
    told.map(|(name, value)| Matcher::equal(name, value)).collect()
}

/// The active alert in the embedded router that is not silenced yet: the key of its system and its labels.
async fn stored_alert(
    tx: &mut Tx,
    service: &Alerts,
    found: &Found,
    fingerprint: &str,
) -> Result<(String, Labels)> {
    let keys = [(found.tenant, fingerprint.to_owned())];
    let payload = rows::alerts_by_key(tx, &keys).await?.pop();
    let stored = payload.and_then(|(_, _, payload)| embedded::read::<StoredAlert>(&payload));
    let at = service.now();
    let is_listed = |a: &StoredAlert| a.is_listed(Nanos::from_ts(at), service.alerting().outage.get());
    let labels = stored.filter(is_listed).ok_or(Error::NotFound(ObjectKind::Alert))?.labels;
    let key = owner(found, &labels)?;
    if !active::has_system(tx, found.tenant, &key).await? {
        return Err(Error::NotFound(ObjectKind::Alert));
    }
    let silences = rows::silences_of_system(&mut *tx, found.tenant, &key, at).await?;
    let read = silences.iter().filter_map(|payload| embedded::read::<StoredSilence>(payload));
    let listed: Vec<ListedSilence> = read.map(|s| s.listed(Nanos::from_ts(at))).collect();
    if active_silences(&listed).iter().any(|s| s.silences(&labels)) {
        return Err(Error::bad_request("alert is already silenced"));
    }
    Ok((key, labels))
}

/// The same at a remote router.
async fn told_alert(
    service: &Alerts,
    client: &RouterClient,
    found: &Found,
    fingerprint: &str,
) -> Result<ListedAlert> {
    let known = alert_handling::firing(&service.db, found.tenant, fingerprint).await?;
    let key = found.system_key.as_deref().or(known.as_deref());
    let alerts = remote::alerts_of(service, client, found.tenant, key).await.map_err(told)?;
    let alert = alerts.into_iter().find(|a| a.fingerprint.to_string() == fingerprint);
    let alert = alert.ok_or(Error::NotFound(ObjectKind::Alert))?;
    let key = owner(found, &alert.labels)?;
    let shown = active::shown(&service.db, &[((found.tenant, fingerprint.to_owned()), key)]).await?;
    if shown.iter().all(|(_, shown)| shown.system.is_none()) {
        return Err(Error::NotFound(ObjectKind::Alert));
    }
    if !alert.status.silenced_by.is_empty() {
        return Err(Error::bad_request("alert is already silenced"));
    }
    Ok(alert)
}

/// The key of the alert's system; if a system is named, it must be that one.
fn owner(found: &Found, labels: &Labels) -> Result<String> {
    let key = labels.value("system_key");
    if found.system_key.as_deref().is_some_and(|wanted| wanted != key) {
        return Err(Error::NotFound(ObjectKind::Alert));
    }
    if key.is_empty() {
        return Err(Error::bad_request("alert is not system-scoped (missing system_key label)"));
    }
    Ok(key.to_owned())
}

/// Writes the activity record and the audit row of a change to a silence, with its state before.
async fn note(
    tx: &mut Tx,
    service: &Alerts,
    by: By<'_>,
    (tenant, alert): (OrgId, String),
    action: AuditAction,
    (before, what): (Option<Value>, What),
) -> Result<()> {
    let id = what.silence.unwrap_or_default();
    let mut told = what.details.clone();
    if let Value::Object(told) = &mut told {
        told.insert("organization_id".to_owned(), json!(tenant.to_string()));
        if !alert.is_empty() {
            told.insert("fingerprint".to_owned(), json!(alert));
        }
    }
    if !alert.is_empty() {
        record(tx, service, by.caller, (tenant, &alert), what).await?;
    }
    audited(tx, service, by.caller, by.ctx, (action, "alert_silence", id), (before, Some(told))).await
}

/// The fields of a silence that people may change.
fn as_it_was(silence: &ListedSilence) -> Option<Value> {
    Some(json!({"comment": silence.comment, "end_at": silence.ends_at.to_ts().rfc3339(0)}))
}

/// `PUT …/silences/{silence_id}`; returns its id, which may be a new one.
///
/// # Errors
/// 404 for one of another system or organization, 400 for fields; the router's.
pub async fn change_silence(
    service: &Alerts,
    by: By<'_>,
    place: &Place,
    id: &str,
    body: impl FnOnce() -> Result<SilenceChange>,
) -> Result<Uuid> {
    let until = deadline(service);
    let found = find(service, by.caller, Action::Update, place).await?;
    let (key, stored) = look_up(service, &found, by.ctx, id).await?;
    let change = body()?;
    let ends_at = match change.end_at.as_deref() {
        None | Some("") => Err(FieldError::new("end_at", "required")),
        Some(sent) => end(service, sent, Some(stored.starts_at.to_ts())),
    };
    let words = change.comment.as_deref().unwrap_or_default();
    check_all([ends_at.clone().map(drop), comment(service, words)])?;
    let Ok(ends_at) = ends_at else { return Err(Error::field("end_at", "required")) };
    if Nanos::from_ts(ends_at) <= stored.starts_at {
        return Err(Error::field("end_at", "must_be_after_start"));
    }
    let words = Some(words.trim()).filter(|c| !c.is_empty()).unwrap_or(&stored.comment).to_owned();
    let details = json!({"comment": words, "end_at": ends_at.rfc3339(0)});
    let edit = Edit { old: stored.id, before: as_it_was(&stored), details };
    let posted = PostedSilence {
        id: Some(stored.id),
        matchers: stored.matchers,
        starts_at: stored.starts_at,
        ends_at: Nanos::from_ts(ends_at),
        created_by: stored.created_by,
        comment: words,
        annotations: stored.annotations,
    };
    match service.alerting().for_people() {
        AlertRouter::Embedded => {
            let who = sender(found.tenant, &key, &by.ctx.request_id);
            let mut tx = service.db.begin().await?;
            history::hold(&mut tx, [found.tenant]).await?;
            let now = Nanos::from_ts(service.now());
            let set = embedded::set_silence_in(&mut tx, service, &who, now, posted).await.map_err(gone)?;
            edit.recorded(tx, service, by, found.tenant, set).await
        }
        AlertRouter::Remote(client) => {
            let errand = Errand::new(service, client, by, (found.tenant, &key), until);
            errand
                .run(|errand| async move {
                    let set = errand.set(&posted).await.map_err(gone)?;
                    let tx = errand.service.db.begin().await?;
                    edit.recorded(tx, &errand.service, errand.by(), errand.tenant, set).await
                })
                .await
        }
    }
}

/// A silence that has vanished since it was looked up is reported as missing.
fn gone(fault: Fault) -> Error {
    match fault {
        Fault::Rejected(reject) if reject.status == 404 => Error::NotFound(ObjectKind::Silence),
        fault => told(fault),
    }
}

/// A change that the router has made.
struct Edit {
    old: Uuid,
    before: Option<Value>,
    details: Value,
}

impl Edit {
    async fn recorded(
        self,
        mut tx: Tx,
        service: &Alerts,
        by: By<'_>,
        tenant: OrgId,
        id: Uuid,
    ) -> Result<Uuid> {
        let alert = alert_handling::silenced(&mut tx, tenant, self.old).await?.unwrap_or_default();
        let what = What { action: "silence_updated", silence: Some(id), details: self.details };
        note(&mut tx, service, by, (tenant, alert), AuditAction::AlertSilenceUpdate, (self.before, what))
            .await?;
        tx.commit().await?;
        Ok(id)
    }
}

/// `DELETE …/silences/{silence_id}`; one that is over already stays as it is.
///
/// # Errors
/// 404 for one of another system or organization; the router's.
pub async fn end_silence(service: &Alerts, by: By<'_>, place: &Place, id: &str) -> Result<()> {
    let until = deadline(service);
    let found = find(service, by.caller, Action::Update, place).await?;
    let (key, stored) = look_up(service, &found, by.ctx, id).await?;
    if stored.status.state == SilenceState::Expired {
        return Ok(());
    }
    match service.alerting().for_people() {
        AlertRouter::Embedded => {
            let who = sender(found.tenant, &key, &by.ctx.request_id);
            let mut tx = service.db.begin().await?;
            history::hold(&mut tx, [found.tenant]).await?;
            if !embedded::expire_silence_in(&mut tx, service, &who, stored.id).await.map_err(told)? {
                return Err(Error::NotFound(ObjectKind::Silence));
            }
            ended(tx, service, by, found.tenant, &stored).await
        }
        AlertRouter::Remote(client) => {
            let errand = Errand::new(service, client, by, (found.tenant, &key), until);
            errand
                .run(|errand| async move {
                    if !errand.expire(stored.id).await.map_err(told)? {
                        return Err(Error::NotFound(ObjectKind::Silence));
                    }
                    let mut tx = errand.service.db.begin().await?;
                    history::hold(&mut tx, [errand.tenant]).await?;
                    ended(tx, &errand.service, errand.by(), errand.tenant, &stored).await
                })
                .await
        }
    }
}

/// Of several requests that end a silence at the same moment, one succeeds: an expired silence never becomes active
/// again.
async fn ended(
    mut tx: Tx,
    service: &Alerts,
    by: By<'_>,
    tenant: OrgId,
    stored: &ListedSilence,
) -> Result<()> {
    if audit::is_recorded(&mut tx, stored.id, ENDED).await? {
        return Ok(());
    }
    let alert = alert_handling::silenced(&mut tx, tenant, stored.id).await?.unwrap_or_default();
    let what = What { action: "unsilenced", silence: Some(stored.id), details: json!({}) };
    note(&mut tx, service, by, (tenant, alert), ENDED, (as_it_was(stored), what)).await?;
    tx.commit().await?;
    Ok(())
}
