//! Suspension and deletion. One own mark changes; the effective marks of the subtree follow in the same transaction
//! (contract 02 §2, §6.1), and what followed is counted.

use super::{Held, hold, parse_type, subtree_column};
use crate::{StoreError, Tx, sql::Q};
use bailiwick_domain::{OrgId, OrgType, Ts};
use bailiwick_policy::{Granted, Path};

/// The ancestors, top-down: nobody marks or moves them until the transaction ends.
pub(crate) const LOCK_ABOVE: &str = "SELECT id FROM organizations WHERE id IN (?, ?) AND id <> ? \
    ORDER BY CASE type WHEN 'owner' THEN 1 WHEN 'distributor' THEN 2 ELSE 3 END [[FOR SHARE||]]";

macro_rules! own {
    ($mark:literal) => {
        concat!("UPDATE organizations SET ", $mark, "_at = ? WHERE id = ?")
    };
}

/// Own mark first, else what the parent hands down: its own id, or that of whoever it has it from.
macro_rules! effective {
    ($mark:literal, $which:literal) => {
        concat!(
            "UPDATE organizations AS o SET eff_",
            $mark,
            "_at = COALESCE(o.",
            $mark,
            "_at, p.eff_",
            $mark,
            "_at), ",
            "eff_",
            $mark,
            "_by = CASE WHEN o.",
            $mark,
            "_at IS NULL AND p.eff_",
            $mark,
            "_at IS NOT NULL \
             THEN COALESCE(p.eff_",
            $mark,
            "_by, p.id) END \
             FROM organizations p WHERE p.id = o.parent_id AND ",
            $which,
            " = ?",
            // Rows that stay as they are are not written again.
            " AND (o.eff_",
            $mark,
            "_at IS DISTINCT FROM COALESCE(o.",
            $mark,
            "_at, p.eff_",
            $mark,
            "_at) \
             OR o.eff_",
            $mark,
            "_by IS DISTINCT FROM CASE WHEN o.",
            $mark,
            "_at IS NULL \
             AND p.eff_",
            $mark,
            "_at IS NOT NULL THEN COALESCE(p.eff_",
            $mark,
            "_by, p.id) END)"
        )
    };
}

pub(crate) const OWN_SUSPENDED: &str = own!("suspended");
pub(crate) const OWN_DELETED: &str = own!("deleted");
/// The organization, its children, their children: there is no deeper level.
pub(crate) const SUSPENDED: [&str; 3] = [
    effective!("suspended", "o.id"),
    effective!("suspended", "o.parent_id"),
    effective!("suspended", "p.parent_id"),
];
pub(crate) const DELETED: [&str; 3] = [
    effective!("deleted", "o.id"),
    effective!("deleted", "o.parent_id"),
    effective!("deleted", "p.parent_id"),
];

/// Which of the two marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `suspended_at`.
    Suspended,
    /// `deleted_at`.
    Deleted,
}

/// Rows below an organization whose effective state changes with its mark (contract 02 §6.2 to §6.4); users and
/// systems of the organization itself are below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Affected {
    /// Resellers.
    pub resellers: u64,
    /// Customers.
    pub customers: u64,
    /// Users.
    pub users: u64,
    /// Systems.
    pub systems: u64,
}

/// Holds an organization with all below it for a change of its marks, and all above it against change. Whoever
/// creates below waits at one of these rows, or is waited for here. None when it is gone.
pub async fn hold_subtree(tx: &mut Tx, id: OrgId) -> Result<Option<Held>, StoreError> {
    for _ in 0..3 {
        let Some(place) = super::place(&mut *tx, id).await? else { return Ok(None) };
        let Path { p2, p3, .. } = place.path;
        let _: Vec<(uuid::Uuid,)> = Q::new(LOCK_ABOVE).bind(p2).bind(p3).bind(id).all(&mut *tx).await?;
        // Top-down as everywhere, so that two that meet wait instead of blocking each other.
        let below = format!(
            "SELECT id FROM organizations WHERE {} = ? ORDER BY CASE type WHEN 'owner' THEN 1 \
             WHEN 'distributor' THEN 2 WHEN 'reseller' THEN 3 ELSE 4 END, id [[FOR NO KEY UPDATE||]]",
            subtree_column(place.org_type, "id")
        );
        let _: Vec<(uuid::Uuid,)> = Q::new(&below).bind(id).all(&mut *tx).await?;
        let Some(held) = hold(&mut *tx, id).await? else { return Ok(None) };
        if held.path == place.path && held.org_type == place.org_type {
            return Ok(Some(held));
        }
    }
    Err(StoreError::Misuse("an organization moves faster than it can be held"))
}

/// Sets the own mark, or clears it (none), and rewrites what follows from it. The subtree is held
/// ([`hold_subtree`]). The counts are of the rows whose effective state changed.
pub async fn set(
    tx: &mut Tx,
    target: &Granted<OrgId>,
    org_type: OrgType,
    kind: Kind,
    at: Option<Ts>,
) -> Result<Affected, StoreError> {
    let (own, effective) = match kind {
        Kind::Suspended => (OWN_SUSPENDED, SUSPENDED),
        Kind::Deleted => (OWN_DELETED, DELETED),
    };
    let id = target.id();
    tx.people_changed();
    // What depends on this mark is known while it is there: after setting it, before clearing it.
    let before = affected(tx, id, org_type, kind).await?;
    Q::new(own).bind(at).bind(id).run(tx).await?;
    for level in effective {
        Q::new(level).bind(id).run(tx).await?;
    }
    if at.is_none() { Ok(before) } else { affected(tx, id, org_type, kind).await }
}

/// What is below the organization and marked because of it alone.
async fn affected(tx: &mut Tx, id: OrgId, org_type: OrgType, kind: Kind) -> Result<Affected, StoreError> {
    let (by, live_organization, live_row) = match kind {
        Kind::Suspended => (
            "eff_suspended_by",
            " AND o.eff_deleted_at IS NULL",
            " AND r.deleted_at IS NULL AND r.suspended_at IS NULL",
        ),
        Kind::Deleted => ("eff_deleted_by", "", " AND r.deleted_at IS NULL"),
    };
    let mut found = Affected::default();
    let column = subtree_column(org_type, "id");
    let organizations = format!(
        "SELECT o.type, CAST(COUNT(*) AS BIGINT) FROM organizations o \
         WHERE o.{column} = ? AND o.{by} = ?{live_organization} GROUP BY o.type"
    );
    let rows: Vec<(String, i64)> = Q::new(&organizations).bind(id).bind(id).all(&mut *tx).await?;
    for (found_type, n) in rows {
        match parse_type(&found_type)? {
            OrgType::Reseller => found.resellers = u64::try_from(n).unwrap_or(0),
            OrgType::Customer => found.customers = u64::try_from(n).unwrap_or(0),
            OrgType::Owner | OrgType::Distributor => {}
        }
    }
    let column = subtree_column(org_type, "organization_id");
    for (table, n) in [("users", &mut found.users), ("systems", &mut found.systems)] {
        let rows = format!(
            "SELECT CAST(COUNT(*) AS BIGINT) FROM {table} r JOIN organizations o ON o.id = r.organization_id \
             WHERE r.{column} = ?{live_row} AND (o.id = ? OR o.{by} = ?){live_organization}"
        );
        *n = Q::new(&rows).bind(id).bind(id).bind(id).count(&mut *tx).await?;
    }
    Ok(found)
}
