//! Users: the list, one user, and what is done with them.

mod change;
mod edit;
mod factors;
mod head;
mod list;
mod overview;
mod password;
mod picture;
mod step;

use axum::Router;
use bailiwick_app::App;
use bailiwick_web::routing::{get, post};

/// Method and path of each page.
pub(crate) const ROUTES: &[(&str, &str)] = &[
    ("GET", "/console/users"),
    ("GET", "/console/users/export"),
    ("GET", "/console/users/new"),
    ("POST", "/console/users/new"),
    ("GET", "/console/users/{id}"),
    ("GET", "/console/users/{id}/edit"),
    ("POST", "/console/users/{id}/edit"),
    ("GET", "/console/users/{id}/move"),
    ("POST", "/console/users/{id}/move"),
    ("GET", "/console/users/{id}/password"),
    ("POST", "/console/users/{id}/password"),
    ("GET", "/console/users/{id}/second-factors"),
    ("POST", "/console/users/{id}/second-factors"),
    ("POST", "/console/users/{id}/picture"),
    ("POST", "/console/users/{id}/picture/remove"),
    ("POST", "/console/users/{id}/impersonate"),
    ("GET", "/console/users/{id}/{step}"),
    ("POST", "/console/users/{id}/{step}"),
];

/// The pages.
pub(crate) fn router() -> Router<App> {
    Router::new()
        .route("/console/users", get(list::show))
        .route("/console/users/export", get(list::export))
        .route("/console/users/new", get(edit::show_new).merge(post(edit::create)))
        .route("/console/users/{id}", get(overview::show))
        .route("/console/users/{id}/edit", get(edit::show).merge(post(edit::update)))
        .route("/console/users/{id}/move", get(change::show).merge(post(change::relocate)))
        .route("/console/users/{id}/password", get(password::show).merge(post(password::set)))
        .route("/console/users/{id}/second-factors", get(factors::ask).merge(post(factors::remove)))
        .route("/console/users/{id}/picture", post(picture::upload))
        .route("/console/users/{id}/picture/remove", post(picture::remove))
        .route("/console/users/{id}/impersonate", post(change::impersonate))
        .route("/console/users/{id}/{step}", get(step::ask).merge(post(step::take)))
}

use crate::links::user as address;
