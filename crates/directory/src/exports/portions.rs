//! CSV files, portion by portion.
//!
//! A portion is read by short statements and written, and only then the next one begins. So memory holds the rows of
//! one portion ([`ROWS`], [`BYTES`]) and their text.

use super::{Admission, Content, ExportPermit, PermittedBytes, Source};
use bailiwick_domain::{Error, Result};
use bailiwick_store::{
    StoreError,
    replica::Reads,
    walk::{Position, Step, WalkStep},
};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Most rows of a portion.
const ROWS: u64 = 1_000;
/// Most bytes of the texts in a portion that clients can make long. A single row is written whatever it has.
const BYTES: usize = 4 * 1024 * 1024;

/// The CSV file. Its first portion is made before anything is sent, so that a fault has its proper answer; a file
/// without further ones is sent as a whole.
///
/// # Errors
/// Those of the first portion.
pub(super) async fn content<S: Source>(admission: Admission, source: S) -> Result<Content> {
    let Admission { slot, rendering_permit, turns } = admission;
    let mut file = Unfinished { source, turns, after: None, rows: ROWS, is_begun: false, is_over: false };
    let first = file.portion().await?;
    drop(rendering_permit);
    if file.is_over {
        return Ok(Content::Whole(Bytes::from_owner(PermittedBytes(first, slot))));
    }
    let begun = (Some(first), file, slot);
    // What is sent later is read from the same database.
    let reads = Reads::of_request();
    let step = move |begun| {
        let reads = reads.clone();
        async move { reads.run(next_portion(begun)).await }
    };
    Ok(Content::Portions(stream::try_unfold(begun, step).boxed()))
}

async fn next_portion<S: Source>(
    (ready, mut file, slot): (Option<Vec<u8>>, Unfinished<S>, ExportPermit),
) -> Result<Option<(Bytes, (Option<Vec<u8>>, Unfinished<S>, ExportPermit))>> {
    if let Some(ready) = ready {
        return Ok(Some((ready.into(), (None, file, slot))));
    }
    if file.is_over {
        return Ok(None);
    }
    let permit = file.turns.clone().acquire_owned().await.map_err(Error::internal)?;
    let portion = file.portion().await.inspect_err(|e| {
        tracing::error!(error = %e, "an export was broken off");
    })?;
    drop(permit);
    Ok(Some((portion.into(), (None, file, slot))))
}

/// A file some portions of which are made.
struct Unfinished<S> {
    source: S,
    turns: Arc<Semaphore>,
    after: Option<Position>,
    /// Rows of the next portion.
    rows: u64,
    is_begun: bool,
    is_over: bool,
}

impl<S: Source> Unfinished<S> {
    async fn portion(&mut self) -> Result<Vec<u8>> {
        let WalkStep { rows, next } = loop {
            let step = Step { after: self.after.clone(), rows: self.rows, bytes: Some(BYTES) };
            match self.source.read(step).await {
                Err(StoreError::TooHeavy) if self.rows > 1 => self.rows = self.rows.div_ceil(4),
                read => break read?,
            }
        };
        let written = self.source.table(rows, !self.is_begun).map_err(Error::internal)?;
        self.is_begun = true;
        self.is_over = next.is_none();
        self.after = next;
        // Smaller portions only where rows are heavy.
        self.rows = self.rows.saturating_mul(2).min(ROWS);
        Ok(written)
    }
}
