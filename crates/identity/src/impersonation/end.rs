//! Ends an impersonation (spec: impersonation#requests-while-impersonating) and starts a new chain of the impersonator,
//! built from their current data.

use super::validity::live_of;
use crate::{
    Identity,
    auth::{self, SignIn, invalid, resume, unreadable},
};
use bailiwick_domain::{AuditAction, ChainId, Error, ImpersonationId, LoginId, Result, Ts, UserId};
use bailiwick_platform::{RequestContext, audit};
use bailiwick_policy::Caller;
use bailiwick_store::{
    Tx, identities,
    impersonation::sessions::{self, Cause, Which},
    oidc::logins,
    sessions::{self as chains, Chain},
    users,
};

/// DELETE with the impersonator's own token: ends their live session.
///
/// # Errors
/// 400 without a live session; 401 when the chain of that token has been revoked meanwhile.
pub async fn end_own(service: &Identity, caller: &Caller, ctx: &RequestContext) -> Result<auth::Session> {
    let not_impersonating = || Error::bad_request("not currently impersonating a user");
    let (me, chain) = caller.user_id().zip(auth::chain_of(caller)).ok_or_else(invalid)?;
    let (live, _) = live_of(service, me, service.platform.now()).await?.ok_or_else(not_impersonating)?;
    leave(service, (me, Some(chain)), live.id, ctx).await?.ok_or_else(not_impersonating)
}

/// DELETE with the impersonation token, which the access check has admitted: either its session is live, or the
/// target's side ended it and the impersonator has not returned from it yet.
///
/// # Errors
/// 401 when neither is true any more.
pub async fn end_by_token(
    service: &Identity,
    session: ImpersonationId,
    ctx: &RequestContext,
) -> Result<auth::Session> {
    let stored =
        sessions::get(&service.platform.db, session).await.map_err(unreadable)?.ok_or_else(invalid)?;
    let over = || Error::unauthenticated_because("token has been revoked", "session ended");
    leave(service, (stored.impersonator.id, None), session, ctx).await?.ok_or_else(over)
}

/// Ends the session and starts a chain. `calling`: the chain of the impersonator's own token, if the request carries
/// it. None when another request was faster.
async fn leave(
    service: &Identity,
    (me, calling): (UserId, Option<ChainId>),
    session: ImpersonationId,
    ctx: &RequestContext,
) -> Result<Option<auth::Session>> {
    let now = service.platform.now();
    let mut tx = service.platform.db.begin().await.map_err(unreadable)?;
    // Locks in the order user, login, chains by id, session. Every transaction that ends the rights of a user holds one
    // of them.
    let own = identities::get_for_login(&mut tx, me).await.map_err(unreadable)?.ok_or_else(invalid)?;
    if !own.standing.is_enabled() {
        return Err(invalid());
    }
    let bound = sessions::get(&mut tx, session).await.map_err(unreadable)?.ok_or_else(invalid)?;
    let login = hold_login(&mut tx, bound.login_id).await?;
    let chain = hold_chains(&mut tx, bound.chain_id, calling).await?;
    let locked = sessions::hold(&mut tx, session).await.map_err(unreadable)?.ok_or_else(invalid)?;
    let is_left = match locked.end.as_ref().map(|end| end.cause) {
        _ if chain.as_ref().is_some_and(|chain| chain.revoked.is_some()) || locked.expires_at <= now => false,
        None => {
            let ended = sessions::end(&mut tx, Which::One(session), now, Cause::Exit, None).await;
            ended.map_err(unreadable)? > 0
        }
        Some(Cause::Consent | Cause::Target) => {
            sessions::note_return(&mut tx, session).await.map_err(unreadable)?
        }
        Some(Cause::Exit | Cause::Impersonator | Cause::Expiry) => false,
    };
    if !is_left {
        return Ok(None);
    }
    // A chain that is gone proves no sign-in.
    let sign_in = match chain {
        Some(Chain { signed_in_at, methods, issuer_session, .. }) => {
            SignIn { login, at: Some(signed_in_at), methods, issuer_session }
        }
        None => SignIn { login, at: Some(Ts(0)), ..SignIn::default() },
    };
    let back = resume(service, &mut tx, ctx, own, sign_in, now).await?;
    let target = users::get(&mut tx, locked.impersonated.id).await.map_err(unreadable)?;
    let organization = target.map(|target| target.user.organization.id);
    audit::record_impersonation(&mut tx, now, ctx, (&locked, organization), AuditAction::ImpersonationEnd)
        .await?;
    tx.commit().await.map_err(unreadable)?;
    Ok(Some(back))
}

/// The chain the session is bound to, locked together with the calling chain. The calling chain must still be live: an
/// event may have ended the presented token after it was admitted.
async fn hold_chains(tx: &mut Tx, bound: ChainId, calling: Option<ChainId>) -> Result<Option<Chain>> {
    let mut all: Vec<ChainId> = calling.into_iter().chain([bound]).collect();
    all.sort_unstable();
    all.dedup();
    let mut of_session = None;
    for id in all {
        let chain = chains::lock(tx, id).await.map_err(unreadable)?;
        if calling == Some(id) {
            let own = chain.as_ref().ok_or_else(invalid)?;
            if let Some(reason) = &own.revoked {
                return Err(Error::unauthenticated_because("token has been revoked", reason));
            }
        }
        if id == bound {
            of_session = chain;
        }
    }
    Ok(of_session)
}

/// The login that the session's chain came from, so that signing out there ends the new chain too. A transaction that
/// ends a login also ends its sessions, so a login that cannot be locked here has merely expired.
async fn hold_login(tx: &mut Tx, login: Option<LoginId>) -> Result<Option<LoginId>> {
    let Some(login) = login else { return Ok(None) };
    Ok(logins::hold(tx, login).await.map_err(unreadable)?.then_some(login))
}
