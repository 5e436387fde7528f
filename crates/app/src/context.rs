//! The application: everything a use case reaches, passed as `&App`.

use crate::{
    ahead,
    alerting::{self, Alerting, deliver::connections::Connections},
    api_keys::ApiKeys,
    auth::{self, AddressLimit, Bearers, KeyedLimit, Keys, Lives, Refreshes},
    avatars::Pictures,
    backups::{self, Backups},
    conditions::Conditions,
    credentials::Credentials,
    events,
    exports::Exports,
    external::{self, External},
    images::Images,
    ingest::Ingest,
    inventory, jobs,
    kept::Kept,
    links,
    mail::{self, Outbox},
    metrics::Metrics,
    mirror::{self, Mirror},
    passwords::Passwords,
    rebranding::Rebranding,
    retention,
    secrets::Given,
    settings::Settings,
    site::Site,
    systems::{self, Clearing},
};
use bailiwick_domain::{Clock, Entropy, Error, Result, Ts, UserId, id::uuid_v7};
use bailiwick_outbound::{reach::Reach, webhook::Webhooks};
use bailiwick_policy::Catalogue;
use bailiwick_store::Db;
use std::{
    ops::Deref,
    sync::{Arc, OnceLock},
};
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
    pub catalogue: Arc<Catalogue>,
    /// Every key, derived from the configured secret.
    pub keys: Keys,
    /// Fingerprints of the configured secrets.
    pub given: Given,
    /// Hashing turns and the memory of failed passwords.
    pub passwords: Passwords,
    /// External identity provider, where people sign in at one.
    pub(crate) external: Option<External>,
    /// Users and organizations at a Logto tenant, in that mode.
    pub(crate) mirror: Option<Mirror>,
    /// How many exports may be made and sent at once.
    pub exports: Exports,
    /// Answers made from whole trees.
    pub kept: Kept,
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
    /// Looks webhooks up and calls them.
    pub webhooks: Webhooks,
    /// How many calls there are at once.
    pub(crate) connections: Connections,
    /// Storage of backups and what bounds its use.
    pub backups: Backups,
    /// Images read of a bucket or often.
    pub images: Images,
    /// Known products and turns at uploads.
    pub rebranding: Rebranding,
    /// Clears up behind systems that have moved.
    pub(crate) clearing: Clearing,
    /// Mails that wait.
    pub(crate) outbox: Outbox,
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
    /// Names this process among those that share the database.
    instance: OnceLock<uuid::Uuid>,
    /// What is counted of requests, and what was last seen of the work that waits.
    pub metrics: Metrics,
    /// Start of the process.
    pub started_at: Ts,
    /// Events on their way to subscribers.
    pub deliveries: events::deliver::Deliveries,
    /// Events as they happen.
    pub streams: events::stream::Streams,
    /// Background tasks, drained at shutdown.
    pub tasks: TaskTracker,
    /// The process has been asked to end: it still answers, but nobody should come any more.
    pub leaving: CancellationToken,
    /// Tells background tasks to end.
    pub stop: CancellationToken,
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
        let previous = settings.previous_secret.as_ref().map(|secret| secret.reveal().as_slice());
        let keys = Keys::derive(settings.secret.reveal(), previous)?;
        let given = Given::of(settings.secret.reveal(), previous)?;
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
            keys,
            given,
            passwords: Passwords::new(),
            pictures: Pictures::new(),
            exports: Exports::default(),
            kept: Kept::default(),
            token_requests,
            avatar_requests,
            api_keys,
            reach: Reach::new(settings.systems.reachability_networks.clone()).map_err(Error::internal)?,
            reachability_checks: KeyedLimit::per_minute(clock.clone(), 10),
            webhooks: Webhooks::new(settings.alerting.allowed_hosts.clone()),
            connections: Connections::default(),
            backups: Backups::new(settings.assets.uploads),
            images: Images::default(),
            rebranding: Rebranding::default(),
            clearing: Clearing::default(),
            outbox: Outbox::default(),
            credentials: OnceLock::new(),
            bearers: OnceLock::new(),
            refreshes: OnceLock::new(),
            ingest: OnceLock::new(),
            site: OnceLock::new(),
            instance: OnceLock::new(),
            metrics: Metrics::default(),
            started_at: clock.now(),
            deliveries: events::deliver::Deliveries::default(),
            streams: events::stream::Streams::default(),
            leaving: CancellationToken::new(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            db,
            clock,
            entropy,
            settings,
            catalogue: Arc::new(catalogue),
        })))
    }

    /// Starts the tasks that run beside the requests, on the tracker that shutdown drains. Once for each process.
    pub async fn start_background(&self) {
        if let Err(e) = jobs::end_old_leases(self).await {
            tracing::warn!(error = %e, "leases of an earlier process cannot be ended; they end by themselves");
        }
        external::start(self);
        auth::start_purging(self);
        events::start(self);
        inventory::start_worker(self);
        links::start_monitor(self);
        ahead::start(self);
        retention::start(self);
        mail::start_worker(self);
        mirror::start(self);
        backups::start_worker(self);
        systems::start_clearing(self);
        alerting::start_background(self);
    }

    /// Whether the process has been asked to end.
    pub fn is_leaving(&self) -> bool {
        self.leaving.is_cancelled() || self.stop.is_cancelled()
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

    /// Names this process among those that share the database.
    pub fn instance(&self) -> uuid::Uuid {
        *self.instance.get_or_init(|| self.fresh())
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
    /// What the client calls itself, cut to a length that can be kept.
    pub user_agent: Option<String>,
    /// The state of an entity that the caller has seen and goes by.
    pub conditions: Conditions,
}
