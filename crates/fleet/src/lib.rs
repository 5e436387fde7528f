//! The systems: registration, heartbeat and inventory, differences, applications and backups.
//!
//! To add a use case, write a function in the module of its resource that takes `&Fleet` and the `Caller`, loads its
//! target, calls `policy::decide`, opens one write transaction, writes the audit row in it and commits.

pub mod applications;
mod attention;
mod backup_objects;
pub mod backups;
pub mod ingest;
pub mod inventory;
pub mod search;
pub mod systems;

pub use attention::{Attention, CriticalChange, attention};

use backups::Backups;
use bailiwick_directory::Directory;
use bailiwick_domain::{Error, Result, SystemId, UserId};
use bailiwick_events::Events;
use bailiwick_identity::Identity;
use bailiwick_outbound::reachability::Reach;
use bailiwick_platform::{Platform, limits::KeyedLimit, shared_read::SharedReads};
use bailiwick_settings::Settings;
use ingest::Ingest;
use std::sync::{Arc, OnceLock};
use systems::transfer::Transfers;

/// Reachability checks of one person in a minute (spec: systems#reachability).
const REACHABILITY_CHECKS: u32 = 10;

/// Systems and their requests. Cloning it is cheap.
#[derive(Clone)]
pub struct Fleet(Arc<Parts>);

bailiwick_platform::service!(Fleet, Parts);

/// The parts of [`Fleet`].
pub struct Parts {
    /// Database, clock, keys and limits.
    pub platform: Platform,
    /// Settings of all services.
    pub settings: Arc<Settings>,
    /// Events and mail.
    pub events: Events,
    /// Sign-in and credentials.
    pub identity: Identity,
    /// Organizations and users.
    pub directory: Directory,
    /// Client that checks whether systems answer.
    pub reach: Reach,
    /// Limit of reachability checks by person.
    pub reachability_checks: KeyedLimit<UserId>,
    /// Limit of inventory documents by system.
    pub inventories: KeyedLimit<SystemId>,
    /// Limits of uploads of backups.
    pub backups: Backups,
    /// Signals that a system has moved to another organization.
    pub transfers: Transfers,
    /// What needs attention, by scope.
    attention: SharedReads<Attention>,
    /// Group commits; started by the first write.
    ingest: OnceLock<Ingest>,
}

impl Fleet {
    /// Puts the parts together. It reads nothing and starts nothing.
    ///
    /// # Errors
    /// Networks of reachability checks that cannot be used.
    pub fn new(directory: Directory) -> Result<Fleet> {
        let settings = &directory.settings;
        let networks = settings.systems.reachability_networks.clone();
        Ok(Fleet(Arc::new(Parts {
            reach: Reach::new(networks).map_err(Error::internal)?,
            reachability_checks: KeyedLimit::per_minute(
                directory.platform.clock.clone(),
                REACHABILITY_CHECKS,
            ),
            inventories: KeyedLimit::per_hour(
                directory.platform.clock.clone(),
                settings.systems.inventories_per_hour,
            ),
            backups: Backups::new(settings.assets.uploads),
            transfers: Transfers::default(),
            attention: SharedReads::default(),
            ingest: OnceLock::new(),
            platform: directory.platform.clone(),
            settings: directory.settings.clone(),
            events: directory.events.clone(),
            identity: directory.identity.clone(),
            directory,
        })))
    }
}

impl Parts {
    /// The group commits of systems' requests.
    pub fn ingest(&self) -> &Ingest {
        self.ingest
            .get_or_init(|| Ingest::start(&self.platform.db, &self.platform.tasks, &self.platform.stop))
    }
}
