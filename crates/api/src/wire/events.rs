//! Events on the wire (docs/events.md): a CloudEvents 1.0 object that is also the payload that Standard Webhooks advises.

use crate::envelope::Pagination;
use bailiwick_events::{Stored, signatures::Message};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// One event, the same in the list, in the stream and in a delivery.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Event {
    /// CloudEvents version.
    pub specversion: &'static str,
    /// Id; the same at every delivery.
    pub id: String,
    /// Address of the service.
    pub source: String,
    /// `<kind>.<what>`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Path of the object; null when it cannot be read any more.
    pub subject: Option<String>,
    /// When.
    pub time: String,
    /// The same, by the name of Standard Webhooks.
    pub timestamp: String,
    /// Order of events: decimal digits.
    pub sequence: String,
    /// Ids, names, what changed.
    pub data: Value,
}

impl Event {
    /// As it is sent to subscribers, too.
    pub fn of(event: Stored, source: &str) -> Event {
        let Message { specversion, id, source, kind, subject, time, timestamp, sequence, data } =
            Message::of(event, source);
        Event { specversion, id: id.to_string(), source, kind, subject, time, timestamp, sequence, data }
    }
}

/// `GET /events`.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct EventList {
    /// Events of the page.
    pub events: Vec<Event>,
    /// The newest sequence number that is no longer kept: a reader who has read less far may have missed events.
    pub removed_up_to: String,
    /// Page.
    pub pagination: Pagination,
}
