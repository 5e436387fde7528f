//! Inventory: the durable queue of accepted documents ([`queue`]), the records made of them ([`records`]), the changes
//! between two records ([`diffs`]), and the reads of both.
//!
//! Texts are stored compressed. The body of a record holds its differences from a base: a whole text of the same system
//! that many records share. So a text is read from two rows at most, however long the history is.

pub mod alerts;
pub mod diffs;
pub mod queue;
pub mod reads;
pub mod records;
pub mod retention;
mod senders;
pub mod timeline;

pub use queue::{
    Claimed, Document, Quarantined, QueueState, bodies, claim, enqueue, hold, hold_all, quarantine,
    quarantined, release, remove, replay, retry, state,
};
pub use records::{
    NewRecord, Packed, Record, RecordMeta, Stored, add_base, add_records, latest, latest_of, stored, touch,
};
pub use senders::{Sender, hold_senders};
