//! Inventory records (contract 03 §9.1).

use bailiwick_app::inventory::Latest;
use bailiwick_domain::{Error, SystemId, Ts};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// A record with its document.
#[derive(Debug, Serialize, ToSchema)]
pub struct RecordOutput {
    /// Ascending in order of creation.
    pub id: i64,
    /// Whose.
    pub system_id: String,
    /// Newest receipt of this very document.
    #[schema(value_type = String, format = DateTime)]
    pub timestamp: Ts,
    /// The document, in value what was received: it goes from storage to wire without being read.
    #[schema(value_type = Object)]
    pub data: Box<RawValue>,
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

impl RecordOutput {
    /// Of a system's record.
    pub fn of(system: SystemId, latest: Latest) -> Result<RecordOutput, Error> {
        let r = latest.record;
        Ok(RecordOutput {
            id: r.id,
            system_id: system.to_string(),
            timestamp: r.timestamp,
            data: RawValue::from_string(latest.document).map_err(Error::internal)?,
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
