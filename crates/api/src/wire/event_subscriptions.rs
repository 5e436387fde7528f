//! Subscriptions to events and their deliveries on the wire (docs/events.md).

use crate::envelope::Pagination;
use bailiwick_domain::Ts;
use bailiwick_events::{
    subscriptions::{Input, View},
    test_and_replay::{Replay, Tested},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Body of a creation or change; what is absent stays.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
pub struct SubscriptionInput {
    /// What people call it.
    pub name: Option<String>,
    /// Where events are posted to.
    pub url: Option<String>,
    /// Types or patterns (`system.*`, `*`).
    pub types: Option<Vec<String>>,
    /// Whether anything is delivered.
    pub enabled: Option<bool>,
    /// Of a creation: whose it is; the caller's organization without it.
    pub organization_id: Option<String>,
}

impl From<SubscriptionInput> for Input {
    fn from(i: SubscriptionInput) -> Input {
        let SubscriptionInput { name, url, types, enabled, organization_id } = i;
        Input { name, url, types, enabled, organization_id }
    }
}

/// A subscription.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Subscription {
    /// Id.
    pub id: String,
    /// Whose.
    pub organization_id: String,
    /// What people call it.
    pub name: String,
    /// Where events are posted to.
    pub url: String,
    /// Types or patterns.
    pub types: Vec<String>,
    /// Whether anything is delivered.
    pub enabled: bool,
    /// Since when not.
    #[schema(value_type = Option<String>)]
    pub disabled_at: Option<Ts>,
    /// Why the service has switched it off, if it has.
    pub disabled_reason: Option<String>,
    /// Since when nothing could be delivered.
    #[schema(value_type = Option<String>)]
    pub failing_since: Option<Ts>,
    /// Why the last delivery has failed.
    pub last_error: Option<String>,
    /// When a delivery was last taken.
    #[schema(value_type = Option<String>)]
    pub last_success_at: Option<Ts>,
    /// Until when the secret before the last rotation signs as well.
    #[schema(value_type = Option<String>)]
    pub previous_secret_until: Option<Ts>,
    /// Deliveries that wait.
    pub pending: u64,
    /// Deliveries that were given up.
    pub dead: u64,
    /// Creation.
    #[schema(value_type = String)]
    pub created_at: Ts,
    /// Last change by people.
    #[schema(value_type = String)]
    pub updated_at: Ts,
    /// The secret; only in the answer that made it.
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

/// One subscription.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct OneSubscription {
    /// It.
    pub subscription: Subscription,
}

/// `GET /events/subscriptions`.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct SubscriptionList {
    /// Subscriptions of the page.
    pub subscriptions: Vec<Subscription>,
    /// Page.
    pub pagination: Pagination,
}

/// What came of a test.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct TestOutput {
    /// `webhook-id` of the message.
    pub id: String,
    /// Whether it was taken.
    pub delivered: bool,
    /// Status of the answer, if there was one.
    pub status: Option<i64>,
    /// Why it was not taken.
    pub error: Option<String>,
    /// How long it took, in milliseconds.
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

/// A delivery.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Delivery {
    /// Id of the event, also `webhook-id`.
    pub event_id: String,
    /// Its sequence.
    pub sequence: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// `pending`, `delivered`, `dead` or `withheld`.
    pub status: String,
    /// Tries so far.
    pub attempts: i64,
    /// Next try, while it waits.
    #[schema(value_type = Option<String>)]
    pub next_attempt_at: Option<Ts>,
    /// When it was first to be delivered.
    #[schema(value_type = String)]
    pub created_at: Ts,
    /// When it was over.
    #[schema(value_type = Option<String>)]
    pub finished_at: Option<Ts>,
    /// Status of the last answer.
    pub last_status: Option<i64>,
    /// Why the last try has failed.
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

/// `GET …/deliveries`.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct DeliveryList {
    /// Deliveries of the page.
    pub deliveries: Vec<Delivery>,
    /// Page.
    pub pagination: Pagination,
}

/// Which events are to be delivered again: one, or those since a time.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
pub struct ReplayInput {
    /// One event.
    pub event_id: Option<String>,
    /// Those of this time or later, at most 10,000.
    pub since: Option<String>,
}

impl From<ReplayInput> for Replay {
    fn from(i: ReplayInput) -> Replay {
        Replay { event_id: i.event_id, since: i.since }
    }
}

/// What is delivered again.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Replayed {
    /// How many events.
    pub events: u64,
}
