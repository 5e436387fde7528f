//! The query of the differences of a system (spec: inventory#reads).

use crate::Params;
use bailiwick_fleet::inventory::{self, DiffFilter, TimeRange};

/// The time range that the query names.
pub fn range(params: &Params) -> TimeRange {
    inventory::time_range(params.one("from_date"), params.one("to_date"))
}

/// Which differences the query asks for.
pub fn filter(params: &Params) -> DiffFilter {
    DiffFilter { range: range(params), ..params.filter(inventory::FILTERS) }
}
