//! Deleted systems: few among all, so they are found by two indexes, and sorted.

use super::{Run, Spec, lasting::are_only_deleted};
use crate::sql::Q;
use bailiwick_domain::{SortDirection, SystemStatus};

/// Both parts of the deleted systems. A single condition for them would read all systems.
pub(super) const DELETED: [Run; 2] = [Run::DeletedSelf, Run::DeletedAbove];

impl Spec<'_> {
    /// Whether a part of the list, or all of it, has only deleted systems, which are found in [`DELETED`] parts.
    pub(super) fn are_deleted(&self, run: Option<Run>) -> bool {
        let is_theirs = match run {
            None => are_only_deleted(self.filter),
            Some(run) => run == Run::Of(SystemStatus::Deleted),
        };
        is_theirs && self.few().is_none()
    }

    /// The ids of all systems of the list or of a part of it, in no order.
    pub(super) fn push_all_ids(&self, q: &mut Q, run: Option<Run>) {
        let parts = if self.are_deleted(run) { DELETED.map(Some).to_vec() } else { vec![run] };
        for (i, run) in parts.into_iter().enumerate() {
            q.push(if i == 0 { "" } else { " UNION ALL " }).push("SELECT s.id FROM systems s");
            q.push(self.by_search());
            self.unordered().push_where(q, run, None);
        }
    }

    /// Ends a part and sorts it. Without the fence, PostgreSQL would look for a page of them in the order of all systems.
    pub(super) fn push_order_of_found(&self, q: &mut Q, direction: SortDirection) {
        let word = direction.as_str();
        q.push("[[ OFFSET 0||]]) found ORDER BY [[||+]]");
        if self.order.column().is_some() {
            q.push(&format!("page_value {word}, "));
        }
        q.push(&format!("page_id {word}"));
    }
}
