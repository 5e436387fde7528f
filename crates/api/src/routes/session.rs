//! Health, sessions, the caller's own account, role lists.

use super::{Credential, Route, delete, get, post, put, rebranding::STORAGE};
use crate::{
    manage::{self, api_keys, avatars, own_sessions},
    wire::{api_keys as keys, own_sessions as own, roles, session as wire, third_party},
};
use std::time::Duration;

pub(super) fn rows() -> Vec<Route> {
    use Credential::{Provider, Public, Session, User};
    vec![
        get("/health", "getHealth")
            .credential(Public)
            .to(manage::health::show)
            .gives::<manage::health::Health>(),
        post("/auth/exchange", "exchangeToken")
            .credential(Public)
            .to(manage::session::exchange)
            .takes::<wire::Exchange>()
            .may_answer(&[401, 403, 429, 502, 504])
            .gives::<wire::SessionTokens>(),
        post("/auth/refresh", "refreshToken")
            .credential(Public)
            .to(manage::session::refresh)
            .takes::<wire::Refresh>()
            .may_answer(&[401, 403, 429])
            .gives::<wire::SessionTokens>(),
        post("/auth/logout", "logout")
            .credential(User)
            .to(manage::session::logout)
            .gives::<wire::LoggedOut>(),
        get("/me", "getMe").credential(Session).to(manage::me::show).gives::<wire::SessionUser>(),
        post("/me/change-password", "changePassword")
            .credential(User)
            .to(manage::me::change_password)
            .takes::<wire::PasswordChange>()
            .may_answer(&[429, 502, 504])
            .gives_null(),
        post("/me/change-info", "changeInfo")
            .credential(User)
            .to(manage::me::change_info)
            .takes::<wire::InfoChange>()
            .may_answer(&[429])
            .gives::<wire::InfoChanged>(),
        put("/me/avatar", "putOwnAvatar")
            .extra()
            // 30 s for the body, then the decoder, 15 s for the bucket.
            .answers_within(Duration::from_secs(75))
            .may_answer(STORAGE)
            .credential(User)
            .takes_file("avatar")
            .gives::<wire::AvatarOutput>()
            .to(avatars::put_own),
        delete("/me/avatar", "deleteOwnAvatar").extra().credential(User).gives_null().to(avatars::remove_own),
        get("/public/users/{id}/avatar", "getAvatar")
            .extra()
            .credential(Public)
            .gives_file(&["image/png"])
            .may_answer(&[429, 502, 504])
            .to(avatars::show),
        get("/me/api-keys", "listApiKeys")
            .extra()
            .credential(User)
            .gives::<keys::ApiKeyList>()
            .to(api_keys::list),
        post("/me/api-keys", "createApiKey")
            .extra()
            .credential(User)
            .answers(201)
            .takes::<keys::ApiKeyInput>()
            .may_answer(&[409, 429])
            .gives::<keys::NewApiKeyOutput>()
            .to(api_keys::create),
        get("/me/api-keys/audit", "listApiKeyAudit")
            .extra()
            .credential(User)
            .gives::<keys::ApiKeyHistory>()
            .to(api_keys::history),
        delete("/me/api-keys/{id}", "revokeApiKey")
            .extra()
            .credential(User)
            .gives_null()
            .to(api_keys::revoke),
        get("/me/sessions", "listOwnSessions")
            .extra()
            .credential(User)
            .gives::<own::OwnSessionList>()
            .to(own_sessions::list),
        delete("/me/sessions", "endOtherSessions")
            .extra()
            .credential(User)
            .gives_null()
            .to(own_sessions::end_others),
        delete("/me/sessions/{id}", "endOwnSession")
            .extra()
            .credential(User)
            .gives_null()
            .to(own_sessions::end),
        get("/user/permissions", "getUserPermissions")
            .credential(Provider)
            .to(manage::session::permissions)
            .gives::<wire::UserPermissions>(),
        get("/user/profile", "getUserProfile")
            .credential(Provider)
            .to(manage::session::profile)
            .gives::<wire::SessionUser>(),
        get("/roles", "listRoles").to(manage::roles::list).gives::<roles::RoleList>(),
        get("/organization-roles", "listOrganizationRoles")
            .to(manage::roles::list_of_organizations)
            .gives::<roles::OrganizationRoleList>(),
        get("/third-party-applications", "listThirdPartyApplications")
            .to(manage::roles::third_party_applications)
            .gives::<third_party::ThirdPartyApplications>(),
    ]
}
