//! The application: everything a use case reaches, passed as `&App`.

use crate::{
    alerting::Alerting,
    api_keys::ApiKeys,
    auth::{Bearers, Lives, Refreshes},
    avatars::Pictures,
    backups::Backups,
    credentials::Credentials,
    exports::Exports,
    external::External,
    images::Images,
    ingest::Ingest,
    mirror::Mirror,
    passwords::Passwords,
    rebranding::Rebranding,
    site::Site,
    systems::Clearing,
};
use bailiwick_domain::{Clock, Entropy, Error, Result, UserId};
use bailiwick_events::Events;
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

bailiwick_platform::service!(App, Inner, events: Events);

/// The parts of an [`App`]. Those of the [`Platform`] are within reach too.
pub struct Inner {
    /// Events and mail.
    events: Events,
    /// Hashing turns and the memory of failed passwords.
    pub passwords: Passwords,
    /// External identity provider, where people sign in at one.
    pub(crate) external: Option<External>,
    /// Users and organizations at a Logto tenant, in that mode.
    pub(crate) mirror: Option<Mirror>,
    /// How many exports may be made and sent at once.
    pub exports: Exports,
    /// Requests to the token endpoints by client address.
    pub token_requests: AddressLimit,
    /// Turns at decoding pictures.
    pub(crate) pictures: Pictures,
    /// Requests to the public pictures by client address.
    pub avatar_requests: AddressLimit,
    /// Rates and recent notes of personal API keys.
    pub api_keys: ApiKeys,
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
    /// Credentials of systems; started by the first that calls.
    credentials: OnceLock<Credentials>,
    /// Whose access tokens are; started by the first that is shown.
    bearers: OnceLock<Bearers>,
    /// Sessions that go on; started by the first that does.
    refreshes: OnceLock<Refreshes>,
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
        let events = Events::new(platform, settings.clone());
        let limits = &settings.limits;
        let token_requests =
            AddressLimit::new(clock.clone(), limits.token_requests_per_second, limits.token_request_burst);
        let avatar_requests =
            AddressLimit::new(clock.clone(), limits.avatar_requests_per_second, limits.avatar_request_burst);
        let api_keys = ApiKeys::new(clock.clone(), limits);
        let alerting = Alerting::new(&settings, &clock)?;
        let external = External::new(&settings.identity)?;
        let mirror = Mirror::new(&settings.identity, &clock, &entropy)?;
        Ok(App(Arc::new(Inner {
            alerting,
            external,
            mirror,
            passwords: Passwords::new(),
            pictures: Pictures::new(),
            exports: Exports::default(),
            token_requests,
            avatar_requests,
            api_keys,
            reach: Reach::new(settings.systems.reachability_networks.clone()).map_err(Error::internal)?,
            reachability_checks: KeyedLimit::per_minute(clock.clone(), 10),
            backups: Backups::new(settings.assets.uploads),
            images: Images::default(),
            rebranding: Rebranding::default(),
            clearing: Clearing::default(),
            credentials: OnceLock::new(),
            bearers: OnceLock::new(),
            refreshes: OnceLock::new(),
            ingest: OnceLock::new(),
            site: OnceLock::new(),
            events,
        })))
    }

    /// What is known of the credentials of systems.
    pub fn credentials(&self) -> &Credentials {
        let limit = self.settings.limits.system_failures;
        self.credentials.get_or_init(|| Credentials::start(&self.db, &self.tasks, &self.stop, limit))
    }

    /// Whose access tokens are.
    pub(crate) fn bearers(&self) -> &Bearers {
        self.bearers.get_or_init(|| Bearers::start(&self.db, &self.catalogue, &self.tasks, &self.stop))
    }

    /// Sessions that go on.
    pub(crate) fn refreshes(&self) -> &Refreshes {
        let tokens = &self.settings.tokens;
        let lives = Lives { refresh: tokens.refresh, grace: tokens.reuse_grace };
        self.refreshes.get_or_init(|| Refreshes::start(&self.db, lives, &self.tasks, &self.stop))
    }

    /// How many sign-ins of systems were refused after too many failures. Starts nothing.
    pub(crate) fn refused_credentials(&self) -> u64 {
        self.credentials.get().map_or(0, |credentials| credentials.failures.refused())
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
