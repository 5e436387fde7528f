//! People: users, one's own account, keys, sessions, roles, impersonation.

use super::{tree::Places, *};
use crate::provider::second_factors::{Authenticator, Ceremony, code_at, encoded};
use bailiwick_domain::UserId;
use bailiwick_testkit::engine::OWNER_PASSWORD;
use std::time::Duration;

const GIVEN: &str = "Quiet-Harbour-58-Lamps";
const CHOSEN: &str = "Brisk-Meadow-31-Kites";

fn person(name: &str, email: &str, organization: &str) -> Value {
    json!({
        "email": email, "name": name, "phone": "+39 011 5550100", "user_role_ids": ["admin"],
        "organization_id": organization,
    })
}

/// One user from birth to end; another one stays.
async fn users(b: &mut Book<'_>, owner: &Persona, places: &Places) -> UserId {
    let body = person("Mario Rossi", "mario.rossi@gamma.example.org", &places.customer);
    let made = b.call(owner, "createUser", "/users", body).await;
    let id = text(&made, "id");
    let path = format!("/users/{id}");
    b.ask(owner, "listUsers", "/users?page=1&page_size=20&search=rossi").await;
    b.ask(owner, "getUsersTotals", "/users/totals").await;
    b.ask(owner, "getUsersTrend", "/users/trend?period=7").await;
    b.ask(owner, "getUserFilters", "/filters/users").await;
    b.ask(owner, "exportUsers", "/users/export?format=csv").await;
    b.ask(owner, "getUser", &path).await;
    let change = json!({"name": "Mario Bianchi", "phone": "", "user_role_ids": ["admin", "support"]});
    b.call(owner, "updateUser", &path, change).await;
    b.ask(owner, "resetSecondFactors", &format!("{path}/second-factors")).await;
    b.call(owner, "resetUserPassword", &format!("{path}/password"), json!({"password": GIVEN})).await;
    let picture = crate::avatars::own_picture();
    let part = [("avatar", Some("image/png"), picture.as_slice())];
    b.call(owner, "putUserAvatar", &format!("{path}/avatar"), Sent::Form(&part)).await;
    b.ask(owner, "deleteUserAvatar", &format!("{path}/avatar")).await;
    b.ask(owner, "suspendUser", &format!("{path}/suspend")).await;
    b.ask(owner, "reactivateUser", &format!("{path}/reactivate")).await;
    b.ask(owner, "deleteUser", &path).await;
    b.ask(owner, "restoreUser", &format!("{path}/restore")).await;
    b.ask(owner, "getUsersImportTemplate", "/users/import/template").await;
    let file =
        "email,name,phone,company_name,roles\nanna.neri@gamma.example.org,Anna Neri,,Gamma Srl,Reader\n";
    let part = [("file", Some("text/csv"), file.as_bytes())];
    let preview = b.call(owner, "validateUsersImport", "/users/import/validate", Sent::Form(&part)).await;
    let body = json!({"import_id": preview["import_id"], "override": false});
    let done = b.call(owner, "confirmUsersImport", "/users/import/confirm", body).await;
    b.ask(owner, "destroyUser", &format!("/users/{}/destroy", text(&done["results"][0], "id"))).await;
    id.parse().unwrap()
}

async fn account(b: &mut Book<'_>, mario: UserId) {
    let user = b.test.session(mario).await;
    b.ask(&user, "getMe", "/me").await;
    b.call(&user, "changeInfo", "/me/change-info", json!({"phone": "+39 011 5550111"})).await;
    let picture = crate::avatars::own_picture();
    let part = [("avatar", Some("image/png"), picture.as_slice())];
    b.call(&user, "putOwnAvatar", "/me/avatar", Sent::Form(&part)).await;
    b.ask(Who::Nobody, "getAvatar", &format!("/public/users/{mario}/avatar")).await;
    b.ask(&user, "deleteOwnAvatar", "/me/avatar").await;
    b.ask(&user, "getUserPermissions", "/user/permissions").await;
    b.ask(&user, "getUserProfile", "/user/profile").await;
    let change = json!({"current_password": GIVEN, "new_password": CHOSEN});
    b.call(&user, "changePassword", "/me/change-password", change).await;
}

/// Second factors of one person, as the book shows them: answers that are drawn anew each time are hidden.
async fn second_factors(b: &mut Book<'_>, owner: &Persona, mario: UserId, places: &Places) {
    let user = b.test.session(mario).await;
    let path = "/me/second-factors";
    let offer = b.ask(&user, "offerAuthenticator", &format!("{path}/totp/options")).await;
    let secret = text(&offer, "secret");
    let code = code_at(b.test, &secret, 0);
    b.hide(&code, "123456");
    let body = json!({"state": offer["state"], "code": code});
    b.call(&user, "addAuthenticator", &format!("{path}/totp"), body).await;
    b.hide(&encoded(&mario.0.into_bytes()), "AZUAAAAAcACAAAAAAAAACQ");
    let offer = b.ask(&user, "offerPasskey", &format!("{path}/passkeys/options")).await;
    let mut laptop = Authenticator::new("a laptop");
    let site =
        Ceremony { origin: PORTAL.to_owned(), site: "portal.example.org".to_owned(), ..Ceremony::default() };
    let credential = laptop.make(&offer["options"], &site);
    for (part, shown) in
        [("clientDataJSON", "eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIn0"), ("attestationObject", "o2NmbXRkbm9uZQ")]
    {
        b.hide(&text(&credential["response"], part), shown);
    }
    let body = json!({"state": offer["state"], "credential": credential, "name": "Laptop"});
    let passkey = b.call(&user, "addPasskey", &format!("{path}/passkeys"), body).await;
    let one = format!("{path}/passkeys/{}", text(&passkey, "id"));
    b.call(&user, "renamePasskey", &one, json!({"name": "Work laptop"})).await;
    b.ask(&user, "createRecoveryCodes", &format!("{path}/recovery-codes")).await;
    b.ask(&user, "getSecondFactors", path).await;
    b.ask(&user, "removePasskey", &one).await;
    b.ask(&user, "removeAuthenticator", &format!("{path}/totp")).await;
    let path = format!("/organizations/{}/second-factor", places.customer);
    b.call(owner, "setSecondFactorRequirement", &path, json!({"required": true})).await;
    b.ask(owner, "getSecondFactorRequirement", &path).await;
}

async fn keys(b: &mut Book<'_>, owner: &Persona) {
    let body =
        json!({"name": "Nightly export", "mode": "read", "expires_in_days": 90, "password": OWNER_PASSWORD});
    let made = b.call(owner, "createApiKey", "/me/api-keys", body).await;
    b.ask(owner, "listApiKeys", "/me/api-keys").await;
    b.ask(owner, "revokeApiKey", &format!("/me/api-keys/{}", text(&made, "id"))).await;
    b.ask(owner, "listApiKeyAudit", "/me/api-keys/audit?page=1&page_size=20").await;
}

async fn sessions(b: &mut Book<'_>, mario: UserId) {
    let (access, _) = crate::session::provider_token(b.test, mario, "bailiwick").await;
    b.hide(&access, "qk3v0Xb6w1sT5nE8cR2yU7hJ4mZ9pL0a");
    let tokens =
        b.call(Who::Nobody, "exchangeToken", "/auth/exchange", json!({"access_token": access})).await;
    let refresh = json!({"refresh_token": tokens["refresh_token"]});
    let tokens = b.call(Who::Nobody, "refreshToken", "/auth/refresh", refresh).await;
    b.ask(Who::Bearer(&text(&tokens, "token")), "logout", "/auth/logout").await;
}

/// The sessions of one person; last in the book, so that nothing else depends on them.
pub async fn own_sessions(b: &mut Book<'_>, mario: UserId) {
    b.test.session(mario).await;
    // The list is in the order of time; ids of the same moment have no order that is the same in every run.
    b.test.advance(Duration::from_secs(1));
    let user = b.test.session(mario).await;
    let open = b.ask(&user, "listOwnSessions", "/me/sessions").await;
    let other = open["sessions"].as_array().unwrap().iter().find(|session| session["is_present"] == false);
    b.ask(&user, "endOwnSession", &format!("/me/sessions/{}", text(other.unwrap(), "id"))).await;
    b.ask(&user, "endOtherSessions", "/me/sessions").await;
}

async fn impersonation(b: &mut Book<'_>, owner: &Persona, mario: UserId) {
    let user = b.test.session(mario).await;
    b.call(&user, "giveConsent", "/impersonate/consent", json!({"duration_hours": 2})).await;
    b.ask(&user, "getConsent", "/impersonate/consent").await;
    let started = b.call(owner, "startImpersonation", "/impersonate", json!({"user_id": mario})).await;
    let (token, session) = (text(&started, "token"), text(&started, "session_id"));
    b.ask(Who::Bearer(&token), "getImpersonationStatus", "/impersonate/status").await;
    b.test.advance(Duration::from_secs(60));
    b.ask(Who::Bearer(&token), "endImpersonation", "/impersonate").await;
    b.ask(&user, "listImpersonationSessions", "/impersonate/sessions?as=target").await;
    b.ask(&user, "getImpersonationSession", &format!("/impersonate/sessions/{session}")).await;
    b.ask(&user, "listImpersonationAudit", &format!("/impersonate/sessions/{session}/audit")).await;
    b.ask(&user, "withdrawConsent", "/impersonate/consent").await;
}

pub async fn walk(b: &mut Book<'_>, places: &Places) -> UserId {
    let owner = b.test.owner().await;
    b.ask(&owner, "listRoles", "/roles").await;
    b.ask(&owner, "listOrganizationRoles", "/organization-roles").await;
    b.ask(&owner, "listThirdPartyApplications", "/third-party-applications").await;
    let mario = users(b, &owner, places).await;
    account(b, mario).await;
    second_factors(b, &owner, mario, places).await;
    keys(b, &owner).await;
    sessions(b, mario).await;
    impersonation(b, &owner, mario).await;
    mario
}
