//! Pushes for tenants that a remote router does not run yet: kept in the database, delivered when it does
//! (contract 04 §1.13).

use super::{AlertRouter, Fault};
use crate::App;
use bailiwick_alerting::{Fingerprint, Nanos, PostedAlert, alert::write_alerts};
use bailiwick_domain::{OrgId, Ts};
use bailiwick_outbound::{RouterClient, RouterError, router_client::Caller};
use bailiwick_store::{
    StoreError,
    alert_queue::{self, Queued},
};
use std::{
    collections::{BTreeMap, HashSet},
    sync::{PoisonError, RwLock},
    time::Duration,
};

/// Time between the first tries; it doubles up to [`LONGEST`].
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);
/// How long a delivery may take before another process takes over: longer than one request to the router.
const LEASE: Duration = Duration::from_secs(60);
/// Alerts leased at once.
const ALERTS: i64 = 1000;

/// The tenants with something in the queue, as far as this process knows: so that a push of any other tenant costs no
/// look into the database.
#[derive(Debug, Default)]
pub(super) struct Waiting(RwLock<HashSet<OrgId>>);

impl Waiting {
    fn has(&self, tenant: OrgId) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).contains(&tenant)
    }

    fn add(&self, tenant: OrgId) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(tenant);
    }

    fn set(&self, tenants: HashSet<OrgId>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = tenants;
    }
}

/// Keeps a push until the tenant runs.
pub(super) async fn keep(
    app: &App,
    tenant: OrgId,
    now: Nanos,
    mut alerts: Vec<PostedAlert>,
) -> Result<(), Fault> {
    let mut rows: BTreeMap<Fingerprint, String> = BTreeMap::new();
    for alert in &mut alerts {
        // The router would take the time of the delivery for the start.
        let (start, _, _) = alert.span(now, app.settings.alerting.resolve_timeout);
        alert.starts_at = Some(start);
        let list = write_alerts(std::slice::from_ref(alert));
        rows.insert(alert.fingerprint(), list[1..list.len() - 1].to_owned());
    }
    let rows: Vec<(String, String)> = rows.into_iter().map(|(f, p)| (f.to_string(), p)).collect();
    let at = now.to_ts();
    app.alerting().waiting.add(tenant);
    super::config::provision::lost(app, tenant).await;
    let mut tx = app.db.begin().await?;
    let waiting = alert_queue::count(&mut tx, tenant).await?;
    if waiting.saturating_add(rows.len() as u64) > app.settings.alerting.limits.alerts_per_tenant {
        return Err(Fault::AlertLimit);
    }
    alert_queue::put(&mut tx, tenant, &rows, at, at.plus(FIRST)).await?;
    tx.commit().await?;
    Ok(())
}

/// What waits of these alerts is older than what the router has just been given.
pub(super) async fn supersede(app: &App, tenant: OrgId, alerts: &[PostedAlert]) -> Result<(), Fault> {
    if !app.alerting().waiting.has(tenant) {
        return Ok(());
    }
    let fingerprints: Vec<String> = alerts.iter().map(|a| a.fingerprint().to_string()).collect();
    let mut tx = app.db.begin().await?;
    alert_queue::supersede(&mut tx, tenant, &fingerprints, app.now()).await?;
    tx.commit().await?;
    Ok(())
}

/// Drops what waits about a system in a tenant it has left.
pub(super) async fn withdraw(app: &App, tenant: OrgId, system_key: &str) -> Result<(), Fault> {
    let mut tx = app.db.begin().await?;
    alert_queue::remove_of_system(&mut tx, tenant, system_key).await?;
    Ok(tx.commit().await?)
}

/// Delivers what is due; how many alerts were leased.
pub(super) async fn deliver(app: &App) -> Result<usize, StoreError> {
    let AlertRouter::Remote(client) = &app.alerting().router else { return Ok(0) };
    let now = app.now();
    let tenants = alert_queue::tenants(&app.db).await?;
    app.alerting().waiting.set(tenants.iter().copied().collect());
    if tenants.is_empty() {
        return Ok(0);
    }
    let mut tx = app.db.begin().await?;
    alert_queue::expire(&mut tx, now.minus(app.settings.alerting.resolve_timeout)).await?;
    tx.commit().await?;
    let due = alert_queue::claim(&app.db, now, now.plus(LEASE), ALERTS).await?;
    let leased = due.len();
    let mut by_tenant: BTreeMap<OrgId, Vec<Queued>> = BTreeMap::new();
    for queued in due {
        by_tenant.entry(queued.organization_id).or_default().push(queued);
    }
    for (tenant, queued) in by_tenant {
        let is_done = deliver_to(app, client, tenant, &queued).await;
        let mut tx = app.db.begin().await?;
        for alert in &queued {
            if is_done {
                alert_queue::finish(&mut tx, alert).await?;
            } else {
                alert_queue::postpone(&mut tx, alert, next_try(app.now(), alert.attempts)).await?;
            }
        }
        tx.commit().await?;
    }
    Ok(leased)
}

/// After 1, 2, 4 … 60 s.
fn next_try(now: Ts, attempts: i64) -> Ts {
    let doublings = u32::try_from(attempts.clamp(0, 6)).unwrap_or(6);
    now.plus(FIRST.saturating_mul(1 << doublings).min(LONGEST))
}

/// True when there is nothing left to try: delivered, or refused for good.
async fn deliver_to(app: &App, client: &RouterClient, tenant: OrgId, queued: &[Queued]) -> bool {
    let body = format!("[{}]", queued.iter().map(|q| q.payload.as_str()).collect::<Vec<_>>().join(","));
    let (tenant, request_id) = (tenant.to_string(), app.fresh::<uuid::Uuid>().to_string());
    match client.put_alerts(Caller { tenant: &tenant, request_id: &request_id }, body.into()).await {
        Ok(()) => true,
        Err(RouterError::Refused(reject)) => {
            tracing::warn!(
                tenant,
                status = reject.status,
                answer = reject.render().trim_end(),
                "queued alerts were refused"
            );
            true
        }
        Err(e) => {
            tracing::debug!(tenant, error = %e, "queued alerts wait");
            false
        }
    }
}
