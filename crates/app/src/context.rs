//! The application: everything a use case reaches, passed as `&App`.

use crate::{
    alerting::Alerting, avatars::Pictures, backups::Backups, exports::Exports, images::Images,
    ingest::Ingest, rebranding::Rebranding, site::Site, systems::Clearing,
};
use bailiwick_domain::{Clock, Entropy, Error, Result, UserId};
use bailiwick_events::Events;
use bailiwick_identity::Identity;
use bailiwick_outbound::reach::Reach;
use bailiwick_platform::{
    Platform, ServiceNames,
    rate_limit::{AddressLimit, KeyedLimit},
};
use bailiwick_policy::Catalogue;
use bailiwick_settings::Settings;
use bailiwick_store::Db;
use std::sync::{Arc, OnceLock};

/// Cheap to clone; one for each process.
#[derive(Clone)]
pub struct App(Arc<Inner>);

bailiwick_platform::service!(App, Inner, identity: Identity);

/// The parts of an [`App`]. Those of the [`Platform`] are within reach too.
pub struct Inner {
    /// Sign-in, sessions and credentials.
    identity: Identity,
    /// How many exports may be made and sent at once.
    pub exports: Exports,
    /// Turns at decoding pictures.
    pub(crate) pictures: Pictures,
    /// Requests to the public pictures by client address.
    pub avatar_requests: AddressLimit,
    /// Asks appliances whether they answer.
    pub reach: Reach,
    /// Reachability checks by person (spec: systems#reachability).
    pub reachability_checks: KeyedLimit<UserId>,
    /// Storage of backups and what bounds its use.
    pub backups: Backups,
    /// Images read of a bucket or often.
    pub images: Images,
    /// Known products and turns at uploads.
    pub rebranding: Rebranding,
    /// Clears up behind systems that have moved.
    pub(crate) clearing: Clearing,
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
        let identity = Identity::new(Events::new(platform, settings.clone()))?;
        let limits = &settings.limits;
        let avatar_requests =
            AddressLimit::new(clock.clone(), limits.avatar_requests_per_second, limits.avatar_request_burst);
        let alerting = Alerting::new(&settings, &clock)?;
        Ok(App(Arc::new(Inner {
            alerting,
            pictures: Pictures::new(),
            exports: Exports::default(),
            avatar_requests,
            reach: Reach::new(settings.systems.reachability_networks.clone()).map_err(Error::internal)?,
            reachability_checks: KeyedLimit::per_minute(clock.clone(), 10),
            backups: Backups::new(settings.assets.uploads),
            images: Images::default(),
            rebranding: Rebranding::default(),
            clearing: Clearing::default(),
            ingest: OnceLock::new(),
            site: OnceLock::new(),
            identity,
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
