//! Whether an impersonation session is still valid, judged from the state stored at this moment (spec:
//! authentication#bearer-errors, impersonation#requests-while-impersonating; spec: authorization#impersonation).

use crate::{
    Identity,
    auth::{MAX_TOKEN_BYTES, bearer_token, identity_of, invalid, unreadable, verify_impersonation},
};
use bailiwick_domain::{Error, ImpersonationId, OrgId, Result, Ts, UserId};
use bailiwick_platform::keys::TokenKind;
use bailiwick_policy::{
    Action, Caller, Consent, Permission, Standing, UserCaller, UserIdentity, UserTarget, decide,
};
use bailiwick_settings::ImpersonationScope;
use bailiwick_store::{
    StoreError, Tx,
    impersonation::sessions::{self, Cause, Person, Seen, Which},
};
use serde_json::json;
use std::sync::Arc;

/// The reason given for every end from the impersonator's side.
const ENDED: &str = "session ended";

/// The reason given when no more is known of a destroyed user.
const DELETED: &str = "user deleted";

/// The two people of a session that counts.
pub(super) struct Pair {
    pub(super) impersonator: Arc<UserIdentity>,
    pub(super) impersonated: Arc<UserIdentity>,
}

/// Why a session is not valid. When several reasons apply: the impersonator's side, then consent, then target.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SessionEnd {
    /// The impersonator has left the session or may not continue. `is_disabled`: the impersonator is suspended or
    /// deleted.
    Impersonator { is_disabled: bool },
    /// Withdrawn, replaced or expired.
    Consent,
    /// Suspended or deleted; the text says which.
    Target(String),
}

impl SessionEnd {
    /// The response to the token of such a session.
    fn error(&self) -> Error {
        match self {
            SessionEnd::Impersonator { .. } => {
                Error::unauthenticated_because("token has been revoked", ENDED)
            }
            SessionEnd::Consent => withdrawn(),
            SessionEnd::Target(reason) => {
                Error::unauthenticated_because("impersonated user account has been suspended", reason)
            }
        }
    }

    /// Records the end of a session unless it is already recorded.
    pub(super) async fn record(&self, tx: &mut Tx, id: ImpersonationId, now: Ts) -> Result<(), StoreError> {
        let (cause, reason) = match self {
            SessionEnd::Impersonator { .. } => (Cause::Impersonator, None),
            SessionEnd::Consent => (Cause::Consent, None),
            SessionEnd::Target(reason) => (Cause::Target, Some(reason.as_str())),
        };
        sessions::end(tx, Which::One(id), now, cause, reason).await.map(|_| ())
    }
}

/// The response to a token whose consent has ended.
fn withdrawn() -> Error {
    Error::Unauthenticated {
        message: "impersonation consent has been revoked".into(),
        data: json!({
            "message": "the user has revoked consent for impersonation. please exit impersonation mode."
        }),
    }
}

/// The reach of a consent under the setting.
pub fn reach(service: &Identity) -> Consent {
    match service.settings.impersonation.scope {
        ImpersonationScope::Consent => Consent::Everyone,
        ImpersonationScope::Hierarchy => Consent::Hierarchy,
    }
}

fn identity(service: &Identity, person: &Person) -> Arc<UserIdentity> {
    Arc::new(identity_of(&service.platform.catalogue, person.user.clone()))
}

/// Judges a session. Unknown cases end it.
pub(super) fn judge(service: &Identity, loaded: &Seen, now: Ts) -> Result<Pair, SessionEnd> {
    let cause = loaded.session.end.as_ref().map(|end| end.cause);
    let over = |is_disabled| Err(SessionEnd::Impersonator { is_disabled });
    let Some(impersonator) = &loaded.impersonator else { return over(true) };
    if !impersonator.user.standing.is_enabled() {
        return over(true);
    }
    if matches!(cause, Some(Cause::Exit | Cause::Impersonator)) || loaded.is_chain_revoked {
        return over(false);
    }
    let own = identity(service, impersonator);
    let caller = Caller::user(own.clone(), None);
    if !caller.holds(Permission::ImpersonateUsers) {
        return over(false);
    }
    let target = loaded.impersonated.as_ref().map(|person| (person, identity(service, person)));
    if let Some((person, identity)) = &target {
        // Reach and rank, as if the target were enabled and had consented: suspension and a missing consent have their
        // own answers.
        let assumed = UserTarget {
            id: person.user.id,
            path: person.path,
            effective: identity.effective.clone(),
            standing: Standing::default(),
            consent: reach(service),
        };
        if !decide(&caller, Action::Impersonate, &assumed).is_allowed() {
            return over(false);
        }
    }
    let Some((person, impersonated)) = target else { return Err(SessionEnd::Target(DELETED.to_owned())) };
    let is_agreed =
        loaded.consent.is_some_and(|(id, expires_at)| id == loaded.session.consent_id && expires_at > now);
    let is_over = loaded.session.expires_at <= now;
    if !is_agreed || is_over || matches!(cause, Some(Cause::Consent | Cause::Expiry)) {
        return Err(SessionEnd::Consent);
    }
    let standing = person.user.standing;
    if let Some(reason) = standing.suspension() {
        return Err(SessionEnd::Target(reason.to_owned()));
    }
    if standing.is_gone() {
        return Err(SessionEnd::Target(DELETED.to_owned()));
    }
    match &loaded.session.end {
        // The target's suspension or deletion is over, but the session stays ended.
        Some(end) => Err(SessionEnd::Target(end.reason.clone().unwrap_or_else(|| DELETED.to_owned()))),
        None => Ok(Pair { impersonator: own, impersonated }),
    }
}

/// The outcome of an impersonation token.
#[derive(Clone, Debug)]
pub struct Acting {
    pub session: ImpersonationId,
    /// The impersonated user as the caller, or the reason for the refusal.
    pub caller: Result<Caller>,
    /// Whether the impersonator may return with this token, even if it is good for nothing else any more.
    pub exit: Result<()>,
    /// Whether the request is recorded: the token itself has not expired.
    pub is_recorded: bool,
}

/// The impersonation token of an `Authorization` header: one that names a key of this kind, genuine or not.
pub fn presented<'a>(service: &Identity, header: Option<&'a str>) -> Option<&'a str> {
    let token = bearer_token(header).ok().filter(|token| token.len() <= MAX_TOKEN_BYTES)?;
    service.platform.keys.names(TokenKind::Impersonation, token).then_some(token)
}

/// Looks up the session of an impersonation token and judges it.
///
/// # Errors
/// `invalid token` for anything but a token of this service, 503 when the state cannot be read. [`Acting`] says why a
/// genuine token is refused.
pub async fn authenticate(service: &Identity, token: &str) -> Result<Acting> {
    let now = service.platform.now();
    let token = verify_impersonation(service, token, now).ok_or_else(invalid)?;
    let loaded = sessions::load(&service.platform.db, token.session).await.map_err(unreadable)?;
    let Some(loaded) = loaded.filter(|loaded| {
        let session = &loaded.session;
        session.impersonated.id == token.impersonated && session.impersonator.id == token.impersonator
    }) else {
        // An expired token means an expired consent, whatever is left of the session.
        return Err(if token.is_expired { withdrawn() } else { invalid() });
    };
    acting_in(service, loaded, token.is_expired, now).await
}

/// Looks up the session with this id, which must belong to this impersonator, and judges it.
///
/// # Errors
/// `invalid token` where there is no such session, 503 when the state cannot be read.
pub(crate) async fn judged(
    service: &Identity,
    impersonator: Option<UserId>,
    id: ImpersonationId,
) -> Result<Acting> {
    let now = service.platform.now();
    let loaded = sessions::load(&service.platform.db, id).await.map_err(unreadable)?;
    let loaded = loaded.filter(|loaded| Some(loaded.session.impersonator.id) == impersonator);
    let loaded = loaded.ok_or_else(invalid)?;
    let is_expired = loaded.session.expires_at <= now;
    acting_in(service, loaded, is_expired, now).await
}

async fn acting_in(service: &Identity, loaded: Seen, is_expired: bool, now: Ts) -> Result<Acting> {
    let session = loaded.session.id;
    let dead = match judge(service, &loaded, now) {
        Ok(pair) if !is_expired => {
            let caller = Caller::User(UserCaller {
                identity: pair.impersonated,
                chain: None,
                acting_for: Some(pair.impersonator.user_id),
                signed_in_at: loaded.signed_in_at,
            });
            return Ok(Acting { session, caller: Ok(caller), exit: Ok(()), is_recorded: true });
        }
        Ok(_) => SessionEnd::Consent,
        Err(dead) => dead,
    };
    if loaded.session.end.is_none() {
        // The request is refused in any case. The end is recorded now, so it does not depend on another request.
        if let Err(e) = close(service, session, &dead, now).await {
            tracing::warn!(%session, error = %e, "the end of an impersonation could not be recorded");
        }
    }
    let exit = match &dead {
        // The new session would be built from live data, and this impersonator may not have one.
        SessionEnd::Impersonator { is_disabled: true } => Err(invalid()),
        SessionEnd::Consent | SessionEnd::Target(_) if !is_expired && loaded.session.expires_at > now => {
            Ok(())
        }
        _ => Err(dead.error()),
    };
    Ok(Acting { session, caller: Err(dead.error()), exit, is_recorded: !is_expired })
}

async fn close(
    service: &Identity,
    id: ImpersonationId,
    dead: &SessionEnd,
    now: Ts,
) -> Result<(), StoreError> {
    let mut tx = service.platform.db.begin().await?;
    dead.record(&mut tx, id, now).await?;
    tx.commit().await
}

/// The users whose rights a transaction has changed, other than by ending their sign-ins.
#[derive(Clone, Copy, Debug)]
pub enum Changed {
    /// This user's: their roles or their organization.
    User(UserId),
    /// The rights of all users in a reseller promoted to distributor, and below it.
    Promoted(OrgId),
}

/// Ends the sessions that are no longer valid after the earlier writes of this transaction. Their end must not depend
/// on a request that arrives before the rights come back.
pub async fn end_of_changed(
    service: &Identity,
    tx: &mut Tx,
    now: Ts,
    whose: Changed,
) -> Result<(), StoreError> {
    let live = match whose {
        Changed::User(user) => sessions::load_of_user(tx, user).await?,
        Changed::Promoted(organization) => sessions::load_below(tx, organization).await?,
    };
    for loaded in live {
        if let Err(dead) = judge(service, &loaded, now) {
            dead.record(tx, loaded.session.id, now).await?;
        }
    }
    Ok(())
}

/// The valid session that the user has started, with its two users. A session that is no longer valid is ended.
pub(super) async fn live_of(
    service: &Identity,
    user: UserId,
    now: Ts,
) -> Result<Option<(sessions::Session, Pair)>> {
    let Some(loaded) = sessions::load_of(&service.platform.db, user).await.map_err(unreadable)? else {
        return Ok(None);
    };
    match judge(service, &loaded, now) {
        Ok(pair) => Ok(Some((loaded.session, pair))),
        Err(dead) => {
            close(service, loaded.session.id, &dead, now).await.map_err(unreadable)?;
            Ok(None)
        }
    }
}
