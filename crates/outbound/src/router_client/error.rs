//! Why a request to the alert router has no result.

use bailiwick_alertmanager::Reject;
use thiserror::Error;

/// Why a request has no result. The texts are for the log.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RouterError {
    /// The settings cannot be used.
    #[error("alert router settings: {0}")]
    Config(String),
    /// Unreachable, unreadable, or an unexpected answer: 502.
    #[error("alert router unavailable: {0}")]
    Unavailable(String),
    /// No answer in time: 504.
    #[error("alert router timed out")]
    TimedOut,
    /// Not ready, breaker open, too many requests in flight: 503.
    #[error("alert router not ready: {0}")]
    NotReady(String),
    /// The tenant does not run there (spec: alerts#waiting-tenants).
    #[error("the tenant does not run at the alert router")]
    UnknownTenant,
    /// The router refuses a tenant's configuration.
    #[error("alert router refuses the configuration: {0}")]
    Rejected(String),
    /// A POST was refused with a text that the client may see (400, 404 or 422).
    #[error("alert router refused with {}: {}", .0.status, .0.render().trim_end())]
    Refused(Reject),
}

impl RouterError {
    /// One word for traces.
    pub(super) const fn word(&self) -> &'static str {
        match self {
            RouterError::Config(_) => "config",
            RouterError::Unavailable(_) => "unavailable",
            RouterError::TimedOut => "timed_out",
            RouterError::NotReady(_) => "not_ready",
            RouterError::UnknownTenant => "unknown_tenant",
            RouterError::Rejected(_) => "rejected",
            RouterError::Refused(_) => "refused",
        }
    }
}
