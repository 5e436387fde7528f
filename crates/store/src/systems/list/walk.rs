//! Walks through a list of systems: pages by cursors and exports (spec: conventions#cursors).

use super::{JOINED, KnownCounts, Row, Spec, SystemFilter, SystemOrder, SystemRecord, Window};
use crate::{
    Db, StoreError,
    filters::expand,
    sql::Q,
    systems::row::row_columns,
    walk::{self, Position, SortKey, Step, WalkStep},
};
use bailiwick_domain::SortDirection;
use bailiwick_policy::Scope;
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
    known_counts: KnownCounts,
    step: &Step,
) -> Result<WalkStep<SystemRecord>, StoreError> {
    let expanded = expand(db, filter.organizations.as_deref(), filter.include_hierarchy).await?;
    let spec = Spec::of(scope, filter, &expanded, (order, direction), known_counts);
    let spec = spec.with_total(known_counts.listed.or_else(|| spec.size_of_statuses()));
    let is_by_status = order == SystemOrder::Status;
    let runs = if is_by_status { spec.runs().into_iter().map(Some).collect() } else { vec![None] };
    let sort_key = spec.sort_key();
    let ids = |status: &Option<_>, after: Option<&Position>, limit| {
        let (window, start) = spec.ids_query(after, limit);
        match status {
            Some(status) => spec.ids_of_status(*status, window, start.as_ref()),
            None => spec.ids(None, window, start.as_ref()),
        }
    };
    let (ids, next) = walk::walk(db, runs.into_iter().map(|status| (status, sort_key)), step, ids).await?;
    Ok(WalkStep { rows: rows(db, &ids, step).await?, next })
}

/// The statement that finds the ids of a step in an order by a column; for EXPLAIN.
pub fn walk_query(scope: &Scope, (order, direction): (SystemOrder, SortDirection), step: &Step) -> Q {
    let filter = SystemFilter::default();
    let spec = Spec::of(scope, &filter, &[], (order, direction), KnownCounts::default());
    let (window, start) = spec.ids_query(step.after.as_ref(), step.rows);
    spec.ids(None, window, start.as_ref())
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

/// The start of a walk: the rows behind one.
#[derive(Clone, Debug)]
pub(super) struct Start {
    sort_key: SortKey,
    position: Position,
    direction: SortDirection,
}

impl Start {
    pub(super) fn push(&self, q: &mut Q) {
        if let Some((column @ "o.name_key", _)) = self.sort_key.column {
            self.position.push_not_before(q, column, self.direction);
        }
        self.sort_key.push_behind(q, &self.position, self.direction);
    }

    /// Appends ` AND …` for the rows behind the start, in an order by id alone, where the id has this name.
    pub(super) fn push_by_id(&self, q: &mut Q, id: &'static str) {
        SortKey { column: None, id }.push_behind(q, &self.position, self.direction);
    }
}

impl Spec<'_> {
    fn ids_query(&self, after: Option<&Position>, limit: u64) -> (Window, Option<Start>) {
        let (sort_key, direction) = (self.sort_key(), self.direction);
        let start = after.map(|position| Start { sort_key, position: position.clone(), direction });
        (Window { offset: 0, limit }, start)
    }
}
