//! Subscriptions to events and their deliveries on the wire (docs/events.md).

use crate::envelope::Pagination;
use bailiwick_alertmanager::webhook_target::MAX_URL_CHARS;
use bailiwick_domain::{Ts, validate::MAX_NAME_CHARS};
use bailiwick_events::{
    deliver,
    subscriptions::{Input, MAX_TYPES, View},
    test_and_replay::{Replay, Tested},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An event subscription to create, or its changes. Absent fields of a change keep their values.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
pub struct SubscriptionInput {
    /// Name of the subscription. Required for a new one.
    #[schema(min_length = 1, extensions(("x-maxLength" = json!(MAX_NAME_CHARS))))]
    pub name: Option<String>,
    /// Address that events are posted to. Required for a new one.
    #[schema(format = "uri", extensions(("x-maxLength" = json!(MAX_URL_CHARS))))]
    pub url: Option<String>,
    /// Types of events to deliver; patterns such as `system.*` and `*` are allowed. Required for a new one.
    #[schema(min_items = 1, extensions(("x-maxItems" = json!(MAX_TYPES))))]
    pub types: Option<Vec<String>>,
    /// Whether events are delivered. True enables a subscription again that the service has switched off.
    pub enabled: Option<bool>,
    /// Id of the organization that a new subscription belongs to; the caller's own by default. Ignored in changes.
    pub organization_id: Option<String>,
}

impl From<SubscriptionInput> for Input {
    fn from(i: SubscriptionInput) -> Input {
        let SubscriptionInput { name, url, types, enabled, organization_id } = i;
        Input { name, url, types, enabled, organization_id }
    }
}

/// An event subscription of an organization: an address that receives events.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Subscription {
    /// Unique identifier of the subscription.
    pub id: String,
    /// Id of the organization that the subscription belongs to.
    pub organization_id: String,
    /// Name of the subscription.
    pub name: String,
    /// Address that events are posted to; `scheme://host/[REDACTED]` for callers who may not see it.
    pub url: String,
    /// Types of events that are delivered, or patterns such as `system.*` and `*`.
    pub types: Vec<String>,
    /// Whether events are delivered.
    pub enabled: bool,
    /// When the subscription was switched off; null while it is enabled.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub disabled_at: Option<Ts>,
    /// Why the service has switched the subscription off; null if it has not.
    pub disabled_reason: Option<String>,
    /// Since when no delivery has succeeded; null after a success.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub failing_since: Option<Ts>,
    /// Why the last delivery failed; null if it succeeded.
    pub last_error: Option<String>,
    /// When a delivery last succeeded; null if never.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_success_at: Option<Ts>,
    /// Until when the previous secret also signs deliveries; null if the secret was never replaced.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub previous_secret_until: Option<Ts>,
    /// Number of deliveries that wait.
    pub pending: u64,
    /// Number of deliveries that were given up.
    pub dead: u64,
    /// When the subscription was created.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Ts,
    /// When a person last changed the subscription.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Ts,
    /// Secret that signs the deliveries. Present only in the answer that created or replaced it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

impl From<View> for Subscription {
    fn from(view: View) -> Subscription {
        let View { subscription: s, url, counts, secret } = view;
        Subscription {
            id: s.id.to_string(),
            organization_id: s.path.id.to_string(),
            name: s.name,
            url,
            types: s.types,
            enabled: s.is_enabled,
            disabled_at: s.disabled_at,
            disabled_reason: s.disabled_reason,
            failing_since: s.failing_since,
            last_error: s.last_error,
            last_success_at: s.last_success_at,
            previous_secret_until: s.previous_until,
            pending: counts.pending,
            dead: counts.dead,
            created_at: s.created_at,
            updated_at: s.updated_at,
            secret,
        }
    }
}

/// One event subscription.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct OneSubscription {
    /// The subscription.
    pub subscription: Subscription,
}

/// A page of the event subscriptions within reach.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct SubscriptionList {
    /// The subscriptions of this page.
    pub subscriptions: Vec<Subscription>,
    /// Position of this page in the list.
    pub pagination: Pagination,
}

/// The result of a test delivery.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct TestOutput {
    /// Id of the test event, also its header `webhook-id`.
    pub id: String,
    /// Whether the recipient accepted the event.
    pub delivered: bool,
    /// HTTP status that the recipient answered with; null without an answer.
    pub status: Option<i64>,
    /// Why the event was not accepted; null if it was.
    pub error: Option<String>,
    /// Time that the delivery took, in milliseconds.
    pub duration_ms: u64,
}

impl From<Tested> for TestOutput {
    fn from(t: Tested) -> TestOutput {
        TestOutput {
            id: t.id.to_string(),
            delivered: t.delivered,
            status: t.status,
            error: t.error,
            duration_ms: t.millis,
        }
    }
}

/// The delivery of one event to a subscription.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Delivery {
    /// Id of the event, also the header `webhook-id` of the delivery.
    pub event_id: String,
    /// Sequence number of the event, in decimal digits.
    pub sequence: String,
    /// Type of the event, such as `system.updated`.
    #[serde(rename = "type")]
    pub kind: String,
    /// State: `pending`, `delivered`, `dead` (given up) or `withheld` (the organization may no longer read the event).
    #[schema(extensions(("x-enum" = json!(deliver::states().collect::<Vec<_>>()))))]
    pub status: String,
    /// Number of attempts so far.
    pub attempts: i64,
    /// When the next attempt is due; null unless the delivery is pending.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub next_attempt_at: Option<Ts>,
    /// When the delivery first became due.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Ts,
    /// When the delivery ended; null while it is pending.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub finished_at: Option<Ts>,
    /// HTTP status that the recipient last answered with; null without an answer.
    pub last_status: Option<i64>,
    /// Why the last attempt failed; null if it did not.
    pub last_error: Option<String>,
}

impl From<bailiwick_events::Delivery> for Delivery {
    fn from(d: bailiwick_events::Delivery) -> Delivery {
        let is_waiting = d.state == "pending";
        Delivery {
            event_id: d.event_id.to_string(),
            sequence: d.seq.to_string(),
            kind: d.kind,
            status: d.state,
            attempts: d.attempts,
            next_attempt_at: is_waiting.then_some(d.next_at),
            created_at: d.created_at,
            finished_at: d.finished_at,
            last_status: d.status,
            last_error: d.error,
        }
    }
}

/// A page of the deliveries of a subscription.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct DeliveryList {
    /// The deliveries of this page, newest event first.
    pub deliveries: Vec<Delivery>,
    /// Position of this page in the list.
    pub pagination: Pagination,
}

/// The events to deliver again: one, or all since a time.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
pub struct ReplayInput {
    /// Id of a single event.
    pub event_id: Option<String>,
    /// Time in RFC 3339. Events of this time or later are delivered again, at most 10,000.
    #[schema(format = DateTime)]
    pub since: Option<String>,
}

impl From<ReplayInput> for Replay {
    fn from(i: ReplayInput) -> Replay {
        Replay { event_id: i.event_id, since: i.since }
    }
}

/// The number of events that are delivered again.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Replayed {
    /// Number of events.
    pub events: u64,
}
