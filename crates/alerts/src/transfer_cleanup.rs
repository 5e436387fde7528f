//! Cleanup after a system that went to another organization (spec: systems#reassignment; alert-management#handling):
//! backups' objects without a reference, and alerts and silences in the tenant that the system has left. Each is tried
//! again until it is done; also after a move that was rolled back, whose copies must go.

use crate::{Alerts, leave::leave as leave_tenant};
use bailiwick_directory::objects;
use bailiwick_domain::{Error, Result, Ts};
use bailiwick_fleet::systems::transfer::{Cleanup, KIND, LOCK, lock};
use bailiwick_platform::{
    jobs,
    worker::{Worker, until_idle},
};
use bailiwick_store::{
    jobs::{self as leased_jobs, Job},
    leases,
    systems::{self, moves},
};
use std::time::Duration;
use tracing::Instrument;

/// Longest time a leased job waits for a worker that has died.
const LEASE: Duration = Duration::from_secs(600);
/// How often the jobs are looked at when nothing says that there is something.
const POLL: Duration = Duration::from_secs(30);
/// The wait while another move of the system is under way.
const LATER: Duration = Duration::from_secs(10);

/// Starts the worker on the application's tracker.
pub fn start_worker(app: &Alerts) {
    let worker = app.clone();
    app.tasks.spawn(async move {
        let step = || work_off(&worker);
        let hint = Some(&worker.transfers.arrived);
        Worker { name: KIND, failure: jobs::FAILURE, poll: POLL, hint, step }.run(&worker.stop).await;
    });
}

/// Handles everything that is due now; for tests. Answers how many jobs were handled.
pub async fn run_until_idle(app: &Alerts) -> Result<u64> {
    until_idle(|| work_off(app)).await
}

/// Leases once and handles what was leased.
async fn work_off(app: &Alerts) -> Result<u64> {
    let _turn = app.transfers.turn.lock().await;
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
async fn handle(app: &Alerts, job: &Job) -> Result<Option<Ts>> {
    let cleanup: Cleanup = serde_json::from_value(job.payload.clone()).map_err(Error::internal)?;
    let lock = Lock { app, name: lock(cleanup.system), holder: app.fresh() };
    if !lock.hold().await? {
        return Ok(Some(app.now().plus(LATER)));
    }
    let cleared = clear(app, &cleanup, &lock).await;
    leases::release(&app.db, &lock.name, lock.holder).await?;
    cleared
}

/// The lock, as this job holds it.
struct Lock<'a> {
    app: &'a Alerts,
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

async fn clear(app: &Alerts, cleanup: &Cleanup, lock: &Lock<'_>) -> Result<Option<Ts>> {
    let has_happened = moves::has_happened(&app.db, cleanup.reassignment).await?;
    // Neither waits for the other: a storage or a router may be away for long.
    let left = if has_happened { leave(app, cleanup).await } else { Ok(0) };
    let mut deleted = 0;
    let removed = remove(app, cleanup, lock, &mut deleted).await;
    let mut tx = app.db.begin_relaxed().await?;
    moves::note_cleared(&mut tx, cleanup.reassignment, deleted, *left.as_ref().unwrap_or(&0)).await?;
    tx.commit().await?;
    left?;
    match removed? {
        true => Ok(cleanup.settled_at.filter(|at| *at > app.now())),
        false => Ok(Some(app.now().plus(LATER))),
    }
}

/// Deletes the objects nobody refers to, and counts the originals among them; false when the lock is lost.
async fn remove(app: &Alerts, cleanup: &Cleanup, lock: &Lock<'_>, deleted: &mut u64) -> Result<bool> {
    for key in cleanup.originals.iter().chain(&cleanup.copies) {
        if !lock.hold().await? {
            return Ok(false);
        }
        let is_gone = objects::delete_unlisted_backup(app, key).await?;
        *deleted += u64::from(is_gone && cleanup.originals.contains(key));
    }
    Ok(true)
}

/// Ends what the system still has in the tenant it has left, unless it is back there; how many silences.
async fn leave(app: &Alerts, cleanup: &Cleanup) -> Result<u64> {
    let found = systems::get(&app.db, cleanup.system).await?;
    if found.is_some_and(|found| found.system.organization.id == cleanup.from) {
        return Ok(0);
    }
    let left = leave_tenant(app, cleanup.from, cleanup.system, &cleanup.system_key).await;
    left.map_err(|fault| Error::internal(format_args!("alerts in a tenant that was left: {fault}")))
}
