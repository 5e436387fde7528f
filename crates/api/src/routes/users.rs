//! Users.

use super::{Credential::Session, Route, delete, get, patch, post, put};
use crate::{
    manage::users,
    wire::users::{PasswordInput, UserInput, UserList, UserOutput},
};
use bailiwick_policy::Permission::{DestroyUsers, ManageUsers, ReadUsers};

pub(super) fn rows() -> Vec<Route> {
    vec![
        get("/users", "listUsers").needs(&[ReadUsers]).gives::<UserList>().to(users::list),
        post("/users", "createUser")
            .needs(&[ManageUsers])
            .answers(201)
            .takes::<UserInput>()
            .gives::<UserOutput>()
            .to(users::create),
        get("/users/totals", "getUsersTotals").needs(&[ReadUsers]),
        get("/users/trend", "getUsersTrend").needs(&[ReadUsers]),
        get("/users/export", "exportUsers").needs(&[ReadUsers]),
        get("/users/{id}", "getUser").needs(&[ReadUsers]).gives::<UserOutput>().to(users::show),
        put("/users/{id}", "updateUser")
            .needs(&[ManageUsers])
            .not_self()
            .takes::<UserInput>()
            .gives::<UserOutput>()
            .to(users::update),
        delete("/users/{id}", "deleteUser").needs(&[ManageUsers]).not_self(),
        patch("/users/{id}/restore", "restoreUser").needs(&[ManageUsers]).not_self(),
        delete("/users/{id}/destroy", "destroyUser")
            .credential(Session)
            .needs(&[ManageUsers, DestroyUsers])
            .not_self(),
        patch("/users/{id}/suspend", "suspendUser").needs(&[ManageUsers]).not_self(),
        patch("/users/{id}/reactivate", "reactivateUser").needs(&[ManageUsers]).not_self(),
        // Never by an API key; one gets the gate's text (contract 05 §6).
        patch("/users/{id}/password", "resetUserPassword")
            .credential(Session)
            .needs(&[ManageUsers])
            .not_self()
            .takes::<PasswordInput>()
            .gives_null()
            .gives_null()
            .to(users::set_password),
        get("/filters/users", "getUserFilters").needs(&[ReadUsers]),
    ]
}
