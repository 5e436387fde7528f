//! Silences of many organizations with the embedded router, and the systems that silences are written for (spec:
//! silences#for-users).

use super::OrganizationsRead;
use crate::{
    Db, StoreError,
    filters::{can_be_stored, push_in},
    sql::Q,
};
use bailiwick_domain::{OrgId, SystemId, Ts};
use uuid::Uuid;

/// The most bytes of records in one read.
const BYTES: usize = 64 * 1024 * 1024;

/// Which silences a list has, and which of them come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// In force or to come at this time; the first to end first.
    After(Ts),
    /// Over at this time; the last that ended first.
    Until(Ts),
}

/// Records of silences, with their organization and system; at most `limit`. `system_keys`: only of these.
///
/// # Errors
/// [`StoreError::TooHeavy`] when the records do not fit.
pub async fn silences(
    db: &Db,
    within: &OrganizationsRead,
    system_keys: Option<&[String]>,
    ending: Ending,
    limit: u64,
) -> Result<Vec<(OrgId, String, String)>, StoreError> {
    let (operator, direction, at) = match ending {
        Ending::After(at) => (">", "ASC", at),
        Ending::Until(at) => ("<=", "DESC", at),
    };
    let mut q = Q::new(&format!(
        "SELECT r.organization_id, r.system_key, r.payload FROM router_silences r \
         JOIN organizations o ON o.id = r.organization_id \
         JOIN systems s ON s.system_key = r.system_key AND s.organization_id = r.organization_id \
         AND s.deleted_at IS NULL WHERE r.ends_at {operator} ?"
    ));
    q.arg(at.0);
    within.push(&mut q, "o", "id");
    if let Some(keys) = system_keys {
        push_in(&mut q, "r.system_key", keys);
    }
    q.push(&format!(" ORDER BY r.ends_at {direction}, r.id {direction} LIMIT ?")).arg(limit);
    let rows = q.all_within(db, BYTES, |row: &(Uuid, String, String)| row.1.len() + row.2.len()).await?;
    Ok(rows.into_iter().map(|(organization, key, payload)| (OrgId(organization), key, payload)).collect())
}

/// The organization of a silence, if it is one of these.
///
/// # Errors
/// The database's.
pub async fn tenant_of_silence(
    db: &Db,
    within: &OrganizationsRead,
    id: Uuid,
) -> Result<Option<OrgId>, StoreError> {
    let mut q = Q::new(
        "SELECT r.organization_id FROM router_silences r JOIN organizations o ON o.id = r.organization_id WHERE r.id = ?",
    );
    q.arg(id);
    within.push(&mut q, "o", "id");
    let rows: Vec<(Uuid,)> = q.all(db).await?;
    Ok(rows.into_iter().next().map(|(id,)| OrgId(id)))
}

/// The registered system with this key and its organization, if that is one of these.
///
/// # Errors
/// The database's.
pub async fn system_of_key(
    db: &Db,
    within: &OrganizationsRead,
    system_key: &str,
) -> Result<Option<(OrgId, SystemId)>, StoreError> {
    if !can_be_stored(system_key) {
        return Ok(None);
    }
    let mut q = Q::new(
        "SELECT s.organization_id, s.id FROM systems s JOIN organizations o ON o.id = s.organization_id \
         WHERE s.deleted_at IS NULL AND s.registered_at IS NOT NULL AND s.system_key = ?",
    );
    q.arg(system_key);
    within.push(&mut q, "o", "id");
    let rows: Vec<(Uuid, Uuid)> = q.all(db).await?;
    Ok(rows.into_iter().next().map(|(organization, system)| (OrgId(organization), SystemId(system))))
}
