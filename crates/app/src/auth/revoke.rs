//! What ends sessions (contract 01 §2.4). Always inside the transaction of the event, so that it holds for the next
//! request on every replica.

use bailiwick_domain::{ChainId, LoginId, OrgId, OrgType, Result, Ts, UserId};
use bailiwick_store::{
    Tx,
    oidc::{interactions, logins},
    sessions,
};

/// Why a chain ended; what `{reason}` of `token has been revoked` says (contract 01 §1.11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Signed out, here or at the provider.
    Logout,
    /// Password changed or reset.
    PasswordChanged,
    /// A refresh token came again after its grace.
    RefreshReuse,
    /// The user or an organization above him was deleted.
    Deleted,
    /// The same with suspended: says why an earlier token stays dead when the suspension is over.
    Suspended,
}

impl Reason {
    /// The text of the wire, also what is stored.
    pub const fn as_str(self) -> &'static str {
        match self {
            Reason::Logout => "user logout",
            Reason::PasswordChanged => "password changed",
            Reason::RefreshReuse => "refresh token reuse detected",
            Reason::Deleted => super::bearer::DELETED,
            Reason::Suspended => "user suspended",
        }
    }
}

/// Ends all chains of the user that exist now, and his provider logins with everything issued through them. `keep`
/// spares the calling chain and the login it came from (own password change).
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
    Ok(())
}

/// The same for all users of an organization and of everything below it: to be called when it is suspended or
/// deleted, after its rows were written.
pub async fn revoke_organization(
    tx: &mut Tx,
    now: Ts,
    organization: (OrgId, OrgType),
    reason: Reason,
) -> Result<()> {
    logins::end_below(tx, organization, now).await?;
    sessions::revoke_below(tx, organization, now, reason.as_str()).await?;
    Ok(())
}

/// Ends the chains exchanged from a provider login (sign-out at the provider).
pub async fn revoke_login_chains(tx: &mut Tx, now: Ts, login: LoginId) -> Result<()> {
    sessions::revoke_of_login(tx, login, now, Reason::Logout.as_str()).await?;
    Ok(())
}
