//! Health, sessions, the caller's own account, role lists.

use super::{Credential, NEWEST, Route, delete, get, post, put, query, rebranding::STORAGE};
use crate::{
    manage::{self, PAGE_SIZE, api_keys, avatars, own_sessions},
    wire::{api_keys as keys, own_sessions as own, roles, session as wire, third_party},
};
use bailiwick_identity::api_keys::EVENTS;
use std::time::Duration;

/// Of roles.
const CATALOGUE_ORDER: &str = "The order is that of the catalogue of roles.";

pub(super) fn rows() -> Vec<Route> {
    use Credential::{Provider, Public, Session, User};
    vec![
        get("/health", "getHealth", "Whether the service answers, and its versions")
            .credential(Public)
            .to(manage::health::show)
            .gives::<manage::health::Health>(),
        post("/auth/exchange", "exchangeToken", "Begin a session with a token of the identity provider")
            .credential(Public)
            .to(manage::session::exchange)
            .takes::<wire::Exchange>()
            .may_answer(&[401, 403, 429, 502, 504])
            .gives::<wire::SessionTokens>(),
        post("/auth/refresh", "refreshToken", "Renew a session")
            .credential(Public)
            .to(manage::session::refresh)
            .takes::<wire::Refresh>()
            .may_answer(&[401, 403, 429])
            .gives::<wire::SessionTokens>(),
        post("/auth/logout", "logout", "End the session")
            .credential(User)
            .to(manage::session::logout)
            .gives::<wire::LoggedOut>(),
        get("/me", "getMe", "Show oneself, with roles and permissions")
            .credential(Session)
            .to(manage::me::show)
            .gives::<wire::SessionUser>(),
        post("/me/change-password", "changePassword", "Change one's own password")
            .credential(User)
            .to(manage::me::change_password)
            .takes::<wire::PasswordChange>()
            .may_answer(&[429, 502, 504])
            .gives_null(),
        post("/me/change-info", "changeInfo", "Change one's own name, e-mail address or phone number")
            .credential(User)
            .to(manage::me::change_info)
            .takes::<wire::InfoChange>()
            .may_answer(&[429])
            .gives::<wire::InfoChanged>(),
        put("/me/avatar", "putOwnAvatar", "Set one's own picture")
            .extra()
            // 30 s for the body, then the decoder, 15 s for the bucket.
            .answers_within(Duration::from_secs(75))
            .may_answer(STORAGE)
            .credential(User)
            .takes_file("avatar")
            .gives::<wire::AvatarOutput>()
            .to(avatars::put_own),
        delete("/me/avatar", "deleteOwnAvatar", "Remove one's own picture")
            .extra()
            .credential(User)
            .gives_null()
            .to(avatars::remove_own),
        get("/public/users/{id}/avatar", "getAvatar", "A user's picture")
            .extra()
            .credential(Public)
            .gives_file(&["image/png"])
            .may_answer(&[429, 502, 504])
            .to(avatars::show),
        get("/me/api-keys", "listApiKeys", "List one's own API keys")
            .ordered(&[("api_keys", NEWEST)])
            .extra()
            .credential(User)
            .gives::<keys::ApiKeyList>()
            .to(api_keys::list),
        post("/me/api-keys", "createApiKey", "Create an API key; its token is shown once")
            .extra()
            .credential(User)
            .answers(201)
            .takes::<keys::ApiKeyInput>()
            .may_answer(&[409, 429])
            .gives::<keys::NewApiKeyOutput>()
            .to(api_keys::create),
        get("/me/api-keys/audit", "listApiKeyAudit", "What has happened with one's own API keys")
            .query(query::page(PAGE_SIZE))
            .query([
                query::key("event").repeated().one_of(EVENTS.to_vec()),
                query::key("api_key_id").repeated(),
            ])
            .ordered(&[("audit", NEWEST)])
            .extra()
            .credential(User)
            .gives::<keys::ApiKeyHistory>()
            .to(api_keys::history),
        delete("/me/api-keys/{id}", "revokeApiKey", "End an API key")
            .extra()
            .credential(User)
            .gives_null()
            .to(api_keys::revoke),
        get("/me/sessions", "listOwnSessions", "List one's own sessions, with device and last use")
            .ordered(&[("sessions", NEWEST)])
            .extra()
            .credential(User)
            .gives::<own::OwnSessionList>()
            .to(own_sessions::list),
        delete("/me/sessions", "endOtherSessions", "End all of one's own sessions but this one")
            .extra()
            .credential(User)
            .gives_null()
            .to(own_sessions::end_others),
        delete("/me/sessions/{id}", "endOwnSession", "End one of one's own sessions")
            .extra()
            .credential(User)
            .gives_null()
            .to(own_sessions::end),
        get("/user/permissions", "getUserPermissions", "Roles and permissions of whoever has signed in")
            .credential(Provider)
            .to(manage::session::permissions)
            .gives::<wire::UserPermissions>(),
        get("/user/profile", "getUserProfile", "Whoever has signed in")
            .credential(Provider)
            .to(manage::session::profile)
            .gives::<wire::SessionUser>(),
        get("/roles", "listRoles", "List the roles that users can have")
            .order_note(CATALOGUE_ORDER)
            .to(manage::roles::list)
            .gives::<roles::RoleList>(),
        get("/organization-roles", "listOrganizationRoles", "List the types of organizations")
            .order_note(CATALOGUE_ORDER)
            .to(manage::roles::list_of_organizations)
            .gives::<roles::OrganizationRoleList>(),
        get(
            "/third-party-applications",
            "listThirdPartyApplications",
            "List the other applications one may sign in to",
        )
        .ordered(&[("", &["branding.display_name", "id"])])
        .to(manage::roles::third_party_applications)
        .gives::<third_party::ThirdPartyApplications>(),
    ]
}
