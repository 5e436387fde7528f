//! The issuer says that a person has signed out there (OpenID Connect Back-Channel Logout 1.0): their sessions here
//! end.

use super::{
    LEEWAY, RelyingParty, TOKEN_BYTES, TokenAudience, is_in_time, is_subject, jwt, party, seconds, signed_by,
    text,
};
use crate::{
    Identity,
    auth::{Reason, revoke_chain},
    oidc::{Code, OAuthError, ProviderError},
};
use bailiwick_domain::{ChainId, Error, Result, Ts, UserId};
use bailiwick_store::{
    identities::{self, account_links},
    sessions,
};
use jwt::Claims;
use serde_json::Value;
use std::time::Duration;

/// The event of a logout token.
const EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";

/// Ends the sessions here that came from the session of a logout token; of a person without sessions nothing ends.
/// Sessions that began after the token was made stay, so a token that comes again does no harm.
///
/// # Errors
/// `invalid_request` for a token that is not a logout token of the issuer for a client of ours; 503 while the issuer's
/// keys or the sessions cannot be read.
pub async fn end_sessions(service: &Identity, token: &str) -> std::result::Result<(), ProviderError> {
    let invalid = || OAuthError::new(Code::InvalidRequest, "the logout token is not valid");
    let external = service.external.as_ref().ok_or_else(invalid)?;
    let judged = tokio::time::timeout(external.settings.patience, verified(service, external, token)).await;
    let judged = judged.unwrap_or_else(|_| Err(unread("the issuer does not answer in time".to_owned())));
    let logout = judged?.ok_or_else(invalid)?;
    loop {
        let chains = chains_named_by(service, external, &logout).await?;
        // The chains of a user end in one transaction, which holds the user first, as everywhere.
        for of_user in chains.chunk_by(|(one, _), (other, _)| one == other) {
            end(service, of_user).await?;
        }
        if chains.len() < sessions::OF_ISSUER {
            return Ok(());
        }
    }
}

/// The claims of a logout token.
struct Logout {
    subject: Option<String>,
    session: Option<String>,
    made_at: Ts,
}

async fn verified(service: &Identity, external: &RelyingParty, token: &str) -> Result<Option<Logout>> {
    if token.len() > TOKEN_BYTES {
        return Ok(None);
    }
    let Some(jwt) = jwt::read_logout(token) else { return Ok(None) };
    // A token of another issuer costs this one nothing.
    if jwt.claims.iss.as_deref().is_none_or(|iss| iss.trim_end_matches('/') != external.settings.url) {
        return Ok(None);
    }
    let unavailable = |error: Error| match error {
        Error::Upstream { log, .. } => unread(log),
        Error::UpstreamTimeout(text) => unread(text.into_owned()),
        other => other,
    };
    let issuer = signed_by(service, external, &jwt).await.map_err(unavailable)?;
    let claims = jwt.claims;
    let is_good = issuer.is_some_and(|issuer| claims.iss.as_deref() == Some(issuer.as_str()))
        && claims.events.as_ref().is_some_and(|events| events.get(EVENT).is_some_and(Value::is_object))
        // So that an ID token is no logout token.
        && claims.nonce.is_none()
        && claims.exp.is_some()
        && is_in_time(service.platform.now(), claims.exp, claims.nbf)
        && is_for_us(service, external, &claims).await;
    Ok(logout(claims).filter(|_| is_good))
}

fn unread(log: String) -> Error {
    Error::Unavailable { message: "service temporarily unavailable".into(), log }
}

fn logout(claims: Claims) -> Option<Logout> {
    let (subject, session) = (claims.sub.filter(|sub| is_subject(sub)), text(claims.sid.as_ref()));
    let made_at = seconds(&claims.iat?)?;
    (subject.is_some() || session.is_some()).then_some(Logout { subject, session, made_at })
}

/// Whether it is for a client whose tokens open sessions here.
async fn is_for_us(service: &Identity, external: &RelyingParty, claims: &Claims) -> bool {
    let named = match &claims.aud {
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(one)) => vec![one.as_str()],
        _ => Vec::new(),
    };
    for client in named {
        let is_console = service.settings.console.client_id.as_deref() == Some(client);
        if is_console || party(service, &external.settings, Some(client)).await == Some(TokenAudience::Own) {
            return true;
        }
    }
    false
}

/// The chains that end, in the order of their users.
async fn chains_named_by(
    service: &Identity,
    external: &RelyingParty,
    logout: &Logout,
) -> Result<Vec<(UserId, ChainId)>> {
    let user = match &logout.subject {
        Some(subject) => {
            match account_links::holder(&service.platform.db, &external.settings.url, subject).await? {
                Some((user, _)) => Some(user),
                None => return Ok(Vec::new()),
            }
        }
        None => None,
    };
    let until = logout.made_at.plus(Duration::from_secs_f64(LEEWAY));
    Ok(sessions::of_issuer_session(
        &service.platform.db,
        user,
        logout.session.as_deref(),
        (until, service.platform.now()),
    )
    .await?)
}

/// Ends these chains of one user.
async fn end(service: &Identity, chains: &[(UserId, ChainId)]) -> Result<()> {
    let Some((user, _)) = chains.first() else { return Ok(()) };
    let now = service.platform.now();
    let mut tx = service.platform.db.begin().await?;
    identities::get_steady(&mut tx, *user).await?;
    for (_, chain) in chains {
        sessions::lock(&mut tx, *chain).await?;
        revoke_chain(&mut tx, now, *chain, Reason::Logout).await?;
    }
    Ok(tx.commit().await?)
}
