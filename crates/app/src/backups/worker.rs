//! Deletes the objects nobody refers to any more. A job is tried again until it is done: the objects of what was
//! destroyed must go, however long the storage is away.

use crate::{App, settings::Place};
use bailiwick_domain::{Error, Result, Ts};
use bailiwick_store::{
    backups::{self, DELETION},
    jobs::{self, Job},
};
use serde::Deserialize;
use std::time::Duration;

/// Jobs leased at one time.
const CLAIMS: i64 = 8;
/// Longest time a leased job waits for a worker that has died.
const LEASE: Duration = Duration::from_secs(600);
/// How often the jobs are looked at when nothing says that there is something.
const POLL: Duration = Duration::from_secs(60);
/// Wait after the first failure; it doubles up to [`LONGEST_DELAY`].
const FIRST_DELAY: Duration = Duration::from_secs(30);
const LONGEST_DELAY: Duration = Duration::from_secs(4 * 3600);
/// Longest reason kept.
const REASON_CHARS: usize = 500;

#[derive(Deserialize)]
struct Task {
    keys: Vec<String>,
}

/// Starts the worker on the application's tracker, if there is a storage.
pub fn start_worker(app: &App) {
    if matches!(app.settings.assets.place, Place::Nowhere) {
        return;
    }
    let (worker, stop) = (app.clone(), app.stop.clone());
    app.tasks.spawn(async move {
        if let Err(e) = end_old_leases(&worker).await {
            tracing::warn!(error = %e, "leases of an earlier process cannot be ended; they end by themselves");
        }
        while !stop.is_cancelled() {
            match work_off(&worker).await {
                Ok(0) => {}
                Ok(_) => continue,
                Err(e) => tracing::warn!(error = %e, "objects that nobody needs cannot be deleted now"),
            }
            tokio::select! {
                () = stop.cancelled() => {}
                () = worker.backups.arrived.notified() => {}
                () = tokio::time::sleep(POLL) => {}
            }
        }
    });
}

/// Where this process holds the database alone, whoever has leased anything before is dead.
async fn end_old_leases(app: &App) -> Result<()> {
    if app.db.is_postgres() {
        return Ok(());
    }
    let mut tx = app.db.begin_relaxed().await?;
    jobs::release_all(&mut tx, DELETION).await?;
    Ok(tx.commit().await?)
}

/// Handles everything that is due now; for tests. Answers how many jobs were handled.
pub async fn run_until_idle(app: &App) -> Result<u64> {
    let mut handled = 0;
    loop {
        match work_off(app).await? {
            0 => return Ok(handled),
            n => handled += n,
        }
    }
}

/// Leases once and handles what was leased.
async fn work_off(app: &App) -> Result<u64> {
    let _turn = app.backups.turn.lock().await;
    let now = app.now();
    let leased = jobs::claim(&app.db, DELETION, now, now.plus(LEASE), CLAIMS).await?;
    for job in &leased {
        let outcome = delete(app, job).await;
        let now = app.now();
        let mut tx = app.db.begin_relaxed().await?;
        match outcome {
            Ok(()) => {
                jobs::finish(&mut tx, job).await?;
            }
            Err(e) => {
                let why: String = e.to_string().replace('\0', " ").chars().take(REASON_CHARS).collect();
                tracing::warn!(job = %job.id, attempt = job.attempts, error = why, "objects are deleted later");
                jobs::postpone(&mut tx, job, next_try(now, job.attempts), &why).await?;
            }
        }
        tx.commit().await?;
    }
    Ok(leased.len() as u64)
}

async fn delete(app: &App, job: &Job) -> Result<()> {
    let task: Task = serde_json::from_value(job.payload.clone()).map_err(Error::internal)?;
    let assets = app.backups.assets(&app.settings.assets)?;
    for key in task.keys {
        // An upload whose end was not known here may have been listed after all.
        if backups::by_object(&app.db, &key).await?.is_none() {
            assets.delete(&key).await.map_err(super::fault)?;
        }
    }
    Ok(())
}

/// After 30 s, 1, 2, 4 … minutes.
fn next_try(now: Ts, attempts: i64) -> Ts {
    let doublings = u32::try_from(attempts.saturating_sub(1).clamp(0, 16)).unwrap_or(16);
    now.plus(FIRST_DELAY.saturating_mul(1 << doublings).min(LONGEST_DELAY))
}
