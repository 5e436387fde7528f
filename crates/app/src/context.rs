//! The application: everything a use case reaches, passed as `&App`.

use crate::settings::Settings;
use bailiwick_domain::{Clock, Entropy, Ts, id::uuid_v7};
use bailiwick_policy::Catalogue;
use bailiwick_store::Db;
use std::{ops::Deref, sync::Arc};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Cheap to clone; one for each process.
#[derive(Clone)]
pub struct App(Arc<Inner>);

impl Deref for App {
    type Target = Inner;
    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("App")
    }
}

/// What [`App`] holds.
pub struct Inner {
    /// Storage.
    pub db: Db,
    /// The only source of time.
    pub clock: Arc<dyn Clock>,
    /// The only source of randomness.
    pub entropy: Arc<dyn Entropy>,
    /// Settings.
    pub settings: Settings,
    /// Roles.
    pub catalogue: Catalogue,
    /// Start of the process.
    pub started_at: Ts,
    /// Background tasks, drained at shutdown.
    pub tasks: TaskTracker,
    /// Tells background tasks to end.
    pub stop: CancellationToken,
}

impl App {
    /// Now.
    pub fn now(&self) -> Ts {
        self.clock.now()
    }

    /// A fresh UUIDv7.
    pub fn fresh<T: From<uuid::Uuid>>(&self) -> T {
        uuid_v7(&*self.clock, &*self.entropy).into()
    }
}

/// What a use case may know of the request it serves.
#[derive(Clone, Debug)]
pub struct RequestContext {
    /// `X-Request-Id` of the answer; goes into the audit log.
    pub request_id: String,
    /// The peer, or what a trusted proxy says of it.
    pub client_ip: std::net::IpAddr,
}
