//! Creates, changes and expires silences at a remote router. The records are written after the router has accepted the
//! change. One task does both and finishes even if the client disconnects, so every change at the router is recorded.

use super::{
    remote::alerts_of,
    silence_orders::{Change, NewSilence, Order, owner},
    silence_records::{created, ended},
    silences::{CallerContext, SilenceTarget, sender},
    to_error,
};
use crate::{Alerts, Fault, remote};
use bailiwick_alerting::{Labels, ListedSilence, PostedSilence};
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
        by: CallerContext<'_>,
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
        let tasks = self.service.platform.tasks.clone();
        tasks.spawn(work(self)).await.map_err(Error::internal)?
    }

    async fn set(&self, posted: &PostedSilence) -> std::result::Result<Uuid, Fault> {
        let who = sender(self.tenant, &self.system_key, &self.ctx.request_id);
        in_time(self.until, remote::set_silence(&self.service, &self.client, &who, posted)).await
    }

    async fn expire(&self, id: Uuid) -> std::result::Result<bool, Fault> {
        let who = sender(self.tenant, &self.system_key, &self.ctx.request_id);
        in_time(self.until, remote::expire_silence(&self.service, &self.client, &who, id)).await
    }

    fn by(&self) -> CallerContext<'_> {
        CallerContext { caller: &self.caller, ctx: &self.ctx }
    }
}

/// Silences an alert; returns the id of the silence.
pub(super) async fn create(
    service: &Alerts,
    client: &RouterClient,
    by: CallerContext<'_>,
    found: &SilenceTarget,
    new: &NewSilence,
) -> Result<Uuid> {
    let until = deadline(service);
    let asked = timeout_at(until, unsilenced_alert(service, client, found, &new.fingerprint)).await;
    let labels = asked.unwrap_or_else(|_| Err(to_error(Fault::TimedOut)))?;
    let order = Order::new(service, by.caller, new, &labels)?;
    let alert = (found.tenant, new.fingerprint.clone());
    let errand = Errand::new(service, client, by, (found.tenant, labels.value("system_key")), until);
    errand.run(|errand| set(errand, order, alert)).await
}

/// Makes a silence that no alert was named for; returns its id.
pub(super) async fn post(
    service: &Alerts,
    client: &RouterClient,
    by: CallerContext<'_>,
    (tenant, system_key): (OrgId, &str),
    (order, until): (Order, Instant),
) -> Result<Uuid> {
    let errand = Errand::new(service, client, by, (tenant, system_key), until);
    errand.run(move |errand| set(errand, order, (tenant, String::new()))).await
}

/// Makes a silence at the router, and its records.
async fn set(errand: Errand, order: Order, alert: (OrgId, String)) -> Result<Uuid> {
    let id = errand.set(&order.posted).await.map_err(order.to_error)?;
    let recorded = async {
        let tx = errand.service.platform.db.begin().await?;
        created(tx, &errand.service, errand.by(), alert, (id, order.details)).await
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

/// The labels of an active alert that is not silenced yet.
pub(super) async fn unsilenced_alert(
    service: &Alerts,
    client: &RouterClient,
    found: &SilenceTarget,
    fingerprint: &str,
) -> Result<Labels> {
    let known = alert_handling::firing(&service.platform.db, found.tenant, fingerprint).await?;
    let key = found.system_key.as_deref().or(known.as_deref());
    let alerts = alerts_of(service, client, found.tenant, key).await.map_err(to_error)?;
    let alert = alerts.into_iter().find(|a| a.fingerprint.to_string() == fingerprint);
    let alert = alert.ok_or(Error::NotFound(ObjectKind::Alert))?;
    let key = owner(found, &alert.labels)?;
    let shown = shown::shown(&service.platform.db, &[((found.tenant, fingerprint.to_owned()), key)]).await?;
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
    by: CallerContext<'_>,
    (tenant, system_key): (OrgId, &str),
    (change, until): (Change, Instant),
) -> Result<Uuid> {
    let errand = Errand::new(service, client, by, (tenant, system_key), until);
    errand
        .run(|errand| async move {
            let set = errand.set(&change.posted).await.map_err(change.to_error)?;
            let tx = errand.service.platform.db.begin().await?;
            change.edit.recorded(tx, &errand.service, errand.by(), errand.tenant, set).await
        })
        .await
}

/// Ends a silence.
pub(super) async fn end(
    service: &Alerts,
    client: &RouterClient,
    by: CallerContext<'_>,
    (tenant, system_key): (OrgId, &str),
    (stored, until): (ListedSilence, Instant),
) -> Result<()> {
    let errand = Errand::new(service, client, by, (tenant, system_key), until);
    errand
        .run(|errand| async move {
            if !errand.expire(stored.id).await.map_err(to_error)? {
                return Err(Error::NotFound(ObjectKind::Silence));
            }
            let mut tx = errand.service.platform.db.begin().await?;
            history::lock_for_writing(&mut tx, [errand.tenant]).await?;
            ended(tx, &errand.service, errand.by(), errand.tenant, &stored).await
        })
        .await
}
