//! Inventory records, differences, summaries (spec: inventory#shapes, inventory#timeline).

use crate::envelope::Pagination;
use bailiwick_domain::{Error, SystemId, Ts};
use bailiwick_fleet::inventory::{ChangeKind, Day, DiffRow, Latest, RecordMeta, Severity, Summary, Timeline};
use serde::Serialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A record with its document.
#[derive(Debug, Serialize, ToSchema)]
pub struct InventoryRecordOutput {
    /// Ascending in order of creation.
    pub id: i64,
    /// Whose.
    pub system_id: String,
    /// Newest receipt of this very document.
    #[schema(value_type = String, format = DateTime)]
    pub timestamp: Ts,
    /// The document, in value what was received: it goes from storage to wire without being read. Left out with
    /// `fields=meta`.
    #[schema(value_type = Object)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<RawValue>>,
    /// SHA-256 of the canonical text.
    pub data_hash: String,
    /// Bytes of the canonical text.
    pub data_size: i64,
    /// Null while it waits for its comparison.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub processed_at: Option<Ts>,
    /// Whether the comparison found changes.
    pub has_changes: bool,
    /// How many.
    pub change_count: i64,
    /// Creation of the record.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Ts,
    /// Last touched.
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

/// Beside the rows of a page.
#[derive(Debug, Serialize)]
pub struct PageRest {
    /// Of the list.
    pub pagination: Pagination,
}

/// `GET /systems/{id}/inventory`, for the interface document; the answer is written row by row.
#[derive(Debug, Serialize, ToSchema)]
pub struct HistoryOutput {
    /// Newest first.
    pub records: Vec<InventoryRecordOutput>,
    /// Of the list.
    pub pagination: Pagination,
}

/// A difference between two records.
#[derive(Debug, Serialize, ToSchema)]
pub struct DiffOutput {
    /// Ascending in order of creation.
    pub id: i64,
    /// Whose.
    pub system_id: String,
    /// Record compared with; null when it was thinned out.
    #[schema(required = true)]
    pub previous_inventory_id: Option<i64>,
    /// Record compared; 0 when it was thinned out.
    pub inventory_id: i64,
    /// `create`, `update`, `delete`.
    pub diff_type: &'static str,
    /// The path to show.
    pub field_path: String,
    /// The value before; null on the absent side.
    #[schema(required = true, value_type = serde_json::Value)]
    pub previous_value: Option<Box<RawValue>>,
    /// The value now; null on the absent side.
    #[schema(required = true, value_type = serde_json::Value)]
    pub current_value: Option<Box<RawValue>>,
    /// `critical`, `high`, `medium`, `low`.
    pub severity: &'static str,
    /// Part of the system.
    pub category: String,
    /// Whether a notification was sent.
    pub notification_sent: bool,
    /// When it was found.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Ts,
    /// `previous_inventory_id` again, for older clients.
    #[schema(required = true, deprecated)]
    pub previous_id: Option<i64>,
    /// `inventory_id` again, for older clients.
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

/// `GET /systems/{id}/inventory/diffs`, for the interface document; the answer is written row by row.
#[derive(Debug, Serialize, ToSchema)]
pub struct DiffList {
    /// Newest batch first.
    pub diffs: Vec<DiffOutput>,
    /// Of the list.
    pub pagination: Pagination,
}

/// Beside the rows of a batch.
#[derive(Debug, Serialize)]
pub struct BatchRest {
    /// Rows.
    pub count: usize,
    /// The record they belong to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_inventory_id: Option<i64>,
}

/// `GET /systems/{id}/inventory/diffs/latest`, for the interface document; the answer is written row by row.
#[derive(Debug, Serialize, ToSchema)]
pub struct DiffBatch {
    /// The most severe first.
    pub diffs: Vec<DiffOutput>,
    /// How many.
    pub count: usize,
    /// Left out when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_inventory_id: Option<i64>,
}

/// How much has changed.
#[derive(Debug, Serialize, ToSchema)]
pub struct SummaryOutput {
    /// Whose.
    pub system_id: String,
    /// In all.
    pub total_changes: i64,
    /// Of the last 24 hours.
    pub recent_changes: i64,
    /// Timestamp of the record.
    #[schema(value_type = String, format = DateTime)]
    pub last_inventory_time: Ts,
    /// Whether one is critical.
    pub has_critical_changes: bool,
    /// Whether an inventory alert is not over.
    pub has_alerts: bool,
    /// Only categories that occur.
    pub changes_by_category: BTreeMap<String, i64>,
    /// Only severities that occur.
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

/// Differences that pass the filters.
#[derive(Debug, Serialize, ToSchema)]
pub struct TimelineSummary {
    /// In all.
    pub total: i64,
    /// Of that severity.
    pub critical: i64,
    /// Of that severity.
    pub high: i64,
    /// Of that severity.
    pub medium: i64,
    /// Of that severity.
    pub low: i64,
}

/// A UTC date.
#[derive(Debug, Serialize, ToSchema)]
pub struct TimelineGroup {
    /// `YYYY-MM-DD`.
    pub date: String,
    /// Records of that date that are still stored.
    pub inventory_count: usize,
    /// Differences of that date that pass the filters.
    pub change_count: i64,
    /// Ascending.
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

/// Records and differences by date.
#[derive(Debug, Serialize, ToSchema)]
pub struct TimelineOutput {
    /// Over all dates.
    pub summary: TimelineSummary,
    /// Newest first.
    pub groups: Vec<TimelineGroup>,
    /// Counts dates.
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
