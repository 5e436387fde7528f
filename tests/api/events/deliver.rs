//! Deliveries: signed, tried again, given up, replayed; never of what the organization cannot read.

use super::{Hook, act, create, settings, subscriptions::shown, types};
use bailiwick_events::deliver;
use bailiwick_store::{sql::Q, time::TsCodec};
use bailiwick_testkit::{Persona, Test, api_test, parts::recorder::Answer};
use serde_json::{Value, json};
use std::{collections::HashSet, time::Duration};

pub(super) async fn rename(t: &Test, who: &Persona, system: &str, name: &str) {
    act(t, who, "PUT", &format!("/systems/{system}"), json!({"name": name})).await;
}

pub(super) async fn run(t: &Test) {
    deliver::run_until_idle(&t.app.events).await.unwrap();
}

/// The events that have arrived since the last call, in their order.
fn arrived(hook: &Hook) -> Vec<Value> {
    let mut all: Vec<Value> = hook.sink.take().iter().map(|r| r.json().unwrap()).collect();
    all.sort_by_key(|e| e["sequence"].as_str().unwrap().parse::<u64>().unwrap());
    all
}

pub(super) async fn deliveries(t: &Test, who: &Persona, id: &str, query: &str) -> Vec<Value> {
    let path = format!("/events/subscriptions/{id}/deliveries?page_size=100{query}");
    act(t, who, "GET", &path, Value::Null).await["deliveries"].as_array().unwrap().clone()
}

api_test!(events_arrive_signed_as_they_are_listed_at_who_may_read_them, |s| settings(s), |t| async move {
    let owner = t.owner().await;
    let tree = t.tree().await;
    let system = t.system(tree.customer).await.id.to_string();
    bailiwick_events::number_all(&t.app.events).await.unwrap();
    let mut hooks = Vec::new();
    for organization in [tree.owner, tree.distributor, tree.reseller, tree.customer, tree.other_customer] {
        let role = if organization == tree.owner { "super" } else { "admin" };
        let admin = t.user(organization, &[role]).await;
        let hook = Hook::start().await;
        let made = create(&t, &admin, &hook, &["*"]).await;
        hooks.push((admin, hook, made));
    }
    rename(&t, &owner, &system, "Gate").await;
    act(&t, &owner, "PATCH", &format!("/customers/{}/suspend", tree.other_customer), Value::Null).await;
    bailiwick_events::number_all(&t.app.events).await.unwrap();
    act(&t, &owner, "PATCH", &format!("/customers/{}/reactivate", tree.other_customer), Value::Null).await;
    let body = json!({"name": "Peer", "custom_data": {"vat": "IT77"}});
    act(&t, &owner, "POST", "/distributors", body).await;
    run(&t).await;
    let expected: [&[&str]; 5] = [
        &["system.updated", "customer.suspended", "customer.reactivated", "distributor.created"],
        &["system.updated"],
        &["system.updated"],
        &["system.updated"],
        // While the organization was suspended, it got no event.
        &["customer.reactivated"],
    ];
    for ((admin, hook, made), expected) in hooks.iter().zip(expected) {
        let requests = hook.sink.requests();
        for request in &requests {
            assert!(hook.is_signed(request, made["secret"].as_str().unwrap(), &t), "{request:?}");
            assert_eq!(request.value("content-type"), Some("application/json"));
        }
        let arrived = arrived(hook);
        assert_eq!(types(&arrived), expected);
        // A user of a suspended organization has to sign in again.
        let admin = &t.session(admin.id).await;
        let mut listed = act(
            &t,
            admin,
            "GET",
            "/events?sort_direction=asc&types=system.updated&types=customer.*&types=distributor.*",
            Value::Null,
        )
        .await["events"]
            .clone();
        if made["organization_id"] == json!(tree.other_customer) {
            listed.as_array_mut().unwrap().remove(0);
        }
        assert_eq!(json!(arrived), listed);
        let id = made["id"].as_str().unwrap();
        let states = deliveries(&t, admin, id, "").await;
        assert!(
            states
                .iter()
                .all(|d| d["status"] == "delivered" && d["attempts"] == 1 && d["last_status"] == 200)
        );
        assert_eq!(states.len(), expected.len());
        run(&t).await;
        assert!(hook.sink.requests().is_empty(), "once is enough");
    }
});

api_test!(what_is_not_taken_is_tried_again_given_up_and_replayed, |s| settings(s), |t| async move {
    let owner = t.owner().await;
    let tree = t.tree().await;
    let hook = Hook::start().await;
    let made = create(&t, &owner, &hook, &["system.updated"]).await;
    let id = made["id"].as_str().unwrap();
    let system = t.system(tree.customer).await.id.to_string();
    hook.sink.answer_by(|r| {
        let name = r.json().unwrap()["data"]["name"].clone();
        Answer::status(if name == "Bad" { 500 } else { 200 })
    });
    rename(&t, &owner, &system, "Bad").await;
    run(&t).await;
    let waiting = &deliveries(&t, &owner, id, "&status=pending").await[0];
    assert_eq!((&waiting["attempts"], &waiting["last_status"]), (&json!(1), &json!(500)));
    assert_eq!(waiting["last_error"], "answered with status 500");
    assert!(shown(&t, &owner, id).await["failing_since"].is_string());
    rename(&t, &owner, &system, "Good").await;
    t.advance(Duration::from_secs(2));
    run(&t).await;
    assert!(shown(&t, &owner, id).await["failing_since"].is_null(), "one was taken");
    for wait in [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400] {
        t.advance(Duration::from_secs(wait + 1));
        run(&t).await;
    }
    let owner = t.owner().await;
    let dead = &deliveries(&t, &owner, id, "&status=dead").await[0];
    assert_eq!((&dead["attempts"], &dead["next_attempt_at"]), (&json!(10), &Value::Null));
    assert_eq!(shown(&t, &owner, id).await["dead"], 1);
    let tries = hook.sink.take();
    let ids: Vec<_> = tries.iter().filter(|r| r.value("webhook-id") == dead["event_id"].as_str()).collect();
    assert_eq!(ids.len(), 10, "the same id at every try");
    hook.sink.answer_by(|_| Answer::status(204));
    let replay = format!("/events/subscriptions/{id}/replay");
    let body = json!({"event_id": dead["event_id"]});
    assert_eq!(act(&t, &owner, "POST", &replay, body).await["events"], 1);
    run(&t).await;
    assert_eq!(hook.sink.take()[0].value("webhook-id"), dead["event_id"].as_str());
    for since in ["2000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"] {
        assert_eq!(act(&t, &owner, "POST", &replay, json!({"since": since})).await["events"], 2);
        run(&t).await;
        assert_eq!(arrived(&hook).len(), 2);
    }
    assert_eq!(act(&t, &owner, "POST", &replay, json!({"since": "9000-01-01T00:00:00Z"})).await["events"], 0);
    assert_eq!(deliveries(&t, &owner, id, "&status=%00").await, [] as [Value; 0]);
    for (body, field) in [
        (json!({}), "event_id"),
        (json!({"since": "yesterday"}), "since"),
        (json!({"since": "2026-03-04 10:00:00Z"}), "since"),
        (json!({"since": "-009000-01-01T00:00:00Z"}), "since"),
    ] {
        let reply = t.post(&format!("/api{replay}")).bearer(&owner.token).json(body).send().await;
        assert_eq!(reply.expect(400).data()["errors"][0]["key"], field);
    }
    let body = json!({"event_id": system});
    let reply = t.post(&format!("/api{replay}")).bearer(&owner.token).json(body).send().await;
    reply.expect_message(404, "event not found");
});

api_test!(a_recipient_can_ask_for_time_or_for_no_more, |s| settings(s), |t| async move {
    let owner = t.owner().await;
    let hook = Hook::start().await;
    let id = create(&t, &owner, &hook, &["system.updated"]).await["id"].as_str().unwrap().to_owned();
    let system = t.system(t.tree().await.customer).await.id.to_string();
    hook.sink.answer_by(|_| Answer::status(503).header("retry-after", "90"));
    rename(&t, &owner, &system, "A").await;
    run(&t).await;
    t.advance(Duration::from_secs(80));
    run(&t).await;
    assert_eq!(hook.sink.requests().len(), 1);
    hook.sink.answer_by(|_| Answer::status(410));
    t.advance(Duration::from_secs(11));
    run(&t).await;
    assert_eq!(hook.sink.take().len(), 2);
    let off = shown(&t, &owner, &id).await;
    assert_eq!(
        (&off["enabled"], &off["disabled_reason"]),
        (&json!(false), &json!("the recipient answered with status 410"))
    );
    rename(&t, &owner, &system, "B").await;
    run(&t).await;
    assert!(hook.sink.requests().is_empty());
    // Once enabled again, the subscription gets the events that waited for it. Events of the time between can be
    // replayed.
    hook.sink.answer_by(|_| Answer::status(200));
    act(&t, &owner, "PUT", &format!("/events/subscriptions/{id}"), json!({"enabled": true})).await;
    t.advance(Duration::from_secs(3600));
    run(&t).await;
    assert_eq!(arrived(&hook)[0]["data"]["name"], "A");
});

api_test!(days_of_failure_switch_a_subscription_off, |s| settings(s), |t| async move {
    let owner = t.owner().await;
    let hook = Hook::start().await;
    let id = create(&t, &owner, &hook, &["system.*"]).await["id"].as_str().unwrap().to_owned();
    let system = t.system(t.tree().await.customer).await.id.to_string();
    hook.sink.answer_by(|_| Answer::dropped());
    for n in 0..7 {
        let owner = t.owner().await;
        rename(&t, &owner, &system, &format!("n{n}")).await;
        run(&t).await;
        t.advance(Duration::from_secs(86_400));
    }
    let owner = t.owner().await;
    let off = shown(&t, &owner, &id).await;
    assert_eq!(off["disabled_reason"], "nothing could be delivered for too long");
    assert_eq!(off["last_error"], "the connection broke");
    let q =
        Q::new("SELECT CAST(COUNT(*) AS BIGINT) FROM audit_log WHERE action = 'event_subscription.disable'");
    assert_eq!(q.count(&t.app.platform.db).await.unwrap(), 1);
});

api_test!(both_secrets_sign_for_a_day_after_a_rotation, |s| settings(s), |t| async move {
    let owner = t.owner().await;
    let hook = Hook::start().await;
    let made = create(&t, &owner, &hook, &["system.updated"]).await;
    let (id, old) = (made["id"].as_str().unwrap(), made["secret"].as_str().unwrap().to_owned());
    let system = t.system(t.tree().await.customer).await.id.to_string();
    let path = format!("/events/subscriptions/{id}/rotate-secret");
    let rotated = act(&t, &owner, "POST", &path, Value::Null).await["subscription"].clone();
    let new = rotated["secret"].as_str().unwrap();
    assert_ne!(new, old);
    rename(&t, &owner, &system, "A").await;
    run(&t).await;
    let both = &hook.sink.take()[0];
    assert!(hook.is_signed(both, new, &t) && hook.is_signed(both, &old, &t));
    t.advance(Duration::from_secs(86_401));
    let owner = t.owner().await;
    rename(&t, &owner, &system, "B").await;
    run(&t).await;
    let one = &hook.sink.take()[0];
    assert!(hook.is_signed(one, new, &t) && !hook.is_signed(one, &old, &t));
});

api_test!(what_waits_is_withheld_from_who_can_read_it_no_more, |s| settings(s), |t| async move {
    let owner = t.owner().await;
    let tree = t.tree().await;
    let admin = t.user(tree.customer, &["admin"]).await;
    let hook = Hook::start().await;
    let id = create(&t, &admin, &hook, &["system.*"]).await["id"].as_str().unwrap().to_owned();
    // Before there is anything to deliver: the worker may be quicker than the test.
    hook.sink.answer_by(|_| Answer::status(500));
    let body = json!({"name": "Gate", "organization_id": tree.customer});
    let made = act(&t, &owner, "POST", "/systems", body).await;
    let system = made["id"].as_str().unwrap();
    let body = json!({"system_secret": made["system_secret"]});
    t.post("/api/systems/register").json(body).send().await.expect(200);
    run(&t).await;
    let _ = hook.sink.take();
    hook.sink.answer_by(|_| Answer::status(200));
    act(&t, &owner, "PUT", &format!("/systems/{system}"), json!({"organization_id": tree.other_customer}))
        .await;
    t.advance(Duration::from_secs(1_200));
    run(&t).await;
    assert_eq!(types(&arrived(&hook)), ["system.left"]);
    let withheld = deliveries(&t, &admin, &id, "&status=withheld").await;
    assert_eq!(withheld.len(), 2);
    // While it is suspended nothing is sent; with it goes everything.
    hook.sink.answer_by(|_| Answer::status(500));
    rename(&t, &owner, &t.system(tree.customer).await.id.to_string(), "Own").await;
    run(&t).await;
    assert!(!hook.sink.take().is_empty());
    act(&t, &owner, "PATCH", &format!("/customers/{}/suspend", tree.customer), Value::Null).await;
    hook.sink.answer_by(|_| Answer::status(200));
    t.advance(Duration::from_secs(400));
    run(&t).await;
    assert!(hook.sink.requests().is_empty(), "it is suspended");
    assert!(!deliveries(&t, &owner, &id, "&status=pending").await.is_empty());
    let count = async |table: &str| {
        let q = Q::new(&format!("SELECT CAST(COUNT(*) AS BIGINT) FROM {table}"));
        q.count(&t.app.platform.db).await.unwrap()
    };
    let owner = t.owner().await;
    act(&t, &owner, "DELETE", &format!("/customers/{}/destroy", tree.customer), Value::Null).await;
    assert_eq!((count("event_subscriptions").await, count("event_deliveries").await), (0, 0));
});

// One tenant has more recipients that never answer than there are places; all of them began to wait earlier.
api_test!(
    slow_recipients_of_one_tenant_keep_nobody_else_waiting,
    |s| {
        settings(s);
        s.events.subscriptions = 100;
    },
    |t| async move {
        let owner = t.owner().await;
        let tree = t.tree().await;
        let (slow, fast) = (Hook::start().await, Hook::start().await);
        slow.sink.answer_by(|_| Answer::status(200).after(Duration::from_secs(3600)));
        for organization in [tree.distributor, tree.reseller, tree.customer] {
            let admin = t.user(organization, &["admin"]).await;
            for _ in 0..25 {
                create(&t, &admin, &slow, &["system.updated"]).await;
            }
        }
        t.advance(Duration::from_secs(1));
        let other = t.user(tree.other_customer, &["admin"]).await;
        create(&t, &other, &fast, &["system.updated"]).await;
        for customer in [tree.customer, tree.other_customer] {
            rename(&t, &owner, &t.system(customer).await.id.to_string(), "Gate").await;
        }
        tokio::select! {
            done = deliver::run_until_idle(&t.app.events) => panic!("{done:?}"),
            arrived = fast.sink.wait_for(1) => drop(arrived.unwrap()),
        }
        assert!(slow.sink.requests().len() < 64);
    }
);

api_test!(served_recipients_queue_behind_waiting_ones, |s| settings(s), |t| async move {
    let owner = t.owner().await;
    let hook = Hook::start().await;
    create(&t, &owner, &hook, &["system.updated"]).await;
    let system = t.system(t.tree().await.customer).await.id.to_string();
    t.advance(Duration::from_secs(7));
    rename(&t, &owner, &system, "Gate").await;
    run(&t).await;
    let q = Q::new("SELECT next_at FROM event_subscriptions");
    let (next_at,): (TsCodec,) = q.one(&t.app.platform.db).await.unwrap();
    assert_eq!(next_at.0, t.app.platform.now());
});

api_test!(a_suspension_stops_what_is_being_delivered, |s| settings(s), |t| async move {
    let (owner, tree, hook) = (t.owner().await, t.tree().await, Hook::start().await);
    let admin = t.user(tree.customer, &["admin"]).await;
    create(&t, &admin, &hook, &["system.updated"]).await;
    let system = t.system(tree.customer).await.id.to_string();
    // A batch is under way when it is suspended, and more wait.
    hook.sink.answer_by(|_| Answer::status(200).held());
    for n in 0..60 {
        rename(&t, &owner, &system, &format!("n{n}")).await;
    }
    bailiwick_events::number_all(&t.app.events).await.unwrap();
    hook.sink.wait_for(1).await.unwrap();
    act(&t, &owner, "PATCH", &format!("/customers/{}/suspend", tree.customer), Value::Null).await;
    hook.sink.answer_by(|_| Answer::status(200));
    hook.sink.release();
    run(&t).await;
    // The batch ends, and there is no other one.
    let sent = hook.sink.requests().len();
    assert!(sent < 60, "{sent}");
    run(&t).await;
    assert_eq!(hook.sink.requests().len(), sent);
    act(&t, &owner, "PATCH", &format!("/customers/{}/reactivate", tree.customer), Value::Null).await;
    // A busy machine may have given up a held delivery. It is tried again.
    t.advance(Duration::from_secs(3600));
    run(&t).await;
    let events: HashSet<String> = arrived(&hook).iter().map(|e| e["id"].to_string()).collect();
    assert_eq!(events.len(), 60);
});

api_test!(a_lease_of_a_clock_that_was_set_back_holds_no_events_up, |s| settings(s), |t| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    let system = t.system(tree.customer).await.id.to_string();
    run(&t).await;
    let hook = Hook::start().await;
    create(&t, &owner, &hook, &["system.*"]).await;
    let mut tx = t.app.platform.db.begin().await.unwrap();
    let until = t.app.platform.now().plus(Duration::from_secs(24 * 3600));
    let q = Q::new("UPDATE event_subscriptions SET holder = ?, held_until = ?");
    q.bind(uuid::Uuid::from_u128(1)).bind(until).run(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    rename(&t, &owner, &system, "Gate").await;
    run(&t).await;
    assert_eq!(types(&arrived(&hook)), ["system.updated"]);
});

api_test!(events_delayed_by_a_fast_clock_are_delivered, |s| settings(s), |t| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    let system = t.system(tree.customer).await.id.to_string();
    run(&t).await;
    let hook = Hook::start().await;
    create(&t, &owner, &hook, &["system.*"]).await;
    let put_off = async |table: &str| {
        let mut tx = t.app.platform.db.begin().await.unwrap();
        let q = Q::new(&format!("UPDATE {table} SET next_at = ?"));
        q.bind(t.app.platform.now().plus(Duration::from_secs(48 * 3600))).run(&mut tx).await.unwrap();
        tx.commit().await.unwrap();
    };
    put_off("event_subscriptions").await;
    rename(&t, &owner, &system, "Gate").await;
    run(&t).await;
    assert!(arrived(&hook).is_empty());
    put_off("event_deliveries").await;
    assert_eq!(
        bailiwick_platform::clock_skew::set_back(&t.app.platform, bailiwick_app::LONGEST_WAITS)
            .await
            .unwrap(),
        2
    );
    run(&t).await;
    assert_eq!(types(&arrived(&hook)), ["system.updated"]);
});
