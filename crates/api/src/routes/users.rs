//! Users.

use super::{
    Credential::Session, EXPORT, Route, delete, get, imports, patch, post, put, rebranding::STORAGE,
};
use crate::{
    manage::{avatars, exports, users},
    wire::{
        roles::UserFilters,
        session::AvatarOutput,
        stats::{TrendOutput, UserTotals},
        users::{PasswordInput, UserInput, UserList, UserOutput},
    },
};
use bailiwick_policy::Permission::{DestroyUsers, ManageUsers, ReadUsers};
use std::time::Duration;

pub(super) fn rows() -> Vec<Route> {
    let mut rows = vec![
        get("/users", "listUsers").needs(&[ReadUsers]).gives::<UserList>().to(users::list),
        post("/users", "createUser")
            .needs(&[ManageUsers])
            .answers(201)
            .takes::<UserInput>()
            .gives::<UserOutput>()
            .to(users::create),
        get("/users/totals", "getUsersTotals").needs(&[ReadUsers]).gives::<UserTotals>().to(users::totals),
        get("/users/trend", "getUsersTrend").needs(&[ReadUsers]).gives::<TrendOutput>().to(users::trend),
        get("/users/export", "exportUsers").needs(&[ReadUsers]).gives_file(EXPORT).to(exports::users),
        get("/users/{id}", "getUser").conditional().needs(&[ReadUsers]).gives::<UserOutput>().to(users::show),
        put("/users/{id}", "updateUser")
            .conditional()
            .needs(&[ManageUsers])
            .not_self()
            .takes::<UserInput>()
            .gives::<UserOutput>()
            .to(users::update),
        delete("/users/{id}", "deleteUser")
            .conditional()
            .needs(&[ManageUsers])
            .not_self()
            .gives_null()
            .to(users::delete),
        patch("/users/{id}/restore", "restoreUser")
            .conditional()
            .needs(&[ManageUsers])
            .not_self()
            .gives_null()
            .to(users::restore),
        delete("/users/{id}/destroy", "destroyUser")
            .conditional()
            .credential(Session)
            .needs(&[ManageUsers, DestroyUsers])
            .not_self()
            .gives_null()
            .to(users::destroy),
        patch("/users/{id}/suspend", "suspendUser")
            .conditional()
            .needs(&[ManageUsers])
            .not_self()
            .gives_null()
            .to(users::suspend),
        patch("/users/{id}/reactivate", "reactivateUser")
            .conditional()
            .needs(&[ManageUsers])
            .not_self()
            .gives_null()
            .to(users::reactivate),
        // Never by an API key; one gets the gate's text (spec: authorization#credentials).
        patch("/users/{id}/password", "resetUserPassword")
            .conditional()
            .credential(Session)
            .needs(&[ManageUsers])
            .not_self()
            .takes::<PasswordInput>()
            .may_answer(&[502, 504])
            .gives_null()
            .to(users::set_password),
        get("/filters/users", "getUserFilters")
            .needs(&[ReadUsers])
            .failing("failed to retrieve user filters")
            .gives::<UserFilters>()
            .to(users::filters),
        put("/users/{id}/avatar", "putUserAvatar")
            .extra()
            // 30 s for the body, then the decoder, 15 s for the bucket.
            .answers_within(Duration::from_secs(75))
            .may_answer(STORAGE)
            .needs(&[ManageUsers])
            .not_self()
            .takes_file("avatar")
            .gives::<AvatarOutput>()
            .to(avatars::put),
        delete("/users/{id}/avatar", "deleteUserAvatar")
            .extra()
            .needs(&[ManageUsers])
            .not_self()
            .gives_null()
            .to(avatars::remove),
    ];
    rows.extend(imports::rows("/users", "Users", &[ReadUsers], &[ManageUsers]));
    rows
}
