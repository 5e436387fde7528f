//! The application: everything a use case reaches, passed as `&App`.

use crate::site::Site;
use bailiwick_alerts::Alerts;
use bailiwick_directory::Directory;
use bailiwick_domain::{Clock, Entropy, Result};
use bailiwick_events::Events;
use bailiwick_fleet::Fleet;
use bailiwick_identity::Identity;
use bailiwick_platform::{Platform, ServiceNames};
use bailiwick_policy::Catalogue;
use bailiwick_settings::Settings;
use bailiwick_store::Db;
use std::sync::{Arc, OnceLock};

/// Cheap to clone; one for each process.
#[derive(Clone)]
pub struct App(Arc<Inner>);

bailiwick_platform::service!(App, Inner, alerts: Alerts);

/// The parts of an [`App`]. Those of the [`Platform`] are within reach too.
pub struct Inner {
    /// Alerts.
    alerts: Alerts,
    /// Files of the web interface, or why they cannot be served; read by the first that asks.
    site: OnceLock<std::result::Result<Option<Arc<Site>>, String>>,
}

impl App {
    /// Puts the parts together. Reads nothing and starts nothing.
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
        let previous = settings.previous_secret.as_ref().map(|secret| secret.reveal().as_slice());
        let platform =
            Platform::new(names, settings.secret.reveal(), previous, db, clock, entropy, catalogue)?;
        let events = Events::new(platform, Arc::new(settings));
        let fleet = Fleet::new(Directory::new(Identity::new(events)?))?;
        Ok(App(Arc::new(Inner { alerts: Alerts::new(fleet)?, site: OnceLock::new() })))
    }

    /// Files of the web interface; `None` when none are configured.
    ///
    /// # Errors
    /// A text for the operator when they cannot be read.
    pub fn site(&self) -> std::result::Result<Option<Arc<Site>>, String> {
        let open =
            || self.settings.static_dir.as_deref().map(|dir| Site::open(dir).map(Arc::new)).transpose();
        self.site.get_or_init(open).clone()
    }
}
