//! Suspension and deletion. One own mark changes; the effective marks of the subtree follow in the same transaction
//! (spec: organizations#hierarchy, organizations#life-cycle), and the changed rows are counted.

use super::{Held, hold};
use crate::{
    StoreError, Tx,
    sql::Q,
    tree::{parse_type, subtree_column},
};
use bailiwick_domain::{OrgId, OrgType, Ts};
use bailiwick_policy::{Granted, Path};

/// The ancestors, top-down, locked against marks and moves until the transaction ends.
const LOCK_ABOVE: &str = "SELECT id FROM organizations WHERE id IN (?, ?) AND id <> ? \
    ORDER BY CASE type WHEN 'owner' THEN 1 WHEN 'distributor' THEN 2 ELSE 3 END [[FOR SHARE||]]";
const LOCK_OWN: &str = "SELECT id FROM organizations WHERE id = ? [[FOR NO KEY UPDATE||]]";

macro_rules! own {
    ($mark:literal) => {
        concat!(
            "UPDATE organizations SET ",
            $mark,
            "_at = ?, eff_",
            $mark,
            "_at = ?, eff_",
            $mark,
            "_by = NULL WHERE id = ?"
        )
    };
}

const OWN_SUSPENDED: &str = own!("suspended");
const OWN_DELETED: &str = own!("deleted");

pub(crate) const STATEMENTS: &[(&str, &str)] =
    crate::sql::statements![LOCK_ABOVE, LOCK_OWN, OWN_SUSPENDED, OWN_DELETED];

/// Which of the two marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LifecycleMark {
    /// `suspended_at`.
    Suspended,
    /// `deleted_at`.
    Deleted,
}

impl LifecycleMark {
    /// The word in the names of the columns.
    const fn word(self) -> &'static str {
        match self {
            LifecycleMark::Suspended => "suspended",
            LifecycleMark::Deleted => "deleted",
        }
    }
}

/// Rows below an organization that change their effective state with its mark (spec: organizations#suspension,
/// organizations#restoration); users and systems of the organization itself are below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Affected {
    pub resellers: u64,
    pub customers: u64,
    pub users: u64,
    pub systems: u64,
}

/// Locks an organization for a change of its marks, and all above it against change. A transaction that creates, marks
/// or moves something below locks the organization's row, so one of the two waits for the other. A sign-in or a new
/// system locks the row it reads, which [`set`] writes. None when the organization no longer exists.
pub async fn hold_marks(tx: &mut Tx, id: OrgId) -> Result<Option<Held>, StoreError> {
    for _ in 0..3 {
        let Some(node) = super::node(&mut *tx, id).await? else { return Ok(None) };
        let Path { p2, p3, .. } = node.path;
        let _: Vec<(uuid::Uuid,)> = Q::new(LOCK_ABOVE).bind(p2).bind(p3).bind(id).all(&mut *tx).await?;
        let _: Option<(uuid::Uuid,)> = Q::new(LOCK_OWN).bind(id).optional(&mut *tx).await?;
        let Some(held) = hold(&mut *tx, id).await? else { return Ok(None) };
        if held.path == node.path && held.org_type == node.org_type {
            return Ok(Some(held));
        }
    }
    Err(StoreError::Misuse("an organization moves faster than it can be held"))
}

/// Locks an organization as [`hold_marks`] does, and everything below it.
pub async fn hold_subtree(tx: &mut Tx, id: OrgId) -> Result<Option<Held>, StoreError> {
    let Some(held) = hold_marks(tx, id).await? else { return Ok(None) };
    // Top-down as everywhere, so that two transactions wait for each other instead of deadlocking.
    let below = format!(
        "SELECT id FROM organizations WHERE {} = ? ORDER BY CASE type WHEN 'owner' THEN 1 \
         WHEN 'distributor' THEN 2 WHEN 'reseller' THEN 3 ELSE 4 END, id [[FOR NO KEY UPDATE||]]",
        subtree_column(held.org_type, "id")
    );
    let _: Vec<(uuid::Uuid,)> = Q::new(&below).bind(id).all(&mut *tx).await?;
    Ok(Some(held))
}

/// Sets the own mark, or clears it (none), and rewrites the effective marks. The organization is locked
/// ([`hold_marks`]), without the mark (to set it) or with its own and none above it (to clear it). The counts are of
/// the rows that changed their effective state.
pub async fn set(
    tx: &mut Tx,
    target: &Granted<OrgId>,
    org_type: OrgType,
    kind: LifecycleMark,
    at: Option<Ts>,
) -> Result<Affected, StoreError> {
    let (id, word, column) = (target.id(), kind.word(), subtree_column(org_type, "id"));
    let own = match kind {
        LifecycleMark::Suspended => OWN_SUSPENDED,
        LifecycleMark::Deleted => OWN_DELETED,
    };
    tx.people_changed();
    tx.alert_config_changed();
    Q::new(own).bind(at).bind(at).bind(id).run(tx).await?;
    let below = match at {
        // An organization that already has a mark has it from a nearer one.
        Some(at) => Q::new(&format!(
            "UPDATE organizations SET eff_{word}_at = ?, eff_{word}_by = ? WHERE {column} = ? AND eff_{word}_at IS NULL"
        ))
        .bind(at)
        .bind(id),
        None => Q::new(&format!(
            "UPDATE organizations SET eff_{word}_at = NULL, eff_{word}_by = NULL WHERE eff_{word}_by = ? AND {column} = ?"
        ))
        .bind(id),
    };
    below.bind(id).run(tx).await?;
    affected(tx, id, org_type, kind, at.is_some()).await
}

/// Counts the rows that a mark just set or cleared has changed. Set: the rows below the organization that now have
/// their mark from there. Cleared: the rows below it that are now without a mark, as all of them had one before.
async fn affected(
    tx: &mut Tx,
    id: OrgId,
    org_type: OrgType,
    kind: LifecycleMark,
    is_set: bool,
) -> Result<Affected, StoreError> {
    let word = kind.word();
    let has_changed = match is_set {
        true => format!("COALESCE(o.eff_{word}_by, o.id) = ?"),
        false => format!("o.eff_{word}_at IS NULL"),
    };
    let push_changed = |q: &mut Q| {
        q.push(" AND ").push(&has_changed);
        if is_set {
            q.arg(id);
        }
        if kind == LifecycleMark::Suspended {
            q.push(" AND o.eff_deleted_at IS NULL");
        }
    };
    let mut q = Q::new(&format!(
        "SELECT o.type, CAST(COUNT(*) AS BIGINT), CAST(SUM(n.users) AS BIGINT), CAST(SUM(n.systems) AS BIGINT) \
         FROM organizations o JOIN organization_counts n ON n.organization_id = o.id WHERE o.{} = ?",
        subtree_column(org_type, "id")
    ))
    .bind(id);
    push_changed(&mut q);
    q.push(" GROUP BY o.type");
    let rows: Vec<(String, i64, i64, i64)> = q.all(&mut *tx).await?;
    let unsigned = |n: i64| u64::try_from(n).unwrap_or(0);
    let mut affected = Affected::default();
    for (row_type, organizations, users, systems) in rows {
        affected.users += unsigned(users);
        affected.systems += unsigned(systems);
        match parse_type(&row_type)? {
            // The topmost organization of the subtree is the only one of its family.
            own if own == org_type => {}
            OrgType::Reseller => affected.resellers = unsigned(organizations),
            OrgType::Customer => affected.customers = unsigned(organizations),
            OrgType::Owner | OrgType::Distributor => {}
        }
    }
    if kind == LifecycleMark::Deleted {
        return Ok(affected);
    }
    // The few that are individually suspended stay unchanged.
    for (table, n) in [("users", &mut affected.users), ("systems", &mut affected.systems)] {
        let mut q = Q::new(&format!(
            "SELECT CAST(COUNT(*) AS BIGINT) FROM {table} r JOIN organizations o ON o.id = r.organization_id \
             WHERE r.deleted_at IS NULL AND r.suspended_at IS NOT NULL AND r.{} = ?",
            subtree_column(org_type, "organization_id")
        ))
        .bind(id);
        push_changed(&mut q);
        *n = n.saturating_sub(q.count(&mut *tx).await?);
    }
    Ok(affected)
}
