//! Who proves a person's identity (contract 01 §2.1).

use super::Secret;
use std::time::Duration;

pub use bailiwick_outbound::issuer::Times as IssuerTimes;

/// The mode.
#[derive(Clone, Debug)]
pub enum Identity {
    /// The service itself, under `/oidc`.
    Embedded,
    /// An OpenID Connect issuer.
    Oidc(Box<Issuer>),
}

impl Identity {
    /// Whether people sign in here, with passwords of the service.
    pub const fn is_embedded(&self) -> bool {
        matches!(self, Identity::Embedded)
    }

    /// The issuer where people sign in, if it is not the service.
    pub fn issuer(&self) -> Option<&Issuer> {
        match self {
            Identity::Embedded => None,
            Identity::Oidc(issuer) => Some(issuer),
        }
    }
}

/// An external OpenID Connect issuer and what is accepted of it.
#[derive(Clone, Debug)]
pub struct Issuer {
    /// Its address without a trailing slash.
    pub url: String,
    /// Clients whose tokens open sessions.
    pub client_ids: Vec<String>,
    /// Tokens whose client cannot be learnt are accepted; those of every client where none of the own ones is named.
    pub accept_any_client: bool,
    /// Of which a token's `aud` must have one; none = it is not looked at. Userinfo alone does not tell it.
    pub audiences: Vec<String>,
    /// Id and secret for the introspection endpoint.
    pub introspection: Option<(String, Secret<String>)>,
    /// Whether a verified e-mail links somebody who comes for the first time.
    pub link_by_email: bool,
    /// How long a set of keys counts.
    pub keys_life: Duration,
    /// Time for fetching it.
    pub keys_timeout: Duration,
    /// Time for everything else.
    pub times: IssuerTimes,
    /// Time for all requests that one token makes necessary, shorter than the answer may take.
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
