//! Looks for everything that was acknowledged, through the interface that people and systems use.

use crate::{
    answers::{self, Wrong},
    client::{Call, Connection},
    documents::revision_of,
    fleet::{ALERTS, Fleet},
    ledger::{Documents, missing_heartbeat},
    run::Plan,
};
use bytes::Bytes;
use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::task::JoinSet;

/// What is looked for.
#[derive(Clone, Debug)]
enum Task {
    Heartbeat {
        system: usize,
        time: i64,
    },
    Documents {
        system: usize,
        documents: Documents,
    },
    /// Of the system with this number among those with alerts.
    Alerts {
        at: usize,
    },
    Registration {
        system: usize,
    },
}

/// What was found of one kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checked {
    pub what: &'static str,
    /// So many were acknowledged: heartbeats count once for each system.
    pub acknowledged: u64,
    /// So many systems they belong to, and so many of these were looked at.
    pub systems: usize,
    pub looked_at: usize,
    /// What is missing, and where there was no answer; each names its system.
    pub lost: Vec<String>,
    pub unanswered: Vec<String>,
    /// Until everything was found, or the patience ended.
    pub took: Duration,
}

/// Why a task is not done.
#[derive(Clone, Debug)]
enum Open {
    Missing(String),
    Unanswered(String),
}

/// Looks at up to `most` systems of each kind, again and again until everything is found or `settle` has passed.
///
/// # Errors
/// A text when a task of this program fails.
pub(crate) async fn check(
    fleet: &Arc<Fleet>,
    plan: &Plan,
    most: usize,
    settle: Duration,
) -> Result<Vec<Checked>, String> {
    let mut checked = Vec::new();
    for (what, acknowledged, tasks) in tasks(fleet).await {
        let systems = tasks.len();
        let sample = sample(tasks, most);
        let begin = Instant::now();
        let looked_at = sample.len();
        let mut open = look_at(fleet, plan, sample).await?;
        while !open.is_empty() && begin.elapsed() < settle {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let again = open.into_iter().map(|(task, _)| task).collect();
            open = look_at(fleet, plan, again).await?;
        }
        let took = begin.elapsed();
        let mut found = Checked { what, acknowledged, systems, looked_at, took, ..Checked::default() };
        for (task, why) in open {
            let key = fleet.world.key(task.system(fleet));
            match why {
                Open::Missing(why) => found.lost.push(format!("{key}: {why}")),
                Open::Unanswered(why) => found.unanswered.push(format!("{key}: {why}")),
            }
        }
        checked.push(found);
    }
    Ok(checked)
}

/// What must be found: its name, how much was acknowledged, a task for each system.
async fn tasks(fleet: &Fleet) -> Vec<(&'static str, u64, Vec<Task>)> {
    let ledger = &fleet.ledger;
    let heartbeats: Vec<Task> =
        ledger.heartbeats().into_iter().map(|(system, time)| Task::Heartbeat { system, time }).collect();
    let documents = ledger.documents();
    let documents_count = documents.iter().map(|(_, documents)| documents.acknowledged()).sum();
    let documents = documents.into_iter().map(|(system, documents)| Task::Documents { system, documents });
    let mut outages = 0;
    let mut alerts = Vec::new();
    for at in 0..fleet.alerting() {
        let acknowledged = fleet.posted_alerts(at).await.acknowledged();
        outages += acknowledged * fleet.alert_names(at).len() as u64;
        if acknowledged > 0 {
            alerts.push(Task::Alerts { at });
        }
    }
    let new: Vec<Task> =
        ledger.registrations().into_iter().map(|system| Task::Registration { system }).collect();
    vec![
        ("last heartbeats", heartbeats.len() as u64, heartbeats),
        ("inventories", documents_count, documents.collect()),
        ("alerts", outages, alerts),
        ("registrations", new.len() as u64, new),
    ]
}

/// Some of the values, spread evenly, or all if there are no more than `most`.
fn sample<T>(values: Vec<T>, most: usize) -> Vec<T> {
    let all = values.len();
    if all <= most {
        return values;
    }
    let is_taken = |n: usize| (n + 1) * most / all > n * most / all;
    values.into_iter().enumerate().filter(|(n, _)| is_taken(*n)).map(|(_, value)| value).collect()
}

/// The tasks that are not done, in the order of the tasks.
async fn look_at(fleet: &Arc<Fleet>, plan: &Plan, tasks: Vec<Task>) -> Result<Vec<(Task, Open)>, String> {
    let tasks = Arc::new(tasks);
    let (next, open) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
    let mut workers = JoinSet::new();
    for mut connection in plan.connections() {
        let (fleet, tasks, next, open) = (fleet.clone(), tasks.clone(), next.clone(), open.clone());
        workers.spawn(async move {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(task) = tasks.get(at) else { return };
                if let Err(why) = task.look(&fleet, &mut connection).await {
                    open.lock().unwrap_or_else(PoisonError::into_inner).push((at, why));
                }
            }
        });
    }
    while let Some(ended) = workers.join_next().await {
        ended.map_err(|why| why.to_string())?;
    }
    let mut open = std::mem::take(&mut *open.lock().unwrap_or_else(PoisonError::into_inner));
    open.sort_unstable_by_key(|(at, _): &(usize, Open)| *at);
    Ok(open.into_iter().map(|(at, why)| (tasks[at].clone(), why)).collect())
}

impl Task {
    fn system(&self, fleet: &Fleet) -> usize {
        match self {
            Task::Heartbeat { system, .. }
            | Task::Documents { system, .. }
            | Task::Registration { system } => *system,
            Task::Alerts { at } => fleet.alerting_system(*at),
        }
    }

    async fn look(&self, fleet: &Fleet, connection: &mut Connection) -> Result<(), Open> {
        let missing = match self {
            Task::Heartbeat { system, time } => {
                let (heartbeat, _) = read_system(fleet, connection, *system).await?;
                missing_heartbeat(*time, heartbeat)
            }
            Task::Registration { system } => {
                let (_, registration) = read_system(fleet, connection, *system).await?;
                registration.is_none().then(|| "it is not registered".to_owned())
            }
            Task::Documents { system, documents } => {
                documents.missing(&read_records(fleet, connection, *system).await?)
            }
            Task::Alerts { at } => look_for_alerts(fleet, connection, *at).await?,
        };
        missing.map_or(Ok(()), |why| Err(Open::Missing(why)))
    }
}

/// The body of an answer with 200.
async fn ask(connection: &mut Connection, path: &str, authorization: &str) -> Result<Bytes, Open> {
    match connection.ask(&Call::get(path, authorization)).await {
        Ok(answer) if answer.status == 200 => Ok(answer.body),
        // The service does not know it any more.
        Ok(answer) if answer.status == 404 => Err(Open::Missing(format!("{path} answers 404"))),
        Ok(answer) => Err(Open::Unanswered(format!("{path} answers {}", answer.status))),
        Err(failure) => Err(Open::Unanswered(format!("{path}: {}", failure.word()))),
    }
}

fn read<T>(fleet: &Fleet, path: &str, read: Result<T, Wrong>) -> Result<T, Open> {
    read.map_err(|wrong| match wrong {
        Wrong::Unreadable => Open::Unanswered(format!("{path} cannot be read")),
        Wrong::Foreign(text) => {
            fleet.measures.foreign(&text);
            Open::Unanswered(text)
        }
    })
}

/// A system as the owner sees it: its last heartbeat and its registration.
async fn read_system(
    fleet: &Fleet,
    connection: &mut Connection,
    system: usize,
) -> Result<(Option<i64>, Option<i64>), Open> {
    let id = fleet.world.id(system);
    let path = format!("/api/systems/{id}");
    let body = ask(connection, &path, &fleet.people[0].bearer).await?;
    read(fleet, &path, answers::system(&body, id))
}

/// The records of a system as the owner sees them, with the revisions of this program's documents.
async fn read_records(
    fleet: &Fleet,
    connection: &mut Connection,
    system: usize,
) -> Result<Vec<(i64, Option<u32>)>, Open> {
    let id = fleet.world.id(system);
    let mut records = Vec::new();
    for page in 1.. {
        let path = format!("/api/systems/{id}/inventory?page={page}&page_size=100");
        let body = ask(connection, &path, &fleet.people[0].bearer).await?;
        let (more, has_next) = read(fleet, &path, answers::records(&body, id))?;
        records.extend(more.into_iter().map(|(time, document)| (time, revision_of(&document))));
        if !has_next {
            break;
        }
    }
    Ok(records)
}

/// What is missing of the alerts of a system: it reads its active ones itself, the owner its history.
async fn look_for_alerts(
    fleet: &Fleet,
    connection: &mut Connection,
    at: usize,
) -> Result<Option<String>, Open> {
    let system = fleet.alerting_system(at);
    let (key, id) = (fleet.world.key(system), fleet.world.id(system));
    let posted = fleet.posted_alerts(at).await;
    let body = ask(connection, ALERTS, &fleet.world.basic(system)).await?;
    let active = read(fleet, ALERTS, answers::own_alerts(&body, key))?;
    let mut history = Vec::new();
    for page in 1.. {
        if !posted.has_history() {
            break;
        }
        let path = format!("/api/systems/{id}/alerts/history?page={page}&page_size=100");
        let body = ask(connection, &path, &fleet.people[0].bearer).await?;
        let (more, has_next) = read(fleet, &path, answers::history(&body, key))?;
        history.extend(more);
        if !has_next {
            break;
        }
    }
    Ok(posted.missing(&fleet.alert_names(at), &active, &history))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_spread_and_have_their_size() {
        assert_eq!(sample((0..5).collect(), 5), [0, 1, 2, 3, 4]);
        let some = sample((0..1_000).collect(), 10);
        assert_eq!(some.len(), 10);
        assert!(some.windows(2).all(|two| two[1] - two[0] == 100), "{some:?}");
        assert!(sample(vec![1, 2], 0).is_empty());
    }
}
