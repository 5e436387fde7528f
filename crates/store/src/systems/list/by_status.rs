//! Lists in the order of status: a run for each status, in the order of their words.
//!
//! The heartbeat of each system would say which it has. Large lists go by what systems are counted as instead
//! ([`counted`]), which an index has in order, and look at the heartbeats of the few unsettled ones.

use super::{BY_WORD, Row, Run, Spec, StatusFilter, SystemFilter, Walk, Window, push_scope};
use crate::{
    Db, StoreError,
    sql::{Arg, Q},
    systems::{
        counted,
        filter::{push_marked, push_unmarked},
    },
    time::TsCodec,
};
use bailiwick_domain::{SortDirection, SystemStatus};
use bailiwick_policy::Scope;
use uuid::Uuid;

/// With more unsettled systems in a scope every heartbeat is looked at.
const MOST_UNSETTLED: usize = 2_000;

/// Systems of a scope that may be something else than they are counted as, each with what it is.
type Unsettled = Vec<(Uuid, SystemStatus)>;

impl Spec<'_> {
    pub(super) async fn page_by_status(&self, db: &Db, window: Window) -> Result<Vec<Row>, StoreError> {
        let (mut offset, mut wanted) = (window.offset, window.limit);
        let mut rows: Vec<Row> = Vec::new();
        let unsettled = self.unsettled(db).await?;
        for status in self.runs() {
            let (run, size) = (Some(Run::Of(status)), self.size_of_run(status));
            if let Some(size) = size
                && offset >= size
            {
                offset -= size;
                continue;
            }
            let walk = Window { offset, limit: wanted, size }.walk(self.direction);
            let unsettled = unsettled.as_ref().filter(|_| is_by_heartbeat(status));
            let found = match unsettled {
                Some(unsettled) => self.counted_page(db, status, unsettled, walk).await?,
                None => self.read(db, (self.ids(run, walk, None), walk), &rows).await?,
            };
            if found.is_empty() {
                if offset > 0 && size.is_none() {
                    offset = offset.saturating_sub(match unsettled {
                        Some(unsettled) => self.count_counted(db, status, unsettled).await?,
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

    /// The unsettled systems that are neither deleted nor suspended; none where the list has to look at every
    /// heartbeat: it is short, or has a filter, what systems are counted as is for another time, or too many are
    /// unsettled.
    async fn unsettled(&self, db: &Db) -> Result<Option<Unsettled>, StoreError> {
        let is_plain = *self.filter == SystemFilter::default() && self.budget.is_none();
        let is_large = matches!(self.scope, Scope::Everything | Scope::Subtree { .. });
        if !is_plain || !is_large || !counted::covers(db, self.cutoff).await? {
            return Ok(None);
        }
        let mut q = Q::new("SELECT s.id, [[s||a]].last_heartbeat FROM system_unsettled w CROSS JOIN ");
        let hint = if *self.scope == Scope::Everything { " INDEXED BY systems_all_live" } else { "" };
        q.push(&format!(
            "[[LATERAL (SELECT s.*, a.last_heartbeat FROM systems s JOIN system_activity a ON a.system_id = s.id \
             WHERE s.id = w.system_id OFFSET 0) s||systems s{hint} ON s.id = w.system_id \
             CROSS JOIN system_activity a ON a.system_id = s.id]] WHERE 1 = 1",
        ));
        push_unmarked(&mut q);
        push_scope(&mut q, "s", "organization_id", self.scope);
        q.push(" LIMIT ?").arg(MOST_UNSETTLED as u64 + 1);
        let found: Vec<(Uuid, Option<TsCodec>)> = q.all(db).await?;
        if found.len() > MOST_UNSETTLED {
            return Ok(None);
        }
        let status = |at: Option<TsCodec>| match at {
            None => SystemStatus::Unknown,
            Some(at) if at.0 > self.cutoff => SystemStatus::Active,
            Some(_) => SystemStatus::Inactive,
        };
        Ok(Some(found.into_iter().map(|(id, at)| (id, status(at))).collect()))
    }

    /// The rows of a walk through the systems of a status, of which `unsettled` are sorted in among the settled ones.
    async fn counted_page(
        &self,
        db: &Db,
        status: SystemStatus,
        unsettled: &Unsettled,
        walk: Walk,
    ) -> Result<Vec<Row>, StoreError> {
        let of_status: Vec<Uuid> = ids_of(unsettled, status).collect();
        // So many settled ones before the page cannot be behind it, wherever the unsettled ones are.
        let before = walk.offset.saturating_sub(of_status.len() as u64);
        let passed = walk.offset - before;
        let mut q = Q::new(match status {
            SystemStatus::Unknown => "SELECT s.id AS page_id",
            _ => "SELECT s.system_id AS page_id",
        });
        self.push_settled(&mut q, status, unsettled);
        q.push(&format!(" ORDER BY page_id {} LIMIT ? OFFSET ?", walk.direction.as_str()));
        q.arg(passed.saturating_add(walk.limit)).arg(before);
        let mut ids: Vec<Uuid> = q.all(db).await?.into_iter().map(|(id,)| id).collect();
        let is_last = (ids.len() as u64) < passed.saturating_add(walk.limit);
        let end = ids.last().copied();
        let comes_before = |a: &Uuid, b: &Uuid| match walk.direction {
            SortDirection::Asc => a < b,
            SortDirection::Desc => a > b,
        };
        ids.extend(of_status.iter().filter(|id| is_last || end.is_some_and(|end| comes_before(id, &end))));
        ids.sort_unstable();
        if walk.direction == SortDirection::Desc {
            ids.reverse();
        }
        let (skip, take) = (usize::try_from(passed), usize::try_from(walk.limit));
        let ids = ids.into_iter().skip(skip.unwrap_or(usize::MAX)).take(take.unwrap_or(usize::MAX));
        self.rows(db, walk, ids.collect()).await
    }

    async fn count_counted(
        &self,
        db: &Db,
        status: SystemStatus,
        unsettled: &Unsettled,
    ) -> Result<u64, StoreError> {
        let mut q = Q::new("SELECT CAST(COUNT(*) AS BIGINT)");
        self.push_settled(&mut q, status, unsettled);
        Ok(q.count(db).await? + ids_of(unsettled, status).count() as u64)
    }

    /// FROM and WHERE of the settled systems of a status that are neither deleted nor suspended.
    fn push_settled(&self, q: &mut Q, status: SystemStatus, unsettled: &Unsettled) {
        let id = match status {
            SystemStatus::Unknown => {
                q.push(" FROM systems s WHERE s.first_heartbeat_at IS NULL");
                push_unmarked(q);
                "s.id"
            }
            _ => {
                let counted = if status == SystemStatus::Active { counted::ACTIVE } else { counted::SILENT };
                q.push(" FROM system_statuses s WHERE s.counted = ?").arg(counted);
                q.push(" AND s.organization_id NOT IN ");
                push_marked(q);
                "s.system_id"
            }
        };
        push_scope(q, "s", "organization_id", self.scope);
        // As ids PostgreSQL looks them up by their hash, whatever it believes of the table.
        if self.db.is_postgres() {
            let ids = unsettled.iter().map(|(id, _)| *id).collect();
            q.push(&format!(" AND {id} NOT IN (SELECT unnest(?::uuid[]))")).arg(Arg::Ids(ids));
        } else {
            q.push(&format!(" AND {id} NOT IN (SELECT u.system_id FROM system_unsettled u)"));
        }
    }
}

/// Whether heartbeats decide it, of systems that are neither deleted nor suspended.
const fn is_by_heartbeat(status: SystemStatus) -> bool {
    matches!(status, SystemStatus::Active | SystemStatus::Inactive | SystemStatus::Unknown)
}

fn ids_of(unsettled: &Unsettled, status: SystemStatus) -> impl Iterator<Item = Uuid> {
    unsettled.iter().filter(move |(_, s)| *s == status).map(|(id, _)| *id)
}
