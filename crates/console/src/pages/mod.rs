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

use crate::{
    ROUTES,
    failure::Outcome,
    flash::Done,
    page,
    session::{Session, page_after_sign_in},
};
use axum::{
    extract::MatchedPath,
    response::{IntoResponse, Response},
};
use bailiwick_domain::Error;
use http::{HeaderValue, StatusCode, Uri, header};

/// `GET /`.
pub(crate) async fn to_console() -> Response {
    (StatusCode::FOUND, [(header::LOCATION, HeaderValue::from_static("/console/"))]).into_response()
}

/// No such page.
pub(crate) async fn missing(_: Session) -> Outcome {
    Err(Error::NotFound(bailiwick_domain::ObjectKind::Page).into())
}

/// `GET` of an address that only takes forms: on to the page that it belongs to, the nearest one above it.
pub(crate) async fn to_page(matched: MatchedPath, uri: Uri) -> Response {
    fn above(path: &str) -> &str {
        path.rsplit_once('/').map_or("", |(above, _)| above)
    }
    let (mut route, mut path) = (matched.as_str(), uri.path());
    while !route.is_empty() && !ROUTES.contains(&("GET", route)) {
        (route, path) = (above(route), above(path));
    }
    page::see_other(page_after_sign_in(path))
}

/// On to a page that shows a note at its top once, by its word: the text `done_<word>`.
pub(crate) fn done(address: &str, word: &str) -> Response {
    let mut response = page::see_other(address);
    response.extensions_mut().insert(Done { address: address.to_owned(), word: word.to_owned() });
    response
}
