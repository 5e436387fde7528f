//! Inventory after a document was accepted: the worker that makes records from queued documents, and the reads.

mod pack;
mod plan;
mod reads;
mod worker;
mod write;

pub use worker::LONGEST_DELAY;
pub use worker::{run_until_idle, start_worker};

use crate::{Fleet, systems};
use bailiwick_domain::{Result, SystemId};
use bailiwick_policy::Caller;
use bailiwick_store::inventory;

pub use bailiwick_inventory::{Category, ChangeKind, Rules, Severity};
pub use inventory::{
    Quarantined, RecordMeta,
    reads::{DiffFilter, DiffRow, TimeRange},
};
pub use reads::{
    Day, FILTERS, Summary, Timeline, changes, diff_rows, diffs, history, latest_changes, latest_diffs,
    portions, record, texts, time_range, timeline,
};

/// A record with its document as stored, one JSON object.
#[derive(Clone, Debug)]
pub struct Latest {
    /// Everything but the document.
    pub record: RecordMeta,
    /// Canonical text: equal in value to the received document.
    pub document: String,
}

/// The latest record of a system the caller may read; none when there is none.
pub async fn latest(service: &Fleet, caller: &Caller, id: Option<SystemId>) -> Result<Option<Latest>> {
    let found = systems::load(service, caller, id).await?;
    let Some(record) = inventory::latest(&service.platform.db, found.system.id).await? else {
        return Ok(None);
    };
    let document = pack::unpack(&record.text)?;
    Ok(Some(Latest { record: record.meta, document }))
}

/// Entries put aside at one time.
const QUARANTINED_AT_ONCE: i64 = 500;

/// Quarantined documents after that entry; for the operator.
pub async fn quarantined(service: &Fleet, after: i64) -> Result<Vec<Quarantined>> {
    Ok(inventory::quarantined(&service.platform.db, after, QUARANTINED_AT_ONCE).await?)
}

/// Puts quarantined documents back into the queue, one or all, like new ones. Returns their number.
pub async fn replay(service: &Fleet, entry: Option<i64>) -> Result<u64> {
    let mut tx = service.platform.db.begin().await?;
    let count = inventory::replay(&mut tx, entry, service.platform.now()).await?;
    tx.commit().await?;
    Ok(count)
}
