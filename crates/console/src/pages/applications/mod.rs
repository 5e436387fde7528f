//! Applications: the list, one application and what is done with it, and the summary by type and version.

mod change;
mod detail;
mod list;
mod summary;

use crate::links::application as address;
use axum::Router;
use bailiwick_app::App;
use bailiwick_fleet::applications::ApplicationRecord;
use bailiwick_web::routing::{get, post};

/// Method and path of each page.
pub(crate) const ROUTES: &[(&str, &str)] = &[
    ("GET", "/console/applications"),
    ("GET", "/console/applications/summary"),
    ("GET", "/console/applications/{id}"),
    ("GET", "/console/applications/{id}/edit"),
    ("POST", "/console/applications/{id}/edit"),
    ("GET", "/console/applications/{id}/assign"),
    ("POST", "/console/applications/{id}/assign"),
    ("POST", "/console/applications/{id}/unassign"),
    ("GET", "/console/applications/{id}/delete"),
    ("POST", "/console/applications/{id}/delete"),
];

/// The pages.
pub(crate) fn router() -> Router<App> {
    Router::new()
        .route("/console/applications", get(list::show))
        .route("/console/applications/summary", get(summary::show))
        .route("/console/applications/{id}", get(detail::show))
        .route("/console/applications/{id}/edit", get(change::show_notes).merge(post(change::set_notes)))
        .route("/console/applications/{id}/assign", get(change::show_assign).merge(post(change::assign)))
        .route("/console/applications/{id}/unassign", post(change::unassign))
        .route("/console/applications/{id}/delete", get(change::ask_delete).merge(post(change::delete)))
}

/// What people call an application.
pub(crate) fn name_of(application: &ApplicationRecord) -> &str {
    let named = application.display_name.as_deref().filter(|name| !name.is_empty());
    named.or(application.name.as_deref()).unwrap_or(&application.module_id)
}
