//! The pages, one module for each area.

pub(crate) mod account;
pub(crate) mod alerts;
pub(crate) mod applications;
pub(crate) mod events;
pub(crate) mod home;
pub(crate) mod imports;
pub(crate) mod notifications;
pub(crate) mod organizations;
pub(crate) mod rebranding;
pub(crate) mod search;
pub(crate) mod session;
pub(crate) mod systems;
pub(crate) mod users;

use crate::{failure::Outcome, flash::Done, page, session::Session};
use axum::response::{IntoResponse, Response};
use bailiwick_domain::Error;
use http::{HeaderValue, StatusCode, header};

/// `GET /`.
pub(crate) async fn to_console() -> Response {
    (StatusCode::FOUND, [(header::LOCATION, HeaderValue::from_static("/console/"))]).into_response()
}

/// No such page.
pub(crate) async fn missing(_: Session) -> Outcome {
    Err(Error::NotFound(bailiwick_domain::ObjectKind::Page).into())
}

/// On to a page that shows a note at its top once, by its word: the text `done_<word>`.
pub(crate) fn done(address: &str, word: &str) -> Response {
    let mut response = page::see_other(address);
    response.extensions_mut().insert(Done { address: address.to_owned(), word: word.to_owned() });
    response
}
