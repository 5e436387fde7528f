//! The worker that deletes objects without a reference. A job is retried until it succeeds: the objects of a destroyed
//! owner must be deleted, however long the storage is away.

use crate::{Directory, images};
use bailiwick_domain::{Error, Result};
use bailiwick_platform::{
    jobs,
    worker::{Worker, until_idle},
};
use bailiwick_settings::ObjectLocation;
use bailiwick_store::{
    backups::{self, DELETION},
    jobs::{self as leased_jobs, Job},
};
use serde::Deserialize;
use std::time::Duration;
use tracing::Instrument;

/// Jobs leased at one time.
const CLAIMS: i64 = 8;
/// Longest time a leased job waits for a worker that has died.
const LEASE: Duration = Duration::from_secs(600);
/// How often the jobs are polled without a hint.
const POLL: Duration = Duration::from_secs(60);

#[derive(Deserialize)]
struct Task {
    keys: Vec<String>,
}

/// Starts the worker on the application's tracker, if there is a storage.
pub fn start_worker(service: &Directory) {
    if matches!(service.settings.assets.location, ObjectLocation::Nowhere) {
        return;
    }
    let worker = service.clone();
    service.platform.tasks.spawn(async move {
        let step = || work_off(&worker);
        let hint = Some(&worker.objects.arrived);
        Worker { name: DELETION, failure: jobs::FAILURE, poll: POLL, hint, step }
            .run(&worker.platform.stop)
            .await;
    });
}

/// Processes all due jobs; for tests. Returns their number.
pub async fn run_until_idle(service: &Directory) -> Result<u64> {
    until_idle(|| work_off(service)).await
}

/// Leases once and processes the leased jobs.
async fn work_off(service: &Directory) -> Result<u64> {
    let _guard = service.objects.worker_lock.lock().await;
    let now = service.platform.now();
    let leased = leased_jobs::claim(&service.platform.db, DELETION, now, now.plus(LEASE), CLAIMS).await?;
    for job in &leased {
        let outcome = delete(service, job).instrument(jobs::span(DELETION)).await;
        let now = service.platform.now();
        let mut tx = service.platform.db.begin_relaxed().await?;
        match outcome {
            Ok(()) => {
                leased_jobs::finish(&mut tx, job).await?;
            }
            Err(e) => {
                let why = jobs::reason(&e.to_string());
                tracing::warn!(job = %job.id, attempt = job.attempts, error = why, "objects are deleted later");
                leased_jobs::postpone(&mut tx, job, jobs::RETRY.next_try(now, job.attempts), &why).await?;
            }
        }
        tx.commit().await?;
    }
    Ok(leased.len() as u64)
}

async fn delete(service: &Directory, job: &Job) -> Result<()> {
    let task: Task = serde_json::from_value(job.payload.clone()).map_err(Error::internal)?;
    for key in task.keys {
        // An upload that seemed to fail may have stored the object after all.
        if images::is_image(&key) {
            images::delete_unlisted(service, &key).await?;
        } else {
            delete_unlisted_backup(service, &key).await?;
        }
    }
    Ok(())
}

/// Deletes an object, unless a backup refers to it; returns whether it is gone.
///
/// # Errors
/// 502, 504 or 503 of the storage.
pub async fn delete_unlisted_backup(service: &Directory, key: &str) -> Result<bool> {
    if backups::by_object(&service.platform.db, key).await?.is_some() {
        return Ok(false);
    }
    service.objects.store()?.delete(key).await.map_err(super::fault)?;
    Ok(true)
}
