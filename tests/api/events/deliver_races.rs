//! Deliveries beside other transactions and other processes.

use super::{
    Hook, act, create,
    deliver::{deliveries, rename, run},
    settings,
};
use bailiwick_events::deliver;
use bailiwick_store::{events::subscriptions::lock, sql::Q};
use bailiwick_testkit::{Engine, Test, api_test, parts::recorder::Answer};
use serde_json::{Value, json};

/// A transaction that holds a subscription, or its deliveries, keeps no events from being numbered.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn numbers_are_given_while_a_subscription_is_held() {
    let t = Test::start(Engine::Postgres, settings).await;
    let (owner, hook) = (t.owner().await, Hook::start().await);
    let made = create(&t, &owner, &hook, &["system.updated"]).await;
    let system = t.system(t.tree().await.customer).await.id.to_string();
    let mut tx = t.app.platform.db.begin().await.unwrap();
    let id = made["id"].as_str().unwrap().parse().unwrap();
    lock(&mut tx, id).await.unwrap().unwrap();
    rename(&t, &owner, &system, "Gate").await;
    let numbered = bailiwick_events::number_all(&t.app.events);
    tokio::time::timeout(bailiwick_testkit::PATIENCE, numbered).await.expect("no lock wait").unwrap();
    assert_eq!(deliveries(&t, &owner, made["id"].as_str().unwrap(), "").await.len(), 1);
    tx.commit().await.unwrap();
}

/// Retention waits for the process that numbers events before it takes any event, so that the two never wait in a ring.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retention_takes_the_position_before_the_events() {
    let t = Test::start(Engine::Postgres, |s| s.events.most = 1).await;
    let owner = t.owner().await;
    let system = t.system(t.tree().await.customer).await.id.to_string();
    for name in ["A", "B", "C"] {
        rename(&t, &owner, &system, name).await;
    }
    bailiwick_events::number_all(&t.app.events).await.unwrap();
    let mut tx = t.begin_apart().await;
    let held = Q::new("UPDATE event_position SET last = last");
    assert_eq!(held.run(&mut tx).await.unwrap(), 1);
    let event = Q::new("UPDATE events SET data = data WHERE seq = (SELECT MIN(seq) FROM events)");
    let purged = crate::impersonation::let_wait(tx, event, bailiwick_events::purge(&t.app.events)).await;
    assert!(purged.unwrap() > 0);
}

/// Two processes on one database deliver everything once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_processes_share_the_deliveries() {
    let t = Test::start(Engine::Postgres, settings).await;
    let (other, owner, hook) = (t.replica().await, t.owner().await, Hook::start().await);
    create(&t, &owner, &hook, &["system.updated"]).await;
    let system = t.system(t.tree().await.customer).await.id.to_string();
    for n in 0..40 {
        rename(&t, &owner, &system, &format!("n{n}")).await;
    }
    let (one, two) =
        tokio::join!(deliver::run_until_idle(&t.app.events), deliver::run_until_idle(&other.app.events));
    assert!(one.is_ok() && two.is_ok());
    let arrived = hook.sink.wait_for(40).await.unwrap();
    assert_eq!(arrived.len(), 40);
}

const DELIVERIES: &str = "SELECT d.event_seq FROM event_deliveries d JOIN events e ON e.seq = d.event_seq \
     WHERE e.organization_id = ? ORDER BY d.event_seq";

api_test!(
    an_organization_is_destroyed_while_its_events_are_delivered_above_it,
    |s| settings(s),
    |t| async move {
        let owner = t.owner().await;
        let tree = t.tree().await;
        let hook = Hook::start().await;
        create(&t, &owner, &hook, &["system.updated"]).await;
        let system = t.system(tree.customer).await.id.to_string();
        if t.engine == Engine::Postgres {
            // So that all of them stay there.
            hook.sink.answer_by(|_| Answer::status(500));
        }
        for n in 0..3 {
            rename(&t, &owner, &system, &format!("n{n}")).await;
        }
        bailiwick_events::number_all(&t.app.events).await.unwrap();
        let path = format!("/customers/{}/destroy", tree.customer);
        let destroyed = act(&t, &owner, "DELETE", &path, Value::Null);
        if t.engine == Engine::Postgres {
            // As what became of tries is written, the later one first.
            let mut tx = t.begin_apart().await;
            let held = Q::new("SELECT id FROM event_subscriptions FOR UPDATE").all::<(uuid::Uuid,)>(&mut tx);
            assert_eq!(held.await.unwrap().len(), 1);
            let all: Vec<(i64,)> =
                Q::new(DELIVERIES).bind(tree.customer).all(&t.app.platform.db).await.unwrap();
            assert_eq!(all.len(), 3);
            let tried = |(seq,): (i64,)| {
                Q::new("UPDATE event_deliveries SET attempts = attempts + 1 WHERE event_seq = ?").bind(seq)
            };
            assert_eq!(tried(all[2]).run(&mut tx).await.unwrap(), 1);
            let waits = "SELECT s.id FROM event_subscriptions";
            crate::impersonation::let_wait_in(tx, waits, tried(all[0]), destroyed).await;
        } else {
            let (_, done) = tokio::join!(destroyed, deliver::run_until_idle(&t.app.events));
            done.unwrap();
        }
        assert!(
            Q::new(DELIVERIES)
                .bind(tree.customer)
                .all::<(i64,)>(&t.app.platform.db)
                .await
                .unwrap()
                .is_empty()
        );
    }
);

api_test!(
    organizations_are_destroyed_while_events_get_numbers_and_are_delivered,
    |s| settings(s),
    |t| async move {
        let owner = t.owner().await;
        let hook = Hook::start().await;
        create(&t, &owner, &hook, &["*"]).await;
        for round in 0..5 {
            let body = json!({"name": format!("Gone {round}"), "custom_data": {"vat": format!("G{round}")}});
            let made = act(&t, &owner, "POST", "/distributors", body).await;
            let id = made["id"].as_str().unwrap();
            let theirs = t.user(bailiwick_domain::OrgId(id.parse().unwrap()), &["admin"]).await;
            for n in 0..4 {
                let name = format!("R{round}{n}");
                let body = json!({"name": name, "custom_data": {"vat": name}});
                act(&t, &theirs, "POST", "/resellers", body).await;
            }
            let path = format!("/distributors/{id}/destroy");
            let (done, _) = tokio::join!(
                deliver::run_until_idle(&t.app.events),
                act(&t, &owner, "DELETE", &path, Value::Null)
            );
            done.unwrap();
        }
        run(&t).await;
    }
);
