//! Walks through a list of systems: pages by cursors and exports (spec: conventions#cursors).

use super::{
    By, JOINED, Known, Row, Run, Spec, Start, SystemFilter, SystemOrder, SystemRecord, Unsettled, Walk,
    by_status::is_by_heartbeat,
};
use crate::{
    Db, StoreError,
    filters::expand,
    sql::Q,
    systems::row::row_columns,
    walk::{self, Position, Step, Walked},
};
use bailiwick_domain::{SortDirection, Ts};
use bailiwick_policy::Scope;
use std::collections::HashSet;
use uuid::Uuid;

/// The next systems in scope that match. A step with a limit of bytes reads no `custom_data`.
///
/// # Errors
/// [`StoreError::TooHeavy`] if several rows do not fit into the bytes of the step.
pub async fn walk(
    db: &Db,
    scope: &Scope,
    filter: &SystemFilter,
    (order, direction): (SystemOrder, SortDirection),
    cutoff: Ts,
    known: Known<'_>,
    step: &Step,
) -> Result<Walked<SystemRecord>, StoreError> {
    let expanded = expand(db, filter.organizations.as_deref(), filter.include_hierarchy).await?;
    let spec = Spec { db, scope, filter, expanded: &expanded, order, direction, cutoff, known };
    let is_by_status = order == SystemOrder::Status;
    let counted = if is_by_status { spec.goes_by_counted(db).await? } else { None };
    let runs = if is_by_status { spec.runs().into_iter().map(Some).collect() } else { vec![None] };
    let by = spec.by();
    let ids = |status: &Option<_>, after: Option<&Position>, limit| match (status, counted) {
        (Some(status), Some(counted)) if is_by_heartbeat(*status) => {
            let (walk, start) = spec.leg(after, limit);
            spec.counted_ids((*status, counted), walk, start.as_ref())
        }
        (status, _) => spec.leg_ids(status.map(Run::Of), after, limit),
    };
    let (ids, next) = walk::walk(db, runs.into_iter().map(|run| (run, by)), step, ids).await?;
    Ok(Walked { rows: rows(db, &ids, step).await?, next })
}

/// The statement that finds the ids of a step in an order by a column; for EXPLAIN.
pub fn walk_query(
    db: &Db,
    scope: &Scope,
    (order, direction): (SystemOrder, SortDirection),
    step: &Step,
) -> Q {
    let (filter, known, cutoff) = (&SystemFilter::default(), Known::default(), Ts(0));
    let spec = Spec { db, scope, filter, expanded: &[], order, direction, cutoff, known };
    spec.leg_ids(None, step.after.as_ref(), step.rows)
}

async fn rows(db: &Db, ids: &[Uuid], step: &Step) -> Result<Vec<SystemRecord>, StoreError> {
    let mut q = Q::new(if step.bytes.is_some() {
        concat!("SELECT ", row_columns!("[[CAST('{}' AS jsonb)||'{}']] AS custom_data"), " FROM systems s")
    } else {
        concat!("SELECT ", row_columns!(), " FROM systems s")
    });
    q.push(JOINED).push(" WHERE ").one_of(db, "s.id", ids);
    let rows = walk::rows(db, q, (ids, step), Row::id, Row::weight).await?;
    rows.into_iter().map(SystemRecord::try_from).collect()
}

/// The next systems of a [`ranked`](super::ranked) list, as of the moment of `unsettled`, and how many it has. The ids
/// before the position are passed over by a search among them.
///
/// # Errors
/// The database's.
pub async fn ranked_walk(
    db: &Db,
    ranked: &[Uuid],
    Unsettled { all, shown }: Unsettled,
    (order, direction): (SystemOrder, SortDirection),
    step: &Step,
) -> Result<(Walked<SystemRecord>, u64), StoreError> {
    let mut ids: Vec<Uuid> = ranked.iter().copied().filter(|id| !all.contains(id)).collect();
    if direction == SortDirection::Desc {
        ids.reverse();
    }
    let total = (ids.len() + shown.len()) as u64;
    let filter = SystemFilter::default();
    let spec = Spec {
        db,
        scope: &Scope::Everything,
        filter: &filter,
        expanded: &[],
        order,
        direction,
        cutoff: Ts(0),
        known: Known::default(),
    };
    let stride = ids.len().isqrt().max(1);
    let from = match &step.after {
        Some(position) => spec.rank(&ids, stride, position).await?,
        None => 0,
    };
    let rest = ids.get(from..).unwrap_or_default();
    let most = usize::try_from(step.rows).unwrap_or(usize::MAX).saturating_add(stride).saturating_add(1);
    let mut near: Vec<Uuid> = rest.iter().take(most).chain(&shown).copied().collect();
    let mut found = spec.among(&near, step).await?;
    if found.1.is_none() && most < rest.len() {
        // Some of them have changed at this moment, so the rest of the page is farther behind.
        near = rest.iter().chain(&shown).copied().collect();
        found = spec.among(&near, step).await?;
    }
    let (ids, next) = found;
    Ok((Walked { rows: rows(db, &ids, step).await?, next }, total))
}

impl Spec<'_> {
    fn leg(&self, after: Option<&Position>, limit: u64) -> (Walk, Option<Start>) {
        let (by, direction) = (self.by(), self.direction);
        let start = after.map(|position| Start::Behind { by, position: position.clone(), direction });
        (Walk { direction, offset: 0, limit }, start)
    }

    fn leg_ids(&self, run: Option<Run>, after: Option<&Position>, limit: u64) -> Q {
        let (walk, start) = self.leg(after, limit);
        self.ids(run, walk, start.as_ref())
    }

    /// An index in `ids`, which are in order, with no row behind the position before it, and at most `stride` rows before
    /// the position behind it.
    async fn rank(&self, ids: &[Uuid], stride: usize, position: &Position) -> Result<usize, StoreError> {
        let probes: Vec<Uuid> = ids.iter().copied().step_by(stride).collect();
        let mut q = Q::new("SELECT s.id FROM systems s");
        self.push_ordered_by(&mut q);
        q.push(" WHERE ").one_of(self.db, "s.id", &probes).push(" AND NOT (1 = 1");
        self.by().push_behind(&mut q, position, self.direction);
        q.push(")");
        let passed: HashSet<Uuid> = q.all::<(Uuid,)>(self.db).await?.into_iter().map(|(id,)| id).collect();
        let before = probes.iter().take_while(|id| passed.contains(id)).count();
        Ok(before.saturating_sub(1).saturating_mul(stride))
    }

    /// The step among these systems.
    async fn among(&self, near: &[Uuid], step: &Step) -> Result<(Vec<Uuid>, Option<Position>), StoreError> {
        let by: By = self.by();
        let ids = |(): &(), after: Option<&Position>, limit| {
            let mut q = Q::new("SELECT ");
            by.push_columns(&mut q);
            q.push(" FROM systems s");
            self.push_ordered_by(&mut q);
            q.push(" WHERE ").one_of(self.db, "s.id", near);
            if let Some(position) = after {
                by.push_behind(&mut q, position, self.direction);
            }
            self.push_order(&mut q, self.direction, "[[||+]]");
            q.push(" LIMIT ?").arg(limit);
            q
        };
        walk::walk(self.db, [((), by)], step, ids).await
    }
}
