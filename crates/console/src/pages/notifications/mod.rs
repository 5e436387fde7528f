//! Notifications: who is notified of alerts, by the layers of organizations.

mod edit;
mod fields;
mod overview;
mod who;

use axum::Router;
use bailiwick_app::App;
use bailiwick_web::routing::{get, post};

/// Method and path of each page.
pub(crate) const ROUTES: &[(&str, &str)] = &[
    ("GET", "/console/notifications"),
    ("GET", "/console/notifications/edit"),
    ("POST", "/console/notifications/edit"),
    ("POST", "/console/notifications/switch-on"),
    ("GET", "/console/notifications/remove"),
    ("POST", "/console/notifications/remove"),
    ("GET", "/console/notifications/who"),
    ("POST", "/console/notifications/test"),
];

/// The pages.
pub(crate) fn router() -> Router<App> {
    Router::new()
        .route("/console/notifications", get(overview::show))
        .route("/console/notifications/edit", get(edit::show).merge(post(edit::save)))
        .route("/console/notifications/switch-on", post(edit::switch_on))
        .route("/console/notifications/remove", get(edit::ask).merge(post(edit::remove)))
        .route("/console/notifications/who", get(who::show))
        .route("/console/notifications/test", post(overview::test))
}

const HERE: &str = "/console/notifications";

/// The address of a page about an organization.
fn of(page: &str, organization: &str) -> String {
    let query =
        form_urlencoded::Serializer::new(String::new()).append_pair("organization_id", organization).finish();
    format!("{HERE}{page}?{query}")
}
