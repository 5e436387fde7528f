//! The identity provider that authenticates people (spec: authentication#identity-modes, account#password-operations,
//! authentication#environment-names).

use bailiwick_outbound::issuer::Times as IssuerTimes;
use bailiwick_platform::Secret;
use std::time::Duration;

/// The mode.
#[derive(Clone, Debug)]
pub enum IdentityMode {
    /// The service itself, under `/oidc`.
    Embedded,
    /// An OpenID Connect issuer.
    Oidc(Box<Issuer>),
    /// A Logto tenant: an issuer that Logto sync sends users and organizations to.
    Logto(Box<Logto>),
}

impl IdentityMode {
    /// Whether people sign in here, with passwords of the service.
    pub const fn is_embedded(&self) -> bool {
        matches!(self, IdentityMode::Embedded)
    }

    /// Whether a new user gets an account with a password: here, or at a Logto tenant.
    pub const fn makes_accounts(&self) -> bool {
        !matches!(self, IdentityMode::Oidc(_))
    }

    /// The issuer where people sign in, if it is not the service.
    pub fn issuer(&self) -> Option<&Issuer> {
        match self {
            IdentityMode::Embedded => None,
            IdentityMode::Oidc(issuer) => Some(issuer),
            IdentityMode::Logto(logto) => Some(&logto.issuer),
        }
    }

    /// The Logto tenant, if it is one.
    pub fn logto(&self) -> Option<&Logto> {
        match self {
            IdentityMode::Embedded | IdentityMode::Oidc(_) => None,
            IdentityMode::Logto(logto) => Some(logto),
        }
    }

    /// The section of the configuration that is about the issuer, for the operator.
    pub const fn section(&self) -> &'static str {
        match self {
            IdentityMode::Embedded | IdentityMode::Oidc(_) => "identity.oidc",
            IdentityMode::Logto(_) => "identity.logto",
        }
    }
}

/// An external OpenID Connect issuer, and which of its tokens are accepted.
#[derive(Clone, Debug)]
pub struct Issuer {
    /// Its address without a trailing slash.
    pub url: String,
    /// Clients with tokens that open sessions.
    pub client_ids: Vec<String>,
    /// Accept tokens whose client cannot be determined; without any configured own client, accept the tokens of every
    /// client.
    pub accept_any_client: bool,
    /// The audiences of which a token's `aud` must have one; none = `aud` is not checked. Userinfo alone does not
    /// report it.
    pub audiences: Vec<String>,
    /// Id and secret for the introspection endpoint.
    pub introspection: Option<(String, Secret<String>)>,
    /// Whether a verified e-mail address links a user at their first sign-in.
    pub link_by_email: bool,
    /// How long a set of keys counts.
    pub keys_life: Duration,
    /// Time for fetching it.
    pub keys_timeout: Duration,
    /// Time for everything else.
    pub times: IssuerTimes,
    /// Time for all requests needed for one token, shorter than the response may take.
    pub patience: Duration,
}

impl Issuer {
    /// The documented defaults for an issuer and one client.
    pub fn new(url: &str, client_id: &str) -> Issuer {
        Issuer {
            url: url.trim_end_matches('/').to_owned(),
            client_ids: vec![client_id.to_owned()],
            accept_any_client: false,
            audiences: Vec::new(),
            introspection: None,
            link_by_email: true,
            keys_life: Duration::from_secs(300),
            keys_timeout: Duration::from_secs(10),
            times: IssuerTimes::default(),
            patience: Duration::from_secs(25),
        }
    }
}

/// A Logto tenant (spec: authentication#identity-modes, logto#calls).
#[derive(Clone, Debug)]
pub struct Logto {
    /// Its side that signs people in. Introspection uses the management application's credentials.
    pub issuer: Issuer,
    /// Base address of the Management API, without a trailing slash.
    pub management_url: String,
    /// Its resource indicator.
    pub resource: String,
    /// The machine-to-machine application.
    pub app_id: String,
    /// Its secret.
    pub app_secret: Secret<String>,
    /// Custom domain.
    pub domain: Option<String>,
    /// Which of its organizations is the owner organization; none = a new one is created.
    pub owner_organization_id: Option<String>,
    /// Which of its accounts is the first user; none = a new one is created.
    pub owner_user_id: Option<String>,
    /// First wait after the tenant refuses too many requests; it doubles.
    pub pace: Duration,
    /// Time for one request of Logto sync; direct requests have that of the issuer.
    pub timeout: Duration,
}

impl Logto {
    /// The documented defaults for an issuer `https://<tenant>/oidc` and the management application.
    pub fn new(issuer: Issuer, app_id: &str, app_secret: &str) -> Logto {
        let base = format!("{}/api", issuer.url.trim_end_matches("/oidc"));
        let secret = Secret::new(app_secret.to_owned());
        Logto {
            issuer: Issuer { introspection: Some((app_id.to_owned(), secret.clone())), ..issuer },
            resource: base.clone(),
            management_url: base,
            app_id: app_id.to_owned(),
            app_secret: secret,
            domain: None,
            owner_organization_id: None,
            owner_user_id: None,
            pace: Duration::from_millis(500),
            timeout: Duration::from_secs(30),
        }
    }
}
