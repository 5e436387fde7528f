//! What is done again and again: take tenants with something due, put new alerts into groups, begin what is due.

use super::{
    flush::{self, Flush},
    of,
    plans::{Plans, Routing, short_digest},
    record::LEASE,
    send::{To, Ways},
};
use crate::{App, alerting::config};
use bailiwick_alerting::listing::SilenceState;
use bailiwick_alerting::{
    Nanos, StoredAlert, StoredSilence,
    config::Destination,
    notify::{self, Entry, Snapshot, decide, first_flush, patience},
    router::{ActiveSilence, Outage},
};
use bailiwick_domain::{Error, OrgId, Result, Ts};
use bailiwick_store::delivery::{self, Alert, Due, Finished, GroupKey, NOBODY, Tenant, log};
use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

/// Tenants taken in one round.
const TENANTS: i64 = 256;
/// New alerts put into groups by one transaction.
const FRESH: i64 = 500;
/// Groups begun by one transaction.
const GROUPS: i64 = 500;
/// Alerts of them, unless a single group has more.
const ALERTS: u64 = 4096;
/// Transactions of one kind in one round, so that leases are renewed in time.
const PAGES: usize = 8;
/// Flushes under way at once: those that wait for a recipient that is slow are among them.
const FLUSHES: usize = 40_000;
/// Between two renewals of the leases.
const RENEW: Duration = Duration::from_secs(10);

/// What is known from one round to the next.
#[derive(Default)]
pub(super) struct Round {
    held: HashMap<OrgId, Held>,
    plans: Plans,
    renewed: Option<Instant>,
}

/// A tenant this process looks after.
#[derive(Clone, Default)]
struct Held {
    flushes: Arc<AtomicUsize>,
    /// Another process has it.
    lost: CancellationToken,
    /// The end of a flush could not be written down: the lease is left to end, and whoever takes it then goes on.
    is_forsaken: Arc<AtomicBool>,
}

type Routings = HashMap<OrgId, Arc<Routing>>;

/// One round; how much was done.
pub(super) async fn round(app: &App, state: &mut Round) -> Result<u64> {
    let version = config::version(app).await?;
    state.renew(app).await?;
    let due = delivery::due_tenants(&app.db, app.instance(), app.now(), version, TENANTS).await?;
    if due.is_empty() {
        state.release_idle(app).await?;
        return Ok(0);
    }
    let tenants = state.take(app, &due).await?;
    let ids: Vec<OrgId> = tenants.iter().map(|t| t.id).collect();
    let routings = state.plans.get(app, version, &ids).await?;
    let mut done = replan(app, version, &tenants, &routings).await?;
    done += group(app, &ids, &routings).await?;
    done += begin(app, state, version).await?;
    if done == 0 {
        state.release_idle(app).await?;
    }
    Ok(done)
}

/// Where this process holds the database alone, whoever has taken tenants before is dead.
pub(super) async fn end_old_leases(app: &App) -> Result<()> {
    if app.db.is_postgres() {
        return Ok(());
    }
    let mut tx = app.db.begin_relaxed().await?;
    delivery::release_all(&mut tx, app.now()).await?;
    Ok(tx.commit().await?)
}

impl Round {
    /// Takes tenants, those that this process has already included.
    async fn take(&mut self, app: &App, due: &[OrgId]) -> Result<Vec<Tenant>> {
        let now = app.now();
        let _writing = of(app).writing.lock().await;
        let mut tx = app.db.begin().await?;
        let taken = delivery::take(&mut tx, app.instance(), now, now.plus(LEASE), due).await?;
        let new: Vec<OrgId> = taken.iter().map(|t| t.id).filter(|id| !self.held.contains_key(id)).collect();
        delivery::recover(&mut tx, &new, now).await?;
        tx.commit().await?;
        self.held.extend(new.into_iter().map(|id| (id, Held::default())));
        Ok(taken)
    }

    /// Renews the leases when it is time; flushes of tenants that another process has taken end.
    async fn renew(&mut self, app: &App) -> Result<()> {
        self.held.retain(|_, held| !held.is_forsaken.load(Ordering::SeqCst));
        let is_time = self.renewed.is_none_or(|at| at.elapsed() >= RENEW);
        if !is_time || self.held.is_empty() {
            return Ok(());
        }
        let ids: Vec<OrgId> = self.held.keys().copied().collect();
        let _writing = of(app).writing.lock().await;
        let mut tx = app.db.begin_relaxed().await?;
        let still = delivery::hold(&mut tx, app.instance(), app.now().plus(LEASE), &ids).await?;
        tx.commit().await?;
        self.held.retain(|id, held| {
            let is_ours = still.contains(id);
            if !is_ours {
                tracing::warn!(tenant = %id, "another process has taken the tenant over");
                held.lost.cancel();
            }
            is_ours
        });
        self.renewed = Some(Instant::now());
        Ok(())
    }

    /// Gives back the tenants of which nothing is under way.
    async fn release_idle(&mut self, app: &App) -> Result<()> {
        self.held.retain(|_, held| !held.is_forsaken.load(Ordering::SeqCst));
        let idle: Vec<OrgId> = self.held.iter().filter(|(_, h)| h.is_idle()).map(|(id, _)| *id).collect();
        self.release(app, &idle).await
    }

    pub(super) async fn release_all(&mut self, app: &App) -> Result<()> {
        let all: Vec<OrgId> = self.held.keys().copied().collect();
        self.release(app, &all).await
    }

    async fn release(&mut self, app: &App, tenants: &[OrgId]) -> Result<()> {
        if tenants.is_empty() {
            return Ok(());
        }
        let _writing = of(app).writing.lock().await;
        let mut tx = app.db.begin_relaxed().await?;
        delivery::release(&mut tx, app.instance(), tenants).await?;
        tx.commit().await?;
        for tenant in tenants {
            self.held.remove(tenant);
        }
        Ok(())
    }
}

impl Held {
    fn is_idle(&self) -> bool {
        self.flushes.load(Ordering::SeqCst) == 0
    }
}

/// Makes the groups of tenants anew whose configuration has changed since they were made.
async fn replan(app: &App, version: i64, tenants: &[Tenant], routings: &Routings) -> Result<u64> {
    let digest = |t: &Tenant| routings.get(&t.id).map(|r| r.digest.clone());
    let old = tenants.iter().filter(|t| t.version < version || t.plan.is_empty());
    let plans: Vec<(OrgId, String)> = old.clone().filter_map(|t| Some((t.id, digest(t)?))).collect();
    if plans.is_empty() {
        return Ok(0);
    }
    let changed: Vec<OrgId> = old.filter(|t| digest(t).is_some_and(|d| d != t.plan)).map(|t| t.id).collect();
    let _writing = of(app).writing.lock().await;
    let mut tx = app.db.begin().await?;
    let ids: Vec<OrgId> = plans.iter().map(|(id, _)| *id).collect();
    let held = delivery::hold(&mut tx, app.instance(), app.now().plus(LEASE), &ids).await?;
    let is_ours = |id: &OrgId| held.contains(id);
    let plans: Vec<(OrgId, String)> = plans.into_iter().filter(|(id, _)| is_ours(id)).collect();
    let changed: Vec<OrgId> = changed.into_iter().filter(is_ours).collect();
    delivery::set_plans(&mut tx, version, &plans, &changed).await?;
    tx.commit().await?;
    Ok(plans.len() as u64)
}

/// Puts new alerts into groups, making those that are not there yet.
async fn group(app: &App, tenants: &[OrgId], routings: &Routings) -> Result<u64> {
    let mut done = 0;
    for _ in 0..PAGES {
        let fresh = delivery::fresh(&app.db, tenants, FRESH).await?;
        if fresh.is_empty() {
            return Ok(done);
        }
        let routings = routings.clone();
        let placing = app.tasks.spawn_blocking(move || place(&fresh, &routings));
        let Placed { mut alerts, mut groups } = placing.await.map_err(Error::internal)?;
        let _writing = of(app).writing.lock().await;
        let mut tx = app.db.begin().await?;
        let ids: HashSet<OrgId> = alerts.iter().map(|((tenant, _), _)| *tenant).collect();
        let ids: Vec<OrgId> = ids.into_iter().collect();
        let held = delivery::hold(&mut tx, app.instance(), app.now().plus(LEASE), &ids).await?;
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

/// Where new alerts go, and the groups they make with the time of their first flush.
struct Placed {
    alerts: Vec<(GroupKey, String)>,
    groups: Vec<(GroupKey, Ts)>,
}

fn place(fresh: &[Alert], routings: &Routings) -> Placed {
    let mut alerts = Vec::with_capacity(fresh.len());
    // The alert that came first makes the group.
    let mut makers: HashMap<GroupKey, (Nanos, Nanos)> = HashMap::new();
    for row in fresh {
        let stored: Option<StoredAlert> = read(&row.payload);
        let routing = routings.get(&row.organization_id);
        let destination = stored.as_ref().zip(routing).and_then(|(a, r)| r.destination(&a.labels));
        let id = match (&stored, destination) {
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
    Placed { alerts, groups }
}

fn id_in(to: &Destination, alert: &StoredAlert) -> String {
    short_digest(&to.group_key(&to.group_labels(&alert.labels)))
}

fn read<T: serde::de::DeserializeOwned>(payload: &str) -> Option<T> {
    serde_json::from_str(payload)
        .inspect_err(|e| tracing::error!(error = %e, "an unreadable record of the alert router"))
        .ok()
}

/// Begins the flushes that are due.
async fn begin(app: &App, state: &mut Round, version: i64) -> Result<u64> {
    let mut done = 0;
    for _ in 0..PAGES {
        if of(app).under_way.count() >= FLUSHES {
            tracing::warn!("too many notifications are under way; others wait");
            return Ok(done);
        }
        let now = app.now();
        let due = delivery::due_groups(&app.db, app.instance(), now, GROUPS).await?;
        let due = bounded(due);
        if due.is_empty() {
            return Ok(done);
        }
        let tenants: HashSet<OrgId> = due.iter().map(|d| d.key.0).collect();
        let tenants: Vec<OrgId> = tenants.into_iter().collect();
        let routings = state.plans.get(app, version, &tenants).await?;
        let Seen { quiet, loud } = see(app, due, routings, now).await?;
        let begun = quiet.len() + loud.len();
        let loud = write_begun(app, quiet, loud, now).await?;
        for (flush, _) in loud {
            let held = state.held.entry(flush.key.0).or_default().clone();
            held.flushes.fetch_add(1, Ordering::SeqCst);
            of(app).under_way.begin();
            let runner = app.clone();
            app.tasks.spawn(async move {
                if !flush::run(&runner, &flush, &held.lost).await {
                    held.is_forsaken.store(true, Ordering::SeqCst);
                }
                held.flushes.fetch_sub(1, Ordering::SeqCst);
                of(&runner).under_way.end();
            });
        }
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

/// Flushes of which nobody is to be told, and the others with the time they are due again.
struct Seen {
    quiet: Vec<Finished>,
    loud: Vec<(Flush, Ts)>,
}

/// Notes that flushes have begun; those that are this process's to do.
async fn write_begun(
    app: &App,
    mut quiet: Vec<Finished>,
    mut loud: Vec<(Flush, Ts)>,
    now: Ts,
) -> Result<Vec<(Flush, Ts)>> {
    let _writing = of(app).writing.lock().await;
    let mut tx = app.db.begin().await?;
    let ids: HashSet<OrgId> =
        quiet.iter().map(|f| f.key.0).chain(loud.iter().map(|(f, _)| f.key.0)).collect();
    let ids: Vec<OrgId> = ids.into_iter().collect();
    let held = delivery::hold(&mut tx, app.instance(), now.plus(LEASE), &ids).await?;
    quiet.retain(|f| held.contains(&f.key.0));
    loud.retain(|(f, _)| held.contains(&f.key.0));
    delivery::finish(&mut tx, &quiet).await?;
    let begun: Vec<(GroupKey, Ts)> = loud.iter().map(|(f, next)| (f.key.clone(), *next)).collect();
    delivery::start(&mut tx, &begun, now).await?;
    tx.commit().await?;
    Ok(loud)
}

/// Reads what is in the groups and what was told of them, and decides.
async fn see(app: &App, due: Vec<Due>, routings: Routings, now: Ts) -> Result<Seen> {
    let keys: Vec<GroupKey> = due.iter().map(|d| d.key.clone()).collect();
    let alerts = delivery::members(&app.db, &keys).await?;
    let systems: HashSet<(OrgId, String)> =
        alerts.iter().map(|a| (a.organization_id, a.system_key.clone())).collect();
    let systems: Vec<(OrgId, String)> = systems.into_iter().collect();
    let silences = delivery::silences(&app.db, &systems, now).await?;
    let notices = log::notices(&app.db, &keys).await?;
    of(app).ways.get_or_init(|| Ways::new(app));
    let app = app.clone();
    let judging = app.tasks.clone().spawn_blocking(move || {
        let ways = of(&app).ways.get_or_init(|| Ways::new(&app));
        let outage = app.alerting().outage.get();
        Facts { routings: &routings, ways, outage, now }.judge(&due, alerts, &silences, notices)
    });
    judging.await.map_err(Error::internal)
}

/// What holds for all groups of a round.
struct Facts<'a> {
    routings: &'a Routings,
    ways: &'a Ways,
    outage: Option<&'a Outage>,
    now: Ts,
}

/// When a group is looked at again that does not fit the configuration any more.
const SOON: Duration = Duration::from_secs(1);

impl Facts<'_> {
    fn judge(
        &self,
        due: &[Due],
        alerts: Vec<Alert>,
        silences: &[(OrgId, String, String)],
        notices: Vec<log::Notice>,
    ) -> Seen {
        let mut members: HashMap<GroupKey, Vec<Alert>> = HashMap::new();
        for alert in alerts {
            members.entry((alert.organization_id, alert.group_id.clone())).or_default().push(alert);
        }
        let mut active: HashMap<(OrgId, String), Vec<ActiveSilence>> = HashMap::new();
        let now = Nanos::from_ts(self.now);
        for (tenant, system_key, payload) in silences {
            let silence = read::<StoredSilence>(payload).filter(|s| s.state(now) == SilenceState::Active);
            let ready = silence.and_then(|s| ActiveSilence::new(s.id, &s.matchers));
            active.entry((*tenant, system_key.clone())).or_default().extend(ready);
        }
        let mut told: HashMap<GroupKey, Vec<log::Notice>> = HashMap::new();
        for notice in notices {
            told.entry(notice.group.clone()).or_default().push(notice);
        }
        let mut seen = Seen { quiet: Vec::new(), loud: Vec::new() };
        for one in due {
            let members = members.remove(&one.key).unwrap_or_default();
            let told = told.remove(&one.key).unwrap_or_default();
            match self.flush(&one.key, members, &active, &told) {
                Ok((flush, next)) => seen.loud.push((flush, next)),
                Err(finished) => seen.quiet.push(finished),
            }
        }
        seen
    }

    /// What is to be told of a group, or that nothing is.
    fn flush(
        &self,
        key: &GroupKey,
        members: Vec<Alert>,
        silences: &HashMap<(OrgId, String), Vec<ActiveSilence>>,
        told: &[log::Notice],
    ) -> std::result::Result<(Flush, Ts), Finished> {
        let nothing =
            |leaving, wait| Finished { key: key.clone(), leaving, due_at: Some(self.now.plus(wait)) };
        let system_key = members.first().map(|m| m.system_key.clone()).unwrap_or_default();
        let revisions: HashMap<String, i64> =
            members.iter().map(|m| (m.fingerprint.clone(), m.revision)).collect();
        let alerts: Vec<StoredAlert> = members.iter().filter_map(|m| read(&m.payload)).collect();
        let routing = self.routings.get(&key.0);
        let to = alerts.first().zip(routing).and_then(|(first, r)| {
            Some((first, r.destination(&first.labels)?)).filter(|(first, to)| id_in(to, first) == key.1)
        });
        // Without alerts it ends; one of another configuration is about to be made anew.
        let Some((first, to)) = to else { return Err(nothing(Vec::new(), SOON)) };
        let group_labels = to.group_labels(&first.labels);
        let now = Nanos::from_ts(self.now);
        let own = silences.get(&(key.0, system_key)).map_or(&[][..], Vec::as_slice);
        let snapshot = Snapshot::take(alerts, own, now, self.outage);
        let leaving: Vec<(String, i64)> = snapshot
            .ended
            .iter()
            .filter_map(|f| revisions.get(&f.to_string()).map(|r| (f.to_string(), *r)))
            .collect();
        let receiver = routing.and_then(|r| r.plan.receiver(&to.receiver));
        let reachable = receiver.map(|r| self.ways.reachable(&r.audience)).unwrap_or_default();
        let since = self.now.minus(notify::kept_for(to.repeat_interval));
        let reason = |one: &To| {
            let integration = one.digest();
            let entry = told
                .iter()
                .find(|n| n.integration == integration && n.receiver == to.receiver && n.told_at >= since)
                .map(entry);
            decide(entry.as_ref(), &snapshot, now, to.repeat_interval)
        };
        let tellings: Vec<_> =
            reachable.into_iter().filter_map(|one| reason(&one).map(|reason| (one, reason))).collect();
        if tellings.is_empty() {
            return Err(nothing(leaving, to.group_interval));
        }
        let flush = Flush {
            key: key.clone(),
            group_key: to.group_key(&group_labels),
            group_labels,
            receiver: to.receiver.clone(),
            snapshot,
            tellings,
            leaving,
            patience: patience(to.group_interval),
        };
        Ok((flush, self.now.plus(to.group_interval)))
    }
}

fn entry(notice: &log::Notice) -> Entry {
    Entry {
        firing: Entry::read(&notice.firing),
        resolved: Entry::read(&notice.resolved),
        at: Some(Nanos::from_ts(notice.told_at)),
    }
}
