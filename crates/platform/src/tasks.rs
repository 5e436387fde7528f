//! Tasks: regular work beside the requests. The list of all tasks is `TASKS` in `crates/app/src/background.rs`.

use crate::Platform;
use bailiwick_domain::{Result, Ts};
use bailiwick_store::leases;
use futures_util::future::BoxFuture;
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// A task of the context `C`.
#[derive(Debug)]
pub struct Task<C: 'static> {
    /// Its name in the log and in the metrics, and that of its lease.
    pub name: &'static str,
    /// The processes that run it.
    pub by: Processes,
    /// The time between two runs; none where the settings have no use for it.
    pub interval: fn(&C) -> Option<Duration>,
    /// One run. It returns how much it did; nothing where another process holds the lease.
    pub run: TaskFn<C>,
}

/// What a task does in one run.
pub type TaskFn<C> = for<'c> fn(&'c C) -> BoxFuture<'c, Result<u64>>;

/// The processes that run a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processes {
    /// One at a time. A run takes the [`lease`] when it has found something to do, renews it between its steps, and
    /// ends when it has lost it.
    One,
    /// Each for itself.
    Each,
}

/// The runs of the tasks in this process, for the metrics.
#[derive(Debug, Default)]
pub struct Runs(Mutex<BTreeMap<&'static str, TaskStats>>);

/// The runs of one task.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TaskStats {
    /// Runs that succeeded.
    pub succeeded: u64,
    /// Runs that failed.
    pub failed: u64,
    /// What all runs took.
    pub took: Duration,
    /// The end of the last run that succeeded.
    pub last_success: Option<Ts>,
}

impl Runs {
    /// The figures by name of the task.
    pub fn read(&self) -> BTreeMap<&'static str, TaskStats> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, name: &'static str, success: Option<Ts>, took: Duration) {
        let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let figures = runs.entry(name).or_default();
        figures.took += took;
        match success {
            Some(at) => {
                figures.succeeded += 1;
                figures.last_success = Some(at);
            }
            None => figures.failed += 1,
        }
    }
}

/// Starts the tasks on the tracker. Each runs after every interval until the process stops; a lease is then given back,
/// so that another process need not wait for its end.
pub fn start<C>(context: &C, tasks: &'static [Task<C>])
where
    C: AsRef<Platform> + Clone + Send + Sync + 'static,
{
    for task in tasks {
        if let Some(interval) = (task.interval)(context) {
            context.as_ref().tasks.spawn(repeat(context.clone(), task, interval));
        }
    }
}

async fn repeat<C: AsRef<Platform>>(context: C, task: &'static Task<C>, interval: Duration) {
    let platform = context.as_ref();
    while platform.stop.run_until_cancelled(tokio::time::sleep(interval)).await.is_some() {
        let started = Instant::now();
        match (task.run)(&context).await {
            Ok(done) => {
                tracing::debug!(task = task.name, done, "task has run");
                platform.metrics.tasks.note(task.name, Some(platform.now()), started.elapsed());
            }
            Err(error) => {
                tracing::warn!(task = task.name, %error, "task failed and will run again after its interval");
                platform.metrics.tasks.note(task.name, None, started.elapsed());
            }
        }
    }
    if task.by == Processes::One
        && let Err(error) = leases::release(&platform.db, task.name, platform.instance()).await
    {
        tracing::debug!(task = task.name, %error, "lease not released: it ends by itself");
    }
}

/// Takes or renews the lease of a task; false when another process holds it.
///
/// # Errors
/// The database's.
pub async fn lease(platform: &Platform, name: &str, length: Duration) -> Result<bool> {
    let now = platform.now();
    Ok(leases::take(&platform.db, name, platform.instance(), now, now.plus(length)).await?)
}
