//! Starts impersonation sessions (spec: impersonation#requests-while-impersonating).

use super::validity::{judge, live_of, reach};
use crate::{
    Identity,
    auth::{
        self, UserObject, identity_of, impersonation_token, invalid, judged_user, refuse_disabled,
        user_object,
    },
};
use bailiwick_domain::{AuditAction, ChainId, Error, Happening, Result, Ts, UserId};
use bailiwick_events::EventDraft;
use bailiwick_platform::{
    RequestContext, audit,
    retry_on_conflict::{Aborted, retry_on_conflict},
};
use bailiwick_policy::{Action, Caller, Consent, Refusal, UserIdentity, UserTarget, decide};
use bailiwick_store::{
    identities,
    impersonation::{
        consents,
        sessions::{self, Party, Session},
    },
    sessions as chains,
    users::{self, Placed},
};
use serde_json::json;
use std::sync::Arc;

/// The response to a start.
#[derive(Clone, Debug)]
pub struct Started {
    pub session: Session,
    pub token: String,
    /// Seconds to the expiry of the consent.
    pub expires_in: u64,
    /// The impersonated user, whose rights the token gives.
    pub impersonated: UserObject,
    pub impersonator: UserObject,
}

/// Starts a session. The access check has already refused impersonation tokens and users who may impersonate no other
/// user.
///
/// # Errors
/// In the order of spec: impersonation#requests-while-impersonating.
pub async fn start(
    service: &Identity,
    caller: &Caller,
    ctx: &RequestContext,
    body: impl FnOnce() -> Result<String>,
) -> Result<Started> {
    let (me, chain) = caller.user_id().zip(auth::chain_of(caller)).ok_or_else(invalid)?;
    if let Some((live, _)) = live_of(service, me, service.platform.now()).await? {
        return Err(already(&live));
    }
    let wanted = body()?.parse::<UserId>().ok();
    if wanted == Some(me) {
        return Err(Refusal::ImpersonateSelf.into());
    }
    // Checked before the target's row is locked: a caller without the right neither waits for that lock nor makes
    // others wait.
    let placed = match wanted {
        Some(user) => users::get(&service.platform.db, user).await?,
        None => None,
    };
    let consent = match wanted {
        Some(user) => consents::get(&service.platform.db, user, service.platform.now()).await?,
        None => None,
    };
    let wanted = allowed(service, caller, placed.as_ref(), consent.is_some())?;
    retry_on_conflict("an impersonation", || attempt(service, (me, chain), wanted, ctx)).await
}

/// Whether the caller may act as this user now.
fn allowed(
    service: &Identity,
    caller: &Caller,
    placed: Option<&Placed>,
    has_consent: bool,
) -> Result<UserId> {
    let Some(placed) = placed else { return Err(Refusal::NoConsent.into()) };
    let consent = if has_consent { reach(service) } else { Consent::Absent };
    let target = UserTarget { consent, ..judged_user(service, placed) };
    decide(caller, Action::Impersonate, &target).granted().map(|granted| granted.id())
}

fn already(live: &Session) -> Error {
    Error::Conflict {
        message: "you already have an active impersonation session. exit the current session before starting a new one."
            .into(),
        data: json!({"type": "conflict", "active_session": {
            "session_id": live.id,
            "impersonated_user_id": live.impersonated.id,
            "created_at": live.started_at,
            "expires_at": live.expires_at,
        }}),
    }
}

/// One try: locks both users, the chain and the consent, and judges all of it again.
async fn attempt(
    service: &Identity,
    (me, chain): (UserId, ChainId),
    wanted: UserId,
    ctx: &RequestContext,
) -> Result<Started, Aborted> {
    let now = service.platform.now();
    let mut tx = service.platform.db.begin().await?;
    // Locked as a writer, so that of two starts one waits for the other.
    let own = identities::get_for_login(&mut tx, me).await?.ok_or_else(invalid)?;
    refuse_disabled(own.standing)?;
    let target = identities::get_steady(&mut tx, wanted).await?;
    let locked_chain = chains::lock(&mut tx, chain).await?.ok_or_else(invalid)?;
    if let Some(reason) = locked_chain.revoked {
        return Err(Error::unauthenticated_because("token has been revoked", &reason).into());
    }
    if let Some(live) = sessions::load_of(&mut tx, me).await? {
        match judge(service, &live, now) {
            Ok(_) => return Err(already(&live.session).into()),
            Err(dead) => dead.record(&mut tx, live.session.id, now).await?,
        }
    }
    let impersonator = Arc::new(identity_of(&service.platform.catalogue, own));
    let caller = Caller::user(impersonator.clone(), Some(chain));
    let consent = consents::hold(&mut tx, wanted, now).await?;
    let placed = users::get(&mut tx, wanted).await?;
    allowed(service, &caller, placed.as_ref(), consent.is_some())?;
    let (Some(target), Some(consent)) = (target, consent) else {
        return Err(Error::from(Refusal::NoConsent).into());
    };
    let impersonated = identity_of(&service.platform.catalogue, target);
    let session = Session {
        id: service.platform.fresh(),
        impersonator: party(&impersonator),
        impersonated: party(&impersonated),
        consent_id: consent.id,
        chain_id: chain,
        login_id: locked_chain.login_id,
        started_at: now,
        expires_at: consent.expires_at,
        end: None,
        action_count: 1,
    };
    sessions::insert(&mut tx, &session, (service.platform.fresh(), service.platform.fresh())).await?;
    let organization = placed.as_ref().map(|placed| placed.user.organization.id);
    let event = (&session, organization);
    audit::record_impersonation(&mut tx, now, ctx, event, AuditAction::ImpersonationStart).await?;
    let draft = EventDraft::impersonation(Happening::Started, session.id.to_string(), wanted);
    let data = json!({"session_id": session.id, "expires_at": session.expires_at});
    draft.with(data).write(&mut tx, now).await?;
    let started = started(service, session, &impersonated, &impersonator, now)?;
    tx.commit().await?;
    Ok(started)
}

fn party(identity: &UserIdentity) -> Party {
    Party { id: identity.user_id, username: identity.username.clone(), name: identity.name.clone() }
}

fn started(
    service: &Identity,
    session: Session,
    impersonated: &UserIdentity,
    impersonator: &UserIdentity,
    now: Ts,
) -> Result<Started> {
    let (token, expires_in) = impersonation_token(service, &session, impersonated, impersonator, now)?;
    let (impersonated, impersonator) = (user_object(impersonated), user_object(impersonator));
    Ok(Started { session, token, expires_in, impersonated, impersonator })
}
