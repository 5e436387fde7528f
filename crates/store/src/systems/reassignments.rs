//! Moves a system to another organization (spec: systems#reassignment): its row, all rows that repeat its place, and
//! the record of the move itself.

use super::status;
use crate::{
    StoreError, Tx,
    applications::counts::{settle, tally},
    sql::{On, Q},
};
use bailiwick_domain::{OrgId, ReassignmentId, SystemId, Ts, UserId};
use bailiwick_policy::{Granted, Path};
use uuid::Uuid;

/// Applications and activity follow by their foreign keys.
const PLACE: &str = "UPDATE systems SET organization_id = ?, p2 = ?, p3 = ?, updated_at = ? WHERE id = ?";
/// Includes applications that have disappeared: they would come back with the assignment.
const UNASSIGN: &str = "UPDATE applications SET organization_id = NULL, status = 'unassigned', \
     updated_at = ? WHERE system_id = ? AND organization_id IS NOT NULL";
/// The actor's present data; of a destroyed actor only the id is left.
const RECORD: &str = "INSERT INTO system_reassignments (id, system_id, system_key, from_org_id, to_org_id, \
     actor_user_id, actor_user_email, actor_organization_id, actor_ip, user_agent, backups_copied, \
     history_rows_reassigned, apps_unassigned, occurred_at) VALUES (?, ?, ?, ?, ?, ?, (SELECT u.email FROM users u WHERE u.id = ?), \
     (SELECT u.organization_id FROM users u WHERE u.id = ?), ?, ?, ?, ?, ?, ?)";
const EXISTS: &str = "SELECT id FROM system_reassignments WHERE id = ?";
const NOTE_CLEARED: &str = "UPDATE system_reassignments SET \
     backups_deleted = [[GREATEST||MAX]](backups_deleted, ?), silences_cleared = silences_cleared + ? WHERE id = ?";

pub(crate) const STATEMENTS: &[(&str, &str)] =
    crate::sql::statements![PLACE, UNASSIGN, RECORD, EXISTS, NOTE_CLEARED];

/// Moves a locked system, not individually deleted, to the granted organization; `path` is that organization's. Its
/// applications become unassigned; returns how many of them were assigned.
///
/// The caller raises the auth epoch in the same transaction.
pub async fn move_to(
    tx: &mut Tx,
    target: &Granted<SystemId>,
    to: &Granted<OrgId>,
    path: &Path,
    now: Ts,
) -> Result<u64, StoreError> {
    if to.id() != path.id {
        return Err(StoreError::Misuse("a grant for another organization"));
    }
    let id = target.id();
    tx.systems_changed();
    let (before, applications) = (status::tally(tx, id).await?, tally(tx, id).await?);
    let unassigned = Q::new(UNASSIGN).bind(now).bind(id).run(&mut *tx).await?;
    let q = Q::new(PLACE).bind(path.id).bind(path.p2).bind(path.p3).bind(now).bind(id);
    q.run(&mut *tx).await?;
    status::settle(tx, id, before).await?;
    settle(tx, id, applications).await?;
    Ok(unassigned)
}

/// The record of a move.
#[derive(Clone, Debug)]
pub struct Reassignment<'a> {
    /// Fresh id.
    pub id: ReassignmentId,
    /// Which system.
    pub system_id: SystemId,
    /// Its key, which stays readable when it is destroyed.
    pub system_key: &'a str,
    /// The former organization.
    pub from: OrgId,
    /// Where it is.
    pub to: OrgId,
    /// The user who moved it; their e-mail address and organization are stored with it.
    pub actor: Option<UserId>,
    /// Where the request came from.
    pub actor_ip: String,
    /// The client's name for itself.
    pub user_agent: Option<&'a str>,
    /// Backups that went along.
    pub backups_copied: u64,
    /// Rows of its alert history that moved with it.
    pub history_rows: u64,
    /// Applications that lost their assignment.
    pub apps_unassigned: u64,
    /// When.
    pub occurred_at: Ts,
}

/// Stores a move in its own transaction.
pub async fn record(tx: &mut Tx, moved: &Reassignment<'_>) -> Result<(), StoreError> {
    Q::new(RECORD)
        .bind(moved.id)
        .bind(moved.system_id)
        .bind(moved.system_key)
        .bind(moved.from)
        .bind(moved.to)
        .bind(moved.actor)
        .bind(moved.actor)
        .bind(moved.actor)
        .bind(&moved.actor_ip)
        .bind(moved.user_agent)
        .bind(moved.backups_copied)
        .bind(moved.history_rows)
        .bind(moved.apps_unassigned)
        .bind(moved.occurred_at)
        .run(tx)
        .await?;
    Ok(())
}

/// Whether the move has come about.
pub async fn has_happened(on: impl Into<On<'_>>, id: ReassignmentId) -> Result<bool, StoreError> {
    let row: Option<(Uuid,)> = Q::new(EXISTS).bind(id).optional(on).await?;
    Ok(row.is_some())
}

/// Notes the cleanup after a move: how many objects of backups were deleted at least, and how many more silences were
/// ended.
pub async fn note_cleared(
    tx: &mut Tx,
    id: ReassignmentId,
    backups_deleted: u64,
    silences_more: u64,
) -> Result<(), StoreError> {
    Q::new(NOTE_CLEARED).bind(backups_deleted).bind(silences_more).bind(id).run(tx).await?;
    Ok(())
}
