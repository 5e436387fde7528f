//! The most applications of a system (spec: applications#intake).

use super::Row;
use crate::{StoreError, Tx, sql::Q};
use bailiwick_domain::SystemId;
use std::collections::BTreeMap;

/// Applications removed by one statement.
const AT_ONCE: usize = 500;

/// Applications that are removed for good, by system.
pub(super) type Surplus = BTreeMap<SystemId, Vec<String>>;

/// Takes missing applications out of those of a system until there are `most`. Returns the module ids of those that are
/// stored. One that is told of as missing now stays until the next document.
pub(super) fn take_out(rows: &mut BTreeMap<String, Row>, most: usize) -> Vec<String> {
    let beyond = rows.len().saturating_sub(most);
    if beyond == 0 {
        return Vec::new();
    }
    let is_missing = |row: &Row| row.deleted_at.is_some() && !(row.is_stored && row.told.is_some());
    let mut missing: Vec<_> = rows
        .iter()
        .filter(|(_, row)| is_missing(row))
        .map(|(id, row)| (row.organization.is_some() || row.has_notes, row.deleted_at, id.clone()))
        .collect();
    missing.sort_unstable();
    missing.truncate(beyond);
    let removed =
        missing.into_iter().filter_map(|(_, _, id)| rows.remove(&id).map(|row| (id, row.is_stored)));
    removed.filter(|(_, is_stored)| *is_stored).map(|(id, _)| id).collect()
}

/// Removes stored applications.
pub(super) async fn remove(tx: &mut Tx, surplus: &Surplus) -> Result<(), StoreError> {
    for (system, modules) in surplus {
        for chunk in modules.chunks(AT_ONCE) {
            let mut q = Q::new("DELETE FROM applications WHERE system_id = ? AND module_id IN (");
            q.arg(*system).list(chunk.iter()).push(")");
            q.run(&mut *tx).await?;
        }
    }
    Ok(())
}
