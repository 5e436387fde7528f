//! Faults of writing: a full disk, an I/O error, a database that cannot be reached.

use crate::StoreError;
use bailiwick_domain::metrics::Counter;
use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

/// The transactions that the database could not write, of all clones of a [`Db`](crate::Db).
#[derive(Debug, Default)]
pub(crate) struct WriteFaults {
    /// How many there were.
    pub(crate) count: Counter,
    /// When the last one was, and the text of its error.
    last: Mutex<Option<(Instant, String)>>,
    /// Whether there was one since this was asked last.
    is_new: AtomicBool,
}

impl WriteFaults {
    /// Notes the error of a transaction, if it is such a fault.
    pub(crate) fn note(&self, error: &StoreError) {
        if !error.is_write_fault() {
            return;
        }
        self.count.one();
        self.is_new.store(true, Relaxed);
        *self.last() = Some((Instant::now(), error.to_string()));
    }

    /// Whether there was a fault since this was asked last.
    pub(crate) fn take_new(&self) -> bool {
        self.is_new.swap(false, Relaxed)
    }

    /// The error of the last fault, if it is as recent as this.
    pub(crate) fn within(&self, time: Duration) -> Option<String> {
        self.last().as_ref().filter(|(at, _)| at.elapsed() < time).map(|(_, error)| error.clone())
    }

    fn last(&self) -> std::sync::MutexGuard<'_, Option<(Instant, String)>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
