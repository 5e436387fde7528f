//! Resets the second factors of a user who has lost them: removes all, ends the user's sessions and notifies the user
//! by mail.

use super::{check_on, is_on};
use crate::{
    Identity,
    auth::{Reason, revoke_user},
};
use bailiwick_domain::{AuditAction, Error, ObjectKind, Result, Ts, UserId};
use bailiwick_events::mail::{self, FactorChange};
use bailiwick_store::{Tx, audit, factors, identities};

/// Removes what the user has, in the transaction of an administrator who may. The caller records it.
///
/// # Errors
/// 403 where there are none to have.
pub async fn reset(service: &Identity, tx: &mut Tx, user: UserId, now: Ts) -> Result<()> {
    check_on(service)?;
    factors::forget(tx, user).await?;
    revoke_user(tx, now, user, None, Reason::SecondFactorsReset).await?;
    mail::second_factors_changed(&service.events, tx, user, FactorChange::Reset).await
}

/// Removes all second factors of a user for an operator (`bailiwick user reset-second-factor`).
///
/// # Errors
/// `user not found`.
pub async fn reset_by_operator(service: &Identity, user: UserId) -> Result<()> {
    if !is_on(service) {
        return Err(Error::forbidden("second factors are not available"));
    }
    let now = service.platform.now();
    let mut tx = service.platform.db.begin().await?;
    identities::get_for_login(&mut tx, user).await?.ok_or(Error::NotFound(ObjectKind::User))?;
    reset(service, &mut tx, user, now).await?;
    audit::record(&mut tx, audit::AuditRecord::of_operator(now, AuditAction::UserResetSecondFactors, user))
        .await?;
    Ok(tx.commit().await?)
}
