//! Alerts: the active ones, one of them with what people do about it, silences, history and figures.

mod detail;
mod figures;
mod history;
mod list;
mod shown;
mod silence;
mod silences;

pub(crate) use detail::recipients;
pub(crate) use shown::shown;

use axum::Router;
use bailiwick_app::App;
use bailiwick_web::routing::{get, post};

/// Method and path of each page.
pub(crate) const ROUTES: &[(&str, &str)] = &[
    ("GET", "/console/alerts"),
    ("GET", "/console/alerts/history"),
    ("GET", "/console/alerts/figures"),
    ("GET", "/console/alerts/silences"),
    ("GET", "/console/alerts/silences/{organization}/{id}"),
    ("POST", "/console/alerts/silences/{organization}/{id}"),
    ("POST", "/console/alerts/silences/{organization}/{id}/end"),
    ("GET", "/console/alerts/{organization}/{fingerprint}"),
    ("POST", "/console/alerts/{organization}/{fingerprint}/notes"),
    ("POST", "/console/alerts/{organization}/{fingerprint}/take"),
    ("GET", "/console/alerts/{organization}/{fingerprint}/silence"),
    ("POST", "/console/alerts/{organization}/{fingerprint}/silence"),
];

/// The pages.
pub(crate) fn router() -> Router<App> {
    Router::new()
        .route("/console/alerts", get(list::show))
        .route("/console/alerts/history", get(history::show))
        .route("/console/alerts/figures", get(figures::show))
        .route("/console/alerts/silences", get(silences::show))
        .route(
            "/console/alerts/silences/{organization}/{id}",
            get(silences::one).merge(post(silences::change)),
        )
        .route("/console/alerts/silences/{organization}/{id}/end", post(silences::end))
        .route("/console/alerts/{organization}/{fingerprint}", get(detail::show))
        .route("/console/alerts/{organization}/{fingerprint}/notes", post(detail::add_note))
        .route("/console/alerts/{organization}/{fingerprint}/take", post(detail::take))
        .route(
            "/console/alerts/{organization}/{fingerprint}/silence",
            get(silence::ask).merge(post(silence::make)),
        )
}
