//! Alert history with a remote router: an event is noted when the router has accepted an alert, and written in groups
//! after the answer, so that a push costs no commit (spec: alert-management#history). Events lost in a crash come back
//! with the sender's next push or the webhook.

use super::{Note, Origin, write};
use crate::Alerts;
use bailiwick_alertmanager::{Fingerprint, Nanos, PostedAlert, history::AlertEventKind};
use bailiwick_domain::OrgId;
use bailiwick_store::{StoreError, history};
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::sync::Notify;

/// How long the first event of a group waits for others: well below the second by which rows may be late.
const GATHER: Duration = Duration::from_millis(500);
/// Notes of one transaction.
const NOTES: usize = 1000;
/// Bytes of events that may wait; events beyond that are dropped.
const WAITING: usize = 64 * 1024 * 1024;
/// Delay before a retry while the database does not answer.
const PAUSE: Duration = Duration::from_secs(1);

/// Where notes are handed in.
#[derive(Debug, Default)]
pub(in super::super) struct Writer(OnceLock<Arc<Queue>>);

#[derive(Debug, Default)]
struct Queue {
    gathered: Mutex<Gathered>,
    /// Bytes of the events that are gathered or being written.
    waiting: AtomicUsize,
    arrived: Notify,
}

/// Where in a list the last note of each alert is.
type Indexes = HashMap<(OrgId, Fingerprint), usize>;

/// The waiting events, in order.
#[derive(Debug, Default)]
struct Gathered {
    notes: Vec<Note>,
    /// Where the last note of each alert is.
    last: Indexes,
    /// The events being written, and the place of the last one of each alert.
    writing: (Arc<Vec<Note>>, Indexes),
    is_closed: bool,
}

impl Gathered {
    /// If a refresh only moves the end, updates the waiting event of the alert instead of adding one: senders often
    /// repeat themselves. True when nothing else needs to be noted.
    fn refresh(&mut self, key: (OrgId, Fingerprint), alert: &PostedAlert, now: Nanos, ends: Nanos) -> bool {
        let Some(note) = self.last.get(&key).and_then(|index| self.notes.get_mut(*index)) else {
            return false;
        };
        let AlertEventKind::Firing { start, until } = &mut note.event.what else { return false };
        let is_same = alert.ends_at.is_none_or(|end| end > now)
            && *start == alert.starts_at.map(Nanos::to_ts)
            && note.labels == *alert.labels()
            && note.event.annotations == alert.annotations;
        if is_same {
            *until = ends.to_ts();
        }
        is_same
    }
}

impl Queue {
    fn gathered(&self) -> std::sync::MutexGuard<'_, Gathered> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Notes alerts that a tenant's router has just accepted, each with the key of its system; they are written within a
/// second.
pub(in super::super) fn note<'a>(
    service: &Alerts,
    tenant: OrgId,
    now: Nanos,
    origin: Origin,
    alerts: impl IntoIterator<Item = (&'a str, &'a PostedAlert)>,
) {
    let queue = service.state.history_writer.0.get_or_init(|| start(service));
    let resolve_timeout = service.settings.alerting.resolve_timeout;
    let mut dropped = 0_u64;
    for (system_key, alert) in alerts {
        let (key, ends) = ((tenant, alert.fingerprint()), alert.span(now, resolve_timeout).1);
        let mut gathered = queue.gathered();
        if gathered.refresh(key, alert, now, ends) {
            continue;
        }
        let note = Note::of((tenant, system_key), alert, now, ends, origin);
        let weight = note.weight();
        let before = queue.waiting.fetch_add(weight, Ordering::Relaxed);
        if before.saturating_add(weight) > WAITING || gathered.is_closed {
            queue.waiting.fetch_sub(weight, Ordering::Relaxed);
            dropped += 1;
            continue;
        }
        let index = gathered.notes.len();
        gathered.notes.push(note);
        gathered.last.insert(key, index);
        drop(gathered);
        if index == 0 {
            queue.arrived.notify_one();
        }
    }
    if dropped > 0 {
        tracing::warn!(
            dropped,
            "alert history buffer full; the next push of these alerts restores the dropped entries"
        );
    }
}

/// Whether every event noted in this process is written.
pub fn is_written(service: &Alerts) -> bool {
    service.state.history_writer.0.get().is_none_or(|queue| queue.waiting.load(Ordering::Relaxed) == 0)
}

/// The last unwritten event of each of a tenant's alerts: the system key of an alert that fires, none for one that is
/// resolved.
pub(in super::super) fn noted(service: &Alerts, tenant: OrgId) -> HashMap<Fingerprint, Option<Box<str>>> {
    let Some(queue) = service.state.history_writer.0.get() else { return HashMap::new() };
    let gathered = queue.gathered();
    let (writing, written) = (&gathered.writing, &mut HashMap::new());
    for (notes, last) in [(&*writing.0, &writing.1), (&gathered.notes, &gathered.last)] {
        for ((_, fingerprint), index) in last.iter().filter(|((whose, _), _)| *whose == tenant) {
            let Some(note) = notes.get(*index) else { continue };
            let fires = matches!(note.event.what, AlertEventKind::Firing { .. });
            written.insert(*fingerprint, fires.then(|| note.system_key.as_str().into()));
        }
    }
    std::mem::take(written)
}

/// Number of events of this process that wait to be written.
pub fn waiting(service: &Alerts) -> usize {
    service.state.history_writer.0.get().map_or(0, |queue| queue.gathered().notes.len())
}

fn start(service: &Alerts) -> Arc<Queue> {
    let queue = Arc::new(Queue::default());
    service.platform.tasks.spawn(run(service.clone(), queue.clone()));
    queue
}

/// Writes incoming events until the application stops, then those that still wait.
async fn run(service: Alerts, queue: Arc<Queue>) {
    let mut is_stopping = false;
    while !is_stopping {
        // Waits for the first event and then for more; a stop ends both.
        let gather = async {
            queue.arrived.notified().await;
            tokio::time::sleep(GATHER).await;
        };
        is_stopping = service.platform.stop.run_until_cancelled(gather).await.is_none();
        let taken = {
            let mut gathered = queue.gathered();
            gathered.is_closed = is_stopping;
            let taken = Arc::new(std::mem::take(&mut gathered.notes));
            gathered.writing = (taken.clone(), std::mem::take(&mut gathered.last));
            taken
        };
        for notes in taken.chunks(NOTES) {
            let weight = notes.iter().map(Note::weight).sum();
            group(&service, notes.to_vec()).await;
            queue.waiting.fetch_sub(weight, Ordering::Relaxed);
        }
        queue.gathered().writing = Default::default();
    }
}

/// Writes one group in one commit. While the database cannot be reached, the group waits. If the database refuses the
/// group, its events are written one by one, so that a bad event does not affect the others.
async fn group(service: &Alerts, notes: Vec<Note>) {
    loop {
        match commit(service, notes.clone()).await {
            Ok(()) => return,
            Err(e) if e.is_transient() && !service.platform.stop.is_cancelled() => {
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
        if let Err(e) = commit(service, vec![note]).await {
            tracing::error!(error = %e, %tenant, fingerprint, "alert history could not be written");
        }
    }
}

async fn commit(service: &Alerts, notes: Vec<Note>) -> Result<(), StoreError> {
    let mut tx = service.platform.db.begin_relaxed().await?;
    let held = history::lock_for_writing(&mut tx, notes.iter().map(|note| note.tenant)).await?;
    write(&mut tx, &held, notes).await?;
    tx.commit().await
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_alertmanager::Labels;

    fn alert(summary: &str, starts_at: Option<Nanos>) -> PostedAlert {
        let annotations = Labels::from_iter([("summary", summary)]);
        let mut alert = PostedAlert::of(Labels::from_iter([("alertname", "A")]));
        (alert.annotations, alert.starts_at) = (annotations, starts_at);
        alert
    }

    fn gathered(alert: &PostedAlert, now: Nanos) -> (Gathered, (OrgId, Fingerprint)) {
        let (tenant, ends) = (OrgId(uuid::Uuid::nil()), now.plus(Duration::from_secs(60)));
        let note = Note::of((tenant, "NETH-1"), alert, now, ends, Origin::System);
        let key = (tenant, alert.fingerprint());
        (Gathered { notes: vec![note], last: HashMap::from([(key, 0)]), ..Gathered::default() }, key)
    }

    #[test]
    fn a_repetition_moves_the_end_of_what_waits() {
        let now = Nanos::from_ts(bailiwick_domain::Ts::from_secs(1_000));
        let firing = alert("full", None);
        let (mut waiting, key) = gathered(&firing, now);
        let (later, ends) = (now.plus(Duration::from_secs(1)), now.plus(Duration::from_secs(61)));
        assert!(waiting.refresh(key, &firing, later, ends));
        let event = &waiting.notes[0].event;
        assert_eq!(
            (event.at, event.what.clone()),
            (now.to_ts(), AlertEventKind::Firing { start: None, until: ends.to_ts() })
        );
    }

    #[test]
    fn every_change_is_noted() {
        let now = Nanos::from_ts(bailiwick_domain::Ts::from_secs(1_000));
        let (firing, ends) = (alert("full", None), now.plus(Duration::from_secs(60)));
        let mut over = firing.clone();
        over.ends_at = Some(now);
        for other in [alert("fuller", None), alert("full", Some(now)), over.clone()] {
            let (mut waiting, key) = gathered(&firing, now);
            assert!(!waiting.refresh(key, &other, now, ends), "{other:?}");
        }
        let (mut waiting, key) = gathered(&over, now);
        assert!(!waiting.refresh(key, &firing, now, ends), "it fires again");
    }
}
