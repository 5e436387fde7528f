//! Exports: CSV and PDF of rows that are already read (spec: users#export, organizations#stats, systems#export). Pure:
//! the same rows at the same time give the same bytes.
//!
//! [`table`] writes CSV; [`report`] draws a title block and one card for each row. One file for each kind of row
//! defines the shown values: to add an export, write one that calls both.

pub mod organizations;
pub mod report;
pub mod systems;
pub mod table;
mod text;
pub mod users;

pub use report::{Cover, Faces, MachineFonts, coverage};

/// Most bytes of a finished PDF. Pages show short cuts of each row and stay far below.
pub const MAX_BYTES: usize = 64 * 1024 * 1024;

/// Why there is no file.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The PDF would have more than [`MAX_BYTES`].
    #[error("the export has more than {MAX_BYTES} bytes")]
    TooLarge,
    /// A built-in font cannot be read.
    #[error("the font {0} cannot be read")]
    Font(&'static str),
    /// CSV could not be written.
    #[error("writing CSV: {0}")]
    Csv(#[from] csv::Error),
    /// The PDF could not be put together.
    #[error("writing PDF: {0}")]
    Pdf(String),
}
