//! What an error is to a client: a status, a text, and when to try again.

use bailiwick_domain::Error;
use http::StatusCode;
use std::time::Duration;

/// `Retry-After` of a fault or an overload.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// When what was refused may be tried again; none = not by itself.
pub fn retry_after(error: &Error) -> Option<Duration> {
    match error {
        Error::TooMany { retry_after } => Some(*retry_after),
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
        Error::NotFound(_) => (StatusCode::NOT_FOUND, not_found_text(error)),
        Error::PreconditionFailed(_) => (StatusCode::PRECONDITION_FAILED, "precondition failed"),
        Error::TooLarge { message, .. } => (StatusCode::PAYLOAD_TOO_LARGE, message),
        Error::SlowBody => (StatusCode::REQUEST_TIMEOUT, "request body timed out"),
        Error::Unsupported(message) => (StatusCode::UNSUPPORTED_MEDIA_TYPE, message),
        Error::TooMany { .. } => (StatusCode::TOO_MANY_REQUESTS, "rate limit exceeded"),
        Error::Upstream { message, .. } => (StatusCode::BAD_GATEWAY, message),
        Error::UpstreamTimeout(message) => (StatusCode::GATEWAY_TIMEOUT, message),
        Error::Unavailable { message, .. } => (StatusCode::SERVICE_UNAVAILABLE, message),
        Error::Internal(_) => (StatusCode::INTERNAL_SERVER_ERROR, failed.unwrap_or("internal server error")),
    }
}

/// The text of a 404.
pub fn not_found_text(error: &Error) -> &'static str {
    let Error::NotFound(kind) = error else { return "not found" };
    match *kind {
        "distributor" => "distributor not found",
        "reseller" => "reseller not found",
        "customer" => "customer not found",
        "organization" => "organization not found",
        "user" => "user not found",
        "system" => "system not found",
        "application" => "application not found",
        "session" => "session not found",
        "silence" => "silence not found",
        "alert" => "alert not found",
        "api key" => "api key not found",
        "event" => "event not found",
        "event subscription" => "event subscription not found",
        "avatar" => "avatar not found",
        "backup" => "backup not found",
        "rebranding" => "rebranding not enabled",
        "rebranding product" => "rebranding product not found",
        "asset" => "asset not found",
        "inventory record" => "inventory record not found",
        _ => "not found",
    }
}
