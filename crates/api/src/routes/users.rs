//! Users.

use super::{Credential::Session, Route, delete, get, patch, post, put};
use bailiwick_policy::Permission::{DestroyUsers, ManageUsers, ReadUsers};

pub(super) fn rows() -> Vec<Route> {
    vec![
        get("/users", "listUsers").needs(&[ReadUsers]),
        post("/users", "createUser").needs(&[ManageUsers]).answers(201),
        get("/users/totals", "getUsersTotals").needs(&[ReadUsers]),
        get("/users/trend", "getUsersTrend").needs(&[ReadUsers]),
        get("/users/export", "exportUsers").needs(&[ReadUsers]),
        get("/users/{id}", "getUser").needs(&[ReadUsers]),
        put("/users/{id}", "updateUser").needs(&[ManageUsers]).not_self(),
        delete("/users/{id}", "deleteUser").needs(&[ManageUsers]).not_self(),
        patch("/users/{id}/restore", "restoreUser").needs(&[ManageUsers]).not_self(),
        delete("/users/{id}/destroy", "destroyUser").needs(&[ManageUsers, DestroyUsers]).not_self(),
        patch("/users/{id}/suspend", "suspendUser").needs(&[ManageUsers]).not_self(),
        patch("/users/{id}/reactivate", "reactivateUser").needs(&[ManageUsers]).not_self(),
        // Never by an API key; one gets the gate's text (contract 05 §6).
        patch("/users/{id}/password", "resetUserPassword").credential(Session).needs(&[ManageUsers]).not_self(),
        get("/filters/users", "getUserFilters").needs(&[ReadUsers]),
    ]
}
