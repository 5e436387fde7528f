//! The cleanup job of a system that moves to another organization. The transactions of the move write it; a worker of
//! the `alerts` crate runs it.

use crate::Fleet;
use bailiwick_domain::{Error, OrgId, ReassignmentId, Result, SystemId, Ts};
use bailiwick_store::{
    Tx,
    jobs::{self, NewJob},
};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tokio::sync::{Mutex, Notify};

/// Kind of the jobs; keyed by the move.
pub const KIND: &str = "system.moved";
/// After this time no push admitted before the move can still be on its way into the old tenant, which is then cleaned
/// up a last time.
pub(super) const IN_FLIGHT: Duration = Duration::from_secs(120);
/// How long a lease on a system lasts without renewal.
pub const LOCK: Duration = Duration::from_secs(300);

/// Name of the lease that cleanup and move of a system both take, because the cleanup could remove objects that the
/// move needs.
pub fn lock(system: SystemId) -> String {
    format!("clearing:{system}")
}

/// The work that a move leaves to the cleanup.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cleanup {
    /// Which move.
    pub reassignment: ReassignmentId,
    /// Which system.
    pub system: SystemId,
    /// Its key, should it be destroyed meanwhile.
    pub system_key: String,
    /// The organization it was in.
    pub from: OrgId,
    /// Objects of its backups before the move.
    pub originals: Vec<String>,
    /// Their copies for the other organization.
    pub copies: Vec<String>,
    /// When the old tenant is cleaned up for the last time; none: the move is not committed yet.
    pub settled_at: Option<Ts>,
}

/// The signal that wakes the cleanup worker.
#[derive(Debug, Default)]
pub struct Transfers {
    /// A cleanup may be due.
    pub arrived: Notify,
    /// One worker of this process at a time.
    pub turn: Mutex<()>,
}

impl Transfers {
    /// Says that a cleanup may be due.
    pub(super) fn wake(&self) {
        self.arrived.notify_one();
    }
}

/// Enqueues the cleanup for `at`; a second call for the same move replaces the job.
pub(super) async fn enqueue(tx: &mut Tx, service: &Fleet, cleanup: Cleanup, at: Ts) -> Result<()> {
    let job = NewJob {
        id: service.platform.fresh(),
        kind: KIND,
        key: Some(cleanup.reassignment.to_string()),
        payload: serde_json::to_value(cleanup).map_err(Error::internal)?,
        next_at: at,
        at: service.platform.now(),
    };
    Ok(jobs::enqueue(tx, job).await?)
}
