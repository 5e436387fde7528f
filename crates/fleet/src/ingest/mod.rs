//! The frequent requests of systems, written by group commit (spec: systems-interface#inventory,
//! systems-interface#heartbeat).

mod documents;

use crate::Fleet;
use bailiwick_domain::{Error, Result, SystemId, Ts};
use bailiwick_identity::credentials::SystemIdentity;
use bailiwick_platform::group_commit::GroupCommit;
use bailiwick_store::{Db, StoreError, heartbeats};
use std::sync::Arc;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use documents::{Accepted, Document, submit, too_large};

/// Heartbeats of one group at most.
const BEATS: usize = 512;
/// Documents of one group at most.
const DOCUMENTS: usize = 64;

/// A heartbeat on its way.
#[derive(Debug)]
struct Beat {
    from: SystemId,
    at: Ts,
}

/// The queues; requests wait here for the commit of their group.
#[derive(Debug)]
pub struct Ingest {
    heartbeats: GroupCommit<Beat, ()>,
    documents: GroupCommit<documents::Queued, ()>,
    /// KiB of documents being prepared or waiting.
    room: Arc<tokio::sync::Semaphore>,
    /// A hint for the inventory worker.
    pub(crate) arrived: tokio::sync::Notify,
    /// Held by the task that works on the queue: one at a time in each process.
    working: tokio::sync::Mutex<()>,
}

impl Ingest {
    /// Starts the writers on the tracker; they end after `stop`, once they have written every accepted request.
    pub fn start(db: &Db, tasks: &TaskTracker, stop: &CancellationToken) -> Ingest {
        let (beats_db, documents_db) = (db.clone(), db.clone());
        Ingest {
            heartbeats: GroupCommit::start(tasks, stop.clone(), BEATS, move |group| {
                write_beats(beats_db.clone(), group)
            }),
            documents: GroupCommit::start(tasks, stop.clone(), DOCUMENTS, move |group| {
                documents::write(documents_db.clone(), group)
            }),
            room: Arc::new(tokio::sync::Semaphore::new(documents::ROOM_KIB)),
            arrived: tokio::sync::Notify::new(),
            working: tokio::sync::Mutex::new(()),
        }
    }
}

impl Ingest {
    /// Keeps this process's worker from taking documents until the guard is dropped.
    pub async fn hold_worker(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.working.lock().await
    }

    /// KiB that documents can still take.
    pub fn free_room(&self) -> usize {
        self.room.available_permits()
    }
}

/// How often a group is retried after a conflict or the removal of some of its systems.
const ATTEMPTS: usize = 3;

/// One statement and one commit for the whole group. A crash of the host may lose the group, but never a part of it.
async fn write_beats(db: Db, group: Vec<Beat>) -> Result<Vec<()>, StoreError> {
    let mut left = ATTEMPTS;
    loop {
        left -= 1;
        match write_once(&db, &group).await {
            // A conflict may concern a part of the group only, so it is retried.
            Err(e) if left > 0 && e.is_collision() => {}
            Err(e) => return Err(e),
            Ok(()) => return Ok(vec![(); group.len()]),
        }
    }
}

async fn write_once(db: &Db, group: &[Beat]) -> Result<(), StoreError> {
    let mut beats: Vec<(SystemId, Ts)> = group.iter().map(|beat| (beat.from, beat.at)).collect();
    // The newest of each system, in the order of ids, so that processes do not deadlock.
    beats.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
    beats.dedup_by_key(|beat| beat.0);
    let mut tx = db.begin_relaxed().await?;
    heartbeats::beat(&mut tx, &beats).await?;
    tx.commit().await
}

/// `POST /systems/heartbeat`: returns the time of receipt once it is committed.
pub async fn heartbeat(service: &Fleet, system: &Arc<SystemIdentity>) -> Result<Ts> {
    let now = service.platform.now();
    let beat = Beat { from: system.id, at: now };
    let lost = |log: String| Error::Unavailable { message: "failed to process heartbeat".into(), log };
    let longest = service.settings.systems.heartbeat_wait;
    let written = service.ingest().heartbeats.submit_within(longest, beat).await;
    written.map(|()| now).map_err(|e| lost(e.0.to_string()))
}
