//! The application: everything a use case reaches, passed as `&App`.

use crate::{alerting::Alerting, backups::Backups, ingest::Ingest, site::Site, systems::transfer::Transfers};
use bailiwick_directory::Directory;
use bailiwick_domain::{Clock, Entropy, Error, Result, UserId};
use bailiwick_events::Events;
use bailiwick_identity::Identity;
use bailiwick_outbound::reach::Reach;
use bailiwick_platform::{Platform, ServiceNames, rate_limit::KeyedLimit};
use bailiwick_policy::Catalogue;
use bailiwick_settings::Settings;
use bailiwick_store::Db;
use std::sync::{Arc, OnceLock};

/// Cheap to clone; one for each process.
#[derive(Clone)]
pub struct App(Arc<Inner>);

bailiwick_platform::service!(App, Inner, directory: Directory);

/// The parts of an [`App`]. Those of the [`Platform`] are within reach too.
pub struct Inner {
    /// Organizations, users and what belongs to them.
    directory: Directory,
    /// Asks appliances whether they answer.
    pub reach: Reach,
    /// Reachability checks by person (spec: systems#reachability).
    pub reachability_checks: KeyedLimit<UserId>,
    /// Limits of uploads of backups.
    pub backups: Backups,
    /// The signal that a system has gone to another organization.
    pub transfers: Transfers,
    /// Group commits; started by the first that has something to write.
    ingest: OnceLock<Ingest>,
    /// Alert router and its limits.
    alerting: Alerting,
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
        let platform = Platform::new(
            names,
            settings.secret.reveal(),
            previous,
            db,
            clock.clone(),
            entropy.clone(),
            catalogue,
        )?;
        let settings = Arc::new(settings);
        let directory = Directory::new(Identity::new(Events::new(platform, settings.clone()))?);
        let alerting = Alerting::new(&settings, &clock)?;
        Ok(App(Arc::new(Inner {
            alerting,
            reach: Reach::new(settings.systems.reachability_networks.clone()).map_err(Error::internal)?,
            reachability_checks: KeyedLimit::per_minute(clock.clone(), 10),
            backups: Backups::new(settings.assets.uploads),
            transfers: Transfers::default(),
            ingest: OnceLock::new(),
            site: OnceLock::new(),
            directory,
        })))
    }

    /// The group commits of what systems send.
    pub fn ingest(&self) -> &Ingest {
        self.ingest.get_or_init(|| Ingest::start(&self.db, &self.tasks, &self.stop))
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

    /// The alert router and its limits.
    pub fn alerting(&self) -> &Alerting {
        &self.alerting
    }
}
