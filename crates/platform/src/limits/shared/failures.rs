//! Failed credentials of systems over all processes: how many since the first one of a pair of address and credential.
//!
//! A right credential costs nothing here: only failures are counted. A pair that is refused is told to every process
//! with the auth epoch (`bailiwick_store::epoch`), so that its right credential is refused everywhere too.

use super::{Purger, WAIT, purge_at, warn};
use crate::{Platform, group_commit::GroupCommit};
use bailiwick_domain::{Clock, SystemId, Ts};
use bailiwick_store::{
    Db, StoreError,
    epoch::AffectedSystems,
    shared_limits::{self, Failures},
};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

/// Time in which failures add up.
pub const WINDOW: Duration = Duration::from_secs(60);
const WHAT: &str = "failed credentials";

/// The queues of failures and of refusals.
#[derive(Debug)]
pub(super) struct Queues {
    counts: GroupCommit<Failure, Since>,
    refusals: GroupCommit<Uuid, ()>,
}

/// A failure that waits for its count, or a question.
#[derive(Clone, Copy, Debug)]
struct Failure {
    key: Uuid,
    is_question: bool,
    at: Ts,
}

/// The failures of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Since {
    /// How many, this one included.
    pub count: u64,
    /// When the first one was.
    pub first_at: Ts,
}

impl Queues {
    pub(super) fn start(
        db: &Db,
        clock: &Arc<dyn Clock>,
        tasks: &TaskTracker,
        stop: &CancellationToken,
    ) -> Queues {
        let (counting, purger) = (db.clone(), Arc::new(Purger::default()));
        let (refusing, clock) = (db.clone(), clock.clone());
        Queues {
            counts: GroupCommit::start(tasks, stop.clone(), shared_limits::KEYS, move |group| {
                count_group(counting.clone(), purger.clone(), group)
            }),
            refusals: GroupCommit::start(tasks, stop.clone(), shared_limits::KEYS, move |keys| {
                refuse_group(refusing.clone(), clock.clone(), keys)
            }),
        }
    }
}

/// Counts a failure of the pair. None if the processes cannot count together. The first one beyond the limit is
/// answered when every process knows that the pair is refused.
pub async fn count(platform: &Platform, key: Uuid, limit: u64, at: Ts) -> Option<Since> {
    let owned = platform.clone();
    // A task of its own: a caller that disconnects must not keep the refusal from the others.
    let counting = platform.tasks.spawn(async move {
        let since = submit(&owned, Failure { key, is_question: false, at }).await?;
        if since.count == limit.saturating_add(1) {
            refuse(&owned, key).await;
        }
        Some(since)
    });
    counting.await.ok().flatten()
}

/// The failures of the pair, without another one.
pub async fn ask(platform: &Platform, key: Uuid, at: Ts) -> Option<Since> {
    submit(platform, Failure { key, is_question: true, at }).await
}

async fn submit(platform: &Platform, failure: Failure) -> Option<Since> {
    let counted = platform.shared_limits().failures.counts.submit_within(WAIT, failure).await;
    counted.inspect_err(|lost| warn(WHAT, &lost.0)).ok()
}

/// Notifies every process that the pair is refused. When this returns, they know.
async fn refuse(platform: &Platform, key: Uuid) {
    // A process that holds its database alone knows already.
    if !platform.db.is_postgres() {
        return;
    }
    let written = platform.shared_limits().failures.refusals.submit_within(WAIT, key).await;
    let _ = written.inspect_err(|lost| warn(WHAT, &lost.0));
}

async fn count_group(db: Db, purger: Arc<Purger>, group: Vec<Failure>) -> Result<Vec<Since>, StoreError> {
    let mut keys: BTreeMap<Uuid, Failures> = BTreeMap::new();
    for Failure { key, is_question, at } in &group {
        let fresh = Failures { key: *key, count: 0, at: *at, purge_at: *at };
        let of_key = keys.entry(*key).or_insert(fresh);
        of_key.count += i64::from(!is_question);
        of_key.at = of_key.at.max(*at);
        of_key.purge_at = purge_at(of_key.at.plus(WINDOW));
    }
    let all: Vec<Failures> = keys.values().copied().collect();
    let counted = shared_limits::fail(&db, WINDOW, &all).await?;
    if let Some(latest) = group.iter().map(|failure| failure.at).max() {
        purger.after(&db, all.len(), latest).await;
    }
    // From the count before this group up to the one after it.
    let mut counts: HashMap<Uuid, (i64, Ts)> = counted
        .into_iter()
        .map(|now| (now.key, (now.count - keys.get(&now.key).map_or(0, |added| added.count), now.at)))
        .collect();
    Ok(group.iter().map(|failure| next(&mut counts, failure)).collect())
}

fn next(counts: &mut HashMap<Uuid, (i64, Ts)>, failure: &Failure) -> Since {
    let (count, first_at) = counts.entry(failure.key).or_insert((0, failure.at));
    *count += i64::from(!failure.is_question);
    Since { count: u64::try_from(*count).unwrap_or(0), first_at: *first_at }
}

async fn refuse_group(db: Db, clock: Arc<dyn Clock>, mut keys: Vec<Uuid>) -> Result<Vec<()>, StoreError> {
    let done = vec![(); keys.len()];
    keys.sort_unstable();
    keys.dedup();
    let mut tx = db.begin().await?;
    shared_limits::refuse(&mut tx, &keys, clock.now()).await?;
    tx.bump_auth_epoch(AffectedSystems::Systems(keys.into_iter().map(SystemId).collect())).await?;
    tx.commit().await?;
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_failures_of_a_group_are_numbered_on() {
        let (key, at) = (Uuid::from_u128(1), Ts::from_secs(1_000));
        let mut counts = HashMap::from([(key, (19, at))]);
        let mut number = |is_question| next(&mut counts, &Failure { key, is_question, at }).count;
        assert_eq!([number(false), number(true), number(false)], [20, 20, 21]);
    }
}
