//! The order of versions.

use std::cmp::Ordering;

/// A run of digits or of other characters. Of numbers the longer one is greater, so any length will do.
#[derive(Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Piece<'v> {
    Other(&'v str),
    Number(usize, &'v str),
}

fn pieces(version: &str) -> impl Iterator<Item = Piece<'_>> {
    let runs = version.as_bytes().chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit());
    runs.map(|run| std::str::from_utf8(run).unwrap_or_default()).map(|run| {
        if run.starts_with(|c: char| c.is_ascii_digit()) {
            let digits = run.trim_start_matches('0');
            Piece::Number(digits.len(), digits)
        } else {
            Piece::Other(run)
        }
    })
}

/// Compares versions by their numbers: 3.19 is greater than 3.9.
pub(crate) fn compare(a: &str, b: &str) -> Ordering {
    pieces(a).cmp(pieces(b)).then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_their_numbers() {
        let mut all = [
            "3.9.5",
            "3.2.0",
            "3.19.2.1",
            "",
            "3.12.5",
            "3.11",
            "10",
            "3.11-rc1",
            "v2",
            "20260301120000999999999",
        ];
        all.sort_by(|a, b| compare(a, b));
        let expected = [
            "",
            "v2",
            "3.2.0",
            "3.9.5",
            "3.11",
            "3.11-rc1",
            "3.12.5",
            "3.19.2.1",
            "10",
            "20260301120000999999999",
        ];
        assert_eq!(all, expected);
    }
}
