//! Events for other software (docs/events.md). The permissions of alert notifications apply.

use super::{Route, delete, get, post, put, query};
use crate::{
    manage::{PAGE_SIZE, event_subscriptions as subscriptions, events},
    query_key::QueryKey,
    wire::{
        event_subscriptions::{
            DeliveryList, OneSubscription, ReplayInput, Replayed, SubscriptionInput, SubscriptionList,
            TestOutput,
        },
        events::EventList,
    },
};
use bailiwick_domain::SortDirection;
use bailiwick_events::deliver;
use bailiwick_policy::Permission::{self, ManageAlerts, ReadAlerts};
use std::time::Duration;

const READ: &[Permission] = &[ReadAlerts];
const MANAGE: &[Permission] = &[ManageAlerts];

pub(super) fn rows() -> Vec<Route> {
    let all = "/events/subscriptions";
    let one = "/events/subscriptions/{id}";
    vec![
        get("/events", "listEvents", "List what has happened")
            .query(query::page(PAGE_SIZE))
            .query([query::key("sort_direction").one_of(SortDirection::WORDS.list())])
            .query(query::keys(["types", "organization_id", "object_id"]).map(QueryKey::repeated))
            .query(query::keys(["after"]))
            .ordered(&[("events", &["-sequence"])])
            .order_note("With `after`: `sequence` ascending.")
            .extra()
            .gives::<EventList>()
            .to(events::list),
        get("/events/stream", "streamEvents", "Follow what happens")
            .query([query::key("types").repeated(), query::key("last_event_id")])
            .extra()
            .gives_file(&["text/event-stream"])
            .to(events::stream),
        get(all, "listEventSubscriptions", "List webhooks for events")
            .query(query::page(PAGE_SIZE))
            .ordered(&[("subscriptions", &["id"])])
            .extra()
            .needs(READ)
            .gives::<SubscriptionList>()
            .to(subscriptions::list),
        post(all, "createEventSubscription", "Create a webhook for events; its secret is shown once")
            .extra()
            .needs(MANAGE)
            .answers(201)
            .takes::<SubscriptionInput>()
            .may_answer(&[409])
            .gives::<OneSubscription>()
            .to(subscriptions::create),
        get(one, "getEventSubscription", "Show a webhook for events")
            .extra()
            .needs(READ)
            .gives::<OneSubscription>()
            .to(subscriptions::show),
        put(one, "updateEventSubscription", "Change a webhook for events")
            .extra()
            .needs(MANAGE)
            .takes::<SubscriptionInput>()
            .gives::<OneSubscription>()
            .to(subscriptions::update),
        delete(one, "deleteEventSubscription", "No longer tell a webhook of events")
            .extra()
            .needs(MANAGE)
            .gives_null()
            .to(subscriptions::remove),
        post(
            format!("{one}/rotate-secret"),
            "rotateEventSubscriptionSecret",
            "Replace the secret of a webhook",
        )
        .extra()
        .needs(MANAGE)
        .gives::<OneSubscription>()
        .to(subscriptions::rotate),
        post(format!("{one}/test"), "testEventSubscription", "Send a test event to a webhook")
            .extra()
            .needs(MANAGE)
            .answers_within(Duration::from_secs(40))
            .gives::<TestOutput>()
            .to(subscriptions::test),
        get(format!("{one}/deliveries"), "listEventDeliveries", "List the deliveries of a webhook")
            .query(query::page(PAGE_SIZE))
            .query([query::key("status").repeated().one_of(deliver::states().collect())])
            .ordered(&[("deliveries", &["-sequence"])])
            .extra()
            .needs(READ)
            .gives::<DeliveryList>()
            .to(subscriptions::deliveries),
        post(format!("{one}/replay"), "replayEvents", "Tell a webhook of events again")
            .extra()
            .needs(MANAGE)
            .takes::<ReplayInput>()
            .gives::<Replayed>()
            .to(subscriptions::replay),
    ]
}
