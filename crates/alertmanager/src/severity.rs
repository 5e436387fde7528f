//! The severities that configurations know (spec: alert-configuration#layers).

use serde::{Deserialize, Serialize};

/// Severities in the order of spec: alert-configuration#layers. An alert with any other severity, or none, counts as
/// [`Severity::Info`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// `critical`
    Critical,
    /// `warning`
    Warning,
    /// `info`
    Info,
}

impl Severity {
    /// All of them, in order.
    pub const ALL: [Severity; 3] = [Severity::Critical, Severity::Warning, Severity::Info];

    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Severity::Critical => "critical",
            Severity::Warning => "warning",
            Severity::Info => "info",
        }
    }

    /// From the exact word.
    pub fn parse(word: &str) -> Option<Severity> {
        Severity::ALL.into_iter().find(|s| s.as_str() == word)
    }

    /// The severity that an alert with this label value is treated as.
    pub fn of_label(value: &str) -> Severity {
        Severity::parse(value).unwrap_or(Severity::Info)
    }
}
