//! What people see and end of their own sessions (spec: account#sessions).

use super::{
    Reason,
    bearer::{invalid, unreadable},
    chain_of,
    revoke::revoke_chain,
    revoke_login_chains, revoke_user,
};
use crate::Identity;
use bailiwick_domain::{AuditAction, ChainId, Error, ObjectKind, Result, UserId};
use bailiwick_platform::{RequestContext, audit};
use bailiwick_policy::{Caller, own_account};
use bailiwick_store::{
    Tx, identities,
    oidc::logins,
    sessions::{self, Chain, OpenChain},
};
use serde_json::json;

/// A session of the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnSession {
    /// The session.
    pub chain: OpenChain,
    /// Whether the request belongs to it.
    pub is_present: bool,
}

/// The caller's live sessions, the newest first; at most 500.
///
/// # Errors
/// 403 while impersonating; 503 when they cannot be read.
pub async fn own_sessions(service: &Identity, caller: &Caller) -> Result<Vec<OwnSession>> {
    own_account(caller)?;
    let user = caller.user_id().ok_or_else(invalid)?;
    let present = chain_of(caller);
    let open = sessions::open_of_user(&service.platform.db, user, service.platform.now())
        .await
        .map_err(unreadable)?;
    let own = |chain: OpenChain| OwnSession { is_present: present == Some(chain.id), chain };
    Ok(open.into_iter().map(own).collect())
}

/// Ends a session of the caller, and the login at the embedded provider it came from with every session from it: else
/// that browser would be in again at its next request. A login that the present session came from too stays, unless it
/// is the present session that ends. `id`: none = malformed.
///
/// # Errors
/// 404 `session not found`; 403 while impersonating; 503 when it cannot be written.
pub async fn end_session(
    service: &Identity,
    caller: &Caller,
    ctx: &RequestContext,
    id: Option<ChainId>,
) -> Result<()> {
    own_account(caller)?;
    let user = caller.user_id().ok_or_else(invalid)?;
    let missing = || Error::NotFound(ObjectKind::Session);
    let id = id.ok_or_else(missing)?;
    let now = service.platform.now();
    // Locks in the order user, login, chain, as everywhere.
    let mut tx = begin(service, user).await?;
    let is_open = |chain: &Chain| chain.user_id == user && chain.revoked.is_none() && chain.expires_at > now;
    let chain = sessions::get(&mut tx, id).await.map_err(unreadable)?.filter(is_open).ok_or_else(missing)?;
    let present_login = match chain_of(caller).filter(|present| *present != id) {
        Some(present) => sessions::login_of(&mut tx, present).await.map_err(unreadable)?,
        None => None,
    };
    match chain.login_id.filter(|login| present_login != Some(*login)) {
        Some(login) => {
            logins::end(&mut tx, login, now).await.map_err(unreadable)?;
            revoke_login_chains(&mut tx, now, login).await?;
        }
        None => {
            sessions::lock(&mut tx, id).await.map_err(unreadable)?;
            revoke_chain(&mut tx, now, id, Reason::Logout).await.map_err(unreadable)?;
        }
    }
    finish(service, tx, caller, ctx, user, Some(id)).await
}

/// Ends every session and login of the caller but the present ones.
///
/// # Errors
/// 403 while impersonating; 503 when it cannot be written.
pub async fn end_other_sessions(service: &Identity, caller: &Caller, ctx: &RequestContext) -> Result<()> {
    own_account(caller)?;
    let user = caller.user_id().ok_or_else(invalid)?;
    let mut tx = begin(service, user).await?;
    revoke_user(&mut tx, service.platform.now(), user, chain_of(caller), Reason::Logout).await?;
    finish(service, tx, caller, ctx, user, None).await
}

/// Locks the user, which keeps new sessions out until the transaction ends.
async fn begin(service: &Identity, user: UserId) -> Result<Tx> {
    let mut tx = service.platform.db.begin().await.map_err(unreadable)?;
    identities::get_for_login(&mut tx, user).await.map_err(unreadable)?.ok_or_else(invalid)?;
    Ok(tx)
}

async fn finish(
    service: &Identity,
    mut tx: Tx,
    caller: &Caller,
    ctx: &RequestContext,
    user: UserId,
    only: Option<ChainId>,
) -> Result<()> {
    let event = audit::Event {
        action: AuditAction::UserEndSessions,
        object_type: "user",
        object_id: user.0,
        before: None,
        after: Some(only.map_or_else(|| json!({"sessions": "others"}), |id| json!({"session": id}))),
    };
    audit::record(&mut tx, service.platform.now(), caller, ctx, event).await?;
    tx.commit().await.map_err(unreadable)
}
