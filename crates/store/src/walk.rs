//! Walks through a list: each step begins behind the last row of the step before, so a late step costs what the first
//! one costs, and rows that come and go in between move no other row into or out of a step (spec: conventions#cursors).
//!
//! The order of a list is a sequence of runs. In each run a column and the id decide, in the same direction, so the
//! condition for the rows behind a position is a range of the index that has this order. Rows without a value are a run
//! of their own.

use crate::{Db, StoreError, sql::Arg, sql::Q, time::TsCodec};
use bailiwick_domain::{SortDirection, Ts};
use serde_json::{Value, json};
use uuid::Uuid;

/// The place of a row in the order of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    run: u64,
    value: Sorted,
    id: Uuid,
}

/// The value that a row was sorted by.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Sorted {
    /// The run has the order of the ids.
    ById,
    Text(String),
    Time(Ts),
    Number(i64),
}

impl Position {
    /// For [`Position::from_json`].
    pub fn to_json(&self) -> Value {
        let (kind, value) = match &self.value {
            Sorted::ById => ("id", Value::Null),
            Sorted::Text(text) => ("text", json!(text)),
            Sorted::Time(at) => ("time", json!(at.0)),
            Sorted::Number(n) => ("number", json!(n)),
        };
        json!([self.run, kind, value, self.id.to_string()])
    }

    /// Reads the result of [`Position::to_json`]; none for anything else.
    pub fn from_json(value: &Value) -> Option<Position> {
        let (run, id) = (value[0].as_u64()?, value[3].as_str()?.parse().ok()?);
        let sorted = match value[1].as_str()? {
            "id" => Sorted::ById,
            "text" => Sorted::Text(value[2].as_str()?.to_owned()),
            "time" => Sorted::Time(Ts(value[2].as_i64()?)),
            "number" => Sorted::Number(value[2].as_i64()?),
            _ => return None,
        };
        Some(Position { run, value: sorted, id })
    }
}

/// The next rows of a walk.
#[derive(Clone, Debug)]
pub struct Step {
    /// The end of the step before; none = the beginning.
    pub after: Option<Position>,
    /// Most rows.
    pub rows: u64,
    /// Most bytes of the texts that clients can make long, for steps of many rows. A single row is read whatever it
    /// has.
    pub bytes: Option<usize>,
}

impl Step {
    /// The number of the run that the step begins in.
    pub(crate) fn run(&self) -> usize {
        self.after.as_ref().map_or(0, |after| usize::try_from(after.run).unwrap_or(usize::MAX))
    }
}

/// The rows of a step.
#[derive(Clone, Debug)]
pub struct WalkStep<T> {
    /// In order; fewer than asked for if some were removed while they were read.
    pub rows: Vec<T>,
    /// The end of this step, if there are rows behind it.
    pub next: Option<Position>,
}

/// The kinds of values to sort by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SortType {
    Text,
    Time,
    Number,
}

/// The order of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SortKey {
    /// None: the ids alone.
    pub column: Option<(&'static str, SortType)>,
    /// Decides between equals.
    pub id: &'static str,
}

/// Begins a statement that finds the ids of a page; [`push_page_end`] ends it.
pub(crate) const PAGE: &str = "SELECT * FROM (";

/// Ends it.
pub(crate) fn push_page_end(q: &mut Q, limit: u64, offset: u64) {
    q.push(&format!(" LIMIT {}) page LIMIT ? OFFSET ?", bound(limit, offset))).arg(limit).arg(offset);
}

/// Up to this many matches of a filter are found and sorted. Looked for in the order of all rows, a page of them would
/// read a good part of the table.
pub(crate) const MAX_SORTED: u64 = 1_000;

/// Ends the rows of a [`PAGE`], which begin with `SELECT * FROM (SELECT` and the columns of [`SortKey::push_columns`],
/// and sorts them. The fence and the sign keep both engines from looking for the page in the order of an index.
pub(crate) fn push_found_order(q: &mut Q, sort_key: SortKey, direction: SortDirection) {
    let word = direction.as_str();
    q.push("[[ OFFSET 0||]]) found ORDER BY ");
    if sort_key.column.is_some() {
        q.push(&format!("[[||+]]page_value {word}, "));
    }
    q.push(&format!("[[||+]]page_id {word}"));
}

/// How many rows the text of a statement allows it to walk through; its parameters select the page among them. Without
/// a bound in the text PostgreSQL plans the statement anew for each page, which takes as long as a walk through a
/// thousand rows. The bound is a power of eight: each connection plans the first five executions of a text anew, so
/// there should be few.
fn bound(limit: u64, offset: u64) -> i64 {
    let rows = limit.saturating_add(offset);
    let walked = (2..).map_while(|power| 8_i64.checked_pow(power)).find(|bound| bound.unsigned_abs() >= rows);
    walked.unwrap_or(i64::MAX)
}

impl SortKey {
    /// Appends the columns that [`walk`] reads.
    pub(crate) fn push_columns(self, q: &mut Q) {
        q.push(self.id).push(" AS page_id");
        if let Some((column, _)) = self.column {
            q.push(&format!(", {column} AS page_value"));
        }
    }

    /// Appends ` AND …`: only rows behind the position.
    pub(crate) fn push_behind(self, q: &mut Q, position: &Position, direction: SortDirection) {
        let sign = match direction {
            SortDirection::Asc => ">",
            SortDirection::Desc => "<",
        };
        match (self.column, position.arg()) {
            (Some((column, _)), Some(value)) => {
                q.push(&format!(" AND ({column}, {}) {sign} (?, ?)", self.id)).arg(value).arg(position.id)
            }
            _ => q.push(&format!(" AND {} {sign} ?", self.id)).arg(position.id),
        };
    }
}

impl Position {
    fn arg(&self) -> Option<Arg> {
        match &self.value {
            Sorted::ById => None,
            Sorted::Text(text) => Some(text.into()),
            Sorted::Time(at) => Some((*at).into()),
            Sorted::Number(n) => Some((*n).into()),
        }
    }

    /// Appends ` AND …` for a first table of a join that has the sort column alone: the engines derive no range of it
    /// from a comparison of columns of two tables.
    pub(crate) fn push_not_before(&self, q: &mut Q, column: &str, direction: SortDirection) {
        let Some(value) = self.arg() else { return };
        let sign = match direction {
            SortDirection::Asc => ">=",
            SortDirection::Desc => "<=",
        };
        q.push(&format!(" AND {column} {sign} ?")).arg(value);
    }
}

/// The ids of a step's rows, and the end of the step if there are rows behind it. `runs` are in the order of the walk;
/// `ids` makes the statement that finds at most so many rows of a run, behind the position if there is one, with the
/// columns of [`SortKey::push_columns`].
///
/// # Errors
/// The database's.
pub(crate) async fn walk<R>(
    db: &Db,
    runs: impl IntoIterator<Item = (R, SortKey)>,
    step: &Step,
    ids: impl Fn(&R, Option<&Position>, u64) -> Q,
) -> Result<(Vec<Uuid>, Option<Position>), StoreError> {
    let mut positions: Vec<Position> = Vec::new();
    let wanted = step.rows.saturating_add(1);
    for (run, (part, sort_key)) in (0..).zip(runs).skip(step.run()) {
        let missing = wanted.saturating_sub(positions.len() as u64);
        if missing == 0 {
            break;
        }
        let after = step.after.as_ref().filter(|after| after.run == run);
        read(db, ids(&part, after, missing), sort_key, run, &mut positions).await?;
    }
    let limit = usize::try_from(step.rows).unwrap_or(usize::MAX);
    let next = if positions.len() > limit { positions.get(limit.saturating_sub(1)).cloned() } else { None };
    Ok((positions.into_iter().take(limit).map(|position| position.id).collect(), next))
}

async fn read(
    db: &Db,
    q: Q,
    sort_key: SortKey,
    run: u64,
    positions: &mut Vec<Position>,
) -> Result<(), StoreError> {
    let mut take = |id, value| positions.push(Position { run, value, id });
    match sort_key.column {
        None => {
            let rows: Vec<(Uuid,)> = q.all(db).await?;
            rows.into_iter().for_each(|(id,)| take(id, Sorted::ById));
        }
        Some((_, SortType::Text)) => {
            let rows: Vec<(Uuid, String)> = q.all(db).await?;
            rows.into_iter().for_each(|(id, text)| take(id, Sorted::Text(text)));
        }
        Some((_, SortType::Time)) => {
            let rows: Vec<(Uuid, TsCodec)> = q.all(db).await?;
            rows.into_iter().for_each(|(id, at)| take(id, Sorted::Time(at.0)));
        }
        Some((_, SortType::Number)) => {
            let rows: Vec<(Uuid, i64)> = q.all(db).await?;
            rows.into_iter().for_each(|(id, n)| take(id, Sorted::Number(n)));
        }
    }
    Ok(())
}

/// A part of an order by a column that may have no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NullPart {
    /// All rows; each has a value.
    All,
    /// Those with a value.
    With,
    /// Those without, which are the greatest.
    Without,
}

/// The runs of an order by a column that may have no value, or that always has one.
pub(crate) fn runs(
    (column, kind): (&'static str, SortType),
    is_nullable: bool,
    direction: SortDirection,
    id: &'static str,
) -> Vec<(NullPart, SortKey)> {
    let sort_key = SortKey { column: Some((column, kind)), id };
    let without = (NullPart::Without, SortKey { column: None, id });
    match (is_nullable, direction) {
        (false, _) => vec![(NullPart::All, sort_key)],
        (true, SortDirection::Asc) => vec![(NullPart::With, sort_key), without],
        (true, SortDirection::Desc) => vec![without, (NullPart::With, sort_key)],
    }
}

/// The rows of a walk by their ids, in this order, within the bytes of the step.
///
/// # Errors
/// [`StoreError::TooHeavy`] if several rows do not fit.
pub(crate) async fn rows<T: crate::sql::Row>(
    db: &Db,
    q: Q,
    (ids, step): (&[Uuid], &Step),
    id_of: impl Fn(&T) -> Uuid,
    weight: impl Fn(&T) -> usize + Send + Sync,
) -> Result<Vec<T>, StoreError> {
    let unordered = match step.bytes {
        Some(bytes) if ids.len() > 1 => q.all_within(db, bytes, weight).await?,
        _ => q.all(db).await?,
    };
    Ok(in_order(ids, unordered, id_of))
}

/// The rows in the order of their ids.
pub(crate) fn in_order<T, I: Copy + Eq + std::hash::Hash>(
    ids: &[I],
    rows: Vec<T>,
    id_of: impl Fn(&T) -> I,
) -> Vec<T> {
    let mut rows: std::collections::HashMap<I, T> = rows.into_iter().map(|row| (id_of(&row), row)).collect();
    ids.iter().filter_map(|id| rows.remove(id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_read_as_it_is_written() {
        for value in [Sorted::ById, Sorted::Text("a\"ß".into()), Sorted::Time(Ts(-7)), Sorted::Number(4)] {
            let position = Position { run: 3, value, id: Uuid::from_u128(7) };
            assert_eq!(Position::from_json(&position.to_json()), Some(position));
        }
        for other in [json!(null), json!([0, "x", null, Uuid::nil()]), json!([0, "text", 1, Uuid::nil()])] {
            assert_eq!(Position::from_json(&other), None, "{other}");
        }
    }

    #[test]
    fn rows_behind_a_position_are_one_range() {
        let text = |sort_key: SortKey, value, direction| {
            let mut q = Q::new("");
            sort_key.push_behind(&mut q, &Position { run: 0, value, id: Uuid::nil() }, direction);
            q.text_for(false)
        };
        let sort_key = SortKey { column: Some(("s.name_key", SortType::Text)), id: "s.id" };
        let value = Sorted::Text(String::new());
        assert_eq!(text(sort_key, value.clone(), SortDirection::Asc), " AND (s.name_key, s.id) > (?, ?)");
        assert_eq!(text(sort_key, value, SortDirection::Desc), " AND (s.name_key, s.id) < (?, ?)");
        let by_id = SortKey { column: None, id: "s.id" };
        assert_eq!(text(by_id, Sorted::ById, SortDirection::Desc), " AND s.id < ?");
    }
}
