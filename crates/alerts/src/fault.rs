//! The errors of the alert interface of systems (spec: alerts#proxy-errors).

use bailiwick_alertmanager::{Reject, answer::Unreadable};
use bailiwick_domain::Error;
use bailiwick_outbound::RouterError;
use bailiwick_store::StoreError;

/// The error a system receives instead of a result; the texts here are for the log.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The request is wrong, by the service's or the router's check: the exact answer.
    #[error("refused with {}: {}", .0.status, .0.render().trim_end())]
    Rejected(Reject),
    /// 408 `request body timed out`.
    #[error("the request body timed out")]
    SlowBody,
    /// 429 `rate limit exceeded`.
    #[error("rate limit exceeded")]
    RateLimited,
    /// 429 `alert limit exceeded`; everything else of the push is stored.
    #[error("alert limit exceeded")]
    AlertLimit,
    /// 429 `silence limit exceeded`.
    #[error("silence limit exceeded")]
    SilenceLimit,
    /// 502 `alerting backend is unavailable`.
    #[error("the alert router cannot be used: {0}")]
    Unavailable(String),
    /// 504 `alerting backend timed out`.
    #[error("the alert router does not answer in time")]
    TimedOut,
    /// 503 `service temporarily unavailable`: the own database cannot be reached or is too busy.
    #[error("the database is unavailable: {0}")]
    Database(String),
    /// 503 `alerting backend is not ready`, to be repeated after this many seconds.
    #[error("the alert router is not ready: {log}")]
    NotReady {
        /// For `Retry-After`.
        retry_after_secs: u64,
        /// The part that is not ready.
        log: String,
    },
    /// 503 `alerting backend is not ready`, to be repeated after 15 s: the tenant does not run at the remote router.
    /// Use cases that have another answer convert this error (spec: alerts#waiting-tenants).
    #[error("the tenant does not run at the alert router")]
    UnknownTenant,
    /// 500 `internal server error`.
    #[error("internal: {0}")]
    Internal(String),
}

impl From<Reject> for Fault {
    fn from(reject: Reject) -> Fault {
        Fault::Rejected(reject)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        match error {
            Error::Unavailable { log, .. } => Fault::not_ready(log),
            other => Fault::Internal(other.to_string()),
        }
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Fault {
        // When this process closes the database, nothing is wrong with it.
        if error.is_closed() {
            return Fault::not_ready(error.to_string());
        }
        if error.is_transient() {
            return Fault::Database(error.to_string());
        }
        Fault::Internal(error.to_string())
    }
}

impl From<Unreadable> for Fault {
    fn from(error: Unreadable) -> Fault {
        Fault::Unavailable(error.to_string())
    }
}

impl From<RouterError> for Fault {
    fn from(error: RouterError) -> Fault {
        match error {
            RouterError::Refused(reject) => Fault::Rejected(reject),
            RouterError::TimedOut => Fault::TimedOut,
            RouterError::UnknownTenant => Fault::UnknownTenant,
            RouterError::NotReady(log) => Fault::not_ready(log),
            RouterError::Unavailable(log) | RouterError::Config(log) | RouterError::Rejected(log) => {
                Fault::Unavailable(log)
            }
        }
    }
}

impl Fault {
    /// 503 for a short overload.
    pub fn not_ready(log: impl Into<String>) -> Fault {
        Fault::NotReady { retry_after_secs: 5, log: log.into() }
    }
}
