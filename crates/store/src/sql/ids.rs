//! Conditions by ids, for a varying number of ids.

use super::{Arg, On, Q};
use uuid::Uuid;

/// A power of two of values, the last one repeated: few different texts, so that they stay prepared.
pub(crate) fn padded<T>(values: &[T]) -> impl Iterator<Item = &T> {
    let more = values.last().map_or(0, |_| values.len().next_power_of_two() - values.len());
    values.iter().chain(values.last().into_iter().cycle().take(more))
}

/// How many values PostgreSQL expects of an array that it does not know. It would plan a statement anew for each
/// shorter array, which takes longer than to run it.
pub(crate) const LIKE_ANY_ARRAY: usize = 10;

/// The values, the last one repeated until there are so many.
pub(crate) fn at_least<T: Copy>(number: usize, values: &[T]) -> Vec<T> {
    let more = number.saturating_sub(values.len());
    values.iter().copied().chain(values.last().copied().into_iter().cycle().take(more)).collect()
}

impl Q {
    /// Appends the condition that a column is one of these ids. One text on PostgreSQL, few on SQLite.
    pub(crate) fn one_of<'a>(&mut self, on: impl Into<On<'a>>, column: &str, ids: &[Uuid]) -> &mut Q {
        let is_postgres = match on.into() {
            On::Db(db) => db.is_postgres(),
            On::Tx(tx) => tx.is_postgres(),
        };
        if is_postgres {
            self.push(column).push(" = ANY(?)").arg(Arg::Ids(at_least(LIKE_ANY_ARRAY, ids)))
        } else {
            self.push(column).push(" IN (").list(padded(ids).copied()).push(")")
        }
    }
}
