//! Delivers events to webhooks: at least once, roughly in the order of events. A process leases the subscriptions with
//! due deliveries. Each subscription is a task that sends a few deliveries at a time, records their outcomes before it
//! continues, and soon yields its place to the next one. So a process that dies loses only the tries in flight, and
//! slow recipients, however many, delay the others only briefly.

use super::{
    delivery_slots::{self, Slot, Slots},
    signatures::{self, Message, headers},
    subscriptions::sight_of,
};
use crate::Events;
use bailiwick_domain::{AuditAction, Error, OrgId, Result, Ts, metrics::Counter};
use bailiwick_outbound::{delivery::Failure, webhook::PostAnswer};
use bailiwick_platform::{
    backoff::Backoff,
    jobs,
    limits::{Concurrency, Destination, DestinationLimits, OwnPermits, Permit, TenantRateLimit},
    worker::Worker,
};
use bailiwick_store::{
    Tx, audit,
    events::{
        deliveries::{self, Due, Outcome},
        subscriptions::{self, Subscription},
    },
};
use bytes::Bytes;
use futures_util::future::join_all;
use serde_json::json;
use std::{collections::HashMap, sync::Arc, time::Duration};
use tokio::{
    sync::Notify,
    time::{Instant, timeout},
};
use tracing::Instrument;
use uuid::Uuid;

/// Polling interval for due deliveries.
const POLL: Duration = Duration::from_millis(500);
/// How long a subscription keeps sending while others may wait; tries in flight are then awaited.
const TIME_SLICE: Duration = Duration::from_secs(2);
/// How long a try waits for a place at a host, or of its organization, before it is put off.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest time a subscription waits for a process that has died.
const LEASE: Duration = Duration::from_secs(30);
/// Concurrent tries of one subscription, and while it fails.
const BATCH: i64 = 16;
const PROBE: i64 = 1;
/// Deliveries of one organization in a second.
const TURNS: usize = 400;
/// Tries at once to one host.
const TO_ONE: Concurrency = Concurrency { address: 64, tenant: 32, system: 16, recipient: 16 };
/// Delays after each failed try of a delivery; after the last one the delivery has failed.
const WAITS: [u64; 9] = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400];
/// The longest wait between two tries.
pub const LONGEST_WAIT: Duration = Duration::from_secs(WAITS[WAITS.len() - 1]);
/// Pauses of a subscription after consecutive failures: 1, 2, 4 … seconds.
const PAUSES: Backoff = Backoff::new(&[Duration::from_secs(1)], Duration::from_secs(300));
/// Longest pause that a recipient may ask for.
pub const LONGEST_ASKED: Duration = Duration::from_secs(3600);

/// The state this process keeps for deliveries.
#[derive(Debug)]
pub struct Deliveries {
    rates: TenantRateLimit,
    destinations: DestinationLimits,
    taking: tokio::sync::Mutex<()>,
    slots: Arc<Slots>,
    /// Numbers of tries by outcome.
    pub figures: DeliveryCounters,
    /// Something may be due.
    pub(super) hint: Notify,
}

impl Default for Deliveries {
    fn default() -> Deliveries {
        Deliveries {
            rates: TenantRateLimit::of(TURNS),
            destinations: DestinationLimits::default(),
            taking: tokio::sync::Mutex::default(),
            slots: Arc::default(),
            figures: DeliveryCounters::default(),
            hint: Notify::new(),
        }
    }
}

/// Tries by outcome since the process began.
#[derive(Debug, Default)]
pub struct DeliveryCounters([Counter; OUTCOMES.len()]);

/// States of a delivery after a try, and their names on the metrics page.
const OUTCOMES: [(&str, &str); 4] =
    [("delivered", "sent"), ("pending", "retried"), ("dead", "failed"), ("withheld", "withheld")];

/// The states of deliveries, by which a list of them can be filtered.
pub fn states() -> impl Iterator<Item = &'static str> {
    OUTCOMES.iter().map(|(state, _)| *state)
}

impl DeliveryCounters {
    fn note(&self, state: &str) {
        let mut all = OUTCOMES.iter().zip(&self.0);
        if let Some((_, counter)) = all.find(|((name, _), _)| *name == state) {
            counter.one();
        }
    }

    /// All counters.
    pub fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        OUTCOMES.iter().zip(&self.0).map(|((_, outcome), counter)| (*outcome, counter.get()))
    }
}

/// Starts it on the application's tracker.
pub fn start(service: &Events) {
    let worker = service.clone();
    service.platform.tasks.spawn(async move {
        let service = &worker;
        let step = || async {
            round(service).await?;
            // The tasks of a round signal when there is room for the next one.
            Ok(0)
        };
        let failure = "events cannot be delivered and are tried again";
        let hint = Some(&service.deliveries.hint);
        Worker { name: "event deliveries", failure, poll: POLL, hint, step }
            .run(&service.platform.stop)
            .await;
    });
}

async fn is_any_due(service: &Events, now: Ts) -> Result<bool> {
    Ok(subscriptions::is_any_due(&service.platform.db, (now, now.plus(LEASE))).await?)
}

/// Leases due subscriptions, as far as there is room; returns how many.
async fn round(service: &Events) -> Result<usize> {
    // The lock ensures that leased subscriptions are counted before another task of this process looks for more.
    let _taking = service.deliveries.taking.lock().await;
    let slots = &service.deliveries.slots;
    let now = service.platform.now();
    let until = now.plus(LEASE);
    if slots.are_taken() || !is_any_due(service, now).await? {
        return Ok(0);
    }
    let candidates = subscriptions::candidates(
        &service.platform.db,
        &slots.full(),
        (now, until),
        delivery_slots::SHARES,
        delivery_slots::LOOKED_AT,
    )
    .await?;
    let mut slots_by_id: HashMap<Uuid, Slot> =
        candidates.into_iter().filter_map(|(id, path)| Some((id, slots.take(&path)?))).collect();
    if slots_by_id.is_empty() {
        return Ok(0);
    }
    let mut tx = service.platform.db.begin_relaxed().await?;
    // Each lease has a holder of its own, so that a late task cannot overwrite the next one's work.
    let holder = service.platform.fresh::<Uuid>();
    let ids: Vec<Uuid> = slots_by_id.keys().copied().collect();
    let taken = subscriptions::claim(&mut tx, &ids, holder, (now, until)).await?;
    tx.commit().await?;
    let count = taken.len();
    for id in taken {
        let Some(slot) = slots_by_id.remove(&id) else { continue };
        let worker = service.clone();
        service.platform.tasks.spawn(async move {
            if let Err(e) = work(&worker, id, holder).instrument(jobs::span("events")).await {
                tracing::warn!(subscription = %id, error = %e, "deliveries of a subscription wait for its lease");
            }
            drop(slot);
            // Another task may wait for the free place.
            worker.deliveries.hint.notify_one();
        });
    }
    Ok(count)
}

/// How often, and after what time, [`run_until_idle`] checks deliveries again that are due but held by another process.
const IDLE: u32 = 20;
const ENDING: Duration = Duration::from_millis(10);

/// Delivers everything that is due now; for tests and commands.
pub async fn run_until_idle(service: &Events) -> Result<u64> {
    let (mut count, mut idle) = (0, 0);
    loop {
        count += super::number_all(service).await?;
        let taken = round(service).await?;
        service.deliveries.slots.all_free().await;
        // A due delivery that cannot be leased may be held by a process that is just finishing it.
        if taken > 0 {
            idle = 0;
        } else if idle == IDLE || !is_any_due(service, service.platform.now()).await? {
            return Ok(count);
        } else {
            idle += 1;
            tokio::time::sleep(ENDING).await;
        }
    }
}

/// Delivers for one subscription until nothing is due, its time slice is over or the process stops.
async fn work(service: &Events, id: Uuid, holder: Uuid) -> Result<()> {
    let started = Instant::now();
    while !service.platform.stop.is_cancelled() {
        let Some(subscription) = subscriptions::get(&service.platform.db, id).await? else { return Ok(()) };
        let now = service.platform.now();
        let is_awake = subscription.is_enabled && !subscription.is_suspended && !subscription.is_deleted;
        if !is_awake || subscription.next_at > now {
            break;
        }
        let limit = if subscription.failing_since.is_some() { PROBE } else { BATCH };
        let due = deliveries::due(&service.platform.db, id, &sight_of(&subscription), now, limit).await?;
        if due.is_empty() {
            break;
        }
        let tries = try_all(service, &subscription, due);
        let Some(tried) = while_held(service, id, holder, tries).await? else { return Ok(()) };
        if !settle(service, id, holder, tried).await? {
            return Ok(());
        }
        if started.elapsed() >= TIME_SLICE {
            break;
        }
    }
    let mut tx = service.platform.db.begin_relaxed().await?;
    subscriptions::release(&mut tx, id, holder).await?;
    Ok(tx.commit().await?)
}

/// Runs a task and renews the lease meanwhile; none when the lease is lost.
async fn while_held<T>(
    service: &Events,
    id: Uuid,
    holder: Uuid,
    work: impl Future<Output = T>,
) -> Result<Option<T>> {
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return Ok(Some(done)),
            () = tokio::time::sleep(LEASE / 3) => {
                let now = service.platform.now();
                let mut tx = service.platform.db.begin_relaxed().await?;
                let is_ours = subscriptions::renew(&mut tx, id, holder, (now, now.plus(LEASE))).await?;
                tx.commit().await?;
                if !is_ours {
                    return Ok(None);
                }
            }
        }
    }
}

/// A delivery and the outcome of the try; none = it was withheld.
type Tried = (Due, Option<std::result::Result<PostAnswer, Failure>>);

async fn try_all(service: &Events, subscription: &Subscription, due: Vec<Due>) -> Vec<Tried> {
    let target = match Target::of(service, subscription) {
        Ok(target) => target,
        Err(e) => {
            return due.into_iter().map(|due| (due, Some(Err(unreadable(subscription.id, &e))))).collect();
        }
    };
    let target = &target;
    let tried = join_all(due.into_iter().map(|due| async move {
        let Some(event) = due.event.clone() else { return Some((due, None)) };
        // A timeout here is not a failure: the delivery stays due, and its place goes to others meanwhile.
        let _permits = timeout(QUEUE_TIMEOUT, target.permits(service)).await.ok()?;
        let sent = target.post(service, Message::of(event, &service.settings.public_url)).await;
        Some((due, Some(sent)))
    }));
    tried.await.into_iter().flatten().collect()
}

const UNREADABLE: &str = "the secret cannot be read";

/// The failure of a try when the address or secret of a subscription was sealed with another key.
pub(super) fn unreadable(id: Uuid, error: &Error) -> Failure {
    tracing::error!(subscription = %id, error = %error, "{UNREADABLE}");
    Failure::permanent(UNREADABLE, "sealed with another key")
}

/// Where the deliveries of a subscription go.
pub(super) struct Target {
    organization: OrgId,
    url: String,
    secrets: Vec<String>,
    destination: Destination,
}

impl Target {
    pub(super) fn of(service: &Events, s: &Subscription) -> Result<Target> {
        let url = signatures::open(&service.platform.keys, s.id, &s.url)?;
        let address = service.webhooks.host_and_port(&url).unwrap_or_default();
        let id: Arc<str> = s.id.to_string().into();
        let tenant = s.path.id;
        let destination = Destination {
            address: address.into(),
            tenant,
            system: id.clone(),
            recipient: id,
            concurrency: TO_ONE,
        };
        Ok(Target {
            organization: tenant,
            url,
            secrets: signatures::secrets(&service.platform.keys, s, service.platform.now())?,
            destination,
        })
    }

    /// One try, as soon as the limits allow it.
    pub(super) async fn send(
        &self,
        service: &Events,
        message: Message,
    ) -> std::result::Result<PostAnswer, Failure> {
        let _permits = self.permits(service).await;
        self.post(service, message).await
    }

    /// Waits for the permits, which last until they are dropped.
    async fn permits(&self, service: &Events) -> (OwnPermits, Permit) {
        let deliveries = &service.deliveries;
        let own = deliveries.destinations.acquire_own(&self.destination).await;
        let shared = deliveries.destinations.acquire_shared(&self.destination).await;
        while let Err(at) = deliveries.rates.take(self.organization, Instant::now()) {
            tokio::time::sleep_until(at).await;
        }
        (own, shared)
    }

    async fn post(&self, service: &Events, message: Message) -> std::result::Result<PostAnswer, Failure> {
        let body = serde_json::to_vec(&message).map_err(|e| Failure::permanent("cannot be written", e))?;
        let _connection = service.platform.connections.acquire(self.organization).await;
        // The time of the try: recipients refuse old signatures.
        let headers = headers(message.id, service.platform.now(), &body, &self.secrets);
        service.webhooks.deliver(self.organization, &self.url, &headers, Bytes::from(body)).await
    }
}

/// Why the recipient did not accept it, in words of the service; the status of the answer, if there was one.
pub(super) fn refusal(tried: &std::result::Result<PostAnswer, Failure>) -> Option<(Option<i64>, String)> {
    match tried {
        Ok(answer) if answer.is_success() => None,
        Ok(answer) => Some((Some(answer.status.into()), format!("answered with status {}", answer.status))),
        Err(failure) => Some((None, failure.reason.clone())),
    }
}

/// Records the outcomes of some tries; false when another process holds the subscription now or it was disabled.
async fn settle(service: &Events, id: Uuid, holder: Uuid, tried: Vec<Tried>) -> Result<bool> {
    let now = service.platform.now();
    let mut tx = service.platform.db.begin().await?;
    let Some(mut s) = subscriptions::lock(&mut tx, id).await? else { return Ok(false) };
    if !subscriptions::renew(&mut tx, id, holder, (now, now.plus(LEASE))).await? {
        return Ok(false);
    }
    let outcomes: Vec<Outcome> = tried.iter().map(|tried| outcome(tried, now)).collect();
    deliveries::record(&mut tx, id, &outcomes, now).await?;
    let answers: Vec<_> = tried.iter().filter_map(|(_, answer)| answer.as_ref()).collect();
    let refusals: Vec<_> = answers.iter().filter_map(|answer| refusal(answer)).collect();
    let has_arrived = refusals.len() < answers.len();
    s.last_error =
        refusals.last().map(|(_, error)| error.clone()).or(s.last_error.take().filter(|_| !has_arrived));
    if has_arrived {
        s.last_success_at = Some(now);
        if s.failing_since.take().is_some() && s.failures > 1 {
            deliveries::make_due_now(&mut tx, id, now).await?;
        }
        s.failures = 0;
    } else if !refusals.is_empty() {
        s.failing_since = s.failing_since.or(Some(now));
        s.failures += 1;
    }
    // After a success as well: subscriptions that have waited longer come first.
    s.next_at = if has_arrived || refusals.is_empty() { now } else { PAUSES.next_try(now, s.failures) };
    let retry_after = answers.iter().filter_map(|a| a.as_ref().ok()?.retry_after).max();
    if let Some(retry_after) = retry_after {
        s.next_at = s.next_at.max(now.plus(retry_after.min(LONGEST_ASKED)));
    }
    let is_gone = answers.iter().any(|a| a.as_ref().is_ok_and(|a| a.status == 410));
    let limit = service.settings.events.disable_after;
    let is_hopeless = s.failing_since.is_some_and(|since| now.since(since) >= limit);
    if is_gone {
        disable(&mut tx, &mut s, now, "the recipient answered with status 410").await?;
    } else if is_hopeless {
        disable(&mut tx, &mut s, now, "nothing could be delivered for too long").await?;
    }
    subscriptions::save(&mut tx, &s).await?;
    tx.commit().await?;
    for outcome in &outcomes {
        service.deliveries.figures.note(outcome.state);
    }
    Ok(true)
}

fn outcome((due, answer): &Tried, now: Ts) -> Outcome {
    let done = |state, attempts, status, error| Outcome {
        seq: due.seq,
        state,
        attempts,
        next_at: now,
        status,
        error,
    };
    let Some(answer) = answer else {
        return done("withheld", due.attempts, None, None);
    };
    let attempts = due.attempts + 1;
    let Some((status, error)) = refusal(answer) else {
        let status = answer.as_ref().ok().map(|a| i64::from(a.status));
        return done("delivered", attempts, status, None);
    };
    let wait = usize::try_from(due.attempts).ok().and_then(|n| WAITS.get(n));
    match wait {
        None => done("dead", attempts, status, Some(error)),
        Some(seconds) => Outcome {
            next_at: now.plus(Duration::from_secs(*seconds)),
            ..done("pending", attempts, status, Some(error))
        },
    }
}

async fn disable(tx: &mut Tx, s: &mut Subscription, now: Ts, reason: &str) -> Result<()> {
    s.is_enabled = false;
    s.disabled_at = Some(now);
    s.disabled_reason = Some(reason.to_owned());
    let entry = audit::AuditRecord {
        at: now,
        actor_user_id: None,
        acting_for_user_id: None,
        actor_organization_id: None,
        action: AuditAction::EventSubscriptionDisable,
        object_type: "event_subscription",
        object_id: Some(s.id),
        before: Some(json!({"enabled": true})),
        after: Some(json!({"enabled": false, "reason": reason, "failing_since": s.failing_since})),
        request_id: None,
    };
    Ok(audit::record(tx, entry).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_tries_in_about_three_days_and_pauses_that_grow_and_end() {
        let due = |attempts| Due { seq: 1, attempts, event: None };
        let answer = || Some(Err(Failure::temporary("no connection", "x")));
        let first = outcome(&(due(0), answer()), Ts(0));
        assert_eq!((first.state, first.attempts, first.next_at), ("pending", 1, Ts::from_secs(5)));
        assert_eq!(outcome(&(due(8), answer()), Ts(0)).state, "pending");
        let last = outcome(&(due(9), answer()), Ts(0));
        assert_eq!((last.state, last.attempts), ("dead", 10));
        assert_eq!([1, 2, 3, 9, 10, 99].map(|n| PAUSES.after(n).as_secs()), [1, 2, 4, 256, 300, 300]);
    }
}
