//! Locks the systems whose documents are being stored.

use crate::{
    StoreError, Tx,
    sql::{Q, padded},
};
use bailiwick_domain::SystemId;
use sqlx_macros::FromRow;
use uuid::Uuid;

/// The state of a sender.
#[derive(Clone, Debug)]
pub struct Sender {
    pub id: SystemId,
    /// Itself or through an organization.
    pub is_deleted: bool,
    /// Its latest record, if that is still there.
    pub latest_id: Option<i64>,
    /// Type, host name, IPv4 address, IPv6 address and version as they are shown.
    pub facts: (Option<String>, String, String, String, String),
}

#[derive(FromRow)]
struct Row {
    id: Uuid,
    deleted: i64,
    latest_id: Option<i64>,
    system_type: Option<String>,
    fqdn: String,
    ipv4_address: String,
    ipv6_address: String,
    version: String,
}

/// The senders that exist, held against other writers until the transaction ends.
pub async fn hold_senders(tx: &mut Tx, ids: &[SystemId]) -> Result<Vec<Sender>, StoreError> {
    let mut q = Q::new(
        "SELECT s.id, CAST(CASE WHEN s.deleted_at IS NULL AND o.eff_deleted_at IS NULL THEN 0 ELSE 1 END AS bigint) \
         AS deleted, r.id AS latest_id, s.type AS system_type, s.fqdn, s.ipv4_address, \
         s.ipv6_address, s.version FROM systems s JOIN organizations o ON o.id = s.organization_id \
         LEFT JOIN system_activity a ON a.system_id = s.id \
         LEFT JOIN inventory_records r ON r.id = a.latest_inventory_id WHERE s.id IN (",
    );
    q.list(padded(ids).copied()).push(") ORDER BY s.id [[FOR NO KEY UPDATE OF s||]]");
    let rows: Vec<Row> = q.all(tx).await?;
    Ok(rows
        .into_iter()
        .map(|r| Sender {
            id: SystemId(r.id),
            is_deleted: r.deleted != 0,
            latest_id: r.latest_id,
            facts: (r.system_type, r.fqdn, r.ipv4_address, r.ipv6_address, r.version),
        })
        .collect())
}
