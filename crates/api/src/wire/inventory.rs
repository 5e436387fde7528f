//! Inventory records, differences, summaries (spec: inventory#shapes, inventory#timeline).

use crate::envelope::Pagination;
use bailiwick_domain::{Error, SystemId, Ts};
use bailiwick_fleet::inventory::{
    Category, ChangeKind, Day, DiffRow, Latest, RecordMeta, Severity, Summary, Timeline,
};
use serde::Serialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// An inventory record: a document that a system has sent, with the result of its comparison.
#[derive(Debug, Serialize, ToSchema)]
pub struct InventoryRecordOutput {
    /// Number of the record; later records have greater numbers.
    pub id: i64,
    /// Id of the system that sent the document.
    pub system_id: String,
    /// When this document was last received. A repeated document moves this time and adds no record.
    #[schema(value_type = String, format = DateTime)]
    pub timestamp: Ts,
    /// The document with the same value as received. Absent with `fields=meta`.
    // It goes from storage to wire without being parsed.
    #[schema(value_type = Object)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<RawValue>>,
    /// SHA-256 of the document's canonical text, in lower-case hexadecimal.
    pub data_hash: String,
    /// Size of the document's canonical text in bytes.
    pub data_size: i64,
    /// When the record was compared with the one before it; null until then.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub processed_at: Option<Ts>,
    /// Whether the comparison found changes.
    pub has_changes: bool,
    /// Number of changes that the comparison found.
    pub change_count: i64,
    /// When the record was created.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Ts,
    /// When the record was last changed, for example because the same document arrived again.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Ts,
}

impl InventoryRecordOutput {
    /// Of a system's record.
    pub fn of(system: SystemId, latest: Latest) -> Result<InventoryRecordOutput, Error> {
        InventoryRecordOutput::new(system, latest.record, Some(latest.document))
    }

    /// A record of the history as JSON, with its text or without.
    pub fn line(system: SystemId, record: &RecordMeta, text: Option<String>) -> Result<String, Error> {
        let record = InventoryRecordOutput::new(system, record.clone(), text)?;
        serde_json::to_string(&record).map_err(Error::internal)
    }

    fn new(system: SystemId, r: RecordMeta, text: Option<String>) -> Result<InventoryRecordOutput, Error> {
        Ok(InventoryRecordOutput {
            id: r.id,
            system_id: system.to_string(),
            timestamp: r.timestamp,
            data: text.map(raw).transpose()?,
            data_hash: r.data_hash,
            data_size: r.data_size,
            processed_at: r.processed_at,
            has_changes: r.has_changes,
            change_count: r.change_count,
            created_at: r.created_at,
            updated_at: r.updated_at,
        })
    }
}

fn raw(text: String) -> Result<Box<RawValue>, Error> {
    RawValue::from_string(text).map_err(Error::internal)
}

/// What a page has besides its entries.
#[derive(Debug, Serialize)]
pub struct PageRest {
    /// Position of this page in the list.
    pub pagination: Pagination,
}

/// A page of the inventory records of a system.
// For the interface document alone: the answer is written row by row.
#[derive(Debug, Serialize, ToSchema)]
pub struct HistoryOutput {
    /// The records, newest first.
    pub records: Vec<InventoryRecordOutput>,
    /// Position of this page in the list.
    pub pagination: Pagination,
}

fn words<T: Copy>(all: &[T], word: impl Fn(T) -> &'static str) -> Vec<&'static str> {
    all.iter().copied().map(word).collect()
}

/// A change: one difference between two inventory records of a system.
#[derive(Debug, Serialize, ToSchema)]
pub struct DiffOutput {
    /// Number of the change; later changes have greater numbers.
    pub id: i64,
    /// Id of the system.
    pub system_id: String,
    /// Number of the older record; null once that record has been removed by retention.
    #[schema(required = true)]
    pub previous_inventory_id: Option<i64>,
    /// Number of the newer record; 0 once that record has been removed by retention.
    pub inventory_id: i64,
    /// Kind of change: `create`, `update` or `delete`.
    #[schema(extensions(("x-enum" = json!(words(ChangeKind::ALL, ChangeKind::word)))))]
    pub diff_type: &'static str,
    /// Place in the document, such as `facts.modules.nextcloud1.version`; at most 500 characters.
    pub field_path: String,
    /// The value before, of any JSON type; null if there was none.
    #[schema(required = true, value_type = serde_json::Value)]
    pub previous_value: Option<Box<RawValue>>,
    /// The value now, of any JSON type; null if there is none.
    #[schema(required = true, value_type = serde_json::Value)]
    pub current_value: Option<Box<RawValue>>,
    /// Severity: `critical`, `high`, `medium` or `low`.
    #[schema(extensions(("x-enum" = json!(words(Severity::ALL, Severity::word)))))]
    pub severity: &'static str,
    /// Part of the document that has changed, such as `modules`, `network` or `hardware`.
    #[schema(extensions(("x-enum" = json!(words(Category::ALL, Category::word)))))]
    pub category: String,
    /// True for every change that the service has stored.
    pub notification_sent: bool,
    /// When the service found the change.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Ts,
    /// Same value as `previous_inventory_id`, for older clients.
    #[schema(required = true, deprecated)]
    pub previous_id: Option<i64>,
    /// Same value as `inventory_id`, for older clients.
    #[schema(deprecated)]
    pub current_id: i64,
}

impl DiffOutput {
    /// Of a system's difference.
    pub fn of(system: SystemId, row: DiffRow) -> Result<DiffOutput, Error> {
        let unknown = |what: &str| Error::internal(format!("difference {} has an unknown {what}", row.id));
        let place = |number: i64| usize::try_from(number).unwrap_or(usize::MAX);
        Ok(DiffOutput {
            id: row.id,
            system_id: system.to_string(),
            previous_inventory_id: row.previous_id,
            inventory_id: row.current_id.unwrap_or(0),
            diff_type: ChangeKind::ALL.get(place(row.kind)).ok_or_else(|| unknown("kind"))?.word(),
            severity: Severity::ALL.get(place(row.severity)).ok_or_else(|| unknown("severity"))?.word(),
            field_path: row.field_path,
            previous_value: row.previous_value.map(raw).transpose()?,
            current_value: row.current_value.map(raw).transpose()?,
            category: row.category,
            notification_sent: row.notification_sent,
            created_at: row.created_at,
            previous_id: row.previous_id,
            current_id: row.current_id.unwrap_or(0),
        })
    }
}

/// A difference as JSON.
pub fn diff_line(diff: &DiffOutput) -> Result<String, Error> {
    serde_json::to_string(diff).map_err(Error::internal)
}

/// A page of changes in the inventory of a system.
// For the interface document alone: the answer is written row by row.
#[derive(Debug, Serialize, ToSchema)]
pub struct DiffList {
    /// The changes: those of the newest comparison first, each comparison's in the order of their numbers.
    pub diffs: Vec<DiffOutput>,
    /// Position of this page in the list.
    pub pagination: Pagination,
}

/// What a batch of changes has besides the changes.
#[derive(Debug, Serialize)]
pub struct BatchRest {
    /// Number of changes in the batch.
    pub count: usize,
    /// Number of the record that the changes belong to. Absent when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_inventory_id: Option<i64>,
}

/// The changes of the newest record that has any.
// For the interface document alone: the answer is written row by row.
#[derive(Debug, Serialize, ToSchema)]
pub struct DiffBatch {
    /// The changes, most severe first.
    pub diffs: Vec<DiffOutput>,
    /// Number of changes in the batch.
    pub count: usize,
    /// Number of the record that the changes belong to. Absent when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_inventory_id: Option<i64>,
}

/// The number of changes in the inventory of a system.
#[derive(Debug, Serialize, ToSchema)]
pub struct SummaryOutput {
    /// Id of the system.
    pub system_id: String,
    /// Number of changes: all stored ones, or those of the latest record.
    pub total_changes: i64,
    /// Number of changes of the last 24 hours. For the latest record, the same as `total_changes`.
    pub recent_changes: i64,
    /// When the document of the record was last received.
    #[schema(value_type = String, format = DateTime)]
    pub last_inventory_time: Ts,
    /// Whether at least one of the changes is critical.
    pub has_critical_changes: bool,
    /// Whether an inventory alert is unresolved.
    pub has_alerts: bool,
    /// Number of changes by category. Categories without changes are absent.
    pub changes_by_category: BTreeMap<String, i64>,
    /// Number of changes by severity. Severities without changes are absent.
    #[schema(value_type = BTreeMap<String, i64>)]
    pub changes_by_severity: BTreeMap<&'static str, i64>,
}

impl From<Summary> for SummaryOutput {
    fn from(s: Summary) -> SummaryOutput {
        SummaryOutput {
            system_id: s.system.to_string(),
            total_changes: s.total,
            recent_changes: s.recent,
            last_inventory_time: s.last_inventory,
            has_critical_changes: s.has_critical,
            has_alerts: s.has_alerts,
            changes_by_category: s.by_category,
            changes_by_severity: s.by_severity,
        }
    }
}

/// The number of changes that pass the filters, by severity.
#[derive(Debug, Serialize, ToSchema)]
pub struct TimelineSummary {
    /// Number of changes of all severities.
    pub total: i64,
    /// Number of critical changes.
    pub critical: i64,
    /// Number of changes of high severity.
    pub high: i64,
    /// Number of changes of medium severity.
    pub medium: i64,
    /// Number of changes of low severity.
    pub low: i64,
}

/// The records and changes of one day.
#[derive(Debug, Serialize, ToSchema)]
pub struct TimelineGroup {
    /// The day in UTC, as `YYYY-MM-DD`.
    #[schema(format = Date)]
    pub date: String,
    /// Number of records of that day that are still stored.
    pub inventory_count: usize,
    /// Number of changes of that day that pass the filters.
    pub change_count: i64,
    /// Numbers of those records, ascending.
    pub inventory_ids: Vec<i64>,
}

impl From<Day> for TimelineGroup {
    fn from(day: Day) -> TimelineGroup {
        TimelineGroup {
            date: day.date,
            inventory_count: day.records.len(),
            change_count: day.change_count,
            inventory_ids: day.records,
        }
    }
}

/// A page of the days on which the inventory of a system changed.
#[derive(Debug, Serialize, ToSchema)]
pub struct TimelineOutput {
    /// The number of changes on all days, not only on those of this page.
    pub summary: TimelineSummary,
    /// The days with a record or a change, newest first.
    pub groups: Vec<TimelineGroup>,
    /// Position of this page in the list of days.
    pub pagination: Pagination,
}

impl From<Timeline> for TimelineOutput {
    fn from(timeline: Timeline) -> TimelineOutput {
        let [total, critical, high, medium, low] = timeline.summary;
        TimelineOutput {
            summary: TimelineSummary { total, critical, high, medium, low },
            pagination: Pagination::of(&timeline.days, None, None),
            groups: timeline.days.rows.into_iter().map(TimelineGroup::from).collect(),
        }
    }
}
