//! The configuration of the use cases: plain, checked values and their defaults. The `server` crate fills them.
//!
//! To add a setting, add its field and its default here, and a row that names the field to `config/sections.rs` there.

mod alert_catalogue;
mod alert_limits;
mod alert_router;
mod assets;
mod events;
mod identity;
mod rebranding;
mod second_factor;

use bailiwick_alertmanager::router::SHORT_OUTAGE;
use bailiwick_domain::Pages;
use bailiwick_inventory::Rules;
use bailiwick_outbound::telegram::API as TELEGRAM_API;
use bailiwick_platform::Secret;
use std::{path::PathBuf, sync::Arc, time::Duration};

pub use alert_catalogue::CatalogueEntry;
pub use alert_limits::AlertLimits;
pub use alert_router::{RemoteRouter, Router, RouterKind};
pub use assets::{Assets, Bucket, ImageHome, ObjectLocation};
pub use bailiwick_alertmanager::{
    Limits as ContentLimits, config::Timing, texts::Zone, webhook_target::AllowedHosts,
};
pub use bailiwick_domain::{Language, net::Network};
pub use bailiwick_outbound::mail::{Security, Server as Mail};
pub use events::Events;
pub use identity::{IdentityMode, Issuer, Logto};
pub use rebranding::Rebranding;
pub use second_factor::{SecondFactor, SecondFactorMode};

/// The source that the program was built from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Build {
    /// Version of the service.
    pub version: &'static str,
    /// Commit; `unknown` when the build does not set it.
    pub commit: &'static str,
    /// Time of that commit, RFC 3339, or `unknown`.
    pub time: &'static str,
}

/// All settings.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The source that the program was built from.
    pub build: Build,
    /// Where browsers reach the service, without a trailing slash: `http://127.0.0.1:8080`.
    pub public_url: String,
    /// Address of another user interface than the console, without a trailing slash.
    pub app_url: Option<String>,
    /// The language of texts for people and organizations that name none.
    pub language: Language,
    /// Path of the API in links to it, below [`Settings::app_url`]: `/api`.
    pub api_base_url: String,
    /// Bases under which the API answers; `""` is the root.
    pub base_paths: Vec<String>,
    /// Directory of the web interface, served beside the API.
    pub static_dir: Option<PathBuf>,
    /// Peers whose `X-Forwarded-For` header is trusted.
    pub trusted_proxies: Vec<Network>,
    /// Origins allowed by CORS; empty = off.
    pub cors_origins: Vec<String>,
    /// At least 32 bytes; every key of the service is derived from it.
    pub secret: Secret<Vec<u8>>,
    /// The secret before the last rotation, still accepted.
    pub previous_secret: Option<Secret<Vec<u8>>>,
    /// The user created at the first start.
    pub owner: Owner,
    /// Session tokens.
    pub tokens: Tokens,
    /// The identity provider that authenticates people.
    pub identity: IdentityMode,
    /// Embedded identity provider; its clients of third parties are the catalogue of every mode.
    pub provider: Provider,
    /// Impersonation of users with their consent.
    pub impersonation: Impersonation,
    /// Systems.
    pub systems: Systems,
    /// Alerting.
    pub alerting: Alerting,
    /// Limits against guessing and overload.
    pub limits: Limits,
    /// The web console.
    pub console: Console,
    /// Outgoing mail; none = no mails are written.
    pub mail: Option<Mail>,
    /// Objects outside the database.
    pub assets: Assets,
    /// Rebranding.
    pub rebranding: Rebranding,
    /// Events for other software.
    pub events: Events,
}

/// The web console.
#[derive(Clone, Debug)]
pub struct Console {
    /// Whether there is one.
    pub enabled: bool,
    /// Its client at an external issuer; without one, the console has no sign-in there.
    pub client_id: Option<String>,
    /// The secret of that client; none = it has none.
    pub client_secret: Option<Secret<String>>,
}

/// The user that the first start creates.
#[derive(Clone, Debug)]
pub struct Owner {
    /// Sign-in address.
    pub email: String,
    /// None = a generated one is printed once.
    pub password: Option<Secret<String>>,
    /// Their name.
    pub name: String,
    /// Name of the owner organization.
    pub organization: String,
}

/// Lifetimes and names of the service's own tokens (spec: authentication#service-tokens).
#[derive(Clone, Debug)]
pub struct Tokens {
    /// `iss`.
    pub issuer: String,
    /// `aud`.
    pub audience: String,
    /// Access token.
    pub access: Duration,
    /// Refresh token.
    pub refresh: Duration,
    /// How long a rotated refresh token is still answered (spec: authentication#session-chains).
    pub reuse_grace: Duration,
    /// How old the sign-in of a person may be for sensitive operations; zero = any (spec:
    /// authentication#fresh-sign-in).
    pub fresh_sign_in: Duration,
}

/// Impersonation (spec: impersonation#requests-while-impersonating, authorization#impersonation).
#[derive(Clone, Copy, Debug)]
pub struct Impersonation {
    /// Which users can be impersonated, besides their consent and the rank rule.
    pub scope: ImpersonationScope,
    /// How long ended sessions and their entries are kept.
    pub audit_retention: Duration,
}

/// Where the impersonated user must be in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImpersonationScope {
    /// Anywhere.
    Consent,
    /// The user's organization must be in the impersonator's hierarchy.
    Hierarchy,
}

/// Embedded OpenID provider (spec: openid-provider#endpoints).
#[derive(Clone, Debug)]
pub struct Provider {
    /// Browser login.
    pub login: Duration,
    /// Access token.
    pub access: Duration,
    /// Refresh token.
    pub refresh: Duration,
    /// Authorization code.
    pub code: Duration,
    /// How long a generated password can be used for a first sign-in.
    pub generated_password: Duration,
    /// Which users need more than a password.
    pub second_factor: SecondFactor,
    /// Registered clients; the default one is always there.
    pub clients: Vec<Client>,
    /// Exact redirect URIs of the default client besides those of `public_url` and `app_url`.
    pub redirect_uris: Vec<String>,
    /// Exact addresses after sign-out of the default client besides those of `public_url` and `app_url`.
    pub post_logout_redirect_uris: Vec<String>,
}

/// A client of the embedded provider.
#[derive(Clone, Debug)]
pub struct Client {
    /// `client_id`.
    pub id: String,
    /// SHA-256 (hex) of the secret of a confidential client; none = public.
    pub secret_sha256: Option<String>,
    /// Exact redirect URIs.
    pub redirect_uris: Vec<String>,
    /// Exact addresses after sign-out.
    pub post_logout_redirect_uris: Vec<String>,
    /// First-party clients need no consent and their tokens can be exchanged.
    pub first_party: bool,
    /// The description that users see of a client that is not first-party.
    pub application: Application,
}

/// A third-party application as people see it (spec: openid-provider#third-party-applications).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Application {
    /// Name; the client's id unless set.
    pub name: Option<String>,
    /// One line about it.
    pub description: String,
    /// Shown in the place of the name.
    pub display_name: Option<String>,
    /// Where it is opened; none = an authorization request at this provider.
    pub login_url: Option<String>,
    /// The scopes of that request; none = `openid profile email`.
    pub scope: Option<String>,
    /// A page with more information about it.
    pub info_url: Option<String>,
    /// Logo on a light ground.
    pub logo_url: Option<String>,
    /// Logo on a dark ground.
    pub dark_logo_url: Option<String>,
    /// Which users see it; none = no user.
    pub access_control: Option<AccessControl>,
}

/// The users who may use a third-party application: every list that is not empty must match, and one must not be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AccessControl {
    /// Ids of organizations.
    pub organization_ids: Vec<String>,
    /// Organization roles in any case.
    pub organization_roles: Vec<String>,
    /// Names of user roles in any case; they count only without `user_role_ids`.
    pub user_roles: Vec<String>,
    /// Catalogue keys of user roles; one is enough.
    pub user_role_ids: Vec<String>,
}

/// Systems (spec: systems#conventions).
#[derive(Clone, Debug)]
pub struct Systems {
    /// First part of new system keys.
    pub key_prefix: String,
    /// The one liveness timeout T.
    pub liveness_timeout: Duration,
    /// How often systems are checked for silence.
    pub check_interval: Duration,
    /// How often an alert about a silent system is posted again.
    pub link_alert_refresh: Duration,
    /// How long a completed registration may be repeated from the same address.
    pub registration_repeat: Duration,
    /// Largest inventory document, received and decoded.
    pub inventory_max_bytes: usize,
    /// The most entries of any list in an inventory document.
    pub inventory_list_entries: u32,
    /// Inventory documents of one system in an hour.
    pub inventories_per_hour: u32,
    /// The longest wait of a heartbeat for its commit. No setting changes it: only tests wait longer.
    pub heartbeat_wait: Duration,
    /// The longest wait of an inventory document for room and commit. No setting changes it, as above.
    pub inventory_wait: Duration,
    /// The most applications of one system, those that it no longer reports included.
    pub applications: u32,
    /// The meaning of inventory changes; none: the built-in rules.
    pub inventory_rules: Option<Arc<Rules>>,
    /// Ranges that reachability checks may ask although they are not public.
    pub reachability_networks: Vec<Network>,
    /// The most systems whose credentials a process keeps in memory.
    pub credential_cache: u32,
    /// Whether the older paths and the older pairs of systems are of use (spec: systems-interface#older-paths).
    pub legacy_aliases: bool,
}

/// Alerting (spec: alerts#settings).
#[derive(Clone, Debug)]
pub struct Alerting {
    /// Where alerts live.
    pub router: Router,
    /// `{backend}` of the path.
    pub backend_segment: String,
    /// `{alert_router}` of the path.
    pub router_segment: String,
    /// Life of an alert pushed without end.
    pub resolve_timeout: Duration,
    /// Times of all groups of messages.
    pub timing: Timing,
    /// The longest gap without a sign of life of any process that does not count as an outage. After an outage, senders
    /// have time to refresh their alerts. A minute, except where a test moves the clock.
    pub short_outage: Duration,
    /// How long an ended silence can be read.
    pub silence_retention: Duration,
    /// How long resolved alerts, and the records of their handling, are kept.
    pub history_retention: Duration,
    /// Label `managed_by` of alerts the service raises itself.
    pub managed_by: String,
    /// Version the neutral status reports.
    pub reported_version: String,
    /// Time zone of messages.
    pub zone: Zone,
    /// Where a remote router reports resolved alerts; none = it does not.
    pub history_url: Option<String>,
    /// The secret that a remote router presents with its reports; none = every report is refused.
    pub history_secret: Option<Secret<String>>,
    /// Where webhooks may be sent besides public addresses.
    pub allowed_hosts: AllowedHosts,
    /// Whether the embedded router writes to Telegram.
    pub telegram: bool,
    /// Names of alerts that filters offer, in order of the names.
    pub catalogue: Vec<CatalogueEntry>,
    /// The address of Telegram's bot API. No setting changes it: bot tokens are sent elsewhere only in tests.
    pub telegram_api: String,
    /// The address of PagerDuty's Events API in place of those of its regions. No setting changes it, as above.
    pub pagerduty_api: Option<String>,
    /// Whether a remote router knows `msteamsv2_configs`.
    pub remote_teams: bool,
    /// Limits of spec: alerts#limits.
    pub limits: AlertLimits,
}

/// Limits against guessing (spec: conventions#limits, systems-interface#failure-limits).
#[derive(Clone, Debug)]
pub struct Limits {
    /// JSON body of a management call.
    pub body_bytes: usize,
    /// Failed passwords per account and address in `password_window`.
    pub password_failures: u32,
    /// Failed passwords per account, from anywhere.
    pub password_failures_per_account: u32,
    /// Failed passwords per address, of any account.
    pub password_failures_per_address: u32,
    /// Their window.
    pub password_window: Duration,
    /// Memory that the hash of a password takes, in KiB. No setting changes it: hashes cost less only in tests.
    pub password_hash_kib: u32,
    /// Token requests per second and address.
    pub token_requests_per_second: u32,
    /// Burst of token requests.
    pub token_request_burst: u32,
    /// Requests per second and API key.
    pub api_key_requests_per_second: u32,
    /// Burst per API key.
    pub api_key_request_burst: u32,
    /// Requests per second and address to public pictures.
    pub avatar_requests_per_second: u32,
    /// Burst of those.
    pub avatar_request_burst: u32,
    /// Failed system authentications per address and key in a minute.
    pub system_failures: u32,
    /// Mails for a forgotten password per account in an hour.
    pub forgotten_mails: u32,
    /// Requests for such mails per address in an hour.
    pub forgotten_mails_per_address: u32,
    /// Mails that the people of an organization cause in an hour (spec: conventions#limits).
    pub mails_per_organization: u32,
    /// Such mails to one address.
    pub mails_per_recipient: u32,
}

impl Settings {
    /// `iss` of the embedded OpenID provider: `{public_url}/oidc`.
    pub fn provider_issuer(&self) -> String {
        format!("{}/oidc", self.public_url)
    }

    /// The address before the path of links to the API: that of the user interface, which may have an address of its
    /// own.
    pub fn app_url(&self) -> &str {
        self.app_url.as_deref().unwrap_or(&self.public_url)
    }

    /// Where the links of messages lead: to the console, unless it is off or there is another user interface.
    pub fn pages(&self) -> Pages {
        let has_another = self.app_url.is_some() || self.static_dir.is_some();
        match self.console.enabled && !has_another {
            true => Pages::Console(self.public_url.clone()),
            false => Pages::Other(self.app_url().to_owned()),
        }
    }

    /// The documented defaults for a service reached at `public_url`, with this secret.
    pub fn defaults(public_url: &str, secret: Vec<u8>) -> Settings {
        let public_url = public_url.trim_end_matches('/').to_owned();
        let host = url::Url::parse(&public_url).ok().and_then(|u| u.host_str().map(str::to_owned));
        Settings {
            build: Build { version: env!("CARGO_PKG_VERSION"), commit: "unknown", time: "unknown" },
            app_url: None,
            language: Language::default(),
            api_base_url: "/api".to_owned(),
            static_dir: None,
            base_paths: ["", "/api", "/backend/api", "/collect/api"].map(str::to_owned).to_vec(),
            trusted_proxies: Vec::new(),
            cors_origins: Vec::new(),
            secret: Secret::new(secret),
            previous_secret: None,
            owner: Owner {
                email: "owner@bailiwick.example".to_owned(),
                password: None,
                name: "Owner".to_owned(),
                organization: "Owner".to_owned(),
            },
            tokens: Tokens {
                issuer: host.unwrap_or_else(|| "bailiwick".to_owned()),
                audience: format!("{public_url}/api"),
                access: Duration::from_secs(30 * 60),
                refresh: Duration::from_secs(168 * 3600),
                reuse_grace: Duration::from_secs(30),
                fresh_sign_in: Duration::from_secs(600),
            },
            identity: IdentityMode::Embedded,
            provider: Provider {
                login: Duration::from_secs(14 * 86_400),
                access: Duration::from_secs(3600),
                refresh: Duration::from_secs(14 * 86_400),
                code: Duration::from_secs(60),
                generated_password: Duration::from_secs(7 * 86_400),
                second_factor: SecondFactor::default(),
                clients: Vec::new(),
                redirect_uris: Vec::new(),
                post_logout_redirect_uris: Vec::new(),
            },
            impersonation: Impersonation {
                scope: ImpersonationScope::Hierarchy,
                audit_retention: Duration::from_secs(365 * 86_400),
            },
            systems: Systems {
                key_prefix: "SYS".to_owned(),
                liveness_timeout: Duration::from_secs(20 * 60),
                check_interval: Duration::from_secs(15),
                link_alert_refresh: Duration::from_secs(300),
                registration_repeat: Duration::from_secs(120),
                inventory_max_bytes: 10 * 1024 * 1024,
                inventory_list_entries: 20_000,
                inventories_per_hour: 60,
                heartbeat_wait: Duration::from_secs(2),
                inventory_wait: Duration::from_secs(5),
                applications: 2_000,
                inventory_rules: None,
                reachability_networks: Vec::new(),
                credential_cache: 200_000,
                legacy_aliases: false,
            },
            alerting: Alerting {
                router: Router::Embedded,
                backend_segment: "mimir".to_owned(),
                router_segment: "alertmanager".to_owned(),
                resolve_timeout: Duration::from_secs(6 * 3600),
                timing: Timing::default(),
                short_outage: SHORT_OUTAGE,
                silence_retention: Duration::from_secs(120 * 3600),
                // Six months at their longest.
                history_retention: Duration::from_secs(184 * 86_400),
                managed_by: "bailiwick".to_owned(),
                reported_version: "0.34.0".to_owned(),
                zone: Zone::utc(),
                history_url: None,
                history_secret: None,
                allowed_hosts: AllowedHosts::default(),
                telegram: false,
                catalogue: CatalogueEntry::built_in(),
                telegram_api: TELEGRAM_API.to_owned(),
                pagerduty_api: None,
                remote_teams: false,
                limits: AlertLimits::default(),
            },
            limits: Limits {
                body_bytes: 1024 * 1024,
                password_failures: 10,
                password_failures_per_account: 100,
                password_failures_per_address: 100,
                password_window: Duration::from_secs(15 * 60),
                // With two passes over it, what OWASP recommends for argon2id.
                password_hash_kib: 19 * 1024,
                token_requests_per_second: 50,
                token_request_burst: 500,
                api_key_requests_per_second: 10,
                api_key_request_burst: 20,
                avatar_requests_per_second: 10,
                avatar_request_burst: 30,
                system_failures: 20,
                forgotten_mails: 3,
                forgotten_mails_per_address: 20,
                // As many as an imported file has rows.
                mails_per_organization: 1000,
                mails_per_recipient: 10,
            },
            console: Console { enabled: true, client_id: None, client_secret: None },
            mail: None,
            events: Events::default(),
            assets: Assets::default(),
            rebranding: Rebranding::default(),
            public_url,
        }
    }
}
