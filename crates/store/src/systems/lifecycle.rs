//! The marks of a system, its removal, a new secret. The counters of systems and of the system's applications are
//! updated as well. The caller holds the row, and raises the auth epoch in the same transaction.

use super::status;
use crate::{
    StoreError, Tx, alert_queue,
    applications::counts::{settle, tally},
    history::{expiry::close_system, lock_for_writing},
    sql::Q,
};
use bailiwick_domain::{System, SystemId, Ts};
use bailiwick_policy::Granted;

const SET_SUSPENDED: &str = "UPDATE systems SET suspended_at = ?, updated_at = ? WHERE id = ?";
const SET_DELETED: &str = "UPDATE systems SET deleted_at = ?, updated_at = ? WHERE id = ?";
const SET_SECRET: &str = "UPDATE systems SET secret_public = ?, secret_hash = ?, registered_at = NULL, \
     registered_from = NULL, authenticated_at = NULL, updated_at = ? WHERE id = ?";
/// Heartbeat, inventory with its waiting documents, and applications are removed with the row.
const DESTROY: &str = "DELETE FROM systems WHERE id = ?";
const DESTROY_ALERTS: &str = "DELETE FROM router_alerts WHERE organization_id = ? AND system_key = ?";
const DESTROY_SILENCES: &str = "DELETE FROM router_silences WHERE organization_id = ? AND system_key = ?";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![
    SET_SUSPENDED,
    SET_DELETED,
    SET_SECRET,
    DESTROY,
    DESTROY_ALERTS,
    DESTROY_SILENCES
];

/// Sets (`at`) or clears (none) the own suspension mark.
pub async fn set_suspended(
    tx: &mut Tx,
    target: &Granted<SystemId>,
    at: Option<Ts>,
    now: Ts,
) -> Result<(), StoreError> {
    let before = status::tally(tx, target.id()).await?;
    Q::new(SET_SUSPENDED).bind(at).bind(now).bind(target.id()).run(tx).await?;
    status::settle(tx, target.id(), before).await
}

/// Sets (`at`) or clears (none) the own deletion mark.
pub async fn set_deleted(
    tx: &mut Tx,
    target: &Granted<SystemId>,
    at: Option<Ts>,
    now: Ts,
) -> Result<(), StoreError> {
    tx.systems_changed();
    let (before, applications) = (status::tally(tx, target.id()).await?, tally(tx, target.id()).await?);
    Q::new(SET_DELETED).bind(at).bind(now).bind(target.id()).run(tx).await?;
    status::settle(tx, target.id(), before).await?;
    settle(tx, target.id(), applications).await
}

/// Removes the system and everything that is only about it. Its alert history stays; firing alerts in it end. Alerts
/// and silences at a remote router are left to the caller.
pub async fn destroy(
    tx: &mut Tx,
    target: &Granted<SystemId>,
    system: &System,
    now: Ts,
) -> Result<(), StoreError> {
    tx.systems_changed();
    // A deleted system is counted no more, but trends still have it.
    tx.figures_changed();
    let organization = system.organization.id;
    lock_for_writing(tx, [organization]).await?;
    close_system(tx, organization, &system.system_key, now).await?;
    let (before, applications) = (status::tally(tx, target.id()).await?, tally(tx, target.id()).await?);
    for statement in [DESTROY_ALERTS, DESTROY_SILENCES] {
        Q::new(statement).bind(organization).bind(&system.system_key).run(tx).await?;
    }
    alert_queue::remove_of_system(tx, organization, &system.system_key).await?;
    Q::new(DESTROY).bind(target.id()).run(tx).await?;
    status::settle(tx, target.id(), before).await?;
    settle(tx, target.id(), applications).await
}

/// Replaces the secret; this also ends the registration, so the new secret must be registered.
pub async fn set_secret(
    tx: &mut Tx,
    target: &Granted<SystemId>,
    public: &str,
    hash: &str,
    now: Ts,
) -> Result<(), StoreError> {
    tx.systems_changed();
    Q::new(SET_SECRET).bind(public).bind(hash).bind(now).bind(target.id()).run(tx).await?;
    Ok(())
}
