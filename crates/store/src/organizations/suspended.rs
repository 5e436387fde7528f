//! The suspended organizations. No index has their effective mark, so a suspension writes no index (docs/tree.md); they
//! are found from the few own marks and the organizations below these.

use crate::sql::Q;

/// Their ids, some more than once.
pub(crate) const SUSPENDED: &str = "SELECT b.id FROM organizations m JOIN organizations b ON b.p2 = m.id \
     WHERE m.type = 'distributor' AND m.suspended_at IS NOT NULL \
     UNION ALL SELECT b.id FROM organizations m JOIN organizations b ON b.p3 = m.id \
     WHERE m.type = 'reseller' AND m.suspended_at IS NOT NULL \
     UNION ALL SELECT m.id FROM organizations m WHERE m.type = 'customer' AND m.suspended_at IS NOT NULL";

/// Appends ` AND …`: only where the organization with this id is suspended (or is not). Better than the mark itself
/// where few matches are among many rows, or where matches are counted without reading the rows.
pub(crate) fn push_suspended(q: &mut Q, id: &str, is_suspended: bool) {
    let word = if is_suspended { "IN" } else { "NOT IN" };
    q.push(&format!(" AND {id} {word} ({SUSPENDED})"));
}
