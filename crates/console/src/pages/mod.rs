//! The pages, one module for each area.

pub(crate) mod account;
pub(crate) mod home;
pub(crate) mod session;
pub(crate) mod systems;
pub(crate) mod users;

use crate::{failure::Outcome, page, session::Guest};
use axum::response::{IntoResponse, Response};
use bailiwick_domain::Error;
use http::{HeaderValue, StatusCode, header};

/// `GET /`.
pub(crate) async fn to_console() -> Response {
    (StatusCode::FOUND, [(header::LOCATION, HeaderValue::from_static("/console/"))]).into_response()
}

/// No such page.
pub(crate) async fn missing(_: Guest) -> Outcome {
    Err(Error::NotFound(bailiwick_domain::ObjectKind::Page).into())
}

/// On to a page with a note at its top, by its word.
pub(crate) fn done(address: &str, note: &str) -> Response {
    page::see_other(&format!("{address}?done={note}"))
}
