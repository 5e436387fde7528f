//! History with a remote router: noted when the router has taken an alert, written after the answer in groups, so that
//! a push costs no commit (contract 04 §3). What a crash loses comes back with the sender's next push or the webhook.

use super::{Note, write};
use crate::App;
use bailiwick_store::{StoreError, history};
use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

/// How long the first note of a group waits for others: well below the second that rows may be behind.
const GATHER: Duration = Duration::from_millis(250);
/// Notes of one transaction.
const NOTES: usize = 1000;
/// Bytes that may wait; what comes beyond is dropped.
const WAITING: usize = 64 * 1024 * 1024;
/// Between two tries while the database does not answer.
const PAUSE: Duration = Duration::from_secs(1);

/// Where notes are handed in.
#[derive(Debug, Default)]
pub(in super::super) struct Writer(OnceLock<Queue>);

#[derive(Debug)]
struct Queue {
    sender: UnboundedSender<Note>,
    waiting: Arc<AtomicUsize>,
}

/// Hands notes in; they are written within a second.
pub(in super::super) fn note(app: &App, notes: Vec<Note>) {
    let queue = app.alerting().writer.0.get_or_init(|| start(app));
    let mut dropped = 0_u64;
    for note in notes {
        let weight = note.weight();
        let before = queue.waiting.fetch_add(weight, Ordering::Relaxed);
        if before.saturating_add(weight) > WAITING || queue.sender.send(note).is_err() {
            queue.waiting.fetch_sub(weight, Ordering::Relaxed);
            dropped += 1;
        }
    }
    if dropped > 0 {
        tracing::warn!(
            dropped,
            "too much alert history waits to be written; the next push of these alerts tells it"
        );
    }
}

/// Whether everything that was noted in this process is written.
pub fn is_written(app: &App) -> bool {
    app.alerting().writer.0.get().is_none_or(|queue| queue.waiting.load(Ordering::Relaxed) == 0)
}

fn start(app: &App) -> Queue {
    let (sender, receiver) = mpsc::unbounded_channel();
    let waiting = Arc::new(AtomicUsize::new(0));
    app.tasks.spawn(run(app.clone(), receiver, waiting.clone()));
    Queue { sender, waiting }
}

/// Writes what comes in until the application stops; then what waits.
async fn run(app: App, mut receiver: UnboundedReceiver<Note>, waiting: Arc<AtomicUsize>) {
    let mut notes = Vec::new();
    loop {
        let received = tokio::select! {
            biased;
            n = receiver.recv_many(&mut notes, NOTES) => n,
            () = app.stop.cancelled(), if !receiver.is_closed() => { receiver.close(); continue }
        };
        if received == 0 {
            return;
        }
        if received < NOTES && !app.stop.is_cancelled() {
            tokio::time::sleep(GATHER).await;
            while notes.len() < NOTES {
                let Ok(note) = receiver.try_recv() else { break };
                notes.push(note);
            }
        }
        let weight = notes.iter().map(Note::weight).sum();
        group(&app, std::mem::take(&mut notes)).await;
        waiting.fetch_sub(weight, Ordering::Relaxed);
    }
}

/// One group in one commit. While the database cannot be reached it waits; what the database refuses is written one by
/// one, so that a note cannot spoil the others.
async fn group(app: &App, notes: Vec<Note>) {
    loop {
        match commit(app, notes.clone()).await {
            Ok(()) => return,
            Err(e) if e.is_unreachable() && !app.stop.is_cancelled() => {
                tracing::warn!(error = %e, notes = notes.len(), "alert history waits for the database");
                tokio::time::sleep(PAUSE).await;
            }
            Err(e) => {
                tracing::warn!(error = %e, "a group of alert history is written one by one");
                break;
            }
        }
    }
    for note in notes {
        let (tenant, fingerprint) = (note.tenant, note.fingerprint.clone());
        if let Err(e) = commit(app, vec![note]).await {
            tracing::error!(error = %e, %tenant, fingerprint, "alert history could not be written");
        }
    }
}

async fn commit(app: &App, notes: Vec<Note>) -> Result<(), StoreError> {
    let mut tx = app.db.begin_relaxed().await?;
    let held = history::hold(&mut tx, notes.iter().map(|note| note.tenant)).await?;
    write(&mut tx, &held, notes).await?;
    tx.commit().await
}
