//! Inventory alerts: one for each record with a critical change (spec: inventory#inventory-alerts).

use crate::{Db, StoreError, Tx, scope::push_scope, sql::Q, time::TsCodec};
use bailiwick_domain::{SystemId, Ts};
use bailiwick_policy::Scope;
use sqlx_macros::FromRow;
use uuid::Uuid;

const ADD: &str = "INSERT INTO inventory_alerts (system_id, diff_id, record_id, alert_type, message, severity, \
     structural_path, field_path, created_at, updated_at) \
     VALUES (?, ?, ?, 'inventory_change', ?, 'critical', ?, ?, ?, ?)";
const OPEN: &str = "SELECT id, structural_path, field_path FROM inventory_alerts \
     WHERE system_id = ? AND resolved_at IS NULL ORDER BY id LIMIT 1000";
const RESOLVE: &str = "UPDATE inventory_alerts SET resolved_at = ?, updated_at = ? WHERE id = ?";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![ADD, OPEN, RESOLVE];

/// An alert to be raised.
#[derive(Clone, Debug)]
pub struct NewAlert<'a> {
    pub system_id: SystemId,
    /// The record's first critical change.
    pub diff_id: i64,
    pub record_id: i64,
    /// For people.
    pub message: String,
    /// Structural path of the change.
    pub structural_path: &'a str,
    /// Shown path of the change.
    pub field_path: &'a str,
    pub now: Ts,
}

/// Raises an alert.
pub async fn add(tx: &mut Tx, alert: NewAlert<'_>) -> Result<(), StoreError> {
    let q = Q::new(ADD).bind(alert.system_id).bind(alert.diff_id).bind(alert.record_id).bind(alert.message);
    let q = q.bind(alert.structural_path).bind(alert.field_path).bind(alert.now).bind(alert.now);
    q.run(tx).await?;
    Ok(())
}

/// The system's alerts that have not ended: id, structural and shown path of the element.
pub async fn open(tx: &mut Tx, system: SystemId) -> Result<Vec<(i64, String, String)>, StoreError> {
    Q::new(OPEN).bind(system).all(tx).await
}

/// Ends an alert.
pub async fn resolve(tx: &mut Tx, id: i64, now: Ts) -> Result<(), StoreError> {
    Q::new(RESOLVE).bind(now).bind(now).bind(id).run(tx).await?;
    Ok(())
}

/// An alert with its system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CriticalChange {
    /// Whose.
    pub system_id: SystemId,
    pub system_name: String,
    /// Name of its organization.
    pub organization_name: String,
    /// The record with the change.
    pub record_id: i64,
    /// Shown path.
    pub field_path: String,
    /// When it was found.
    pub created_at: Ts,
}

#[derive(FromRow)]
struct ChangeRow {
    system_id: Uuid,
    system_name: String,
    organization_name: String,
    record_id: i64,
    field_path: String,
    created_at: TsCodec,
}

/// The newest critical changes of the systems in a scope that are not deleted.
pub async fn newest(db: &Db, scope: &Scope, most: u64) -> Result<Vec<CriticalChange>, StoreError> {
    let mut q = Q::new(
        "SELECT i.system_id, s.name AS system_name, o.name AS organization_name, i.record_id, i.field_path, \
         i.created_at FROM inventory_alerts i JOIN systems s ON s.id = i.system_id \
         JOIN organizations o ON o.id = s.organization_id WHERE s.deleted_at IS NULL AND o.eff_deleted_at IS NULL",
    );
    if *scope != Scope::Everything {
        // From the few systems of a branch, not through the alerts of all others.
        q.push(" AND i.system_id IN (SELECT b.id FROM systems b WHERE 1 = 1");
        push_scope(&mut q, "b", "organization_id", scope);
        q.push(")");
    }
    q.push(" ORDER BY i.id DESC LIMIT ?").arg(most);
    let rows: Vec<ChangeRow> = q.all(db).await?;
    let change = |row: ChangeRow| CriticalChange {
        system_id: SystemId(row.system_id),
        system_name: row.system_name,
        organization_name: row.organization_name,
        record_id: row.record_id,
        field_path: row.field_path,
        created_at: row.created_at.0,
    };
    Ok(rows.into_iter().map(change).collect())
}
