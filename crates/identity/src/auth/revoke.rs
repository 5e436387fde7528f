//! Ends sessions (spec: authentication#session-chains). This always happens inside the transaction of the event that
//! ends them, so it takes effect on the next request on every replica.

use bailiwick_domain::{ChainId, LoginId, OrgId, OrgType, Result, Ts, UserId};
use bailiwick_store::{
    StoreError, Tx,
    impersonation::sessions::{Cause, Which, end, hold_all},
    oidc::{interactions, logins},
    sessions,
};

/// Why a chain ended: the `{reason}` of `token has been revoked` (spec: authentication#bearer-errors).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Signed out, here or at the provider.
    Logout,
    /// Password changed or reset.
    PasswordChanged,
    /// An administrator has removed the user's second factors.
    SecondFactorsReset,
    /// A refresh token came again after its grace.
    RefreshReuse,
    /// The user or an organization above the user was deleted.
    Deleted,
    /// The user or an organization above the user was suspended: the reason why an earlier token stays invalid when the
    /// suspension is over.
    Suspended,
}

impl Reason {
    /// The text on the wire, which is also the stored text.
    pub const fn as_str(self) -> &'static str {
        match self {
            Reason::Logout => "user logout",
            Reason::PasswordChanged => "password changed",
            Reason::SecondFactorsReset => "second factors reset",
            Reason::RefreshReuse => "refresh token reuse detected",
            Reason::Deleted => super::bearer::DELETED,
            Reason::Suspended => "user suspended",
        }
    }

    /// The reason given to an impersonator of this user. None where only the user's own sign-ins end.
    const fn for_impersonator(self, by_organization: bool) -> Option<&'static str> {
        match self {
            Reason::Deleted => Some(super::bearer::DELETED),
            Reason::Suspended if by_organization => Some("organization suspended"),
            Reason::Suspended => Some("user suspended by administrator"),
            Reason::Logout | Reason::PasswordChanged | Reason::SecondFactorsReset | Reason::RefreshReuse => {
                None
            }
        }
    }
}

/// Ends the impersonation sessions a user started, because that user may not continue.
pub(super) async fn end_impersonations(tx: &mut Tx, which: Which, now: Ts) -> Result<(), StoreError> {
    end(tx, which, now, Cause::Impersonator, None).await.map(|_| ())
}

/// Ends all current chains of the user, and the user's provider logins with everything issued through them. `keep`
/// spares the calling chain and its login (own password change).
///
/// The caller holds the user's row in the same transaction (it has just written it), which keeps new chains out.
pub async fn revoke_user(
    tx: &mut Tx,
    now: Ts,
    user: UserId,
    keep: Option<ChainId>,
    reason: Reason,
) -> Result<()> {
    let keep_login = match keep {
        Some(chain) => sessions::login_of(&mut *tx, chain).await?,
        None => None,
    };
    logins::end_of_user(tx, user, keep_login, now).await?;
    interactions::forget_user(tx, user).await?;
    sessions::revoke_of_user(tx, user, keep, now, reason.as_str()).await?;
    let (started_by, acting_as) = (Which::By(user, keep), Which::As(user));
    match reason.for_impersonator(false) {
        Some(reason) => end_both(tx, now, started_by, acting_as, Some(reason)).await?,
        None => end_impersonations(tx, started_by, now).await?,
    }
    Ok(())
}

/// Ends the impersonation sessions that these users have started, and those in which they are impersonated.
async fn end_both(
    tx: &mut Tx,
    now: Ts,
    started_by: Which,
    acting_as: Which,
    reason: Option<&str>,
) -> Result<(), StoreError> {
    hold_all(tx, &[started_by, acting_as], now).await?;
    end_impersonations(tx, started_by, now).await?;
    end(tx, acting_as, now, Cause::Target, reason).await?;
    Ok(())
}

/// Ends the impersonation sessions a user started or is the target of, before the user's row is removed.
pub async fn end_impersonations_of_destroyed(
    tx: &mut Tx,
    now: Ts,
    whose: Destroyed,
) -> Result<(), StoreError> {
    let (started_by, acting_as) = match whose {
        Destroyed::User(user) => (Which::By(user, None), Which::As(user)),
        Destroyed::Below(id, org_type) => (Which::ByBelow(id, org_type), Which::AsBelow(id, org_type)),
    };
    end_both(tx, now, started_by, acting_as, Reason::Deleted.for_impersonator(false)).await
}

/// The user or organization whose rows are removed.
#[derive(Clone, Copy, Debug)]
pub enum Destroyed {
    /// This user's.
    User(UserId),
    /// Those of an organization and of everything below it.
    Below(OrgId, OrgType),
}

/// Ends the sessions of all users of an organization and of everything below it: to be called when it is suspended or
/// deleted, after its rows were written.
pub async fn revoke_organization(
    tx: &mut Tx,
    now: Ts,
    organization: (OrgId, OrgType),
    reason: Reason,
) -> Result<()> {
    logins::end_below(tx, organization, now).await?;
    sessions::revoke_below(tx, organization, now, reason.as_str()).await?;
    let (id, org_type) = organization;
    let (started_by, acting_as) = (Which::ByBelow(id, org_type), Which::AsBelow(id, org_type));
    match reason.for_impersonator(true) {
        Some(reason) => end_both(tx, now, started_by, acting_as, Some(reason)).await?,
        None => end_impersonations(tx, started_by, now).await?,
    }
    Ok(())
}

/// Ends all sessions, and all provider logins with everything issued through them. No process may serve meanwhile.
pub async fn revoke_all(tx: &mut Tx, now: Ts) -> Result<()> {
    interactions::forget_all(tx).await?;
    logins::end_all(tx, now).await?;
    sessions::revoke_all(tx, now, Reason::Logout.as_str()).await?;
    Ok(end_impersonations(tx, Which::All, now).await?)
}

/// Ends one chain, which is locked, and the impersonation session bound to it.
pub(crate) async fn revoke_chain(
    tx: &mut Tx,
    now: Ts,
    chain: ChainId,
    reason: Reason,
) -> Result<(), StoreError> {
    sessions::revoke(tx, chain, now, reason.as_str()).await?;
    end_impersonations(tx, Which::BoundTo(chain), now).await
}

/// Ends the chains exchanged from a provider login (sign-out at the provider).
pub async fn revoke_login_chains(tx: &mut Tx, now: Ts, login: LoginId) -> Result<()> {
    sessions::revoke_of_login(tx, login, now, Reason::Logout.as_str()).await?;
    end_impersonations(tx, Which::From(login), now).await?;
    Ok(())
}

/// Ends the impersonation sessions bound to chains of a provider login that were revoked just now.
pub async fn end_impersonations_of_revoked(tx: &mut Tx, now: Ts, login: LoginId) -> Result<()> {
    Ok(end_impersonations(tx, Which::FromRevoked(login), now).await?)
}
