//! The worker that gives events their numbers. Every process has one; of two that begin at the same moment one leaves
//! the work to the other.

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

/// How often is looked for events without a number.
const POLL: Duration = Duration::from_millis(250);

/// Starts it on the application's tracker.
pub(super) fn start(app: &Events) {
    let worker = app.clone();
    app.tasks.spawn(async move {
        let app = &worker;
        let number_or_look = || async {
            let numbered = step(app).await?;
            if numbered == 0 {
                look(app).await;
            }
            Ok(numbered)
        };
        let failure = "events cannot be numbered and are tried again";
        Worker { name: "event numbers", failure, poll: POLL, hint: None, step: number_or_look }
            .run(&app.stop)
            .await;
        // The events of the last requests. Another process or the next start numbers the rest.
        if let Err(e) = until_idle(|| step(app)).await {
            tracing::debug!(error = %e, "events wait for the next start");
        }
    });
}

/// What other processes have numbered, if anybody here listens.
async fn look(app: &Events) {
    if app.streams.is_wanted() && app.db.is_postgres() {
        match events::position(&app.db).await {
            Ok(newest) => app.streams.tell(newest),
            Err(e) => tracing::debug!(error = %e, "the newest event cannot be read"),
        }
    }
}

/// One step; how many events got a number.
async fn step(app: &Events) -> Result<u64> {
    if !events::is_waiting(&app.db).await? {
        return Ok(0);
    }
    let mut tx = app.db.begin().await?;
    let Some(numbered) = events::number(&mut tx, || app.fresh::<Uuid>()).await? else { return Ok(0) };
    let is_for_somebody = fan_out(app, &mut tx, &numbered).await?;
    tx.commit().await?;
    if let Some(last) = numbered.last() {
        app.streams.tell(last.seq);
    }
    if is_for_somebody {
        app.deliveries.hint.notify_one();
    }
    Ok(numbered.len() as u64)
}

/// What subscribers are to be told of these events; whether that is anything. At most a bounded number of subscriptions
/// of each of four organizations takes an event.
async fn fan_out(app: &Events, tx: &mut Tx, numbered: &[Numbered]) -> Result<bool> {
    let places: BTreeSet<Uuid> =
        numbered.iter().flat_map(|n| [n.path.id.0, n.path.p2.0, n.path.p3.0]).collect();
    let places: Vec<Uuid> = places.into_iter().collect();
    let awake = subscriptions::awake(tx, &places).await?;
    let sights: Vec<_> = awake.iter().map(|s| (s, sight_of(s))).collect();
    let mut pairs = Vec::new();
    for one in numbered {
        let takers = sights.iter().filter(|(s, sight)| takes(s, sight, &one.path, &one.kind, &one.object_id));
        pairs.extend(takers.map(|(s, _)| (s.id, one.seq)));
    }
    deliveries::add(tx, &pairs, app.now()).await?;
    Ok(!pairs.is_empty())
}

/// Numbers everything that waits; for tests and commands.
pub async fn number_all(app: &Events) -> Result<u64> {
    let mut count = 0;
    loop {
        match step(app).await? {
            // Another worker may be at it.
            0 if events::is_waiting(&app.db).await? => tokio::task::yield_now().await,
            0 => return Ok(count),
            n => count += n,
        }
    }
}
