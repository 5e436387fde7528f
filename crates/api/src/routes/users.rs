//! Users.

use super::{
    BY_NAME, CREATORS, Credential::Session, NEWEST, Route, delete, get, imports, patch, post, put, query,
    rebranding::STORAGE,
};
use crate::{
    manage::{PAGE_SIZE, avatars, exports, users},
    wire::{
        roles::UserFilters,
        session::AvatarOutput,
        stats::{TrendOutput, UserTotals},
        users::{PasswordInput, UserInput, UserList, UserOutput},
    },
};
use bailiwick_directory::users::{FILTERS, ORDERS};
use bailiwick_policy::Permission::{DestroyUsers, ManageUsers, ReadUsers};
use std::time::Duration;

pub(super) fn rows() -> Vec<Route> {
    let mut rows = vec![
        get("/users", "listUsers", "List users")
            .query(query::page_or_cursor(PAGE_SIZE))
            .query(query::sort(ORDERS))
            .query(query::filters(FILTERS))
            .ordered(&[("users", NEWEST)])
            .needs(&[ReadUsers])
            .gives::<UserList>()
            .to(users::list),
        post("/users", "createUser", "Create a user")
            .needs(&[ManageUsers])
            .answers(201)
            .takes::<UserInput>()
            .gives::<UserOutput>()
            .to(users::create),
        get("/users/totals", "getUsersTotals", "Count users")
            .needs(&[ReadUsers])
            .gives::<UserTotals>()
            .to(users::totals),
        get("/users/trend", "getUsersTrend", "Number of users over time")
            .query(query::period())
            .needs(&[ReadUsers])
            .gives::<TrendOutput>()
            .to(users::trend),
        get("/users/export", "exportUsers", "Export users as CSV or PDF")
            .query(query::format())
            .query(query::sort(ORDERS))
            .query(query::filters(FILTERS))
            .needs(&[ReadUsers])
            .exports()
            .to(exports::users),
        get("/users/{id}", "getUser", "Show a user")
            .conditional()
            .needs(&[ReadUsers])
            .gives::<UserOutput>()
            .to(users::show),
        put("/users/{id}", "updateUser", "Change a user")
            .conditional()
            .needs(&[ManageUsers])
            .not_self()
            .takes::<UserInput>()
            .gives::<UserOutput>()
            .to(users::update),
        delete("/users/{id}", "deleteUser", "Delete a user, to be restored later")
            .conditional()
            .needs(&[ManageUsers])
            .not_self()
            .gives_null()
            .to(users::delete),
        patch("/users/{id}/restore", "restoreUser", "Restore a deleted user")
            .conditional()
            .needs(&[ManageUsers])
            .not_self()
            .gives_null()
            .to(users::restore),
        delete("/users/{id}/destroy", "destroyUser", "Remove a user for good")
            .conditional()
            .credential(Session)
            .needs(&[ManageUsers, DestroyUsers])
            .not_self()
            .gives_null()
            .to(users::destroy),
        patch("/users/{id}/suspend", "suspendUser", "Suspend a user")
            .conditional()
            .needs(&[ManageUsers])
            .not_self()
            .gives_null()
            .to(users::suspend),
        patch("/users/{id}/reactivate", "reactivateUser", "End the suspension of a user")
            .conditional()
            .needs(&[ManageUsers])
            .not_self()
            .gives_null()
            .to(users::reactivate),
        // Never by an API key; one gets the gate's text (spec: authorization#credentials).
        patch("/users/{id}/password", "resetUserPassword", "Set a user's password")
            .conditional()
            .credential(Session)
            .needs(&[ManageUsers])
            .not_self()
            .takes::<PasswordInput>()
            .may_answer(&[502, 504])
            .gives_null()
            .to(users::set_password),
        get("/filters/users", "getUserFilters", "Values to filter users by")
            .query(query::keys(["q", "limit"]))
            .ordered(&[("created_by", CREATORS), ("organizations", BY_NAME)])
            .needs(&[ReadUsers])
            .failing("failed to retrieve user filters")
            .gives::<UserFilters>()
            .to(users::filters),
        put("/users/{id}/avatar", "putUserAvatar", "Set a user's picture")
            .extra()
            // 30 s for the body, then the decoder, 15 s for the bucket.
            .answers_within(Duration::from_secs(75))
            .may_answer(STORAGE)
            .needs(&[ManageUsers])
            .not_self()
            .takes_file("avatar")
            .gives::<AvatarOutput>()
            .to(avatars::put),
        delete("/users/{id}/avatar", "deleteUserAvatar", "Remove a user's picture")
            .extra()
            .needs(&[ManageUsers])
            .not_self()
            .gives_null()
            .to(avatars::remove),
    ];
    rows.extend(imports::rows("/users", "Users", &[ReadUsers], &[ManageUsers]));
    rows
}
