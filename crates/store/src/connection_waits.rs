//! Measures waits for database connections.

use crate::{StoreError, write_faults::WriteFaults};
use bailiwick_domain::metrics::{Counter, Histogram, WAITS};
use std::{future::Future, pin::Pin, time::Instant};

/// Waits for connections and faults of writing, of all clones of a [`Db`](crate::Db).
#[derive(Debug)]
pub(crate) struct ConnectionWaits {
    pub(crate) read: Histogram,
    pub(crate) write: Histogram,
    pub(crate) failed: Counter,
    pub(crate) faults: WriteFaults,
}

impl Default for ConnectionWaits {
    fn default() -> ConnectionWaits {
        ConnectionWaits {
            read: Histogram::new(&WAITS),
            write: Histogram::new(&WAITS),
            failed: Counter::default(),
            faults: WriteFaults::default(),
        }
    }
}

/// On the heap: every statement's future would carry its size.
type Request<'f, T> = Pin<Box<dyn Future<Output = Result<T, sqlx::Error>> + Send + 'f>>;

impl ConnectionWaits {
    /// Waits for a connection to read with.
    pub(crate) async fn read<T>(&self, request: Request<'_, T>) -> Result<T, sqlx::Error> {
        let began = Instant::now();
        let result = request.await;
        self.note(&self.read, began, result.is_err());
        result
    }

    /// Waits for a transaction to begin.
    pub(crate) async fn write<T>(&self, request: Request<'_, T>) -> Result<T, StoreError> {
        let began = Instant::now();
        let result = request.await;
        self.note(&self.write, began, result.is_err());
        result.map_err(StoreError::from).inspect_err(|e| self.faults.note(e))
    }

    fn note(&self, waits: &Histogram, began: Instant, has_failed: bool) {
        waits.note(began.elapsed());
        if has_failed {
            self.failed.one();
        }
    }
}
