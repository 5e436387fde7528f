//! Two processes on one database, and processes that come back.

use super::*;
use std::collections::BTreeSet;

// Proves spec: alert-guarantees#guarantees 27.
on_both!(a_restart_repeats_nothing_and_forgets_nothing, |engine| async {
    let test = DeliveryTest::start(engine).await;
    test.push(&["a"], None).await;
    test.after(30 * SECOND).await;
    let mut other = test.alert("b", None);
    other["labels"]["alertname"] = json!("Other");
    test.client().push(&json!([other]).to_string()).await.expect(200);
    test.after(Duration::ZERO).await;
    test.push(&["a"], Some(0)).await;
    test.t.app.platform.stop.cancel();
    assert_eq!((test.received().len(), test.mails().len()), (1, 1));

    test.t.app.platform.tasks.close();
    test.t.app.platform.tasks.wait().await;
    let again = test.t.replica().await;
    notify::run_until_idle(&again.app.alerts).await.unwrap();
    assert_eq!((test.received().len(), test.mails().len()), (0, 1));
    // The groups and their times are those of before.
    again.advance(30 * SECOND);
    notify::run_until_idle(&again.app.alerts).await.unwrap();
    assert_eq!(test.received(), ["first notification firing: b firing"]);
    again.advance(270 * SECOND);
    notify::run_until_idle(&again.app.alerts).await.unwrap();
    assert_eq!(test.received(), ["all alerts resolved resolved: a resolved"]);
    assert_eq!(test.mails().len(), 3);
});

on_both!(a_process_that_stops_finishes_its_try_and_writes_it_down, |engine| async {
    let test = DeliveryTest::start(engine).await;
    test.hook.answer_by(|_| Answer::status(200).after(2 * SECOND));
    test.push(&["a"], None).await;
    test.t.advance(30 * SECOND);
    eventually("the request", async || !test.hook.requests().is_empty()).await;
    test.t.app.platform.stop.cancel();
    test.t.app.platform.tasks.close();
    test.t.app.platform.tasks.wait().await;
    // The process has given its lease back, so the next process does not have to wait for the lease to end.
    let again = test.t.replica().await;
    again.advance(10 * MINUTE);
    notify::run_until_idle(&again.app.alerts).await.unwrap();
    assert_eq!((test.received().len(), test.mails().len()), (1, 1));
});

on_both!(what_a_dead_process_had_begun_is_done_after_the_end_of_its_lease, |engine| async {
    let test = DeliveryTest::start(engine).await;
    test.push(&["a"], None).await;
    test.after(Duration::ZERO).await;
    // Another process has claimed the tenant, begun the flush, and died.
    let (dead, now) = (uuid::Uuid::from_u128(1), test.t.app.platform.now());
    let mut tx = test.t.app.platform.db.begin().await.unwrap();
    let q = Q::new("UPDATE router_tenants SET holder = ?, held_until = ?");
    q.bind(dead).bind(now.plus(60 * SECOND)).run(&mut tx).await.unwrap();
    let q = Q::new("UPDATE router_groups SET started_at = ?, due_at = ?");
    q.bind(now).bind(now.plus(5 * MINUTE)).run(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    test.after(59 * SECOND).await;
    assert_eq!(test.received(), [""; 0]);
    test.after(SECOND).await;
    assert_eq!(test.received(), ["first notification firing: a firing"]);
    let q = Q::new("SELECT CAST(COUNT(*) AS BIGINT) FROM router_tenants WHERE holder = ?").bind(dead);
    assert_eq!(q.count(&test.t.app.platform.db).await.unwrap(), 0);
});

/// Both processes look for due groups all the time.
// Proves spec: alert-guarantees#guarantees 30.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_send_each_notification_once() {
    let test = DeliveryTest::start(Engine::Postgres).await;
    let tree = test.t.tree().await;
    let mut systems = vec![test.t.system(tree.customer).await, test.t.system(tree.other_customer).await];
    for organization in [tree.customer, tree.other_customer] {
        test.t.alert_layer(organization, test.layer()).await;
    }
    let client = test.client();
    systems.push(client.system);
    let second = test.t.replica().await;
    let mut expected = BTreeSet::new();
    for round in 0..3 {
        for (n, system) in systems.iter().enumerate() {
            for i in 0..6 {
                let name = format!("{round} {n} {i}");
                let alert = json!([{"labels": {"alertname": name, "mount": "m", "severity": "warning"}}]);
                let system = bailiwick_testkit::seed::Seeded {
                    id: system.id,
                    key: system.key.clone(),
                    secret: system.secret.clone(),
                };
                let process = if i % 2 == 0 { &test.t } else { &second };
                Client { test: process, system }.push(&alert.to_string()).await.expect(200);
                expected.insert(name);
            }
        }
        test.t.advance(10 * SECOND);
    }
    for _ in 0..4 {
        test.t.advance(10 * SECOND);
        let (a, b) = tokio::join!(
            notify::run_until_idle(&test.t.app.alerts),
            notify::run_until_idle(&second.app.alerts)
        );
        assert!(a.is_ok() && b.is_ok(), "{a:?} {b:?}");
    }
    let all = test.hook.wait_for(expected.len()).await.unwrap();
    test.t.advance(10 * MINUTE);
    for app in [&test.t.app, &second.app] {
        notify::run_until_idle(&app.alerts).await.unwrap();
    }
    let names = |all: &[Recorded]| -> Vec<String> {
        let name = |r: &Recorded| r.json().unwrap()["groupLabels"]["alertname"].as_str().unwrap().to_owned();
        all.iter().map(name).collect()
    };
    let received_names = names(&test.hook.requests());
    assert_eq!((received_names.len(), all.len()), (expected.len(), expected.len()));
    assert_eq!(received_names.into_iter().collect::<BTreeSet<_>>(), expected);
    eventually("the mails", async || test.mails().len() == expected.len()).await;
}
