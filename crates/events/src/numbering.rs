//! The worker that gives events their numbers. Every process has one; if two start at the same moment, one leaves the
//! work to the other.

use super::subscriptions::{sight_of, takes};
use crate::Events;
use bailiwick_domain::Result;
use bailiwick_platform::worker::{Worker, until_idle};
use bailiwick_store::{
    Tx,
    events::{self, Numbered, deliveries, subscriptions},
};
use std::{collections::BTreeSet, time::Duration};
use uuid::Uuid;

/// How often unnumbered events are searched.
const POLL: Duration = Duration::from_millis(250);

/// Starts it on the application's tracker.
pub(super) fn start(service: &Events) {
    let worker = service.clone();
    service.platform.tasks.spawn(async move {
        let service = &worker;
        let number_or_look = || async {
            let numbered = step(service).await?;
            if numbered == 0 {
                notify_streams(service).await;
            }
            Ok(numbered)
        };
        let failure = "events cannot be numbered and are tried again";
        Worker { name: "event numbers", failure, poll: POLL, hint: None, step: number_or_look }
            .run(&service.platform.stop)
            .await;
        // Numbers the events of the last requests. If this fails, another process or the next start numbers them.
        if let Err(e) = until_idle(|| step(service)).await {
            tracing::debug!(error = %e, "events wait for the next start");
        }
    });
}

/// Learns of events that other processes have numbered, if this process has listeners.
async fn notify_streams(service: &Events) {
    if service.streams.is_wanted() && service.platform.db.is_postgres() {
        match events::position(&service.platform.db).await {
            Ok(newest) => service.streams.notify(newest),
            Err(e) => tracing::debug!(error = %e, "the newest event cannot be read"),
        }
    }
}

/// One step; how many events got a number.
async fn step(service: &Events) -> Result<u64> {
    if !events::is_waiting(&service.platform.db).await? {
        return Ok(0);
    }
    let mut tx = service.platform.db.begin().await?;
    let Some(numbered) = events::number(&mut tx, || service.platform.fresh::<Uuid>()).await? else {
        return Ok(0);
    };
    let is_for_somebody = fan_out(service, &mut tx, &numbered).await?;
    tx.commit().await?;
    if let Some(last) = numbered.last() {
        service.streams.notify(last.seq);
    }
    if is_for_somebody {
        service.deliveries.hint.notify_one();
    }
    Ok(numbered.len() as u64)
}

/// Queues deliveries of these events to subscriptions; whether there are any. Of each of four organizations, at most a
/// bounded number of subscriptions takes an event.
async fn fan_out(service: &Events, tx: &mut Tx, numbered: &[Numbered]) -> Result<bool> {
    let places: BTreeSet<Uuid> =
        numbered.iter().flat_map(|n| [n.path.id.0, n.path.p2.0, n.path.p3.0]).collect();
    let places: Vec<Uuid> = places.into_iter().collect();
    let awake = subscriptions::awake(tx, &places).await?;
    let sights: Vec<_> = awake.iter().map(|s| (s, sight_of(s))).collect();
    let mut pairs = Vec::new();
    for one in numbered {
        let takers = sights
            .iter()
            .filter(|(s, visibility)| takes(s, visibility, &one.path, &one.kind, &one.object_id));
        pairs.extend(takers.map(|(s, _)| (s.id, one.seq)));
    }
    deliveries::add(tx, &pairs, service.platform.now()).await?;
    Ok(!pairs.is_empty())
}

/// Numbers all waiting events; for tests and commands.
pub async fn number_all(service: &Events) -> Result<u64> {
    let mut count = 0;
    loop {
        match step(service).await? {
            // Another worker may be at it.
            0 if events::is_waiting(&service.platform.db).await? => tokio::task::yield_now().await,
            0 => return Ok(count),
            n => count += n,
        }
    }
}
