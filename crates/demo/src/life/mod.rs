//! Keeps a demo database alive: its systems send heartbeats, documents and alerts, as appliances would.
//!
//! Each document, alert and silence goes through the use case that serves real systems, but without a credential. The
//! process that holds the lease does the work. On a database that `bailiwick demo` has not marked, a step reads one
//! empty table and ends.

mod documents;
mod incidents;
mod kinds;

use crate::random::{Dice, mix};
use bailiwick_alertmanager::SenderLabels;
use bailiwick_alerts::{self as alerts, AlertRouter, Alerts, Sender};
use bailiwick_domain::{Clock, Result, SystemId, Ts};
use bailiwick_fleet::{ingest, inventory};
use bailiwick_platform::tasks::{self, Processes, Task, lease};
use bailiwick_policy::Caller;
use bailiwick_store::{
    demo::life::{self as store, Load, Member},
    heartbeats,
};
use futures_util::stream::{self, StreamExt as _};
use incidents::Incident;
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);
/// The one task.
const TASKS: &[Task<Alerts>] = &[Task {
    name: NAME,
    by: Processes::One,
    interval: |_| Some(Duration::from_secs(30)),
    run: |service| Box::pin(step(service)),
}];
const NAME: &str = "demo";
/// After this time another process replaces one that has died.
const LEASE_TIME: Duration = Duration::from_secs(120);
/// Most systems of a load that is kept alive; larger ones are for measurements.
pub const MOST_ALIVE: u64 = 20_000;
/// How far back the history of the command goes.
pub const HISTORY: Duration = Duration::from_secs(90 * 24 * 3600);
/// Documents of one step of the service.
const DOCUMENTS: usize = 100;
/// Heartbeats of one transaction.
const BEATS: usize = 500;
/// Pushes and documents on their way at one time.
const AT_ONCE: usize = 32;

/// A clock that can be set, for the command that makes a history: until then, and after it, it is the given one.
pub struct HistoryClock {
    real: Arc<dyn Clock>,
    /// Microseconds; [`i64::MIN`]: not set.
    set: AtomicI64,
}

impl HistoryClock {
    /// A clock that shows the time of `real`.
    pub fn new(real: Arc<dyn Clock>) -> HistoryClock {
        HistoryClock { real, set: AtomicI64::new(i64::MIN) }
    }

    /// Stands still at that time; none: goes again.
    pub fn set(&self, to: Option<Ts>) {
        self.set.store(to.map_or(i64::MIN, |at| at.0), Ordering::SeqCst);
    }
}

impl Clock for HistoryClock {
    fn now(&self) -> Ts {
        match self.set.load(Ordering::SeqCst) {
            i64::MIN => self.real.now(),
            at => Ts(at),
        }
    }
}

/// Starts the steps on the application's tracker, the first one at once: systems shall be heard before they count as
/// silent.
pub fn start(service: &Alerts) {
    let first = service.clone();
    service.platform.tasks.spawn(async move {
        if let Err(error) = step(&first).await {
            tracing::warn!(%error, "the demo data is not kept alive; the next step tries again");
        }
    });
    tasks::start(service, TASKS);
}

/// Does what has become due since the last step; returns how many heartbeats, documents and alerts were sent. 0 on a
/// database that is no demo, and when another process does it.
///
/// # Errors
/// The database's.
pub async fn step(service: &Alerts) -> Result<u64> {
    let mut sent = 0;
    for load in store::loads(&service.platform.db).await? {
        let Some(lived_until) = load.lived_until else { continue };
        if !lease(&service.platform, NAME, LEASE_TIME).await? {
            return Ok(sent);
        }
        let now = service.platform.now();
        let mut members = store::members(&service.platform.db, load.seed, MOST_ALIVE).await?;
        sent += beat(service, &load, &members).await?;
        sent += send_documents(service, &load, &mut members, Phase::Live).await?;
        // After a long stop: what has ended meanwhile is left out.
        let since = lived_until.clamp(now.minus(incidents::LONGEST), now);
        sent += send_alerts(service, &load, &members, since).await?;
        set_lived_until(service, &load, now).await?;
    }
    Ok(sent)
}

/// Makes the past of a load for the time `history` before now, and wakes the load to life. `set` sets the clock of the
/// service; the last call passes none, which lets the clock go again. `show` receives the hours that are done and all
/// hours.
///
/// # Errors
/// 500 for storage. What is done by then stays.
pub async fn wake(
    service: &Alerts,
    seed: u64,
    history: Duration,
    set: &(dyn Fn(Option<Ts>) + Sync),
    show: &mut (dyn FnMut(u64, u64) + Send),
) -> Result<()> {
    let loads = store::loads(&service.platform.db).await?;
    let Some(load) = loads.into_iter().find(|load| load.seed == seed) else { return Ok(()) };
    let now = service.platform.now();
    let made = live_through(service, &load, (now.minus(history), now), set, show).await;
    set(None);
    made?;
    let members = store::members(&service.platform.db, load.seed, MOST_ALIVE).await?;
    beat(service, &load, &members).await?;
    set_lived_until(service, &load, now).await
}

/// With a remote router there is no history of alerts: it would take the past for the present.
async fn live_through(
    service: &Alerts,
    load: &Load,
    (mut from, now): (Ts, Ts),
    set: &(dyn Fn(Option<Ts>) + Sync),
    show: &mut (dyn FnMut(u64, u64) + Send),
) -> Result<()> {
    let mut members = store::members(&service.platform.db, load.seed, MOST_ALIVE).await?;
    let dice = Dice::new(mix(load.seed));
    for member in &mut members {
        let first = from.max(member.registered_at);
        let next = dice.time(first, first.plus(now.since(first) / 4));
        member.next_document_at = Some(next.min(last_day(&dice, first, now)));
    }
    let hours = now.since(from).as_secs() / HOUR.as_secs();
    while from < now {
        let to = from.plus(HOUR / 2 + Duration::from_secs(dice.below(HOUR.as_secs()))).min(now);
        set(Some(to));
        send_documents(service, load, &mut members, Phase::Past { now }).await?;
        if service.state.is_embedded() {
            send_alerts(service, load, &members, from).await?;
        }
        from = to;
        show(hours - now.since(to).as_secs() / HOUR.as_secs(), hours);
    }
    let next: Vec<(SystemId, Ts)> =
        members.iter().filter_map(|m| Some((m.id, m.next_document_at?))).collect();
    let mut tx = service.platform.db.begin().await?;
    store::set_next_documents(&mut tx, &next).await?;
    Ok(tx.commit().await?)
}

/// A time after the first one and within the day before `now`.
fn last_day(dice: &Dice, first: Ts, now: Ts) -> Ts {
    dice.time(first.max(now.minus(DAY)), now)
}

async fn set_lived_until(service: &Alerts, load: &Load, until: Ts) -> Result<()> {
    let mut tx = service.platform.db.begin_relaxed().await?;
    store::set_lived_until(&mut tx, load.seed, until).await?;
    Ok(tx.commit().await?)
}

/// Whether the system sends anything at that time: a silent one does not after its last heartbeat.
fn is_talking(load: &Load, member: &Member, at: Ts) -> bool {
    if member.is_silent { at <= member.last_heartbeat } else { !incidents::is_out(load, member, at) }
}

/// Sends the heartbeats that are due: each system sends one a few times within the time after which it counts as
/// silent.
async fn beat(service: &Alerts, load: &Load, members: &[Member]) -> Result<u64> {
    let (now, timeout) = (service.platform.now(), service.settings.systems.liveness_timeout);
    let is_due = |member: &&Member| {
        // Not all in one step.
        let wait = timeout / 8 + timeout / 8 * u32::try_from(member.number % 8).unwrap_or(0) / 8;
        now.since(member.last_heartbeat) >= wait
    };
    let due = members.iter().filter(is_due).filter(|m| !m.is_silent && is_talking(load, m, now));
    let mut beats: Vec<(SystemId, Ts)> = due.map(|m| (m.id, now)).collect();
    // In this order, so that processes do not deadlock.
    beats.sort_unstable();
    for chunk in beats.chunks(BEATS) {
        let mut tx = service.platform.db.begin_relaxed().await?;
        heartbeats::beat(&mut tx, chunk).await?;
        tx.commit().await?;
    }
    Ok(beats.len() as u64)
}

/// What time it is for documents.
#[derive(Clone, Copy)]
enum Phase {
    /// In the history: a document only when something has changed, the last one within the last day.
    Past {
        /// The end of the history.
        now: Ts,
    },
    /// One a day from each system.
    Live,
}

/// Sends the documents that are due.
async fn send_documents(service: &Alerts, load: &Load, members: &mut [Member], phase: Phase) -> Result<u64> {
    let now = service.platform.now();
    let most = if matches!(phase, Phase::Live) { DOCUMENTS } else { usize::MAX };
    let is_due = |m: &&mut Member| {
        m.next_document_at.is_none_or(|at| at <= now)
            && documents::is_known(m.system_type.as_deref())
            && is_talking(load, m, now)
    };
    let mut due: Vec<&mut Member> = members.iter_mut().filter(is_due).take(most).collect();
    for some in due.chunks_mut(BEATS) {
        let sent = send_some(service, load, some, phase).await?;
        if matches!(phase, Phase::Live) {
            let mut tx = service.platform.db.begin_relaxed().await?;
            store::set_next_documents(&mut tx, &sent).await?;
            tx.commit().await?;
        }
    }
    if !due.is_empty() && matches!(phase, Phase::Past { .. }) {
        // The worker of the service does this otherwise; here it must happen before the clock is set on.
        inventory::run_until_idle(&service.fleet).await?;
    }
    Ok(due.len() as u64)
}

async fn send_some(
    service: &Alerts,
    load: &Load,
    due: &mut [&mut Member],
    phase: Phase,
) -> Result<Vec<(SystemId, Ts)>> {
    let now = service.platform.now();
    let ids: Vec<SystemId> = due.iter().map(|m| m.id).collect();
    let applications = store::applications(&service.platform.db, &ids).await?;
    let send = |member: &Member, dice: &Dice| {
        let (id, installed) = (member.id, applications.get(&member.id));
        let first = documents::first(member, installed.map(Vec::as_slice).unwrap_or_default());
        let is_changed = matches!(phase, Phase::Past { .. }) || dice.per_mille(150);
        let changes = Dice::new(dice.next());
        async move {
            let latest = inventory::latest(&service.fleet, &Caller::Worker, Some(id)).await?;
            let before: Option<Value> = latest.and_then(|latest| serde_json::from_str(&latest.document).ok());
            let document = match before {
                Some(mut document) => {
                    if is_changed {
                        documents::change(&mut document, &changes);
                    }
                    document
                }
                None => first,
            };
            let body = document.to_string().into_bytes().into();
            ingest::submit(&service.fleet, id, ingest::Document { body, is_gzip: false }).await.map(drop)
        }
    };
    let dice = |member: &Member| Dice::new(mix(load.seed ^ mix(member.number) ^ now.0.cast_unsigned()));
    let requests: Vec<_> = due.iter().map(|m| send(m, &dice(m))).collect();
    let mut sending = stream::iter(requests).buffer_unordered(AT_ONCE);
    while let Some(sent) = sending.next().await {
        sent?;
    }
    drop(sending);
    let mut next = Vec::with_capacity(due.len());
    for member in due.iter_mut() {
        let at = next_document(phase, now, &dice(member));
        member.next_document_at = Some(at);
        next.push((member.id, at));
    }
    Ok(next)
}

fn next_document(phase: Phase, at: Ts, dice: &Dice) -> Ts {
    match phase {
        Phase::Past { now } if at < now.minus(DAY) => {
            dice.time(at.plus(DAY * 12), at.plus(DAY * 40)).min(last_day(dice, at, now))
        }
        _ => dice.time(at.plus(DAY - HOUR), at.plus(DAY + HOUR)),
    }
}

/// Pushes the alerts that have begun or ended since then. Each is pushed with its end, so nothing has to repeat it.
async fn send_alerts(service: &Alerts, load: &Load, members: &[Member], since: Ts) -> Result<u64> {
    let now = service.platform.now();
    let incidents = incidents::between(load, members, since, now);
    let is_news = |incident: &&Incident<'_>| incident.start >= since || incident.end <= now;
    let news: Vec<&Incident<'_>> = incidents.iter().filter(is_news).collect();
    if news.is_empty() {
        return Ok(0);
    }
    let router = service.state.router_for_worker();
    let requests: Vec<_> = news.iter().map(|i| push(service, &router, i, now)).collect();
    let mut pushing = stream::iter(requests).buffer_unordered(AT_ONCE);
    while pushing.next().await.is_some() {}
    drop(pushing);
    let is_silenced = |i: &&&Incident<'_>| i.is_silenced && i.start >= since && i.end > now.plus(6 * HOUR);
    for incident in news.iter().filter(is_silenced) {
        silence(service, &router, incident, now).await;
    }
    Ok(news.len() as u64)
}

/// One that is refused, for instance because its organization has too many, is left out.
async fn push(service: &Alerts, router: &AlertRouter, incident: &Incident<'_>, now: Ts) {
    let ends_at = if incident.end <= now { incident.end } else { incident.end.plus(5 * MINUTE) };
    let alert = json!([{
        "labels": incident.kind.labels(incident.variant), "annotations": incident.kind.annotations(incident.variant),
        "startsAt": incident.start, "endsAt": ends_at,
    }]);
    let sender = sender(incident.member);
    if let Err(fault) = alerts::push_alerts(service, router, &sender, alert.to_string().as_bytes()).await {
        tracing::debug!(%fault, system = %incident.member.id, "an alert of the demo data is not taken");
    }
}

async fn silence(service: &Alerts, router: &AlertRouter, incident: &Incident<'_>, now: Ts) {
    let (comment, author) = kinds::reason(incident.variant);
    let silence = json!({
        "matchers": [{ "name": "alertname", "value": incident.kind.name, "isRegex": false, "isEqual": true }],
        "startsAt": now, "endsAt": incident.end.plus(HOUR), "createdBy": author, "comment": comment,
    });
    let sender = sender(incident.member);
    if let Err(fault) = alerts::set_silence(service, router, &sender, silence.to_string().as_bytes()).await {
        tracing::debug!(%fault, system = %incident.member.id, "a silence of the demo data is not taken");
    }
}

/// The system as the sender of a request.
fn sender(member: &Member) -> Sender<'static> {
    let organization = &member.organization;
    Sender {
        identity: SenderLabels {
            system_key: member.system_key.clone(),
            system_id: member.id.to_string(),
            organization_id: organization.id.to_string(),
            system_name: member.name.clone(),
            system_type: member.system_type.clone().unwrap_or_default(),
            system_fqdn: member.fqdn.clone(),
            system_ipv4: member.ipv4_address.clone(),
            organization_name: organization.name.clone(),
            organization_type: organization.org_type.as_str().to_owned(),
            organization_vat: member.vat.clone(),
        },
        tenant: organization.id,
        request_id: "demo",
    }
}
