//! Client of Logto's Management API (spec: logto#calls). The only requests are those of [`calls`]; [`transport`] has
//! the token, the waits when Logto limits requests, and the bounds. Errors of Logto are only passed on as a
//! [`LogtoRefusal`], which has codes and no texts.

mod calls;
mod refusal;
mod transport;
mod wire;

pub use refusal::LogtoRefusal;
pub use wire::{
    Account, Application, ApplicationClient, Branding, ConsentScopes, Domain, LogtoOrganizationFields,
    LogtoUserFields, Named, SignInExperience,
};

use crate::issuer::{IssuerError, exchange::Connections};
use bailiwick_domain::{Clock, Entropy, Ts};
use std::{fmt, sync::Arc, time::Duration};
use tokio::sync::Mutex;

/// The address of the Management API and the limits of its use.
#[derive(Clone)]
pub struct Access {
    /// Base address without a trailing slash.
    pub base: String,
    /// The token endpoint.
    pub token_url: String,
    /// The resource that the token is for.
    pub resource: String,
    /// The machine-to-machine application.
    pub id: String,
    pub secret: String,
    /// First wait after 429 without `Retry-After`; it doubles.
    pub pace: Duration,
    /// Time for one request.
    pub timeout: Duration,
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").field("base", &self.base).field("id", &self.id).finish_non_exhaustive()
    }
}

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogtoError {
    /// Not reached, overloaded, or an unreadable answer; to be retried.
    Away(IssuerError),
    /// Logto limits requests until this time, which is too long to wait for.
    Later(Ts),
    /// There is no such object (404).
    Missing,
    /// The call does not exist (405): another program or version answers there. This says nothing about the object.
    Unsupported,
    /// Logto refuses; a retry does not help.
    Refused(LogtoRefusal),
}

impl From<IssuerError> for LogtoError {
    fn from(error: IssuerError) -> LogtoError {
        LogtoError::Away(error)
    }
}

impl fmt::Display for LogtoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogtoError::Away(error) => error.fmt(f),
            LogtoError::Later(_) => f.write_str("the identity provider is asked too often"),
            LogtoError::Unsupported => f.write_str("the identity provider does not know the call"),
            LogtoError::Missing => f.write_str("there is no such object at the identity provider"),
            LogtoError::Refused(refusal) => refusal.fmt(f),
        }
    }
}

impl std::error::Error for LogtoError {}

/// The client. Clones share connections and token.
#[derive(Clone)]
pub struct LogtoClient(Arc<Inner>);

struct Inner {
    access: Access,
    connections: Connections,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    token: Mutex<Option<Token>>,
}

/// An access token of the management application.
struct Token {
    text: String,
    until: Ts,
}

impl fmt::Debug for LogtoClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LogtoClient").field(&self.0.access).finish()
    }
}

/// Whether a text can be an identifier of Logto's: it is inserted into addresses.
pub fn is_id(text: &str) -> bool {
    (1..=128).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
}
