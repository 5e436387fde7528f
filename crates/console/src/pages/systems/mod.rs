//! Systems: the list, one system with its tabs, and what is done with it.

mod access;
mod alerts;
mod applications;
mod backups;
mod changes;
mod edit;
mod head;
mod list;
mod overview;
mod step;

pub(crate) use crate::links::system as address;

use axum::Router;
use bailiwick_app::App;
use bailiwick_web::routing::{get, post};

/// Method and path of each page.
pub(crate) const ROUTES: &[(&str, &str)] = &[
    ("GET", "/console/systems"),
    ("GET", "/console/systems/export"),
    ("GET", "/console/systems/new"),
    ("POST", "/console/systems/new"),
    ("GET", "/console/systems/{id}"),
    ("GET", "/console/systems/{id}/changes"),
    ("GET", "/console/systems/{id}/documents/{record}"),
    ("GET", "/console/systems/{id}/applications"),
    ("GET", "/console/systems/{id}/alerts"),
    ("GET", "/console/systems/{id}/backups"),
    ("GET", "/console/systems/{id}/backups/{backup}"),
    ("GET", "/console/systems/{id}/backups/{backup}/delete"),
    ("POST", "/console/systems/{id}/backups/{backup}/delete"),
    ("GET", "/console/systems/{id}/access"),
    ("POST", "/console/systems/{id}/reachability"),
    ("POST", "/console/systems/{id}/secret"),
    ("GET", "/console/systems/{id}/edit"),
    ("POST", "/console/systems/{id}/edit"),
    ("GET", "/console/systems/{id}/{step}"),
    ("POST", "/console/systems/{id}/{step}"),
];

/// The pages.
pub(crate) fn router() -> Router<App> {
    Router::new()
        .route("/console/systems", get(list::show))
        .route("/console/systems/export", get(list::export))
        .route("/console/systems/new", get(edit::show_new).merge(post(edit::create)))
        .route("/console/systems/{id}", get(overview::show))
        .route("/console/systems/{id}/changes", get(changes::show))
        .route("/console/systems/{id}/documents/{record}", get(changes::document))
        .route("/console/systems/{id}/applications", get(applications::show))
        .route("/console/systems/{id}/alerts", get(alerts::show))
        .route("/console/systems/{id}/backups", get(backups::show))
        .route("/console/systems/{id}/backups/{backup}", get(backups::download))
        .route(
            "/console/systems/{id}/backups/{backup}/delete",
            get(backups::ask).merge(post(backups::delete)),
        )
        .route("/console/systems/{id}/access", get(access::show))
        .route("/console/systems/{id}/reachability", post(access::reachability))
        .route("/console/systems/{id}/secret", post(access::regenerate))
        .route("/console/systems/{id}/edit", get(edit::show).merge(post(edit::update)))
        .route("/console/systems/{id}/{step}", get(step::ask).merge(post(step::take)))
}
