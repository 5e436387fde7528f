//! What has happened: the time line, webhooks that receive the events, with their deliveries, the audit record, and the
//! stream by which pages stay up to date.

mod audit;
mod deliveries;
mod stream;
mod timeline;
mod webhook_form;
mod webhooks;

use crate::links::webhook as address;
use axum::Router;
use bailiwick_app::App;
use bailiwick_policy::{Caller, Permission};
use bailiwick_web::routing::{get, post};

/// Method and path of each page.
pub(crate) const ROUTES: &[(&str, &str)] = &[
    ("GET", "/console/events"),
    ("GET", "/console/timeline"),
    ("GET", "/console/timeline/audit"),
    ("GET", "/console/timeline/webhooks"),
    ("GET", "/console/timeline/webhooks/new"),
    ("POST", "/console/timeline/webhooks/new"),
    ("GET", "/console/timeline/webhooks/{id}"),
    ("GET", "/console/timeline/webhooks/{id}/edit"),
    ("POST", "/console/timeline/webhooks/{id}/edit"),
    ("POST", "/console/timeline/webhooks/{id}/pause"),
    ("POST", "/console/timeline/webhooks/{id}/resume"),
    ("POST", "/console/timeline/webhooks/{id}/test"),
    ("POST", "/console/timeline/webhooks/{id}/replay"),
    ("GET", "/console/timeline/webhooks/{id}/rotate"),
    ("POST", "/console/timeline/webhooks/{id}/rotate"),
    ("GET", "/console/timeline/webhooks/{id}/delete"),
    ("POST", "/console/timeline/webhooks/{id}/delete"),
];

const ALL: &str = "/console/timeline/webhooks";

/// The pages.
pub(crate) fn router() -> Router<App> {
    let one = |tail: &str| format!("{ALL}/{{id}}{tail}");
    Router::new()
        .route("/console/events", get(stream::open))
        .route("/console/timeline", get(timeline::show))
        .route("/console/timeline/audit", get(audit::show))
        .route(ALL, get(webhooks::list))
        .route(
            "/console/timeline/webhooks/new",
            get(webhook_form::show_new).merge(post(webhook_form::create)),
        )
        .route(&one(""), get(deliveries::show))
        .route(&one("/edit"), get(webhook_form::show).merge(post(webhook_form::update)))
        .route(&one("/pause"), post(webhooks::pause))
        .route(&one("/resume"), post(webhooks::resume))
        .route(&one("/test"), post(deliveries::test))
        .route(&one("/replay"), post(deliveries::replay))
        .route(&one("/rotate"), get(webhooks::ask_rotate).merge(post(webhooks::rotate)))
        .route(&one("/delete"), get(webhooks::ask_delete).merge(post(webhooks::delete)))
}

/// Tabs that the person may open, by their words.
fn tabs(caller: &Caller) -> Vec<&'static str> {
    let mut tabs = vec!["timeline"];
    if caller.holds(Permission::ReadAlerts) {
        tabs.push("webhooks");
    }
    if caller.holds(Permission::ReadUsers) {
        tabs.push("audit");
    }
    tabs
}
