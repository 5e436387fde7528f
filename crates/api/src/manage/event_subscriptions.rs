//! Subscriptions to events and their deliveries (docs/events.md).

use super::PAGE_SIZE;
use crate::{
    envelope::{Answer, Pagination},
    error::Outcome,
    extract::{Ctx, JsonBody, Params, PathId, Service, Who},
    wire::event_subscriptions::{
        Delivery, DeliveryList, OneSubscription, ReplayInput, Replayed, Subscription, SubscriptionInput,
        SubscriptionList, TestOutput,
    },
};
use bailiwick_events::{Events, subscriptions, test_and_replay};
use uuid::Uuid;

fn one(view: subscriptions::View) -> OneSubscription {
    OneSubscription { subscription: view.into() }
}

/// `GET /events/subscriptions`.
pub async fn list(
    Service(events): Service<Events>,
    Who(caller): Who,
    params: Params,
) -> Outcome<Answer<SubscriptionList>> {
    let page = subscriptions::list(&events, &caller, params.page(PAGE_SIZE)).await?;
    let pagination = Pagination::of(&page, None, None);
    let subscriptions = page.rows.into_iter().map(Subscription::from).collect();
    Ok(Answer::ok(
        "event subscriptions retrieved successfully",
        SubscriptionList { subscriptions, pagination },
    ))
}

/// `POST /events/subscriptions`.
pub async fn create(
    Service(events): Service<Events>,
    Who(caller): Who,
    Ctx(ctx): Ctx,
    body: JsonBody,
) -> Outcome<Answer<OneSubscription>> {
    let input = || Ok(body.parse::<SubscriptionInput>()?.into());
    let made = subscriptions::create(&events, &caller, &ctx, input).await?;
    Ok(Answer::created("event subscription created successfully", one(made)))
}

/// `GET /events/subscriptions/{id}`.
pub async fn show(
    Service(events): Service<Events>,
    Who(caller): Who,
    PathId(id): PathId<Uuid>,
) -> Outcome<Answer<OneSubscription>> {
    let found = subscriptions::show(&events, &caller, id).await?;
    Ok(Answer::ok("event subscription retrieved successfully", one(found)))
}

/// `PUT /events/subscriptions/{id}`.
pub async fn update(
    Service(events): Service<Events>,
    Who(caller): Who,
    Ctx(ctx): Ctx,
    PathId(id): PathId<Uuid>,
    body: JsonBody,
) -> Outcome<Answer<OneSubscription>> {
    let input = || Ok(body.parse::<SubscriptionInput>()?.into());
    let changed = subscriptions::update(&events, &caller, &ctx, id, input).await?;
    Ok(Answer::ok("event subscription updated successfully", one(changed)))
}

/// `DELETE /events/subscriptions/{id}`.
pub async fn remove(
    Service(events): Service<Events>,
    Who(caller): Who,
    Ctx(ctx): Ctx,
    PathId(id): PathId<Uuid>,
) -> Outcome<Answer<()>> {
    subscriptions::remove(&events, &caller, &ctx, id).await?;
    Ok(Answer::ok("event subscription deleted successfully", ()))
}

/// `POST …/rotate-secret`.
pub async fn rotate(
    Service(events): Service<Events>,
    Who(caller): Who,
    Ctx(ctx): Ctx,
    PathId(id): PathId<Uuid>,
) -> Outcome<Answer<OneSubscription>> {
    let rotated = subscriptions::rotate(&events, &caller, &ctx, id).await?;
    Ok(Answer::ok("event subscription secret rotated successfully", one(rotated)))
}

/// `POST …/test`.
pub async fn test(
    Service(events): Service<Events>,
    Who(caller): Who,
    Ctx(ctx): Ctx,
    PathId(id): PathId<Uuid>,
) -> Outcome<Answer<TestOutput>> {
    let tested = test_and_replay::test(&events, &caller, &ctx, id).await?;
    Ok(Answer::ok("test event sent", tested.into()))
}

/// `GET …/deliveries`.
pub async fn deliveries(
    Service(events): Service<Events>,
    Who(caller): Who,
    PathId(id): PathId<Uuid>,
    params: Params,
) -> Outcome<Answer<DeliveryList>> {
    let (states, page) = (params.many("status"), params.page(PAGE_SIZE));
    let page = test_and_replay::deliveries(&events, &caller, id, states, page).await?;
    let pagination = Pagination::of(&page, None, None);
    let deliveries = page.rows.into_iter().map(Delivery::from).collect();
    Ok(Answer::ok("event deliveries retrieved successfully", DeliveryList { deliveries, pagination }))
}

/// `POST …/replay`.
pub async fn replay(
    Service(events): Service<Events>,
    Who(caller): Who,
    Ctx(ctx): Ctx,
    PathId(id): PathId<Uuid>,
    body: JsonBody,
) -> Outcome<Answer<Replayed>> {
    let input = || Ok(body.parse::<ReplayInput>()?.into());
    let events = test_and_replay::replay(&events, &caller, &ctx, id, input).await?;
    Ok(Answer::ok("events will be delivered again", Replayed { events }))
}
