//! Pushes for tenants that a remote router does not run yet: stored in the database and delivered once it does (spec:
//! alerts#waiting-tenants). While an alert is queued or being delivered, later pushes of it also go through the queue,
//! so that an older state never arrives after a newer one.

use super::{Fault, active_alert_limit};
use crate::Alerts;
use bailiwick_alertmanager::{Fingerprint, Nanos, PostedAlert, alert::write_started_alerts};
use bailiwick_domain::{OrgId, metrics::Counter};
use bailiwick_outbound::{RouterClient, RouterError, router_client::TenantRequest};
use bailiwick_platform::backoff::Backoff;
use bailiwick_store::{
    StoreError, Tx,
    alert_queue::{self, Claimed, NewQueued, Queued},
};
use futures_util::{StreamExt, stream};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
    time::{Duration, Instant},
};

/// Time before the first try.
const FIRST: Duration = Duration::from_secs(1);
/// Waits after failed tries: 1, 2, 4 … 60 s.
const RETRY: Backoff = Backoff::new(&[FIRST], Duration::from_secs(60));
/// The longest wait between two tries.
pub const LONGEST: Duration = RETRY.longest();
/// How much longer than one request to the router a delivery may take before another process takes over.
const SPARE: Duration = Duration::from_secs(35);
/// Alerts of one request: with the largest alerts, less than any router's limit of 16 MiB.
const ALERTS: usize = 200;
/// Requests of one delivery to a tenant, including those that search for the alerts the router refuses.
const REQUESTS: usize = 64;
/// Fingerprints of dropped alerts in one log line.
const NAMED: usize = 10;
/// Tenants that are delivered to concurrently.
const SIDE_BY_SIDE: usize = 8;

/// The tenants with queued alerts, as far as this process knows, so that a push of any other tenant needs no query.
#[derive(Debug, Default)]
pub(super) struct QueuedTenants(RwLock<PushQueueState>);

#[derive(Debug, Default)]
struct PushQueueState {
    /// How often the queue was read.
    reads: u64,
    /// Each with the number of the last read before it was added.
    tenants: HashMap<OrgId, u64>,
    /// Alerts of the first request to tenants where the last requests had fewer than [`ALERTS`].
    fewer: HashMap<OrgId, usize>,
}

impl QueuedTenants {
    fn state(&self) -> RwLockReadGuard<'_, PushQueueState> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self) -> RwLockWriteGuard<'_, PushQueueState> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn has(&self, tenant: OrgId) -> bool {
        self.state().tenants.contains_key(&tenant)
    }

    fn add(&self, tenant: OrgId) {
        let mut state = self.change();
        let reads = state.reads;
        state.tenants.insert(tenant, reads);
    }

    /// The number of a read that begins now.
    fn begin(&self) -> u64 {
        let mut state = self.change();
        state.reads += 1;
        state.reads
    }

    /// Sets the tenants this read found, and keeps those added since it began.
    fn set(&self, tenants: &[OrgId], read: u64) {
        let mut state = self.change();
        state.tenants.retain(|_, added| *added >= read);
        for tenant in tenants {
            state.tenants.entry(*tenant).or_insert(0);
        }
        let PushQueueState { tenants, fewer, .. } = &mut *state;
        fewer.retain(|tenant, _| tenants.contains_key(tenant));
    }

    /// How many alerts the next request of this tenant has.
    fn at_once(&self, tenant: OrgId) -> usize {
        self.state().fewer.get(&tenant).copied().unwrap_or(ALERTS)
    }

    fn set_at_once(&self, tenant: OrgId, alerts: usize) {
        let mut state = self.change();
        if alerts < ALERTS {
            state.fewer.insert(tenant, alerts.max(1));
        } else {
            state.fewer.remove(&tenant);
        }
    }
}

/// Alerts that left the queue undelivered, since the process began.
#[derive(Debug, Default)]
pub(super) struct Dropped {
    /// The router refuses them.
    pub(super) refused: Counter,
    /// They had waited for as long as they count.
    pub(super) expired: Counter,
}

/// Splits a push into the alerts that must queue behind a waiting one and those that can be sent.
pub(super) async fn split_waiting(
    service: &Alerts,
    tenant: OrgId,
    alerts: Vec<PostedAlert>,
) -> Result<(Vec<PostedAlert>, Vec<PostedAlert>), Fault> {
    if !service.state.queued_tenants.has(tenant) {
        return Ok((Vec::new(), alerts));
    }
    let fingerprints: Vec<String> = alerts.iter().map(|a| a.fingerprint().to_string()).collect();
    let waiting = alert_queue::waiting(&service.platform.db, tenant, &fingerprints).await?;
    Ok(alerts.into_iter().partition(|a| waiting.contains(&a.fingerprint().to_string())))
}

/// The result of queueing a push.
#[derive(Debug)]
pub(super) struct QueueOutcome {
    /// The alerts that were accepted.
    pub(super) alerts: Vec<PostedAlert>,
    /// Others were not, because too much waits.
    pub(super) is_cut: bool,
}

/// Queues a push until the tenant runs. `share` is the system whose share of the queue it counts towards; none for
/// service alerts. Alerts that replace a queued one and resolved alerts are always queued.
pub(super) async fn enqueue(
    service: &Alerts,
    tenant: OrgId,
    now: Nanos,
    mut alerts: Vec<PostedAlert>,
    share: Option<&str>,
) -> Result<QueueOutcome, Fault> {
    let waiting = &service.state.queued_tenants;
    waiting.add(tenant);
    let mut tx = service.platform.db.begin().await?;
    let left_out = match share {
        Some(system_key) => left_out(service, &mut tx, (tenant, system_key), now, &alerts).await?,
        None => LeftOut::default(),
    };
    let mut rows: BTreeMap<Fingerprint, NewQueued> = BTreeMap::new();
    for alert in &alerts {
        let fingerprint = alert.fingerprint();
        if left_out.refused.contains(&fingerprint) || left_out.needless.contains(&fingerprint) {
            continue;
        }
        // Without a start, the router would use the time of the delivery.
        let list = write_started_alerts(std::slice::from_ref(alert), now);
        let new = NewQueued {
            fingerprint: fingerprint.to_string(),
            system_key: alert.system_key().to_owned(),
            payload: list[1..list.len() - 1].to_owned(),
        };
        rows.insert(fingerprint, new);
    }
    let rows: Vec<NewQueued> = rows.into_values().collect();
    let now_ts = now.to_ts();
    alert_queue::put(&mut tx, tenant, &rows, now_ts, now_ts.plus(FIRST)).await?;
    tx.commit().await?;
    // A read of the queue that began before the commit has not seen this tenant.
    waiting.add(tenant);
    alerts.retain(|alert| !left_out.refused.contains(&alert.fingerprint()));
    Ok(QueueOutcome { alerts, is_cut: !left_out.refused.is_empty() })
}

/// The alerts of a push that are not queued.
#[derive(Debug, Default)]
struct LeftOut {
    /// New alerts beyond the share of their system or the tenant's.
    refused: HashSet<Fingerprint>,
    /// Resolved alerts that are not known, when the queue has no room for them.
    needless: HashSet<Fingerprint>,
}

async fn left_out(
    service: &Alerts,
    tx: &mut Tx,
    (tenant, system_key): (OrgId, &str),
    now: Nanos,
    alerts: &[PostedAlert],
) -> Result<LeftOut, Fault> {
    let fingerprints: Vec<String> = alerts.iter().map(|a| a.fingerprint().to_string()).collect();
    let waiting = alert_queue::waiting(&mut *tx, tenant, &fingerprints).await?;
    let mut out = LeftOut::default();
    if fingerprints.iter().all(|fingerprint| waiting.contains(fingerprint)) {
        return Ok(out);
    }
    let limits = &service.settings.alerting.limits;
    let (mut of_system, mut of_tenant) = alert_queue::counts(tx, tenant, system_key).await?;
    let (mut seen, mut endings) = (HashSet::new(), Vec::new());
    for (alert, text) in alerts.iter().zip(&fingerprints) {
        let fingerprint = alert.fingerprint();
        if waiting.contains(text) || !seen.insert(fingerprint) {
            continue;
        }
        if of_system < limits.alerts_per_system && of_tenant < limits.alerts_per_tenant {
            of_system += 1;
            of_tenant += 1;
        } else if active_alert_limit::is_over(alert, now) {
            endings.push(fingerprint);
        } else {
            out.refused.insert(fingerprint);
        }
    }
    if !endings.is_empty() {
        let active = active_alert_limit::active(service, &mut *tx, tenant, &endings).await?;
        out.needless.extend(endings.into_iter().filter(|fingerprint| !active.contains_key(fingerprint)));
    }
    Ok(out)
}

/// Drops the queued alerts of a system in a tenant it has left. Those that are being delivered now are left, and the
/// call must be repeated.
pub(super) async fn withdraw(service: &Alerts, tenant: OrgId, system_key: &str) -> Result<(), Fault> {
    let mut tx = service.platform.db.begin().await?;
    alert_queue::remove_of_system(&mut tx, tenant, system_key).await?;
    let (left, _) = alert_queue::counts(&mut tx, tenant, system_key).await?;
    tx.commit().await?;
    if left > 0 {
        return Err(Fault::not_ready(format!("{left} queued alerts are being delivered")));
    }
    Ok(())
}

/// Delivers due alerts and returns how many were leased.
pub(super) async fn deliver(service: &Alerts) -> Result<usize, StoreError> {
    let Some(client) = service.state.router.remote() else { return Ok(0) };
    let waiting = &service.state.queued_tenants;
    let read = waiting.begin();
    let tenants = alert_queue::tenants(&service.platform.db).await?;
    waiting.set(&tenants, read);
    if tenants.is_empty() {
        return Ok(0);
    }
    let mut tx = service.platform.db.begin().await?;
    let expired =
        alert_queue::expire(&mut tx, service.platform.now().minus(service.settings.alerting.resolve_timeout))
            .await?;
    tx.commit().await?;
    if expired > 0 {
        service.state.dropped.expired.add(expired);
        tracing::warn!(alerts = expired, "queued alerts were dropped: too old to be delivered");
    }
    let now = service.platform.now();
    let due = alert_queue::due(&service.platform.db, now, now.plus(lease(service))).await?;
    let mut each =
        stream::iter(due).map(|tenant| deliver_to(service, client, tenant)).buffer_unordered(SIDE_BY_SIDE);
    // A failure for one tenant must not leave the alerts of others leased.
    let mut all = Ok(0);
    while let Some(one) = each.next().await {
        all = match (all, one) {
            (Ok(sum), Ok(leased)) => Ok(sum + leased),
            (Err(e), _) | (Ok(_), Err(e)) => Err(e),
        };
    }
    all
}

/// How long a delivery may take before another process takes over.
fn lease(service: &Alerts) -> Duration {
    service.settings.alerting.limits.write_timeout + SPARE
}

/// Delivers a tenant's due alerts, each part right after it was leased, for about the time of one slow request to the
/// router.
async fn deliver_to(service: &Alerts, client: &RouterClient, tenant: OrgId) -> Result<usize, StoreError> {
    let (waiting, time) = (&service.state.queued_tenants, service.settings.alerting.limits.write_timeout);
    let (began, mut requests, mut leased) = (Instant::now(), REQUESTS, 0);
    while requests > 0 && began.elapsed() < time {
        let (now, limit) = (service.platform.now(), waiting.at_once(tenant));
        let rows = i64::try_from(limit).unwrap_or(i64::MAX);
        let claimed =
            alert_queue::claim(&service.platform.db, tenant, now, now.plus(lease(service)), rows).await?;
        if claimed.alerts.is_empty() {
            break;
        }
        leased += claimed.alerts.len();
        let SendResult { left, smallest_refused } = send(service, client, &claimed, &mut requests).await?;
        match smallest_refused {
            None if left.is_empty() => waiting.set_at_once(tenant, limit.saturating_mul(2)),
            // The next delivery starts with the size that this one has reached, however slowly the router refuses.
            Some(alerts) if !left.is_empty() => waiting.set_at_once(tenant, alerts / 2),
            _ => {}
        }
        if !left.is_empty() {
            let now = service.platform.now();
            let left = Claimed { alerts: left, ..claimed };
            let mut tx = service.platform.db.begin().await?;
            alert_queue::postpone(&mut tx, &left, |attempts| RETRY.next_try(now, attempts.saturating_add(1)))
                .await?;
            tx.commit().await?;
            break;
        }
    }
    Ok(leased)
}

/// The results of leased alerts.
struct SendResult {
    /// Alerts to be retried; all others were delivered or finally refused, and are out of the queue.
    left: Vec<Queued>,
    /// Size of the smallest refused request with several alerts.
    smallest_refused: Option<usize>,
}

/// Sends all alerts in one request. A refused request is split into halves, so that only the alerts the router refuses
/// are dropped, as far as `requests` and the time of one request allow.
async fn send(
    service: &Alerts,
    client: &RouterClient,
    claimed: &Claimed,
    requests: &mut usize,
) -> Result<SendResult, StoreError> {
    let client = client.within(service.settings.alerting.limits.write_timeout);
    let (mut refused, mut smallest_refused) = (Vec::new(), None);
    let mut parts = vec![claimed.alerts.as_slice()];
    while *requests > 0 {
        let Some(part) = parts.pop() else { break };
        *requests -= 1;
        match put(service, &client, claimed.tenant, part).await {
            Ok(()) => finish(service, claimed, part).await?,
            Err(RouterError::Refused(reject)) => match part {
                [alert] => {
                    finish(service, claimed, part).await?;
                    refused.push((alert, reject));
                }
                _ => {
                    smallest_refused = smallest_refused.min(Some(part.len())).or(Some(part.len()));
                    let (first, second) = part.split_at(part.len() / 2);
                    parts.extend([second, first]);
                }
            },
            Err(e) => {
                tracing::debug!(tenant = %claimed.tenant, error = %e, "queued alerts wait");
                parts.push(part);
                break;
            }
        }
    }
    if let Some((_, reject)) = refused.first() {
        service.state.dropped.refused.add(refused.len() as u64);
        let named: Vec<&str> =
            refused.iter().take(NAMED).map(|(alert, _)| alert.fingerprint.as_str()).collect();
        tracing::warn!(
            tenant = %claimed.tenant,
            alerts = refused.len(),
            fingerprints = named.join(" "),
            status = reject.status,
            answer = reject.render().trim_end(),
            "queued alerts were dropped: the router refuses them"
        );
    }
    Ok(SendResult { left: parts.concat(), smallest_refused })
}

/// Removes a part from the queue at once: the router has answered for it.
async fn finish(service: &Alerts, claimed: &Claimed, part: &[Queued]) -> Result<(), StoreError> {
    let part = Claimed { alerts: part.to_vec(), ..*claimed };
    // A transaction of its own: all writers of the queue lock an organization's rows in one order.
    let mut tx = service.platform.db.begin().await?;
    alert_queue::finish(&mut tx, &part).await?;
    tx.commit().await
}

async fn put(
    service: &Alerts,
    client: &RouterClient,
    tenant: OrgId,
    alerts: &[Queued],
) -> Result<(), RouterError> {
    let payloads: Vec<&str> = alerts.iter().map(|alert| alert.payload.as_str()).collect();
    let body = format!("[{}]", payloads.join(","));
    let (tenant, request_id) = (tenant.to_string(), service.platform.fresh::<uuid::Uuid>().to_string());
    client.put_alerts(TenantRequest { tenant: &tenant, request_id: &request_id }, body.into()).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn a_tenant_added_while_the_queue_is_read_is_not_forgotten() {
        let [before, during, read] = [1, 2, 3].map(|n| OrgId(Uuid::from_u128(n)));
        let waiting = QueuedTenants::default();
        waiting.add(before);
        let number = waiting.begin();
        waiting.add(during);
        waiting.set(&[read], number);
        assert_eq!([before, during, read].map(|tenant| waiting.has(tenant)), [false, true, true]);
        // Of two concurrent reads, the first must not remove a tenant added during either.
        let (first, second) = (waiting.begin(), waiting.begin());
        waiting.add(before);
        waiting.set(&[], second);
        waiting.set(&[], first);
        assert!(waiting.has(before));
    }
}
