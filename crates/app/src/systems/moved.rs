//! What is left to do behind a system that went to another organization (spec: systems#reassignment;
//! alert-management#handling): objects of its backups that nobody refers to any more, alerts and silences in the tenant
//! it has left. Tried again until it is done; also after a move that came to nothing, whose copies must go.

use super::reassign::LOCK;
use crate::{App, alerting, backups};
use bailiwick_domain::{Error, OrgId, ReassignmentId, Result, SystemId, Ts};
use bailiwick_platform::{
    jobs,
    worker::{Worker, until_idle},
};
use bailiwick_store::{
    Tx,
    jobs::{self as leased_jobs, Job, NewJob},
    leases,
    systems::{self, moves},
};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tokio::sync::{Mutex, Notify};
use tracing::Instrument;

/// Kind of the jobs; keyed by the move.
const KIND: &str = "system.moved";
/// Longest time a leased job waits for a worker that has died.
const LEASE: Duration = Duration::from_secs(600);
/// How often the jobs are looked at when nothing says that there is something.
const POLL: Duration = Duration::from_secs(30);
/// While another move of the system is under way.
const LATER: Duration = Duration::from_secs(10);
/// After this time no push that was let in before the move is still on its way into the old tenant: then it is looked
/// at once more.
pub(super) const IN_FLIGHT: Duration = Duration::from_secs(120);

/// Name of the lock that whoever clears up takes, and whoever moves the system: what one removes the other may need.
pub(super) fn lock(system: SystemId) -> String {
    format!("clearing:{system}")
}

/// What a move leaves behind.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Behind {
    /// Which move.
    pub reassignment: ReassignmentId,
    /// Which system.
    pub system: SystemId,
    /// Its key, should it be destroyed meanwhile.
    pub system_key: String,
    /// The organization it was in.
    pub from: OrgId,
    /// Objects of its backups before the move.
    pub originals: Vec<String>,
    /// Their copies for the other organization.
    pub copies: Vec<String>,
    /// When the old tenant is looked at for the last time; none: the move has not come about when this is written.
    pub settled_at: Option<Ts>,
}

/// Wakes the worker and keeps it from working twice at a time.
#[derive(Debug, Default)]
pub struct Clearing {
    arrived: Notify,
    turn: Mutex<()>,
}

impl Clearing {
    /// Says that there is something to do.
    pub fn wake(&self) {
        self.arrived.notify_one();
    }
}

/// Promises to clear up from `at` on; again for the same move replaces the promise.
pub(super) async fn enqueue(tx: &mut Tx, app: &App, behind: Behind, at: Ts) -> Result<()> {
    let job = NewJob {
        id: app.fresh(),
        kind: KIND,
        key: Some(behind.reassignment.to_string()),
        payload: serde_json::to_value(behind).map_err(Error::internal)?,
        next_at: at,
        at: app.now(),
    };
    Ok(leased_jobs::enqueue(tx, job).await?)
}

/// Starts the worker on the application's tracker.
pub fn start_clearing(app: &App) {
    let worker = app.clone();
    app.tasks.spawn(async move {
        let step = || work_off(&worker);
        let hint = Some(&worker.clearing.arrived);
        Worker { name: KIND, failure: jobs::FAILURE, poll: POLL, hint, step }.run(&worker.stop).await;
    });
}

/// Handles everything that is due now; for tests. Answers how many jobs were handled.
pub async fn clear_until_idle(app: &App) -> Result<u64> {
    until_idle(|| work_off(app)).await
}

/// Leases once and handles what was leased.
async fn work_off(app: &App) -> Result<u64> {
    let _turn = app.clearing.turn.lock().await;
    let now = app.now();
    let leased = leased_jobs::claim(&app.db, KIND, now, now.plus(LEASE), 1).await?;
    for job in &leased {
        let outcome = handle(app, job).instrument(jobs::span(KIND)).await;
        let now = app.now();
        let mut tx = app.db.begin_relaxed().await?;
        match outcome {
            Ok(None) => {
                leased_jobs::finish(&mut tx, job).await?;
            }
            Ok(Some(again_at)) => {
                leased_jobs::postpone(&mut tx, job, again_at, "").await?;
            }
            Err(e) => {
                let why = jobs::reason(&e.to_string());
                tracing::warn!(job = %job.id, attempt = job.attempts, error = why, "a move is cleared up later");
                leased_jobs::postpone(&mut tx, job, jobs::RETRY.next_try(now, job.attempts), &why).await?;
            }
        }
        tx.commit().await?;
    }
    Ok(leased.len() as u64)
}

/// When there is more to do; none: never.
async fn handle(app: &App, job: &Job) -> Result<Option<Ts>> {
    let behind: Behind = serde_json::from_value(job.payload.clone()).map_err(Error::internal)?;
    let lock = Lock { app, name: lock(behind.system), holder: app.fresh() };
    if !lock.hold().await? {
        return Ok(Some(app.now().plus(LATER)));
    }
    let cleared = clear(app, &behind, &lock).await;
    leases::release(&app.db, &lock.name, lock.holder).await?;
    cleared
}

/// The lock, as this job holds it.
struct Lock<'a> {
    app: &'a App,
    name: String,
    holder: uuid::Uuid,
}

impl Lock<'_> {
    /// Takes or renews it; false when somebody else has it.
    async fn hold(&self) -> Result<bool> {
        let now = self.app.now();
        Ok(leases::take(&self.app.db, &self.name, self.holder, now, now.plus(LOCK)).await?)
    }
}

async fn clear(app: &App, behind: &Behind, lock: &Lock<'_>) -> Result<Option<Ts>> {
    let has_happened = moves::has_happened(&app.db, behind.reassignment).await?;
    // Neither waits for the other: a storage or a router may be away for long.
    let left = if has_happened { leave(app, behind).await } else { Ok(0) };
    let mut deleted = 0;
    let removed = remove(app, behind, lock, &mut deleted).await;
    let mut tx = app.db.begin_relaxed().await?;
    moves::note_cleared(&mut tx, behind.reassignment, deleted, *left.as_ref().unwrap_or(&0)).await?;
    tx.commit().await?;
    left?;
    match removed? {
        true => Ok(behind.settled_at.filter(|at| *at > app.now())),
        false => Ok(Some(app.now().plus(LATER))),
    }
}

/// Deletes the objects nobody refers to, and counts the originals among them; false when the lock is lost.
async fn remove(app: &App, behind: &Behind, lock: &Lock<'_>, deleted: &mut u64) -> Result<bool> {
    for key in behind.originals.iter().chain(&behind.copies) {
        if !lock.hold().await? {
            return Ok(false);
        }
        let is_gone = backups::delete_unlisted(app, key).await?;
        *deleted += u64::from(is_gone && behind.originals.contains(key));
    }
    Ok(true)
}

/// Ends what the system still has in the tenant it has left, unless it is back there; how many silences.
async fn leave(app: &App, behind: &Behind) -> Result<u64> {
    let found = systems::get(&app.db, behind.system).await?;
    if found.is_some_and(|found| found.system.organization.id == behind.from) {
        return Ok(0);
    }
    let left = alerting::leave(app, behind.from, behind.system, &behind.system_key).await;
    left.map_err(|fault| Error::internal(format_args!("alerts in a tenant that was left: {fault}")))
}
