//! What people do about alerts (contract 04 §2.8): who takes care of one, and the record of it all.

use crate::{
    Db, StoreError, Tx,
    history::{AlertKey, key_columns},
    sql::{Column, Q, ROWS, push_rows},
};
use bailiwick_domain::{OrgId, Ts};
use serde_json::json;
use sqlx::FromRow;
use uuid::Uuid;

pub(crate) const REMOVE_OF_SYSTEM: &str =
    "DELETE FROM alert_assignments WHERE organization_id = ? AND system_key = ?";
pub(crate) const PURGE: &str = "DELETE FROM alert_activity WHERE id IN (SELECT a.id FROM alert_activity a \
     WHERE a.created_at < ? ORDER BY a.created_at LIMIT ?)";
pub(crate) const COUNT_OLD: &str = "SELECT CAST(COUNT(*) AS BIGINT) FROM alert_activity WHERE created_at < ?";

#[derive(FromRow)]
struct Ended {
    organization_id: Uuid,
    fingerprint: String,
    assigned_user_id: Uuid,
    assigned_user_name: String,
    assigned_user_org_id: Uuid,
    assigned_user_org_name: String,
}

/// Ends the assignments of alerts that are over, and records it.
pub async fn end(tx: &mut Tx, alerts: &[AlertKey], now: Ts) -> Result<(), StoreError> {
    for chunk in alerts.chunks(ROWS) {
        let mut q = Q::new(
            "DELETE FROM alert_assignments WHERE (organization_id, fingerprint) IN (SELECT v.o, v.f FROM ",
        );
        push_rows(&mut q, tx.is_postgres(), key_columns(chunk.iter()));
        q.push(
            ") RETURNING organization_id, fingerprint, assigned_user_id, assigned_user_name, assigned_user_org_id, \
             assigned_user_org_name",
        );
        let ended: Vec<Ended> = q.all(&mut *tx).await?;
        if ended.is_empty() {
            continue;
        }
        let details = |e: &Ended| {
            json!({
                "reason": "resolved",
                "assigned_user_id": e.assigned_user_id, "assigned_user_name": e.assigned_user_name,
                "assigned_user_org_id": e.assigned_user_org_id,
                "assigned_user_org_name": e.assigned_user_org_name,
            })
        };
        let columns = vec![
            ("o", Column::Ids(ended.iter().map(|e| e.organization_id).collect())),
            ("f", Column::texts(ended.iter().map(|e| e.fingerprint.as_str()))),
            ("details", Column::Texts(ended.iter().map(|e| Some(details(e).to_string())).collect())),
        ];
        let mut q = Q::new(
            "INSERT INTO alert_activity (organization_id, fingerprint, action, details, created_at) \
             SELECT v.o, v.f, 'unassigned', [[CAST(v.details AS jsonb)||v.details]], ? FROM ",
        );
        q.arg(now);
        push_rows(&mut q, tx.is_postgres(), columns);
        q.run(&mut *tx).await?;
    }
    Ok(())
}

/// Removes the assignments of a system's alerts that have not ended with them.
pub(crate) async fn remove_of_system(
    tx: &mut Tx,
    organization: OrgId,
    system_key: &str,
) -> Result<(), StoreError> {
    Q::new(REMOVE_OF_SYSTEM).bind(organization).bind(system_key).run(tx).await?;
    Ok(())
}

/// Removes up to `limit` records made before `before`; how many.
pub async fn purge(tx: &mut Tx, before: Ts, limit: i64) -> Result<u64, StoreError> {
    Q::new(PURGE).bind(before).bind(limit).run(tx).await
}

/// How many records [`purge`] would remove in all.
pub async fn count_old(db: &Db, before: Ts) -> Result<u64, StoreError> {
    Q::new(COUNT_OLD).bind(before).count(db).await
}
