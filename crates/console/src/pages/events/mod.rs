//! What has happened: the time line, webhooks that receive the events, with their deliveries, the audit record, and the
//! stream by which pages stay up to date.

mod audit;
mod deliveries;
mod stream;
mod timeline;
mod webhook_form;
mod webhooks;

use crate::{
    links::webhook as address,
    rows::{PageRow, get, post},
};
use bailiwick_policy::{Caller, Permission};

const ALL: &str = "/console/timeline/webhooks";

/// The pages.
pub(crate) fn rows() -> Vec<PageRow> {
    vec![
        get("/console/events", stream::open),
        get("/console/timeline", timeline::show),
        get("/console/timeline/audit", audit::show),
        get("/console/timeline/webhooks", webhooks::list),
        get("/console/timeline/webhooks/new", webhook_form::show_new),
        post("/console/timeline/webhooks/new", webhook_form::create),
        get("/console/timeline/webhooks/{id}", deliveries::show),
        get("/console/timeline/webhooks/{id}/edit", webhook_form::show),
        post("/console/timeline/webhooks/{id}/edit", webhook_form::update),
        post("/console/timeline/webhooks/{id}/pause", webhooks::pause),
        post("/console/timeline/webhooks/{id}/resume", webhooks::resume),
        post("/console/timeline/webhooks/{id}/test", deliveries::test),
        post("/console/timeline/webhooks/{id}/replay", deliveries::replay),
        get("/console/timeline/webhooks/{id}/rotate", webhooks::ask_rotate),
        post("/console/timeline/webhooks/{id}/rotate", webhooks::rotate),
        get("/console/timeline/webhooks/{id}/delete", webhooks::ask_delete),
        post("/console/timeline/webhooks/{id}/delete", webhooks::delete),
    ]
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
