//! What an error is to a client: a status, a text, and when to try again.

use bailiwick_domain::{Error, ObjectKind};
use http::StatusCode;
use std::time::Duration;

/// `Retry-After` of a fault or an overload (spec: clients#checklist row 14).
pub const RETRY_AFTER: Duration = Duration::from_secs(5);

/// When what was refused may be tried again; none = not by itself.
pub fn retry_after(error: &Error) -> Option<Duration> {
    match error {
        Error::TooMany { retry_after } | Error::Limited { retry_after, .. } => Some(*retry_after),
        // What passes by itself (spec: clients#checklist row 14).
        Error::SlowBody
        | Error::Upstream { .. }
        | Error::UpstreamTimeout(_)
        | Error::Unavailable { .. }
        | Error::Internal(_) => Some(RETRY_AFTER),
        _ => None,
    }
}

/// Seconds for `Retry-After`: rounded up, so that a client that waits that long is not refused again; at least one.
pub fn whole_seconds(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0 || duration.is_zero())
}

/// Status and client text. `failed`: the text of a fault; none = the usual one.
pub fn status_and_text<'a>(error: &'a Error, failed: Option<&'a str>) -> (StatusCode, &'a str) {
    match error {
        Error::Invalid(_) => (StatusCode::BAD_REQUEST, "validation failed"),
        Error::BadRequest { message, .. } => (StatusCode::BAD_REQUEST, message),
        Error::Conflict { message, .. } => (StatusCode::CONFLICT, message),
        Error::Unauthenticated { message, .. } => (StatusCode::UNAUTHORIZED, message),
        Error::Forbidden { message, .. } => (StatusCode::FORBIDDEN, message),
        Error::NotFound(kind) => (StatusCode::NOT_FOUND, not_found_text(*kind)),
        Error::PreconditionFailed(_) => (StatusCode::PRECONDITION_FAILED, "precondition failed"),
        Error::TooLarge { message, .. } => (StatusCode::PAYLOAD_TOO_LARGE, message),
        Error::SlowBody => (StatusCode::REQUEST_TIMEOUT, "request body timed out"),
        Error::Unsupported(message) => (StatusCode::UNSUPPORTED_MEDIA_TYPE, message),
        Error::TooMany { .. } => (StatusCode::TOO_MANY_REQUESTS, "rate limit exceeded"),
        Error::Limited { message, .. } => (StatusCode::TOO_MANY_REQUESTS, message),
        Error::Upstream { message, .. } => (StatusCode::BAD_GATEWAY, message),
        Error::UpstreamTimeout(message) => (StatusCode::GATEWAY_TIMEOUT, message),
        Error::Unavailable { message, .. } => (StatusCode::SERVICE_UNAVAILABLE, message),
        Error::Internal(_) => (StatusCode::INTERNAL_SERVER_ERROR, failed.unwrap_or("internal server error")),
    }
}

/// The text of a 404.
const fn not_found_text(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Distributor => "distributor not found",
        ObjectKind::Reseller => "reseller not found",
        ObjectKind::Customer => "customer not found",
        ObjectKind::Organization => "organization not found",
        ObjectKind::User => "user not found",
        ObjectKind::System => "system not found",
        ObjectKind::Application => "application not found",
        ObjectKind::Session => "session not found",
        ObjectKind::Silence => "silence not found",
        ObjectKind::Alert => "alert not found",
        ObjectKind::ApiKey => "api key not found",
        ObjectKind::Event => "event not found",
        ObjectKind::EventSubscription => "event subscription not found",
        ObjectKind::Passkey => "passkey not found",
        ObjectKind::SecondFactor => "second factor not found",
        ObjectKind::Avatar => "avatar not found",
        ObjectKind::Backup => "backup not found",
        ObjectKind::Rebranding => "rebranding not enabled",
        ObjectKind::RebrandingProduct => "rebranding product not found",
        ObjectKind::Asset => "asset not found",
        ObjectKind::InventoryRecord => "inventory record not found",
        ObjectKind::Page => "page not found",
    }
}
