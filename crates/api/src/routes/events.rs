//! Events for other software (docs/events.md). The permissions of alert notifications apply.

use super::{Route, delete, get, post, put};
use crate::{
    manage::{event_subscriptions as subscriptions, events},
    wire::{
        event_subscriptions::{
            DeliveryList, OneSubscription, ReplayInput, Replayed, SubscriptionInput, SubscriptionList,
            TestOutput,
        },
        events::EventList,
    },
};
use bailiwick_policy::Permission::{self, ManageAlerts, ReadAlerts};
use std::time::Duration;

const READ: &[Permission] = &[ReadAlerts];
const MANAGE: &[Permission] = &[ManageAlerts];

pub(super) fn rows() -> Vec<Route> {
    let all = "/events/subscriptions";
    let one = "/events/subscriptions/{id}";
    vec![
        get("/events", "listEvents").extra().gives::<EventList>().to(events::list),
        get("/events/stream", "streamEvents").extra().gives_file(&["text/event-stream"]).to(events::stream),
        get(all, "listEventSubscriptions")
            .extra()
            .needs(READ)
            .gives::<SubscriptionList>()
            .to(subscriptions::list),
        post(all, "createEventSubscription")
            .extra()
            .needs(MANAGE)
            .answers(201)
            .takes::<SubscriptionInput>()
            .may_answer(&[409])
            .gives::<OneSubscription>()
            .to(subscriptions::create),
        get(one, "getEventSubscription")
            .extra()
            .needs(READ)
            .gives::<OneSubscription>()
            .to(subscriptions::show),
        put(one, "updateEventSubscription")
            .extra()
            .needs(MANAGE)
            .takes::<SubscriptionInput>()
            .gives::<OneSubscription>()
            .to(subscriptions::update),
        delete(one, "deleteEventSubscription").extra().needs(MANAGE).gives_null().to(subscriptions::remove),
        post(format!("{one}/rotate-secret"), "rotateEventSubscriptionSecret")
            .extra()
            .needs(MANAGE)
            .gives::<OneSubscription>()
            .to(subscriptions::rotate),
        post(format!("{one}/test"), "testEventSubscription")
            .extra()
            .needs(MANAGE)
            .answers_within(Duration::from_secs(40))
            .gives::<TestOutput>()
            .to(subscriptions::test),
        get(format!("{one}/deliveries"), "listEventDeliveries")
            .extra()
            .needs(READ)
            .gives::<DeliveryList>()
            .to(subscriptions::deliveries),
        post(format!("{one}/replay"), "replayEvents")
            .extra()
            .needs(MANAGE)
            .takes::<ReplayInput>()
            .gives::<Replayed>()
            .to(subscriptions::replay),
    ]
}
