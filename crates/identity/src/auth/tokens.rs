//! The service's own tokens: HS256 JWTs (spec: authentication#service-tokens). Their claims inform clients; access
//! checks read live data.

use super::user_object::{UserObject, user_object};
use crate::Identity;
use bailiwick_domain::{ChainId, ImpersonationId, Result, Ts, UserId};
use bailiwick_platform::keys::TokenKind;
use bailiwick_policy::UserIdentity;
use bailiwick_store::{impersonation, sessions::Chain};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use uuid::Uuid;

/// How far the clock of the replica that issued a token may be ahead of ours (spec: authentication#service-tokens); for
/// `nbf` only.
const NOT_BEFORE_LEEWAY: Duration = Duration::from_secs(60);

/// The claims common to all kinds.
#[derive(Serialize)]
struct Registered<'a> {
    iss: &'a str,
    sub: String,
    aud: [&'a str; 1],
    iat: i64,
    nbf: i64,
    exp: i64,
    jti: String,
    sid: String,
}

#[derive(Serialize)]
struct AccessClaims<'a> {
    token_type: &'static str,
    user: UserObject,
    #[serde(flatten)]
    registered: Registered<'a>,
}

#[derive(Serialize)]
struct RefreshClaims<'a> {
    token_type: &'static str,
    user_id: String,
    #[serde(flatten)]
    registered: Registered<'a>,
}

#[derive(Serialize)]
struct ImpersonationClaims<'a> {
    token_type: &'static str,
    user: UserObject,
    impersonated_by: UserObject,
    is_impersonated: bool,
    session_id: String,
    #[serde(flatten)]
    registered: Registered<'a>,
}

/// The claims of a verified token of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Presented {
    pub user_id: UserId,
    pub chain: ChainId,
    /// `jti`.
    pub token_id: Uuid,
}

#[derive(Deserialize)]
struct PresentedClaims {
    token_type: String,
    sub: UserId,
    sid: ChainId,
    jti: Uuid,
    exp: i64,
    nbf: i64,
}

fn registered<'a>(
    service: &'a Identity,
    user: UserId,
    chain: ChainId,
    id: Uuid,
    from: i64,
    to: i64,
) -> Registered<'a> {
    let settings = &service.settings.tokens;
    Registered {
        iss: &settings.issuer,
        sub: user.to_string(),
        aud: [&settings.audience],
        iat: from,
        nbf: from,
        exp: to,
        jti: id.to_string(),
        sid: chain.to_string(),
    }
}

/// An access token for the chain, and its lifetime in seconds.
pub(crate) fn access_token(
    service: &Identity,
    identity: &UserIdentity,
    chain: ChainId,
    now: Ts,
) -> Result<(String, u64)> {
    let life = service.settings.tokens.access.as_secs();
    let expires = now.secs().saturating_add(i64::try_from(life).unwrap_or(i64::MAX));
    let claims = AccessClaims {
        token_type: TokenKind::Access.as_str(),
        user: user_object(identity),
        registered: registered(
            service,
            identity.user_id,
            chain,
            service.platform.fresh(),
            now.secs(),
            expires,
        ),
    };
    Ok((service.platform.keys.sign(TokenKind::Access, &claims)?, life))
}

/// The chain's current refresh token. It is made from the stored chain alone, so every request within the reuse grace
/// gets the same string (spec: authentication#session-chains) although no token is stored.
pub(crate) fn refresh_token(service: &Identity, chain: &Chain) -> Result<String> {
    let (from, to) = (chain.refresh_issued_at.secs(), chain.expires_at.secs());
    let claims = RefreshClaims {
        token_type: TokenKind::Refresh.as_str(),
        user_id: chain.user_id.to_string(),
        registered: registered(service, chain.user_id, chain.id, chain.refresh_id, from, to),
    };
    service.platform.keys.sign(TokenKind::Refresh, &claims)
}

/// Verifies signature, issuer, audience, kind and times. None for any other text.
pub(crate) fn verify(service: &Identity, kind: TokenKind, token: &str, now: Ts) -> Option<Presented> {
    let settings = &service.settings.tokens;
    let claims: PresentedClaims =
        service.platform.keys.verify(kind, token, &settings.issuer, &settings.audience)?;
    let in_time = claims.exp > now.secs() && claims.nbf <= now.plus(NOT_BEFORE_LEEWAY).secs();
    (in_time && claims.token_type == kind.as_str()).then_some(Presented {
        user_id: claims.sub,
        chain: claims.sid,
        token_id: claims.jti,
    })
}

/// A token for an impersonation session, and the seconds until the consent expires. Later requests are checked against
/// the session's rows only; the claims tell clients who acts as which user.
pub fn impersonation_token(
    service: &Identity,
    session: &impersonation::sessions::Session,
    impersonated: &UserIdentity,
    impersonator: &UserIdentity,
    now: Ts,
) -> Result<(String, u64)> {
    let (from, to) = (now.secs(), session.expires_at.secs());
    let claims = ImpersonationClaims {
        token_type: TokenKind::Impersonation.as_str(),
        user: user_object(impersonated),
        impersonated_by: user_object(impersonator),
        is_impersonated: true,
        session_id: session.id.to_string(),
        registered: registered(
            service,
            impersonated.user_id,
            session.chain_id,
            service.platform.fresh(),
            from,
            to,
        ),
    };
    Ok((
        service.platform.keys.sign(TokenKind::Impersonation, &claims)?,
        session.expires_at.since(now).as_secs(),
    ))
}

/// The claims of a verified impersonation token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PresentedImpersonation {
    pub session: ImpersonationId,
    /// The impersonated user, whose rights the token gives.
    pub impersonated: UserId,
    pub impersonator: UserId,
    /// Whether the token has expired; that has its own answer (spec: authentication#bearer-errors).
    pub is_expired: bool,
}

#[derive(Deserialize)]
struct PresentedImpersonationClaims {
    token_type: String,
    sub: UserId,
    session_id: ImpersonationId,
    impersonated_by: Impersonator,
    exp: i64,
    nbf: i64,
}

#[derive(Deserialize)]
struct Impersonator {
    id: UserId,
}

/// Verifies signature, issuer, audience, kind and `nbf`. None for any other text.
pub fn verify_impersonation(service: &Identity, token: &str, now: Ts) -> Option<PresentedImpersonation> {
    let (settings, kind) = (&service.settings.tokens, TokenKind::Impersonation);
    let claims: PresentedImpersonationClaims =
        service.platform.keys.verify(kind, token, &settings.issuer, &settings.audience)?;
    let has_begun = claims.nbf <= now.plus(NOT_BEFORE_LEEWAY).secs();
    (has_begun && claims.token_type == kind.as_str()).then_some(PresentedImpersonation {
        session: claims.session_id,
        impersonated: claims.sub,
        impersonator: claims.impersonated_by.id,
        is_expired: claims.exp <= now.secs(),
    })
}
