//! The sign-in to the console: the browser is sent to the provider with a fresh `state`, `nonce` and PKCE verifier, and
//! returns with a code that is exchanged here, on the server.
//!
//! The state between the two travels with the browser, sealed: the browser can neither read nor make one. Nothing is
//! written before the person has signed in.

use super::{digest_of, sign_in};
use crate::{
    Identity, TokenRequest,
    auth::{self, Reason, Session, revoke_chain, unreadable},
    callers,
    oidc::{
        ProviderError,
        authorize::Parameters,
        clients,
        tokens::{self, nonce_of},
    },
    relying_party,
};
use aws_lc_rs::{constant_time, digest};
use bailiwick_domain::{ChainId, Error, Result, Ts};
use bailiwick_platform::{RequestContext, keys::fresh_secret};
use bailiwick_store::{
    console_sessions::{self, ConsoleSession},
    identities, sessions,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use url::form_urlencoded;

/// What [`SignInRedirect::cookie`] is sealed for.
const PURPOSE: &str = "console entry";
/// How long a sign-in may take.
pub const ENTRY_LIFE: Duration = Duration::from_secs(3600);
/// Longest cookie that is read, in bytes.
const MAX_COOKIE_BYTES: usize = 4096;
/// Longest page that is kept, in bytes.
const MAX_PAGE_BYTES: usize = 1500;

/// The redirect to the provider.
#[derive(Clone, Debug)]
pub struct SignInRedirect {
    /// Where the browser is sent.
    pub address: String,
    /// What it brings back, as a cookie.
    pub cookie: String,
}

/// A completed sign-in.
#[derive(Clone, Debug)]
pub struct CompletedSignIn {
    /// The session's cookie.
    pub cookie: String,
    /// The page that was asked for before the sign-in.
    pub page: String,
}

/// Why a browser came back without a session.
#[derive(Debug)]
pub enum CallbackError {
    /// The browser was not sent from here, or took too long; a new attempt helps.
    Stale,
    /// The provider refuses the person, or names an account without a user here.
    NotAdmitted,
    /// A fault of ours or the provider's.
    Fault(Error),
}

impl From<Error> for CallbackError {
    fn from(error: Error) -> CallbackError {
        match error {
            Error::Unauthenticated { .. } => CallbackError::NotAdmitted,
            other => CallbackError::Fault(other),
        }
    }
}

/// The state of a sign-in that has begun, sealed into a cookie.
#[derive(Serialize, Deserialize)]
struct PendingSignIn {
    state: String,
    nonce: String,
    verifier: String,
    redirect_uri: String,
    page: String,
    expires_at: i64,
    /// The provider was asked for a fresh sign-in.
    #[serde(default)]
    is_fresh: bool,
}

/// Whether people can sign in to the console: at an external issuer it needs a client of its own there.
pub fn is_available(service: &Identity) -> bool {
    service.settings.identity.is_embedded() || service.settings.console.client_id.is_some()
}

/// `max_age` of a request for a fresh sign-in. The provider does not ask again for a password that it got within this
/// time.
const FRESH: Duration = Duration::from_secs(60);

/// Begins an entry. `redirect_uri`: where the browser comes back to; `page`: what it wanted to see. `is_fresh`: for a
/// page that wants a fresh sign-in (spec: authentication#fresh-sign-in).
///
/// # Errors
/// 502, 503 and 504 for an external issuer.
pub async fn begin(
    service: &Identity,
    redirect_uri: &str,
    page: &str,
    is_fresh: bool,
) -> Result<SignInRedirect> {
    let fresh = || fresh_secret(&*service.platform.entropy);
    let pending = PendingSignIn {
        state: fresh(),
        nonce: fresh(),
        verifier: fresh(),
        redirect_uri: redirect_uri.to_owned(),
        page: if page.len() <= MAX_PAGE_BYTES { page.to_owned() } else { String::new() },
        expires_at: service.platform.now().plus(ENTRY_LIFE).secs(),
        is_fresh,
    };
    let (endpoint, client_id) = match &service.external {
        None => (format!("{}/auth", service.settings.provider_issuer()), clients::CONSOLE_ID),
        Some(external) => {
            let client = service.settings.console.client_id.as_deref();
            let client = client.ok_or_else(|| Error::internal("the console has no client"))?;
            (relying_party::authorization_endpoint(service, external).await, client)
        }
    };
    let challenge = URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, pending.verifier.as_bytes()));
    let mut query = form_urlencoded::Serializer::new(String::new());
    if is_fresh {
        let longest = service.settings.tokens.fresh_sign_in.min(FRESH);
        query.append_pair("max_age", &longest.as_secs().to_string());
    }
    let query = query
        .append_pair("response_type", "code")
        .append_pair("client_id", client_id)
        .append_pair("redirect_uri", redirect_uri)
        .append_pair("scope", "openid profile email")
        .append_pair("state", &pending.state)
        .append_pair("nonce", &pending.nonce)
        .append_pair("code_challenge", &challenge)
        .append_pair("code_challenge_method", "S256")
        .finish();
    let separator = if endpoint.contains('?') { '&' } else { '?' };
    let text = serde_json::to_vec(&pending).map_err(Error::internal)?;
    let sealed = service.platform.keys.seal(PURPOSE, &text, &*service.platform.entropy)?;
    Ok(SignInRedirect {
        address: format!("{endpoint}{separator}{query}"),
        cookie: URL_SAFE_NO_PAD.encode(sealed),
    })
}

/// Completes an entry: `cookie` is what [`begin`] gave, `answer` the query that the provider has sent the browser back
/// with. `before`: the cookie of a session of this browser, which ends if it is the same person's.
///
/// # Errors
/// Why there is no session.
pub async fn complete(
    service: &Identity,
    ctx: &RequestContext,
    counted: TokenRequest,
    (cookie, before): (Option<&str>, Option<&str>),
    answer: &Parameters,
) -> Result<CompletedSignIn, CallbackError> {
    let one = |name| answer.one(name).ok().flatten();
    let pending = cookie
        .and_then(|cookie| open_cookie(service, cookie, service.platform.now()))
        .ok_or(CallbackError::Stale)?;
    let is_own_state = one("state").is_some_and(|state| is_same(state, &pending.state));
    if !is_own_state {
        return Err(CallbackError::Stale);
    }
    let Some(code) = one("code") else { return Err(CallbackError::NotAdmitted) };
    let session = match &service.external {
        None => redeem(service, ctx, counted, code, &pending).await?,
        Some(external) => {
            let console = &service.settings.console;
            let redemption = relying_party::Redemption {
                client_id: console.client_id.as_deref().ok_or(CallbackError::NotAdmitted)?,
                secret: console.client_secret.as_ref().map(|secret| secret.reveal().as_str()),
                code,
                redirect_uri: &pending.redirect_uri,
                verifier: &pending.verifier,
                nonce: &pending.nonce,
            };
            let token_user = counted.beside(relying_party::redeem(service, external, &redemption)).await?;
            let token_user = token_user.ok_or(CallbackError::NotAdmitted)?;
            let mut sign_in = token_user.sign_in;
            if pending.is_fresh {
                // An issuer that supports `max_age` must return `auth_time` (OpenID Connect Core §3.1.2.1); without it
                // the sign-in does not count as fresh.
                sign_in.at.get_or_insert(Ts(0));
            }
            auth::start(service, ctx, token_user.user, sign_in).await?
        }
    };
    let before = before.and_then(digest_of);
    let earlier = match &before {
        Some(hash) => earlier(service, &session, hash).await?,
        None => None,
    };
    let mut tx = service.platform.db.begin().await.map_err(unreadable)?;
    if let Some((chain, hash)) = earlier.zip(before) {
        // Locks in the order user, chain, as everywhere.
        identities::get_steady(&mut tx, session.user.id).await.map_err(unreadable)?;
        sessions::lock(&mut tx, chain).await.map_err(unreadable)?;
        revoke_chain(&mut tx, service.platform.now(), chain, Reason::Logout).await.map_err(unreadable)?;
        console_sessions::remove(&mut tx, &hash).await.map_err(unreadable)?;
    }
    let cookie = sign_in(service, &mut tx, session.chain).await?;
    tx.commit().await.map_err(unreadable)?;
    Ok(CompletedSignIn { cookie, page: pending.page })
}

/// The chain of an earlier session of the same person, so that signing in again leaves no session behind. A session
/// that impersonates somebody stays, because it leads back from the impersonation.
async fn earlier(service: &Identity, session: &Session, hash: &[u8]) -> Result<Option<ChainId>> {
    let old = console_sessions::get(&service.platform.db, hash, service.platform.now())
        .await
        .map_err(unreadable)?;
    let is_replaced = |old: &ConsoleSession| old.user == session.user.id && !old.impersonates;
    Ok(old.filter(is_replaced).map(|old| old.chain).filter(|chain| *chain != session.chain))
}

fn open_cookie(service: &Identity, cookie: &str, now: Ts) -> Option<PendingSignIn> {
    if cookie.len() > MAX_COOKIE_BYTES {
        return None;
    }
    let sealed = URL_SAFE_NO_PAD.decode(cookie).ok()?;
    let text = service.platform.keys.open(PURPOSE, &sealed).ok()?;
    let pending: PendingSignIn = serde_json::from_slice(&text).ok()?;
    (pending.expires_at > now.secs()).then_some(pending)
}

fn is_same(received: &str, expected: &str) -> bool {
    constant_time::verify_slices_are_equal(received.as_bytes(), expected.as_bytes()).is_ok()
}

/// The code of the embedded provider, exchanged without leaving the process.
async fn redeem(
    service: &Identity,
    ctx: &RequestContext,
    counted: TokenRequest,
    code: &str,
    pending: &PendingSignIn,
) -> Result<Session, CallbackError> {
    let form = form_urlencoded::Serializer::new(String::new())
        .append_pair("grant_type", "authorization_code")
        .append_pair("code", code)
        .append_pair("redirect_uri", &pending.redirect_uri)
        .append_pair("code_verifier", &pending.verifier)
        .finish();
    let client = clients::find(&service.settings, clients::CONSOLE_ID).ok_or(CallbackError::NotAdmitted)?;
    let parameters = Parameters::parse(form.as_bytes());
    let tokens = match tokens::token(service, &client, counted, &parameters).await {
        Ok(tokens) => tokens,
        Err(ProviderError::Protocol(_)) => return Err(CallbackError::Stale),
        Err(ProviderError::Fault(error)) => return Err(CallbackError::Fault(error)),
    };
    let nonce = tokens.id_token.as_deref().and_then(nonce_of);
    if !nonce.is_some_and(|nonce| is_same(&nonce, &pending.nonce)) {
        return Err(CallbackError::Stale);
    }
    let counted = TokenRequest::admitted_before();
    Ok(callers::exchange(service, ctx, counted, &tokens.access_token).await?)
}
