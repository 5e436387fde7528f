//! Alerts and silences in the service's own database (spec: alert-router#ingest, alert-router#listing,
//! silences#update-rules, silences#expire-and-list). `bailiwick_alertmanager::router` has the rules; this module reads, applies them
//! and writes in one transaction.

use super::{
    Fault, Sender,
    active_alert_limit::is_over,
    expression_budget,
    history::{self, Note, Origin},
    judging,
};
use crate::Alerts;
use bailiwick_alertmanager::{
    Fingerprint, Labels, ListedAlert, ListedSilence, Nanos, PostedAlert, PostedSilence, StoredAlert,
    StoredSilence,
    active_silence::{Expressions, active_silences},
    listing::NEUTRAL_RECEIVER,
    router::{self, put_silence},
    silence::is_owned,
};
use bailiwick_domain::{OrgId, Ts, ports::random};
use bailiwick_platform::group_commit::GroupCommit;
use bailiwick_store::{
    Db, StoreError, Tx,
    history::{Held, lock_for_writing},
    router::{self as rows, AlertCounts, AlertRow, SilenceRow},
};
use serde::{Serialize, de::DeserializeOwned};
use std::{
    collections::{BTreeSet, HashMap},
    time::Duration,
};
use uuid::Uuid;

/// Pushes of one group at most.
const PUSHES: usize = 64;
/// Rows of a system per allowed active alert or silence: ended ones are kept for a while, but only up to this number.
const ROWS_PER_LIMIT: u64 = 20;
/// Longest wait for a commit.
const WAIT: Duration = Duration::from_secs(20);

/// Group commit of pushes.
pub(super) type Pushes = GroupCommit<Push, Result<PushOutcome, Fault>>;

/// One system's push.
#[derive(Clone, Debug)]
pub(super) struct Push {
    tenant: OrgId,
    system_key: String,
    now: Nanos,
    alerts: Vec<PostedAlert>,
    origin: Origin,
}

/// The result of one push.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PushOutcome {
    /// New alerts beyond a limit were not stored.
    is_over_limit: bool,
}

/// What a group needs besides its pushes.
#[derive(Clone, Copy)]
struct Rules {
    resolve_timeout: Duration,
    alerts_per_system: u64,
    alerts_per_tenant: u64,
}

/// Stores a push; answers after the commit of its group.
pub(super) async fn push(
    service: &Alerts,
    who: &Sender<'_>,
    now: Nanos,
    alerts: Vec<PostedAlert>,
) -> Result<(), Fault> {
    let (system_key, origin) = (who.key().to_owned(), Origin::System);
    let push = Push { tenant: who.tenant, system_key, now, alerts, origin };
    let pushes = service.state.pushes.get_or_init(|| start(service));
    match tokio::time::timeout(WAIT, pushes.submit(push)).await {
        Ok(Ok(Ok(PushOutcome { is_over_limit: false }))) => Ok(()),
        Ok(Ok(Ok(PushOutcome { is_over_limit: true }))) => Err(Fault::AlertLimit),
        Ok(Ok(Err(fault))) => Err(fault),
        Ok(Err(lost)) => Err(Fault::not_ready(lost.0.to_string())),
        Err(_) => Err(Fault::Database(format!("no commit within {} s", WAIT.as_secs_f64()))),
    }
}

impl Rules {
    fn of(service: &Alerts) -> Rules {
        let settings = &service.settings.alerting;
        Rules {
            resolve_timeout: settings.resolve_timeout,
            alerts_per_system: settings.limits.alerts_per_system,
            alerts_per_tenant: settings.limits.alerts_per_tenant,
        }
    }
}

/// Stores service alerts about several systems of a tenant, without limits; returns the positions of those that the
/// database has refused.
pub async fn raise(
    service: &Alerts,
    tenant: OrgId,
    now: Nanos,
    alerts: Vec<super::ServiceAlert>,
) -> Result<Vec<usize>, Fault> {
    let rules = Rules::of(service);
    let origin = Origin::Service;
    let pushes: Vec<Push> = alerts
        .into_iter()
        .map(|(system_key, alert)| Push { tenant, system_key, now, alerts: vec![alert], origin })
        .collect();
    let mut left = Vec::new();
    for (n, group) in pushes.chunks(PUSHES).enumerate() {
        let Ok(outcomes) = store_group(service.platform.db.clone(), rules, group.to_vec()).await;
        let failed = outcomes.into_iter().enumerate().filter(|(_, outcome)| match outcome {
            Ok(_) => false,
            Err(error) => {
                tracing::warn!(%tenant, %error, "an alert of the service could not be stored");
                true
            }
        });
        left.extend(failed.map(|(i, _)| n * PUSHES + i));
    }
    Ok(left)
}

fn start(service: &Alerts) -> Pushes {
    let rules = Rules::of(service);
    let db = service.platform.db.clone();
    GroupCommit::start(&service.platform.tasks, service.platform.stop.clone(), PUSHES, move |group| {
        store_group(db.clone(), rules, group)
    })
}

/// Commits all pushes of a group together. If that fails, each is committed on its own, so that a bad one does not
/// affect the others. Without a database no push is retried: its sender pushes again.
async fn store_group(
    db: Db,
    rules: Rules,
    group: Vec<Push>,
) -> Result<Vec<Result<PushOutcome, Fault>>, std::convert::Infallible> {
    match store(&db, rules, &group).await {
        Ok(outcomes) => return Ok(outcomes.into_iter().map(Ok).collect()),
        Err(e) if e.is_transient() && !e.is_collision() => {
            let log = e.to_string();
            return Ok(group.iter().map(|_| Err(Fault::Database(log.clone()))).collect());
        }
        Err(e) if group.len() == 1 => return Ok(vec![Err(e.into())]),
        Err(e) => tracing::warn!(error = %e, "a group of pushes is stored one by one"),
    }
    let mut outcomes = Vec::with_capacity(group.len());
    for push in group {
        let stored = store(&db, rules, std::slice::from_ref(&push)).await;
        let outcome = stored.map(|o| o.first().copied().unwrap_or_default());
        outcomes.push(outcome.map_err(Fault::from));
    }
    Ok(outcomes)
}

async fn store(db: &Db, rules: Rules, group: &[Push]) -> Result<Vec<PushOutcome>, StoreError> {
    let tenants: BTreeSet<OrgId> = group.iter().map(|p| p.tenant).collect();
    let keys: BTreeSet<(OrgId, Fingerprint)> =
        group.iter().flat_map(|p| p.alerts.iter().map(|a| (p.tenant, a.fingerprint()))).collect();
    let keys: Vec<(OrgId, String)> = keys.into_iter().map(|(t, f)| (t, f.to_string())).collect();
    let mut tx = db.begin().await?;
    let held = lock_for_writing(&mut tx, tenants).await?;
    let mut state = GroupState {
        tx,
        held,
        rules,
        alerts: HashMap::new(),
        counts: HashMap::new(),
        tenants: HashMap::new(),
        notes: Vec::new(),
    };
    for (tenant, fingerprint, payload) in rows::alerts_by_key(&mut state.tx, &keys).await? {
        if let (Ok(fingerprint), Some(stored)) = (fingerprint.parse(), read::<StoredAlert>(&payload)) {
            state.alerts.insert((tenant, fingerprint), Kept { alert: stored, is_changed: false });
        }
    }
    state.read_counts(group).await?;
    let mut outcomes = Vec::with_capacity(group.len());
    for push in group {
        let mut outcome = PushOutcome::default();
        for alert in &push.alerts {
            outcome.is_over_limit |= !state.take(push, alert).await?;
        }
        outcomes.push(outcome);
    }
    state.write().await?;
    Ok(outcomes)
}

/// The rows a group concerns, as they become.
struct GroupState {
    tx: Tx,
    held: Held,
    rules: Rules,
    alerts: HashMap<(OrgId, Fingerprint), Kept>,
    counts: HashMap<(OrgId, String), AlertCounts>,
    tenants: HashMap<OrgId, u64>,
    /// For the history.
    notes: Vec<Note>,
}

struct Kept {
    alert: StoredAlert,
    is_changed: bool,
}

impl GroupState {
    /// Takes one alert in; false when it is new and beyond a limit.
    async fn take(&mut self, push: &Push, posted: &PostedAlert) -> Result<bool, StoreError> {
        let key = (push.tenant, posted.fingerprint());
        let new = StoredAlert::new(posted.clone(), push.now, self.rules.resolve_timeout);
        let old = self.alerts.get(&key).map(|k| &k.alert);
        let is_known = old.is_some();
        if let Some(old) = old.filter(|old| old.labels != new.labels) {
            // Two label sets share a fingerprint only if a sender made them so on purpose; the first one stays.
            if !old.is_resolved(push.now) {
                tracing::warn!(tenant = %push.tenant, fingerprint = %key.1, "a push collides with another alert");
                return Ok(true);
            }
        }
        let was_active = old.is_some_and(|old| !old.is_resolved(push.now));
        let alert = router::store(old, new, push.now);
        let is_active = !alert.is_resolved(push.now);
        // Service alerts do not count towards the limits of the system they are about.
        let has_limits = push.origin != Origin::Service;
        if has_limits && !is_known && !self.has_rows_left(push).await? {
            // A new alert that is already resolved is dropped, as no one has seen it. A firing one is refused, so the
            // sender knows.
            return Ok(!is_active);
        }
        if has_limits && is_active && !was_active && !self.make_room(push).await? {
            return Ok(false);
        }
        if has_limits && was_active && !is_active {
            self.give_room_back(push).await?;
        }
        let whose = (push.tenant, push.system_key.as_str());
        self.notes.push(Note::of(whose, posted, push.now, alert.ends_at, push.origin));
        self.alerts.insert(key, Kept { alert, is_changed: true });
        Ok(true)
    }

    /// Reads the counts of the pushing systems and their tenants, unless every alert of these pushes is active already.
    async fn read_counts(&mut self, pushes: &[Push]) -> Result<(), StoreError> {
        let is_refresh = |push: &Push, alert: &PostedAlert| {
            let stored = self.alerts.get(&(push.tenant, alert.fingerprint()));
            !is_over(alert, push.now) && stored.is_some_and(|stored| !stored.alert.is_resolved(push.now))
        };
        let has_news = |push: &&Push| !push.alerts.iter().all(|alert| is_refresh(push, alert));
        let with_news = pushes.iter().filter(|push| push.origin == Origin::System).filter(has_news);
        let systems: BTreeSet<_> = with_news.map(|push| (push.tenant, push.system_key.as_str())).collect();
        // An alert that ends while the group waits may be refreshed by this group, so it still counts as active.
        let Some(now) = pushes.iter().map(|push| push.now.to_ts()).min().filter(|_| !systems.is_empty())
        else {
            return Ok(());
        };
        self.count(&systems.into_iter().collect::<Vec<_>>(), now).await
    }

    async fn count(&mut self, systems: &[(OrgId, &str)], now: Ts) -> Result<(), StoreError> {
        let tenants: BTreeSet<OrgId> = systems.iter().map(|(tenant, _)| *tenant).collect();
        let tenants: Vec<OrgId> = tenants.into_iter().collect();
        self.counts.extend(rows::count_alerts_of_systems(&mut self.tx, systems, now).await?);
        for (tenant, in_force) in rows::count_alerts_of_tenants(&mut self.tx, &tenants, now).await? {
            self.tenants.entry(tenant).or_insert(in_force);
        }
        Ok(())
    }

    async fn counts(&mut self, push: &Push) -> Result<&mut AlertCounts, StoreError> {
        let key = (push.tenant, push.system_key.clone());
        if !self.counts.contains_key(&key) {
            self.count(&[(push.tenant, push.system_key.as_str())], push.now.to_ts()).await?;
        }
        Ok(self.counts.entry(key).or_default())
    }

    /// Counts one more active alert, if the limits allow it.
    async fn make_room(&mut self, push: &Push) -> Result<bool, StoreError> {
        let Rules { alerts_per_system, alerts_per_tenant, .. } = self.rules;
        let of_system = self.counts(push).await?.in_force;
        let of_tenant = self.tenants.get(&push.tenant).copied().unwrap_or_default();
        if of_system >= alerts_per_system || of_tenant >= alerts_per_tenant {
            return Ok(false);
        }
        self.counts(push).await?.in_force += 1;
        self.tenants.insert(push.tenant, of_tenant + 1);
        Ok(true)
    }

    /// Counts one active alert less.
    async fn give_room_back(&mut self, push: &Push) -> Result<(), StoreError> {
        let counts = self.counts(push).await?;
        counts.in_force = counts.in_force.saturating_sub(1);
        self.tenants.entry(push.tenant).and_modify(|in_force| *in_force = in_force.saturating_sub(1));
        Ok(())
    }

    /// Counts one more row; false when a system has too many resolved alerts.
    async fn has_rows_left(&mut self, push: &Push) -> Result<bool, StoreError> {
        let most = self.rules.alerts_per_system.saturating_mul(ROWS_PER_LIMIT);
        let counts = self.counts(push).await?;
        counts.rows += 1;
        Ok(counts.rows <= most)
    }

    async fn write(mut self) -> Result<(), StoreError> {
        let mut changed = Vec::with_capacity(self.alerts.len());
        for ((tenant, fingerprint), alert) in self.alerts.into_iter().filter(|(_, alert)| alert.is_changed) {
            changed.push(AlertRow {
                organization_id: tenant,
                fingerprint: fingerprint.to_string(),
                system_key: alert.alert.labels.value("system_key").to_owned(),
                ends_at: alert.alert.ends_at.to_ts(),
                payload: written(&alert.alert)?,
            });
        }
        // All processes lock these rows in the same order, so that no deadlock arises.
        changed.sort_unstable_by(|a, b| {
            (a.organization_id, &a.fingerprint).cmp(&(b.organization_id, &b.fingerprint))
        });
        rows::put_alerts(&mut self.tx, &changed).await?;
        history::write(&mut self.tx, &self.held, self.notes).await?;
        self.tx.commit().await
    }
}

pub(super) fn written<T: Serialize>(record: &T) -> Result<String, StoreError> {
    serde_json::to_string(record).map_err(|e| StoreError::Corrupt(e.to_string()))
}

/// A record of another version that cannot be read counts as absent: the sender repeats it.
pub(super) fn read<T: DeserializeOwned>(payload: &str) -> Option<T> {
    serde_json::from_str(payload)
        .inspect_err(|e| tracing::error!(error = %e, "an unreadable record of the alert router"))
        .ok()
}

/// The system's alerts with their status, and its silences.
pub(super) async fn alerts(
    service: &Alerts,
    who: &Sender<'_>,
) -> Result<(Vec<ListedAlert>, Vec<ListedSilence>), Fault> {
    let now_ts = service.platform.now();
    let now = Nanos::from_ts(now_ts);
    let outage = service.state.outage.get();
    // After an outage, alerts that expired in it are still shown for a while.
    let from = outage.and_then(|o| o.spares(now)).map_or(now_ts, |(from, _)| from.to_ts());
    let (stored, silences) =
        rows::alerts_and_silences_of_system(&service.platform.db, who.tenant, who.key(), from, now_ts)
            .await?;
    let has_silences = !silences.is_empty();
    let list = move |expressions: &Expressions| {
        let stored: Vec<StoredAlert> = stored.iter().filter_map(|p| read(p)).collect();
        let silences: Vec<ListedSilence> =
            silences.iter().filter_map(|p| read::<StoredSilence>(p)).map(|s| s.listed(now)).collect();
        let receivers = |_: &Labels| vec![NEUTRAL_RECEIVER.to_owned()];
        let in_force = active_silences(&silences);
        let listed = router::list_alerts(&stored, (&in_force, expressions), now, outage, receivers);
        (listed, silences)
    };
    if has_silences {
        return Ok(judging::by_system(service, who.tenant, list).await?);
    }
    Ok(list(service.state.judging.expressions()))
}

/// The system's silences that may still be read.
pub(super) async fn silences(service: &Alerts, who: &Sender<'_>) -> Result<Vec<ListedSilence>, Fault> {
    let now_ts = service.platform.now();
    let from = now_ts.minus(service.settings.alerting.silence_retention);
    let stored = rows::silences_of_system(&service.platform.db, who.tenant, who.key(), from).await?;
    let now = Nanos::from_ts(now_ts);
    Ok(stored.iter().filter_map(|p| read::<StoredSilence>(p)).map(|s| s.listed(now)).collect())
}

/// One silence of the tenant that may still be read.
pub(super) async fn silence(
    service: &Alerts,
    who: &Sender<'_>,
    id: Uuid,
) -> Result<Option<ListedSilence>, Fault> {
    let now = Nanos::from_ts(service.platform.now());
    let payload = rows::silence(&service.platform.db, who.tenant, id).await?;
    let stored = payload.as_deref().and_then(read::<StoredSilence>);
    let retained = stored.filter(|s| !s.is_removable(now, service.settings.alerting.silence_retention));
    Ok(retained.map(|s| s.listed(now)))
}

/// Writes the silence; a silence that it replaces is written as expired.
pub(super) async fn set_silence(
    service: &Alerts,
    who: &Sender<'_>,
    now: Nanos,
    posted: PostedSilence,
) -> Result<Uuid, Fault> {
    let mut tx = service.platform.db.begin().await?;
    lock_for_writing(&mut tx, [who.tenant]).await?;
    let id = set_silence_in(&mut tx, service, who, now, posted).await?;
    tx.commit().await?;
    Ok(id)
}

/// Creates or changes a silence in a transaction that holds the lock of the tenant.
pub(super) async fn set_silence_in(
    tx: &mut Tx,
    service: &Alerts,
    who: &Sender<'_>,
    now: Nanos,
    posted: PostedSilence,
) -> Result<Uuid, Fault> {
    let limits = &service.settings.alerting.limits;
    let stored = match posted.id {
        Some(id) => stored_silence(service, tx, who.tenant, id, now).await?,
        None => None,
    };
    let new_id = uuid::Builder::from_random_bytes(random(&*service.platform.entropy)).into_uuid();
    let decided = put_silence(posted, stored.as_ref(), Some(who.key()), now, new_id)?;
    if decided.put.id == new_id {
        let counts = rows::count_silences(tx, who.tenant, who.key(), now.to_ts()).await?;
        let is_more = decided.replaced.is_none();
        let is_full =
            counts.of_system >= limits.silences_per_system || counts.of_tenant >= limits.silences_per_tenant;
        if is_more && is_full {
            return Err(Fault::SilenceLimit);
        }
        expression_budget::check_stored(limits, &counts, &decided)?;
        // Expired silences are kept for a while but do not count: the oldest make room.
        let most = limits.silences_per_system.saturating_mul(ROWS_PER_LIMIT);
        let beyond = (counts.rows_of_system + 1).saturating_sub(most);
        if beyond > 0 {
            rows::purge_silences_of_system(tx, who.tenant, who.key(), now.to_ts(), beyond).await?;
        }
    }
    for silence in decided.replaced.iter().chain([&decided.put]) {
        rows::put_silence(tx, silence_row(who, silence)?).await?;
    }
    Ok(decided.put.id)
}

/// Expires the system's own silence.
pub(super) async fn expire_silence(service: &Alerts, who: &Sender<'_>, id: Uuid) -> Result<bool, Fault> {
    let mut tx = service.platform.db.begin().await?;
    lock_for_writing(&mut tx, [who.tenant]).await?;
    let is_known = expire_silence_in(&mut tx, service, who, id).await?;
    tx.commit().await?;
    Ok(is_known)
}

/// Expires a silence in a transaction that holds the lock of the tenant.
pub(super) async fn expire_silence_in(
    tx: &mut Tx,
    service: &Alerts,
    who: &Sender<'_>,
    id: Uuid,
) -> Result<bool, Fault> {
    let now = Nanos::from_ts(service.platform.now());
    let stored = stored_silence(service, tx, who.tenant, id, now).await?;
    let Some(stored) = stored.filter(|s| is_owned(&s.matchers, who.key())) else { return Ok(false) };
    if let Some(expired) = stored.expired(now) {
        rows::put_silence(tx, silence_row(who, &expired)?).await?;
    }
    Ok(true)
}

async fn stored_silence(
    service: &Alerts,
    tx: &mut Tx,
    tenant: OrgId,
    id: Uuid,
    now: Nanos,
) -> Result<Option<StoredSilence>, StoreError> {
    let payload = rows::silence(tx, tenant, id).await?;
    let stored = payload.as_deref().and_then(read::<StoredSilence>);
    Ok(stored.filter(|s| !s.is_removable(now, service.settings.alerting.silence_retention)))
}

fn silence_row(who: &Sender<'_>, silence: &StoredSilence) -> Result<SilenceRow, StoreError> {
    Ok(SilenceRow {
        organization_id: who.tenant,
        id: silence.id,
        system_key: who.key().to_owned(),
        ends_at: silence.ends_at.to_ts(),
        compiled_bytes: silence.compiled_bytes as u64,
        payload: written(silence)?,
    })
}
