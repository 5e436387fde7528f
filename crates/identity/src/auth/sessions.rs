//! Session chains: how they start, continue and end (spec: authentication#session-chains to authentication#logout).

use super::{
    Reason, UserObject,
    bearer::{suspended, unreadable},
    grouped_refresh::RefreshTurn,
    identity_of,
    revoke::{end_impersonations, revoke_chain},
    tokens::{self, Presented},
    user_object,
};
use crate::{Identity, TokenRequest};
use bailiwick_domain::{AuditAction, ChainId, Error, LoginId, ObjectKind, Result, SignInMethods, Ts, UserId};
use bailiwick_platform::{RequestContext, keys::TokenKind};
use bailiwick_policy::{Caller, UserIdentity};
use bailiwick_store::{
    Tx, audit,
    identities::{self, Identified},
    impersonation::sessions::Which,
    oidc::logins,
    sessions::{self, Chain, Device},
};
use serde_json::json;
use std::time::Duration;

/// The response of exchange and refresh.
#[derive(Clone, Debug)]
pub struct Session {
    /// Access token.
    pub token: String,
    /// The chain's current refresh token.
    pub refresh_token: String,
    /// Seconds `token` lives from now.
    pub expires_in: u64,
    /// The user, read live.
    pub user: UserObject,
    pub chain: ChainId,
}

fn session(service: &Identity, identity: &UserIdentity, chain: &Chain, now: Ts) -> Result<Session> {
    let (token, expires_in) = tokens::access_token(service, identity, chain.id, now)?;
    let refresh_token = tokens::refresh_token(service, chain)?;
    Ok(Session { token, refresh_token, expires_in, user: user_object(identity), chain: chain.id })
}

/// Characters that are kept of the name that a client gives of itself.
const DEVICE_CHARS: usize = 200;

/// The device that a request comes from, by its headers.
fn device_of(ctx: &RequestContext) -> Device {
    let name = ctx.user_agent.as_deref().map(|name| name.chars().take(DEVICE_CHARS).collect());
    Device { user_agent: name, client_ip: Some(ctx.client_ip.to_string()), by_operator: false }
}

/// A chain that starts now; its times are in whole seconds, as its tokens state them.
fn fresh_chain(service: &Identity, user: UserId, sign_in: SignIn, now: Ts, life: Duration) -> Chain {
    let issued = Ts::from_secs(now.secs());
    Chain {
        id: service.platform.fresh(),
        user_id: user,
        login_id: sign_in.login,
        created_at: now,
        signed_in_at: sign_in.at.map_or(now, |at| at.min(now)),
        methods: sign_in.methods,
        issuer_session: sign_in.issuer_session,
        refresh_id: service.platform.fresh(),
        refresh_issued_at: issued,
        expires_at: issued.plus(life),
        revoked: None,
    }
}

/// How the person of a new chain has signed in.
#[derive(Clone, Debug, Default)]
pub(crate) struct SignIn {
    /// The browser login at the embedded provider.
    pub(crate) login: Option<LoginId>,
    /// When, according to the provider; for an external issuer that names no time, now.
    pub(crate) at: Option<Ts>,
    /// How, at the embedded provider.
    pub(crate) methods: Option<SignInMethods>,
    /// The session at an external issuer.
    pub(crate) issuer_session: Option<String>,
}

/// Starts a chain for a user that a provider has named. The user, and the login it came from, are locked while the
/// chain is written: a suspension or sign-out at the same moment either sees the new chain or prevents it.
pub(crate) async fn start(
    service: &Identity,
    ctx: &RequestContext,
    user: UserId,
    sign_in: SignIn,
) -> Result<Session> {
    let refused = || Error::unauthenticated("invalid access token");
    let now = service.platform.now();
    let mut tx = service.platform.db.begin().await.map_err(unreadable)?;
    let user = identities::get_for_login(&mut tx, user).await.map_err(unreadable)?.ok_or_else(refused)?;
    if user.standing.is_gone() {
        return Err(refused());
    }
    if let Some(reason) = user.standing.suspension() {
        return Err(suspended(reason));
    }
    if let Some(login) = sign_in.login
        && !logins::hold(&mut tx, login).await.map_err(unreadable)?
    {
        return Err(refused());
    }
    let chain = fresh_chain(service, user.id, sign_in, now, service.settings.tokens.refresh);
    let identity = identity_of(&service.platform.catalogue, user);
    let session = session(service, &identity, &chain, now)?;
    sessions::insert(&mut tx, &chain, &device_of(ctx)).await.map_err(unreadable)?;
    identities::stamp_login(&mut tx, chain.user_id, now).await.map_err(unreadable)?;
    tx.commit().await.map_err(unreadable)?;
    Ok(session)
}

/// Starts a new chain for an impersonator who ends the impersonation. The user's row is locked and the user may act.
/// `sign_in`: that of the chain they come back to, with its login locked as well; this is no sign-in.
pub(crate) async fn resume(
    service: &Identity,
    tx: &mut Tx,
    ctx: &RequestContext,
    user: Identified,
    sign_in: SignIn,
    now: Ts,
) -> Result<Session> {
    let chain = fresh_chain(service, user.id, sign_in, now, service.settings.tokens.refresh);
    sessions::insert(tx, &chain, &device_of(ctx)).await.map_err(unreadable)?;
    session(service, &identity_of(&service.platform.catalogue, user), &chain, now)
}

/// The outcome of a genuine refresh token.
enum RefreshOutcome {
    Next(Chain),
    Same(Chain),
    Reused,
}

/// Refresh: uses up the presented token and returns the chain's next one (spec: authentication#refresh). `counted`: the
/// request, which uses up nothing when it is refused.
pub async fn refresh(service: &Identity, counted: TokenRequest, refresh_token: &str) -> Result<Session> {
    let invalid = || Error::unauthenticated("invalid refresh token");
    let now = service.platform.now();
    let Some(presented) = tokens::verify(service, TokenKind::Refresh, refresh_token, now) else {
        counted.admitted().await?;
        return Err(invalid());
    };
    let turn = RefreshTurn {
        chain: presented.chain,
        user: presented.user_id,
        presented: presented.token_id,
        next: service.platform.fresh(),
        at: now,
        counted,
    };
    match service.refreshes().refresh(turn).await? {
        Some((chain, user)) => session(service, &identity_of(&service.platform.catalogue, user), &chain, now),
        None => refresh_alone(service, &presented, now).await,
    }
}

/// A refresh that does not present the current token of its chain, or whose chain another transaction holds.
async fn refresh_alone(service: &Identity, presented: &Presented, now: Ts) -> Result<Session> {
    let invalid = || Error::unauthenticated("invalid refresh token");
    let mut tx = service.platform.db.begin().await.map_err(unreadable)?;
    let user = identities::get_steady(&mut tx, presented.user_id).await.map_err(unreadable)?;
    let chain = sessions::lock(&mut tx, presented.chain).await.map_err(unreadable)?;
    let (Some(user), Some(chain)) = (user, chain.filter(|chain| chain.user_id == presented.user_id)) else {
        return Err(invalid());
    };
    if let Some(reason) = user.standing.suspension() {
        return Err(suspended(reason));
    }
    if chain.revoked.is_some() || user.standing.is_gone() {
        return Err(Error::unauthenticated("refresh token has been revoked"));
    }
    let chain = match judge_presented(service, &mut tx, chain, presented.token_id, now).await? {
        RefreshOutcome::Next(chain) => chain,
        // This transaction wrote nothing: the request that won this refresh has already moved the chain on.
        RefreshOutcome::Same(chain) => chain,
        RefreshOutcome::Reused => {
            revoke_chain(&mut tx, now, presented.chain, Reason::RefreshReuse).await.map_err(unreadable)?;
            tx.commit().await.map_err(unreadable)?;
            tracing::warn!(user = %presented.user_id, chain = %presented.chain, "refresh token reused, chain revoked");
            return Err(invalid());
        }
    };
    let session = session(service, &identity_of(&service.platform.catalogue, user), &chain, now)?;
    tx.commit().await.map_err(unreadable)?;
    Ok(session)
}

async fn judge_presented(
    service: &Identity,
    tx: &mut Tx,
    chain: Chain,
    presented: uuid::Uuid,
    now: Ts,
) -> Result<RefreshOutcome> {
    let settings = &service.settings.tokens;
    let grace_start = now.minus(settings.reuse_grace);
    if chain.refresh_id == presented {
        let issued = Ts::from_secs(now.secs());
        let next = Chain {
            refresh_id: service.platform.fresh(),
            refresh_issued_at: issued,
            expires_at: issued.plus(settings.refresh),
            ..chain
        };
        let moved = sessions::rotate(tx, &next, presented, now, grace_start).await.map_err(unreadable)?;
        // This transaction holds the chain, so another one cannot have moved it.
        return if moved {
            Ok(RefreshOutcome::Next(next))
        } else {
            Err(unreadable("the chain moved under its lock"))
        };
    }
    let rotated_at = sessions::rotated_at(tx, chain.id, presented).await.map_err(unreadable)?;
    let in_grace = rotated_at.is_some_and(|at| at >= grace_start);
    Ok(if in_grace { RefreshOutcome::Same(chain) } else { RefreshOutcome::Reused })
}

/// Logout: every chain of the caller that exists at this moment (spec: authentication#logout).
pub async fn logout(service: &Identity, caller: &Caller) -> Result<()> {
    let user = caller.user_id().ok_or_else(|| Error::unauthenticated("invalid token"))?;
    let now = service.platform.now();
    let mut tx = service.platform.db.begin().await.map_err(unreadable)?;
    // Every transaction that starts a chain for the user locks the user's row. A chain that starts at the same moment
    // is either visible here, or its transaction waits and then sees that its origin is revoked.
    identities::get_for_login(&mut tx, user).await.map_err(unreadable)?;
    sessions::revoke_of_user(&mut tx, user, None, now, Reason::Logout.as_str()).await.map_err(unreadable)?;
    end_impersonations(&mut tx, Which::By(user, None), now).await.map_err(unreadable)?;
    tx.commit().await.map_err(unreadable)
}

/// An access token without a provider login. Its chain lives as long as the token and ends with a logout like any
/// other.
pub async fn issue_token(service: &Identity, user: UserId) -> Result<Session> {
    let mut tx = service.platform.db.begin().await?;
    let session = issue(service, &mut tx, user, Device::default()).await?;
    tx.commit().await?;
    Ok(session)
}

/// An access token for an operator's scripts (`bailiwick token`): recorded, and shown as what it is.
pub async fn issue_operator_token(service: &Identity, user: UserId) -> Result<Session> {
    let mut tx = service.platform.db.begin().await?;
    let device = Device { by_operator: true, ..Device::default() };
    let session = issue(service, &mut tx, user, device).await?;
    let made = json!({"session": session.chain, "expires_in": session.expires_in});
    let entry = audit::AuditRecord {
        after: Some(made),
        ..audit::AuditRecord::of_operator(service.platform.now(), AuditAction::TokenCreate, user)
    };
    audit::record(&mut tx, entry).await?;
    tx.commit().await?;
    Ok(session)
}

async fn issue(service: &Identity, tx: &mut Tx, user: UserId, device: Device) -> Result<Session> {
    let now = service.platform.now();
    let user = identities::get_steady(&mut *tx, user).await?.ok_or(Error::NotFound(ObjectKind::User))?;
    super::bearer::refuse_disabled(user.standing)?;
    let chain = fresh_chain(service, user.id, SignIn::default(), now, service.settings.tokens.access);
    sessions::insert(tx, &chain, &device).await?;
    session(service, &identity_of(&service.platform.catalogue, user), &chain, now)
}

/// Removes chains that can have no valid token any more; returns how many.
pub async fn purge_expired(service: &Identity) -> Result<u64> {
    let now = service.platform.now();
    let mut tx = service.platform.db.begin_relaxed().await?;
    let purged = sessions::purge(&mut tx, now.minus(service.settings.tokens.access), now).await?;
    tx.commit().await?;
    Ok(purged)
}

/// The chain a token belongs to; for use cases that spare the calling one.
pub fn chain_of(caller: &Caller) -> Option<ChainId> {
    match caller {
        Caller::User(user) => user.chain,
        _ => None,
    }
}
