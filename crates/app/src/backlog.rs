//! What background work has still to do, and the tasks that run regularly: the answer of `bailiwick jobs`.

use crate::{App, background::TASKS, metrics};
use bailiwick_domain::Ts;
use bailiwick_platform::{metrics::work, tasks::Processes};
use bailiwick_store::stats::Work;
use std::time::Duration;

/// A queue in the database, under its name in the metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// The kind of a job, or the name of another queue.
    pub name: String,
    /// Entries to be done, now or later.
    pub waiting: u64,
    /// Since when the oldest entry waits; of jobs, since when the longest overdue one has been due.
    pub oldest: Option<Ts>,
    /// Entries that were given up and are kept to be seen.
    pub given_up: u64,
}

/// A task that runs regularly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduledTask {
    /// Its name in the log and in the metrics.
    pub name: &'static str,
    /// The time between two runs.
    pub interval: Duration,
    /// Whether one process runs it for all.
    pub is_exclusive: bool,
}

/// All queues, by name; `None` while the database does not answer.
pub async fn queues(app: &App) -> Option<Vec<Queue>> {
    let work = work(&app.platform).await?;
    let jobs = metrics::jobs(&work).into_iter().map(|jobs| Queue {
        name: jobs.kind,
        waiting: jobs.all,
        oldest: jobs.due.oldest,
        given_up: jobs.ended,
    });
    let others = metrics::queues(&work).map(|(name, waiting)| Queue {
        name: name.to_owned(),
        waiting: waiting.count,
        oldest: waiting.oldest,
        given_up: given_up(name, &work),
    });
    let mut queues: Vec<Queue> = jobs.chain(others).collect();
    queues.sort_by(|a, b| a.name.cmp(&b.name));
    Some(queues)
}

fn given_up(queue: &str, work: &Work) -> u64 {
    match queue {
        "inventory" => work.quarantined,
        "event_deliveries" => work.dead_deliveries,
        "logto" => work.logto.refused,
        _ => 0,
    }
}

/// The tasks that a service with these settings runs, in the order of their table.
pub fn tasks(app: &App) -> Vec<ScheduledTask> {
    TASKS
        .iter()
        .filter_map(|task| {
            let interval = (task.interval)(app)?;
            Some(ScheduledTask { name: task.name, interval, is_exclusive: task.by == Processes::One })
        })
        .collect()
}
