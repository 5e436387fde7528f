//! Inventory documents: the reports of a system about itself, as pure functions of the document.
//!
//! [`Document::accept`] accepts a body, [`Document::canonical`] gives the text to store and hash, [`Document::facts`]
//! the columns of the system, [`Document::applications`] the applications on it, [`Rules::diff`] the changes since the
//! document before it. No I/O and no clock: the caller has the time of receipt and the stored rows. To read something
//! more from documents: read it here from the tree, with [`member`] and [`at`], never failing on a surprise (any JSON
//! object is a document), and add the case to the tests of its module.

#![warn(missing_docs, reason = "other programs could use this crate")]

mod applications;
mod canonical;
mod diff;
mod document;
mod facts;

pub use applications::{Application, administered_at};
pub use canonical::{Canonical, accept, canonical};
pub use diff::{Category, Change, ChangeKind, Diff, MAX_CHANGES, Rules, RulesError, Severity};
pub use document::{Document, Family, ListLimits, MAX_DEPTH, Rejected, at, member};
pub use facts::Facts;
