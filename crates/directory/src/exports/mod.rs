//! Exports (spec: users#export, organizations#stats, systems#export): the rows of a list as one CSV or PDF file.
//!
//! A CSV has no upper bound. It is made in portions ([`portions`]), each from one short walk through the list, when the
//! client has taken the portion before: a client that stops reading holds no connection to the database, and memory
//! holds one portion. A PDF is laid out as a whole, because each page says how many pages there are. So its rows and
//! bytes are limited ([`MOST_IN_PDF`]), and it is drawn off the request threads.
//!
//! The number of files that exist at once is limited too, including those that wait to be made and those still on their
//! way to a client ([`Exports`]); one organization may have a quarter of these.

mod admission;
mod fonts;
mod portions;
mod rows;

pub use admission::ExportPermit;
pub use rows::{organizations, users};

use crate::Directory;
use admission::ExportPermits;
use bailiwick_domain::{Error, Keywords, OrgId, Result, Ts};
use bailiwick_export::{Cover, Faces, Fault, MAX_BYTES};
use bailiwick_platform::limits::acquire_within;
use bailiwick_policy::Caller;
use bailiwick_store::{
    StoreError,
    walk::{Step, WalkStep},
};
use bytes::Bytes;
use futures_util::stream::BoxStream;
use serde_json::json;
use std::{fmt, sync::Arc, time::Duration};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Most rows of a PDF (spec: imports-and-exports#pdf).
const MOST_IN_PDF: u64 = 10_000;
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

/// Permission to make a file: a slot for the file, and a permit to render it.
pub struct Admission {
    slot: ExportPermit,
    rendering_permit: OwnedSemaphorePermit,
    turns: Arc<Semaphore>,
}

impl Exports {
    /// Waits for a slot and a permit to render.
    ///
    /// # Errors
    /// 503 while too many exports are made or sent.
    pub async fn admit(&self, caller: &Caller) -> Result<Admission> {
        let organization = caller.org().ok_or_else(|| Error::unauthenticated("authentication required"))?;
        let slot = self.places.take(organization.id)?;
        let permit = self.turns.clone().acquire_owned();
        let rendering_permit =
            acquire_within(permit, LONGEST_WAIT, "exports before this one take too long").await?;
        Ok(Admission { slot, rendering_permit, turns: self.turns.clone() })
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

/// A file that is made.
#[derive(Debug)]
pub struct File {
    /// For `Content-Disposition`.
    pub name: String,
    /// Kind.
    pub format: Format,
    /// Content; its place is free again once the last byte is gone.
    pub content: Content,
}

/// What a file consists of.
pub enum Content {
    /// All of it.
    Whole(Bytes),
    /// Portions, each made when the one before it was taken. An error breaks the file off.
    Portions(BoxStream<'static, Result<Bytes>>),
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Content")
    }
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
pub struct ListName {
    /// For titles: `Customers`.
    pub noun: &'static str,
    /// For texts and file names: `customers`.
    pub plural: &'static str,
}

/// What a read gives.
pub type Stored<T> = std::result::Result<T, StoreError>;
/// Bytes of a file.
pub type Written = std::result::Result<Vec<u8>, Fault>;

/// The rows of an export and their form.
pub trait Source: Send + Sync + 'static {
    /// A row as it is read.
    type Line: Send + 'static;

    /// The next rows.
    fn read(&self, step: Step) -> impl Future<Output = Stored<WalkStep<Self::Line>>> + Send;

    /// How many rows there are.
    fn count(&self) -> impl Future<Output = Stored<u64>> + Send;

    /// A part of the CSV; the first one has the header.
    ///
    /// # Errors
    /// Those of writing CSV.
    fn table(&self, lines: Vec<Self::Line>, has_header: bool) -> Written;

    /// The PDF.
    ///
    /// # Errors
    /// As [`bailiwick_export::report::draw`].
    fn report(&self, faces: &Faces, cover: &Cover, lines: Vec<Self::Line>) -> Written;
}

fn too_many(n: u64, kind: ListName) -> Error {
    Error::BadRequest {
        message: format!(
            "too many {} to export ({n}). maximum allowed: {MOST_IN_PDF}. please apply more filters",
            kind.plural
        )
        .into(),
        data: json!({"total_count": n, "max_limit": MOST_IN_PDF}),
    }
}

fn too_large(kind: ListName) -> Error {
    Error::BadRequest {
        message: format!("{} too large to export. please apply more filters", kind.plural).into(),
        data: json!({"max_bytes": MAX_BYTES}),
    }
}

/// Makes the file: a CSV portion by portion, a PDF as a whole.
///
/// # Errors
/// 400 for a PDF with too many rows or too large, 503 while too many exports are made or sent.
pub async fn export<S: Source>(
    service: &Directory,
    caller: &Caller,
    (kind, format): (ListName, Format),
    filters: Vec<(String, String)>,
    source: S,
) -> Result<File> {
    let admission = service.exports.admit(caller).await?;
    let name = format!("{}_export_{}.{}", kind.plural, stamp(service.platform.now()), format.extension());
    let content = match format {
        Format::Csv => portions::content(admission, source).await?,
        Format::Pdf => Content::Whole(report(service, caller, kind, filters, admission, source).await?),
    };
    Ok(File { name, format, content })
}

async fn report<S: Source>(
    service: &Directory,
    caller: &Caller,
    kind: ListName,
    filters: Vec<(String, String)>,
    Admission { slot, rendering_permit, .. }: Admission,
    source: S,
) -> Result<Bytes> {
    let all = Step { after: None, rows: MOST_IN_PDF, bytes: Some(MAX_BYTES / 2) };
    let rows = match source.read(all).await {
        Ok(WalkStep { rows, next: None }) => rows,
        Ok(_) => return Err(too_many(source.count().await?, kind)),
        Err(StoreError::TooHeavy) => return Err(too_large(kind)),
        Err(e) => return Err(e.into()),
    };
    let exported_by = caller.identity().map(|i| (i.name.clone(), i.email.clone())).unwrap_or_default();
    let cover =
        Cover { noun: kind.noun, generated: service.platform.now(), total: rows.len(), filters, exported_by };
    let made = tokio::task::spawn_blocking(move || {
        let faces = Faces::load().map(|faces| faces.with(fonts::Installed));
        let made = faces.and_then(|faces| source.report(&faces, &cover, rows));
        drop(rendering_permit);
        made
    });
    let bytes = made.await.map_err(Error::internal)?.map_err(|fault| match fault {
        Fault::TooLarge => too_large(kind),
        other => Error::internal(other),
    })?;
    Ok(Bytes::from_owner(PermittedBytes(bytes, slot)))
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
    fn a_slot_is_free_again_when_the_file_is_gone() {
        let exports = Exports::default();
        let organization = OrgId(uuid::Uuid::from_u128(1));
        let slot = exports.places.take(organization).unwrap();
        let all = exports.occupy();
        assert_eq!(all.len(), admission::PLACES - 1);
        assert!(matches!(exports.places.take(organization), Err(Error::Unavailable { .. })));
        let bytes = Bytes::from_owner(PermittedBytes(vec![1, 2], slot));
        let copy = bytes.slice(..1);
        drop(bytes);
        assert!(exports.places.permit().is_none());
        drop(copy);
        assert!(exports.places.permit().is_some());
    }
}
