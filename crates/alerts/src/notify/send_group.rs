//! One flush of a group: notifies all its recipients concurrently, each with as many tries as it needs.

use super::{
    of,
    outcomes::{Note, record},
    render::{RenderCache, render},
    send::{AttemptContext, Senders, connects},
    unreached,
};
use crate::{Alerts, config::digest_of};
use bailiwick_alertmanager::{
    Labels, Nanos,
    notify::{Reason, SentNotification, Snapshot, retry_wait},
    receivers::AnyRecipient,
};
use bailiwick_domain::{OrgId, Ts, ports::random};
use bailiwick_outbound::delivery::Failure;
use bailiwick_platform::limits::Destination;
use bailiwick_store::delivery::{Finished, GroupKey, notification_log};
use futures_util::future::join_all;
use std::{sync::Arc, time::Duration};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// The notifications of one group.
#[derive(Debug)]
pub(super) struct GroupSend {
    /// Its id.
    pub(super) key: GroupKey,
    /// When it was begun.
    pub(super) started_at: Ts,
    /// Its name.
    pub(super) group_key: String,
    /// The labels that make it.
    pub(super) group_labels: Labels,
    /// Name of the receiver.
    pub(super) receiver: String,
    /// The alerts to report.
    pub(super) snapshot: Snapshot,
    /// Each recipient, and the reason to notify it.
    pub(super) to_notify: Vec<(AnyRecipient, Reason)>,
    /// Alerts that leave the group when all recipients have been notified: fingerprint and revision.
    pub(super) leaving: Vec<(String, i64)>,
    /// How long it may take.
    pub(super) patience: Duration,
    /// The records of its alerts, in bytes.
    pub(super) bytes: usize,
    /// The rendered texts.
    pub(super) texts: RenderCache,
}

/// The outcome of notifying one recipient.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// The recipient was notified, and that is recorded.
    Notified,
    /// The recipient was not notified.
    Failed,
    /// The process stops, another process has claimed the tenant, or the recipients have changed.
    Stopped,
}

/// Notifies all recipients. `lost` is cancelled when another process claims the tenant, or the recipients change.
pub(super) async fn run(service: &Alerts, flush: &Arc<GroupSend>, lost: &CancellationToken) {
    let deadline = Instant::now() + flush.patience;
    let notifications =
        flush.to_notify.iter().map(|(to, reason)| notify_one(service, flush, to, *reason, deadline, lost));
    let ends = join_all(notifications).await;
    let is_complete = ends.iter().all(|end| *end == End::Notified);
    let leaving = if is_complete { flush.leaving.clone() } else { Vec::new() };
    // Due at once for the process that claims the tenant next.
    let due_at = ends.contains(&End::Stopped).then(|| service.platform.now());
    flush.end(service, leaving, due_at).await;
}

impl GroupSend {
    /// Records the end of the flush and removes the alerts that are `leaving`.
    pub(super) async fn end(&self, service: &Alerts, leaving: Vec<(String, i64)>, due_at: Option<Ts>) {
        let (key, started_at) = (self.key.clone(), Some(self.started_at));
        let finished = Finished { key, started_at, leaving, is_misplaced: false, due_at };
        // If the process stops before this is written, the next process that claims the tenant makes up for it.
        record(service, Note::Finished(finished)).await;
    }
}

/// Notifies one recipient, with as many tries as it needs.
async fn notify_one(
    service: &Alerts,
    flush: &Arc<GroupSend>,
    to: &AnyRecipient,
    reason: Reason,
    deadline: Instant,
    lost: &CancellationToken,
) -> End {
    let delivery = of(service);
    let (address, concurrency) = delivery.senders.get_or_init(|| Senders::new(service)).destination_limit(to);
    let system = flush.group_labels.value("system_key").into();
    let destination =
        Destination { address, tenant: flush.key.0, system, recipient: digest_of(to).into(), concurrency };
    // The id is the same for every try, so that a recipient can recognize a duplicate.
    let id = service.platform.fresh::<uuid::Uuid>().to_string();
    let mut tries = 0;
    loop {
        let turns = tokio::select! {
            biased;
            () = service.platform.stop.cancelled() => return End::Stopped,
            () = lost.cancelled() => return End::Stopped,
            turns = turn(service, to, &destination) => turns,
            () = sleep_until(deadline) => {
                return fail(service, flush.key.0, to, Failure::temporary("no turn in time", "too many before")).await;
            }
        };
        let sent = attempt(service, flush, to, reason, &id).await;
        drop(turns);
        let failure = match sent {
            Ok(()) => return succeed(service, flush, to).await,
            Err(failure) => failure,
        };
        let next = Instant::now() + retry_wait(tries, random::<1>(&*service.platform.entropy)[0]);
        if !failure.may_pass || next >= deadline {
            return fail(service, flush.key.0, to, failure).await;
        }
        delivery.figures.retried(to.kind());
        // People see at once what may take minutes to be given up.
        if unreached::failed(service, flush.key.0, to, &failure).await {
            note(service, to, &failure).await;
        }
        tracing::debug!(tenant = %flush.key.0, channel = to.kind().as_str(), recipient = digest_of(to), %failure, tries,
            "a notification is tried again");
        tries += 1;
        tokio::select! {
            () = service.platform.stop.cancelled() => return End::Stopped,
            () = lost.cancelled() => return End::Stopped,
            () = sleep_until(next) => {}
        }
    }
}

/// Waits until the recipient, its destination and the rate of its tenant allow one more try. The places are free again
/// when the result is dropped.
async fn turn(service: &Alerts, to: &AnyRecipient, destination: &Destination) -> impl Sized {
    let delivery = of(service);
    let tenant = destination.tenant;
    let own = delivery.destinations.acquire_own(destination).await;
    loop {
        // The tenant's rate is not spent while waiting for the destination, and no place of the destination is held
        // while waiting for the tenant's next second.
        let shared = delivery.destinations.acquire_shared(destination).await;
        let connection = match connects(to.transport()) {
            true => Some(service.platform.connections.acquire(tenant).await),
            false => None,
        };
        match delivery.rates.take(tenant, Instant::now()) {
            Ok(()) => return (own, shared, connection),
            Err(at) => {
                drop((shared, connection));
                sleep_until(at).await;
            }
        }
    }
}

/// One try.
async fn attempt(
    service: &Alerts,
    flush: &Arc<GroupSend>,
    to: &AnyRecipient,
    reason: Reason,
    id: &str,
) -> Result<(), Failure> {
    let about = AttemptContext { now: service.platform.now(), tenant: flush.key.0, id, group: &flush.key.1 };
    match render(service, flush, to.variant(reason)).await {
        Ok((_others, rendered)) => {
            of(service).senders.get_or_init(|| Senders::new(service)).send(to, &rendered.text, about).await
        }
        Err(e) => Err(Failure::temporary("it cannot be written", e)),
    }
}

async fn succeed(service: &Alerts, flush: &GroupSend, to: &AnyRecipient) -> End {
    of(service).figures.sent(to.kind());
    unreached::reached(service, flush.key.0, to).await;
    let now = service.platform.now();
    let entry = SentNotification::of(&flush.snapshot, Nanos::from_ts(now));
    let notice = notification_log::Notice {
        group: flush.key.clone(),
        receiver: flush.receiver.clone(),
        integration: digest_of(to),
        firing: SentNotification::write(&entry.firing),
        resolved: SentNotification::write(&entry.resolved),
        told_at: now,
    };
    // If this fails, the notification is sent again: better twice than never.
    if record(service, Note::Notified(notice)).await { End::Notified } else { End::Failed }
}

async fn fail(service: &Alerts, tenant: OrgId, to: &AnyRecipient, failure: Failure) -> End {
    of(service).figures.failed(to.kind());
    unreached::failed(service, tenant, to, &failure).await;
    note(service, to, &failure).await;
    End::Failed
}

/// Records that a recipient was not reached.
async fn note(service: &Alerts, to: &AnyRecipient, failure: &Failure) {
    let (recipient, reason) = (digest_of(to), failure.reason.clone());
    record(
        service,
        Note::Failed(notification_log::Failed { recipient, reason, failed_at: service.platform.now() }),
    )
    .await;
}
