//! Tokens: issued for a code, issued for a refresh token, and revoked (spec: openid-provider#endpoints, steps 5, 8 and
//! 9).

use super::{
    Code, OAuthError, ProviderError,
    authorize::{Parameters, SCOPES, resource},
    claims::{self, Issuance, has_scope},
    clients::Client,
    consent, find_token, keys,
};
use crate::{
    Identity, TokenRequest,
    auth::{Reason, end_impersonations_of_revoked},
};
use aws_lc_rs::{constant_time, digest};
use bailiwick_domain::{Error, Ts};
use bailiwick_platform::keys::{fresh_secret, token_digest};
use bailiwick_store::{
    Tx,
    identities::{self, Identified},
    oidc::{
        grants::{self, Grant},
        logins,
        tokens::{self, NewToken, ProviderTokenKind, Token},
    },
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};

/// The purpose under which refresh tokens are sealed.
const PURPOSE: &str = "oidc refresh token";

/// The answer of the token endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TokenAnswer {
    /// Opaque; a JWT when it is for a resource.
    pub access_token: String,
    /// When `openid` was granted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id_token: Option<String>,
    /// When `offline_access` was granted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<String>,
    /// Seconds the access token lives.
    pub expires_in: u64,
    /// Granted scopes.
    pub scope: String,
    /// `Bearer`.
    pub token_type: &'static str,
}

/// The `nonce` of an ID token that was issued just now, in this process.
pub(crate) fn nonce_of(id_token: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Claims {
        nonce: Option<String>,
    }
    let claims = URL_SAFE_NO_PAD.decode(id_token.split('.').nth(1)?).ok()?;
    serde_json::from_slice::<Claims>(&claims).ok()?.nonce
}

/// `POST /oidc/token` for an authenticated client.
pub async fn token(
    service: &Identity,
    client: &Client,
    counted: TokenRequest,
    parameters: &Parameters,
) -> Result<TokenAnswer, ProviderError> {
    match parameters.required("grant_type")? {
        "authorization_code" => exchange_code(service, client, counted, parameters).await,
        "refresh_token" => refresh(service, client, counted, parameters).await,
        _ => Err(ProviderError::new(
            Code::UnsupportedGrantType,
            "only authorization_code and refresh_token are supported",
        )),
    }
}

/// Locks user, login and grant, in this order, until the transaction ends. None when one of them is no longer valid, or
/// the client no longer admits the user.
async fn lock_grant(
    service: &Identity,
    tx: &mut Tx,
    client: &Client,
    read: &Grant,
) -> Result<Option<(Identified, Grant)>, ProviderError> {
    let user = identities::get_steady(tx, read.user_id).await?;
    let is_on = logins::hold(tx, read.login_id).await?;
    let grant = grants::lock(tx, read.id).await?;
    let may_use = |user: &Identified| user.standing.is_enabled() && consent::admits(service, client, user);
    let enabled = user.filter(|user| is_on && may_use(user));
    Ok(enabled.zip(grant))
}

async fn exchange_code(
    service: &Identity,
    client: &Client,
    counted: TokenRequest,
    parameters: &Parameters,
) -> Result<TokenAnswer, ProviderError> {
    let code = parameters.required("code")?;
    let redirect_uri = parameters.one("redirect_uri")?;
    let verifier = parameters.one("code_verifier")?;
    let wanted = resource(service, parameters)?;
    let now = service.platform.now();
    let key = keys::signing(service).await?;
    let digest = token_digest(code);
    let grant = async { grants::by_code(&service.platform.db, &digest).await.map_err(ProviderError::from) };
    let grant = counted.beside(grant).await?;
    let grant =
        grant.filter(|grant| grant.client_id == client.id()).ok_or_else(ProviderError::invalid_grant)?;
    let mut tx = service.platform.db.begin().await?;
    let Some((user, grant)) = lock_grant(service, &mut tx, client, &grant).await? else {
        return Err(ProviderError::invalid_grant());
    };
    if let Some(used_at) = grant.code.used_at {
        end_reused(&mut tx, client, &grant, used_at, now).await?;
        tx.commit().await?;
        return Err(ProviderError::invalid_grant());
    }
    let is_good = !grant.is_ended
        && now < grant.code.expires_at
        && redirect_uri == Some(grant.code.redirect_uri.as_str())
        && matches_challenge(grant.code.challenge.as_deref(), verifier);
    if !is_good {
        return Err(ProviderError::invalid_grant());
    }
    within(wanted.as_deref(), &grant)?;
    if !grants::use_code(&mut tx, grant.id, now).await? {
        return Err(ProviderError::Fault(Error::internal("a code moved under its lock")));
    }
    let scope = grant.scope.clone();
    let issuance = Issuance { key: &key, grant: &grant, user: &user, scope: &scope, now };
    let issued = issue(service, &mut tx, &issuance).await?;
    let refresh_token = if has_scope(&grant.scope, "offline_access") {
        Some(issue_refresh(service, &mut tx, &grant, now).await?)
    } else {
        None
    };
    tx.commit().await?;
    Ok(TokenAnswer { refresh_token, ..issued })
}

/// A code presented twice was stolen, before or after its owner used it. The tokens of the first use end, and with them
/// the sessions opened through this login since (nothing else shows which of them came from these tokens). Tokens of
/// third parties open no sessions.
async fn end_reused(
    tx: &mut Tx,
    client: &Client,
    grant: &Grant,
    used_at: Ts,
    now: Ts,
) -> Result<(), ProviderError> {
    if grant.is_ended {
        return Ok(());
    }
    tracing::warn!(user = %grant.user_id, client = grant.client_id, "authorization code used twice, its tokens are revoked");
    grants::end(tx, grant.id, now).await?;
    if !client.is_first_party() {
        return Ok(());
    }
    grants::revoke_chains_since(tx, grant.login_id, used_at, now, Reason::Logout.as_str()).await?;
    end_impersonations_of_revoked(tx, now, grant.login_id).await?;
    Ok(())
}

/// PKCE (RFC 7636 §4.6). A verifier without a challenge is refused: an attacker has removed the challenge from the
/// request.
fn matches_challenge(challenge: Option<&str>, verifier: Option<&str>) -> bool {
    let (challenge, verifier) = match (challenge, verifier) {
        (None, None) => return true,
        (Some(challenge), Some(verifier)) => (challenge, verifier),
        _ => return false,
    };
    let is_unreserved = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~');
    if !(43..=128).contains(&verifier.len()) || !verifier.bytes().all(is_unreserved) {
        return false;
    }
    let made = URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, verifier.as_bytes()));
    constant_time::verify_slices_are_equal(made.as_bytes(), challenge.as_bytes()).is_ok()
}

/// The resource must have been requested at the authorization (RFC 8707 §2.2).
fn within(wanted: Option<&str>, grant: &Grant) -> Result<(), OAuthError> {
    match wanted {
        Some(wanted) if grant.resource.as_deref() != Some(wanted) => {
            Err(OAuthError::new(Code::InvalidTarget, "the resource was not granted"))
        }
        _ => Ok(()),
    }
}

async fn issue(
    service: &Identity,
    tx: &mut Tx,
    issuance: &Issuance<'_>,
) -> Result<TokenAnswer, ProviderError> {
    let Issuance { grant, scope, now, .. } = *issuance;
    let access_token = match &grant.resource {
        Some(resource) => claims::access_jwt(service, issuance, resource)?,
        None => fresh_secret(&*service.platform.entropy),
    };
    let life = service.settings.provider.access;
    let expires_at = now.plus(life);
    let token = NewToken {
        hash: token_digest(&access_token),
        grant: grant.id,
        kind: ProviderTokenKind::Access,
        scope: scope.to_owned(),
        sealed: None,
        created_at: now,
        expires_at,
    };
    tokens::insert(tx, &token).await?;
    grants::extend(tx, grant.id, expires_at).await?;
    let id_token = if has_scope(scope, "openid") {
        Some(claims::id_token(service, issuance, &access_token)?)
    } else {
        None
    };
    Ok(TokenAnswer {
        access_token,
        id_token,
        refresh_token: None,
        expires_in: life.as_secs(),
        scope: scope.to_owned(),
        token_type: "Bearer",
    })
}

async fn issue_refresh(
    service: &Identity,
    tx: &mut Tx,
    grant: &Grant,
    now: Ts,
) -> Result<String, ProviderError> {
    let token = fresh_secret(&*service.platform.entropy);
    let expires_at = now.plus(service.settings.provider.refresh);
    let stored = NewToken {
        hash: token_digest(&token),
        grant: grant.id,
        kind: ProviderTokenKind::Refresh,
        scope: grant.scope.clone(),
        sealed: Some(service.platform.keys.seal(PURPOSE, token.as_bytes(), &*service.platform.entropy)?),
        created_at: now,
        expires_at,
    };
    tokens::insert(tx, &stored).await?;
    grants::extend(tx, grant.id, expires_at).await?;
    Ok(token)
}

async fn refresh(
    service: &Identity,
    client: &Client,
    counted: TokenRequest,
    parameters: &Parameters,
) -> Result<TokenAnswer, ProviderError> {
    let presented = parameters.required("refresh_token")?;
    let requested_scope = parameters.one("scope")?;
    let wanted = resource(service, parameters)?;
    let now = service.platform.now();
    let key = keys::signing(service).await?;
    let is_mine =
        |token: &Token| token.kind == ProviderTokenKind::Refresh && token.grant.client_id == client.id();
    let presented_token = counted.beside(find_token(service, presented)).await?;
    let presented_token = presented_token.filter(is_mine).ok_or_else(ProviderError::invalid_grant)?;
    let mut tx = service.platform.db.begin().await?;
    let Some((user, grant)) = lock_grant(service, &mut tx, client, &presented_token.grant).await? else {
        return Err(ProviderError::invalid_grant());
    };
    // Read again under the lock: another request may have changed it.
    let hash = token_digest(presented);
    let token = tokens::get(&mut tx, &hash).await?;
    let token = token.filter(|token| token.is_alive(now)).ok_or_else(ProviderError::invalid_grant)?;
    within(wanted.as_deref(), &grant)?;
    let scope = narrowed(requested_scope, &grant.scope)?;
    let refresh_token = match token.rotated_at {
        None => {
            tokens::rotate(&mut tx, &hash, now).await?;
            issue_refresh(service, &mut tx, &grant, now).await?
        }
        Some(at) if now.since(at) <= service.settings.tokens.reuse_grace => {
            let sealed = tokens::current_refresh(&mut tx, grant.id, now).await?;
            let plain =
                service.platform.keys.open(PURPOSE, &sealed.ok_or_else(ProviderError::invalid_grant)?)?;
            String::from_utf8(plain).map_err(Error::internal)?
        }
        Some(_) => {
            tracing::warn!(user = %grant.user_id, client = grant.client_id, "refresh token reused, its grant is ended");
            grants::end(&mut tx, grant.id, now).await?;
            tx.commit().await?;
            return Err(ProviderError::invalid_grant());
        }
    };
    let issuance = Issuance { key: &key, grant: &grant, user: &user, scope: &scope, now };
    let issued = issue(service, &mut tx, &issuance).await?;
    tx.commit().await?;
    Ok(TokenAnswer { refresh_token: Some(refresh_token), ..issued })
}

/// A refresh may request fewer scopes than were granted; unknown ones are ignored as always.
fn narrowed(requested: Option<&str>, granted: &str) -> Result<String, OAuthError> {
    let Some(requested) = requested else { return Ok(granted.to_owned()) };
    let requested: Vec<&str> = SCOPES.into_iter().filter(|scope| has_scope(requested, scope)).collect();
    if requested.iter().all(|scope| has_scope(granted, scope)) {
        Ok(requested.join(" "))
    } else {
        Err(OAuthError::new(Code::InvalidScope, "more was asked than was granted"))
    }
}

/// `POST /oidc/token/revocation` (RFC 7009): a refresh token ends its grant, an access token only itself. An unknown
/// token, or one of another client, is left alone, and the response does not reveal that.
pub async fn revoke(
    service: &Identity,
    client: &Client,
    counted: TokenRequest,
    token: &str,
) -> Result<(), ProviderError> {
    let now = service.platform.now();
    let presented = counted.beside(find_token(service, token)).await?;
    let presented = presented.filter(|presented| presented.grant.client_id == client.id());
    let Some(presented) = presented else { return Ok(()) };
    let mut tx = service.platform.db.begin().await?;
    match presented.kind {
        ProviderTokenKind::Refresh => grants::end(&mut tx, presented.grant.id, now).await?,
        ProviderTokenKind::Access => tokens::revoke(&mut tx, &token_digest(token), now).await?,
    };
    tx.commit().await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pkce_matches_the_example_of_its_rfc_and_nothing_near_it() {
        let challenge = Some("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert!(matches_challenge(challenge, Some(verifier)));
        assert!(matches_challenge(None, None));
        assert!(!matches_challenge(None, Some(verifier)), "downgrade");
        assert!(!matches_challenge(challenge, None));
        assert!(!matches_challenge(challenge, Some("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")), "plain");
        assert!(!matches_challenge(challenge, Some(&format!("{verifier}x"))));
        assert!(!matches_challenge(challenge, Some(&verifier[..42])));
    }

    #[test]
    fn a_refresh_may_narrow_scopes_but_not_widen_them() {
        let narrowed = |requested, granted| narrowed(requested, granted).map_err(|refused| refused.code);
        assert_eq!(narrowed(None, "openid email").unwrap(), "openid email");
        assert_eq!(narrowed(Some("email roles"), "openid email").unwrap(), "email");
        assert_eq!(narrowed(Some("openid profile"), "openid email"), Err(Code::InvalidScope));
    }
}
