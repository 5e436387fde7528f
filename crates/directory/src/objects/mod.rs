//! Object storage: files outside the database, namely backups of systems and, if configured so, images.
//!
//! An object without a row that refers to it is garbage, and a job deletes it. The job is created before the object is
//! written, and removed by the transaction that refers to the object. A transaction that removes the last reference
//! creates the job again. So a crash leaves neither a row without bytes nor bytes that are never removed.

mod deletion;

pub use deletion::{delete_unlisted_backup, run_until_idle, start_worker};

use bailiwick_domain::{Error, ObjectKind, Result};
use bailiwick_outbound::object_storage::{AssetError, AssetStore};
use bailiwick_settings::{ObjectLocation, Settings};
use std::sync::{Arc, OnceLock};
use tokio::sync::{Mutex, Notify};

/// The object storage and the worker that deletes objects.
#[derive(Debug)]
pub struct Objects {
    settings: Arc<Settings>,
    store: OnceLock<AssetStore>,
    /// An object may be waiting for its deletion.
    arrived: Notify,
    /// One worker of this process at a time.
    worker_lock: Mutex<()>,
}

impl Objects {
    pub(crate) fn new(settings: Arc<Settings>) -> Objects {
        Objects { settings, store: OnceLock::new(), arrived: Notify::new(), worker_lock: Mutex::new(()) }
    }

    /// The storage; opened at its first use, so that the service starts while the storage is away.
    ///
    /// # Errors
    /// 503 when none is configured.
    pub fn store(&self) -> Result<&AssetStore> {
        if let Some(store) = self.store.get() {
            return Ok(store);
        }
        let opened = match &self.settings.assets.location {
            ObjectLocation::Nowhere => {
                let message = "backup storage is not configured".into();
                return Err(Error::Unavailable { message, log: "no place for assets".into() });
            }
            ObjectLocation::Files(directory) => AssetStore::files(directory),
            ObjectLocation::Bucket(bucket) => AssetStore::bucket(bucket),
        };
        let opened = opened.map_err(fault)?;
        Ok(self.store.get_or_init(|| opened))
    }

    /// Wakes the worker: there may be an object to delete.
    pub fn wake(&self) {
        self.arrived.notify_one();
    }

    /// Lets nothing be deleted until it is dropped.
    #[doc(hidden)]
    pub async fn hold(&self) -> impl Sized + use<'_> {
        self.worker_lock.lock().await
    }
}

/// The error for a failure of the storage, as the specification words it.
pub fn fault(e: AssetError) -> Error {
    match e {
        AssetError::NotFound => Error::NotFound(ObjectKind::Backup),
        AssetError::Unreachable(log) | AssetError::Damaged(log) => {
            Error::Upstream { message: "backup storage is unavailable".into(), log }
        }
        AssetError::TimedOut => Error::UpstreamTimeout("backup storage timed out".into()),
    }
}
