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

use crate::rows::{PageRow, get, post};

/// The pages.
pub(crate) fn rows() -> Vec<PageRow> {
    vec![
        get("/console/users", list::show),
        get("/console/users/export", list::export),
        get("/console/users/new", edit::show_new),
        post("/console/users/new", edit::create),
        get("/console/users/{id}", overview::show),
        get("/console/users/{id}/edit", edit::show),
        post("/console/users/{id}/edit", edit::update),
        get("/console/users/{id}/move", change::show),
        post("/console/users/{id}/move", change::relocate),
        get("/console/users/{id}/password", password::show),
        post("/console/users/{id}/password", password::set),
        get("/console/users/{id}/second-factors", factors::ask),
        post("/console/users/{id}/second-factors", factors::remove),
        post("/console/users/{id}/picture", picture::upload),
        post("/console/users/{id}/picture/remove", picture::remove),
        post("/console/users/{id}/impersonate", change::impersonate),
        get("/console/users/{id}/{step}", step::ask),
        post("/console/users/{id}/{step}", step::take),
    ]
}

use crate::links::user as address;
