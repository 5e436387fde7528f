//! Records and differences of a system by UTC day (spec: inventory#timeline).

use super::reads::{DiffFilter, TimeRange};
use crate::{Db, StoreError, sql::Q};
use bailiwick_domain::SystemId;

/// The day of a time column: days since 1970.
macro_rules! day_of {
    ($column:literal) => {
        concat!(
            "[[CAST(FLOOR(EXTRACT(EPOCH FROM ",
            $column,
            ") / 86400) AS bigint)||",
            $column,
            " / 86400000000]]"
        )
    };
}

/// Differences that pass, by day and severity: day, severity, count.
pub async fn diffs_by_day(
    db: &Db,
    system: SystemId,
    filter: &DiffFilter,
) -> Result<Vec<(i64, i64, i64)>, StoreError> {
    let mut q = Q::new(concat!(
        "SELECT ",
        day_of!("d.record_at"),
        " AS day, d.severity, CAST(COUNT(*) AS bigint) FROM inventory_diffs d WHERE d.system_id = ?"
    ))
    .bind(system);
    filter.push(&mut q);
    q.push(" GROUP BY 1, 2");
    q.all(db).await
}

/// Days with a record in the range.
pub async fn record_days(db: &Db, system: SystemId, range: TimeRange) -> Result<Vec<i64>, StoreError> {
    let mut q = Q::new(concat!(
        "SELECT DISTINCT ",
        day_of!("r.timestamp"),
        " FROM inventory_records r WHERE r.system_id = ?"
    ))
    .bind(system);
    range.push(&mut q, "r.timestamp");
    Ok(q.all::<(i64,)>(db).await?.into_iter().map(|row| row.0).collect())
}

/// Records in the range: day and id, by id.
pub async fn records_by_day(
    db: &Db,
    system: SystemId,
    range: TimeRange,
) -> Result<Vec<(i64, i64)>, StoreError> {
    let mut q = Q::new(concat!(
        "SELECT ",
        day_of!("r.timestamp"),
        ", r.id FROM inventory_records r WHERE r.system_id = ?"
    ))
    .bind(system);
    range.push(&mut q, "r.timestamp");
    q.push(" ORDER BY r.id");
    q.all(db).await
}
