//! Deleted systems: few among all, so they are found by two indexes, and sorted.

use super::{Spec, StatusFilter, StatusPart, SystemFilter};
use crate::sql::Q;
use bailiwick_domain::SystemStatus;

/// Both parts of the deleted systems. A single condition for them would read all systems.
pub(super) const DELETED: [StatusPart; 2] = [StatusPart::DeletedSelf, StatusPart::DeletedAbove];

/// Whether a filter asks for the systems of this status alone.
pub(super) fn asks_only(filter: &SystemFilter, status: SystemStatus) -> bool {
    let mut statuses = filter.statuses.iter().flatten().peekable();
    statuses.peek().is_some() && statuses.all(|one| *one == StatusFilter::Is(status))
}

impl Spec<'_> {
    /// Whether a part of the list, or all of it, has only deleted systems, which are found in [`DELETED`] parts.
    pub(super) fn are_deleted(&self, part: Option<StatusPart>) -> bool {
        match part {
            None => asks_only(self.filter, SystemStatus::Deleted),
            Some(part) => part == StatusPart::Of(SystemStatus::Deleted),
        }
    }

    /// How many deleted systems the list or a part of it has.
    pub(super) fn count_deleted(&self) -> Q {
        let mut q = Q::new("SELECT CAST(COUNT(*) AS BIGINT) FROM (");
        for (part, before) in DELETED.into_iter().zip(["SELECT s.id", " UNION ALL SELECT s.id"]) {
            let list = Spec { is_few: true, ..self.unordered() };
            list.push_from(q.push(before), Some(part));
            list.push_where(&mut q, Some(part), None);
        }
        q.push(") found");
        q
    }
}
