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
use crate::rows::{PageRow, get, post};

/// The pages.
pub(crate) fn rows() -> Vec<PageRow> {
    vec![
        get("/console/systems", list::show),
        get("/console/systems/export", list::export),
        get("/console/systems/new", edit::show_new),
        post("/console/systems/new", edit::create),
        get("/console/systems/{id}", overview::show),
        get("/console/systems/{id}/changes", changes::show),
        get("/console/systems/{id}/documents/{record}", changes::document),
        get("/console/systems/{id}/applications", applications::show),
        get("/console/systems/{id}/alerts", alerts::show),
        get("/console/systems/{id}/backups", backups::show),
        get("/console/systems/{id}/backups/{backup}", backups::download),
        get("/console/systems/{id}/backups/{backup}/delete", backups::ask),
        post("/console/systems/{id}/backups/{backup}/delete", backups::delete),
        get("/console/systems/{id}/access", access::show),
        post("/console/systems/{id}/reachability", access::reachability),
        post("/console/systems/{id}/secret", access::regenerate),
        get("/console/systems/{id}/edit", edit::show),
        post("/console/systems/{id}/edit", edit::update),
        get("/console/systems/{id}/{step}", step::ask),
        post("/console/systems/{id}/{step}", step::take),
    ]
}
