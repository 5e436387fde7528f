//! Cleanup after a system has moved to another organization or was destroyed (spec: systems#reassignment,
//! systems#destruction; alert-management#handling): removes backup objects without a reference, and the alerts and
//! silences in the tenant that the system has left. Each step is retried until it succeeds, also after a move that was
//! rolled back, whose copies must go.

use crate::{Alerts, transferred_alerts::leave as leave_tenant};
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
    systems::{self, reassignments},
};
use std::time::Duration;
use tracing::Instrument;

/// Longest time a leased job waits for a worker that has died.
const LEASE: Duration = Duration::from_secs(600);
/// How often the jobs are polled without a hint.
const POLL: Duration = Duration::from_secs(30);
/// The delay while another move of the system is in progress.
const LATER: Duration = Duration::from_secs(10);

/// Starts the worker on the application's tracker.
pub fn start_worker(service: &Alerts) {
    let worker = service.clone();
    service.platform.tasks.spawn(async move {
        let step = || work_off(&worker);
        let hint = Some(&worker.fleet.transfers.arrived);
        Worker { name: KIND, failure: jobs::FAILURE, poll: POLL, hint, step }
            .run(&worker.platform.stop)
            .await;
    });
}

/// Processes all due jobs; for tests. Returns their number.
pub async fn run_until_idle(service: &Alerts) -> Result<u64> {
    until_idle(|| work_off(service)).await
}

/// Leases once and processes the leased rows.
async fn work_off(service: &Alerts) -> Result<u64> {
    let _turn = service.fleet.transfers.turn.lock().await;
    let now = service.platform.now();
    let leased = leased_jobs::claim(&service.platform.db, KIND, now, now.plus(LEASE), 1).await?;
    for job in &leased {
        let outcome = handle(service, job).instrument(jobs::span(KIND)).await;
        let now = service.platform.now();
        let mut tx = service.platform.db.begin_relaxed().await?;
        match outcome {
            Ok(None) => {
                leased_jobs::finish(&mut tx, job).await?;
            }
            Ok(Some(again_at)) => {
                leased_jobs::postpone(&mut tx, job, again_at, "").await?;
            }
            Err(e) => {
                let why = jobs::reason(&e.to_string());
                tracing::warn!(job = %job.id, attempt = job.attempts, error = why, "the cleanup after a moved or destroyed system failed and will be retried");
                leased_jobs::postpone(&mut tx, job, jobs::RETRY.next_try(now, job.attempts), &why).await?;
            }
        }
        tx.commit().await?;
    }
    Ok(leased.len() as u64)
}

/// When there is more to do; none: never.
async fn handle(service: &Alerts, job: &Job) -> Result<Option<Ts>> {
    let cleanup: Cleanup = serde_json::from_value(job.payload.clone()).map_err(Error::internal)?;
    let lock = Lock { service, name: lock(cleanup.system), holder: service.platform.fresh() };
    if !lock.hold().await? {
        return Ok(Some(service.platform.now().plus(LATER)));
    }
    let cleared = clear(service, &cleanup, &lock).await;
    leases::release(&service.platform.db, &lock.name, lock.holder).await?;
    cleared
}

/// The lock, as this job holds it.
struct Lock<'a> {
    service: &'a Alerts,
    name: String,
    holder: uuid::Uuid,
}

impl Lock<'_> {
    /// Takes or renews the lease; false when another process has it.
    async fn hold(&self) -> Result<bool> {
        let now = self.service.platform.now();
        Ok(leases::take(&self.service.platform.db, &self.name, self.holder, now, now.plus(LOCK)).await?)
    }
}

async fn clear(service: &Alerts, cleanup: &Cleanup, lock: &Lock<'_>) -> Result<Option<Ts>> {
    let has_happened = match cleanup.reassignment {
        Some(id) => reassignments::has_happened(&service.platform.db, id).await?,
        None => true,
    };
    // Both steps are tried: storage or router may be away for long, and neither waits for the other.
    let left = if has_happened { leave(service, cleanup).await } else { Ok(0) };
    let mut deleted = 0;
    let removed = remove(service, cleanup, lock, &mut deleted).await;
    if let Some(id) = cleanup.reassignment {
        let mut tx = service.platform.db.begin_relaxed().await?;
        reassignments::note_cleared(&mut tx, id, deleted, *left.as_ref().unwrap_or(&0)).await?;
        tx.commit().await?;
    }
    left?;
    match removed? {
        true => Ok(cleanup.settled_at.filter(|at| *at > service.platform.now())),
        false => Ok(Some(service.platform.now().plus(LATER))),
    }
}

/// Deletes unreferenced objects and counts the originals among them; false when the lock is lost.
async fn remove(service: &Alerts, cleanup: &Cleanup, lock: &Lock<'_>, deleted: &mut u64) -> Result<bool> {
    for key in cleanup.originals.iter().chain(&cleanup.copies) {
        if !lock.hold().await? {
            return Ok(false);
        }
        let is_gone = objects::delete_unlisted_backup(&service.directory, key).await?;
        *deleted += u64::from(is_gone && cleanup.originals.contains(key));
    }
    Ok(true)
}

/// Ends the alerts and silences of the system in the tenant it has left, unless it is back there; returns the number of
/// silences.
async fn leave(service: &Alerts, cleanup: &Cleanup) -> Result<u64> {
    let found = systems::get(&service.platform.db, cleanup.system).await?;
    if found.is_some_and(|found| found.system.organization.id == cleanup.from) {
        return Ok(0);
    }
    let left = leave_tenant(service, cleanup).await;
    left.map_err(|fault| Error::internal(format_args!("alerts in a tenant that was left: {fault}")))
}
