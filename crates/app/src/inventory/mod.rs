//! Inventory after its acceptance: the worker that makes records of queued documents, and the reads.

mod worker;

pub use worker::{run_until_idle, start_worker};

use crate::{App, systems};
use bailiwick_domain::{Error, Result, SystemId};
use bailiwick_policy::Caller;
use bailiwick_store::inventory;

pub use inventory::Record;

/// A record with its document as stored, one JSON object.
#[derive(Clone, Debug)]
pub struct Latest {
    /// Everything but the document.
    pub record: Record,
    /// Canonical text: in value what was received.
    pub document: String,
}

/// The latest record of a system the caller may read; none when there is none.
pub async fn latest(app: &App, caller: &Caller, id: Option<SystemId>) -> Result<Option<Latest>> {
    let found = systems::load(app, caller, id).await?;
    let Some(mut record) = inventory::latest(&app.db, found.system.id).await? else { return Ok(None) };
    let document = unpack(&std::mem::take(&mut record.body), record.data_size)?;
    Ok(Some(Latest { record, document }))
}

/// The text of a stored body of `size` bytes.
fn unpack(body: &[u8], size: i64) -> Result<String> {
    let size = usize::try_from(size).map_err(Error::internal)?;
    let text = zstd::bulk::decompress(body, size).map_err(Error::internal)?;
    String::from_utf8(text).map_err(Error::internal)
}
