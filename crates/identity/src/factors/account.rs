//! What people do with their own second factors (spec: account#second-factors). Passkeys are in
//! [`account_passkeys`](super::account_passkeys).

use super::{check_on, is_required, passkeys, recovery_codes, totp};
use crate::{
    Identity,
    auth::{check_fresh_sign_in, invalid},
};
use bailiwick_domain::{AuditAction, Error, ObjectKind, Result, SignInMethod, Ts, UserId, validate::Fields};
use bailiwick_events::mail::{self, FactorChange};
use bailiwick_platform::{RequestContext, audit};
use bailiwick_policy::{Caller, own_account};
use bailiwick_store::{
    Tx,
    factors::{self, passkeys::Passkey},
    identities::{self, Identified},
    oidc::interactions,
};
use serde_json::{Value, json};
use uuid::Uuid;

/// What someone has, and what they need.
#[derive(Clone, Debug, PartialEq)]
pub struct Overview {
    /// Whether one is required of them.
    pub is_required: bool,
    /// Until when they may sign in without one; none unless one is required and missing, or before their next sign-in.
    pub grace_until: Option<Ts>,
    /// Whether browsers offer passkeys for this service.
    pub are_passkeys_possible: bool,
    /// The passkeys, the oldest first.
    pub passkeys: Vec<Passkey>,
    /// The authenticator application.
    pub totp: Option<factors::Totp>,
    /// How many recovery codes are left.
    pub recovery_codes_left: u64,
}

/// The caller's second factors.
///
/// # Errors
/// 403 where there are none to have, and while impersonating.
pub async fn overview(service: &Identity, caller: &Caller) -> Result<Overview> {
    own_account(caller)?;
    check_on(service)?;
    let id = caller.user_id().ok_or_else(invalid)?;
    let user = identities::get(&service.platform.db, id).await?.ok_or_else(invalid)?;
    let (standing, passkeys, totp, left) = tokio::try_join!(
        factors::standing(&service.platform.db, id),
        factors::passkeys::of_user(&service.platform.db, id),
        factors::totp(&service.platform.db, id),
        factors::recovery_codes_left(&service.platform.db, id),
    )?;
    let is_required = is_required(service, &user, &standing);
    let grace = service.settings.provider.second_factor.grace;
    let missing = standing.grace_began_at.filter(|_| is_required && !standing.has_any());
    Ok(Overview {
        is_required,
        grace_until: missing.map(|began_at| began_at.plus(grace)),
        are_passkeys_possible: passkeys::are_possible(service),
        passkeys,
        totp,
        recovery_codes_left: left,
    })
}

/// A change of one's own second factors: checked, and the user locked.
pub(super) struct Change<'a> {
    pub(super) tx: Tx,
    pub(super) user: Identified,
    pub(super) now: Ts,
    caller: &'a Caller,
    ctx: &'a RequestContext,
}

/// Checks that the caller may change theirs.
pub(super) fn check(service: &Identity, caller: &Caller) -> Result<UserId> {
    own_account(caller)?;
    check_on(service)?;
    check_fresh_sign_in(service, caller)?;
    caller.user_id().ok_or_else(invalid)
}

impl<'a> Change<'a> {
    /// Begins it.
    pub(super) async fn begin(
        service: &Identity,
        caller: &'a Caller,
        ctx: &'a RequestContext,
    ) -> Result<Change<'a>> {
        let id = check(service, caller)?;
        let mut tx = service.platform.db.begin().await?;
        let user = identities::get_for_login(&mut tx, id).await?.ok_or_else(invalid)?;
        if !user.standing.is_enabled() {
            return Err(invalid());
        }
        Ok(Change { tx, user, now: service.platform.now(), caller, ctx })
    }

    /// Records it and ends it.
    pub(super) async fn commit(mut self, action: AuditAction, after: Value) -> Result<()> {
        let event = audit::Event {
            action,
            object_type: "user",
            object_id: self.user.id.0,
            before: None,
            after: Some(after),
        };
        audit::record(&mut self.tx, self.now, self.caller, self.ctx, event).await?;
        Ok(self.tx.commit().await?)
    }

    /// Refuses a removal that leaves a user without a second factor they must have. Without any factor the recovery
    /// codes go too.
    pub(super) async fn check_what_is_left(&mut self, service: &Identity) -> Result<()> {
        let standing = factors::standing(&mut self.tx, self.user.id).await?;
        if standing.has_any() {
            return Ok(());
        }
        if is_required(service, &self.user, &standing) {
            let message = "a second factor is required: add another one first".into();
            return Err(Error::Conflict { message, data: json!({"reason": "second_factor_required"}) });
        }
        Ok(factors::set_recovery_codes(&mut self.tx, self.user.id, &[]).await?)
    }
}

/// After a factor was added: recovery codes where there are none, and an end to sign-ins of this user that wait at a
/// step that was right before. `keep`: the sign-in that has added it.
pub(crate) async fn settle_added(
    service: &Identity,
    tx: &mut Tx,
    user: UserId,
    keep: Option<Uuid>,
) -> Result<Vec<String>> {
    mail::second_factors_changed(&service.events, tx, user, FactorChange::Added).await?;
    interactions::forget_others_of_user(tx, user, keep.unwrap_or(Uuid::nil())).await?;
    if factors::recovery_codes_left(&mut *tx, user).await? > 0 {
        return Ok(Vec::new());
    }
    recovery_codes::renew(service, tx, user).await
}

/// Adds the offered application at a sign-in that requires a second factor. None when the code is wrong.
pub(crate) async fn add_at_sign_in(
    service: &Identity,
    tx: &mut Tx,
    user: &Identified,
    subject: Uuid,
    (state, code): (&str, &str),
) -> Result<Option<SignInMethod>> {
    let Some(made) = totp::made(service, subject, state, code, service.platform.now())? else {
        return Ok(None);
    };
    factors::set_totp(tx, user.id, Some(&made)).await?;
    Ok(Some(SignInMethod::Totp))
}

/// Records that a factor was added at a sign-in.
pub(crate) async fn record_at_sign_in(
    tx: &mut Tx,
    now: Ts,
    ctx: &RequestContext,
    user: &Identified,
    method: SignInMethod,
) -> Result<()> {
    let whose = (user.id, user.organization.id);
    let after = Some(json!({"kind": method.as_str()}));
    audit::record_own_with(tx, now, ctx, whose, AuditAction::UserAddSecondFactor, after).await
}

/// A secret for an authenticator application of the caller: that of the offer `before` while it counts, else a fresh
/// one.
///
/// # Errors
/// 401 without a fresh sign-in, 403 where there are none to have.
pub async fn offer_totp(
    service: &Identity,
    caller: &Caller,
    before: Option<&str>,
) -> Result<totp::TotpOffer> {
    let id = check(service, caller)?;
    let user = identities::get(&service.platform.db, id).await?.ok_or_else(invalid)?;
    totp::offer_to_add(service, &user, id.0, before)
}

/// What the caller sends to add an application.
#[derive(Clone, Debug, Default)]
pub struct NewTotp {
    /// The state of the offer.
    pub state: String,
    /// The application's present code.
    pub code: String,
}

/// Adds the offered application in place of the one before; the recovery codes if there are new ones.
///
/// # Errors
/// As [`offer_totp`]; the fields.
pub async fn add_totp(
    service: &Identity,
    caller: &Caller,
    ctx: &RequestContext,
    body: impl FnOnce() -> Result<NewTotp>,
) -> Result<Vec<String>> {
    let mut change = Change::begin(service, caller, ctx).await?;
    let new = body()?;
    let mut fields = Fields::new();
    for (name, value) in [("state", &new.state), ("code", &new.code)] {
        if value.trim().is_empty() {
            fields.push(name, "required", "");
        }
    }
    fields.finish()?;
    let user = change.user.id;
    let made = totp::made(service, user.0, &new.state, &new.code, change.now)?;
    let made = made.ok_or_else(|| Error::field("code", "wrong_code"))?;
    factors::set_totp(&mut change.tx, user, Some(&made)).await?;
    let codes = settle_added(service, &mut change.tx, user, None).await?;
    change.commit(AuditAction::UserAddSecondFactor, json!({"kind": "totp"})).await?;
    Ok(codes)
}

/// Removes the caller's application.
///
/// # Errors
/// 404 when there is none, 409 when it is the last factor of someone who must have one; as [`offer_totp`].
pub async fn remove_totp(service: &Identity, caller: &Caller, ctx: &RequestContext) -> Result<()> {
    let mut change = Change::begin(service, caller, ctx).await?;
    let user = change.user.id;
    if factors::totp(&mut change.tx, user).await?.is_none() {
        return Err(Error::NotFound(ObjectKind::SecondFactor));
    }
    factors::set_totp(&mut change.tx, user, None).await?;
    change.check_what_is_left(service).await?;
    change.commit(AuditAction::UserRemoveSecondFactor, json!({"kind": "totp"})).await
}

/// Ten new recovery codes in place of those before.
///
/// # Errors
/// 409 without any second factor; as [`offer_totp`].
pub async fn new_recovery_codes(
    service: &Identity,
    caller: &Caller,
    ctx: &RequestContext,
) -> Result<Vec<String>> {
    let mut change = Change::begin(service, caller, ctx).await?;
    let user = change.user.id;
    if !factors::standing(&mut change.tx, user).await?.has_any() {
        let error = json!({"key": "second_factor", "message": "required", "value": ""});
        let data = json!({"errors": [error]});
        return Err(Error::Conflict { message: "validation failed".into(), data });
    }
    let codes = recovery_codes::renew(service, &mut change.tx, user).await?;
    change.commit(AuditAction::UserNewRecoveryCodes, json!({"codes": codes.len()})).await?;
    Ok(codes)
}
