//! Lists and ends a user's open logins and sessions for an operator (`bailiwick sessions`).

use super::{Reason, revoke::revoke_chain, revoke_login_chains, revoke_user};
use crate::Identity;
use bailiwick_domain::{AuditAction, ChainId, Error, LoginId, ObjectKind, Result, Ts, UserId};
use bailiwick_store::{
    Tx, audit, identities,
    oidc::logins::{self, OpenLogin},
    sessions::{self, OpenChain},
};
use serde_json::json;
use uuid::Uuid;

/// Every login and session that gives a user access now, except API keys; the newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenSessions {
    /// Browsers that are signed in at the embedded provider.
    pub logins: Vec<OpenLogin>,
    /// Sessions of user interfaces and scripts.
    pub chains: Vec<OpenChain>,
}

/// The user's open logins and sessions; at most 500 of each kind.
pub async fn open_of(service: &Identity, user: UserId) -> Result<OpenSessions> {
    let now = service.platform.now();
    let (logins, chains) = tokio::join!(
        logins::open_of_user(&service.platform.db, user, now),
        sessions::open_of_user(&service.platform.db, user, now)
    );
    Ok(OpenSessions { logins: logins?, chains: chains? })
}

/// Ends the login with this id and everything issued through it, or the session with this id; without an id, all of
/// them.
///
/// # Errors
/// `session not found` when the user has nothing open with that id, `user not found` when the user does not exist.
pub async fn end_open(service: &Identity, user: UserId, only: Option<Uuid>) -> Result<()> {
    let now = service.platform.now();
    let mut tx = service.platform.db.begin().await?;
    // Locked first, which keeps new sessions out until the transaction ends.
    identities::get_for_login(&mut tx, user).await?.ok_or(Error::NotFound(ObjectKind::User))?;
    match only {
        None => revoke_user(&mut tx, now, user, None, Reason::Logout).await?,
        Some(id) if end_one(&mut tx, user, id, now).await? => {}
        Some(_) => return Err(Error::NotFound(ObjectKind::Session)),
    }
    let entry = audit::AuditRecord {
        after: only.map(|id| json!({"session": id})),
        ..audit::AuditRecord::of_operator(now, AuditAction::UserEndSessions, user)
    };
    audit::record(&mut tx, entry).await?;
    tx.commit().await?;
    Ok(())
}

async fn end_one(tx: &mut Tx, user: UserId, id: Uuid, now: Ts) -> Result<bool> {
    if logins::is_open(tx, user, LoginId(id), now).await? {
        logins::end(tx, LoginId(id), now).await?;
        revoke_login_chains(tx, now, LoginId(id)).await?;
        return Ok(true);
    }
    let chain = sessions::lock(tx, ChainId(id)).await?;
    if chain.is_none_or(|chain| chain.user_id != user || chain.revoked.is_some()) {
        return Ok(false);
    }
    revoke_chain(tx, now, ChainId(id), Reason::Logout).await?;
    Ok(true)
}
