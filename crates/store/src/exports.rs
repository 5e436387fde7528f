//! Reads for exports: the rows of a list without pages, in one statement, limited in number and in size.

use crate::StoreError;

/// How much an export may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Most rows.
    pub rows: u64,
    /// Most bytes of text in them together.
    pub bytes: usize,
}

/// The found rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Found<T> {
    /// All rows that match.
    Rows(Vec<T>),
    /// There are more rows than allowed: so many.
    TooMany(u64),
    /// The rows hold more text than allowed.
    TooHeavy,
}

impl<T> Found<T> {
    /// From the rows of a statement that reads one more than allowed.
    pub(crate) fn of(read: Result<Vec<T>, StoreError>, bounds: Bounds) -> Result<Found<T>, StoreError> {
        match read {
            Ok(rows) if rows.len() as u64 > bounds.rows => Ok(Found::TooMany(rows.len() as u64)),
            Ok(rows) => Ok(Found::Rows(rows)),
            Err(StoreError::TooHeavy) => Ok(Found::TooHeavy),
            Err(e) => Err(e),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_rows_as_allowed_are_not_too_many() {
        let bounds = Bounds { rows: 2, bytes: 9 };
        assert_eq!(Found::of(Ok(vec![1, 2]), bounds).unwrap(), Found::Rows(vec![1, 2]));
        assert_eq!(Found::of(Ok(vec![1, 2, 3]), bounds).unwrap(), Found::TooMany(3));
        assert_eq!(Found::<u8>::of(Err(StoreError::TooHeavy), bounds).unwrap(), Found::TooHeavy);
        assert!(Found::<u8>::of(Err(StoreError::Misuse("x")), bounds).is_err());
    }
}
