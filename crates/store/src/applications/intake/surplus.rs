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
/// stored. An application that this document reports as missing stays until the next document. It does not push out an
/// application that has notes or an assignment.
pub(super) fn take_out(rows: &mut BTreeMap<String, Row>, most: usize) -> Vec<String> {
    let beyond = rows.len().saturating_sub(most);
    if beyond == 0 {
        return Vec::new();
    }
    let (mut plain, mut noted, mut reported) = (Vec::new(), Vec::new(), 0);
    for (id, row) in rows.iter().filter(|(_, row)| row.deleted_at.is_some()) {
        if row.is_stored && row.event.is_some() {
            reported += 1;
        } else if row.organization.is_some() || row.has_notes {
            noted.push((row.deleted_at, id.clone()));
        } else {
            plain.push((row.deleted_at, id.clone()));
        }
    }
    plain.sort_unstable();
    plain.truncate(beyond);
    noted.sort_unstable();
    noted.truncate(beyond.saturating_sub(reported + plain.len()));
    let missing = plain.into_iter().chain(noted);
    let removed = missing.filter_map(|(_, id)| rows.remove(&id).map(|row| (id, row.is_stored)));
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
