//! The list of systems by cursors.

use super::{SystemQuery, SystemRecord, known_counts, prepare};
use crate::Fleet;
use bailiwick_domain::{CursorPage, Result, System};
use bailiwick_platform::{answer_cache, cursor::Walk};
use bailiwick_policy::{Caller, Resource, Scope, list_scope};
use bailiwick_store::{
    systems::{self, KnownCounts},
    walk::WalkStep as Found,
};

/// `GET /systems` with a cursor; an empty one begins the walk.
///
/// # Errors
/// 400 for a cursor that is not of this list.
pub async fn walk(
    service: &Fleet,
    caller: &Caller,
    query: SystemQuery,
    cursor: &str,
) -> Result<CursorPage<System>> {
    let scope = list_scope(caller, Resource::Systems)?;
    let order = prepare(&query)?;
    let list = answer_cache::key_text(&("systems", &query.filter, order));
    let walk = Walk::open(&service.platform, &list, cursor)?;
    let (rows, step) = (query.page.page_size, walk.step(query.page.page_size));
    let total = match walk.total() {
        // Each step but the first has it from its cursor, and counts nothing.
        Some(total) => total,
        None => {
            let counts = known_counts(service, scope, &query, order.0).await?;
            systems::total(&service.platform.db, &scope, &query.filter, counts).await?
        }
    };
    let counts = KnownCounts { listed: Some(total), totals: None };
    let found = systems::walk(&service.platform.db, &scope, &query.filter, order, counts, &step).await?;
    walk.page(seen_from(&scope, found), total, rows)
}

fn seen_from(scope: &Scope, records: Found<SystemRecord>) -> Found<System> {
    let rows = records.rows.into_iter().map(|record| record.seen_from(scope).system);
    Found { rows: rows.collect(), next: records.next }
}
