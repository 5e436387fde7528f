//! Health, sessions, the caller himself, role lists.

use super::{Credential, Route, get, post};
use crate::manage;

pub(super) fn rows() -> Vec<Route> {
    use Credential::{Provider, Public, Session, User};
    vec![
        get("/health", "getHealth").credential(Public).to(manage::health::show).gives::<manage::health::Health>(),
        post("/auth/exchange", "exchangeToken").credential(Public),
        post("/auth/refresh", "refreshToken").credential(Public),
        post("/auth/logout", "logout").credential(User),
        get("/me", "getMe").credential(Session),
        post("/me/change-password", "changePassword").credential(User),
        post("/me/change-info", "changeInfo").credential(User),
        get("/user/permissions", "getUserPermissions").credential(Provider),
        get("/user/profile", "getUserProfile").credential(Provider),
        get("/roles", "listRoles"),
        get("/organization-roles", "listOrganizationRoles"),
        get("/third-party-applications", "listThirdPartyApplications"),
    ]
}
