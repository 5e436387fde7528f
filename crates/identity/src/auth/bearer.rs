//! Resolves a bearer token to its caller. The state is read live for each request (spec: authentication#bearer-errors).

use super::tokens;
use crate::Identity;
use bailiwick_domain::{Error, Result, validate::ApiKeyToken};
use bailiwick_platform::keys::TokenKind;
use bailiwick_policy::Caller;
use bailiwick_store::identities::Standing;
use std::net::IpAddr;

/// The reason given when the user or their organization is deleted.
pub(crate) const DELETED: &str = "user deleted";

/// Longest accepted bearer token, in bytes; ours are far shorter.
pub(crate) const MAX_TOKEN_BYTES: usize = 16 * 1024;

/// The parts of a request with a bearer token that authentication uses.
#[derive(Clone, Copy, Debug)]
pub struct BearerRequest<'a> {
    /// The `Authorization` header.
    pub authorization: Option<&'a str>,
    /// The client's address.
    pub client_ip: IpAddr,
    /// For the history of API keys.
    pub method: &'a str,
    /// The path without the query, for the history of API keys.
    pub path: &'a str,
}

/// The token of an `Authorization` header, by the first three rows of spec: authentication#bearer-errors.
pub fn bearer_token(header: Option<&str>) -> Result<&str> {
    let header = header.ok_or_else(|| Error::unauthenticated("authorization header required"))?;
    let bad_format = || Error::unauthenticated("invalid authorization header format");
    let (scheme, token) = header.trim_start().split_once(' ').unwrap_or((header.trim(), ""));
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(bad_format());
    }
    match token.trim() {
        "" => Err(Error::unauthenticated("token not provided")),
        token => Ok(token),
    }
}

/// Whether the bearer has the shape of a personal API key.
pub fn is_api_key(token: &str) -> bool {
    ApiKeyToken::is_meant_by(token)
}

pub(crate) fn invalid() -> Error {
    Error::unauthenticated("invalid token")
}

/// State that protects access could not be read: access is never given then, whatever the cause (spec:
/// guarantees#identity rule 11).
pub(crate) fn unreadable(e: impl std::fmt::Display) -> Error {
    Error::security_unavailable(e.to_string())
}

pub(crate) fn suspended(reason: &str) -> Error {
    Error::unauthenticated_because("user account has been suspended", reason)
}

/// Refuses a user who may not act now. Suspension is reported before deletion.
pub(crate) fn refuse_disabled(standing: Standing) -> Result<()> {
    if let Some(reason) = standing.suspension() {
        return Err(suspended(reason));
    }
    if standing.is_gone() {
        return Err(Error::unauthenticated_because("token has been revoked", DELETED));
    }
    Ok(())
}

/// Authenticates an access token of the service.
///
/// # Errors
/// The rows of spec: authentication#bearer-errors.
pub(crate) async fn authenticate_access_token(service: &Identity, token: &str) -> Result<Caller> {
    if token.len() > MAX_TOKEN_BYTES {
        return Err(invalid());
    }
    let presented =
        tokens::verify(service, TokenKind::Access, token, service.platform.now()).ok_or_else(invalid)?;
    let bearer = service.bearers().find(presented.chain).await?;
    let bearer = bearer.filter(|b| b.identity.user_id == presented.user_id).ok_or_else(invalid)?;
    refuse_disabled(bearer.standing)?;
    if let Some(reason) = &bearer.revoked {
        return Err(Error::unauthenticated_because("token has been revoked", reason));
    }
    Ok(Caller::user(bearer.identity.clone(), Some(presented.chain)).signed_in(bearer.signed_in_at))
}

/// Whether the token names one of our keys: such a token is never sent to the provider.
pub(crate) fn is_own(service: &Identity, token: &str) -> bool {
    [TokenKind::Access, TokenKind::Impersonation, TokenKind::Refresh]
        .into_iter()
        .any(|kind| service.platform.keys.names(kind, token))
}
