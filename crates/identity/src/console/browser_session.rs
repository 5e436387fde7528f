//! Whose a request of the console is, read anew for each.

use super::digest_of;
use crate::{
    Identity, TokenRequest,
    auth::{RefreshTurn, refuse_disabled, unreadable},
    impersonation,
};
use bailiwick_domain::{ChainId, Error, ImpersonationId, LoginId, Result};
use bailiwick_policy::Caller;
use bailiwick_store::console_sessions::{self, ConsoleSession};

/// The session of a browser, as one request finds it.
#[derive(Debug)]
pub struct BrowserSession {
    /// Whoever has signed in.
    pub own: Caller,
    /// The impersonation that the request is made in.
    pub acting: Option<Acting>,
    /// Whether the session lives longer from now on, and its cookie should too.
    pub is_renewed: bool,
    pub(super) chain: ChainId,
    pub(super) login: Option<LoginId>,
    pub(super) hash: Vec<u8>,
    pub(super) impersonates: bool,
}

/// What a request in an impersonation is.
#[derive(Clone, Debug)]
pub struct Acting {
    pub session: ImpersonationId,
    /// The impersonated user, or why there is none.
    pub caller: Result<Caller>,
    /// Whether the request is recorded.
    pub is_recorded: bool,
}

impl BrowserSession {
    /// Whose rights the request has.
    ///
    /// # Errors
    /// 401 in an impersonation that is over.
    pub fn caller(&self) -> Result<&Caller> {
        match &self.acting {
            Some(acting) => acting.caller.as_ref().map_err(Clone::clone),
            None => Ok(&self.own),
        }
    }
}

/// The session behind a cookie; none when the cookie names no session.
///
/// # Errors
/// 503 when the session cannot be read.
pub async fn browser_session(service: &Identity, cookie: &str) -> Result<Option<BrowserSession>> {
    find(service, cookie, true).await
}

/// Whose an open stream of this session is at this moment. An open page alone does not make the session live longer.
///
/// # Errors
/// 401 when the session or its impersonation is over, 503 when it cannot be read.
pub async fn present(service: &Identity, cookie: &str) -> Result<Caller> {
    let browser = find(service, cookie, false).await?;
    browser.ok_or_else(|| Error::unauthenticated("the session is over"))?.caller().cloned()
}

async fn find(service: &Identity, cookie: &str, renews: bool) -> Result<Option<BrowserSession>> {
    let Some(hash) = digest_of(cookie) else { return Ok(None) };
    let stored = console_sessions::get(&service.platform.db, &hash, service.platform.now())
        .await
        .map_err(unreadable)?;
    let Some(session) = stored else { return Ok(None) };
    let is_renewed = renews && renew(service, &session).await?;
    let Some(bearer) = service.bearers().find(session.chain).await? else { return Ok(None) };
    if bearer.revoked.is_some() || refuse_disabled(bearer.standing).is_err() {
        return Ok(None);
    }
    let own = Caller::user(bearer.identity.clone(), Some(session.chain)).signed_in(bearer.signed_in_at);
    let acting = match session.impersonation {
        Some(id) => Some(acting(service, &own, id).await?),
        None => None,
    };
    let ConsoleSession { chain, login, impersonates, .. } = session;
    Ok(Some(BrowserSession { own, acting, is_renewed, chain, login, hash, impersonates }))
}

/// Takes the chain's next turn when an access token would be over by now: the session lives as long as that of any
/// other client.
async fn renew(service: &Identity, session: &ConsoleSession) -> Result<bool> {
    let now = service.platform.now();
    if now < session.refresh_issued_at.plus(service.settings.tokens.access) {
        return Ok(false);
    }
    let turn = RefreshTurn {
        chain: session.chain,
        user: session.user,
        presented: session.refresh_id,
        next: service.platform.fresh(),
        at: now,
        counted: TokenRequest::admitted_before(),
    };
    // Not the plain case: another request of this browser has taken the turn, or the chain is over. Either is seen when
    // the chain is read.
    Ok(service.refreshes().refresh(turn).await?.is_some())
}

async fn acting(service: &Identity, own: &Caller, id: ImpersonationId) -> Result<Acting> {
    let judged = impersonation::judged(service, own.user_id(), id).await?;
    Ok(Acting { session: id, caller: judged.caller, is_recorded: judged.is_recorded })
}
