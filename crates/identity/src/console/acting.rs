//! Impersonation in the console: going on with one that was started anywhere, and the way back.

use super::{BrowserSession, sign_in};
use crate::{
    Identity,
    auth::{Reason, revoke_chain, unreadable},
    impersonation::{self, Current, Status},
};
use bailiwick_domain::{Error, Result};
use bailiwick_platform::RequestContext;
use bailiwick_policy::{Caller, Permission};
use bailiwick_store::{console_sessions, identities, sessions};

/// The impersonation that a person has open.
#[derive(Clone, Debug)]
pub struct Open {
    /// The two people and the time.
    pub current: Current,
    /// Whether this browser makes its requests in it.
    pub is_acting: bool,
}

/// The open impersonation of the person; none for people who may not impersonate.
///
/// # Errors
/// 503 when the state cannot be read.
pub async fn open(service: &Identity, browser: &BrowserSession) -> Result<Option<Open>> {
    if !browser.impersonates || !browser.own.holds(Permission::ImpersonateUsers) {
        return Ok(None);
    }
    let Some(me) = browser.own.user_id() else { return Ok(None) };
    let live = impersonation::open_of(service, me).await?;
    let acting = browser.acting.as_ref().map(|acting| acting.session);
    Ok(live.map(|current| Open { is_acting: acting == Some(current.session.id), current }))
}

/// From now on this browser makes its requests in the impersonation that its person has open.
///
/// # Errors
/// 400 without one.
pub async fn go_on(service: &Identity, browser: &BrowserSession) -> Result<()> {
    let Status::Own(current, _) = impersonation::status(service, &browser.own).await? else {
        return Err(Error::bad_request("not currently impersonating a user"));
    };
    let mut tx = service.platform.db.begin().await.map_err(unreadable)?;
    console_sessions::act_in(&mut tx, &browser.hash, Some(current.session.id)).await.map_err(unreadable)?;
    tx.commit().await.map_err(unreadable)
}

/// Ends the impersonation: the person goes on as themselves, with a new chain and a new cookie. None: it was over
/// already, and this browser goes on with the session it has.
///
/// # Errors
/// 401 for a person who may not go on as themselves; 503 when it cannot be written.
pub async fn go_back(
    service: &Identity,
    browser: &BrowserSession,
    ctx: &RequestContext,
) -> Result<Option<String>> {
    let ended = match &browser.own {
        Caller::User(_) => impersonation::end_own(service, &browser.own, ctx).await,
        _ => return Ok(None),
    };
    let mut tx = service.platform.db.begin().await.map_err(unreadable)?;
    let session = match ended {
        Ok(session) => session,
        // Somebody else was faster, the consent is gone, or its time is over: nothing is left to end.
        Err(Error::BadRequest { .. }) => {
            console_sessions::act_in(&mut tx, &browser.hash, None).await.map_err(unreadable)?;
            tx.commit().await.map_err(unreadable)?;
            return Ok(None);
        }
        Err(e) => return Err(e),
    };
    if let Some(user) = browser.own.user_id() {
        identities::get_steady(&mut tx, user).await.map_err(unreadable)?;
    }
    // The new chain takes the place of the old one.
    sessions::lock(&mut tx, browser.chain).await.map_err(unreadable)?;
    revoke_chain(&mut tx, service.platform.now(), browser.chain, Reason::Logout).await.map_err(unreadable)?;
    console_sessions::remove(&mut tx, &browser.hash).await.map_err(unreadable)?;
    let cookie = sign_in(service, &mut tx, session.chain).await?;
    tx.commit().await.map_err(unreadable)?;
    Ok(Some(cookie))
}
