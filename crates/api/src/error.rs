//! The only place where an error becomes an answer (spec: conventions#status-codes, conventions#validation-errors).
//!
//! A handler returns [`Failure`]; it travels as an extension of an empty response to the route's gate, which knows the
//! route and renders it. So the text, the shape of `data` and the log line are decided once.

use crate::{
    envelope::render,
    route::{Credential, Route},
};
use axum::response::{IntoResponse, Response};
use bailiwick_domain::{Error, FieldError};
use bailiwick_identity::auth::is_fresh_sign_in_required;
pub use bailiwick_web::{RETRY_AFTER, whole_seconds};
use bailiwick_web::{retry_after, status_and_text};
use http::{HeaderValue, Method, StatusCode, header};
use serde_json::{Value, json};
use std::sync::Arc;

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

/// Renders an error of a route.
pub fn answer(error: &Error, route: &Route) -> Response {
    log(error, route);
    // Requests of systems have no forms (spec: systems#conventions).
    let is_a_persons = !matches!(route.credential, Credential::Public | Credential::HistoryWebhook);
    let has_forms = !route.credential.is_of_system() && is_a_persons;
    let form = route.method != Method::GET && has_forms;
    let (status, message, mut data) = parts(error, form, route.failed);
    if route.path.starts_with("/me/") {
        add_values(&mut data);
    }
    let mut response = render(status, message, &data);
    let headers = response.headers_mut();
    if status == StatusCode::UNAUTHORIZED {
        let challenge = match is_fresh_sign_in_required(error) {
            true => step_up(&data),
            false => HeaderValue::from_static(route.credential.challenge()),
        };
        headers.insert(header::WWW_AUTHENTICATE, challenge);
    }
    if let Some(after) = retry_after(error) {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(whole_seconds(after)));
    }
    response
}

/// The challenge for a fresh sign-in (RFC 9470 §3).
fn step_up(data: &Value) -> HeaderValue {
    let challenge =
        format!("Bearer error=\"insufficient_user_authentication\", max_age=\"{}\"", data["max_age"]);
    HeaderValue::from_str(&challenge).unwrap_or(HeaderValue::from_static("Bearer"))
}

/// The router's own 404; no other answer uses this text (spec: authorization#order-of-checks).
pub fn no_route() -> Response {
    render(StatusCode::NOT_FOUND, "api not found", &Value::Null)
}

/// The answer after a panic, which the outermost layer contains.
pub fn panicked() -> Response {
    with_retry_after(render(StatusCode::INTERNAL_SERVER_ERROR, "internal server error", &Value::Null))
}

/// An answer that a retry can turn into another.
pub fn with_retry_after(mut response: Response) -> Response {
    let after = HeaderValue::from(whole_seconds(RETRY_AFTER));
    response.headers_mut().insert(header::RETRY_AFTER, after);
    response
}

/// Status, text and data for the client. `form`: the caller reads `data.errors` of every 400 and 409.
fn parts<'a>(error: &'a Error, form: bool, failed: Option<&'a str>) -> (StatusCode, &'a str, Value) {
    let (status, text) = status_and_text(error, failed);
    let data = match error {
        Error::Invalid(fields) => validation(fields),
        Error::BadRequest { data, .. } | Error::Conflict { data, .. } => form_data(data, form),
        Error::Unauthenticated { data, .. }
        | Error::Forbidden { data, .. }
        | Error::TooLarge { data, .. } => data.clone(),
        Error::PreconditionFailed(header) => json!({"reason": "precondition_failed", "header": header}),
        _ => Value::Null,
    };
    (status, text, data)
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

/// Field errors of `/me/*` carry `value` even when it is empty (spec: conventions#validation-errors).
fn add_values(data: &mut Value) {
    let errors = data.get_mut("errors").and_then(Value::as_array_mut);
    for error in errors.into_iter().flatten().filter_map(Value::as_object_mut) {
        error.entry("value").or_insert_with(|| json!(""));
    }
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
