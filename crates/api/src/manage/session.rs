//! `/auth/*` and `/user/*` (spec: authentication#exchange to authentication#logout,
//! authentication#provider-token-reads).

use crate::{
    envelope::Answer,
    error::Outcome,
    extract::bearer,
    extract::{Ctx, JsonBody, Service, Who},
    wire::session::{Exchange, LoggedOut, Refresh, SessionTokens, SessionUser, UserPermissions, required},
};
use axum::extract::State;
use bailiwick_app::App;
use bailiwick_domain::Result;
use bailiwick_identity::{Identity, auth, callers};
use bailiwick_policy::Caller;
use http::request::Parts;

/// `POST /auth/exchange`.
pub async fn exchange(
    Service(identity): Service<Identity>,
    Ctx(request): Ctx,
    body: JsonBody,
) -> Outcome<Answer<SessionTokens>> {
    let counted = identity.token_requests.count(identity.as_ref(), request.client_ip)?;
    let token = required("access_token", body.parse_request::<Exchange>()?.access_token)?;
    let session = callers::exchange(&identity, &request, counted, &token).await?;
    Ok(Answer::ok("token exchange successful", session.into()))
}

/// `POST /auth/refresh`.
pub async fn refresh(
    Service(identity): Service<Identity>,
    Ctx(request): Ctx,
    body: JsonBody,
) -> Outcome<Answer<SessionTokens>> {
    let counted = identity.token_requests.count(identity.as_ref(), request.client_ip)?;
    let token = required("refresh_token", body.parse_request::<Refresh>()?.refresh_token)?;
    let session = auth::refresh(&identity, counted, &token).await?;
    Ok(Answer::ok("token refresh successful", session.into()))
}

/// `POST /auth/logout`; a body is ignored.
pub async fn logout(Service(identity): Service<Identity>, Who(caller): Who) -> Outcome<Answer<LoggedOut>> {
    auth::logout(&identity, &caller).await?;
    Ok(Answer::ok("logout successful", LoggedOut { message: "token has been invalidated" }))
}

/// The impersonated user, whom the gate has looked up already, or the one of any other token.
async fn user(identity: &Identity, parts: &Parts) -> Result<auth::UserObject> {
    match parts.extensions.get::<Caller>() {
        Some(caller) => auth::object_of(caller),
        None => callers::user_of_any_token(identity, &bearer(parts)?).await,
    }
}

/// `GET /user/permissions`.
pub async fn permissions(State(app): State<App>, parts: Parts) -> Outcome<Answer<UserPermissions>> {
    let user = user(&app.identity, &parts).await?;
    Ok(Answer::ok("user permissions retrieved successfully", user.into()))
}

/// `GET /user/profile`.
pub async fn profile(State(app): State<App>, parts: Parts) -> Outcome<Answer<SessionUser>> {
    let user = user(&app.identity, &parts).await?;
    Ok(Answer::ok("user profile retrieved successfully", user.into()))
}
