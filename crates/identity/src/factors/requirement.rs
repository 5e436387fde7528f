//! Who needs a second factor (spec: openid-provider#second-factors).

use super::is_on;
use crate::Identity;
use bailiwick_domain::{Result, Ts};
use bailiwick_store::{
    Tx,
    factors::{self, Standing},
    identities::Identified,
    oidc::{interactions::Step, logins::Login},
};

/// Whether the settings or an organization require a second factor of this user.
pub(crate) fn is_required(service: &Identity, user: &Identified, standing: &Standing) -> bool {
    let policy = &service.settings.provider.second_factor;
    is_on(service) && (standing.is_required || policy.requires(user.organization.org_type, &user.role_ids))
}

/// Whether a grace period that began then is over.
fn is_over(service: &Identity, began_at: Ts, now: Ts) -> bool {
    began_at.plus(service.settings.provider.second_factor.grace) <= now
}

/// What must follow the user's password. Begins the grace period of someone who lacks a required factor, and ends it
/// when none is required any more.
pub(crate) async fn need(
    service: &Identity,
    tx: &mut Tx,
    user: &Identified,
    now: Ts,
) -> Result<Option<Step>> {
    if !is_on(service) {
        return Ok(None);
    }
    let standing = factors::standing(&mut *tx, user.id).await?;
    if standing.has_any() {
        return Ok(Some(Step::Prove));
    }
    match standing.grace_began_at {
        Some(_) if !is_required(service, user, &standing) => {
            factors::set_grace(tx, user.id, None).await?;
            Ok(None)
        }
        None if !is_required(service, user, &standing) => Ok(None),
        Some(began_at) => Ok(is_over(service, began_at, now).then_some(Step::Add)),
        None => {
            factors::set_grace(tx, user.id, Some(now)).await?;
            Ok(is_over(service, now, now).then_some(Step::Add))
        }
    }
}

/// Whether a browser's login still admits its user: a login by password alone does not, once they have a second factor
/// or must have one.
pub(crate) async fn is_enough(service: &Identity, user: &Identified, login: &Login, now: Ts) -> Result<bool> {
    if !is_on(service) || login.methods.has_second_factor() {
        return Ok(true);
    }
    let standing = factors::standing(&service.platform.db, user.id).await?;
    if standing.has_any() {
        return Ok(false);
    }
    // Without a begin the next sign-in begins the grace period.
    let is_late = || standing.grace_began_at.is_none_or(|began_at| is_over(service, began_at, now));
    Ok(!(is_required(service, user, &standing) && is_late()))
}
