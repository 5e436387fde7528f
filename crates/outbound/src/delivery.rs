//! The failures of a notification (spec: alert-delivery#routing), common to all transports.

use std::fmt;

/// Why a notification was not delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Whether trying again may help.
    pub may_pass: bool,
    /// For people: words of the service, never of the other side, without secrets.
    pub reason: String,
    /// For the log, without secrets; may quote the other side.
    pub detail: String,
}

impl Failure {
    /// One that may pass.
    pub fn temporary(reason: impl Into<String>, detail: impl fmt::Display) -> Failure {
        Failure { may_pass: true, reason: reason.into(), detail: short(&detail) }
    }

    /// One that is final.
    pub fn permanent(reason: impl Into<String>, detail: impl fmt::Display) -> Failure {
        Failure { may_pass: false, reason: reason.into(), detail: short(&detail) }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reason, self.detail)
    }
}

impl std::error::Error for Failure {}

/// One line of bounded length, whatever the other side sends.
fn short(detail: &dyn fmt::Display) -> String {
    detail.to_string().chars().map(|c| if c.is_control() { ' ' } else { c }).take(300).collect()
}
