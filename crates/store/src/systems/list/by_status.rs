//! Lists in the order of status: a run for each status, in the order of their words.
//!
//! The heartbeat of each system decides its status. Large lists use the counted status instead ([`status_counts`]),
//! which an index has in order, and read the heartbeats of the unsettled systems only, while these are few.

use super::{BY_WORD, Row, Run, Spec, Start, StatusFilter, SystemFilter, Walk, Window, push_scope};
use crate::{
    Db, StoreError,
    sql::Q,
    systems::{
        filter::{heard, push_marked, push_unmarked},
        status_counts::{self, Counted, MOST_UNSETTLED},
    },
    walk::{PAGE, bound, push_page_end},
};
use bailiwick_domain::{SortDirection, SystemStatus};
use bailiwick_policy::Scope;

impl Spec<'_> {
    pub(super) async fn page_by_status(&self, db: &Db, window: Window) -> Result<Vec<Row>, StoreError> {
        let (mut offset, mut wanted) = (window.offset, window.limit);
        let mut rows: Vec<Row> = Vec::new();
        let counted = self.goes_by_counted(db).await?;
        for status in self.runs() {
            let (run, size) = (Some(Run::Of(status)), self.size_of_run(status));
            if let Some(size) = size
                && offset >= size
            {
                offset -= size;
                continue;
            }
            let walk = Window { offset, limit: wanted, size }.walk(self.direction);
            let counted = counted.filter(|_| is_by_heartbeat(status));
            let ids = match counted {
                Some(counted) => self.counted_ids((status, counted), walk, None),
                None => self.ids(run, walk, None),
            };
            let found = self.read(db, (ids, walk)).await?;
            if found.is_empty() {
                if offset > 0 && size.is_none() {
                    offset = offset.saturating_sub(match counted {
                        Some(counted) => self.count_counted(db, (status, counted)).await?,
                        None => self.count(db, run).await?,
                    });
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

    /// How the list uses the counted status; only one of a large scope without a filter but that of statuses does.
    pub(super) async fn goes_by_counted(&self, db: &Db) -> Result<Option<Counted>, StoreError> {
        let statuses = self.filter.statuses.clone();
        let is_plain = statuses.iter().flatten().all(|status| matches!(status, StatusFilter::Is(_)))
            && *self.filter == SystemFilter { statuses, ..SystemFilter::default() };
        let is_large = matches!(self.scope, Scope::Everything | Scope::Subtree { .. });
        match is_plain && is_large {
            true => status_counts::counted_for(db, self.cutoff).await,
            false => Ok(None),
        }
    }

    /// The ids of a walk through the systems of a status.
    pub(super) fn counted_ids(
        &self,
        (status, counted): (SystemStatus, Counted),
        walk: Walk,
        start: Option<&Start>,
    ) -> Q {
        let push_start = |q: &mut Q, id| {
            if let Some(start) = start {
                start.push_by_id(q, id);
            }
        };
        let order = format!(" ORDER BY page_id {}", walk.direction.as_str());
        let mut q = Q::new(PAGE);
        if status == SystemStatus::Unknown {
            q.push("SELECT s.id AS page_id");
            self.push_unheard(&mut q, counted);
            push_start(&mut q, "s.id");
        } else if counted == Counted::Alone {
            q.push("SELECT s.system_id AS page_id");
            self.push_settled(&mut q, status, counted);
            push_start(&mut q, "s.system_id");
        } else {
            // SQLite merges ordered inputs; PostgreSQL merges those that are ordered and short.
            let push_end = |q: &mut Q| {
                if self.db.is_postgres() {
                    q.push(&order).push(&format!(" LIMIT {})", bound(walk.limit, walk.offset)));
                }
            };
            q.push("SELECT page_id FROM ([[(||]]SELECT s.system_id AS page_id");
            self.push_settled(&mut q, status, counted);
            push_start(&mut q, "s.system_id");
            push_end(&mut q);
            q.push(" UNION ALL [[(||]]SELECT w.system_id AS page_id");
            self.push_unsettled(&mut q, status, |q| push_start(q, "s.id"));
            push_end(&mut q);
            q.push(") s");
        }
        q.push(&order);
        push_page_end(&mut q, walk.limit, walk.offset);
        q
    }

    async fn count_counted(
        &self,
        db: &Db,
        (status, counted): (SystemStatus, Counted),
    ) -> Result<u64, StoreError> {
        let mut q = Q::new("SELECT CAST(COUNT(*) AS BIGINT)");
        if status == SystemStatus::Unknown {
            self.push_unheard(&mut q, counted);
            return q.count(db).await;
        }
        self.push_settled(&mut q, status, counted);
        let settled = q.count(db).await?;
        if counted == Counted::Alone {
            return Ok(settled);
        }
        let mut q = Q::new("SELECT CAST(COUNT(*) AS BIGINT)");
        self.push_unsettled(&mut q, status, |_| {});
        Ok(settled + q.count(db).await?)
    }

    /// FROM and WHERE of the systems without a heartbeat, except for those that have sent their first one since they
    /// were counted.
    fn push_unheard(&self, q: &mut Q, counted: Counted) {
        q.push(" FROM systems s WHERE s.first_heartbeat_at IS NULL");
        push_unmarked(q);
        push_scope(q, "s", "organization_id", self.scope);
        if counted == Counted::Alone {
            return;
        }
        q.push(&format!(
            " AND s.id NOT IN (SELECT u.system_id FROM system_unsettled u WHERE (SELECT a.last_heartbeat \
             FROM system_activity a WHERE a.system_id = u.system_id) IS NOT NULL[[ LIMIT {MOST_UNSETTLED}||]])"
        ));
    }

    /// FROM and WHERE of the settled systems that are counted as active or silent; in [`Counted::Alone`] of unsettled ones too. The limit excludes no row; it shows
    /// PostgreSQL that it can hash the unsettled ones, whatever it estimates about the table.
    fn push_settled(&self, q: &mut Q, status: SystemStatus, counted: Counted) {
        let status =
            if status == SystemStatus::Active { status_counts::ACTIVE } else { status_counts::SILENT };
        q.push(" FROM system_statuses s WHERE s.counted = ?").arg(status);
        q.push(" AND s.organization_id NOT IN ");
        push_marked(q);
        push_scope(q, "s", "organization_id", self.scope);
        if counted == Counted::Alone {
            return;
        }
        q.push(&format!(
            " AND s.system_id NOT IN (SELECT u.system_id FROM system_unsettled u[[ LIMIT {MOST_UNSETTLED}||]])"
        ));
    }

    /// FROM and WHERE of the unsettled systems that are active or inactive. One lookup for each, whatever the engine
    /// estimates about their number.
    fn push_unsettled(&self, q: &mut Q, status: SystemStatus, push_and: impl Fn(&mut Q)) {
        let hint = if *self.scope == Scope::Everything { " INDEXED BY systems_all_live" } else { "" };
        q.push(&format!(
            " FROM system_unsettled w CROSS JOIN [[LATERAL (SELECT s.id FROM||]] systems s[[||{hint} ON s.id = w.system_id]] \
             [[JOIN||CROSS JOIN]] system_activity a ON a.system_id = s.id WHERE [[s.id = w.system_id AND||]] "
        ));
        q.push(heard(StatusFilter::Is(status))).arg(self.cutoff);
        push_unmarked(q);
        push_scope(q, "s", "organization_id", self.scope);
        push_and(q);
        q.push("[[ OFFSET 0) s||]]");
    }
}

/// Whether heartbeats decide the status, for systems that are neither deleted nor suspended.
pub(super) const fn is_by_heartbeat(status: SystemStatus) -> bool {
    matches!(status, SystemStatus::Active | SystemStatus::Inactive | SystemStatus::Unknown)
}
