//! Why the alert interface does not do what a system asks (contract 04 §1.12).

use bailiwick_alerting::{Reject, answer::Unreadable};
use bailiwick_outbound::RouterError;
use bailiwick_store::StoreError;

/// What a system is told instead of a result; texts here are for the log.
#[derive(Debug)]
pub enum Fault {
    /// The request itself is wrong, or the router says so: the exact answer.
    Rejected(Reject),
    /// 408 `request body timed out`.
    SlowBody,
    /// 429 `rate limit exceeded`.
    RateLimited,
    /// 429 `alert limit exceeded`; everything else of the push is stored.
    AlertLimit,
    /// 429 `silence limit exceeded`.
    SilenceLimit,
    /// 502 `alerting backend is unavailable`.
    Unavailable(String),
    /// 504 `alerting backend timed out`.
    TimedOut,
    /// 503 `alerting backend is not ready`, to be repeated after this many seconds.
    NotReady {
        /// For `Retry-After`.
        retry_after_secs: u64,
        /// What is not ready.
        log: String,
    },
    /// The tenant does not run at the remote router. Use cases turn it into what contract 04 §1.13 says.
    UnknownTenant,
    /// 500 `internal server error`.
    Internal(String),
}

impl From<Reject> for Fault {
    fn from(reject: Reject) -> Fault {
        Fault::Rejected(reject)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Fault {
        // Nothing is wrong with the database when it is this process that ends.
        if error.is_closed() {
            return Fault::not_ready(error.to_string());
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
