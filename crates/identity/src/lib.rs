//! Identity of callers: sign-in, sessions and tokens of people, API keys, impersonation, and the credentials of
//! systems.
//!
//! To add a use case: a function in the module of its resource that takes `&Identity` and the `Caller`, loads its
//! target, asks `policy::decide`, opens one write transaction, writes the audit row in it and commits.

pub mod api_keys;
pub mod auth;
pub mod callers;
pub mod console;
pub mod credentials;
pub mod factors;
pub mod impersonation;
pub mod logto_sync;
pub mod oidc;
pub mod passwords;
pub mod relying_party;
pub mod third_party;
mod token_requests;

use api_keys::ApiKeys;
use auth::{Refreshes, TokenLifetimes, TokenLookup};
use bailiwick_domain::{Error, Result};
use bailiwick_events::Events;
use bailiwick_outbound::issuer::IssuerError;
use bailiwick_platform::{Platform, limits::unavailable};
use bailiwick_settings::Settings;
use credentials::Credentials;
use logto_sync::LogtoSync;
use passwords::Passwords;
use relying_party::RelyingParty;
use std::sync::{Arc, OnceLock};
pub use token_requests::{TokenRequest, TokenRequests};

/// Sign-in, sessions, tokens and credentials. Cloning it is cheap.
#[derive(Clone)]
pub struct Identity(Arc<Parts>);

bailiwick_platform::service!(Identity, Parts);

/// The parts of [`Identity`].
pub struct Parts {
    /// Database, clock, keys and limits.
    pub platform: Platform,
    /// Settings of all services.
    pub settings: Arc<Settings>,
    /// Events and mail.
    pub events: Events,
    /// Password hashing, and the memory of failed passwords.
    pub passwords: Passwords,
    /// The external identity provider, if people sign in there.
    pub(crate) external: Option<RelyingParty>,
    /// Logto sync of users and organizations, in that mode.
    pub logto: Option<LogtoSync>,
    /// Limit of requests to the token endpoints by client address.
    pub token_requests: TokenRequests,
    /// Rates and recent uses of personal API keys.
    pub api_keys: ApiKeys,
    /// Credentials of systems; started by the first call.
    credentials: OnceLock<Credentials>,
    /// Lookups of access tokens; started by the first one.
    bearers: OnceLock<TokenLookup>,
    /// Refreshes of sessions; started by the first one.
    refreshes: OnceLock<Refreshes>,
}

impl Identity {
    /// Assembles the parts. It reads no data and starts no task.
    ///
    /// # Errors
    /// An external identity provider whose settings cannot be used.
    pub fn new(events: Events) -> Result<Identity> {
        let (settings, clock) = (&events.settings, &events.platform.clock);
        let limits = &settings.limits;
        Ok(Identity(Arc::new(Parts {
            passwords: Passwords::new(limits.password_window, limits.password_hash_kib)?,
            external: RelyingParty::new(&settings.identity)?,
            logto: LogtoSync::new(&settings.identity, clock, &events.platform.entropy)?,
            token_requests: TokenRequests::new(
                clock.clone(),
                limits.token_requests_per_second,
                limits.token_request_burst,
            ),
            api_keys: ApiKeys::new(clock.clone(), limits, settings.alerting.limits.silences_per_system),
            credentials: OnceLock::new(),
            bearers: OnceLock::new(),
            refreshes: OnceLock::new(),
            platform: events.platform.clone(),
            settings: settings.clone(),
            events,
        })))
    }
}

impl Parts {
    /// Cached credentials of systems, and their failures.
    pub fn credentials(&self) -> &Credentials {
        let limits = (self.settings.systems.credential_cache, self.settings.limits.system_failures);
        self.credentials.get_or_init(|| {
            Credentials::start(&self.platform.db, &self.platform.tasks, &self.platform.stop, limits)
        })
    }

    /// Lookups of access tokens.
    pub(crate) fn bearers(&self) -> &TokenLookup {
        self.bearers.get_or_init(|| {
            TokenLookup::start(
                &self.platform.db,
                &self.platform.catalogue,
                &self.platform.tasks,
                &self.platform.stop,
            )
        })
    }

    /// Refreshes of sessions.
    pub(crate) fn refreshes(&self) -> &Refreshes {
        let tokens = &self.settings.tokens;
        let lives = TokenLifetimes { refresh: tokens.refresh, grace: tokens.reuse_grace };
        self.refreshes.get_or_init(|| {
            Refreshes::start(&self.platform.db, lives, &self.platform.tasks, &self.platform.stop)
        })
    }

    /// How many sign-ins of systems were refused after too many failures. Starts nothing.
    pub fn refused_credentials(&self) -> u64 {
        self.credentials.get().map_or(0, |credentials| credentials.failures.refused())
    }
}

/// A failure of an identity provider, in the texts of spec: authentication#exchange.
pub(crate) fn upstream(error: IssuerError) -> Error {
    match error {
        IssuerError::Unreachable(log) | IssuerError::NotConnected(log) => {
            Error::Upstream { message: "identity provider unreachable".into(), log }
        }
        IssuerError::TimedOut => Error::UpstreamTimeout("identity provider timeout".into()),
        IssuerError::Busy => unavailable("too many requests to the identity provider"),
    }
}
