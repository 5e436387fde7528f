//! Lists in the order of status: a run for each status, in the order of their words, by id.

use super::{
    BY_WORD, Row, Run, Spec, Start, StatusFilter, SystemFilter, SystemOrder, Walk, Window, liveness,
    push_scope,
};
use crate::{
    Db, StoreError,
    matches::Matches,
    sql::Q,
    systems::{
        filter::{own_marked, push_marked},
        status,
    },
    walk::{PAGE, push_page_end},
};
use bailiwick_domain::{Liveness, SortDirection, SystemStatus};
use uuid::Uuid;

/// Up to this many systems are sorted for less than it costs to look for a page of them among all.
const FEW: u64 = 1_000;

impl Spec<'_> {
    pub(super) async fn page_by_status(&self, db: &Db, window: Window) -> Result<Vec<Row>, StoreError> {
        let (mut offset, mut wanted) = (window.offset, window.limit);
        let mut rows: Vec<Row> = Vec::new();
        for status in self.runs() {
            let size = self.size_of_run(status);
            if let Some(size) = size
                && offset >= size
            {
                offset -= size;
                continue;
            }
            let walk = Window { offset, limit: wanted, size }.walk(self.direction);
            let found = self.read(db, (self.ids_of_status(status, walk, None), walk)).await?;
            if found.is_empty() {
                if offset > 0 && size.is_none() {
                    offset = offset.saturating_sub(self.count(db, Some(Run::Of(status))).await?);
                }
                continue;
            }
            wanted = wanted.saturating_sub(found.len() as u64);
            offset = 0;
            rows.extend(found);
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
            Some(asked) => {
                asked.contains(&StatusFilter::Is(*status))
                    || (asked.contains(&StatusFilter::NoInventory) && *status != SystemStatus::Deleted)
            }
        };
        let mut runs: Vec<_> = BY_WORD.into_iter().filter(can_appear).collect();
        if self.direction == SortDirection::Desc {
            runs.reverse();
        }
        runs
    }

    /// The ids of a walk through the systems of a status.
    pub(super) fn ids_of_status(&self, status: SystemStatus, walk: Walk, start: Option<&Start>) -> Q {
        let liveness = liveness(StatusFilter::Is(status)).filter(|_| self.has_statuses_only());
        let Some(liveness) = liveness else { return self.ids(Some(Run::Of(status)), walk, start) };
        let mut q = Q::new(PAGE);
        q.push("SELECT a.system_id AS page_id");
        self.push_live_with(&mut q, &[liveness]);
        if let Some(start) = start {
            start.push_by_id(&mut q, "a.system_id");
        }
        q.push(&format!(" ORDER BY a.system_id {}", walk.direction.as_str()));
        push_page_end(&mut q, walk.limit, walk.offset);
        q
    }

    /// Whether the list has no filter, or one by statuses only and each of them by its word.
    pub(super) fn has_statuses_only(&self) -> bool {
        let statuses = self.filter.statuses.clone();
        statuses.iter().flatten().all(|status| matches!(status, StatusFilter::Is(_)))
            && *self.filter == SystemFilter { statuses, ..SystemFilter::default() }
    }

    /// The systems of a list by statuses only, where they are few.
    pub(super) async fn few_of_statuses(&self, db: &Db) -> Result<Option<Matches>, StoreError> {
        let any: Option<Vec<Liveness>> =
            self.filter.statuses.iter().flatten().map(|s| liveness(*s)).collect();
        let Some(any) = any.filter(|any| !any.is_empty()) else { return Ok(None) };
        if self.order == SystemOrder::Status || self.size_of_statuses().is_none_or(|size| size > FEW) {
            return Ok(None);
        }
        let mut q = Q::new("SELECT a.system_id");
        self.push_live_with(&mut q, &any);
        let ids: Vec<(Uuid,)> = q.all(db).await?;
        Ok(Some(Matches::Few(ids.into_iter().map(|(id,)| id).collect())))
    }

    /// FROM and WHERE of the systems that no mark hides, found by the index of statuses.
    fn push_live_with(&self, q: &mut Q, any: &[Liveness]) {
        q.push(" FROM system_activity a WHERE a.status IN (");
        q.list(any.iter().map(|liveness| status::stored(*liveness)));
        q.push(concat!(") AND a.system_id NOT IN ", own_marked!(), " AND a.organization_id NOT IN "));
        push_marked(q);
        push_scope(q, "a", "organization_id", self.scope);
    }
}
