//! Whether the user impersonates another user, or is impersonated (spec: impersonation#requests-while-impersonating).

use super::validity::{Pair, live_of};
use crate::{
    Identity,
    auth::{self, UserObject, impersonation_token, invalid, unreadable, user_object},
};
use bailiwick_domain::{ImpersonationId, Result, UserId};
use bailiwick_policy::Caller;
use bailiwick_store::{
    identities,
    impersonation::sessions::{self, Session},
    sessions as chains,
};

/// A live session.
#[derive(Clone, Debug)]
pub struct Current {
    pub session: Session,
    /// The impersonated user, whose rights the token gives.
    pub impersonated: UserObject,
    pub impersonator: UserObject,
}

impl Current {
    fn of(session: Session, pair: &Pair) -> Current {
        let (impersonated, impersonator) = (user_object(&pair.impersonated), user_object(&pair.impersonator));
        Current { session, impersonated, impersonator }
    }
}

/// A new token for an impersonator whose client lost the first one, for example by reloading the page.
#[derive(Clone, Debug)]
pub struct Recovery {
    /// A fresh token of the session.
    pub token: String,
    /// Seconds to the expiry of the consent.
    pub expires_in: u64,
}

/// The response.
#[derive(Clone, Debug)]
pub enum Status {
    /// No impersonation.
    No,
    /// With the impersonation token itself.
    Acting(Box<Current>),
    /// With the impersonator's own token.
    Own(Box<Current>, Recovery),
}

/// With an impersonation token.
pub async fn status_of(service: &Identity, impersonator: UserId, session: ImpersonationId) -> Result<Status> {
    let live = live_of(service, impersonator, service.platform.now()).await?;
    let same = live.filter(|(live, _)| live.id == session);
    Ok(same.map_or(Status::No, |(live, pair)| Status::Acting(Box::new(Current::of(live, &pair)))))
}

/// The session that a user has open.
pub(crate) async fn open_of(service: &Identity, impersonator: UserId) -> Result<Option<Current>> {
    let live = live_of(service, impersonator, service.platform.now()).await?;
    Ok(live.map(|(session, pair)| Current::of(session, &pair)))
}

/// With an own token: finds the session again and binds it to the chain of that token.
pub async fn status(service: &Identity, caller: &Caller) -> Result<Status> {
    let (me, chain) = caller.user_id().zip(auth::chain_of(caller)).ok_or_else(invalid)?;
    let now = service.platform.now();
    let Some((mut session, pair)) = live_of(service, me, now).await? else { return Ok(Status::No) };
    if session.chain_id != chain {
        let mut tx = service.platform.db.begin().await.map_err(unreadable)?;
        identities::get_steady(&mut tx, me).await.map_err(unreadable)?;
        let locked_chain = chains::lock(&mut tx, chain).await.map_err(unreadable)?;
        let locked_chain = locked_chain.filter(|chain| chain.revoked.is_none()).ok_or_else(invalid)?;
        if !sessions::bind_to(&mut tx, session.id, chain, locked_chain.login_id).await.map_err(unreadable)? {
            return Ok(Status::No);
        }
        tx.commit().await.map_err(unreadable)?;
        (session.chain_id, session.login_id) = (chain, locked_chain.login_id);
    }
    let (token, expires_in) =
        impersonation_token(service, &session, &pair.impersonated, &pair.impersonator, now)?;
    Ok(Status::Own(Box::new(Current::of(session, &pair)), Recovery { token, expires_in }))
}
