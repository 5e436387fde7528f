//! The pages, one module for each area.

pub(crate) mod alerts;
pub(crate) mod home;
pub(crate) mod imports;
pub(crate) mod notifications;
pub(crate) mod organizations;
pub(crate) mod rebranding;
pub(crate) mod session;
pub(crate) mod systems;

use crate::{failure::Outcome, page, session::Guest, texts};
use axum::response::{IntoResponse, Response};
use bailiwick_domain::Error;
use bailiwick_web::Params;
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

/// The word of such a note, if the address has one that this program knows.
pub(crate) fn note<'p>(guest: &Guest, params: &'p Params) -> Option<&'p str> {
    params.one("done").filter(|word| texts::find(guest.look.language, &format!("done_{word}")).is_some())
}
