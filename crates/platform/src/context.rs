//! The platform: the handles that every use case works with, passed as `&Platform`.

use crate::{
    answer_cache::AnswerCache,
    keys::Keys,
    limits::{ConnectionLimit, shared::SharedLimits},
    metrics::Metrics,
    replica::ReplicaCheck,
    request_hints::RequestHints,
    secrets::SecretFingerprints,
    write_check::WriteCheck,
};
use bailiwick_domain::{Clock, Entropy, Result, Ts, id::uuid_v7};
use bailiwick_policy::Catalogue;
use bailiwick_store::Db;
use std::{
    fmt,
    ops::Deref,
    sync::{Arc, OnceLock},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// The handles of one process. Cloning it is cheap; all clones share the same handles.
#[derive(Clone)]
pub struct Platform(Arc<Parts>);

impl Deref for Platform {
    type Target = Parts;
    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl AsRef<Platform> for Platform {
    fn as_ref(&self) -> &Platform {
        self
    }
}

impl fmt::Debug for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Platform")
    }
}

/// The names under which a process serves. Other processes read them from the database.
#[derive(Clone, Debug)]
pub struct ServiceNames {
    /// Address at which browsers reach the service, without a trailing slash.
    pub public_url: String,
    /// `iss` of the service's own tokens.
    pub issuer: String,
    /// `aud` of the service's own tokens.
    pub audience: String,
}

/// The configured secret, and the one before it while it still opens what it has sealed.
#[derive(Clone, Copy)]
pub struct Secrets<'a> {
    /// The secret.
    pub present: &'a [u8],
    /// The one before it.
    pub previous: Option<&'a [u8]>,
}

// Secrets do not print.
impl fmt::Debug for Secrets<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets")
    }
}

/// The parts of a [`Platform`].
pub struct Parts {
    /// Database.
    pub db: Db,
    /// The only source of time.
    pub clock: Arc<dyn Clock>,
    /// The only source of randomness.
    pub entropy: Arc<dyn Entropy>,
    /// Roles.
    pub catalogue: Arc<Catalogue>,
    /// Names under which this process serves.
    pub names: ServiceNames,
    /// Every key, derived from the configured secret.
    pub keys: Keys,
    /// Fingerprints of the configured secrets.
    pub fingerprints: SecretFingerprints,
    /// Answers computed from whole trees.
    pub answers: AnswerCache,
    /// Whether reads can come from the replica.
    pub replica_check: ReplicaCheck,
    /// Limit of the outgoing connections to webhooks and chats.
    pub connections: ConnectionLimit,
    /// Counters of requests, and the last look at waiting work.
    pub metrics: Metrics,
    /// Whether the database can be written.
    pub write_check: WriteCheck,
    /// What requests have shown of a wrong configuration.
    pub request_hints: RequestHints,
    /// Start of the process.
    pub started_at: Ts,
    /// Background tasks. The shutdown waits for them.
    pub tasks: TaskTracker,
    /// Cancelled when the process is asked to end: it still answers, but reports that it is not ready.
    pub leaving: CancellationToken,
    /// Cancelled to end the background tasks.
    pub stop: CancellationToken,
    /// Id of this process among those that share the database; made at its first use.
    instance: OnceLock<uuid::Uuid>,
    /// Counts of limits that all processes share; started by the first one.
    shared_limits: OnceLock<SharedLimits>,
}

impl Platform {
    /// Puts the parts together. It reads nothing and starts nothing.
    ///
    /// # Errors
    /// A secret is too short (spec: guarantees#identity rule 9).
    pub fn new(
        names: ServiceNames,
        secrets: Secrets<'_>,
        db: Db,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        catalogue: Catalogue,
    ) -> Result<Platform> {
        Ok(Platform(Arc::new(Parts {
            keys: Keys::derive(secrets.present, secrets.previous)?,
            fingerprints: SecretFingerprints::of(secrets.present, secrets.previous)?,
            answers: AnswerCache::default(),
            replica_check: ReplicaCheck::default(),
            connections: ConnectionLimit::default(),
            metrics: Metrics::default(),
            write_check: WriteCheck::default(),
            request_hints: RequestHints::default(),
            started_at: clock.now(),
            tasks: TaskTracker::new(),
            leaving: CancellationToken::new(),
            stop: CancellationToken::new(),
            instance: OnceLock::new(),
            shared_limits: OnceLock::new(),
            catalogue: Arc::new(catalogue),
            db,
            clock,
            entropy,
            names,
        })))
    }
}

impl Parts {
    /// The present time.
    pub fn now(&self) -> Ts {
        self.clock.now()
    }

    /// A fresh UUIDv7.
    pub fn fresh<T: From<uuid::Uuid>>(&self) -> T {
        uuid_v7(&*self.clock, &*self.entropy).into()
    }

    /// Id of this process among those that share the database.
    pub fn instance(&self) -> uuid::Uuid {
        *self.instance.get_or_init(|| self.fresh())
    }

    /// Counts of limits that all processes share.
    pub(crate) fn shared_limits(&self) -> &SharedLimits {
        self.shared_limits.get_or_init(|| SharedLimits::start(&self.db, &self.clock, &self.tasks, &self.stop))
    }

    /// Whether the process was asked to end.
    pub fn is_leaving(&self) -> bool {
        self.leaving.is_cancelled() || self.stop.is_cancelled()
    }
}
