//! An authorization code of the issuer that was sent to the console, and whose it is: the ID token that comes with it
//! says so (OpenID Connect Core §3.1.3).

use super::{
    RelyingParty, Seen, TokenUser, account_links, email_claim, is_in_time,
    jwt::{self, Claims, Shape},
    sign_in, signed_by,
};
use crate::{Identity, upstream};
use bailiwick_domain::Result;
use bailiwick_outbound::issuer::{Code, IssuerAnswer, IssuerError, Redeemed};
use serde_json::Value;

/// A code and what it was asked for with.
#[derive(Clone, Copy)]
pub(crate) struct Redemption<'a> {
    pub(crate) client_id: &'a str,
    pub(crate) secret: Option<&'a str>,
    pub(crate) code: &'a str,
    pub(crate) redirect_uri: &'a str,
    pub(crate) verifier: &'a str,
    pub(crate) nonce: &'a str,
}

/// The signed-in user; none if the code is not valid, or the account belongs to no user here.
///
/// # Errors
/// 502, 503 and 504 for the issuer; 401 for a suspended user who comes for the first time.
pub(crate) async fn redeem(
    service: &Identity,
    external: &RelyingParty,
    redemption: &Redemption<'_>,
) -> Result<Option<TokenUser>> {
    let judged = async {
        let description = external.memory.description(service).await.map_err(upstream)?;
        let Some(endpoint) = &description.token_endpoint else {
            return Err(upstream(IssuerError::Unreachable("it names no token endpoint".to_owned())));
        };
        let Redemption { client_id, secret, code, redirect_uri, verifier, .. } = *redemption;
        let code = Code { client_id, secret, code, redirect_uri, verifier };
        let answer = external.client.redeem(&description, endpoint, code).await.map_err(upstream)?;
        let IssuerAnswer::Good(Redeemed { access_token, id_token }) = answer else { return Ok(None) };
        let Some(id_token) = id_token else { return Ok(None) };
        let identity = verified(service, external, &id_token, redemption).await?;
        let Some(identity) = identity else { return Ok(None) };
        let user = account_links::find(service, external, &access_token, &identity).await?;
        Ok(user.map(|user| TokenUser { user, sign_in: identity.sign_in.clone() }))
    };
    let patience = external.settings.patience;
    tokio::time::timeout(patience, judged).await.unwrap_or_else(|_| Err(upstream(IssuerError::TimedOut)))
}

/// The claims of an ID token, if it is the issuer's, for the console, valid now, and belongs to this request.
async fn verified(
    service: &Identity,
    external: &RelyingParty,
    token: &str,
    redemption: &Redemption<'_>,
) -> Result<Option<Seen>> {
    let Shape::Jwt(jwt) = jwt::read(token) else { return Ok(None) };
    let issuer = signed_by(service, external, &jwt).await?;
    let claims = jwt.claims;
    let is_good = issuer.is_some_and(|issuer| claims.iss.as_deref() == Some(issuer.as_str()))
        && is_for(&claims, redemption.client_id)
        && claims.exp.is_some()
        && is_in_time(service.platform.now(), claims.exp, claims.nbf)
        && claims.nonce.as_deref() == Some(redemption.nonce);
    Ok(claims.sub.filter(|_| is_good).filter(|subject| super::is_subject(subject)).map(|subject| Seen {
        subject,
        client_id: Some(redemption.client_id.to_owned()),
        email: email_claim(claims.email, claims.email_verified.as_ref()),
        sign_in: sign_in(claims.auth_time.as_ref(), claims.sid.as_ref()),
    }))
}

/// Whether the client is among those it was made for, and the one it was issued to.
fn is_for(claims: &Claims, client: &str) -> bool {
    let is_named = match &claims.aud {
        Some(Value::Array(all)) => all.iter().any(|one| one.as_str() == Some(client)),
        Some(one) => one.as_str() == Some(client),
        None => false,
    };
    is_named && claims.azp.as_deref().is_none_or(|azp| azp == client)
}
