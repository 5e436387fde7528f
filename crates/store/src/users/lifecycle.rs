//! The marks of a user, their removal, and changes users may make to themselves. `organization_counts.users` follows.

use super::kept_contact;
use crate::{
    StoreError, Tx,
    organizations::add_users,
    sql::{Q, assignments, values},
};
use bailiwick_domain::{OrgId, Ts, UserId, fold::fold, validate::Email};
use bailiwick_policy::Granted;

const SET_SUSPENDED: &str = "UPDATE users SET suspended_at = ?, updated_at = ? WHERE id = ?";
const SET_DELETED: &str = "UPDATE users SET deleted_at = ?, updated_at = ? WHERE id = ?";
/// Chains, provider logins, grants and tokens are removed with the row.
const DESTROY: &str = "DELETE FROM users WHERE id = ?";
const UPDATE_OWN: &str =
    concat!("UPDATE users SET ", kept_contact!(assignments), "updated_at = ? WHERE id = ?");

pub(crate) const STATEMENTS: &[(&str, &str)] =
    crate::sql::statements![SET_SUSPENDED, SET_DELETED, DESTROY, UPDATE_OWN];

/// Sets (`at`) or clears (none) the own suspension mark.
pub async fn set_suspended(
    tx: &mut Tx,
    target: &Granted<UserId>,
    at: Option<Ts>,
    now: Ts,
) -> Result<(), StoreError> {
    tx.people_changed();
    Q::new(SET_SUSPENDED).bind(at).bind(now).bind(target.id()).run(tx).await?;
    Ok(())
}

/// Sets (`at`) or clears (none) the own deletion mark of a user of `organization` that had the other state, and counts the user
/// out or in.
pub async fn set_deleted(
    tx: &mut Tx,
    target: &Granted<UserId>,
    organization: OrgId,
    at: Option<Ts>,
    now: Ts,
) -> Result<(), StoreError> {
    tx.people_changed();
    Q::new(SET_DELETED).bind(at).bind(now).bind(target.id()).run(tx).await?;
    add_users(tx, organization, if at.is_some() { -1 } else { 1 }).await
}

/// Removes the row with everything that is only about the user. `is_counted`: the user was not individually deleted.
pub async fn destroy(
    tx: &mut Tx,
    target: &Granted<UserId>,
    organization: OrgId,
    is_counted: bool,
) -> Result<(), StoreError> {
    tx.people_changed();
    Q::new(DESTROY).bind(target.id()).run(tx).await?;
    if is_counted {
        add_users(tx, organization, -1).await?;
    }
    Ok(())
}

/// The fields users may change themselves.
#[derive(Clone, Debug)]
pub struct OwnChange {
    /// Display name.
    pub name: String,
    pub email: Email,
    /// False once the address has changed.
    pub email_verified: bool,
    /// Digits only.
    pub phone: Option<String>,
    /// Now.
    pub at: Ts,
}

/// Writes changes users make to themselves; the caller must pass their own id only.
pub async fn update_own(tx: &mut Tx, own: UserId, change: &OwnChange) -> Result<(), StoreError> {
    tx.people_changed();
    let contact: fn(&OwnChange) -> _ = kept_contact!(values);
    Q::new(UPDATE_OWN).bind_all(contact(change)).bind(change.at).bind(own).run(tx).await?;
    Ok(())
}
