//! Lists in the order of status: a run for each status, in the order of their words, by id.

use super::{
    BY_WORD, Row, Spec, Start, StatusFilter, StatusPart, SystemFilter, Window, distinct, liveness, push_scope,
};
use crate::{
    Db, StoreError,
    sql::Q,
    systems::{
        filter::{own_marked, push_marked},
        status,
    },
    walk::{PAGE, push_page_end},
};
use bailiwick_domain::{SortDirection, SystemStatus};

impl Spec<'_> {
    pub(super) async fn page_by_status(&self, db: &Db, window: Window) -> Result<Vec<Row>, StoreError> {
        let (mut offset, mut wanted) = (window.offset, window.limit);
        let mut rows: Vec<Row> = Vec::new();
        for status in self.runs() {
            let size = self.size_of_part(status);
            if let Some(size) = size
                && offset >= size
            {
                offset -= size;
                continue;
            }
            let ids = self.ids_of_status(status, Window { offset, limit: wanted }, None);
            let page = self.read(db, ids).await?;
            if page.is_empty() {
                if offset > 0 && size.is_none() {
                    offset = offset.saturating_sub(self.count(db, Some(StatusPart::Of(status))).await?);
                }
                continue;
            }
            wanted = wanted.saturating_sub(page.len() as u64);
            offset = 0;
            rows.extend(page);
            if wanted == 0 {
                break;
            }
        }
        Ok(rows)
    }

    /// The statuses that can appear, in order.
    pub(super) fn runs(&self) -> Vec<SystemStatus> {
        let can_appear = |status: &SystemStatus| match self.filter.statuses.as_deref() {
            None => *status != SystemStatus::Deleted,
            Some(statuses) => {
                statuses.contains(&StatusFilter::Is(*status))
                    || (statuses.contains(&StatusFilter::NoInventory) && *status != SystemStatus::Deleted)
            }
        };
        let mut runs: Vec<_> = BY_WORD.into_iter().filter(can_appear).collect();
        if self.direction == SortDirection::Desc {
            runs.reverse();
        }
        runs
    }

    /// The ids of systems of a status, behind a start if there is one.
    pub(super) fn ids_of_status(&self, status: SystemStatus, window: Window, start: Option<&Start>) -> Q {
        let liveness = liveness(StatusFilter::Is(status)).filter(|_| self.has_statuses_only());
        let Some(liveness) = liveness else { return self.ids(Some(StatusPart::Of(status)), window, start) };
        let mut q = Q::new(PAGE);
        q.push("SELECT a.system_id AS page_id FROM system_activity a WHERE a.status = ?");
        q.arg(status::stored(liveness));
        // The marks that hide systems are few.
        q.push(concat!(" AND a.system_id NOT IN ", own_marked!(), " AND a.organization_id NOT IN "));
        push_marked(&mut q);
        push_scope(&mut q, "a", "organization_id", self.scope);
        if let Some(start) = start {
            start.push_by_id(&mut q, "a.system_id");
        }
        q.push(&format!(" ORDER BY a.system_id {}", self.direction.as_str()));
        push_page_end(&mut q, window.limit, window.offset);
        q
    }

    /// Whether the list has no filter, or one by statuses only and each of them by its word.
    pub(super) fn has_statuses_only(&self) -> bool {
        let statuses = self.filter.statuses.clone();
        statuses.iter().flatten().all(|status| matches!(status, StatusFilter::Is(_)))
            && *self.filter == SystemFilter { statuses, ..SystemFilter::default() }
    }

    /// Rows of a status, where there is no condition but statuses and the totals are known.
    fn size_of_part(&self, status: SystemStatus) -> Option<u64> {
        if self.has_statuses_only() { self.size_of(status) } else { None }
    }

    fn size_of(&self, status: SystemStatus) -> Option<u64> {
        let totals = self.known_counts.totals?;
        match status {
            SystemStatus::Active => Some(totals.active),
            SystemStatus::Inactive => Some(totals.inactive),
            SystemStatus::Suspended => Some(totals.suspended),
            SystemStatus::Unknown => Some(totals.unknown),
            SystemStatus::Deleted => None,
        }
    }

    /// Rows of a list that filters by statuses only.
    pub(super) fn size_of_statuses(&self) -> Option<u64> {
        let statuses = self.filter.statuses.as_deref().filter(|_| self.has_statuses_only())?;
        distinct(statuses).into_iter().try_fold(0, |sum, status| match status {
            StatusFilter::Is(status) => Some(sum + self.size_of(status)?),
            StatusFilter::NoInventory => None,
        })
    }
}
