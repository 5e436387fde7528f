//! Determines the caller of a request from an access token of the service, an API key, or, where the specification
//! allows it, a token of the provider (spec: authentication#bearer-errors, authentication#provider-token-reads).

use crate::{
    Identity, TokenRequest,
    api_keys::{self, KeyWork},
    auth::{
        BearerRequest, Session, SignIn, UserObject, authenticate_access_token, bearer_token, identity_of,
        is_api_key, is_own, object_of, refuse_disabled, start, unreadable, user_object,
    },
    credentials::basic,
    oidc,
    relying_party::{self, TokenAudience},
};
use bailiwick_domain::{Error, Result};
use bailiwick_platform::RequestContext;
use bailiwick_policy::Caller;
use bailiwick_store::identities;

/// Authenticates a request that carries `Authorization: Bearer …`.
///
/// # Errors
/// The rows of spec: authentication#bearer-errors; 429 beyond the rate of an API key.
pub async fn authenticate_bearer(service: &Identity, request: &BearerRequest<'_>) -> Result<Caller> {
    let token = bearer_token(request.authorization)?;
    if is_api_key(token) {
        return api_keys::authenticate(service, token, request, KeyWork::Any).await;
    }
    authenticate_access_token(service, token).await
}

/// Authenticates a request of a tool, which carries a personal API key: as `Bearer`, or as the password of `Basic` with
/// any user name.
///
/// # Errors
/// 401 for every other credential; 429 beyond the rate of the key.
pub async fn authenticate_key(
    service: &Identity,
    request: &BearerRequest<'_>,
    work: KeyWork,
) -> Result<Caller> {
    let header = request.authorization;
    let is_basic =
        header.is_some_and(|h| h.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("basic ")));
    let required = || Error::unauthenticated("api key required");
    if !is_basic {
        let token = bearer_token(header)?;
        return match is_api_key(token) {
            true => api_keys::authenticate(service, token, request, work).await,
            false => Err(required()),
        };
    }
    let malformed = |_| Error::unauthenticated("invalid authorization header format");
    let basic = basic::parse(header).map_err(malformed)?;
    let key = basic.password().filter(|password| is_api_key(password)).ok_or_else(required)?;
    api_keys::authenticate(service, key, request, work).await
}

/// Exchange: an access token of the provider starts a chain (spec: authentication#exchange).
///
/// # Errors
/// 401 for a token that is not valid here, was issued to a client that is not first-party, or belongs to a user who may
/// not sign in; 429 beyond the rate; 502 and 504 for the provider; 503 when state cannot be read.
pub async fn exchange(
    service: &Identity,
    ctx: &RequestContext,
    counted: TokenRequest,
    provider_token: &str,
) -> Result<Session> {
    let refused = || Error::unauthenticated("invalid access token");
    if let Some(external) = &service.external {
        let lookup =
            async { relying_party::user_of(service, external, provider_token).await.map_err(not_read) };
        let own = counted.beside(lookup).await?.filter(|(_, party)| *party == TokenAudience::Own);
        let (token_user, _) = own.ok_or_else(refused)?;
        return start(service, ctx, token_user.user, token_user.sign_in).await;
    }
    let subject = async { oidc::subject_of_access_token(service, provider_token).await.map_err(not_read) };
    let subject = counted.beside(subject).await?;
    let subject = subject.filter(|subject| subject.first_party).ok_or_else(refused)?;
    let sign_in = SignIn {
        login: Some(subject.login_id),
        at: Some(subject.signed_in_at),
        methods: Some(subject.methods),
        issuer_session: None,
    };
    start(service, ctx, subject.user_id, sign_in).await
}

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
            // A request without a session makes the service call the provider, so it is limited like the exchange.
            let counted = service.token_requests.count(service.as_ref(), request.client_ip)?;
            let lookup = async { relying_party::user_of(service, external, token).await.map_err(not_read) };
            counted.beside(lookup).await?.map(|(token_user, _)| token_user.user)
        }
        None => oidc::user_of_access_token(service, token).await.map_err(not_read)?,
    };
    let user = user.ok_or_else(invalid)?;
    let user = identities::get(&service.platform.db, user).await.map_err(unreadable)?.ok_or_else(invalid)?;
    refuse_disabled(user.standing)?;
    Ok(user_object(&identity_of(&service.platform.catalogue, user)))
}

/// Maps a failed read: faults of the provider keep their answer, all others become "state cannot be read".
fn not_read(e: Error) -> Error {
    match e {
        Error::Upstream { .. } | Error::UpstreamTimeout(_) | Error::Unauthenticated { .. } => e,
        other => unreadable(other),
    }
}
