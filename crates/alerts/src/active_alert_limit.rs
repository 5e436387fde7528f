//! The active alert limit of systems and of tenants at a remote router (spec: alerts#limits). The count includes open
//! rows of the alert history, events that are not written yet, and alerts on their way to the router.
//!
//! Almost every push repeats alerts that are already active. This process remembers them, so such a push needs no
//! query. For new alerts the process uses counts it read a while ago; it queries the database only when these are old
//! or little room is left. Silences are stored only at the router, so the router is asked for them.

use super::{Fault, Sender, expression_budget::too_complex, history::deferred, judging};
use crate::Alerts;
use bailiwick_alertmanager::{
    Fingerprint, Nanos, PostedAlert, SilenceState, active_silence::Expressions, answer::decode_silences,
};
use bailiwick_domain::{OrgId, Ts};
use bailiwick_outbound::RouterClient;
use bailiwick_settings::AlertLimits;
use bailiwick_store::{Db, history::active_counts, sql::On};
use std::{
    collections::{HashMap, HashSet, hash_map::Entry},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// How long a count is used while less than a quarter of a limit is taken, and while more is: other processes also add
/// to it.
const WIDE: Duration = Duration::from_secs(30);
const NARROW: Duration = Duration::from_secs(2);
/// How many alerts and systems this process remembers; beyond that it forgets all of them and queries again.
const REMEMBERED: usize = 250_000;
/// How often rows and their counts are read until both are of one moment.
const TRIES: u32 = 3;

/// The active alerts that this process knows of.
#[derive(Debug, Default)]
pub(super) struct ActiveAlertLimit {
    alerts: Mutex<TenantCounts>,
    /// What tenants have of silences in force.
    silences: Mutex<HashMap<OrgId, Silences>>,
}

/// Of the silences of a tenant in force.
#[derive(Debug, Default)]
struct Silences {
    number: Count,
    /// Bytes of their compiled expressions.
    compiled: Count,
}

#[derive(Debug, Default)]
struct TenantCounts {
    tenants: HashMap<OrgId, Tenant>,
    /// Alerts and systems in all.
    remembered: usize,
}

#[derive(Debug, Default)]
struct Tenant {
    count: Count,
    systems: HashMap<Box<str>, System>,
}

#[derive(Debug, Default)]
struct System {
    count: Count,
    /// Alerts that the router has, and the time until which each is active.
    known: HashMap<Fingerprint, Nanos>,
    /// New alerts on their way to the router, and the number of pushes that have each.
    under_way: HashMap<Fingerprint, u32>,
}

/// At most so many are active.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    active: u64,
    read_at: Option<Ts>,
}

impl Count {
    fn is_read_within(&self, time: Duration, now: Ts) -> bool {
        self.read_at.is_some_and(|at| now >= at && now.since(at) < time)
    }

    fn has_room(&self, more: u64, limit: u64, now: Ts) -> bool {
        let active = self.active.saturating_add(more);
        let counts_for = if active <= limit / 4 { WIDE } else { NARROW };
        self.is_read_within(counts_for, now) && active <= limit
    }

    /// Whether there is room; `None` when the counts that were read are too old.
    fn fits(&self, more: u64, limit: u64, now: Ts) -> Option<bool> {
        let has_room = more == 0 || self.has_room(more, limit, now);
        (has_room || self.is_read_within(NARROW, now)).then_some(has_room)
    }
}

impl ActiveAlertLimit {
    fn memory(&self) -> MutexGuard<'_, TenantCounts> {
        self.alerts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn silences(&self) -> MutexGuard<'_, HashMap<OrgId, Silences>> {
        self.silences.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TenantCounts {
    fn system(&mut self, tenant: OrgId, system_key: &str) -> (&mut Count, &mut System) {
        let tenant = self.tenants.entry(tenant).or_default();
        let system = match tenant.systems.entry(system_key.into()) {
            Entry::Occupied(occupied) => occupied.into_mut(),
            Entry::Vacant(vacant) => {
                self.remembered += 1;
                vacant.insert(System::default())
            }
        };
        (&mut tenant.count, system)
    }

    /// Forgets everything except the alerts on their way to the router.
    fn forget(&mut self) {
        self.tenants.retain(|_, tenant| {
            tenant.count = Count::default();
            tenant.systems.retain(|_, system| {
                system.count = Count::default();
                system.known = HashMap::new();
                !system.under_way.is_empty()
            });
            !tenant.systems.is_empty()
        });
        self.remembered = self.tenants.values().map(|tenant| tenant.systems.len()).sum();
    }
}

/// Whether the push of an alert ends it.
pub(super) fn is_over(alert: &PostedAlert, now: Nanos) -> bool {
    alert.ends_at.is_some_and(|end| end <= now)
}

/// The alerts of a push that fit; their places are reserved until the value is dropped.
pub(super) struct AdmittedAlerts<'a> {
    pub(super) alerts: Vec<PostedAlert>,
    /// Others were left out.
    pub(super) is_cut: bool,
    service: &'a Alerts,
    tenant: OrgId,
    system_key: &'a str,
    held: Vec<Fingerprint>,
}

impl Drop for AdmittedAlerts<'_> {
    fn drop(&mut self) {
        if self.held.is_empty() {
            return;
        }
        let mut memory = self.service.state.active_alert_limit.memory();
        let (_, system) = memory.system(self.tenant, self.system_key);
        for fingerprint in &self.held {
            if let Some(pushes) = system.under_way.get_mut(fingerprint) {
                *pushes -= 1;
                if *pushes == 0 {
                    system.under_way.remove(fingerprint);
                }
            }
        }
    }
}

/// Removes new alerts that exceed the limit. Refreshes of active alerts and resolved alerts always pass.
pub(super) async fn admit<'a>(
    service: &'a Alerts,
    who: &'a Sender<'_>,
    now: Nanos,
    alerts: Vec<PostedAlert>,
) -> Result<AdmittedAlerts<'a>, Fault> {
    let (tenant, system_key) = (who.tenant, who.key());
    let mut admitted =
        AdmittedAlerts { alerts: Vec::new(), is_cut: false, service, tenant, system_key, held: Vec::new() };
    let limits = &service.settings.alerting.limits;
    let limits = (limits.alerts_per_system, limits.alerts_per_tenant);
    let mut new = Vec::new();
    {
        let mut memory = service.state.active_alert_limit.memory();
        let (of_tenant, system) = memory.system(tenant, system_key);
        let is_new = |alert: &PostedAlert| {
            let fingerprint = alert.fingerprint();
            let is_known = system.known.get(&fingerprint).is_some_and(|until| *until > now);
            (!is_known && !is_over(alert, now)).then_some(fingerprint)
        };
        let mut seen = HashSet::new();
        new.extend(alerts.iter().filter_map(is_new).filter(|fingerprint| seen.insert(*fingerprint)));
        let (more, now_ts) = (new.len() as u64, now.to_ts());
        let has_room =
            system.count.has_room(more, limits.0, now_ts) && of_tenant.has_room(more, limits.1, now_ts);
        if new.is_empty() || has_room {
            system.count.active += more;
            of_tenant.active += more;
            hold(system, &mut admitted.held, new.iter().copied());
            drop(memory);
            admitted.alerts = alerts;
            return Ok(admitted);
        }
    }
    let refused = ask(&mut admitted, limits, now, &new).await?;
    admitted.is_cut = !refused.is_empty();
    admitted.alerts = alerts;
    admitted.alerts.retain(|alert| is_over(alert, now) || !refused.contains(&alert.fingerprint()));
    Ok(admitted)
}

fn hold(system: &mut System, held: &mut Vec<Fingerprint>, new: impl Iterator<Item = Fingerprint>) {
    for fingerprint in new {
        *system.under_way.entry(fingerprint).or_default() += 1;
        held.push(fingerprint);
    }
}

/// Reads the active alerts from the database, reserves places for the new alerts that fit, and returns the others.
async fn ask(
    admitted: &mut AdmittedAlerts<'_>,
    (per_system, per_tenant): (u64, u64),
    now: Nanos,
    new: &[Fingerprint],
) -> Result<HashSet<Fingerprint>, Fault> {
    let (service, tenant, system_key) = (admitted.service, admitted.tenant, admitted.system_key);
    // The order is the one an alert moves in (on its way, noted, written), so no alert is missed between two reads.
    let mut beside = service.state.active_alert_limit.memory().under_way(tenant);
    let noted = deferred::noted(service, tenant);
    let mut fingerprints: HashSet<Fingerprint> = new.iter().copied().collect();
    fingerprints.extend(beside.keys().chain(noted.keys()));
    let fingerprints: Vec<Fingerprint> = fingerprints.into_iter().collect();
    let tries = if noted.is_empty() { 1 } else { TRIES };
    let (stored, (of_system, of_tenant)) =
        stored_and_counts(&service.platform.db, (tenant, system_key), &fingerprints, tries).await?;

    let mut memory = service.state.active_alert_limit.memory();
    beside.extend(memory.under_way(tenant));
    let active = combined(&stored, noted, beside);
    let counted = |mine: &dyn Fn(&str) -> bool, rows: u64| {
        let count_of =
            |alerts: &HashMap<Fingerprint, Box<str>>| alerts.values().filter(|key| mine(key)).count() as u64;
        rows.saturating_sub(count_of(&stored)).saturating_add(count_of(&active))
    };
    let mut of_system = counted(&|key| key == system_key, of_system);
    let mut of_tenant = counted(&|_| true, of_tenant);
    let mut refused = HashSet::new();
    let mut fits = Vec::new();
    for fingerprint in new {
        if active.contains_key(fingerprint) {
            fits.push(*fingerprint);
        } else if of_system < per_system && of_tenant < per_tenant {
            of_system += 1;
            of_tenant += 1;
            fits.push(*fingerprint);
        } else {
            refused.insert(*fingerprint);
        }
    }
    let read_at = Some(now.to_ts());
    let (tenants_count, system) = memory.system(tenant, system_key);
    *tenants_count = Count { active: of_tenant, read_at };
    system.count = Count { active: of_system, read_at };
    hold(system, &mut admitted.held, fits.into_iter());
    Ok(refused)
}

impl TenantCounts {
    fn under_way(&self, tenant: OrgId) -> HashMap<Fingerprint, Box<str>> {
        let systems = self.tenants.get(&tenant).into_iter().flat_map(|tenant| &tenant.systems);
        systems.flat_map(|(key, system)| system.under_way.keys().map(|f| (*f, key.clone()))).collect()
    }
}

/// The open rows of these alerts, and how many rows the system and its tenant have. Notes that are written
/// between the two reads would count twice, or not at all; so with more than one try the counts are read before
/// and after.
async fn stored_and_counts(
    db: &Db,
    (tenant, system_key): (OrgId, &str),
    fingerprints: &[Fingerprint],
    tries: u32,
) -> Result<(HashMap<Fingerprint, Box<str>>, (u64, u64)), Fault> {
    let mut before =
        if tries > 1 { Some(active_counts::counts(db, tenant, system_key).await?) } else { None };
    let mut left = tries;
    loop {
        let found = stored(db, tenant, fingerprints).await?;
        let counts = active_counts::counts(db, tenant, system_key).await?;
        left = left.saturating_sub(1);
        if left == 0 || before == Some(counts) {
            return Ok((found, counts));
        }
        before = Some(counts);
    }
}

/// The open rows of these alerts, each with the key of its system.
async fn stored(
    on: impl Into<On<'_>>,
    tenant: OrgId,
    fingerprints: &[Fingerprint],
) -> Result<HashMap<Fingerprint, Box<str>>, Fault> {
    let texts: Vec<String> = fingerprints.iter().map(Fingerprint::to_string).collect();
    let found = active_counts::which(on, tenant, &texts).await?;
    Ok(found.into_iter().filter_map(|(text, key)| Some((text.parse().ok()?, key.into()))).collect())
}

/// Combines the stored active alerts with those noted since and those on their way.
fn combined(
    stored: &HashMap<Fingerprint, Box<str>>,
    noted: HashMap<Fingerprint, Option<Box<str>>>,
    under_way: HashMap<Fingerprint, Box<str>>,
) -> HashMap<Fingerprint, Box<str>> {
    let mut active = stored.clone();
    for (fingerprint, fires) in noted {
        match fires {
            Some(key) => {
                active.entry(fingerprint).or_insert(key);
            }
            None => {
                active.remove(&fingerprint);
            }
        }
    }
    for (fingerprint, key) in under_way {
        active.entry(fingerprint).or_insert(key);
    }
    active
}

/// Which of these alerts of a tenant are active, each with the key of its system.
pub(super) async fn active(
    service: &Alerts,
    on: impl Into<On<'_>>,
    tenant: OrgId,
    fingerprints: &[Fingerprint],
) -> Result<HashMap<Fingerprint, Box<str>>, Fault> {
    let noted = deferred::noted(service, tenant);
    Ok(combined(&stored(on, tenant, fingerprints).await?, noted, HashMap::new()))
}

/// Remembers the alerts that the router has accepted.
pub(super) fn learn(service: &Alerts, who: &Sender<'_>, now: Nanos, alerts: &[PostedAlert]) {
    let resolve_timeout = service.settings.alerting.resolve_timeout;
    let mut memory = service.state.active_alert_limit.memory();
    let (_, system) = memory.system(who.tenant, who.key());
    let before = system.known.len();
    for alert in alerts {
        if is_over(alert, now) {
            system.known.remove(&alert.fingerprint());
        } else {
            system.known.insert(alert.fingerprint(), alert.span(now, resolve_timeout).1);
        }
    }
    if system.known.len() > before {
        system.known.retain(|_, until| *until > now);
    }
    let after = system.known.len();
    memory.remembered = (memory.remembered + after).saturating_sub(before);
    if memory.remembered > REMEMBERED {
        memory.forget();
    }
}

/// Number of tenants whose silence count is remembered.
const TENANTS: usize = 10_000;

/// What a silence adds to those that its tenant has in force.
#[derive(Clone, Copy, Debug)]
pub(super) struct Added {
    /// One, unless it takes the place of another.
    pub(super) number: u64,
    /// Bytes of compiled expressions.
    pub(super) compiled: u64,
}

impl Silences {
    /// Admits a silence if there is room, and counts it. None: they must be read first.
    fn admit(&mut self, added: Added, limits: &AlertLimits, now: Ts) -> Option<Result<(), Fault>> {
        let number = self.number.fits(added.number, limits.silences_per_tenant, now);
        let compiled = self.compiled.fits(added.compiled, limits.compiled_per_tenant as u64, now);
        match (number, compiled) {
            (Some(false), _) => Some(Err(Fault::SilenceLimit)),
            (_, Some(false)) => Some(Err(too_complex("organization").into())),
            (Some(true), Some(true)) => {
                self.number.active += added.number;
                self.compiled.active += added.compiled;
                Some(Ok(()))
            }
            _ => None,
        }
    }
}

/// Admits a silence if its tenant has room for it. If the router does not answer, the silence is admitted: the next
/// request asks the same router to store it, and each system has its own limits.
pub(super) async fn admit_silence(
    service: &Alerts,
    client: &RouterClient,
    who: &Sender<'_>,
    added: Added,
) -> Result<(), Fault> {
    let (limits, now) = (&service.settings.alerting.limits, service.platform.now());
    let room = &service.state.active_alert_limit;
    let verdict = room.silences().entry(who.tenant).or_default().admit(added, limits, now);
    if let Some(verdict) = verdict {
        return verdict;
    }
    let Ok(body) = client.list_silences(who.request(), "").await else { return Ok(()) };
    // Expressions are compiled only for a silence that has some: there may be thousands.
    let most = (added.compiled > 0).then_some(limits.compiled_per_tenant);
    let in_force = move |expressions: &Expressions| {
        let mut silences = decode_silences(&body).ok()?;
        silences.retain(|s| s.status.state != SilenceState::Expired);
        let compiled = most.map(|most| expressions.size(silences.iter().flat_map(|s| &s.matchers), most));
        Some((silences.len() as u64, compiled))
    };
    let Some((number, compiled)) = judging::by_system(service, who.tenant, in_force).await? else {
        return Ok(());
    };
    let mut counts = room.silences();
    if counts.len() > TENANTS {
        counts.clear();
    }
    let counts = counts.entry(who.tenant).or_default();
    counts.number = Count { active: number, read_at: Some(now) };
    if let Some(bytes) = compiled {
        counts.compiled = Count { active: bytes as u64, read_at: Some(now) };
    }
    counts.admit(added, limits, now).unwrap_or(Ok(()))
}

/// One of a tenant's silences has ended.
pub(super) fn forget_silences(service: &Alerts, tenant: OrgId) {
    service.state.active_alert_limit.silences().remove(&tenant);
}
