//! Errors of the provider in both shapes: OAuth's and that of older clients (spec: openid-provider#endpoints).

use crate::error::{RETRY_AFTER, whole_seconds};
use axum::{
    Json,
    response::{IntoResponse, Response},
};
use bailiwick_domain::Error;
use bailiwick_identity::oidc::{Code, ProviderError};
use http::{HeaderValue, StatusCode, header};
use serde_json::json;

/// A refusal as JSON.
pub fn answer(refusal: ProviderError) -> Response {
    match refusal {
        ProviderError::Protocol(refused) => {
            let status = match refused.code {
                Code::InvalidClient | Code::InvalidToken => StatusCode::UNAUTHORIZED,
                Code::InsufficientScope => StatusCode::FORBIDDEN,
                _ => StatusCode::BAD_REQUEST,
            };
            let mut response = shapes(status, refused.code.as_str(), &refused.description);
            if let Some(challenge) = challenge(refused.code) {
                response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
            }
            response
        }
        ProviderError::Fault(error) => fault(&error),
    }
}

const fn challenge(code: Code) -> Option<&'static str> {
    match code {
        Code::InvalidClient => Some("Basic realm=\"OpenID provider\""),
        Code::InvalidToken => Some("Bearer error=\"invalid_token\""),
        Code::InsufficientScope => Some("Bearer error=\"insufficient_scope\", scope=\"openid\""),
        _ => None,
    }
}

fn shapes(status: StatusCode, error: &str, description: &str) -> Response {
    let body = json!({
        "error": error,
        "error_description": description,
        "code": format!("oidc.{error}"),
        "message": description,
    });
    (status, Json(body)).into_response()
}

/// Errors that are not the client's mistake, or for which the protocol has no word.
fn fault(error: &Error) -> Response {
    log(error);
    let (status, retry_after) = status_of(error);
    let mut response = match error {
        Error::TooMany { .. } => shapes(status, "rate_limit_exceeded", "rate limit exceeded"),
        Error::TooLarge { message, .. } | Error::BadRequest { message, .. } => {
            shapes(status, "invalid_request", message)
        }
        Error::SlowBody => shapes(status, "invalid_request", "request body timed out"),
        Error::Unavailable { .. } => {
            shapes(status, "temporarily_unavailable", "service temporarily unavailable")
        }
        _ => shapes(status, "server_error", "internal server error"),
    };
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// Status of a fault, and seconds until a retry may succeed.
pub fn status_of(error: &Error) -> (StatusCode, Option<u64>) {
    match error {
        Error::TooMany { retry_after } => (StatusCode::TOO_MANY_REQUESTS, Some(whole_seconds(*retry_after))),
        Error::TooLarge { .. } => (StatusCode::PAYLOAD_TOO_LARGE, None),
        Error::BadRequest { .. } => (StatusCode::BAD_REQUEST, None),
        Error::SlowBody => (StatusCode::REQUEST_TIMEOUT, Some(whole_seconds(RETRY_AFTER))),
        Error::Unavailable { .. } => (StatusCode::SERVICE_UNAVAILABLE, Some(whole_seconds(RETRY_AFTER))),
        _ => (StatusCode::INTERNAL_SERVER_ERROR, None),
    }
}

/// Logged once, where it leaves the service.
pub fn log(error: &Error) {
    match status_of(error).0 {
        StatusCode::INTERNAL_SERVER_ERROR => tracing::error!(%error, "request to the provider failed"),
        StatusCode::SERVICE_UNAVAILABLE => {
            tracing::warn!(%error, "request to the provider could not be served")
        }
        _ => tracing::debug!(%error, "request to the provider refused"),
    }
}
