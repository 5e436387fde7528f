//! The composition of the service: creates the services of all areas, starts the background work, and holds the parts
//! that belong to no single area: first start, retention, metrics, static files.
//!
//! Use cases are in the crates of their areas: `events`, `identity`, `directory`, `fleet` and `alerts`.

mod background;
pub mod backlog;
pub mod metrics;
pub mod operator;
pub mod retention;
pub mod static_files;

pub use background::LONGEST_WAITS;
pub use bailiwick_policy::{Caller, Catalogue};

use bailiwick_alerts::Alerts;
use bailiwick_directory::Directory;
use bailiwick_domain::{Clock, Entropy, Result};
use bailiwick_events::Events;
use bailiwick_fleet::Fleet;
use bailiwick_identity::Identity;
use bailiwick_platform::{Platform, Secrets, ServiceNames};
use bailiwick_settings::Settings;
use bailiwick_store::Db;
use static_files::StaticFiles;
use std::sync::{Arc, OnceLock};

/// The storage handle, for the process that opens it.
pub mod database {
    pub use bailiwick_store::{
        Db, Options,
        copy_to_postgres::{analyze, analyze_restored, copy_to_postgres},
        lock_file,
    };
}
/// Traces, for the process that starts them.
pub mod traces {
    pub use bailiwick_outbound::traces::{TraceConfig, TraceLayer, Traces, Wanted};
}

/// The question of a command whether the service of this machine answers.
pub mod own_port {
    pub use bailiwick_outbound::own_port::status;
}

/// All services of one process. Cloning it is cheap.
#[derive(Clone)]
pub struct App(Arc<Parts>);

bailiwick_platform::service!(App, Parts);

/// The parts of an [`App`].
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
    /// Systems.
    pub fleet: Fleet,
    /// The alert router.
    pub alerts: Alerts,
    /// Files of the web interface, or why they cannot be served; read by the first call.
    static_files: OnceLock<std::result::Result<Option<Arc<StaticFiles>>, String>>,
}

/// What a type parameter of a handler takes of an `App`.
macro_rules! gives {
    ($($service:ty: $field:ident),*) => {$(
        impl AsRef<$service> for App {
            fn as_ref(&self) -> &$service {
                &self.$field
            }
        }
    )*};
}

gives!(Alerts: alerts, Fleet: fleet, Directory: directory, Identity: identity, Events: events);

impl App {
    /// Puts the services together. It reads nothing and starts nothing.
    ///
    /// # Errors
    /// A secret that is too short (spec: guarantees#identity rule 9), or an alert router's address that cannot be used.
    pub fn new(
        settings: Settings,
        db: Db,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        catalogue: Catalogue,
    ) -> Result<App> {
        let names = ServiceNames {
            public_url: settings.public_url.clone(),
            issuer: settings.tokens.issuer.clone(),
            audience: settings.tokens.audience.clone(),
        };
        let secrets = Secrets {
            present: settings.secret.reveal(),
            previous: settings.previous_secret.as_ref().map(|secret| secret.reveal().as_slice()),
        };
        let platform = Platform::new(names, secrets, db, clock, entropy, catalogue)?;
        let events = Events::new(platform, Arc::new(settings));
        let fleet = Fleet::new(Directory::new(Identity::new(events)?))?;
        let alerts = Alerts::new(fleet)?;
        Ok(App(Arc::new(Parts {
            platform: alerts.platform.clone(),
            settings: alerts.settings.clone(),
            events: alerts.events.clone(),
            identity: alerts.identity.clone(),
            directory: alerts.directory.clone(),
            fleet: alerts.fleet.clone(),
            alerts,
            static_files: OnceLock::new(),
        })))
    }

    /// Files of the web interface; `None` when none are configured.
    ///
    /// # Errors
    /// A text for the operator when they cannot be read.
    pub fn static_files(&self) -> std::result::Result<Option<Arc<StaticFiles>>, String> {
        let open = || {
            self.settings.static_dir.as_deref().map(|dir| StaticFiles::open(dir).map(Arc::new)).transpose()
        };
        self.static_files.get_or_init(open).clone()
    }
}
