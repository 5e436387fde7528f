//! Inventory alerts: one for each record with a critical change (spec: inventory#inventory-alerts).

use crate::{StoreError, Tx, sql::Q};
use bailiwick_domain::{SystemId, Ts};

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
    /// The system.
    pub system_id: SystemId,
    /// The record's first critical change.
    pub diff_id: i64,
    /// The record.
    pub record_id: i64,
    /// For people.
    pub message: String,
    /// Structural path of the change.
    pub structural_path: &'a str,
    /// Shown path of the change.
    pub field_path: &'a str,
    /// Now.
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
