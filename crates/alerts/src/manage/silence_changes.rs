//! Creates, changes and expires silences for people (spec: alert-management#handling), in both routers.
//!
//! With the embedded router a change, its activity record and its audit row are one transaction. With a remote router
//! the records are written after the router has accepted the change. One task does both and finishes even if the client
//! disconnects, so every change at the router is recorded.

use super::{
    check_all,
    handling::{What, audited, record},
    silence_order::{NewSilence, Order, comment, end, stored_alert, told_alert},
    silences::{By, Place, find, look_up, sender},
    told,
};
use crate::{AlertRouter, Alerts, Fault, embedded, remote as at_remote};
use bailiwick_alerting::{ListedSilence, Nanos, PostedSilence, SilenceState};
use bailiwick_domain::{AuditAction, Error, FieldError, ObjectKind, OrgId, Result};
use bailiwick_outbound::RouterClient;
use bailiwick_platform::RequestContext;
use bailiwick_policy::{Action, Caller};
use bailiwick_store::{Tx, alert_handling, audit, history};
use serde_json::{Value, json};
use std::future::Future;
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

const ENDED: AuditAction = AuditAction::AlertSilenceDelete;

/// A silence to be changed.
#[derive(Clone, Debug, Default)]
pub struct SilenceChange {
    /// New end as sent.
    pub end_at: Option<String>,
    /// New comment; none keeps it.
    pub comment: Option<String>,
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
    new.check(service)?;
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
