//! Notifications: who is notified of alerts, by the layers of organizations.

mod edit;
mod fields;
mod overview;
mod who;

use crate::rows::{PageRow, get, post};

/// The pages.
pub(crate) fn rows() -> Vec<PageRow> {
    vec![
        get("/console/notifications", overview::show),
        get("/console/notifications/edit", edit::show),
        post("/console/notifications/edit", edit::save),
        post("/console/notifications/switch-on", edit::switch_on),
        get("/console/notifications/remove", edit::ask),
        post("/console/notifications/remove", edit::remove),
        get("/console/notifications/who", who::show),
        post("/console/notifications/test", overview::test),
    ]
}

const HERE: &str = "/console/notifications";

/// The address of a page about an organization.
fn of(page: &str, organization: &str) -> String {
    let query =
        form_urlencoded::Serializer::new(String::new()).append_pair("organization_id", organization).finish();
    format!("{HERE}{page}?{query}")
}
