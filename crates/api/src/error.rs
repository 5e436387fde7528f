//! The only place where an error becomes an answer (spec: conventions#status-codes, conventions#validation-errors).
//!
//! A handler returns [`Failure`]; it travels as an extension of an empty response to the route's gate, which knows the
//! route and renders it. So the text, the shape of `data` and the log line are decided once.

use crate::{
    envelope::render,
    route::{Credential, Route},
};
use axum::response::{IntoResponse, Response};
use bailiwick_domain::{Error, FieldError, ObjectKind};
use http::{HeaderValue, Method, StatusCode, header};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// The result of a handler.
pub type Outcome<T> = Result<T, Failure>;

/// A use case's error on its way out.
#[derive(Clone, Debug)]
pub struct Failure(pub Arc<Error>);

impl From<Error> for Failure {
    fn from(e: Error) -> Failure {
        Failure(Arc::new(e))
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = StatusCode::INTERNAL_SERVER_ERROR.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// `Retry-After` of a fault or an overload.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// Renders an error of a route.
pub fn answer(error: &Error, route: &Route) -> Response {
    log(error, route);
    // Requests of systems have no forms (spec: systems#conventions).
    let is_a_persons = !matches!(route.credential, Credential::Public | Credential::HistoryWebhook);
    let has_forms = !route.credential.is_of_system() && is_a_persons;
    let form = route.method != Method::GET && has_forms;
    let (status, message, data) = parts(error, form, route.failed);
    let mut response = render(status, message, &data);
    let headers = response.headers_mut();
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(route.credential.challenge()));
    }
    if let Some(after) = retry_after(error) {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(whole_seconds(after)));
    }
    response
}

/// The router's own 404; no other answer uses this text (spec: authorization#order-of-checks).
pub fn no_route() -> Response {
    render(StatusCode::NOT_FOUND, "api not found", &Value::Null)
}

/// The answer after a panic, which the outermost layer contains.
pub fn panicked() -> Response {
    let mut response = render(StatusCode::INTERNAL_SERVER_ERROR, "internal server error", &Value::Null);
    let after = HeaderValue::from(whole_seconds(RETRY_AFTER));
    response.headers_mut().insert(header::RETRY_AFTER, after);
    response
}

fn retry_after(error: &Error) -> Option<Duration> {
    match error {
        Error::TooMany { retry_after } => Some(*retry_after),
        // Errors that a retry can resolve (spec: clients#checklist row 14).
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

/// Status, text and data for the client. `form`: the caller reads `data.errors` of every 400 and 409.
fn parts<'a>(error: &'a Error, form: bool, failed: Option<&'a str>) -> (StatusCode, &'a str, Value) {
    match error {
        Error::Invalid(fields) => (StatusCode::BAD_REQUEST, "validation failed", validation(fields)),
        Error::BadRequest { message, data } => (StatusCode::BAD_REQUEST, message, form_data(data, form)),
        Error::Conflict { message, data } => (StatusCode::CONFLICT, message, form_data(data, form)),
        Error::Unauthenticated { message, data } => (StatusCode::UNAUTHORIZED, message, data.clone()),
        Error::Forbidden { message, data } => (StatusCode::FORBIDDEN, message, data.clone()),
        Error::NotFound(kind) => (StatusCode::NOT_FOUND, not_found_text(*kind), Value::Null),
        Error::PreconditionFailed(header) => {
            let data = json!({"reason": "precondition_failed", "header": header});
            (StatusCode::PRECONDITION_FAILED, "precondition failed", data)
        }
        Error::TooLarge { message, data } => (StatusCode::PAYLOAD_TOO_LARGE, message, data.clone()),
        Error::SlowBody => (StatusCode::REQUEST_TIMEOUT, "request body timed out", Value::Null),
        Error::Unsupported(message) => (StatusCode::UNSUPPORTED_MEDIA_TYPE, message, Value::Null),
        Error::TooMany { .. } => (StatusCode::TOO_MANY_REQUESTS, "rate limit exceeded", Value::Null),
        Error::Upstream { message, .. } => (StatusCode::BAD_GATEWAY, message, Value::Null),
        Error::UpstreamTimeout(message) => (StatusCode::GATEWAY_TIMEOUT, message, Value::Null),
        Error::Unavailable { message, .. } => (StatusCode::SERVICE_UNAVAILABLE, message, Value::Null),
        Error::Internal(_) => {
            (StatusCode::INTERNAL_SERVER_ERROR, failed.unwrap_or("internal server error"), Value::Null)
        }
    }
}

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
        ObjectKind::Avatar => "avatar not found",
        ObjectKind::Backup => "backup not found",
        ObjectKind::Rebranding => "rebranding not enabled",
        ObjectKind::RebrandingProduct => "rebranding product not found",
        ObjectKind::Asset => "asset not found",
        ObjectKind::InventoryRecord => "inventory record not found",
    }
}

/// `{"type":"validation_error","errors":[…]}`.
pub fn validation(fields: &[FieldError]) -> Value {
    let errors: Vec<Value> = fields
        .iter()
        .map(|f| {
            if f.value.is_empty() {
                json!({"key": f.key, "message": f.message})
            } else {
                json!({"key": f.key, "message": f.message, "value": f.value})
            }
        })
        .collect();
    json!({"type": "validation_error", "errors": errors})
}

fn form_data(data: &Value, form: bool) -> Value {
    if !form {
        return data.clone();
    }
    let mut out = json!({"type": "validation_error", "errors": []});
    if let (Some(out), Value::Object(more)) = (out.as_object_mut(), data) {
        for (key, value) in more {
            out.insert(key.clone(), value.clone());
        }
    }
    out
}

fn log(error: &Error, route: &Route) {
    let operation = route.operation.as_str();
    match error {
        Error::Internal(_) => tracing::error!(operation, error = %error, "request failed"),
        Error::Upstream { .. } | Error::UpstreamTimeout(_) | Error::Unavailable { .. } => {
            tracing::warn!(operation, error = %error, "request could not be served");
        }
        _ => tracing::debug!(operation, error = %error, "request refused"),
    }
}
