//! Many rows in one statement: arrays on PostgreSQL, a list of values on SQLite.

use super::{Arg, Q};
use bailiwick_domain::Ts;
use uuid::Uuid;

/// Most rows of one statement: SQLite bounds the number of placeholders.
pub(crate) const ROWS: usize = 500;

/// The values of one column, one for each row.
#[derive(Clone, Debug)]
pub(crate) enum Column {
    /// UUIDs.
    Ids(Vec<Uuid>),
    /// UUIDs or NULL.
    SomeIds(Vec<Option<Uuid>>),
    /// Texts or NULL; also JSON, to be cast where it is used.
    Texts(Vec<Option<String>>),
    /// Integers.
    Ints(Vec<i64>),
    /// Times or NULL.
    Times(Vec<Option<Ts>>),
    /// Bytes.
    Blobs(Vec<Vec<u8>>),
}

impl Column {
    /// Texts without NULL.
    pub(crate) fn texts<'a>(values: impl IntoIterator<Item = &'a str>) -> Column {
        Column::Texts(values.into_iter().map(|v| Some(v.to_owned())).collect())
    }

    /// Times without NULL.
    pub(crate) fn times(values: impl IntoIterator<Item = Ts>) -> Column {
        Column::Times(values.into_iter().map(Some).collect())
    }

    fn len(&self) -> usize {
        match self {
            Column::Ids(v) => v.len(),
            Column::SomeIds(v) => v.len(),
            Column::Texts(v) => v.len(),
            Column::Ints(v) => v.len(),
            Column::Times(v) => v.len(),
            Column::Blobs(v) => v.len(),
        }
    }

    fn array(self) -> (&'static str, Arg) {
        match self {
            Column::Ids(v) => ("?::uuid[]", Arg::Ids(v)),
            Column::SomeIds(v) => ("?::uuid[]", Arg::SomeIds(v)),
            Column::Texts(v) => ("?::text[]", Arg::SomeTexts(v)),
            Column::Ints(v) => ("?::bigint[]", Arg::Ints(v)),
            Column::Times(v) => ("?::timestamptz[]", Arg::SomeTimes(v)),
            Column::Blobs(v) => ("?::bytea[]", Arg::Blobs(v)),
        }
    }

    fn value(&self, row: usize) -> Arg {
        match self {
            Column::Ids(v) => Arg::Id(v.get(row).copied()),
            Column::SomeIds(v) => Arg::Id(v.get(row).copied().flatten()),
            Column::Texts(v) => Arg::Text(v.get(row).cloned().flatten()),
            Column::Ints(v) => Arg::Int(v.get(row).copied()),
            Column::Times(v) => Arg::Time(v.get(row).copied().flatten()),
            Column::Blobs(v) => Arg::Bytes(v.get(row).cloned()),
        }
    }
}

/// Appends the rows as a table called `v`, its columns as named. All columns have the same length, at most [`ROWS`].
pub(crate) fn push_rows(q: &mut Q, is_postgres: bool, columns: Vec<(&str, Column)>) {
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    if is_postgres {
        let (places, args): (Vec<&str>, Vec<Arg>) = columns.into_iter().map(|(_, c)| c.array()).unzip();
        q.push(&format!("unnest({}) AS v ({})", places.join(", "), names.join(", ")));
        for arg in args {
            q.arg(arg);
        }
        return;
    }
    let rows = columns.first().map_or(0, |(_, column)| column.len());
    let renamed: Vec<String> =
        names.iter().enumerate().map(|(i, name)| format!("column{} AS {name}", i + 1)).collect();
    let row = format!("({})", vec!["?"; columns.len()].join(", "));
    q.push(&format!("(SELECT {} FROM (VALUES {})) AS v", renamed.join(", "), vec![row; rows].join(", ")));
    for i in 0..rows {
        for (_, column) in &columns {
            q.arg(column.value(i));
        }
    }
}
