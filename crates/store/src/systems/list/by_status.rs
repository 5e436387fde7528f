//! Lists in the order of status: a run for each status, in the order of their words.

use super::{BY_WORD, Row, Run, Spec, StatusFilter, SystemFilter, Walk, Window, push_scope};
use crate::{
    Db, StoreError,
    sql::Q,
    systems::{
        counted,
        filter::{heard, push_marked},
    },
};
use bailiwick_domain::{SortDirection, SystemStatus};
use bailiwick_policy::Scope;

/// As what systems of a status are counted (`system_statuses.counted`), of those that have rows there.
const fn counted_as(status: SystemStatus) -> Option<i64> {
    match status {
        SystemStatus::Active => Some(counted::ACTIVE),
        SystemStatus::Inactive => Some(counted::SILENT),
        _ => None,
    }
}

impl Spec<'_> {
    pub(super) async fn page_by_status(&self, db: &Db, window: Window) -> Result<Vec<Row>, StoreError> {
        let (mut offset, mut wanted) = (window.offset, window.limit);
        let mut rows: Vec<Row> = Vec::new();
        let is_counted = self.is_counted(db).await?;
        for status in self.runs() {
            let (run, size) = (Some(Run::Of(status)), self.size_of_run(status));
            if let Some(size) = size
                && offset >= size
            {
                offset -= size;
                continue;
            }
            let walk = Window { offset, limit: wanted, size }.walk(self.direction);
            let ids = match counted_as(status) {
                Some(counted) if is_counted => self.counted_ids(status, counted, walk),
                _ => self.ids(run, walk, None),
            };
            let found = self.read(db, (ids, walk), &rows).await?;
            if found.is_empty() {
                if offset > 0 && size.is_none() {
                    offset = offset.saturating_sub(self.count(db, run).await?);
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
    fn runs(&self) -> Vec<SystemStatus> {
        let asked = self.filter.statuses.as_deref().unwrap_or_default();
        let with_deleted = asked.contains(&StatusFilter::Is(SystemStatus::Deleted));
        let mut runs: Vec<_> =
            BY_WORD.into_iter().filter(|s| with_deleted || *s != SystemStatus::Deleted).collect();
        if self.direction == SortDirection::Desc {
            runs.reverse();
        }
        runs
    }

    /// Whether active and inactive systems are found by what they are counted as.
    async fn is_counted(&self, db: &Db) -> Result<bool, StoreError> {
        let is_plain = *self.filter == SystemFilter::default() && self.budget.is_none();
        let is_large = matches!(self.scope, Scope::Everything | Scope::Subtree { .. });
        Ok(is_plain && is_large && counted::covers(db, self.cutoff).await?)
    }

    /// The ids of a walk's rows of a status: the settled ones by what they are counted as, merged with those of the
    /// unsettled ones that have this status by the cutoff.
    fn counted_ids(&self, status: SystemStatus, counted: i64, walk: Walk) -> Q {
        let mut q = Q::new("SELECT l.system_id AS page_id FROM system_statuses l WHERE l.counted = ?");
        q.arg(counted).push(" AND l.organization_id NOT IN ");
        push_marked(&mut q);
        push_scope(&mut q, "l", "organization_id", self.scope);
        q.push(
            " AND NOT EXISTS (SELECT 1 FROM system_unsettled u WHERE u.system_id = l.system_id) \
             UNION ALL SELECT [[a.id||s.id]] FROM system_unsettled w CROSS JOIN \
             [[LATERAL (SELECT s.id, s.organization_id, s.p2, s.p3, h.last_heartbeat FROM systems s \
             JOIN system_activity h ON h.system_id = s.id WHERE s.id = w.system_id AND s.deleted_at IS NULL \
             AND s.suspended_at IS NULL OFFSET 0) a WHERE ||systems s ON s.id = w.system_id \
             CROSS JOIN system_activity a ON a.system_id = s.id WHERE s.deleted_at IS NULL AND s.suspended_at IS NULL AND ]]",
        );
        q.push(heard(StatusFilter::Is(status))).arg(self.cutoff);
        q.push(" AND [[a||s]].organization_id NOT IN ");
        push_marked(&mut q);
        push_scope(&mut q, "[[a||s]]", "organization_id", self.scope);
        q.push(&format!(" ORDER BY page_id {} LIMIT ? OFFSET ?", walk.direction.as_str()));
        q.arg(walk.limit).arg(walk.offset);
        q
    }
}
