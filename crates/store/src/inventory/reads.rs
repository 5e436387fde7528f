//! Reads for management: history, differences, summaries (spec: inventory#reads). Each read is of one system and
//! limited: rows are counted and chosen first, with the size of their contents, and then loaded by their ids.

use super::records::{MetaRow, Record, RecordMeta, RecordRow, meta_columns, record_columns};
use crate::{
    Db, StoreError,
    filters::push_in,
    sql::{On, Q},
    time::TsCodec,
};
use bailiwick_domain::{Page, PageRequest, SystemId, Ts, fold::contains_pattern};
use sqlx_macros::FromRow;

const OF_SYSTEM: &str = concat!(
    "SELECT ",
    record_columns!(),
    " FROM inventory_records r LEFT JOIN inventory_bases b ON b.id = r.base_id WHERE r.id = ? AND r.system_id = ?"
);
const LAST_PROCESSED: &str = "SELECT id, timestamp FROM inventory_records WHERE system_id = ? \
     AND processed_at IS NOT NULL ORDER BY id DESC LIMIT 1";
const LATEST_TIME: &str = "SELECT r.id, r.timestamp FROM system_activity a \
     JOIN inventory_records r ON r.id = a.latest_inventory_id WHERE a.system_id = ?";
const COUNTS: &str = "SELECT category, severity, CAST(COUNT(*) AS bigint) AS all_of_them, \
     CAST(SUM(CASE WHEN record_at >= ? THEN 1 ELSE 0 END) AS bigint) AS recent FROM inventory_diffs \
     WHERE system_id = ? GROUP BY category, severity";
const COUNTS_OF_RECORD: &str = "SELECT category, severity, CAST(COUNT(*) AS bigint) AS all_of_them, \
     CAST(COUNT(*) AS bigint) AS recent FROM inventory_diffs WHERE current_id = ? GROUP BY category, severity";
const OPEN_ALERTS: &str = "SELECT CAST(COUNT(*) AS bigint) FROM inventory_alerts WHERE system_id = ? \
     AND resolved_at IS NULL AND created_at > ? AND (CAST(? AS bigint) IS NULL OR record_id = ?)";
const NEWEST_BATCH: &str = "SELECT current_id, created_at FROM inventory_diffs WHERE system_id = ? \
     ORDER BY created_at DESC, id DESC LIMIT 1";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![
    OF_SYSTEM,
    LAST_PROCESSED,
    LATEST_TIME,
    COUNTS,
    COUNTS_OF_RECORD,
    OPEN_ALERTS,
    NEWEST_BATCH
];

/// A time range: from the first moment on, and before the second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeRange {
    /// None: from the beginning.
    pub from: Option<Ts>,
    /// None: to the end.
    pub before: Option<Ts>,
}

impl TimeRange {
    pub(super) fn push(&self, q: &mut Q, column: &str) {
        for (bound, relation) in [(self.from, ">="), (self.before, "<")] {
            if let Some(at) = bound {
                q.push(&format!(" AND {column} {relation} ?")).arg(at);
            }
        }
    }
}

/// The filter of differences. A list that is given but empty matches nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiffFilter {
    /// 0 critical to 3 low.
    pub severities: Option<Vec<i64>>,
    /// Words.
    pub categories: Option<Vec<String>>,
    /// 0 delete, 1 update, 2 create.
    pub kinds: Option<Vec<i64>>,
    /// Records compared.
    pub records: Option<Vec<i64>>,
    /// Of the record's timestamp.
    pub range: TimeRange,
    /// Contained in path or value, ignoring case.
    pub search: Option<String>,
}

/// Longest text to search for, in bytes.
const MAX_SEARCH: usize = 4096;

impl DiffFilter {
    pub(super) fn push(&self, q: &mut Q) {
        if let Some(values) = &self.severities {
            q.push(" AND d.severity IN (").list(values.iter().copied()).push(")");
        }
        if let Some(values) = &self.categories {
            push_in(q, "d.category", values);
        }
        if let Some(values) = &self.kinds {
            q.push(" AND d.kind IN (").list(values.iter().copied()).push(")");
        }
        if let Some(values) = &self.records {
            q.push(" AND d.current_id IN (").list(values.iter().copied()).push(")");
        }
        self.range.push(q, "d.record_at");
        if let Some(text) = &self.search {
            if text.len() > MAX_SEARCH || text.contains(['\0', super::diffs::SEPARATOR]) {
                q.push(" AND 1 = 0");
                return;
            }
            q.push(
                " AND COALESCE(d.folded, d.field_path || [[chr||char]](31) || COALESCE(d.previous_value, '') || \
                 [[chr||char]](31) || COALESCE(d.current_value, '')) LIKE ? [[||ESCAPE '\\']]",
            )
            .arg(contains_pattern(text));
        }
    }
}

/// A page of a system's records without their texts, newest first.
pub async fn history(
    db: &Db,
    system: SystemId,
    range: TimeRange,
    page: PageRequest,
) -> Result<Page<RecordMeta>, StoreError> {
    let mut count =
        Q::new("SELECT CAST(COUNT(*) AS bigint) FROM inventory_records WHERE system_id = ?").bind(system);
    range.push(&mut count, "timestamp");
    let total = count.count(db).await?;
    let mut q = Q::new(concat!("SELECT ", meta_columns!(), " FROM inventory_records r WHERE system_id = ?"))
        .bind(system);
    range.push(&mut q, "timestamp");
    q.push(" ORDER BY timestamp DESC, id DESC LIMIT ? OFFSET ?").arg(page.page_size).arg(page.offset());
    let rows: Vec<MetaRow> = if page.offset() < total { q.all(db).await? } else { Vec::new() };
    Ok(Page { rows: rows.into_iter().map(RecordMeta::from).collect(), total, request: page })
}

/// A record of that system.
pub async fn record(on: impl Into<On<'_>>, system: SystemId, id: i64) -> Result<Option<Record>, StoreError> {
    let row: Option<RecordRow> = Q::new(OF_SYSTEM).bind(id).bind(system).optional(on).await?;
    Ok(row.map(Record::from))
}

/// Id and timestamp of the system's latest record.
pub async fn latest_time(db: &Db, system: SystemId) -> Result<Option<(i64, Ts)>, StoreError> {
    let row: Option<(i64, TsCodec)> = Q::new(LATEST_TIME).bind(system).optional(db).await?;
    Ok(row.map(|(id, at)| (id, at.0)))
}

/// Id and timestamp of the newest record that was compared.
pub async fn last_processed(db: &Db, system: SystemId) -> Result<Option<(i64, Ts)>, StoreError> {
    let row: Option<(i64, TsCodec)> = Q::new(LAST_PROCESSED).bind(system).optional(db).await?;
    Ok(row.map(|(id, at)| (id, at.0)))
}

/// How many differences of a category and severity there are.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct DiffCount {
    /// Word.
    pub category: String,
    /// 0 critical to 3 low.
    pub severity: i64,
    /// In all.
    pub all_of_them: i64,
    /// Of records since the given moment.
    pub recent: i64,
}

/// Counts the differences of a system; those since `since` count as recent.
pub async fn diff_counts(db: &Db, system: SystemId, since: Ts) -> Result<Vec<DiffCount>, StoreError> {
    Q::new(COUNTS).bind(since).bind(system).all(db).await
}

/// Counts the differences of one record.
pub async fn diff_counts_of(db: &Db, record: i64) -> Result<Vec<DiffCount>, StoreError> {
    Q::new(COUNTS_OF_RECORD).bind(record).all(db).await
}

/// Whether an alert raised after that moment has not ended: of that record, or of any.
pub async fn has_alert(
    db: &Db,
    system: SystemId,
    after: Ts,
    record: Option<i64>,
) -> Result<bool, StoreError> {
    Ok(Q::new(OPEN_ALERTS).bind(system).bind(after).bind(record).bind(record).count(db).await? > 0)
}

/// A chosen difference: its id and its approximate size in bytes.
pub type Chosen = (i64, i64);

const CHOSEN: &str = "SELECT d.id, CAST(COALESCE(LENGTH(d.previous_value), 0) + COALESCE(LENGTH(d.current_value), 0) \
     AS bigint) FROM inventory_diffs d WHERE d.system_id = ?";

/// A page of a system's differences, newest batch first.
pub async fn diffs(
    db: &Db,
    system: SystemId,
    filter: &DiffFilter,
    page: PageRequest,
) -> Result<Page<Chosen>, StoreError> {
    let mut count =
        Q::new("SELECT CAST(COUNT(*) AS bigint) FROM inventory_diffs d WHERE d.system_id = ?").bind(system);
    filter.push(&mut count);
    let total = count.count(db).await?;
    let mut q = Q::new(CHOSEN).bind(system);
    filter.push(&mut q);
    q.push(" ORDER BY d.created_at DESC, d.id LIMIT ? OFFSET ?").arg(page.page_size).arg(page.offset());
    let rows = if page.offset() < total { q.all(db).await? } else { Vec::new() };
    Ok(Page { rows, total, request: page })
}

/// The batch of the newest record with differences, the most severe first; with the record, none when it was thinned
/// out. None: no differences at all.
pub async fn newest_batch(
    db: &Db,
    system: SystemId,
) -> Result<Option<(Option<i64>, Vec<Chosen>)>, StoreError> {
    let newest: Option<(Option<i64>, TsCodec)> = Q::new(NEWEST_BATCH).bind(system).optional(db).await?;
    let Some((record, TsCodec(created_at))) = newest else { return Ok(None) };
    let mut q = Q::new(CHOSEN).bind(system);
    match record {
        Some(id) => q.push(" AND d.current_id = ?").arg(id),
        None => q.push(" AND d.current_id IS NULL AND d.created_at = ?").arg(created_at),
    };
    q.push(" ORDER BY d.severity, d.id");
    Ok(Some((record, q.all(db).await?)))
}

/// A stored difference (spec: inventory#shapes).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffRow {
    /// Ascending in order of creation.
    pub id: i64,
    /// Record compared with; none when thinned out.
    pub previous_id: Option<i64>,
    /// Record compared; none when thinned out.
    pub current_id: Option<i64>,
    /// 0 delete, 1 update, 2 create.
    pub kind: i64,
    /// 0 critical to 3 low.
    pub severity: i64,
    /// Word.
    pub category: String,
    /// Shown path.
    pub field_path: String,
    /// JSON text.
    pub previous_value: Option<String>,
    /// JSON text.
    pub current_value: Option<String>,
    /// Whether a notification was sent.
    pub notification_sent: bool,
    /// When it was found.
    pub created_at: Ts,
}

#[derive(FromRow)]
struct Row {
    id: i64,
    previous_id: Option<i64>,
    current_id: Option<i64>,
    kind: i64,
    severity: i64,
    category: String,
    field_path: String,
    previous_value: Option<String>,
    current_value: Option<String>,
    notification_sent: bool,
    created_at: TsCodec,
}

/// Differences by id, in the order of the given ids; those that no longer exist are left out.
pub async fn diffs_by_id(db: &Db, ids: &[i64]) -> Result<Vec<DiffRow>, StoreError> {
    let mut q = Q::new(
        "SELECT id, previous_id, current_id, kind, severity, category, field_path, previous_value, current_value, \
         notification_sent, created_at FROM inventory_diffs WHERE id IN (",
    );
    q.list(crate::sql::padded(ids).copied()).push(")");
    let rows: Vec<Row> = q.all(db).await?;
    let mut by_id: std::collections::HashMap<i64, Row> = rows.into_iter().map(|row| (row.id, row)).collect();
    let of_row = |r: Row| DiffRow {
        id: r.id,
        previous_id: r.previous_id,
        current_id: r.current_id,
        kind: r.kind,
        severity: r.severity,
        category: r.category,
        field_path: r.field_path,
        previous_value: r.previous_value,
        current_value: r.current_value,
        notification_sent: r.notification_sent,
        created_at: r.created_at.0,
    };
    Ok(ids.iter().filter_map(|id| by_id.remove(id)).map(of_row).collect())
}
