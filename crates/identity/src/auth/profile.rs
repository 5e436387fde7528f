//! `GET /user/permissions` and `GET /user/profile`: the two reads that also take a provider's token (spec:
//! authentication#provider-token-reads).

use super::{
    bearer::{
        BearerRequest, authenticate_access_token, authenticate_bearer, is_api_key, refuse_disabled,
        unreadable,
    },
    identity_of,
    user_object::{UserObject, user_object},
};
use crate::{Identity, external, oidc};
use bailiwick_domain::{Error, Result};
use bailiwick_platform::keys::TokenKind;
use bailiwick_policy::Caller;
use bailiwick_store::identities;

fn invalid() -> Error {
    Error::unauthenticated("invalid token")
}

/// The user behind a provider access token (third-party clients included) or a token of the service.
///
/// # Errors
/// 401 with the texts of spec: authentication#provider-token-reads; 403 for an API key; 429 beyond the rate of requests
/// for tokens.
pub async fn user_of_any_token(service: &Identity, request: &BearerRequest<'_>) -> Result<UserObject> {
    let header =
        request.authorization.ok_or_else(|| Error::unauthenticated("authorization header required"))?;
    let (scheme, token) = header.trim().split_once(' ').unwrap_or((header, ""));
    let token = token.trim();
    if !scheme.eq_ignore_ascii_case("bearer") || token.is_empty() {
        return Err(Error::unauthenticated("bearer token required"));
    }
    if is_api_key(token) {
        authenticate_bearer(service, request).await?;
        return Err(Error::forbidden("this endpoint cannot be accessed with an api key"));
    }
    if is_own(service, token) {
        return object_of(&authenticate_access_token(service, token).await?);
    }
    let user = match &service.external {
        Some(external) => {
            // Whoever has no session yet makes us ask the provider: as limited as the exchange is.
            service.token_requests.check(request.client_ip)?;
            external::user_of(service, external, token).await.map(|named| named.map(|(user, _)| user))
        }
        None => oidc::user_of_access_token(service, token).await,
    };
    let user = user.map_err(not_read)?.ok_or_else(invalid)?;
    let user = identities::get(&service.db, user).await.map_err(unreadable)?.ok_or_else(invalid)?;
    refuse_disabled(user.standing)?;
    Ok(user_object(&identity_of(&service.catalogue, user)))
}

/// Whether one of our keys is named: such a token is not shown to the provider.
pub(crate) fn is_own(service: &Identity, token: &str) -> bool {
    [TokenKind::Access, TokenKind::Impersonation, TokenKind::Refresh]
        .into_iter()
        .any(|kind| service.keys.names(kind, token))
}

/// What the provider could not tell: upstream faults keep their answer, all else is state that cannot be read.
pub(crate) fn not_read(e: Error) -> Error {
    match e {
        Error::Upstream { .. } | Error::UpstreamTimeout(_) | Error::Unauthenticated { .. } => e,
        other => unreadable(other),
    }
}

/// The caller's own user object; under impersonation the target's.
pub fn object_of(caller: &Caller) -> Result<UserObject> {
    caller.identity().map(user_object).ok_or_else(invalid)
}
