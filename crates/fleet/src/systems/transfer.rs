//! The cleanup job of a system that leaves an organization: it moves to another one, or is destroyed. The transactions
//! of the move or destruction write it; a worker of the `alerts` crate runs it.

use crate::Fleet;
use bailiwick_domain::{Error, OrgId, ReassignmentId, Result, System, SystemId, Ts};
use bailiwick_store::{
    Tx,
    jobs::{self, NewJob},
};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tokio::sync::{Mutex, Notify};

/// Kind of the jobs; keyed by the move, or by the destroyed system.
pub const KIND: &str = "system.moved";
/// After this time no push admitted before the change can still be on its way into the old tenant, which is then
/// cleaned up a last time.
pub(super) const IN_FLIGHT: Duration = Duration::from_secs(120);
/// How long a lease on a system lasts without renewal.
pub const LOCK: Duration = Duration::from_secs(300);

/// Name of the lease that cleanup and move of a system both take, because the cleanup could remove objects that the
/// move needs.
pub fn lock(system: SystemId) -> String {
    format!("clearing:{system}")
}

/// The work that a move or a destruction leaves to the cleanup.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cleanup {
    /// Which move; none: the system is destroyed.
    pub reassignment: Option<ReassignmentId>,
    /// Which system.
    pub system: SystemId,
    /// Its key, which its row may no longer tell.
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

impl Cleanup {
    /// After the destruction of a system at `now`.
    pub(super) fn after_destruction(system: &System, now: Ts) -> Cleanup {
        Cleanup {
            reassignment: None,
            system: system.id,
            system_key: system.system_key.clone(),
            from: system.organization.id,
            originals: Vec::new(),
            copies: Vec::new(),
            settled_at: Some(now.plus(IN_FLIGHT)),
        }
    }
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

/// Enqueues the cleanup for `at`; a second call for the same move or system replaces the job.
pub(super) async fn enqueue(tx: &mut Tx, service: &Fleet, cleanup: Cleanup, at: Ts) -> Result<()> {
    let job = NewJob {
        id: service.platform.fresh(),
        kind: KIND,
        key: Some(cleanup.reassignment.map_or(cleanup.system.0, |id| id.0).to_string()),
        payload: serde_json::to_value(cleanup).map_err(Error::internal)?,
        next_at: at,
        at: service.platform.now(),
    };
    Ok(jobs::enqueue(tx, job).await?)
}
