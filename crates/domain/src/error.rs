//! The one error type of the use cases. The HTTP layer converts it into an answer at the last step; the log text never
//! reaches a client.

use super::ObjectKind;
use serde_json::Value;
use std::{borrow::Cow, time::Duration};

/// The result of a use case.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// One wrong field (spec: conventions#validation-errors).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// JSON name, dotted when nested.
    pub key: String,
    /// Code that clients translate.
    pub message: String,
    /// The offending value; never a secret. Empty = left out.
    pub value: String,
}

impl FieldError {
    /// A field error without value.
    pub fn new(key: impl Into<String>, message: impl Into<String>) -> FieldError {
        FieldError { key: key.into(), message: message.into(), value: String::new() }
    }

    /// This field error with the offending value.
    #[must_use]
    pub fn with_value(mut self, value: impl Into<String>) -> FieldError {
        self.value = value.into();
        self
    }
}

/// The fields for a log; their values are left out.
fn listed(fields: &[FieldError]) -> String {
    let one = |field: &FieldError| format!("{} ({})", field.key, field.message);
    fields.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Client text of an error; most are fixed.
pub type Text = Cow<'static, str>;

/// All errors, by how the caller can react to them.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// 400 `validation failed` with the fields.
    #[error("validation failed: {}", listed(.0))]
    Invalid(Vec<FieldError>),
    /// 400 with a text of its own and optional keys beside `type` and `errors`.
    #[error("bad request: {message}")]
    BadRequest {
        /// Client text.
        message: Text,
        /// More keys for `data`; null when none.
        data: Value,
    },
    /// 401: the caller's own credential.
    #[error("unauthenticated: {message}")]
    Unauthenticated {
        /// Client text.
        message: Text,
        /// `{reason}` or null.
        data: Value,
    },
    /// 403.
    #[error("forbidden: {message}")]
    Forbidden {
        /// Client text.
        message: Text,
        /// Details or null.
        data: Value,
    },
    /// 404 `<kind> not found`: missing, malformed id, or not to be seen by the caller.
    #[error("{0} not found")]
    NotFound(ObjectKind),
    /// 409.
    #[error("conflict: {message}")]
    Conflict {
        /// Client text.
        message: Text,
        /// More keys for `data`; null when none.
        data: Value,
    },
    /// 412 `precondition failed`: the condition of this header does not hold.
    #[error("precondition failed: {0}")]
    PreconditionFailed(&'static str),
    /// 413.
    #[error("too large: {message}")]
    TooLarge {
        /// Client text.
        message: Text,
        /// Details or null.
        data: Value,
    },
    /// 408 `request body timed out`, with `Retry-After`: the body arrived too slowly; the request itself is valid.
    #[error("request body timed out")]
    SlowBody,
    /// 415.
    #[error("unsupported media: {0}")]
    Unsupported(Text),
    /// 429 `rate limit exceeded`.
    #[error("too many requests")]
    TooMany {
        /// For `Retry-After`.
        retry_after: Duration,
    },
    /// 429 with a text of its own.
    #[error("too many: {message}")]
    Limited {
        /// Client text.
        message: Text,
        /// For `Retry-After`.
        retry_after: Duration,
    },
    /// 502: an upstream cannot be reached.
    #[error("upstream unreachable: {message} ({log})")]
    Upstream {
        /// Client text.
        message: Text,
        /// For the log only.
        log: String,
    },
    /// 504: an upstream does not answer in time.
    #[error("upstream timeout: {0}")]
    UpstreamTimeout(Text),
    /// 503 with `Retry-After`: overload, start-up, or state that cannot be read.
    #[error("unavailable: {message} ({log})")]
    Unavailable {
        /// Client text.
        message: Text,
        /// For the log only.
        log: String,
    },
    /// 500; the client gets `internal server error` or the operation's own text.
    #[error("internal: {0}")]
    Internal(String),
}

impl Error {
    /// One wrong field.
    pub fn field(key: impl Into<String>, message: impl Into<String>) -> Error {
        Error::Invalid(vec![FieldError::new(key, message)])
    }

    /// One wrong field with its value.
    pub fn field_value(
        key: impl Into<String>,
        message: impl Into<String>,
        value: impl Into<String>,
    ) -> Error {
        Error::Invalid(vec![FieldError::new(key, message).with_value(value)])
    }

    /// Adds the values of refused fields: a unique index names a field but not the value that was sent (spec:
    /// conventions#validation-errors).
    #[must_use]
    pub fn with_values(mut self, values: &[(&str, &str)]) -> Error {
        if let Error::Invalid(fields) = &mut self {
            for field in fields.iter_mut().filter(|f| f.value.is_empty()) {
                if let Some((_, value)) = values.iter().find(|(key, _)| *key == field.key) {
                    (*value).clone_into(&mut field.value);
                }
            }
        }
        self
    }

    /// 400 with a text and no further data.
    pub fn bad_request(message: impl Into<Text>) -> Error {
        Error::BadRequest { message: message.into(), data: Value::Null }
    }

    /// 401 without data.
    pub fn unauthenticated(message: impl Into<Text>) -> Error {
        Error::Unauthenticated { message: message.into(), data: Value::Null }
    }

    /// 401 with `{"reason"}`.
    pub fn unauthenticated_because(message: impl Into<Text>, reason: &str) -> Error {
        Error::Unauthenticated { message: message.into(), data: serde_json::json!({ "reason": reason }) }
    }

    /// 403 without data.
    pub fn forbidden(message: impl Into<Text>) -> Error {
        Error::Forbidden { message: message.into(), data: Value::Null }
    }

    /// 409 with a text and no further data.
    pub fn conflict(message: impl Into<Text>) -> Error {
        Error::Conflict { message: message.into(), data: Value::Null }
    }

    /// The gate's own refusal; this text is used nowhere else (spec: authorization#order-of-checks).
    pub fn insufficient_permissions() -> Error {
        Error::forbidden("insufficient permissions")
    }

    /// State that protects something cannot be read: never access.
    pub fn security_unavailable(log: impl Into<String>) -> Error {
        Error::Unavailable { message: "security service temporarily unavailable".into(), log: log.into() }
    }

    /// An internal fault; the text goes to the log only.
    pub fn internal(log: impl std::fmt::Display) -> Error {
        Error::Internal(log.to_string())
    }
}
