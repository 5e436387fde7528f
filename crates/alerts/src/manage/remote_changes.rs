//! Creates, changes and expires silences at a remote router. The records are written after the router has accepted the
//! change. One task does both and finishes even if the client disconnects, so every change at the router is recorded.

use super::{
    find_silence::{CallerContext, SilenceTarget, sender},
    remote::alerts_of,
    silence_orders::{Change, NewSilence, PreparedSilence, owner},
    silence_records::{created, ended},
    to_error,
};
use crate::{Alerts, Fault, remote};
use bailiwick_alertmanager::{Labels, ListedSilence, PostedSilence};
use bailiwick_domain::{Error, ObjectKind, OrgId, Result};
use bailiwick_outbound::RouterClient;
use bailiwick_platform::RequestContext;
use bailiwick_policy::Caller;
use bailiwick_store::{
    alert_handling,
    history::{self, shown},
};
use std::future::Future;
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

/// When a remote router must have answered all requests: before the route's timeout.
pub(super) fn deadline(service: &Alerts) -> Instant {
    Instant::now() + service.settings.alerting.limits.write_timeout
}

async fn in_time<T>(
    until: Instant,
    request: impl Future<Output = std::result::Result<T, Fault>>,
) -> std::result::Result<T, Fault> {
    timeout_at(until, request).await.unwrap_or(Err(Fault::TimedOut))
}

/// A change at a remote router and its record.
struct RecordedChange {
    service: Alerts,
    client: RouterClient,
    caller: Caller,
    ctx: RequestContext,
    tenant: OrgId,
    system_key: String,
    until: Instant,
}

impl RecordedChange {
    fn new(
        service: &Alerts,
        client: &RouterClient,
        context: CallerContext<'_>,
        (tenant, system_key): (OrgId, &str),
        until: Instant,
    ) -> RecordedChange {
        RecordedChange {
            service: service.clone(),
            client: client.clone(),
            caller: context.caller.clone(),
            ctx: context.ctx.clone(),
            tenant,
            system_key: system_key.to_owned(),
            until,
        }
    }

    /// Runs to the end, even if the client disconnects.
    async fn run<T: Send + 'static, F: Future<Output = Result<T>> + Send + 'static>(
        self,
        work: impl FnOnce(RecordedChange) -> F,
    ) -> Result<T> {
        let tasks = self.service.platform.tasks.clone();
        tasks.spawn(work(self)).await.map_err(Error::internal)?
    }

    async fn set_silence(&self, posted: &PostedSilence) -> std::result::Result<Uuid, Fault> {
        let who = sender(self.tenant, &self.system_key, &self.ctx.request_id);
        in_time(self.until, remote::set_silence(&self.service, &self.client, &who, posted)).await
    }

    async fn expire_silence(&self, id: Uuid) -> std::result::Result<bool, Fault> {
        let who = sender(self.tenant, &self.system_key, &self.ctx.request_id);
        in_time(self.until, remote::expire_silence(&self.service, &self.client, &who, id)).await
    }

    fn context(&self) -> CallerContext<'_> {
        CallerContext { caller: &self.caller, ctx: &self.ctx }
    }
}

/// Silences an alert; returns the id of the silence.
pub(super) async fn create(
    service: &Alerts,
    client: &RouterClient,
    context: CallerContext<'_>,
    target: &SilenceTarget,
    new: &NewSilence,
) -> Result<Uuid> {
    let until = deadline(service);
    let alert_labels = timeout_at(until, unsilenced_alert(service, client, target, &new.fingerprint)).await;
    let labels = alert_labels.unwrap_or_else(|_| Err(to_error(Fault::TimedOut)))?;
    let order = PreparedSilence::new(service, context.caller, new, &labels)?;
    let alert = (target.tenant, new.fingerprint.clone());
    let system = (target.tenant, labels.value("system_key"));
    let task = RecordedChange::new(service, client, context, system, until);
    task.run(|task| create_at_router(task, order, alert)).await
}

/// Creates a silence for a system rather than for one alert; returns its id.
pub(super) async fn create_for_system(
    service: &Alerts,
    client: &RouterClient,
    context: CallerContext<'_>,
    (tenant, system_key): (OrgId, &str),
    (order, until): (PreparedSilence, Instant),
) -> Result<Uuid> {
    let task = RecordedChange::new(service, client, context, (tenant, system_key), until);
    task.run(move |task| create_at_router(task, order, (tenant, String::new()))).await
}

/// Creates a silence at the router, and writes its records.
async fn create_at_router(
    task: RecordedChange,
    order: PreparedSilence,
    alert: (OrgId, String),
) -> Result<Uuid> {
    let id = task.set_silence(&order.posted).await.map_err(order.to_error)?;
    let recorded = async {
        let tx = task.service.platform.db.begin().await?;
        created(tx, &task.service, task.context(), alert, (id, order.details)).await
    };
    if let Err(error) = recorded.await {
        // The caller receives an error, so the silence must not stay in force.
        if let Err(fault) = task.expire_silence(id).await {
            tracing::error!(silence = %id, %fault, "a silence that could not be recorded is in force");
        }
        return Err(error);
    }
    Ok(id)
}

/// The labels of an active alert that is not silenced yet.
pub(super) async fn unsilenced_alert(
    service: &Alerts,
    client: &RouterClient,
    target: &SilenceTarget,
    fingerprint: &str,
) -> Result<Labels> {
    let system_key = alert_handling::firing(&service.platform.db, target.tenant, fingerprint).await?;
    let key = target.system_key.as_deref().or(system_key.as_deref());
    let alerts = alerts_of(service, client, target.tenant, key).await.map_err(to_error)?;
    let alert = alerts.into_iter().find(|a| a.fingerprint.to_string() == fingerprint);
    let alert = alert.ok_or(Error::NotFound(ObjectKind::Alert))?;
    let key = owner(target, &alert.labels)?;
    let shown = shown::shown(&service.platform.db, &[((target.tenant, fingerprint.to_owned()), key)]).await?;
    if shown.iter().all(|(_, shown)| shown.system.is_none()) {
        return Err(Error::NotFound(ObjectKind::Alert));
    }
    if !alert.status.silenced_by.is_empty() {
        return Err(Error::bad_request("alert is already silenced"));
    }
    Ok(alert.labels)
}

/// Changes a silence; returns its id, which may be a new one.
pub(super) async fn change(
    service: &Alerts,
    client: &RouterClient,
    context: CallerContext<'_>,
    (tenant, system_key): (OrgId, &str),
    (change, until): (Change, Instant),
) -> Result<Uuid> {
    let task = RecordedChange::new(service, client, context, (tenant, system_key), until);
    task.run(|task| async move {
        let id = task.set_silence(&change.posted).await.map_err(change.to_error)?;
        let tx = task.service.platform.db.begin().await?;
        change.edit.recorded(tx, &task.service, task.context(), task.tenant, id).await
    })
    .await
}

/// Ends a silence.
pub(super) async fn end(
    service: &Alerts,
    client: &RouterClient,
    context: CallerContext<'_>,
    (tenant, system_key): (OrgId, &str),
    (stored, until): (ListedSilence, Instant),
) -> Result<()> {
    let task = RecordedChange::new(service, client, context, (tenant, system_key), until);
    task.run(|task| async move {
        if !task.expire_silence(stored.id).await.map_err(to_error)? {
            return Err(Error::NotFound(ObjectKind::Silence));
        }
        let mut tx = task.service.platform.db.begin().await?;
        history::lock_for_writing(&mut tx, [task.tenant]).await?;
        ended(tx, &task.service, task.context(), task.tenant, &stored).await
    })
    .await
}
