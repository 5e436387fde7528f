//! The text shown in place of a secret.

use serde::{Serialize, Serializer};
use serde_saphyr::SingleQuoted;

/// The text shown in place of a secret.
pub const REDACTED: &str = "[REDACTED]";

/// A secret; its hidden form has one spelling, `'[REDACTED]'`.
pub(crate) fn secret<S: Serializer>(value: &str, s: S) -> Result<S::Ok, S::Error> {
    if value == REDACTED { SingleQuoted(value).serialize(s) } else { s.serialize_str(value) }
}
