//! Pushes the configurations of tenants to a remote router (spec: alert-configuration#provisioning,
//! alert-router#remote). A transaction that changes a configuration also queues its tenants. Workers of all processes
//! push the queued tenants, and a save pushes its own for a limited time.
//!
//! This module does nothing with the embedded router, which reads the stored layers, nor with a router of kind `plain`,
//! which has no tenants and takes no configuration.

use super::{effective, forget::forget, publishing::publishing};
use crate::Alerts;
use bailiwick_alertmanager::config::{Layer, Publishing, Upload};
use bailiwick_domain::{Error, OrgId, OrgType, Result, Ts};
use bailiwick_outbound::{RouterClient, RouterError, router_client::TenantRequest};
use bailiwick_platform::{backoff::Backoff, worker::Worker};
use bailiwick_store::{
    StoreError,
    alert_tenants::{self, Due, Whose},
};
use futures_util::future::join_all;
use std::{
    collections::HashMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::sync::Notify;

/// Tenants pushed at once.
const AT_ONCE: i64 = 10;
/// How much longer than one request to the router a push may take before another process takes over.
const SPARE: Duration = Duration::from_secs(35);
/// Waits after failures: 1, 3, 5, 10, 20 … seconds.
const RETRY: Backoff = Backoff::new(
    &[Duration::from_secs(1), Duration::from_secs(3), Duration::from_secs(5)],
    Duration::from_secs(300),
);
/// The longest wait between two tries.
pub const LONGEST: Duration = RETRY.longest();
/// How often the queue is polled without a hint that it has entries.
const POLL: Duration = Duration::from_secs(1);
/// How long a save waits for the tenants it concerns.
const SAVE_WAITS: Duration = Duration::from_secs(20);
/// How long a save waits before it checks again whether other processes have pushed its tenants.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// Tenants that a save names one by one.
const NAMED: i64 = 1000;
/// How long a process remembers that a tenant is made.
pub(super) const REMEMBERED: Duration = Duration::from_secs(600);
/// The purpose of the digests of configurations.
const DIGEST: &str = "alert configuration";
/// Time that a router needs to start a tenant: within it, a missing tenant is not a lost one.
const START_TIME: Duration = Duration::from_secs(60);

/// The state this process keeps for pushing configurations.
#[derive(Debug, Default)]
pub(crate) struct Provisioning {
    /// A client of its own, so that its faults do not open the circuit breaker of systems' requests.
    client: Option<RouterClient>,
    /// Something was queued.
    arrived: Notify,
    /// When a tenant was last found missing at the router, so that not every such answer costs a write.
    lost: Mutex<HashMap<OrgId, Ts>>,
    /// When this process last saw that a tenant is made, so that a push costs no read.
    made: Mutex<HashMap<OrgId, Ts>>,
}

impl Provisioning {
    /// The client; none for the embedded router.
    pub(crate) const fn client(&self) -> Option<&RouterClient> {
        self.client.as_ref()
    }

    /// For this router; none for the embedded one.
    pub(crate) fn new(client: Option<RouterClient>) -> Provisioning {
        Provisioning { client, ..Provisioning::default() }
    }
}

/// Has the router make a tenant, at its first alert or silence: until then an organization costs the router nothing
/// (spec: alert-configuration#provisioning). The caller goes on: what the router does not take yet waits.
///
/// # Errors
/// The database's.
pub(crate) async fn make(service: &Alerts, tenant: OrgId) -> std::result::Result<(), StoreError> {
    if !service.settings.alerting.router.is_provisioned() {
        return Ok(());
    }
    let (now, provisioning) = (service.platform.now(), &service.state.provisioning);
    let made = || provisioning.made.lock().unwrap_or_else(PoisonError::into_inner);
    if made().get(&tenant).is_some_and(|at| *at > now.minus(REMEMBERED)) {
        return Ok(());
    }
    if !alert_tenants::is_made(&service.platform.db, tenant).await? {
        let mut tx = service.platform.db.begin().await?;
        alert_tenants::make(&mut tx, tenant, now).await?;
        tx.commit().await?;
        provisioning.arrived.notify_one();
    }
    made().insert(tenant, now);
    Ok(())
}

/// Called when the router has answered that it does not know a tenant (spec: alerts#waiting-tenants).
pub(crate) async fn lost(service: &Alerts, tenant: OrgId) {
    if !service.settings.alerting.router.is_provisioned() {
        return;
    }
    let now = service.platform.now();
    let since = now.minus(START_TIME);
    {
        let mut lost = service.state.provisioning.lost.lock().unwrap_or_else(PoisonError::into_inner);
        lost.retain(|_, at| *at > since);
        if lost.insert(tenant, now).is_some() {
            return;
        }
    }
    if let Err(e) = queue_lost(service, tenant).await {
        tracing::warn!(%tenant, error = %e, "a tenant the router does not know could not be queued");
    }
}

/// Queues a tenant that the router has lost, unless it was pushed a moment ago.
pub(super) async fn queue_lost(service: &Alerts, tenant: OrgId) -> Result<()> {
    let now = service.platform.now();
    let mut tx = service.platform.db.begin().await?;
    alert_tenants::queue_lost(&mut tx, tenant, now, now.minus(START_TIME)).await?;
    tx.commit().await?;
    service.state.provisioning.arrived.notify_one();
    Ok(())
}

/// Queues every tenant once, as the program or the settings may have changed while the service was down, then pushes
/// queued tenants until the application stops.
pub(crate) fn start(service: &Alerts) {
    if !service.settings.alerting.router.is_provisioned() {
        return;
    }
    let worker = service.clone();
    service.platform.tasks.spawn(async move {
        let service = &worker;
        let is_first = &AtomicBool::new(true);
        let step = || async move {
            if is_first.load(Ordering::Relaxed) {
                queue_all(service).await?;
                is_first.store(false, Ordering::Relaxed);
            }
            Ok(work_off(service).await? as u64)
        };
        let failure = "alert configurations cannot be pushed and wait";
        let hint = Some(&service.state.provisioning.arrived);
        Worker { name: "alert configurations", failure, poll: POLL, hint, step }
            .run(&service.platform.stop)
            .await;
    });
}

async fn queue_all(service: &Alerts) -> Result<()> {
    let mut tx = service.platform.db.begin().await?;
    alert_tenants::queue(&mut tx, Whose::All, false, service.platform.now()).await?;
    Ok(tx.commit().await?)
}

/// Pushes up to ten due tenants; returns how many were tried.
///
/// # Errors
/// The database's.
pub async fn work_off(service: &Alerts) -> Result<usize> {
    push(service, Whose::All).await
}

async fn push(service: &Alerts, whose: Whose) -> Result<usize> {
    let Some(client) = &service.state.provisioning.client else { return Ok(0) };
    let now = service.platform.now();
    let lease = service.settings.alerting.limits.write_timeout + SPARE;
    let due = alert_tenants::claim(&service.platform.db, whose, now, now.plus(lease), AT_ONCE).await?;
    if due.is_empty() {
        return Ok(0);
    }
    // Connections belong to the runtime that uses them. The same settings have made a client before.
    let client = client.with_own_connections().map_err(Error::internal)?;
    let tenants: Vec<OrgId> = due.iter().filter(|d| !d.is_gone).map(|d| d.organization_id).collect();
    let layers = layers_of(service, &tenants).await?;
    let publishing = publishing(service);
    let pushes = due.iter().map(|one| {
        let wanted = match layers.get(&one.organization_id).filter(|_| !one.is_gone) {
            None => Wanted::Nothing,
            Some(Some(layer)) => Wanted::Layer(layer.clone()),
            Some(None) => Wanted::Unreadable,
        };
        push_one(service, &client, one, wanted, publishing.clone())
    });
    let mut outcomes: Vec<(&Due, Result<Vec<u8>, &'static str>)> =
        due.iter().zip(join_all(pushes).await).collect();
    // All writers of several of these rows write them in the order of their ids.
    outcomes.sort_by_key(|(one, _)| one.organization_id);
    let now = service.platform.now();
    let mut tx = service.platform.db.begin().await?;
    for (one, outcome) in outcomes {
        match outcome {
            Ok(digest) => alert_tenants::finish(&mut tx, one, &digest, now).await?,
            Err(reason) => {
                let next = RETRY.next_try(now, one.attempts);
                alert_tenants::postpone(&mut tx, one, reason, next).await?;
            }
        }
    }
    tx.commit().await?;
    Ok(due.len())
}

/// The configuration that a tenant should have at the router.
enum Wanted {
    /// None.
    Nothing,
    /// The document made from this layer.
    Layer(Layer),
    /// The router keeps the present one until the layers can be read.
    Unreadable,
}

/// The configuration in force for these tenants; none for a tenant whose layers cannot be read, so that it does not
/// delay the others.
pub(super) async fn layers_of(service: &Alerts, tenants: &[OrgId]) -> Result<HashMap<OrgId, Option<Layer>>> {
    match effective(service, &service.platform.db, tenants).await {
        Err(Error::Internal(_)) => {}
        layers => return Ok(layers?.into_iter().map(|(id, layer)| (id, Some(layer))).collect()),
    }
    let mut layers_by_tenant = HashMap::with_capacity(tenants.len());
    for tenant in tenants {
        match effective(service, &service.platform.db, &[*tenant]).await {
            Err(Error::Internal(e)) => {
                tracing::error!(%tenant, error = %e, "an alert configuration cannot be read");
                layers_by_tenant.insert(*tenant, None);
            }
            layers => layers_by_tenant.extend(layers?.into_iter().map(|(id, layer)| (id, Some(layer)))),
        }
    }
    Ok(layers_by_tenant)
}

/// Pushes one tenant, unless the router has the same already; returns the digest of its configuration, or a reason that
/// may be shown when it failed.
async fn push_one(
    service: &Alerts,
    client: &RouterClient,
    due: &Due,
    wanted: Wanted,
    publishing: Publishing,
) -> Result<Vec<u8>, &'static str> {
    const REJECTED: &str = "configuration rejected";
    let tenant = due.organization_id.to_string();
    let request_id = service.platform.fresh::<uuid::Uuid>().to_string();
    let request = TenantRequest { tenant: &tenant, request_id: &request_id };
    let pushed = match wanted {
        Wanted::Unreadable => return Err("internal error"),
        Wanted::Nothing => forget(service, client, request).await.map(|()| Vec::new()),
        Wanted::Layer(layer) => {
            let named = tenant.clone();
            let making = move || {
                let upload = Upload::new(&named, &layer, &publishing)?;
                upload.to_yaml()
            };
            let made = service.platform.tasks.spawn_blocking(making).await;
            let body = match made {
                Ok(Ok(body)) => body,
                Ok(Err(e)) => {
                    tracing::error!(tenant, error = %e, "cannot generate an alert configuration");
                    return Err(REJECTED);
                }
                Err(e) => {
                    tracing::error!(tenant, error = %e, "cannot generate an alert configuration");
                    return Err("internal error");
                }
            };
            let digest = service.platform.keys.mac(DIGEST, body.as_bytes()).to_vec();
            if due.pushed.as_ref() == Some(&digest) {
                return Ok(digest);
            }
            client.put_configuration(request, body.into()).await.map(|()| digest)
        }
    };
    pushed.map_err(|e| match e {
        RouterError::Rejected(text) => {
            tracing::error!(tenant, answer = text, "the alert router refuses a configuration");
            REJECTED
        }
        e => {
            tracing::warn!(tenant, attempt = due.attempts, error = %e, "an alert configuration is pushed later");
            match e {
                RouterError::TimedOut => "alerting backend timed out",
                RouterError::NotReady(_) | RouterError::UnknownTenant => "alerting backend is not ready",
                _ => "alerting backend is unavailable",
            }
        }
    })
}

/// Pushes the tenants that a save has queued, ten at a time and for 20 s at most. Returns how many of the subtree still
/// wait, and a warning for each (the first thousand). Any process pushes the waiting ones later.
pub(super) async fn after_save(
    service: &Alerts,
    top: OrgId,
    org_type: OrgType,
) -> Result<(u64, Vec<String>)> {
    if service.state.is_embedded() {
        return Ok((0, Vec::new()));
    }
    let whose = Whose::Below(top, org_type);
    if !service.settings.alerting.router.is_provisioned() {
        let all = bailiwick_store::alert_layers::count_tenants(&service.platform.db, top, org_type).await?;
        return Ok((all, vec!["the alert router takes no configuration".to_owned()]));
    }
    let helper = service.clone();
    // A task of its own, so that a caller that stops waiting leaves no push half done.
    let pushing = service.platform.tasks.spawn(async move {
        let until = tokio::time::Instant::now() + SAVE_WAITS;
        loop {
            if push(&helper, whose).await? > 0 {
                if tokio::time::Instant::now() >= until {
                    return Ok(());
                }
                continue;
            }
            // Others may be at the rest.
            let left = alert_tenants::waiting(&helper.platform.db, whose, helper.platform.now(), 0).await?;
            if left.active == 0 || tokio::time::Instant::now() >= until {
                return Ok::<_, Error>(());
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    });
    if let Ok(ended) = tokio::time::timeout(SAVE_WAITS, pushing).await {
        ended.map_err(Error::internal)??;
    }
    service.state.provisioning.arrived.notify_one();
    let left = alert_tenants::waiting(&service.platform.db, whose, service.platform.now(), NAMED).await?;
    let mut warnings: Vec<String> = left
        .first
        .iter()
        .map(|(id, problem)| format!("org {id}: {}", problem.as_deref().unwrap_or("not reached yet")))
        .collect();
    let named = u64::try_from(warnings.len()).unwrap_or(u64::MAX);
    if left.count > named {
        warnings.push(format!("{} more organizations are not reached yet", left.count - named));
    }
    Ok((left.count, warnings))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_waits_grow_and_end() {
        let waits = [1, 2, 3, 4, 5, 8, 9, 10, i64::MAX].map(|n| RETRY.after(n).as_secs());
        assert_eq!(waits, [1, 3, 5, 10, 20, 160, 300, 300, 300]);
    }
}
