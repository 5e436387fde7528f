//! Exports (spec: users#export, organizations#stats, systems#export): the rows of a list as one CSV or PDF file.
//!
//! An answer needs `Content-Length`, so a file is completed before it is sent. Three limits bound the memory: the rows
//! and bytes that are read ([`BOUNDS`]), the bytes that are written, and the number of files that exist at once,
//! including those that wait to be made and those still on their way to a client ([`Exports`]); one organization may
//! have a quarter of these. Rendering runs off the request threads, and a row is dropped as soon as it is written.

mod admission;
mod rows;

pub use admission::ExportPermit;
pub use rows::{organizations, users};

use crate::Directory;
use admission::ExportPermits;
use bailiwick_domain::{Error, Keywords, OrgId, Result, Ts};
use bailiwick_export::{Cover, Faces, Fault, MAX_BYTES};
use bailiwick_platform::limits::acquire_within;
use bailiwick_policy::Caller;
use bailiwick_store::exports::{Bounds, Found};
use bytes::Bytes;
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Most rows of an export (spec: organizations#stats), and most bytes of text in them.
pub const BOUNDS: Bounds = Bounds { rows: 10_000, bytes: MAX_BYTES / 2 };
/// Files being made at once.
const TURNS: usize = 2;
/// How long a request waits to be rendered.
const LONGEST_WAIT: Duration = Duration::from_secs(15);

/// Places for files, and permits to render.
#[derive(Debug)]
pub struct Exports {
    places: ExportPermits,
    turns: Arc<Semaphore>,
}

impl Default for Exports {
    fn default() -> Exports {
        Exports { places: ExportPermits::default(), turns: Arc::new(Semaphore::new(TURNS)) }
    }
}

/// Permission to make a file: a place for the file, and a permit to render it.
pub struct Admission {
    place: ExportPermit,
    turn: OwnedSemaphorePermit,
}

impl Exports {
    /// Waits for a place and a permit to render.
    ///
    /// # Errors
    /// 503 while too many exports are made or sent.
    pub async fn admit(&self, caller: &Caller) -> Result<Admission> {
        let organization = caller.org().ok_or_else(|| Error::unauthenticated("authentication required"))?;
        let place = self.places.take(organization.id)?;
        let permit = self.turns.clone().acquire_owned();
        let turn = acquire_within(permit, LONGEST_WAIT, "exports before this one take too long").await?;
        Ok(Admission { place, turn })
    }

    /// Takes all places, as the same number of slow clients would.
    #[doc(hidden)]
    pub fn occupy(&self) -> Vec<OwnedSemaphorePermit> {
        std::iter::from_fn(|| self.places.permit()).collect()
    }

    /// Takes the places of one organization.
    #[doc(hidden)]
    pub fn occupy_of(&self, organization: OrgId) -> Vec<ExportPermit> {
        std::iter::from_fn(|| self.places.take(organization).ok()).collect()
    }
}

/// Kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `text/csv`.
    Csv,
    /// `application/pdf`.
    Pdf,
}

impl Format {
    /// The words of `format`.
    pub const WORDS: Keywords<Format> = Keywords::of(&[("csv", Format::Csv), ("pdf", Format::Pdf)]);

    /// From `format`, in any case.
    ///
    /// # Errors
    /// 400 when there is none or another one.
    pub fn parse(word: &str) -> Result<Format> {
        Format::WORDS
            .parse_in_any_case(word)
            .ok_or_else(|| Error::bad_request("format parameter required (csv or pdf)"))
    }

    const fn extension(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            Format::Pdf => "pdf",
        }
    }

    /// For `Content-Type`.
    pub const fn media_type(self) -> &'static str {
        match self {
            Format::Csv => "text/csv",
            Format::Pdf => "application/pdf",
        }
    }
}

/// How the export was asked for.
#[derive(Clone, Debug)]
pub struct Asked {
    /// `format` as sent; empty = none.
    pub format: String,
    /// Every filter given, as sent; the PDF names them.
    pub filters: Vec<(String, String)>,
}

/// A finished file.
#[derive(Clone, Debug)]
pub struct File {
    /// For `Content-Disposition`.
    pub name: String,
    /// Kind.
    pub format: Format,
    /// Content; its place is free again once the last copy is gone.
    pub bytes: Bytes,
}

/// Bytes that hold a place.
struct PermittedBytes(Vec<u8>, #[expect(dead_code, reason = "held, never looked at")] ExportPermit);

impl AsRef<[u8]> for PermittedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// The list that is exported.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// For titles: `Customers`.
    pub noun: &'static str,
    /// For texts and file names: `customers`.
    pub plural: &'static str,
}

/// The rows of a read.
///
/// # Errors
/// 400 when there are too many.
pub fn bounded<T>(found: Found<T>, kind: Kind) -> Result<Vec<T>> {
    match found {
        Found::Rows(rows) => Ok(rows),
        Found::TooMany(n) => Err(Error::BadRequest {
            message: format!(
                "too many {} to export ({n}). maximum allowed: {}. please apply more filters",
                kind.plural, BOUNDS.rows
            )
            .into(),
            data: json!({"total_count": n, "max_limit": BOUNDS.rows}),
        }),
        Found::TooHeavy => Err(too_large(kind)),
    }
}

fn too_large(kind: Kind) -> Error {
    Error::BadRequest {
        message: format!("{} too large to export. please apply more filters", kind.plural).into(),
        data: json!({"max_bytes": MAX_BYTES}),
    }
}

/// A file that was asked for and admitted.
pub struct Job {
    /// Of what.
    pub kind: Kind,
    /// Its format.
    pub format: Format,
    /// The filters, for the cover.
    pub filters: Vec<(String, String)>,
    /// The place it takes.
    pub admission: Admission,
}

/// Makes the file of the rows: `table` writes CSV, `report` PDF.
///
/// # Errors
/// 400 when the file becomes too large.
pub async fn render<R: Send + 'static>(
    service: &Directory,
    caller: &Caller,
    job: Job,
    rows: Vec<R>,
    table: impl FnOnce(Vec<R>) -> Result<Vec<u8>, Fault> + Send + 'static,
    report: impl FnOnce(&Faces, &Cover, Vec<R>) -> Result<Vec<u8>, Fault> + Send + 'static,
) -> Result<File> {
    let Job { kind, format, filters, admission: Admission { place, turn } } = job;
    let now = service.now();
    let by = caller.identity().map(|i| (i.name.clone(), i.email.clone())).unwrap_or_default();
    let cover = Cover { noun: kind.noun, generated: now, total: rows.len(), filters, exported_by: by };
    let made = tokio::task::spawn_blocking(move || {
        let made = match format {
            Format::Csv => table(rows),
            Format::Pdf => Faces::load().and_then(|faces| report(&faces, &cover, rows)),
        };
        drop(turn);
        made
    });
    let bytes = made.await.map_err(Error::internal)?.map_err(|fault| match fault {
        Fault::TooLarge => too_large(kind),
        other => Error::internal(other),
    })?;
    let name = format!("{}_export_{}.{}", kind.plural, stamp(now), format.extension());
    Ok(File { name, format, bytes: Bytes::from_owner(PermittedBytes(bytes, place)) })
}

/// `2026-02-26_101530`.
fn stamp(at: Ts) -> String {
    at.rfc3339(0).replace(':', "").replace('T', "_").replace('Z', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_files_by_the_second() {
        assert_eq!(stamp(Ts(1_772_100_930_999_999)), "2026-02-26_101530");
    }

    #[test]
    fn takes_two_formats_in_any_case() {
        assert_eq!(Format::parse("CSV").unwrap(), Format::Csv);
        assert_eq!(Format::parse("pdf").unwrap(), Format::Pdf);
        assert!(Format::parse("").is_err() && Format::parse("xlsx").is_err());
    }

    #[test]
    fn a_place_is_free_again_when_the_file_is_gone() {
        let exports = Exports::default();
        let organization = OrgId(uuid::Uuid::from_u128(1));
        let place = exports.places.take(organization).unwrap();
        let all = exports.occupy();
        assert_eq!(all.len(), admission::PLACES - 1);
        assert!(matches!(exports.places.take(organization), Err(Error::Unavailable { .. })));
        let bytes = Bytes::from_owner(PermittedBytes(vec![1, 2], place));
        let copy = bytes.slice(..1);
        drop(bytes);
        assert!(exports.places.permit().is_none());
        drop(copy);
        assert!(exports.places.permit().is_some());
    }
}
