//! The tries of a subscription, and the actions of people on them: a test, and a replay.

use super::{
    Stored,
    deliver::{Target, refusal, unreadable},
    signatures::Message,
    subscriptions::{allowed, load, record, sight_of},
};
use crate::Events;
use bailiwick_domain::{AuditAction, Error, ObjectKind, Page, PageRequest, Result};
use bailiwick_platform::RequestContext;
use bailiwick_policy::{Action, Caller};
use bailiwick_store::events::{
    self,
    deliveries::{self, Again, Delivery},
    subscriptions,
};
use serde_json::json;
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Most events of one replay.
const REPLAYED: i64 = 10_000;

/// The result of a test.
#[derive(Clone, Debug)]
pub struct Tested {
    /// Id of the message.
    pub id: Uuid,
    /// Whether it was taken.
    pub delivered: bool,
    /// Status of the answer.
    pub status: Option<i64>,
    /// Why it was not taken.
    pub error: Option<String>,
    /// How long it took.
    pub millis: u64,
}

/// Sends one message of the type `events.test` at once, also to a disabled subscription. It is not an event: no list
/// has it, and it is not retried.
pub async fn test(
    service: &Events,
    caller: &Caller,
    ctx: &RequestContext,
    id: Option<Uuid>,
) -> Result<Tested> {
    let (_, s) = load(service, caller, Action::Update, id).await?;
    let target = Target::of(service, &s);
    let event = Stored {
        seq: 0,
        id: service.platform.fresh(),
        at: service.platform.now(),
        kind: "events.test".to_owned(),
        subject: Some(format!("/events/subscriptions/{}", s.id)),
        data: json!({"id": s.id, "name": s.name, "organization_id": s.path.id}),
    };
    let message = event.id;
    let mut tx = service.platform.db.begin().await?;
    record(&mut tx, service, caller, ctx, (AuditAction::EventSubscriptionTest, s.id), [None, None]).await?;
    tx.commit().await?;
    let started = Instant::now();
    let tried = match target {
        Ok(target) => {
            let sending = target.send(service, Message::of(event, &service.settings.public_url));
            let tried = tokio::time::timeout(Duration::from_secs(20), sending).await;
            tried.map_err(|_| bailiwick_platform::limits::unavailable("a test event had no turn"))?
        }
        Err(e) => Err(unreadable(s.id, &e)),
    };
    let refused = refusal(&tried);
    let status = tried.as_ref().ok().map(|a| i64::from(a.status));
    let millis = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(Tested { id: message, delivered: refused.is_none(), status, error: refused.map(|r| r.1), millis })
}

/// A page of deliveries, the newest event first; `states`: `status` as sent.
pub async fn deliveries(
    service: &Events,
    caller: &Caller,
    id: Option<Uuid>,
    states: Vec<String>,
    page: PageRequest,
) -> Result<Page<Delivery>> {
    let (_, s) = load(service, caller, Action::Read, id).await?;
    bailiwick_platform::list_filters::check_lengths([Some(states.len())])?;
    let is_state = |state: &String| super::deliver::states().any(|is_state| is_state == state);
    let states = (!states.is_empty()).then(|| states.into_iter().filter(is_state).collect::<Vec<_>>());
    Ok(deliveries::list(&service.platform.db, s.id, states.as_deref(), page).await?)
}

/// The events to deliver again, as sent: exactly one of the two.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    pub event_id: Option<String>,
    pub since: Option<String>,
}

/// Delivers events again that the organization may read, delivered before or not; returns how many.
pub async fn replay(
    service: &Events,
    caller: &Caller,
    ctx: &RequestContext,
    id: Option<Uuid>,
    body: impl FnOnce() -> Result<Replay>,
) -> Result<u64> {
    let (_, stored) = load(service, caller, Action::Update, id).await?;
    let body = body()?;
    let again = match (&body.event_id, &body.since) {
        (Some(event), None) => {
            let event = event.parse().map_err(|_| Error::field_value("event_id", "invalid_format", event))?;
            Again::One(event)
        }
        (None, Some(since)) => {
            let since = since.parse().map_err(|_| Error::field_value("since", "invalid_format", since))?;
            // The end of the list if no event is newer: events that arrive before the next statement are delivered
            // anyway.
            Again::Since(since, events::first_since(&service.platform.db, since).await?.unwrap_or(i64::MAX))
        }
        _ => return Err(Error::field("event_id", "required")),
    };
    let mut tx = service.platform.db.begin().await?;
    let (granted, mut s) = allowed(caller, Action::Update, subscriptions::lock(&mut tx, stored.id).await?)?;
    let count =
        deliveries::replay(&mut tx, &granted, &sight_of(&s), &again, service.platform.now(), REPLAYED)
            .await?;
    if count == 0 && matches!(again, Again::One(_)) {
        return Err(Error::NotFound(ObjectKind::Event));
    }
    // A caller who asks for a replay knows that the recipient is back.
    s.next_at = service.platform.now();
    subscriptions::change(&mut tx, &granted, &s).await?;
    let after = json!({"event_id": body.event_id, "since": body.since, "events": count});
    record(&mut tx, service, caller, ctx, (AuditAction::EventSubscriptionReplay, s.id), [None, Some(after)])
        .await?;
    tx.commit().await?;
    service.deliveries.hint.notify_one();
    Ok(count)
}
