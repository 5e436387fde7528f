//! Events on the wire (docs/events.md): a CloudEvents 1.0 object that is also the payload that Standard Webhooks
//! advises.

use crate::envelope::Pagination;
use bailiwick_events::{Stored, signatures::Message};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// An event: something that has happened to an object. Lists, streams and deliveries have the same form.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Event {
    /// Version of CloudEvents: `1.0`.
    pub specversion: &'static str,
    /// Unique identifier of the event, the same in every delivery.
    pub id: String,
    /// Public address of this service.
    #[schema(format = "uri")]
    pub source: String,
    /// What has happened, such as `system.updated`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Path of the object below a base path; null when the object can no longer be read.
    pub subject: Option<String>,
    /// When it happened.
    #[schema(format = DateTime)]
    pub time: String,
    /// Same value as `time`, under the name that Standard Webhooks uses.
    #[schema(format = DateTime)]
    pub timestamp: String,
    /// Position in the order of events, in decimal digits; later events have greater numbers.
    pub sequence: String,
    /// Ids, names and the changed fields of the object. The fields depend on `type`.
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

/// A page of events.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct EventList {
    /// The events of this page.
    pub events: Vec<Event>,
    /// Sequence number of the newest deleted event. A reader at a lower number may have missed events.
    pub removed_up_to: String,
    /// Position of this page in the list.
    pub pagination: Pagination,
}
