//! The loop of the notifier: claims tenants with something due, puts new alerts into groups, starts due flushes.

use super::{
    evaluate::{Evaluated, evaluate},
    of,
    outcomes::LEASE,
    routing::{RETRY, Routing, RoutingCache},
    send_group::{self, GroupSend},
};
use crate::{
    Alerts,
    config::{self, short_digest},
    outage_detector,
};
use bailiwick_alertmanager::{Nanos, StoredAlert, config::Destination, notify::first_flush};
use bailiwick_domain::{Error, OrgId, Result, Ts};
use bailiwick_platform::jobs;
use bailiwick_store::{
    delivery::{self, Alert, Due, Finished, GroupKey, NOBODY, Tenant, UNKNOWN, clock_skew},
    leases::SKEW,
};
use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

/// Tenants taken in one round.
const TENANTS: i64 = 256;
/// New alerts put into groups by one transaction.
const FRESH: i64 = 500;
/// Groups begun by one transaction.
const GROUPS: i64 = 500;
/// Alerts of these groups, unless a single group has more.
const ALERTS: u64 = 4096;
/// Transactions of one kind in one round, so that leases are renewed in time.
const PAGES: usize = 8;
/// Concurrent flushes, including those that wait for a slow recipient.
const FLUSHES: usize = 40_000;
/// Flushes of one tenant, so that slow recipients of one tenant leave room for all others.
const FLUSHES_OF_ONE: usize = 4_000;
/// Between two renewals of the leases.
const RENEW: Duration = Duration::from_secs(10);

/// Rows of a kind that one transaction corrects after the clock was set back.
const SET_BACK: i64 = 5_000;

/// The state kept from one round to the next.
#[derive(Default)]
pub(super) struct Round {
    held: HashMap<OrgId, LeasedTenant>,
    plans: RoutingCache,
    renewed: Option<Instant>,
    /// When tenants with an unreadable configuration were last retried.
    looked_again: Option<Ts>,
}

/// A tenant this process looks after.
#[derive(Clone, Default)]
struct LeasedTenant {
    flushes: Arc<AtomicUsize>,
    /// Cancelled when another process has claimed the tenant, or its recipients have changed.
    lost: CancellationToken,
}

pub(super) type Routings = HashMap<OrgId, Arc<Routing>>;

/// One round; how much was done.
pub(super) async fn round(service: &Alerts, state: &mut Round) -> Result<u64> {
    outage_detector::sign_if_due(service).await?;
    let version = config::version(service).await?;
    state.renew(service).await?;
    state.retry_unreadable(service).await?;
    let due = delivery::due_tenants(
        &service.platform.db,
        service.platform.instance(),
        service.platform.now(),
        version,
        TENANTS,
    )
    .await?;
    if due.is_empty() {
        state.release_idle(service).await?;
        return Ok(0);
    }
    let tenants = state.take(service, &due).await?;
    let ids: Vec<OrgId> = tenants.iter().map(|t| t.id).collect();
    let routings = state.plans.get(service, version, &ids).await?;
    let mut done = replan(service, state, version, &tenants).await?;
    done += group(service, state, &ids, &routings).await?;
    done += begin(service, state, version).await?;
    if done == 0 {
        state.release_idle(service).await?;
    }
    Ok(done)
}

/// Makes times due that are further ahead than any that is ever written: the clock was set back since, and would not
/// reach them for long.
async fn set_back(service: &Alerts, now: Ts) -> Result<()> {
    let timing = &service.settings.alerting.timing;
    let latest = clock_skew::Latest {
        due_at: now.plus(timing.group_wait.max(timing.group_interval)).plus(SKEW),
        held_until: now.plus(LEASE).plus(SKEW),
        told_at: now.plus(SKEW),
    };
    loop {
        let _writing = of(service).writing.lock().await;
        let mut tx = service.platform.db.begin_relaxed().await?;
        let found = clock_skew::set_back(&mut tx, now, latest, SET_BACK).await?;
        tx.commit().await?;
        if found == 0 {
            return Ok(());
        }
        tracing::warn!(found, "the clock was set back; postponed work is due now");
    }
}

impl Round {
    /// Claims tenants, and renews those this process already has.
    async fn take(&mut self, service: &Alerts, due: &[OrgId]) -> Result<Vec<Tenant>> {
        let _writing = of(service).writing.lock().await;
        let mut tx = service.platform.db.begin().await?;
        let now = service.platform.now();
        let taken =
            delivery::acquire(&mut tx, service.platform.instance(), now, now.plus(LEASE), due).await?;
        let new: Vec<OrgId> = taken.iter().map(|t| t.id).filter(|id| !self.held.contains_key(id)).collect();
        delivery::recover(&mut tx, &new, now).await?;
        tx.commit().await?;
        self.held.extend(new.into_iter().map(|id| (id, LeasedTenant::default())));
        Ok(taken)
    }

    /// Renews the leases when it is time; flushes of tenants that another process has claimed stop.
    async fn renew(&mut self, service: &Alerts) -> Result<()> {
        let is_time = self.renewed.is_none_or(|at| at.elapsed() >= RENEW);
        if !is_time || self.held.is_empty() {
            return Ok(());
        }
        let ids: Vec<OrgId> = self.held.keys().copied().collect();
        let _writing = of(service).writing.lock().await;
        let mut tx = service.platform.db.begin_relaxed().await?;
        let still =
            delivery::renew(&mut tx, service.platform.instance(), service.platform.now().plus(LEASE), &ids)
                .await?;
        tx.commit().await?;
        self.held.retain(|id, held| {
            let is_ours = still.contains(id);
            if !is_ours {
                tracing::warn!(tenant = %id, "another process has claimed the tenant");
                held.lost.cancel();
            }
            is_ours
        });
        self.renewed = Some(Instant::now());
        Ok(())
    }

    /// Now and then retries tenants with an unreadable configuration, and work that a clock put off before it was set
    /// back.
    async fn retry_unreadable(&mut self, service: &Alerts) -> Result<()> {
        let now = service.platform.now();
        if self.looked_again.is_some_and(|at| at <= now && now < at.plus(RETRY)) {
            return Ok(());
        }
        set_back(service, now).await?;
        let _writing = of(service).writing.lock().await;
        let mut tx = service.platform.db.begin_relaxed().await?;
        delivery::retry_unreadable(&mut tx).await?;
        tx.commit().await?;
        self.plans.forget_unreadable();
        self.looked_again = Some(now);
        Ok(())
    }

    /// Releases tenants without running flushes.
    async fn release_idle(&mut self, service: &Alerts) -> Result<()> {
        let idle: Vec<OrgId> = self.held.iter().filter(|(_, h)| h.is_idle()).map(|(id, _)| *id).collect();
        self.release(service, &idle).await
    }

    pub(super) async fn release_all(&mut self, service: &Alerts) -> Result<()> {
        let all: Vec<OrgId> = self.held.keys().copied().collect();
        self.release(service, &all).await
    }

    async fn release(&mut self, service: &Alerts, tenants: &[OrgId]) -> Result<()> {
        if tenants.is_empty() {
            return Ok(());
        }
        let _writing = of(service).writing.lock().await;
        let mut tx = service.platform.db.begin_relaxed().await?;
        delivery::release(&mut tx, service.platform.instance(), tenants, service.platform.now()).await?;
        tx.commit().await?;
        for tenant in tenants {
            self.held.remove(tenant);
        }
        Ok(())
    }
}

impl LeasedTenant {
    /// Whether the tenant has as many running flushes as allowed.
    fn is_busy(&self) -> bool {
        self.flushes.load(Ordering::SeqCst) >= FLUSHES_OF_ONE
    }

    fn is_idle(&self) -> bool {
        self.flushes.load(Ordering::SeqCst) == 0
    }
}

/// Rebuilds the groups of tenants whose configuration has changed since they were made. Their running flushes stop
/// after the present try; the new configuration then decides.
async fn replan(service: &Alerts, state: &mut Round, version: i64, tenants: &[Tenant]) -> Result<u64> {
    let digest = |t: &Tenant| state.plans.digest(t.id).map(str::to_owned);
    let planned = tenants.iter().filter_map(|t| Some((t, digest(t)?)));
    let old: Vec<_> = planned.filter(|(t, digest)| t.version < version || t.plan != *digest).collect();
    if old.is_empty() {
        return Ok(0);
    }
    let ids: Vec<OrgId> = old.iter().map(|(t, _)| t.id).collect();
    let _writing = of(service).writing.lock().await;
    let mut tx = service.platform.db.begin().await?;
    let held =
        delivery::renew(&mut tx, service.platform.instance(), service.platform.now().plus(LEASE), &ids)
            .await?;
    let ours = old.into_iter().filter(|(t, _)| held.contains(&t.id));
    let (mut plans, mut changed) = (Vec::new(), Vec::new());
    for (tenant, digest) in ours {
        if tenant.plan != digest {
            changed.push(tenant.id);
        }
        plans.push((tenant.id, digest));
    }
    delivery::set_plans(&mut tx, version, &plans, &changed, service.platform.now()).await?;
    tx.commit().await?;
    for id in &changed {
        if let Some(held) = state.held.get_mut(id) {
            std::mem::take(&mut held.lost).cancel();
        }
    }
    Ok(plans.len() as u64)
}

/// Puts new alerts into groups, and creates missing groups.
async fn group(service: &Alerts, state: &mut Round, tenants: &[OrgId], routings: &Routings) -> Result<u64> {
    let mut done = 0;
    for _ in 0..PAGES {
        state.renew(service).await?;
        let fresh = delivery::fresh(&service.platform.db, tenants, FRESH).await?;
        if fresh.is_empty() {
            return Ok(done);
        }
        let routings = routings.clone();
        let placing = service.platform.tasks.spawn_blocking(move || group_fresh(&fresh, &routings));
        let GroupedAlerts { mut alerts, mut groups } = placing.await.map_err(Error::internal)?;
        let _writing = of(service).writing.lock().await;
        let mut tx = service.platform.db.begin().await?;
        let ids: HashSet<OrgId> = alerts.iter().map(|((tenant, _), _)| *tenant).collect();
        let ids: Vec<OrgId> = ids.into_iter().collect();
        let held =
            delivery::renew(&mut tx, service.platform.instance(), service.platform.now().plus(LEASE), &ids)
                .await?;
        alerts.retain(|((tenant, _), _)| held.contains(tenant));
        groups.retain(|((tenant, _), _)| held.contains(tenant));
        if alerts.is_empty() {
            return Ok(done);
        }
        delivery::open_groups(&mut tx, &groups).await?;
        delivery::put_into(&mut tx, &alerts).await?;
        tx.commit().await?;
        done += alerts.len() as u64;
    }
    Ok(done)
}

/// The groups of new alerts, with the times of their first flushes.
struct GroupedAlerts {
    alerts: Vec<(GroupKey, String)>,
    groups: Vec<(GroupKey, Ts)>,
}

fn group_fresh(fresh: &[Alert], routings: &Routings) -> GroupedAlerts {
    let mut alerts = Vec::with_capacity(fresh.len());
    // The alert that came first makes the group.
    let mut makers: HashMap<GroupKey, (Nanos, Nanos)> = HashMap::new();
    for row in fresh {
        let stored: Option<StoredAlert> = read(&row.payload);
        let routing = routings.get(&row.organization_id);
        let destination = stored.as_ref().zip(routing).and_then(|(a, r)| r.destination(&a.labels));
        let id = match (&stored, destination) {
            _ if routing.is_none() => UNKNOWN.to_owned(),
            (Some(alert), Some(to)) => {
                let id = id_in(to, alert);
                let first = first_flush(alert.updated_at, alert.starts_at, to.group_wait);
                let maker = (alert.updated_at, first);
                let key = (row.organization_id, id.clone());
                makers.entry(key).and_modify(|m| *m = (*m).min(maker)).or_insert(maker);
                id
            }
            _ => NOBODY.to_owned(),
        };
        alerts.push(((row.organization_id, id), row.fingerprint.clone()));
    }
    let groups = makers.into_iter().map(|(key, (_, first))| (key, first.to_ts())).collect();
    GroupedAlerts { alerts, groups }
}

pub(super) fn id_in(to: &Destination, alert: &StoredAlert) -> String {
    short_digest(&to.group_key(&to.group_labels(&alert.labels)))
}

pub(super) fn read<T: serde::de::DeserializeOwned>(payload: &str) -> Option<T> {
    serde_json::from_str(payload)
        .inspect_err(|e| tracing::error!(error = %e, "an unreadable record of the alert router"))
        .ok()
}

/// Begins the flushes that are due.
async fn begin(service: &Alerts, state: &mut Round, version: i64) -> Result<u64> {
    let mut done = 0;
    for _ in 0..PAGES {
        state.renew(service).await?;
        if of(service).under_way.count() >= FLUSHES {
            tracing::warn!("too many notifications are under way; others wait");
            return Ok(done);
        }
        outage_detector::sign_if_due(service).await?;
        let now = service.platform.now();
        let busy: Vec<OrgId> = state.held.iter().filter(|(_, h)| h.is_busy()).map(|(id, _)| *id).collect();
        let due = delivery::due_groups(&service.platform.db, service.platform.instance(), now, &busy, GROUPS)
            .await?;
        let due = bounded(due);
        if due.is_empty() {
            return Ok(done);
        }
        let tenants: HashSet<OrgId> = due.iter().map(|d| d.key.0).collect();
        let tenants: Vec<OrgId> = tenants.into_iter().collect();
        let routings = state.plans.get(service, version, &tenants).await?;
        let Evaluated { finished, to_send } = evaluate(service, due, routings, now).await?;
        let begun = finished.len() + to_send.len();
        let (to_send, written) = write_begun(service, finished, to_send, now).await?;
        let is_begun = written.is_ok();
        for (flush, _) in to_send {
            let held = state.held.entry(flush.key.0).or_default().clone();
            held.flushes.fetch_add(1, Ordering::SeqCst);
            of(service).under_way.begin();
            let (runner, flush) = (service.clone(), Arc::new(flush));
            service.platform.tasks.spawn(async move {
                if is_begun {
                    send_group::run(&runner, &flush, &held.lost).instrument(jobs::span("notification")).await;
                } else {
                    // The write may or may not have happened; this undoes it.
                    flush.end(&runner, Vec::new(), Some(now)).await;
                }
                held.flushes.fetch_sub(1, Ordering::SeqCst);
                of(&runner).under_way.end();
            });
        }
        written?;
        done += begun as u64;
    }
    Ok(done)
}

/// As many as one transaction takes.
fn bounded(due: Vec<Due>) -> Vec<Due> {
    let mut alerts = 0;
    let mut some = Vec::new();
    for one in due {
        alerts += one.alerts;
        if alerts > ALERTS && !some.is_empty() {
            break;
        }
        some.push(one);
    }
    some
}

/// Records that flushes have begun; returns those this process is to run, and the result of the commit.
async fn write_begun(
    service: &Alerts,
    mut finished: Vec<Finished>,
    mut to_send: Vec<(GroupSend, Ts)>,
    now: Ts,
) -> Result<(Vec<(GroupSend, Ts)>, Result<()>)> {
    let _writing = of(service).writing.lock().await;
    let mut tx = service.platform.db.begin().await?;
    let ids: HashSet<OrgId> =
        finished.iter().map(|f| f.key.0).chain(to_send.iter().map(|(f, _)| f.key.0)).collect();
    let ids: Vec<OrgId> = ids.into_iter().collect();
    let held =
        delivery::renew(&mut tx, service.platform.instance(), service.platform.now().plus(LEASE), &ids)
            .await?;
    finished.retain(|f| held.contains(&f.key.0));
    to_send.retain(|(f, _)| held.contains(&f.key.0));
    delivery::finish(&mut tx, &finished).await?;
    let begun: Vec<(GroupKey, Ts)> = to_send.iter().map(|(f, next)| (f.key.clone(), *next)).collect();
    delivery::start(&mut tx, &begun, now).await?;
    Ok((to_send, tx.commit().await.map_err(Error::from)))
}
