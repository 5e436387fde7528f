//! What a page could not do, on its way to the page that says so.

use crate::{layout::Layout, page};
use axum::response::{IntoResponse, Response};
use bailiwick_domain::Error;
use bailiwick_web::{retry_after, status_and_text, whole_seconds};
use http::{HeaderValue, StatusCode, header};
use serde_json::json;
use std::sync::Arc;

/// What pages return.
pub(crate) type Outcome<T = Response> = Result<T, Failure>;

/// Why there is no page; [`crate::session`] answers it.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// A use case's error, which a page says.
    Refused(Arc<Error>),
    /// The page asked for is past the end of its list, whose last page is at this address.
    PastTheEnd(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Refused(Arc::new(error))
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = StatusCode::INTERNAL_SERVER_ERROR.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// The page of an error. It says nothing of the requested address: a foreign object and a missing one give the same
/// page, byte by byte.
pub(crate) fn answer(layout: &Layout, error: &Error) -> Response {
    log(error);
    let (status, text) = status_and_text(error, None);
    let kind = match status.as_u16() {
        404 => "missing",
        403 if is_of_impersonation(error) => "acting",
        403 => "forbidden",
        401 => "over",
        429 => "too_many",
        408 | 502..=504 => "unavailable",
        500 => "failed",
        _ => "refused",
    };
    // People see the interface's message about the rule that refused them.
    let is_shown = matches!(kind, "forbidden" | "refused") || matches!(error, Error::Limited { .. });
    let detail = is_shown.then_some(text);
    let mut response = page::render(layout, status, "error.html", json!({"kind": kind, "detail": detail}));
    if let Some(after) = retry_after(error) {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(whole_seconds(after)));
    }
    response
}

/// Whether the request was refused because the person acts as another user; as themselves they might do it.
fn is_of_impersonation(error: &Error) -> bool {
    matches!(error, Error::Forbidden { data, .. } if data["reason"] == "impersonation_active")
}

fn log(error: &Error) {
    match error {
        Error::Internal(_) => tracing::error!(%error, "a page failed"),
        Error::Upstream { .. } | Error::UpstreamTimeout(_) | Error::Unavailable { .. } => {
            tracing::warn!(%error, "a page could not be served");
        }
        _ => tracing::debug!(%error, "a page was refused"),
    }
}
