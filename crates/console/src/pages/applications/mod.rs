//! Applications: the list, one application and what is done with it, and the summary by type and version.

mod change;
mod detail;
mod list;
mod summary;

use crate::{
    links::application as address,
    rows::{PageRow, get, post},
};
use bailiwick_fleet::applications::ApplicationRecord;

/// The pages.
pub(crate) fn rows() -> Vec<PageRow> {
    vec![
        get("/console/applications", list::show),
        get("/console/applications/summary", summary::show),
        get("/console/applications/{id}", detail::show),
        get("/console/applications/{id}/edit", change::show_notes),
        post("/console/applications/{id}/edit", change::set_notes),
        get("/console/applications/{id}/assign", change::show_assign),
        post("/console/applications/{id}/assign", change::assign),
        post("/console/applications/{id}/unassign", change::unassign),
        get("/console/applications/{id}/delete", change::ask_delete),
        post("/console/applications/{id}/delete", change::delete),
    ]
}

/// What people call an application.
pub(crate) fn name_of(application: &ApplicationRecord) -> &str {
    let named = application.display_name.as_deref().filter(|name| !name.is_empty());
    named.or(application.name.as_deref()).unwrap_or(&application.module_id)
}
