//! Walks through a list of systems: pages by cursors and exports (spec: conventions#cursors).

use super::{JOINED, Known, Row, Spec, Start, SystemFilter, SystemOrder, SystemRecord, Walk};
use crate::{
    Db, StoreError,
    filters::expand,
    sql::Q,
    systems::row::row_columns,
    walk::{self, Position, Step, Walked},
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
    known: Known<'_>,
    step: &Step,
) -> Result<Walked<SystemRecord>, StoreError> {
    let expanded = expand(db, filter.organizations.as_deref(), filter.include_hierarchy).await?;
    let spec = Spec { db, scope, filter, expanded: &expanded, order, direction, known };
    let few = spec.few_of_statuses(db).await?;
    let spec = Spec { known: Known { matches: few.as_ref().or(known.matches), ..known }, ..spec };
    let is_by_status = order == SystemOrder::Status;
    let runs = if is_by_status { spec.runs().into_iter().map(Some).collect() } else { vec![None] };
    let by = spec.by();
    let ids = |status: &Option<_>, after: Option<&Position>, limit| {
        let (walk, start) = spec.leg(after, limit);
        match status {
            Some(status) => spec.ids_of_status(*status, walk, start.as_ref()),
            None => spec.ids(None, walk, start.as_ref()),
        }
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
    let (filter, known) = (&SystemFilter::default(), Known::default());
    let spec = Spec { db, scope, filter, expanded: &[], order, direction, known };
    let (walk, start) = spec.leg(step.after.as_ref(), step.rows);
    spec.ids(None, walk, start.as_ref())
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

impl Spec<'_> {
    fn leg(&self, after: Option<&Position>, limit: u64) -> (Walk, Option<Start>) {
        let (by, direction) = (self.by(), self.direction);
        let start = after.map(|position| Start { by, position: position.clone(), direction });
        (Walk { direction, offset: 0, limit }, start)
    }
}
