//! Records the outcomes of notifications: those that end at the same moment share one commit.

use super::of;
use crate::Alerts;
use bailiwick_domain::OrgId;
use bailiwick_platform::group_commit::GroupCommit;
use bailiwick_store::{
    StoreError,
    delivery::{self, Finished, notification_log},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use tokio_util::sync::CancellationToken;

/// Outcomes in one commit at most.
const NOTES: usize = 256;
/// How long a tenant's lease lasts without renewal.
pub(super) const LEASE: Duration = Duration::from_secs(30);
/// Delay before a failed write is retried: the first one, and the longest.
const AGAIN: Duration = Duration::from_secs(1);
const AGAIN_AT_MOST: Duration = Duration::from_secs(15);
/// How often, once the process is to stop.
const TRIES_AT_THE_END: usize = 5;

/// Something to be written down.
#[derive(Clone, Debug)]
pub(super) enum Note {
    /// A recipient was notified: its digest and the entry of the notification log.
    Notified(notification_log::Notice),
    /// A recipient was not reached.
    Failed(notification_log::Failed),
    /// A flush is over.
    Finished(Finished),
}

/// Where notes are handed in.
pub(super) struct OutcomeWriter {
    notes: GroupCommit<Note, ()>,
    closing: CancellationToken,
}

impl OutcomeWriter {
    fn start(service: &Alerts) -> OutcomeWriter {
        // Not the token of the application: notifications sent until the end are still recorded.
        let closing = CancellationToken::new();
        let worker = service.clone();
        let work = move |notes| {
            let service = worker.clone();
            async move { write(&service, notes).await }
        };
        OutcomeWriter {
            notes: GroupCommit::start(&service.platform.tasks, closing.clone(), NOTES, work),
            closing,
        }
    }

    /// Takes nothing more.
    pub(super) fn close(&self) {
        self.closing.cancel();
    }
}

/// Writes a note and waits as long as the database is away: without a record, a flush would notify its recipients twice
/// or never again. False when the process stops before that.
pub(super) async fn record(service: &Alerts, note: Note) -> bool {
    let recorder = of(service).recorder.get_or_init(|| OutcomeWriter::start(service));
    let (mut wait, mut tries_at_the_end) = (AGAIN, 0);
    loop {
        match recorder.notes.submit(note.clone()).await {
            Ok(()) => return true,
            Err(e) => tracing::warn!(error = %e.0, "the outcome of a notification cannot be recorded yet"),
        }
        if service.platform.stop.is_cancelled() {
            tries_at_the_end += 1;
            wait = AGAIN;
        }
        if tries_at_the_end >= TRIES_AT_THE_END {
            return false;
        }
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = service.platform.stop.cancelled(), if tries_at_the_end == 0 => {}
        }
        wait = (wait * 2).min(AGAIN_AT_MOST);
    }
}

async fn write(service: &Alerts, notes: Vec<Note>) -> Result<Vec<()>, StoreError> {
    let count = notes.len();
    let (mut notices, mut reached, mut failed, mut finished) =
        (BTreeMap::new(), BTreeSet::new(), BTreeMap::new(), Vec::new());
    for note in notes {
        match note {
            Note::Notified(notice) => {
                failed.remove(&notice.integration);
                reached.insert(notice.integration.clone());
                let key = (notice.group.clone(), notice.receiver.clone(), notice.integration.clone());
                notices.insert(key, notice);
            }
            Note::Failed(one) => {
                reached.remove(&one.recipient);
                failed.insert(one.recipient.clone(), one);
            }
            Note::Finished(group) => finished.push(group),
        }
    }
    let _writing = of(service).writing.lock().await;
    let mut tx = service.platform.db.begin().await?;
    let notified = notices.values().map(|notice: &notification_log::Notice| notice.group.0);
    let tenants: Vec<OrgId> = finished.iter().map(|g| g.key.0).chain(notified).collect();
    let held =
        delivery::renew(&mut tx, service.platform.instance(), service.platform.now().plus(LEASE), &tenants)
            .await?;
    // The process that has claimed a tenant since schedules its groups now; notifications already sent are recorded all
    // the same.
    finished.retain(|g| held.contains(&g.key.0));
    notification_log::note(&mut tx, &notices.into_values().collect::<Vec<_>>()).await?;
    notification_log::forget_failures(&mut tx, &reached.into_iter().collect::<Vec<_>>()).await?;
    notification_log::note_failures(&mut tx, &failed.into_values().collect::<Vec<_>>()).await?;
    delivery::finish(&mut tx, &finished).await?;
    tx.commit().await?;
    Ok(vec![(); count])
}
