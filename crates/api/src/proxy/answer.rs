//! Answers of the alert interface, byte for byte (spec: alerts#paths, alerts#neutral-answers, alerts#proxy-errors).

use crate::{Uncompressed, envelope::render, route::Credential};
use axum::{body::Body, response::Response};
use bailiwick_alertmanager::{Reject, RejectBody};
use bailiwick_alerts::Fault;
use bailiwick_domain::Error;
use bailiwick_web::RETRY_AFTER;
use bytes::Bytes;
use http::{HeaderValue, Method, StatusCode, header};
use serde_json::{Value, json};
use std::time::Duration;

/// Body of a 200.
pub(super) enum Answer {
    /// None.
    Empty,
    /// Made for this request.
    Json(String),
    /// JSON that is the same for every request.
    Document(Bytes),
    /// The one metric.
    Metrics(Bytes),
}

impl Answer {
    pub(super) fn into_response(self) -> Response {
        match self {
            Answer::Empty => Response::default(),
            Answer::Json(text) => json(StatusCode::OK, text.into()),
            Answer::Document(bytes) => json(StatusCode::OK, bytes.into()),
            Answer::Metrics(document) => {
                typed(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", document.into())
            }
        }
    }
}

fn typed(status: StatusCode, content_type: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

fn json(status: StatusCode, body: Body) -> Response {
    typed(status, "application/json", body)
}

/// Adds the headers of every answer of the interface.
pub(super) fn finished(mut response: Response, is_head: bool) -> Response {
    let headers = response.headers_mut();
    // The headers of every answer of the service follow.
    headers.reserve(12);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::VARY, HeaderValue::from_static("Origin"));
    response.extensions_mut().insert(Uncompressed);
    if is_head { response.map(|_| Body::empty()) } else { response }
}

/// A refusal as it is.
pub(super) fn of_reject(reject: &Reject) -> Response {
    let status = StatusCode::from_u16(reject.status).unwrap_or(StatusCode::BAD_REQUEST);
    match reject.body {
        RejectBody::Empty => {
            let mut response = Response::default();
            *response.status_mut() = status;
            response
        }
        _ => json(status, reject.render().into()),
    }
}

fn coded(status: u16, message: String) -> Response {
    of_reject(&Reject { status, body: RejectBody::Coded { code: status, message } })
}

/// An unknown path below `/api/v2`.
pub(super) fn path_not_found(path: &str) -> Response {
    coded(404, format!("path /api/v2{path} was not found"))
}

/// A known path; `allowed` are its methods.
pub(super) fn method_not_allowed(method: &Method, allowed: &'static str) -> Response {
    let mut response = coded(405, format!("method {method} is not allowed, but [{allowed}] are"));
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
    response
}

/// The interface before this one.
pub(super) fn gone() -> Response {
    const TEXT: &str = "{\"status\":\"deprecated\",\"error\":\"The Alertmanager v1 API was deprecated in version \
         0.16.0 and is removed as of version 0.27.0 - please use the equivalent route in the v2 API\"}\n";
    json(StatusCode::GONE, TEXT.into())
}

/// Readiness and health.
pub(super) fn probe(method: &Method, is_good: bool) -> Response {
    if method != Method::GET && method != Method::HEAD {
        return method_not_allowed(method, "GET");
    }
    let (status, text) = if is_good {
        (StatusCode::OK, "OK")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable")
    };
    let mut response = typed(status, "text/plain; charset=utf-8", text.into());
    if !is_good {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(WHEN_BACK));
    }
    response
}

fn envelope(status: StatusCode, message: &str, retry_after_secs: Option<u64>) -> Response {
    with_data(status, message, &Value::Null, retry_after_secs)
}

/// Too many requests of one caller in a short time.
pub(super) fn too_many(retry_after: Duration) -> Response {
    let seconds = retry_after.as_secs().max(1);
    let reason = format!(
        "too many requests with one credential in a short time: repeat this one after {seconds} s, and later ones more slowly"
    );
    let status = StatusCode::TOO_MANY_REQUESTS;
    with_data(status, "rate limit exceeded", &json!({ "reason": reason }), Some(seconds))
}

fn with_data(status: StatusCode, message: &str, data: &Value, retry_after_secs: Option<u64>) -> Response {
    let mut response = render(status, message, data);
    if let Some(seconds) = retry_after_secs {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// `Retry-After` for a system beyond its limits, in seconds: alerts and silences end over time.
const WHEN_FULL: u64 = 60;

/// `Retry-After` of a temporary fault, in seconds (spec: clients#checklist row 14).
const WHEN_BACK: u64 = RETRY_AFTER.as_secs();

/// Why a use case has no result.
pub(super) fn of_fault(fault: Fault) -> Response {
    let full = StatusCode::TOO_MANY_REQUESTS;
    match fault {
        Fault::Rejected(reject) => of_reject(&reject),
        Fault::SlowBody => envelope(StatusCode::REQUEST_TIMEOUT, "request body timed out", Some(WHEN_BACK)),
        Fault::RateLimited => too_many(Duration::from_secs(1)),
        Fault::AlertLimit => envelope(full, "alert limit exceeded", Some(WHEN_FULL)),
        Fault::SilenceLimit => envelope(full, "silence limit exceeded", Some(WHEN_FULL)),
        Fault::Unavailable(log) => {
            tracing::warn!(error = log, "the alert router cannot be used");
            envelope(StatusCode::BAD_GATEWAY, "alerting backend is unavailable", Some(WHEN_BACK))
        }
        Fault::TimedOut => {
            tracing::warn!("the alert router does not answer in time");
            envelope(StatusCode::GATEWAY_TIMEOUT, "alerting backend timed out", Some(WHEN_BACK))
        }
        Fault::Database(log) => {
            tracing::warn!(error = log, "an alerting request cannot be served without the database");
            let status = StatusCode::SERVICE_UNAVAILABLE;
            envelope(status, "service temporarily unavailable", Some(WHEN_BACK))
        }
        Fault::NotReady { retry_after_secs, log } => {
            tracing::warn!(error = log, "the alert router is not ready");
            let status = StatusCode::SERVICE_UNAVAILABLE;
            envelope(status, "alerting backend is not ready", Some(retry_after_secs))
        }
        Fault::UnknownTenant => {
            let status = StatusCode::SERVICE_UNAVAILABLE;
            envelope(status, "alerting backend is not ready", Some(15))
        }
        Fault::Internal(log) => {
            tracing::error!(error = log, "an alerting request failed");
            envelope(StatusCode::INTERNAL_SERVER_ERROR, "internal server error", Some(WHEN_BACK))
        }
    }
}

/// The answer to a system that is not admitted (spec: alerts#system-authentication).
pub(super) fn of_error(error: &Error) -> Response {
    match error {
        Error::Unauthenticated { message, .. } => {
            let mut response = envelope(StatusCode::UNAUTHORIZED, message, None);
            let challenge = HeaderValue::from_static(Credential::System.challenge());
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
            response
        }
        Error::TooMany { retry_after } => too_many(*retry_after),
        Error::Unavailable { message, .. } => {
            tracing::warn!(%error, "a system cannot be authenticated");
            envelope(StatusCode::SERVICE_UNAVAILABLE, message, Some(WHEN_BACK))
        }
        _ => {
            tracing::error!(%error, "a system cannot be authenticated");
            envelope(StatusCode::INTERNAL_SERVER_ERROR, "internal server error", Some(WHEN_BACK))
        }
    }
}
