//! Consent by which a user lets others impersonate them for a while (spec: impersonation#requests-while-impersonating).

use crate::{
    Identity,
    auth::{check_fresh_sign_in, invalid},
};
use bailiwick_domain::{AuditAction, Error, Happening, Result, Ts, UserId};
use bailiwick_events::EventDraft;
use bailiwick_platform::{
    RequestContext, audit,
    retry_on_conflict::{Aborted, retry_on_conflict},
};
use bailiwick_policy::Caller;
use bailiwick_store::{
    Tx, identities,
    impersonation::{
        consents::{self, Consent},
        sessions::{self, Cause, Which},
    },
};
use serde_json::{Value, json};
use std::{ops::RangeInclusive, time::Duration};

/// The accepted duration, in hours; 0 means the usual one.
pub const CONSENT_HOURS: RangeInclusive<i64> = 0..=168;
const USUAL_HOURS: i64 = 1;

/// The caller's live consent.
pub async fn consent(service: &Identity, caller: &Caller) -> Result<Option<Consent>> {
    let user = caller.user_id().ok_or_else(invalid)?;
    Ok(consents::get(&service.platform.db, user, service.platform.now()).await?)
}

/// Stores a consent for some hours. It replaces the previous one, whose sessions end. The caller is the user
/// themselves: the access check admits no impersonation token here.
pub async fn give_consent(
    service: &Identity,
    caller: &Caller,
    ctx: &RequestContext,
    body: impl FnOnce() -> Result<Option<i64>>,
) -> Result<Consent> {
    let user = caller.user_id().ok_or_else(invalid)?;
    check_fresh_sign_in(service, caller)?;
    let hours = body()?.unwrap_or(0);
    if !CONSENT_HOURS.contains(&hours) {
        return Err(Error::field_value("duration_hours", "out_of_range", hours.to_string()));
    }
    let hours = if hours == 0 { USUAL_HOURS } else { hours };
    let now = service.platform.now();
    let minutes = hours.saturating_mul(60);
    let life = Duration::from_secs(60 * u64::try_from(minutes).unwrap_or_default());
    let consent = Consent {
        id: service.platform.fresh(),
        user_id: user,
        expires_at: now.plus(life),
        max_duration_minutes: minutes,
        created_at: now,
    };
    let consent = &consent;
    let attempt = || async move {
        let mut tx = begin(service, user).await?;
        consents::put(&mut tx, consent).await?;
        let after = json!({"expires_at": consent.expires_at});
        finish(tx, (now, user), caller, ctx, AuditAction::UserGiveConsent, Some(after)).await
    };
    retry_on_conflict("a consent", attempt).await?;
    Ok(consent.clone())
}

/// Withdraws the caller's consent, if there is one, and ends every session based on it.
pub async fn withdraw_consent(service: &Identity, caller: &Caller, ctx: &RequestContext) -> Result<()> {
    let user = caller.user_id().ok_or_else(invalid)?;
    let attempt = || async move {
        let mut tx = begin(service, user).await?;
        if !consents::remove(&mut tx, user).await? {
            // No session is based on it either: an expired consent has ended by itself.
            return Ok(());
        }
        finish(tx, (service.platform.now(), user), caller, ctx, AuditAction::UserWithdrawConsent, None).await
    };
    retry_on_conflict("the withdrawal of a consent", attempt).await
}

/// Locks the user: one who is being suspended or deleted can no longer give consent.
async fn begin(service: &Identity, user: UserId) -> Result<Tx, Aborted> {
    let mut tx = service.platform.db.begin().await?;
    let locked = identities::get_steady(&mut tx, user).await?;
    if !locked.is_some_and(|locked| locked.standing.is_enabled()) {
        return Err(invalid().into());
    }
    Ok(tx)
}

async fn finish(
    mut tx: Tx,
    (now, user): (Ts, UserId),
    caller: &Caller,
    ctx: &RequestContext,
    action: AuditAction,
    after: Option<Value>,
) -> Result<(), Aborted> {
    sessions::end(&mut tx, Which::As(user), now, Cause::Consent, None).await?;
    let event = audit::Event { action, object_type: "user", object_id: user.0, before: None, after };
    let happening = if event.after.is_some() { Happening::Consented } else { Happening::ConsentWithdrawn };
    let draft = EventDraft::impersonation(happening, user.to_string(), user);
    let draft = draft.with(event.after.clone().unwrap_or_default());
    audit::record(&mut tx, now, caller, ctx, event).await?;
    draft.write(&mut tx, now).await?;
    Ok(tx.commit().await?)
}
